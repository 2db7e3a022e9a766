"""`workflow/check`: what is wrong with a workflow, found without running it. See compiler_bridge.py."""

from __future__ import annotations

from sema_runtime import compiler_bridge
from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import pretty

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

WIDTH = 100  # at which a form is written before it is checked; lines and columns are those of that text


@builtin("workflow/check", type="any -> list (map keyword (keyword|str|int|nil)) fresh")
def workflow_check(source: Any) -> List:
    """Checks the workflows in a text, or in a form, without running anything: the list of what is wrong.

    Each finding is a map of :severity (:error or :warning), :code, :message, and :line, :col and :hint, which may be
    nil. The empty list means that nothing was found. Lines and columns of a form are those of its printed text.

    (workflow/check "(defworkflow w \\"doc\\" {} (phase \\"A\\") {:status :success})") => ()
    (map :code (workflow/check "(defworkflow w \\"doc\\" {} (phase) {:status :success})")) => ("E-PHASE-ARITY")
    (map :code (workflow/check '(defworkflow w "doc" {} (step "Say hi")))) => ("W-NO-STATUS")
    """
    text = source if type(source) is str else pretty(source, WIDTH)
    return List([_as_map(finding) for finding in compiler_bridge.check_workflows(text)])


def _as_map(finding: Any) -> Map:
    fields = finding.as_json()
    fields["severity"] = keyword(finding.severity)
    return Map({keyword(name): value for name, value in fields.items()})
