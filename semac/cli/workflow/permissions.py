"""What the workflows of a file forbid themselves: the `:permissions` of their meta maps, found without running it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sema_runtime.values.atoms import Symbol, keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import quoted

QUOTES = ("quote", "quasiquote")


def denied(forms: Any) -> set[str]:
    """The capabilities that no workflow among the forms wants to have. Raises ValueError with the message to show."""
    from sema_runtime.capabilities import parse_mode

    names: set[str] = set()
    for setting in _settings(forms):
        if not isinstance(setting, str):
            raise ValueError("invalid workflow permissions: defworkflow :permissions must be a sandbox string")
        try:
            names |= parse_mode(setting)
        except ValueError as error:
            raise ValueError(f"invalid defworkflow :permissions {quoted(setting)}: {_reason(error)}") from None
    return names


def _reason(error: ValueError) -> str:
    text = str(error)
    return text[:1].lower() + text[1:]


def _settings(form: Any) -> Iterator[Any]:
    """The values of `:permissions` in the literal meta maps of all workflows, but not of quoted ones."""
    if isinstance(form, Map):
        for key, value in form.pairs():
            yield from _settings(key)
            yield from _settings(value)
        return
    if not isinstance(form, List | tuple):
        return
    items = form.items if isinstance(form, List) else form
    if isinstance(form, List) and items and isinstance(items[0], Symbol):
        if items[0].name in QUOTES:
            return
        if items[0].name == "defworkflow" and len(items) > 3 and isinstance(items[3], Map):
            setting = items[3].lookup(keyword("permissions"))
            if setting is not None:
                yield setting
    for item in items:
        yield from _settings(item)
