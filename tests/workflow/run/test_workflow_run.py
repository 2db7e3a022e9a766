"""Runs of workflows: envelopes, phases, steps, checkpoints, budgets, and what is in the journal of them."""

from __future__ import annotations

import os
import resource
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from workflow_support import COUNTING, Ran, error_of, run

from sema_runtime.values.atoms import keyword
from sema_runtime.values.printer import to_text
from sema_runtime.workflow.journal.events import EVENTS
from sema_runtime.workflow.run import scope
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")


def names(events: list[dict[str, Any]]) -> list[str]:
    return [event["event"] for event in events]


# Envelopes


@pytest.mark.parametrize(
    ("body", "envelope", "ended"),
    [
        ("{:status :success :n 1}", "{:n 1 :status :success}", ("success", None)),
        ("{:status :failed :why 1}", "{:status :failed :why 1}", ("success", None)),
        ("41", "{:status :success :value 41}", ("success", None)),
        ("nil", "{:status :success :value nil}", ("success", None)),
        ('(error "no")', '{:error "no" :status :failed}', ("failed", "workflow body returned an error")),
        ("(car 5)", None, ("failed", "workflow body returned an error")),
    ],
)
def test_envelopes(tmp_path: Path, body: str, envelope: str | None, ended: tuple[str, str | None]) -> None:
    ran = run(tmp_path, f'(defworkflow w "doc" {{}} {body})')
    if envelope is not None:
        assert to_text(ran.value) == envelope
    last = ran.events()[-1]
    assert (last["event"], last["status"], last.get("reason")) == ("run.ended", *ended)
    assert ran.result()["status"] in ("success", "failed")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('(phase "a")', "workflow/phase outside a workflow/run"),
        ("(checkpoint :a)", "checkpoint outside a workflow/run"),
        ("(checkpoint :a 1)", "checkpoint outside a workflow/run"),
        ("(workflow/mcp-handle 'a)", "workflow/mcp-handle outside a workflow/run"),
        ("(phase :a)", "expected string, got keyword"),
        ("(workflow/checkpoint 1)", "expected keyword or string, got int"),
        ("(workflow/run :a 1 2 (fn () 1))", "expected string, got keyword"),
        ('(workflow/run "a" 1 2)', "workflow/run expects 4 arguments, got 3"),
        ('(workflow/run "a" "" {} 5)', "expected function, got int"),
    ],
)
def test_outside_of_a_run(tmp_path: Path, text: str, message: str) -> None:
    assert error_of(tmp_path, text) == message


def test_a_step_outside_of_a_run_just_runs(tmp_path: Path) -> None:
    ran = run(tmp_path, COUNTING + '(list (step "hello" {:name "a"}) (workflow/tool-call "t"))')
    assert to_text(ran.value) == '("<hello>" nil)'
    assert not any(tmp_path.iterdir())


def test_anything_will_do_as_doc_and_meta(tmp_path: Path) -> None:
    ran = run(tmp_path, '(workflow/run "a" 5 "meta" (fn () 1))')
    assert '"doc": ""' in (ran.folder() / "metadata.json").read_text()


def test_a_run_inside_a_run_has_its_own_directory(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(defworkflow outer "" {} (phase "A")
             (define inner (try (defworkflow inner "" {} (phase "B") (error "no")) (catch e :raised)))
             (checkpoint :after 1) inner)""",
        run_id="outer-run",
    )
    assert ran.value.lookup(keyword("status")) is keyword("failed")
    assert len(list(tmp_path.iterdir())) == 2
    assert names(ran.events(run_id="outer-run")) == [
        "run.started", "phase.started", "checkpoint", "phase.ended", "run.ended",
    ]  # fmt: skip


# What is in the journal


def test_declared_phases_and_times(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        '(defworkflow w "" {:phases ["A" :b 5]} (phase "A") (phase "b") (error "x"))',
        args_json='{"a": 1}',
    )
    events = ran.events()
    assert events[0]["phases"] == ["A", "b"]
    assert events[0]["args_json"] == '{"a": 1}'
    assert [(one["phase"], one["status"]) for one in ran.of("phase.ended")] == [("A", "success"), ("b", "failed")]
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert all(event["event"] in EVENTS for event in events)
    assert events[0]["ts"].endswith("Z")


def test_steps_and_their_usage(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        COUNTING
        + """(llm/set-pricing "counting" 1 1)
        (defworkflow w "" {:budget {:tokens 100}} (phase "A")
          (step "one" {:name :reader})
          (step "two" {:name "reader"})
          (workflow/step "plain" (fn () 5))
          (workflow/step {} (fn () nil)))""",
    )
    started = ran.of("agent.started")
    assert [one["agent_id"] for one in started] == ["reader_1", "reader_2", "plain_1", "step_1"]
    assert started[0]["prompt"] == "one"
    assert "prompt" not in started[2]
    result = ran.of("agent.result")[0]
    assert (result["status"], result["output"], result["model"]) == ("ok", '"<one>"', "counting")
    first, second = ran.of("budget")
    assert (first["agent_id"], first["phase_seq"], first["input_tokens"], first["budget_limit"]) == (
        "reader_1",
        1,
        3,
        100,
    )
    assert first["cost_usd"] == pytest.approx(5e-6)
    assert first["seq"] == result["seq"] + 1
    assert second["agent_id"] == "reader_2"


def test_side_by_side_every_step_counts_its_own_calls(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        COUNTING
        + """(defworkflow w "" {}
          (parallel (map (fn (n) (fn ()
            (workflow/step {:name "many" :prompt (str n)}
              (fn () (async/map (fn (k) (llm/complete (str n "-" k))) (range n))))))
            (range 1 6)))) """,
    )
    used = {one["agent_id"]: one["input_tokens"] for one in ran.of("budget")}
    assert used == {f"many_{n}": 3 * n for n in range(1, 6)}


def test_answers_of_the_cache_are_not_charged(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        COUNTING + '(defworkflow w "" {} (llm/with-cache (fn () (step "a") (step "a"))))',
    )
    assert [one["agent_id"] for one in ran.of("budget")] == ["step_1"]


def test_tools_of_a_step_are_journaled(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """
        (define asked 0)
        (llm/define-provider :tooling {:default-model "m" :complete (fn (req)
          (set! asked (+ asked 1))
          (if (= asked 1)
            {:content "" :tool-calls [{:id "1" :name "add" :arguments {:a 1 :b 2}}]}
            {:content "done"}))})
        (deftool add "Adds" {:a {:type :number} :b {:type :number}} (fn (a b) (+ a b)))
        (defworkflow w "" {} (workflow/tool-call :outside) (step "add up" {:name "adder" :tools [add]}))""",
    )
    call, result = ran.of("agent.tool_call"), ran.of("agent.tool_result")
    assert [(one["agent_id"], one["tool_name"]) for one in call] == [("adder_1", "add")]
    assert call[0]["args_json"] == "{:a 1 :b 2}"
    assert result[0]["result"] == "gated"


def test_tool_calls_of_a_step_by_hand(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(defworkflow w "" {} (workflow/step "a" (fn ()
             (workflow/tool-call :gated) (workflow/tool-call "text" "as it is")
             (workflow/tool-call "map" {:a [1]}))))""",
    )
    assert [one["args_json"] for one in ran.of("agent.tool_call")] == ["gated", "as it is", "{:a [1]}"]


@pytest.mark.parametrize(
    ("answer", "schema", "value"),
    [
        ("(+ 1 2) (* 3 4)", ":sema-form", "((+ 1 2) (* 3 4))"),
        ('{\\"n\\": 5}', "{:n {:type :number}}", "{:n 5}"),
    ],
)
def test_schemas(tmp_path: Path, answer: str, schema: str, value: str) -> None:
    ran = run(
        tmp_path,
        f'(llm/define-provider :p {{:default-model "m" :complete (fn (req) "{answer}")}})'
        f'(defworkflow w "" {{}} (step "go" {{:schema {schema}}}))',
    )
    assert to_text(ran.value.lookup(keyword("value"))) == value


def test_a_step_that_fails(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(defworkflow w "" {}
             (define kept (parallel (list (fn () (workflow/step "a" (fn () (error "no")))) (fn () 2))))
             kept)""",
    )
    assert to_text(ran.value) == "{:status :success :value (nil 2)}"
    assert ran.of("agent.result")[0]["output"] == "error: no"
    assert not (ran.folder() / "memo").exists()


def test_checkpoints(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(define (late) (checkpoint "n"))
           (defworkflow w "" {}
             (define first (checkpoint :n (+ 1 2)))
             (define failed (try (checkpoint :bad (error "no")) (catch e nil)))
             (list first (late) (checkpoint :missing) failed))""",
    )
    assert to_text(ran.value.lookup(keyword("value"))) == "(3 3 nil nil)"
    assert [one["key"] for one in ran.of("checkpoint")] == ["n"]


def test_tasks_that_outlive_the_run_write_nothing(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(define late nil)
           (defworkflow w "" {} (set! late (async (async/sleep 5) (workflow/step "late" (fn () 1)))) 1)
           (await late)""",
    )
    assert ran.value == 1
    assert names(ran.events()) == ["run.started", "run.ended"]


def test_steps_that_outlive_the_run_end_with_it(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(define late nil)
           (defworkflow w "" {} (set! late (async (workflow/step "late" (fn () (async/sleep 20) 1)))) (async/sleep 5))
           (await late)""",
    )
    assert ran.value == 1
    assert [one["output"] for one in ran.of("agent.result")] == ["error: the run ended before this step"]
    assert ran.events()[-1]["event"] == "run.ended"


def test_secrets_of_servers_are_not_in_the_metadata(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(workflow/run "w" "" {:mcp {:a {:url "https://example.com" :headers {"Authorization" "Bearer sk-secret"}
                                          :env {"TOKEN" "sk-secret"}}}} (fn () 1))""",
    )
    text = (ran.folder() / "metadata.json").read_text()
    assert "sk-secret" not in text
    assert text.count("<redacted>") == 2
    assert ran.events()[-1]["reason"] == "mcp declaration invalid"


# Budgets


def test_the_step_that_passes_the_limit_is_the_last(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        COUNTING
        + """(defworkflow w "" {:budget {:tokens 10.9}}
               (define xs (list (step "a") (step "b") (step "c") (step "d")))
               (checkpoint :xs xs) {:status :success})""",
    )
    assert to_text(ran.value) == '{:reason "budget exceeded" :status :failed}'
    assert ran.prompts() == ["a", "b", "c"]  # 10 is not above the limit
    assert ran.of("checkpoint")[0]["value"] == '("<a>" "<b>" "<c>" nil)'
    assert (ran.events()[-1]["status"], ran.events()[-1]["reason"]) == ("failed", "budget exceeded")


def test_limits_in_dollars_count_priced_calls_only(tmp_path: Path) -> None:
    flow = '(defworkflow w "" {:budget {:usd 0.000006}} (step "a") (step "b") (step "c"))'
    assert run(tmp_path / "free", COUNTING + flow).prompts() == ["a", "b", "c"]
    priced = run(tmp_path / "priced", COUNTING + '(llm/set-pricing "counting" 1 1)' + flow)
    assert priced.prompts() == ["a", "b"]


def test_limits_of_the_command_line_take_the_place_of_the_files(tmp_path: Path) -> None:
    text = COUNTING + '(defworkflow w "" {:budget {:tokens 1000}} (step "a") (step "b"))'
    assert run(tmp_path, text, max_tokens=4).prompts() == ["a"]


def test_with_reserve_nothing_is_sent_that_could_pass_the_limit(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        COUNTING
        + """(defworkflow w "" {:budget {:tokens 5 :reserve #t}}
               (try (step "a") (catch e nil)) (step "b") (checkpoint :end 1) 1)""",
    )
    assert ran.prompts() == []
    assert to_text(ran.value) == '{:reason "budget exceeded" :status :failed}'
    assert len(ran.of("agent.started")) == 1


# The directory


@pytest.mark.parametrize(
    ("run_id", "why"),
    [
        ("a/b", "must not contain a path separator"),
        ("a\\b", "must not contain a path separator"),
        ("a..b", "must not contain '..'"),
        (".", "must not be only '.' characters"),
        ("a\x07", "must not contain NUL or control characters"),
    ],
)
def test_unsafe_run_ids(tmp_path: Path, run_id: str, why: str) -> None:
    said = error_of(tmp_path, '(defworkflow w "" {} 1)', run_id=run_id)
    assert said.startswith("workflow/run: workflow run id ")
    assert said.endswith(f" is not a safe directory name: {why}")
    assert not any(tmp_path.iterdir())


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    text = '(defworkflow w "" {} 1)'
    before = run(tmp_path, text, run_id="a").folder() / "events.jsonl"
    kept = before.read_bytes()
    assert error_of(tmp_path, text, run_id="a") == (
        'workflow/run: a workflow run journal for "a" already exists; choose a fresh run id or resume it with --resume'
    )
    assert before.read_bytes() == kept


def test_generated_ids_differ(tmp_path: Path) -> None:
    run(tmp_path, '(defworkflow w "" {} 1) (defworkflow w "" {} 1)')
    found = sorted(one.name.split("_") for one in tmp_path.iterdir())
    assert len(found) == 2
    assert all(parts[0] == "wf" and int(parts[3]) == os.getpid() and len(parts) == 5 for parts in found)


def test_a_directory_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    said = error_of(tmp_path / "file", '(defworkflow w "" {} (error "must not run"))')
    assert said.startswith("workflow/run: ")
    assert "Not a directory" in said or "File exists" in said


def test_the_size_of_the_journal_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_JOURNAL_MAX_BYTES", "600")
    ran = run(tmp_path, '(defworkflow w "" {} (map (fn (n) (checkpoint :n n)) (range 20)) 1)')
    assert ran.value.lookup(keyword("status")) is keyword("success")
    *_, last = ran.events()
    assert (last["event"], last["reason"]) == ("journal.overflow", "journal-size-cap")
    assert last["bytes"] <= 600
    assert ran.result()["status"] == "success"


def test_events_wait_while_the_disk_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The limit of a file's size stands for a full disk: writing fails, in the middle of a line too."""
    monkeypatch.setenv("SEMA_WORKFLOW_JOURNAL_QUEUE", "3")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)

    def limit(size: int) -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))

    session = Session(closed=False)
    session.globals["full"] = lambda: limit(300)
    session.globals["room"] = lambda: limit(soft)
    session.names |= {"full", "room"}
    token = scope.settings.set(replace(scope.Settings(), root=str(tmp_path)))
    try:
        session.run("""(defworkflow w "" {} (full)
                          (map (fn (n) (checkpoint :n n)) (range 8))
                          (room) (checkpoint :end 1) 1)""")
    finally:
        limit(soft)
        scope.settings.reset(token)
    events = Ran(tmp_path, session, None).events()
    overflow = next(event for event in events if event["event"] == "journal.overflow")
    assert overflow["reason"] == "queue-full"
    numbered = [event["seq"] for event in events if "seq" in event]
    assert numbered == sorted(numbered)
    assert len(numbered) + overflow["dropped"] == max(numbered) + 1
    assert events[-1]["event"] == "run.ended"


def test_a_clock_that_goes_backwards(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter(range(2_000_000_000, 0, -1000))
    monkeypatch.setattr(time, "time", lambda: next(clock))
    ran = run(tmp_path, '(defworkflow w "" {} (phase "A") (workflow/step "a" (fn () 1)))')
    events = ran.events()
    assert [event["seq"] for event in events] == list(range(len(events)))
    assert all(event.get("dur_ms", 0) >= 0 for event in events)


# Fan-out


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("(parallel nil)", "()"),
        ('(parallel (list (fn () 1) (fn () (error "x")) (fn () nil)) 2)', "(1 nil nil)"),
        ("(pipeline [1 2])", "(1 2)"),
        ("(pipeline '(1 a 3) (fn (n) (+ n 1)) str)", '("2" nil "4")'),
        ("(parallel-settled (list (fn () {:err 1})))", "({:ok {:err 1}})"),
        ('(:message (:err (first (pipeline-settled (list 1) (fn (n) (error "x"))))))', '"x"'),
        ('(settled-partition (list {:ok 1} {:err "no"} {:ok nil}))', '{:err ("no") :ok (1 nil)}'),
        ("(list (settled/ok? {:ok 1}) (settled/err? {:ok 1}))", "(#t #f)"),
    ],
)
def test_fan_out(tmp_path: Path, text: str, value: str) -> None:
    assert to_text(run(tmp_path, text).value) == value


@pytest.mark.parametrize("limit", ["0", "-1"])
def test_no_room_for_any_task(tmp_path: Path, limit: str) -> None:
    said = error_of(tmp_path, f"(parallel (list (fn () 1)) {limit})")
    assert said == "channel/new: capacity must be at least 1"


def test_no_more_than_the_limit_at_a_time(tmp_path: Path) -> None:
    text = """(define now 0) (define most 0)
      (define (work) (set! now (+ now 1)) (set! most (max most now)) (async/sleep 1) (set! now (- now 1)))
      (parallel (map (fn (n) work) (range 20)){}) most"""
    assert run(tmp_path, text.format("")).value == 8
    assert run(tmp_path, text.format(" 3")).value == 3


def test_retries(tmp_path: Path) -> None:
    text = """(define told (list))
      (define said (try (with-retry {:max 2 :base-ms 1 :on (fn (e n) (set! told (append told (list n))))}
                          (fn () (error "x"))) (catch e (:message e))))
      (list told said)"""
    assert to_text(run(tmp_path, text).value) == '((1 2) "x")'
