"""All tasks, and programs that find their answers (solutions.sema), which a scripted model plays."""

from __future__ import annotations

from importlib.resources import files

from sema_runtime.box.suite.longer_tasks import LONGER
from sema_runtime.box.suite.planned_tasks import PLANNED
from sema_runtime.box.suite.short_tasks import SHORT
from sema_runtime.box.suite.tasks import Task


def solutions() -> dict[int, list[str]]:
    """Programs that find the answers, by the number of the task, one a turn."""
    text = files("sema_runtime.box.suite").joinpath("solutions.sema").read_text(encoding="utf-8")
    found = {}
    for part in text.split("\n;; task ")[1:]:
        number, _, programs = part.partition("\n")
        found[int(number)] = [program.strip() for program in programs.split("\n;; then\n")]
    return found


def all_tasks() -> list[Task]:
    return [*SHORT, *LONGER, *PLANNED]
