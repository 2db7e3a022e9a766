"""Record types of a unit, and the functions that make, recognise and read their records."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.records import slot_names
from semac.types.lattice import NEVER, RECORD, Members, Type


class Cell:
    """What is known of a place that several parts of a unit write and read. readers: who has read it.

    is_open: code that isn't seen reads what is there; of a site it may also change it.
    """

    __slots__ = ("is_open", "readers", "type")

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self.type: Type = NEVER
        self.readers: Any = None
        self.is_open = False


class RecordType:
    """A `define-record-type`. fields: by name, what records hold there. own: the type of those of its records that
    calls of the unit itself have made, of whose fields more is known: others may call the constructor with anything."""

    __slots__ = ("declared", "fields", "form", "has_twin", "name", "own", "params", "py")

    def __init__(self, name: str, params: tuple[str, ...], declared: RecordType | None = None) -> None:
        self.name = name
        self.params = params  # the fields that the constructor takes, in order
        self.fields: dict[str, Cell] = {param: Cell() for param in params}
        self.declared = declared or self
        self.own = self if declared is not None else RecordType(name, params, self)
        self.has_twin = False  # the unit defines another type of that name: each takes the other's records for its own
        self.form = -1  # the index of the top-level form that it is; -1 of one that may be made often, or never
        self.py = ""  # the name of the class, of one that is a form

    def __repr__(self) -> str:
        return self.name if self.declared is self else f"own {self.name}"

    @property
    def slots(self) -> tuple[str, ...]:
        """The attributes of its records, in the order of the parameters."""
        return slot_names(self.params)


def of_type(records: Members, record: RecordType) -> frozenset[RecordType]:
    """Those of the record types that a value can have which are a declared one: itself where nothing is known."""
    if records is None:
        return frozenset((record,))
    return frozenset(each for each in records if each.declared is record)


def is_of_type(type_: Type, record: RecordType) -> bool:
    """Whether every value of a type is a record of a declared type."""
    records = type_.records if type_.only(RECORD) else None
    return bool(records) and all(each.declared is record for each in records or ())


class RecordMember:
    """A function that belongs to a record type. role: "constructor", "predicate", "accessor"."""

    __slots__ = ("field", "name", "record", "role")

    def __init__(self, record: RecordType, role: str, name: str, field: str = "") -> None:
        self.record = record
        self.role = role
        self.name = name
        self.field = field

    def __repr__(self) -> str:
        return self.name

    @property
    def is_constructor(self) -> bool:
        return self.role == "constructor"

    @property
    def slot(self) -> str:
        """The attribute of the field."""
        return self.record.slots[self.record.params.index(self.field)]


class Site(Cell):
    """Where mutable arrays are made: what any array made there can hold."""


class Node(Cell):
    """What is known of the lists, vectors and maps that are parts of their own like: nodes of a tree, chains."""
