"""Tasks, promises, channels: order of effects, waiting, errors, cancelling; Python awaitables and hosts."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from sema_runtime import tasks
from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.lib.language import output
from sema_runtime.lib.tasks import channels as ch
from sema_runtime.lib.tasks import concurrency as co
from sema_runtime.tasks.promises import Deadlock
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session


@pytest.fixture(autouse=True)
def fresh_scheduler(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test starts without tasks of another one."""
    from sema_runtime.tasks import scheduler

    yield
    scheduler._per_thread.scheduler = None


def run(source: str) -> tuple[str, list[str]]:
    """(printed value, printed lines) of a program; tasks that nobody waits for are left alone."""
    lines: list[str] = []
    output.sink = lines
    try:
        return to_text(Session().run(source, drain=False)), lines
    finally:
        output.sink = None


def kind_of(error: BaseException) -> str:
    return to_text(condition_map(error)["type"])


ORDER = [
    ('(begin (map (fn (i) (async (println i))) (list 1 2 3)) (println "s"))', "nil", ["1", "2", "3", "s"]),
    ('(let ((p (async (println "in") 1))) (println "before") (await p))', "1", ["before", "in"]),
    ('(begin (async (println "a")) (println "b"))', "nil", ["b"]),
    ('(begin (async (println "a")) (println "b") (async/run))', "nil", ["b", "a"]),
    ('(begin (async (println "a")) (async (println "b")) (println "c"))', "nil", ["a", "c"]),
    (
        '(let ((p (async (println "p") 1))) (let ((a (async (println "a" (await p))))'
        ' (b (async (println "b" (await p))))'
        ' (c (async (println "c" (await p))))) (println "root" (await p)) (async/all (list a b c))))',
        "(nil nil nil)",
        ["p", "a 1", "b 1", "root 1", "c 1"],
    ),
    (
        '(begin (async (println "a") (async/sleep 0) (println "a2")) (async (println "b"))'
        ' (async/sleep 0) (println "c"))',
        "nil",
        ["a", "b", "a2", "c"],
    ),
    (
        '(let ((p (async (println "a1") (async/sleep 5) (println "a2"))) (q (async (println "b1") (async/sleep 1)'
        ' (println "b2")))) (await p) (await q) :end)',
        ":end",
        ["a1", "b1", "b2", "a2"],
    ),
    (
        '(let ((ch (channel/new 1))) (async (println "s1") (channel/send ch 1) (println "s2") (channel/send ch 2)'
        ' (println "s3") (channel/send ch 3) (println "s4")) (println (channel/recv ch)) (println "root1")'
        ' (println (channel/recv ch)) (println "root2") (println (channel/recv ch)))',
        "nil",
        ["s1", "s2", "s3", "1", "root1", "2", "root2", "3"],
    ),
    (  # what a fold goes through may wait, its function doesn't; `a` is also the name of a promise
        '(define race (async (try (async/race-owned (map (fn (x) (async x)) (range 4))) (catch e (println "race")))))'
        "(define fold (async (begin (parallel-settled (list (fn () 1))) (foldl (fn (n a) (str a)) 0 '(1 2))"
        ' (println "fold")))) (define a (async 1)) (async/all (list race fold a))',
        "(nil nil 1)",
        ["fold", "race"],
    ),
    (
        "(define t (async (async/sleep 0))) (async 1)"
        " (list (async/cancel t) (async/pending? t) (async/pending? t) (async/cancelled? t))",
        "(#t #t #f #t)",
        [],
    ),
]


@pytest.mark.parametrize(("source", "value", "lines"), ORDER)
def test_effects_come_in_the_order_of_the_reference(source: str, value: str, lines: list[str]) -> None:
    assert run(source) == (value, lines)


def test_timers_fire_by_duration_however_busy_the_machine_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sema_runtime.tasks.scheduler.MAX_LAG", 60)  # even where this process stands still for a while
    seen: list[int] = []

    def sleeper(ms: int) -> None:
        busy = time.perf_counter() + 0.003
        while time.perf_counter() < busy:
            pass
        co.async_sleep(ms)
        seen.append(ms)

    co.owned_all([co.async_spawn(lambda ms=ms: sleeper(ms)) for ms in (4, 3, 2, 1)])
    assert seen == [1, 2, 3, 4]


def test_sleeping_takes_real_time() -> None:
    start = time.monotonic()
    co.async_sleep(20)
    assert time.monotonic() - start >= 0.02


def test_an_error_of_a_task_is_raised_where_it_is_awaited() -> None:
    promise = co.async_spawn(lambda: 1 // 0)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            co.await_(promise)


def test_all_raises_the_first_error_and_lets_the_others_go_on() -> None:
    seen: list[str] = []

    def slow() -> None:
        co.async_sleep(1)
        seen.append("slow")

    def fails() -> None:
        raise SemaError("broken")

    with pytest.raises(SemaError, match="broken"):
        co.async_all([co.async_spawn(slow), co.async_spawn(fails)])
    co.async_run()
    assert seen == ["slow"]


def test_owned_tasks_are_cancelled_when_one_fails() -> None:
    seen: list[str] = []

    def waits() -> None:
        try:
            co.async_sleep(10_000)
        except SemaError as error:
            seen.append(kind_of(error))

    with pytest.raises(SemaError):
        co.owned_all([co.async_spawn(waits), co.async_spawn(lambda: co.async_sleep("x"))])
    co.async_run()
    assert seen == [":cancelled"]


def test_cancelling_reaches_a_task_where_it_waits() -> None:
    channel = ch.channel_new(1)
    promise = co.async_spawn(lambda: ch.channel_recv(channel))
    co.async_sleep(0)
    assert co.async_cancel(promise) is True
    assert co.async_cancel(promise) is False
    assert co.async_is_cancelled(promise)
    ch.channel_send(channel, 1)
    assert ch.channel_count(channel) == 1  # the cancelled receiver didn't take it
    with pytest.raises(SemaError, match="awaited task was cancelled"):
        co.await_(promise)


def test_a_cancelled_task_that_never_ran_does_not_start() -> None:
    assert run('(let ((p (async (println "never")))) (async/cancel p) (async/run) :done)') == (":done", [])


def test_timeout_leaves_the_task_and_with_timeout_cancels_it() -> None:
    value, lines = run(
        '(let ((p (async (async/sleep 2) (println "late") 1)))'
        " (list (try (async/timeout 1 p) (catch e (:type e))) (async/pending? p) (await p)))"
    )
    assert (value, lines) == ("(:timeout #t 1)", ["late"])
    value, lines = run(
        "(try (async/with-timeout 1 (fn () (try (async/sleep 50) (catch e (println (:type e))))))"
        " (catch e (list (:type e) (:message e))))"
    )
    assert (value, lines) == ('(:timeout "operation exceeded 1 ms")', [":cancelled"])


def test_a_deadlock_ends_the_program_past_every_try() -> None:
    with pytest.raises(Deadlock) as raised:
        run("(try (channel/recv (channel/new)) (catch e :caught))")
    assert describe(raised.value).message.startswith("runtime deadlocked: no pending timer or external wait")


def test_closing_a_channel_wakes_whoever_waits() -> None:
    empty, full = ch.channel_new(1), ch.channel_new(1)
    ch.channel_send(full, 1)
    receiver = co.async_spawn(lambda: ch.channel_recv(empty))
    sender = co.async_spawn(lambda: ch.channel_send(full, "x"))
    co.async_sleep(0)
    ch.channel_close(empty)
    ch.channel_close(full)
    assert co.await_(receiver) is None
    with pytest.raises(SemaError, match='channel is closed; value "x" was dropped'):
        co.await_(sender)
    assert [ch.channel_recv(full), ch.channel_recv(full)] == [1, None]


def test_fan_out_runs_at_most_so_many_at_once() -> None:
    running = most = 0

    def work(item: int) -> int:
        nonlocal running, most
        running += 1
        most = max(most, running)
        co.async_sleep(1)
        running -= 1
        return item * 10

    results = ch.fanout_tagged(work, [1, 2, 3, 4, 5], 2)
    assert to_text(results) == "({:ok 10} {:ok 20} {:ok 30} {:ok 40} {:ok 50})"
    assert most == 2


def test_context_variables_are_inherited_and_stay_apart() -> None:
    variable = contextvars.ContextVar("variable", default=0)
    variable.set(1)

    def task() -> tuple[int, int]:
        inherited = variable.get()
        variable.set(2)
        co.async_sleep(0)
        return inherited, variable.get()

    assert co.await_(co.async_spawn(task)) == (1, 2)
    assert variable.get() == 1


async def soon(value: Any) -> Any:
    await asyncio.sleep(0.005)
    return value


def test_awaitables_of_many_tasks_wait_together() -> None:
    waiting = 0
    all_wait = asyncio.Event()

    async def when_all_wait(value: int) -> int:
        nonlocal waiting
        waiting += 1
        if waiting == 500:
            all_wait.set()
        await all_wait.wait()
        return value

    promises = [co.async_spawn(lambda n=n: tasks.suspend(when_all_wait(n))) for n in range(500)]
    assert list(co.async_all(promises)) == list(range(500))
    assert tasks.suspend(soon("outside of tasks")) == "outside of tasks"


def test_cancelling_a_task_cancels_its_awaitable() -> None:
    seen: list[str] = []

    async def endless() -> None:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    promise = co.async_spawn(lambda: tasks.suspend(endless()))
    tasks.suspend(soon(None))
    co.async_cancel(promise)
    tasks.suspend(soon(None))
    assert seen == ["cancelled"]


def test_a_coroutine_can_await_sema_functions() -> None:
    function: Callable[[int], Any]
    session = Session()
    session.run("(define (slow-double x) (async/sleep 1) (await (async (* 2 x))))")
    function = session.globals["slow_double"]

    async def host() -> list[Any]:
        ticks = asyncio.create_task(soon("the host's loop goes on"))
        results = await asyncio.gather(*(tasks.call(function, n) for n in range(5)))
        return [*results, await ticks]

    assert asyncio.run(host()) == [0, 2, 4, 6, 8, "the host's loop goes on"]


def test_cancelling_the_coroutine_cancels_the_task() -> None:
    seen: list[str] = []

    def waits() -> None:
        try:
            co.async_sleep(10_000)
        except SemaError as error:
            seen.append(kind_of(error))

    async def host() -> None:
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(tasks.call(waits), 0.005)
        await asyncio.sleep(0)

    asyncio.run(host())
    assert seen == [":cancelled"]


def test_a_plain_call_works_while_a_loop_is_running() -> None:
    async def notebook() -> Any:
        return tasks.suspend(soon("blocks the loop, but works"))

    assert asyncio.run(notebook()) == "blocks the loop, but works"


def test_drain_finishes_background_tasks() -> None:
    seen: list[str] = []

    def background() -> None:
        co.async_sleep(1)
        seen.append("done")

    co.async_spawn(background)
    co.async_spawn(lambda: ch.channel_recv(ch.channel_new(1)))  # never ends; not a reason to hang
    tasks.drain()
    assert seen == ["done"]


def test_ctrl_c_and_exit_leave_through_the_main_line() -> None:
    for error in (KeyboardInterrupt, SystemExit):

        def ends(error: type[BaseException] = error) -> None:
            raise error

        with pytest.raises(error):
            co.await_(co.async_spawn(ends))


def test_deep_chains_of_tasks() -> None:
    assert run("(define (chain n) (if (= n 0) :end (await (async (chain (- n 1)))))) (chain 500)")[0] == ":end"


def test_programs_without_tasks_load_nothing_of_this() -> None:
    code = (
        "import sys; from semac.session import Session; Session().run('(println (+ 1 2))');"
        "print([m for m in sys.modules if m == 'greenlet' or m == 'asyncio' or m.startswith('sema_runtime.tasks')])"
    )
    environment = {"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "PATH": "/usr/bin:/bin"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert done.stdout.split("\n")[1] == "[]"


def test_cancelling_a_task_cancels_those_it_started() -> None:
    source = (
        '(let ((t (async (async (async/sleep 5) (println "child")) (async/sleep 20) (println "parent"))))'
        ' (async/sleep 1) (async/cancel t) (async/run) (println "end"))'
    )
    assert run(source)[1] == ["end"]


def test_a_cancelled_task_ends_when_it_waits_again() -> None:
    source = (
        '(let* ((a (async (try (async/sleep 50) (catch e (println "caught"))) (println "after") (async/sleep 1)'
        ' (println "never"))) (b (async (async/cancel a) (println "b")))) (async/sleep 1) (async/run) (println "end"))'
    )
    assert run(source)[1] == ["b", "caught", "after", "end"]


def test_whoever_an_operation_wakes_comes_after_the_one_that_did_it() -> None:
    source = (
        '(let* ((ch (channel/new 1)) (a (async (channel/recv ch) (println "a")))'
        ' (b (async (channel/close ch) (println "b"))) (c (async (println "c")))) (async/run))'
    )
    assert run(source)[1] == ["c", "b", "a"]


def test_race_takes_the_one_that_was_settled_first() -> None:
    assert run("(let* ((a (async (async/sleep 1) 1)) (b (async 2))) (async/sleep 5) (async/race (list a b)))")[0] == "2"


def test_ctrl_c_while_the_program_ends(tmp_path: Path) -> None:
    """It ends at once then, without a traceback."""
    (tmp_path / "often.py").write_text(
        "from signal import SIGINT, raise_signal\n"
        "from sema_runtime.tasks import loops\n"
        "def closing(loop, close=loops.close):\n"
        "    raise_signal(SIGINT)\n"
        "    close(loop)\n"
        "loops.close = closing\n"
    )
    program = tmp_path / "p.sema"
    program.write_text('(py/import "often") (try (http/get "http://127.0.0.1:9") (catch e (println "refused")))')
    done = subprocess.run([sys.executable, "-m", "semac.cli.entry", str(program)], capture_output=True, text=True)
    assert (done.stdout, done.stderr, done.returncode) == ("refused\n", "", -signal.SIGINT)


def test_functions_that_a_builtin_does_not_call_stay_the_programs_own() -> None:
    program = "(define (id x) x) (await 1) (list (foldl (fn (a b) (await b)) id '()) (apply list id '()) "
    value, _ = run(program + "(= id (foldr (fn (a b) (await b)) id '())))")
    assert value == "(<native-fn id> (<native-fn id>) #t)"


def test_tasks_that_each_start_the_next_leave_nothing_in_memory() -> None:
    from sema_runtime.tasks.waiting import Task

    source = (
        "(define n 0) (define (next) (set! n (+ n 1)) (when (< n 2000) (async (next)))) (async (next)) (async/run) n"
    )

    def tasks_in_memory() -> int:
        gc.collect()
        return sum(type(thing) is Task for thing in gc.get_objects())

    before = tasks_in_memory()
    assert run(source) == ("2000", [])
    assert tasks_in_memory() - before < 10
