"""What operations do with maps: what each operand is used for.

READ looks at a map, and gives nothing that it holds. PARTS shows what it holds to others. ALIAS lets another variable
hold it. TAKE makes a changed map of it, which may be the same one. STORE puts it into another map. GIVE hands it to a
function that takes or stores it. FILL adds an entry to a bare dict. LEAK lets anybody see it from now on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.build import is_fixed
from semac.anf.nodes import Expr, Op, Ref
from semac.anf.walk import bound, operands, pattern_vars
from semac.ir.intrinsics import BY_DEFAULT, KEYWORD_GET, LEVEL, LOOK, MAP_CLASSES, UPDATED
from semac.ir.nodes import Var
from semac.optimize.own.dicts import lent_positions, read_positions
from semac.optimize.own.representation import known_callee
from semac.types.lattice import DICT

READ, PARTS, ALIAS, TAKE, STORE, GIVE, FILL, LEAK = range(8)
NAMES = ("read", "parts", "alias", "take", "store", "give", "fill", "leak")
SHOWERS = frozenset(("vals", "map/entries"))
PYTHON_READERS = frozenset(("not", "is_none", "size"))


class Use(NamedTuple):
    """how: one of the above. keys: those under which a map is changed, stored, or read where these are literals."""

    var: Var
    how: int
    keys: tuple[Expr, ...] = ()
    container: Any = None  # of STORE: the variable that holds the map in which it is stored
    target: Any = None  # of GIVE: the parameter


def may_hold(value: Any) -> bool:
    """Whether an operand is a local variable that may hold a map."""
    return type(value) is Ref and not value.var.is_global and bool(value.type.tags & DICT)


def is_var(var: Any) -> bool:
    return type(var) is Var and not var.is_global and (var.type is None or bool(var.type.tags & DICT))


def is_place(var: Var) -> bool:
    """Whether a variable that changes is a function's own."""
    return not var.is_global and not var.captured and not var.early


def change_of(op: Op) -> bool:
    """Whether an operation makes a changed map of its first operand."""
    if type(op) is not anf.CallBuiltin:
        return False
    count = len(op.args)
    return (op.name == "assoc" and count >= 3 and count % 2 == 1) or (op.name == "dissoc" and count >= 2)


def uses_of(op: Op, var: Any) -> list[Use]:
    """How an operation uses those of its operands that may hold maps. var: what its value is bound to."""
    values = operands(op)
    if type(op) is anf.Read:
        return [Use(op.var, ALIAS)] if is_place(op.var) and op.type.tags & DICT else []
    if not any(map(may_hold, values)):
        return []
    rules = {anf.CallBuiltin: of_builtin, anf.CallRuntime: of_runtime, anf.Call: of_call, anf.Python: of_python}
    kind = type(op)
    uses: list[Use]
    if kind in rules:
        uses = rules[kind](op, var)  # type: ignore[operator]
    elif kind is anf.SetItem:
        uses = [
            *each([op.subject], FILL, (op.key,)),  # type: ignore[attr-defined]
            *each([op.key], LEAK),  # type: ignore[attr-defined]
            *stored([op.value], [op.key], op.subject.var),  # type: ignore[attr-defined]
        ]
    elif kind is anf.MakeMap:
        uses = [*each(values[0::2], LEAK), *stored(values[1::2], values[0::2], var)]
    elif kind in (anf.Move, anf.Loop):
        uses = each(values, ALIAS)
    elif kind is anf.For or kind is anf.Comprehension:
        inits = op.inits if kind is anf.For else []  # type: ignore[attr-defined]
        uses = [*each(inits, ALIAS), *each(op.sources, gone_through(op))]  # type: ignore[attr-defined]
    elif kind is anf.If:
        uses = each(values, READ)
    elif kind is anf.Assign:
        uses = each(values, ALIAS if is_place(op.var) else LEAK)  # type: ignore[attr-defined]
    elif kind is anf.Logic:
        uses = each(values, ALIAS if var is not None else READ)
    elif kind in (anf.Match, anf.Destructure):
        uses = each(values, PARTS if any(map(is_var, bound(op))) else READ)
    else:
        uses = each(values, LEAK)
    return [use if is_fixed(use.var) else use._replace(how=LEAK) for use in uses]


def gone_through(op: Any) -> int:
    """How a loop uses the map whose entries it goes through."""
    if op.how != "pairs":
        return LEAK
    return PARTS if any(map(is_var, pattern_vars(op.target))) else READ


def each(values: list[Expr], how: int, keys: tuple[Expr, ...] = ()) -> list[Use]:
    return [Use(value.var, how, keys) for value in values if may_hold(value)]  # type: ignore[union-attr]


def stored(values: list[Expr], keys: list[Expr], container: Any) -> list[Use]:
    """What is put into a map. container: the variable of that map."""
    pairs = zip(values, keys, strict=True)
    if container is None:
        return each(values, READ)
    return [Use(value.var, STORE, (key,), container) for value, key in pairs if may_hold(value)]  # type: ignore[union-attr]


def of_builtin(op: anf.CallBuiltin, var: Any) -> list[Use]:
    name, args = op.name, op.args
    if change_of(op):
        if name == "dissoc":
            return [*each(args[:1], TAKE, tuple(args[1:])), *each(args[1:], LEAK)]
        keys = args[1::2]
        return [*each(args[:1], TAKE, tuple(keys)), *each(keys, LEAK), *stored(args[2::2], keys, var)]
    if name == "get" and len(args) in (2, 3):
        return looked_up(args)
    if name in SHOWERS:
        return each(args, PARTS)
    if name == "keys":  # which never change
        return each(args, READ)
    if name == "merge":  # what it gives may be one of them
        return each(args, ALIAS)
    hows = dict.fromkeys(lent_positions(name, len(args)), PARTS) | dict.fromkeys(read_positions(name, len(args)), READ)
    return [use for index, arg in enumerate(args) for use in each([arg], hows.get(index, LEAK))]


def looked_up(args: list[Expr]) -> list[Use]:
    """A map, a key, and what there is instead of a missing entry."""
    return [*each(args[:1], READ, (args[1],)), *each(args[1:2], LEAK), *each(args[2:], ALIAS)]


def of_runtime(op: anf.CallRuntime, var: Any) -> list[Use]:
    args = op.args
    if op.path in (KEYWORD_GET, LOOK):
        return looked_up(args)
    if op.path in (LEVEL, UPDATED) or is_wrap(op):
        return [*each(args[:1], ALIAS), *each(args[1:], LEAK)]
    if op.path == BY_DEFAULT and not op.type.tags:  # it raises, and names the dispatch value
        return each(args, READ)
    return each(args, LEAK)


def is_wrap(op: Op) -> bool:
    """Whether an operation makes the map of a bare dict."""
    return type(op) is anf.CallRuntime and op.path in MAP_CLASSES


def of_python(op: anf.Python, var: Any) -> list[Use]:
    args = op.args
    if op.kind == "get":
        return looked_up(args)
    if op.kind in PYTHON_READERS:
        return each(args, READ)
    if op.kind == "in" and len(args) == 2:
        return [*each(args[:1], LEAK), *each(args[1:], READ)]
    if op.kind == "drop_key":
        return [*each(args[:1], FILL, tuple(args[1:])), *each(args[1:], LEAK)]
    return each(args, LEAK)


def of_call(op: anf.Call, var: Any) -> list[Use]:
    callee = known_callee(op)
    if callee is None:
        return each(operands(op), LEAK)
    pairs = zip(op.args, callee.params, strict=True)
    return [Use(arg.var, GIVE, target=param) for arg, param in pairs if may_hold(arg)]  # type: ignore[union-attr]


def sources_of(op: Op) -> list[tuple[Expr, tuple[Expr, ...]]]:
    """What the value of an operation comes from, apart from blocks: the operand and the key of it; () for all of it."""
    kind = type(op)
    if kind is anf.CallBuiltin:
        if change_of(op):
            values = op.args[2::2] if op.name == "assoc" else []  # type: ignore[attr-defined]
            return [(op.args[0], ()), *((value, ()) for value in values)]  # type: ignore[attr-defined]
        if op.name == "get" and len(op.args) in (2, 3):  # type: ignore[attr-defined]
            return found(op.args)  # type: ignore[attr-defined]
        if op.name == "merge":  # type: ignore[attr-defined]
            return [(arg, ()) for arg in op.args]  # type: ignore[attr-defined]
    if kind is anf.CallRuntime:
        if op.path in (KEYWORD_GET, LOOK):  # type: ignore[attr-defined]
            return found(op.args)  # type: ignore[attr-defined]
        if op.path in (LEVEL, UPDATED) or is_wrap(op):  # type: ignore[attr-defined]
            return [(op.args[0], ())]  # type: ignore[attr-defined]
    if kind is anf.Python and op.kind == "get":  # type: ignore[attr-defined]
        return found(op.args)  # type: ignore[attr-defined]
    if kind is anf.MakeMap:
        return [(value, ()) for value in op.items[1::2]]  # type: ignore[attr-defined]
    if kind in (anf.Move, anf.Logic):
        return [(operands(op)[0], ())]
    if kind is anf.Call and known_callee(op) is not None:  # type: ignore[arg-type]
        return [(arg, ()) for arg in op.args]  # type: ignore[attr-defined]
    return []


def found(args: list[Expr]) -> list[tuple[Expr, tuple[Expr, ...]]]:
    """The value under a key, or the default."""
    return [(args[0], (args[1],)), *((value, ()) for value in args[2:])]
