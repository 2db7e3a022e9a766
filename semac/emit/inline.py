"""Builtins that come out as Python operators, comprehensions or attribute reads instead of calls.

`INLINE[name]` takes the emitter and the node and gives an expression, or None for "call the function".
What is known of the argument types decides: `a + b` for numbers, `add(a, b)` when a value could be anything.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac.emit.emitter import Emitter
from semac.emit.pyast import attribute, binop, call, compare, const, name, negate, walrus
from semac.ir import nodes as ir
from semac.ir.facts import is_pure, is_stable
from semac.ir.types import CHAR, FLOAT, INT, KEYWORD, LIST, MAP, NUMBER, STR, SYMBOL, TAGS, VECTOR, only

Inliner = Callable[[Emitter, Any], "ast.expr | None"]
INLINE: dict[str, Inliner] = {}
LOOPS: dict[str, Inliner] = {}  # those that become loops and comprehensions: a rewrite that can be switched off
ARITHMETIC = "sema_runtime.lib.numbers.arithmetic:"
ATOMS = INT | STR | KEYWORD | SYMBOL | CHAR  # keys that maps store as they are, whose hash runs no code of ours


def inlines(*names: str, table: dict[str, Inliner] = INLINE) -> Callable[[Inliner], Inliner]:
    def register(function: Inliner) -> Inliner:
        table.update(dict.fromkeys(names, function))
        return function

    return register


def inline(e: Emitter, node: Any) -> ast.expr | None:
    """The inlined call of a builtin, or None."""
    inliner = INLINE.get(node.name)
    if inliner is None and e.module.unit.optimize:
        inliner = LOOPS.get(node.name)
    return inliner(e, node) if inliner is not None else None


OPERATORS: dict[str, tuple[type[ast.operator], str]] = {
    "+": (ast.Add, "add"),
    "-": (ast.Sub, "sub"),
    "*": (ast.Mult, "mul"),
}
COMPARISONS: dict[str, tuple[type[ast.cmpop], str]] = {
    "<": (ast.Lt, "lt"),
    ">": (ast.Gt, "gt"),
    "<=": (ast.LtE, "le"),
    ">=": (ast.GtE, "ge"),
}
UNORDERED: dict[str, type[ast.cmpop]] = {"<=": ast.Gt, ">=": ast.Lt}  # `(<= a b)` is "not a > b": true of a NaN


@inlines("+", "-", "*")
def arithmetic(e: Emitter, node: Any) -> ast.expr | None:
    args = node.args
    op, checked = OPERATORS[node.name]
    if len(args) == 1 and node.name == "-":
        if only(args[0].type, INT | FLOAT):
            return ast.UnaryOp(ast.USub(), e.expr(args[0]), **e.loc(node))
        return negated(e, node)
    if len(args) < 2:
        return None
    numbers = all(only(arg.type, INT | FLOAT) for arg in args)  # what is made of ratios must be brought to lowest terms
    strings = node.name == "+" and len(args) == 2 and all(only(arg.type, STR) for arg in args)
    if numbers or strings:
        operands = e.exprs(args)
        result = operands[0]
        for operand in operands[1:]:
            result = binop(result, op(), operand, e.loc(node))
        return result
    if len(args) == 2:
        return guarded(e, node, op(), ARITHMETIC + checked)
    if len(args) <= 4:
        return guarded(e, node, op(), e.builtin_path(node.name))
    return None


def negated(e: Emitter, node: Any) -> ast.expr:
    """`(- x)` of what may not be a number."""
    loc = e.loc(node)
    value = e.expr(node.args[0])
    general = call(e.runtime(ARITHMETIC + "negate", loc), [value], loc)
    if e.at_module or not isinstance(value, ast.Name):
        return general
    kind = compare(call(name("type", loc), [value], loc), ast.Is(), name("int", loc), loc)
    return ast.IfExp(kind, ast.UnaryOp(ast.USub(), value, **loc), general, **loc)


def guarded(e: Emitter, node: Any, op: ast.operator | ast.cmpop, checked: str) -> ast.expr:
    """`a + b if type(a) is type(b) is int else add(a, b)`: the bare operator behind the cheapest test that permits it.

    Operands that are known to be of the type aren't tested. Outside of functions it is just `add(a, b)`.
    """
    loc = e.loc(node)
    operands = e.exprs(node.args)
    wanted, unknown = likely_kind(node.args)
    if e.at_module or any(isinstance(value, ast.Constant) for index, value in enumerate(operands) if index in unknown):
        return call(e.runtime(checked, loc), operands, loc)
    fixed = [
        is_fixed(arg, value, operands[index + 1 :])
        for index, (arg, value) in enumerate(zip(node.args, operands, strict=True))
    ]
    held_last = max((index for index in unknown if not fixed[index]), default=-1)
    for index in range(held_last):  # what stands before an operand that the test evaluates is evaluated there too
        if index not in unknown and not fixed[index]:
            unknown.append(index)
    order = [
        i for i in sorted(unknown) if not (fixed[i] and same_name_before(operands, [j for j in unknown if fixed[j]], i))
    ]
    if not any(type(arg) is ir.Ref and arg.var.is_global for arg in node.args):  # a global name may be unbound
        order.sort(key=lambda index: fixed[index])  # `type((n := f(x))) is type(a)` is the faster way
    if any(not fixed[index] for index in order[2:]):
        return call(e.runtime(checked, loc), operands, loc)  # a chained test stops before that operand
    tested: list[ast.expr] = []
    for index in order:
        value = operands[index]
        if fixed[index]:
            tested.append(value)
        else:
            held = e.names.temporary("n")
            tested.append(walrus(held, value, loc))
            operands[index] = name(held, loc)
    kinds: list[ast.expr] = [call(name("type", loc), [value], loc) for value in tested]
    test = ast.Compare(kinds[0], [ast.Is() for _ in kinds], [*kinds[1:], name(wanted, loc)], **loc)
    result: ast.expr = operands[0]
    if isinstance(op, ast.cmpop):
        result = ast.Compare(operands[0], [op for _ in operands[1:]], operands[1:], **loc)
    else:
        for operand in operands[1:]:
            result = binop(result, op, operand, loc)
    return ast.IfExp(test, result, call(e.runtime(checked, loc), list(operands), loc), **loc)


def is_fixed(arg: Any, value: ast.expr, later: list[ast.expr]) -> bool:
    """Whether an operand can be read twice: a constant, or a variable that no operand evaluated after it can change."""
    if isinstance(value, ast.Name):
        return is_stable(arg) or all(isinstance(operand, ast.Name | ast.Constant) for operand in later)
    return isinstance(value, ast.Constant)


def same_name_before(operands: list[ast.expr], unknown: list[int], index: int) -> bool:
    """Whether an operand is a variable that is tested already, as in `(* x x)`."""
    value = operands[index]
    return isinstance(value, ast.Name) and any(
        isinstance(operands[i], ast.Name) and operands[i].id == value.id  # type: ignore[attr-defined]
        for i in unknown
        if i < index
    )


def likely_kind(args: list[Any]) -> tuple[str, list[int]]:
    """The type that operands of unknown type probably have, and the positions of those that aren't known to have it.

    What was read from text, or is an int or a float, is taken for a float; anything else, arithmetic on unknown values
    too, for an int.
    """
    floats = any(arg.type & TAGS not in (TAGS, NUMBER) and arg.type & FLOAT for arg in args)
    known = FLOAT if floats and not any(only(arg.type, INT) for arg in args) else INT
    return "float" if known == FLOAT else "int", [i for i, arg in enumerate(args) if not only(arg.type, known)]


@inlines("<", ">", "<=", ">=")
def comparison(e: Emitter, node: Any) -> ast.expr | None:
    args = node.args
    op, checked = COMPARISONS[node.name]
    if len(args) == 2:
        left, right = args
        if (only(left.type, INT | FLOAT) and only(right.type, INT | FLOAT)) or (
            only(left.type, STR) and only(right.type, STR)
        ):
            a, b = e.exprs(args)
            if node.name in UNORDERED and (left.type | right.type) & FLOAT:
                return negate(compare(a, UNORDERED[node.name](), b, e.loc(node)), e.loc(node))
            return compare(a, op(), b, e.loc(node))
        if node.name in UNORDERED and (only(left.type, FLOAT) or only(right.type, FLOAT)):
            return call(e.runtime(ARITHMETIC + checked, e.loc(node)), e.exprs(args), e.loc(node))
        return guarded(e, node, op(), ARITHMETIC + checked)
    chain = len(args) == 3 and all(only(arg.type, INT | FLOAT) for arg in args)
    if chain and type(args[2]) in (ir.Ref, ir.Const):  # Python's chain may stop before the last operand
        first, *rest = e.exprs(args)
        return ast.Compare(first, [op() for _ in rest], rest, **e.loc(node))
    return None


IDENTICAL = (Keyword, Symbol, Char, bool, type(None))


@inlines("=", "eq?", "equal?")
def equality(e: Emitter, node: Any) -> ast.expr | None:
    args = node.args
    if len(args) != 2:
        return None
    loose = node.name == "="
    for constant, other in ((args[1], args[0]), (args[0], args[1])):
        if type(constant) is not ir.Const:
            continue
        value = constant.value
        if type(value) in IDENTICAL:
            a, b = e.exprs(args)
            return compare(a, ast.Is(), b, e.loc(node))
        exact = type(value) is str or (
            type(value) is int
            and (only(other.type, INT) or (loose and (value not in (0, 1) or only(other.type, NUMBER))))
        )
        if exact:
            a, b = e.exprs(args)
            return compare(a, ast.Eq(), b, e.loc(node))
    left, right = args
    same = (only(left.type, INT) and only(right.type, INT)) or (only(left.type, STR) and only(right.type, STR))
    if same or (loose and only(left.type, NUMBER) and only(right.type, NUMBER)):
        a, b = e.exprs(args)
        return compare(a, ast.Eq(), b, e.loc(node))
    if loose:
        return guarded(e, node, ast.Eq(), ARITHMETIC + "num_eq")
    return call(e.runtime("sema_runtime.values.equality:equal", e.loc(node)), e.exprs(args), e.loc(node))


@inlines("not")
def not_(e: Emitter, node: Any) -> ast.expr | None:
    return negate(e.test(node.args[0]), e.loc(node)) if len(node.args) == 1 else None


@inlines("/")
def divide(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 2:
        return None
    left, right = node.args
    loc = e.loc(node)
    if (
        only(left.type, INT | FLOAT)
        and only(right.type, INT | FLOAT)
        and (only(left.type, FLOAT) or only(right.type, FLOAT))
    ):
        a, b = e.exprs(node.args)
        if isinstance(b, ast.Constant) and b.value:
            return binop(a, ast.Div(), b, loc)
        if isinstance(b, ast.Name) and is_pure(left):  # a float divided by zero is inf or nan, no error
            checked = call(e.runtime(ARITHMETIC + "div", loc), [a, b], loc)
            return ast.IfExp(b, binop(a, ast.Div(), b, loc), checked, **loc)
        return call(e.runtime(ARITHMETIC + "div", loc), [a, b], loc)
    return call(e.runtime(ARITHMETIC + "div", loc), e.exprs(node.args), loc)


@inlines("mod", "modulo")
def modulo(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 2:
        return None
    if any(only(arg.type, FLOAT) for arg in node.args):  # Python's % of floats takes another sign
        return call(e.runtime(ARITHMETIC + "mod", e.loc(node)), e.exprs(node.args), e.loc(node))
    if not all(only(arg.type, INT) for arg in node.args):
        return guarded(e, node, ast.Mod(), ARITHMETIC + "mod")
    a, b = e.exprs(node.args)
    return binop(a, ast.Mod(), b, e.loc(node))


@inlines("even?", "odd?")
def parity(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, INT):
        return None
    loc = e.loc(node)
    rest = binop(e.expr(node.args[0]), ast.Mod(), const(2, loc), loc)
    return compare(rest, ast.Eq(), const(0 if node.name == "even?" else 1, loc), loc)


@inlines("zero?", "positive?", "negative?")
def sign(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, INT | FLOAT):
        return None
    op = {"zero?": ast.Eq, "positive?": ast.Gt, "negative?": ast.Lt}[node.name]
    return compare(e.expr(node.args[0]), op(), const(0, e.loc(node)), e.loc(node))


@inlines("min", "max")
def extreme(e: Emitter, node: Any) -> ast.expr | None:
    """The smaller or greater of two plain values, where both surely or probably have the same type."""
    args = node.args
    if len(args) != 2 or e.at_module or not all(type(arg) in (ir.Ref, ir.Const) for arg in args):
        return None
    wanted, unknown = likely_kind(args)
    loc = e.loc(node)
    first, second = e.exprs(args)
    op = ast.LtE() if node.name == "min" else ast.GtE()
    general = call(e.runtime(e.builtin_path(node.name), loc), [first, second], loc)
    other = second
    if wanted == "float":  # neither comparison holds for NaN
        strict = ast.Lt() if node.name == "min" else ast.Gt()
        other = ast.IfExp(compare(second, strict, first, loc), second, general, **loc)
    chosen = ast.IfExp(compare(first, op, second, loc), first, other, **loc)
    if not unknown:
        return chosen if wanted == "int" else None
    if wanted == "float" and len(unknown) < 2:
        return None
    kinds: list[ast.expr] = [call(name("type", loc), [(first, second)[index]], loc) for index in unknown]
    test = ast.Compare(kinds[0], [ast.Is() for _ in kinds], [*kinds[1:], name(wanted, loc)], **loc)
    return ast.IfExp(test, chosen, general, **loc)


@inlines("nil?")
def is_nil(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1:
        return None
    return compare(e.expr(node.args[0]), ast.Is(), const(None, e.loc(node)), e.loc(node))


@inlines("list")
def make_list(e: Emitter, node: Any) -> ast.expr | None:
    items = e.exprs(node.args)
    loc = e.loc(node)
    return call(
        e.runtime("sema_runtime.values.lists:List", loc), [ast.List(items, ast.Load(), **loc)] if items else [], loc
    )


@inlines("vector")
def make_vector(e: Emitter, node: Any) -> ast.expr | None:
    return ast.Tuple(e.exprs(node.args), ast.Load(), **e.loc(node))


@inlines("cons")
def make_cons(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 2 or not only(node.args[1].type, LIST):
        return None
    return call(e.runtime("sema_runtime.values.lists:cons", e.loc(node)), e.exprs(node.args), e.loc(node))


@inlines("car", "first", "cdr", "rest")
def list_part(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, LIST):
        return None
    part = "car" if node.name in ("car", "first") else "cdr"
    return attribute(e.expr(node.args[0]), part, e.loc(node))


@inlines("null?")
def is_null(e: Emitter, node: Any) -> ast.expr | None:
    if len(node.args) != 1 or not only(node.args[0].type, LIST):
        return None
    return attribute(e.expr(node.args[0]), "empty", e.loc(node))


@inlines("length", "count", "string-length")
def length(e: Emitter, node: Any) -> ast.expr | None:
    allowed = STR if node.name == "string-length" else LIST | VECTOR
    if len(node.args) != 1 or not only(node.args[0].type, allowed):
        return None
    return call(name("len", e.loc(node)), [e.expr(node.args[0])], e.loc(node))


@inlines("str", "string-append")
def text(e: Emitter, node: Any) -> ast.expr | None:
    """An f-string when every part is a string or an integer."""
    if not node.args or not all(only(arg.type, STR | INT) for arg in node.args):
        return None
    values = e.exprs(node.args)
    loc = e.loc(node)
    if len(values) == 1 and only(node.args[0].type, STR):
        return values[0]
    parts: list[ast.expr] = []
    for value in values:
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            before = parts[-1] if parts else None
            if isinstance(before, ast.Constant) and isinstance(before.value, str):
                parts[-1] = const(before.value + value.value, loc)
            else:
                parts.append(value)
        elif is_plain_text(value):
            parts.append(ast.FormattedValue(value, -1, None, **loc))
        else:
            return call(e.runtime("sema_runtime.lib.text.strings:string_append", loc), values, loc)
    return ast.JoinedStr(parts, **loc)


def is_plain_text(value: ast.expr) -> bool:
    """Whether every Python can write an expression between the braces of an f-string: 3.11 wants no backslash there
    and other quotes than around it."""
    for part in ast.walk(value):
        if isinstance(part, ast.JoinedStr):
            return False
        if isinstance(part, ast.Constant) and isinstance(part.value, str):
            shown = repr(part.value)
            if "\\" in shown or '"' in shown:
                return False
    return True


@inlines("get")
def get(e: Emitter, node: Any) -> ast.expr | None:
    """A look-up by a key that is stored as it is, in what is surely a map."""
    args = node.args
    if len(args) not in (2, 3) or not only(args[0].type, MAP) or not only(args[1].type, ATOMS):
        return None
    values = e.exprs(args)
    loc = e.loc(node)
    return call(attribute(attribute(values[0], "d", loc), "get", loc), values[1:], loc)
