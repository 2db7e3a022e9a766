"""What programs and their surroundings give workflows that they can't take: large and odd values, wrong meta maps,
settings that are none, clocks that are off, forms outside of a run."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from workflow_support import COUNTING, Ran, error_of, run
from workflow_trouble import PROVIDER, calls, events, flow, readable, said, sema

from sema_runtime.values.atoms import keyword
from sema_runtime.values.printer import to_text
from sema_runtime.workflow.read.recorded_run import open_run
from semac.cli.workflow import show as workflow_show
from semac.cli.workflow.list import index_main, list_main
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")


def value_of(ran: Ran) -> Any:
    return ran.value.lookup(keyword("value"))


# Values that can't be kept


ODD = {
    "a function": "(fn (x) x)",
    "a builtin": "car",
    "a promise": "(delay 1)",
    "a channel": "(channel/new 1)",
    "a record": "(begin (define-record-type point (make-point x y) point? (x px)) (make-point 1 2))",
    "no number": "(/ 0.0 0.0)",
    "infinity": "(- math/infinity)",
    "a rational": "(/ 1 3)",
    "a keyword": ":a",
    "a symbol": "'a",
    "a vector": "[1 2]",
    "a map with strings as keys": '{"a" 1}',
    "a map with numbers as keys": "{1 2}",
    "a vector inside": "{:a (list 1 [2])}",
    "a character": "#\\a",
    "bytes": "(bytevector 1 2 255)",
    "an integer of 500,000 digits": "(expt 10 500000)",
    "10,000 maps in each other": "(let loop ((i 0) (v 1)) (if (= i 10000) v (loop (+ i 1) {:a v})))",
    "20 MB": '(string/repeat "x" 20000000)',
    "200,000 numbers": "(range 200000)",
    "1 MiB and the quotes": '(string/repeat "x" 1048575)',
    "an error": '(try (error "x") (catch e e))',
}


def test_values_that_cannot_be_kept(tmp_path: Path) -> None:
    """Their steps and checkpoints run again when the run is resumed; all others don't, and the journal is whole."""
    steps = "\n".join(
        f"""(define (make) (set! ran (+ ran 1)) {text})
            (workflow/step "{name}" make) (checkpoint "{name}" (make))"""
        for name, text in ODD.items()
    )
    program = f'(define ran 0) (defworkflow w "" {{}} (workflow/step "kept" (fn () "x")) {steps} ran)'
    first = run(tmp_path, program, run_id="r")
    assert value_of(first) == 2 * len(ODD)
    again = run(tmp_path, program, run_id="r", resume=True)
    assert value_of(again) == 2 * len(ODD)
    assert [one["agent_name"] for one in again.of("agent.started", "events.resume-1.jsonl")] == [*ODD]
    assert all(len(json.dumps(event)) < 60_000 for event in first.events())  # what is shown of a value has a limit
    assert (tmp_path / "r" / "memo.jsonl").stat().st_size < 1000
    readable(tmp_path, tmp_path.parent / "out")


KEPT = [
    *('""', '"a\\x00;b"', '"a\u2028b\u0085c\\nd\\te\\"f\\\\"', '"\U0001f600"', '(string/repeat "x" 1000000)'),
    *("-0.0", "1e300", "0.1", "12345678901234567890123"),
    *("{}", "(list)", "nil", "#f", "{:a (list 1 nil {:b 1.5})}"),
]


def test_values_that_can_be_kept(tmp_path: Path) -> None:
    """They come back as they were."""
    steps = " ".join(f'(workflow/step "a" (fn () (set! ran (+ ran 1)) {text}))' for text in KEPT)
    program = f'(define ran 0) (defworkflow w "" {{}} (define values (list {steps})) (list ran values))'
    first, again = (list(value_of(run(tmp_path, program, run_id="r", resume=resume))) for resume in (False, True))
    assert (first[0], again[0]) == (len(KEPT), 0)
    assert to_text(first[1]) == to_text(again[1])


@pytest.mark.parametrize("name", ODD)
def test_results_of_every_kind(name: str, tmp_path: Path) -> None:
    """result.json is JSON that its readers take, and not much larger than the value; so is metadata.json."""
    ran = run(tmp_path, f'(define v {ODD[name]}) (workflow/run "w" "" {{:given v}} (fn () {{:status :success :v v}}))')
    assert ran.result()["status"] == "success"
    for file in ("result.json", "metadata.json"):
        assert (ran.folder() / file).stat().st_size < 30_000_000
    if "in each other" in name:
        assert (ran.folder() / "result.json").stat().st_size < 200_000
    assert said(workflow_show.main, "--run-dir", str(tmp_path))[0] == 0


def test_huge_texts_everywhere(tmp_path: Path) -> None:
    """20 MB as a prompt and as what a tool gets, 2 MB as a label, a phase, a key, an error."""
    ran = run(
        tmp_path,
        COUNTING
        + """(define big (string/repeat "x" 20000000))
             (define long (string/repeat "y" 2000000))
             (workflow/run "w" long {:phases [long]} (fn ()
               (step big {:name "prompt"})
               (phase long)
               (workflow/step long (fn () 1))
               (checkpoint long 2)
               (workflow/step "tool" (fn () (workflow/tool-call "t" big) 3))
               (try (workflow/step "fails" (fn () (error long))) (catch e 4))
               big))""",
    )
    assert len(ran.result()["value"]) == 20_000_000
    found = open_run(str(tmp_path), ran.folder().name)
    assert (found.status, found.damaged, len(found.agents)) == ("success", 0, 4)
    assert len(found.agents[0].prompt) < 5000
    status, printed = said(workflow_show.main, "--run-dir", str(tmp_path), "--agent", "prompt_1")
    assert (status, "(truncated, 20000000 chars total)" in printed) == (0, True)


# Meta maps


@pytest.mark.parametrize(
    "meta",
    [
        "nil", "5", '"text"', "[1 2]", ":a", "(fn () 1)", "{:phases 5}", "{:phases {}}", "{:phases [1 nil {} :a]}",
        "{:budget 5}", "{:budget {}}", '{:budget {:tokens "many"}}', "{:budget {:tokens nil :usd :none}}",
        "{:budget {:tokens (/ 0.0 0.0)}}", "{:budget {:usd math/infinity}}", "{:budget {:tokens (expt 10 5000)}}",
        "{:budget {:tokens #t}}", "{:budget [1]}", "{:args 5}", '{"phases" 5}', "{1 2 nil 3}", "{:permissions 5}",
        "{:unknown {:deep [1 {:more (fn () 1)}]}}", "{:mcp {}}", "{:policy nil}", "{:doc 5 :name nil}",
    ],
)  # fmt: skip
def test_odd_meta_maps(meta: str, tmp_path: Path) -> None:
    """What is no setting is none; all of it is written down."""
    ran = run(tmp_path, COUNTING + f'(workflow/run "w" "" {meta} (fn () (step "a") (step "b")))')
    assert ran.result() == {"status": "success", "value": "<b>"}
    assert ran.prompts() == ["a", "b"]
    json.loads((ran.folder() / "metadata.json").read_text())


@pytest.mark.parametrize(
    ("budget", "prompts"),
    [
        ("{:tokens 0}", ["a"]),
        ("{:tokens -1}", ["a"]),
        ("{:tokens 5}", ["a", "b"]),
        ("{:tokens 4.99}", ["a"]),
        ("{:usd 0}", ["a"]),
        ("{:usd -0.5}", ["a"]),
        ('{:tokens "x" :usd 0.0}', ["a"]),
        ("{:tokens 1e300}", ["a", "b", "c"]),
    ],
)
def test_small_budgets(budget: str, prompts: list[str], tmp_path: Path) -> None:
    """The step that passes the limit still counts, whatever the limit is; then there is none any more."""
    text = (
        COUNTING
        + f"""(llm/set-pricing "counting" 1 1)
        (workflow/run "w" "" {{:budget {budget}}} (fn () (step "a") (step "b") (step "c") 1))"""
    )
    ran = run(tmp_path, text)
    assert ran.prompts() == prompts
    assert ran.result()["status"] == ("success" if prompts[-1] == "c" else "failed")


@pytest.mark.parametrize(
    ("servers", "start"),
    [
        ("nil", ":mcp must be a map"),
        ("[1]", ":mcp must be a map"),
        ("{:a {}}", ":mcp alias"),
        ("{'a nil}", ":mcp a: spec must be a map"),
        ("{'a {:command 5}}", ":mcp a:"),
        ('{\'a {:command ""}}', "a:"),
        ('{\'a {:url "no address"}}', "a:"),
        ('{\'a {:url "ftp://example.com"}}', "a:"),
        ('{\'a {:command "x" :cwd 5}}', ":mcp a:"),
        ('{\'a {:command "x" :env [1]}}', ":mcp a:"),
        ('{\'a {:command "x" :tools "all"}}', ":mcp a:"),
    ],
)
def test_odd_servers(servers: str, start: str, tmp_path: Path) -> None:
    """The body doesn't run; the run ends with a reason that names the server."""
    ran = run(tmp_path, f'(workflow/run "w" "" {{:mcp {servers}}} (fn () (error "the body")))')
    result = ran.result()
    assert (result["status"], result["error"][: len(start)]) == ("failed", start)
    assert ran.events()[-1]["event"] == "run.ended"


@pytest.mark.parametrize(
    ("policy", "message"),
    [
        ("5", "policy"),
        ("[5]", "policy"),
        ("{:modells {}}", ":modells"),
        ("{:models {:allow 5}}", "allow"),
        ("{:tools {:default :perhaps}}", "default"),
        ("{:input {:detect [:moods]}}", "moods"),
        ("{:output {:max-length -1}}", "max-length"),
    ],
)
def test_odd_policies(policy: str, message: str, tmp_path: Path) -> None:
    """They end the run before anything is asked."""
    ran = run(tmp_path, COUNTING + f'(workflow/run "w" "" {{:policy {policy}}} (fn () (step "a")))')
    assert ran.prompts() == []
    result = ran.result()
    assert (result["status"], message in result["error"]) == ("failed", True), result


@pytest.mark.parametrize(
    ("permissions", "message"),
    [
        ("5", "defworkflow :permissions must be a sandbox string"),
        ('"no-air"', "unknown capability: no-air"),
        ('"no-shell,"', None),
        ('""', None),
        ('"strict"', None),
        ('"everything"', "unknown"),
    ],
)
def test_permissions(permissions: str, message: str | None, tmp_path: Path) -> None:
    (tmp_path / "w.sema").write_text(f'(defworkflow w "" {{:permissions {permissions}}} 1)')
    ended = sema(tmp_path, "workflow", "run", "w.sema", "--run-dir", "runs", "-q")
    if message is None:
        assert ended.status == 0, ended.err
        return
    assert (ended.status, ended.out) == (1, "")
    assert ended.err.startswith("error: invalid ")
    assert message in ended.err
    assert not (tmp_path / "runs").exists()


# Settings of the environment, clocks


def test_settings_that_are_no_numbers(tmp_path: Path) -> None:
    """They count as not set; 0 for the queue is 1."""
    program = COUNTING + '(defworkflow w "" {} (step "a") (checkpoint :k 1) 3)'
    for number, text in enumerate(("", "many", "-5", "1.5", "0x10", " 7", "٣", "1e3", "9" * 4000)):
        settings = {
            f"SEMA_WORKFLOW_{name}": text
            for name in ("JOURNAL_QUEUE", "JOURNAL_MAX_BYTES", "MEMO_MAX", "RESUME", "FAULT")
        }
        with pytest.MonkeyPatch.context() as patch:
            for name, value in settings.items():
                patch.setenv(name, value)
            ran = run(tmp_path / str(number), program)
        assert ran.events()[-1]["status"] == "success"
        assert len(ran.events()) == 6


@pytest.mark.parametrize("most", ["0", "1", "200", "700"])
def test_a_small_limit_of_the_journal(most: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The journal ends with a word about it, the run doesn't; a resumption has the limit for itself."""
    monkeypatch.setenv("SEMA_WORKFLOW_JOURNAL_MAX_BYTES", most)
    program = COUNTING + '(defworkflow w "" {} (phase "A") (step "a") (checkpoint :k 1) (step "b") 3)'
    first = run(tmp_path, program, run_id="r")
    again = run(tmp_path, program, run_id="r", resume=True)
    assert value_of(first) == value_of(again) == 3
    assert (first.prompts(), again.prompts()) == (["a", "b"], [])
    *written, last = first.events()
    assert (last["event"], last["reason"]) == ("journal.overflow", "journal-size-cap")
    assert sum(len(json.dumps(one, separators=(",", ":"))) + 1 for one in written) == last["bytes"] <= int(most)
    assert "the journal reached its limit: later events are lost" in open_run(str(tmp_path), "r").problems()
    readable(tmp_path, tmp_path.parent / "out")


CLOCK = """
import os, time
start, step = map(float, os.environ["CLOCK"].split())
calls = 0
def off():
    global calls
    calls += 1
    return start + step * calls
time.time, time.time_ns = off, lambda: int(off() * 10**9)
"""


def test_clocks_that_are_off(tmp_path: Path) -> None:
    """Times are what the clock says; durations, the order of events and what is kept don't depend on it."""
    (tmp_path / "sitecustomize.py").write_text(CLOCK)
    paths = f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}"
    program = PROVIDER + '(defworkflow w "" {} (step "a") (checkpoint :k 1) (step "b") 3)'
    clocks = ("2000000000 -1000", "0 0", "-10000000000 1", "253402300700 60", "4102444800 86400")
    for clock in clocks:
        assert flow(tmp_path, program, "-q", CLOCK=clock, PYTHONPATH=paths).status == 0
    root = tmp_path / "runs"
    for run_id in os.listdir(root):
        found = events(root / run_id)
        assert [event["seq"] for event in found] == list(range(9))
        assert all(0 <= event["dur_ms"] < 60_000 for event in found if "dur_ms" in event)
        assert all(re.fullmatch(r"\d{4,}-\d\d-\d\dT\d\d:\d\d:\d\dZ", event["ts"]) for event in found)
    asked = calls(tmp_path)
    run_id = next(one for one in os.listdir(root) if one.startswith("wf_4102"))
    again = flow(tmp_path, program, "--resume", run_id, CLOCK="1000000000 -5", PYTHONPATH=paths)  # long before
    assert (again.status, calls(tmp_path)) == (0, asked)
    assert said(list_main, "--run-dir", str(root))[0] == 0
    assert said(index_main, "--run-dir", str(root))[0] == 0
    assert said(workflow_show.main, run_id, "--run-dir", str(root))[0] == 0


@pytest.mark.parametrize("text", ["", "0", "now", "2026-01-01T00:00:00Z", "a\nb", "\udcff", "x" * 10_000])
def test_a_time_that_is_set(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stands in every event as it is, and time stands still."""
    monkeypatch.setenv("SEMA_WORKFLOW_FIXED_TS", text)
    ran = run(tmp_path, '(defworkflow w "" {} (phase "A") (workflow/step "a" (fn () (sleep 2) 1)))')
    assert {event["ts"] for event in ran.events()} == {text.replace("\udcff", "?")}
    assert {event["dur_ms"] for event in ran.events() if "dur_ms" in event} == {0}
    readable(tmp_path, tmp_path.parent / "out")


# Forms in odd places


def test_forms_outside_of_a_run(tmp_path: Path) -> None:
    """Behind a run there is none any more, and inside of a nested one it is the inner."""
    outside = ["workflow/phase outside a workflow/run", "checkpoint outside a workflow/run"]
    for place in ("{}", '(defworkflow w "" {{}} 1) {}', "(async/await (async {}))", "(parallel (list (fn () 1))) {}"):
        for form, message in zip(('(phase "a")', "(checkpoint :k 1)"), outside, strict=True):
            assert error_of(tmp_path / str(abs(hash(place + form))), place.format(form)) == message
    ran = run(
        tmp_path / "nested",
        """(defworkflow outer "" {} (phase "O") (checkpoint :k 1)
             (define inner (defworkflow inner "" {} (checkpoint :mine (checkpoint :k)) (phase "I")
               (workflow/step "s" (fn () 1))))
             (workflow/step "t" (fn () 2))
             (list (:value inner) (checkpoint :k) (checkpoint :mine)))""",
        run_id="outer",
    )
    assert to_text(value_of(ran)) == "(1 1 nil)"
    started = [event["agent_name"] for event in ran.events(run_id="outer") if event["event"] == "agent.started"]
    assert started == ["t"]
    readable(tmp_path / "nested", tmp_path / "out")


def test_a_step_that_is_tried_again(tmp_path: Path) -> None:
    """Every attempt is a step of its own; when it is resumed, only the one that succeeded is kept."""
    program = """(define tries 0)
        (defworkflow w "" {}
          (with-retry {:max 3 :base-ms 0}
            (fn () (workflow/step "s" (fn () (set! tries (+ tries 1)) (if (< tries 3) (error "no") tries))))))
        tries"""
    first = run(tmp_path, program, run_id="r")
    assert [one["status"] for one in first.of("agent.result")] == ["failed", "failed", "ok"]
    run(tmp_path, program, run_id="r", resume=True)
    assert len(list((tmp_path / "r" / "memo").iterdir())) >= 1
    readable(tmp_path, tmp_path.parent / "out")


def test_a_workflow_in_a_task_that_is_cancelled(tmp_path: Path) -> None:
    """Its run ends as cancelled, everything that was under way with it, and it can be resumed."""
    program = (
        COUNTING
        + """(define ended (channel/new 1))
        (define task (async (defworkflow w "" {} (step "a") (channel/send ended 1) (workflow/step "b" (fn () WAIT)))))
        (channel/recv ended)
        (async/cancel task)
        (try (await task) (catch e (:type e)))"""
    )
    ran = run(tmp_path, program.replace("WAIT", "(async/sleep 60000)"), run_id="r")
    last = ran.events()[-1]
    assert (last["event"], last["status"]) == ("run.ended", "failed")
    assert [one["output"] for one in ran.of("agent.result")] == ['"<a>"', "error: cancelled"]
    assert ran.result() == {"status": "failed", "error": "cancelled"}
    again = run(tmp_path, program.replace("WAIT", "2"), run_id="r", resume=True)
    assert again.prompts() == []
    readable(tmp_path, tmp_path.parent / "out")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
@pytest.mark.parametrize("ends", ["os._exit(0)", "raise SystemExit(0)", "raise ValueError('no')", "return 2"])
def test_a_child_of_the_process(ends: str, tmp_path: Path) -> None:
    """A process that is forked in a step disturbs nothing, also when it comes back through the run."""
    command = [sys.executable, "-c", FORKING.replace("ENDS", ends), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    ran = Ran(tmp_path, Session(closed=False), None)
    assert [event["event"] for event in ran.events()] == ["run.started", "agent.started", "agent.result", "run.ended"]
    assert ran.result() == {"status": "success", "value": 1}
    readable(tmp_path, tmp_path.parent / "out")


FORKING = """
import os, sys
from dataclasses import replace
from sema_runtime.workflow.run import scope
from semac.session import Session

def fork():
    child = os.fork()
    if not child:
        ENDS
    os.waitpid(child, 0)
    return 1

session = Session(closed=False)
session.globals["fork"] = fork
session.names |= {"fork"}
scope.settings.set(replace(scope.Settings(), root=sys.argv[1]))
session.run('(defworkflow w "" {} (workflow/step "a" (fn () (fork))))')
"""
