"""Names that forms define, seen without expanding macros."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

DEFINERS = frozenset(("define", "def", "defn", "defun"))


def defined_names(form: Any) -> list[str]:
    """Names that a top-level form defines, as far as can be seen without expanding macros."""
    if type(form) is not List or not form.items or type(form.items[0]) is not Symbol:
        return []
    head, items = form.items[0].name, form.items
    if head in DEFINERS and len(items) > 1:
        return pattern_names(items[1]) if head in ("define", "def") else pattern_names(items[1])[:1]
    if head in ("begin", "progn"):
        return [name for inner in items[1:] for name in defined_names(inner)]
    if head == "module" and len(items) > 2:
        return [name for inner in items[3:] for name in defined_names(inner)]
    if head == "define-values" and len(items) > 1:
        return all_symbols(items[1])
    if head in ("defmulti", "deftool", "defagent") and len(items) > 1 and type(items[1]) is Symbol:
        return [items[1].name]
    if head == "define-record-type":
        return record_names(items)
    return []


def record_names(items: Any) -> list[str]:
    """Names bound by (define-record-type tag (make field...) pred? (field getter)...)."""
    names = [] if len(items) < 4 else [*all_symbols(items[2])[:1], *all_symbols(items[3])[:1]]
    for field in items[4:]:
        if type(field) is List:
            names += [part.name for part in field.items[1:2] if type(part) is Symbol]
    return names


def pattern_names(target: Any) -> list[str]:
    """Names bound by the target of a define: a symbol, a (name . params) list, a destructuring pattern."""
    if type(target) is Symbol:
        return [target.name]
    if type(target) is List:
        return [target.items[0].name] if target.items and type(target.items[0]) is Symbol else []
    return all_symbols(target)


def all_symbols(pattern: Any) -> list[str]:
    """Every symbol in a pattern but `_`, `&` and `.`."""
    if type(pattern) is Symbol:
        return [] if pattern.name in ("_", "&", ".") else [pattern.name]
    if type(pattern) in (tuple, List):
        return [name for part in pattern for name in all_symbols(part)]
    if type(pattern) is Map:
        return [name for _, part in pattern.pairs() for name in all_symbols(part)]
    return []


def is_top_level(form: Any) -> bool:
    """Whether a macro definition standing there, or in a `begin` there, serves the forms below."""
    if type(form) is List and form.items and type(form.items[0]) is Symbol:
        return form.items[0].name in ("defmacro", "define-syntax", "begin", "progn")
    return False


def sequence_name(form: Any) -> str | None:
    """The name that a sequence has from its start on because it holds this form.

    Names that patterns bind, or that parts of its forms define, are there only behind the definition.
    """
    if type(form) is not List or len(form.items) < 2 or type(form.items[0]) is not Symbol:
        return None
    head, target = form.items[0].name, form.items[1]
    if head in ("define", "def") and type(target) is List and target.items:
        target = target.items[0]
    is_name = type(target) is Symbol and (head in DEFINERS or head == "defmulti")
    return target.name if is_name else None


def bound_module(parts: Any) -> str | None:
    """The name that (py/import module [:as name]) binds; None when it is malformed."""
    if len(parts) == 1:
        return str(parts[0]).partition(".")[0]
    is_alias = len(parts) == 3 and type(parts[1]) is Keyword and parts[1].name == "as" and type(parts[2]) is Symbol
    return parts[2].name if is_alias else None


def bound_name(part: Any) -> tuple[str, str] | None:
    """(name in the module, name here) of a part of py/from: a symbol, or (name :as other)."""
    if type(part) is Symbol:
        return part.name, part.name
    if type(part) is List and len(part.items) == 3 and type(part.items[0]) is Symbol:
        other = bound_module(part.items)
        return None if other is None else (part.items[0].name, other)
    return None


def decorated(parts: Any) -> tuple[Any, Any]:
    """(decorators, the rest) of the parts of a py/def or py/class."""
    parts = list(parts)
    if len(parts) > 1 and type(parts[0]) is tuple:
        return parts[0], parts[1:]
    return (), parts


def imported_names(form: Any) -> list[str]:
    """The names that a top-level form binds to things of Python, or of the shape of such."""
    if type(form) is not List or len(form.items) < 2 or type(form.items[0]) is not Symbol:
        return []
    head, parts = form.items[0].name, form.items[1:]
    if head in ("begin", "progn", "module"):
        return [name for part in parts for name in imported_names(part)]
    if head == "py/import":
        module = bound_module(parts) if type(parts[0]) is str else None
        return [] if module is None else [module]
    if head in ("py/def", "py/class"):
        target = decorated(parts)[1][0]
        return pattern_names(target) if type(target) in (Symbol, List) else []
    if head == "py/from":
        return [pair[1] for part in parts[1:] if (pair := bound_name(part)) is not None]
    return []
