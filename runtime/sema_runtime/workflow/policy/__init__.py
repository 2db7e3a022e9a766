"""Policies of a workflow: which models and tools its steps may use, and what may be in the texts of both directions.

A policy map is compiled when it is attached (compiling.py), and in force for the time of a run or a step (guarding.py).
Where none is in force, nothing of this is loaded.
"""

from __future__ import annotations

from contextlib import contextmanager, suppress

from sema_runtime.llm import policy_guard
from sema_runtime.values.errors import PolicyDenied, SemaError
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator
    from contextlib import AbstractContextManager
    from typing import Any

    from sema_runtime.workflow.policy.rules import Policy

LONGEST_REASON = 256
MOST_KEPT = 64
_compiled: dict[tuple[int, bool], tuple[Any, tuple[Policy, ...]]] = {}
"""By the identity of their maps, which don't change and are kept alive here: that of a step in a loop comes often."""


def compiled(value: Any, step: bool = False) -> tuple[Policy, ...]:
    """The policies of a `:policy` option. step: of a step. Raises SemaError for what is none."""
    if value is None:
        return ()
    known = _compiled.get((id(value), step))
    if known is not None:
        return known[1]
    from sema_runtime.workflow.policy import compiling

    policies = compiling.compiled(value, step)
    if isinstance(value, Map):
        if len(_compiled) >= MOST_KEPT:
            _compiled.clear()
        _compiled[id(value), step] = value, policies
    return policies


class Attached:
    """The policies of a run or a step, as `run.policies.Policies`."""

    def __init__(self, policies: tuple[Policy, ...]) -> None:
        self.policies = policies

    def in_force(self, record: Callable[..., None]) -> AbstractContextManager[None]:
        return in_force(self.policies, record)

    def denied_metadata(self, meta: Any) -> PolicyDenied | None:
        return denied_metadata(self.policies, meta)

    def missing_events(self, emitted: Collection[str], folder: str) -> str:
        return missing_events(self.policies, emitted, folder)


def attached(value: Any, step: bool) -> Attached:
    """The policies of a `:policy` option. step: of a step. Raises SemaError for an invalid option."""
    return Attached(compiled(value, step))


@contextmanager
def in_force(policies: tuple[Policy, ...], record: Callable[..., None]) -> Iterator[None]:
    """Puts policies in force beside those that are by now. record(event class, **fields) writes an event."""
    if not policies:
        yield
        return
    from sema_runtime.workflow.policy.guarding import PolicyGuard

    outer: Any = policy_guard.current.get()
    more = (*(outer.policies if outer is not None else ()), *policies)
    token = policy_guard.current.set(PolicyGuard(more, record, "" if outer is None else outer.bypass))
    try:
        yield
    finally:
        policy_guard.current.reset(token)


def fingerprint() -> str:
    """Of all policies in force, "" for none."""
    return policy_guard.key().decode()


def without(reason: Any, thunk: Callable[[], Any]) -> Any:
    """The value of thunk, called without policy checks; the journal has the reason. Raises SemaError where no policy is
    in force, and for a reason that is empty, too long or no string."""
    outer: Any = policy_guard.current.get()
    if not isinstance(reason, str) or not 1 <= len(reason) <= LONGEST_REASON:
        raise SemaError(f"policy/without: the reason must be a string of 1 to {LONGEST_REASON} characters")
    if outer is None:
        raise SemaError("policy/without requires an active workflow policy")
    from sema_runtime.workflow.policy.guarding import PolicyGuard

    token = policy_guard.current.set(PolicyGuard(outer.policies, outer.record, reason))
    try:
        return thunk()
    finally:
        policy_guard.current.reset(token)


def denied_metadata(policies: tuple[Policy, ...], meta: Any) -> PolicyDenied | None:
    """The denial of a run whose meta map lacks what `:metadata :require` names; None when it has all."""
    from sema_runtime.llm.jsonable import is_map, pairs
    from sema_runtime.workflow.policy.reading import name_of

    held = {name_of(key) for key, value in pairs(meta) if not _empty(value)} if is_map(meta) else set()
    for policy in policies:
        missing = [name for name in policy.metadata if name not in held]
        if missing:
            reason = f"the workflow's metadata lacks {', '.join(missing)}"
            return PolicyDenied(policy.name, "metadata", "workflow", "metadata.require", reason, "fail")
    return None


def _empty(value: Any) -> bool:
    return (
        value is None
        or (hasattr(value, "__len__") and len(value) == 0)
        or (isinstance(value, str) and not value.strip())
    )


def missing_events(policies: tuple[Policy, ...], emitted: Collection[str], folder: str = "") -> str:
    """The error of a run in which events are missing that `:completion` requires; "" when none is. emitted: names of
    events. folder: of a run that was resumed, where what it did before counts."""
    required = dict.fromkeys(name for policy in policies for name in policy.events)
    missing = [name for name in required if name not in emitted]
    if missing and folder:
        before = _journaled(folder)
        missing = [name for name in missing if name not in before]
    return f"completion policy missing required events: {', '.join(missing)}" if missing else ""


def _journaled(folder: str) -> set[str]:
    """The names of all events in the journals of a run, as far as they can be read."""
    import os

    names: set[str] = set()
    with suppress(OSError):
        for name in os.listdir(folder):
            if name.startswith("events.") and name.endswith(".jsonl"):
                with open(os.path.join(folder, name), "rb") as file:
                    names.update(
                        line[10:].partition(b'"')[0].decode(errors="replace")
                        for line in file
                        if line.startswith(b'{"event":"')
                    )
    return names
