"""Where a task stands: its run, the step it works for, and the settings of runs that it starts.

Tasks inherit all of it from the task that starts them.
"""

from __future__ import annotations

import os
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from functools import lru_cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.workflow.journal.events import Event
    from sema_runtime.workflow.journal.origin import Fork

    Watcher = Callable[[Any, Event], None]
    """Takes a `run.Run` and an event of it."""

ROOT = os.path.join(".sema", "runs")


@dataclass(frozen=True, slots=True)
class Settings:
    """How runs are started. root: the folder of the runs. run_id: None for a new one. fork: what a new one begins with.
    make_run: what makes the run instead of `run.Run`, with the same arguments: a replay. args_json: the text of the
    arguments. max_tokens, max_usd: instead of the limits of the meta map. watchers: called with every event, in the
    task that causes it; what they raise is ignored. may_ask: a login may open a browser. resumed: ids of the runs that
    this process has resumed."""

    root: str = ROOT
    run_id: str | None = None
    resume: bool = False
    fork: Fork | None = None
    make_run: Callable[..., Any] | None = None
    args_json: str = ""
    code_version: str = ""
    max_tokens: int | None = None
    max_usd: float | None = None
    watchers: tuple[Watcher, ...] = ()
    may_ask: bool = False
    resumed: set[str] = field(default_factory=set, repr=False, compare=False)

    @classmethod
    def from_environment(cls) -> Settings:
        env = os.environ.get
        return cls(
            root=env("SEMA_WORKFLOW_RUN_DIR") or ROOT,
            run_id=env("SEMA_WORKFLOW_RUN_ID") or None,
            resume=env("SEMA_WORKFLOW_RESUME") == "1",
            args_json=env("SEMA_WORKFLOW_ARGS_JSON", ""),
            code_version=env("SEMA_WORKFLOW_CODE_VERSION", ""),
        )

    def inside(self) -> Settings:
        """The settings of a new run inside a run."""
        return replace(self, run_id=None, resume=False, fork=None)


class Stop(BaseException):
    """Ends the run from inside its body, past every handler of the program. envelope: the value of the run."""

    def __init__(self, envelope: Any, status: str, reason: str | None) -> None:
        super().__init__(status)
        self.envelope = envelope
        self.status = status
        self.reason = reason


active: ContextVar[Any] = ContextVar("workflow_run", default=None)
"""The `run.Run` that the task belongs to, None outside of one."""
agent: ContextVar[str] = ContextVar("workflow_agent", default="")
key: ContextVar[str] = ContextVar("workflow_key", default="")
"""The content key of the innermost step or checkpoint whose thunk runs, "" outside of one."""
on_failure: ContextVar[Callable[[Exception], None] | None] = ContextVar("workflow_on_failure", default=None)
"""Called with errors that `parallel` and its kin turn into values, unless the journal shows them: those of steps."""
settings: ContextVar[Settings | None] = ContextVar("workflow_settings", default=None)


def current() -> Any:
    """The `run.Run` that this task belongs to; None outside of one."""
    return active.get()


def workflow_args() -> Any:
    """The value of `*workflow-args*`: the arguments of the run, decoded; {} without any. Raises SemaError."""
    text = (settings.get() or Settings.from_environment()).args_json
    return _decoded(text if text.strip() else "{}")


@lru_cache(4)
def _decoded(text: str) -> Any:
    from sema_runtime.support.json import decode

    return decode(text)


def agent_id() -> str:
    """The agent id of the step that this task works for, "" outside of one."""
    return agent.get()
