"""What Sema calls the type of a value, in messages and for `type`."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map

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
    Char: "char",
    Keyword: "keyword",
    Symbol: "symbol",
    List: "list",
    list: "list",
    tuple: "vector",
    Map: "map",
    HashMap: "hashmap",
    dict: "map",
    bytes: "bytevector",
    bytearray: "bytevector",
    FunctionType: "native-fn",
    BuiltinFunctionType: "native-fn",
    MethodType: "native-fn",
    type: "native-fn",
}


def type_name(value: Any) -> str:
    """The name used in `expected X, got NAME`; a class of ours says its own in `type_name`."""
    kind = type(value)
    found = NAMES.get(kind)
    if found is not None:
        return found
    if kind.__module__ == "fractions":  # not imported here: it is slow to load
        return "rational"
    own = getattr(kind, "type_name", None)
    if isinstance(own, str):
        return own
    return "native-fn" if callable(value) else f"python:{kind.__name__}"
