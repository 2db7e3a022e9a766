"""What users read after a run has stopped: the command that resumes it, and what could not be written."""

from __future__ import annotations

import sys
from shlex import quote
from typing import Any

from sema_runtime.support.visible import tell

PAUSES = ("needs-auth", "needs-approval")
BUDGETS = {"budget_tokens": "--budget-tokens", "budget_usd": "--budget-usd"}


class NextSteps:
    """file, options: of `sema workflow run`. runs: the runs that the program has started, in order."""

    def __init__(self, file: str, options: dict[str, Any]) -> None:
        self.file = file
        words = sys.argv[1:]
        self.general = words[: words.index("workflow")] if "workflow" in words else []  # --sandbox ...
        self.budgets = [
            word
            for name, option in BUDGETS.items()
            if options[name] is not None
            for word in (option, str(options[name]))
        ]
        self.runs: list[Any] = []

    def watch(self, run: Any, event: Any) -> None:
        """The watcher of runs."""
        if event.seq == 0:
            self.runs.append(run)

    def interrupted(self) -> bool:
        return any(run.interrupted for run in self.runs)

    def paused(self) -> list[Any]:
        """The outermost runs that have stopped to wait for a person."""
        return [run for run in self.runs if run.outer is None and run.status in PAUSES]

    def command(self, run: Any) -> str:
        """The command line that resumes a run, under the same sandbox and limits."""
        from sema_runtime.workflow import approvals
        from sema_runtime.workflow.run.scope import ROOT

        words = ["sema", *self.general, "workflow", "run", self.file, "--resume", run.run_id]
        if run.settings.args_json not in ("", "{}"):
            words += ["--args", run.settings.args_json]
        if run.settings.root != ROOT:
            words += ["--run-dir", run.settings.root]
        words += [*self.budgets, *approvals.settings.get().options]
        return " ".join(map(quote, words))

    def command_of(self, run_id: str) -> str:
        """The same for the run of an envelope."""
        return next((self.command(run) for run in self.runs if run.run_id == run_id), f"--resume {run_id}")

    def tell(self) -> None:
        """Shows, after the program, the errors of runs, the commands that resume those that Ctrl-C has ended, and what
        could not be written."""
        for run in self.runs:
            if run.error is not None and run.outer is None:
                from semac.diagnostics.render import show_error

                show_error(run.error, self.file)
            if run.interrupted and run.outer is None:
                said = f"{run.workflow} was interrupted; what was finished is kept. Go on with:"
                tell(f"\n{said}\n  {self.command(run)}")
            for problem in run.write_errors():
                tell(f"warning: {run.directory}: {problem}")
