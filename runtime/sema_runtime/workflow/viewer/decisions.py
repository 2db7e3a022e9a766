"""Approvals in the page: the requests of a run, and decisions with the signing key that the viewer was started with."""

from __future__ import annotations

from sema_runtime.support.json_input import loads
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from sema_runtime.workflow.viewer.auth import Answer

SHOWN = ("approval_id", "key", "phase", "occurrence", "reason", "preview", "subject_digest", "requested_at")
DECIDED = ("actor", "provenance", "comment", "reason", "decided_at")


class Decisions:
    """key: an Ed25519 private key, None where nobody can decide. actor: in whose name."""

    def __init__(self, key: Any = None, actor: str | None = None) -> None:
        self.key = key
        self.actor = actor

    def listed(self, folder: Path) -> dict[str, Any]:
        """{can_decide, approvals: [{status, …SHOWN, decision: {…DECIDED} | null}], error?}."""
        answer: dict[str, Any] = {"can_decide": self.key is not None, "approvals": []}
        if not (folder / "approvals").is_dir():
            return answer
        from sema_runtime.workflow.approvals import deciding

        try:
            for request, decision in deciding.requests(str(folder)):
                row = {name: getattr(request, name) for name in SHOWN}
                row["status"] = deciding.status_of(decision)
                row["decision"] = decision and {name: getattr(decision, name) for name in DECIDED}
                answer["approvals"].append(row)
        except (SemaError, OSError) as error:
            answer["error"] = error.message if isinstance(error, SemaError) else str(error)
        return answer

    def decide(self, folder: Path, approval: str, verdict: str, body: bytes) -> Answer:
        """Approves or rejects. body: {} or {"reason": text, "comment": text}."""
        if self.key is None:
            return 403, {"error": "this viewer has no signing key: --approval-signing-key-file"}
        if not folder.is_dir():
            return 404, "no such run/approval"
        try:
            fields = loads(body or b"{}")
            texts = [fields.get("reason") or None, fields.get("comment") or None]
        except (ValueError, AttributeError, RecursionError):
            return 400, {"error": "the body must be a JSON object"}
        if not all(text is None or isinstance(text, str) for text in texts):
            return 400, {"error": "reason and comment must be texts"}
        from sema_runtime.workflow import approvals
        from sema_runtime.workflow.approvals import deciding

        actor = self.actor or approvals.default_actor()
        try:
            decision, _ = deciding.decide(
                str(folder), approval, verdict, self.key, actor, provenance="viewer", reason=texts[0], comment=texts[1]
            )
        except (SemaError, OSError) as error:
            return 409, {"error": error.message if isinstance(error, SemaError) else str(error)}
        return 200, {"status": deciding.status_of(decision)}
