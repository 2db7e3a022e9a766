"""The content keys that a run hands out: to each step, checkpoint and nested run the next one of its base."""

from __future__ import annotations

from bisect import insort
from contextvars import ContextVar

from sema_runtime.workflow.journal.content_keys import checkpoint_base, nested_base, step_base
from sema_runtime.workflow.run.computations import is_same

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Inside:
    """The effects of the thunk of one step on the keys of the run, and of the tasks that it started. A resumed run that
    finds the value of the step doesn't call the thunk, and repeats these effects instead.

    taken: keys of steps, checkpoints and nested runs. phase: the last one that was opened, None for none. state: the
    keys of checkpoints by their names. around: the effects of the step around this one."""

    __slots__ = ("around", "phase", "run", "state", "taken")

    def __init__(self, run: Keys, around: Inside | None) -> None:
        self.run = run
        self.around = around
        self.taken: dict[str, None] = {}
        self.phase: str | None = None
        self.state: dict[str, str] = {}

    def fields(self) -> dict[str, Any]:
        """As the memo log has it; {} when nothing happened."""
        fields: dict[str, Any] = {}
        if self.taken:
            fields["keys"] = [*self.taken]
        if self.phase is not None:
            fields["phase"] = self.phase
        if self.state:
            fields["state"] = [[name, key] for name, key in self.state.items()]
        return fields


inside: ContextVar[Inside | None] = ContextVar("workflow_inside", default=None)


class Keys:
    """The keys of one run. code_version, args: fingerprints that go into every key.

    A step that fails gives its ordinal back (`give_back`), so that its repetition has the same key, and a resumed run,
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

    def step(self, phase: str, name: str, prompt: str, schema: str, *more: str, thunk: Any = None) -> str:
        """The key of a step. phase: the label of the open one, "" outside. schema: as text, "nil" without. more: what
        else its result depends on."""
        return self._next(step_base(self.code_version, self.args, phase, name, prompt, schema, *more), thunk)

    def checkpoint(self, phase: str, key: str, thunk: Any = None) -> str:
        return self._next(checkpoint_base(self.code_version, self.args, phase, key), thunk)

    def nested(self, phase: str, workflow: str, thunk: Any = None) -> str:
        """The key of a run inside of the run."""
        return self._next(nested_base(self.code_version, self.args, phase, workflow), thunk)

    def _next(self, base: str, thunk: Any) -> str:
        ordinal = self._freed(base, thunk)
        if ordinal is None:
            ordinal = self.seen.get(base, 0)
            self.seen[base] = ordinal + 1
        key = f"{base}_{ordinal}"
        for effects in self._around():
            effects.taken[key] = None
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
        """Frees the key of a step that has failed: nothing is kept under it."""
        base, _, ordinal = key.rpartition("_")
        if thunk is None:  # else nobody but the same computation takes it
            for effects in self._around():
                effects.taken.pop(key, None)
        self.given_back += 1  # so that thunks are never compared
        insort(self.free.setdefault(base, []), (int(ordinal), self.given_back, thunk))

    def take(self, keys: list[str]) -> None:
        """Takes the keys that the thunk of a step had taken, as it isn't called this time."""
        for key in keys:
            base, _, digits = key.rpartition("_")
            ordinal = int(digits)
            free = self.free.setdefault(base, [])
            free[:] = [entry for entry in free if entry[0] != ordinal]
            for skipped in range(self.seen.get(base, 0), ordinal):  # they are those of other tasks
                self.give_back(f"{base}_{skipped}")
            self.seen[base] = max(self.seen.get(base, 0), ordinal + 1)
            for around in self._around():
                around.taken[key] = None

    # What happens inside of a step

    def opened(self, phase: str) -> None:
        """A phase was opened."""
        for effects in self._around():
            effects.phase = phase

    def stored(self, name: str, key: str) -> None:
        """A checkpoint was stored."""
        for effects in self._around():
            effects.state[name] = key

    def within(self) -> Inside:
        """The record of the effects of the thunk that is called next, for the context variable `inside`."""
        return Inside(self, inside.get())

    def _around(self) -> list[Inside]:
        around, effects = [], inside.get()
        while effects is not None:
            if effects.run is self:
                around.append(effects)
            effects = effects.around
        return around
