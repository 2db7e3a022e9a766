"""Which keys maps store as they are (`values/maps.py` wraps those that Python's dict would confuse)."""

from __future__ import annotations

from sema_runtime.values.maps import PLAIN
from semac.anf.nodes import Expr, Lit
from semac.types.lattice import CHAR, INT, KEYWORD, NIL, STR, SYMBOL, VECTOR, Type

STORED_AS_THEY_ARE = INT | STR | KEYWORD | SYMBOL | CHAR | NIL


def is_stored_as_is(type_: Type) -> bool:
    """Whether maps store a key of a type as it is: an atom, or a vector of such."""
    if type_.only(STORED_AS_THEY_ARE):
        return True
    return type_.only(VECTOR | STORED_AS_THEY_ARE) and (type_.vec == () or is_stored_as_is(type_.vitem))


def is_stored_key(key: Expr) -> bool:
    """Whether maps store a key as it is."""
    return is_stored_as_is(key.type) or (type(key) is Lit and type(key.value) in PLAIN)
