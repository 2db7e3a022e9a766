"""Policies and approvals of workflows: what `policy/without` and `approval` call. docs/how-to/policies.md has both."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("workflow/policy-without", type="str, now (-> a) -> a")
def workflow_policy_without(reason: Any, thunk: Any) -> Any:
    """Calls thunk without the checks of the active policies; the reason stands in the journal. `policy/without` is how
    programs write it.

    (workflow/policy-without "fixture data" (fn () 1)) ! policy/without requires an active workflow policy
    """
    from sema_runtime.workflow import policy

    return policy.without(reason, thunk)


@builtin("workflow/approval", type="keyword|str, dict|nil -> bool")
def workflow_approval(key: Any, options: Any) -> bool:
    """#t once a person has approved; until then the run ends here, and goes on when it is resumed after that.

    Options: :reason, :subject (plain data that is approved, of which only a digest is kept), :preview. `approval` is
    how programs write it.

    (workflow/approval :deploy {:reason "to production" :subject 1}) ! approval outside a workflow/run
    """
    from sema_runtime.lib.llm.workflows import running
    from sema_runtime.support.options import options_map
    from sema_runtime.workflow.approvals import gate, subjects
    from sema_runtime.workflow.journal.values import name_of

    run = running("approval")
    name = name_of(key)
    if not name:
        type_error("keyword or string", key)
    entries = {name_of(option): value for option, value in options_map(options).pairs()}
    for option in entries:
        if option not in ("reason", "subject", "preview"):
            raise SemaError(f"approval: unknown option :{option}", "the options are :reason, :subject and :preview")
    if "subject" not in entries:
        raise SemaError("approval: :subject is missing", "it is what is approved: any plain data")
    reason = _text("reason", entries.get("reason"), 1)
    preview = None if entries.get("preview") is None else _text("preview", entries["preview"], 0)
    return gate.approval(run, name, reason, subjects.subject_digest(entries["subject"]), preview)


def _text(name: str, value: Any, shortest: int) -> str:
    from sema_runtime.workflow.approvals.records import LONGEST

    if not isinstance(value, str) or not shortest <= len(value) <= LONGEST:
        raise SemaError(f"approval: :{name} must be a string of {shortest} to {LONGEST} characters")
    return value
