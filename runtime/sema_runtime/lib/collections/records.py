"""The functions that `define-record-type` defines, and `record?`."""

from __future__ import annotations

from keyword import kwlist

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import ArityError, SemaError, type_error
from sema_runtime.values.multiple import Values
from sema_runtime.values.records import Record, make_record_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["make_record_type", "record_accessor", "record_constructor", "record_modifier", "record_predicate"]


@builtin("record?", returns="bool", pure=True)
def is_record(value: Any) -> bool:
    """Whether value is a record of any type.

    (define-record-type point (make-point x y) point? (x point-x))
    (record? (make-point 1 2)) => #t
    (record? {:x 1}) => #f
    """
    return isinstance(value, Record | Values)


def record_constructor(kind: type[Record], name: str, params: tuple[str, ...]) -> Callable[..., Record]:
    """The constructor of kind, called name. It takes one value for each of params."""
    names = [param.replace("-", "_") + "_" * (param in kwlist) for param in params]
    if all(param.isidentifier() and param != "_kind" for param in names) and len({*names}) == len(names):
        scope: dict[str, Any] = {"__name__": __name__, "_kind": kind}
        exec(f"def make({', '.join(names)}): return _kind(({', '.join([*names, ''])}))", scope)
        function: Callable[..., Record] = _named(scope["make"], name)
        return function
    count = len(params)

    def constructor(*values: Any) -> Record:
        if len(values) != count:
            raise ArityError(name, str(count), len(values))
        return kind(values)

    return _named(constructor, name)


def record_predicate(kind: type[Record], name: str) -> Callable[[Any], bool]:
    """The predicate of kind: true for records of any type with its tag."""
    tag = kind.tag

    def predicate(value: Any) -> bool:
        return type(value) is kind or (isinstance(value, Record) and value.tag == tag)

    return _named(predicate, name)


def record_accessor(kind: type[Record], name: str, field: str) -> Callable[[Any], Any]:
    """The function that reads a field of kind. Raises SemaError when the constructor doesn't take that field."""
    index = _index(kind, field)

    def accessor(record: Any) -> Any:
        if type(record) is kind:
            return record.values[index]
        return _checked(record, kind).values[index]

    return _named(accessor, name)


def record_modifier(kind: type[Record], name: str, field: str) -> Callable[[Any, Any], None]:
    """The function that changes a field of kind in place."""
    index = _index(kind, field)

    def modifier(record: Any, value: Any) -> None:
        values = list(_checked(record, kind).values)
        values[index] = value
        record.values = values

    return _named(modifier, name)


def _index(kind: type[Record], field: str) -> int:
    if field not in kind.fields:
        raise SemaError(f"define-record-type: field '{field}' not in constructor")
    return kind.fields.index(field)


def _checked(record: Any, kind: type[Record]) -> Record:
    """record, when it has the tag of kind (a type defined again keeps its older records)."""
    if isinstance(record, Record) and record.tag == kind.tag:
        return record
    type_error(kind.tag, record)


def _named(function: F, name: str) -> F:
    function.__sema_name__ = name  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name.replace("-", "_")
    return function
