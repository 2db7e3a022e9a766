"""The patterns of (import "sema/patterns"): which steps they ask, when they stop, what they do without an answer."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from workflow_support import MODEL, Ran, error_of
from workflow_support import run as run_program

from sema_runtime import compiler_bridge as seam
from sema_runtime.values.atoms import keyword
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")

IMPORT = '(import "sema/patterns")\n'
BROKE = '{:reason "budget exceeded" :status :failed}'


def played(replies: str) -> str:
    """The model with its replies: texts, maps with tool calls, nil for a failure."""
    return f"{MODEL}(set! replies '{replies})\n"


def program(body: str, replies: str, meta: str = "{}") -> str:
    return IMPORT + played(replies) + f'(defworkflow patterns "" {meta} {body})'


def run(root: Path, body: str, replies: str, meta: str = "{}") -> Ran:
    return run_program(root, program(body, replies, meta))


def steps(ran: Ran) -> list[str]:
    return [event["agent_name"] for event in ran.of("agent.started")]


def value(ran: Ran) -> Any:
    return ran.result()["value"]


# ReAct


REACT_REPLIES = (
    '("I know half. Next: look it up." {:tool-calls [{:id "c1" :name "look" :arguments {:key "k"}}]} "It is 7.")'
)
LOOK = '(deftool look "Looks up" {:key {:type :string}} (lambda (key) (str "value of " key)))'


def test_react_goes_on_while_there_is_more_to_find_out(tmp_path: Path) -> None:
    ran = run(tmp_path, f'{LOOK} (react "How many?" (list look) 5)', REACT_REPLIES)
    assert value(ran) == "It is 7."
    assert steps(ran) == ["react", "react"]
    called = [(event["agent_id"], event["tool_name"], event["args_json"]) for event in ran.of("agent.tool_call")]
    assert called == [("react_2", "look", '{:key "k"}')]
    first, second, _ = ran.prompts()
    assert "How many?" in first and "Notes so far" not in first
    assert second.endswith("Notes so far:\nI know half. Next: look it up.")


@pytest.mark.parametrize(("rounds", "asked"), [(0, 1), (1, 1), (3, 3)])
def test_react_ends_with_the_last_round(rounds: int, asked: int, tmp_path: Path) -> None:
    ran = run(tmp_path, f'(react "Q" nil {rounds})', '("NEXT: a" "next: b" "Next: c" "Next: d")')
    assert len(steps(ran)) == asked
    assert value(ran) == ["NEXT: a", "next: b", "Next: c"][asked - 1]


def test_react_without_money_asks_no_more(tmp_path: Path) -> None:
    ran = run(tmp_path, '(println (react "Q" nil 9))', '("Next: a" "Next: b" "c")', "{:budget {:tokens 4}}")
    assert to_text(ran.value) == BROKE
    assert len(steps(ran)) == 1


# Reflexion


@pytest.mark.parametrize(
    ("tries", "replies", "result", "asked"),
    [
        (3, '("draft" "Too long." "short" "  OK, good")', "short", ["actor", "critic", "actor", "critic"]),
        (2, '("draft" "Too long." "short")', "short", ["actor", "critic", "actor"]),
        (1, '("draft")', "draft", ["actor"]),
        (3, '("draft" "OK")', "draft", ["actor", "critic"]),
    ],
)
def test_reflexion(tries: int, replies: str, result: str, asked: list[str], tmp_path: Path) -> None:
    ran = run(tmp_path, f'(reflexion "Write." {tries})', replies)
    assert value(ran) == result
    assert steps(ran) == asked


def test_the_actor_is_told_what_the_critic_said(tmp_path: Path) -> None:
    ran = run(tmp_path, '(reflexion "Write." 3)', '("draft" "Too long." "short" "OK")')
    first, criticized, second, _ = ran.prompts()
    assert first == "Write."
    assert "Write." in criticized and criticized.endswith("draft")
    assert second.startswith("Write.") and second.endswith("Too long.")


def test_an_attempt_without_money_for_the_critic_stands(tmp_path: Path) -> None:
    body = '(define last-attempt (reflexion "Write." 3)) (checkpoint :attempt last-attempt)'
    ran = run(tmp_path, body, '("draft" "no")', "{:budget {:tokens 4}}")
    assert ran.of("checkpoint")[0]["value"] == '"draft"'
    assert steps(ran) == ["actor"]


# Tree of thought


@pytest.mark.parametrize(
    ("replies", "n", "scorer", "result"),
    [
        ('("a" "ccc" "bb")', 3, "string-length", "ccc"),
        ('("ab" "cd" "e")', 3, "string-length", "ab"),  # a tie: the earliest
        ('("a" nil "bb")', 3, "string-length", "bb"),  # a step that failed
        ("(nil nil)", 2, "string-length", None),
        ("()", 0, "string-length", None),
        ('("x" "7" "y")', 3, "string/to-number", "7"),  # no score loses
        ('("x" "y")', 2, "(fn (c) nil)", "x"),
    ],
)
def test_tree_of_thought(replies: str, n: int, scorer: str, result: str | None, tmp_path: Path) -> None:
    ran = run(tmp_path, f'(tree-of-thought "Think." {n} {scorer})', replies)
    assert value(ran) == result
    assert steps(ran) == ["thought"] * n
    assert len(set(ran.prompts())) == n


def test_a_scorer_may_ask_a_model_and_is_asked_once_a_thought(tmp_path: Path) -> None:
    body = """(tree-of-thought "Think." 3
                (fn (c) (string/to-number (step (str "Rate " c) {:name "rater"}))))"""
    ran = run(tmp_path, body, '("a" "b" "c" "1" "9" "5")')
    assert value(ran) == "b"
    assert steps(ran) == ["thought"] * 3 + ["rater"] * 3


# Debate


def test_debate(tmp_path: Path) -> None:
    ran = run(tmp_path, '(debate "Tea?" "tea" "coffee" 2)', '("warm" "strong" "calm" "quick" "Tea wins.")')
    assert value(ran) == "Tea wins."
    assert steps(ran) == ["tea", "coffee", "tea", "coffee", "judge"]
    assert ran.prompts()[-1].endswith("Topic: Tea?\n\ntea: warm\n\ncoffee: strong\n\ntea: calm\n\ncoffee: quick")
    assert ran.prompts()[1].endswith("tea: warm")


def test_a_debate_without_money_has_no_judge(tmp_path: Path) -> None:
    body = '(define verdict (debate "Tea?" "tea" "coffee" 2)) (checkpoint :verdict verdict)'
    ran = run(tmp_path, body, '("warm" "strong" "calm")', "{:budget {:tokens 8}}")
    assert steps(ran) == ["tea", "coffee"]
    assert ran.of("checkpoint")[0]["value"] == "nil"


# Content pipeline

ARTICLES = r"""("{\"title\": \"Why, oh why?\", \"body\": \"So.\"}" nil
  "{\"title\": \" \", \"body\": \"x\"}" "{\"title\": \"Чай\", \"body\": \"../etc\"}")"""


def test_content_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    body = """(content-pipeline '("a" "b" "c" "d") (fn (t) (str "About " t)) "out/articles")"""
    ran = run(tmp_path / "runs", body, ARTICLES)
    assert to_text(ran.value) == (
        '{:dropped 2 :files ("out/articles/01-why-oh-why.md" "out/articles/04.md") :status :success}'
    )
    assert (tmp_path / "out/articles/01-why-oh-why.md").read_text() == "# Why, oh why?\n\nSo.\n"
    assert steps(ran) == ["writer"] * 4
    assert [event["phase"] for event in ran.of("phase.started")] == ["Write", "Publish"]


def test_long_titles_make_short_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    replies = r"""("{\"title\": \"TITLE\", \"body\": \"b\"}")""".replace("TITLE", "x" * 5000 + " y" * 5000)
    ran = run(tmp_path / "runs", """(content-pipeline '("a") str "out")""", replies)
    assert ran.result()["files"] == [f"out/01-{'x' * 20}-y-y-y-y-y-y-y.md"]


# Docs pipeline

DOCS = """(docs-pipeline '("a" "b") (fn (t) (str "About " t)) {tools} "docs/all.md")"""
DOCS_REPLIES = '("draft a" "draft b" "review a" "review b" "page a" "page b" "whole")'


def docs(tmp_path: Path, replies: str, tools: str = "nil", meta: str = "{}", prelude: str = "") -> Ran:
    (tmp_path / "docs").mkdir()
    return run(tmp_path / "runs", prelude + DOCS.format(tools=tools), replies, meta)


def test_docs_pipeline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = docs(tmp_path, DOCS_REPLIES)
    assert to_text(ran.value) == '{:dropped 0 :file "docs/all.md" :pages 2 :status :success}'
    assert (tmp_path / "docs/all.md").read_text() == "whole"
    assert [event["phase"] for event in ran.of("phase.started")] == ["Draft", "Review", "Revise", "Assemble", "Publish"]
    assert steps(ran) == ["drafter"] * 2 + ["reviewer"] * 2 + ["reviser"] * 2 + ["editor", "publisher"]
    kept = [(event["key"], event["value"]) for event in ran.of("checkpoint")]
    assert kept == [("drafts", '("draft a" "draft b")'), ("pages", '("page a" "page b")')]
    assert [(event["agent_id"], event["tool_name"]) for event in ran.of("agent.tool_call")] == [
        ("publisher_1", "file/write")
    ]
    assert ran.prompts()[-1].endswith("page a\n\n---\n\npage b")


def test_drafts_may_use_tools(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    call = '{:tool-calls [{:id "c1" :name "look" :arguments {:key "k"}}]}'
    replies = f'({call} "draft b" "draft a" "r" "r" "p" "p" "whole")'
    ran = docs(tmp_path, replies, "(list look)", prelude=LOOK)
    assert ran.of("agent.tool_call")[0]["agent_id"] == "drafter_1"


def test_pages_that_failed_are_left_out_and_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = docs(tmp_path, '("draft a" nil "review a" "page a" "whole")')
    assert to_text(ran.value) == '{:dropped 1 :file "docs/all.md" :pages 1 :status :success}'
    assert ran.of("checkpoint") == []


def test_nothing_is_published_when_every_page_failed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = docs(tmp_path, "(nil nil)")
    assert to_text(ran.value) == '{:error "docs-pipeline: there is nothing to publish" :status :failed}'
    assert list((tmp_path / "docs").iterdir()) == []


def test_nothing_is_published_without_money(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ran = docs(tmp_path, DOCS_REPLIES, meta="{:budget {:tokens 32}}")
    assert to_text(ran.value) == BROKE
    assert "publisher" not in steps(ran)
    assert list((tmp_path / "docs").iterdir()) == []


# Generate, check, run


@pytest.mark.parametrize(
    ("replies", "result", "tries"),
    [
        ('("(+ 3 4)")', 7, 1),
        ('("(define x 3) (define y 4) (* x y)")', 12, 1),
        ('("(+ 3" "(+ 3 4)")', 7, 2),
        ('("" "(+ 3 4)")', 7, 2),
        ('("(defworkflow w)" "(:status (defworkflow w \\"\\" {} {:status :success}))")', "success", 2),
    ],
)
def test_generate_check_run(replies: str, result: Any, tries: int, tmp_path: Path) -> None:
    ran = run(tmp_path, '(define made (generate-check-run "Add." 3)) (checkpoint :made made)', replies)
    outer = next(one for one in tmp_path.iterdir() if '"patterns"' in (one / "metadata.json").read_text())
    events = ran.events(run_id=outer.name)
    assert [one["value"] for one in events if one["event"] == "checkpoint"] == [
        ":success" if result == "success" else str(result)
    ]
    assert [one["agent_name"] for one in events if one["event"] == "agent.started"] == ["generator"] * tries


def test_what_was_wrong_is_told(tmp_path: Path) -> None:
    ran = run(tmp_path, '(generate-check-run "Add." 3)', '("(+ 3" "(defworkflow w)" "(+ 3 4)")')
    _, second, third = ran.prompts()
    assert second.endswith("The answer before was wrong:\nunterminated list at 1:1")
    assert "defworkflow needs a name, a doc string, a meta map, and a body" in third


def test_a_program_that_stays_wrong_is_an_error(tmp_path: Path) -> None:
    ran = run(tmp_path, '(generate-check-run "Add." 2)', '("(+ 3" "(+ 4")')
    assert ran.result()["error"] == "generate-check-run: still wrong after try 2: unterminated list at 1:1"


def test_errors_of_providers_and_programs_go_on(tmp_path: Path) -> None:
    body = '(generate-check-run "Add." 3)'
    assert "out of order" in run(tmp_path / "a", body, '(nil "(+ 3 4)")').result()["error"]
    assert run(tmp_path / "b", body, '("(error \\"mine\\")" "(+ 3 4)")').result()["error"] == "mine"
    ran = run(tmp_path / "c", f'(define spent (step "x")) (checkpoint :made {body})', '("x")', "{:budget {:tokens 1}}")
    assert ran.of("checkpoint")[0]["value"] == "nil"


# The import

REACT = played('("It is 7.")') + '(println (react "Q" nil 3))\n'


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "all.sema").write_text(IMPORT + REACT)
    (tmp_path / "one.sema").write_text('(import "sema/patterns" react)\n' + REACT)
    return tmp_path


def python(folder: Path, *args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], cwd=folder, capture_output=True, text=True, timeout=60)


@pytest.mark.parametrize("name", ["all", "one"])
def test_programs_run_in_a_sandbox_and_compiled(name: str, folder: Path) -> None:
    sandboxed = python(folder, "-m", "semac.cli.entry", "--sandbox", "no-fs-read,no-fs-write", f"{name}.sema")
    assert (sandboxed.stdout, sandboxed.stderr) == ("It is 7.\n", "")
    python(folder, "-m", "semac.cli.entry", "compile", f"{name}.sema", "-o", "out.py")
    done = python(folder, "out.py")
    assert (done.stdout, done.stderr) == ("It is 7.\n", "")


def test_the_sandbox_lets_nothing_else_in(tmp_path: Path) -> None:
    """Not even by a path that begins in the folder of the packages."""
    (tmp_path / "secret.sema").write_text('(println "read")')
    up = "/".join([seam.SHIPPED, *[".."] * seam.SHIPPED.count("/")])
    for spec in (str(tmp_path / "secret.sema"), f"{up}{tmp_path}/secret.sema", f"{seam.SHIPPED}/sema/patterns.sema"):
        done = python(tmp_path, "-m", "semac.cli.entry", "--sandbox", "no-fs-read", "-e", f'(import "{spec}")')
        assert "import requires 'fs-read' capability" in done.stderr, done.stdout


def test_every_pattern_compiles_to_text(tmp_path: Path) -> None:
    calls = """(react "q" nil 3) (reflexion "t" 3) (tree-of-thought "p" 3 count) (debate "t" "a" "b" 2)
               (generate-check-run "t" 2) (content-pipeline '() str "out") (docs-pipeline '() str nil "f.md")"""
    (tmp_path / "all.sema").write_text(IMPORT + f"(define (use) {calls})\n(println 1)")
    python(tmp_path, "-m", "semac.cli.entry", "compile", "all.sema", "-o", "out.py")
    done = python(tmp_path, "out.py")
    assert (done.stdout, done.stderr) == ("1\n", "")


def test_a_name_that_is_not_there(tmp_path: Path) -> None:
    message = error_of(tmp_path, '(import "sema/patterns" reactor)')
    assert "import: module does not export 'reactor'" in message
    assert "package not found: sema/nothing" in error_of(tmp_path, '(import "sema/nothing")')


def test_a_program_may_have_a_pattern_of_its_own(tmp_path: Path) -> None:
    text = IMPORT + '(defmacro debate (topic) `(str "no " ,topic))\n(debate 1)'
    assert run_program(tmp_path, text).value == "no 1"


# All of them

WHOLE = {
    "react": ('(react "Q" (list) 5)', '("Half. Next: more" "It is 7.")'),
    "reflexion": ('(reflexion "Write." 3)', '("draft" "no" "short" "OK")'),
    "tree-of-thought": ('(tree-of-thought "Think." 3 string-length)', '("a" "ccc" "bb")'),
    "debate": ('(debate "Tea?" "tea" "coffee" 1)', '("warm" "strong" "Tea.")'),
    "content-pipeline": ("""(content-pipeline '("a") str "out")""", r"""("{\"title\": \"T\", \"body\": \"B\"}")"""),
    "docs-pipeline": ("""(docs-pipeline '("a" "b") str nil "all.md")""", DOCS_REPLIES),
}  # fmt: skip


@pytest.mark.parametrize("name", WHOLE)
def test_a_resumed_run_asks_nothing(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    body, replies = WHOLE[name]
    first = run_program(tmp_path / "runs", program(body, replies), run_id="a")
    assert first.of("agent.started")
    again = run_program(tmp_path / "runs", program(body, "()"), run_id="a", resume=True)
    assert again.prompts() == []
    assert to_text(again.value) == to_text(first.value)
    assert {one["event"] for one in again.events("events.resume-1.jsonl")} <= {
        *("run.started", "phase.started", "phase.ended", "run.ended")
    }


# How many steps have given something when the run ends: of the replies only so many come before one fails.
MIDDLES = [(name, given) for name, (_, replies) in WHOLE.items() for given in range(replies.count('" "') + 1)]


def first_replies(replies: str, number: int) -> str:
    """Only so many of the replies, whatever order they are asked in; then none."""
    return "(" + " ".join(f'"{one}"' for one in replies[2:-2].split('" "')[:number]) + ")"


@pytest.mark.parametrize(("name", "given"), MIDDLES)
def test_a_run_that_failed_in_the_middle_asks_only_for_the_rest(
    name: str, given: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    body, replies = WHOLE[name]
    first = run_program(tmp_path / "runs", program(body, first_replies(replies, given)), run_id="a")
    asked = first.prompts()
    answered = {one["agent_id"] for one in first.of("agent.result") if one["status"] == "ok"} - {"publisher_1"}
    again = run_program(tmp_path / "runs", program(body, "(" + '"OK" ' * 8 + ")"), run_id="a", resume=True)
    assert len(answered) == given
    assert not set(again.prompts()) & set(asked[:given])  # those that were answered
    assert to_text(again.value.lookup(keyword("status"))) == ":success"


@pytest.mark.parametrize(("name", "given"), MIDDLES)
def test_a_budget_that_is_used_up_in_the_middle_ends_the_asking(
    name: str, given: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each step costs 5 tokens; what was under way beside the one that passes the limit is still asked."""
    monkeypatch.chdir(tmp_path)
    body, replies = WHOLE[name]
    ran = run_program(tmp_path / "runs", program(body, replies, f"{{:budget {{:tokens {5 * given + 1}}}}}"))
    assert to_text(ran.value) == BROKE
    assert len(ran.prompts()) == given + 1
    assert "publisher" not in steps(ran)


@pytest.mark.parametrize("name", [*(name for name in WHOLE if not name.endswith("pipeline")), "generate-check-run"])
def test_an_error_of_a_step_goes_on_or_leaves_it_out(name: str, tmp_path: Path) -> None:
    body, _ = WHOLE.get(name, ('(generate-check-run "Add." 3)', ""))
    ran = run_program(tmp_path, program(body, "(nil nil nil)"))
    if name == "tree-of-thought":  # in parallel
        assert to_text(ran.value) == "{:status :success :value nil}"
    else:
        assert ran.result()["error"].endswith('API error: 0 - User exception: "out of order"')
        assert len(ran.prompts()) == 1


HOSTILE = """
(define question "mine") (define answer "mine") (define notes "mine") (define best "mine") (define attempt "mine")
(define go (fn () "mine")) (define round 1) (define prompt-text "Think.") (define pages "mine") (define said "mine")
(define (loop x) "mine") (define thoughts (list "mine")) (define rated "mine") (define text "mine") (define kept "mine")
"""


@pytest.mark.parametrize("name", WHOLE)
def test_names_of_the_program_are_its_own(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program has names like those in the macros, which are also what its arguments are made of."""
    monkeypatch.chdir(tmp_path)
    body, replies = WHOLE[name]
    mine = "(list question answer notes best attempt (go) round pages said (loop 1) thoughts rated text kept)"
    plain = run_program(tmp_path / "a", program(body, replies))
    text = program(f"(define before {mine}) (define made {body}) (list made (equal? before {mine}))", replies)
    ran = run_program(tmp_path / "b", HOSTILE + text)
    made = plain.value if name.endswith("pipeline") else plain.value.lookup(keyword("value"))
    assert to_text(ran.value.lookup(keyword("value"))) == f"({to_text(made)} #t)"


def test_what_can_be_called_is_a_function(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A keyword, a multimethod, a function of Python."""
    monkeypatch.chdir(tmp_path)
    text = """(defmulti rate (fn (answer) (string-length answer))) (defmethod rate 1 (fn (answer) 9))
              (defmethod rate :default (fn (answer) 1)) (py/import "builtins" :as py)
              (list (tree-of-thought "P" 2 rate) (tree-of-thought "P" 2 py.len)
                    (:status (defworkflow w "" {} (content-pipeline (list {:ask "Tea?"}) :ask "out"))))"""
    ran = run_program(tmp_path, IMPORT + played('("aa" "b" "aa" "b" "{}")') + text)
    assert to_text(ran.value) == '("b" "aa" :success)'
    assert "Tea?" in ran.prompts()[-1]


def test_arguments_may_be_called_like_the_parameters(tmp_path: Path) -> None:
    text = """(define question "Q") (define tools nil) (define max-rounds 3) (define topic "T") (define a "x")
              (define b "y") (define rounds 1) (define max-tries 1) (define n 2) (define scorer string-length)
              (define prompt-text "P") (define task "W")
              (list (react question tools max-rounds) (debate topic a b rounds) (reflexion task max-tries)
                    (tree-of-thought prompt-text n scorer))"""
    replies = '("r" "1" "2" "judged" "tried" "long" "longer")'
    ran = run_program(tmp_path, IMPORT + played(replies) + text)
    assert to_text(ran.value) == '("r" "judged" "tried" "longer")'


@pytest.mark.parametrize("name", [name for name in WHOLE if not name.endswith("pipeline")])
def test_patterns_work_outside_of_a_run_and_in_tasks(name: str, tmp_path: Path) -> None:
    body, replies = WHOLE[name]
    ran = run_program(tmp_path, IMPORT + played(replies) + f"(async/await (async/spawn (fn () {body})))")
    assert isinstance(ran.value, str)
    assert list(tmp_path.iterdir()) == []


def test_arguments_are_evaluated_once(tmp_path: Path) -> None:
    text = (
        '(define n 0) (define (once value) (set! n (+ n 1)) value) (debate (once "T") (once "a") (once "b") (once 2))'
    )
    ran = run_program(tmp_path, IMPORT + played('("1" "2" "3" "4" "5")') + text)
    assert ran.session.run("n") == 4


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('(react "Q" nil "5")', 'react: max-rounds must be an integer, got "5"'),
        ('(reflexion "T" nil)', "reflexion: max-tries must be an integer, got nil"),
        ('(tree-of-thought "P" 2.5 count)', "tree-of-thought: n must be an integer, got 2.5"),
        ('(debate "T" "a" "b" :two)', "debate: rounds must be an integer, got :two"),
        ('(generate-check-run "T" (list))', "generate-check-run: max-tries must be an integer, got ()"),
        ("(react nil nil 5)", "react: question must be a string, got nil"),
        ('(react "Q" add 5)', "react: tools must be a list or nil, got add"),
        ("(reflexion :write 2)", "reflexion: task must be a string, got :write"),
        ("(tree-of-thought 5 2 count)", "tree-of-thought: prompt must be a string, got 5"),
        ('(tree-of-thought "P" 2 "count")', 'tree-of-thought: scorer must be a function, got "count"'),
        ('(debate nil "a" "b" 1)', "debate: topic must be a string, got nil"),
        ('(debate "T" "a" 5 1)', 'debate: a persona must be a string or keyword, got ("a" 5)'),
        ("(generate-check-run nil 2)", "generate-check-run: task must be a string, got nil"),
        ('(content-pipeline "topics" str "out")', 'content-pipeline: topics must be a list, got "topics"'),
        ('(content-pipeline (list 1) nil "out")', "content-pipeline: make-prompt must be a function, got nil"),
        ("(content-pipeline (list 1) str :out)", "content-pipeline: folder must be a string, got :out"),
        ('(docs-pipeline nil str nil "f.md")', "docs-pipeline: topics must be a list, got nil"),
        ('(docs-pipeline (list 1) "About" nil "f.md")', 'docs-pipeline: make-prompt must be a function, got "About"'),
        ('(docs-pipeline (list 1) str :all "f.md")', "docs-pipeline: tools must be a list or nil, got :all"),
        ("(docs-pipeline (list 1) str nil nil)", "docs-pipeline: file must be a string, got nil"),
        ('(content-pipeline (list) str "out")', "workflow/phase outside a workflow/run"),
    ],
)
def test_bad_arguments(call: str, message: str, tmp_path: Path) -> None:
    """Said before anything is asked."""
    assert error_of(tmp_path, IMPORT + "(define add 'add)" + call) == message
