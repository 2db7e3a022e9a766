"""Runs that are broken off and resumed: what was finished is never done again, and the result is the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from llm_support import Answer, Received, chat_reply, serving
from llm_support import llm as llm
from paths import TESTS
from workflow_schema import journals_fit_their_schema as journals_fit_their_schema
from workflow_support import COUNTING, error_of, run

from sema_runtime.values.printer import to_text
from sema_runtime.workflow.journal.writer import claim, claim_segment

pytestmark = pytest.mark.usefixtures("llm")

KILLS = TESTS / "support" / "workflow" / "workflow_kills.py"
FLOW = (
    COUNTING
    + """
(defworkflow w "" {:budget {:tokens 15}}
  (phase "A")
  (define seed (checkpoint :seed (length prompts)))
  (define xs (pipeline (range 2) (fn (n) (step (str "item " n) {:name "reader"}))))
  {:status :success :xs xs :twice (step "item 0" {:name "reader"}) :seed seed})
"""
)
RESULT = '{:seed 0 :status :success :twice "<item 0>" :xs ("<item 0>" "<item 1>")}'


# Killed


@pytest.mark.parametrize(("how", "slow"), [("resumed", ""), ("points", "1")])
def test_killed_at_every_point(how: str, slow: str) -> None:
    """slow: on a disk that a thread waits for."""
    done = subprocess.run(
        [sys.executable, KILLS, how, "1"],
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "SLOW_DISK": slow},
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["kills"] >= 100


def test_killed_and_stopped_at_random() -> None:
    """SEMA_TRIALS=500 for many; the bill of a server is what the journals are held against."""
    number = os.environ.get("SEMA_TRIALS", "12")
    done = subprocess.run(
        [sys.executable, KILLS, "trials", number], capture_output=True, text=True, timeout=120 + 5 * int(number)
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["trials"] == int(number)


def test_killed_while_calls_are_under_way(tmp_path: Path) -> None:
    """Three calls: one answered, two hang when the process is killed. Then the first is not asked again."""
    (tmp_path / "w.sema").write_text(
        """(llm/configure :openai {:api-key "sk-test" :base-url (env "BASE") :default-model "gpt-5.5"})
           (defworkflow w "" {} (parallel (map (fn (n) (fn () (step (str "item " n)))) (range 3))))"""
    )
    hanging, over = threading.Event(), threading.Event()
    asked: list[str] = []

    def answer(received: Received) -> Answer:
        prompt = received.body["messages"][-1]["content"]
        asked.append(prompt)
        late = prompt != "item 0" and not over.is_set()
        if len(asked) == 3:
            hanging.set()
        return Answer(body=chat_reply(f"<{prompt}>"), wait=over if late else None)

    def command(*more: str) -> list[str]:
        return [sys.executable, "-m", "semac.cli.entry", "workflow", "run", "w.sema", "--run-dir", "runs", *more]

    with serving(answer) as server:
        environment = {**os.environ, "BASE": f"{server.url}/v1"}
        first = subprocess.Popen(command(), cwd=tmp_path, env=environment, stderr=subprocess.PIPE, text=True)
        assert hanging.wait(60)
        assert first.stderr is not None
        while "step_1" not in first.stderr.readline():  # its result was written down
            pass
        first.send_signal(signal.SIGKILL)
        first.wait()
        over.set()
        run_id = os.listdir(tmp_path / "runs")[0]
        again = subprocess.run(
            command("--resume", run_id), cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=60
        )
    assert again.returncode == 0, again.stderr
    assert sorted(asked) == ["item 0", "item 1", "item 1", "item 2", "item 2"]
    result = json.loads((tmp_path / "runs" / run_id / "result.json").read_text())
    assert result["value"] == ["<item 0>", "<item 1>", "<item 2>"]
    assert "1 kept from before" in again.stderr


# Resumed


def test_nothing_is_done_twice(tmp_path: Path) -> None:
    first = run(tmp_path, FLOW, run_id="a")
    assert to_text(first.value) == RESULT
    assert first.prompts() == ["item 0", "item 1", "item 0"]
    again = run(tmp_path, FLOW, run_id="a", resume=True)
    assert to_text(again.value) == RESULT
    assert again.prompts() == []
    assert [one["event"] for one in again.events("events.resume-1.jsonl")] == [
        "run.started", "phase.started", "phase.ended", "run.ended",
    ]  # fmt: skip
    third = run(tmp_path, FLOW, run_id="a", resume=True)
    assert third.events("events.resume-2.jsonl")[0]["seq"] == 0
    assert (third.folder() / "metadata.json").exists()


def test_a_memo_that_is_deleted_runs_its_leaf_again(tmp_path: Path) -> None:
    first = run(tmp_path, FLOW, run_id="a")
    memos = {path.read_text(): path for path in sorted((first.folder() / "memo").iterdir())}
    memos['"<item 1>"\n'].unlink()
    assert run(tmp_path, FLOW, run_id="a", resume=True).prompts() == ["item 1"]
    assert memos['"<item 1>"\n'].read_text() == '"<item 1>"\n'


@pytest.mark.parametrize("other", [{"code_version": "v2"}, {"args_json": '{"a":1}'}])
def test_another_program_or_other_arguments_find_nothing(tmp_path: Path, other: dict[str, str]) -> None:
    run(tmp_path, FLOW, run_id="a")
    again = run(tmp_path, FLOW, run_id="a", resume=True, **other)
    assert again.prompts() == ["item 0", "item 1", "item 0"]
    assert to_text(again.value) == RESULT


def test_kept_values_are_given_though_the_budget_is_used_up(tmp_path: Path) -> None:
    flow = COUNTING + '(defworkflow w "" {:budget {:tokens 4}} (checkpoint :x (list (step "b") (step "a"))) (step "b"))'
    first = run(tmp_path, flow, run_id="a")
    assert first.prompts() == ["b"]
    flow = flow.replace('(checkpoint :x (list (step "b") (step "a")))', '(checkpoint :y (list (step "a") (step "b")))')
    again = run(tmp_path, flow, run_id="a", resume=True)
    assert again.prompts() == ["a"]
    assert again.of("checkpoint", "events.resume-1.jsonl")[0]["value"] == '("<a>" "<b>")'


def test_what_cannot_be_kept_runs_again(tmp_path: Path) -> None:
    flow = '(define n 0) (defworkflow w "" {} (workflow/step "a" (fn () (set! n (+ n 1)) :keyword))) n'
    assert run(tmp_path, flow, run_id="a").value == 1
    assert run(tmp_path, flow, run_id="a", resume=True).value == 1


def test_a_run_that_does_not_exist(tmp_path: Path) -> None:
    flow = '(defworkflow w "" {} 1)'
    journal = tmp_path / "a" / "events.jsonl"
    said = error_of(tmp_path, flow, run_id="a", resume=True)
    assert said == f"workflow/run: cannot resume: no prior run journal at {journal}"
    said = error_of(tmp_path, flow, resume=True)
    assert said == "workflow/run: workflow resume requires an explicit run id (set SEMA_WORKFLOW_RUN_ID)"


def test_two_at_once(tmp_path: Path) -> None:
    """Neither a run that is going on nor one that is being resumed can be resumed beside it."""
    _, going_on = claim(str(tmp_path), "a")
    with pytest.raises(ValueError, match='workflow run "a" is still running; resume it when it has ended'):
        claim_segment(str(tmp_path), "a")
    going_on.close()
    _, resumed = claim_segment(str(tmp_path), "a")
    with pytest.raises(ValueError, match="still running"):
        claim_segment(str(tmp_path), "a")
    resumed.close()
    _, again = claim_segment(str(tmp_path), "a")
    assert again.path.endswith("events.resume-2.jsonl")
    again.close()
