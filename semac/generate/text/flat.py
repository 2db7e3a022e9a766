"""Expressions on one line: what `ast.unparse` writes, with the quotes and parentheses of formatters."""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import lru_cache
from typing import Any

PRECEDENCE: dict[type, int] = {
    ast.Lambda: 1, ast.IfExp: 1, ast.Or: 2, ast.And: 3, ast.Not: 4, ast.Compare: 5, ast.BitOr: 6,
    ast.BitXor: 7, ast.BitAnd: 8, ast.LShift: 9, ast.RShift: 9, ast.Add: 10, ast.Sub: 10, ast.Mult: 11, ast.Div: 11,
    ast.FloorDiv: 11, ast.Mod: 11, ast.USub: 12, ast.UAdd: 12, ast.Invert: 12, ast.Pow: 13,
}  # fmt: skip
ATOM = 20
SIGNS: dict[type, str] = {
    ast.Or: "or", ast.And: "and", ast.Not: "not ", ast.USub: "-", ast.UAdd: "+", ast.Invert: "~", ast.Add: "+",
    ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%", ast.Pow: "**", ast.LShift: "<<",
    ast.RShift: ">>", ast.BitOr: "|", ast.BitXor: "^", ast.BitAnd: "&", ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<",
    ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=", ast.Is: "is", ast.IsNot: "is not", ast.In: "in", ast.NotIn: "not in",
}  # fmt: skip
SIMPLE = (ast.Name, ast.Constant, ast.Attribute)


def text_of_operator(op: ast.AST) -> str:
    return SIGNS[type(op)]


def precedence(node: ast.AST) -> int:
    """How strongly an expression binds its parts."""
    if isinstance(node, ast.BoolOp | ast.BinOp | ast.UnaryOp):
        return PRECEDENCE[type(node.op)]
    return PRECEDENCE.get(type(node), ATOM)


def operators(node: ast.expr) -> int:
    """The number of operators of the kind that binds weakest, outside of brackets."""
    if isinstance(node, ast.BoolOp):
        return len(node.values) - 1
    if isinstance(node, ast.Compare):
        return len(node.ops)
    if isinstance(node, ast.BinOp):
        own = precedence(node)
        return 1 + sum(operators(side) for side in (node.left,) if precedence(side) == own)
    return 1


def flat(node: ast.expr) -> str:
    """The text of an expression on one line."""
    method: Callable[[Any], str] | None = TEXTS.get(type(node))
    return method(node) if method is not None else ast.unparse(node)


def operand(node: ast.expr, parent: ast.expr, is_right: bool = False) -> str:
    """The text of an operand, in parentheses where it binds more weakly than what it stands in."""
    own, around = precedence(node), precedence(parent)
    text = flat(node)
    is_equal = isinstance(parent, ast.Compare | ast.BoolOp | ast.IfExp) or is_right
    if isinstance(node, ast.BoolOp) and isinstance(parent, ast.BoolOp):
        return f"({text})"  # nobody has to know whether `and` or `or` goes first
    if own < around or (own == around and is_equal) or (isinstance(parent, ast.Compare) and own <= 5):
        return f"({text})"
    return text


def constant(node: ast.Constant) -> str:
    value = node.value
    if value is Ellipsis:
        return "..."
    if isinstance(value, float):
        return ast.unparse(node)
    return quoted(value) if isinstance(value, str | bytes) else repr(value)


@lru_cache(maxsize=4096)
def quoted(value: str | bytes) -> str:
    """A string in double quotes, unless that takes more backslashes."""
    text = repr(value)
    prefix, text = ("b", text[1:]) if isinstance(value, bytes) else ("", text)
    body = text[1:-1]
    if text[0] == "'":
        if '"' not in body:  # "'" stands for itself between them
            return f'{prefix}"{body}"'
        if body.count('"') <= body.count("\\'"):
            inner = body.replace("\\'", "'").replace('"', '\\"')
            return f'{prefix}"{inner}"'
    return prefix + text


def f_string(node: ast.JoinedStr) -> str:
    constants, quote, inner = f_parts(node)
    texts = iter([in_braces(escaped(text, quote)) for text in constants])
    shown = iter(f"{{ {text}}}" if text.startswith("{") else f"{{{text}}}" for text in inner)
    parts = [next(texts if isinstance(part, ast.Constant) else shown) for part in node.values]
    return f"f{quote}{''.join(parts)}{quote}"


def f_parts(node: ast.JoinedStr) -> tuple[list[str], str, list[str]]:
    """The texts of an f-string, the quotes to write around it, and the expressions in it with the other quotes."""
    constants = [str(part.value) for part in node.values if isinstance(part, ast.Constant)]
    inner = [flat(part.value) for part in node.values if isinstance(part, ast.FormattedValue)]
    quote = "'" if any('"' in text for text in constants) and not any("'" in text for text in constants) else '"'
    if quote == '"' and not any("'" in text for text in inner):
        inner = [text.replace('"', "'") for text in inner]
    return constants, quote, inner


def in_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def escaped(text: str, quote: str) -> str:
    """A text between quotes."""
    letters = (letter if letter in "'\"" else repr(letter)[1:-1] for letter in text)
    return "".join(letters).replace(quote, "\\" + quote)


def bare(node: ast.expr) -> str:
    """The text of an expression that nothing surrounds: a tuple needs no parentheses there."""
    if isinstance(node, ast.Tuple) and len(node.elts) > 1:
        return ", ".join(map(flat, node.elts))
    return flat(node)


def call(node: ast.Call) -> str:
    if len(node.args) == 1 and not node.keywords and isinstance(node.args[0], ast.GeneratorExp):
        return primary(node.func) + flat(node.args[0])
    return f"{primary(node.func)}({', '.join(arguments(node))})"


def arguments(node: ast.Call) -> list[str]:
    return [*map(flat, node.args), *map(argument, node.keywords)]


def argument(part: ast.keyword) -> str:
    return f"{part.arg}={flat(part.value)}" if part.arg else f"**{flat(part.value)}"


def primary(node: ast.expr) -> str:
    """What a call, a subscript or an attribute stands on."""
    is_number = isinstance(node, ast.Constant) and isinstance(node.value, int) and not isinstance(node.value, bool)
    return flat(node) if precedence(node) == ATOM and not is_number else f"({flat(node)})"


def unpacked(node: ast.expr) -> str:
    """What follows `*` or `**`: in displays, a condition there needs parentheses."""
    return f"({flat(node)})" if precedence(node) < PRECEDENCE[ast.BitOr] else flat(node)


def subscript(node: ast.Subscript) -> str:
    inside = node.slice
    if isinstance(inside, ast.Tuple) and inside.elts:
        items = ", ".join(map(flat, inside.elts)) + ("," if len(inside.elts) == 1 else "")
        return f"{primary(node.value)}[{items}]"
    return f"{primary(node.value)}[{flat(inside)}]"


def slice_(node: ast.Slice) -> str:
    """`a:b`; with spaces around the colon where an end is more than a name or a number."""
    ends = [end for end in (node.lower, node.upper) if end is not None]
    is_simple = all(isinstance(end, SIMPLE) for end in ends)
    low, high = (flat(end) if end is not None else "" for end in (node.lower, node.upper))
    gap = "" if is_simple else " "
    return f"{low}{gap if low else ''}:{gap if high else ''}{high}" + (f":{flat(node.step)}" if node.step else "")


def tuple_(node: ast.Tuple) -> str:
    items = ", ".join(map(flat, node.elts))
    return f"({items},)" if len(node.elts) == 1 else f"({items})"


def dict_(node: ast.Dict) -> str:
    pairs = zip(node.keys, node.values, strict=True)
    return "{" + ", ".join(f"{flat(k)}: {flat(v)}" if k else f"**{unpacked(v)}" for k, v in pairs) + "}"


def generators(parts: list[ast.comprehension]) -> str:
    texts = []
    for part in parts:
        target = bare(part.target)
        over = f"({flat(part.iter)})" if precedence(part.iter) <= 1 else flat(part.iter)
        tests = "".join(f" if ({flat(test)})" if precedence(test) == 1 else f" if {flat(test)}" for test in part.ifs)
        texts.append(f" for {target} in {over}{tests}")
    return "".join(texts)


def compare(node: ast.Compare) -> str:
    pairs = zip(node.ops, node.comparators, strict=True)
    rest = "".join(f" {SIGNS[type(op)]} {operand(part, node)}" for op, part in pairs)
    return operand(node.left, node) + rest


def binary(node: ast.BinOp) -> str:
    is_power = isinstance(node.op, ast.Pow)
    left, right = operand(node.left, node, is_power), operand(node.right, node, not is_power)
    is_tight = is_power and all(isinstance(side, SIMPLE) for side in (node.left, node.right))
    sign = SIGNS[type(node.op)]
    return f"{left}{sign}{right}" if is_tight else f"{left} {sign} {right}"


def condition(node: ast.IfExp) -> str:
    parts = (f"({flat(part)})" if precedence(part) <= 1 else flat(part) for part in (node.body, node.test))
    body, test = parts
    return f"{body} if {test} else {flat(node.orelse)}"


def lambda_(node: ast.Lambda) -> str:
    parameters = ast.unparse(node.args)
    return f"lambda {parameters}: {flat(node.body)}" if parameters else f"lambda: {flat(node.body)}"


TEXTS: dict[type, Callable[[Any], str]] = {
    ast.Constant: constant,
    ast.Name: lambda node: node.id,
    ast.JoinedStr: f_string,
    ast.Attribute: lambda node: f"{primary(node.value)}.{node.attr}",
    ast.Call: call,
    ast.Subscript: subscript,
    ast.Slice: slice_,
    ast.Starred: lambda node: "*" + unpacked(node.value),
    ast.NamedExpr: lambda node: f"({node.target.id} := {flat(node.value)})",
    ast.BoolOp: lambda node: f" {SIGNS[type(node.op)]} ".join(operand(value, node) for value in node.values),
    ast.Compare: compare,
    ast.BinOp: binary,
    ast.UnaryOp: lambda node: SIGNS[type(node.op)] + operand(node.operand, node),
    ast.IfExp: condition,
    ast.Lambda: lambda_,
    ast.List: lambda node: f"[{', '.join(map(flat, node.elts))}]",
    ast.Set: lambda node: f"{{{', '.join(map(flat, node.elts))}}}",
    ast.Tuple: tuple_,
    ast.Dict: dict_,
    ast.ListComp: lambda node: f"[{flat(node.elt)}{generators(node.generators)}]",
    ast.SetComp: lambda node: f"{{{flat(node.elt)}{generators(node.generators)}}}",
    ast.GeneratorExp: lambda node: f"({flat(node.elt)}{generators(node.generators)})",
    ast.DictComp: lambda node: f"{{{flat(node.key)}: {flat(node.value)}{generators(node.generators)}}}",
}
