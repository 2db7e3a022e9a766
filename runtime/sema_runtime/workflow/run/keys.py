"""The names under which what a run has finished is found again: hashes of everything that a result depends on.

Frozen: other implementations compute the same. A key is `BASE_N`: the hash of what goes into a leaf, and how many with
the same hash came before it in this run.
"""

from __future__ import annotations

import hashlib
import json
from bisect import insort
from contextvars import ContextVar

from sema_runtime.workflow.run.computations import is_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MASK = (1 << 64) - 1


def hashed(*fields: str) -> str:
    """16 hexadecimal digits for a list of texts. Each goes in with its length, so that no two lists look alike."""
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
    """The hash of a run's arguments: the same for the same JSON, however it is spaced and its keys are ordered."""
    return hashed("args", _normal(text) if text.strip() else "")


class _Literal(str):
    """A number as it was written."""


def _normal(text: str) -> str:
    try:
        parsed = json.loads(text, parse_int=_Literal, parse_float=_Literal, parse_constant=_refuse)
        made = _compact(parsed)
        made.encode("utf-8")  # fails for lone surrogates, which are not JSON
    except (ValueError, RecursionError):
        return text
    return made


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


class Inside:
    """What happened to a run's keys while the thunk of one leaf ran, in the tasks it started too. A resumed run that
    finds the leaf's value doesn't call the thunk, and makes up for it with this.

    taken: keys of leaves, checkpoints and nested runs. phase: the last one that was opened, None for none. state: the
    keys of checkpoints by their names. around: the same of the leaf around this one."""

    __slots__ = ("around", "phase", "run", "state", "taken")

    def __init__(self, run: Keys, around: Inside | None) -> None:
        self.run = run
        self.around = around
        self.taken: dict[str, None] = {}
        self.phase: str | None = None
        self.state: dict[str, str] = {}

    def fields(self) -> dict[str, Any]:
        """As the memo log has it; {} when nothing happened."""
        found: dict[str, Any] = {}
        if self.taken:
            found["keys"] = [*self.taken]
        if self.phase is not None:
            found["phase"] = self.phase
        if self.state:
            found["state"] = [[name, key] for name, key in self.state.items()]
        return found


inside: ContextVar[Inside | None] = ContextVar("workflow_inside", default=None)


class Keys:
    """The keys of one run. code_version, args: fingerprints that go into every key.

    A leaf that fails gives its ordinal back (`give_back`), so that its repetition has the same key, and a resumed run,
    in which the first attempt comes first again, finds the value of the one that succeeded. thunk: what is computed; an
    ordinal goes only to the same computation, as two steps of one name may compute different things. None: the fields
    of the key say it all.
    """

    def __init__(self, code_version: str, args: str) -> None:
        self.code_version = code_version
        self.args = args
        self.seen: dict[str, int] = {}
        self.free: dict[
            str, list[tuple[int, int, Any]]
        ] = {}  # by base: ordinals that were given back, and their thunks
        self.given_back = 0

    def leaf(self, phase: str, name: str, prompt: str, schema: str, *more: str, thunk: Any = None) -> str:
        """The key of a step. phase: the label of the open one, "" outside. schema: as text, "nil" without. more: what
        else its result depends on."""
        return self._next(hashed("agent", self.code_version, self.args, phase, name, prompt, schema, *more), thunk)

    def checkpoint(self, phase: str, key: str, thunk: Any = None) -> str:
        return self._next(hashed("checkpoint", self.code_version, self.args, phase, key), thunk)

    def nested(self, phase: str, workflow: str, thunk: Any = None) -> str:
        """The key of a run inside of the run."""
        return self._next(hashed("run", self.code_version, self.args, phase, workflow), thunk)

    def _next(self, base: str, thunk: Any) -> str:
        ordinal = self._freed(base, thunk)
        if ordinal is None:
            ordinal = self.seen.get(base, 0)
            self.seen[base] = ordinal + 1
        key = f"{base}_{ordinal}"
        for one in self._around():
            one.taken[key] = None
        return key

    def _freed(self, base: str, thunk: Any) -> int | None:
        """The first ordinal that was given back by the same computation."""
        free = self.free.get(base)
        for at, (ordinal, _, other) in enumerate(free or ()):
            if is_same(thunk, other):
                assert free is not None
                del free[at]
                return ordinal
        return None

    def give_back(self, key: str, thunk: Any = None) -> None:
        """Tells that a leaf has failed: nothing is kept under its key."""
        base, _, ordinal = key.rpartition("_")
        if thunk is None:  # else nobody but the same computation takes it
            for one in self._around():
                one.taken.pop(key, None)
        self.given_back += 1  # so that thunks are never compared
        insort(self.free.setdefault(base, []), (int(ordinal), self.given_back, thunk))

    def take(self, keys: list[str]) -> None:
        """Takes the keys that a leaf had taken inside of it, as its thunk isn't called this time."""
        for key in keys:
            base, _, digits = key.rpartition("_")
            ordinal = int(digits)
            free = self.free.setdefault(base, [])
            free[:] = [one for one in free if one[0] != ordinal]
            for skipped in range(self.seen.get(base, 0), ordinal):  # they are those of other tasks
                self.give_back(f"{base}_{skipped}")
            self.seen[base] = max(self.seen.get(base, 0), ordinal + 1)
            for one in self._around():
                one.taken[key] = None

    # What happens inside of a leaf

    def opened(self, phase: str) -> None:
        """A phase was opened."""
        for one in self._around():
            one.phase = phase

    def stored(self, name: str, key: str) -> None:
        """A checkpoint was stored."""
        for one in self._around():
            one.state[name] = key

    def within(self) -> Inside:
        """What notes what a thunk does that is called next, in the context variable `inside`."""
        return Inside(self, inside.get())

    def _around(self) -> list[Inside]:
        found, one = [], inside.get()
        while one is not None:
            if one.run is self:
                found.append(one)
            one = one.around
        return found


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
