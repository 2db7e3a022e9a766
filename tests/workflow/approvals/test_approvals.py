"""Approvals: runs that stop for a decision, who may decide, files that were changed, and the commands."""

from __future__ import annotations

import base64
import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_support import run

from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from sema_runtime.workflow import approvals
from sema_runtime.workflow.approvals import deciding, files, keys, records, subjects
from semac.cli.workflow.command import main

pytest.importorskip("cryptography", reason="the extra `approvals` is not installed")

ASKING = """
(defworkflow deploy "Deploys" {}
  (checkpoint :plan "v2")
  (approval :deploy {:reason "to production" :subject {:version 2} :preview "v2"})
  {:status :success :deployed (checkpoint :plan)})
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with a pair of keys `k` and `k.pub`; runs are called `r` and know the public key."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("SEMA_WORKFLOW_RUN_DIR", "runs")
    monkeypatch.setenv("SEMA_APPROVAL_ACTOR", "ann")
    for name in ("SEMA_HOME", "SEMA_WORKFLOW_RUN_ID", "SEMA_WORKFLOW_RESUME"):
        monkeypatch.delenv(name, raising=False)
    keys.generate("k", "k.pub")
    before = approvals.settings.set(approvals.Settings())
    approvals.configure("pause", "k.pub")
    yield
    approvals.settings.reset(before)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs a workflow as `r`, or resumes it; what it gives, as text."""

    def start(program: str = ASKING) -> str:
        monkeypatch.setenv("SEMA_WORKFLOW_RUN_ID", "r")
        monkeypatch.setenv("SEMA_WORKFLOW_RESUME", "1" if os.path.exists("runs/r") else "")
        return to_text(run(program))

    return start


def only_id() -> str:
    (found,) = files.ids("runs/r")
    return found


def sema(*args: str) -> int:
    """`sema workflow ARGS`."""
    return main(list(args))


def events(segment: str = "events") -> list[str]:
    return [json.loads(line)["event"] for line in Path("runs/r", f"{segment}.jsonl").read_text().splitlines()]


def changed(kind: str, **fields: Any) -> None:
    path = Path(files.path_of("runs/r", only_id(), kind))
    path.write_text(json.dumps({**json.loads(path.read_text()), **fields}))


# A run


def test_a_run_stops_and_goes_on_when_it_is_approved(asked: Callable[..., str]) -> None:
    assert asked() == f'{{:approval-id "{only_id()}" :run-id "r" :status :needs-approval}}'
    assert events()[-2:] == ["approval.requested", "run.ended"]
    assert sema("approve", "r", only_id(), "--signing-key-file", "k", "--comment", "fine") == 0
    assert asked() == '{:deployed "v2" :status :success}'
    assert events("events.resume-1")[1:] == [
        "approval.requested",
        "approval.granted",
        "approval.applied",
        "run.ended",
    ]


def test_a_rejection_ends_the_run(asked: Callable[..., str]) -> None:
    asked()
    assert sema("reject", "r", only_id(), "--signing-key-file", "k", "--reason", "too early") == 0
    assert asked() == f'{{:approval-id "{only_id()}" :status :rejected}}'
    assert json.loads(Path("runs/r/result.json").read_text())["status"] == "rejected"


@pytest.mark.parametrize("around", ["(try (ask) (catch e 1))", "(retry ask)", "(with-retry {} ask)"])
def test_a_program_can_t_catch_the_end(around: str, asked: Callable[..., str]) -> None:
    """Nor go on behind it, or try again: what the checker finds where it is written ends the run wherever it is."""
    ask = '(define (ask) (approval :a {:reason "r" :subject 1}))'
    assert ":needs-approval" in asked(f'{ask} (defworkflow w "" {{}} {around} {{:status :success}})')
    assert events().count("approval.requested") == 1


def test_each_request_of_a_key_is_one_of_its_own(asked: Callable[..., str]) -> None:
    program = """(defworkflow w "" {} (approval :a {:reason "r" :subject 1}) (approval :a {:reason "r" :subject 1})
      {:status :success})"""
    asked(program)
    sema("approve", "r", only_id(), "--signing-key-file", "k")
    assert ":needs-approval" in asked(program)
    assert len(files.ids("runs/r")) == 2


def test_another_subject_needs_another_approval(asked: Callable[..., str]) -> None:
    asked()
    sema("approve", "r", only_id(), "--signing-key-file", "k")
    assert ":needs-approval" in asked(ASKING.replace(":version 2", ":version 3"))


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ('(parallel (list (fn () (approval :a {:reason "r" :subject 1}))))', None),
        ('(await (async (approval :a {:reason "r" :subject 1})))', "in another task than the run's"),
        ('(workflow/step {} (fn () (approval :a {:reason "r" :subject 1})))', "inside a step"),
        ('(defworkflow inner "" {} (approval :a {:reason "r" :subject 1}))', "inside a nested run"),
    ],
)
def test_places_where_nothing_can_be_asked(body: str, place: str | None, asked: Callable[..., str]) -> None:
    shown = asked(f'(defworkflow w "" {{}} {{:status :done :value {body}}})')
    assert place is None or f"approval can't be asked {place}" in shown
    assert files.ids("runs/r") == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("{:subject 1}", ":reason must be a string of 1 to 1024 characters"),
        ('{:reason "r"}', ":subject is missing"),
        ('{:reason "r" :subject 1 :preview 2}', ":preview must be a string"),
        ('{:reason "r" :subject car}', "the :subject must be plain data"),
        ('{:reason "r" :subject 1 :why 2}', "unknown option :why"),
    ],
)
def test_bad_options(options: str, message: str, asked: Callable[..., str]) -> None:
    assert message in asked(f'(defworkflow w "" {{}} (approval :a {options}))')


def test_subjects_are_compared_by_their_contents() -> None:
    same = ["{:a 1 :b [1 2]}", "(assoc {:b [1 2]} :a 1)", "{:b [1 2] :a 1}"]
    assert len({subjects.subject_digest(run(text)) for text in same}) == 1
    others = ["1", "1.0", '"1"', ":1", "(list 1)", "[1]", "[[1]]", "nil", "#f", "#u8(1)", "(f64-array 1)", "{1 1}"]
    assert len({subjects.subject_digest(run(text)) for text in others}) == len(others)


# Modes


def test_deny_rejects_without_a_decision(asked: Callable[..., str]) -> None:
    approvals.configure("deny", "k.pub")
    assert ":rejected" in asked()
    assert files.decision("runs/r", only_id()) is None
    approvals.configure("pause", "k.pub")
    assert ":needs-approval" in asked()


@pytest.mark.parametrize(("answer", "status"), [("y\n", ":success"), ("n\nno\n", ":rejected"), ("", ":needs-approval")])
def test_prompt(answer: str, status: str, asked: Callable[..., str], monkeypatch: pytest.MonkeyPatch) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(answer))
    approvals.configure("prompt")
    assert status in asked()
    approvals.configure("prompt")  # another process of the same user
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    assert status in asked()


def test_the_terminal_is_not_obeyed(
    asked: Callable[..., str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    import io

    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    approvals.configure("prompt")
    asked(r'(defworkflow w "" {} (approval :a {:reason "rm \x1b[2K\rharmless" :subject 1}))'.replace(r"\x1b", "\x1b"))
    shown = capsys.readouterr().err
    assert r"rm \x1b[2K\x0dharmless" in shown and "\x1b" not in shown


def test_without_a_key_nobody_can_decide_until_there_is_one(
    asked: Callable[..., str], capsys: pytest.CaptureFixture[str]
) -> None:
    approvals.configure("pause")
    asked()
    assert sema("approve", "r", only_id(), "--signing-key-file", "k") == 1
    assert "the run was given no key" in capsys.readouterr().err
    approvals.configure("pause", "k.pub")
    asked()
    assert sema("approve", "r", only_id(), "--signing-key-file", "k") == 0


def test_configuration_that_makes_no_sense() -> None:
    keys.generate("other", "other.pub")
    for settings, message in (
        (("auto", "other.pub", "k"), "are not a pair"),
        (("prompt", "k.pub", None), "needs the signing key"),
        (("ask", None, None), "--approval-mode must be one of"),
        (("pause", "k", None), "holds no Ed25519 public key"),
        (("pause", None, "k.pub"), "holds no Ed25519 private key"),
        (("pause", "missing", None), "missing: No such file"),
    ):
        with pytest.raises(SemaError, match=message):
            approvals.configure(*settings)


def test_exit_codes() -> None:
    codes = {
        ":success": 0,
        ":failed": 1,
        ":rejected": 1,
        ":denied": 1,
        ":needs-auth": 2,
        ":needs-approval": 3,
        ":mine": 0,
    }
    assert {one: approvals.exit_code(run(f"{{:status {one}}}")) for one in codes} == codes
    assert approvals.exit_code(7) == 0


# Deciding


def test_the_first_decision_counts(asked: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    asked()
    approve = ("approve", "r", only_id(), "--signing-key-file", "k")
    assert [sema(*approve), sema(*approve)] == [0, 0]
    assert f"already approved {only_id()} by ann" in capsys.readouterr().out
    assert sema("reject", "r", only_id(), "--signing-key-file", "k", "--reason", "x") == 1
    assert f"{only_id()} is already approved by ann" in capsys.readouterr().err


def test_who_may_not_decide(asked: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    asked()
    keys.generate("other", "other.pub")
    assert sema("approve", "r", only_id(), "--signing-key-file", "other") == 1
    assert "the signing key is not that of the authority" in capsys.readouterr().err
    assert sema("reject", "r", only_id(), "--signing-key-file", "k", "--reason", " ") == 1
    assert sema("approve", "r", "apr_" + "0" * 24, "--signing-key-file", "k") == 1
    assert sema("approve", "r", "../../x", "--signing-key-file", "k") == 1
    assert sema("approve", "none", only_id(), "--signing-key-file", "k") == 2


def test_list(asked: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    asked()
    capsys.readouterr()
    assert sema("approvals", "r") == 0
    assert capsys.readouterr().out.split() == ["ID", "STATUS", "REASON", only_id(), "pending", "to", "production"]
    sema("approve", "r", only_id(), "--signing-key-file", "k")
    capsys.readouterr()
    assert sema("approvals", "r", "--json") == 0
    (entry,) = json.loads(capsys.readouterr().out)
    assert (entry["status"], entry["decision"]["actor"], entry["request"]["key"]) == ("approved", "ann", "deploy")


def test_without_the_extra_every_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in [name for name in sys.modules if name.startswith("cryptography.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "cryptography", None)
    assert sema("approval-keygen", "--private-key-file", "new", "--public-key-file", "new.pub") == 1
    assert "pip install 'semac[approvals]'" in capsys.readouterr().err
    assert not os.path.exists("new")


def test_keygen_never_writes_over(capsys: pytest.CaptureFixture[str]) -> None:
    before = Path("k").read_bytes()
    assert sema("approval-keygen", "--private-key-file", "new", "--public-key-file", "k.pub") == 1
    assert not Path("new").exists() and Path("k").read_bytes() == before
    assert stat.S_IMODE(os.stat("k").st_mode) == 0o600
    assert len(base64.b64decode(Path("k.pub").read_text())) == 32


# Files


def test_files_are_private(asked: Callable[..., str]) -> None:
    asked()
    assert stat.S_IMODE(os.stat("runs/r/approvals").st_mode) == 0o700
    assert os.listdir("runs/r/approvals") == [f"{only_id()}.request.json"]


def test_digests_are_those_of_the_format(asked: Callable[..., str]) -> None:
    from hashlib import sha256

    asked()
    request = json.loads(Path(files.path_of("runs/r", only_id(), "request")).read_text())
    text = json.dumps({name: request[name] for name in records.IDENTITY}, separators=(",", ":"))
    assert request["identity_digest"] == sha256(text.encode()).hexdigest()
    assert request["approval_id"] == f"apr_{request['identity_digest'][:24]}"


@pytest.mark.parametrize(
    ("kind", "fields", "message"),
    [
        ("request", {"reason": "harmless"}, "was changed"),
        ("request", {"authority_public_key": "x"}, "was changed"),
        ("request", {"extra": 1}, "has the unknown field"),
        ("request", {"occurrence": "0"}, "the field occurrence must be int"),
        ("decision", {"decision": "reject", "reason": "x"}, "was changed"),
        ("decision", {"actor": "bob"}, "was changed"),
        ("decision", {"signature": "AAAA"}, "was changed"),
    ],
)
def test_changed_files_are_refused(kind: str, fields: dict[str, Any], message: str, asked: Callable[..., str]) -> None:
    asked()
    sema("approve", "r", only_id(), "--signing-key-file", "k")
    changed(kind, **fields)
    assert message in asked()
    assert sema("approvals", "r") == 1


def test_a_decision_of_another_key_is_refused(asked: Callable[..., str]) -> None:
    asked()
    request = files.request("runs/r", only_id())
    assert request is not None
    keys.generate("other", "other.pub")
    forged = deciding.decided(request, "approve", keys.read_private("other"), "eve", "x", None, None)
    assert files.publish("runs/r", forged)
    assert "is not signed by the authority of the run" in asked()


def test_a_request_of_another_authority_is_refused(asked: Callable[..., str]) -> None:
    asked()
    keys.generate("other", "other.pub")
    approvals.configure("pause", "other.pub")
    assert "was requested of another authority" in asked()


def test_links_and_large_files_are_refused(asked: Callable[..., str]) -> None:
    asked()
    path = Path(files.path_of("runs/r", only_id(), "request"))
    content = path.read_text()
    path.rename("elsewhere")
    path.symlink_to(Path("elsewhere").absolute())
    assert "a symbolic link is refused" in asked()
    path.unlink()
    path.write_text(content + " " * files.LARGEST)
    assert "is larger than 128 KiB" in asked()
    path.write_text("[]")
    assert "is no JSON object" in asked()


# The version of a program


def test_revision_covers_what_is_imported(tmp_path: Path) -> None:
    from semac.cli.workflow.revision import revision

    Path("main.sema").write_text('(import "lib/a.sema") (f)')
    Path("lib").mkdir()
    Path("lib/a.sema").write_text('(load "b.sema") (define (f) 1)')
    Path("lib/b.sema").write_text("1")

    def now() -> str:
        return revision("main.sema", Path("main.sema").read_bytes())

    first = now()
    assert first == now()
    seen = {first}
    for name, text in (("lib/b.sema", "2"), ("lib/a.sema", "3"), ("main.sema", "4"), ("sema.toml", "[package]")):
        Path(name).write_text(text)
        seen.add(now())
    assert len(seen) == 5


# The command


def command(*args: str) -> tuple[int, str]:
    """The exit status and what is written to stderr."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SEMA_WORKFLOW_RUN")}
    done = subprocess.run(
        [sys.executable, "-m", "semac.cli.entry", "workflow", *args],
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        env=environment,
        timeout=60,
    )
    return done.returncode, done.stderr


def test_workflow_run_from_the_command_line() -> None:
    Path("w.sema").write_text(ASKING)
    key = ("--approval-public-key-file", "k.pub")
    status, said = command("run", "w.sema", "-q", *key)
    assert status == 3
    (run_id,) = os.listdir(".sema/runs")
    (approval_id,) = files.ids(f".sema/runs/{run_id}")
    assert f"sema workflow approve {run_id} {approval_id} --signing-key-file FILE" in said
    assert command("approve", run_id, approval_id, "--signing-key-file", "k")[0] == 0
    assert command("run", "w.sema", "-q", "--resume", run_id, *key) == (0, "")


def test_workflow_run_says_what_keeps_it_from_starting() -> None:
    Path("w.sema").write_text('(defworkflow w "" {} (try (approval :a {:reason "r" :subject 1}) (catch e 1)))')
    status, said = command("run", "w.sema", "-q")
    assert status == 1 and "E-APPROVAL-PLACE" in said
    Path("w.sema").write_text(ASKING)
    assert command("run", "w.sema", "-q", "--approval-public-key-file", "none") == (
        1,
        "error: none: No such file or directory\n",
    )
    status, said = command("run", "w.sema", "-q", "--approval-mode", "deny")
    assert status == 1 and "Error: workflow approval rejected: " in said


def test_steps_that_go_on_while_a_run_pauses(asked: Callable[..., str]) -> None:
    """They come to their ends first, also those that follow on them; what waits for the body itself does not."""
    program = """
        (define (counted name) (fn () (file/append "calls.txt" (str name " ")) (async/sleep 5) name))
        (defworkflow w "" {}
          (define slow (async (workflow/step "slow" (counted "slow"))))
          (define then (async (begin (await slow) (workflow/step "then" (counted "then")))))
          (define given (channel/new 1))
          (define stuck (async (workflow/step "stuck" (fn () (channel/recv given)))))
          (workflow/step "first" (counted "first"))
          (approval :go {:reason "on" :subject 1})
          (channel/send given 1)
          (list (await then) (await stuck)))"""
    assert asked(program).startswith("{:approval-id")
    lines = [json.loads(line) for line in Path("runs/r/events.jsonl").read_text().splitlines()]
    results = {line["agent_id"]: line["status"] for line in lines if line["event"] == "agent.result"}
    assert results == {"slow_1": "ok", "first_1": "ok", "then_1": "ok", "stuck_1": "failed"}
    assert lines[-1]["event"] == "run.ended"
    assert sema("approve", "r", only_id(), "--signing-key-file", "k") == 0
    assert asked(program) == '{:status :success :value ("then" 1)}'
    assert sorted(Path("calls.txt").read_text().split()) == ["first", "slow", "then"]


@pytest.mark.parametrize(("end", "status"), [("", 0), ("(println r)", 0), ("{:status :failed}", 1), ("r", 3)])
def test_what_to_do_is_told_whatever_the_file_ends_with(end: str, status: int) -> None:
    Path("w.sema").write_text(f"{ASKING.replace('(defworkflow', '(define r (defworkflow', 1)}) {end}")
    found, said = command("run", "w.sema", "-q", "--approval-public-key-file", "k.pub")
    assert found == status
    assert said.count("needs approval:\n  sema workflow approvals ") == 1
    assert ("the last value of w.sema isn't that of the run" in said) == (status != 3)
