"""Tools, agents and the loop between them."""

from __future__ import annotations

import re
from typing import Any

import pytest
from llm_support import llm as llm
from llm_support import run

from sema_runtime.values.errors import LlmError, SemaError
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")


def playing(*turns: str) -> str:
    """A provider that answers with these Sema expressions in turn; `asked` holds its requests."""
    return f"""
    (define asked '())
    (define turns (list {" ".join(f"(fn () {turn})" for turn in turns)}))
    (llm/define-provider :player {{:complete (fn (req)
      (set! asked (append asked (list req)))
      (let ((turn (first turns))) (when (> (length turns) 1) (set! turns (rest turns))) (turn)))}})
    (define (call name arguments) {{:tool-calls [{{:id "c" :name name :arguments arguments}}]}})
    (define (last-told) (:content (last (:messages (last asked)))))
    """


def text(program: str) -> str:
    return to_text(run(program))


# Tools


def test_tools_print_and_answer() -> None:
    tool = '(deftool add "Adds" {:a {:type :number} :b {:type :number :optional #t}} (fn (a b) (list a b)))'
    assert text(tool) == "<tool add>"
    assert text(tool + "(list (type add) (tool? add) (tool? 1) (tool/name add) (tool/description add))") == (
        '(:tool #t #f "add" "Adds")'
    )
    assert text(tool + "(tool/invoke add {:a 1})") == "(1 nil)"
    assert text('(deftool t "d" {} {:policy-subjects [{:kind :command :command-arg :c}]} (fn () 1))') == "<tool t>"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("(deftool t 5 {} (fn () 1))", "deftool argument 2 expected string, got int"),
        ('(deftool t "d" {} {:bad 1} (fn () 1))', "deftool: unknown option :bad"),
        ('(deftool t "d" {} 5 (fn () 1))', "deftool: options must be a map, got int"),
        (
            '(deftool t "d" {} {:policy-subjects 5} (fn () 1))',
            "deftool: :policy-subjects must be a list or vector, got int",
        ),
        *(
            (f'(deftool t "d" {{}} {{:policy-subjects [{subject}]}} (fn () 1))', f"deftool: policy subject 1 {problem}")
            for subject, problem in (
                ("5", "must be a map, got int"),
                ("{}", "is missing :kind"),
                ("{:kind 5}", ":kind must be a keyword or string, got int"),
                ("{:kind :bogus}", "has unsupported :kind :bogus"),
                ("{:kind :file-read}", "is missing :path-arg"),
                ('{:kind "command" :command-arg :c :zzz 1}', "has unknown key :zzz"),
                ("{:kind :network-request :url-arg :u :method 5}", ":method must be a keyword or string, got int"),
                ("{:kind :external-action :action 5}", ":action must be a keyword or string, got int"),
            )
        ),
        ("(defagent a nil)", "expected map, got nil"),
        (
            '(deftool t "d" {:n {:type :int} :s :string} (fn (n s) 1)) (tool/invoke t {:n 1.5})',
            "invalid arguments for tool 't': key n: expected int, got float; missing key: s",
        ),
    ],
)
def test_tool_errors(program: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(program)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("handler", "result"),
    [
        ("(fn (b-c a) (list a b-c))", "(1 2)"),
        ("(fn (a other) (list a other))", "(1 nil)"),
        ("(fn () :none)", ":none"),
        ("(fn (a . more) (list a more))", "(1 ())"),
        ("list", "(1 2)"),
    ],
)
def test_arguments_go_to_the_parameters_of_the_same_name(handler: str, result: str) -> None:
    tool = f'(deftool t "d" {{:a {{:type :int}} :b-c {{:type :int}}}} {handler})'
    assert text(tool + "(tool/invoke t {:a 1 :b-c 2})") == result


def test_defaults_and_python_handlers() -> None:
    from sema_runtime.lib.llm.tools import make_tool

    assert text('(deftool t "d" {:n {:type :int :default 7}} (fn (n) n)) (tool/invoke t {})') == "7"
    parameters = run("{:path {:type :string} :limit {:type :int :optional #t}}")
    tool = make_tool("t", "d", parameters, lambda path, limit=10: f"{path} {limit}")
    assert tool.invoke(run('{:path "x"}')) == "x 10"
    assert tool.invoke(run('{:path "x" :limit 2}')) == "x 2"


def test_parameters_become_a_json_schema() -> None:
    from sema_runtime.llm.tools.schema import json_schema

    parameters = run(
        '{:path {:type :string :description "where"} :n {:type :int :optional #t} :k {:enum [:a "b"]}'
        " :tags {:type [:string]} :v {:type :list :default [1]} :free 5}"
    )
    assert json_schema(parameters) == {
        "type": "object",
        "properties": {
            "free": {"type": "string"},
            "k": {"enum": ["a", "b"]},
            "n": {"type": "integer"},
            "path": {"type": "string", "description": "where"},
            "tags": {"type": "array", "items": {"type": "string"}},
            "v": {"type": "array", "items": {}, "default": [1]},
        },
        "required": ["free", "k", "path", "tags"],
    }


# The loop

TOOLS = """
(deftool add "Adds" {:a {:type :number} :b {:type :number}} (fn (a b) {:sum (+ a b) :of [a b]}))
(deftool boom "Fails" {} (fn () (error "kaboom")))
(defagent helper {:system "Help." :tools [add boom] :max-turns 7})
"""


def test_agent_values() -> None:
    assert text(
        TOOLS + "(list helper (type helper) (agent/max-turns helper) (agent/tools helper) (agent/model helper))"
    ) == ('(<agent helper> :agent 7 (<tool add> <tool boom>) "")')
    assert text('(list (agent {}) (agent/name (agent {:name "x"})) (agent? 1) (agent/max-turns (agent {})))') == (
        '(<agent > "x" #f 10)'
    )


def test_a_run() -> None:
    program = playing('(call "add" {:a 1 :b 2})', '"three"') + TOOLS
    program += """(define answer (agent/run helper "1+2?"))
    (list answer (last-told) (:system (first asked)) (length (:tools (first asked))))"""
    assert text(program) == '("three" "{\\"of\\":[1,2],\\"sum\\":3}" "Help." 2)'


@pytest.mark.parametrize(
    ("turn", "told"),
    [
        ('(call "nope" {})', "Error: LLM error: tool not found: nope"),
        (
            '(call "add" {:a "x"})',
            "Error: LLM error: invalid arguments for tool 'add': key a: expected number, got string; missing key: b",
        ),
        ('(call "boom" {})', "Error: kaboom"),
    ],
)
def test_errors_go_back_to_the_model(turn: str, told: str) -> None:
    assert run(playing(turn, '"ok"') + TOOLS + '(agent/run helper "go") (last-told)') == told


def test_five_errors_in_a_row_end_the_run() -> None:
    with pytest.raises(LlmError) as caught:
        run(playing('(call "boom" {})') + TOOLS + '(agent/run helper "go")')
    assert caught.value.message == "aborting agent run after 5 consecutive tool errors"
    assert re.fullmatch(r"the last one, of tool 'boom' \(<input>:\d+:33\): Error: kaboom", str(caught.value.hint))


def test_the_last_round_still_runs_its_tools_and_its_text_ends_the_history() -> None:
    turn = '{:content "working" :tool-calls [{:id "c" :name "add" :arguments {:a 1 :b 1}}]}'
    program = playing(turn) + TOOLS + '(define r (agent/run (agent {:tools [add] :max-turns 2}) "go" {}))'
    assert text(program + "(list (:response r) (length asked) (map :role (drop 3 (:messages r))))") == (
        '("working" 2 ("assistant" "tool" "assistant"))'
    )


def test_history_and_session_go_round() -> None:
    program = playing('(call "add" {:a 1 :b 2})', '"three"', '"again"', '"more"') + TOOLS
    program += """
    (define one (agent/run helper "1+2?" {:conversation-id "id-1"}))
    (define two (agent/run helper "and?" {:messages (:messages one)}))
    (define three (agent/run helper "so?" {:session (:session one)}))
    (list (map :role (:messages two)) (= (:messages one) (take 4 (:messages two)))
          (map :role (:messages three)) (map message/role (conversation/messages (:session one))))"""
    assert text(program) == (
        '(("user" "assistant" "tool" "assistant" "user" "assistant") #t'
        ' ("user" "user" "assistant" "user" "assistant") (:user :user :assistant))'
    )


def test_callbacks() -> None:
    program = playing('(call "add" {:a 1 :b 2})', '"three"') + TOOLS
    program += """(define seen '())
    (agent/run helper "go" {:on-tool-call (fn (e) (set! seen (append seen (list e))) (error "ignored"))
                            :on-text (fn (s) (set! seen (append seen (list s))))})
    (list (map :event (take 2 seen)) (:args (first seen)) (:error (nth seen 1)) (integer? (:duration-ms (nth seen 1)))
          (last seen))"""
    assert text(program) == '(("start" "end") {:a 1 :b 2} #f #t "three")'


def test_partial_result_of_a_run_that_fails() -> None:
    program = playing('(call "add" {:a 1 :b 2})', '(error "down")') + TOOLS + "(define kept nil)"
    program += '(try (agent/run helper "go" {:on-partial (fn (r) (set! kept r) (error "ignored"))}) (catch e nil))'
    assert text(program + "(map :role (:messages kept))") == '("user" "assistant" "tool")'


def test_a_quoted_tool_name_is_explained() -> None:
    with pytest.raises(SemaError) as caught:
        run(playing('"x"') + '(agent/run (agent {:tools (list (string->symbol "read-file"))}) "go")')
    assert caught.value.message == "expected tool, got symbol"
    assert "without a quote" in str(caught.value.hint)


def test_chat_with_tools() -> None:
    chat = '(llm/chat [(message :user "go")] {:tools [add] :max-tool-rounds 3})'
    assert run(playing('(call "add" {:a 1 :b 2})', '"three"') + TOOLS + chat) == "three"
    none = '(llm/chat [(message :user "go")] {:tools [add] :tool-mode :none}) (nil? (:tools (first asked)))'
    assert run(playing('"plain"') + TOOLS + none) is True


def test_history_goes_through_json() -> None:
    program = playing('(call "add" {:a 1 :b {:c [1 2.5 "x" nil #t]}})', '"three"', '"again"') + TOOLS
    program += """
    (deftool add "Adds" {:a {:type :number} :b {:type :map}} (fn (a b) {:sum a :of b}))
    (define one (agent/run (agent {:tools [add]}) "1+2?" {}))
    (define stored (json/decode (json/encode (:messages one))))
    (define two (agent/run helper "and?" {:messages stored}))
    (list (= stored (:messages one)) (= (take 4 (:messages two)) stored))"""
    assert text(program) == "(#t #t)"


def test_requests_carry_tags_and_ids() -> None:
    from sema_runtime.llm import observers

    seen: list[Any] = []

    class Observer:
        def started(self, call: Any) -> None:
            request = call.request
            seen.append((request.tags, request.metadata, request.conversation_id, request.session_id, request.user_id))

        def ended(self, call: Any) -> None: ...

    observer = Observer()
    observers.observers.append(observer)
    try:
        options = '{:tags [:a "b"] :metadata {:k 1} :conversation-id "c" :session-id "s" :user-id "u"}'
        program = playing('(call "add" {:a 1 :b 2})', '"three"') + TOOLS
        run(program + f'(agent/run helper "go" {options})')
        run(program + '(define one (agent/run helper "go" {})) (agent/run helper "on" {:session (:session one)})')
    finally:
        observers.observers.remove(observer)
    assert seen[:2] == [(("a", "b"), {"k": "1"}, "c", "s", "u")] * 2
    assert len({one[2] for one in seen[2:]}) == 1 and seen[2][2]


# Errors that end a run

SPENDING = """
(define (spent content) {:content content :usage {:prompt-tokens 3 :completion-tokens 2}})
(define asked 0)
(llm/define-provider :player {:complete (fn (req)
  (set! asked (+ asked 1))
  (if (and (nil? (:system req)) (= (length (:messages req)) 1))
    {:tool-calls [{:id "c" :name "ask" :arguments {}}] :usage {:prompt-tokens 3 :completion-tokens 2}}
    (spent (:content (last (:messages req))))))})
"""


def test_a_budget_spent_by_a_tool_ends_the_run() -> None:
    program = SPENDING + '(deftool ask "Asks" {} (fn () (llm/complete "x" {:system "s"})))'
    program += '(llm/with-budget {:max-tokens 8} (fn () (agent/run (agent {:tools [ask]}) "go")))'
    with pytest.raises(LlmError, match="token budget exceeded: used 10 of 8 tokens"):
        run(program)
    program = program.replace("(llm/with-budget", "(try (llm/with-budget", 1) + " (catch e asked))"
    assert run(program) == 2  # the model was not asked once more


def test_a_budget_of_the_tool_itself_is_its_own_affair() -> None:
    program = (
        SPENDING
        + """
    (deftool ask "Asks" {} (fn () (llm/with-budget {:max-tokens 1} (fn () (llm/complete "x" {:system "s"})))))
    (llm/with-budget {:max-tokens 100} (fn () (agent/run (agent {:tools [ask]}) "go")))"""
    )
    assert run(program) == "Error: LLM error: token budget exceeded: used 5 of 1 tokens"


def test_cancelling_a_run_ends_its_tool() -> None:
    program = playing('(call "wait" {})', '"never"')
    program += """
    (define log '())
    (deftool wait "Waits" {} (fn ()
      (try (async/sleep 60000) (catch e (set! log (append log (list (:type e)))) (throw e)))))
    (define task (async (agent/run (agent {:tools [wait]}) "go")))
    (async/sleep 1) (async/cancel task) (async/sleep 1)
    (list log (length asked) (async/cancelled? task))"""
    assert text(program) == "((:cancelled) 1 #t)"


# Calls side by side

TOGETHER = """
(define log '())
(define (note . what) (set! log (append log (list (apply str what)))))
(define running 0)
(define most 0)
(deftool work "Works" {:n {:type :int}} (fn (n)
  (set! running (+ running 1)) (set! most (max most running))
  (async/sleep (- 40 (* 10 n)))
  (set! running (- running 1))
  (if (= n 2) (error "two failed") (str "did " n))))
(define (ask-for . numbers)
  {:tool-calls (map (fn (n) {:id (str "c" n) :name "work" :arguments {:n n}}) numbers)})
(define (result m) (list (:tool-call-id m) (:content m)))
(define (told) (map result (filter (fn (m) (= (:role m) "tool")) (:messages r))))
"""


@pytest.mark.parametrize(("limit", "most"), [("2", 2), ("#t", 3), ("1", 1), ("0", 1), (":x", 1)])
def test_tool_calls_side_by_side_keep_their_order(limit: str, most: int) -> None:
    program = playing("(ask-for 1 2 3)", '"done"') + TOGETHER
    program += f"""(define r (agent/run (agent {{:tools [work]}}) "go" {{:parallel-tools {limit}
      :on-tool-call (fn (e) (note (:event e) (:n (:args e)) (if (:error e) "!" "")))}}))
    (list (told) most (filter (fn (s) (string/starts-with? s "end")) log) (first log))"""
    assert text(program) == (
        f'((("c1" "did 1") ("c2" "Error: two failed") ("c3" "did 3")) {most} ("end1" "end2!" "end3") "start1")'
    )


def test_an_agent_and_chat_can_ask_for_it() -> None:
    program = playing("(ask-for 1 3)", '"done"') + TOGETHER
    assert text(program + '(agent/run (agent {:tools [work] :parallel-tools #t}) "go") most') == "2"
    program += '(llm/chat [(message :user "go")] {:tools [work] :parallel-tools 2}) most'
    assert text(program) == "2"


def test_five_errors_in_one_turn_end_the_run() -> None:
    program = playing("(ask-for 2 2 2 2 2)", '"done"') + TOGETHER
    with pytest.raises(LlmError, match="after 5 consecutive tool errors"):
        run(program + '(agent/run (agent {:tools [work] :parallel-tools #t}) "go")')


WAITING = """
(define log '())
(deftool wait "Waits" {} (fn ()
  (try (async/sleep 60000) (catch e (set! log (append log (list (:type e)))) (throw e)))))
(deftool spend "Spends" {} (fn () (llm/complete "x")))
(define quick (agent {:tools [wait spend] :parallel-tools 3}))
(define (calls . names) {:tool-calls (map (fn (name) {:id name :name name :arguments {}}) names)})
"""


def test_a_spent_budget_ends_the_calls_under_way() -> None:
    program = playing('(calls "spend" "wait")', '{:content "x" :usage {:prompt-tokens 9}}') + WAITING
    program += """
    (define failed (try (llm/with-budget {:max-tokens 5} (fn () (agent/run quick "go"))) (catch e (:reason e))))
    (async/sleep 1) (list log failed)"""
    assert text(program) == "((:cancelled) :budget)"


def test_cancelling_a_run_ends_the_calls_under_way() -> None:
    program = playing('(calls "wait" "wait" "wait" "wait")') + WAITING
    program += """
    (define task (async (agent/run quick "go")))
    (async/sleep 1) (async/cancel task) (async/sleep 1) (list log (async/cancelled? task))"""
    assert text(program) == "((:cancelled :cancelled :cancelled) #t)"


def test_chat_refuses_what_is_no_tool() -> None:
    with pytest.raises(SemaError, match="expected tool, got int"):
        run(playing('"x"') + '(llm/chat [(message :user "go")] {:tools [5]})')
