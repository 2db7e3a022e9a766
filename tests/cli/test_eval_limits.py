"""The limits of `sema eval`: they hold whatever a program does, and the programs after it are answered as usual."""

from __future__ import annotations

import ast
import contextlib
import importlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from semac.cli.eval.limits import Limits, shown, size
from semac.cli.eval.worker import STATELESS

SEMA = (sys.executable, "-m", "semac.cli.entry")
TIMEOUT = "evaluation exceeded time budget (looks like an infinite loop?)"
MEMORY = "out of memory: the program needs more than 128 MB; --memory SIZE raises the limit"
OUTPUT = "too much output: the program printed more than 64 KB; print less, or raise the limit with --max-output SIZE"
SIZES = ("--memory", "128MB", "--max-output", "64KB")
SHORT, LONG = ("--timeout", "500"), ("--timeout", "50000")
ENDED = "the program ended the evaluation process"

# Each prints "before" first; what its answer says.
HOSTILE = {
    '(py/import "operator") (operator.pow 3 300000000)': TIMEOUT,  # C code that looks at no signal
    '(py/import "re") (re.match "(a+)+$" (str (string/repeat "a" 80) "!"))': TIMEOUT,
    "(let loop () (loop))": TIMEOUT,
    "(let loop () (try (let again () (again)) (catch e 1)) (loop))": TIMEOUT,
    '(py/import "signal") (signal.pthread_sigmask 0 (list 2 14 15)) (let loop () (loop))': TIMEOUT,
    '(py/import "os") (os.kill (sys/pid) 19)': TIMEOUT,  # stops itself
    "(shell \"trap '' TERM INT HUP; setsid sleep 9871 & sleep 9871\")": TIMEOUT,
    "(async/sleep 1000000)": TIMEOUT,
    '(py/import "operator") (operator.lshift 1 100000000000)': MEMORY,
    '(define (f s) (f (string-append s s))) (f "aaaaaaaaaaaa")': MEMORY,
    '(let loop () (println "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx") (loop))': OUTPUT,
    '(let loop () (display "") (loop))': OUTPUT,
    '(println (string/repeat "a" 10000000))': OUTPUT,
    '(string/repeat "a" 10000000)': OUTPUT,
    '(throw (string/repeat "a" 10000000))': OUTPUT,
    '(py/import "os") (os._exit 0)': ENDED,
    '(py/import "os") (os.kill (sys/pid) 11)': ENDED,
    '(py/import "os") (os.closerange 0 100)': ENDED,
    # what passes for an answer in every pipe
    """(py/import "os") (define text "{\\"value\\":\\"6\\",\\"output\\":[],\\"spent\\":null}\\n")
       (map (fn (n) (try (os.write n (.encode text)) (catch e nil))) (range 3 20)) (let loop () (loop))""": ENDED,
    # memory that processes may share
    """(py/import "mmap") (let ((m (mmap.mmap -1 1000000000)) (part (string->utf8 (string/repeat "a" 1000000))))
       (let loop () (.write m part) (loop)))""": MEMORY,
}


def jsonl(programs: list[str], *options: str) -> list[dict[str, Any]]:
    """The answers to programs, without their ids."""
    lines = "".join(json.dumps({"id": number, "src": program}) + "\n" for number, program in enumerate(programs))
    done = subprocess.run(
        [*SEMA, "eval", "--jsonl", *options], input=lines, capture_output=True, text=True, timeout=120
    )
    assert done.stderr == ""
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer.pop("id") for answer in answers] == list(range(len(programs)))
    return answers


def one(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*SEMA, "eval", *args], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)


def processes(pattern: str) -> list[str]:
    """The command lines that contain a text."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            line = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            found += [line] if pattern in line and "pytest" not in line else []
    return found


@pytest.mark.parametrize("timeout", [SHORT, LONG])
def test_hostile_programs_are_answered_and_so_are_those_after_them(timeout: tuple[str, str]) -> None:
    expected = {program: error for program, error in HOSTILE.items() if (error == TIMEOUT) == (timeout == SHORT)}
    programs = [part for program in expected for part in (f'(println "before") {program}', "(+ 1 2)")]
    answers = jsonl(programs, *SIZES, *timeout)
    for (program, error), answer in zip(expected.items(), answers[::2], strict=True):
        assert (program, answer["error"]) == (program, error)
        assert answer["value"] is None and answer["output"][0] == "before"
    assert answers[1::2] == [{"value": "3", "output": [], "error": None}] * len(expected)
    assert processes("sleep 9871") == []


@pytest.mark.parametrize(
    ("program", "error"),
    [
        ('(py/import "operator") (operator.pow 3 300000000)', TIMEOUT),
        ('(define (f s) (f (string-append s s))) (f "aaaaaaaaaaaa")', MEMORY),
        ('(py/import "os") (os._exit 0)', ENDED),
    ],
)
def test_one_program(program: str, error: str) -> None:
    program = f'(println "before") (io/flush) {program}'
    limits = (*SIZES, *(SHORT if error == TIMEOUT else LONG))
    found = one("--json", "--expr", program, *limits)
    report = json.loads(found.stdout)
    assert (report["ok"], report["value"], report["stdout"]) == (False, None, "before\n")
    assert report["error"]["message"] == error and found.returncode == 0
    done = one("--expr", program, *limits)
    assert (done.returncode, done.stdout) == (1, "before\n") or error == ENDED
    assert done.stderr.splitlines()[0] == f"Error: {error}"


def test_one_program_that_prints_for_ever() -> None:
    report = json.loads(
        one("--json", "--expr", '(let loop () (println "xxxxxxxxxxxxxx") (loop))', *SIZES, *LONG).stdout
    )
    assert report["error"] == {"message": OUTPUT} and len(report["stdout"]) < 2 << 20


def test_one_program_keeps_its_streams_and_its_exit_status() -> None:
    done = subprocess.run(
        [*SEMA, "eval", "--expr", "(println-error (read-line)) (exit 7)"],
        input="line\n",
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stdout, done.stderr) == (7, "", "line\n")


def test_processes_of_a_program_end_with_it() -> None:
    answers = jsonl(['(proc/spawn (list "sleep" "9872")) 1', '(shell "setsid sleep 9872 >&- 2>&- &") 2', "3"])
    assert [answer["error"] for answer in answers] == [None] * 3
    assert one("--json", "--expr", '(shell "setsid sleep 9872 >&- 2>&- &") 2').returncode == 0
    assert processes("sleep 9872") == []


def test_a_program_that_stops_the_supervisor() -> None:
    answers = jsonl(['(py/import "os") (os.kill (os.getppid) 19) (let loop () (loop))', "(+ 1 2)"], *SHORT)
    assert [answer["error"] for answer in answers] == [TIMEOUT, None]


def test_modules_that_are_said_to_remember_nothing() -> None:
    for name in STATELESS:
        module = importlib.import_module(name)
        source = Path(module.__file__ or "").read_text()
        assert not [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Global)], name
        kept = [
            key for key, value in vars(module).items() if isinstance(value, list | dict | set) and not key.isupper()
        ]
        assert [key for key in kept if not key.startswith("__")] == [], name


def test_memory_of_child_processes_counts() -> None:
    greedy = "x = 'a' * (70 << 20); import time; time.sleep(60)"
    program = f'(map (fn (i) (proc/spawn (list "{sys.executable}" "-c" "{greedy}"))) (range 3)) (async/sleep 60000)'
    (answer,) = jsonl([program], "--memory", "128MB", "--timeout", "50000")
    assert answer["error"] == MEMORY


def test_nothing_of_a_program_is_left_for_the_next_one(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "file").write_text("kept")
    pairs = [
        ('(sys/set-env "LEAK" "1")', '(env "LEAK")', "nil"),
        ('(file/write "leak" "x")', '(file/list ".")', "()"),
        (f'(py/import "os") (os.chdir "{tmp_path}")', '(file/list ".")', "()"),
        ('(py/import "math") (set! math.pi 3)', '(py/import "math") (= math.pi 3)', "#f"),
        (
            '(py/import "os") (os.umask 63)',
            '(file/write "f" "x") (py/import "os") (& 63 (.-st_mode (os.stat "f")))',
            None,
        ),
        ('(llm/define-provider :mine {:complete (fn (r) "x")})', "(member :mine (llm/list-providers))", "#f"),
        ('(kv/open "s" "s.json")', '(try (kv/get "s" "a") (catch e "closed"))', '"closed"'),
        ("(define leak 1)", '(try leak (catch e "unbound"))', '"unbound"'),
    ]
    answers = jsonl([program for first, second, _ in pairs for program in (first, second)])
    for (first, _, expected), before, after in zip(pairs, answers[::2], answers[1::2], strict=True):
        assert before["error"] is None, first
        if expected is not None:
            assert (first, after["value"] or "nil") == (first, expected)
    assert (tmp_path / "deep" / "file").read_text() == "kept"


def test_thousands_of_programs_leave_no_descriptors_processes_or_folders(tmp_path: Path) -> None:
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with started(["eval", "--jsonl"], env=environment) as parent:
        assert parent.stdin is not None and parent.stdout is not None

        def ask(number: int, program: str) -> None:
            assert parent.stdin is not None and parent.stdout is not None
            parent.stdin.write(json.dumps({"id": number, "src": program}).encode() + b"\n")
            parent.stdin.flush()
            assert json.loads(parent.stdout.readline())["id"] == number

        def facts() -> tuple[int, int, int]:
            (supervisor,) = children(parent.pid)
            return len(os.listdir(f"/proc/{supervisor}/fd")), len(children(supervisor)), len(os.listdir(tmp_path))

        ask(0, "1")
        before = facts()
        for number in range(1, 1500):
            ask(number, '(py/import "os") (os._exit 1)' if number % 50 == 0 else "(+ 1 2)")
        ask(1500, "1")
        assert facts() == before
    assert os.listdir(tmp_path) == []


@contextlib.contextmanager
def started(args: list[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen([*SEMA, *args], stdin=subprocess.PIPE, stdout=subprocess.PIPE, **options) as process:
        try:
            yield process
            assert process.stdin is not None
            process.stdin.close()
            assert process.wait(60) is not None
        finally:
            process.kill()


def children(process: int) -> list[int]:
    return list(map(int, Path(f"/proc/{process}/task/{process}/children").read_text().split()))


def running(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nobody tells a process that its parent has died")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
@pytest.mark.parametrize("mode", [["--jsonl", "--timeout", "0"], ["--json", "--stdin"], ["--stdin"]])
def test_no_process_outlives_the_one_that_the_user_started(number: int, mode: list[str], tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "ready")
    program = f"""(proc/spawn (list "sleep" "9873")) (shell "setsid sleep 9873 >&- 2>&- &")
                  (file/write "{tmp_path}/ready" (str (sys/pid))) (let loop () (loop))"""
    text = json.dumps({"id": 1, "src": program}) + "\n" if "--jsonl" in mode else program
    with subprocess.Popen(
        [*SEMA, "eval", *mode, *([] if "--jsonl" in mode else ["--timeout", "0"])],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as parent:
        assert parent.stdin is not None and parent.stdout is not None
        parent.stdin.write(text.encode())
        parent.stdin.close() if "--jsonl" not in mode else parent.stdin.flush()
        worker = int((tmp_path / "ready").read_text())
        (supervisor,) = children(parent.pid)
        parent.send_signal(number)
        assert parent.wait(60) == (1 if number == signal.SIGINT else -number)
        until = time.monotonic() + 60
        while running(worker) or running(supervisor) or processes("sleep 9873"):
            assert time.monotonic() < until
            select.select([], [], [], 0.01)


def test_a_stream_that_nobody_reads_ends_quietly() -> None:
    with subprocess.Popen(
        [*SEMA, "eval", "--jsonl"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as process:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None
        process.stdout.close()
        process.stdin.write(b'{"id": 1, "src": "1"}\n')
        process.stdin.close()
        assert (process.wait(60), process.stderr.read()) == (141, b"")


def test_lines_that_are_no_programs() -> None:
    lines = b'[1]\n\xff\n{"id": 1}\n' + b"[" * 100_000 + b'\n{"id": 2, "src": "(+ 1 2)"}\n{"id": 3, "src": "\\ud800"}\n'
    done = subprocess.run([*SEMA, "eval", "--jsonl"], input=lines, capture_output=True, timeout=60)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    assert [answer["id"] for answer in answers] == [None, None, None, None, 2, 3] and done.stderr == b""
    assert answers[4]["value"] == "3"


def test_the_sandbox_of_a_stream(tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("text")
    inside = f'(file/read "{tmp_path}/in.txt")'
    answers = jsonl(
        [inside, '(file/read "/etc/passwd")', '(shell "true")', "(sys/pid)"], "--allowed-paths", str(tmp_path)
    )
    assert answers[0]["value"] == '"text"'
    assert "is outside allowed directories" in answers[1]["error"]
    assert answers[2]["error"].startswith("Permission denied: shell requires")
    assert answers[3]["error"] == "Permission denied: sys/pid requires 'process' capability"
    answers = jsonl([inside, '(file/write "a" "b")', '(py/import "os")'], "--sandbox", "strict")
    assert [bool(answer["error"]) for answer in answers] == [False, True, True]
    wrong = one("--jsonl", "--sandbox", "foo")
    assert (wrong.returncode, wrong.stderr) == (1, "Error: Invalid sandbox: unknown capability: foo\n")


def test_sizes() -> None:
    assert [size(text) for text in ("512MB", "2GB", "1.5 g", "4096", "64kib", "0")] == [
        *(512 << 20, 2 << 30, 3 << 29, 4096, 64 << 10, 0)
    ]
    for text in ("", "MB", "-1", "1XB", "1e3", "1 000"):
        with pytest.raises(ValueError, match="is not a size"):
            size(text)
    assert [shown(count) for count in (512 << 20, 2 << 30, 3 << 29, 1000)] == ["512 MB", "2 GB", "1.5 GB", "1000 bytes"]
    assert "2 GB" in Limits().out_of_memory()
    assert "'lots' is not a size" in one("--expr", "1", "--memory", "lots").stderr
