"""How operations take part in the order of effects."""

from __future__ import annotations

from semac.anf.nodes import (
    Block,
    CallRuntime,
    Closure,
    Comprehension,
    Expr,
    Fits,
    For,
    GetField,
    If,
    IsRecord,
    Iteration,
    Jump,
    Lit,
    Logic,
    MakeMap,
    MakeVector,
    Move,
    Op,
    Python,
    Read,
    Ref,
)
from semac.anf.step_nodes import Facts
from semac.anf.walk import blocks
from semac.generate.python_ops import EFFECT as EFFECT
from semac.generate.python_ops import PURE as PURE
from semac.generate.python_ops import PYTHON_OPS
from semac.generate.python_ops import READ as READ
from semac.ir.intrinsics import MAP_CLASSES, TAIL_OF, WITH_ENTRIES, WITH_ENTRY
from semac.types.lattice import (
    ARRAY,
    CHAR,
    DICT,
    FLOAT,
    INT,
    KEYWORD,
    LIST,
    MAP,
    NIL,
    SEQUENCE,
    STR,
    SYMBOL,
    VECTOR,
    Type,
)

CONDITION_FIELD = "sema_runtime.conditions.caught:condition_field"
RUNTIME_RANKS = {
    CONDITION_FIELD: READ,
    TAIL_OF: PURE,
    WITH_ENTRY: PURE,
    WITH_ENTRIES: PURE,
    **dict.fromkeys(MAP_CLASSES, PURE),
}
DIVISIONS = frozenset(("mod", "floordiv"))
PLAIN_KEYS = INT | STR | KEYWORD | SYMBOL | CHAR  # keys that maps store as they are

OR_NIL = {"int": INT, "float": FLOAT, "str": STR, "tuple": VECTOR, "List": LIST, "Map": MAP, "MutableArray": ARRAY}


def own_rank(op: Op, values: list[Expr]) -> int:
    """How an operation, apart from its operands, these values, takes part in the order of effects.

    One that can't fail because another one, before it, has not, may not go before that.
    """
    rank = plain_rank(op)
    return READ if rank == PURE and any(map(is_vouched, values)) else rank


def is_vouched(value: Expr) -> bool:
    """Whether a value is known better here than where it is bound."""
    if type(value) is not Ref or not value.var.is_vouched:
        return False
    return value.var.type is None or bool(value.var.type.tags & ~value.type.tags)


def plain_rank(op: Op) -> int:
    kind = type(op)
    if kind in (Closure, Facts, Fits, Move, MakeVector, MakeMap):
        return PURE
    if kind is Read:
        var = op.var  # type: ignore[attr-defined]
        return EFFECT if var.is_global and (var.late or not var.defined) else READ
    if kind is GetField and op.is_sure:  # type: ignore[attr-defined]
        return READ
    if kind is IsRecord and op.is_sure:  # type: ignore[attr-defined]
        return PURE
    if kind is CallRuntime:
        return RUNTIME_RANKS.get(op.path, EFFECT)  # type: ignore[attr-defined]
    if kind is Python:
        return PURE if is_sure_division(op) else PYTHON_OPS[op.kind].rank  # type: ignore[arg-type, attr-defined]
    if kind in (If, Logic):
        return max(block_rank(inner) for inner in blocks(op))
    if kind is Comprehension:
        return max(source_rank(op), *map(block_rank, blocks(op)))  # type: ignore[arg-type]
    return EFFECT


def is_sure_division(op: Python) -> bool:
    """Whether an operation divides ints by one that isn't 0."""
    if op.kind not in DIVISIONS or not op.args[0].type.only(INT):
        return False
    return all(type(value) is Lit and type(value.value) is int and value.value for value in op.args[1:])


def block_rank(block: Block) -> int:
    if block.instrs or type(block.exit) is Jump:
        return EFFECT
    return rank(block.exit.value)  # type: ignore[union-attr]


def rank(expr: Expr) -> int:
    return expr.rank if isinstance(expr, Op) else PURE


def source_rank(op: Comprehension) -> int:
    """How a comprehension, apart from its operands and blocks, takes part in the order of effects."""
    if op.kind in ("sort-by", "group-by", "key-by") and not value_type(op).only(PLAIN_KEYS):
        return EFFECT  # a key may be none
    if op.how in ("range", "text") or (op.how == "pairs" and op.sources[0].type.only(DICT)):
        return PURE
    is_sure = op.how in ("items", "indexed", "zip", "reversed") and all(
        source.type.only(SEQUENCE) for source in op.sources
    )
    return PURE if is_sure else EFFECT


def value_type(op: Comprehension) -> Type:
    """The type of what a comprehension has for an item."""
    exit_ = op.body.exit
    return exit_.value.type  # type: ignore[union-attr]


def loop_rank(op: Iteration) -> int:
    """How what happens to each item takes part in the order of effects."""
    ranks = list(map(block_rank, blocks(op))) if type(op) is Comprehension else []
    if type(op) is For:
        exit_ = op.body.exit
        is_plain = not op.body.instrs and type(exit_) is Jump
        ranks = list(map(rank, exit_.args)) if is_plain else [EFFECT]  # type: ignore[union-attr]
    return max(ranks, default=PURE)


def commute(a: int, b: int) -> bool:
    """Whether operations of these ranks may change places."""
    return (a + b <= READ + READ and EFFECT not in (a, b)) or PURE in (a, b)


def is_nil_else(arg: Expr, kind: str) -> bool:
    """Whether a value surely is nil where it isn't of the kind."""
    tags = OR_NIL.get(kind, 0)
    return arg.type.tags & NIL != 0 and bool(arg.type.tags & tags) and arg.type.only(tags | NIL)
