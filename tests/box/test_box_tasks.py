"""Tasks of programs in the box: tools that wait at the same time, limits in tasks, runs that repeat exactly."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from sema_runtime.box import Limits, Pool, Quota, Session, ToolGrant
from sema_runtime.box.outcome import Outcome

MEETING_SECONDS = 20.0  # that calls wait for each other before the test fails
TOGETHER = [
    "(async/all (map (fn (n) (async (tool/meet {:n n}))) (range 3)))",
    "(async/pool-map (fn (n) (tool/meet {:n n})) (range 3) 3)",
    "(let ((a (async (tool/meet {:n 0}))) (b (async (tool/meet {:n 1}))))"
    "  (cons (tool/meet {:n 2}) (list (await a) (await b))))",
]


class Meeting:
    """A tool that answers once three calls of it run at the same time."""

    def __init__(self) -> None:
        self.barrier = threading.Barrier(3)

    def __call__(self, n: int) -> int:
        self.barrier.wait(MEETING_SECONDS)
        return n


@pytest.mark.parametrize("source", TOGETHER)
def test_tools_that_tasks_wait_for_run_at_the_same_time(pool: Pool, source: str) -> None:
    outcome = pool.run(source, tools={"meet": Meeting()})
    assert sorted(outcome.value) == [0, 1, 2], outcome
    assert len(outcome.tool_calls) == 3


def test_a_tool_may_ask_for_the_thread_of_the_caller(pool: Pool) -> None:
    threads: set[int] = set()

    def careful(n: int) -> int:
        threads.add(threading.get_ident())
        return n

    tools = {"careful": ToolGrant(careful, parallel=False)}
    assert pool.run("(async/pool-map (fn (n) (tool/careful {:n n})) (range 5) 5)", tools=tools).value == [0, 1, 2, 3, 4]
    assert threads == {threading.get_ident()}


def test_equal_calls_of_a_read_tool_at_the_same_time_are_one(pool: Pool) -> None:
    calls: list[int] = []

    def look(n: int) -> int:
        calls.append(n)
        return n

    source = "(async/pool-map (fn (n) (tool/look {:n (mod n 2)})) (range 6) 6)"
    assert pool.run(source, tools={"look": ToolGrant(look, "read")}).value == [0, 1, 0, 1, 0, 1]
    assert sorted(calls) == [0, 1]


def test_branches_share_the_quota_of_calls(pool: Pool) -> None:
    calls: list[int] = []
    source = "(async/pool-map (fn (n) (tool/add {:n n})) (range 50) 50)"
    outcome = pool.run(source, tools={"add": lambda n: calls.append(n)}, limits=Limits(tool_calls=7))
    assert outcome.reason == "tool_calls_exceeded"
    assert len(calls) == 7
    quota = Quota(total=5)
    with Session(pool, tools={"add": lambda n: calls.append(n)}, quota=quota) as session:
        assert session.run(source).reason == "tool_calls_exceeded"
    assert len(calls) == 12


ENDS = {
    "(async (return 5)) (async/run) 6": ("return", None),
    '(async (fail "no")) (async/run) 6': ("fail", None),
    "(async (let loop () (loop))) 5": ("error", "timeout"),
    "(define (f n) (+ 1 (f n))) (await (async (f 1)))": ("error", "stack_exceeded"),
    "(async (let loop ((v [1])) (loop (append v v)))) 5": ("error", "memory_exceeded"),
    "(define (g) (async (begin (g) (g)))) (g) 1": ("error", "tasks_exceeded"),
    "(define (g) (async (try (begin (g) (g)) (catch e (g))))) (g) 1": ("error", "tasks_exceeded"),
    "(define (g) (async (g)) 1) (g) (async/run)": ("error", "timeout"),
    "(channel/recv (channel/new 1))": ("error", "runtime_error"),
    '(async (print (string/repeat "a" 100000))) 1': ("error", "output_exceeded"),
}


@pytest.mark.parametrize("source", ENDS)
def test_limits_and_ends_hold_inside_of_tasks(pool: Pool, source: str) -> None:
    wall_ms = 1_500 if "timeout" in ENDS[source] else 60_000  # the others end by themselves, late on a busy machine
    outcome = pool.run(source, limits=Limits(wall_ms=wall_ms, memory_mb=64))
    assert (outcome.status, outcome.reason) == ENDS[source], outcome
    assert pool.run("(+ 1 2)").value == 3


def test_a_failed_program_keeps_nothing_of_its_tasks(pool: Pool) -> None:
    with Session(pool) as session:
        assert session.run("(define x 1) (define c (channel/new 3))").ok
        assert not session.run("(async (begin (set! x 2) (channel/send c 5))) (async/run) (car 5)").ok
        assert session.run("(list x (channel/count c))").value == [1, 0]


def test_tasks_nobody_waits_for_run_before_the_program_ends(pool: Pool) -> None:
    noted: list[int] = []
    outcome = pool.run(
        '(async (tool/note {:n 1})) (async (tool/note {:n 2})) "done"', tools={"note": lambda n: noted.append(n)}
    )
    assert outcome.value == "done"
    assert sorted(noted) == [1, 2]


def test_a_saved_session_with_tasks_is_restored_exactly(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "a.session"
    answers = iter(range(100, 200))
    lock = threading.Lock()

    def number(n: int) -> int:
        with lock:
            return next(answers) * 10 + n

    with Session(pool, tools={"number": number}) as session:
        session.run(
            "(define seen (async/pool-map (fn (n) (tool/number {:n n})) (range 8) 3)) (define more (tool/number :n 5))"
        )
        before = session.run("(list seen more)").value
        session.save(path)
    with pool.restore(path, {"number": lambda n: 0}) as session:
        assert session.run("(list seen more)").value == before


def test_a_task_sees_the_error_of_its_tool(pool: Pool) -> None:
    def half(n: int) -> int:
        if n % 2:
            raise ValueError(f"{n} is odd")
        return n // 2

    source = "(async/pool-map (fn (n) (try (tool/half {:n n}) (catch e (:message e)))) (range 4) 4)"
    outcome: Outcome = pool.run(source, tools=[half])
    assert outcome.value[0] == 0 and outcome.value[2] == 1
    assert "1 is odd" in outcome.value[1] and "3 is odd" in outcome.value[3]


PROGRAM = """
(define m (channel/new 10))
(define (slow n) (channel/send m n) (while (< (channel/count m) 3) (async/sleep 1)) (* n 10))
(define r (async (box/run "(async/pool-map (fn (n) (tool/slow {:n n})) (range 3) 3)" {:tools {:slow slow}})))
(println (:value (await r)))
"""


def test_tools_of_a_sema_program_with_tasks_are_tasks_of_it(tmp_path: Path) -> None:
    (tmp_path / "a.sema").write_text(PROGRAM)
    command = [sys.executable, "-m", "semac.cli.entry", "a.sema"]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ran.stdout == "(0 10 20)\n", ran.stderr


def test_asyncio_callers_get_the_same(pool: Pool) -> None:
    async def main() -> Outcome:
        return await asyncio.to_thread(pool.run, TOGETHER[0], tools={"meet": Meeting()})

    assert asyncio.run(main()).value == [0, 1, 2]
