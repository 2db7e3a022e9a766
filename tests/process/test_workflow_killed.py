"""What a resumed run makes good after a kill: results that the journal lacks, calls under way; and the latest run."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from paths import DOCS
from workflow_schema import journals_fit_their_schema as journals_fit_their_schema
from workflow_support import COUNTING, error_of
from workflow_support import run as ran
from workflow_trouble import PROVIDER, calls, events, flow, inside, needs_mounts, only_run, said, sema

from sema_runtime import workflow
from sema_runtime.workflow.journal import spend_log
from sema_runtime.workflow.read.recorded_run import open_run
from semac.cli.workflow import diff as workflow_diff
from semac.cli.workflow import show as workflow_show

STEPS = '(defworkflow w "" {} (phase "A") (step "one") (phase "B") (step "two" {:name "second"}) (step "three"))'
DIES_BEFORE_RESULT = "memo.sync.after:2"
DIES_UNDER_WAY = "memo.write.before:2"


def killed(folder: Path, text: str, fault: str, *args: str) -> None:
    assert flow(folder, text, "-q", *args, SEMA_WORKFLOW_FAULT=fault).status == -9


def of(found: list[dict[str, Any]], name: str) -> list[dict[str, Any]]:
    return [event for event in found if event["event"] == name]


def test_a_result_that_the_journal_lacks_is_journaled_once(tmp_path: Path) -> None:
    """The process died between keeping the result and journaling it; the next one too, having done that."""
    killed(tmp_path, PROVIDER + STEPS, DIES_BEFORE_RESULT)
    run = only_run(tmp_path / "runs")
    assert [one["agent_id"] for one in of(events(run), "agent.result")] == ["step_1"]
    shown = said(workflow_show.main, run.name, "--run-dir", str(tmp_path / "runs"))[1]
    assert "note: 1 finished step not in these sums yet; a resume adds them" in shown
    killed(tmp_path, PROVIDER + STEPS, "memo.write.before:1", "--resume", "latest")
    again = events(run, "events.resume-1.jsonl")
    assert [(one["agent_id"], one["output"]) for one in of(again, "agent.result")] == [("second_1", '"<two>"')]
    assert of(again, "agent.started")[0]["prompt"] == "two"
    phase = of(again, "phase.started")[-1]
    (budget,) = of(again, "budget")
    assert (budget["agent_id"], budget["phase_seq"]) == ("second_1", phase["seq"])
    assert (budget["input_tokens"], budget["output_tokens"]) == (3, 2)
    assert flow(tmp_path, PROVIDER + STEPS, "-q", "--resume", "latest").status == 0
    read = open_run(tmp_path / "runs", run.name)
    assert [one.id for one in read.agents if one.status == "ok"] == ["step_1", "second_1", "step_1"]
    assert calls(tmp_path) == ["one", "two", "three", "three"]
    assert read.usage.tokens == 15


def test_a_result_that_the_program_doesnt_come_to_again_counts_too(tmp_path: Path) -> None:
    killed(tmp_path, PROVIDER + STEPS, DIES_BEFORE_RESULT)
    edited = PROVIDER + '(defworkflow w "" {} (step "four"))'
    assert flow(tmp_path, edited, "-q", "--resume", "latest").status == 0
    run = only_run(tmp_path / "runs")
    assert [one["prompt"] for one in of(events(run, "events.resume-1.jsonl"), "agent.started")] == ["four", "two"]
    assert flow(tmp_path, edited, "-q", "--resume", "latest").status == 0
    assert open_run(tmp_path / "runs", run.name).usage.tokens == 15


def test_what_was_under_way_is_presumed(tmp_path: Path) -> None:
    killed(tmp_path, PROVIDER + STEPS, DIES_UNDER_WAY)
    run = only_run(tmp_path / "runs")

    def shown() -> tuple[str, Any]:
        args = (run.name, "--run-dir", str(tmp_path / "runs"))
        told = said(workflow_show.main, *args)[1]
        return told, json.loads(said(workflow_show.main, *args, "--json")[1])["presumed"]

    line = "presumed: 1 step was under way when a process died, and may have been charged besides: second_1"
    text, presumed = shown()
    assert line in text.splitlines()
    assert presumed == [{"segment": 0, "agent_id": "second_1"}]
    for number in (1, 2):  # named once
        assert flow(tmp_path, PROVIDER + STEPS, "-q", "--resume", "latest").status == 0
        told = of(events(run, f"events.resume-{number}.jsonl"), "agent.presumed")
        assert [(one["agent"], one["segment"]) for one in told] == ([("second_1", 0)] if number == 1 else [])
        assert shown()[1] == presumed
    assert calls(tmp_path) == ["one", "two", "two", "three"]


def test_what_was_under_way_in_a_run_inside_is_presumed_by_the_outer_one(tmp_path: Path) -> None:
    """Its sums hold what runs inside used, so it says, too, what they may have used besides."""
    inner = '(define (in n) (defworkflow inner "" {} (step (str "in " n))))'
    text = inner + '(defworkflow w "" {} (step "one") (map in (range 2)))'
    killed(tmp_path, PROVIDER + text, DIES_UNDER_WAY)
    assert flow(tmp_path, PROVIDER + text, "-q", "--resume", "latest").status == 0
    assert calls(tmp_path) == ["one", "in 0", "in 0", "in 1"]
    args = ("latest", "--run-dir", str(tmp_path / "runs"))
    shown = json.loads(said(workflow_show.main, *args, "--json")[1])
    first = shown["nested"][0]["run_id"]
    assert (shown["usage"]["calls"], shown["presumed"]) == (3, [{"run_id": first, "segment": 0, "agent_id": "step_1"}])
    line = "presumed: 1 step of 1 run inside, under way when a process died, may have been charged besides: "
    assert f"{line}{first}" in said(workflow_show.main, *args)[1].splitlines()


@needs_mounts
def test_memos_without_files_are_found(tmp_path: Path) -> None:
    """No room for their files, but for the log: 50 results are kept nevertheless."""
    (tmp_path / "runs").mkdir()
    text = '(defworkflow w "" {} (count (map (fn (n) (step (str "item " n))) (range 50))))'
    (tmp_path / "w.sema").write_text(PROVIDER + text)
    done = inside(
        """mount -t tmpfs -o size=4m,nr_inodes=40 none runs
           for n in 1 2 3 4 5 6 7 8 9 10; do touch runs/filler-$n; done
           $SEMA workflow run w.sema --run-dir runs -q
           rm runs/filler-*
           $SEMA workflow run w.sema --run-dir runs -q --resume latest
           ls runs/*/memo | wc -l > files.txt""",
        tmp_path,
    )
    assert done.status == 0, done.err
    assert int((tmp_path / "files.txt").read_text()) < 40
    assert len(calls(tmp_path)) == 50


# The latest run

NESTED = """(define (inner n) (defworkflow inner "" {} (list (step (str "a " n)) (step (str "b " n)))))
(defworkflow w "" {} (step "one") (list (:value (inner 1)) (:value (inner 2)) (step "last")))"""


def test_latest_is_never_a_run_inside_of_another_one(tmp_path: Path) -> None:
    killed(tmp_path, PROVIDER + NESTED, "memo.write.before:5")  # in the second one
    runs = tmp_path / "runs"
    outer = next(one.name for one in runs.iterdir() if (one / "nested.jsonl").exists())
    assert workflow.latest(runs) == outer
    assert json.loads(said(workflow_show.main, "latest", "--run-dir", str(runs), "--json")[1])["run_id"] == outer
    assert f"A  {outer}" in said(workflow_diff.main, "latest", "latest", "--run-dir", str(runs))[1]
    inner = next(one.name for one in runs.iterdir() if one.name != outer)
    for kind in ("--resume", "--fork"):
        done = flow(tmp_path, PROVIDER + NESTED, kind, inner)
        assert (done.status, done.err) == (
            1, f"error: {inner} ran inside of {outer}: {kind} {outer}, and it is taken up with that one\n"
        )  # fmt: skip
    assert flow(tmp_path, PROVIDER + NESTED, "-q", "--resume", "latest").status == 0
    assert sorted(calls(tmp_path)) == sorted(["one", "a 1", "b 1", "a 2", "b 2", "b 2", "last"])
    assert "the same" in flow(tmp_path, PROVIDER + NESTED, "--replay", "latest").err
    assert flow(tmp_path, PROVIDER + NESTED, "-q", "--fork", "latest").status == 0
    assert len(calls(tmp_path)) == 7


def test_a_kill_before_a_nested_run_begins_leaves_none(tmp_path: Path) -> None:
    killed(tmp_path, PROVIDER + NESTED, "claim.after:2")
    outer = next(one.name for one in (tmp_path / "runs").iterdir() if (one / "nested.jsonl").exists())
    assert workflow.latest(tmp_path / "runs") == outer
    assert flow(tmp_path, PROVIDER + NESTED, "-q", "--resume", "latest").status == 0
    assert sorted(calls(tmp_path)) == sorted(["one", "a 1", "b 1", "a 2", "b 2", "last"])


# Budgets of the whole run


def scoped(limit: str, steps: int = 6) -> str:
    return f"""{PROVIDER}
    (define (ask n) (workflow/step {{:name "s" :prompt (str "item " n)}}
      (fn () (llm/complete (str "item " n) {{:max-tokens 20}}))))
    (defworkflow w "" {{:budget {limit}}} (map ask (range {steps})))"""


def test_a_budget_of_the_run_holds_over_all_resumes(tmp_path: Path) -> None:
    text = scoped("{:tokens 150 :scope :run}", 30)
    first = flow(tmp_path, text, "-q")
    assert (first.status, "budget exceeded" in first.err) == (1, True)
    asked = len(calls(tmp_path))
    assert 2 <= asked < 12
    again = flow(tmp_path, text, "-q", "--resume", "latest")
    assert (again.status, len(calls(tmp_path))) == (1, asked)
    more = flow(tmp_path, text, "-q", "--resume", "latest", "--budget-tokens", "5000")
    assert (more.status, len(calls(tmp_path))) == (0, 30)
    spent = spend_log.of(str(only_run(tmp_path / "runs")))
    assert (spent.tokens, spent.uncertain_calls) == (150, 0)


def test_without_it_each_process_begins_anew(tmp_path: Path) -> None:
    for limit in ("{:tokens 150 :reserve #t}", "{:tokens 150 :reserve #t :scope :process}"):
        folder = tmp_path / str(len(limit))
        folder.mkdir()
        asked = []
        for args in ((), ("--resume", "latest")):
            flow(folder, scoped(limit, 30), "-q", *args)
            asked.append(len(calls(folder)))
        assert asked[1] > asked[0]


def test_calls_under_way_at_a_kill_count_as_held(tmp_path: Path) -> None:
    text = scoped("{:tokens 300 :scope :run}")
    killed(tmp_path, text, "spend.write.after:3")  # two lines for the first call, one for the second
    spent = spend_log.of(str(only_run(tmp_path / "runs")))
    assert (spent.uncertain_calls, spent.tokens) == (1, 5 + spent.uncertain_tokens)
    assert spent.uncertain_tokens > 20
    assert len(calls(tmp_path)) == 1
    assert flow(tmp_path, text, "-q", "--resume", "latest").status == 0
    after = spend_log.of(str(only_run(tmp_path / "runs")))
    assert (after.uncertain_tokens, after.tokens) == (spent.uncertain_tokens, 30 + spent.uncertain_tokens)
    shown = said(workflow_show.main, "latest", "--run-dir", str(tmp_path / "runs"))[1]
    assert f"budget of the whole run: {after.tokens} tokens used, presumed: {after.uncertain_tokens} tokens" in shown


def test_a_run_that_got_the_budget_later_counts_what_its_journal_has(tmp_path: Path) -> None:
    flow(tmp_path, scoped("{}"), "-q")
    done = flow(tmp_path, scoped("{:tokens 31 :scope :run}"), "-q", "--resume", "latest")
    assert (done.status, len(calls(tmp_path))) == (1, 6)


@pytest.mark.parametrize("value", [":forever", "5", '"each"', "nil", "[:run]"])
def test_a_scope_that_is_none(value: str, tmp_path: Path) -> None:
    done = flow(
        tmp_path, PROVIDER + f'(define given {value}) (defworkflow w "" {{:budget {{:usd 5 :scope given}}}} (step "a"))'
    )
    assert (done.status, calls(tmp_path)) == (1, [])
    assert f":budget :scope must be :run or :process, got {value}" in done.err


def test_the_checker_knows_scopes(tmp_path: Path) -> None:
    for value, status in ((":run", 0), ('"process"', 0), (":forever", 1), ("5", 1)):
        (tmp_path / "w.sema").write_text(
            f'(defworkflow w "" {{:budget {{:usd 5 :scope {value}}}}} {{:status :success}})'
        )
        done = sema(tmp_path, "workflow", "check", "w.sema")
        assert done.status == status
        assert ("error[E-BUDGET-SCOPE]: :budget :scope must be :run or :process" in done.out) == bool(status)


# Effects

PAGE = DOCS / "how-to" / "workflows.md"


def test_the_key_of_an_effect_is_the_same_when_it_is_repeated(tmp_path: Path) -> None:
    """The program of the page, killed between the effect of its second checkpoint and the keeping."""
    (text,) = (block for block in PAGE.read_text().split("```sema\n") if "order-book" in block)
    text = text.split("```")[0]
    killed(tmp_path, text, "memo.write.before:2")
    assert flow(tmp_path, text, "-q", "--resume", "latest").status == 0
    orders = [line.split(" ", 1) for line in (tmp_path / "orders.txt").read_text().splitlines()]
    assert [what for _, what in orders] == ["book 1", "book 2", "book 2", "book 3"]
    keys = [key for key, _ in orders]
    assert keys[1] == keys[2]
    assert len({*keys}) == 3
    assert flow(tmp_path, text, "-q").status == 0  # another run, other effects
    assert len({line.split()[0] for line in (tmp_path / "orders.txt").read_text().splitlines()}) == 6


# Locks that can't be had


@pytest.mark.parametrize("code", [errno.ENOLCK, errno.ENOTSUP, errno.EACCES, errno.EPERM])
@pytest.mark.usefixtures("llm")
def test_a_lock_that_cannot_be_had(code: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ran(tmp_path, COUNTING + STEPS, run_id="a")
    before = sorted(os.listdir(tmp_path / "a"))

    def refuse(*_: object) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(fcntl, "flock", refuse)
    said = f"cannot lock the journal ({os.strerror(code)}); keep runs on a file system with locks (flock)"
    for settings in ({"run_id": "a", "resume": True}, {"run_id": "b"}, {}):
        message = error_of(tmp_path, COUNTING + STEPS, **settings)
        assert message.startswith("workflow/run: ")
        assert message.endswith(said)
    assert sorted(os.listdir(tmp_path)) == ["a"]
    assert sorted(os.listdir(tmp_path / "a")) == before
    store = tmp_path / "kv" / "s.json"
    store.parent.mkdir()
    message = error_of(tmp_path, f'(kv/open "s" "{store}") (kv/set "s" "a" 1)')
    assert f"kv/set {store}: its folder can't be locked: {os.strerror(code)}" in message
    assert not store.exists()


def test_a_store_that_a_stopped_program_has_locked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.support import key_value_file

    monkeypatch.setattr(key_value_file, "LOCK_SECONDS", 0.0)
    folder = os.open(tmp_path, os.O_RDONLY)
    fcntl.flock(folder, fcntl.LOCK_EX)
    try:
        message = error_of(tmp_path / "runs", f'(kv/open "s" "{tmp_path / "s.json"}") (kv/set "s" "a" 1)')
    finally:
        os.close(folder)
    assert "another program has locked its folder" in message
    assert not (tmp_path / "s.json").exists()
