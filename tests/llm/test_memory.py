"""Memory threads: turns and facts in files, for later runs and other processes; agents that remember."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from llm_support import llm as llm
from llm_support import run
from paths import ROOT

from sema_runtime.llm import memory
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text


@pytest.fixture(autouse=True)
def folder(llm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The user's Sema folder, empty, and no threads of other tests."""
    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "home"))
    memory.forget()
    yield tmp_path / "home" / "memory"
    memory.forget()


def text(program: str) -> str:
    return to_text(run(program))


OPEN = '(define mem (memory/open {:id "ann" :namespace "support"}))'
TALK = OPEN + '(memory/append mem {:role "user" :content "Hi"}) (memory/append mem {:role :assistant :content "Hello"})'


def test_turns(folder: Path) -> None:
    assert text(TALK + "mem") == '{:memory/id "ann" :memory/namespace "support"}'
    shown = "(map (fn (m) (list (message/role m) (message/content m))) (conversation/messages (memory/messages mem)))"
    assert text(TALK + shown) == '((:user "Hi") (:assistant "Hello") (:user "Hi") (:assistant "Hello"))'
    lines = (folder / "support" / "ann.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines[:2]] == [
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello"},
    ]
    memory.forget()
    assert text(OPEN + "(conversation/length (memory/messages mem))") == "4"


def test_what_may_be_appended() -> None:
    program = OPEN + '(memory/append mem {:content "a"}) (memory/append mem (message :assistant "b" 1))'
    program += '(memory/append mem (message :system "c"))'
    shown = "(map message/role (conversation/messages (memory/messages mem)))"
    assert text(program + shown) == "(:user :assistant :user)"
    assert text(program + '(= mem (memory/append mem {:content "d"}))') == "#t"


def test_facts(folder: Path) -> None:
    program = (
        OPEN + '(memory/remember mem :a {:b [1 :c nil] "d" 1.5}) (memory/remember mem :x 1) (memory/remember mem :x 2)'
    )
    assert text(
        program + "(list (memory/recall-fact mem :a) (memory/recall-fact mem :x) (memory/recall-fact mem :y))"
    ) == ('({:b (1 "c" nil) :d 1.5} 2 nil)')
    assert json.loads((folder / "support" / "ann.facts.json").read_text()) == {
        "a": {"b": [1, "c", None], "d": 1.5},
        "x": 2,
    }
    memory.forget()
    assert text(OPEN + "(memory/recall-fact mem :x)") == "2"


def test_threads_are_apart(folder: Path) -> None:
    program = TALK + '(define other (memory/open {:id "ann"})) (define third (memory/open {:id "ann" :dir "here"}))'
    program += "(memory/remember third :x 3)"
    os.chdir(folder.parent.parent)
    assert text(
        program + "(list (conversation/length (memory/messages other)) (memory/recall-fact third :x) third)"
    ) == ('(0 3 {:memory/dir "here" :memory/id "ann" :memory/namespace "default"})')
    assert (folder.parent.parent / "here" / "default" / "ann.facts.json").exists()


def test_a_handle_works_in_another_run() -> None:
    run(TALK)
    memory.forget()
    assert text('(conversation/length (memory/messages {:memory/id "ann" :memory/namespace "support"}))') == "2"


@pytest.mark.parametrize("name", ["../../etc/x", "a/b", ".hidden", "..", "a b", "å:*?", "x" * 190])
def test_names_stay_in_the_folder(name: str, folder: Path) -> None:
    program = f"(define mem (memory/open {{:id {json.dumps(name)} :namespace {json.dumps(name)}}}))"
    run(program + '(memory/append mem {:content "x"}) (memory/remember mem :k 1)')
    found = [path.relative_to(folder).parts for path in folder.rglob("*") if path.is_file()]
    assert len(found) == 2 and all(len(parts) == 2 and not parts[1].startswith(".") for parts in found)
    memory.forget()
    assert text(program + "(memory/recall-fact mem :k)") == "1"


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("(memory/open 5)", "expected map, got int"),
        ("(memory/open {})", "memory/open: :id must be a string, got nil"),
        ("(memory/open {:id 5})", "memory/open: :id must be a string, got int"),
        ('(memory/open {:id ""})', "memory/open: :id is empty"),
        ('(memory/open {:id "a" :namespace 5})', "memory/open: :namespace must be a string, got int"),
        (f'(memory/open {{:id "{"x" * 300}"}})', "memory/open: :id is too long, 300 characters"),
        ("(memory/messages 5)", "expected handle of memory/open, got int"),
        ('(memory/append {:id "a"} {:content "x"})', "expected handle of memory/open, got map"),
        (OPEN + "(memory/append mem 5)", "expected map or message, got int"),
        (OPEN + "(memory/append mem {:content 5})", "expected string for :content, got int"),
        (OPEN + '(memory/append mem {:role "tool" :content "x"})', 'memory/append: unknown role "tool"'),
        (OPEN + "(memory/remember mem 5 1)", "expected keyword, got int"),
        ('(agent/run (agent {}) "x" {:memory 5})', "expected handle of memory/open, got int"),
    ],
)
def test_bad_input(program: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(program)
    assert caught.value.message == message


# Files


def test_damaged_lines_are_left_out(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(TALK)
    path = folder / "support" / "ann.jsonl"
    path.write_bytes(path.read_bytes() + b'{"role": "user"}\n\xff\xfe\n[1]\n{"role":"user","content":"cut o')
    memory.forget()
    assert text(TALK + "(conversation/length (memory/messages mem))") == "4"
    assert capsys.readouterr().err.count("a damaged line of") == 4  # the unfinished one ended when a turn was added
    assert path.read_bytes().count(b"\n") == 8


def test_damaged_facts_are_an_error(folder: Path) -> None:
    (folder / "support").mkdir(parents=True)
    (folder / "support" / "ann.facts.json").write_text("{oops")
    with pytest.raises(SemaError, match=r"memory/open: malformed JSON in .*ann.facts.json"):
        run(OPEN)
    assert (folder / "support" / "ann.facts.json").read_text() == "{oops"


def test_a_folder_that_cannot_be_written(folder: Path) -> None:
    folder.parent.mkdir()
    folder.write_text("no folder")
    with pytest.raises(SemaError, match="Not a directory"):
        run(TALK)


def test_a_file_that_was_removed_or_begun_anew(folder: Path) -> None:
    run(TALK)
    path = folder / "support" / "ann.jsonl"
    path.write_text('{"role":"user","content":"new"}\n')
    assert text(OPEN + "(map message/content (conversation/messages (memory/messages mem)))") == '("new")'
    path.unlink()
    assert text(OPEN + "(conversation/length (memory/messages mem))") == "0"


def test_processes_share_a_thread(folder: Path, tmp_path: Path) -> None:
    code = (
        "import sys; from sema_runtime.ai import Memory; m = Memory('shared')\n"
        "for n in range(20): m.append('user', f'{sys.argv[1]}-{n}')"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    writers = [subprocess.Popen([sys.executable, "-c", code, str(number)], env=env) for number in range(4)]
    assert [writer.wait(60) for writer in writers] == [0] * 4
    program = '(map message/content (conversation/messages (memory/messages (memory/open {:id "shared"}))))'
    said = list(run(program))
    assert sorted(said) == sorted(f"{number}-{n}" for number in range(4) for n in range(20))
    assert [one for one in said if one.startswith("0-")] == [f"0-{n}" for n in range(20)]


def test_another_process_is_heard_when_something_is_added(folder: Path) -> None:
    run(TALK)
    with (folder / "support" / "ann.jsonl").open("a") as file:
        file.write('{"role":"user","content":"from elsewhere"}\n')
    program = '(define mem {:memory/id "ann" :memory/namespace "support"})'
    program += '(define before (conversation/length (memory/messages mem))) (memory/append mem {:content "x"})'
    assert text(program + "(list before (map message/content (conversation/messages (memory/messages mem))))") == (
        '(2 ("Hi" "Hello" "from elsewhere" "x"))'
    )


def test_a_sandbox(folder: Path, tmp_path: Path) -> None:
    program = tmp_path / "program.sema"
    program.write_text(
        "(define (try-it f) (try (f) (catch e (:message e))))"
        '(println (try-it (fn () (memory/open {:id "a"}))))'
        '(println (try-it (fn () (memory/append {:memory/id "a"} {:content "x"}))))'
        '(println (try-it (fn () (memory/remember {:memory/id "a"} :k 1))))'
        '(println (try-it (fn () (agent/run (agent {}) "x" {:memory {:memory/id "a"}}))))'
    )
    for options, expected in (
        (
            ("--sandbox", "fs-write"),
            ["{:memory", "Permission denied: memory/append", "Permission", "Permission denied: agent/run"],
        ),
        (
            ("--allowed-paths", str(tmp_path / "x")),
            ["Permission denied: memory/open — path"] + ["Permission denied: "] * 3,
        ),
    ):
        command = [sys.executable, "-m", "semac.cli.entry", *options, str(program)]
        env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
        done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60)
        lines = done.stdout.splitlines()
        assert len(lines) == 4, done.stderr
        assert [line.startswith(start) for line, start in zip(lines, expected, strict=True)] == [True] * 4, lines
    assert not folder.exists()


# Agents

PLAYER = """
(define seen '())
(llm/define-provider :player {:complete (fn (req)
  (set! seen (append seen (list (map :content (:messages req)))))
  (if (= (:content (last (:messages req))) "fail") (error "down") (str "answer " (length seen))))})
"""


def test_an_agent_remembers_what_was_said() -> None:
    program = (
        PLAYER
        + OPEN
        + """
    (agent/run (agent {}) "one" {:memory mem})
    (try (agent/run (agent {}) "fail" {:memory mem}) (catch e nil))
    (agent/run (agent {}) "two" {:memory mem :messages (list {:role "user" :content "given"})})
    (list (last seen) (map message/content (conversation/messages (memory/messages mem))))"""
    )
    assert text(program) == '(("one" "answer 1" "given" "two") ("one" "answer 1" "two" "answer 3"))'


def test_calls_of_tools_are_not_remembered() -> None:
    program = (
        """
    (llm/define-provider :player {:complete (fn (req)
      (if (= (length (:messages req)) 1) {:content "hm" :tool-calls [{:id "c" :name "now" :arguments {}}]} "noon"))})
    (deftool now "The time" {} (fn () "12:00"))
    """
        + OPEN
        + """
    (agent/run (agent {:tools [now]}) "when?" {:memory mem})
    (map message/content (conversation/messages (memory/messages mem)))"""
    )
    assert text(program) == '("when?" "noon")'
