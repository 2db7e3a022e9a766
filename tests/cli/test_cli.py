"""The command line, run as processes."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import pytest

SEMA = [sys.executable, "-m", "semac.cli.entry"]
ENV = {**os.environ, "NO_COLOR": "1"}


def sema(*args: str, text: str = "", cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SEMA, *args], input=text, capture_output=True, text=True, cwd=cwd, env=ENV, timeout=60)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    path = tmp_path / "prog.sema"
    path.write_text("#!/usr/bin/env sema\n(define (add a b) (+ a b))\n(println (add 1 2) (cdr (sys/args)))\n(list 1)\n")
    return path


def test_a_file_prints_what_it_prints_and_not_its_value(program: Path) -> None:
    done = sema("prog.sema", cwd=program.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "3 ()\n", "")


def test_arguments_of_the_program_stand_behind_two_dashes(program: Path) -> None:
    assert sema("prog.sema", "--", "a", "-b", cwd=program.parent).stdout == '3 ("--" "a" "-b")\n'
    assert sema("prog.sema", "a", cwd=program.parent).returncode == 2


def test_an_error_shows_snippet_trace_and_hint(tmp_path: Path) -> None:
    (tmp_path / "bad.sema").write_text('(define (f x)\n  (+ x "a"))\n(f 1)\n')
    done = sema("bad.sema", cwd=tmp_path)
    assert done.returncode == 1
    lines = done.stderr.split("\n")
    assert lines[:5] == [
        "Error: expected number or string, got int and string",
        "  --> bad.sema:2:3",
        "     |",
        '   2 |   (+ x "a"))',
        "     |   ^",
    ]
    assert "  at f (bad.sema:2:3)" in lines
    assert lines[-2] == "  hint: +: cannot mix strings with other types; use (str a b ...) to build a string"


def test_of_a_very_long_line_the_part_around_the_error_is_shown(tmp_path: Path) -> None:
    (tmp_path / "bad.sema").write_text(f'(println "{"a" * 1_000_000}" (car 5) "{"b" * 1_000_000}")')
    done = sema("bad.sema", cwd=tmp_path)
    head, line, mark = (done.stderr.split("\n")[at] for at in (1, 3, 4))
    assert head == "  --> bad.sema:1:1000013"
    assert line.startswith("   1 | … aaa") and line.endswith("bbb …") and len(line) < 150
    assert line[mark.index("^") :].startswith("(car 5)")


def test_integers_of_any_size_are_read_and_printed() -> None:
    done = sema("-p", "(let ((n (pow 7 9999))) (list (string-length (str n)) (= n (string->number (str n)))))")
    assert (done.stdout, done.stderr) == ("(8451 #t)\n", "")


def test_files_that_cannot_be_run(tmp_path: Path) -> None:
    missing = sema("nope.sema", cwd=tmp_path)
    assert missing.returncode == 1
    assert missing.stderr == (
        "Error: file not found: 'nope.sema' (not a file or command)\n\nRun 'sema --help' for available commands.\n"
    )
    (tmp_path / "latin.sema").write_bytes(b'(println "\xff")')
    latin = sema("latin.sema", cwd=tmp_path)
    assert (latin.returncode, latin.stderr.split("\n")[0]) == (1, "Error: latin.sema is not UTF-8 text")
    assert sema(str(tmp_path)).returncode == 1


def test_what_a_program_leaves_open_is_written_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "open.sema").write_text(
        """(py/import "builtins" :as python)
        (py/import "zipfile")
        (define file (.open python "text.txt" "w"))
        (define archive (.ZipFile zipfile "archive.zip" "w"))
        (define cells (foldl (fn (xs i) (cons (list i xs) xs)) '() (range 1000)))
        (.write file "kept")
        (.writestr archive "a.txt" "kept as well")
        (println (length cells))"""
    )
    assert sema("open.sema", cwd=tmp_path).stdout == "1000\n"
    assert (tmp_path / "text.txt").read_text() == "kept"
    assert zipfile.ZipFile(tmp_path / "archive.zip").read("a.txt") == b"kept as well"


def test_expressions() -> None:
    assert sema("-e", "(list 1 2)").stdout == "(1 2)\n"
    assert sema("-e", "nil").stdout == ""
    assert sema("-p", "nil").stdout == "nil\n"
    assert sema("-e", "(exit 3)").returncode == 3
    assert sema("-e", "1", "-p", "2").returncode == 2
    assert sema("--bogus").returncode == 2


def test_loads_come_first_and_share_the_environment(program: Path) -> None:
    done = sema("-l", "prog.sema", "-e", "(add 4 5)", cwd=program.parent)
    assert done.stdout == "3 ()\n9\n"
    (program.parent / "broken.sema").write_text("(car 5)")
    failed = sema("-l", "broken.sema", "-e", "1", cwd=program.parent)
    assert failed.returncode == 1
    assert failed.stderr.startswith("Error loading broken.sema:\nError: expected list or vector, got int\n")
    assert sema("-l", "none.sema", "-e", "1").stderr == "Error: file not found: none.sema\n"


def test_a_program_finds_python_modules_beside_it_after_loads_too(tmp_path: Path) -> None:
    (tmp_path / "beside.py").write_text("value = 5\n")
    (tmp_path / "main.sema").write_text('(py/from "beside" value) (println value)')
    (tmp_path / "first.sema").write_text("")
    for loads in ([], ["-l", str(tmp_path / "first.sema")]):
        assert sema(*loads, str(tmp_path / "main.sema")).stdout == "5\n"


def test_sandbox_and_version() -> None:
    denied = sema("--sandbox", "strict", "-e", '(shell "true")')
    assert denied.returncode == 1
    assert denied.stderr.startswith("Error: Permission denied: shell requires '")
    assert sema("--sandbox", "foo", "-e", "1").stderr == "Error: unknown capability: foo\n"
    assert sema("-V").stdout.startswith("sema 0.")
    assert "Examples:" in sema("--help").stdout


def test_ast() -> None:
    assert sema("ast", "-e", "'(1 x)").stdout == "List\n  Symbol quote\n  List\n    Int 1\n    Symbol x\n"
    assert json.loads(sema("ast", "-e", ":k", "--json").stdout) == {"type": "keyword", "value": "k"}
    assert sema("ast").stderr == "Error: provide a file or --eval expression\n"
    assert sema("ast", "-e", "(1").stderr.startswith("Parse error: unterminated list\n")


def test_eval_json() -> None:
    report = json.loads(sema("eval", "--json", "--stdin", text='(println "a") (println-error "b") [1]').stdout)
    report.pop("elapsedMs")
    assert report == {"error": None, "ok": True, "stderr": "b\n", "stdout": "a\n", "value": "[1]"}
    failed = sema("eval", "--json", "--expr", "(prinltn 1)")
    assert failed.returncode == 0
    assert json.loads(failed.stdout)["error"] == {
        "message": "Unbound variable: prinltn",
        "hint": "Did you mean 'print'?",
        "line": 1,
        "col": 1,
    }
    assert sema("eval", "--json").returncode == 1


def test_eval_stops_a_program_that_runs_too_long() -> None:
    done = sema("eval", "--timeout", "200", "--expr", "(try (let loop () (loop)) (catch e 1))")
    assert done.returncode == 1
    assert done.stderr.startswith("Error: evaluation exceeded time budget")


def eval_jsonl(timeout: int, programs: list[str]) -> list[dict[str, Any]]:
    """The answers to programs, each of which may take timeout ms."""
    lines = "".join(json.dumps({"id": number, "src": src}) + "\n" for number, src in enumerate(programs))
    done = sema("eval", "--jsonl", "--timeout", str(timeout), text=lines)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == list(range(len(programs)))
    return answers


def test_eval_jsonl_answers_each_program_in_a_fresh_environment() -> None:
    programs = [
        '(define a 1) (println "x") a',
        "a",
        "(exit 3)",
        "(define (f n) (+ 1 (f n))) (f 1)",
        '(python/call "os" "_exit" 9)',
        "nil",
    ]
    answers = eval_jsonl(50_000, programs)
    assert answers[0] == {"id": 0, "value": "1", "output": ["x"], "error": None}
    assert answers[1]["error"] == "Unbound variable: a"
    assert answers[2]["error"] is None
    assert answers[3]["error"] == "stack overflow: maximum call depth exceeded"
    assert answers[5] == {"id": 5, "value": None, "output": [], "error": None}


def test_eval_jsonl_ends_programs_that_take_too_long() -> None:
    for answer in eval_jsonl(200, ["(let loop () (loop))", "(let loop () (loop))"]):
        assert answer["error"].startswith("evaluation exceeded time budget")


def test_compile_writes_a_module_that_python_runs(program: Path) -> None:
    done = sema("compile", "prog.sema", "-o", "out.py", cwd=program.parent)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    ran = subprocess.run([sys.executable, "out.py"], cwd=program.parent, capture_output=True, text=True, env=ENV)
    assert ran.stdout == "3 ()\n"
    assert sorted(os.listdir(program.parent)) == ["out.py", "prog.sema"]


def test_compile_a_folder_check_and_dump(tmp_path: Path) -> None:
    (tmp_path / "src" / "deep").mkdir(parents=True)
    (tmp_path / "src" / "my-mod.sema").write_text("(define x 1)")
    (tmp_path / "src" / "deep" / "b.sema").write_text("(define y 2)")
    assert sema("compile", "src", "-o", "build", cwd=tmp_path).returncode == 0
    assert (tmp_path / "build" / "my_mod.py").is_file()
    assert (tmp_path / "build" / "deep" / "b.py").is_file()
    assert sema("compile", "--dump", "py", "src/my-mod.sema", cwd=tmp_path).stdout.endswith("x = 1\n")
    (tmp_path / "bad.sema").write_text("(define x")
    assert sema("compile", "--check", "src/my-mod.sema", cwd=tmp_path).stdout.startswith("✓ src/my-mod.sema: valid")
    bad = sema("compile", "--check", "bad.sema", cwd=tmp_path)
    assert (bad.returncode, bad.stderr) == (1, "✗ bad.sema: 1:1: unterminated list\n")
    assert sema("compile", "bad.sema", cwd=tmp_path).returncode == 1
    assert not (tmp_path / "bad.py").exists()


def test_a_closed_pipe_ends_the_program_quietly() -> None:
    command = [*SEMA, "-e", "(let loop ((i 0)) (println i) (loop (+ i 1)))"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENV) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == b"0\n"
        process.stdout.close()
        assert process.wait(20) == 141
        assert process.stderr.read() == b""


@pytest.mark.parametrize(
    "command",
    [
        *("ast", "cassette", "cassette list", "check", "compile", "doctor", "eval", "fmt", "mcp", "mcp login", "nrepl"),
        *("usage", "workflow run", "workflow check", "workflow list", "workflow approve"),
    ],
)
def test_help_of_a_command_says_what_is_typed(command: str) -> None:
    done = sema(*command.split(), "--help")
    assert (done.returncode, done.stderr) == (0, "")
    assert re.match(rf"Usage: sema {command} [A-Z\[(]", done.stdout)


def test_a_word_that_is_nearly_a_command(tmp_path: Path) -> None:
    done = sema("worflow", "run", "w.sema", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (
        2,
        "Error: no such file or command 'worflow'. Did you mean 'sema workflow'?\n",
    )
    assert sema("disasm", "a.sema", cwd=tmp_path).stderr == (
        "Error: there is no 'sema disasm'\n  hint: sema compile FILE -o - shows the Python that a file becomes\n"
    )
    (tmp_path / "chekc").write_text('(display "a program")')
    assert sema("chekc", cwd=tmp_path).stdout == "a program"
    assert sema("nothing", cwd=tmp_path).stderr.startswith("Error: file not found: 'nothing' (not a file or command)\n")


def test_an_option_of_sema_behind_a_command_is_told_where_it_belongs() -> None:
    for option, command, moved in (
        (("--sandbox", "strict"), ("workflow", "run", "w.sema"), "sema --sandbox ... workflow run"),
        (("--no-llm",), ("compile", "w.sema"), "sema --no-llm compile"),
    ):
        done = sema(*command, *option)
        assert done.returncode == 2
        assert done.stderr.endswith(f"Error: {option[0]} stands before the command: {moved}\n")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")
@pytest.mark.parametrize(
    ("args", "told"),
    [
        (("-p", "1"), "Error: cannot write to stdout: No space left on device\n"),
        (("-e", "(println 1) (exit 3)"), "Error: cannot write to stdout: No space left on device\n"),
        (("doc", "map"), "Error: cannot write to stdout: No space left on device\n"),
        (("-e", "(println 1) (car 5)"), "Error: expected list or vector, got int"),
    ],
)
def test_a_full_disk_behind_stdout_is_told_once(args: tuple[str, ...], told: str) -> None:
    environment = {name: value for name, value in ENV.items() if name != "PYTHONUNBUFFERED"}
    with open("/dev/full", "w") as full:
        done = subprocess.run(
            [*SEMA, *args], stdout=full, stderr=subprocess.PIPE, text=True, env=environment, timeout=60
        )
    assert done.returncode == 1
    assert done.stderr.startswith(told) and "Traceback" not in done.stderr and "ignored" not in done.stderr


def test_ctrl_c_ends_a_program_with_status_1() -> None:
    command = [*SEMA, "-e", '(begin (println "go") (io/flush) (let loop () (loop)))']
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV) as process:
        assert process.stdout is not None and process.stderr is not None
        assert process.stdout.readline() == "go\n"
        process.send_signal(signal.SIGINT)
        assert process.wait(20) == 1
        assert process.stderr.read() == "Error: interrupted\n"


def test_ctrl_c_where_nothing_can_be_raised(tmp_path: Path) -> None:
    """As in the callbacks that an import calls."""
    (tmp_path / "lost.py").write_text(
        "import signal\n"
        "class Interrupting:\n"
        "    def __del__(self):\n"
        "        signal.raise_signal(signal.SIGINT)\n"
        "Interrupting()\n"
    )
    (tmp_path / "w.sema").write_text('(py/import "lost") (sleep 60000)')
    done = sema("w.sema", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, "Error: interrupted\n")


def test_ctrl_c_while_python_evaluates_a_text() -> None:
    """As an import of ours may do in the moment it comes."""
    program = '(py/from "builtins" exec) (exec "import signal; signal.raise_signal(signal.SIGINT)")'
    done = sema("-e", program)
    assert (done.returncode, done.stderr) == (1, "Error: interrupted\n")


def test_a_plain_program_loads_no_heavy_modules(tmp_path: Path) -> None:
    (tmp_path / "hello.sema").write_text('(println "hi")')
    environment = {name: value for name, value in ENV.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(2):
        done = subprocess.run(
            [sys.executable, "-X", "importtime", "-m", "semac.cli.entry", "hello.sema"],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            env=environment,
        )
    assert done.stdout == "hi\n"
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "semac.cli.running" in loaded
    assert not loaded & {
        "click",
        "argparse",
        "semac.pipeline",
        "semac.syntax.reader",
        *("semac.format", "semac.nrepl", "semac.editors", "pygments", "socket"),
        "asyncio",
        "dataclasses",
        "inspect",
    }
