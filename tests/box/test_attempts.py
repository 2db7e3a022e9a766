"""The thirty attempts of the threat model (docs/explanation/box.md): each is held, and held again by the next layer when
the first one is switched off (tests/support/box_without.py does that)."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from paths import ROOT

from sema_runtime.box import Limits, Outcome, Pool, Session, Unprotected, workers
from sema_runtime.box.codec import to_frame
from sema_runtime.box.toolbox import grants
from sema_runtime.box.turns import Turn
from sema_runtime.box.workers import Worker

WALL_MS = 700
GRACE = 1.5  # seconds for starting and ending processes on a busy machine
CANARY = "canary-7d1f"
REFUSED = {"unbound_var", "invalid_form"}
CHECKED = {"internal_error"}  # the check of the Python found it
DENIED = {"runtime_error", "type_error", "internal_error"}  # the kernel said no
ENDED = {"timeout", "memory_exceeded", "worker_died", "stack_exceeded"}
DEEP = "(let loop ((i 0) (x '())) (if (= i 100000) {use} (loop (+ i 1) (list x))))"
BYPASS = "profile,check"


class Attempt(NamedTuple):
    number: int
    source: str
    held: set[str] | str  # reasons, or the printed value
    without: str  # the layers that are switched off
    backstop: set[str] | str


ATTEMPTS = [
    Attempt(1, '(py/getattr (py/getattr "a" "__class__") "__base__")', REFUSED, "profile", CHECKED),
    Attempt(1, '(.__class__ "a")', REFUSED, "profile", CHECKED),
    Attempt(1, '(py/import "os")', REFUSED, "profile", CHECKED),
    Attempt(2, '(format "{0.__class__.__init__.__globals__[sys]}" car)',
            '"{0.__class__.__init__.__globals__[sys]}"', "format", {"type_error", "runtime_error", "internal_error"}),
    Attempt(2, '(math/format-fixed 1.0 2000000000)', {"runtime_error", "memory_exceeded"}, "format",
            {"runtime_error", "memory_exceeded"}),
    Attempt(3, "(define __builtins__ 1) (define class 2) (list __builtins__ class)", "(1 2)", "names", CHECKED),
    Attempt(4, "(define ﬁ 1) (define fi 2) (list ﬁ fi)", "(1 2)", "names", CHECKED),
    Attempt(5, "(pow 2 100000000000)", {"runtime_error"}, "integers", ENDED),
    Attempt(5, "(bit/shift-left 1 100000000000)", {"runtime_error"}, "integers", ENDED),
    Attempt(6, "(str (pow 10 300000))", {"runtime_error"}, "digits", {"timeout"}),
    Attempt(7, '((py/getattr (py/import "decimal") "Decimal") "1e100000000")', REFUSED, "profile", CHECKED),
    Attempt(8, '(regex/match? "(a+)+$" (str (string/repeat "a" 60) "b"))', "#f", "regex", {"timeout"}),
    Attempt(9, "(define (f n) (+ 1 (f n))) (f 1)", {"stack_exceeded"}, "recursion", ENDED),
    Attempt(10, DEEP.format(use="{x 1}"), {"stack_exceeded"}, "recursion", ENDED | {"result_exceeded"}),
    Attempt(10, DEEP.format(use="x"), {"result_exceeded"}, "encoder", ENDED | {"result_exceeded"}),
    Attempt(11, "(" * 200_000, {"parse_error"}, "nesting", ENDED | {"parse_error"}),
    Attempt(11, "[" * 5_000 + "]" * 5_000, {"parse_error"}, "nesting", ENDED | {"parse_error", "result_exceeded"}),
    Attempt(12, "(mutable-array/new 10000000000 0)", {"memory_exceeded"}, "memory", {"memory_exceeded"}),
    Attempt(12, "(length (map list (range 100000000000)))", {"memory_exceeded", "timeout"}, "memory", ENDED),
    Attempt(13, "(iterate inc 1)", REFUSED, "check", REFUSED),
    Attempt(13, "(cycle (list 1))", REFUSED, "check", REFUSED),
    Attempt(14, "(let l () (try (mutable-array/new 10000000000 0) (catch e (l))))", {"memory_exceeded"}, "handlers", ENDED),
    Attempt(14, "(let l () (try (let m () (m)) (catch e (l))))", {"timeout"}, "handlers", {"timeout"}),
    Attempt(15, '(let l () (println (string/repeat "x" 10000)) (l))', {"output_exceeded"}, "prints", ENDED),
    Attempt(16, "(foldl (fn (a _) [a a]) 1 (range 60))", {"result_exceeded"}, "encoder", ENDED),
    Attempt(17, '(shell "id")', REFUSED, BYPASS, DENIED),
    Attempt(17, '(http/get "http://127.0.0.1:9")', REFUSED, BYPASS, DENIED | {"timeout"}),
    Attempt(18, '(file/read "/proc/self/environ")', REFUSED, BYPASS, DENIED),
    Attempt(18, '(file/write "/tmp/escaped" "x")', REFUSED, BYPASS, DENIED),
    Attempt(19, '(env "BOX_CANARY")', REFUSED, BYPASS, "nil"),
    Attempt(22, '(defmacro m () (file/read "/etc/passwd")) (m)', REFUSED, BYPASS, DENIED | {"invalid_form"}),
    Attempt(22, "(defmacro m (x) (let l () (l))) (m 1)", {"timeout"}, BYPASS, {"timeout"}),
    Attempt(22, "(defmacro m (x) (tool/x)) (m 1)", {"unknown_tool"}, "profile", REFUSED | CHECKED),
    Attempt(23, "(eval '(file/read \"/etc/passwd\"))", REFUSED, "profile", CHECKED),
    Attempt(23, '(load "/etc/passwd")', REFUSED, "profile", CHECKED),
    Attempt(24, '((py/getattr (py/import "os") "listdir") "/")', REFUSED, BYPASS, DENIED),
    Attempt(27, "(time-ms)", REFUSED, "profile", CHECKED),
    Attempt(27, "(math/random)", REFUSED, "profile", CHECKED),
    Attempt(28, "(let loop ((i 0) (m {})) (loop (+ i 1) (assoc m (* i 2305843009213693951) i)))", {"timeout"}, "",
            {"timeout"}),
    Attempt(30, "(py/class A (x) (__del__ self))", REFUSED, "profile", CHECKED | REFUSED),
    Attempt(30, "(define-record-type p (mk __del__) p? (__del__ pd)) (pd (mk 1))", "1", "profile", "1"),
]  # fmt: skip


@pytest.fixture(scope="module")
def without(request: pytest.FixtureRequest) -> Iterator[Callable[[str], Pool]]:
    """Gives pools whose processes lack the named layers."""
    pools: dict[str, Pool] = {}
    patch = pytest.MonkeyPatch()
    patch.setenv("BOX_CANARY", CANARY)

    def made(layers: str) -> Pool:
        if layers not in pools:
            script = str(ROOT / "tests" / "support" / "box_without.py")
            with patch.context() as patched:
                patched.setattr(workers, "zygote_command", lambda: [sys.executable, "-s", "-P", script, layers])
                try:
                    pools[layers] = Pool(Limits(wall_ms=WALL_MS, memory_mb=128), spare=0)
                except Unprotected as problem:
                    pytest.skip(problem.message)
        return pools[layers]

    yield made
    for each in pools.values():
        each.close()
    patch.undo()


def agrees(outcome: Outcome, wanted: set[str] | str) -> bool:
    if isinstance(wanted, str):
        return outcome.ok and (outcome.text or "nil") == wanted
    return outcome.reason in wanted


def timed(pool: Pool, source: str, wall_ms: int = WALL_MS) -> Outcome:
    started = time.monotonic()
    outcome = pool.run(source, limits=replace(pool.limits, wall_ms=wall_ms, memory_mb=128))
    assert time.monotonic() - started < wall_ms / 1000 + GRACE
    assert CANARY not in repr(outcome)
    return outcome


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: f"T{attempt.number}-{attempt.source[:30]}")
def test_an_attempt_is_held(pool: Pool, attempt: Attempt) -> None:
    is_refused = "timeout" not in attempt.held and "memory_exceeded" not in attempt.held
    outcome = timed(pool, attempt.source, 10 * WALL_MS if is_refused else WALL_MS)
    assert agrees(outcome, attempt.held), outcome


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: f"T{attempt.number}-{attempt.source[:30]}")
def test_it_is_held_without_its_first_layer(without: Callable[[str], Pool], attempt: Attempt) -> None:
    pool = without(attempt.without)
    outcome = timed(pool, attempt.source)
    assert agrees(outcome, attempt.backstop), outcome
    assert timed(pool, "(+ 1 2)").value == 3


@pytest.mark.parametrize("kind", ["fault", "exit", "half", "garbage", "huge", "deep", "forged", "limit"])
def test_a_process_that_dies_or_lies_ends_alone(without: Callable[[str], Pool], kind: str) -> None:  # T25, T29
    pool = without("")
    assert timed(pool, f'(hash/md5 "{kind}")').reason in {"worker_died", "runtime_error"}
    assert timed(pool, "(+ 1 2)").value == 3


def test_what_c_code_does_forever_is_killed(without: Callable[[str], Pool]) -> None:  # T13
    assert timed(without(""), '(hash/md5 "forever")').reason == "timeout"


def test_processor_time_ends_what_nobody_kills(without: Callable[[str], Pool]) -> None:  # T13, T28
    pool = without("")
    limits = Limits(wall_ms=600_000)
    worker = pool.zygote.fork(limits)
    turn = Turn('(hash/md5 "forever")', {}, {}, limits)
    asked = turn.request(worker)
    turn.request = lambda _: {**asked, "limits": {**vars(limits), "wall_ms": 1}}  # type: ignore[method-assign]
    assert turn.run(worker, bool).reason == "worker_died"  # after two seconds of the processor
    worker.end()


def test_each_program_of_a_session_has_processor_time_of_its_own(without: Callable[[str], Pool]) -> None:
    with Session(without("")) as session:
        first, second = (session.run('(hash/md5 "processor")') for _ in range(2))
        assert first.ok and second.ok and second.value >= first.value > 0
        assert session.run('(hash/md5 "address-space")').reason in DENIED  # its other limits stay


@pytest.mark.parametrize("kind", ["read", "list", "fork", "connect", "kill", "thread"])
def test_native_code_reaches_nothing(without: Callable[[str], Pool], kind: str) -> None:  # T17, T18
    outcome = timed(without(BYPASS), f'(hash/md5 "{kind}")')
    assert outcome.reason in {"runtime_error", "invalid_form", "internal_error"}, outcome


def test_native_code_finds_no_secret(without: Callable[[str], Pool]) -> None:  # T18, T19
    pool = without(BYPASS)
    assert os.environ["BOX_CANARY"] == CANARY
    assert CANARY not in pool.run('(hash/md5 "environment")').value
    assert pool.run('(hash/md5 "descriptors")').value == 1
    assert pool.run('(hash/md5 "memory")').reason == "memory_exceeded"


def test_what_one_program_changes_no_other_sees(pool: Pool, without: Callable[[str], Pool]) -> None:  # T20, T21
    for number in range(20):
        assert pool.run(f"(define + -) (define x {number}) (set! car cdr) (gensym) (+ 2 1)").value == 1
        assert pool.run("(list (+ 2 1) (car '(1 2)) (str (gensym)))").text == pool.run("(list 3 1 (str (gensym)))").text
    weak = without("")
    assert weak.run('(hash/md5 "pollute") (hash/md5 "polluted")').value is True
    assert weak.run('(hash/md5 "polluted")').value is False


def test_equal_programs_have_equal_outcomes(pool: Pool) -> None:  # T27
    source = '(list (gensym) {:a 1 :b 2} (frequencies "hello") (hashmap/keys (hashmap/new :a 1 :b 2)) (/ 1 3.0))'
    outcomes = [pool.run(source) for _ in range(3)]
    assert len({(one.text, repr(one.prints), one.message) for one in outcomes}) == 1


def test_texts_of_programs_speak_to_no_terminal(without: Callable[[str], Pool], pool: Pool) -> None:  # T26
    source = '(error "\\x1b;[2J</untrusted>\\x202e;")'
    assert "\x1b" not in (pool.run(source).message or "")
    bare = without("visible").run(source)
    assert "\x1b" in (bare.message or "") and "\x1b" not in json.dumps(vars(bare))
    command = [sys.executable, "-m", "semac.cli.entry", "box", "run", "--json", "-"]
    ran = subprocess.run(command, input='(println "\\x1b;[2J\\"}\\n{") 1', capture_output=True, text=True, timeout=60)
    assert json.loads(ran.stdout)["prints"] == ['\x1b[2J"}\n{'] and "\x1b" not in ran.stdout


class Accomplice:
    """A worker that says what it wants: the other end of its pipe is held by the test."""

    def __init__(self) -> None:
        ours, self.pipe = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        self.child = subprocess.Popen(["sleep", "60"])
        self.worker = Worker(self.child.pid, ours, Limits())
        self.worker.is_ready = True

    def says(self, *messages: dict[str, Any] | bytes) -> None:
        for message in messages:
            self.pipe.sendall(message if isinstance(message, bytes) else to_frame(message))

    def end(self) -> None:
        self.worker.end()
        self.child.wait()
        self.pipe.close()


@pytest.fixture
def accomplice() -> Iterator[Accomplice]:
    made = Accomplice()
    yield made
    made.end()


END = {"status": "value", "value": 1, "text": "1", "prints": [], "duration_ms": 0}


@pytest.mark.parametrize(
    "message",
    [
        {"call": 1, "asked": [["other", []]]}, {"call": 1, "asked": [[["add"], []]]}, {"call": 1, "asked": None},
        {"call": 1, "asked": [["add", {"a": 1}]]}, {"call": 1, "asked": []}, {"call": 1, "asked": [["add"]]}, {"call": 1},
        {"call": 1, "asked": [["add", []], 5]}, {"status": "forged", "value": 1}, {}, {**END, "prints": [1]},
        {"printed": 5}, {"printed": [1]}, {"printed": []}, {"printed": ["x"] * 2_000}, {"printed": ["x" * 100_000]},
        {**END, "prints": "x"}, {**END, "value": {"l": 5}}, {**END, "value": {"x": 1}}, {**END, "value": {"i": "zz"}},
        {**END, "value": {"a": 1, "b": 2}}, {**END, "value": {"m": [1]}}, b"\0\0\0\2[]", b"\0\0\0\4null", b"\xff" * 8,
    ],
)  # fmt: skip
def test_forged_messages_end_the_process(accomplice: Accomplice, message: dict[str, Any] | bytes) -> None:  # T25
    accomplice.says(message)
    turn = Turn("1", {}, grants({"add": lambda a, b: a + b}), Limits(wall_ms=2_000))
    assert turn.run(accomplice.worker, bool).reason == "worker_died"
    assert turn.calls == []


def test_forged_places_and_texts_are_dropped(accomplice: Accomplice) -> None:
    accomplice.says({**END, "line": "x", "column": -1, "text": 5, "reason": [], "message": {}, "duration_ms": "x"})
    outcome = Turn("1", {}, {}, Limits()).run(accomplice.worker, bool)
    assert (outcome.line, outcome.column, outcome.text, outcome.message, outcome.duration_ms) == (None,) * 4 + (0.0,)


def test_a_call_after_the_deadline_runs_nothing(accomplice: Accomplice) -> None:  # T25
    calls: list[int] = []

    def slow() -> int:
        calls.append(1)
        time.sleep(0.3)
        return 1

    accomplice.says(*({"call": number, "asked": [["slow", []]]} for number in range(5)))
    turn = Turn("1", {}, grants({"slow": slow}), Limits(wall_ms=200))
    assert turn.run(accomplice.worker, bool).reason == "timeout"
    assert len(calls) == 1


def test_calls_are_counted_by_the_host(accomplice: Accomplice) -> None:  # T25
    accomplice.says(*({"call": number, "asked": [["one", []]]} for number in range(9)), END)
    turn = Turn("1", {}, grants({"one": lambda: 1}), Limits(tool_calls=3))
    turn.run(accomplice.worker, bool)
    assert len(turn.calls) == 3


def test_every_attempt_has_a_row_in_the_documentation() -> None:
    text = (ROOT / "docs" / "explanation" / "box.md").read_text()
    assert [int(number) for number in re.findall(r"^\| T(\d+) \|", text, re.M)] == list(range(1, 31))
