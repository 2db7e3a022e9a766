"""Raising errors, multiple values, parameters, retrying, timing."""

from __future__ import annotations

from collections.abc import Callable

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.equality import equal
from sema_runtime.values.errors import KINDS, Rethrown, SemaError, SemaTypeError, Thrown, type_error
from sema_runtime.values.maps import MISSING, Map
from sema_runtime.values.printer import display, to_text
from sema_runtime.values.sequences import seq

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sema_runtime.values.atoms import Symbol

TYPE, MESSAGE, PYTHON_EXCEPTION = keyword("type"), keyword("message"), keyword("python-exception")


def throw_value(value: Any) -> BaseException:
    """The exception that `(throw value)` raises. conditions/describe.py builds the map that `catch` binds."""
    if isinstance(value, BaseException):
        return value
    if type(value) is Map:
        kind = value.d.get(TYPE)
        if kind is not None and ((type(kind) is Keyword and kind.name in KINDS) or PYTHON_EXCEPTION in value.d):
            return _again(value)
    error: BaseException = Thrown(value)
    return error


def _again(condition: Map) -> BaseException:
    """The exception for a map like those that `catch` binds; an exception of a Python library is raised again
    unchanged."""
    cause: BaseException | None = condition.d.get(PYTHON_EXCEPTION)
    if isinstance(cause, BaseException):
        from sema_runtime.conditions.describe import condition_of

        if condition_of(cause).message == condition.d.get(MESSAGE):
            return cause
    error: BaseException = Rethrown(condition)
    return error


def throw(value: Any) -> NoReturn:
    """`(throw value)` where an expression is needed."""
    raise throw_value(value)


@builtin("raise", type="keep any -> never")
def raise_(value: Any) -> NoReturn:
    """Raises any value as an error, as `throw` does.

    (guard (e ((symbol? e) e)) (raise 'oops)) => oops
    (try (raise 5) (catch e (:value e))) => 5
    """
    raise throw_value(value)


@builtin("error", type="any... -> never")
def error(*parts: Any) -> NoReturn:
    """Raises an error with a message. Further values are ignored: build the message with `str`.

    (error (str "no user " 5)) ! no user 5
    (try (error "no") (catch e (:message e))) => "no"
    """
    raise SemaError(display(parts[0]) if parts else "error called with no message")


@builtin("assert", type="any, any? -> bool")
def assert_(condition: Any, message: Any = MISSING) -> bool:
    """#t when the condition is true, else an error.

    (assert (= 1 1) "sums") => #t
    (assert (= 1 2) "sums") ! sums
    """
    if condition is None or condition is False:
        raise SemaError("assertion failed" if message is MISSING else display(message))
    return True


@builtin("assert=", type="any, any -> bool")
def assert_eq(expected: Any, actual: Any) -> bool:
    """Returns #t when two values are equal and raises an error that shows both otherwise.

    (assert= 3 (+ 1 2)) => #t
    (assert= 4 (+ 1 2)) ! assertion failed: expected 4, got 3
    """
    if not equal(expected, actual):
        raise SemaError(f"assertion failed: expected {to_text(expected)}, got {to_text(actual)}")
    return True


@builtin("spy", type="str, keep a -> a")
def spy(label: Any, value: Any) -> Any:
    """Shows a value while a program runs: writes `[label] value` to stderr and returns the value.

    (+ 1 (spy "x" 2)) => 3
    """
    if type(label) is not str:
        type_error("string", label)
    import sys

    from sema_runtime.support.visible import at_error_terminal

    print(at_error_terminal(f"[{label}] {to_text(value)}"), file=sys.stderr)
    return value


@builtin("gensym", type="str? -> symbol")
def gensym(prefix: Any = "g") -> Symbol:
    """A fresh symbol that differs from every other one.

    (symbol? (gensym)) => #t
    (eq? (gensym "x") (gensym "x")) => #f
    """
    if type(prefix) is not str:
        type_error("string", prefix)
    from sema_runtime.values.macros import gensym as fresh

    return fresh(prefix)


# Multiple values


@builtin("values", type=("keep a -> a", "keep any... -> other fresh"), total=True)
def values(*items: Any) -> Any:
    """Returns several values at once, for call-with-values and let-values; a single value is returned as it is.

    (call-with-values (fn () (values 1 2)) +) => 3
    (let-values (((q r) (values 3 1))) (list q r)) => (3 1)
    """
    if len(items) == 1:
        return items[0]
    return (_several or _several_loaded())(items)


_several: Any = None  # the class of several values, once it is loaded


def _several_loaded() -> Any:
    global _several
    from sema_runtime.values.records import Values

    _several = Values
    return Values


@builtin("call-with-values", type="now ( -> any), now fn -> any")
def call_with_values(producer: Any, consumer: Any) -> Any:
    """Calls producer, then consumer with the values that producer returned.

    (call-with-values (fn () (values 1 2)) +) => 3
    """
    result = called(producer)()
    if not callable(consumer):
        type_error("callable", consumer)
    from sema_runtime.values.records import Values

    return consumer(*result.items) if type(result) is Values else consumer(result)


def called(function: Any) -> Callable[..., Any]:
    """The function itself; raises a type error for anything else."""
    if callable(function):
        return function  # type: ignore[no-any-return]
    from sema_runtime.values.typenames import type_name

    raise SemaError(
        f"not callable: {to_text(function)} ({type_name(function)})", "expected a function, lambda, or keyword"
    )


# Dynamic scope


@builtin("make-parameter", type="keep any, later fn?, any... -> fn")
def make_parameter(value: Any, converter: Any = MISSING, *_: Any) -> Any:
    """A parameter: a function that returns a value, which `parameterize` rebinds. converter is applied to every value
    set.

    (let ((p (make-parameter 10))) (parameterize ((p 20)) (p))) => 20
    (let ((p (make-parameter 1 str))) (p)) => "1"
    """
    from sema_runtime.values.parameters import Parameter

    return Parameter(value, None if converter is MISSING else called(converter))


@builtin("__parameterize", type="seq, keep seq, now ( -> a) -> a")
def sema_parameterize(parameters: Any, values: Any, body: Any) -> Any:
    """What an expanded `parameterize` calls; the compiler knows the form itself."""
    from sema_runtime.values.parameters import parameterized

    pairs = zip(seq(parameters), seq(values), strict=False)
    with parameterized(*(part for pair in pairs for part in pair)):
        return called(body)()


# Trying again, taking the time


@builtin("retry", type="now ( -> a), dict?, any... -> a")
def retry(thunk: Any, options: Any = None, *_: Any) -> Any:
    """Calls a function until it succeeds, waiting between the attempts, and returns its value. After the last attempt
    its error is raised.

    options: :max-attempts 3, :base-delay-ms 100, :backoff 2.0 (factor on the delay after each attempt).

    (define tries 0)
    (define (flaky) (set! tries (+ tries 1)) (if (< tries 3) (error "no") tries))
    (retry flaky {:base-delay-ms 1}) => 3
    (retry (fn () (error "never")) {:max-attempts 2 :base-delay-ms 1}) ! never
    """
    function = called(thunk)
    attempts, delay, backoff = _retry_options(options)
    attempt = 1
    while True:
        try:
            return function()
        except Exception:
            if attempt >= attempts:
                raise
        _wait(delay)
        delay *= backoff
        attempt += 1


def _retry_options(options: Any) -> tuple[int, float, float]:
    if options is None:
        return 3, 100.0, 2.0
    from sema_runtime.values.atoms import keyword
    from sema_runtime.values.maps import Map

    if not isinstance(options, Map):
        type_error("map", options)
    values = []
    for name, default in (("max-attempts", 3), ("base-delay-ms", 100.0), ("backoff", 2.0)):
        value = options.lookup(keyword(name), default)
        if type(value) is not int and type(value) is not float:
            raise SemaTypeError("number", to_text(value))
        values.append(value)
    return int(values[0]), float(values[1]), float(values[2])


def _wait(milliseconds: float) -> None:
    if milliseconds > 0:
        from sema_runtime.tasks import sleep

        sleep(milliseconds)


@builtin("time", type="now ( -> a) -> a")
def time(thunk: Any) -> Any:
    """Measures a call: calls a function, writes the time it took to stderr, and returns its result.

    (time (fn () (+ 1 2))) => 3
    """
    import sys

    function = called(thunk)
    seconds, result = _timed(function)
    print(f"elapsed: {seconds * 1000:.3f} ms", file=sys.stderr)
    return result


@builtin("time/ms", type="now ( -> any) -> float")
def time_ms(thunk: Any) -> float:
    """Measures a call: calls a function and returns the milliseconds it took.

    (>= (time/ms (fn () (+ 1 2))) 0) => #t
    """
    return _timed(called(thunk))[0] * 1000


def _timed(function: Callable[[], Any]) -> tuple[float, Any]:
    from time import perf_counter

    start = perf_counter()
    result = function()
    return perf_counter() - start, result
