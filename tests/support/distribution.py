"""How tests are distributed over the processes of pytest-xdist: the longest files first, and a file stays together.

The scheduler of xdist takes the files with the most tests first, so that a file of three long tests comes last and one
core waits for it. When a process dies it starts the test that killed it once more, and waits forever for work that is
done.
"""

from __future__ import annotations

from typing import Any

from xdist.scheduler.loadscope import LoadScopeScheduling

# The files that take longest, in this order; `scripts/test --durations=50` shows what belongs here.
LONGEST = (
    "properties/test_optimization", "process/test_workflow_resume", "pkg/test_packages", "site/test_playground",
    "golden/test_examples", "docs/test_blocks", "workflow/journal/test_workflow_disk", "properties/test_facts",
    "project/test_new", "testing/test_pytest_plugin", "optimize/test_passes", "workflow/viewer/test_workflow_page_live",
    "site/test_pages", "workflow/run/test_workflow_outcomes", "process/test_workflow_signals", "mcp/test_mcp",
    "workflow/approvals/test_approval_snapshot", "ai/test_python_answers", "workflow/run/test_workflow_replay",
    "mcp_server/test_transports", "process/test_workflow_killed", "workflow/run/test_workflow_totals",
    "packaging/test_wheels", "process/test_without_unix", "process/test_closed_pipe", "imports/test_started_plainly",
    "process/test_workflow_interrupts", "workflow/journal/test_workflow_damage", "stubs/test_stubs",
    "workflow/run/test_workflow_others", "docs/test_tutorial", "docs/test_followed_guides", "conformance/test_corpus",
)  # fmt: skip
PLACES = {f"tests/{name}.py": place for place, name in enumerate(LONGEST)}


def longest_first(tests: list[Any]) -> None:
    """Sorts tests by the place of their file; the others keep their order behind them."""
    tests.sort(key=lambda test: PLACES.get(file_of(test.nodeid), len(PLACES)))


def file_of(nodeid: str) -> str:
    return nodeid.partition("::")[0]


class Files(LoadScopeScheduling):
    """Gives a process file after file, in the order of the collection."""

    def _split_scope(self, nodeid: str) -> str:
        return file_of(nodeid)

    def _reschedule(self, node: Any) -> None:
        if node in self.registered_collections:  # else it is still collecting
            super()._reschedule(node)

    def remove_node(self, node: Any) -> str | None:
        """The test during which a process died, if it had any left: that one has failed, others take over the rest."""
        units = self.assigned_work.pop(node)
        left = [(unit, test) for unit, tests in units.items() for test, is_done in tests.items() if not is_done]
        if not left:
            return None
        (_, killer), *rest = left
        for unit, test in rest:
            self.workqueue.setdefault(unit, {})[test] = False
        for other in self.assigned_work:
            self._reschedule(other)
        return killer
