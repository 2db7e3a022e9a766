"""Statements as lines of text, as formatters of Python lay them out."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import Any

from semac.generate.text.flat import bare, flat, quoted, text_of_operator
from semac.generate.text.layout import STEP, Lines, fits, indented, outside

DEFINITIONS = (ast.FunctionDef, ast.ClassDef)
IMPORTS = (ast.Import, ast.ImportFrom)


def statement_lines(node: ast.stmt, indent: int) -> Lines:
    """The lines of a statement."""
    method = PRINTERS.get(type(node))
    if method is not None:
        return method(node, indent)
    text: str = ast.unparse(ast.fix_missing_locations(node))
    return [indented(indent, line) for line in text.split("\n")]


def suite(body: Sequence[ast.stmt], indent: int) -> Lines:
    """The lines of a block of a statement like `if`, with an empty line around the definitions in it."""
    return [*([""] if isinstance(body[0], DEFINITIONS) else []), *function_suite(body, indent)]


def function_suite(body: Sequence[ast.stmt], indent: int) -> Lines:
    """The lines of the body of a function or class."""
    lines: Lines = []
    for index, node in enumerate(body):
        before = body[index - 1] if index else None
        if before is not None and is_apart(before, node):
            lines.append("")
        lines += docstring(node, indent) if index == 0 and is_text(node) else statement_lines(node, indent)
    return lines


def is_apart(before: ast.stmt, node: ast.stmt) -> bool:
    """Whether an empty line stands between two statements: around definitions, after imports."""
    if isinstance(node, DEFINITIONS) or isinstance(before, DEFINITIONS):
        return True
    return isinstance(before, IMPORTS) and not isinstance(node, IMPORTS)


def is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def docstring(node: Any, indent: int) -> Lines:
    """A docstring; one that three quotes can't hold as it is becomes a string like others."""
    text: str = node.value.value
    is_plain = text and text.isprintable() and '"' not in text and "\\" not in text and text == text.strip()
    return [indented(indent, f'"""{text}"""' if is_plain else quoted(text))]


# Simple statements


def assign(node: ast.Assign, indent: int) -> Lines:
    targets = "".join(f"{bare(target)} = " for target in node.targets)
    changed = changed_in_place(node)
    if changed is not None:
        return outside(changed.right, indent, f"{targets[:-2]}{text_of_operator(changed.op)}= ", "")
    if isinstance(node.value, ast.Tuple) and not isinstance(node.targets[0], ast.Tuple):
        line = targets + flat(node.value)
        return [indented(indent, line)] if fits(indent, line) else outside(node.value, indent, targets, "")
    return outside(node.value, indent, targets, "")


def changed_in_place(node: ast.Assign) -> ast.BinOp | None:
    """The `n + 1` of `n = n + 1`. Operators stand for those of immutable values alone, so `n += 1` says the same."""
    value, target = node.value, node.targets[0]
    if not isinstance(value, ast.BinOp) or not isinstance(target, ast.Name) or len(node.targets) > 1:
        return None
    return value if isinstance(value.left, ast.Name) and value.left.id == target.id else None


def ann_assign(node: ast.AnnAssign, indent: int) -> Lines:
    before = f"{flat(node.target)}: {flat(node.annotation)}"
    return [indented(indent, before)] if node.value is None else outside(node.value, indent, f"{before} = ", "")


def return_(node: ast.Return, indent: int) -> Lines:
    return [indented(indent, "return")] if node.value is None else outside(node.value, indent, "return ", "")


def raise_(node: ast.Raise, indent: int) -> Lines:
    cause = f" from {flat(node.cause)}" if node.cause is not None else ""
    return [indented(indent, "raise")] if node.exc is None else outside(node.exc, indent, "raise ", cause)


def import_from(node: ast.ImportFrom, indent: int) -> Lines:
    names = [ast.unparse(alias) for alias in node.names]
    start = f"from {'.' * node.level}{node.module or ''} import "
    line = start + ", ".join(names)
    if fits(indent, line):
        return [indented(indent, line)]
    return [
        indented(indent, start + "("),
        *(indented(indent + STEP, f"{name},") for name in names),
        indented(indent, ")"),
    ]


# Compound statements


def definition(node: ast.FunctionDef, indent: int) -> Lines:
    parameters = [*map(ast.unparse, node.args.args)]
    if node.args.vararg is not None:
        parameters.append("*" + ast.unparse(node.args.vararg))
    returns = f" -> {flat(node.returns)}" if node.returns is not None else ""
    end = f"){returns}:"
    together = ", ".join(parameters)
    lines = [indented(indent, f"@{flat(mark)}") for mark in node.decorator_list]
    if fits(indent, f"def {node.name}({together}{end}"):
        lines.append(indented(indent, f"def {node.name}({together}{end}"))
    else:
        inner = indent + STEP
        one = [indented(inner, together)] if fits(inner, together) else [indented(inner, f"{p},") for p in parameters]
        lines += [indented(indent, f"def {node.name}("), *one, indented(indent, end)]
    return [*lines, *function_suite(node.body, indent + STEP)]


def class_(node: ast.ClassDef, indent: int) -> Lines:
    bases = ", ".join(map(flat, node.bases))
    return [indented(indent, f"class {node.name}({bases}):"), *function_suite(node.body, indent + STEP)]


def if_(node: ast.If, indent: int, word: str = "if") -> Lines:
    lines = [*outside(node.test, indent, f"{word} ", ":"), *suite(node.body, indent + STEP)]
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        return lines + if_(node.orelse[0], indent, "elif")
    return lines + otherwise(node.orelse, indent)


def otherwise(body: Sequence[ast.stmt], indent: int) -> Lines:
    return [indented(indent, "else:"), *suite(body, indent + STEP)] if body else []


def while_(node: ast.While, indent: int) -> Lines:
    lines = [*outside(node.test, indent, "while ", ":"), *suite(node.body, indent + STEP)]
    return lines + otherwise(node.orelse, indent)


def for_(node: ast.For, indent: int) -> Lines:
    lines = [*outside(node.iter, indent, f"for {bare(node.target)} in ", ":"), *suite(node.body, indent + STEP)]
    return lines + otherwise(node.orelse, indent)


def with_(node: ast.With, indent: int) -> Lines:
    if len(node.items) > 1:
        return [indented(indent, line) for line in ast.unparse(node).split("\n")]
    (item,) = node.items
    target = f" as {bare(item.optional_vars)}" if item.optional_vars is not None else ""
    return [*outside(item.context_expr, indent, "with ", f"{target}:"), *suite(node.body, indent + STEP)]


def try_(node: ast.Try, indent: int) -> Lines:
    lines = [indented(indent, "try:"), *suite(node.body, indent + STEP)]
    for handler in node.handlers:
        kind = f" {flat(handler.type)}" if handler.type is not None else ""
        name = f" as {handler.name}" if handler.name else ""
        lines += [indented(indent, f"except{kind}{name}:"), *suite(handler.body, indent + STEP)]
    lines += otherwise(node.orelse, indent)
    if node.finalbody:
        lines += [indented(indent, "finally:"), *suite(node.finalbody, indent + STEP)]
    return lines


PRINTERS: dict[type, Callable[[Any, int], Lines]] = {
    ast.Assign: assign,
    ast.AnnAssign: ann_assign,
    ast.Return: return_,
    ast.Raise: raise_,
    ast.Expr: lambda node, indent: outside(node.value, indent, "", ""),
    ast.ImportFrom: import_from,
    ast.FunctionDef: definition,
    ast.ClassDef: class_,
    ast.If: if_,
    ast.While: while_,
    ast.For: for_,
    ast.With: with_,
    ast.Try: try_,
}
