"""Inlay hints: the types that the compiler infers, where the last check has found them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from semac.lsp.documents import Document
from semac.lsp.names import PARAMETER, VARIABLE, Binding, Scope
from semac.lsp.tree import LIST, VECTOR, Node, Place
from semac.lsp.units import Unit

TYPE = 1  # the kind of a hint
KEPT = "types"


def keep(document: Document, types: dict[str, Any]) -> None:
    """Takes the types that a check of this version has found, each with its unit: they hold while that is unchanged."""
    functions: dict[int, dict[Place, Any]] = {}
    main: dict[str, str] = {}
    for line, column, returned, variables in types.get("functions", ()):
        if not line:
            main = variables
            continue
        index = document.layout.index(line)
        functions.setdefault(index, {})[line - document.units[index].above, column] = returned, variables
    for index, unit in enumerate(document.units):
        unit.kept[KEPT] = functions.get(index, {}), {**main, **types.get("globals", {})}


def inlay_hints(document: Document, chosen: Any) -> list[Any]:
    """The hints on the lines of a range: a variable's type behind its name, what a function returns behind its
    parameters."""
    first, last = chosen["start"]["line"] + 1, chosen["end"]["line"] + 1
    found = []
    for at in range(document.layout.index(first), len(document.units)):
        unit = document.units[at]
        if unit.above >= last:
            break
        for (line, column), text in sorted(_hints(unit)):
            if first <= line + unit.above <= last:
                position = document.lines.position(line + unit.above, column)
                found.append({"position": position, "label": text, "kind": TYPE, "paddingLeft": text.startswith("→")})
    return found


def by_node(document: Document) -> dict[Node, str]:
    """The types of the names that a text binds, for those that are known."""
    return {binding.node: text for unit in document.units for binding, text in _types(unit)}


def _hints(unit: Unit) -> Iterator[tuple[Place, str]]:
    for binding, text in _types(unit):
        params = _parameter_list(binding)
        if params is not None:
            yield params.own[2:], f"→ {text}"
        elif not _is_literal(binding):
            yield binding.node.own[2:], f": {text}"


def _types(unit: Unit) -> Iterator[tuple[Binding, str]]:
    """The types of a unit's variables, and what its functions return."""
    known: Any = unit.kept.get(KEPT)
    if known is None:
        return
    functions, variables = known
    for scope in unit.names.scopes:
        for name, binding in scope.names.items():
            if _parameter_list(binding) is not None:
                place = binding.form.children[2].own[:2] if _is_lambda(binding) else binding.form.own[:2]
                text = functions.get(place, ("",))[0]
            elif binding.kind == PARAMETER:
                continue
            elif binding.is_global:
                text = variables.get(name, "")
            else:
                text = _variables(scope, functions, variables).get(name, "")
            if text:
                yield binding, text


def _variables(scope: Scope, functions: dict[Place, Any], main: dict[str, str]) -> dict[str, str]:
    """The variables of the function around a scope."""
    around: Scope | None = scope
    while around is not None:
        if around.form.own[:2] in functions:
            return functions[around.form.own[:2]][1]  # type: ignore[no-any-return]
        around = around.parent
    return main


def _is_lambda(binding: Binding) -> bool:
    """Whether a name is defined as `(define name (fn ...))`."""
    parts = binding.form.children
    return (
        len(parts) > 2 and parts[1] is binding.node and parts[2].head in ("fn", "lambda") and len(parts[2].children) > 1
    )


def _parameter_list(binding: Binding) -> Node | None:
    """The parameters of the function that a form defines: what a function returns is said behind them."""
    form = binding.form
    if form.head in ("define", "def") and len(form.children) > 1:
        if form.children[1].kind == LIST and form.children[1].children[:1] == [binding.node]:
            return form.children[1]
        return form.children[2].children[1] if _is_lambda(binding) else None
    if form.head in ("defn", "defun") and len(form.children) > 2 and form.children[1] is binding.node:
        return form.children[2] if form.children[2].kind in (LIST, VECTOR) else None
    return None


def _is_literal(binding: Binding) -> bool:
    """Whether the value stands there as it is: its type is plain to see."""
    form, node = binding.form, binding.node
    values = [form.children[2]] if form.head in ("define", "def") and len(form.children) > 2 else []
    if binding.kind == VARIABLE and not values and len(form.children) > 1:
        pairs = [part.children for part in form.children[1].children if part.children]
        values = [pair[1] for pair in pairs if pair[0] is node and len(pair) > 1]
    return bool(values) and not values[0].children and not values[0].name
