"""Content keys: the names under which results of a run are kept, hashes of everything that a result depends on.

Frozen: other implementations compute the same. A key is `BASE_N`: a base of this module, and how many results with the
same base came before it in the run.
"""

from __future__ import annotations

import hashlib
import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MASK = (1 << 64) - 1


def hashed(*fields: str) -> str:
    """16 hexadecimal digits for a list of texts. Each is hashed with its length, so that no two lists are alike."""
    digest = hashlib.md5(usedforsecurity=False)
    for field in fields:
        data = utf8(field)
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:16]


def utf8(text: str) -> bytes:
    """The bytes of a text; a lone surrogate, which UTF-8 can't hold, becomes a question mark."""
    return text.encode("utf-8", "replace")


def args_fingerprint(text: str) -> str:
    """The hash of a run's arguments: the same for equal JSON, whatever its spacing and the order of its keys."""
    return hashed("args", _normal(text) if text.strip() else "")


class _Literal(str):
    """A number as it was written."""


def _normal(text: str) -> str:
    try:
        parsed = json.loads(text, parse_int=_Literal, parse_float=_Literal, parse_constant=_refuse)
        compact = _compact(parsed)
        compact.encode("utf-8")  # fails for lone surrogates, which are not JSON
    except (ValueError, RecursionError):
        return text
    return compact


def _refuse(name: str) -> Any:
    raise ValueError(name)


def _compact(value: Any) -> str:
    if type(value) is _Literal:
        return str(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(key)}:{_compact(value[key])}" for key in sorted(value)) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_compact, value)) + "]"
    return _string(value)


def _string(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


# Bases. version, args: `code_version` and `args_fingerprint` of the run; phase: the label of the open phase, or ""


def step_base(version: str, args: str, phase: str, name: str, prompt: str, schema: str, *more: str) -> str:
    """The base of a step's keys. schema: as text, "nil" without. more: what else its result depends on."""
    return hashed("agent", version, args, phase, name, prompt, schema, *more)


def checkpoint_base(version: str, args: str, phase: str, key: str) -> str:
    """The base of a checkpoint's keys."""
    return hashed("checkpoint", version, args, phase, key)


def nested_base(version: str, args: str, phase: str, workflow: str) -> str:
    """The base of the keys of runs inside of a run."""
    return hashed("run", version, args, phase, workflow)


def code_version(source: bytes) -> str:
    """The version of a program: SipHash-1-3 with keys 0, 0 of its text and a byte 0xFF, as 16 hexadecimal digits."""
    return format(siphash13(source + b"\xff"), "016x")


def siphash13(data: bytes) -> int:
    """SipHash with one round a word and three at the end, keys 0 and 0."""
    v0, v1, v2, v3 = 0x736F6D6570736575, 0x646F72616E646F6D, 0x6C7967656E657261, 0x7465646279746573
    whole = len(data) & ~7
    tail = int.from_bytes(data[whole:], "little") | (len(data) & 0xFF) << 56
    for at in range(0, whole + 8, 8):
        word = int.from_bytes(data[at : at + 8], "little") if at < whole else tail
        v3 ^= word
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
        v0 ^= word
    v2 ^= 0xFF
    for _ in range(3):
        v0, v1, v2, v3 = _round(v0, v1, v2, v3)
    return v0 ^ v1 ^ v2 ^ v3


def _round(v0: int, v1: int, v2: int, v3: int) -> tuple[int, int, int, int]:
    v0 = (v0 + v1) & MASK
    v1 = (v1 << 13 | v1 >> 51) & MASK ^ v0
    v0 = (v0 << 32 | v0 >> 32) & MASK
    v2 = (v2 + v3) & MASK
    v3 = (v3 << 16 | v3 >> 48) & MASK ^ v2
    v0 = (v0 + v3) & MASK
    v3 = (v3 << 21 | v3 >> 43) & MASK ^ v0
    v2 = (v2 + v1) & MASK
    v1 = (v1 << 17 | v1 >> 47) & MASK ^ v2
    v2 = (v2 << 32 | v2 >> 32) & MASK
    return v0, v1, v2, v3
