"""`approval` inside a run: returns when the decision is an approval, else ends the run past every handler."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from hashlib import sha256

from sema_runtime.tasks import interrupts
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import Map
from sema_runtime.workflow import approvals
from sema_runtime.workflow.approvals import files, records
from sema_runtime.workflow.approvals.records import REJECT, Decision, Request
from sema_runtime.workflow.journal import events
from sema_runtime.workflow.run import scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.run.run import Run


class RunPaused(scope.Stop):
    """The run ends here until somebody has decided, or because somebody has decided against it."""


@dataclass(slots=True)
class Asked:
    """What a run keeps: how many requests each key has had."""

    occurrences: dict[str, int] = field(default_factory=dict)

    def next(self, key: str) -> int:
        count = self.occurrences.get(key, 0)
        self.occurrences[key] = count + 1
        return count


def approval(run: Run, key: str, reason: str, subject_digest: str, preview: str | None) -> bool:
    """True once approved. Raises RunPaused, and SemaError when it isn't asked in the body of the run itself or the
    files of the request can't be used."""
    _check_place(run)
    known = run.approved(key)
    if known is not None:
        return known
    settings = _settings()
    if settings.code_version is None:
        raise SemaError(
            "approval: the program doesn't show which file this is in, so nothing can be approved",
            'import the file that asks by a literal path, (import "file.sema")',
        )
    if run.approvals is None:
        run.approvals = Asked()
    about = {
        "schema_version": records.REQUEST_VERSION,
        "revision": records.REVISION,
        "run_id": run.run_id,
        "workflow": run.workflow,
        "code_version": settings.code_version or run.keys.code_version,
        "args_digest": sha256(run.keys.args.encode()).hexdigest(),
        "phase": run.phases.label,
        "key": key,
        "occurrence": run.approvals.next(key),
        "subject_digest": subject_digest,
        "reason": reason,
        "preview": preview,
    }
    with interrupts.held():
        request = _request(run, about, settings)
    decision = files.decision(run.directory, request.approval_id)
    if decision is None:
        decision = _decide(run, request, settings)
    elif settings.public_key is None:  # whoever can write the run's files could have named an authority there
        raise SemaError(
            f"approval {request.approval_id} is decided, but the run isn't told by whom it may be: "
            "--approval-public-key-file, as when it was started"
        )
    check_decision(request, decision)
    return _applied(run, request, decision)


def _settings() -> approvals.Settings:
    """With the key of the user, where decisions are made on the terminal and no other key was given."""
    settings = approvals.settings.get()
    if settings.mode == "prompt" and settings.key is None:
        from sema_runtime.workflow.approvals import keys

        key = keys.of_this_user()
        settings = replace(settings, key=key, public_key=keys.public_of(key))
        approvals.settings.set(settings)
    return settings


def _check_place(run: Run) -> None:
    """Raises SemaError for an approval outside of the run's own body: where several tasks run, or a step is retried, it
    would be unclear what ends with it."""
    from greenlet import getcurrent  # type: ignore[import-untyped]

    problem = ""
    if scope.agent_id():
        problem = "inside a step"
    elif run.outer is not None:
        problem = "inside a nested run"
    elif run.owner not in (None, getcurrent()):
        problem = "in another task than the run's"
    if problem:
        raise SemaError(
            f"approval can't be asked {problem}", "ask in the body of the workflow, between its steps, and nowhere else"
        )


def _request(run: Run, about: dict[str, Any], settings: approvals.Settings) -> Request:
    """The request with that identity: as it was published, or published now."""
    new = records.request_of(about, run.log.ts(), settings.public_key)
    request = files.request(run.directory, new.approval_id)
    if request is not None and request.authority_public_key is None and new.authority_public_key is not None:
        files.publish(run.directory, new, replacing=True)  # nobody could decide about it as it was
        request = new
    elif request is None:
        is_new = files.publish(run.directory, new)
        request = new if is_new else files.request(run.directory, new.approval_id)
    assert request is not None
    if settings.public_key is not None and request.authority_public_key != settings.public_key:
        raise SemaError(
            f"approval {request.approval_id} was requested of another authority",
            "resume with the --approval-public-key-file with which the run was started",
        )
    run.log.record(
        events.ApprovalRequested,
        approval_id=request.approval_id,
        request_digest=request.request_digest,
        key=request.key,
        reason=request.reason,
        subject_digest=request.subject_digest,
    )
    return request


def _decide(run: Run, request: Request, settings: approvals.Settings) -> Decision:
    """By asking on the terminal. Raises RunPaused when nobody is asked now."""
    if settings.mode == "deny":
        raise _paused(run, request, REJECT, "approvals are denied (--approval-mode deny)")
    if settings.mode != "prompt":
        raise _paused(run, request, None)
    from sema_runtime.workflow.approvals import prompt

    verdict, why = prompt.asked(request)
    if verdict is None:
        raise _paused(run, request, None)
    new = decided(request, verdict, settings.key, settings.actor, "terminal", None, why)
    files.publish(run.directory, new)
    published = files.decision(run.directory, request.approval_id)
    assert published is not None
    return published


def decided(
    request: Request, verdict: str, key: Any, actor: str, provenance: str, comment: str | None, reason: str | None
) -> Decision:
    """A signed decision. key: a private key of the request's authority."""
    from sema_runtime.workflow.approvals import keys

    about: dict[str, Any] = {
        "schema_version": records.DECISION_VERSION,
        "approval_id": request.approval_id,
        "request_digest": request.request_digest,
        "request_revision": request.revision,
        "decision": verdict,
        "actor": actor,
        "provenance": provenance,
        "comment": comment,
        "reason": reason,
        "decided_at": approvals.now(),
    }
    bound = records.binding(about)
    signature = keys.sign(key, bound)
    return Decision(decision_id=records.decision_id(bound, signature), signature=signature, **about)


def check_decision(request: Request, decision: Decision) -> None:
    """Raises SemaError for a decision about something else, or of somebody else than the request's authority."""
    from sema_runtime.workflow.approvals import keys

    about = (request.approval_id, request.request_digest, request.revision)
    if (decision.approval_id, decision.request_digest, decision.request_revision) != about:
        raise SemaError(f"the decision {decision.decision_id} is not about the request {request.approval_id}")
    authority = request.authority_public_key
    if authority is None or not keys.is_signed(authority, decision.binding(), decision.signature):
        raise SemaError(f"the decision {decision.decision_id} is not signed by the authority of the run")


def _applied(run: Run, request: Request, decision: Decision) -> bool:
    about = {"approval_id": request.approval_id, "decision_id": decision.decision_id}
    if decision.decision == REJECT:
        run.log.record(events.ApprovalRejected, **about, actor=decision.actor, reason=decision.reason or "")
        raise _paused(run, request, REJECT)
    with interrupts.held():
        run.log.record(events.ApprovalGranted, **about, actor=decision.actor, provenance=decision.provenance)
        run.log.record(events.ApprovalApplied, **about)
    return True


def _paused(run: Run, request: Request, verdict: str | None, why: str = "") -> RunPaused:
    fields = {"approval-id": request.approval_id}
    status = "rejected" if verdict == REJECT else "needs-approval"
    if verdict is None:
        fields = {"run-id": run.run_id, **fields}
    envelope = Map({keyword("status"): keyword(status), **{keyword(name): value for name, value in fields.items()}})
    why = why or ("approval rejected" if verdict == REJECT else "approval required")
    return RunPaused(envelope, status, why)
