"""F-strings as text that Python 3.11 can read: no backslash and none of the outer quotes in their parts."""

from __future__ import annotations

import ast
from typing import Any

from semac.generate.text.flat import f_parts, in_braces


class FormattedTexts(ast.NodeTransformer):
    """Writes f-strings that can't be read as `"{} and {}".format(a, b)`."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.expr:
        self.generic_visit(node)
        _, quote, inner = f_parts(node)
        if not any(quote in text or "\\" in text for text in inner):
            return node
        place: dict[str, Any] = {"lineno": node.lineno, "col_offset": node.col_offset}
        texts = [in_braces(str(part.value)) if isinstance(part, ast.Constant) else "{}" for part in node.values]
        values = [part.value for part in node.values if isinstance(part, ast.FormattedValue)]
        method = ast.Attribute(ast.Constant("".join(texts), **place), "format", ast.Load(), **place)
        return ast.Call(method, values, [], **place)


def readable(statement: ast.stmt) -> Any:
    """A statement whose f-strings can be written."""
    has_any = any(isinstance(node, ast.JoinedStr) for node in ast.walk(statement))
    return FormattedTexts().visit(statement) if has_any else statement
