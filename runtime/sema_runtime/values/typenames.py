"""The name of a value's type, in messages and for `type`.

`NAMES` is the table. Modules that define a type enter it there. Any other type of the runtime has a class attribute
`type_name`; the rest are types of Python libraries. `ATOMIC` is the set of types whose values are map keys as they are.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NAMES: dict[type, str] = {
    type(None): "nil",
    bool: "bool",
    int: "int",
    float: "float",
    complex: "complex",
    str: "string",
    list: "list",
    tuple: "vector",
    dict: "map",
    bytes: "bytevector",
    bytearray: "bytevector",
    type(lambda: None): "native-fn",
    type(len): "native-fn",
    type(type("", (), {"method": lambda self: None})().method): "native-fn",
    type: "native-fn",
}
ATOMIC: set[type] = {str, int, type(None), bytes}  # and the atoms, which atoms.py enters: hashed without our code
NEAR: set[type] = {str, int, float, bool, type(None)}  # and the atoms: what a hash of a map counts of its values

INTS = frozenset((int,))  # to ask of many values at once: `INTS.issuperset(map(type, values))`


def type_name(value: Any) -> str:
    """The name of a value's type as in `expected X, got NAME`, from `NAMES` or its class attribute `type_name`."""
    kind = type(value)
    name = NAMES.get(kind)
    if name is not None:
        return name
    if kind.__module__ == "fractions":  # not imported here: it is slow to load
        return "rational"
    own = getattr(kind, "type_name", None)
    if isinstance(own, str):
        return own
    return "native-fn" if callable(value) else f"python:{kind.__name__}"
