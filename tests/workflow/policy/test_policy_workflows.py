"""Policies of whole workflows, row by row of the contract: what a run gives, and what its journal says."""

from __future__ import annotations

from pathlib import Path

import pytest
from llm_support import llm as llm
from workflow_support import MODEL, memos, run, told

from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")

ADDING = '(will (calls "add" {:a 1}) "done")'
DONE = '{:status :success :value "done"}'
ONE = '{:status :success :value "one"}'


@pytest.fixture(autouse=True)
def fixed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_FIXED_TS", "0")
    monkeypatch.chdir(tmp_path)


def flow(root: Path, meta: str, body: str, **settings: object) -> str:
    """What a workflow gives whose model answers `one`, `two`, `three`."""
    program = f'{MODEL} (will "one" "two" "three") (defworkflow w "" {meta} {body})'
    return to_text(run(root, program, run_id="r", **settings).value)


def policies(root: Path) -> list[str]:
    """The events of policies and tools, in short."""
    lines = [line.replace('"inline" ', "").replace('"', "") for line in told(root)]
    return [line for line in lines if line.startswith(("policy.", "agent.tool"))]


def denied(boundary: str, subject: str, why: str) -> str:
    return f"{{:error \"Policy 'inline' denied {boundary} '{subject}': {why}\" :status :failed}}"


NOT_ALLOWED = denied("model", "scripted/m", "the model is not allowed")
IS_DENIED = denied("model", "scripted/m", "the model is denied")
BY_DEFAULT = "policy.violation model scripted/m models.default-deny fail request"
BY_LIST = "policy.violation model scripted/m models.deny fail request"
CHECKED = "policy.checked model scripted/m models.{} request".format
FLAGGED = "policy.flagged llm.{} scripted/m {} {} {} {} request".format
VIOLATED = "policy.violation llm.{} scripted/m {} block request".format
ADDED = ["policy.checked tool add tools.allow request", "agent.tool_call step_1 add {:a 1}"]


@pytest.mark.parametrize(
    ("rules", "given", "events"),
    [
        ('{:models {:allow ["scripted/m"]}}', ONE, [CHECKED("allow")]),
        ('{"models" {"allow" ["scripted/*"] "default" "deny" "on-deny" "fail"}}', ONE, [CHECKED("allow")]),
        ("{:models {:default :allow}}", ONE, [CHECKED("default-allow")]),
        ("{:models {}}", NOT_ALLOWED, [BY_DEFAULT]),
        ('{:models {:default :deny :allow ["scripted/other"]}}', NOT_ALLOWED, [BY_DEFAULT]),
        ('{:models {:allow ["scripted/*"] :deny ["scripted/m"]}}', IS_DENIED, [BY_LIST]),
        ('{:models {:deny ["scripted/*"] :on-deny :skip}}', IS_DENIED, [BY_LIST.replace("fail", "skip")]),
        ("[{:models {:default :allow}} {:models {}}]", NOT_ALLOWED, [CHECKED("default-allow"), BY_DEFAULT]),
        (
            '(list {:models {:default :allow}} {:models {:allow ["scripted/m"]}})',
            ONE,
            [CHECKED("default-allow"), CHECKED("allow")],
        ),
        ("(begin (defpolicy named {:models {:default :allow}}) named)", ONE, [CHECKED("default-allow")]),
        ("[]", ONE, []),
        ("nil", ONE, []),
        ("{}", ONE, []),
    ],
)
def test_models(rules: str, given: str, events: list[str], tmp_path: Path) -> None:
    assert flow(tmp_path, f"{{:policy {rules}}}", '(step "a")') == given
    assert [line.replace("named ", "") for line in policies(tmp_path)] == events


@pytest.mark.parametrize(
    ("rules", "given", "events"),
    [
        ("{:allow {:add {}}}", DONE, [*ADDED, "agent.tool_result step_1 add gated"]),
        (
            "{:default :allow}",
            DONE,
            [ADDED[0].replace("allow", "default-allow"), ADDED[1], "agent.tool_result step_1 add gated"],
        ),
        (
            "{}",
            denied("tool", "add", "the tool is not allowed"),
            ["policy.violation tool add tools.default-deny fail request"],
        ),
        (
            "{:default :allow :deny [:add]}",
            denied("tool", "add", "the tool is denied"),
            ["policy.violation tool add tools.deny fail request"],
        ),
        ("{:on-deny :tool-error}", DONE, ["policy.violation tool add tools.default-deny tool-error request"]),
        (
            '{:allow {:add {:commands {:arg "a" :allow ["1"]}}}}',
            denied("tool", "add", "argument a: it is no string"),
            ["policy.violation tool add tools.allow.commands fail request"],
        ),
    ],
)
def test_tools(rules: str, given: str, events: list[str], tmp_path: Path) -> None:
    assert flow(tmp_path, f"{{:policy {{:tools {rules}}}}}", f'{ADDING} (step "a" {{:tools [add]}})') == given
    assert policies(tmp_path) == events


def test_the_strictest_of_several_denials_wins(tmp_path: Path) -> None:
    rules = "[{:tools {:on-deny :tool-error}} {:tools {:deny [:add]}}]"
    given = flow(tmp_path, f"{{:policy {rules}}}", f'{ADDING} (step "a" {{:tools [add]}})')
    assert given == denied("tool", "add", "the tool is denied")


def test_tools_of_agents_and_results_of_those_that_fail(tmp_path: Path) -> None:
    given = flow(tmp_path / "a", "{:policy {:tools {:allow {:add {}}}}}", f'{ADDING} (step "a" {{:agent helper}})')
    assert given == DONE
    assert policies(tmp_path / "a") == [
        ADDED[0],
        "agent.tool_call helper_1 add {:a 1}",
        "agent.tool_result helper_1 add gated",
    ]
    failing = '(will (calls "broken" {}) "done") (step "a" {:tools [broken]})'
    assert flow(tmp_path / "b", "{:policy {:tools {:default :allow}}}", failing) == DONE
    assert policies(tmp_path / "b")[1:] == ["agent.tool_call step_1 broken {}"]


@pytest.mark.parametrize(
    ("rules", "body", "given", "events"),
    [
        (
            "{:input {:detect [:email]}}",
            '(step "to a@b.io")',
            denied("llm.input", "scripted/m", "it holds what looks like an email address"),
            [
                FLAGGED("input", "input.detect.email", "email", 1, "block"),
                VIOLATED("input", "input.detect.email"),
            ],
        ),
        (
            "{:input {:detect [:email] :actions {:email :audit}}}",
            '(step "to a@b.io and c@d.io")',
            ONE,
            [FLAGGED("input", "input.detect.email", "email", 2, "audit")],
        ),
        (
            "{:input {:detect [:email :ipv4] :actions {:email :redact :ipv4 :redact}}}",
            '(step "to a@b.io at 10.0.0.1") (first prompts)',
            '{:status :success :value "to «redacted:email» at «redacted:ipv4»"}',
            [
                "policy.redacted llm.input scripted/m input.detect.email email 1 request",
                "policy.redacted llm.input scripted/m input.detect.ipv4 ipv4 1 request",
            ],
        ),
        (
            "{:input {:detect [:secret :email :phone :ipv4 :payment-card]}}",
            '(step "nothing of interest")',
            ONE,
            ["policy.checked llm.input scripted/m input.detect request"],
        ),
        (
            "{:output {:detect [:secret]}}",
            '(will "AKIAIOSFODNN7EXAMPLE") (step "a")',
            denied("llm.output", "scripted/m", "it holds what looks like a secret"),
            [
                FLAGGED("output", "output.detect.secret", "secret", 1, "block"),
                VIOLATED("output", "output.detect.secret"),
            ],
        ),
        (
            '{:output {:forbid [{:id "no-x" :contains "x"}]}}',
            '(will "xx") (step "a")',
            denied("llm.output", "scripted/m", "it holds a forbidden text"),
            [FLAGGED("output", "output.forbid.no-x", "no-x", 2, "block"), VIOLATED("output", "output.forbid.no-x")],
        ),
        (
            '{:output {:forbid [{:id :years :regex "[0-9]{4}"}] :action :audit}}',
            '(will "2024") (step "a")',
            '{:status :success :value "2024"}',
            [FLAGGED("output", "output.forbid.years", "years", 1, "audit")],
        ),
        (
            "{:output {:schema {:a :number :b {:type :list :optional #t}} :max-length 20}}",
            r'(will "{\"a\": 1}") (step "a")',
            r'{:status :success :value "{\"a\": 1}"}',
            ["policy.checked llm.output scripted/m output request"],
        ),
        (
            "{:output {:schema {:a :number}}}",
            '(will "no") (step "a")',
            denied("llm.output", "scripted/m", "it is no JSON"),
            [FLAGGED("output", "output.schema", "schema", 1, "block"), VIOLATED("output", "output.schema")],
        ),
        (
            "{:output {:max-length 3}}",
            '(will "four") (step "a")',
            denied("llm.output", "scripted/m", "it has 4 characters, more than 3"),
            [FLAGGED("output", "output.max-length", "max-length", 1, "block"), VIOLATED("output", "output.max-length")],
        ),
        (
            '{:output {:require ["DONE"]}}',
            '(will "four") (step "a")',
            denied("llm.output", "scripted/m", "it lacks a required text"),
            [FLAGGED("output", "output.require.DONE", "DONE", 1, "block"), VIOLATED("output", "output.require.DONE")],
        ),
    ],
)
def test_texts(rules: str, body: str, given: str, events: list[str], tmp_path: Path) -> None:
    assert flow(tmp_path, f"{{:policy {rules}}}", body) == given
    assert policies(tmp_path) == events


# Where it holds


def test_the_policy_of_a_step_is_in_force_for_that_step(tmp_path: Path) -> None:
    body = '(list (try (step "a" {:policy {:models {}}}) (catch e (:rule e))) (step "b"))'
    assert flow(tmp_path, "{}", body) == '{:status :success :value ("models.default-deny" "one")}'


def test_a_step_can_only_tighten(tmp_path: Path) -> None:
    body = '(step "a" {:policy {:models {:default :allow}}})'
    assert flow(tmp_path, "{:policy {:models {}}}", body) == NOT_ALLOWED


@pytest.mark.parametrize("section", [":metadata {:require [:owner]}", ":completion {:require-events [:checkpoint]}"])
def test_what_a_step_can_t_have(section: str, tmp_path: Path) -> None:
    name = section.split()[0]
    given = flow(tmp_path, "{}", f'(step "a" {{:policy {{{section}}}}})')
    assert given == f"{{:error \"policy 'inline': can't have {name} on a step\" :status :failed}}"


def test_fan_out_functions_and_nested_runs_are_under_it(tmp_path: Path) -> None:
    kind = '(fn () (try (step "x") (catch e (:type e))))'
    body = f"""(define (ask) ({kind}))
      (list (parallel-settled (list {kind} {kind})) (pipeline [1] (fn (x) (ask))) (await (async (ask)))
            (:error (defworkflow inner "" {{}} (step "x"))))"""
    given = flow(tmp_path, "{:policy {:models {}}}", body)
    assert given.count(":policy-denied") == 4
    assert "Policy 'inline' denied model 'scripted/m'" in given


def test_a_mistake_fails_the_run_before_anything_is_asked(tmp_path: Path) -> None:
    body = '(begin (step "a") 1)'
    given = flow(tmp_path, "{:policy {:modles {}}}", body)
    assert given == "{:error \"policy 'inline': has the unknown key :modles\" :status :failed}"
    assert [line.split()[0] for line in told(tmp_path)] == ["run.ended"]


def test_keys_hold_the_policy_when_there_is_one(tmp_path: Path) -> None:
    same = [f"{{:policy {rules}}}" for rules in ("nil", "[]")]
    keys = []
    for number, meta in enumerate(["{}", *same, "{:policy {}}", "{:policy {:models {:default :allow}}}"]):
        flow(tmp_path / str(number), meta, '(step "a")')
        keys.append(next(iter(memos(tmp_path / str(number)))))
    assert len(set(keys[:3])) == 1 and len(set(keys)) == 3


def test_a_resumed_run_under_another_policy_asks_again(tmp_path: Path) -> None:
    assert flow(tmp_path, "{:policy {:models {:default :allow}}}", '(step "a")') == ONE
    assert flow(tmp_path, "{:policy {:models {}}}", '(step "a")', resume=True) == NOT_ALLOWED


# Metadata, events, exceptions


def test_metadata_that_is_required(tmp_path: Path) -> None:
    rules = ':policy {:metadata {:require [:owner "ticket"]}}'
    given = flow(tmp_path / "a", f'{{{rules} :owner "me" :ticket " "}}', '(step "a")')
    assert given == denied("metadata", "workflow", "the workflow's metadata lacks ticket")
    assert flow(tmp_path / "b", f'{{{rules} :owner "me" :ticket 7}}', '(step "a")') == ONE


@pytest.mark.parametrize(
    ("names", "body", "given"),
    [
        ('[:agent.result "run.started"]', '(step "a")', ONE),
        ("[:checkpoint]", "(checkpoint :a 1)", "{:status :success :value 1}"),
        ("[:checkpoint :phase.started]", '(step "a")', "checkpoint, phase.started"),
        ("[:checkpoint]", '(error "boom")', '{:error "boom" :status :failed}'),
        ("[:checkpoint]", '{:status :failed :why "no"}', '{:status :failed :why "no"}'),
        ("[:auth.granted]", "1", "auth.granted"),
        ("[:agent.tool_result]", f'{ADDING} (step "a" {{:tools [add]}})', DONE),
    ],
)
def test_events_that_are_required(names: str, body: str, given: str, tmp_path: Path) -> None:
    if not given.startswith("{"):
        given = f'{{:error "completion policy missing required events: {given}" :status :failed}}'
    assert flow(tmp_path, f"{{:policy {{:completion {{:require-events {names}}}}}}}", body) == given


def test_what_a_resumed_run_did_before_counts(tmp_path: Path) -> None:
    meta = "{:policy {:completion {:require-events [:agent.result :checkpoint :phase.started]}}}"
    body = '(phase "A") (checkpoint :a (step "a")) %s'
    assert ":failed" in flow(tmp_path, meta, body % '(error "boom")')
    assert flow(tmp_path, meta, body % "5", resume=True) == "{:status :success :value 5}"
    other = meta.replace(":checkpoint", ":approval.granted")
    assert "missing required events: approval.granted" in flow(tmp_path, other, body % "5", resume=True)


def test_without(tmp_path: Path) -> None:
    meta = "{:policy {:models {} :input {:detect [:email]} :tools {}}}"
    body = f'(policy/without "checked by hand" {ADDING} (step "a@b.io" {{:tools [add]}}))'
    assert flow(tmp_path, meta, body) == DONE
    bypassed = "policy.bypassed {} checked by hand request".format
    model, text, tool = bypassed("model scripted/m"), bypassed("llm.input scripted/m"), bypassed("tool add")
    around = ["agent.tool_call step_1 add {:a 1}", "agent.tool_result step_1 add gated"]
    assert policies(tmp_path) == [model, text, tool, *around, model, text]


@pytest.mark.parametrize(
    ("meta", "body", "given"),
    [
        ("{:policy {:models {}}}", '(begin (policy/without "r" 1) (step "a"))', NOT_ALLOWED),
        ("{:policy {:models {}}}", '(policy/without "r" (step "a" {:policy {:models {}}}))', ONE),
        ("{:policy {:models {}}}", '(policy/without "r" (await (async (step "a"))))', ONE),
        ("{:policy {:models {}}}", '(try (policy/without "r" (error "x")) (catch e (step "a")))', NOT_ALLOWED),
        (
            "{}",
            '(policy/without "r" 1)',
            '{:error "policy/without requires an active workflow policy" :status :failed}',
        ),
        ("{:policy {}}", '(policy/without "r" 1)', "{:status :success :value 1}"),
        (
            "{:policy {}}",
            f'(policy/without "{"r" * 257}" 1)',
            '{:error "policy/without: the reason must be a string of 1 to 256 characters" :status :failed}',
        ),
    ],
)
def test_where_nothing_is_checked(meta: str, body: str, given: str, tmp_path: Path) -> None:
    assert flow(tmp_path, meta, body) == given


# Every way to a model

REDACT = "{:policy {:input {:detect [:email] :actions {:email :redact}}}}"


@pytest.mark.parametrize(
    "call",
    [
        '(llm/complete "a@b.io")',
        '(llm/chat [(message :user "a@b.io")])',
        '(llm/stream "a@b.io" (fn (piece) nil))',
        '(llm/batch ["a@b.io"])',
        '(llm/pmap (fn (x) x) ["a@b.io"])',
        '(llm/summarize "a@b.io")',
        '(llm/classify [:one :two] "a@b.io")',
        '(begin (will "{\\"a\\": 1}") (llm/extract {:a {:type :number}} "a@b.io"))',
        '(agent/run helper "a@b.io")',
        '(conversation/say (conversation/new {}) "a@b.io")',
        '(begin (deftool leak "" {} (fn () "a@b.io")) (will (calls "leak" {}) "done") (step "x" {:tools [leak]}))',
        """(begin (llm/define-provider :ranks {:default-model "r" :rerank (fn (req) (set! requests (list req)) [])})
             (llm/rerank "a@b.io" ["c@d.io"] {:provider :ranks}))""",
        """(begin (llm/define-provider :vec {:default-model "v" :embed (fn (req) (set! requests (list req)) [[1.0]])})
             (llm/embed ["a@b.io"]))""",
    ],
)
def test_no_address_gets_to_a_provider(call: str, tmp_path: Path) -> None:
    sent = flow(tmp_path, REDACT, f"(begin {call} (str requests))")
    assert "«redacted:email»" in sent
    assert "a@b.io" not in sent and "c@d.io" not in sent
    assert any(line.startswith("policy.redacted llm.input ") for line in policies(tmp_path))
