"""Programs that others printed run as printed. tests/data/seeds holds them; here stand the helpers that they leave out.

A provider defined in Sema plays the model. Where the pages themselves are at hand (../shared/seeds), tests/data/seeds
is held against them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from paths import DATA, SHARED
from workflow_schema import journals_fit_their_schema as journals_fit_their_schema

from sema_runtime.values.printer import to_text
from sema_runtime.workflow.read.recorded_run import open_run
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")
SEEDS = DATA / "seeds"

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

# Each step gets the next of the prepared answers.
PLAYER = """
(define answers '())
(llm/define-provider :player
  {:complete (fn (request)
     (let ((answer (first answers)))
       (set! answers (rest answers))
       {:content answer :usage {:prompt-tokens 3000 :completion-tokens 2200}}))
   :default-model "player"})
"""

ARTICLES = (
    PLAYER
    + """
(define topics ["tea" "coffee"])
(define article {:title {:type :string} :body {:type :string}})
(define (article-prompt topic) (str "Explain " topic "."))
(define (good-article? article) (and (map? article) (not (= "" (:body article)))))
(define (slug title) (string/replace (string/lower title) " " "-"))
(define (write-file article) (file/write (str (slug (:title article)) ".md") (:body article)))
(set! answers (list (json/encode {:title "On Tea" :body "Warm."}) (json/encode {:title "On Coffee" :body ""})))
"""
)


PAGES = SHARED / "seeds"
FORM = re.compile(r"\((?:def[a-z]*|llm/[a-z-]+|conversation/[a-z]+|->>|return|println) (?![.…])")


def printed(page: str) -> Iterator[str]:
    """The programs in the text of a page: what stands from the parenthesis before a name to the one that closes it."""
    at = 0
    while match := FORM.search(page, at):
        depth, quoted, end = 0, False, match.start()
        while True:
            char = page[end]
            quoted = quoted != (char == '"' and page[end - 1] != "\\")
            depth += 0 if quoted else (char in "([{") - (char in ")]}")
            end += 1
            if depth == 0:
                break
        yield page[match.start() : end]
        at = end


def bare(program: str) -> str:
    """A program without white space and comments; the pages run those into the lines, up to the next form."""
    return re.sub(r"\s", "", re.sub(r";;[^({\n]*", "", program))


@pytest.mark.skipif(not PAGES.is_dir(), reason="the pages are not at hand")
def test_every_program_of_the_pages_is_here() -> None:
    kept = "".join(bare(path.read_text()) for path in SEEDS.glob("*.sema"))
    programs = [one for page in sorted(PAGES.glob("*.txt")) for one in printed(page.read_text())]
    assert len(programs) > 15
    missing = [one for one in programs if bare(one) not in kept]
    assert missing == []


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


# Workflows


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def journal(folder: Path) -> list[Any]:
    (events,) = folder.glob(".sema/runs/*/events.jsonl")
    return [json.loads(line) for line in events.read_text().splitlines()]


def test_the_content_pipeline(folder: Path) -> None:
    assert to_text(run(source("content_pipeline"), ARTICLES)) == "{:published 1 :status :success}"
    assert (folder / "on-tea.md").read_text() == "Warm."
    events = journal(folder)
    phases = [event["phase"] for event in events if event["event"] == "phase.started"]
    assert phases == events[0]["phases"] == ["Topics", "Write", "Verify", "Publish"]
    assert [event["agent_id"] for event in events if event["event"] == "agent.started"] == ["writer_1", "writer_2"]
    assert events[-1]["status"] == "success"


def test_an_audit_over_its_budget(folder: Path) -> None:
    envelope = run(source("audit"), PLAYER + '(set! answers (list "Found." "Never asked."))')
    assert to_text(envelope) == '{:reason "budget exceeded" :status :failed}'
    events = journal(folder)
    (budget,) = [event for event in events if event["event"] == "budget"]
    assert (budget["input_tokens"] + budget["output_tokens"], budget["budget_limit"]) == (5200, 5000)
    assert [event["phase"] for event in events if event["event"] == "phase.started"] == ["Scan", "Report"]
    assert events[-1]["reason"] == "budget exceeded"


PATTERNS = [
    ('(react "Why?" (list) 5)', '("Next: look" "Because.")', "Because.", ["react", "react"]),
    (
        '(reflexion "Write." 3)',
        '("draft" "too long" "short" " OK, good")',
        "short",
        ["actor", "critic", "actor", "critic"],
    ),
    ('(tree-of-thought "Think." 3 string-length)', '("a" "ccc" "bb")', "ccc", ["thought"] * 3),
    (
        '(define topic "Tea or coffee?") (debate topic "tea" "coffee" 1)',
        '("warm" "strong" "tea wins")',
        "tea wins",
        ["tea", "coffee", "judge"],
    ),
]


@pytest.mark.parametrize(("call", "answers", "result", "asked"), PATTERNS, ids=[row[0].split()[0] for row in PATTERNS])
def test_patterns_of_agents(call: str, answers: str, result: str, asked: list[str], folder: Path) -> None:
    """In a run, where each step is in the journal, and outside of one."""
    helpers = PLAYER + source("patterns") + f"(set! answers '{answers})"
    envelope = run(f'(defworkflow w "" {{}} {call})', helpers)
    assert to_text(envelope) == f'{{:status :success :value "{result}"}}'
    assert [event["agent_name"] for event in journal(folder) if event["event"] == "agent.started"] == asked
    assert run(call, helpers) == result


# The journal that a page shows, shortened by its author
JOURNAL = """\
{"event":"run.started","seq":0,"ts":"2026-06-27T…","workflow":"content-pipeline","run_id":"wf_…"}
{"event":"phase.started","seq":1,"ts":"…","phase":"Topics"}
{"event":"phase.ended","seq":2,"ts":"…","phase":"Topics","status":"success","dur_ms":0}
{"event":"phase.started","seq":3,"ts":"…","phase":"Write"}
{"event":"agent.started","seq":4,"ts":"…","agent_id":"writer_1","agent_name":"writer"}
{"event":"agent.result","seq":5,"ts":"…","agent_id":"writer_1","status":"ok","output":"…","dur_ms":1240,"model":"gpt-5.4-mini"}
{"event":"budget","seq":6,"ts":"…","agent_id":"writer_1","input_tokens":3120,"output_tokens":880,"cost_usd":0.0041,"budget_limit":50000}
{"event":"checkpoint","seq":7,"ts":"…","key":"files","content_key":"ck_4d2f8a1c","value_digest":"abc123"}
{"event":"phase.ended","seq":8,"ts":"…","phase":"Write","status":"success","dur_ms":2100}
{"event":"run.ended","seq":9,"ts":"…","status":"success","dur_ms":5400}
"""


@pytest.mark.journals_by_hand
def test_the_journal_of_the_page_is_read(tmp_path: Path) -> None:
    (tmp_path / "printed").mkdir()
    (tmp_path / "printed" / "events.jsonl").write_text(JOURNAL)
    run = open_run(tmp_path, "printed")
    assert (run.workflow, run.status, run.damaged) == ("content-pipeline", "success", 0)
    assert [phase.name for phase in run.phases] == ["Topics", "Write"]
    (agent,) = run.agents
    assert (agent.id, agent.model, agent.duration_ms) == ("writer_1", "gpt-5.4-mini", 1240)
    assert (agent.input_tokens, agent.output_tokens, agent.cost_usd) == (3120, 880, 0.0041)


def test_a_journal_of_ours_has_the_lines_of_the_page(folder: Path) -> None:
    """For the same workflow the same events with the same fields, beside those that the page leaves out."""
    run(source("content_pipeline"), ARTICLES)
    ours = {event["event"]: event for event in journal(folder)}
    for line in JOURNAL.splitlines():
        shown = json.loads(line)
        if shown["event"] != "checkpoint":  # the program has none
            assert set(shown) - {"cost_usd"} <= set(ours[shown["event"]])
