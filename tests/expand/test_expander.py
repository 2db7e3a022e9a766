"""Macros: quasiquote, definitions, calls, syntax-rules, the prelude. Forms in, forms out; printed to compare."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from sema_runtime.values.printer import to_text
from semac.expand.expander import PreludeMacros, expand_all, expand_call, make_macro
from semac.expand.quasiquote import expand_quasiquote
from semac.expand.syntax_rules import make_syntax_rules
from semac.pipeline import compile_source
from semac.session import Session
from semac.syntax.reader import read_one


def built(text: str) -> str:
    """The form a quasiquote becomes, printed."""
    return " ".join(to_text(expand_quasiquote(read_one(text).items[1], lambda name: symbol(name + "!"))).split())


@pytest.mark.parametrize(
    ("template", "form"),
    [
        ("`x", "(quote x)"),
        ("`5", "5"),
        ("`(a (b 2) [c])", "(quote (a (b 2) [c]))"),
        ("`(1 ,x (y ,z))", "(%list 1 x (%list (quote y) z))"),
        ("`(,@xs)", "xs"),
        ("`(1 ,@xs 2 3)", "(%append (%list 1) xs (%list 2 3))"),
        ("`[,x ,@xs]", "(%vector (%append (%list x) xs))"),
        ("`[1 ,x]", "[1 x]"),
        ("`{:a ,x}", "{:a x}"),
        ("`(a# ,x a# [a#])", "(%list (quote a!) x (quote a!) (quote [a!]))"),
        ("`(a# ,(f 'a#))", "(%list (quote a!) (f (quote a#)))"),
        ("`(a . ,x)", "(%list (quote a) (quote .) x)"),
        ("`,@xs", "(quote (unquote-splicing xs))"),
        ("`(1 `(2 ,(3 ,x)))", "(%list 1 (%list (quote quasiquote) (%list 2 (%list (quote unquote) (%list 3 x)))))"),
    ],
)
def test_quasiquote(template: str, form: str) -> None:
    assert built(template) == form


def test_quasiquote_keeps_places() -> None:
    form = expand_quasiquote(read_one("`(1\n  ,(f x))").items[1], symbol)
    assert (form.span.line, form.span.col) == (1, 2)
    assert (form.items[2].span.line, form.items[2].span.col) == (2, 4)
    assert form.span.children[2].line == 2


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("`(unquote 1 2)", "unquote expects 1 argument, got 2"),
        ("`(1 (unquote-splicing))", "unquote-splicing expects 1 argument, got 0"),
        ("`{:a ,@x}", "unquote-splicing is not allowed in a quasiquoted map key or value"),
    ],
)
def test_quasiquote_errors(template: str, message: str) -> None:
    with pytest.raises(SemaError, match=re.escape(message)):
        built(template)


def expanded(definition: str, call: str, evaluate: Callable[[Any], Any] | None = None) -> str:
    """One expansion step of a call, printed; generated names lose their numbers."""
    form = read_one(definition)
    macro = make_syntax_rules(form) if evaluate is None else make_macro(form, evaluate)
    called = read_one(call)
    return re.sub(r"__\d+", "_N", to_text(expand_call(macro, called, called.span)))


def rules(*clauses: str, literals: str = "") -> str:
    return f"(define-syntax m (syntax-rules ({literals}) {' '.join(clauses)}))"


@pytest.mark.parametrize(
    ("clause", "call", "expansion"),
    [
        ("((_ e) (let ((x 1)) (+ x e z)))", "(m x)", "(let ((x_N 1)) (+ x_N x z))"),
        ("((_ e) (let lp ((x e)) (lp x)))", "(m x)", "(let lp_N ((x_N x)) (lp_N x_N))"),
        ("((_ e) (fn (x . r) (list x r e)))", "(m x)", "(fn (x_N . r_N) (list x_N r_N x))"),
        ("((_ e) (define (f a) (f a e)))", "(m a)", "(define (f_N a_N) (f_N a_N a))"),
        ("((_ e) (try e (catch err err)))", "(m 1)", "(try 1 (catch err err))"),
        ("((_ n e) (let ((n e)) n))", "(m x 1)", "(let ((x 1)) x)"),
        ("((_ a ... y z) (z y a ...))", "(m 1 2 3 4)", "(4 3 1 2)"),
        ("((_ (a b ...) ...) ((a ...) (b ... a) ...))", "(m (1 2 3) (4))", "((1 4) (2 3 1) (4))"),
        ("((_ (a b ...) ...) (((a b) ...) ...))", "(m (1 2 3) (4))", "(((1 2) (1 3)) ())"),
        ("((_ [a ...]) (a ...))", "(m [1 2])", "(1 2)"),
        ("((_ a) 1 2)", "(m 1)", "(begin 1 2)"),
        ("((_ a) {:k [a]})", "(m 1)", "{:k [1]}"),
    ],
)
def test_syntax_rules(clause: str, call: str, expansion: str) -> None:
    assert expanded(rules(clause), call) == expansion


def test_syntax_rules_literals_choose_the_clause() -> None:
    definition = rules("((_ a => b) (arrow a b))", "((_ a b c) (plain a b c))", literals="=>")
    assert expanded(definition, "(m 1 => 2)") == "(arrow 1 2)"
    assert expanded(definition, "(m 1 x 2)") == "(plain 1 x 2)"


@pytest.mark.parametrize(
    ("definition", "call", "message"),
    [
        (rules("((_ a) a)"), "(m)", "no matching syntax-rules clause for macro 'm'"),
        (rules("((_ a ...) (x a))"), "(m 1)", "syntax-rules: pattern variable 'a' used without ellipsis"),
        (rules("((_ a) (a ...))"), "(m 1)", "syntax-rules: ellipsis in template with no matching pattern variable"),
        (
            rules("((_ (a ...) ...) (a ... ...))"),
            "(m (1))",
            "syntax-rules: unsupported nested ellipsis depth in template",
        ),
        (rules("((_ ... a) a)"), "(m 1)", "syntax-rules: ellipsis with no preceding subpattern"),
        (rules("(x 5)"), "(m)", "syntax-rules: pattern in 'm' must be a list"),
        (rules("((_ x))"), "(m)", "syntax-rules: each rule must be (pattern template)"),
        ("(define-syntax m 5)", "(m)", "define-syntax: transformer must be a (syntax-rules ...) form"),
        ("(define-syntax m)", "(m)", "define-syntax: expected (define-syntax name (syntax-rules ...))"),
    ],
)
def test_syntax_rules_errors(definition: str, call: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        expanded(definition, call)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("definition", "message"),
    [
        ("(defmacro)", "defmacro expects 3 or more arguments, got 0"),
        ("(defmacro m (x))", "defmacro expects 3 or more arguments, got 2"),
        ("(defmacro 5 (x) x)", "defmacro: name must be a symbol"),
        ("(defmacro m [x] x)", "defmacro: params must be a list"),
        ("(defmacro m ([a]) a)", "defmacro: parameter must be a symbol"),
    ],
)
def test_malformed_defmacro(definition: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        make_macro(read_one(definition), lambda form: None)
    assert caught.value.message == message


@pytest.mark.parametrize(
    ("params", "call", "message"),
    [
        ("(x)", "(m)", "m expects 1 argument, got 0"),
        ("(x y)", "(m 1 2 3)", "m expects 2 arguments, got 3"),
        ("(x . rest)", "(m)", "m expects 1 or more arguments, got 0"),
    ],
)
def test_wrong_number_of_arguments(params: str, call: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        expanded(f"(defmacro m {params} 1)", call, lambda form: lambda *args: None)
    assert caught.value.message == message


def test_body_is_compiled_once_and_only_when_used() -> None:
    compiled: list[Any] = []

    def evaluate(form: Any) -> Any:
        compiled.append(to_text(form))
        return lambda x: List([symbol("list"), x])

    macro = make_macro(read_one("(defmacro m (x) `(list ,x))"), evaluate)
    assert compiled == []
    for _ in range(2):
        assert to_text(expand_call(macro, read_one("(m (f 1))"), None)) == "(list (f 1))"
    assert compiled == ["(lambda (x) (quasiquote (list (unquote x))))"]


def test_new_lists_stand_at_the_call_and_arguments_keep_their_place() -> None:
    shared = List([symbol("g")])
    macro = Macro("m", lambda x: List([symbol("f"), x, shared]))
    for line in (1, 2):
        call = read_one("\n" * (line - 1) + "(m\n  (h))")
        form = expand_call(macro, call, call.span)
        assert (form.span.line, form.items[1].span.line, form.items[2].span.line) == (line, line + 1, line)


def test_deep_results_need_no_stack() -> None:
    deep = List([1])
    for _ in range(50_000):
        deep = List([deep])
    span = read_one("(m)").span
    assert expand_call(Macro("m", lambda: deep), read_one("(m)"), span).items[0].span.line == 1


def test_errors_of_a_macro_are_placed_at_the_call() -> None:
    def fail() -> None:
        raise SemaError("bad use")

    call = read_one("\n\n(m)")
    with pytest.raises(SemaError) as caught:
        expand_call(Macro("m", fail), call, call.span)
    assert caught.value.message == "bad use"
    assert caught.value.note == "while expanding the macro 'm'"
    assert caught.value.span.line == 3  # type: ignore[attr-defined]


def test_endless_expansion_is_stopped() -> None:
    macro = Macro("again", lambda: read_one("(again)"))
    with pytest.raises(SemaError, match="macro 'again' never stops expanding"):
        expand_all(read_one("(again)"), macro, lambda name: macro, None)


def test_endless_growth_is_stopped() -> None:
    form = read_one("(define-syntax m (syntax-rules () ((_ x ...) (m x ... x ...))))")
    macro = make_syntax_rules(form)
    with pytest.raises(SemaError, match="macro 'm' never stops expanding"):
        expand_all(read_one("(m 1)"), macro, lambda name: macro, None)


def test_prelude_macros_are_made_when_asked_for() -> None:
    made: list[Symbol] = []
    prelude = PreludeMacros(lambda form: made.append(form) or (lambda *args: None))  # type: ignore[func-returns-value]
    assert {"->", "guard", "step", "parameterize"} <= set(prelude.names())
    assert prelude.get("no-such-macro") is None
    threading = prelude.get("->")
    assert threading is prelude.get("->") and repr(threading) == "<macro ->>" and made == []
    for name in prelude.names():
        assert prelude.get(name) is not None


@pytest.mark.parametrize(
    ("program", "value"),
    [
        ("(eval '(defmacro m (x) `(list ,x))) (eval '(m 5))", "(5)"),
        ("(defmacro m () car) ((m) '(1))", "1"),
        ("(eval (list + 1 2))", "3"),
        ("(defmacro m (n) (if (= n 0) 0 `(+ 1 (m ,(- n 1))))) (m 100)", "100"),
        ("(define (m x) :function) (defmacro m (x) :macro) (m 1)", ":function"),
        ("(defmacro when (x) `(list ,x)) (when 3)", "(3)"),
        ("(let ((dotimes list)) (dotimes 1 2))", "(1 2)"),
        ("(define p (make-parameter 1)) (eval (macroexpand '(parameterize ((p 5)) (p))))", "5"),
        ("(let ((n 0)) (with-retry {:max 3 :base-ms 1} (fn () (set! n (+ n 1)) (if (< n 3) (throw n) n))))", "3"),
    ],
)
def test_programs_with_macros(program: str, value: str) -> None:
    assert to_text(Session().run(program)) == value


def test_a_value_of_this_process_has_no_source_text() -> None:
    unit = compile_source("(defmacro m () car) ((m) '(1))")
    with pytest.raises(SemaError, match="can't be written down"):
        unit.python_text()


def test_stack_overflow_in_a_macro_is_an_error_at_its_call() -> None:
    with pytest.raises(SemaError, match="stack overflow") as caught:
        Session().run("(defmacro m (x) (let loop ((i 0)) (+ 1 (loop i))))\n(m 5)")
    assert caught.value.span.line == 2  # type: ignore[attr-defined]


def test_a_program_that_is_run_as_a_file_knows_its_macros(tmp_path: Path) -> None:
    program = tmp_path / "prog.sema"
    program.write_text("(defmacro twice (x) `(* 2 ,x))\n(println (eval '(twice 4)) (macroexpand '(twice 5)))\n")
    done = subprocess.run([sys.executable, "-m", "semac.cli.entry", str(program)], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("8 (* 2 5)\n", "")
