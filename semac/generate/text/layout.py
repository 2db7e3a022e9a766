"""Expressions over lines of at most `WIDTH` characters, broken where formatters of Python break them.

What fits stands on one line. Else the last bracket opens: its contents get lines of their own, one level further in.
Operators stand at the beginnings of lines; outside of brackets the expression gets parentheses for that.
"""

from __future__ import annotations

import ast
import re

from semac.generate.text.flat import argument, arguments, bare, flat, operators, primary, quoted, text_of_operator
from semac.generate.text.flat import operand as flat_operand

WIDTH = 100
STEP = 4
OPERATORS = (ast.BoolOp, ast.Compare, ast.BinOp, ast.IfExp)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
DISPLAYS = {ast.List: "[]", ast.Set: "{}", ast.Dict: "{}", ast.Tuple: "()", ast.ListComp: "[]", ast.SetComp: "{}",
            ast.DictComp: "{}", ast.GeneratorExp: "()"}  # fmt: skip
Lines = list[str]
WORDS = re.compile(r"[^ \n]*(?:\n| +|$)")


def fits(indent: int, text: str) -> bool:
    return indent + len(text) <= WIDTH


def indented(indent: int, text: str) -> str:
    return " " * indent + text


# In statements


def outside(node: ast.expr, indent: int, before: str, after: str) -> Lines:
    """The lines of an expression that no bracket surrounds."""
    line = before + bare(node) + after
    if fits(indent, line):
        return [indented(indent, line)]
    if isinstance(node, ast.UnaryOp) or (isinstance(node, OPERATORS) and not can_stay_bare(node)):
        return parenthesized(node, indent, before, after)
    if isinstance(node, OPERATORS):
        lines = in_last_bracket(node, indent, before, after)
        return lines if lines else parenthesized(node, indent, before, after)
    return inside(node, indent, before, after)


def parenthesized(node: ast.expr, indent: int, before: str, after: str) -> Lines:
    return [
        indented(indent, before + "("),
        *inside(node, indent + STEP, "", ""),
        indented(indent, ")" + after),
    ]


def can_stay_bare(node: ast.expr) -> bool:
    """Whether an expression of one operator may break in the brackets that it ends with."""
    last = last_operand(node)
    if isinstance(node, ast.IfExp) or operators(node) > 1:
        return False
    return bracket_of(last) is not None or flat(node).endswith(f"({flat(last)})")


def last_operand(node: ast.expr) -> ast.expr:
    """The operand with which an expression of operators ends."""
    last = node
    if isinstance(node, ast.BoolOp):
        last = node.values[-1]
    elif isinstance(node, ast.Compare):
        last = node.comparators[-1]
    elif isinstance(node, ast.BinOp):
        last = node.right
    elif isinstance(node, ast.UnaryOp):
        last = node.operand
    is_inner = last is not node and flat_operand(last, node) == flat(last)  # it has no parentheses of its own
    return last_operand(last) if is_inner else last


def in_last_bracket(node: ast.expr, indent: int, before: str, after: str) -> Lines | None:
    """The lines where the bracket opens with which an expression ends; None where that is too far to the right."""
    last = last_operand(node)
    whole, end = flat(node), flat(last)
    if whole.endswith(f"({end})") and isinstance(last, OPERATORS):
        lines = parenthesized(last, indent, before + whole.removesuffix(f"({end})"), after)
    else:
        lines = inside(last, indent, before + whole.removesuffix(end), after)
    return lines if all(len(line) <= WIDTH for line in lines) else None


# In brackets


def inside(node: ast.expr, indent: int, before: str, after: str) -> Lines:
    """The lines of an expression in brackets, where it may break before each operator."""
    line = before + flat(node) + after
    if fits(indent, line):
        return [indented(indent, line)]
    if isinstance(node, OPERATORS):
        return by_operators(node, indent, before, after)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return operand(node.operand, indent, before + "not ", after, node)
    if isinstance(node, ast.Lambda):
        start = flat(node).removesuffix(flat(node.body))
        break_ = parenthesized if isinstance(node.body, OPERATORS) else inside
        return break_(node.body, indent, before + start, after)
    if isinstance(node, ast.Starred):
        break_ = parenthesized if isinstance(node.value, OPERATORS) else inside
        return break_(node.value, indent, before + "*", after)
    if isinstance(node, ast.NamedExpr):
        value = inside(node.value, indent + STEP, f"{flat(node.target)} := ", "")
        return [indented(indent, before + "("), *value, indented(indent, ")" + after)]
    if isinstance(node, ast.Constant) and type(node.value) is str:
        return long_text(node.value, indent, before, after)
    opened = bracket_of(node)
    if opened is None:
        return [indented(indent, line)]
    if isinstance(node, ast.Attribute):
        return called(node.value, indent, before, f".{node.attr}{after}")
    if isinstance(node, ast.Subscript) and can_break(node.value) and bracket_of(node.slice) is None:
        return called(node.value, indent, before, f"[{flat(node.slice)}]{after}")
    return [
        *head(node, indent, before, opened[0]),
        *contents(node, indent + STEP),
        indented(indent, opened[1] + after),
    ]


def long_text(text: str, indent: int, before: str, after: str) -> Lines:
    """A string in several parts, one below the other."""
    parts = [indented(indent + STEP, quoted(part)) for part in split(text, WIDTH - indent - STEP)]
    if len(parts) == 1:
        return [indented(indent, before + quoted(text) + after)]
    return [indented(indent, before + "("), *parts, indented(indent, ")" + after)]


def split(text: str, width: int) -> list[str]:
    """The parts of a text, which end after lines and words, each of which fits as a string."""
    parts = [""]
    for word in WORDS.findall(text):
        if parts[-1] and (parts[-1].endswith("\n") or len(quoted(parts[-1] + word)) > width):
            parts.append("")
        parts[-1] += word
    return parts


def head(node: ast.expr, indent: int, before: str, bracket: str) -> Lines:
    """What stands before the contents of a bracket."""
    if isinstance(node, ast.Call):
        return called(node.func, indent, before, bracket)
    if isinstance(node, ast.Subscript):
        return called(node.value, indent, before, bracket)
    return [indented(indent, before + bracket)]


def can_break(node: ast.expr) -> bool:
    """Whether what is called, indexed or asked for an attribute has brackets, or gets parentheses."""
    return bracket_of(node) is not None or primary(node) != flat(node)


def called(node: ast.expr, indent: int, before: str, after: str) -> Lines:
    """What is called, indexed or asked for an attribute, in parentheses where it needs them."""
    break_ = inside if primary(node) == flat(node) else parenthesized
    return break_(node, indent, before, after)


def bracket_of(node: ast.expr) -> str | None:
    """The brackets in which an expression can break."""
    if isinstance(node, ast.Call):
        return "()" if node.args or node.keywords else None
    if isinstance(node, ast.Subscript):
        return "[]"
    if isinstance(node, ast.Attribute):
        return bracket_of(node.value)
    if isinstance(node, ast.List | ast.Tuple | ast.Set) and not node.elts:
        return None
    if isinstance(node, ast.Dict) and not node.keys:
        return None
    return DISPLAYS.get(type(node))


def by_operators(node: ast.expr, indent: int, before: str, after: str) -> Lines:
    """Each operand on its own line, its operator before it."""
    parts = operands_of(node)
    lines: Lines = []
    for index, (sign, part) in enumerate(parts):
        start = before if index == 0 else f"{sign} "
        lines += operand(part, indent, start, after if index == len(parts) - 1 else "", node)
    return lines


def operands_of(node: ast.expr) -> list[tuple[str, ast.expr]]:
    """The operands between the operators of an expression, each with the operator before it."""
    if isinstance(node, ast.BoolOp):
        return [(text_of_operator(node.op), value) for value in node.values]
    if isinstance(node, ast.Compare):
        signs = map(text_of_operator, node.ops)
        return [("", node.left), *zip(signs, node.comparators, strict=True)]
    if isinstance(node, ast.IfExp):
        (_, last), *more = operands_of(node.orelse) if isinstance(node.orelse, ast.IfExp) else [("", node.orelse)]
        return [("", node.body), ("if", node.test), ("else", last), *more]
    assert isinstance(node, ast.BinOp)
    sign = text_of_operator(node.op)
    is_chain = isinstance(node.left, ast.BinOp) and operators(node) > operators(node.left) > 0
    return [*(operands_of(node.left) if is_chain else [("", node.left)]), (sign, node.right)]


def operand(node: ast.expr, indent: int, before: str, after: str, parent: ast.expr) -> Lines:
    """An operand, in parentheses where it needs them."""
    text = flat_operand(node, parent)
    if fits(indent, before + text + after):
        return [indented(indent, before + text + after)]
    break_ = inside if text == flat(node) else parenthesized
    return break_(node, indent, before, after)


def contents(node: ast.expr, indent: int) -> Lines:
    """The lines between the brackets of an expression."""
    if isinstance(node, COMPREHENSIONS):
        return comprehension(node, indent)
    if isinstance(node, ast.Call):
        if len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.GeneratorExp):
            return comprehension(node.args[0], indent)
        parts: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
        if len(parts) == 1 and isinstance(parts[0], ast.Constant) and type(parts[0].value) is str:
            return [indented(indent, quoted(part)) for part in split(parts[0].value, WIDTH - indent)]
        together = ", ".join(arguments(node))
        return [indented(indent, together)] if fits(indent, together) else separated(parts, indent)
    if isinstance(node, ast.Subscript):
        return inside(node.slice, indent, "", "")
    if isinstance(node, ast.Dict):
        pairs = zip(node.keys, node.values, strict=True)
        return [line for key, value in pairs for line in inside(value, indent, f"{flat(key)}: " if key else "**", ",")]
    assert isinstance(node, ast.List | ast.Tuple | ast.Set)
    return [line for item in node.elts for line in inside(item, indent, "", ",")]


def separated(parts: list[ast.expr | ast.keyword], indent: int) -> Lines:
    """Arguments, each on its own lines."""
    end = "" if len(parts) == 1 else ","
    lines: Lines = []
    for part in parts:
        if isinstance(part, ast.keyword):
            lines += inside(part.value, indent, argument(part).removesuffix(flat(part.value)), end)
        else:
            lines += inside(part, indent, "", end)
    return lines


def comprehension(node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, indent: int) -> Lines:
    """The lines of a comprehension: its item, then each `for` and each `if`."""
    together = flat(node)[1:-1]
    if fits(indent, together):
        return [indented(indent, together)]
    if isinstance(node, ast.DictComp):
        lines = inside(node.value, indent, f"{flat(node.key)}: ", "")
    else:
        lines = inside(node.elt, indent, "", "")
    for generator in node.generators:
        lines += part(generator.iter, indent, f"for {bare(generator.target)} in ")
        for test in generator.ifs:
            lines += part(test, indent, "if ")
    return lines


def part(node: ast.expr, indent: int, before: str) -> Lines:
    """What a comprehension goes through, or asks; a condition needs parentheses there."""
    if not isinstance(node, ast.IfExp | ast.Lambda):
        return inside(node, indent, before, "")
    line = f"{before}({flat(node)})"
    return [indented(indent, line)] if fits(indent, line) else parenthesized(node, indent, before, "")
