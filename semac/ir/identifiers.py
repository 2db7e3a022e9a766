"""Sema names and Python identifiers.

`total-over` → `total_over`, `list->vector` → `list_to_vector`, `string/empty?` → `string_is_empty`, `push!` →
`push_mut`; Python's keywords get a trailing underscore (`class_`). What Python predefines keeps its name (`list`),
as Python code spells parameters and functions: the generator's own uses of it step aside. The way back is `-` for `_`;
every name for which that is not the truth is listed in the emitted module's `__sema_names__`, so messages always show
the Sema name.
"""

from __future__ import annotations

import builtins
import keyword
import re
import unicodedata
from collections.abc import Set as AbstractSet
from functools import lru_cache

KEYWORDS = frozenset(keyword.kwlist)
PREDEFINED = frozenset(dir(builtins))
KEPT = frozenset(("__name__", "__package__"))
RESERVED = (PREDEFINED - KEPT) | {"__builtins__", "__cached__", "__class__", "__dict__"}
WORDS = {
    "*": "star", "+": "plus", "=": "eq", "<": "lt", ">": "gt", "%": "pct", "&": "amp", ".": "dot", "#": "hash",
    "$": "dollar", "@": "at", "^": "caret", "~": "tilde", ":": "colon", "!": "mut", "?": "p", "|": "bar",
    "\\": "backslash",
}  # fmt: skip


@lru_cache(4096)
def mangle(name: str) -> str:
    """The Python identifier for a Sema name. Not injective: `Names` in the emitter settles collisions."""
    plain = name.replace("-", "_")
    text = plain if plain.isascii() and plain.isidentifier() else _spelled(name)
    if text.startswith("__") or text in KEYWORDS or not text.strip("_"):
        text += "_"
        if text.startswith("__") and text.endswith("__") and text.strip("_"):
            text = text.rstrip("_") + "___"  # not one of the names that mean something to Python
    return text


def is_module_attribute(name: str) -> bool:
    """Whether a global is one that Python sets or looks for in modules and keeps its name: `__name__`, `__version__`.

    Those by which a program could reach Python or change the compiler's own globals are names like any other.
    """
    return name not in RESERVED and name.isascii() and re.fullmatch("__(?!sema_)[a-z]+(_[a-z]+)*__", name) is not None


def mangle_global(name: str) -> str:
    """`mangle` for a global variable."""
    return name if is_module_attribute(name) else mangle(name)


def beside_builtins(name: str) -> str:
    """`mangle_global` for what must not be taken for a builtin of Python: `list_`.

    Globals of a session, which live beside code that was compiled before them, and those that may be unbound.
    """
    text = mangle_global(name)
    return text + "_" if text in PREDEFINED and not is_module_attribute(name) else text


def _spelled(name: str) -> str:
    space, slash, last = name.rpartition("/")
    if slash and not space and not last:
        return "slash"
    if last.endswith("?") and len(last) > 1:
        last = "is-" + last[:-1]
    parts: list[str] = []
    for char in (space + slash + last).replace("->", "-to-").replace("<-", "-from-"):
        if char in "-/_":
            parts.append("_")
        elif char in WORDS:
            parts.append(f"_{WORDS[char]}_")
        elif (
            (char.isalnum() or char.isidentifier())
            and unicodedata.normalize("NFKC", char) == char
            and ("a" + char).isidentifier()
        ):
            parts.append(char)
        else:
            parts.append(f"_u{ord(char):x}_")
    text = "".join(parts)
    while "__" in text:
        text = text.replace("__", "_")
    text = text.strip("_") or "_"
    return "_" + text if text[0].isdigit() or not text.isidentifier() else text


def is_taken(name: str, taken: tuple[AbstractSet[str], ...]) -> bool:
    for names in taken:  # noqa: SIM110  (asked for each variable)
        if name in names:
            return True
    return False


def unique(base: str, *taken: AbstractSet[str], numbers: dict[str, int] | None = None) -> str:
    """base, or base_2, base_3, ... that is in none of the sets.

    numbers: the last number of each base, where names are never given back: thousands may want the same one.
    """
    number = 1 if numbers is None else numbers.get(base, 1)
    candidate = base if number == 1 else f"{base.rstrip('_')}_{number}"
    while is_taken(candidate, taken):
        number += 1
        candidate = f"{base.rstrip('_')}_{number}"
    if numbers is not None:
        numbers[base] = number
    return candidate


def decodes(identifier: str, name: str) -> bool:
    """Whether the default rule decodes identifier to name, or nothing ever has to: these two are never unbound."""
    return name in ("__name__", "__file__") or identifier.replace("_", "-") == name
