"""`sema cassette`: list, show, verify, prune."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from sema_runtime.llm.recordings.cassette_file import CassetteFile, blank, line_of
from semac.cli.main import main


def key(prompt: str) -> str:
    return hashlib.sha256(f"user{prompt}".encode()).hexdigest()


def line(prompt: str, content: str = "taped", kind: str = "complete", **fields: Any) -> str:
    return line_of({**blank(kind, key(prompt)), "content": content, "model": "m", **fields}).decode()


@pytest.fixture
def tape(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A tape with something of everything; the current folder is its own."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "t.jsonl"
    path.write_text(
        line("a", "first line\nsecond \x1b[31mline", prompt_tokens=36, completion_tokens=4, stop_reason="end_turn")
        + line("b", "", tool_calls=[{"id": "t1", "name": "look", "arguments": {"path": "."}}])
        + "\n"
        + line("a", "again")
        + line("c", "")[:-9]
        + "\n"
        + '{"v":2}\n'
        + line("e", "", kind="embed", embeddings=[[0.5, 1.5]])
        + line("m", "", kind="mcp-call", mcp_result={"content": [{"type": "text", "text": "hi"}]})
        + line("s", "Hello", kind="stream", chunks=["Hel", "lo"])
    )
    return path


def sema(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    status = main(["cassette", *arguments])
    out, err = capsys.readouterr()
    return status, out, err


# list


def test_list(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = sema(capsys, "list", "t.jsonl")
    assert status == 0
    assert (
        out
        == f"""\
line  kind      model  tokens  key         answer
   1  complete  m        36+4  {key("a")[:10]}  first line second \\x1b[31mline
   2  complete  m         0+0  {key("b")[:10]}  look({{"path": "."}})
  4*  complete  m         0+0  {key("a")[:10]}  again
   7  embed     m         0+0  {key("e")[:10]}  1 x 2 numbers
   8  mcp-call  m         0+0  {key("m")[:10]}  {{"content": [{{"text": "hi", "type": "text"}}]}}
   9  stream    m         0+0  {key("s")[:10]}  Hello
"""
    )
    assert err == "2 lines can't be replayed: sema cassette verify t.jsonl\n"


def test_list_as_json(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = sema(capsys, "list", "t.jsonl", "--json")
    rows = [json.loads(one) for one in out.splitlines()]
    assert [row["line"] for row in rows] == [1, 2, 4, 7, 8, 9]
    assert rows[2] == {
        "tape": "t.jsonl", "line": 4, "kind": "complete", "model": "m", "prompt_tokens": 0, "completion_tokens": 0,
        "key": key("a"), "answer": "again", "replayed": False,
    }  # fmt: skip


def test_list_of_several_tapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "1").write_text("")
    (tmp_path / "2").write_text(line("a", "é" * 300))
    _, out, err = sema(capsys, "list", str(tmp_path / "1"), str(tmp_path / "2"))
    lines = out.splitlines()
    assert lines[:3] == [f"{tmp_path}/1:", "(no entries)", ""]
    assert len(lines[-1]) == 120 and lines[-1].endswith("éé...")
    assert err == ""


# show


def test_show(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = sema(capsys, "show", "t.jsonl", "1")
    assert status == 0
    assert (
        out
        == f"""\
line         1
kind         complete
key          {key("a")}
role         assistant
model        m
stop reason  end_turn
tokens       36 sent, 4 received

first line
second \\x1b[31mline
"""
    )
    assert "tool call  look {" in sema(capsys, "show", "t.jsonl", key("b")[:6])[1]
    assert '"text": "hi"' in sema(capsys, "show", "t.jsonl", "8")[1]
    assert "pieces  2" in sema(capsys, "show", "t.jsonl", "9")[1]
    assert "vectors  1 x 2 numbers" in sema(capsys, "show", "t.jsonl", "7")[1]
    assert json.loads(sema(capsys, "show", "t.jsonl", key("a"), "--json")[1])["prompt_tokens"] == 36


@pytest.mark.parametrize(
    ("which", "message"),
    [
        ("3", "t.jsonl has no line 3 and no key that begins with it"),
        ("zz", "t.jsonl has no line zz and no key that begins with it"),
        ("5", "line 5 of t.jsonl is damaged: not JSON: "),
        ("", "6 keys of t.jsonl begin with : "),
    ],
)
def test_show_of_no_entry(which: str, message: str, tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with tape.open("a") as file:
        file.write(line("x"))
    status, out, err = sema(capsys, "show", "t.jsonl", which)
    assert (status, out) == (1, "")
    assert err.startswith(f"Error: {message}")


# verify


def test_verify(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = sema(capsys, "verify", "t.jsonl")
    assert status == 1
    lines = out.splitlines()
    assert lines[0] == "t.jsonl:4: duplicate: line 1 has the same key and is replayed"
    assert lines[1].startswith("t.jsonl:5: damaged: not JSON: ")
    assert lines[2:] == ["t.jsonl:6: newer: version 2 of the format, this Sema reads 1"]
    found = [json.loads(one) for one in sema(capsys, "verify", "t.jsonl", "--json")[1].splitlines()]
    assert [(one["line"], one["kind"]) for one in found] == [(4, "duplicate"), (5, "damaged"), (6, "newer")]


def test_a_sound_tape(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t"
    path.write_text(line("a"))
    assert sema(capsys, "verify", str(path)) == (0, f"{path}: 1 entry, nothing wrong\n", "")
    assert sema(capsys, "verify", str(path), "--json") == (0, "", "")


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop",
        "Authorization: Bearer abcdefghijklmnopqrst",
        "ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "AKIAABCDEFGHIJKLMNOP",
        "AIzaSyA-abcdefghijklmnopqrstuvwxyz01234",
        "-----BEGIN RSA PRIVATE KEY-----",
        "value-of-a-variable",
    ],
)
def test_secrets_are_found_and_not_shown(
    secret: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SERVICE_TOKEN", "value-of-a-variable")
    path = tmp_path / "t"
    calls = [{"id": "1", "name": "curl", "arguments": {"headers": [f"x {secret} y"]}}]
    path.write_text(line("a", "fine") + line("b", "", tool_calls=calls) + line("c", secret)[:-20])
    status, out, _ = sema(capsys, "verify", str(path))
    assert status == 1
    assert [one.split(":")[1:3] for one in out.splitlines() if " secret" in one] == [["2", " secret"], ["3", " secret"]]
    assert secret not in out and secret[8:] not in out


def test_ordinary_texts_hold_no_secrets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t"
    path.write_text(line("a", "The task-list-of-the-afternoon; Bearer of news; desk-abcdefghijklmnopqrst; sk-8"))
    assert sema(capsys, "verify", str(path))[0] == 0


# prune


def test_prune(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = tape.read_text()
    status, out, _ = sema(capsys, "prune", "t.jsonl", "--dry-run")
    assert (status, tape.read_text()) == (0, before)
    assert out.splitlines()[0] == "t.jsonl:4: duplicate: line 1 has the same key"
    assert out.splitlines()[-1] == "2 of its lines would be taken out"
    status, out, _ = sema(capsys, "prune", "t.jsonl")
    assert (status, out.splitlines()[-1]) == (0, "2 lines taken out; the old tape is t.jsonl.bak")
    assert Path("t.jsonl.bak").read_text() == before
    lines = before.splitlines(keepends=True)
    assert tape.read_text() == "".join(lines[i] for i in (0, 1, 2, 5, 6, 7, 8))
    assert sema(capsys, "prune", "t.jsonl") == (0, "t.jsonl: nothing to take out\n", "")
    assert Path("t.jsonl.bak").read_text() == before, "an unchanged tape leaves the backup alone"


def test_prune_can_keep_the_last_and_drop_more(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.chmod(tape, 0o640)
    sema(capsys, "prune", "t.jsonl", "--keep", "last", "--drop", key("b")[:8], "--drop", "9", "--no-backup")
    found = CassetteFile("t.jsonl").entry(key("a"))
    assert found is not None and found["content"] == "again"
    assert CassetteFile("t.jsonl").entry(key("b")) is None and CassetteFile("t.jsonl").entry(key("s")) is None
    assert tape.stat().st_mode & 0o777 == 0o640
    assert os.listdir() == ["t.jsonl"]


def test_prune_of_a_tape_behind_a_link(tape: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("link").symlink_to("t.jsonl")
    sema(capsys, "prune", "link")
    assert Path("link").is_symlink() and len(CassetteFile("t.jsonl").indexed()) == 5


RECORD = """
import sys
from sema_runtime.llm.recordings.cassette_file import CassetteFile, blank
tape = CassetteFile(sys.argv[1])
for n in range(300):
    tape.append({**blank("complete", f"k{n}"), "content": "x" * 100, "model": "m"})
    tape.append({**blank("complete", f"k{n}"), "content": "again", "model": "m"})
    if n == 20: print("begun", flush=True)
"""


def test_prune_while_a_program_records(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "t.jsonl"
    command = [sys.executable, "-c", RECORD, str(path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE) as recorder:
        assert recorder.stdout is not None
        assert recorder.stdout.readline() == b"begun\n"
        while recorder.poll() is None:
            assert sema(capsys, "prune", str(path))[0] == 0
            time.sleep(0)
    assert recorder.returncode == 0
    sema(capsys, "prune", str(path))
    tape = CassetteFile(str(path))
    entries = [tape.entry(f"k{n}") for n in range(300)]
    assert all(entry is not None and entry["content"] == "x" * 100 for entry in entries)
    found = tape.census()
    assert (found.entries, found.damaged) == (300, [])


# Wrong use


@pytest.mark.parametrize("command", [["list"], ["show", "1"], ["verify"], ["prune"]])
def test_what_can_not_be_read(command: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    name, *rest = command
    status, out, err = sema(capsys, name, str(tmp_path / "none"), *rest)
    assert (status, out, err) == (1, "", f"Error: cassette {tmp_path}/none: no such file\n")
    status, _, err = sema(capsys, name, str(tmp_path), *rest)
    assert (status, err) == (1, f"Error: cassette {tmp_path}: Is a directory\n")
    os.mkfifo(tmp_path / "pipe")
    status, _, err = sema(capsys, name, str(tmp_path / "pipe"), *rest)
    assert status == 1 and "it is a pipe or a device, not a file" in err


def test_a_reader_that_has_seen_enough(tmp_path: Path) -> None:
    path = tmp_path / "t"
    path.write_text("".join(line(str(n), "x" * 100) for n in range(2000)))
    command = [sys.executable, "-m", "semac.cli.entry", "cassette", "list", str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline().startswith(b"line")
        process.stdout.close()
        assert process.stderr.read() == b""


def test_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert sema(capsys, "list")[0] == 2
    assert sema(capsys, "rewind", "x")[0] == 2
    assert sema(capsys, "prune", "x", "--keep", "all")[0] == 2
    for name in ("list", "show", "verify", "prune"):
        assert "Examples:" in sema(capsys, name, "--help")[1]
    assert "sema cassette list" in sema(capsys, "--help")[1]
