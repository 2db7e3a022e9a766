"""The events of a run's journal. The order of the fields is the file format, shared with other implementations.

`line(event)` is an event as it stands in `events.jsonl`: compact JSON, the name first, then the fields in the order in
which they are declared here. A field that may be absent is left out when it is None, "" or ().
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from json.encoder import encode_basestring as quoted

from sema_runtime.support.compact_json import number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

__all__ = [
    "AgentPresumed", "AgentResult", "AgentStarted", "AgentToolCall", "AgentToolResult", "ApprovalApplied",
    "ApprovalGranted", "ApprovalRejected", "ApprovalRequested", "AuthFailed", "AuthGranted", "AuthRequired", "Budget",
    "Checkpoint", "Event", "JournalOverflow", "Memory", "PhaseEnded", "PhaseStarted", "PolicyBypassed",
    "PolicyChecked", "PolicyFlagged", "PolicyRedacted", "PolicyViolation", "RunEnded", "RunStarted",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Event:
    """What all have: seq, the number in its file, from 0; ts, UTC to the second (or SEMA_WORKFLOW_FIXED_TS)."""

    name = ""
    seq: int
    ts: str


@dataclass(frozen=True, slots=True)
class RunStarted(Event):
    """args_json: the arguments as they were given. phases: those that the meta map declares."""

    name = "run.started"
    workflow: str
    run_id: str
    code_version: str = ""
    args_json: str = ""
    phases: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PhaseStarted(Event):
    name = "phase.started"
    phase: str


@dataclass(frozen=True, slots=True)
class PhaseEnded(Event):
    """dur_ms: since the run started, not since the phase did."""

    name = "phase.ended"
    phase: str
    status: str
    dur_ms: int


@dataclass(frozen=True, slots=True)
class AgentStarted(Event):
    name = "agent.started"
    agent_id: str
    agent_name: str
    model: str = ""
    prompt: str = ""


@dataclass(frozen=True, slots=True)
class AgentResult(Event):
    """status: ok or failed. output: the value as text, or `error: ...`. dur_ms: of this step."""

    name = "agent.result"
    agent_id: str
    status: str
    output: str
    dur_ms: int
    model: str = ""


@dataclass(frozen=True, slots=True)
class AgentToolCall(Event):
    name = "agent.tool_call"
    agent_id: str
    tool_name: str
    args_json: str = ""


@dataclass(frozen=True, slots=True)
class AgentToolResult(Event):
    """result: always `gated`; results of tools are never stored."""

    name = "agent.tool_result"
    agent_id: str
    tool_name: str
    result: str = "gated"


@dataclass(frozen=True, slots=True)
class AgentPresumed(Event):
    """A step that was running when an earlier process of the run died: its calls may have been charged. agent: its id
    in the journal's file of that number, segment."""

    name = "agent.presumed"
    agent: str
    segment: int


@dataclass(frozen=True, slots=True)
class Checkpoint(Event):
    """phase_seq: the seq of the phase.started before it. content_key: the name of its memo."""

    name = "checkpoint"
    phase_seq: int | None
    key: str
    content_key: str | None
    value_digest: str
    value: str = ""


@dataclass(frozen=True, slots=True)
class Budget(Event):
    """What one step used. cost_usd None: unknown. budget_limit: the run's limit of tokens."""

    name = "budget"
    agent_id: str | None
    phase_seq: int | None
    input_tokens: int
    output_tokens: int
    cost_usd: float | None = None
    budget_limit: int | None = None


@dataclass(frozen=True, slots=True)
class RunEnded(Event):
    name = "run.ended"
    status: str
    reason: str | None
    dur_ms: int


@dataclass(frozen=True, slots=True)
class Memory(Event):
    """Reserved: nothing writes it yet. op: append, remember or recall."""

    name = "memory"
    phase_seq: int | None
    agent_id: str | None
    memory_id: str
    namespace: str
    op: str
    key: str | None
    value_digest: str
    count: int


@dataclass(frozen=True, slots=True)
class AuthRequired(Event):
    """persist: keyring, workflow, run or none."""

    name = "auth.required"
    server: str
    scopes: tuple[str, ...] | None
    tools: tuple[str, ...] | None
    persist: str


@dataclass(frozen=True, slots=True)
class AuthGranted(Event):
    """expires_at: seconds since 1970. source: cached, refreshed or consented."""

    name = "auth.granted"
    server: str
    scopes: tuple[str, ...] | None
    expires_at: int | None
    source: str


@dataclass(frozen=True, slots=True)
class AuthFailed(Event):
    name = "auth.failed"
    server: str
    reason: str


@dataclass(frozen=True, slots=True)
class PolicyChecked(Event):
    """boundary: model, tool, llm.input or llm.output. source: request, cache or cassette."""

    name = "policy.checked"
    policy: str
    boundary: str
    subject: str
    rule: str
    source: str


@dataclass(frozen=True, slots=True)
class PolicyViolation(Event):
    name = "policy.violation"
    policy: str
    boundary: str
    subject: str
    rule: str
    action: str
    source: str


@dataclass(frozen=True, slots=True)
class PolicyFlagged(Event):
    name = "policy.flagged"
    policy: str
    boundary: str
    subject: str
    rule: str
    label: str
    count: int
    action: str
    source: str


@dataclass(frozen=True, slots=True)
class PolicyRedacted(Event):
    name = "policy.redacted"
    policy: str
    boundary: str
    subject: str
    rule: str
    label: str
    count: int
    source: str


@dataclass(frozen=True, slots=True)
class PolicyBypassed(Event):
    name = "policy.bypassed"
    policy: str
    boundary: str
    subject: str
    reason: str
    source: str


@dataclass(frozen=True, slots=True)
class ApprovalRequested(Event):
    name = "approval.requested"
    approval_id: str
    request_digest: str
    key: str
    reason: str
    subject_digest: str


@dataclass(frozen=True, slots=True)
class ApprovalGranted(Event):
    name = "approval.granted"
    approval_id: str
    decision_id: str
    actor: str
    provenance: str


@dataclass(frozen=True, slots=True)
class ApprovalRejected(Event):
    name = "approval.rejected"
    approval_id: str
    decision_id: str
    actor: str
    reason: str


@dataclass(frozen=True, slots=True)
class ApprovalApplied(Event):
    name = "approval.applied"
    approval_id: str
    decision_id: str


@dataclass(frozen=True, slots=True)
class JournalOverflow:
    """Not numbered. reason queue-full: that many events were dropped before the next line; journal-size-cap: the file
    has reached that many bytes, and later events are dropped."""

    name = "journal.overflow"
    reason: str
    dropped: int | None = None
    bytes: int | None = None


_kinds: list[Any] = [*Event.__subclasses__(), JournalOverflow]
EVENTS: dict[str, Any] = {kind.name: kind for kind in _kinds}
"""The classes by the names of the events."""


def optional(field: Any) -> bool:
    return field.default in ("", (), None) or "None" in str(field.type)


FIELDS: dict[str, tuple[tuple[str, str, bool], ...]] = {
    name: tuple((field.name, f',"{field.name}":', optional(field)) for field in fields(kind))
    for name, kind in EVENTS.items()
}
"""For each event: (field, its name as JSON, whether it may be absent), in the order of the file."""


def line(event: Event | JournalOverflow) -> str:
    """The event as a line of the journal, without the end of line."""
    parts = [f'{{"event":"{event.name}"']
    for name, before, may_be_absent in FIELDS[event.name]:
        value = getattr(event, name)
        if may_be_absent and (value is None or value == "" or value == ()):
            continue
        parts.append(before)
        parts.append(_json(value))
    parts.append("}")
    return "".join(parts)


def _json(value: Any) -> str:
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        return number(value)
    return "[" + ",".join(map(quoted, value)) + "]"
