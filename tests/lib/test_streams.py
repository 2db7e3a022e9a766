"""Streams over memory, files and the standard input and output; reading lines from the console."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from outcomes import outcome
from paths import ROOT

from sema_runtime.lib.files import streams
from sema_runtime.lib.terminal import console
from sema_runtime.tasks import inputs
from sema_runtime.values.errors import SemaError

ENVIRONMENT = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def program(source: str, **options: Any) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "semac.cli.entry", "-e", source]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, **{"stdin": pipe, "stdout": pipe, "stderr": pipe, "env": ENVIRONMENT, **options})


def output(source: str, given: bytes = b"") -> str:
    """What a program writes that is given some input."""
    done = program(source).communicate(given, timeout=60)
    return (done[0] + done[1]).decode()


def test_file_streams() -> None:
    out = streams.stream_open_output("s.txt")
    assert streams.stream_write_string(out, "é\nx") == 4
    streams.stream_close(out)
    source = streams.stream_open_input("s.txt")
    assert streams.stream_is_available(source)
    assert [streams.stream_read_line(source), streams.stream_read_byte(source), streams.stream_read_line(source)] == [
        "é",
        120,
        None,
    ]
    assert streams.stream_type(source) == "file-input"
    assert not streams.stream_is_available(source)
    streams.stream_close(source)
    with pytest.raises(SemaError, match="stream/read: stream is closed"):
        streams.stream_read_byte(source)


CLOSED = [
    ("(stream/read s 1)", "! stream/read: stream is closed"),
    ("(stream/read-byte s)", "! stream/read: stream is closed"),
    ("(stream/read-line s)", "! stream/read: stream is closed"),
    ("(stream/read-all s)", "! stream/read: stream is closed"),
    ('(stream/write-string s "x")', "! stream/write: stream is closed"),
    ("(stream/write-byte s 1)", "! stream/write: stream is closed"),
    ("(stream/flush s)", "! stream/flush: stream is closed"),
    ("(stream/close s)", "nil"),
    ("(list (stream/readable? s) (stream/writable? s) (stream/available? s))", "(#f #f #f)"),
    ("(stream/copy s (stream/byte-buffer))", "! stream/read: stream is closed"),
]


@pytest.mark.parametrize(("call", "expected"), CLOSED)
@pytest.mark.parametrize("made", ['(stream/from-string "abc")', "(stream/byte-buffer)", '(stream/open-input "a")'])
def test_closed_streams(made: str, call: str, expected: str) -> None:
    Path("a").write_text("abc")
    assert outcome(f"(let ((s {made})) (stream/close s) {call})") == expected


WRONG_WAY = [
    ('(stream/write-string (stream/from-string "a") "b")', "! stream/write: stream is read-only (string stream)"),
    ('(stream/write-byte (stream/open-input "a") 1)', "! stream/write: stream is read-only (file-input stream)"),
    ('(stream/read (stream/open-output "b") 1)', "! stream/read: stream is write-only (file-output stream)"),
    ('(stream/read-line (stream/open-output "b"))', "! stream/read: stream is write-only (file-output stream)"),
    ("(stream/read-line *stdout*)", "! stream/read: *stdout* is write-only"),
    ("(stream/read-all *stderr*)", "! stream/read: *stderr* is write-only"),
    ('(stream/write-string *stdin* "x")', "! stream/write: *stdin* is read-only"),
    ("(map stream/readable? (list *stdin* *stdout*))", "(#t #f)"),
    ("(map stream/writable? (list *stdin* *stderr*))", "(#f #t)"),
    (
        '(stream/to-string (stream/from-string "a"))',
        "! stream/to-string: expected byte-buffer stream, got string stream",
    ),
    ("(stream/read 5 1)", "! expected stream, got int"),
]


@pytest.mark.parametrize(("source", "expected"), WRONG_WAY)
def test_streams_used_the_wrong_way(source: str, expected: str) -> None:
    Path("a").write_text("abc")
    assert outcome(source) == expected


SOURCES = [
    ('(stream/read-line (stream/from-string "a\\r"))', '"a"'),
    ('(let ((s (stream/from-string "\\r\\nx"))) (list (stream/read-line s) (stream/read-line s) (stream/read-line s)))',
     '("" "x" nil)'),
    ('(stream/read-all (stream/from-string "abc") nil)', "! expected non-negative integer, got nil"),
    ('(stream/read-all (stream/from-string "abc") -1)',
     "! stream/read-all: max-bytes must be a non-negative integer representable on this platform, got -1"),
    ('(stream/read-all (stream/from-string "abc") 2)', "! stream/read-all: input exceeds the configured 2-byte cap"),
    ('(stream/read-all (stream/from-string "abc") 3)', "#u8(97 98 99)"),
    ('(let ((s (stream/from-string "abcdef")) (b (stream/byte-buffer))) (try (stream/copy s b 3) (catch e nil))'
     " (list (stream/to-string b) (stream/read-all s)))", '("" #u8(101 102))'),
    ('(let ((x nil)) (try (with-stream (s (stream/from-string "a")) (set! x s) (error "inside")) (catch e nil))'
     " (stream/readable? x))", "#f"),
    ('(with-open (a (stream/from-string "a") b (stream/byte-buffer)) (stream/copy a b) (stream/to-string b))', None),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), SOURCES)
def test_reading(source: str, expected: str | None) -> None:
    assert outcome(source) == expected if expected else outcome(source)


def test_copying_streams() -> None:
    buffer = streams.stream_byte_buffer()
    assert streams.stream_copy(streams.stream_from_string("hello"), buffer) == 5
    assert streams.stream_to_string(buffer) == "hello"
    with pytest.raises(SemaError, match="exceeds the configured 2-byte cap"):
        streams.stream_copy(streams.stream_from_string("hello"), buffer, 2)


# The standard streams


def test_standard_streams() -> None:
    source = (
        '(println "a") (stream/write-string *stdout* "b") (display (stream/read-line *stdin*) (stream/type *stdin*))'
    )
    assert output(source, b"c\nd") == "a\nbc stdin"


def test_all_ways_to_read_the_standard_input_share_what_is_left() -> None:
    source = """(println (read-line)) (println (stream/read-line *stdin*)) (println (stream/read *stdin* 3))
        (println (stream/available? *stdin*) (stream/read-byte *stdin*)) (println (io/read-line))
        (println (io/eof?) (read-stdin) (io/eof?) (read-line) (stream/available? *stdin*) (stream/read *stdin* 1))"""
    given = "é\nb\r\nxyz!\r\n\nrest\r\nof it".encode()
    expected = "é\nb\n#u8(120 121 122)\n#t 33\n\n#f \nrest\r\nof it #t nil #f #u8()\n"
    assert output(source, given) == expected


def test_an_input_that_is_closed() -> None:
    done = program("(println (read-line) (read-stdin) (io/eof?))", preexec_fn=lambda: os.close(0), stdin=None)
    assert done.communicate(timeout=60) == (b"nil  #t\n", b"")


def test_an_output_that_is_closed() -> None:
    source = '(println "a") (stream/write-string *stdout* "b") (stream/flush *stdout*) (file/write "done" "yes")'
    done = program(source, preexec_fn=lambda: os.close(1), stdout=None)
    assert done.communicate(timeout=60)[1] == b"" and done.returncode == 0
    assert Path("done").read_text() == "yes"


BAD_INPUT: list[tuple[str, bytes, str]] = [
    ("(read-line)", b"a\xff\n", "read-line: invalid UTF-8: invalid utf-8 sequence of 1 bytes from index 1"),
    ("(read-stdin)", b"\xc3", "read-stdin: invalid UTF-8: invalid utf-8 sequence of 1 bytes from index 0"),
    ("(stream/read-line *stdin*)", b"\x80\n", "stream/read-line: invalid UTF-8: invalid utf-8 sequence of 1 bytes"),
    ("(read-line)", b"x" * 262_145, "read-line: line exceeds the configured 262144-byte cap"),
    ("(string/length (read-line))", b"x" * 262_144 + b"\r\n", "262144"),
    ("(stream/read-all *stdin* 5)", b"x" * 6, "stream/read-all: input exceeds the configured 5-byte cap"),
    ("(stream/read-all *stdin* 5)", b"x" * 5, "#u8(120 120 120 120 120)"),
]


@pytest.mark.parametrize(("source", "given", "expected"), BAD_INPUT)
def test_input_that_is_bad_or_too_much(source: str, given: bytes, expected: str) -> None:
    assert expected in output(f"(println {source})", given)


def test_waiting_for_input_suspends_only_the_task() -> None:
    child = program(
        """(define reader (async (list (read-line) (stream/read *stdin* 100) (read-line))))
        (define other (async (begin (println "the other one runs") (async/sleep 1) (println "still"))))
        (await other) (println (await reader))"""
    )
    assert child.stdin is not None and child.stdout is not None
    assert child.stdout.readline() + child.stdout.readline() == b"the other one runs\nstill\n"
    child.stdin.write(b"first\n")
    child.stdin.flush()
    child.stdin.write(b"sec")
    child.stdin.flush()
    out, err = child.communicate(timeout=60)
    assert (out, err) == (b'("first" #u8(115 101 99) nil)\n', b"")


def test_two_tasks_that_read_lines_get_whole_ones() -> None:
    source = """(define lines (mutable-array/new))
        (define (next line) (when line (mutable-array/push! lines line) (next (read-line))))
        (define (reads) (async (next (read-line))))
        (define a (reads)) (define b (reads)) (await a) (await b) (println (sort (map (fn (x) x) lines)))"""
    given = b"".join(b"%03d\n" % number for number in range(300))
    names = " ".join(f'"{number:03}"' for number in range(300))
    assert output(source, given).strip() == f"({names})"


def test_a_cancelled_reader_takes_nothing_with_it() -> None:
    child = program(
        """(while (not (stream/available? *stdin*)) (async/sleep 1))
        (define reader (async (read-line)))
        (async/sleep 1)
        (async/cancel reader) (try (await reader) (catch e nil))
        (println (async/cancelled? reader)) (println (read-line))"""
    )
    assert child.stdin is not None and child.stdout is not None
    child.stdin.write(b"begun ")
    child.stdin.flush()
    assert child.stdout.readline() == b"#t\n"
    assert child.communicate(b"and ended\n", timeout=60)[0] == b"begun and ended\n"


@pytest.mark.parametrize(
    "source", ["(read-line)", "(await (async (read-line)))", "(await (async (stream/read *stdin* 1)))"]
)
def test_ctrl_c_while_waiting_for_input(source: str) -> None:
    child = program(f'(println "ready") (io/flush) {source}', preexec_fn=lambda: signal.signal(2, signal.SIG_DFL))
    assert child.stdout is not None and child.stderr is not None
    assert child.stdout.readline() == b"ready\n"
    child.send_signal(signal.SIGINT)
    child.wait(60)
    assert child.stderr.read().splitlines()[-1] == b"Error: interrupted"


def test_a_pipe_of_the_file_system_keeps_only_its_reader_waiting() -> None:
    os.mkfifo("pipe")
    child = program(
        """(define reader (async (file/fold-lines "pipe" (fn (n line) (+ n (string/length line))) 0)))
        (await (async (println "meanwhile"))) (println (await reader))"""
    )
    assert child.stdout is not None
    assert child.stdout.readline() == b"meanwhile\n"
    threading.Thread(target=lambda: Path("pipe").write_text("ab\nc")).start()
    assert child.communicate(timeout=60) == (b"3\n", b"")


def test_an_input_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    """As hosts such as notebooks have it."""
    monkeypatch.setattr(sys, "stdin", io.StringIO("one\nétwo\nthree"))
    assert console.read_line() == "one"
    assert streams.stream_read_line(streams.standard_stream("stdin")) == "étwo"
    assert console.read_stdin() == "three" and console.read_line() is None


def test_a_broken_input() -> None:
    def fails(count: int) -> bytes:
        raise OSError(5, "Input/output error")

    broken = inputs.Input(fails, None)
    for read in (broken.line, broken.rest, lambda function: broken.some(function, 1)):
        with pytest.raises(SemaError, match="read-line: Input/output error"):
            read("read-line")


def test_nobody_reads_the_output_any_more() -> None:
    child = program('(for-each (fn (i) (stream/write-string *stdout* (string/repeat "x" 100000))) (range 1000))')
    assert child.stdout is not None and child.stderr is not None
    child.stdout.read(10)
    child.stdout.close()
    child.wait(60)
    assert child.stderr.read() == b""
