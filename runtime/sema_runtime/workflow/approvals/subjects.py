"""The digest of what is to be approved: a value of plain data, of which nothing else is kept."""

from __future__ import annotations

from hashlib import sha256

from sema_runtime.values.errors import SemaError
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

DEEPEST = 200


def subject_digest(value: Any) -> str:
    """SHA-256 of a value, the same for equal values however they were made. Raises SemaError for what can change or has
    no contents to compare (functions, mutable arrays, handles)."""
    digest = sha256()
    _add(digest, value, 0)
    return digest.hexdigest()


def _add(digest: Any, value: Any, depth: int) -> None:
    """Each part goes in with its kind and its length, so that no two values look alike."""
    from sema_runtime.values.lists import List
    from sema_runtime.values.maps import HashMap, Map

    if depth > DEEPEST:
        raise SemaError("approval: the :subject is nested too deeply")
    if isinstance(value, Map | HashMap):
        entries = []
        for key, inner in value.pairs():
            part = sha256()
            _add(part, key, depth + 1)
            _add(part, inner, depth + 1)
            entries.append(part.digest())
        _put(digest, "map", b"".join(sorted(entries)))
    elif isinstance(value, List | tuple):
        _put(digest, "list" if isinstance(value, List) else "vector", len(value).to_bytes(8, "little"))
        for inner in value:
            _add(digest, inner, depth + 1)
    else:
        _put(digest, *_scalar(value))


def _put(digest: Any, kind: str, data: bytes) -> None:
    for part in (kind.encode(), data):
        digest.update(len(part).to_bytes(8, "little"))
        digest.update(part)


def _scalar(value: Any) -> tuple[str, bytes]:
    from sema_runtime.values.atoms import Keyword, Symbol

    if value is None:
        return "nil", b""
    if isinstance(value, bool):
        return "bool", b"\1" if value else b"\0"
    if isinstance(value, int):
        return "int", f"{value:x}".encode()  # however many digits it has
    if isinstance(value, float):
        return "float", repr(value).encode()
    if isinstance(value, str):
        return type_name(value), value.encode("utf-8", "surrogatepass")
    if isinstance(value, Keyword | Symbol):
        return type_name(value), value.name.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray):
        return "bytevector", bytes(value)
    from sema_runtime.values.atoms import Char
    from sema_runtime.values.typed_arrays import TypedArray

    kind = type_name(value)
    if isinstance(value, TypedArray):
        return kind, value.items.tobytes()
    if kind == "rational":
        return kind, f"{value.numerator:x}/{value.denominator:x}".encode()
    if isinstance(value, Char):
        from sema_runtime.values.printer import to_text

        return kind, to_text(value).encode("utf-8", "surrogatepass")
    raise SemaError(
        f"approval: the :subject must be plain data, it holds a {kind}",
        "scalars, lists, vectors, maps, bytevectors and typed arrays can be approved",
    )
