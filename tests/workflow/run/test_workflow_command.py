"""`sema workflow run` as people and scripts use it: arguments, permissions, progress, Ctrl-C, exit status."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from mcp_support import program as mcp_program
from mcp_support import started

from sema_runtime.workflow.journal.content_keys import code_version

SEMA = [sys.executable, "-m", "semac.cli.entry"]
UNSET = ("SEMA_WORKFLOW_RUN_DIR", "SEMA_WORKFLOW_RUN_ID", "SEMA_WORKFLOW_RESUME", "SEMA_WORKFLOW_FAULT")
ENV = {name: value for name, value in os.environ.items() if name not in UNSET} | {"CI": "1"}
GREETING = """(llm/define-provider :echo {:default-model "echo"
  :complete (fn (req) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 2}})})
(defworkflow greet "Greets" {:phases ["Greet"]}
  (phase "Greet")
  (step "hello" {:name "greeter"})
  (println "said" (:name *workflow-args*))
  {:status :success :args *workflow-args*})
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "greet.sema").write_text(GREETING)
    return tmp_path


def sema(folder: Path, *args: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SEMA, *args], cwd=folder, capture_output=True, text=True, env=ENV | more, timeout=60)


def flow(folder: Path, text: str, *args: str) -> subprocess.CompletedProcess[str]:
    (folder / "w.sema").write_text(text)
    return sema(folder, "workflow", "run", "w.sema", *args)


def only_run(folder: Path) -> Path:
    (found,) = (folder / ".sema" / "runs").iterdir()
    return found


def events(run: Path, name: str = "events.jsonl") -> list[dict[str, object]]:
    return [json.loads(line) for line in (run / name).read_text().splitlines()]


# What it does


def test_a_run_and_its_resumption(folder: Path) -> None:
    args = '{"name": "Ada", "list": [1, null]}'
    first = sema(folder, "workflow", "run", "greet.sema", "--args", args)
    assert (first.returncode, first.stdout) == (0, "said Ada\n")
    run = only_run(folder)
    assert events(run)[0]["args_json"] == args
    metadata = json.loads((run / "metadata.json").read_text())
    assert metadata["code_version"] == code_version(GREETING.encode())
    assert json.loads((run / "result.json").read_text())["args"] == {"list": [1, None], "name": "Ada"}
    assert first.stderr.splitlines()[:3] == [f"greet: run {run.name}", "phase Greet", *first.stderr.splitlines()[2:3]]
    assert first.stderr.splitlines()[2].split()[:2] == ["ok", "greeter_1"]
    assert first.stderr.splitlines()[3].endswith(": 1 step, 5 tokens, cost unknown")
    again = sema(folder, "workflow", "run", "greet.sema", "--args", args, "--resume", run.name)
    assert again.returncode == 0
    assert again.stderr.splitlines()[0] == f"greet: run {run.name}, resumed"
    assert "0 steps, 1 kept from before, no tokens" in again.stderr


def test_latest_is_the_run_that_was_written_last(folder: Path) -> None:
    run = ("workflow", "run", "greet.sema")
    assert sema(folder, *run, "--resume", "latest").stderr == "error: no prior run to resume in .sema/runs\n"
    assert sema(folder, *run, "-q").returncode == 0
    first = only_run(folder)
    assert "1 kept from before" in sema(folder, *run, "--resume", "latest").stderr
    assert "1 kept from before" in sema(folder, *run, "--fork", "latest").stderr
    (second,) = (one for one in (folder / ".sema" / "runs").iterdir() if one != first)
    assert sema(folder, *run, "--replay", "latest").stderr.startswith(f"replay of {second.name}: the same")


def test_a_resumption_says_when_nothing_that_is_kept_counts(folder: Path) -> None:
    run = ("workflow", "run", "greet.sema", "-q")
    assert sema(folder, *run, "--args", '{"name": "Ada", "n": 1}').returncode == 0
    name = only_run(folder).name
    assert sema(folder, *run, "--resume", name, "--args", '{"n":1, "name":"Ada"}').stderr == ""
    others = sema(folder, *run, "--resume", name, "--args", "{}")
    assert others.stderr == f"warning: the arguments are others: steps that {name} has finished are asked again\n"
    (folder / "greet.sema").write_text(GREETING + "; edited")
    assert sema(folder, *run, "--resume", name).stderr == (
        f"warning: greet.sema was edited since: steps that {name} has finished are asked again; "
        f"--fork {name} takes those that are unchanged\n"
    )


def test_a_program_without_a_workflow(folder: Path) -> None:
    done = flow(folder, '(println "hi")')
    assert (done.returncode, done.stdout) == (0, "hi\n")
    assert done.stderr == "warning: w.sema has run no workflow: no (defworkflow ...) was reached\n"


def test_a_fork_begins_with_what_another_run_has_finished(folder: Path) -> None:
    assert sema(folder, "workflow", "run", "greet.sema", "-q").returncode == 0
    first = only_run(folder)
    before = sorted((first / "memo").iterdir())
    edited = GREETING.replace("(println", '(step "and you?" {:name "greeter"}) (println')
    (folder / "greet.sema").write_text(edited)
    done = sema(folder, "workflow", "run", "greet.sema", "--fork", first.name)
    assert done.returncode == 0
    assert "1 step, 1 kept from before" in done.stderr
    (second,) = (one for one in (folder / ".sema" / "runs").iterdir() if one != first)
    assert [one["prompt"] for one in events(second) if one["event"] == "agent.started"] == ["and you?"]
    assert sorted((first / "memo").iterdir()) == before
    shown = sema(folder, "workflow", "show", second.name).stdout
    assert shown.splitlines()[2] == f"fork of {first.name}, 1 of its results kept"
    both = sema(folder, "workflow", "run", "greet.sema", "--fork", first.name, "--resume", first.name)
    assert both.stderr == "error: --fork and --resume exclude each other\n"
    assert sema(folder, "workflow", "run", "greet.sema", "--fork", "x").stderr == (
        "error: no prior run to fork at .sema/runs/x/events.jsonl\n"
    )


def test_quiet(folder: Path) -> None:
    assert sema(folder, "workflow", "run", "greet.sema", "-q", "--run-dir", "elsewhere").stderr == ""
    assert len(list((folder / "elsewhere").iterdir())) == 1


def test_the_environment_says_where_and_what(folder: Path) -> None:
    done = sema(
        folder, "workflow", "run", "greet.sema", SEMA_WORKFLOW_RUN_DIR="there", SEMA_WORKFLOW_RUN_ID="this",
        SEMA_WORKFLOW_FIXED_TS="now",
    )  # fmt: skip
    assert done.returncode == 0
    assert {event["ts"] for event in events(folder / "there" / "this")} == {"now"}


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ('{:status :failed :why "no"}', 1, 'Error: workflow failed: {:status :failed :why "no"}\n'),
        ('(error "boom")', 1, 'Error: boom\n  --> w.sema:1:22\n     |\n   1 | (defworkflow w "" {} (error "boom"))\n'
         '     |                      ^\n  at <lambda> (w.sema:1:22)\n'
         'Error: workflow failed: {:error "boom" :status :failed}\n'),
        ("{:status :done}", 0, ""),
        ("5", 0, ""),
    ],
)  # fmt: skip
def test_exit_status(folder: Path, body: str, status: int, said: str) -> None:
    done = flow(folder, f'(defworkflow w "" {{}} {body})', "-q")
    assert (done.returncode, done.stderr) == (status, said)


def test_arguments_without_the_command(folder: Path) -> None:
    """They are {} then, or what the environment says; `sema check` knows the name."""
    (folder / "args.sema").write_text("(println (get *workflow-args* :name 1))")
    assert sema(folder, "args.sema").stdout == "1\n"
    assert sema(folder, "args.sema", SEMA_WORKFLOW_ARGS_JSON='{"name": 2}').stdout == "2\n"
    assert "json/decode: parse error" in sema(folder, "args.sema", SEMA_WORKFLOW_ARGS_JSON="{").stderr
    assert sema(folder, "check", "args.sema").returncode == 0


def test_the_last_form_decides(folder: Path) -> None:
    assert flow(folder, '(defworkflow w "" {} {:status :failed}) 5', "-q").returncode == 0
    assert flow(folder, "{:status :failed}", "-q").returncode == 1


def test_an_error_outside_of_the_run(folder: Path) -> None:
    done = flow(folder, '(error "too early")')
    assert done.returncode == 1
    assert done.stderr.startswith("Error running workflow w.sema:")
    assert "too early" in done.stderr


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["missing.sema"], "error: file not found: missing.sema"),
        (["greet.sema", "--args", "{"], "error: --args is not valid JSON: "),
        (
            ["greet.sema", "--resume", "../x"],
            "error: --resume run-id must be a bare directory name (no path separators)",
        ),
        (["greet.sema", "--resume", "x"], "error: no prior run to resume at .sema/runs/x/events.jsonl"),
    ],
)
def test_what_cannot_be_run(folder: Path, args: list[str], said: str) -> None:
    done = sema(folder, "workflow", "run", *args)
    assert done.returncode == 1
    assert done.stderr.startswith(said)
    assert not (folder / ".sema").exists()


def test_budgets_of_the_command_line(folder: Path) -> None:
    text = GREETING.replace('(step "hello" {:name "greeter"})', '(step "a") (step "b")')
    done = flow(folder, text, "--budget-tokens", "4")
    assert done.returncode == 1
    assert 'Error: workflow failed: {:reason "budget exceeded" :status :failed}' in done.stderr
    assert len([one for one in events(only_run(folder)) if one["event"] == "agent.started"]) == 1
    assert flow(folder, text, "--budget-usd", "-1").returncode == 2


# Permissions


def test_permissions_are_taken_away_before_anything_runs(folder: Path) -> None:
    text = """(define early (try (file/write "a.txt" "x") (catch e (:type e))))
              (defworkflow w "" {:permissions "no-fs-write,no-shell"} {:status :success :early early})"""
    assert flow(folder, text, "-q").returncode == 0
    assert json.loads((only_run(folder) / "result.json").read_text())["early"] == "permission-denied"
    assert sema(folder, "w.sema").returncode == 0
    assert (folder / "a.txt").exists()  # a plain run doesn't enforce them


@pytest.mark.parametrize(
    ("permissions", "said"),
    [
        (":strict", "error: invalid workflow permissions: defworkflow :permissions must be a sandbox string\n"),
        ('"no-air"', 'error: invalid defworkflow :permissions "no-air": unknown capability: no-air\n'),
    ],
)
def test_bad_permissions(folder: Path, permissions: str, said: str) -> None:
    done = flow(folder, f'(define (later) (defworkflow w "" {{:permissions {permissions}}} 1)) (println "ran")')
    assert (done.returncode, done.stdout, done.stderr) == (1, "", said)
    quoted = f'\'(defworkflow w "" {{:permissions {permissions}}} 1)'
    assert flow(folder, quoted, "-q").returncode == 0


def test_the_journal_is_not_subject_to_the_sandbox(folder: Path) -> None:
    done = sema(folder, "--sandbox", "no-fs-write,no-fs-read", "workflow", "run", "greet.sema", "-q")
    assert done.returncode == 0
    assert (only_run(folder) / "result.json").exists()


# Ctrl-C


def test_ctrl_c_says_how_to_go_on(folder: Path) -> None:
    (folder / "w.sema").write_text(
        """(defworkflow slow "" {} (phase "A") (workflow/step "quick" (fn () 1))
             (workflow/step "slow" (fn () (when (= (:wait *workflow-args*) 1) (async/sleep 60000)) 2)))"""
    )
    command = [*SEMA, "--sandbox", "no-shell", "workflow", "run", "w.sema", "--args", '{"wait": 1}']
    command += ["--run-dir", "my runs", "--budget-tokens", "100"]
    with subprocess.Popen(command, cwd=folder, env=ENV, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        while "quick_1" not in process.stderr.readline():
            pass
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
    assert process.returncode == 1
    (run,) = (folder / "my runs").iterdir()
    go_on = (
        f"""sema --sandbox no-shell workflow run w.sema --resume {run.name} --args '{{"wait": 1}}' """
        "--run-dir 'my runs' --budget-tokens 100\n"
    )
    assert "slow was interrupted; what was finished is kept. Go on with:" in rest
    assert go_on in rest
    assert "Traceback" not in rest
    last = events(run)[-1]
    assert (last["event"], last["status"], last["reason"]) == ("run.ended", "failed", "interrupted")
    again = sema(folder, "workflow", "run", "w.sema", "--args", "{}", "--resume", run.name, "--run-dir", "my runs")
    assert again.returncode == 0  # other arguments: all of it runs again
    assert [one["agent_id"] for one in events(run, "events.resume-1.jsonl") if one["event"] == "agent.result"] == [
        "quick_1", "slow_1",
    ]  # fmt: skip


# MCP servers


def test_servers_are_connected_before_the_body_and_closed_after_it(folder: Path) -> None:
    pytest.importorskip("mcp", reason="the extra dev-llm has the official server")
    spec = mcp_program("official.py", "stdio")
    arguments = " ".join(json.dumps(one) for one in spec["args"])
    done = flow(
        folder,
        f"""(define kept nil)
            (defworkflow w "" {{:mcp {{tools {{:command {json.dumps(spec["command"])} :args [{arguments}]}}}}}}
              (set! kept tools)
              {{:status :success :names (map :name (mcp/tools tools)) :same (= tools (workflow/mcp-handle :tools))}})
            (println (try (mcp/tools kept) (catch e (:message e))))""",
        "-q",
    )
    assert done.returncode == 0, done.stderr
    result = json.loads((only_run(folder) / "result.json").read_text())
    assert result["same"] is True
    assert result["names"]
    assert "is not registered; it may have been closed" in done.stdout


def test_a_server_that_cannot_be_started(folder: Path) -> None:
    done = flow(
        folder,
        '(defworkflow w "" {:mcp {b {:command "/no/such"} a {:command "/neither"}}} (println "body"))',
        "-q",
    )
    assert (done.returncode, done.stdout) == (1, "")
    run = only_run(folder)
    assert [one["event"] for one in events(run)] == ["run.started", "auth.failed", "auth.failed", "run.ended"]
    assert [one["server"] for one in events(run)[1:3]] == ["a", "b"]
    assert events(run)[-1]["reason"] == "mcp resolution failed"
    assert json.loads((run / "result.json").read_text())["error"].startswith("a: ")


def test_what_a_server_wrote_before_it_died_is_shown(folder: Path) -> None:
    server = json.dumps(sys.executable)
    done = flow(folder, f'(defworkflow w "" {{:mcp {{a {{:command {server} :args ["no-such.py"]}}}}}} 1)')
    assert done.returncode == 1
    assert "no-such.py': [Errno 2] No such file or directory" in done.stderr


@pytest.mark.parametrize(
    ("servers", "said"),
    [
        ("5", ":mcp must be a map of alias -> server spec, got int"),
        ("{:a {:url 1}}", ":mcp alias :a must be a bare symbol, got keyword"),
        ("{a 5}", ":mcp a: spec must be a map, got int"),
        ("{a {}}", ":mcp a: spec is missing :url or :command"),
        ('{a {:url "u" :command "c"}}', ":mcp a: spec has both :url and :command — pick exactly one transport"),
        ('{a {:command "c" :auth {}}}', ":mcp a: :auth is not valid on a stdio (:command) spec"),
        ('{a {:command "c" :args [1]}}', ":mcp a: every :args element must be a string, got int"),
        ('{a {:command "c" :persist :disk}}', ":mcp a: :persist value :disk is invalid (expected one of :keyring,"),
        ('{a {:url "u" :headers {"A" 1}}}', ':mcp a: :headers value for "A" must be a string'),
    ],
)
def test_bad_declarations_of_servers(folder: Path, servers: str, said: str) -> None:
    from workflow_support import run

    ran = run(folder / "runs", f'(defworkflow w "" {{:mcp {servers}}} (error "body"))')
    assert ran.result()["error"].startswith(said)
    assert ran.events()[-1]["reason"] == "mcp declaration invalid"


def test_a_server_that_wants_a_login(folder: Path) -> None:
    pytest.importorskip("mcp", reason="the extra dev-llm has the official server")
    with started("with_oauth.py") as (address,):
        url = f"{address}/mcp"
        (folder / "w.sema").write_text(
            f'(defworkflow w "" {{:mcp {{guarded {{:url "{url}" :auth {{:scopes ["user"]}} :tools ["whoami"]}}}}}} 1)'
        )
        done = sema(folder, "workflow", "run", "w.sema", "-q", HOME=str(folder), SEMA_HOME=str(folder / "home"))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "run needs authentication for 1 MCP server(s):\n"
        f"  guarded  sema mcp login {url}\n"
        "then re-run this workflow. (or authenticate from `sema workflow view`)\n"
    )
    run = only_run(folder)
    required = events(run)[1]
    assert {name: required[name] for name in ("event", "server", "scopes", "tools", "persist")} == {
        "event": "auth.required", "server": "guarded", "scopes": ["user"], "tools": ["whoami"], "persist": "workflow",
    }  # fmt: skip
    assert json.loads((run / "result.json").read_text()) == {
        "status": "needs-auth",
        "servers": ["guarded"],
        "auth": [{"server": "guarded", "url": url, "persist": "workflow"}],
    }
    assert events(run)[-1]["status"] == "needs-auth"


# The group of commands


def test_help(folder: Path) -> None:
    assert "run" in sema(folder, "workflow", "--help").stdout
    assert sema(folder, "workflow").returncode == 2
    assert "no such command 'workflow fly'" in sema(folder, "workflow", "fly").stderr
    assert "no such command 'workflow rum'. Did you mean 'workflow run'?" in sema(folder, "workflow", "rum").stderr


def test_errors_of_which_parallel_makes_nil_are_told(folder: Path) -> None:
    text = """(defworkflow w "" {}
      (define first (parallel (list (fn () 1) (fn () (undefined-thing 2))
        (fn () (workflow/step "s" (fn () (error "boom")))))))
      {:status :success :first first :then (pipeline '(1) (fn (x) (+ x "a")))})"""
    done = flow(folder, text)
    assert done.returncode == 0
    first, step, last = (" ".join(line.split()) for line in done.stderr.splitlines() if line.startswith("  failed"))
    assert first == "failed a task: Unbound variable: undefined-thing (w.sema:2)"
    assert step.startswith("failed s_1 ") and step.endswith("s error: boom")
    assert last == "failed a task: expected number or string, got int and string (w.sema:4)"
    assert flow(folder, text, "-q").stderr == ""
