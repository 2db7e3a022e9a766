"""Tasks and their promises: `async`, `await` and the functions built on them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import ceil

from sema_runtime.catalogue import builtin
from sema_runtime.tasks.limits import milliseconds
from sema_runtime.tasks.promises import (
    CANCELLED,
    REJECTED,
    RESOLVED,
    AsyncPromise,
    TimedOut,
    wrong_value,
)
from sema_runtime.tasks.scheduler import scheduler, settle_pulled
from sema_runtime.tasks.waiting import PULLING
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.errors import Rethrown, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.promises import Promise

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def await_(value: Any) -> Any:
    """`(await value)`: the value of a promise or of an awaitable of Python, or its error; any other value as it is."""
    if type(value) is AsyncPromise:
        return scheduler().await_promise(value)
    if hasattr(type(value), "__await__"):
        return scheduler().suspend(value)
    callback = scheduler().current().callback
    if callback is not None:
        callback.is_used = True
    return value


def promise_of(value: Any) -> AsyncPromise:
    """The promise itself, as it is without pulled tasks; raises a type error for anything else."""
    if type(value) is not AsyncPromise:
        wrong_value("async-promise", value)
    if PULLING:
        settle_pulled()
    return value


def sequence_of(value: Any, hint: str | None = None) -> Sequence[Any]:
    """The items of a list or vector."""
    if type(value) is List:
        return value.items
    if isinstance(value, (tuple, list)):
        return value
    type_error("list or vector", value, hint)


def items_of(value: Any) -> Sequence[Any]:
    """The items of a list or vector; none for nil."""
    return () if value is None else sequence_of(value)


@builtin("async/spawn", type="later (-> any) -> other")
def async_spawn(function: Any) -> AsyncPromise:
    """Starts a concurrent task that calls a function without arguments, and returns the promise of its result.

    (await (async/spawn (fn () (+ 1 2)))) => 3
    """
    tasks = scheduler()
    if not callable(function) or type(function) is Keyword:
        tasks.pause()
        raise SemaError("async/spawn: argument must be a function (compiled VM closure)")
    code = getattr(function, "__code__", None)
    if code is not None and code.co_argcount > len(function.__defaults__ or ()):
        tasks.pause()
        function()  # raises the arity error here instead of in the task
    return tasks.spawn(function)


@builtin("async/await", type="keep any -> any")
def async_await(promise: Any) -> Any:
    """Waits for a promise and returns its value or raises its error. Any other value is returned as it is.

    (async/await (async (+ 1 2))) => 3
    (async/await 5) => 5
    """
    return await_(promise)


@builtin("async/run", type="-> nil")
def async_run() -> None:
    """Runs all tasks until none of them can continue.

    (async (println "in the task"))
    (async/run) prints in the task
    """
    scheduler().run_others()


@builtin("async/sleep", type="int|float -> nil")
def async_sleep(ms: Any) -> None:
    """Sleeps (waits) a number of milliseconds in the current task; other tasks run meanwhile.

    (async/all (list (async (async/sleep 2) 1) (async (async/sleep 1) 2))) => (1 2)
    """
    scheduler().sleep(milliseconds(ms, "async/sleep"))


@builtin("async/resolved", type="keep any -> other")
def async_resolved(value: Any) -> AsyncPromise:
    """A promise that is already resolved with a value.

    (async/await (async/resolved 5)) => 5
    """
    promise = AsyncPromise()
    promise.resolve(value)
    scheduler().pause()
    return promise


@builtin("async/rejected", type="str -> other")
def async_rejected(message: Any) -> AsyncPromise:
    """A promise that has already failed, with a message.

    (async/await (async/rejected "no")) ! no
    """
    if type(message) is not str:
        type_error("string", message)
    promise = AsyncPromise()
    promise.reject(SemaError(message))
    scheduler().pause()
    return promise


@builtin("async/all", type="keep seq other -> list fresh")
def async_all(promises: Any) -> List:
    """Waits for all promises and returns the list of their values, in order. Raises the first error that occurs; the
    other tasks continue.

    (async/all (list (async 1) (async 2))) => (1 2)
    (async/all (list (async 1) (async (error "no")))) ! no
    """
    awaited = [promise_of(item) for item in sequence_of(promises, "async/all expects a list or vector of promises")]
    wait_for_all(awaited)
    return List([promise.value for promise in awaited])


def wait_for_all(promises: Sequence[AsyncPromise]) -> None:
    """Returns when all are resolved; raises the error of the first one to fail."""
    tasks = scheduler()
    failed = [promise for promise in promises if promise.error is not None and not promise.open]
    if failed:
        tasks.outcome(min(failed, key=_number))
    pending = sum(promise.open for promise in promises)
    if not pending:
        tasks.pause()
        return
    waiter = tasks.waiter()

    def settled(promise: AsyncPromise) -> None:
        nonlocal pending
        pending -= 1
        if promise.error is not None:
            waiter.fail(promise.error)
        elif not pending:
            waiter.wake()

    for promise in promises:
        if promise.open:
            promise.watchers.append(settled)
    tasks.wait(waiter)


def _number(promise: AsyncPromise) -> int:
    return promise.number


@builtin("async/race", type="keep seq other -> any")
def async_race(promises: Any) -> Any:
    """Waits for the promise that is settled first and returns its value or raises its error; the other tasks continue.

    (async/race (list (async (sleep 50) :slow) (async (sleep 1) :fast))) => :fast
    """
    racing = [promise_of(item) for item in sequence_of(promises, "async/race expects a list or vector of promises")]
    if not racing:
        raise SemaError("async/race: requires at least one promise")
    return first_of(racing)


def first_of(promises: Sequence[AsyncPromise]) -> Any:
    """The outcome of the promise that is settled first."""
    tasks = scheduler()
    settled = [promise for promise in promises if not promise.open]
    if settled:
        return tasks.outcome(min(settled, key=_number))
    waiter = tasks.waiter()
    for promise in promises:
        promise.watchers.append(waiter.settle)
    return tasks.wait(waiter)


@builtin("async/race-owned", type="keep seq fn -> any")
def async_race_owned(thunks: Any) -> Any:
    """Runs functions as concurrent tasks and returns the value, or raises the error, of the first to end; the others
    are cancelled.

    (async/race-owned (list (fn () (sleep 60000) :slow) (fn () (sleep 1) :fast))) => :fast
    """
    items = items_of(thunks)
    if not items:
        raise SemaError("async/race-owned: requires at least one thunk")
    promises = [async_spawn(thunk) for thunk in items]
    try:
        return first_of(promises)
    except Exception as error:
        raise rethrown(error) from None
    finally:
        cancel_all(promises)


def cancel_all(promises: Sequence[AsyncPromise]) -> None:
    """Cancels the pending promises, each in a turn of its own."""
    tasks = scheduler()
    for promise in promises:
        tasks.turn(tasks.cancel, promise)


def rethrown(error: Exception) -> Exception:
    """The error as `(throw caught-condition)` raises it: shown without the prefix of its kind."""
    from sema_runtime.conditions.describe import condition_map

    raised: Exception = Rethrown(condition_map(error))
    return raised


@builtin("async/timeout", type="int|float, keep other -> any")
def async_timeout(ms: Any, promise: Any) -> Any:
    """Waits for a promise for at most ms milliseconds, and then raises a :timeout condition. The task continues.

    (async/timeout 50 (async 5)) => 5
    (async/timeout 1 (async (sleep 100))) ! async/timeout: operation timed out after 1 ms
    """
    limit = milliseconds(ms, "async/timeout")
    awaited = promise_of(promise)
    whole = ceil(limit)
    message = f"async/timeout: operation timed out after {whole} ms"
    error = TimedOut(message, operation="async/timeout", duration_ms=whole)
    return outcome_within(limit, awaited, error)


def outcome_within(ms: float, promise: AsyncPromise, error: TimedOut) -> Any:
    """The outcome of the promise, or the error after that long."""
    tasks = scheduler()
    if not promise.open:
        return tasks.await_promise(promise)
    waiter = tasks.waiter()
    tasks.after(ms, waiter)
    promise.watchers.append(waiter.wake)
    if tasks.wait(waiter) is not promise:
        raise error
    return promise.result()


@builtin("async/with-timeout", type="keep any, later (-> any) -> any")
def async_with_timeout(ms: Any, thunk: Any) -> Any:
    """Calls a function as a task with a time limit in milliseconds, and cancels the task when it takes longer.

    (async/with-timeout 50 (fn () 5)) => 5
    (async/with-timeout 1 (fn () (sleep 60000))) ! operation exceeded 1 ms
    """
    from sema_runtime.values.printer import to_text

    def alarm() -> None:
        async_sleep(ms)
        raise TimedOut(f"operation exceeded {to_text(ms)} ms")

    return async_race_owned((thunk, alarm))


@builtin("async/cancel", type="other -> bool")
def async_cancel(promise: Any) -> bool:
    """Cancels the task of a promise, which raises a :cancelled condition where it waits. Returns #f when the task had
    ended.

    (define p (async (sleep 60000)))
    (async/cancel p) => #t
    (async/cancelled? p) => #t
    """
    tasks = scheduler()
    cancelled: bool = tasks.turn(tasks.cancel, promise_of(promise))
    return cancelled


def _state(promise: Any, state: str) -> bool:
    settled = promise_of(promise)
    result = settled.state is state and not settled.open  # not yet while its task ends, which was cancelled
    scheduler().pause()
    return result


@builtin("async/pending?", type="other -> bool")
def async_is_pending(promise: Any) -> bool:
    """Whether a promise is still pending.

    (async/pending? (async 1)) => #t
    (async/pending? (async/resolved 1)) => #f
    """
    pending = promise_of(promise).open  # also while its task ends, which was cancelled
    scheduler().pause()
    return pending


@builtin("async/resolved?", type="other -> bool")
def async_is_resolved(promise: Any) -> bool:
    """Whether a promise has its value.

    (define p (async 1))
    (async/resolved? p) => #f
    (await p)
    (async/resolved? p) => #t
    """
    return _state(promise, RESOLVED)


@builtin("async/rejected?", type="other -> bool")
def async_is_rejected(promise: Any) -> bool:
    """Whether a promise has failed.

    (async/rejected? (async/rejected "no")) => #t
    """
    return _state(promise, REJECTED)


@builtin("async/cancelled?", type="other -> bool")
def async_is_cancelled(promise: Any) -> bool:
    """Whether the task of a promise was cancelled.

    (define p (async (sleep 60000)))
    (async/cancel p)
    (async/cancelled? p) => #t
    """
    return _state(promise, CANCELLED)


@builtin("async/promise?", type="any -> bool", total=True, pure=True)
def async_is_promise(value: Any) -> bool:
    """Whether a value is the promise of a task.

    (async/promise? (async 1)) => #t
    (async/promise? (delay 1)) => #f
    """
    return type(value) is AsyncPromise


@builtin("promise?", type="any -> bool", total=True, pure=True)
def is_promise(value: Any) -> bool:
    """Whether a value was made by `delay`.

    (promise? (delay 1)) => #t
    (promise? (async 1)) => #f
    """
    return type(value) is Promise


@builtin("promise-forced?", "async/forced?", type="other -> bool")
def is_promise_forced(promise: Any) -> bool:
    """Whether a `delay` has been forced.

    (define p (delay 5))
    (promise-forced? p) => #f
    (force p)
    (promise-forced? p) => #t
    """
    if type(promise) is not Promise:
        type_error("promise", promise)
    return promise.thunk is None


@builtin("__spawn-apply", type="later (a -> any), keep seq a|nil -> list other fresh")
def spawn_apply(function: Any, items: Any) -> List:
    """Starts one task for each item, which calls the function with it, and returns the list of promises."""
    tasks = scheduler()
    return List([tasks.spawn(_applied(function, item)) for item in items_of(items)])


@builtin("__spawn-thunks", type="keep seq fn|nil -> list other fresh")
def spawn_thunks(thunks: Any) -> List:
    """Starts one task for each function of a list and returns the list of promises."""
    return List([async_spawn(thunk) for thunk in items_of(thunks)])


def _applied(function: Callable[[Any], Any], item: Any) -> Callable[[], Any]:
    return lambda: function(item)


@builtin("__owned-all", type="keep seq -> list fresh")
def owned_all(promises: Any) -> List:
    """Like async/all, but on an error the tasks that are still running are cancelled. Without promises no other task
    runs."""
    owned = [promise_of(item) for item in sequence_of(promises)]
    if not owned:
        return List([])
    try:
        wait_for_all(owned)
    except Exception as error:
        cancel_all(owned)
        raise rethrown(error) from None
    return List([promise.value for promise in owned])
