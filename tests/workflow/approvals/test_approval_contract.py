"""Approvals as section 15.4 of the contract has them: fields, digests and signatures, computed here once more."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from llm_support import run

from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from sema_runtime.workflow import approvals
from sema_runtime.workflow.approvals import deciding, files, keys, subjects
from semac.cli.workflow.command import main
from semac.cli.workflow.revision import revision

pytest.importorskip("cryptography", reason="the extra `approvals` is not installed")

Json = dict[str, Any]
ASKING = '(defworkflow deploy "" {} (phase "Ship") (approval :go {:reason "r" :subject 1%s}) {:status :success})'


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.chdir(tmp_path)
    for name, value in (("DIR", "runs"), ("ID", "r"), ("RESUME", "")):
        monkeypatch.setenv(f"SEMA_WORKFLOW_RUN_{name}" if name != "RESUME" else "SEMA_WORKFLOW_RESUME", value)
    monkeypatch.setenv("SEMA_APPROVAL_ACTOR", "ann")
    keys.generate("k", "k.pub")
    before = approvals.settings.set(approvals.Settings())
    approvals.configure("pause", "k.pub", code_version="the program")
    yield
    approvals.settings.reset(before)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs or resumes a workflow that asks, with more options; what it gives."""

    def start(more: str = "", program: str = ASKING) -> str:
        monkeypatch.setenv("SEMA_WORKFLOW_RESUME", "1" if os.path.exists("runs/r") else "")
        return to_text(run(program % more if "%s" in program else program))

    return start


def record(kind: str) -> Json:
    (path,) = Path("runs/r/approvals").glob(f"apr_*.{kind}.json")
    found: Json = json.loads(path.read_text())
    assert path.read_text() == json.dumps(found, indent=2, ensure_ascii=False) + "\n"
    assert path.name.startswith(found["approval_id"])
    return found


def digest(fields: Json) -> str:
    return sha256(json.dumps(fields, separators=(",", ":"), ensure_ascii=False).encode()).hexdigest()


IDENTITY = "schema_version revision run_id workflow code_version args_digest phase key occurrence subject_digest reason"
BINDING = (
    "schema_version approval_id request_digest request_revision decision actor provenance comment reason decided_at"
)


@pytest.mark.parametrize(("more", "preview"), [("", None), (' :preview "für alle"', "für alle")])
def test_a_request(more: str, preview: str | None, asked: Callable[..., str]) -> None:
    asked(more)
    request = record("request")
    fields = {*IDENTITY.split(), "approval_id", "identity_digest", "request_digest", "requested_at"}
    assert request.keys() == fields | {"authority_public_key"} | ({"preview"} if preview else set())
    identity = {name: request[name] for name in IDENTITY.split()} | {"preview": preview}
    assert request["identity_digest"] == digest(identity)
    assert request["approval_id"] == f"apr_{digest(identity)[:24]}"
    about = {name: request[name] for name in ("identity_digest", "requested_at", "authority_public_key")}
    assert request["request_digest"] == digest(about)
    assert (request["schema_version"], request["revision"], request["run_id"]) == (2, 1, "r")
    assert (request["workflow"], request["phase"], request["key"]) == ("deploy", "Ship", "go")
    assert (request["code_version"], request["reason"]) == ("the program", "r")
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", request["requested_at"])
    assert request["authority_public_key"] == Path("k.pub").read_text().strip()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["approve"], {"decision": "approve"}),
        (["approve", "--comment", "gut so", "--actor", "bob"], {"comment": "gut so", "actor": "bob"}),
        (["reject", "--reason", "zu früh"], {"decision": "reject", "reason": "zu früh"}),
    ],
)
def test_a_decision(words: list[str], expected: Json, asked: Callable[..., str]) -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    asked()
    request = record("request")
    assert main([words[0], "r", request["approval_id"], "--signing-key-file", "k", *words[1:]]) == 0
    decision = record("decision")
    bound = {name: decision.get(name) for name in BINDING.split()}
    assert decision.keys() == {name for name, value in bound.items() if value is not None} | {
        "decision_id",
        "signature",
    }
    assert bound | expected == bound
    assert (decision["schema_version"], decision["request_revision"]) == (1, request["revision"])
    assert decision["request_digest"] == request["request_digest"]
    data = json.dumps(bound, separators=(",", ":"), ensure_ascii=False).encode()
    authority = Ed25519PublicKey.from_public_bytes(base64.b64decode(request["authority_public_key"]))
    authority.verify(base64.b64decode(decision["signature"]), data)
    parts = (sha256(data).hexdigest().encode(), decision["signature"].encode())
    made = sha256(b"".join(len(part).to_bytes(8, "little") + part for part in parts)).hexdigest()
    assert decision["decision_id"] == f"dec_{made[:24]}"


def test_the_revision_of_a_program(tmp_path: Path) -> None:
    Path("sub").mkdir()
    for name, text in (("b.sema", "1"), ("a.sema", "2"), ("sema.toml", "[package]"), ("sema.lock", "x")):
        (tmp_path / name).write_text(text)
    main_text = '(import "../b.sema") (load "../a.sema") (approval :a {})'
    parts = {
        "../a.sema": "2",
        "../b.sema": "1",
        "../sema.lock": "x",
        "../sema.toml": "[package]",
        "<entry>": main_text,
    }
    made = sha256(b"sema-workflow-approval-revision-v1")
    for name, text in sorted(parts.items()):
        for part in (name.encode(), text.encode()):
            made.update(len(part).to_bytes(8, "little") + part)
    Path("sub/main.sema").write_text(main_text)
    assert revision("sub/main.sema", main_text.encode()) == made.hexdigest()


def test_keys() -> None:
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    private = load_der_private_key(base64.b64decode(Path("k").read_text()), None)
    raw = private.public_key().public_bytes_raw()  # type: ignore[union-attr]
    assert base64.b64decode(Path("k.pub").read_text()) == raw


# What can be asked


@pytest.mark.parametrize("key", [":go", '"go"'])
def test_keys_of_requests_are_names(key: str, asked: Callable[..., str]) -> None:
    asked(program=ASKING.replace(":go", key) % "")
    assert record("request")["key"] == "go"


@pytest.mark.parametrize("key", ["5", "'go", "nil", '""', "(list)"])
def test_what_is_no_key(key: str, asked: Callable[..., str]) -> None:
    assert "expected keyword or string" in asked(program=ASKING.replace(":go", key) % "")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ('{:reason "%s" :subject 1}' % ("x" * 1024), ""),
        ('{:reason "%s" :subject 1}' % ("x" * 1025), ":reason must be a string of 1 to 1024 characters"),
        ('{:reason "" :subject 1}', ":reason must be a string of 1 to 1024 characters"),
        ("{:reason :r :subject 1}", ":reason must be a string of 1 to 1024 characters"),
        ('{:reason "r" :subject 1 :preview "%s"}' % ("ü" * 1024), ""),
        ('{:reason "r" :subject 1 :preview "%s"}' % ("x" * 1025), ":preview must be a string of 0 to 1024 characters"),
        ('{:reason "r" :subject 1 :preview ""}', ""),
        ('{"reason" "r" "subject" nil}', ""),
        ("5", "map"),
    ],
)
def test_options(options: str, problem: str, asked: Callable[..., str]) -> None:
    shown = asked(program=f'(defworkflow w "" {{}} (approval :a {options}))')
    assert problem in shown if problem else ":needs-approval" in shown


@pytest.mark.parametrize(
    "subject",
    ["nil", "#t", "1", "1.5", '"s"', ":k", "'s", "#\\a", "(list 1 (list 2))", "[1 [2]]", "{:a {:b 1}}",
     "(bytevector 1 2)", "(f64-array 1.5)", "(i64-array 1 2)", "(expt 7 9999)", "(/ 1 3)"],
)  # fmt: skip
def test_subjects(subject: str) -> None:
    assert len(subjects.subject_digest(run(subject))) == 64


@pytest.mark.parametrize("subject", ["car", "(fn () 1)", "(delay 1)", "(list 1 {:a car})", "(mutable-array/new)"])
def test_what_is_no_subject(subject: str) -> None:
    with pytest.raises(SemaError, match="the :subject must be plain data"):
        subjects.subject_digest(run(subject))


def test_a_subject_that_is_nested_without_end() -> None:
    with pytest.raises(SemaError, match="nested too deeply"):
        subjects.subject_digest(run("(foldl (fn (acc _) (list acc)) 1 (range 300))"))


@pytest.mark.parametrize(
    ("change", "is_another"),
    [
        (("%s", ""), False),
        ((":subject 1", ":subject 2"), True),
        ((':reason "r"', ':reason "s"'), True),
        (("%s", ' :preview "p"'), True),
        ((":go", ":went"), True),
        (('"Ship"', '"Sail"'), True),
        (("deploy", "release"), True),
    ],
)
def test_what_an_approval_is_good_for(change: tuple[str, str], is_another: bool, asked: Callable[..., str]) -> None:
    asked()
    main(["approve", "r", record("request")["approval_id"], "--signing-key-file", "k"])
    shown = asked(program=ASKING.replace(*change).replace("%s", ""))
    assert (":needs-approval" in shown) is is_another


def test_another_program_and_other_arguments_need_another_approval(asked: Callable[..., str]) -> None:
    asked()
    main(["approve", "r", record("request")["approval_id"], "--signing-key-file", "k"])
    assert ":success" in asked()
    approvals.configure("pause", "k.pub", code_version="another program")
    assert ":needs-approval" in asked()
    approvals.configure("pause", "k.pub", code_version="the program")
    os.environ["SEMA_WORKFLOW_ARGS_JSON"] = '{"a": 1}'
    try:
        assert ":needs-approval" in asked()
    finally:
        del os.environ["SEMA_WORKFLOW_ARGS_JSON"]


# Who decides


def test_a_decision_counts_only_where_the_run_is_told_whose_it_may_be(asked: Callable[..., str]) -> None:
    asked()
    main(["approve", "r", record("request")["approval_id"], "--signing-key-file", "k"])
    approvals.configure("pause", code_version="the program")
    assert "is decided, but the run isn't told by whom it may be" in asked()
    approvals.configure("pause", "k.pub", code_version="the program")
    assert ":success" in asked()


def test_a_key_named_in_the_run_itself_is_no_authority(asked: Callable[..., str]) -> None:
    """Whoever can write its files could put a request with a key of their own there, and decide about it."""
    from dataclasses import asdict

    from sema_runtime.workflow.approvals import gate, records

    asked()
    (name,) = files.ids("runs/r")
    request = files.request("runs/r", name)
    assert request is not None
    keys.generate("eve", "eve.pub")
    mine = records.request_of(asdict(request), request.requested_at, keys.read_public("eve.pub"))
    assert mine.approval_id == name
    files.publish("runs/r", mine, replacing=True)
    files.publish("runs/r", gate.decided(mine, "approve", keys.read_private("eve"), "eve", "x", None, None))
    assert "was requested of another authority" in asked()
    approvals.configure("pause", code_version="the program")
    assert "isn't told by whom it may be" in asked()


def test_the_folder_is_no_link(asked: Callable[..., str]) -> None:
    asked()
    Path("runs/r/approvals").rename("elsewhere")
    Path("runs/r/approvals").symlink_to(Path("elsewhere").absolute())
    assert "must be a directory, not a link or a file" in asked()


def test_names_of_who_decides(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("SEMA_APPROVAL_ACTOR", "USER", "USERNAME")
    for name in names:
        monkeypatch.setenv(name, name.lower())
    for name in names:
        assert approvals.default_actor() == name.lower()
        monkeypatch.setenv(name, "")
    assert approvals.default_actor() == "local-user"


def test_a_rejection_needs_a_reason(asked: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> None:
    asked()
    name = record("request")["approval_id"]
    assert main(["reject", "r", name, "--signing-key-file", "k"]) == 2
    assert "--reason" in capsys.readouterr().err
    with pytest.raises(SemaError, match="a rejection needs a reason"):
        deciding.decide("runs/r", name, "reject", keys.read_private("k"), "ann")


def test_two_who_decide_at_once(asked: Callable[..., str]) -> None:
    """One of them wins, and the other is told whose decision counts."""
    import threading

    asked()
    name, key = record("request")["approval_id"], keys.read_private("k")
    ready, found = threading.Barrier(8), []

    def decide(number: int) -> None:
        ready.wait()
        found.append(deciding.decide("runs/r", name, "approve", key, f"person {number}"))

    threads = [threading.Thread(target=decide, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8 and [is_new for _, is_new in found].count(True) == 1
    assert len({decision.decision_id for decision, _ in found}) == 1


def test_the_evidence_holds_what_was_decided(asked: Callable[..., str]) -> None:
    asked()
    name = record("request")["approval_id"]
    main(["approve", "r", name, "--signing-key-file", "k", "--comment", "fine"])
    asked()
    assert main(["export", "r"]) == 0
    evidence = json.loads(Path("runs/r/evidence/evidence.json").read_text())
    (entry,) = evidence["approvals"]
    assert (entry["status"], entry["request"]["approval_id"], entry["decision"]["comment"]) == (
        "approved",
        name,
        "fine",
    )
    counts = {event: count for event, count in evidence["event_counts"].items() if event.startswith("approval.")}
    assert counts == {"approval.applied": 1, "approval.granted": 1, "approval.requested": 2}
    assert f"| {name} | approved | r | ann |" in Path("runs/r/evidence/evidence.md").read_text().replace("\\", "")
