"""Key-value stores: values, files, crashes, tasks, damaged and foreign files."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from outcomes import outcome
from paths import ROOT

from sema_runtime import capabilities
from sema_runtime.lib.data import kv_store
from sema_runtime.support import key_value_file
from sema_runtime.tasks import scheduler
from sema_runtime.values.printer import to_text
from semac.session import Session


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty folder, and no store left open."""
    monkeypatch.chdir(tmp_path)
    yield
    kv_store.stores.clear()
    scheduler._per_thread.scheduler = None


def run(source: str) -> str:
    return to_text(Session().run(source))


def opened(source: str) -> str:
    """A program with the store "s" open on s.json."""
    return f'(kv/open "s" "s.json") {source}'


# Values


def test_values_come_back_as_json_has_them() -> None:
    value = '{:n nil :t #t :i 123456789012345678901 :f -2.5 :s "é\\n" :l \'(1 [2 {}]) :k :kw :y \'sym :c #\\x "r" 1/2}'
    assert run(opened(f'(kv/set "s" "v" {value})')) == run(value)
    assert run('(kv/get "s" "v")') == (
        '{:c "#\\\\x" :f -2.5 :i 123456789012345678901 :k "kw" :l (1 (2 {})) :n nil :r "1/2" :s "é\\n" :t #t :y "sym"}'
    )


def test_what_json_has_not() -> None:
    program = '(kv/set "s" "v" (list nan inf #u8(1 2) car (hashmap/new :a 1)))'
    run(opened(program))
    found = run('(kv/get "s" "v")')
    assert found.startswith('(nil nil "#u8(1 2)" "<native-fn car>"') and found.endswith("{:a 1})")


def test_the_file_is_readable_and_sorted() -> None:
    run(opened('(kv/set "s" "b" {:x (list 1 2) :e []}) (kv/set "s" "a\\"" "ü")'))
    assert Path("s.json").read_text() == (
        '{\n  "a\\"": "ü",\n  "b": {\n    "e": [],\n    "x": [\n      1,\n      2\n    ]\n  }\n}'
    )


def test_a_missing_file_is_made_by_the_first_change() -> None:
    assert run(opened('(list (kv/get "s" "a") (kv/keys "s") (kv/delete "s" "a"))')) == "(nil () #f)"
    assert os.listdir() == []
    assert run('(kv/set "s" "a" 1)') == "1"
    assert run('(list (kv/delete "s" "a") (kv/delete "s" "a") (kv/get "s" "a"))') == "(#t #f nil)"
    assert Path("s.json").read_text() == "{}"


def test_a_closed_store_is_gone() -> None:
    assert run(opened('(kv/set "s" "a" 1) (kv/close "s")')) == "nil"
    assert outcome('(kv/get "s" "a")') == "! kv store 's' not open"
    assert outcome('(kv/set "s" "a" 1)') == "! kv store 's' not open"
    assert run('(kv/close "s")') == "nil"
    assert run(opened('(kv/get "s" "a")')) == "1"


ERRORS = [
    ("(kv/open 5 \"x\")", "expected string, got int"),
    ('(kv/open "s" nil)', "expected string, got nil"),
    ('(kv/get "s" :a)', "expected string, got keyword"),
    ('(kv/set "s" 1 2)', "expected string, got int"),
    ('(kv/keys nil)', "expected string, got nil"),
    ('(kv/open "x" "no/such/x.json") (kv/set "x" "a" 1)', "I/O error: kv/set no/such/x.json: No such file"),
    ('(kv/open "x" ".")', "kv/open: a kv store must be a regular file: ."),
    ('(kv/open "x" "pipe")', "kv/open: a kv store must be a regular file: pipe"),
    ('(kv/open "x" "a\\u0000b")', "I/O error: kv/open a\0b: file name contained an unexpected NUL byte"),
]  # fmt: skip


@pytest.mark.parametrize(("call", "message"), ERRORS)
def test_errors(call: str, message: str) -> None:
    os.mkfifo("pipe")
    assert outcome(opened(call)) == f"! {message}"


def test_a_value_that_could_not_be_read_again_is_refused() -> None:
    program = opened('(kv/set "s" "a" 1) (kv/set "s" "deep" (foldl (fn (acc _) (list acc)) 1 (range 100000)))')
    assert outcome(program) == "! kv/set: the value for key 'deep' is nested too deeply"
    assert json.loads(Path("s.json").read_text()) == {"a": 1}


# Files


DAMAGED = [
    (b"", "malformed JSON in s.json: EOF while parsing a value at line 1 column 0"),
    (b'{\n  "a": 1,', "malformed JSON in s.json: EOF while parsing a value at line 2 column 9"),
    (b'{"a": NaN}', "malformed JSON in s.json: expected value at line 1 column 7"),
    (b'[{"a": 1}]', "malformed JSON in s.json: expected an object, got list"),
    (b"null", "malformed JSON in s.json: expected an object, got nil"),
    (b'{"a": "\\ud800"}', "malformed JSON in s.json: unexpected end of hex escape at line 1 column 14"),
]


@pytest.mark.parametrize(("data", "message"), DAMAGED)
def test_a_damaged_file_is_left_as_it_is(data: bytes, message: str) -> None:
    Path("s.json").write_bytes(data)
    assert outcome(opened('(kv/set "s" "b" 2)')) == f"! I/O error: kv/open: {message}"
    assert Path("s.json").read_bytes() == data
    assert outcome('(kv/keys "s")') == "! kv store 's' not open"


def test_a_file_that_is_not_utf_8() -> None:
    Path("s.json").write_bytes(b'{"a": "\xff"}')
    assert outcome(opened("1")) == "! I/O error: kv/open s.json: stream did not contain valid UTF-8"


def test_values_that_are_not_changed_stay_as_they_were_written() -> None:
    Path("s.json").write_text(' { "b" : [1,\t2.50], "a":1e2 , "a":{ "x" :\n3 } , "é":"\\u00e9" } \n')
    assert run(opened('(list (kv/keys "s") (kv/get "s" "a") (kv/get "s" "b"))')) == '(("a" "b" "é") {:x 3} (1 2.5))'
    run('(kv/set "s" "c" 1)')
    assert Path("s.json").read_text() == '{\n  "a": { "x" :\n3 },\n  "b": [1,\t2.50],\n  "c": 1,\n  "é": "\\u00e9"\n}'


def test_links_and_permissions_stay() -> None:
    os.mkdir("real")
    Path("real/r.json").write_text("{}")
    os.chmod("real/r.json", 0o600)
    os.symlink("real/r.json", "s.json")
    run(opened('(kv/set "s" "a" 1)'))
    assert os.path.islink("s.json")
    assert os.stat("real/r.json").st_mode & 0o777 == 0o600
    assert os.listdir("real") == ["r.json"]


def test_a_write_that_fails_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    run(opened('(kv/set "s" "a" 1)'))

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    assert outcome('(kv/set "s" "a" 2)') == "! I/O error: kv/set s.json: No space left on device (os error 28)"
    assert run('(kv/get "s" "a")') == "1"
    assert json.loads(Path("s.json").read_text()) == {"a": 1}
    assert os.listdir() == ["s.json"]


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    run(opened('(kv/set "s" "a" 1)'))
    monkeypatch.setattr(key_value_file, "MAX_BYTES", 40)
    long = "x" * 50
    assert outcome(f'(kv/set "s" "b" "{long}")') == (
        "! kv/set: value for key 'b' on kv store 's' is 52 bytes, over the 40-byte kv store limit"
    )
    run('(kv/set "s" "b" "0123456789")')
    assert outcome('(kv/set "s" "c" "0123456789")') == (
        "! kv/set: store s.json is 54 bytes, over the 40-byte kv store limit"
    )
    monkeypatch.setattr(key_value_file, "MAX_ITEMS", 2)
    assert outcome('(kv/set "s" "c" 1)') == (
        "! kv/set: kv store 's.json' already holds 2 items, at the 2-item kv store limit"
    )
    assert run('(kv/set "s" "b" 5) (kv/keys "s")') == '("a" "b")'
    Path("s.json").write_text(json.dumps({"a": "x" * 100}))
    assert outcome(opened("1")) == "! kv/open: store s.json is 109 bytes, over the 40-byte kv store limit"


# Several users of one file


def test_handles_on_one_file_share_it() -> None:
    os.symlink("s.json", "link.json")
    assert run(opened('(kv/open "t" "link.json") (kv/set "s" "a" 1) (kv/set "t" "b" 2) (kv/keys "s")')) == '("a" "b")'
    assert run('(kv/close "t") (kv/set "s" "c" 3) (kv/keys "s")') == '("a" "b" "c")'


def test_what_another_program_wrote_meanwhile_is_kept() -> None:
    run(opened('(kv/set "s" "a" 1)'))
    Path("s.json").write_text('{"a": 1, "theirs": 2}')
    run('(kv/set "s" "b" 3)')
    assert json.loads(Path("s.json").read_text()) == {"a": 1, "theirs": 2, "b": 3}
    Path("s.json").write_text('{"a": 1, "theirs"')
    assert outcome('(kv/set "s" "c" 4)').startswith("! I/O error: kv/set: malformed JSON in s.json")
    assert Path("s.json").read_text() == '{"a": 1, "theirs"'
    os.remove("s.json")
    run('(kv/set "s" "c" 4)')
    assert json.loads(Path("s.json").read_text()) == {"a": 1, "theirs": 2, "b": 3, "c": 4}


def test_tasks_write_one_after_the_other() -> None:
    program = """
    (async/all (map (fn (i) (async (kv/set "s" (str i) i) (kv/get "s" (str i)))) (range 20)))
    """
    assert run(opened(program)) == f"({' '.join(map(str, range(20)))})"
    assert json.loads(Path("s.json").read_text()) == {str(i): i for i in range(20)}


def test_other_tasks_go_on_while_a_store_is_written() -> None:
    program = """
    (let ((out (channel/new 8)))
      (async/all (list (async (kv/set "s" "a" 1) (channel/send out :written))
                       (async (channel/send out :other))))
      (list (channel/recv out) (channel/recv out)))
    """
    assert run(opened(program)) == "(:other :written)"


def test_a_cancelled_write_leaves_the_store_usable() -> None:
    program = """
    (define before (async (kv/set "s" "a" 1)))
    (define victim (async (kv/set "s" "b" 2)))
    (define after (async (kv/set "s" "c" 3)))
    (async/cancel victim)
    (list (await before) (try (await victim) (catch e (:type e))) (await after) (kv/keys "s"))
    """
    assert run(opened(program)) == '(1 :cancelled 3 ("a" "c"))'


# Crashes


WRITER = """
(kv/open "s" "s.json")
(define padding (string/repeat "x" 20000))
(let loop ((i (+ 1 (or (kv/get "s" "i") 0))))
  (kv/set "s" "padding" (str i padding))
  (kv/set "s" "i" i)
  (println i)
  (loop (+ i 1)))
"""


def test_a_process_killed_at_any_moment_loses_nothing_it_was_told_is_written() -> None:
    Path("writer.sema").write_text(WRITER)
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "runtime")])}
    chance = random.Random(1)
    for _ in range(8):
        command = [sys.executable, "-u", "-m", "semac.cli.entry", "writer.sema"]
        process = subprocess.Popen(command, env=env, stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        for _ in range(chance.randrange(1, 20)):
            process.stdout.readline()
        os.kill(process.pid, signal.SIGKILL)
        rest = process.stdout.read().split("\n")[:-1]
        process.wait()
        process.stdout.close()
        found = json.loads(Path("s.json").read_text())
        assert found["padding"].endswith("x" * 20000)
        assert not rest or found["i"] >= int(rest[-1])
    run(opened("1"))
    assert set(os.listdir()) - {"__pycache__"} == {"s.json", "writer.sema"}  # what the dead left behind is gone


@pytest.mark.parametrize("step", ["fchmod", "fsync", "replace"])
def test_a_process_killed_before_a_step_of_writing_leaves_the_old_file(step: str) -> None:
    run(opened('(kv/set "s" "a" 1)'))
    before = Path("s.json").read_bytes()
    dies = f"""
import os, signal
from sema_runtime.lib.data import kv_store
kv_store.kv_open("s", "s.json")
os.{step} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
kv_store.kv_set("s", "a", 2)
"""
    env = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    assert subprocess.run([sys.executable, "-c", dies], env=env).returncode == -signal.SIGKILL
    assert Path("s.json").read_bytes() == before
    assert len(os.listdir()) == 2
    assert run(opened('(kv/get "s" "a")')) == "1"
    assert os.listdir() == ["s.json"]


# The sandbox


def test_stores_outside_of_the_allowed_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkdir("inside")
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    capabilities.restrict(paths=["inside"])
    refused = "! Permission denied: {} — path '{}' is outside allowed directories"
    assert outcome(opened("1")) == refused.format("kv/open", "s.json")
    assert run('(kv/open "s" "inside/s.json") (kv/set "s" "a" 1)') == "1"
    os.remove("inside/s.json")
    os.symlink("../s.json", "inside/s.json")
    assert outcome('(kv/set "s" "a" 2)') == refused.format("kv/set", "inside/s.json")
    assert os.listdir() == ["inside"]


def test_programs_that_change_one_file_at_once_lose_nothing() -> None:
    program = """(kv/open "s" "s.json") (display "ready\\n") (read-line)
      (for-each (fn (i) (kv/set "s" (string-append (last (sys/args)) (number->string i)) i)) (range 25))"""
    Path("p.sema").write_text(program)
    command = [sys.executable, "-m", "semac", "p.sema"]
    pipe = subprocess.PIPE
    writers = [subprocess.Popen([*command, name], stdin=pipe, stdout=pipe, text=True) for name in "abcd"]
    for one in writers:
        assert one.stdout is not None and one.stdout.readline() == "ready\n"
    for one in writers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    assert [one.wait(60) for one in writers] == [0] * 4
    for one in writers:
        one.communicate()
    assert len(json.loads(Path("s.json").read_text())) == 100
