"""What modules begin with, shorter than it is written: one call sets all that they import of the runtime, and their
keywords (`sema_runtime.parts`).

A statement for each module of the runtime has the whole name of it, and each keyword is a call of its own: a tenth of
the code of short programs.
"""

from __future__ import annotations

import ast

from sema_runtime import MODULES, keyword_text
from semac.generate.pyast import NOWHERE, call, const, name

RUNTIME = "sema_runtime"
PARTS = "__sema_parts__"
STUBS = "__sema_stubs__"  # what makes functions that only unpack
FEW = 3  # imported modules and keywords for which it doesn't pay
LETTERS = {module: letter for letter, module in MODULES.items()}


def with_short_head(body: list[ast.stmt], packed: bytes | None = None, has_stubs: bool = False) -> list[ast.stmt]:
    """The statements of a module with one call in place of those at its beginning.

    packed: stands for what stubs of the module unpack. has_stubs: whether it makes any from a table.
    """
    imports = [each for each in body if is_import(each)]
    keywords = [each for each in body if hasattr(each, "keyword")]
    if len(imports) + len(keywords) < FEW and packed is None:
        return body
    taken = {*imports, *keywords}
    given: list[object] = [tuple(part for statement in imports for part in parts_of(statement))]
    if keywords or packed is not None:
        given.append(tuple(map(keyword_part, keywords)))
    if packed is not None:
        given.append(packed)
    values: list[ast.expr] = [const(each, NOWHERE) for each in given]
    parts = ast.Expr(call(name(PARTS, NOWHERE), values, NOWHERE), **NOWHERE)
    aliases = [ast.alias("parts", PARTS, **NOWHERE)]
    if has_stubs:
        aliases.append(ast.alias("stubs", STUBS, **NOWHERE))
    imported = ast.ImportFrom(RUNTIME, aliases, 0, **NOWHERE)
    return [imported, parts, *(each for each in body if each not in taken)]


def parts_of(statement: ast.stmt) -> list[object]:
    """What an import says, for `sema_runtime.parts`."""
    assert isinstance(statement, ast.ImportFrom) and statement.module is not None
    module = statement.module.removeprefix(RUNTIME)
    names = ((alias.name, alias.asname or alias.name) for alias in statement.names)
    return [LETTERS.get(module, module), *(name if name == own else (name, own) for name, own in names)]


def keyword_part(statement: ast.stmt) -> object:
    """A keyword and its global, for `sema_runtime.parts`."""
    target: str = statement.targets[0].id  # type: ignore[attr-defined]
    text: str = statement.keyword  # type: ignore[attr-defined]
    return target if keyword_text(target) == text else (text, target)


def is_import(statement: ast.stmt) -> bool:
    """Whether a statement imports what the compiler needs of the runtime."""
    if not isinstance(statement, ast.ImportFrom) or statement.level or not hasattr(statement, "is_needed"):
        return False
    return statement.module is not None and statement.module.startswith(RUNTIME + ".")
