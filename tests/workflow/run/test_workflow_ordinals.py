"""What was finished is found again however the program comes to it: in retries, in cancelled tasks, inside of steps."""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path

import pytest
from llm_support import llm as llm
from workflow_support import COUNTING, Ran, memos, run

from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")

FLAKY = """
(define prompts (list)) (define lost (list))
(define (lose . texts) (set! lost texts))
(llm/define-provider :flaky
  {:complete (fn (req)
               (let ((prompt (:content (last (:messages req)))))
                 (set! prompts (append prompts (list prompt)))
                 (async/sleep 1)
                 (if (and (not (null? lost)) (= (first lost) prompt))
                   (begin (set! lost (rest lost)) (error "not this time"))
                   {:content (str "<" prompt "/" (length prompts) ">")
                    :usage {:prompt-tokens 3 :completion-tokens 2}})))
   :default-model "flaky"})
"""
"""Answers with the number of the call; fails for the prompts of `lose`, in their order."""


def twice(root: Path, text: str) -> tuple[Ran, Ran]:
    """A run, and the same resumed: nothing is asked again, and the result is the same."""
    first = run(root, text, run_id="r")
    again = run(root, text, run_id="r", resume=True)
    assert to_text(again.value) == to_text(first.value)
    return first, again


RETRIED = {
    "with-retry": '(with-retry {:max 5 :base-ms 0} (fn () (step "a")))',
    "retry": '(retry (fn () (step "a")) {:max-attempts 5 :base-delay-ms 0})',
    "a loop": '(let loop ((n 0)) (try (step "a") (catch e (if (< n 5) (loop (+ n 1)) (throw e)))))',
    "another function": '(try (step "a") (catch e (try (step "a") (catch e (step "a")))))',
    "workflow/step": '(with-retry {:base-ms 0} (fn () (workflow/step "s" (fn () (llm/complete "a")))))',
    "workflow/step with a prompt": """(with-retry {:base-ms 0}
        (fn () (workflow/step {:name "s" :prompt "p"} (fn () (llm/complete "a")))))""",
    "what a function gets": """((fn (p)
        (with-retry {:base-ms 0} (fn () (workflow/step "s" (fn () (llm/complete p)))))) "a")""",
    "in parallel": '(parallel (map (fn (n) (fn () (with-retry {:base-ms 0} (fn () (step "a"))))) (range 3)))',
    "in a pipeline": '(pipeline (range 3) (fn (n) (with-retry {:base-ms 0} (fn () (step "a")))) (fn (x) (step x)))',
    "a nested run": """(with-retry {:base-ms 0} (fn ()
        (let ((made (defworkflow inner "" {} (list (step "before") (step "a")))))
          (if (= (:status made) :failed) (error "again") (:value made)))))""",
    "a checkpoint": '(with-retry {:base-ms 0} (fn () (checkpoint :k (llm/complete "a"))))',
    "a step in a checkpoint": '(with-retry {:base-ms 0} (fn () (checkpoint :k (step "a"))))',
}
TWINS = ("in parallel", "in a pipeline")  # a replay can't tell which of equal steps failed


@pytest.mark.parametrize("how", RETRIED)
def test_the_attempt_that_succeeded_is_kept(how: str, tmp_path: Path) -> None:
    text = f'(lose "a" "a") (defworkflow w "" {{}} (phase "P") (list {RETRIED[how]} (step "last")))'
    first, again = twice(tmp_path, FLAKY + text)
    assert first.prompts().count("a") > 2
    assert again.prompts() == []


def test_a_retried_run_is_replayed(tmp_path: Path) -> None:
    from sema_runtime.workflow.replay.recording import Recording
    from sema_runtime.workflow.replay.replay import ReplayedRun

    bodies = [body for how, body in RETRIED.items() if how not in TWINS]
    for number, body in enumerate((*bodies, '(try (step "a") (catch e (step "b")))')):
        text = FLAKY + f'(lose "a" "a") (defworkflow w "" {{}} (phase "P") (list {body} (step "last")))'
        run(tmp_path / str(number), text, run_id="r")
        recording = Recording(str(tmp_path / str(number)), "r")
        try:
            run(tmp_path / str(number), text, make_run=partial(ReplayedRun, recording))
        except BaseException as error:
            assert type(error).__name__ == "Over", (body, error)
        assert recording.outcome().difference == "", body


def test_another_item_doesnt_get_the_place_of_one_that_failed(tmp_path: Path) -> None:
    """Steps of one name that compute different things: the second item's value isn't that of the first."""
    text = """(lose "item 0")
        (define (ask n) (workflow/step "s" (fn () (llm/complete (str "item " n)))))
        (defworkflow w "" {} (map (fn (n) (try (ask n) (catch e nil))) (range 3)))"""
    first = run(tmp_path, FLAKY + text, run_id="r")
    assert to_text(first.value) == '{:status :success :value (nil "<item 1/2>" "<item 2/3>")}'
    again = run(tmp_path, FLAKY + text.replace('(lose "item 0")', ""), run_id="r", resume=True)
    assert again.prompts() == ["item 0"]
    assert to_text(again.value) == '{:status :success :value ("<item 0/1>" "<item 1/2>" "<item 2/3>")}'


def test_failed_checkpoints_of_other_code_keep_their_places(tmp_path: Path) -> None:
    text = '(defworkflow w "" {} (list (try (checkpoint :k (error "no")) (catch e "-")) (checkpoint :k (+ 1 1))))'
    twice(tmp_path, text)
    assert {one[-1] for one in memos(tmp_path)} == {"1"}


INSIDE = {
    "steps": "(list (checkpoint :k (list (raw 1) (raw 2))) (raw 3) (raw 4))",
    "steps of a step": '(list (workflow/step "outer" (fn () (list (raw 1) (raw 2)))) (raw 3))',
    "steps of tools": """(list (step "use it" {:tools [own]}) (raw 3))""",
    "a failed one": """(list
        (checkpoint :k (list (try (workflow/step "s" (fn () (error "no"))) (catch e 0)) (raw 2))) (raw 3))""",
    "side by side": "(list (parallel (list (fn () (checkpoint :k (list (raw 1) (raw 2)))) (fn () (raw 5)))) (raw 3))",
    "a phase": '(list (checkpoint :k (begin (phase "Inside") 1)) (raw 1) (begin (phase "Next") (raw 1)))',
    "phases": '(list (checkpoint :k (checkpoint :j (begin (phase "Inside") 1))) (raw 1))',
    "checkpoints": """(list
        (checkpoint :k (begin (checkpoint :value 5) 1)) (checkpoint :value) (checkpoint :value (raw 6)))""",
    "nested runs": "(list (checkpoint :k (:value (inner 1))) (:value (inner 2)) (:value (inner 3)))",
    "a task": "(list (checkpoint :k (async/await (async (raw 1)))) (raw 2))",
}


@pytest.mark.parametrize("what", INSIDE)
def test_what_stands_inside_of_something_kept(what: str, tmp_path: Path) -> None:
    """It isn't run again, and what comes after it is found."""
    text = """
        (define (raw n) (workflow/step "s" (fn () (llm/complete (str "raw " n)))))
        (deftool own "Asks" {} (fn () (raw 7)))
        (define (inner n) (defworkflow inner "" {} (phase "I") (list (raw n) (raw (+ n 10)))))
        (defworkflow w "" {} BODY)""".replace("BODY", INSIDE[what])
    _, again = twice(tmp_path, FLAKY + text)
    assert again.prompts() == []
    third = run(tmp_path, FLAKY + text, run_id="r", resume=True)
    assert third.prompts() == []


def test_a_step_that_was_cancelled_gives_its_place_back(tmp_path: Path) -> None:
    text = """(define (hurried) (async/timeout 1 (async (workflow/step "s" (fn () (wait))))))
        (defworkflow w "" {} (try (hurried) (catch e nil)) (workflow/step "s" (fn () (wait))))"""
    slow = "(define waits 0) (define (wait) (set! waits (+ waits 1)) (if (= waits 1) (async/sleep 2000)) waits)"
    first = run(tmp_path, COUNTING + slow + text, run_id="r")
    again = run(tmp_path, COUNTING + slow.replace("waits 1)", "waits 0)") + text, run_id="r", resume=True)
    assert to_text(again.value) == to_text(first.value)
    assert again.session.run("waits") == 0


def test_nested_runs_of_items_that_failed(tmp_path: Path) -> None:
    """Each item has a run of its own, which goes on; a failed one doesn't take the next one's."""
    text = """(lose "b 0")
        (define (inner n) (defworkflow inner "" {} (list (step (str "a " n)) (step (str "b " n)))))
        (defworkflow w "" {} (map (fn (n) (:status (inner n))) (range 3)))"""
    run(tmp_path, FLAKY + text, run_id="r")
    again = run(tmp_path, FLAKY + text.replace('(lose "b 0")', ""), run_id="r", resume=True)
    assert again.prompts() == ["b 0"]


def test_a_nested_run_that_is_repeated_begins_anew(tmp_path: Path) -> None:
    """Also while the run around it is resumed: what an attempt has generated may be why it failed."""
    text = """(define checked 0)
        (define (inner) (defworkflow inner "" {}
          (let ((made (step "make"))) (set! checked (+ checked 1)) (if (< checked MOST) (error "bad") made))))
        (defworkflow w "" {} (with-retry {:base-ms 0}
          (fn () (let ((found (inner))) (if (= (:status found) :failed) (error "again") (:value found))))))"""
    first = run(tmp_path, FLAKY + text.replace("MOST", "9"), run_id="r")
    assert first.prompts() == ["make"] * 3
    again = run(tmp_path, FLAKY + text.replace("MOST", "2"), run_id="r", resume=True)
    assert again.prompts() == ["make"]  # the first attempt goes on with what was made, the second makes its own
    assert to_text(again.value) == '{:status :success :value "<make/1>"}'


def test_a_process_that_died_between_the_note_and_the_nested_run(tmp_path: Path) -> None:
    text = COUNTING + '(defworkflow w "" {} (step "a") (:value (defworkflow inner "" {} (step "b"))))'
    run(tmp_path, text, run_id="r")
    noted = json.loads((tmp_path / "r" / "nested.jsonl").read_text())
    shutil.rmtree(tmp_path / noted["run_id"])
    again = run(tmp_path, text, run_id="r", resume=True)
    assert again.prompts() == ["b"]
    assert run(tmp_path, text, run_id="r", resume=True).prompts() == []
