"""Sessions that are saved and restored."""

from __future__ import annotations

import json
import stat
import subprocess
import sys
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from sema_runtime.box import Pool, Session
from sema_runtime.values.errors import SemaError


@pytest.fixture
def saved(pool: Pool, tmp_path: Path) -> Path:
    path = tmp_path / "a.session"
    with Session(pool, data={"rows": [1, 2, 39]}, tools={"note": lambda n: n * 10}) as session:
        assert session.run("(define total (list/sum data/rows)) (define x (tool/note :n 7)) (define (sq y) (* y y))").ok
        assert session.run("(define a (mutable-array/new 2 0)) (mutable-array/set! a 0 (pow 3 9000))").ok
        assert not session.run("(define total 0) (car 5)").ok
        session.save(path)
    return path


def test_a_session_is_as_it_was(pool: Pool, saved: Path) -> None:
    calls: list[int] = []

    def note(n: int) -> int:
        calls.append(n)
        return 0

    assert stat.S_IMODE(saved.stat().st_mode) == 0o600
    with pool.restore(saved, {"note": note}) as session:
        assert session.run("(list total x (sq 3) (= (pow 3 9000) (mutable-array/get a 0)))").value == [42, 70, 9, True]
        assert calls == []
        assert session.run("(list (tool/note :n 1) (count data/rows))").value == [0, 3]
        session.save(saved)
    with pool.restore(saved, {"note": note}) as session:
        assert session.run("x").value == 70
    assert calls == [1]


def with_body(body: Any) -> bytes:
    raw = json.dumps(body).encode()
    return b"sema-box-session 1 " + sha256(raw).hexdigest().encode() + b"\n" + raw


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "no saved session"),
        (b"\x80\x04\x95", "no saved session"),
        (b'{"programs": []}', "no saved session"),
        (b"sema-box-session 2 abc\n{}", "format 2; this version reads format 1"),
        (b"sema-box-session 1 abc\n{}", "damaged"),
        (with_body([]), "damaged"),
        (with_body({"programs": [{"source": 1, "replies": []}], "data": {}}), "damaged"),
        (with_body({"programs": [{"source": "1", "replies": [{}]}], "data": {}}), "damaged"),
        (with_body({"programs": [{"source": "1", "replies": [{"result": {"z": 1}}]}], "data": {}}), "damaged"),
        (with_body({"programs": [], "data": {"x": {"l": 5}}}), "damaged"),
        (with_body({"programs": [{"source": "(car 5)", "replies": []}], "data": {}}), "no longer succeeds"),
        (with_body({"programs": [{"source": '(file/read "x")', "replies": []}], "data": {}}), "no longer succeeds"),
        (with_body({"programs": [{"source": "(tool/gone)", "replies": []}], "data": {}}), "no longer succeeds"),
    ],
)
def test_other_files_are_refused(pool: Pool, tmp_path: Path, content: bytes, words: str) -> None:
    path = tmp_path / "x"
    path.write_bytes(content)
    with pytest.raises(SemaError, match=words):
        pool.restore(path)


def test_damage_is_found_wherever_it_is(pool: Pool, saved: Path) -> None:
    content = saved.read_bytes()
    for place in range(0, len(content), 37):
        saved.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
        with pytest.raises(SemaError, match=r"damaged|no saved session|format"):
            pool.restore(saved, {"note": print})
        saved.write_bytes(content[:place])
        with pytest.raises(SemaError, match=r"damaged|no saved session|format"):
            pool.restore(saved, {"note": print})


def test_missing_tools_are_named(pool: Pool, saved: Path) -> None:
    with pytest.raises(SemaError) as caught:
        pool.restore(saved)
    assert caught.value.hint == "its tools are missing: note"


def test_limits_are_those_of_whoever_restores(pool: Pool, saved: Path) -> None:
    with pytest.raises(SemaError, match="data_bytes"):
        pool.restore(saved, {"note": print}, replace(pool.limits, data_bytes=5))


def test_paths_that_cannot_be_used_are_named(pool: Pool, tmp_path: Path) -> None:
    with pytest.raises(SemaError, match="No such file"):
        pool.restore(tmp_path / "none")
    with Session(pool) as session, pytest.raises(SemaError, match="can't be saved"):
        session.save(tmp_path / "no" / "folder")


def test_the_command_goes_on_where_it_was(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "semac.cli.entry", "box", "repl", "--save", "s"]

    def said(text: str, *options: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*command, *options], input=text, capture_output=True, text=True, timeout=60, cwd=tmp_path
        )

    assert said("(define x 41)\n(car x)\n").returncode == 0
    assert "42" in said("(+ x 1)\n", "--load", "s").stdout
    (tmp_path / "s").write_text("nonsense")
    refused = said("x\n", "--load", "s")
    assert refused.returncode != 0 and "no saved session" in refused.stderr
