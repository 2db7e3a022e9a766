"""Inputs of one session: what the compiler makes for one of them (constants, imports, helpers) is its own."""

from __future__ import annotations

import gc
import json
import weakref
from itertools import permutations
from pathlib import Path

import pytest
from paths import TESTS

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language import output
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.pipeline import compile_source
from semac.session import Session
from semac.syntax.reader import read_program

SAMPLE = TESTS / "conformance" / "corpus_sample.jsonl"


def answers(*inputs: str) -> str:
    """The printed value of the last of several inputs, or `! ` and the message of the first error."""
    session = Session(closed=False)
    value = None
    try:
        for text in inputs:
            value = session.run(text)
    except Exception as error:
        return "! " + describe(error).message.splitlines()[0]
    return to_text(value)


# Every kind of constant and helper: an input that defines {0}, a function of no parameters, and what it gives.
KINDS = {
    "list": ("(define ({0}) '(1 2))", "(1 2)"),
    "other list": ("(define ({0}) '(3 (4)))", "(3 (4))"),
    "vector": ("(define ({0}) '[1 (a) 2])", "[1 (a) 2]"),
    "map": ("(define ({0}) '{{:a (1)}})", "{:a (1)}"),
    "keyword": ("(define ({0}) :a)", ":a"),
    "like the keyword": ("(define ({0}) :_a)", ":_a"),
    "symbol": ("(define ({0}) 'a-b)", "a-b"),
    "like the symbol": ("(define ({0}) 'a_b)", "a_b"),
    "char": ("(define ({0}) #\\a)", "#\\a"),
    "ratio": ("(define ({0}) (list 1/2 -3/4))", "(1/2 -3/4)"),
    "complex": ("(define ({0}) (list 1+2i 2-3i))", "(1+2i 2-3i)"),
    "builtins": ("(define ({0}) (sort (map abs '(-3 2))))", "(2 3)"),
    "hoisted function": ("(define {0} (let ((n 0)) (lambda () (set! n (+ n 1)) '(n))))", "(n)"),
    "hoisted block": ("(let ((x '(5))) (define {0}-of (lambda () x)) (set! {0}-all x)) (define ({0}) '(6))", "(6)"),
    "record": ("(define-record-type {0}-kind (new-{0} v) {0}? (v {0}-v)) (define ({0}) ({0}-v (new-{0} '(7))))", "(7)"),
    "macro": ("(defmacro {0}-m () '(list '(8) :m)) (define ({0}) ({0}-m))", "((8) :m)"),
    "quasiquote": ("(define ({0}) (let ((x 1)) `(a ,x ,@'(2 3))))", "(a 1 2 3)"),
    "match": ("(define ({0}) (match '(1 [2 :k]) ([a [b :k]] (list a b :yes)) (_ :no)))", "(1 2 :yes)"),
    "eval": ("(define ({0}) (eval '(list '(9) :e)))", "((9) :e)"),
    "lambda": ("(define {0} (car (list (lambda () (begin (define y '(1)) y)))))", "(1)"),
    "try": ("(define ({0}) (try (throw '(t)) (catch e (:value e))))", "(t)"),
}


def source(kind: str, name: str) -> str:
    text = KINDS[kind][0].format(name)
    return f"(define {name}-all nil) {text}" if kind == "hoisted block" else text


@pytest.mark.parametrize(("first", "second"), list(permutations(KINDS, 2)))
def test_two_inputs(first: str, second: str) -> None:
    expected = f"({KINDS[first][1]} {KINDS[second][1]})"
    assert answers(source(first, "f"), source(second, "g"), "(list (f) (g))") == expected


def test_three_inputs_in_every_order() -> None:
    picked = ["list", "like the symbol", "hoisted function", "macro", "eval", "match", "lambda"]
    for kinds in permutations(picked, 3):
        texts = [source(kind, name) for kind, name in zip(kinds, "fgh", strict=True)]
        expected = f"({' '.join(KINDS[kind][1] for kind in kinds)})"
        assert answers(*texts, "(list (f) (g) (h))") == expected, kinds


OWN_NAMES = [
    "quoted", "quoted_2", "kw_a", "sym_a_b", "char_a", "ratio_1_2", "List", "Map", "keyword", "symbol", "char",
    "Fraction", "main", "make_f", "fn", "value", "result", "function", "sema_List", "map_", "add", "item", "make-f",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_user_names_changes_no_earlier_input_and_is_changed_by_no_later_one(kind: str) -> None:
    session = Session(closed=False)
    session.run(source(kind, "f"))
    for number, name in enumerate(OWN_NAMES):
        session.run(f"(define {name} {number})")
    assert to_text(session.run("(f)")) == KINDS[kind][1]
    session.run(source(kind, "g"))
    assert to_text(session.run("(list (f) (g))")) == f"({KINDS[kind][1]} {KINDS[kind][1]})"
    assert to_text(session.run(f"(list {' '.join(OWN_NAMES)})")) == to_text(List(list(range(len(OWN_NAMES)))))


@pytest.mark.parametrize("name", ["fn", "value", "result", "function", "item", "main", "n"])
def test_temporaries_are_no_globals(name: str) -> None:
    session = Session(closed=False)
    session.run(f"(define {name} 'mine) (define (g) +)")
    session.run("((car (list (lambda (x) (begin (define y x) (+ y 1))))) ((g) 1 2))")
    session.run("(foldl (lambda (a x) (+ a x)) 0 (filter even? (map (lambda (x) (+ x 1)) (list 1 2 3))))")
    session.run("(let ((i 0)) (while (< i 3) (set! i (+ i 1))) (try (throw i) (catch e (:value e))))")
    assert to_text(session.run(name)) == "mine"


INPUTS = [
    (["(define (f) '(1 2))", "(map - '(3 4))", "(f)"], "(1 2)"),
    # names that Python can't tell apart are different variables, in whatever order inputs mention them
    (["(define a-b 1)", "(define a_b 2)", "(define a->b 3)", "(list a-b a_b a->b)"], "(1 2 3)"),
    (["(define (g) (list (foo?) is-foo))", "(define is-foo 1)", "(define (foo?) 2)", "(g)"], "(2 1)"),
    (["(define foo? 1)", "(set! foo? 2)", "(define is-foo 3)", "(list foo? is-foo)"], "(2 3)"),
    # a builtin is a variable too, but for those that calls reach directly
    (["(define (f x) (abs x))", "(define (abs x) :mine)", "(f 1)"], ":mine"),
    (["(define (f xs) (map abs xs))", "(define (abs x) :mine)", "(f '(1))"], "(:mine)"),
    (["(define (f x) (sort x))", "(set! sort (lambda (x) :mine))", "(f '(1))"], ":mine"),
    (["(define (f x) (car x))", "(define (car x) :mine)", "(list (f '(1)) (car '(1)))"], "(1 :mine)"),
    (["(define (f x) f\"<${x}>\")", "(define (str . xs) :mine)", "(f 1)"], '"<1>"'),
    (["(define (f sort) (reverse sort))", "(sort '(2 1))", "(f '(1 2))"], "(2 1)"),
    (["(define (sort x) :a)", "(define sort (let ((old sort)) (lambda (x) (list (old x)))))", "(sort 1)"], "(:a)"),
    (["(define f (fn (x) x))", "f"], "<native-fn <vm-closure>>"),
    # redefinitions
    (["(define f (fn (x) x))", "(define (f x) x)", "f"], "<native-fn f>"),
    (["(define (f) '(1))", "(define (g) (f))", "(define (f) '(2))", "(g)"], "(2)"),
    (["(define f (let ((x '(1))) (lambda () x)))", "(define g f)", "(define (f) '(2))", "(list (g) (f))"], "((1) (2))"),
    (["(defmacro m () ''(1))", "(define (f) (m))", "(defmacro m () ''(2))", "(list (f) (m))"], "((1) (2))"),
    # `eval`
    (["(define (f x) (eval `(quote ,x)))", "(define a (f '(1)))", "(define b (f '(2)))", "(list a b)"], "((1) (2))"),
    (["(define fs (map (lambda (x) (eval `(lambda () '(,x)))) '(1 2)))", "(map (lambda (f) (f)) fs)"], "((1) (2))"),
    (["(define (f) '(1))", "(eval '(define quoted 5))", "(list (f) quoted)"], "((1) 5)"),
    (
        [
            "(define (plus n) (lambda (x) (+ x n)))",
            "(define (deep n) (if (= n 0) 0 (eval `((plus ,n) ((car (list deep)) ,(- n 1))))))",
            "(deep 4)",
        ],
        "10",
    ),
    (["(define p (async (async/sleep 1) (eval '(+ 1 2))))", "(list '(1) (await p))"], "((1) 3)"),
    (["(async (eval '(+ 1 2))) '(5)"], "(5)"),
    (["(eval (list (lambda (x) (list x '(1))) 5))"], "(5 (1))"),
    (["(define f (let loop ((x '(1))) (lambda () x)))", "(let loop ((x '(2))) x)", "'(3)", "(f)"], "(1)"),
]  # fmt: skip


@pytest.mark.parametrize(("inputs", "value"), INPUTS)
def test_inputs(inputs: list[str], value: str) -> None:
    assert answers(*inputs) == value


def test_quoted_data_is_the_same_object_each_time() -> None:
    assert answers("(define (f) '(1 2))", "'(1 2)", "(eq? (f) (f))") == "#t"


def test_python_names_beside_those_of_inputs() -> None:
    texts = ["(define (f) '(1/2))", '(py/from "fractions" Fraction)', "(list (f) (str (Fraction 3 4)))"]
    assert answers(*texts) == '((1/2) "3/4")'


def test_messages_know_the_functions_of_all_inputs() -> None:
    session = Session(closed=False)
    session.run("(define (first? x) x) (define (outer) (define (inner? x) x) (inner?))")
    session.run("(define (second? x) x) (define (is-inner x y) x)")
    for text, message in (
        ("(first?)", "first? expects 1 argument, got 0"),
        ("(second?)", "second? expects 1 argument, got 0"),
        ("(is-inner 1)", "is-inner expects 2 arguments, got 1"),
        ("(defmacro m () reduce) ((m) '(1))", "reduce expects 2 arguments, got 1"),
        ("(defmacro n () (fn (x) x)) (define (f) ((n))) (f)", "<lambda> expects 1 argument, got 0"),
    ):
        with pytest.raises(TypeError) as caught:
            session.run(text)
        assert describe(caught.value).message == message


def test_globals_are_what_the_program_defines() -> None:
    session = Session(closed=False)
    before = set(session.globals)
    session.run("(define (f) '(1 :a #\\b 1/2)) ((car (list f))) (let ((x 1)) (+ x 1)) (define g (let ((y 2)) y))")
    assert {name for name in set(session.globals) - before if not name.startswith("__")} == {"f", "g"}


def test_what_eval_made_goes_when_nothing_refers_to_it() -> None:
    session = Session(closed=False)
    session.run("(define (g x) x) (define (loop n) (when (> n 0) (eval `(g '(,n :a [b]))) (loop (- n 1))))")
    session.run("(loop 20)")
    gc.collect()
    names, objects = len(session.globals), len(gc.get_objects())
    session.run("(loop 300)")
    gc.collect()
    assert len(session.globals) == names
    assert len(gc.get_objects()) < objects + 100

    class Held:
        def __call__(self) -> int:
            return 1

    held = Held()
    gone = weakref.ref(held)
    assert session.run_form(List([held])) == 1
    del held
    gc.collect()
    assert gone() is None


def module(source: str) -> str:
    """What `answer` is after a module has run that was compiled as a file is."""
    space = {"__name__": "__main__", "__file__": "<input>"}
    exec(compile_source(source, "<input>", "program").code, space)
    return to_text(space["answer"])


MODULES = [
    ("(define (f) '(1 2)) (eval '(define quoted 5)) (define answer (list (f) (eval 'quoted)))", "((1 2) 5)"),
    ("(define (f) '(1 2)) (eval '(define quoted 5)) (define answer (list (f) quoted))", "((1 2) 5)"),
    ("(define (f) (list :a)) (eval '(define (List x) 5)) (define answer (f))", "(:a)"),
    ("(define (f) :a) (eval '(define kw_a 5)) (define answer (list (f) (eval 'kw_a)))", "(:a 5)"),
    ("(eval '(define main 1)) (let ((x 1)) x) (define answer (eval 'main))", "1"),
    ("(eval '(define function 1)) ((car (list +)) 1 2) (define answer (eval 'function))", "1"),
    ("(define a->b 1) (eval '(define a-to-b 2)) (define answer (list a->b (eval 'a->b) (eval 'a-to-b)))", "(1 1 2)"),
    ("(define add +) (eval '(define add -)) (define answer (add 3 1))", "2"),
    ("(define (f x) (abs x)) (eval '(define (abs x) :mine)) (define answer (f 1))", ":mine"),
    ("(define (f x) (car x)) (eval '(define (car x) :mine)) (define answer (f '(1)))", "1"),
    (
        "(define anonymous (fn (x) x)) (define answer (list anonymous (eval '(anonymous 1))))",
        "(<native-fn <vm-closure>> 1)",
    ),
    ("(macroexpand '(a)) (define (f?) 1) (define (g) (eval '(f?))) (define answer (g))", "1"),
]


@pytest.mark.parametrize(("source", "value"), MODULES)
def test_eval_in_a_module(source: str, value: str) -> None:
    assert module(source) == value


def test_load_in_a_module(tmp_path: Path) -> None:
    (tmp_path / "part.sema").write_text("(define (g) '(3 4)) (define quoted 5) (define is-f 6) (map - '(7))")
    path = json.dumps(str(tmp_path / "part.sema"))
    text = f"(define (f?) '(1 2)) (load {path}) (define answer (list (f?) (g) quoted is-f))"
    assert module(text) == "((1 2) (3 4) 5 6)"


def test_imports(tmp_path: Path) -> None:
    (tmp_path / "lib.sema").write_text("(define (a->b) '(1))\n(define (quoted) '(2))\n")
    path = json.dumps(str(tmp_path / "lib.sema"))
    program = f"(import {path}) (define (a-to-b) 0) (define answer (list (a->b) (a-to-b) (eval '(a->b)) (quoted)))"
    assert module(program) == "((1) 0 (1) (2))"
    texts = ["(define (f) '(9)) (define (a-to-b) 0)", f"(import {path})", "'(8)"]
    assert answers(*texts, "(list (f) (a-to-b) (a->b) (quoted))") == "((9) 0 (1) (2))"


def test_what_an_imported_module_has_of_the_compiler_stays_there(tmp_path: Path) -> None:
    (tmp_path / "lib.sema").write_text(
        "(define (g) '(3 4)) (define my-first first) (define kw-a :x) ((car (list +)) 1 2) 3/4\n"
        "(defmacro defthing (n) `(define ,n '(:thing)))\n(defthing thing)\n"
    )
    path = json.dumps(str(tmp_path / "lib.sema"))
    program = (
        f"(define (f) '(1 2)) (define function 5) (import {path})"
        "(define answer (list (f) (g) function thing (my-first '(7)) kw-a 3/4))"
    )
    expected = "((1 2) (3 4) 5 (:thing) 7 :x 3/4)"
    assert module(program) == module(f"{program} (eval 1)") == answers(f"{program} answer") == expected


# Whole programs against the same programs form by form


def pieces(text: str) -> list[str]:
    """The text of each top-level form."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    span = read_program(text).span
    places = [starts[part.line - 1] + part.col - 1 for part in (span.children if span is not None else ())]
    return [text[start:end] for start, end in zip(places, [*places[1:], len(text)], strict=True)]


def run_as(inputs: list[str]) -> tuple[str, list[str]]:
    lines: list[str] = []
    output.sink = lines
    try:
        return answers(*inputs), lines
    finally:
        output.sink = None


def programs() -> list[tuple[str, str]]:
    """Programs of the corpus with several top-level forms, without those that tasks or files could tell apart."""
    found = []
    for line in SAMPLE.read_text().splitlines():
        case = json.loads(line)
        plain = not any(word in case["src"] for word in ("async", "file/", "(import", "gensym", "time"))
        if plain and case["id"].startswith(("programs/", "core-")) and case.get("error") is None:
            found.append((case["id"], case["src"]))
    return found


# Here an input must differ: what it defines or sets comes too late for the reader of the form before.
DIFFERENT = {
    "core-macros/042",
    "core-names/151",
    "core-names/175",
    "core-names/176",
    "core-names/177",
    "core-names/180",
}


def test_form_by_form_as_in_one_piece() -> None:
    compared = 0
    for name, text in programs():
        parts = pieces(text)
        if len(parts) > 1 and name not in DIFFERENT:
            assert run_as(parts) == run_as([text]), name
            compared += 1
    assert compared >= 20
