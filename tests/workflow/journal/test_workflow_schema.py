"""Every kind of event that runs write, caused by programs, fits the JSON Schema of events. (What the other tests write
is held against it, too: conftest.py.)"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from jsonschema import ValidationError
from llm_support import llm as llm
from mcp_logins import Guarded
from mcp_logins import browser as browser
from mcp_logins import guarded as guarded
from mcp_logins import server_url as server_url
from mcp_support import mcp as mcp
from workflow_schema import SCHEMA, check, check_journals
from workflow_support import run
from workflow_trouble import PROVIDER, flow

from sema_runtime.workflow import approvals
from sema_runtime.workflow.approvals import files, keys
from sema_runtime.workflow.journal import events
from semac.cli.workflow.command import main

pytestmark = pytest.mark.usefixtures("llm")

MODEL = """
(define replies (list))
(llm/define-provider :scripted {:default-model "m"
  :complete (fn (req) (let ((reply (if (null? replies) "plain" (car replies))))
    (set! replies (if (null? replies) replies (cdr replies)))
    (if (map? reply) reply {:content reply :usage {:prompt-tokens 3 :completion-tokens 2}})))})
(deftool add "Adds" {:a {:type :number}} (fn (a) a))
(define (calls-add) {:content "" :tool-calls [{:id "1" :name "add" :arguments {:a 1}}]})
"""
PLAIN = {
    "run.started",
    "phase.started",
    "phase.ended",
    "agent.started",
    "agent.result",
    "checkpoint",
    "budget",
    "run.ended",
}
TOOLS = {"agent.tool_call", "agent.tool_result"}


def names(root: Path) -> set[str]:
    return check_journals(root)


def test_phases_steps_tools_checkpoints(tmp_path: Path) -> None:
    run(
        tmp_path,
        MODEL
        + """(set! replies (list "plain" (calls-add) "done"))
        (define odd (list nil :a 'b "\u2028 ä 🎉" 1.5 (expt 10 40) [1] {:a {:b nil}} (fn () 1) (/ 0.0 0.0)))
        (defworkflow w "" {:phases ["A" :b] :budget {:tokens 1000 :usd 5}}
          (step "before any phase")
          (checkpoint :early odd)
          (phase "A")
          (step "with tools" {:name :tooled :tools [add]})
          (checkpoint "odd" odd)
          (phase "")
          (workflow/step "" (fn () (workflow/tool-call :t) (workflow/tool-call "t" odd) odd))
          (try (workflow/step "fails" (fn () (error "no"))) (catch e nil))
          (parallel (map (fn (n) (fn () (step (str n) {:name "many"}))) (range 5)))
          (try (checkpoint :bad (error "no")) (catch e nil))
          odd)""",
        args_json='{"ä": [1, null]}',
    )
    assert names(tmp_path) == PLAIN | TOOLS


def test_policies(tmp_path: Path) -> None:
    flow = """(defworkflow w "" {:policy POLICY} (phase "A") BODY)"""
    for number, (policy, body) in enumerate(
        [
            ('{:models {:allow ["scripted/*"]}}', '(step "a")'),
            ('{:models {:deny ["scripted/*"]}}', '(step "a")'),
            ("{:tools {:allow {:add {}}}}", '(set! replies (list (calls-add) "done")) (step "a" {:tools [add]})'),
            ("{:tools {:on-deny :tool-error}}", '(set! replies (list (calls-add) "done")) (step "a" {:tools [add]})'),
            ("{:input {:detect [:email] :actions {:email :audit}}}", '(step "write to ann@example.com")'),
            ("{:input {:detect [:email] :actions {:email :redact}}}", '(step "write to ann@example.com")'),
            ("{:output {:detect [:email]}}", '(set! replies (list "ann@example.com")) (step "a")'),
            ('{:models {:allow ["scripted/*"]}}', '(policy/without "a test" (step "a"))'),
            ("{:metadata {:require [:owner]}}", '(step "a")'),
            ('{:completion {:require-events ["checkpoint"]}}', '(step "a")'),
        ]
    ):
        run(tmp_path / str(number), MODEL + flow.replace("POLICY", policy).replace("BODY", body))
    found = names(tmp_path)
    assert {f"policy.{kind}" for kind in ("checked", "violation", "flagged", "redacted", "bypassed")} <= found


@pytest.fixture
def approving(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    pytest.importorskip("cryptography", reason="the extra `approvals` is not installed")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    keys.generate("k", "k.pub")
    before = approvals.settings.set(approvals.Settings())
    approvals.configure("pause", "k.pub")
    yield
    approvals.settings.reset(before)


@pytest.mark.usefixtures("approving")
def test_approvals(tmp_path: Path) -> None:
    asking = '(defworkflow w "" {} (phase "A") (approval :ship {:reason "all customers" :subject {:n 1}}) 1)'
    root = tmp_path / "runs"
    for run_id, verdict in (("a", ["approve"]), ("b", ["reject", "--reason", "no"])):
        run(root, asking, run_id=run_id)
        (wanted,) = files.ids(str(root / run_id))
        status = main([verdict[0], run_id, wanted, "--signing-key-file", "k", *verdict[1:], "--run-dir", str(root)])
        assert status == 0
        run(root, asking, run_id=run_id, resume=True)
    assert {f"approval.{kind}" for kind in ("requested", "granted", "rejected", "applied")} <= names(root)


@pytest.mark.usefixtures("mcp")
def test_servers(tmp_path: Path, guarded: Guarded, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("cryptography")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEMA_MCP_AUTH_KEY", "07" * 32)
    flow = '(defworkflow w "" {:mcp {who SPEC}} (phase "A") 1)'
    url = f'{{:url "{guarded.url}" :auth {{:scopes ["read"]}} :tools ["whoami"] :persist :run}}'
    for number, (spec, may_ask) in enumerate([(url, False), (url, True), ('{:command "/no/such"}', False)]):
        run(tmp_path / str(number), flow.replace("SPEC", spec), may_ask=may_ask)
    assert {f"auth.{kind}" for kind in ("required", "granted", "failed")} <= names(tmp_path)


def test_journals_that_overflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_JOURNAL_MAX_BYTES", "400")
    run(tmp_path, '(defworkflow w "" {} (map (fn (n) (checkpoint :n n)) (range 20)) 1)')
    assert "journal.overflow" in names(tmp_path)


def test_runs_that_are_killed(tmp_path: Path) -> None:
    text = '(defworkflow w "" {} (step "a"))'
    assert flow(tmp_path, PROVIDER + text, SEMA_WORKFLOW_FAULT="memo.write.before:1").status == -9
    assert flow(tmp_path, PROVIDER + text, "--resume", "latest").status == 0
    assert "agent.presumed" in names(tmp_path / "runs")


def test_runs_that_end_early(tmp_path: Path) -> None:
    """By an error, the budget, inside of each other, in another's task, by (exit)."""
    for number, body in enumerate(
        [
            '(phase "A") (error "no")',
            '(phase "A") (step "a") (step "b")',
            '(defworkflow inner "" {} (phase "B") (step "c") (error "no"))',
            '(async (workflow/step "late" (fn () (async/sleep 5)))) (async/sleep 1)',
            "{:status :failed :why 1}",
        ]
    ):
        run(tmp_path / str(number), MODEL + f'(defworkflow w "" {{:budget {{:tokens 1}}}} {body})')
    with pytest.raises(SystemExit):
        run(tmp_path / "exit", '(defworkflow w "" {} (phase "A") (workflow/step "a" (fn () (exit 3))))')
    names(tmp_path)


def test_these_are_all() -> None:
    """Each kind that we write is caused by one of the tests above, but `memory`, which nothing writes."""
    caused = PLAIN | TOOLS | {"journal.overflow", "agent.presumed"}
    caused |= {name for name in events.EVENTS if name.startswith(("policy.", "approval.", "auth."))}
    assert caused == {*events.EVENTS} - {"memory"}
    assert {*SCHEMA["$defs"]} - {"seq", "ts"} == {*events.EVENTS}


def test_what_is_no_event_is_found() -> None:
    for line in ('{"event":"phase.started","seq":-1,"ts":"0","phase":"A"}', '{"event":"run.ended","seq":1,"ts":"0"}'):
        with pytest.raises(ValidationError):
            check(json.loads(line))
    with pytest.raises(KeyError):
        check({"event": "agent.dreamed"})
