"""Questions about IR that emission asks: what fits an expression, what has effects, what is read too early."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import PLAIN
from semac.ir import nodes as ir
from semac.ir.types import FLOAT, INT, LIST, MAP, OTHER, STR, TAGS, only

TYPE = keyword("type")
LOCAL_NODES = (
    ir.Let, ir.NamedLet, ir.Define, ir.Bind, ir.Match, ir.Try, ir.While, ir.With,
)  # fmt: skip


def has_locals(node: Any) -> bool:
    """Whether a node binds variables outside of lambdas, or loops."""
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, LOCAL_NODES):
            return True
        if type(part) is ir.CallBuiltin and (part.inlined is not None or part.name == "foldl"):
            return True
        if type(part) is not ir.Lambda:
            stack.extend(ir.children(part))
    return False


def globals_of(node: Any) -> set[str]:
    """Python names of the globals mentioned below a node."""
    return {
        part.var.py for part in ir.walk(node) if (type(part) is ir.Ref or type(part) is ir.Set) and part.var.is_global
    }


def throws_plainly(node: Any) -> bool:
    """Whether a thrown value is surely neither an exception of Python's nor a map that stands for a condition."""
    if type(node) is ir.MapLit:
        return all(type(key) is ir.Const and key.value is not TYPE for key in node.keys)
    return bool(node.type & TAGS) and not node.type & (OTHER | MAP)


def has_plain_keys(node: Any) -> bool:
    """Whether a node is a map written out whose keys are known and stand in the map's dict as they are."""
    return type(node) is ir.MapLit and all(type(key) is ir.Const and type(key.value) in PLAIN for key in node.keys)


def has_effects(node: Any) -> bool:
    """Whether evaluating a node for nothing could still be noticed."""
    if type(node) is ir.Ref:
        return bool(node.var.is_global)  # it may be unbound
    return type(node) not in (ir.Const, ir.Quote, ir.Builtin, ir.Lambda)


def is_stable(node: Any) -> bool:
    """Whether evaluating a node later has the same value, whatever runs in between."""
    kind = type(node)
    if kind is ir.Ref:
        return not node.var.assigned and (not node.var.is_global or node.var.known_function is not None)
    return kind in (ir.Const, ir.Quote, ir.Builtin, ir.Lambda)


# Builtins that can't fail where each argument is of a type.
TOTAL: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("=", "eq?", "equal?"), (TAGS, TAGS)),
    **dict.fromkeys(("not", "nil?"), (TAGS,)),
    **dict.fromkeys(("+", "-", "*", "<", ">", "<=", ">="), (INT | FLOAT, INT | FLOAT)),
    **dict.fromkeys(("even?", "odd?"), (INT,)),
    **dict.fromkeys(("car", "first", "cdr", "rest", "null?"), (LIST,)),
    **dict.fromkeys(("mod", "quotient", "remainder"), (INT, INT)),
    "cons": (TAGS, LIST),
}
DIVISIONS = frozenset(("mod", "quotient", "remainder"))


def is_total(node: Any) -> bool:
    """Whether evaluating a node always succeeds, without effects."""
    kind = type(node)
    if kind is ir.Ref:
        return not node.var.is_global
    if kind in (ir.If, ir.And, ir.Or):
        return all(map(is_total, ir.children(node)))
    if kind is not ir.CallBuiltin:
        return kind in (ir.Const, ir.Quote, ir.Builtin)
    allowed = TOTAL.get(node.name)
    if allowed is None or len(allowed) != len(node.args):
        return False
    if node.name in DIVISIONS and (type(node.args[1]) is not ir.Const or node.args[1].value == 0):
        return False
    return all(only(arg.type, types) and is_total(arg) for arg, types in zip(node.args, allowed, strict=True))


SHORT = frozenset((
    ir.Const, ir.Ref, ir.Builtin, ir.Call, ir.CallBuiltin, ir.Runtime, ir.If, ir.And, ir.Or, ir.Vector, ir.PyAttr,
    ir.PyItem, ir.PyCall,
))  # fmt: skip


def is_short(node: Any, budget: int = 14) -> bool:
    """Whether a function body fits a Python lambda."""
    count = 0
    stack = [node]
    while stack:
        part = stack.pop()
        count += 1
        if type(part) not in SHORT or count > budget:
            return False
        stack.extend(ir.children(part))
    return True


def read_early(variables: list[ir.Var], body: Any) -> set[ir.Var]:
    """Variables of a body that may be read before their definition has run."""
    items = body.items if type(body) is ir.Seq else [body]
    pending = set(variables)
    early: set[ir.Var] = set()
    for item in items:
        if type(item) is ir.Set and item.var in pending and item.define:
            if type(item.value) is not ir.Lambda:
                early |= mentioned(item.value) & pending
            pending.discard(item.var)
        else:
            early |= mentioned(item) & pending
        if not pending:
            break
    if pending:
        early |= pending
    # a function defined first may be called before a later variable is defined
    defined_functions = [i for i in items if type(i) is ir.Set and type(i.value) is ir.Lambda]
    plain = [i.var for i in items if type(i) is ir.Set and i.define and type(i.value) is not ir.Lambda]
    if defined_functions and plain:
        used = set().union(*(mentioned(i.value) for i in defined_functions))
        first = next(
            (i for i, item in enumerate(items) if not (type(item) is ir.Set and type(item.value) is ir.Lambda)), 0
        )
        later = {item.var for item in items[first + 1 :] if type(item) is ir.Set and item.define}
        early |= used & later & set(variables)
    return early


def mentioned(node: Any) -> set[ir.Var]:
    return {part.var for part in ir.walk(node) if type(part) is ir.Ref or type(part) is ir.Set}


PURE_BUILTINS = frozenset([
    "+", "-", "*", "/", "mod", "quotient", "remainder", "<", ">", "<=", ">=", "=", "not", "car", "cdr", "cons", "first",
    "rest", "null?", "nil?",
])  # fmt: skip


def is_pure(node: Any) -> bool:
    """Whether the order in which nodes like this are evaluated can't be seen."""
    for part in ir.walk(node):
        kind = type(part)
        if kind is ir.CallBuiltin:
            if part.name not in PURE_BUILTINS:
                return False
        elif kind not in (ir.Const, ir.Quote, ir.Ref, ir.Builtin):
            return False
    return True


def is_plain_split(node: Any) -> bool:
    """`(string/split text "x")` of a string with a separator that isn't empty: Python's own split."""
    if type(node) is not ir.CallBuiltin or node.name != "string/split" or len(node.args) != 2:
        return False
    text, separator = node.args
    return (
        only(text.type, STR) and type(separator) is ir.Const and type(separator.value) is str and separator.value != ""
    )


def is_owned_assoc(node: Any) -> bool:
    """`(assoc variable key value ...)`."""
    args = node.args
    return node.name == "assoc" and len(args) >= 3 and len(args) % 2 == 1 and type(args[0]) is ir.Ref
