"""Cassettes that several processes write, cut, edit and read; big ones; damaged lines."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from llm_support import COUNTING, run
from llm_support import llm as llm
from paths import ROOT
from tape_support import entry, key, line

from sema_runtime.llm import providers
from sema_runtime.llm.messages import Reply
from sema_runtime.llm.recordings.cassette import Cassette
from sema_runtime.llm.recordings.cassette_file import CassetteFile, Unreadable, read_line
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")


def start(code: str, *arguments: object) -> subprocess.Popen[str]:
    """A Python process with the runtime at hand."""
    command = [sys.executable, "-c", code, *map(str, arguments)]
    return subprocess.Popen(
        command,
        env={**os.environ, "PYTHONPATH": str(ROOT / "runtime")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def release(*processes: subprocess.Popen[str]) -> None:
    """Lets processes go on that wait for a line."""
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()


def wait_for(*processes: subprocess.Popen[str]) -> None:
    for process in processes:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors


# Several processes

APPEND = """
import sys
from sema_runtime.llm.recordings.cassette_file import CassetteFile, blank
tape, name, count, size = CassetteFile(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
sys.stdin.readline()
for n in range(count):
    tape.append({**blank("complete", f"{name}-{n}"), "content": name * size, "model": "m"})
    print(n, flush=True)
"""


def test_ten_processes_append_while_others_read(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "t.jsonl"
    writers = [start(APPEND, path, f"w{n}", 40, 3000) for n in range(10)]
    stopped = threading.Event()
    odd: list[str] = []

    def read() -> None:
        tape = CassetteFile(str(path))
        while not stopped.is_set():
            found = tape.entry("w3-39")
            if found is not None and found["content"] != "w3" * 3000:
                odd.append(found["content"][:20])
            odd.extend(problem for _, problem in tape.census().damaged)

    reader = threading.Thread(target=read)
    reader.start()
    release(*writers)
    wait_for(*writers)
    stopped.set()
    reader.join()
    assert not odd
    tape = CassetteFile(str(path))
    found = tape.census()
    assert (found.entries, found.damaged) == (400, [])
    assert all(tape.entry(f"w{n}-{i}") is not None for n in range(10) for i in range(40))


RECORD = """
import sys
from sema_runtime.llm.recordings.cassette import Cassette
from sema_runtime.llm.messages import Reply
tape = Cassette(sys.argv[1])
sys.stdin.readline()
for n in range(100):
    if tape.find(f"k{n}") is None:
        tape.record("complete", f"k{n}", Reply(f"answer {n}", "m"), [])
"""


def test_processes_that_make_the_same_calls_record_each_once(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    recorders = [start(RECORD, path) for _ in range(4)]
    release(*recorders)
    wait_for(*recorders)
    entries = [json.loads(one) for one in path.read_text().splitlines()]
    assert sorted(one["key"] for one in entries) == sorted(f"k{n}" for n in range(100))


def test_a_writer_that_is_killed_costs_one_line(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    for round_ in range(3):
        writer = start(APPEND, path, f"w{round_}", 1000, 2_000_000)
        release(writer)
        assert writer.stdout is not None
        assert writer.stdout.readline() == "0\n"
        size = path.stat().st_size
        while path.stat().st_size == size:  # it is within the next write, or just behind it
            pass
        writer.send_signal(signal.SIGKILL)
        writer.wait()
        for stream in (writer.stdin, writer.stdout, writer.stderr):
            assert stream is not None
            stream.close()
    tape = CassetteFile(str(path))
    tape.append(entry("after"))
    found = tape.census()
    assert len(found.damaged) <= 3
    assert found.entries >= 4
    assert tape.entry(key("after")) is not None
    assert all(tape.entry(f"w{n}-0") is not None for n in range(3))


def test_a_cut_line_at_the_end_is_set_apart(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(line("a") + line("b")[:-20])
    tape = CassetteFile(str(path))
    assert tape.entry(key("b")) is None
    tape.append(entry("c"))
    assert path.read_text() == line("a") + line("b")[:-20] + "\n" + line("c")
    assert tape.entry(key("c")) is not None
    assert [number for number, _ in tape.census().damaged] == [2]


def test_what_another_process_records_is_replayed_at_once(tmp_path: Path) -> None:
    tape = tmp_path / "t.jsonl"
    other = start(
        "import sys; from sema_runtime.llm.recordings.cassette_file import CassetteFile; import json;"
        "sys.stdin.readline(); CassetteFile(sys.argv[1]).append(json.loads(sys.argv[2])); print('done')",
        tape,
        json.dumps(entry("a", "theirs")),
    )

    def ask_them() -> None:
        assert "done" in other.communicate("go\n")[0]

    providers.reset()
    run(COUNTING)
    with_tape = Cassette(str(tape))
    assert with_tape.find(key("a")) is None
    ask_them()
    found = with_tape.find(key("a"))
    assert found is not None and found["content"] == "theirs"
    with_tape.record("complete", key("a"), Reply("ours", "m"), [])
    assert tape.read_text() == line("a", "theirs"), "an entry that would never be replayed is left out"


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_text(line("b", "new")),
        lambda path: path.write_text(line("c") * 3 + line("b", "new") + line("d") * 9),
        lambda path: (path.unlink(), path.write_text(line("x") + line("b", "new"))),
    ],
)
def test_a_tape_that_is_edited_while_it_is_open(change: Callable[[Path], None], tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    path.write_text(line("a") + line("b", "old"))
    tape = CassetteFile(str(path))
    assert tape.entry(key("b")) == entry("b", "old")
    change(path)
    assert tape.entry(key("b")) == entry("b", "new")
    path.unlink()
    assert tape.entry(key("b")) is None
    tape.append(entry("b", "third"))
    assert tape.entry(key("b")) == entry("b", "third")


def test_a_big_tape_is_read_by_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "t.jsonl"
    with path.open("w") as file:
        for n in range(3000):
            file.write(line(str(n), "x" * 1000))
    program = f"""(llm/with-cassette "{path}" {{:mode :replay}} (fn ()
      (define ticks 0)
      (define ticker (async (for-range (i 0 3) (set! ticks (+ ticks 1)) (sleep 1))))
      (list (string-length (llm/complete "2999")) (await ticker) (string-length (llm/complete "0")))))"""
    assert to_text(run(program)) == "(1000 nil 1000)"


def test_a_line_that_is_too_long_is_damaged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sema_runtime.llm.recordings.cassette_file.LONGEST_LINE", 1000)
    path = tmp_path / "t.jsonl"
    path.write_text(line("a", "x" * 5000) + line("b"))
    tape = CassetteFile(str(path))
    assert tape.entry(key("a")) is None
    assert tape.entry(key("b")) is not None


def test_unreadable_lines_say_why() -> None:
    with pytest.raises(Unreadable, match="version 3 of the format, this Sema reads 1"):
        read_line(b'{"v":3}')
    with pytest.raises(Unreadable, match="not UTF-8"):
        read_line(b"\xff")
