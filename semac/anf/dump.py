"""Units in A-normal form as text, one instruction a line: `sema compile --dump PASS`."""

from __future__ import annotations

from collections.abc import Iterator

from sema_runtime.values.printer import to_text
from semac.anf.nodes import Block, BuiltinRef, Closure, Expr, Jump, Lit, Match, Op, Ref
from semac.anf.walk import blocks, bound, code_of, operands
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.types.lattice import ANY, show

# Fields that a line shows by other means, or that say nothing to people.
HIDDEN = frozenset(("span", "type", "weight", "rank", "site", "function", "params", "source", "as_value"))


def unit_text(unit: Unit) -> str:
    """The blocks of all top-level forms, with what is known of the types of their variables."""
    return Dump().unit(unit)


class Dump:
    """Gives the variables that the compiler made numbers in the order in which they appear."""

    def __init__(self) -> None:
        self.numbers: dict[Var, int] = {}

    def unit(self, unit: Unit) -> str:
        lines: list[str] = []
        for number, block in enumerate(unit.blocks, 1):
            lines += [f"form {number}", *self.block(block, 1)]
        return "".join(line + "\n" for line in lines)

    def block(self, block: Block, depth: int) -> Iterator[str]:
        pad = "  " * depth
        for instr in block.instrs:
            target = f"{self.typed(instr.var)} = " if instr.var is not None else ""
            yield f"{pad}{target}{self.operation(instr.op)}"
            yield from self.inside(instr.op, depth + 1)
        exit_ = block.exit
        if isinstance(exit_, Jump):
            yield f"{pad}jump({', '.join(map(self.atom, exit_.args))})"
        else:
            yield f"{pad}result {self.atom(exit_.value)}"

    def inside(self, op: Op, depth: int) -> Iterator[str]:
        """The body of a function that is made, and the blocks of an operation."""
        if type(op) is Closure:
            yield from self.function(op.function, depth)
        names = op.blocks if type(op) is not Match else ()
        for index, block in enumerate(blocks(op)):
            yield f"{'  ' * (depth - 1)}| {names[index] if index < len(names) else f'block {index + 1}'}"
            yield from self.block(block, depth)

    def function(self, function: Function, depth: int) -> Iterator[str]:
        params = [self.typed(var) for var in function.params]
        if function.rest is not None:
            params.append(f"*{self.typed(function.rest)}")
        returned = f" -> {show(function.type)}" if function.type is not None else ""
        yield f"{'  ' * (depth - 1)}| ({', '.join(params)}){returned}"
        yield from self.block(code_of(function), depth)

    def operation(self, op: Op) -> str:
        details = [text for field in (*type(op).fields, *type(op).options) if (text := self.detail(op, field))]
        inner = ", ".join([*details, *map(self.atom, operands(op))])
        variables = bound(op)
        into = f" binds {' '.join(map(self.typed, variables))}" if variables else ""
        return f"{type(op).__name__}({inner}){into}"

    def detail(self, op: Op, field: str) -> str:
        """What a field says besides operands and blocks; "" where that is nothing."""
        value = getattr(op, field)
        if field in HIDDEN or field in op.exprs or field in op.blocks or value in (None, False, "", []):
            return ""
        if value is True:
            return field
        if isinstance(value, Var):
            return self.name(value)
        return value if isinstance(value, str) else ""

    def atom(self, value: Expr) -> str:
        if isinstance(value, Ref):
            return self.name(value.var)
        if isinstance(value, Lit):
            return to_text(value.value)
        return f"builtin {value.name}" if isinstance(value, BuiltinRef) else self.operation(value)

    def typed(self, var: Var) -> str:
        known = type(var.type) is type(ANY) and var.type is not ANY
        return f"{self.name(var)}: {show(var.type)}" if known else self.name(var)

    def name(self, var: Var) -> str:
        return var.name or f"%{self.numbers.setdefault(var, len(self.numbers) + 1)}"
