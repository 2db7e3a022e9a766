"""`sema ast`: forms as an indented text tree or as JSON. Both work on nests of any depth."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name

Node = dict[str, Any]


def text_dump(forms: List | Sequence[Any]) -> str:
    """One node per line, two spaces a level, an empty line between the forms; without a final newline."""
    return "\n\n".join("\n".join(_lines(form)) for form in forms)


def _lines(form: Any) -> list[str]:
    lines: list[str] = []
    pending: list[tuple[int, Any]] = [(0, form)]
    while pending:
        depth, element = pending.pop()
        label, children = ("Entry", element.pair) if type(element) is _Entry else _label(element)
        lines.append("  " * depth + label)
        pending += [(depth + 1, child) for child in reversed(children)]
    return lines


class _Entry:
    """A key and its value, as one node of the text tree."""

    __slots__ = ("pair",)

    def __init__(self, key: Any, value: Any) -> None:
        self.pair = (key, value)


def _label(form: Any) -> tuple[str, Sequence[Any]]:
    """The text of one node and what stands below it."""
    if type(form) is List:
        return "List", form.items
    if type(form) is tuple:
        return "Vector", form
    if isinstance(form, Map):
        return "Map", [_Entry(key, value) for key, value in form.pairs()]
    if form is None:
        return "Nil", ()
    if type(form) is bool:
        return f"Bool {str(form).lower()}", ()
    if type(form) is int:
        return f"Int {form}", ()
    if type(form) is float:
        return f"Float {int(form) if form.is_integer() else _float_text(form)}", ()
    if type(form) is str:
        return f"String {json.dumps(form, ensure_ascii=False)}", ()
    if type(form) is Symbol:
        return f"Symbol {form.name}", ()
    if type(form) is Keyword:
        return f"Keyword :{form.name}", ()
    return type_name(form), ()


def _float_text(number: float) -> str:
    if number != number:
        return "NaN"
    from sema_runtime.values.printer import to_text

    return to_text(number)


def json_dump(forms: List | Sequence[Any]) -> str:
    """Pretty JSON with sorted keys: one form becomes an object, any other number an array."""
    pieces: list[str] = []
    pending: list[Any] = [_Text(""), *_opened(forms, 0)] if len(forms) != 1 else [(forms[0], 0)]
    pending.reverse()
    while pending:
        form = pending.pop()
        if type(form) is _Text:
            pieces.append(form.text)
        else:
            pending += reversed(_json_node(*form))
    return "".join(pieces)


class _Text:
    """Finished JSON text among forms that are still to be written."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def _json_node(form: Any, depth: int) -> list[Any]:
    """The texts and inner (form, depth) pairs that make the JSON of one form."""
    inner = "  " * (depth + 1)
    end = "\n" + "  " * depth + "}"
    if type(form) is List or type(form) is tuple:
        kind = "list" if type(form) is List else "vector"
        head = _Text("{\n" + inner + '"children": ')
        return [head, *_opened(form, depth + 1), _Text(f',\n{inner}"type": "{kind}"{end}')]
    if isinstance(form, Map):
        head = _Text("{\n" + inner + '"entries": ')
        return [head, *_entries(form, depth + 1), _Text(f',\n{inner}"type": "map"{end}')]
    node = _atom(form)
    text = ",\n".join(f'{inner}"{key}": {json.dumps(node[key], ensure_ascii=False)}' for key in sorted(node))
    return [_Text("{\n" + text + end)]


def _opened(forms: List | Sequence[Any], depth: int) -> list[Any]:
    """An array of forms."""
    if not len(forms):
        return [_Text("[]")]
    parts: list[Any] = []
    for form in forms:
        parts += [_Text((",\n" if parts else "[\n") + "  " * (depth + 1)), (form, depth + 1)]
    return [*parts, _Text("\n" + "  " * depth + "]")]


def _entries(form: Map, depth: int) -> list[Any]:
    if not len(form):
        return [_Text("[]")]
    parts: list[Any] = []
    outer, inner = "  " * (depth + 1), "  " * (depth + 2)
    for key, value in form.pairs():
        start = (",\n" if parts else "[\n") + outer + "{\n" + inner
        parts += [_Text(start + '"key": '), (key, depth + 2), _Text(f',\n{inner}"value": '), (value, depth + 2)]
        parts.append(_Text("\n" + outer + "}"))
    return [*parts, _Text("\n" + "  " * depth + "]")]


def _atom(form: Any) -> Node:
    if form is None:
        return {"type": "nil"}
    kind = type(form)
    if kind is bool or kind is int or kind is str:
        return {"type": {bool: "bool", int: "int", str: "string"}[kind], "value": form}
    if kind is float:
        return {"type": "float", "value": form if form - form == 0 else None}
    if kind is Symbol or kind is Keyword:
        return {"type": kind.__name__.lower(), "value": form.name}
    return {"type": type_name(form)}
