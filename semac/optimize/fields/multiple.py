"""Multiple values that only `let-values` takes apart are vectors, which later passes take apart at compile time.

    (define (divide a b) (values (quotient a b) (mod a b)))
    (let-values (((q r) (divide n base))) ...)

`values` makes an object that `values_tuple` opens again. Where every function that may be called gives as many
values as the form binds, and the form alone gets them, `values` makes a vector and `values_tuple` has nothing to do:
`parts.py` and `split.py` then leave nothing of the vector either. Functions qualify as they do in `parts.py`, in
programs; what stands in one function, as calls that were inlined do, also in modules.

Sound because the object is seen by `values_tuple` alone, which gives its items as they are when their number is right.
A single value stays: it may itself be the object of several.
"""

from __future__ import annotations

from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import CallBuiltin, CallRuntime, Expr, If, Let, Lit, MakeVector, Match, Move, Op, Ref
from semac.anf.walk import is_ref, map_operands, value_blocks
from semac.fingerprint import is_traced
from semac.ir.intrinsics import VALUES_TUPLE
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.fields.parts import End, Parts, ends_of, is_raised, may_fall_through
from semac.optimize.fields.split import stops
from semac.optimize.own.code import all_code

CHOICES = (If, Match)


def make_vectors(unit: Unit) -> None:
    """Rewrites a unit."""
    if unit.is_text or unit.is_input or is_traced() or stops(unit):
        return
    Multiple(all_code(unit)).rewrite(with_functions=unit.is_closed and not unit.is_open)


class Multiple(Parts):
    """Finds and rewrites the multiple values of one unit."""

    def rewrite(self, with_functions: bool) -> None:
        self.scan()
        self.made = {
            instr.var: instr for part in self.code for block in part.blocks for instr in block.instrs if instr.var
        }
        counts = self.counts() if with_functions else {}
        for function in counts:
            for end in self.ends[function]:
                self.make_vector(end.block.exit.value)  # type: ignore[union-attr]
        for instr in list(self.made.values()):
            op = instr.op
            if type(op) is CallRuntime and op.path == VALUES_TUPLE and type(op.args[0]) is Ref:
                self.open(instr, op.args[0].var, counts)

    def open(self, instr: Let, var: Var, counts: dict[Function, int]) -> None:
        """Leaves out `values_tuple` where what it opens is a vector, or can be one."""
        if self.called(Ref(var)) not in counts:
            given = self.given_by(var, instr.op)
            if given is None:
                return
            for value in given:
                self.make_vector(value)
        target: Any = instr.var
        uses = self.uses.get(target, [])
        instr.op = Move(Ref(var), span=instr.op.span)
        target.op = instr.op
        for op, _ in uses:
            if op is not None:
                map_operands(op, lambda value: Ref(var) if is_ref(value, target) else value)

    def given_by(self, var: Var, opener: Op) -> list[Expr] | None:
        """The values that a variable may have, if all are of calls of `values` here, which nobody else uses."""
        if not is_fixed(var) or len(self.uses[var]) != 1:
            return None
        op = var.op
        if type(op) not in CHOICES:
            return [Ref(var)] if self.fits(op, opener) else None
        inside = value_blocks(op)
        if (type(op) is Match and op.lenient) or any(map(may_fall_through, inside)):
            return None
        given = [end.exit.value for block in inside for end in ends_of(block)]  # type: ignore[union-attr]
        for value in given:
            if is_raised(value):
                continue
            if type(value) is not Ref or len(self.uses[value.var]) != 1 or not self.fits(value.var.op, opener):
                return None
        return given

    def fits(self, op: Op | None, opener: Op) -> bool:
        return is_values(op) and count_fits(len(op.args), opener)  # type: ignore[union-attr]

    def make_vector(self, value: Expr) -> None:
        """What calls `values` makes a vector."""
        if type(value) is Ref and is_values(value.var.op) and value.var in self.made:
            op: Any = value.var.op
            value.var.op = self.made[value.var].op = MakeVector(op.args, span=op.span)

    # Functions

    def counts(self) -> dict[Function, int]:
        """The functions that give nothing but several values, always as many, and the number."""
        found = self.candidates() - self.maybe_nil
        numbers: dict[Function, set[int]] = {function: set() for function in found}
        for function in found:
            for end in self.ends[function]:
                value = end.block.exit.value  # type: ignore[union-attr]
                if type(value) is Ref and is_values(value.var.op):
                    numbers[function].add(len(value.var.op.args))
        self.spread(found, numbers)
        while True:
            lost = {function for function in found if not self.agrees(function, found, numbers)}
            if not lost:
                return {function: min(numbers[function]) for function in found if numbers[function]}
            found -= lost

    def spread(self, found: set[Function], numbers: dict[Function, set[int]]) -> None:
        """A function gives as many values as those whose results it gives on."""
        has_grown = True
        while has_grown:
            has_grown = False
            for function in found:
                for end in self.ends[function]:
                    called = self.called(end.block.exit.value)  # type: ignore[union-attr]
                    if called is not None and not numbers.get(called, set()) <= numbers[function]:
                        numbers[function] |= numbers[called]
                        has_grown = True

    def agrees(self, function: Function, found: set[Function], numbers: dict[Function, set[int]]) -> bool:
        """Whether a function gives one number of values, and all that call it take as many."""
        for end in self.ends[function]:
            value = end.block.exit.value  # type: ignore[union-attr]
            called = self.called(value)
            if called is not None and (called not in found or numbers[called] != numbers[function]):
                return False
            if type(value) is Ref and is_values(value.var.op) and len(self.uses[value.var]) != 1:
                return False
        if len(numbers[function]) != 1:
            return False
        (count,) = numbers[function]
        for site in self.sites[function]:
            uses = self.uses.get(site.instr.var, []) if site.instr.var is not None else []
            opened = [op for op, position in uses if op is not None and position == 0 and count_fits(count, op)]
            is_given = self.given(site)
            if len(opened) + is_given != len(uses) or (is_given and site.part.function not in found):
                return False
        return True

    def is_known(self, end: End) -> bool:
        value = end.block.exit.value  # type: ignore[union-attr]
        if type(value) is Ref and is_values(value.var.op):
            return is_fixed(value.var)
        return is_raised(value) or self.called(value) is not None


def is_values(op: Op | None) -> bool:
    """Whether an operation makes several values, or none."""
    return type(op) is CallBuiltin and op.name == "values" and len(op.args) != 1


def count_fits(count: int, opener: Op) -> bool:
    """Whether an operation opens as many values."""
    if type(opener) is not CallRuntime or opener.path != VALUES_TUPLE:
        return False
    _, low, has_rest = opener.args
    if type(low) is not Lit or type(has_rest) is not Lit:
        return False
    return count == low.value or (count > low.value and bool(has_rest.value))
