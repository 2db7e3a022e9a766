"""The earlier run that `sema workflow run` resumes, forks or replays."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

from sema_runtime.support.json_input import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.workflow.journal.origin import Fork
    from sema_runtime.workflow.replay.recording import Recording
    from sema_runtime.workflow.run.scope import Settings

KINDS = ("resume", "fork", "replay")


class Refused(Exception):
    """Why a workflow is not run, for the user, who can fix it."""


def with_earlier_run(settings: Settings, options: dict[str, Any]) -> tuple[Settings, Recording | None]:
    """The settings with the options about an earlier run: its id, its arguments unless others are given, the version of
    its program; and the recording to replay, None without --replay. Raises Refused."""
    asked = [kind for kind in KINDS if options[kind] is not None]
    if len(asked) > 1:
        raise Refused(f"--{asked[1]} and --{asked[0]} exclude each other")
    if options["at"] is not None and asked != ["fork"]:
        raise Refused("--at says where to --fork a run")
    if not asked:
        return replace(settings, args_json=options["args_json"] or "{}"), None
    (kind,) = asked
    root = settings.root
    run_id = _named(options[kind], root, kind)
    _exists(run_id, root, kind)
    if kind != "replay":
        _refuse_inner(run_id, root, kind)
    if options["args_json"] is None:
        settings = replace(settings, args_json=_args_of(run_id, root))
    else:
        settings = replace(settings, args_json=options["args_json"])
    if kind == "resume":
        return replace(settings, run_id=run_id, resume=True), None
    settings = replace(settings, code_version=_version_of(run_id, root, kind))
    if kind == "fork":
        return replace(settings, fork=_fork(run_id, root, options["at"])), None
    from sema_runtime.workflow.replay.replay import replaying

    recording = _recording(run_id, root)
    return replaying(settings, recording), recording


def _named(run_id: str, root: str, kind: str) -> str:
    """The id; for `latest`, unless a run has that name, the id of the run that was written to last, or of the outermost
    run around it. Raises Refused."""
    from sema_runtime.workflow.read.recorded_run import latest_run
    from semac.cli.workflow.list import LATEST

    if run_id != LATEST or os.path.lexists(os.path.join(root, LATEST)):
        return run_id
    latest = latest_run(root)
    if latest is None:
        raise Refused(f"no prior run to {kind} in {root}")
    return latest


def _refuse_inner(run_id: str, root: str, kind: str) -> None:
    """Raises Refused for a run inside of another one: it is resumed or forked with that one, as a program starts with
    the outer workflow."""
    from sema_runtime.workflow.journal import nested

    outer = nested.outermost(root, run_id)
    if outer != run_id:
        raise Refused(f"{run_id} ran inside of {outer}: --{kind} {outer}, and it is taken up with that one")


def mismatch(settings: Settings, file: str) -> str:
    """Why kept results of a run don't count when it is resumed with these settings; "" when they do, or that is
    unknown."""
    from sema_runtime.workflow.journal.content_keys import args_fingerprint
    from sema_runtime.workflow.replay.fork import code_version_of

    run_id, root = str(settings.run_id), settings.root
    try:
        edited = code_version_of(root, run_id) != settings.code_version
    except (OSError, ValueError):
        edited = False
    others = args_fingerprint(_args_of(run_id, root)) != args_fingerprint(settings.args_json)
    reasons = [f"{file} was edited since"] * edited + ["the arguments are others"] * others
    if not reasons:
        return ""
    fork = f"; --fork {run_id} takes those that are unchanged" if edited and not others else ""
    return f"{' and '.join(reasons)}: steps that {run_id} has finished are asked again{fork}"


def _exists(run_id: str, root: str, kind: str) -> None:
    if not run_id or "/" in run_id or "\\" in run_id or ".." in run_id:
        raise Refused(f"--{kind} run-id must be a bare directory name (no path separators)")
    journal = os.path.join(root, run_id, "events.jsonl")
    if not os.path.isfile(journal):
        raise Refused(f"no prior run to {kind} at {journal}")


def _args_of(run_id: str, root: str) -> str:
    """The arguments of a run, as they were given."""
    try:
        with open(os.path.join(root, run_id, "events.jsonl"), encoding="utf-8") as journal:
            started = loads(journal.readline())
        return str(started.get("args_json") or "{}")
    except (OSError, ValueError, AttributeError):
        return "{}"


def _version_of(run_id: str, root: str, kind: str) -> str:
    from sema_runtime.workflow.replay.fork import code_version_of

    try:
        return code_version_of(root, run_id)
    except (OSError, ValueError) as error:
        raise Refused(f"cannot {kind}: {error}") from None


def _fork(run_id: str, root: str, at: str | None) -> Fork:
    from sema_runtime.workflow.journal.origin import Fork

    if at is None:
        return Fork(run_id)
    from sema_runtime.workflow.replay.fork import finished_at

    try:
        return Fork(run_id, at, finished_at(root, run_id, at))
    except (OSError, ValueError) as error:
        raise Refused(str(error)) from None


def _recording(run_id: str, root: str) -> Recording:
    from sema_runtime.workflow.replay.recording import Recording

    try:
        return Recording(root, run_id)
    except (OSError, ValueError) as error:
        raise Refused(str(error)) from None


def replay_report(recording: Recording) -> tuple[str, int]:
    """The result of a replay in words, and the exit status."""
    from sema_runtime.workflow.journal.values import many

    run, outcome = recording.run_id, recording.outcome()
    if recording.verdict is None:
        return f"replay of {run}: {outcome.difference}", 1
    if outcome.difference:
        return f"replay of {run} differs: {outcome.difference}", 1
    steps = [*recording.replayed_steps()]
    agents = sum(bool(step.agent_id) for step in steps)
    counts = f"{many(agents, 'step')}, {many(len(steps) - agents, 'checkpoint')}"
    if recording.ended:
        return f"replay of {run}: the same, {counts}, status {recording.status}", 0
    return f"replay of {run}: the same as far as the run came, {counts}", 0
