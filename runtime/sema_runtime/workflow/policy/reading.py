"""Reading a policy map: keys and values may be keywords or strings, and what isn't known is an error with a hint."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from sema_runtime.llm.jsonable import is_map, is_sequence
from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn


def name_of(value: Any) -> str | None:
    """The name of a keyword or a symbol, a string itself; None for anything else."""
    if isinstance(value, str):
        return value
    return value.name if isinstance(value, Keyword | Symbol) else None


def did_you_mean(name: str, valid: Iterable[str]) -> str:
    """Names the closest of the valid ones, or all of them when none is close."""
    from difflib import get_close_matches

    known = list(valid)
    near = get_close_matches(name, known, 1)
    return f"did you mean :{near[0]}?" if near else f"valid: {', '.join(f':{name}' for name in known)}"


class Section:
    """A map of the policy. where: its place in it, as `tools.allow.read`, "" for the policy itself."""

    __slots__ = ("entries", "policy", "where")

    def __init__(self, policy: str, where: str, value: Any, valid: Iterable[str] | None = None) -> None:
        self.policy = policy
        self.where = where
        if not is_map(value):
            self.wrong(f"must be a map, got {type_name(value)}")
        self.entries: dict[str, Any] = {}
        for key, inner in value.pairs() if isinstance(value, Map) else value.items():
            self._add(key, inner, valid)

    def _add(self, key: Any, value: Any, valid: Iterable[str] | None) -> None:
        from sema_runtime.values.printer import to_text

        name = name_of(key)
        if name is None:
            self.wrong(f"keys must be keywords or strings, got {to_text(key)}")
        if name in self.entries:
            self.wrong(f"has :{name} twice, as a keyword and as a string")
        if valid is not None and name not in valid:
            self.wrong(f"has the unknown key :{name}", did_you_mean(name, valid))
        self.entries[name] = value

    def place(self, key: str) -> str:
        return f"{self.where}.{key}" if self.where else key

    def wrong(self, problem: str, hint: str | None = None, key: str = "") -> NoReturn:
        where = self.place(key) if key else self.where
        raise SemaError(f"policy '{self.policy}': {f'{where} ' if where else ''}{problem}", hint)

    def section(self, key: str, valid: Iterable[str] | None = None) -> Section | None:
        value = self.entries.get(key)
        return None if value is None else Section(self.policy, self.place(key), value, valid)

    def sections(self, key: str, valid: Iterable[str]) -> Iterator[Section]:
        """The maps of a list."""
        for place, value in enumerate(self.items(key), 1):
            yield Section(self.policy, f"{self.place(key)} item {place}", value, valid)

    def items(self, key: str) -> list[Any]:
        """A list, empty without the key."""
        value = self.entries.get(key)
        if value is None:
            return []
        if not is_sequence(value):
            self.wrong(f"must be a list or vector, got {type_name(value)}", key=key)
        return list(value)

    def names(self, key: str) -> tuple[str, ...]:
        """A list of keywords or non-empty strings."""
        texts = []
        for value in self.items(key):
            name = name_of(value)
            if not name:
                self.wrong(f"must hold keywords or non-empty strings, got {_shown(value)}", key=key)
            texts.append(name)
        return tuple(dict.fromkeys(texts))

    def integers(self, key: str, low: int, high: int) -> tuple[int, ...]:
        return tuple(self._integer(key, value, low, high) for value in self.items(key))

    def integer(self, key: str, low: int, high: int) -> int | None:
        value = self.entries.get(key)
        return None if value is None else self._integer(key, value, low, high)

    def _integer(self, key: str, value: Any, low: int, high: int) -> int:
        if not isinstance(value, int) or isinstance(value, bool) or not low <= value <= high:
            self.wrong(f"must be an integer from {low} to {high}, got {_shown(value)}", key=key)
        return value

    def choice(self, key: str, choices: tuple[str, ...], default: str) -> str:
        """One of the names; the default when the key isn't there."""
        value = self.entries.get(key)
        if value is None:
            return default
        return self.one_of(key, value, choices)

    def one_of(self, key: str, value: Any, choices: Iterable[str]) -> str:
        name = name_of(value)
        if name is None or name not in choices:
            shown = f":{name}" if isinstance(value, Keyword) else _shown(value)
            hint = did_you_mean(name or "", choices)
            self.wrong(f"can't be {shown}", hint, key)
        return name

    def text(self, key: str) -> str | None:
        """A keyword's name or a non-empty string."""
        value = self.entries.get(key)
        if value is None:
            return None
        name = name_of(value)
        if not name:
            self.wrong(f"must be a keyword or a non-empty string, got {_shown(value)}", key=key)
        return name

    def boolean(self, key: str) -> bool:
        value = self.entries.get(key, False)
        if not isinstance(value, bool):
            self.wrong(f"must be #t or #f, got {_shown(value)}", key=key)
        return value


def _shown(value: Any) -> str:
    from sema_runtime.values.printer import to_text

    text = to_text(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
