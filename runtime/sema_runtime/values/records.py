"""Records: one class for each `define-record-type`, immutable to the program, compared by type tag and fields."""

from __future__ import annotations

from sema_runtime.values.equality import same_items, strict_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


class Record:
    """A record. values: one for each of the class's fields, in the constructor's order."""

    __slots__ = ("values",)
    type_name = "record"
    tag = ""
    fields: tuple[str, ...] = ()

    def __init__(self, values: Sequence[Any]) -> None:
        self.values = values

    def __getattr__(self, name: str) -> Any:
        """A field by its name as Python writes it: `-` is `_`."""
        if name != "values":
            for index, field in enumerate(self.fields):
                if field.replace("-", "_") == name:
                    return self.values[index]
        raise AttributeError(f"{self.tag} has no field {name!r}", name=name, obj=self)

    def __eq__(self, other: object) -> bool:
        return self is other or (
            isinstance(other, Record) and self.tag == other.tag and same_items(self.values, other.values)
        )

    def __hash__(self) -> int:
        return hash((self.tag, strict_hash(self.values)))

    def __repr__(self) -> str:
        from sema_runtime.values.printer import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.tag, self.fields, tuple(self.values))

    def sema_members(self) -> Sequence[Any]:
        """The parts that equality compares."""
        return self.values

    def sema_parts(self) -> tuple[str, Sequence[Any], str]:
        return f"#<record {self.tag}{' ' if self.values else ''}", self.values, ">"


_types: dict[tuple[str, tuple[str, ...]], type[Record]] = {}


def make_record_type(tag: str, fields: Sequence[str]) -> type[Record]:
    """The record class of that tag (the type's name) and those fields (the parameters of its constructor).

    A type that is defined again in the same way is the same type, so its older records stay equal to new ones.
    """
    key = tag, tuple(fields)
    kind = _types.get(key)
    if kind is None:
        kind = _types.setdefault(key, _new_type(*key))
    return kind


def _new_type(tag: str, fields: tuple[str, ...]) -> type[Record]:
    name = "".join(part.capitalize() for part in tag.strip("<>").split("-"))
    return type(name if name.isidentifier() else "Record", (Record,), {"__slots__": (), "tag": tag, "fields": fields})


def _restored(tag: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Record:
    return make_record_type(tag, fields)(values)
