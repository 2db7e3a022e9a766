"""What calls of builtins on maps give, where the arguments decide more than a signature can say."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from semac.anf.nodes import CallBuiltin, CallRuntime, Expr, Lit, Ref
from semac.ir.intrinsics import FIELD, FIELD_LEVEL, FIELD_LOOK, LEVEL, LOOK, UPDATED
from semac.optimize.infer.builtins import NIL_TYPE, called_function, rule
from semac.optimize.infer.recursive import unfolded
from semac.types.lattice import (
    ANY,
    DICT,
    FN,
    HASHMAP,
    KEYWORD,
    MAP,
    NEVER,
    OTHER,
    VECTOR,
    Type,
    dict_of,
    field,
    join,
    join_all,
    make,
    restrict,
    shape_of,
    vector_of,
)

if TYPE_CHECKING:
    from semac.optimize.infer.flow import Flow

LEVELS = frozenset((LEVEL, LOOK, UPDATED))
FIELDS = frozenset((FIELD, FIELD_LOOK, FIELD_LEVEL))


def keyword_of(key: Expr) -> Any:
    """The keyword that a literal key is; None for anything else."""
    return key.value if type(key) is Lit and key.type.only(KEYWORD) else None


def is_shape(type_: Type) -> bool:
    return type_.only(MAP) and type_.shape is not None


@rule("get")
def get(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) not in (2, 3) or NEVER in args:
        return NEVER if NEVER in args else None
    default = args[2] if len(args) == 3 else NIL_TYPE
    if not args[0].only(DICT):
        return None
    key = keyword_of(op.args[1])
    if key is not None:
        return field(args[0], key, default)
    return join(args[0].value, default)


@rule("assoc")
def assoc(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if len(args) < 3 or len(args) % 2 == 0 or NEVER in args:
        return NEVER if NEVER in args else None
    subject = args[0]
    if not subject.only(DICT):
        return None
    keys = op.args[1::2]
    if subject.only(MAP) and subject.shape is not None:
        if all(type(key) is Lit and key.type.only(KEYWORD) for key in keys):
            fields = dict(subject.shape)
            written = {key.value: type_ for key, type_ in zip(keys, args[2::2], strict=True)}  # type: ignore[union-attr]
            return shape_of({**fields, **written}, subject.optional.difference(written))
    key_type, value_type = subject.key, subject.value
    for index in range(1, len(args), 2):
        key_type, value_type = join(key_type, args[index]), join(value_type, args[index + 1])
    return dict_of(subject.tags, key_type, value_type)


@rule("hashmap/new")
def hashmap(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    return dict_of(HASHMAP, NEVER, NEVER) if not args else None


@rule("merge")
def merge(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    """Shapes of which the later ones win."""
    if not args or NEVER in args or not all(map(is_shape, args)):
        return NEVER if NEVER in args else None
    merged = args[0]
    for later in args[1:]:
        fields, written = dict(merged.shape or ()), dict(later.shape or ())
        for key in written:
            fields[key] = field(later, key, fields.get(key, NEVER))
        missing = merged.optional | (written.keys() - dict(merged.shape or ()).keys())
        merged = shape_of(fields, missing.difference(written.keys() - later.optional))
    return merged


@rule("dissoc")
def dissoc(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    if not args or NEVER in args or not is_shape(args[0]):
        return NEVER if NEVER in args else None
    keys = {keyword_of(key) for key in op.args[1:]}
    if None in keys:
        return None
    return shape_of({key: part for key, part in args[0].shape or () if key not in keys}, args[0].optional - keys)


@rule("map/update")
def update(flow: Flow, op: CallBuiltin, args: list[Type]) -> Type | None:
    """One field becomes what the function makes of it."""
    if len(args) != 3 or NEVER in args or not is_shape(args[0]):
        return NEVER if NEVER in args else None
    key, functions = keyword_of(op.args[1]), args[2].fns
    if key is None or not functions or not args[2].only(FN):
        return None
    old = field(args[0], key, NIL_TYPE)
    value = join_all(called_function(flow, function, [old]) for function in functions)
    return shape_of({**dict(args[0].shape or ()), key: value}, args[0].optional - {key})


# Maps that are tuples (optimize/rows/shapes.py)


def field_type(flow: Flow, op: CallRuntime) -> Type:
    """What is in an item of a map that is a tuple, or such a map at a level of a path."""
    subject = unfolded(flow.solver, flow.operand(op.args[0]))
    for arg in op.args[1:]:
        flow.operand(arg)
    if subject is NEVER:
        return NEVER
    tuples = restrict(subject, VECTOR)
    is_tuple = tuples is subject
    number: int = op.args[1].value  # type: ignore[union-attr]
    if op.path == FIELD_LEVEL:
        return tuples if is_tuple else join(tuples, vector_of(*[NIL_TYPE] * number))
    if op.path == FIELD and type(op.args[0]) is Ref:
        flow.facts.narrow(op.args[0].var, VECTOR)  # it would have raised for anything else
    items = tuples.vec if tuples is not NEVER else (NEVER,) * (number + 1)
    item = items[number] if items is not None else tuples.vitem
    return item if is_tuple or op.path == FIELD else join(item, NIL_TYPE)


def level_type(flow: Flow, op: CallRuntime) -> Type:
    """A step of an update or a look-up along a path."""
    subject, *others = [flow.operand(arg) for arg in op.args]
    if subject is NEVER or NEVER in others:
        return NEVER
    default = others[1] if op.path == LOOK and len(others) > 1 else NIL_TYPE
    if subject.tags & OTHER:
        flow.solver.escape(subject)
        flow.solver.escape(default)
        return ANY if op.path == LOOK else make(DICT)
    maps = restrict(subject, DICT)
    is_map = maps is subject
    if op.path == UPDATED:
        return maps
    if op.path == LEVEL:
        return maps if is_map else join(maps, shape_of({}))
    key = op.args[1].value if type(op.args[1]) is Lit and others[0].only(KEYWORD) else None
    held = NEVER if maps is NEVER else field(maps, key, default) if key else join(maps.value, default)
    return held if is_map else join(held, default)
