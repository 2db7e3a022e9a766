"""`box/…` and agents with :mode :program, from programs of Sema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from llm_support import run
from python_llm_support import playing

from sema_runtime.capabilities import PermissionDenied
from sema_runtime.values.errors import LlmError, SemaError
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm", "pool")  # pool: skips where the machine lacks a layer


def shown(program: str) -> str:
    return to_text(run(program))


@pytest.mark.parametrize(
    ("program", "printed"),
    [
        ('(:value (box/run "{:a [1 \\"x\\" :k (list 1 2)]}"))', '{:a [1 "x" :k (1 2)]}'),
        ('(:status (box/run "(return 1)"))', ":return"),
        ('(let ((r (box/run "(fail {:why 1})"))) (list (:status r) (:value r)))', "(:fail {:why 1})"),
        (
            '(let ((r (box/run "(println 1)\\n(car 5)"))) (list (:reason r) (:line r) (:column r) (:prints r)))',
            '(:type_error 2 1 ("1"))',
        ),
        ('(:value (box/run "(map :n data/rows)" {:data {:rows [{:n 1} {:n 2}]}}))', "(1 2)"),
        (
            "(deftool shout \"Shouts\" {:text {:type :string}} (fn (text) (str text \"!\")))"
            '(:value (box/run "(tool/shout {:text \\"hi\\"})" {:tools [shout]}))',
            '"hi!"',
        ),
        (
            "(define (pick-first rows) (:name (first rows)))"
            '(:value (box/run "(tool/pick {:rows [{:name \\"a\\"}]})" {:tools {:pick pick-first}}))',
            '"a"',
        ),
    ],
)  # fmt: skip
def test_programs(program: str, printed: str) -> None:
    assert shown(program) == printed


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ('(box/run "1" {:dta {}})', "unknown option :dta"),
        ('(box/run "1" {:limits {:wal-ms 5}})', "unknown limit :wal-ms"),
        ('(box/run "1" {:limits {:wall-ms "5"}})', "must be a positive integer"),
        ('(box/run "1" {:tools {:f 5}})', "tool f is no function"),
        ('(box/run "1" {:data [1]})', ":data: expected a map"),
        ('(box/run "1" {:tools {:f {:effect :read}}})', "tool f is a function, a tool, or a map with :tool"),
        ('(box/run "1" {:tools {:f {:tool (fn () 1) :effect :reed}}})', "'read', 'write' or None"),
        ("(box/run 5)", "expected string"),
        ("(box/eval 5 \"1\")", "expected box-session"),
        ("(defagent a {:mode :program :turns 3})", "unknown option :turns"),
        ("(defagent a {:mode :program :max-turns 0})", "turns must be an integer of at least 1"),
        ("(defagent a {:mode :program :protocol :xml})", "unknown protocol"),
        ("(defagent a {:mode :program :budget {:tokens 5}})", ":budget needs"),
        ('(agent/replay (agent {}) "x")', "expected an agent that writes programs"),
    ],
)  # fmt: skip
def test_mistakes_are_named(program: str, message: str) -> None:
    with pytest.raises(SemaError, match=message):
        run(program)


def test_a_function_of_sema_is_called_by_its_names() -> None:
    program = (
        "(define (area width height) (* width height))"
        '(:message (box/run "(tool/area {:width 2 :hight 3})" {:tools {:area area}}))'
    )
    assert "did you mean height?" in run(program)


def test_sessions_keep_what_succeeds() -> None:
    program = """
    (define s (box/session {:data {:n 5}}))
    (box/eval s "(define x (* 2 data/n))")
    (box/eval s "(define x 0) (car x)")
    (define answer (:value (box/eval s "x")))
    (box/close s)
    (list answer s)
    """
    assert shown(program) == "(10 <box-session closed>)"


def test_a_sandbox_takes_it_away(monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime import capabilities

    monkeypatch.setattr(capabilities, "denied", {"process"})
    for program in ('(box/run "1")', "(box/session)"):
        with pytest.raises(PermissionDenied):
            run(program)
    playing("(return 1)")
    with pytest.raises(PermissionDenied):
        run('(defagent a {:mode :program}) (agent/run a "?")')


AGENT = '(defagent analyst {:mode :program :system "You add." :data {:rows [{:n 1} {:n 4}]}}) '


def test_an_agent_answers_with_values_of_sema() -> None:
    asked = playing("(define total (list/sum (map :n data/rows)))", "(return {:total total :by [:n]})")
    assert shown(AGENT + '(agent/run analyst "How much?")') == "{:by [:n] :total 5}"
    contents = [message["content"] for message in asked[0]["messages"]]
    assert contents[0].startswith("You add.") and "data/rows: list of 2, such as {:n 1}" in contents[0]
    assert contents[1].startswith("How much?")


def test_with_options_it_says_all() -> None:
    playing("(car 5)", "(return 7)")
    program = (
        AGENT
        + """
    (let ((r (agent/run analyst "?" {})))
      (list (:status r) (:value r) (:response r) (map :status (:programs r)) (map :reason (:programs r))
            (conversation/length (:session r))))
    """
    )
    assert shown(program) == '(:return 7 "7" (:error :return) (:type_error nil) 5)'


def test_an_agent_without_an_answer_raises() -> None:
    playing('(fail "no such region")')
    with pytest.raises(LlmError, match='agent analyst: the program gave up: "no such region"'):
        run(AGENT + '(agent/run analyst "?")')


def test_conversations_go_on() -> None:
    asked = playing("(return 1)", "(return 2)")
    run(AGENT + '(define r (agent/run analyst "One?" {})) (agent/run analyst "And now?" {:session (:session r)})')
    contents = [message["content"] for message in asked[1]["messages"]]
    assert contents[1].startswith("One?") and contents[2] == "(return 1)" and contents[-1].startswith("And now?")


def test_callbacks() -> None:
    playing("(return (tool/twice {:n 4}))")
    program = """
    (define seen '())
    (define (twice n) (* 2 n))
    (defagent a {:mode :program :tools {:twice twice}})
    (agent/run a "?" {:on-tool-call (fn (e) (set! seen (cons (:event e) seen)))})
    (reverse seen)
    """  # fmt: skip
    assert shown(program) == '("start" "end")'


def test_agents_ask_agents() -> None:
    def answer(request: dict[str, Any]) -> str:
        asked = request["messages"][-1]["content"]
        return '(return (str (tool/clerk {:question "name?"}) "!"))' if "greet" in asked else '(return "Ada")'

    from sema_runtime import ai

    ai.configure("player", complete=answer, default_model="m")
    program = """
    (defagent clerk {:mode :program :system "Knows names."})
    (defagent host {:mode :program :agents [clerk]})
    (agent/run host "greet")
    """
    assert run(program) == "Ada!"


def test_compiled_and_replayed_without_a_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    playing("(println (first data/rows))", "(define ns (map :n data/rows))", "(return (list/sum ns))")
    run(AGENT + '(agent/compile analyst "How much?" "sum.sema")')
    text = (tmp_path / "sum.sema").read_text()
    assert "(define ns" in text and "println" not in text and ";; data/rows: [{n int}]" in text
    playing("(fail 1)")
    assert run(AGENT + '(:value (agent/run-compiled analyst "sum.sema" {:data {:rows [{:n 7}]}}))') == 7
    with pytest.raises(SemaError, match=r"data/rows.0.n: expected integer, got string"):
        run(AGENT + '(agent/run-compiled analyst "sum.sema" {:data {:rows [{:n "7"}]}})')


def test_a_trace_names_its_file(tmp_path: Path) -> None:
    with pytest.raises(SemaError, match="No such file"):
        run(AGENT + f'(agent/run analyst "?" {{:trace "{tmp_path}/none/run.jsonl"}})')


def test_a_pool_is_shared() -> None:
    from sema_runtime.box.shared import shared_pool

    run('(box/run "1")')
    assert shared_pool() is shared_pool()


def test_programs_stand_in_the_journal_of_a_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_RUN_DIR", str(tmp_path))
    playing("(return (tool/twice {:n 4}))")
    program = """
    (define (twice n) (* 2 n))
    (defagent a {:mode :program :tools {:twice twice}})
    (:value (workflow/run "demo" "" {} (fn () (workflow/step "ask" (fn () (agent/run a "?"))))))
    """
    assert run(program) == 8
    (journal,) = tmp_path.rglob("events.jsonl")
    events = [json.loads(line) for line in journal.read_text().splitlines()]
    called = [(event["tool_name"], json.loads(event["args_json"])) for event in events if "args_json" in event
              and event["event"] == "agent.tool_call"]  # fmt: skip
    assert called == [("run_program", {"program": "(return (tool/twice {:n 4}))"}), ("twice", {"n": 4})]


def test_memory_keeps_question_and_answer(tmp_path: Path) -> None:
    asked = playing("(return {:n 1})", "(return 2)")
    program = (
        AGENT
        + f"""
    (define mem (memory/open {{:id "ada" :dir "{tmp_path}"}}))
    (agent/run analyst "One?" {{:memory mem}})
    (agent/run analyst "And now?" {{:memory mem}})
    """
    )
    run(program)
    contents = [message["content"] for message in asked[1]["messages"]]
    assert contents[1:3] == ["One?", "{:n 1}"] and contents[3].startswith("And now?")


def test_tasks_go_on_beside_a_program() -> None:
    """The program waits for a tool that another task must let go: it would be killed if that task stood still."""
    program = """
    (define gate (channel/new 1))
    (define (wait-for-it n) (+ n (channel/recv gate)))
    (define asked (async (:value (box/run "(tool/wait {:n 1})" {:tools {:wait wait-for-it}}))))
    (define other (async (channel/send gate 41)))
    (await other)
    (await asked)
    """
    assert run(program) == 42


def test_programs_run_side_by_side() -> None:
    program = """
    (define here (channel/new 6))
    (define (meet n) (channel/send here n) (when (= n 5) (for-each (fn (i) (channel/recv here)) (range 6))) n)
    (define (one n) (async (:value (box/run "(tool/meet {:n data/n})" {:tools {:meet meet} :data {:n n}}))))
    (map (fn (task) (await task)) (map one (range 6)))
    """
    assert shown(program) == "(0 1 2 3 4 5)"


def test_a_cancelled_task_ends_its_program() -> None:
    program = """
    (define began (channel/new 1))
    (define task (async (box/run "(tool/begin) (let loop () (loop))"
                                 {:tools {:begin (fn () (channel/send began 1))} :limits {:wall-ms 60000}})))
    (channel/recv began)
    (async/cancel task)
    (try (await task) (catch e nil))
    (async/cancelled? task)
    """
    assert run(program) is True


def test_a_session_runs_one_program_at_a_time() -> None:
    program = """
    (define began (channel/new 1))
    (define gate (channel/new 1))
    (define (pass) (channel/send began 1) (channel/recv gate))
    (define s (box/session {:tools {:pass pass}}))
    (define first-one (async (box/eval s "(tool/pass)")))
    (channel/recv began)
    (define said (try (box/eval s "1") (catch e (:message e))))
    (channel/send gate 5)
    (list said (:value (await first-one)) (:value (box/eval s "2")))
    """
    assert shown(program) == '("box/eval: the session runs a program of another task" 5 2)'


def test_what_is_known_of_a_tool() -> None:
    program = """
    (define asked 0)
    (define (look n) (set! asked (+ asked 1)) n)
    (define (told source) (box/run source {:tools {:look {:tool look :effect :read} :twice {:tool look :calls 1}}}))
    (told "(tool/look {:n 1}) (tool/look {:n 1}) (tool/look {:n 2})")
    (list asked (:reason (told "(tool/twice {:n 1}) (tool/twice {:n 2})")))
    """
    assert shown(program) == "(2 :tool_calls_exceeded)"
