"""Runs of statements that compute with floats are written twice.

Where it isn't known that variables, fields of records and items are floats, each operation asks what its operands are.
A region is a run of statements that only compute and assign to local variables. It is written first for the case that
what it reads are floats (and ints that are short): it reads all into variables of C, computes there, and assigns to the
variables of the function at its end. Nobody can see that: no other code runs meanwhile, and nothing was changed before.
So where a value is another, or anything unusual is to happen (a division by zero, an index that isn't there), it leaves
for the second way, which begins anew and is written as everything else. A region that often leaves isn't tried any
more.
"""

from __future__ import annotations

import ast

from semac.native.function import FunctionCode
from semac.native.regions.expressions import number, operation
from semac.native.regions.state import Local, Numeric, Other
from semac.native.regions.truth import test
from semac.native.values import C_TYPES, DROP, DROP_MAYBE, NOTHING, NotNative

WORTH = 3  # operations
MOST_MISSES = 64
Statement = ast.stmt


class Region(Numeric):
    """A run of statements for floats. end: where the run ends in the block."""

    def statement(self, node: Statement) -> None:
        """Raises Other where a statement does more than compute."""
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            self.assign(node.targets[0], node.value)
        elif isinstance(node, ast.AnnAssign) and node.value is not None:
            self.assign(node.target, node.value)
        elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
            left = ast.copy_location(ast.Name(node.target.id, ast.Load()), node.target)
            self.put(node.target.id, operation(self, node.op, number(self, left), number(self, node.value)))
        elif isinstance(node, ast.If):
            self.if_(node)
        elif isinstance(node, ast.Continue):
            self.continue_()
        elif isinstance(node, ast.Return) and node.value is not None:
            self.return_(node.value)
        elif not isinstance(node, ast.Pass):
            raise Other

    def block(self, body: list[Statement]) -> None:
        for node in body:
            if self.is_over:
                return
            self.statement(node)

    def assign(self, target: ast.expr, node: ast.expr) -> None:
        if isinstance(target, ast.Name):
            self.put(target.id, number(self, node))
            return
        if not (isinstance(target, ast.Tuple) and isinstance(node, ast.Tuple) and len(target.elts) == len(node.elts)):
            raise Other
        values = [self.held(number(self, part)) for part in node.elts]
        for part, value in zip(target.elts, values, strict=True):
            if not isinstance(part, ast.Name):
                raise Other
            self.put(part.id, value)

    def if_(self, node: ast.If) -> None:
        if any(isinstance(part, ast.For | ast.While) for part in ast.walk(node)):
            raise Other  # has regions of its own
        condition = test(self, node.test)
        self.either(condition, lambda: self.block(node.body), lambda: self.block(node.orelse))

    # Ways out

    def continue_(self) -> None:
        f = self.f
        if not f.around or f.around[-1].kind != "loop":
            raise Other
        around = f.around[-1]
        self.commit()
        around.used.add("next")
        drops = "".join(DROP[value.rep].format(value.c) + "; " for value in reversed(f.live[around.depth :]))
        self.emit(f"{drops}goto next_{around.label};")
        self.is_over = True

    def return_(self, node: ast.expr) -> None:
        f = self.f
        rep, c = number(self, node)
        if any(each.kind != "loop" for each in f.around) or f.result not in ("d", rep):
            raise Other
        wrapped = c if f.result == rep else {"f": f"DYN_FLOAT({c})", "i": f"DYN_INT({c})"}[rep]
        self.emit(self.success())
        drops = "".join(DROP[value.rep].format(value.c) + "; " for value in reversed(f.live))
        self.emit(f"r = {wrapped}; {drops}goto done;")
        self.is_over = True

    def commit(self) -> None:
        """Assigns to the variables of the function. What these held is given back last: that may run code."""
        self.emit(self.success())
        drops = []
        for local in self.locals.values():
            if not local.is_assigned:
                continue
            variable = local.variable
            text = f"{variable.c} = {committed(local)};"
            if not local.is_loaded and variable.rep in DROP_MAYBE:
                old = self.f.fresh("old")
                self.emit(f"{C_TYPES[variable.rep]}{old} = {NOTHING[variable.rep]};")
                text = f"{old} = {variable.c}; {text}"
                drops.append(DROP_MAYBE[variable.rep].format(old) + ";")
            self.emit(f"if ({local.flag}) {{ {text} }}" if local.flag else text)
        self.out += drops

    def lines(self) -> list[str]:
        """The first way, after which the second one stands."""
        name = self.name
        return [
            f"{{ static unsigned char {name}_missed;",
            f"if (LIKELY({name}_missed < {MOST_MISSES})) {{",
            *(f"{text};" for text in self.declared),
            *self.out,
            f"{name}_other: __attribute__((unused));",
            f"{name}_missed += 2; }} }}",
        ]

    def success(self) -> str:
        return f"if (UNLIKELY({self.name}_missed)) {self.name}_missed--;"


def committed(local: Local) -> str:
    """What a variable of the function gets."""
    rep = local.variable.rep
    if rep == "o":
        return f"Py_NewRef({local.c}_object)"
    if rep == "d":
        return {"f": f"DYN_FLOAT({local.c})", "i": f"DYN_INT({local.c})"}[local.rep]
    return local.c


def region_at(f: FunctionCode, body: list[Statement], start: int) -> tuple[int, Region | None]:
    """The end of a run of statements that may be a region, and the region if it is worth writing."""
    region = Region(f)
    end = start
    while end < len(body) and not region.is_over:
        state = region.state()
        try:
            region.statement(body[end])
        except (Other, NotNative):
            region.restore(state)
            break
        end += 1
    if end == start or not (region.is_float and region.guesses) or region.score < WORTH:
        return max(end, start + 1), None
    if not region.is_over:
        region.commit()
        region.emit(f"goto {region.name}_end;")
    return end, region
