"""Records: a Python class for each `define-record-type`, with a slot for each field.

A record type is a class that derives from `Record`. `make_record_type` makes one at run time, and emitted code may
write one down:

    class Point(Record):
        __slots__ = ("x", "top_left")  # slot_names of the fields
        sema_tag = "point"  # the type's name in Sema
        sema_fields = ("x", "top-left")  # the parameters of its constructor, in their order; not where the slots say it

Both ways give the same behaviour, and what follows holds for both:

* The class has no `__init__`: `Point()` makes a record without fields at the cost of a C call, and whoever makes one
  sets every slot before anybody else sees it. `record_constructor` (lib/collections/records.py) returns a function that
  does; code that knows the class may do the same in place. In CPython 3.11 that is faster than a call of a class with
  an `__init__`.
* Code that knows that `type(r) is Point` reads `r.x`. For any other value `field_of(r, Point, 0)` gives what the
  accessor gives: the field of a record whose type has the same tag, or the error.
* Two records are equal when their tags and the values of their fields are, whatever their classes: a type that is
  defined again keeps its older records. So `type(r) is Point` may be false of a record that `point?` accepts;
  `is_of_type(r, Point)` decides.
* `sema_members()` gives the values in the order of the fields. Records print, hash, pickle and order by tag and values.
* A slot is named after its field, as Python writes it (`-` is `_`); `slot_names` says how where that isn't possible.
"""

from __future__ import annotations

from _operator import attrgetter

from sema_runtime.values.base_errors import type_error
from sema_runtime.values.equality import same_items, strict_hash

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


class Record:
    """A record; a subclass is a record type, see the module's text."""

    __slots__ = ()
    type_name = "record"
    sema_tag = ""
    sema_fields: tuple[str, ...] = ()
    sema_values: Callable[[Any], tuple[Any, ...]]  # of a record; made from the slots

    def __init_subclass__(cls) -> None:
        if "sema_tag" in cls.__dict__:
            if "sema_fields" not in cls.__dict__:
                cls.sema_fields = cls.__dict__["__slots__"]
            cls.sema_values = _reader(cls.__dict__["__slots__"])
            _types.setdefault((cls.sema_tag, cls.sema_fields), cls)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(other) is not type(self) and not is_of_type(other, type(self)):
            return False
        return same_items(self.sema_values(self), other.sema_values(other))  # type: ignore[attr-defined]

    def __hash__(self) -> int:
        return hash((self.sema_tag, strict_hash(self.sema_values(self))))

    def __repr__(self) -> str:
        from sema_runtime.values.printer import to_text

        return to_text(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.sema_tag, self.sema_fields, self.sema_members())

    def sema_members(self) -> tuple[Any, ...]:
        """The values of the fields, which equality compares."""
        return self.sema_values(self)

    def sema_parts(self) -> tuple[str, Sequence[Any], str]:
        values = self.sema_members()
        return f"#<record {self.sema_tag}{' ' if values else ''}", values, ">"


_types: dict[tuple[str, tuple[str, ...]], type[Record]] = {}


def _reader(slots: tuple[str, ...]) -> Callable[[Any], tuple[Any, ...]]:
    """The function that reads these slots of a record; what Python finds in a class is no method then."""
    if len(slots) > 1:
        return attrgetter(*slots)
    return staticmethod(lambda record: tuple([getattr(record, slot) for slot in slots]))


def constructor(function: F) -> F:
    """Marks a function that makes records as native, as `type` has it. A decorator in emitted code."""
    function.__sema_native__ = True  # type: ignore[attr-defined]
    return function


def make_record_type(tag: str, fields: Sequence[str]) -> type[Record]:
    """The record class of that tag (the type's name) and those fields (the parameters of its constructor).

    A type that is defined again in the same way is the same type.
    """
    known = _types.get((tag, tuple(fields)))
    if known is not None:
        return known
    body = {"__slots__": slot_names(fields), "sema_tag": tag, "sema_fields": tuple(fields)}
    return type(class_name(tag), (Record,), body)


def class_name(tag: str) -> str:
    """The name of the class of a tag: `HeapNode` for `heap-node` or `<heap-node>`."""
    name = "".join(part.capitalize() for part in tag.strip("<>").split("-"))
    return name if name.isidentifier() else "Record"


def slot_names(fields: Sequence[str]) -> tuple[str, ...]:
    """The names of the slots for fields: as Python writes them, with `_` after a keyword and after a name that is
    taken; `field_0` and so on for a name that Python can't write."""
    from keyword import iskeyword

    names: list[str] = []
    for index, field in enumerate(fields):
        name = field.replace("-", "_")
        if not name.isascii():
            from unicodedata import normalize

            name = normalize("NFKC", name)
        if not name.isidentifier() or name.startswith(("__", "sema_", "type_")) or (name == "_" and name in names):
            name = f"field_{index}"  # `__` is Python's
        while iskeyword(name) or name in names:
            name += "_"
        names.append(name)
    return tuple(names)


def is_of_type(value: Any, kind: type[Record]) -> bool:
    """Whether a value is a record with the tag of kind."""
    return isinstance(value, Record) and value.sema_tag == kind.sema_tag


def field_of(record: Any, kind: type[Record], index: int) -> Any:
    """The field of a record with the tag of kind (a type defined again keeps its older records). Raises a type error
    for another value."""
    if isinstance(record, Record) and record.sema_tag == kind.sema_tag:
        return record.sema_members()[index]
    type_error(kind.sema_tag, record)


def _restored(tag: str, fields: tuple[str, ...], values: tuple[Any, ...]) -> Record:
    kind = make_record_type(tag, fields)
    record = kind()
    slots: Any = kind.__slots__
    for slot, value in zip(slots, values, strict=True):
        setattr(record, slot, value)
    return record


# Several values of one form


class Values:
    """Several values, or none. Programs see a record of type `%multiple-values%`."""

    __slots__ = ("items",)
    type_name = "record"
    sema_tag = "%multiple-values%"

    def __init__(self, items: tuple[Any, ...]) -> None:
        self.items = items

    def __eq__(self, other: object) -> bool:
        return type(other) is Values and same_items(self.items, other.items)

    def __hash__(self) -> int:
        return strict_hash(self.items)

    def sema_members(self) -> tuple[Any, ...]:
        """The parts that equality compares."""
        return self.items

    def sema_parts(self) -> tuple[str, Iterable[Any], str]:
        return "#<record %multiple-values%" + (" " if self.items else ""), self.items, ">"


def values_tuple(value: Any, count: int, has_rest: bool) -> tuple[Any, ...]:
    """The values that let-values binds to count variables, and more to a rest. Raises ArityError if they don't fit."""
    items = value.items if type(value) is Values else (value,)
    actual = len(items)
    if actual != count and (actual < count or not has_rest):
        from sema_runtime.values.errors import ArityError

        raise ArityError("<lambda>", f"{count}+" if has_rest else str(count), actual)
    return items
