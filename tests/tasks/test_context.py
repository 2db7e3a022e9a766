"""Dynamic scope: the context, parameters, delayed values, multiple values; errors raised by programs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from paths import ROOT

from sema_runtime.conditions.describe import describe
from sema_runtime.values.printer import to_text
from semac.session import Session


def run(source: str) -> str:
    """The printed value of a program, or `Error: ` and its message."""
    try:
        return to_text(Session().run(source))
    except Exception as error:
        return "Error: " + describe(error).message


@pytest.fixture(autouse=True)
def own_context(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees what another one has set."""
    from contextvars import ContextVar

    from sema_runtime.lib.language import context

    monkeypatch.setattr(context, "_frames", ContextVar("frames", default=context.NO_FRAMES))
    monkeypatch.setattr(context, "_stacks", ContextVar("stacks", default=context.NOTHING))
    monkeypatch.setattr(context, "_hidden", ContextVar("hidden", default=context.NOTHING))


CONTEXT = [
    ("(context/set :k 1) (context/with {:k 2 :j 3} (fn () (list (context/get :k) (context/get :j))))", "(2 3)"),
    ("(context/set :k 1) (context/with {:k 2} (fn () (context/set :k 3))) (context/get :k)", "1"),
    ("(try (context/with {:a 1} (fn () (throw :x))) (catch e (list (:value e) (context/get :a))))", "(:x nil)"),
    ("(context/with {:a 1} (fn () (context/with {:b 2} (fn () (context/all)))))", "{:a 1 :b 2}"),
    ("(begin (context/set :a 1) (context/with {:a 2} (fn () (context/pull :a))) (context/all))", "{}"),
    ("(context/with {:a 1} (fn () (context/clear) (context/all)))", "{}"),
    ("(begin (context/set-hidden :h 1) (list (context/get :h) (context/get-hidden :h) (context/all)))", "(nil 1 {})"),
    ("(begin (context/push :s 1) (context/with {} (fn () (context/push :s 2))) (context/stack :s))", "(1 2)"),
    ("(list (context/push :s 1) (context/pop :s) (context/pop :s))", "(nil 1 nil)"),
    ("(context/with {:a 1} (fn () (await (async (context/get :a)))))", "1"),
    ("(define p (context/with {:a 1} (fn () (async (async/sleep 1) (context/get :a))))) (await p)", "1"),
    ("(begin (await (async (context/set :a 5))) (context/get :a))", "nil"),
    ("(context/with 5 (fn () 1))", "Error: expected map, got int"),
    ("(context/with {:a 1} 5)", "Error: expected function, got int"),
]


@pytest.mark.parametrize(("source", "value"), CONTEXT)
def test_context(source: str, value: str) -> None:
    assert run(source) == value


PARAMETERS = [
    ("(define p (make-parameter 10)) (list (p) (parameterize ((p 20)) (p)) (p))", "(10 20 10)"),
    ("(define p (make-parameter 10 (fn (x) (* x 2)))) (list (p) (parameterize ((p 7)) (p)) (p 1) (p))", "(20 14 2 2)"),
    ("(define p (make-parameter 1)) (parameterize ((p 2)) (p 3)) (p)", "1"),
    (
        "(define p (make-parameter 1)) (define q (make-parameter 2)) (parameterize ((p 5) (q (p))) (list (p) (q)))",
        "(5 1)",
    ),
    ("(define p (make-parameter 1)) (try (parameterize ((p 2)) (throw :x)) (catch e (list (:value e) (p))))", "(:x 1)"),
    ("(define p (make-parameter 1)) (parameterize ((p 2)) (await (async (p))))", "2"),
    ("(define p (make-parameter 1)) (define t (parameterize ((p 2)) (async (async/sleep 1) (p)))) (await t)", "2"),
    ("(parameterize ((5 1)) 2)", "Error: not callable: 5 (int)"),
    ("(let ((f 5)) (try (car 5) (catch e (f e 1))))", "Error: not callable: 5 (int)"),
    ("(make-parameter 1)", "<native-fn <vm-closure>>"),
]


@pytest.mark.parametrize(("source", "value"), PARAMETERS)
def test_parameters(source: str, value: str) -> None:
    assert run(source) == value


VALUES = [
    ("(define n 0) (define p (delay (begin (set! n (+ n 1)) n))) (list (force p) (force p) n)", "(1 1 1)"),
    ("(define n 0) (define p (delay (begin (set! n (+ n 1)) (if (= n 1) (throw :x) n))))"
     " (list (try (force p) (catch e :failed)) (force p))", "(:failed 2)"),
    ("(force 42)", "Error: expected thunk, got int"),
    ("(delay 1)", "<promise>"),
    ("(values 1)", "1"),
    ('(values 1 "a")', '#<record %multiple-values% 1 "a">'),
    ("(values)", "#<record %multiple-values%>"),
    ("(call-with-values (fn () (values 1 2)) list)", "(1 2)"),
    ("(call-with-values (fn () 1) 5)", "Error: expected callable, got int"),
    ("(let-values (((a . r) (values 1 2 3)) ((b) 4)) (list a r b))", "(1 (2 3) 4)"),
    ("(let-values (((a b) (values 1))) a)", "Error: <lambda> expects 2 arguments, got 1"),
]  # fmt: skip


@pytest.mark.parametrize(("source", "value"), VALUES)
def test_delayed_and_multiple_values(source: str, value: str) -> None:
    assert run(source) == value


ERRORS = [
    ('(error "broken" 1 2)', "Error: broken"),
    ("(error {:a 1})", "Error: {:a 1}"),
    ("(throw {:a 1})", "Error: User exception: {:a 1}"),
    ("(throw (try (throw {:a 1}) (catch e e)))", "Error: {:a 1}"),
    ('(throw {:type :io :message "gone"})', "Error: gone"),
    ("(try (throw (try (car 5) (catch e e))) (catch e (:type e)))", ":type-error"),
    ("(guard (e ((symbol? e) e)) (raise 'oops))", "oops"),
    ("(guard (e ((symbol? e) e)) (raise 5))", "Error: User exception: 5"),
    ("(assert #f)", "Error: assertion failed"),
    ('(assert= "a" "b")', 'Error: assertion failed: expected "a", got "b"'),
    ("(define n 0) (retry (fn () (set! n (+ n 1)) (if (< n 3) (throw :x) n)) {:base-delay-ms 0})", "3"),
    ("(retry (fn () (throw :x)) {:max-attempts 2 :base-delay-ms 1})", "Error: User exception: :x"),
    ("(define n 0) (with-retry {:base-ms 1} (fn () (set! n (+ n 1)) (if (< n 3) (throw :x) n)))", "3"),
]


@pytest.mark.parametrize(("source", "value"), ERRORS)
def test_raising(source: str, value: str) -> None:
    assert run(source) == value


# The seam to the compiler


def test_eval_shares_the_globals_of_its_program() -> None:
    assert run("(eval '(define zz 5)) (eval '(+ zz 1))") == "6"
    assert run("(let ((x 1)) (eval 'x))") == "Error: Unbound variable: x"


def test_reading() -> None:
    assert run('(list (read "(+ 1 2)") (read "") (read-many "1 (a b)"))') == "((+ 1 2) nil (1 (a b)))"
    assert run('(read "(1")') == "Error: unterminated list"
    assert run("(macroexpand '(with-open (s 1) 2))") == "(with-stream (s 1) 2)"


def test_files_are_imported_once_and_loaded_every_time(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    (tmp_path / "lib" / "helper.sema").write_text("(define factor 10)")
    (tmp_path / "lib" / "tools.sema").write_text(
        '(module tools (export scale) (import "helper.sema" factor) (define hidden 1) (define (scale x) (* factor x)))'
    )
    (tmp_path / "more.sema").write_text("(define counter (+ counter 1))")
    main = str(tmp_path / "main.sema")
    assert Session(main).run('(import "lib/tools.sema") (import "lib/tools.sema" scale) (scale 4)') == 40
    assert Session(main).run('(define counter 0) (load "more.sema") (load "more.sema") counter') == 2
    with pytest.raises(Exception, match="module does not export 'hidden'"):
        Session(main).run('(import "lib/tools.sema" hidden)')


def test_a_macro_is_imported_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "m.sema").write_text("(defmacro twice (x) `(* 2 ,x)) (define base 3) (define (own) (twice base))")
    main = str(tmp_path / "main.sema")
    assert Session(main, closed=True).run('(import "m.sema" twice own) (+ (twice 4) (own))') == 14
    assert Session(main).run('(import "m.sema" twice) (twice 4)') == 8
    with pytest.raises(Exception, match="module does not export 'thrice'"):
        Session(main).run('(import "m.sema" twice thrice)')


def test_a_circle_of_imports_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.sema").write_text('(import "b.sema")')
    (tmp_path / "b.sema").write_text('(import "a.sema")')
    with pytest.raises(Exception, match=r"cyclic import detected: .*a.sema -> .*b.sema -> .*a.sema"):
        Session(str(tmp_path / "main.sema")).run('(import "a.sema")')


def test_without_the_compiler_the_error_says_so() -> None:
    code = "from sema_runtime.compiler_bridge import read_text\ntry: read_text('1')\nexcept Exception as e: print(e)"
    environment = {"PYTHONPATH": str(ROOT / "runtime"), "PATH": "/usr/bin:/bin"}
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], capture_output=True, text=True, env=environment, check=True, cwd="/"
    )
    assert "compiled to run without the compiler; install the package semac to use read" in done.stdout
