"""`nested.jsonl`: the runs inside of a run, one JSON object a line, so that they are resumed with it.

    {"key":"0f..._0","segment":0,"run_id":"wf_1763700000_1_42_1","workflow":"inner"}

key: as that of a step. segment: the number of the journal's file. A resumed run, a fork or a replay that reaches the
nested workflow again finds its earlier run here.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from dataclasses import dataclass

from sema_runtime.support.file_access import write_all
from sema_runtime.support.json_input import loads
from sema_runtime.workflow.journal import files

NAME = "nested.jsonl"


@dataclass(frozen=True, slots=True)
class Nested:
    key: str
    segment: int
    run_id: str
    workflow: str


def note(folder: str, run: Nested) -> None:
    """Adds a run to those inside of another one, before it starts. folder: of the outer run. A note that can't be
    written is dropped: a resumed run then restarts the nested one."""
    with suppress(OSError):
        descriptor = files.open_lines(os.path.join(folder, NAME))
        try:
            fields = {"key": run.key, "segment": run.segment, "run_id": run.run_id, "workflow": run.workflow}
            write_all(descriptor, f"{json.dumps(fields, ensure_ascii=False)}\n".encode("utf-8", "replace"))
            files.sync_data(descriptor)
        finally:
            os.close(descriptor)


def all_of(folder: str) -> list[Nested]:
    """The notes on the runs inside of a run, line by line: a resumed one has several. Damaged lines are left out."""
    runs = []
    with suppress(OSError), open(os.path.join(folder, NAME), "rb") as file:
        for line in file:
            try:
                run = Nested(**loads(line))
            except (ValueError, TypeError, RecursionError):
                continue
            if type(run.key) is type(run.run_id) is type(run.workflow) is str:
                runs.append(run)
    return runs


def runs_of(folder: str) -> list[Nested]:
    """The runs inside of a run, each once, in the order in which they first began."""
    return list({run.run_id: run for run in all_of(folder)}.values())


def of(folder: str) -> dict[str, Nested]:
    """The runs inside of a run by their keys: of several attempts the last one."""
    return {run.key: run for run in all_of(folder)}


def outer_of(root: str) -> dict[str, str]:
    """For each run of a folder of runs that is inside of another one, that one's id."""
    outer = {}
    with suppress(OSError):
        for name in os.listdir(root):
            for run in all_of(os.path.join(root, name)):
                if run.run_id != name:
                    outer[run.run_id] = name
    return outer


def outermost(root: str, run_id: str) -> str:
    """The outermost run around a run, which is the one that can be resumed; the run itself when there is none."""
    around, passed = outer_of(root), {run_id}
    while (outer := around.get(run_id)) is not None and outer not in passed:
        passed.add(outer)
        run_id = outer
    return run_id
