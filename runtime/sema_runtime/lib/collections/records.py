"""The functions that `define-record-type` defines, and `record?`."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import SemaError
from sema_runtime.values.records import Record, Values, field_of, is_of_type, make_record_type

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])

__all__ = ["make_record_type", "record_accessor", "record_constructor", "record_modifier", "record_predicate"]


@builtin("record?", type="any -> bool", pure=True, total=True)
def is_record(value: Any) -> bool:
    """Whether value is a record of any type.

    (define-record-type point (make-point x y) point? (x point-x))
    (record? (make-point 1 2)) => #t
    (record? {:x 1}) => #f
    """
    return isinstance(value, (Record, Values))


def record_constructor(kind: type[Record], name: str, params: tuple[str, ...]) -> Callable[..., Record]:
    """The constructor of kind, called name. It takes one value for each of params, the fields of kind."""
    slots: Any = kind.__slots__
    assignments = "".join(f"    __record.{slot} = {slot}\n" for slot in slots)
    scope: dict[str, Any] = {"__name__": __name__, "__kind": kind}
    exec(f"def make({', '.join(slots)}):\n    __record = __kind()\n{assignments}    return __record", scope)
    function: Callable[..., Record] = _named(scope["make"], name)
    return function


def record_predicate(kind: type[Record], name: str) -> Callable[[Any], bool]:
    """The predicate of kind: true for records of any type with its tag."""

    def predicate(value: Any) -> bool:
        return type(value) is kind or is_of_type(value, kind)

    return _named(predicate, name)


def record_accessor(kind: type[Record], name: str, field: str) -> Callable[[Any], Any]:
    """The function that reads a field of kind. Raises SemaError when the constructor doesn't take that field."""
    index = _index(kind, field)

    def accessor(record: Any) -> Any:
        if type(record) is kind:
            return record.field  # type: ignore[attr-defined]  # the slot's name takes its place below
        return field_of(record, kind, index)

    code = accessor.__code__
    slots: Any = kind.__slots__
    slot: str = slots[index]
    accessor.__code__ = code.replace(co_names=tuple(slot if used == "field" else used for used in code.co_names))
    return _named(accessor, name)


def record_modifier(kind: type[Record], name: str, field: str) -> Callable[[Any, Any], None]:
    """The function that changes a field of kind in place."""
    index = _index(kind, field)

    def modifier(record: Any, value: Any) -> None:
        field_of(record, kind, index)
        slots: Any = type(record).__slots__
        setattr(record, slots[index], value)

    return _named(modifier, name)


def _index(kind: type[Record], field: str) -> int:
    if field not in kind.sema_fields:
        raise SemaError(f"define-record-type: field '{field}' not in constructor")
    return kind.sema_fields.index(field)


def _named(function: F, name: str) -> F:
    function.__sema_name__ = name  # type: ignore[attr-defined]
    function.__name__ = function.__qualname__ = name.replace("-", "_")
    return function
