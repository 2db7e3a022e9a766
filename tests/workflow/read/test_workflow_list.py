"""`sema workflow list`, `show` and `diff`: runs written by hand and by real programs, for people and as JSON."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import workflow_journals as journals
from jsonschema import Draft202012Validator
from llm_support import llm as llm
from workflow_schema import SCHEMA
from workflow_support import run

from sema_runtime.workflow.journal.origin import Fork
from sema_runtime.workflow.read import index
from sema_runtime.workflow.read import recorded_run as reading
from semac.cli.workflow import diff as workflow_diff
from semac.cli.workflow import show as workflow_show
from semac.cli.workflow.list import cost, duration, list_main, moment

pytestmark = pytest.mark.journals_by_hand

PROGRAM = """
(defworkflow demo "A demo" {:phases ["Gather" "Judge" "Never"]}
  (phase "Gather")
  (define names (checkpoint :names (list "ä" "b" "c")))
  (phase "Judge")
  (define (judge n)
    (workflow/step {:name "reader" :__prompt (str "Judge " n) :__schema-repr (if (= n "b") "{:ok :bool}" "nil")}
      (fn ()
        (workflow/tool-call "grep" {:for n})
        (if (= n (:bad *workflow-args*)) (error (str "no " n)) (str n " is WORD")))))
  {:status :success :found (parallel (map (fn (n) (fn () (judge n))) names))})
"""

Show = Callable[..., tuple[int, str]]


@pytest.fixture
def command(capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Show:
    """Runs one of the commands on the runs in tmp_path: (its status, what it printed on either stream)."""
    monkeypatch.setenv("SEMA_WORKFLOW_RUN_DIR", str(tmp_path))

    def run(main: Callable[[list[str]], int], *args: str) -> tuple[int, str]:
        status = main([*args])
        printed = capsys.readouterr()
        return status, printed.out + printed.err

    return run


# list


def test_a_list_of_runs(command: Show, tmp_path: Path) -> None:
    for name, part in (("a", journals.review()), ("b", journals.review(until="running")), ("c", journals.GOLDEN)):
        journals.written(tmp_path, name, part)
    status, said = command(list_main)
    assert status == 0
    rows = [line.split() for line in said.splitlines()]
    assert rows[0] == ["run", "workflow", "status", "started", "time", "agents", "tokens", "cost"]
    assert [(row[0], *row[-4:]) for row in rows[1:] if row[0] != "note:"] == [
        ("a", "8.6s", "7", "10,165", "$0.0192+"),
        ("b", "2.5s", "6", "2,040", "$0.0015+"),
        ("c", "0.0s", "0", "0", "—"),
    ]
    assert [row[2] for row in rows[1:4]] == ["success", "running", "success"]
    assert len(command(list_main, "-n", "1")[1].splitlines()) == 2


def test_a_list_as_json_has_the_rows_of_the_index(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "a", journals.review())
    found = json.loads(command(list_main, "--json")[1])
    (row,) = index.rows(str(tmp_path))
    assert found == [{**row, "unpriced": 1, "duration_ms": 8600}]


def test_no_runs(command: Show, tmp_path: Path) -> None:
    assert command(list_main) == (0, f"No runs in {tmp_path}.\n")
    assert command(list_main, "--run-dir", "nothing", "--json") == (0, "[]\n")
    assert not Path("nothing").exists()


def test_a_directory_of_runs_that_is_none(command: Show, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name, why in (("file", "Not a directory"), ("loop", "Too many levels of symbolic links")):
        path = tmp_path / name
        assert command(list_main, "--run-dir", str(path)) == (1, f"error: cannot list {path}: {why}\n")
        assert command(workflow_show.main, "--run-dir", str(path)) == (2, f"error: cannot list {path}: {why}\n")


def test_the_events_of_a_run(command: Show, tmp_path: Path) -> None:
    last = journals.Segment(at=60)
    last.checkpoint("x", "1\n 2")
    last.lines += ['{"event":"journal.overflow","reason":"queue-full","dropped":3}', "{damaged"]
    journals.written(tmp_path, "a", journals.GOLDEN, last)
    status, said = command(workflow_show.main, "a", "--events")
    lines = said.splitlines()
    assert (status, len(lines)) == (0, 11)
    assert lines[1:3] == [
        "     1  0  phase.started    Inventory",
        '     2  0  checkpoint       files · ("a.php" "b.php" "c.php")',
    ]
    assert lines[9].split() == ["1:1", *moment(journals.stamp(60)).split(), "checkpoint", "x", "·", "1", "2"]
    assert lines[10].split()[:2] == ["1:—", "journal.overflow"]
    found = command(workflow_show.main, "a", "--events", "--json")[1]
    assert found.splitlines() == [*journals.GOLDEN.splitlines(), *last.lines[:-1]]


def test_values_of_several_lines_are_shown_in_one(command: Show, tmp_path: Path) -> None:
    run = journals.Segment()
    run.checkpoint("files", '("a.md"\n  "b.md")')
    journals.written(tmp_path, "a", run)
    assert '◇  files  ("a.md" "b.md")\n' in command(workflow_show.main, "a")[1]


def test_the_phase_of_a_run_that_was_cut_off_is_no_longer_running(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "a", journals.review(until="running"), journals.review())
    assert "Judge  - interrupted  2/6 agents" in command(workflow_show.main, "a")[1]


def test_an_index_that_is_damaged_is_done_without(command: Show, tmp_path: Path) -> None:
    (tmp_path / "index.db").write_text("no database at all " * 100)
    journals.written(tmp_path, "a", journals.GOLDEN)
    assert "hello-wf" in command(list_main)[1]
    (tmp_path / "index.db").unlink()
    with closing(sqlite3.connect(tmp_path / "index.db")) as db:
        db.execute("CREATE TABLE runs (x)")
    assert "hello-wf" in command(list_main)[1]


# show


def test_a_run(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.review(), result={"status": "success", "n": 5})
    status, said = command(workflow_show.main, "wf_a")
    lines = said.splitlines()
    assert (status, lines[0]) == (0, "review  wf_a  ✓ success")
    assert lines[1].endswith('8.6s  args {"folder":"src"}')
    assert "Judge  ✓ success  6.0s  6/6 agents  7,455 tokens  $0.0103+" in lines
    assert "  ✓  reader_2  2.5s  gpt-5.4-mini      1,109        —  2 tool calls" in lines
    assert "  ✓  reader_3  2.9s  gemini-3-flash    1,198  $0.0019  1 tool call" in lines
    assert '  ◇  report  "Five of six files are fine."' in lines
    assert lines[-2:] == [
        "total: 7 agents, 10,165 tokens, $0.0192 (the price of 1 is unknown)",
        'result: {"status": "success", "n": 5}',
    ]


def test_a_run_that_failed(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.review(until="failed"))
    lines = command(workflow_show.main, "wf_a")[1].splitlines()
    assert lines[0] == "review  wf_a  ✗ failed: workflow body returned an error"
    assert "  ✗  reader_6  4.1s  gemini-3-flash    1,465  $0.0025  error: llm: 529 overloaded" in lines
    assert "skipped: Report" in lines


def test_a_run_that_goes_on(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.review(until="running"))
    lines = command(workflow_show.main)[1].splitlines()  # without a name: the latest
    assert lines[0] == "review  wf_a  … running"
    assert ["…", "reader_6", "—", "—", "2", "tool", "calls"] in [line.split() for line in lines]
    assert "not started: Report" in lines


@pytest.mark.skipif(not Path("/proc/locks").exists(), reason="the system doesn't tell of locks")
def test_a_run_whose_process_is_gone(command: Show, tmp_path: Path) -> None:
    import fcntl

    folder = journals.written(tmp_path, "wf_a", journals.review(until="running"))
    with (folder / "events.jsonl").open() as journal:
        fcntl.flock(journal, fcntl.LOCK_EX)
        assert reading.is_held(str(folder)) is True
        assert "no process" not in command(workflow_show.main, "wf_a")[1]
    assert reading.is_held(str(folder)) is False
    note = "note: no process writes this journal; to go on: sema workflow run FILE --resume wf_a\n"
    assert command(workflow_show.main, "wf_a")[1].endswith(note)


def test_of_many_agents_the_first_and_the_failed_are_shown(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.wide(800))
    lines = command(workflow_show.main, "wf_a")[1].splitlines()
    assert lines.count("  159 more (--all shows them)") == 4
    assert len([line for line in lines if line.startswith("  ✗")]) == 8
    assert len(command(workflow_show.main, "wf_a", "--all")[1].splitlines()) > 800


def test_one_agent(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.review(until="running"))
    assert command(workflow_show.main, "wf_a", "--agent", "reader_2") == (
        0,
        """reader_2  ✓ ok  phase Judge  1.8s  gpt-5.4-mini  900 tokens sent, 120 received, —

prompt:
  Review src/part1.py.

  Say what is wrong with it, and why, in two sentences.

tool calls:
  file/read  {:path "src/part1.py"}
  grep  {:path "src/part1.py"}

result:
  {:ok #f :why "Swallows errors."}
""".replace("\n\n  Say", "\n  \n  Say"),
    )
    found = json.loads(command(workflow_show.main, "wf_a", "--agent", "reader_6", "--json")[1])
    assert (found["result"], found["duration_ms"], found["cost_usd"], found["status"]) == (None, None, None, "running")
    assert found["tool_calls"][0] == {"tool_name": "file/read", "args_json": '{:path "src/part5.py"}'}


def test_a_run_as_json(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.review(), meta={"workflow": "review"})
    found = json.loads(command(workflow_show.main, "wf_a", "--json")[1])
    assert (found["run_id"], found["status"], found["duration_ms"], found["problems"]) == ("wf_a", "success", 8600, [])
    assert [(phase["phase"], len(phase["agents"]), len(phase["checkpoints"])) for phase in found["phases"]] == [
        ("Read", 0, 1),
        ("Judge", 6, 0),
        ("Report", 1, 1),
    ]
    assert found["phases"][1]["agents"][1]["cost_usd"] is None
    assert found["usage"]["unpriced"] == 1
    assert (found["metadata"], found["result"]) == ({"workflow": "review"}, None)


def test_nothing_in_a_journal_can_do_harm_to_a_terminal(command: Show, tmp_path: Path) -> None:
    part = journals.Segment("w\x1b[2J", phases=["P\x07"], args_json="\x1b]0;t\x07")
    part.open_phase("A\x1b[31m")
    part.finish(part.start("n\r", "p\x1b[1m"), 1, "r\x9b1m", ok=False, model="m\x1b")
    part.checkpoint("k\x1b", "v\nw\x1b")
    part.add("run.ended", status="s\x1b", reason="r\x1b", dur_ms=1)
    journals.written(tmp_path, "wf_a", part)
    for args in (("wf_a",), ("wf_a", "--agent", "n\r_1"), ("wf_a", "--json")):
        status, said = command(workflow_show.main, *args)
        assert status == 0
        assert said.replace("\n", "").isprintable()
    assert command(list_main)[1].replace("\n", "").isprintable()


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["nobody"], "error: no run 'nobody' in "),
        (["../a"], 'error: workflow run id "../a" is not a safe directory name: must not contain a path separator\n'),
        (["wf_a", "--agent", "nobody_1"], "error: run 'wf_a' has no agent 'nobody_1'\n"),
        (["latest", "--run-dir", "nothing"], "error: no runs in nothing\n"),
    ],
)
def test_what_cannot_be_shown(args: list[str], message: str, command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.GOLDEN)
    status, said = command(workflow_show.main, *args)
    assert status == 2
    assert said.startswith(message)


def test_damage_is_told(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "wf_a", journals.GOLDEN + "{\n")
    assert command(workflow_show.main, "wf_a")[1].endswith("note: events.jsonl: 1 damaged line, skipped\n")


def test_costs_and_times() -> None:
    assert [cost(None), cost(0.0), cost(1234.5), cost(0.5, 1)] == ["—", "$0.0000", "$1,234.5000", "$0.5000+"]
    assert [duration(ms) for ms in (None, 0, 59_949, 60_000, 3_661_000)] == ["—", "0.0s", "59.9s", "1m00s", "1h01m"]


# diff


def judged(*results: tuple[str, str], price: float | None = 0.5) -> journals.Segment:
    """A run with a step for each (prompt, result)."""
    part = journals.Segment("judge")
    part.open_phase("Judge")
    for prompt, result in results:
        part.finish(part.start("reader", prompt), 1, result, tokens=(10, 5), cost=price)
    part.end()
    return part


def test_runs_that_differ(command: Show, tmp_path: Path) -> None:
    first = judged(("one", "1"), ("two", "2"), ("same", "x"), ("same", "y"), ("old", "g"), ("gone", "gone"))
    journals.written(tmp_path, "a", first)
    journals.written(tmp_path, "b", judged(("two", "2"), ("one", "uno"), ("same", "x"), ("new", "n"), ("same", "z")))
    status, said = command(workflow_diff.main, "a", "b")
    assert status == 1
    assert said.splitlines()[2:] == [
        "difference: -15 tokens, -$0.5000",
        "",
        "2 changed, 2 same, 1 edited, 1 removed",
        "changed  agent reader_1 → reader_2  phase Judge",
        "  - 1",
        "  + uno",
        "changed  agent reader_4 → reader_5  phase Judge",
        "  - y",
        "  + z",
        "edited  agent reader_5 → reader_4  phase Judge",
        "  - prompt: old",
        "  + prompt: new",
        "  - g",
        "  + n",
        "removed  agent reader_6  phase Judge",
        "  - gone",
    ]
    assert command(workflow_diff.main, "b", "a")[1].endswith("added  agent reader_6  phase Judge\n  + gone\n")


def test_the_same_run_twice(command: Show, tmp_path: Path) -> None:
    for name, price in (("a", 0.5), ("b", 0.25), ("c", None)):
        journals.written(tmp_path, name, judged(("one", "1"), ("two", "2"), price=price))
    status, said = command(workflow_diff.main, "a", "b")
    assert (status, said.splitlines()[2:]) == (0, ["difference: +0 tokens, -$0.5000", "", "2 same"])
    status, said = command(workflow_diff.main, "a", "c")
    assert (status, said.splitlines()[2]) == (0, "difference: +0 tokens, cost — (a price is missing)")
    report = json.loads(command(workflow_diff.main, "a", "b", "--json")[1])
    assert (report["cost_difference_usd"], report["tokens_difference"]) == (-0.5, 0)
    assert report["leaves"][0]["kind"] == "same"
    assert report["leaves"][0]["b"] == {"id": "reader_1", "status": "ok", "tokens": 15, "cost_usd": 0.25, "result": "1"}


def test_long_results_are_cut_unless_wanted(command: Show, tmp_path: Path) -> None:
    for name, result in (("a", "x" * 200 + "1\n2"), ("b", "x" * 200 + "3"), ("c", "y")):
        journals.written(tmp_path, name, judged(("one", result)))
    assert command(workflow_diff.main, "a", "b")[1].endswith(f"\n  - …{'x' * 33}1 2\n  + …{'x' * 33}3\n")
    long = command(workflow_diff.main, "a", "c")[1]
    assert long.endswith(f"\n  - {'x' * 99}…\n  + y\n")
    assert command(workflow_diff.main, "a", "b", "--full")[1].endswith(f"\n  - {'x' * 200}1\n  - 2\n  + {'x' * 200}3\n")


def test_runs_that_cannot_be_compared(command: Show, tmp_path: Path) -> None:
    journals.written(tmp_path, "a", journals.GOLDEN)
    assert command(workflow_diff.main, "a", "b") == (2, f"error: no run 'b' in {tmp_path}\n")
    assert command(workflow_diff.main, "a", "a")[0] == 0


# Runs of real programs


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The runs first (one step fails), edited (another program), and first again, resumed as second."""
    root = tmp_path_factory.mktemp("real")

    def run(word: str, run_id: str, *args: str) -> None:
        program = root / "w.sema"
        program.write_text(PROGRAM.replace("WORD", word))
        code = "import sys; from semac.cli.entry import main; sys.exit(main())"
        command = [sys.executable, "-c", code, "workflow", "run", str(program), "--run-dir", str(root / "runs"), *args]
        env = {**os.environ, "HOME": str(root), "SEMA_NO_LLM": "1", "SEMA_WORKFLOW_RUN_ID": run_id}
        done = subprocess.run(command, cwd=root, env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr

    run("fine", "first", "--args", '{"bad":"c"}')
    run("good", "edited", "--args", '{"bad":"c"}')
    run("fine", "first", "--args", '{"bad":"c"}', "--resume", "first")
    return root / "runs"


def test_a_real_run_is_read(real: Path) -> None:
    run = reading.open_run(str(real), "edited")
    assert (run.status, run.workflow, run.args_json, run.problems()) == ("success", "demo", '{"bad":"c"}', [])
    assert [(phase.name, phase.agents, phase.failed) for phase in run.phases] == [("Gather", 0, 0), ("Judge", 3, 1)]
    found = {agent.prompt: (agent.status, agent.result) for agent in run.agents}
    assert found == {
        "Judge ä": ("ok", '"ä is good"'),
        "Judge b": ("ok", '"b is good"'),
        "Judge c": ("failed", "error: no c"),
    }
    assert [call.args_json for call in run.agents[0].calls()] == ['{:for "ä"}']
    assert run.result == {"found": ["ä is good", "b is good", None], "status": "success"}


def test_real_journals_fit_the_schema_and_the_index(real: Path) -> None:
    schema = Draft202012Validator(SCHEMA)
    for run_id in ("first", "edited"):
        events = [*reading.open_run(str(real), run_id).events()]
        assert len(events) > 10
        for event in events:
            schema.validate(event.data)
    rows: list[dict[str, Any]] = index.rows(str(real))
    assert {row["run_id"]: (row["status"], row["agents"]) for row in rows} == {
        "first": ("success", 4),
        "edited": ("success", 3),
    }


def test_a_real_resume_is_compared(real: Path, command: Show) -> None:
    run = reading.open_run(str(real), "first")
    assert [(agent.prompt, agent.segment, agent.status) for agent in run.agents][3:] == [("Judge c", 1, "failed")]
    status, said = command(workflow_diff.main, "first", "edited", "--run-dir", str(real))
    assert status == 1
    assert "2 same, 2 changed" in said
    assert '  - "ä is fine"\n  + "ä is good"\n' in said


@pytest.mark.usefixtures("llm")
def test_results_that_an_edited_fork_has_not_come_to_are_not_kept(tmp_path: Path, command: Show) -> None:
    program = """(llm/define-provider :echo {:default-model "e" :complete (fn (request)
      {:content (:content (first (:messages request))) :usage {:prompt-tokens 1 :completion-tokens 1}})})
    (defworkflow w "" {} (phase "A") (map (fn (n) (step (str n "WORD") {:name "reader"})) (range 3)))"""
    run(tmp_path, program, run_id="a")
    run(tmp_path, program.replace('"WORD"', '(if (= n 1) "?" "WORD")'), run_id="b", fork=Fork("a"))
    status, said = command(workflow_diff.main, "a", "b", "--run-dir", str(tmp_path))
    assert (status, said.splitlines()[4:]) == (
        1,
        [
            "2 kept by B, 1 edited",
            "edited  agent reader_2 → reader_1  phase A",
            "  - prompt: 1WORD",
            "  + prompt: 1?",
            '  - "1WORD"',
            '  + "1?"',
        ],
    )


@pytest.mark.usefixtures("llm")
def test_show_names_the_runs_inside(tmp_path: Path, command: Show) -> None:
    program = """(define (inner n) (defworkflow inner "" {} (phase "I") n))
    (defworkflow w "" {} (phase "A") (map inner (range 42)))"""
    run(tmp_path, program, run_id="a")
    inside = [json.loads(line)["run_id"] for line in (tmp_path / "a" / "nested.jsonl").read_text().splitlines()]
    assert len(inside) == 42
    for options, shown in ((), inside[:40]), (("--all",), inside):
        status, said = command(workflow_show.main, "a", "--run-dir", str(tmp_path), *options)
        assert status == 0
        lines = [line.split() for line in said.partition("\nruns inside:\n")[2].partition("\n\n")[0].splitlines()]
        assert [line[1] for line in lines[: len(shown)]] == shown
        assert lines[len(shown) :] == ([] if options else [["...", "2", "more", "(--all)"]])
        assert lines[0][:4] == ["inner", inside[0], "✓", "success"]
    status, said = command(workflow_show.main, "a", "--run-dir", str(tmp_path), "--json")
    assert [(one["run_id"], one["workflow"]) for one in json.loads(said)["nested"]] == [
        (one, "inner") for one in inside
    ]
    assert [one.run_id for one in reading.open_run(tmp_path, "a").nested] == inside


def test_leaves_that_were_taken_over_are_no_difference(real: Path, tmp_path: Path, command: Show) -> None:
    import shutil

    shutil.copytree(real / "first", tmp_path / "whole")
    shutil.copytree(real / "first", tmp_path / "taken")  # all from memos but what had failed: the second segment alone
    (tmp_path / "taken" / "events.resume-1.jsonl").replace(tmp_path / "taken" / "events.jsonl")
    status, said = command(workflow_diff.main, "whole", "taken")
    assert (status, said.splitlines()[4]) == (0, "3 kept by B, 1 same")
    status, said = command(workflow_diff.main, "taken", "whole")
    assert (status, said.splitlines()[4]) == (0, "1 same, 3 kept by A")
    shutil.rmtree(tmp_path / "taken" / "memo")
    status, said = command(workflow_diff.main, "whole", "taken")
    assert (status, said.splitlines()[4]) == (1, "3 removed, 1 same")
