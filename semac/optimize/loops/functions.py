"""What a builtin like `map` does with its function argument, as a block that can stand in a loop."""

from __future__ import annotations

from typing import NamedTuple

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Keyword
from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Block,
    BuiltinRef,
    Call,
    CallBuiltin,
    CallRuntime,
    Closure,
    Expr,
    Let,
    Lit,
    Loop,
    Op,
    Ref,
    Result,
)
from semac.anf.walk import instructions
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.nodes import Function, Var
from semac.ir.questions import jumps_out


class Body(NamedTuple):
    """The application of a function: the variables of its arguments, and the block of its value."""

    params: list[Var]
    block: Block


def temporary(hint: str, owner: Function | None) -> Var:
    """A variable of the compiler's own, with one definition."""
    var = Var("", owner)
    var.hint = hint
    var.defined = 1
    return var


def value_block(op: Op, hint: str, owner: Function | None) -> Block:
    """The block that does one operation and has its value."""
    var = temporary(hint, owner)
    var.op = op
    return Block([Let(var, op)], Result(Ref(var)))


def applied(function: Expr, count: int, op: Op, owner: Function | None, defined: set[Var]) -> Body | None:
    """The application of a function argument to count items; None where it isn't known what it does.

    op: the call of the builtin, owner: the function it stands in. defined: the globals defined above.
    """
    if type(function) is Lit:
        return keyword_applied(function, op, owner) if count == 1 and type(function.value) is Keyword else None
    if type(function) is BuiltinRef:
        return builtin_applied(function, count, op, owner)
    if type(function) is not Ref:
        return None
    var = function.var
    if not var.name:
        return lambda_applied(var.op.function, count) if type(var.op) is Closure else None
    known = var.known_function
    if known is None or not is_fixed(var) or not fits(known, count):
        return None
    if var.is_global and (var.late or (owner is None and var not in defined)):
        return None  # it may be unbound: an error even where there are no items
    params = [temporary(param.name.lstrip("_") or "item", owner) for param in known.params]
    args: list[Expr] = [Ref(param) for param in params]
    return Body(params, value_block(Call(Ref(var), args, span=op.span), "value", owner))


def keyword_applied(key: Lit, op: Op, owner: Function | None) -> Body:
    item = temporary("item", owner)
    got = CallRuntime(KEYWORD_GET, [Ref(item), Lit(key.value, key.type)], span=op.span)
    return Body([item], value_block(got, key.value.name, owner))


def builtin_applied(function: BuiltinRef, count: int, op: Op, owner: Function | None) -> Body | None:
    """A builtin without effects; another could define its name anew while the loop runs."""
    _, _, least, most, _, _, pure, *_ = INDEX[function.name]
    if not pure or count < least or (most >= 0 and count > most):
        return None
    params = [temporary("item", owner) for _ in range(count)]
    args: list[Expr] = [Ref(param) for param in params]
    return Body(params, value_block(CallBuiltin(function.name, args, as_value=True, span=op.span), "value", owner))


def lambda_applied(function: Function, count: int) -> Body | None:
    """The body of a lambda, of which no closure keeps variables: all rounds of a loop share them."""
    names = {param.name for param in function.params}
    if not fits(function, count) or function.has_closures or function.self_tail or len(names) < count:
        return None
    if any(param.assigned for param in function.params):
        return None
    block: Block = function.code
    for instr in instructions(block, into_functions=False):
        inner = instr.op
        if type(inner) is Loop and jumps_out(inner.source):
            return None  # such a jump leaves loops by `return`
        if type(inner) is Call:
            inner.tail = inner.trampolined = False
        elif type(inner) is CallBuiltin:
            inner.tail = False
    return Body(function.params, block)


def fits(function: Function, count: int) -> bool:
    return function.rest is None and len(function.params) == count
