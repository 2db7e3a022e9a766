"""`nested.jsonl`: which runs a run had inside of it, one JSON object a line, so that they go on when it does.

    {"key":"0f..._0","segment":0,"run_id":"wf_1763700000_1_42_1","workflow":"inner"}

key: as that of a step. segment: the number of the journal's file. Who comes to a nested workflow again, in a resumed
run, a fork or a replay, finds its earlier run here.
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


def note(folder: str, one: Nested) -> None:
    """Adds a run to those of another one, whose folder is given, before it begins. What can't be written is done
    without: in a resumed run the nested one would begin anew."""
    with suppress(OSError):
        descriptor = files.open_lines(os.path.join(folder, NAME))
        try:
            fields = {"key": one.key, "segment": one.segment, "run_id": one.run_id, "workflow": one.workflow}
            write_all(descriptor, f"{json.dumps(fields, ensure_ascii=False)}\n".encode("utf-8", "replace"))
            files.sync_data(descriptor)
        finally:
            os.close(descriptor)


def all_of(folder: str) -> list[Nested]:
    """What is noted of the runs inside of a run, line by line: one that went on is there several times. Damaged lines
    are left out."""
    found = []
    with suppress(OSError), open(os.path.join(folder, NAME), "rb") as file:
        for line in file:
            try:
                one = Nested(**loads(line))
            except (ValueError, TypeError, RecursionError):
                continue
            if type(one.key) is type(one.run_id) is type(one.workflow) is str:
                found.append(one)
    return found


def runs_of(folder: str) -> list[Nested]:
    """The runs inside of a run, each once, in the order in which they first began."""
    return list({one.run_id: one for one in all_of(folder)}.values())


def of(folder: str) -> dict[str, Nested]:
    """The runs inside of a run by their keys: of several attempts the last one."""
    return {one.key: one for one in all_of(folder)}


def outer_of(root: str) -> dict[str, str]:
    """For each run of a folder of runs that is inside of another one, that one's id."""
    found = {}
    with suppress(OSError):
        for name in os.listdir(root):
            for one in all_of(os.path.join(root, name)):
                if one.run_id != name:
                    found[one.run_id] = name
    return found


def outermost(root: str, run_id: str) -> str:
    """The run around a run, and around that one, as far as they are there: what can be gone on with."""
    around, passed = outer_of(root), {run_id}
    while (outer := around.get(run_id)) is not None and outer not in passed:
        passed.add(outer)
        run_id = outer
    return run_id
