"""What modules begin with, shorter than it is written: one call gives all that they import of the runtime, and their
keywords (`sema_runtime.parts`).

A statement for each module of the runtime has the whole name of it, and each keyword is a call of its own: a tenth of
the code of short programs.
"""

from __future__ import annotations

import ast

from semac.generate.pyast import NOWHERE, call, const, name, store_tuple, tuple_of

RUNTIME = "sema_runtime"
PARTS = "__sema_parts__"
FEW = 3  # imported modules and keywords for which it doesn't pay


def with_short_head(body: list[ast.stmt]) -> list[ast.stmt]:
    """The statements of a module with one in place of those at its beginning."""
    imports = [each for each in body if is_import(each)]
    keywords = [each for each in body if hasattr(each, "keyword")]
    if len(imports) + len(keywords) < FEW:
        return body
    taken = {*imports, *keywords}
    source: list[ast.expr] = []
    targets: list[str] = []
    for statement in imports:
        assert isinstance(statement, ast.ImportFrom) and statement.module is not None
        source.append(const(statement.module.removeprefix(RUNTIME), NOWHERE))
        for alias in statement.names:
            source.append(const(alias.name, NOWHERE))
            targets.append(alias.asname or alias.name)
    given: list[ast.expr] = [tuple_of(source, NOWHERE)]
    if keywords:
        given.append(tuple_of([const(each.keyword, NOWHERE) for each in keywords], NOWHERE))
        targets += [target.id for each in keywords for target in each.targets]  # type: ignore[attr-defined]
    parts = ast.Assign([store_tuple(targets, NOWHERE)], call(name(PARTS, NOWHERE), given, NOWHERE), **NOWHERE)
    imported = ast.ImportFrom(RUNTIME, [ast.alias("parts", PARTS, **NOWHERE)], 0, **NOWHERE)
    return [imported, parts, *(each for each in body if each not in taken)]


def is_import(statement: ast.stmt) -> bool:
    """Whether a statement imports what the compiler needs of the runtime."""
    if not isinstance(statement, ast.ImportFrom) or statement.level or not hasattr(statement, "is_needed"):
        return False
    return statement.module is not None and statement.module.startswith(RUNTIME + ".")
