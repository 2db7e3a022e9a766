"""What operations and patterns give for values that stand in the code: literals, maps and lists that were just made."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Keyword
from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import (
    AnyPattern,
    CallBuiltin,
    Destructure,
    Expr,
    Lit,
    LiteralPattern,
    MakeMap,
    MakeVector,
    MapPattern,
    Op,
    Pattern,
    Ref,
    SequencePattern,
    VarPattern,
)
from semac.anf.walk import operands
from semac.ir.nodes import Var
from semac.optimize.fields.carriers import TESTS, is_keyword, read_keys

Binds = list[tuple[Var, Expr]]
Vars = frozenset[Var]
NO_VARS: Vars = frozenset()
EQUALS = frozenset(("=", "eq?", "equal?"))
PLAIN = frozenset((Keyword, bool, type(None), str))  # literals that are equal only to those of their own type
MISSING = object()


def parts_of(value: Expr) -> dict[Any, Expr] | None:
    """The fields of a map with literal keywords, by keyword, or the items of a list or vector, by index, where the
    operation that made a value says them."""
    if type(value) is not Ref or not is_fixed(value.var) or value.var.is_global:
        return None
    op = value.var.op
    if type(op) is MakeMap:
        if not op.items or not all(map(is_keyword, op.items[0::2])):
            return None
        return {key.value: item for key, item in zip(op.items[0::2], op.items[1::2], strict=True)}  # type: ignore[union-attr]
    if is_row(op):
        return dict(enumerate(operands(op)))
    return None


def is_row(op: Any) -> bool:
    """Whether an operation makes a list or vector of its operands."""
    return (type(op) is MakeVector or (type(op) is CallBuiltin and op.name == "list")) and bool(operands(op))


def constant(value: Expr) -> Any:
    """The value of a literal that can be compared; MISSING for anything else."""
    return value.value if type(value) is Lit and (type(value.value) in PLAIN or type(value.value) is int) else MISSING


def is_equal(one: Any, other: Any) -> bool | None:
    """Whether two constants are equal in Sema; None where nobody knows."""
    if one is MISSING or other is MISSING:
        return None
    if type(one) is type(other):
        return bool(one == other)
    return False if type(one) in PLAIN and type(other) in PLAIN else None


def truth(value: Expr, true: Vars = NO_VARS) -> bool | None:
    """Whether a value counts as true. true: the variables of which that is known."""
    if type(value) is Lit:
        return value.value is not None and value.value is not False
    is_true = parts_of(value) is not None or (type(value) is Ref and value.var in true)
    return True if is_true else None


def answer(op: Op, args: list[Expr], true: Vars = NO_VARS) -> Expr | None:
    """The atom that an operation gives for its operands; None where it has to run."""
    if type(op) is CallBuiltin and op.name in TESTS and len(args) == 1:
        is_true = truth(args[0], true)
        if is_true is None or (op.name == "nil?" and not is_true):
            known = constant(args[0])
            return literal(known is None) if op.name == "nil?" and known is not MISSING else None
        return literal(not is_true)
    if type(op) is CallBuiltin and op.name in EQUALS and len(args) == 2:
        result = is_equal(constant(args[0]), constant(args[1]))
        return None if result is None else literal(result)
    keys = read_keys(op) if type(op) is not Destructure else None
    if keys is None or len(keys) != 1 or not args:
        return None
    parts = parts_of(args[0])
    if parts is None:
        return None
    (key,) = keys
    if (type(key) is Keyword) is not (0 not in parts):
        return None
    if type(op) is CallBuiltin and op.name == "contains?":
        return literal(key in parts)
    if key in parts:
        return parts[key]
    if type(key) is not Keyword:
        return None  # an error
    return args[2] if len(args) > 2 else literal(None)


def fit(pattern: Pattern, value: Expr, binds: Binds) -> bool | None:
    """Whether a pattern fits a value; None where that isn't known. binds: gets the variables and their values."""
    kind = type(pattern)
    if kind is AnyPattern:
        return True
    if kind is VarPattern:
        binds.append((pattern.var, value))  # type: ignore[attr-defined]
        return True
    if kind is LiteralPattern:
        known = constant(value)
        if known is MISSING and parts_of(value) is not None and constant(Lit(pattern.value)) is not MISSING:  # type: ignore[attr-defined]
            return False
        return is_equal(known, constant(Lit(pattern.value)))  # type: ignore[attr-defined]
    parts = parts_of(value)
    if kind is SequencePattern:
        return fit_row(pattern, value, parts, binds)  # type: ignore[arg-type]
    if kind is not MapPattern or parts is None:
        return False if kind is MapPattern and constant(value) is not MISSING else None
    if 0 in parts:
        return False
    return fit_fields(pattern, parts, binds)  # type: ignore[arg-type]


def fit_row(pattern: SequencePattern, value: Expr, parts: dict[Any, Expr] | None, binds: Binds) -> bool | None:
    if parts is None:
        return False if type(constant(value)) in (Keyword, bool, int) else None
    if pattern.rest is not None:
        return None
    if 0 not in parts or len(parts) != len(pattern.parts):
        return False
    return all_fit([(part, parts[index]) for index, part in enumerate(pattern.parts)], binds)


def fit_fields(pattern: MapPattern, parts: dict[Any, Expr], binds: Binds) -> bool | None:
    pairs: list[tuple[Pattern, Expr]] = []
    for key, part, required in pattern.entries:
        if type(key) is not Keyword:
            return None
        if required and key not in parts:
            return False
        pairs.append((part, parts.get(key, literal(None))))
    return all_fit(pairs, binds)


def all_fit(pairs: list[tuple[Pattern, Expr]], binds: Binds) -> bool | None:
    """Whether all parts fit, asked in order: what isn't known may raise an error."""
    for pattern, value in pairs:
        result = fit(pattern, value, binds)
        if not result:
            return result
    return True
