"""What people do about the requests of a run from outside: list them, approve, reject."""

from __future__ import annotations

import os
from dataclasses import asdict

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.approvals import files
from sema_runtime.workflow.approvals.gate import check_decision, decided
from sema_runtime.workflow.approvals.records import LONGEST, REJECT, Decision, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PAST = {"approve": "approved", "reject": "rejected"}


def requests(run_folder: str) -> list[tuple[Request, Decision | None]]:
    """The requests of a run in the order in which they were made, each with its decision. Raises SemaError for files
    that can't be trusted."""
    pairs = []
    for approval_id in files.ids(run_folder):
        request = files.request(run_folder, approval_id)
        if request is not None:
            pairs.append((request, decision_about(run_folder, request)))
    return pairs


def listed(run_folder: str) -> list[dict[str, Any]]:
    """The same as JSON: status (pending, approved or rejected), request, decision (null while there is none)."""
    return [
        {
            "status": status_of(decision),
            "request": asdict(request),
            "decision": None if decision is None else asdict(decision),
        }
        for request, decision in requests(run_folder)
    ]


def decision_about(run_folder: str, request: Request) -> Decision | None:
    """The decision about a request, None when there is none. Raises SemaError for one that doesn't count."""
    decision = files.decision(run_folder, request.approval_id)
    if decision is not None:
        check_decision(request, decision)
    return decision


def status_of(decision: Decision | None) -> str:
    return "pending" if decision is None else PAST[decision.decision]


def decide(
    run_folder: str,
    approval_id: str,
    verdict: str,
    key: Any,
    actor: str,
    *,
    provenance: str = "command-line",
    comment: str | None = None,
    reason: str | None = None,
) -> tuple[Decision, bool]:
    """Decides about a request; the decision that counts, and whether it is this one. The first one counts: the same
    verdict again changes nothing. Raises SemaError for another verdict, a key that isn't that of the run's authority, a
    request that isn't there, a rejection without a reason."""
    from sema_runtime.workflow.approvals import keys

    if verdict == REJECT and not (reason or "").strip():
        raise SemaError("a rejection needs a reason")
    for name, text in (("reason", reason), ("comment", comment), ("actor", actor)):
        if text is not None and len(text) > LONGEST:
            raise SemaError(f"the {name} must have at most {LONGEST} characters")
    request = files.request(run_folder, approval_id)
    if request is None:
        raise SemaError(f"no approval {approval_id} in {os.path.basename(run_folder)}")
    if request.authority_public_key is None:
        raise SemaError(
            f"nobody can decide about {approval_id}: the run was given no key",
            "resume it with --approval-public-key-file, then decide",
        )
    if keys.public_of(key) != request.authority_public_key:
        raise SemaError(f"the signing key is not that of the authority of {approval_id}")
    decision = decision_about(run_folder, request)
    if decision is None:
        new = decided(request, verdict, key, actor, provenance, comment, reason)
        if files.publish(run_folder, new):
            return new, True
        decision = decision_about(run_folder, request)
    assert decision is not None
    if decision.decision != verdict:
        raise SemaError(f"{approval_id} is already {PAST[decision.decision]} by {decision.actor}")
    return decision, False
