"""The contract of workflows, sentence by sentence: small programs, their values and their whole journals.

A row of a table is one program. Its journal is told in short: an event's name and its fields, as JSON, without seq and
ts; the first event, `run.started "w" "r"`, is left out where nothing else is in it. Times stand still.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from workflow_support import MODEL, NO_ARGS, Ran, fields, told
from workflow_support import run as run_program

from sema_runtime.values.atoms import keyword
from sema_runtime.values.printer import to_text
from semac.session import Session


@pytest.fixture(autouse=True)
def still(llm: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_FIXED_TS", "0")


def run(root: Path, text: str, **settings: Any) -> Ran:
    return run_program(root, MODEL + text, **{"run_id": "r", **settings})


DONE = 'run.ended "success" 0'
FAILED = 'run.ended "failed" "workflow body returned an error" 0'
OVER = 'run.ended "failed" "budget exceeded" 0'
BROKE = '{:reason "budget exceeded" :status :failed}'


def asks(name: str, prompt: str, output: str, tokens: str = "3 2", model: str = "m", phase: str = "") -> list[str]:
    """The events of the first step of that name. tokens: of its budget event. phase: its seq, with a space behind."""
    return [
        f'agent.started "{name}_1" "{name}" "{prompt}"',
        f'agent.result "{name}_1" "ok" {output} 0 "{model}"',
        f'budget "{name}_1" {phase}{tokens}',
    ]


def stored(key: str, shown: str, value: str, phase: str = "", seq: str = "", ordinal: int = 0) -> str:
    """The event of a checkpoint. value: its JSON. phase, seq: of the open phase."""
    content_key = f"{fields('checkpoint', '', NO_ARGS, phase, key)}_{ordinal}"
    return f'checkpoint {seq}"{key}" "{content_key}" "{hashlib.md5(value.encode()).hexdigest()}" {shown}'


# Section 1 and 2: forms, the meta map, the life of a run

LIFE = [
    ("the body's value is the run's", '(defworkflow w "" {} 1 2)', "{:status :success :value 2}", [DONE]),
    ("any :status is taken as it is", '(defworkflow w "" {} {:status nil :n 1})', "{:n 1 :status nil}", [DONE]),
    ("in a hash map too", '(defworkflow w "" {} (hash-map :status "odd"))', '{:status "odd"}', [DONE]),
    ("the key is a keyword", '(defworkflow w "" {} {"status" 1})', '{:status :success :value {"status" 1}}', [DONE]),
    (
        "what the body returns itself is a success of the run",
        '(defworkflow w "" {} (phase "A") {:status :failed})',
        "{:status :failed}",
        ['phase.started "A"', 'phase.ended "A" "success" 0', DONE],
    ),
    (
        "errors end the open phase",
        '(defworkflow w "" {} (phase "A") (error "no"))',
        '{:error "no" :status :failed}',
        ['phase.started "A"', 'phase.ended "A" "failed" 0', FAILED],
    ),
    (
        "the budget's envelope takes the place of a success",
        '(will "a") (defworkflow w "" {:budget {:tokens 4}} (step "p") {:status :success})',
        BROKE,
        [*asks("step", "p", r'"\"a\""', "3 2 4"), OVER],
    ),
    (
        "and of an error",
        '(will "a") (defworkflow w "" {:budget {:tokens 4}} (phase "A") (step "p") (error "no"))',
        BROKE,
        ['phase.started "A"', *asks("step", "p", r'"\"a\""', "3 2 4", phase="1 "), 'phase.ended "A" "failed" 0', OVER],
    ),
    (
        "declared phases are strings or keywords, others are dropped",
        '(defworkflow w "" {:phases (list "A" :b 5 nil)} 1)',
        "{:status :success :value 1}",
        ['run.started "w" "r" ["A", "b"]', DONE],
    ),
    ("phases that are no sequence", '(defworkflow w "" {:phases 5} 1)', "{:status :success :value 1}", [DONE]),
    ("a budget that is no map", '(defworkflow w "" {:budget 5} 1)', "{:status :success :value 1}", [DONE]),
    (
        "limits that are no numbers are ignored",
        '(will "a" "b") (defworkflow w "" {:budget {:tokens "4" :usd :none}} (step "a") prompts)',
        '{:status :success :value ("a")}',
        [*asks("step", "a", r'"\"a\""'), DONE],
    ),
    (
        "forms work in functions and in macros",
        """(define (body) (phase "A") (checkpoint :n (step "q"))) (defmacro once (form) `(begin ,form))
           (will "a") (defworkflow w "" {} (once (body)))""",
        '{:status :success :value "a"}',
        [
            'phase.started "A"',
            *asks("step", "q", r'"\"a\""', phase="1 "),
            stored("n", r'"\"a\""', '"a"', phase="A", seq="1 "),
            'phase.ended "A" "success" 0',
            DONE,
        ],
    ),
    (
        "an empty map of servers is none",
        '(defworkflow w "" {:mcp {}} 1)',
        "{:status :success :value 1}",
        [DONE],
    ),
    (
        "a declaration that is wrong ends the run before the body",
        '(defworkflow w "" {:mcp {a {}}} (phase "A"))',
        '{:error ":mcp a: spec is missing :url or :command" :status :failed}',
        ['run.ended "failed" "mcp declaration invalid" 0'],
    ),
]

# Section 3: phases and checkpoints

MARKS = [
    (
        "a phase ends the one before, of the same name too",
        '(defworkflow w "" {} (phase "A") (phase "A") (phase ""))',
        "{:status :success :value nil}",
        [
            *('phase.started "A"', 'phase.ended "A" "success" 0', 'phase.started "A"', 'phase.ended "A" "success" 0'),
            *('phase.started ""', 'phase.ended "" "success" 0', DONE),
        ],
    ),
    (
        "labels are strings",
        '(defworkflow w "" {} (phase :a))',
        '{:error "expected string, got keyword" :status :failed}',
        [FAILED],
    ),
    (
        "a keyword and a string are the same key; each write has its number, one that fails too",
        """(defworkflow w "" {} (try (checkpoint :a (error "x")) (catch e nil))
             (list (checkpoint :a 2) (checkpoint "a" 3) (checkpoint :a) (checkpoint "b")))""",
        "{:status :success :value (2 3 3 nil)}",
        [
            stored("a", '"2"', "2", ordinal=1),
            stored("a", '"3"', "3", ordinal=2),
            DONE,
        ],
    ),
    (
        "checkpoints belong to the open phase, wherever they are written",
        """(defworkflow w "" {} (phase "A") (phase "B")
             (await (async (workflow/step :s (fn () (checkpoint "c" [1 :a]))))))""",
        "{:status :success :value [1 :a]}",
        [
            *('phase.started "A"', 'phase.ended "A" "success" 0', 'phase.started "B"'),
            'agent.started "s_1" "s"',
            stored("c", '"[1 :a]"', '[1,"a"]', phase="B", seq="3 "),
            'agent.result "s_1" "ok" "[1 :a]" 0',
            'phase.ended "B" "success" 0',
            DONE,
        ],
    ),
    (
        "keys are keywords or strings",
        '(defworkflow w "" {} (list (try (checkpoint \'a 1) (catch e (:message e))) (checkpoint 5)))',
        '{:error "expected keyword or string, got int" :status :failed}',
        [FAILED],
    ),
    (
        "leaves belong to the phase that is open when their events are written",
        """(defworkflow w "" {} (phase "A")
             (workflow/step "s" (fn () (phase "B") (step "q" {:name "inner"}))))""",
        '{:status :success :value "a"}',
        [
            *('phase.started "A"', 'agent.started "s_1" "s"', 'phase.ended "A" "success" 0', 'phase.started "B"'),
            *asks("inner", "q", r'"\"a\""', phase="4 "),
            *(r'agent.result "s_1" "ok" "\"a\"" 0', 'phase.ended "B" "success" 0', DONE),
        ],
    ),
]

# Section 4: steps

STEPS = [
    (
        "the answer is text",
        '(step "p")',
        ["a"],
        '"a"',
        asks("step", "p", r'"\"a\""'),
    ),
    (
        "names are keywords or strings",
        "(step \"p\" {:name :kw})",
        ["a"],
        '"a"',
        asks("kw", "p", r'"\"a\""'),
    ),
    (
        "other names are none",
        "(step \"p\" {:name 5})",
        ["a"],
        '"a"',
        asks("step", "p", r'"\"a\""'),
    ),
    (
        "the prompt is in the journal as text",
        "(step (str 1 :a \"ä\\n\"))",
        ["a"],
        '"a"',
        asks("step", r"1:aä\n", r'"\"a\""'),
    ),
    (
        "tools",
        '(step "p" {:tools [add]})',
        ['(calls "add" {:a 1})', "b"],
        '"b"',
        [
            *('agent.started "step_1" "step" "p"', 'agent.tool_call "step_1" "add" "{:a 1}"'),
            *('agent.tool_result "step_1" "add" "gated"', r'agent.result "step_1" "ok" "\"b\"" 0 "m"'),
            'budget "step_1" 3 2',
        ],
    ),
    (
        "a tool that fails has no result",
        '(step "p" {:tools [broken]})',
        ['(calls "broken" {})', "b"],
        '"b"',
        [
            *('agent.started "step_1" "step" "p"', 'agent.tool_call "step_1" "broken" "{}"'),
            *(r'agent.result "step_1" "ok" "\"b\"" 0 "m"', 'budget "step_1" 3 2'),
        ],
    ),
    (
        "an agent brings its name, tools and model",
        '(step "p" {:agent helper :tools [broken] :model "other"})',
        ['(calls "add" {:a 1})', "b"],
        '"b"',
        [
            *('agent.started "helper_1" "helper" "p"', 'agent.tool_call "helper_1" "add" "{:a 1}"'),
            *('agent.tool_result "helper_1" "add" "gated"', r'agent.result "helper_1" "ok" "\"b\"" 0 "agents-own"'),
            'budget "helper_1" 3 2',
        ],
    ),
    (
        "a name of the step's own goes before the agent's",
        '(step "p" {:agent helper :name "mine"})',
        ["a"],
        '"a"',
        asks("mine", "p", r'"\"a\""', model="agents-own"),
    ),
    (
        "forms are data",
        '(step "p" {:schema :sema-form})',
        ["(+ 1 2) :a"],
        "((+ 1 2) :a)",
        asks("step", "p", '"((+ 1 2) :a)"'),
    ),
    (
        "all calls inside are the leaf's, those of its tasks too",
        """(workflow/step "s" (fn () (llm/complete "q") (await (async (llm/complete "r")))))""",
        ["a", "b"],
        '"b"',
        [*('agent.started "s_1" "s"', r'agent.result "s_1" "ok" "\"b\"" 0 "m"', 'budget "s_1" 6 4')],
    ),
    (
        "a leaf that fails after a call has used it",
        """(try (workflow/step "s" (fn () (llm/complete "q") (error "then"))) (catch e (:message e)))""",
        ["a"],
        '"then"',
        [*('agent.started "s_1" "s"', 'agent.result "s_1" "failed" "error: then" 0 "m"', 'budget "s_1" 3 2')],
    ),
    (
        "a call that failed is none",
        """(try (step "p") (catch e :failed))""",
        [],
        ":failed",
        [
            'agent.started "step_1" "step" "p"',
            r'agent.result "step_1" "failed" "error: LLM error: API error: 0 - User exception: \"out of order\"" 0',
        ],
    ),
    (
        "nor is one of no tokens and unknown price",
        '(step "p")',
        ['{:content "a"}'],
        '"a"',
        ['agent.started "step_1" "step" "p"', r'agent.result "step_1" "ok" "\"a\"" 0'],
    ),
    (
        "tool calls belong to the leaf of the task, wherever it was started",
        """(workflow/step "s" (fn () (workflow/tool-call :t "as it is")
             (await (async (workflow/tool-call "u" {:a [1]})))
             (workflow/step "inner" (fn () (workflow/tool-call "v"))) 1))""",
        [],
        "1",
        [
            *('agent.started "s_1" "s"', 'agent.tool_call "s_1" "t" "as it is"'),
            'agent.tool_call "s_1" "u" "{:a [1]}"',
            *('agent.started "inner_1" "inner"', 'agent.tool_call "inner_1" "v" "gated"'),
            *('agent.result "inner_1" "ok" "nil" 0', 'agent.result "s_1" "ok" "1" 0'),
        ],
    ),
    (
        "numbers count up for each name",
        """(workflow/step "a" (fn () 1)) (workflow/step :a (fn () 2)) (workflow/step {} (fn () 3))
           (workflow/step 5 (fn () 4))""",
        [],
        "4",
        [
            *('agent.started "a_1" "a"', 'agent.result "a_1" "ok" "1" 0'),
            *('agent.started "a_2" "a"', 'agent.result "a_2" "ok" "2" 0'),
            *('agent.started "step_1" "step"', 'agent.result "step_1" "ok" "3" 0'),
            *('agent.started "step_2" "step"', 'agent.result "step_2" "ok" "4" 0'),
        ],
    ),
    (
        "a native step's prompt is :__prompt, else :prompt, when they are strings",
        """(workflow/step {:__prompt "" :prompt "given"} (fn () 1)) (workflow/step {:prompt 5} (fn () 1))""",
        [],
        "1",
        [
            *('agent.started "step_1" "step" "given"', 'agent.result "step_1" "ok" "1" 0'),
            *('agent.started "step_2" "step"', 'agent.result "step_2" "ok" "1" 0'),
        ],
    ),
]  # fmt: skip

# Section 7: budgets

BUDGETS = [
    (
        "as much as the limit is not above it",
        '(will "a" "b") (defworkflow w "" {:budget {:tokens 5}} (step "p") 1)',
        "{:status :success :value 1}",
        [*asks("step", "p", r'"\"a\""', "3 2 5"), DONE],
    ),
    (
        "a limit in dollars is not in the events",
        """(llm/set-pricing "m" 1 1) (will "a" "b")
           (defworkflow w "" {:budget {:usd 0.000004}} (list (step "p") (checkpoint :asked prompts) (step "q")))""",
        BROKE,
        [
            *asks("step", "p", r'"\"a\""', "3 2 5e-06"),
            stored("asked", r'"(\"p\")"', '["p"]'),
            OVER,
        ],
    ),
    (
        "leaves that were under way end as if nothing were",
        """(will "a" "b" "c") (defworkflow w "" {:budget {:tokens 4}}
             (define (ask n) (fn () (workflow/step "s" (fn () (async/sleep 1) (llm/complete (str n))))))
             (parallel (map ask (range 3)) 2)
             (checkpoint :n (count prompts)))""",
        BROKE,
        None,
    ),
    (
        "independent of llm/with-budget",
        """(will "a" "b") (defworkflow w "" {:budget {:tokens 100}}
             (try (llm/with-budget {:max-tokens 4} (fn () (step "p") (step "q"))) (catch e nil)) (step "r"))""",
        '{:status :success :value "b"}',
        None,
    ),
]


@pytest.mark.parametrize(
    ("says", "text", "value", "journal"), [*LIFE, *MARKS, *BUDGETS], ids=[row[0] for row in [*LIFE, *MARKS, *BUDGETS]]
)
def test_a_program_its_value_and_its_journal(
    says: str, text: str, value: str, journal: list[str] | None, tmp_path: Path
) -> None:
    ran = run(tmp_path, '(will "a" "b" "c")' + text)
    assert to_text(ran.value) == value, says
    if journal is not None:
        assert told(tmp_path) == journal
    assert ran.result() == json.loads(Session().run(f"(json/encode '{to_text(ran.value)})"))


@pytest.mark.parametrize(("says", "form", "replies", "value", "journal"), STEPS, ids=[row[0] for row in STEPS])
def test_a_step_its_value_and_its_events(
    says: str, form: str, replies: list[str], value: str, journal: list[str], tmp_path: Path
) -> None:
    texts = " ".join(one if one.startswith(("(calls", "{:content")) else json.dumps(one) for one in replies)
    ran = run(tmp_path, f'(will {texts}) (defworkflow w "" {{}} {form})')
    assert to_text(ran.value.lookup(keyword("value"))) == value, says
    assert told(tmp_path) == [*journal, DONE]


# Sentences of the sections that a journal alone doesn't show


def test_leaves_under_way_finish_and_no_other_starts(tmp_path: Path) -> None:
    ran = run(tmp_path, BUDGETS[2][1])
    assert [line for line in told(tmp_path) if line.startswith(("agent.result", "checkpoint"))] == [
        *(r'agent.result "s_1" "ok" "\"a\"" 0 "m"', r'agent.result "s_2" "ok" "\"b\"" 0 "m"'),
        stored("n", '"2"', "2"),
    ]
    assert to_text(ran.session.run("prompts")) == '("0" "1")'


@pytest.mark.parametrize("brings", ["{:tools [add] :schema %s}", "{:agent helper :schema %s}"])
@pytest.mark.parametrize(
    ("schema", "text", "value"),
    [
        ("nil", '{"a": 1}', '"{\\"a\\": 1}"'),
        ("{:a {:type :number}}", '{"a": 1, "b": 2}', "{:a 1 :b 2}"),
        ("{:a {:type :number}}", '{"a": "1"}', "{:a 7}"),
        ("{:a {:type :number}}", "{}", "{:a 7}"),
        ("{:a {:type :number}}", "no JSON", "{:a 7}"),
        ('{:a {:type "string"} :b {:type "number"} :c {:type :bool} :d {:type "list"}}',
         '{"a": "x", "b": 1.5, "c": false, "d": []}', '{:a "x" :b 1.5 :c #f :d ()}'),
        ('{:a {:type "boolean"} :b {:type :array}}', '{"a": true, "b": [1]}', "{:a #t :b (1)}"),
        ("{:a {:type :boolean}}", '{"a": 1}', "{:a 7}"),
        ("{:a {:type :list}}", '{"a": {}}', "{:a 7}"),
        ("{:a {:type :colour}}", '{"a": null}', "{:a nil}"),  # an unknown type
        ('{:a "anything"}', '{"a": null}', "{:a nil}"),
        ('{:a "anything"}', '{"b": 1}', '"{\\"b\\": 1}"'),  # without a :type the text is given
        ('{:a "anything"}', "no JSON", '"no JSON"'),
        ('{:a "anything" :b {:type :string}}', "no JSON", "{:a 7}"),
        ("{}", "[1]", '"[1]"'),
        ("{}", '{"a": 1}', "{:a 1}"),
        ("[1]", '{"a": 1}', "{:a 7}"),  # no map
    ],
)  # fmt: skip
def test_schemas_of_answers_made_with_tools(brings: str, schema: str, text: str, value: str, tmp_path: Path) -> None:
    """What doesn't fit a schema with types goes to llm/extract, which gives {:a 7} here."""
    program = f"""(define (llm/extract schema text) {{:a 7}}) (will {json.dumps(text)})
                  (defworkflow w "" {{}} (step "p" {brings % schema}))"""
    ran = run(tmp_path, program)
    assert to_text(ran.value.lookup(keyword("value"))) == value


@pytest.mark.parametrize("form", ['(step "p")', "(checkpoint :k (list 1))", '(checkpoint :k (error "not again"))'])
def test_what_is_kept_has_no_events(form: str, tmp_path: Path) -> None:
    flow = '(will "a") (defworkflow w "" {} %s (checkpoint :k))'
    first = run(tmp_path, flow % form.replace('(error "not again")', "1"))
    again = run(tmp_path, flow % form, resume=True)
    assert to_text(again.value) == to_text(first.value)
    assert told(tmp_path, "events.resume-1.jsonl") == [DONE]


def test_runs_inside_a_run_are_runs_of_their_own(tmp_path: Path) -> None:
    ran = run(
        tmp_path,
        """(will "a" "b") (defworkflow w "" {:budget {:tokens 4}} (phase "A") (checkpoint :k 1)
             (define inner (defworkflow inside "" {} (step "p") (list (checkpoint :k) (error "no"))))
             (list (:error inner) (checkpoint :k) (step "q")))""",
    )
    assert to_text(ran.value) == BROKE  # because of q: what the inner run used is its own
    (inner,) = (one.name for one in tmp_path.iterdir() if one.name != "r")
    assert told(tmp_path, run_id=inner) == [
        f'run.started "inside" "{inner}"', *asks("step", "p", r'"\"a\""'), FAILED
    ]  # fmt: skip
    assert asks("step", "q", r'"\"b\""', "3 2 4", phase="1 ")[0] in told(tmp_path)


def test_forms_work_in_loaded_files(tmp_path: Path) -> None:
    (tmp_path / "part.sema").write_text('(phase "Loaded") (checkpoint :answer (step "p"))')
    ran = run(tmp_path / "runs", f'(will "a") (defworkflow w "" {{}} (load "{tmp_path}/part.sema"))')
    assert to_text(ran.value) == '{:status :success :value "a"}'
    assert told(tmp_path / "runs")[0] == 'phase.started "Loaded"'


def test_tasks_side_by_side_work_for_their_own_leaf(tmp_path: Path) -> None:
    run(
        tmp_path,
        """(defworkflow w "" {} (parallel (map (fn (n) (fn ()
             (workflow/step "s" (fn () (async/sleep (- 5 n)) (await (async (workflow/tool-call "t" n)))))))
             (range 4)) 4))""",
    )
    assert [line for line in told(tmp_path) if "tool_call" in line] == [
        f'agent.tool_call "s_{n + 1}" "t" "{n}"' for n in (3, 2, 1, 0)
    ]


def test_a_checkpoint_behind_a_refused_step_is_made_anew(tmp_path: Path) -> None:
    """What it holds may lack the step's answer; the step that was paid for isn't asked again."""
    flow = """(will "a" "b") (defworkflow w "" {:budget {:tokens 4}}
                (checkpoint :early (step "p")) (checkpoint :late (list (checkpoint :early) (step "q"))))"""
    first = run(tmp_path, flow)
    assert to_text(first.value) == BROKE
    assert [line.split()[1] for line in told(tmp_path) if line.startswith("checkpoint")] == ['"early"', '"late"']
    again = run(tmp_path, flow.replace('"a" "b"', '"b"'), resume=True, max_tokens=100)
    assert to_text(again.value) == '{:status :success :value ("a" "b")}'
    assert again.prompts() == ["q"]
