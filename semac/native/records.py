"""Records in native code: a native class for each record type, made from records at entries and made into them again.

A native record that was made from one remembers it, so that what goes out is the very record that came in. Only flat
records and short lists of them come in, so that an entry costs little; inside, records may hold records.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.native.types import Facts, base_of, field_kind, shown

ACCESSOR = "sema_runtime.lib.collections.records.record_accessor"
LONGEST = 64  # list that is converted at an entry


class NativeRecord:
    """A record type. fields: (slot, kind) of each, in the order of the constructor's parameters."""

    def __init__(self, kind: str, python: str, fields: list[tuple[str, str]]) -> None:
        self.kind = kind
        self.python = python
        self.fields = fields

    @property
    def is_flat(self) -> bool:
        return all(kind in ("int", "float", "bool", "str") for _, kind in self.fields)

    def text(self) -> str:
        """The class and its conversions."""
        params = ", ".join(f"p{index}: {shown(kind, True)}" for index, (_, kind) in enumerate(self.fields))
        lines = ["@final", f"class {self.kind}:"]
        lines += [f"    {slot}: {shown(kind, True)}" for slot, kind in self.fields]
        lines += ["    sema_origin: object", f"    def __init__(made, {params}) -> None:"]
        lines += [f"        made.{slot} = p{index}" for index, (slot, _) in enumerate(self.fields)]
        lines += ["        made.sema_origin = None"]
        if self.is_flat:
            lines += self.conversions()
        return "\n".join(lines)

    def conversions(self) -> list[str]:
        kind = self.kind
        lines = [f"def in_{kind}(value: Any, cls: Any) -> {kind}:", "    if type(value) is not cls: fail()"]
        for index, (slot, type_) in enumerate(self.fields):
            lines += [f"    v{index} = value.{slot}", f"    if type(v{index}) is not {type_}: fail()"]
        values = ", ".join(f"v{index}" for index in range(len(self.fields)))
        lines += [f"    made = {kind}({values})", "    made.sema_origin = value", "    return made"]
        lines += [f"def out_{kind}(value: {kind}, cls: Any) -> object:"]
        lines += ["    if value.sema_origin is not None: return value.sema_origin", "    made: Any = cls()"]
        lines += [f"    made.{slot} = value.{slot}" for slot, _ in self.fields]
        lines += ["    value.sema_origin = made", "    return made"]
        lines += [
            f"def in_seq_{kind}(value: Any, cls: Any) -> list[{kind}]:",
            "    items: Any = value.items",
            f"    if len(items) > {LONGEST}: fail()",
            f"    return [in_{kind}(item, cls) for item in items]",
            f"def out_seq_{kind}(value: list[{kind}], cls: Any) -> object:",
            f"    return List([out_{kind}(item, cls) for item in value])",
        ]
        return lines


def find_records(unit: Any, tree: ast.Module, facts: Facts, prefix: str) -> dict[str, NativeRecord]:
    """The record types that have a native form, by kind; enters their constructors into the facts."""
    types = {record.py: record for record in unit.records.values() if record.form >= 0 and not record.has_twin}
    facts.prefix = prefix
    facts.record_kinds = {record: f"{prefix}R_{python}" for python, record in types.items()}
    found: dict[str, NativeRecord] = {}
    while True:
        found = {}
        for python, record in types.items():
            if record not in facts.record_kinds:
                continue
            kinds = [field_kind(record.fields[param].type, facts) for param in record.params]
            if None in kinds or "sema_origin" in record.slots:
                continue
            kind = facts.record_kinds[record]
            fields = [(slot, held) for slot, held in zip(record.slots, kinds, strict=True) if held is not None]
            found[kind] = NativeRecord(kind, python, fields)
        if len(found) == len(facts.record_kinds):
            break
        facts.record_kinds = {record: kind for record, kind in facts.record_kinds.items() if kind in found}
    facts.fields = {kind: dict(record.fields) for kind, record in found.items()}
    facts.classes = {record.python: kind for kind, record in found.items()}
    for statement in tree.body:
        read = accessed(statement, types, facts)
        if read is not None:
            facts.accessors[read[0]] = read[1:]
        made = constructed(statement)
        if made in facts.classes and isinstance(statement, ast.FunctionDef):
            facts.constructors[statement.name] = facts.classes[made]
    return found


def accessed(statement: ast.stmt, types: dict[str, Any], facts: Facts) -> tuple[str, str, str] | None:
    """(name, kind of the record, attribute) of the accessor that a statement defines."""
    if not (isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Call)):
        return None
    target, made = statement.targets[0], statement.value
    if facts.runtime(made.func) != ACCESSOR or not isinstance(target, ast.Name):
        return None
    cls, _, field = made.args
    if not isinstance(cls, ast.Name) or cls.id not in facts.classes or not isinstance(field, ast.Constant):
        return None
    record = types[cls.id]
    if field.value not in record.params:
        return None
    return target.id, facts.classes[cls.id], record.slots[record.params.index(field.value)]


def constructed(statement: ast.stmt) -> str | None:
    """The class whose constructor a definition is (`generate/records.py`)."""
    if not isinstance(statement, ast.FunctionDef) or not isinstance(statement.body[-1], ast.Return):
        return None
    first = statement.body[0]
    if isinstance(first, ast.Assign) and isinstance(first.value, ast.Call) and not first.value.args:
        return first.value.func.id if isinstance(first.value.func, ast.Name) else None
    return None


def converted(kind: str, records: dict[str, NativeRecord]) -> NativeRecord | None:
    """The record type that an entry converts for a parameter or a result of a kind."""
    record = records.get(base_of(kind))
    return record if record is not None and record.is_flat and " | " not in kind else None
