"""The response cache: keys, files, several processes, wrong clocks."""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from llm_support import run
from paths import ROOT

from sema_runtime import capabilities
from sema_runtime.llm.messages import Reply, ToolCall, Usage
from sema_runtime.llm.recordings import cache
from sema_runtime.support import home
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")
COUNTING = """
(define calls 0)
(llm/define-provider :fake {:default-model "m"
  :complete (fn (req) (set! calls (+ calls 1)) {:content "hi" :usage {:prompt-tokens 3 :completion-tokens 2}})})
"""
ASK = '(llm/with-cache (fn () (llm/complete "a")))'


@pytest.fixture(autouse=True)
def own_home(llm: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "home"))
    return tmp_path / "home"


def text(program: str) -> str:
    return to_text(run(COUNTING + program))


def files() -> list[Path]:
    folder = Path(cache.directory())
    return sorted(folder.iterdir()) if folder.exists() else []


def forget() -> None:
    """As another process would begin."""
    cache.store = cache.Store()


def reply(content: str = "hi", **fields: Any) -> Reply:
    return Reply(content, "m", Usage(3, 2), **fields)


# Keys


def test_the_key_is_the_specified_hash() -> None:
    assert run('(llm/cache-key "hello")') == hashlib.sha256(b"userhello").hexdigest()
    keyed = run('(llm/cache-key "hello" {:model "m" :temperature 0.5 :system "s"})')
    assert keyed == hashlib.sha256(b"m\0\0\0\0\0\0\xe0?suserhello").hexdigest()
    assert (
        run('(llm/cache-key "hello" {:model 5 :temperature 1})')
        == hashlib.sha256(b"\0\0\0\0\0\0\xf0?userhello").hexdigest()
    )
    with pytest.raises(SemaError, match="expected string, got int"):
        run("(llm/cache-key 5)")


# Hits


def test_an_answer_again_is_free() -> None:
    program = """(llm/with-cache {:ttl 60} (fn () (llm/complete "a") (llm/complete "a")))
    (list calls (:total-tokens (llm/last-usage)) (llm/cache-stats) (llm/complete "a") calls)"""
    assert text(program) == '(1 0 {:hits 1 :misses 1 :size 1} "hi" 2)'


def test_arguments_are_checked() -> None:
    for program in ("(llm/with-cache 5 (fn () 1))", "(llm/with-cache 5)"):
        with pytest.raises(SemaError, match=r"expected (map|function), got int"):
            run(program)


def test_a_cassette_turns_it_off(tmp_path: Path) -> None:
    ask = '(llm/complete "a")'
    text(f'(llm/with-cache (fn () (llm/with-cassette "{tmp_path}/t" {{:mode :record}} (fn () {ask} {ask}))))')
    assert len((tmp_path / "t").read_text().splitlines()) == 2
    assert not files()


def test_an_answer_that_calls_tools_is_not_kept() -> None:
    cache.store.keep("k", reply("", tool_calls=[ToolCall("1", "look", {})]))
    assert cache.store.find("k", 60) is None


def test_an_agent_gives_the_same_answer_from_the_cache() -> None:
    agent = """
    (define rounds 0)
    (llm/define-provider :fake {:complete (fn (req) (set! rounds (+ rounds 1))
      (if (= "tool" (:role (last (:messages req)))) "done"
        {:content "" :tool-calls [{:id "1" :name "look" :arguments {}}]}))})
    (deftool look "" {} (fn () "seen"))
    (defagent a {:tools [look]})
    (llm/with-cache (fn () (list (agent/run a "go") (agent/run a "go"))))"""
    assert to_text(run(agent)) == '("done" "done")'


# Files


def test_it_outlives_the_process(own_home: Path) -> None:
    text(ASK)
    [file] = files()
    key = hashlib.sha256(b"musera").hexdigest()
    assert file == own_home / "cache" / "llm" / f"{key}.json"
    kept = json.loads(file.read_text())
    assert file.read_text() == (
        f'{{"content":"hi","model":"m","prompt_tokens":3,"completion_tokens":2,"cached_at":{kept["cached_at"]}}}'
    )
    assert (file.stat().st_mode & 0o777, file.parent.stat().st_mode & 0o777) == (0o600, 0o700)
    forget()
    assert text(f"{ASK} (list calls (llm/cache-stats))") == "(0 {:hits 1 :misses 0 :size 1})"
    assert text("(list (llm/cache-clear) (llm/cache-stats))") == "(1 {:hits 0 :misses 0 :size 0})"
    assert not files()


def test_clearing_leaves_what_is_not_ours(own_home: Path) -> None:
    text(ASK)
    (own_home / "cache/llm/notes.txt").write_text("mine")
    (own_home / "cache/llm/folder.json").mkdir()
    left = own_home / "cache/llm/.sema-999999999-00.tmp"
    left.write_text("of a process that was killed")
    text("(llm/cache-clear)")
    assert {file.name for file in files()} == {"notes.txt", "folder.json"}


def test_the_home_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert home.sema_home() == str(tmp_path / "home") == run("(sys/sema-home)")
    monkeypatch.delenv("SEMA_HOME")
    assert home.sema_home() == str(tmp_path / ".sema")
    monkeypatch.delenv("HOME")
    monkeypatch.setenv("USERPROFILE", "/users/me")
    assert home.in_home("cache") == "/users/me/.sema/cache"


BAD = {
    "empty": b"",
    "cut": b'{"content":"hi","mo',
    "binary": b"\xff\0\xfe",
    "list": b"[]",
    "deep": b"[" * 200_000,
    "types": b'{"content":5,"model":"m","prompt_tokens":1,"completion_tokens":1,"cached_at":4000000000}',
    "no such time": b'{"content":"x","model":"m","prompt_tokens":1,"completion_tokens":1,"cached_at":1%s}'
    % (b"0" * 400),
    "text for a number": b'{"content":"x","model":"m","prompt_tokens":"1","completion_tokens":1,"cached_at":1}',
    "no time": b'{"content":"x","model":"m","prompt_tokens":1,"completion_tokens":1,"cached_at":null}',
}


@pytest.mark.parametrize("what", BAD)
def test_a_bad_file_is_a_miss_and_replaced(what: str) -> None:
    text(ASK)
    [file] = files()
    file.write_bytes(BAD[what])
    forget()
    assert text(f"{ASK} calls") == "1"
    assert json.loads(file.read_text())["content"] == "hi"


def test_a_file_that_is_none_is_a_miss() -> None:
    text(ASK)
    [file] = files()
    file.unlink()
    os.mkfifo(file)
    forget()
    assert text(f"{ASK} calls") == "1"
    file.unlink()
    file.mkdir()
    forget()
    assert text(f"{ASK} {ASK} calls") == "1", "in memory"


def test_a_folder_that_can_not_be_made_is_no_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "file"))
    assert text(f"{ASK} {ASK} (list calls (llm/cache-clear))") == "(1 1)"


def test_what_holds_a_key_stays_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "sk-test-0123456789abcdef")
    cache.store.keep("k", reply("use sk-test-0123456789abcdef"))
    assert cache.store.find("k", 60) is not None
    assert not files()


def test_a_sandboxed_program_keeps_to_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    text(ASK)
    forget()
    monkeypatch.setattr(capabilities, "denied", {"network"})
    assert text(f'{ASK} (llm/with-cache (fn () (llm/complete "b"))) (list calls (llm/cache-clear))') == "(2 2)"
    assert len(files()) == 1


# Time


def test_entries_expire() -> None:
    assert text('(llm/with-cache {:ttl 0} (fn () (llm/complete "a") (llm/complete "a"))) calls') == "2"
    assert text('(llm/with-cache {:ttl -5} (fn () (llm/complete "a"))) calls') == "1"


def aged(seconds: int, content: str = "old") -> None:
    """The only file says that it was kept so many seconds ago."""
    [file] = files()
    kept = json.loads(file.read_text())
    file.write_text(json.dumps({**kept, "content": content, "cached_at": kept["cached_at"] - seconds}))


@pytest.mark.parametrize(("seconds", "hit"), [(3500, True), (3700, False), (-30, True), (-3000, False)])
def test_a_file_counts_by_its_date(seconds: int, hit: bool) -> None:
    text(ASK)
    aged(seconds)
    forget()
    assert text(ASK) == ('"old"' if hit else '"hi"')


def test_another_process_s_newer_answer_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    text(ASK)
    [entry] = cache.store.entries.values()
    entry.cached_at -= 4000
    aged(0, "theirs")
    assert text(f"(list {ASK} calls)") == '("theirs" 0)'


# Several processes

WRITE = """
import sys
from sema_runtime.llm.recordings import cache
from sema_runtime.llm.messages import Reply, Usage
sys.stdin.readline()
for n in range(150):
    cache.store.keep("shared", Reply(sys.argv[1] * 20000, "m", Usage(1, 1)))
    if n % 50 == 49 and sys.argv[1] == "c":
        cache.store.clear()
"""


def test_writers_readers_and_one_that_clears(own_home: Path) -> None:
    env = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, name], env=env, stdin=subprocess.PIPE, stderr=subprocess.PIPE)
        for name in "abc"
    ]
    ended = threading.Event()
    seen: set[str] = set()

    def read() -> None:
        while not ended.is_set():
            entry = cache.Store().find("shared", 60)
            if entry is not None:
                seen.add(entry.content[0] if entry.content == entry.content[0] * 20000 else "torn")

    reader = threading.Thread(target=read)
    reader.start()
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(b"go\n")
        writer.stdin.flush()
    for writer in writers:
        _, errors = writer.communicate(timeout=60)
        assert writer.returncode == 0, errors
    ended.set()
    reader.join()
    assert seen <= {"a", "b", "c"}
    assert not [file for file in files() if file.suffix == ".tmp"]
