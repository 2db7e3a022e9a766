"""`sema box`: the command line of the box."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

SEMA = [sys.executable, "-m", "semac.cli.entry", "box"]


def box(*args: str, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SEMA, *args], input=text, capture_output=True, text=True, timeout=60)


def answers(lines: list[Any], *args: str) -> list[dict[str, Any]]:
    text = "\n".join(line if type(line) is str else json.dumps(line) for line in lines)
    ran = box("eval", "--jsonl", *args, text=text)
    assert ran.returncode == 0, ran.stderr
    return [json.loads(line) for line in ran.stdout.splitlines()]


def test_a_stream_of_programs_is_answered_in_order() -> None:
    asked: list[Any] = [
        {"id": "a", "src": '(println "hi") (+ 1 2)'},
        {"id": 2, "src": "(let loop () (loop))"},
        "no json",
        {"id": None, "src": 5},
        {"id": "d", "src": "(count data/xs)", "data": {"xs": [1, 2, 3]}},
        {"id": "e", "src": "\n (car 5)"},
        {"id": "f", "src": "(fail :no)"},
    ]
    got = answers(asked, "--limit", "wall_ms=1500")
    assert [answer["id"] for answer in got] == ["a", 2, None, None, "d", "e", "f"]
    assert [answer["status"] for answer in got] == ["value", "error", "error", "error", "value", "error", "fail"]
    assert (got[0]["value"], got[0]["prints"], got[4]["value"], got[6]["value"]) == ("3", ["hi"], "3", ":no")
    assert (got[1]["reason"], got[2]["reason"], got[5]["reason"]) == ("timeout", "invalid_request", "type_error")
    assert (got[5]["line"], got[5]["column"]) == (2, 2)
    wrong = answers(['{"id": 7}', '{"id": NaN, "src": "1"}', '{"id": "x", "src": "data/x", "data": {"x": NaN}}'])
    assert [(answer["id"], answer["reason"]) for answer in wrong] == [
        (7, "invalid_request"), (None, "invalid_request"), ("x", None)]  # fmt: skip
    assert set(got[0]) >= {"id", "status", "value", "reason", "message", "line", "column", "prints", "duration_ms"}


def test_lines_that_are_too_much_are_refused() -> None:
    small = ("--limit", "data_bytes=1000", "--limit", "source_bytes=1000")
    lists = '{"id": 2, "src": "1", "data": {"x": [' + "[]," * 10_000 + "1]}}"
    got = answers([{"id": 1, "src": "x" * 100_000}, lists, {"id": 3, "src": "(+ 1 2)"}], *small)
    assert [answer["reason"] for answer in got] == ["invalid_request", "invalid_request", None]
    assert "more than 77536 bytes" in got[0]["message"] and "parts" in got[1]["message"]


def test_a_stream_that_nobody_reads_ends() -> None:
    ran = subprocess.Popen(
        [*SEMA, "eval", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert ran.stdin is not None and ran.stdout is not None and ran.stderr is not None
    ran.stdin.write(b'{"id": 1, "src": "1"}\n')
    ran.stdin.flush()
    assert json.loads(ran.stdout.readline())["value"] == "1"
    ran.stdout.close()
    ran.stdin.write(b'{"id": 2, "src": "2"}\n' * 10)
    ran.stdin.flush()
    assert ran.wait(60) == 1 and b"Traceback" not in ran.stderr.read()


def test_bad_limits_are_named() -> None:
    ran = box("eval", "--jsonl", "--limit", "walls=3")
    assert ran.returncode != 0 and "unknown limit 'walls'" in ran.stderr and "wall_ms" in ran.stderr


def test_a_program_with_data(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('[{"a": 1}, {"a": 41}]')
    (tmp_path / "p.sema").write_text('(println "sum")\n(sum-by :a data/rows)')
    ran = box("run", str(tmp_path / "p.sema"), "--data", f"rows=@{tmp_path / 'rows.json'}")
    assert (ran.returncode, ran.stdout) == (0, "sum\n42\n")
    (tmp_path / "p.sema").write_text("1\n(car data/n)")
    ran = box("run", str(tmp_path / "p.sema"), "--data", "n=5")
    assert ran.returncode == 1 and "p.sema:2:1" in ran.stderr and "type_error" in ran.stderr
    assert "    (car data/n)\n    ^" in ran.stderr
    (tmp_path / "p.sema").write_bytes(b"\xff(+ 1 2)")
    ran = box("run", str(tmp_path / "p.sema"))
    assert ran.returncode == 1 and "is not UTF-8 text" in ran.stderr


def test_tools_of_a_file(tmp_path: Path) -> None:
    (tmp_path / "tools.sema").write_text(
        '(deftool double "Doubles." {:n {:type :number}} (lambda (n) (* 2 n)))\n'
        '(deftool boom "Fails." {} (lambda () (error "no disk")))\n'
    )
    (tmp_path / "p.sema").write_text("(list (tool/double {:n 21}) (try (tool/boom) (catch e (:message e))))")
    ran = box("run", str(tmp_path / "p.sema"), "--tools", str(tmp_path / "tools.sema"))
    assert (ran.returncode, ran.stdout) == (0, '(42 "tool/boom: no disk")\n')
    (tmp_path / "p.sema").write_text('(tool/double {:n "x"})')
    ran = box("run", str(tmp_path / "p.sema"), "--tools", str(tmp_path / "tools.sema"))
    assert "validation_error" in ran.stderr and "tool/double(n float)" in ran.stderr
    (tmp_path / "tools.sema").write_text(
        '(deftool half "Halves." {:n {:type :number}} (lambda (n) (/ n 2)))\n(define tools [half]) (define half 1)'
    )
    (tmp_path / "p.sema").write_text("(list (tool/half {:n 4}) data/half)")
    ran = box("run", str(tmp_path / "p.sema"), "--tools", str(tmp_path / "tools.sema"), "--data", 'half="\\ud800"')
    assert (ran.returncode, ran.stdout) == (0, '(2 "\\ud800")\n')


def test_turns_build_on_each_other() -> None:
    ran = box("repl", text="(define x 20)\n(+ x\n 1)\n(car x)\n(list *1\n  (* x 2))\n")
    assert "21" in ran.stdout and "expected list" in ran.stderr and "(21 40)" in ran.stdout
