"""Tests: the truth of an expression, as an expression of C without effects.

After each, `f.branches` has the variables that surely have a value where it is true, and where it is false.
"""

from __future__ import annotations

import ast

from semac.native.arithmetic import COMPARISONS, as_float, finished
from semac.native.expressions import assigns, expr, inlined_call, meet, negated_c, obj, truth
from semac.native.function import FunctionCode
from semac.native.guards import guarded_comparison
from semac.native.values import DROP, Value

TYPES = {"i": "(PyObject *)&PyLong_Type", "f": "(PyObject *)&PyFloat_Type", "b": "(PyObject *)&PyBool_Type"}
LITERAL_TYPES = frozenset(
    f"(PyObject *)&Py{name}_Type" for name in ("Long", "Float", "Bool", "Unicode", "Tuple", "List", "Dict")
)
RICH = {"lt": "Py_LT", "le": "Py_LE", "gt": "Py_GT", "ge": "Py_GE", "eq": "Py_EQ", "ne": "Py_NE"}
SIGNS = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}


def test(f: FunctionCode, node: ast.expr) -> str:
    """Writes what tells the truth of an expression."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        c = negated_c(test(f, node.operand))
        f.branches = f.branches[1], f.branches[0]
        return c
    if isinstance(node, ast.BoolOp):
        return logic(f, node)
    if isinstance(node, ast.IfExp):
        return choice(f, node)
    c = comparison(f, node) if isinstance(node, ast.Compare) else plain(f, node)
    f.branches = f.assigned, f.assigned
    return c


def plain(f: FunctionCode, node: ast.expr) -> str:
    emptiness = empty(f, node)
    if emptiness is not None:
        return emptiness
    value = expr(f, node)
    c = truth(f, value, node)
    if value.is_owned:
        if value.c in c and c not in ("0", "1"):
            c = f.temp("b", c).c
        f.drop_below(value)
    return c


def empty(f: FunctionCode, node: ast.expr) -> str | None:
    """`xs.empty` and `is_null(xs)`; None for another expression."""
    if isinstance(node, ast.Attribute) and node.attr == "empty":
        value = obj(f, node.value)
        c = f"sema_is_empty({value.c}, {f.module.constant_name('empty')})"
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and len(node.args) == 1:
        if f.module.runtime_path(f, node.func.id) != "sema_runtime.lib.language.predicates.is_null":
            return None
        value = obj(f, node.args[0])
        c = f"sema_null_truth({value.c}, {f.module.runtime_value(f, node.func.id).c})"
    else:
        return None
    f.at(node)
    result = f.checked("b", c, node)
    f.drop_below(value)
    return result.c


def logic(f: FunctionCode, node: ast.BoolOp) -> str:
    """`a and b and c`"""
    is_and = isinstance(node.op, ast.And)
    decides = "0" if is_and else "1"
    result = ""
    early = f.assigned  # where one of the first parts decides
    is_first = True
    for part in node.values:
        with f.into() as lines:
            c = test(f, part)
        goes_on, stops = f.branches if is_and else (f.branches[1], f.branches[0])
        early = stops if is_first else meet(early, stops)
        is_first = False
        if not result:
            f.out += lines
            f.assigned = goes_on
            if c == decides:
                f.branches = (goes_on, early) if is_and else (early, goes_on)
                return c
            if c in ("0", "1"):
                continue
            result = f.temp("b", c).c
            continue
        f.assigned = goes_on
        if c == ("1" if is_and else "0") and not lines:
            continue
        f.emit(f"if ({result if is_and else '!' + result}) {{")
        f.out += lines
        f.emit(f"{result} = {c}; }}")
        if c == decides:
            break
    f.branches = (f.assigned, early) if is_and else (early, f.assigned)
    f.assigned = meet(*f.branches)
    return result or ("1" if is_and else "0")


def choice(f: FunctionCode, node: ast.IfExp) -> str:
    known = guarded_comparison(f, node)
    if known is None:
        call = inlined_call(f, node)
        known = plain(f, call) if call is not None else None
    if known is not None:
        f.branches = f.assigned, f.assigned
        return known
    condition = test(f, node.test)
    if condition in ("0", "1"):
        f.assigned = f.branches[condition == "0"]
        return test(f, node.body if condition == "1" else node.orelse)
    result = f.fresh("t")
    f.emit(f"int {result};")
    on_true, on_false = f.branches
    f.emit(f"if ({condition}) {{")
    f.assigned = on_true
    c = test(f, node.body)
    then = f.branches
    f.emit(f"{result} = {c}; }} else {{")
    f.assigned = on_false
    c = test(f, node.orelse)
    f.emit(f"{result} = {c}; }}")
    f.branches = meet(then[0], f.branches[0]), meet(then[1], f.branches[1])
    f.assigned = meet(*f.branches)
    return result


# Comparisons


def comparison(f: FunctionCode, node: ast.Compare) -> str:
    left = operand(f, node.left)
    if isinstance(node.left, ast.Name) and not left.is_owned and assigns(node.comparators[0], node.left.id):
        left = f.kept(left)
    return chain(f, left, node.ops, node.comparators, node)


def chain(f: FunctionCode, left: Value, ops: list[ast.cmpop], others: list[ast.expr], node: ast.Compare) -> str:
    """`left < a < b`, of which left is given back."""
    right = operand(f, others[0])
    c = compared(f, ops[0], left, right, node)
    if len(ops) == 1:
        return settled(f, c, left, right)
    if isinstance(others[0], ast.Name) and not right.is_owned and assigns(others[1], others[0].id):
        right = f.kept(right)
    c = settled(f, c, left)
    if c == "1":
        return chain(f, right, ops[1:], others[1:], node)
    if c == "0":
        f.drop_below(right)
        return c
    before = f.assigned
    result = f.temp("b", c).c
    drop = f"else {{ {DROP[right.rep].format(right.c)}; }}" if right.is_owned else ""
    f.emit(f"if ({result}) {{")
    c = chain(f, right, ops[1:], others[1:], node)
    f.emit(f"{result} = {c}; }} {drop}")
    f.assigned = meet(before, f.assigned)
    return result


def settled(f: FunctionCode, c: str, *values: Value) -> str:
    """A truth that needs its operands no more."""
    if any(value.is_owned for value in values):
        if c not in ("0", "1"):
            c = f.temp("b", c).c
        for value in reversed(values):
            f.drop_below(value)
    return c


def operand(f: FunctionCode, node: ast.expr) -> Value:
    """The value of an operand; `type(x)` without a call."""
    if (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "type"
        and len(node.args) == 1 and not node.keywords and f.module.is_builtin(f, "type")
    ):  # fmt: skip
        value = expr(f, node.args[0])
        if value.rep in TYPES:
            c = TYPES[value.rep]
        elif value.rep == "d":
            c = f"(PyObject *)sdyn_type({value.c})"
        else:
            c = f"(PyObject *)Py_TYPE({value.c})"
        if value.is_owned:
            c = f.temp("o", f"Py_NewRef({c})").c
            f.drop_below(value)
            return next(each for each in f.live if each.c == c)
        return Value(c, "o", kind="type")
    return expr(f, node)


def compared(f: FunctionCode, op: ast.cmpop, left: Value, right: Value, node: ast.Compare) -> str:
    if isinstance(op, ast.Is):
        return identical(f, left, right, node)
    if isinstance(op, ast.IsNot):
        return negated_c(identical(f, left, right, node))
    if isinstance(op, ast.In):
        return contained(f, left, right, node)
    if isinstance(op, ast.NotIn):
        return negated_c(contained(f, left, right, node))
    return ordered(f, COMPARISONS[type(op)], left, right, node)


def identical(f: FunctionCode, left: Value, right: Value, node: ast.Compare) -> str:
    a, b = (right, left) if left.kind == "none" else (left, right)
    if b.kind == "none":
        if a.rep in ("i", "f", "b"):
            return "0"
        if a.kind == "none":
            return "1"
        return f"({a.c} == Py_None)" if a.rep == "o" else f"({a.c}.x == WORD(Py_None))"
    if a.rep == b.rep == "o":
        if a.c == b.c:
            return "1"
        if a.c in LITERAL_TYPES and b.c in LITERAL_TYPES:
            return "0"
        return f"({a.c} == {b.c})"
    if a.rep == b.rep == "b":
        return f"({a.c} == {b.c})"
    if "b" in (a.rep, b.rep):
        if {a.rep, b.rep} & {"i", "f"}:
            return "0"
        a, b = f.as_object(a, node), f.as_object(b, node)
        return (
            f"({a.c} == {b.c})"
            if a.rep == b.rep == "o" and not a.is_owned and not b.is_owned
            else settled(f, f"({a.c} == {b.c})", a, b)
        )
    a, b = f.as_dynamic(left), f.as_dynamic(right)
    return settled(f, f"sdyn_is({a.c}, {b.c})", *(each for each in (a, b) if each not in (left, right)))


def contained(f: FunctionCode, left: Value, right: Value, node: ast.Compare) -> str:
    if right.kind == "number types":
        if left.c in LITERAL_TYPES:
            return str(int(left.c in (TYPES["i"], TYPES["f"])))
        return f"({left.c} == {TYPES['i']} || {left.c} == {TYPES['f']})"
    a, b = f.as_object(left, node), f.as_object(right, node)
    f.at(node)
    result = f.checked("b", f"sema_contains({b.c}, {a.c})", node)
    if a is not left:
        f.drop_below(a)
    return result.c


def ordered(f: FunctionCode, kind: str, left: Value, right: Value, node: ast.Compare) -> str:
    reps = left.rep + right.rep
    if reps == "ii":
        return f.temp("b", f"sint_{kind}({left.c}, {right.c})").c
    if reps == "ff":
        return f"({left.c} {SIGNS[kind]} {right.c})"
    if set(reps) == {"i", "f"} and any(each.c.startswith("SHORT(") for each in (left, right)):
        return f"({as_float(f, left, node)} {SIGNS[kind]} {as_float(f, right, node)})"
    if kind in ("eq", "ne") and left.kind == right.kind == "str":
        return f"({'!' if kind == 'ne' else ''}sema_same_text({left.c}, {right.c}))"
    if kind in ("eq", "ne") and reps == "oo" and "str" in (left.kind, right.kind):
        a, b = (left, right) if right.kind == "str" else (right, left)
        f.at(node)
        c = f.checked("b", f"sema_equals_text({a.c}, {b.c})", node).c
        return negated_c(c) if kind == "ne" else c
    one, other = f.as_dynamic(left), f.as_dynamic(right)
    f.at(node)
    result = f.checked("b", f"sdyn_{kind}({one.c}, {other.c})", node)
    finished(f, result, *(each for each in (one, other) if each not in (left, right)))
    return result.c
