"""Programs that others printed run as printed. tests/seeds holds them; here stand the helpers that they leave out.

A provider defined in Sema plays the model.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm

from sema_runtime.values.printer import to_text
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")
SEEDS = Path(__file__).parent / "seeds"

# Lists the TODOs with a command, reads the first file that has one, reports.
CODER_MODEL = """
(define (tool-results request)
  (map :content (filter (fn (m) (= (:role m) "tool")) (:messages request))))
(define (call name arguments)
  {:tool-calls [{:id (str "call-" name) :name name :arguments arguments}]})
(llm/define-provider :player
  {:complete (fn (request)
     (match (tool-results request)
       ([] (call "run-command" {:command "grep -rn TODO src"}))
       ([listing] (call "read-file" {:path (first (string/split listing ":"))}))
       ([listing text] (str "Found: " (string/trim listing) " | " (string/trim text)))))})
"""

# f asks a model; the answer says which provider gave it.
ONE_SCREEN = """
(define asked 0)
(define (provider name answer)
  (llm/define-provider name
    {:default-model (keyword->string name)
     :complete (fn (request)
       (set! asked (+ asked 1))
       (answer (:content (last (:messages request)))))}))
(provider :openai (fn (question) (str "openai: " question)))
(provider :anthropic (fn (question) (throw "out of order")))
(provider :player (fn (question) (if (string/contains? question "12.50") "{\\"amount\\": 12.5}" (str "re: " question))))
(llm/set-default :player)
(define (f) (llm/complete "hello"))
(define text "The invoice is over 12.50 EUR.")
(define conv (conversation/new {:model "player"}))
(define (prompt-fn item) (str "item " item))
(define items [1 2 3])
"""

ORDERS = """
(define (tool/get_orders query)
  (filter (fn (order) (= (:status order) (:status query)))
    [{:status "pending" :amount 80} {:status "paid" :amount 500}
     {:status "pending" :amount 120} {:status "pending" :amount 200}]))
"""

# Each step of a pattern gets the next of the prepared answers.
STEPS = """
(define asked '())
(define answers '())
(define (step prompt options)
  (set! asked (cons (:name options) asked))
  (let ((answer (first answers)))
    (set! answers (rest answers))
    answer))
"""


def run(seed: str, helpers: str) -> Any:
    """The value of a seed after its helpers."""
    session = Session(closed=False)
    session.run(helpers)
    return session.run(seed)


def source(name: str) -> str:
    return (SEEDS / f"{name}.sema").read_text()


def test_the_coding_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "src").mkdir()
    (tmp_path / "src" / "a.py").write_text("# TODO: name things\n")
    monkeypatch.chdir(tmp_path)
    assert run(source("agent"), CODER_MODEL) == "Found: src/a.py:1:# TODO: name things | # TODO: name things"


EXPECTED = {
    "llm/with-budget": '"re: hello"',
    "llm/with-cache": '"re: hello"',
    "llm/with-fallback": '"openai: hello"',
    "llm/extract": "{:amount 12.5}",
    "llm/pmap": '("re: item 1" "re: item 2" "re: item 3")',
}


@pytest.mark.parametrize("form", source("one_screen").splitlines(), ids=lambda form: form.split()[0].strip("("))
def test_the_forms_of_one_screen(form: str) -> None:
    value = run(form, ONE_SCREEN)
    name = form.split()[0].strip("(")
    if name in EXPECTED:
        assert to_text(value) == EXPECTED[name]


def test_a_cached_answer_costs_one_call() -> None:
    form = source("one_screen").splitlines()[1]
    assert to_text(run(f"{form} {form} asked", ONE_SCREEN)) == "1"


def test_a_conversation_is_a_value() -> None:
    form = source("one_screen").splitlines()[4]
    program = f"(let ((said {form})) (list (conversation/last-reply said) (count (conversation/messages conv))))"
    assert to_text(run(program, ONE_SCREEN)) == '("re: ..." 0)'


def test_orders_over_two_turns(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(source("orders"), ORDERS) == 320
    assert capsys.readouterr().out == "Pending orders: 3\n"


def test_a_diagnosis_is_a_map() -> None:
    assert to_text(run(source("diagnosis") + "(:failed report)", "(define (return map) (set! report map))")) == "5"


PATTERNS = [
    ('(react "Why?" (list) 5)', '("Next: look" "Because.")', "Because.", '("react" "react")'),
    (
        '(reflexion "Write." 3)',
        '("draft" "too long" "short" " OK, good")',
        "short",
        '("critic" "actor" "critic" "actor")',
    ),
    ('(tree-of-thought "Think." 3 string-length)', '("a" "ccc" "bb")', "ccc", '("thought" "thought" "thought")'),
    (
        '(define topic "Tea or coffee?") (debate topic "tea" "coffee" 1)',
        '("warm" "strong" "tea wins")',
        "tea wins",
        '("judge" "coffee" "tea")',
    ),
]


@pytest.mark.parametrize(("call", "answers", "result", "asked"), PATTERNS, ids=[row[0].split()[0] for row in PATTERNS])
def test_patterns_of_agents(call: str, answers: str, result: str, asked: str) -> None:
    session = Session(closed=False)
    session.run(STEPS + source("patterns"))
    assert session.run(f"(set! answers '{answers}) {call}") == result
    assert to_text(session.run("asked")) == asked
