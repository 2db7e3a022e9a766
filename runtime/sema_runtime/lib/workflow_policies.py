"""Policies of workflows: what `policy/without` calls. Policies are attached with `:policy`, see docs/policies.md."""

from __future__ import annotations

from sema_runtime.catalogue import builtin

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("workflow/policy-without")
def workflow_policy_without(reason: Any, thunk: Any) -> Any:
    """Calls thunk without the checks of the active policies; the reason stands in the journal. `policy/without` is how
    programs write it.

    (workflow/policy-without "fixture data" (fn () 1)) ! policy/without requires an active workflow policy
    """
    from sema_runtime.workflow import policy

    return policy.without(reason, thunk)
