"""What a run keeps of its leaves: the files in `memo/`, and `memo.jsonl`, from which lost ones are read."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from llm_support import llm as llm
from workflow_support import COUNTING, Ran, run

from sema_runtime.workflow.journal import origin
from sema_runtime.workflow.journal.origin import Fork
from sema_runtime.workflow.run import memo

pytestmark = pytest.mark.usefixtures("llm")

FLOW = (
    COUNTING
    + """
(defworkflow w "" {}
  (phase "A")
  (checkpoint :seed {:n 1})
  (define xs (pipeline (range 3) (fn (n) (step (str "item " n) {:name "reader"}))))
  (step "last")
  {:status :success :xs xs})
"""
)
PROMPTS = ["item 0", "item 1", "item 2", "last"]


def log(ran: Ran, run_id: str = "a") -> list[dict[str, object]]:
    return [json.loads(line) for line in (ran.root / run_id / "memo.jsonl").read_text().splitlines()]


def again(folder: Path) -> list[str]:
    return run(folder, FLOW, run_id="a", resume=True).prompts()


def memo_of(ran: Ran, value: str) -> Path:
    (found,) = [path for path in (ran.root / "a" / "memo").iterdir() if path.read_text() == f'"{value}"\n']
    return found


def test_the_log_has_them_in_order(tmp_path: Path) -> None:
    ran = run(tmp_path, FLOW, run_id="a")
    assert [(one.get("agent_id", one.get("checkpoint")), one["value"]) for one in log(ran)] == [
        ("seed", {"n": 1}),
        ("reader_1", "<item 0>"),
        ("reader_2", "<item 1>"),
        ("reader_3", "<item 2>"),
        ("step_1", "<last>"),
    ]
    assert {f"{one['key']}.json" for one in log(ran)} == set(os.listdir(tmp_path / "a" / "memo"))
    memo_of(ran, "<item 1>").unlink()
    assert again(tmp_path) == ["item 1"]
    assert [one["segment"] for one in log(ran)] == [0] * 5 + [1]


def test_a_folder_that_is_deleted_runs_all_again(tmp_path: Path) -> None:
    run(tmp_path, FLOW, run_id="a")
    shutil.rmtree(tmp_path / "a" / "memo")
    assert again(tmp_path) == PROMPTS


@pytest.mark.parametrize("quick", [0.0, 60.0])
def test_on_slow_disks_and_quick_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quick: float) -> None:
    monkeypatch.setattr(memo, "QUICK", quick)
    flow = FLOW.replace("(range 3)", "(range 40)")
    assert len(run(tmp_path, flow, run_id="a").prompts()) == 41
    assert len((tmp_path / "a" / "memo.jsonl").read_text().splitlines()) == 42
    assert run(tmp_path, flow, run_id="a", resume=True).prompts() == []


def test_files_that_a_power_failure_took_or_emptied_are_read_from_the_log(tmp_path: Path) -> None:
    ran = run(tmp_path, FLOW, run_id="a")
    folder = tmp_path / "a" / "memo"
    memo_of(ran, "<item 1>").unlink()
    memo_of(ran, "<item 0>").write_text("")
    earlier = (tmp_path / "a" / "memo.jsonl").stat().st_mtime - 1  # the file system doesn't know of a removal
    os.utime(folder, (earlier, earlier))
    assert again(tmp_path) == []


@pytest.mark.parametrize("damage", ['"<it', "{]\n", '"<item 0>"', "\x00\n"])
def test_a_damaged_file_is_read_from_the_log(tmp_path: Path, damage: str) -> None:
    ran = run(tmp_path, FLOW, run_id="a")
    memo_of(ran, "<item 0>").write_text(damage)
    assert again(tmp_path) == []


@pytest.mark.parametrize("damage", ['"<it', "{]\n", '"<item 0>"', "\x00\n"])
def test_a_file_that_is_damaged_without_a_log_runs_its_leaf_again(tmp_path: Path, damage: str) -> None:
    ran = run(tmp_path, FLOW, run_id="a")
    file = memo_of(ran, "<item 0>")
    file.write_text(damage)
    (tmp_path / "a" / "memo.jsonl").unlink()
    assert again(tmp_path) == ["item 0"]
    assert file.read_text() == '"<item 0>"\n'


def test_without_the_log_empty_files_are_asked_again(tmp_path: Path) -> None:
    ran = run(tmp_path, FLOW, run_id="a")
    memo_of(ran, "<item 0>").write_text("")
    (tmp_path / "a" / "memo.jsonl").unlink()
    assert again(tmp_path) == ["item 0"]


def test_a_log_whose_lines_are_damaged(tmp_path: Path) -> None:
    ran = run(tmp_path, FLOW, run_id="a")
    path = tmp_path / "a" / "memo.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"\x00\xff\n{}\n[1]\n" + b"".join(lines[:-1]) + lines[-1][:-9])
    memo_of(ran, "<item 2>").write_text("")
    memo_of(ran, "<last>").write_text("")
    assert again(tmp_path) == ["last"]
    assert json.loads(path.read_bytes().splitlines()[-1])["value"] == "<last>"  # not in the line that was cut


def test_when_the_files_cannot_be_written_the_log_has_them(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "memo").write_text("in the way")
    assert run(tmp_path, FLOW, run_id="a").prompts() == PROMPTS
    assert again(tmp_path) == []


def test_when_neither_can_be_written_the_run_goes_on_and_keeps_nothing(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "memo").write_text("in the way")
    (tmp_path / "a" / "memo.jsonl").mkdir()
    assert run(tmp_path, FLOW, run_id="a").prompts() == PROMPTS
    assert again(tmp_path) == PROMPTS


def test_a_fork_takes_the_log_too_and_leaves_the_other_run_alone(tmp_path: Path) -> None:
    ran = run(tmp_path, FLOW, run_id="a")
    assert run(tmp_path, FLOW, run_id="b", fork=Fork("a")).prompts() == []
    assert [one["from"] for one in log(ran, "b")] == ["a"] * 5
    said = origin.of(str(tmp_path / "b"))
    assert said is not None
    assert (said.run_id, said.at, len(said.kept or ())) == ("a", None, 5)
    theirs = memo_of(ran, "<item 1>")
    (tmp_path / "b" / "memo" / theirs.name).unlink()
    (tmp_path / "b" / "memo" / theirs.name).write_text("damaged")
    (tmp_path / "b" / "memo.jsonl").unlink()
    assert run(tmp_path, FLOW, run_id="b", resume=True).prompts() == ["item 1"]
    assert theirs.read_text() == '"<item 1>"\n'


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"run_id": 1}', '{"run_id": "a", "at": 3}', "[" * 100_000], ids=range(6)
)
def test_a_damaged_origin_is_none(tmp_path: Path, text: str) -> None:
    run(tmp_path, FLOW, run_id="a")
    (tmp_path / "a" / origin.NAME).write_text(text)
    assert origin.of(str(tmp_path / "a")) is None
    assert run(tmp_path, FLOW, run_id="a", resume=True).prompts() == []


def test_an_origin_says_what_the_resumed_fork_came_to(tmp_path: Path) -> None:
    edited = FLOW.replace('"last"', '"end"')
    run(tmp_path, FLOW, run_id="a")
    run(tmp_path, edited, run_id="b", fork=Fork("a"))
    before = origin.of(str(tmp_path / "b"))
    run(tmp_path, edited, run_id="b", resume=True)
    after = origin.of(str(tmp_path / "b"))
    assert before is not None
    assert after is not None
    assert {*(before.kept or ())} < {*(after.kept or ())}  # its own last step, too
    assert (len(before.kept or ()), len(after.kept or ()), after.run_id) == (4, 5, "a")
