"""The steps and checkpoints of a run: their kept values, or what their thunks give, kept and told in the journal."""

from __future__ import annotations

import time
from contextlib import suppress

from sema_runtime.llm import guard
from sema_runtime.llm.budgets import usage
from sema_runtime.tasks import interrupts
from sema_runtime.values.maps import MISSING
from sema_runtime.workflow.journal import events
from sema_runtime.workflow.journal.values import Rendering, error_shown, prompt_shown
from sema_runtime.workflow.run import envelopes, scope
from sema_runtime.workflow.run import keys as keys_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.workflow.run.run import Run

    Thunk = Callable[[], Any]


def leaf(run: Run, label: str, prompt: str, schema: str, thunk: Thunk, same: Thunk | None) -> Any:
    """As `Run.leaf`, whose policies are in force. same: what is computed, where the prompt doesn't say so."""
    key = leaf_key(run, label, prompt, schema, same)
    if run.reuses:
        kept = _kept(run, key)
        if kept is not MISSING:
            run.replayed += 1
            if run.unfinished is not None and key in run.unfinished.late:
                from sema_runtime.workflow.run import unfinished

                unfinished.tell_late(run, run.unfinished, key, kept, (label, prompt))
            return kept
    if run.spend.over:
        run.spend.refusals += 1
        return None
    with interrupts.held():
        agent_id = run.new_agent(label)
        started, tally = run.under_way[agent_id] = time.monotonic(), usage.Tally()
        run.emit((events.AgentStarted, agent_id, label, "", prompt_shown(prompt)))
        within = run.keys.within()
        before = scope.leaf.set(agent_id), usage.tally.set(tally), keys_of.inside.set(within), scope.key.set(key)
        value, failed = _called(thunk)
        scope.leaf.reset(before[0])
        usage.tally.reset(before[1])
        keys_of.inside.reset(before[2])
        scope.key.reset(before[3])
        took = run.since(started)
        if tally.calls:
            run.spend.charge(tally.tokens, tally.cost_usd, tally.model)
        if failed is None:
            rendering = Rendering(value)
            try:
                _keep(run, key, rendering, within, {"agent_id": agent_id, **_used(tally, took)})
            finally:
                tell_result(run, agent_id, "ok", rendering.shown(), took, tally)
            return value
        tell_result(run, agent_id, "failed", error_shown(envelopes.shown(failed)), took, tally)
    if run.spend.refused(failed):
        run.spend.refusals += 1
        return None  # as every leaf from now on
    run.keys.give_back(key, same)
    if hint := getattr(failed, "hint", None):
        run.hints[hint] = run.hints.get(hint, 0) + 1
    with suppress(AttributeError):
        failed.is_journaled = True  # type: ignore[attr-defined]
    raise failed


def leaf_key(run: Run, label: str, prompt: str, schema: str, same: Thunk | None) -> str:
    """The content key of a step that is reached now."""
    in_force = guard.key().decode()  # of the policies; without any the key is the one that everybody computes
    return run.keys.leaf(run.phase, label, prompt, schema, *([in_force] if in_force else ()), thunk=same)


def _kept(run: Run, key: str) -> Any:
    """The value that an earlier process kept, after whose thunk everything is as if it had been called. MISSING
    when there is none."""
    kept = run.memos.find(key)
    if kept is not MISSING:
        run.came_to.add(key)
        make_up(run, run.memos.logged.inside(key))
    return kept


def make_up(run: Run, inside: dict[str, Any]) -> None:
    """Does what a thunk did that isn't called: it took keys, opened phases, stored checkpoints."""
    try:
        run.keys.take(inside.get("keys") or [])
        for name, key in inside.get("state") or ():
            value = run.memos.find(key)
            if value is not MISSING:
                run.state[name] = value
                run.keys.stored(name, key)
        phase = inside.get("phase")
    except (ValueError, TypeError, AttributeError):  # the log is damaged
        return
    if isinstance(phase, str) and phase != run.phase:
        run.open_phase(phase)


def tell_result(run: Run, agent_id: str, status: str, output: str, took: int, tally: usage.Tally) -> None:
    """Journals the end of a step, and what it used. status: ok or failed. took: milliseconds."""
    run.under_way.pop(agent_id, None)
    if run.step_awaited is not None:
        run.step_awaited.wake()
    result = (events.AgentResult, agent_id, status, output, took, tally.model)
    if not tally.calls:
        run.emit(result)
        return
    used = (tally.input_tokens, tally.output_tokens, tally.cost_usd, run.spend.max_tokens)
    run.emit(result, (events.Budget, agent_id, run.phase_seq, *used))


def _keep(run: Run, key: str, rendering: Rendering, within: keys_of.Inside, where: dict[str, Any]) -> None:
    text = rendering.kept()
    if text is not None:
        inside = within.fields()
        run.memos.keep(key, text, {"segment": run.journal.number, **where, **({"inside": inside} if inside else {})})


def checkpoint(run: Run, name: str, thunk: Thunk) -> Any:
    """The kept value of a checkpoint, or the thunk's, which is kept. Raises what the thunk raises."""
    key = run.keys.checkpoint(run.phase, name, thunk)
    if run.reuses:
        kept = _kept(run, key)
        if kept is not MISSING:
            run.state[name] = kept
            run.keys.stored(name, key)
            return kept
    within = run.keys.within()
    before = keys_of.inside.set(within), scope.key.set(key)
    try:
        value = thunk()
    except BaseException:
        keys_of.inside.reset(before[0])
        run.keys.give_back(key, thunk)
        raise
    finally:
        scope.key.reset(before[1])
    keys_of.inside.reset(before[0])
    with interrupts.held():
        run.state[name] = value
        run.keys.stored(name, key)
        rendering = Rendering(value)
        try:
            if not run.spend.refusals:  # else it may hold nils of steps that a resumed run, with more money, asks
                _keep(run, key, rendering, within, {"checkpoint": name})
        finally:
            run.emit((events.Checkpoint, run.phase_seq, name, key, rendering.digest(), rendering.shown()))
    return value


def _used(tally: usage.Tally, took: int) -> dict[str, Any]:
    """What a leaf used, for the memo log."""
    if not tally.calls:
        return {"dur_ms": took}
    cost = {} if tally.cost_usd is None else {"cost_usd": tally.cost_usd}
    counts = {"input_tokens": tally.input_tokens, "output_tokens": tally.output_tokens}
    return {**counts, **cost, "model": tally.model, "dur_ms": took}


def _called(thunk: Thunk) -> tuple[Any, BaseException | None]:
    """The value of a call or what it raises, Ctrl-C too, which is held before and after it."""
    try:
        with interrupts.released():
            return thunk(), None
    except BaseException as error:
        return None, error
