"""What `catch` binds and what an uncaught error shows: conditions, translated Python errors, hints, frames."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from outcomes import run

from sema_runtime.conditions.caught import condition_field, thrown_field
from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.conditions.hints import for_unbound, nearest
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import (
    IoError,
    PermissionDenied,
    ReaderError,
    Rethrown,
    SemaError,
    Thrown,
    ThrownMap,
    type_error,
)
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.pipeline import compile_source
from semac.session import Session

MODULE = """
__sema_names__ = {"is_p": "p?", "lam": "<lambda>"}
from sema_runtime.lib.language.truth import not_

def is_p(a, b): return a
def rest(a, *r): return a
def total_over(): return 1
def outer():
    return (lambda x, y: x)(1)
five = 5
"""


def error_of(expression: str) -> BaseException:
    """What evaluating a Python expression in a compiled module raises."""
    namespace: dict[str, Any] = {"__name__": "prog"}
    exec(compile(MODULE, "/x/prog.sema", "exec"), namespace)
    code = compile(f"def main():\n    return {expression}\nmain()", "/x/prog.sema", "exec")
    try:
        exec(code, namespace)
    except Exception as error:
        return error
    raise AssertionError("no error")


def caught(error: BaseException) -> str:
    """The printed condition map without its trace."""
    return to_text(condition_map(error).without(keyword("stack-trace")))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("is_p(1)", "p? expects 2 arguments, got 1"),
        ("is_p(1, 2, 3)", "p? expects 2 arguments, got 3"),
        ("rest()", "rest expects 1 or more arguments, got 0"),
        ("total_over(1)", "total-over expects no arguments, got 1"),
        ("outer()", "<lambda> expects 2 arguments, got 1"),
        ("not_()", "not expects 1 argument, got 0"),
        ("len(1, 2)", "len expects 1 argument, got 2"),
        ("five(3)", "not callable: 5 (int)"),
        ("five(is_p(1, 2), total_over())", "not callable: 5 (int)"),
        ("nope_here", "Unbound variable: nope-here"),
        ("1 + 'a'", "expected number or string, got int and string"),
        ("'a' + None", "expected number or string, got string and nil"),
        ("(1,) + 2", "expected number or string, got vector and int"),
        ("None * 2", "expected number, got nil and int"),
        ("1 < 'a'", "expected comparable values, got int and string"),
        ("1 > None", "expected comparable values, got nil and int"),
        ("-'a'", "expected number, got string"),
        ("1 / 0", "division by zero"),
        ("1 % 0", "modulo by zero"),
        ("None.car", "expected list or vector, got nil"),
        ("int('z')", "ValueError: invalid literal for int() with base 10: 'z'"),
    ],
)
def test_python_errors_read_as_sema_errors(expression: str, message: str) -> None:
    assert describe(error_of(expression)).message == message


@pytest.mark.parametrize("optimize", [True, False])
def test_errors_tell_a_function_from_a_lambda_in_a_variable_of_the_same_name(optimize: bool) -> None:
    source = """
        (define (g) (let ((f (fn (x) 1))) (try (f) (catch e (:message e)))))
        (define (f) 1)
        (list (g) (try (f 0) (catch e (:message e))))"""
    expected = '("<lambda> expects 1 argument, got 0" "f expects no arguments, got 1")'
    assert run(source, optimize=optimize) == expected


def test_recursion_error_is_a_stack_overflow_with_advice() -> None:
    shown = describe(RecursionError("maximum recursion depth exceeded"))
    assert shown.message == "stack overflow: maximum call depth exceeded"
    assert shown.hint is not None and "tail position" in shown.hint


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (SemaError("msg"), '{:message "msg" :type :eval}'),
        (ThrownMap({keyword("code"): 5}), r'{:message "{:code 5}" :type :user :value {:code 5}}'),
        (Thrown("boom"), r'{:message "\"boom\"" :type :user :value "boom"}'),
        (ReaderError("unterminated list", (1, 3, 1, 4)), '{:message "unterminated list at 1:3" :type :reader}'),
        (IoError("file/read x: No such file"), '{:message "file/read x: No such file" :type :io}'),
        (
            PermissionDenied("shell", "shell"),
            '{:capability "shell" :function "shell" '
            ":message \"Permission denied: shell requires 'shell' capability\" :type :permission-denied}",
        ),
        (
            KeyError("k"),
            '{:message "KeyError: k" :python-class "KeyError" :python-exception KeyError(\'k\')'
            ' :python-type "KeyError" :type :python}',
        ),
    ],
)
def test_condition_maps(error: Exception, text: str) -> None:
    assert caught(error) == text


def test_arity_and_type_maps_hold_what_was_expected() -> None:
    text = caught(error_of("rest()"))
    assert text == (
        '{:expected "1+" :function "rest" :got 0 :message "rest expects 1 or more arguments, got 0" :type :arity}'
    )
    with pytest.raises(SemaError) as raised:
        type_error("list or vector", 5)
    assert ':expected "list or vector" :got "int"' in caught(raised.value)


def test_a_rethrown_condition_map_restores_the_error() -> None:
    condition = condition_map(error_of("five(1)"))
    assert describe(Rethrown(condition)).message == "not callable: 5 (int)"
    assert condition_map(Rethrown(condition)) is condition
    assert describe(Rethrown(condition.without())).message == "not callable: 5 (int)"
    assert describe(Thrown(5)).message == "User exception: 5"


def test_a_thrown_map_is_made_once_when_it_is_asked_for() -> None:
    error = ThrownMap({keyword("code"): 5})
    assert thrown_field(error, keyword("code")) == 5 and thrown_field(error, keyword("other")) is None
    assert error.value is condition_field(error, keyword("value")) is condition_map(error)["value"]
    assert thrown_field(error, keyword("code")) == 5 and str(error) == "{:code 5}"
    assert describe(ThrownMap({keyword("code"): 5})).message == "User exception: {:code 5}"
    with pytest.raises(SemaError, match="expected map or hashmap, got int"):
        thrown_field(Thrown(5), keyword("code"))


def test_frames_carry_sema_names_and_columns() -> None:
    frames = [(one.name, one.line, one.col) for one in describe(error_of("outer()")).frames]
    assert frames == [("outer", 9, 12), ("main", 2, 12), ("<lambda>", 3, 1)]


def test_a_failing_operator_is_shown_at_its_place() -> None:
    assert [one.name for one in describe(error_of("1 + 'a'")).frames] == ["+", "main", "<lambda>"]


def test_hints_for_unbound_names() -> None:
    assert for_unbound("lenght") == "Did you mean 'length'?"
    assert for_unbound("my-count", ["my-counter"]) == "Did you mean 'my-counter'?"
    assert for_unbound("some-long-name-that-does-not-exist") is None
    assert for_unbound("setq") == "Sema uses 'set!' for variable assignment"


def test_short_names_have_no_far_fetched_neighbours() -> None:
    for name in ("x", "i", "_", "p1", "lst", "abc", "test", "best", "%2"):
        assert for_unbound(name) is None, name
    assert for_unbound("cra") == "Did you mean 'car'?"


def test_a_name_of_the_program_comes_first() -> None:
    assert for_unbound("words1", ["words"]) == "Did you mean 'words'?"
    assert for_unbound("names", ["name"]) == "Did you mean 'name'?"


def test_nearest_respects_the_limit_of_a_third() -> None:
    assert nearest("abcd", ["abce"]) == "abce"
    assert nearest("abcd", ["aefd"]) is None
    assert nearest("abcdef", ["abcdef", "abcdxy"]) == "abcdxy"


def test_the_hint_for_an_unbound_name_knows_the_program() -> None:
    assert describe(error_of("total_ovre()")).hint == "Did you mean 'total-over'?"


@pytest.mark.parametrize(
    "call", ["(map (fn (line) (throw line)) lines)", "(file/fold-lines path (fn (n line) (throw n)) 0)"]
)
def test_a_callback_has_no_caller_in_a_trace(call: str, tmp_path: Path) -> None:
    """As in the reference, also where the callback is compiled into a loop of the function around it."""
    file = tmp_path / "lines.txt"
    file.write_text("a\nb\n")
    session = Session("<test>")
    session.run(f"(define (walk path lines) (+ 1 (length {call})))")
    names = session.run(f"(try (walk {to_text(str(file))} '(1 2)) (catch e (map :name (:stack-trace e))))")
    assert to_text(names) == '("throw" "<lambda>")'


FRAMES = """(define (f x)
  (let loop ((i 0))
    (for-each (fn (a)
        (map (fn (b)
            (let lp ((k 0)) (if (= k 2) (+ b (car a)) (lp (+ k 1)))))
          (list 1 "a")))
      x)))
(define (g) (list (try (f '(("c"))) (catch e (:stack-trace e)))))
"""


@pytest.mark.parametrize("optimize", [True, False])
def test_functions_that_became_loops_of_their_caller_have_frames(optimize: bool) -> None:
    scope: dict[str, Any] = {"__name__": "frames"}
    exec(compile_source(FRAMES, "frames.sema", optimize=optimize).code, scope)
    with pytest.raises(SemaError) as caught:
        scope["f"](List([List(["c"])]))
    found = [(one.name, one.line, one.col) for one in describe(caught.value).frames]
    assert found == [("+", 5, 41), ("<lambda>", 5, 41), ("<lambda>", 4, 9), ("f", 3, 5)]
    assert to_text(scope["g"]()) == '(({:col 46 :line 5 :name "+"} {:col 46 :line 5 :name "lp"}))'


def test_a_loop_that_gets_no_list_has_the_hint_of_its_builtin() -> None:
    text = "(define (f x) (for-each (fn (a) (println a)) x))"
    hints = []
    for optimize in (True, False):
        scope: dict[str, Any] = {"__name__": "hints"}
        exec(compile_source(text, "hints.sema", optimize=optimize).code, scope)
        with pytest.raises(SemaError) as caught:
            scope["f"](print)
        hints.append(describe(caught.value).hint)
    assert hints[0] == hints[1]
    assert "the function comes first" in hints[0]
