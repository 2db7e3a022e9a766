"""`sema workflow run --replay`: a program against the recording of a run; `--fork --at`: from its middle.

No model is asked by either for what the run has: `asked.txt` has a letter for each call of the model.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

PROGRAM = """
(llm/define-provider :fake {:default-model "m"
  :complete (fn (req)
    (file/append "asked.txt" "x")
    (let ((prompt (:content (last (:messages req)))))
      (if (string/contains? prompt "hard") (error "no idea") nil)
      {:content (str "<" prompt ">") :usage {:prompt-tokens 3 :completion-tokens 2}}))})
(define r (defworkflow demo "Demo" {:phases ["Read" "Judge"] :budget {:tokens 100}}
  (phase "Read")
  (checkpoint :files (list "a.md" "b.md" "hard.md"))
  (define mode (checkpoint :mode [:fast "x"]))
  (phase "Judge")
  (define notes (parallel (map (fn (f) (fn () (step (str "Review " f) {:name "reader"}))) (checkpoint :files))))
  (define final (step (str "Summarize " notes) {:name "writer"}))
  {:status :success :final final :n (:n *workflow-args*) :mode (first mode)}))
(println (:final r))
"""
FINAL = '<Summarize ("<Review a.md>" "<Review b.md>" nil)>'


class Done(NamedTuple):
    status: int
    out: str
    err: str


def sema(folder: Path, *arguments: str) -> Done:
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEMA_WORKFLOW")}
    command = [sys.executable, "-m", "semac.cli.entry", "workflow", "run", *arguments]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, env=environment)
    return Done(done.returncode, done.stdout, done.stderr)


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def asked(folder: Path) -> int:
    return len((folder / "asked.txt").read_text())


def events(folder: Path, run_id: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in (folder / ".sema/runs" / run_id / "events.jsonl").read_text().splitlines()]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the program and a run of it."""
    folder = tmp_path_factory.mktemp("replay")
    (folder / "demo.sema").write_text(PROGRAM)
    done = sema(folder, "demo.sema", "--args", '{"n": 3}', "-q")
    assert (done.status, done.out) == (0, FINAL + "\n")
    assert asked(folder) == 4
    return folder


def id_of(folder: Path) -> str:
    return sorted(os.listdir(folder / ".sema" / "runs"))[0]


def test_the_same_program(recorded: Path) -> None:
    run_id = id_of(recorded)
    before = files(recorded)
    done = sema(recorded, "demo.sema", "--replay", run_id)
    assert done == (0, FINAL + "\n", f"replay of {run_id}: the same, 4 steps, 2 checkpoints, status success\n")
    assert files(recorded) == before


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("Summarize ", "Summarise ",
         "step writer (phase Judge) asks something else (event 14 of events.jsonl)\n"
         '  the run:     Summarize ("<Review a.md>" "<Review b.md>" nil)\n'
         '  the program: Summarise ("<Review a.md>" "<Review b.md>" nil)\n'),
        ('(phase "Judge")', '(phase "Judges")', "the program opens phase Judges, the run opened Judge\n"),
        ('(phase "Judge")', '(phase "Judge") (phase "End")',
         "the program opens phase End, the run has no phase behind Judge\n"),
        ('(phase "Judge")\n', "\n",
         "the program comes to step reader (phase Read), the run does in phase Judge (event 6 of events.jsonl)\n"),
        ("(step (str \"Summarize \" notes) {:name \"writer\"})", "1",
         "the run came to step writer (phase Judge), event 14 of events.jsonl, the program doesn't\n"),
        ('{:name "writer"}', '{:name "author"}', "the program comes to step author (phase Judge), the run doesn't: "
         'Summarize ("<Review a.md>" "<Review b.md>" nil)\n'),
        (":files (list", ":more 1) (checkpoint :files (list",
         "the program comes to checkpoint more (phase Read), the run doesn't\n"),
        (":n (:n *workflow-args*)", ":n 4",
         "the result differs\n"
         '  the run:     …mode": "fast", "n": 3, "status": "success"}\n'
         '  the program: …mode": "fast", "n": 4, "status": "success"}\n'),
        ("(define final", '(llm/complete "aside") (define final',
         "the program asks a model outside of a step: what it said is in no journal\n"),
        ("(define final", '(defworkflow inner "" {} 1) (define final',
         "the program comes to workflow inner (phase Judge), the run doesn't\n"),
        ("defworkflow demo", "defworkflow other", "the run is one of the workflow demo, the program runs other\n"),
    ],
)  # fmt: skip
def test_the_first_difference(recorded: Path, tmp_path: Path, old: str, new: str, said: str) -> None:
    run_id = id_of(recorded)
    before = files(recorded)
    edited = tmp_path / "edited.sema"
    edited.write_text(PROGRAM.replace(old, new, 1))
    done = sema(recorded, str(edited), "--replay", run_id)
    assert (done.status, done.err) == (1, f"replay of {run_id} differs: {said}")
    assert files(recorded) == before


def test_the_workflow_that_is_not_reached(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "empty.sema").write_text("(println 1)")
    done = sema(recorded, str(tmp_path / "empty.sema"), "--replay", id_of(recorded))
    assert (done.status, done.out) == (1, "1\n")
    assert done.err.endswith(": the program didn't come to the workflow demo\n")


def test_a_run_that_was_killed_is_replayed_as_far_as_it_came(tmp_path: Path) -> None:
    killed = PROGRAM.replace(
        "(define final", '(if (file/exists? "kill") (shell "kill" "-9" (str (sys/pid))) nil) (define final'
    )
    (tmp_path / "demo.sema").write_text(killed)
    (tmp_path / "kill").touch()
    assert sema(tmp_path, "demo.sema").status == -signal.SIGKILL
    run_id = id_of(tmp_path)
    (tmp_path / "kill").unlink()
    done = sema(tmp_path, "demo.sema", "--replay", run_id)
    assert (done.status, done.err) == (
        0,
        f"replay of {run_id}: the same as far as the run came, 3 steps, 2 checkpoints\n",
    )
    assert sema(tmp_path, "demo.sema", "--resume", run_id).status == 0
    assert asked(tmp_path) == 5  # the one that had failed again, and the last
    done = sema(tmp_path, "demo.sema", "--replay", run_id)
    assert done == (0, FINAL + "\n", f"replay of {run_id}: the same, 4 steps, 2 checkpoints, status success\n")


def test_a_workflow_that_failed_and_one_over_its_budget(tmp_path: Path) -> None:
    failing = PROGRAM.replace("(parallel (map (fn (f) (fn () ", "(map (fn (f) (begin ").replace(
        "(checkpoint :files))))", "(checkpoint :files)))"
    )
    for name, text, steps in (("fails", failing, 3), ("spends", PROGRAM.replace(":tokens 100", ":tokens 8"), 2)):
        (tmp_path / f"{name}.sema").write_text(text)
        done = sema(tmp_path, f"{name}.sema", "--run-dir", name, "-q")
        (run_id,) = os.listdir(tmp_path / name)
        calls = asked(tmp_path)
        again = sema(tmp_path, f"{name}.sema", "--run-dir", name, "--replay", run_id)
        assert again.err == f"replay of {run_id}: the same, {steps} steps, 2 checkpoints, status failed\n"
        assert (again.status, again.out) == (0, done.out)
        assert asked(tmp_path) == calls


def test_what_a_replay_and_a_fork_refuse(recorded: Path) -> None:
    run_id = id_of(recorded)

    def refused(*arguments: str) -> str:
        done = sema(recorded, "demo.sema", *arguments)
        assert (done.status, done.out) == (1, "")
        return done.err

    assert refused("--replay", "nope") == "error: no prior run to replay at .sema/runs/nope/events.jsonl\n"
    assert refused("--replay", "a/b") == "error: --replay run-id must be a bare directory name (no path separators)\n"
    assert refused("--replay", run_id, "--fork", run_id) == "error: --replay and --fork exclude each other\n"
    assert refused("--at", "3") == "error: --at says where to --fork a run\n"
    assert refused("--fork", run_id, "--at", "300") == f"error: --at 300: the journal of {run_id} ends at 0:18\n"
    assert refused("--fork", run_id, "--at", "1:0") == f"error: --at 1:0: the journal of {run_id} ends at 0:18\n"
    assert refused("--fork", run_id, "--at", "-1") == (
        "error: --at takes the seq of an event, or N:SEQ for the Nth resumption, got -1\n"
    )


def test_a_fork_at_no_event_of_the_part_before_a_resumption(recorded: Path) -> None:
    run_id = id_of(recorded)
    assert sema(recorded, "demo.sema", "--resume", run_id).status == 0
    done = sema(recorded, "demo.sema", "--fork", run_id, "--at", "300")
    assert (done.status, done.err) == (1, f"error: --at 300: the journal of {run_id} ends at 0:18\n")


def test_a_fork_at_an_event_has_what_was_finished_by_then(recorded: Path, tmp_path: Path) -> None:
    run_id = id_of(recorded)
    first = next(one["seq"] for one in events(recorded, run_id) if one.get("status") == "ok")
    before = asked(recorded)
    done = sema(recorded, "demo.sema", "--fork", run_id, "--at", str(first))
    assert (done.status, done.out) == (0, FINAL + "\n")
    assert "1 kept from before" in done.err
    assert asked(recorded) == before + 3
    (fork,) = (one for one in os.listdir(recorded / ".sema" / "runs") if one != run_id)
    assert events(recorded, fork)[0]["args_json"] == '{"n": 3}'  # as no others were given
    replayed = sema(recorded, "demo.sema", "--replay", fork)
    assert (replayed.status, replayed.out) == (0, FINAL + "\n")
    assert asked(recorded) == before + 3
    all_of_it = sema(recorded, "demo.sema", "--fork", run_id, "--at", "18")
    assert "3 kept from before" in all_of_it.err
    (recorded / ".sema" / "runs" / fork / "memo.jsonl").unlink()
    assert sema(recorded, "demo.sema", "--fork", fork, "--at", "3").err == (
        f"error: --at can't tell which results of {fork} came first: it has no memo.jsonl; fork it without --at\n"
    )


# Runs inside of runs

NESTED = PROGRAM.replace(
    "(define r (defworkflow demo",
    """(define (inner n) (:value (defworkflow inner "" {} (phase "I") (checkpoint :c n) (step (str "inner " n)))))
(define r (defworkflow demo""",
).replace(
    "(define final ",
    """(define both (parallel (list (fn () (inner 1)) (fn () (inner 2)))))
  (define final """,
)
TOLD = "replay of {}: the same, 6 steps, 4 checkpoints, status success\n"


@pytest.fixture(scope="module")
def nested(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a run that had two runs inside, and its id."""
    folder = tmp_path_factory.mktemp("nested")
    (folder / "demo.sema").write_text(NESTED)
    assert sema(folder, "demo.sema", "-q").status == 0
    (outer,) = (one.parent.name for one in (folder / ".sema" / "runs").glob("*/nested.jsonl"))
    return folder, outer


def test_runs_inside_are_replayed(nested: tuple[Path, str], tmp_path: Path) -> None:
    folder, outer = nested
    before = files(folder)
    assert sema(folder, "demo.sema", "--replay", outer) == (0, FINAL + "\n", TOLD.format(outer))
    first = json.loads((folder / ".sema/runs" / outer / "nested.jsonl").read_text().splitlines()[0])["run_id"]
    for old, new, said in (
        ("inner \" n", "INNER \" n",
         f"in {first}, a run of inner: step step (phase I) asks something else (event 3 of events.jsonl)\n"
         "  the run:     inner 1\n  the program: INNER 1\n"),
        ("(list (fn () (inner 1)) (fn () (inner 2)))", "(list (fn () (inner 1)))", "the run came to workflow inner"),
        ("(step (str \"inner \" n))", "1", f"in {first}, a run of inner: the run came to step step (phase I)"),
    ):  # fmt: skip
        (tmp_path / "edited.sema").write_text(NESTED.replace(old, new, 1))
        done = sema(folder, str(tmp_path / "edited.sema"), "--replay", outer)
        assert done.err.startswith(f"replay of {outer} differs: {said}")
        assert done.status == 1
    assert files(folder) == before


def test_runs_inside_go_on_with_the_one_around_them(nested: tuple[Path, str]) -> None:
    """Or are forked with it: nothing is asked again. The runs inside of a resumed run stay those that they were."""
    folder, outer = nested
    calls, runs = asked(folder), len(os.listdir(folder / ".sema" / "runs"))
    done = sema(folder, "demo.sema", "--resume", outer)
    assert (done.status, done.out) == (0, FINAL + "\n")
    assert asked(folder) == calls + 1  # the step that had failed
    assert len(os.listdir(folder / ".sema" / "runs")) == runs
    done = sema(folder, "demo.sema", "--fork", outer)
    assert (done.status, done.out) == (0, FINAL + "\n")
    assert asked(folder) == calls + 2
    assert len(os.listdir(folder / ".sema" / "runs")) == runs + 3
    assert sema(folder, "demo.sema", "--replay", outer) == (0, FINAL + "\n", TOLD.format(outer))


@pytest.mark.journals_by_hand
def test_a_damaged_recording(recorded: Path, tmp_path: Path) -> None:
    run_id = id_of(recorded)
    shutil.copytree(recorded, tmp_path, dirs_exist_ok=True)
    journal = tmp_path / ".sema" / "runs" / run_id / "events.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    at = next(at for at, line in enumerate(lines) if b"run.ended" in line)
    journal.write_bytes(b"".join([*lines[:1], b"{damaged\n", *lines[1:at], lines[at]]))
    done = sema(tmp_path, "demo.sema", "--replay", run_id)
    assert (done.status, done.out) == (0, FINAL + "\n")
    warning = f"warning: .sema/runs/{run_id}: events.jsonl: 1 damaged line, skipped\n"
    assert done.err == f"{warning}replay of {run_id}: the same, 4 steps, 2 checkpoints, status success\n"
