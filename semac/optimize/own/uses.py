"""How operations use the maps in variables: reading them, changing them in place, handing them on, showing them.

READ leaves the map where it is. LEND makes a map around the dict for a builtin that only reads it. CHANGE is `assoc`:
the result takes the dict over. MOVE gives the dict to another variable. ESCAPE lets anybody see the map from now on.
"""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.nodes import Op, Ref
from semac.anf.walk import operands
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.nodes import Function, Var
from semac.types.lattice import DICT, FN, Type
from semac.types.signatures import signature_for, variables

READ, LEND, CHANGE, MOVE, ESCAPE = "read", "lend", "change", "move", "escape"
READERS = {"get": (2, 3), "contains?": (2, 2), "count": (1, 1), "length": (1, 1)}
TESTS = frozenset(("nil?", "not", "map?"))


class Use(NamedTuple):
    """A variable with a map as an operand. target: who gets the map, of a move; a parameter's variable of a call."""

    var: Var
    how: str
    target: Any = None


def is_map(type_: Type) -> bool:
    """Whether a value surely is a map, of either kind."""
    return type_.only(DICT)


def known_callee(op: anf.Call) -> Function | None:
    """The one function of the unit that a call reaches, which nobody else calls."""
    head = op.head.type
    if not head.only(FN) or head.fns is None or len(head.fns) != 1:
        return None
    (function,) = head.fns
    if type(function) is not Function or function.is_open or function.rest is not None:
        return None
    return function if len(function.params) == len(op.args) else None


def uses_of(op: Op, var: Var | None) -> list[Use]:
    """How an operation uses the maps among its operands. var: what its value is bound to."""
    if not any(map(maps, operands(op))):
        return []
    kind = type(op)
    if kind is anf.CallBuiltin:
        return builtin_uses(op, var)  # type: ignore[arg-type]
    if kind is anf.CallRuntime and op.path == KEYWORD_GET:  # type: ignore[attr-defined]
        return each(op, {0: READ})
    if kind is anf.Move:
        return [Use(value.var, MOVE, var) for value in operands(op) if maps(value)]  # type: ignore[union-attr]
    if kind is anf.Call:
        return call_uses(op)  # type: ignore[arg-type]
    if kind is anf.Loop or kind is anf.For:
        pairs = zip(op.params, op.inits, strict=False)  # type: ignore[attr-defined]
        given = [Use(init.var, MOVE, param) for param, init in pairs if maps(init)]
        lent = operands(op)[len(op.inits) :]  # type: ignore[attr-defined]
        return [*given, *(Use(source.var, LEND) for source in lent if maps(source))]  # type: ignore[union-attr]
    if kind is anf.If or (kind is anf.Python and op.kind in ("not", "is_none")):  # type: ignore[attr-defined]
        return each(op, {0: READ})
    if kind is anf.Logic:
        if var is None:
            return each(op, {0: READ})
        return [Use(op.first.var, MOVE, var)] if is_map(op.type) else each(op, {})  # type: ignore[attr-defined]
    if kind is anf.Match or kind is anf.Destructure:
        return each(op, {0: LEND})
    return each(op, {})


def maps(value: Any) -> bool:
    return type(value) is Ref and is_map(value.type)


def each(op: Op, how: dict[int, str]) -> list[Use]:
    """The uses of all operands that are maps; those whose position isn't given escape."""
    return [
        Use(value.var, how.get(index, ESCAPE))  # type: ignore[union-attr]
        for index, value in enumerate(operands(op))
        if maps(value)
    ]


def builtin_uses(op: anf.CallBuiltin, var: Var | None) -> list[Use]:
    count = len(op.args)
    if op.name in READERS and READERS[op.name][0] <= count <= READERS[op.name][1]:
        return each(op, {0: READ})
    if op.name in TESTS and count == 1:
        return each(op, {0: READ})
    if op.name == "assoc" and count >= 3 and count % 2:
        uses = each(op, {0: CHANGE})
        return [use._replace(target=var) if use.how == CHANGE else use for use in uses]
    return each(op, dict.fromkeys(lent_positions(op.name, count), LEND))


@cache
def lent_positions(name: str, count: int) -> tuple[int, ...]:
    """The arguments of a builtin that it neither keeps nor gives back."""
    signature = signature_for(name, count)
    if signature is None:
        return ()
    shown = variables(signature.result)
    lent = []
    for index in range(count):
        param = signature.param(index)
        is_part = any(len(letter) == 1 and letter in shown for letter in whole_variables(param.type))
        if param.mode == "" and not is_part:
            lent.append(index)
    return tuple(lent)


def whole_variables(expr: Any) -> list[str]:
    """The variables that stand for the argument itself, not for something in it."""
    from semac.types.signatures import Union, Variable

    parts = expr.parts if type(expr) is Union else (expr,)
    return [part.letter for part in parts if type(part) is Variable]


def call_uses(op: anf.Call) -> list[Use]:
    function = known_callee(op)
    if function is None:
        return each(op, {})
    return [Use(arg.var, MOVE, param) for param, arg in zip(function.params, op.args, strict=True) if maps(arg)]  # type: ignore[union-attr]


def is_fresh(op: Op) -> str:
    """ "Map" or "HashMap" of an operation that makes a map nobody else has; "" for others."""
    from sema_runtime.values.maps import PLAIN

    if type(op) is anf.MakeMap:
        plain = all(type(key) is anf.Lit and type(key.value) in PLAIN for key in op.items[0::2])
        return "Map" if plain else ""
    if type(op) is anf.CallBuiltin and op.name == "hashmap/new" and not op.args:
        return "HashMap"
    return ""
