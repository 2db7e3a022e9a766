"""Versions of public functions: the answers are the same for every argument, and the fast body has no guards."""

from __future__ import annotations

import ast
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.values.errors import SemaTypeError
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source

FIB = "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))"
ESCAPE = (
    "(define (escape cr ci limit) (let loop ((zr 0.0) (zi 0.0) (n 0)) (let ((rr (* zr zr)) (ii (* zi zi))) "
    "(if (or (= n limit) (> (+ rr ii) 4.0)) n (loop (+ (- rr ii) cr) (+ (* 2.0 zr zi) ci) (+ n 1))))))"
)
COUNT = "(define (count-down n acc) (if (= n 0) acc (count-down (- n 1) (+ acc n))))"
PARITY = (
    "(define (ev n) (if (= n 0) #t (if (= n 1) #f (od (- n 1))))) (define (od n) (if (= n 0) #f (not (ev (- n 1)))))"
)
POINTS = (
    "(define-record-type point (make-point x y) point? (x point-x) (y point-y)) "
    "(define (far p n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s (point-x p))))))"
)
CLOSURES = "(define (sums n k) (map (fn (i) (let loop ((j 0)) (if (< j i) (loop (+ j 1)) (+ j k)))) (range n)))"
FOLDED = (
    "(define (f0 v1 v2) (get-in (get (fn (v3) 1) 1 (assoc {} :a 1)) [:c :a])) "
    "(define (f1 v v11) (let ((v12 1) (v17 (f0 (get 1 0) 1))) v17)) "
    "(match 1 ([y v70 g] (assoc 1 1 1 1 y)) (_ (f1 1 1)))"
)
NAMED = "(define (all-small? xs n) (if (null? xs) #t (and (< (car xs) n) (all-small? (cdr xs) n))))"
CALLED_BY_THE_PUBLIC = "(define (f n) (if (<= n 0) (try (1) (catch a (a))) ((f (- n)))))"
LATER = "(define (first-of n) (if (< n 1) 0 (second-of (- n 1)))) (define (second-of n) (+ 1 (first-of n)))"

VALUES = ["7", "0", "-3", "2.5", "100000000000000000000", "nil", "#t", '"7"', "3/2", ":k", "'(1)", "[1 2]", "{:a 1}"]
CASES = [
    *((FIB, f"(fib {value})") for value in VALUES if value != "100000000000000000000"),
    *((FIB, call) for call in ("(fib)", "(fib 1 2)", "(map fib '(1 2.0 5))", "(apply fib '(9))")),
    *((ESCAPE, f"(escape {value} 0.5 20)") for value in VALUES),
    *((ESCAPE, f"(escape 0.1 0.1 {value})") for value in ("20", "20.0", "40/2")),
    *((COUNT, f"(count-down 5 {value})") for value in VALUES),
    *((COUNT, f"(count-down {value} 0)") for value in ("7", "7.0", "nil", '"a"')),
    *((PARITY, f"(ev {value})") for value in ("10", "7", "4.0", "nil")),
    *(
        (POINTS, f"(far {value} 3)")
        for value in ("(make-point 1 2)", "(make-point 1.5 2)", "(make-point nil 0)", "nil")
    ),
    *((CLOSURES, f"(sums {value})") for value in ("4 1", "4 1.5", "4 nil", "4.0 1")),
    *((NAMED, f"(all-small? {value})") for value in ("'(1 2) 3", "[1 2] 3", "'(1 a) 3", "'(1 2.5) nil", "nil 3")),
    (CALLED_BY_THE_PUBLIC, "(try (f 1) (catch e (:message e)))"),
    *((LATER, f"(first-of {value})") for value in ("6", "6.5", "nil")),
]


def outcome(text: str, mode: str = "module") -> tuple[str, ...]:
    scope: dict[str, Any] = {"__name__": "__main__", "__sema_names__": {}}
    try:
        exec(compile_source(text, "<test>", mode, result=True).code, scope)
    except Exception as error:
        described = describe(error)
        frames = [f"{frame.name} {frame.line}:{frame.col}" for frame in described.frames]
        return ("error", described.message, str(described.hint), *frames)
    return ("value", to_text(scope[RESULT]))


def outcomes(text: str, monkeypatch: pytest.MonkeyPatch) -> set[tuple[str, ...]]:
    """With and without versions."""
    found = set()
    for skipped in ("", "versions"):
        monkeypatch.setenv("SEMA_SKIP", skipped)
        found.add(outcome(text))
    return found


def fast_functions(text: str) -> dict[str, str]:
    """The text of private copies by name."""
    tree = ast.parse(compile_source(text, "<test>", "module").python_text())
    return {
        node.name: ast.unparse(node)
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("_fast_")
    }


@pytest.mark.parametrize(("program", "call"), CASES)
def test_answers_are_those_without_versions(program: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(outcomes(f"{program}\n{call}", monkeypatch)) == 1


@pytest.mark.parametrize(("program", "call"), CASES)
def test_caught_errors_have_the_same_trace(program: str, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    text = f"{program}\n(define (run) (try {call} (catch e (list (:message e) (:stack-trace e)))))\n(run)"
    assert len(outcomes(text, monkeypatch)) == 1


@pytest.mark.parametrize("program", [FIB, ESCAPE, COUNT, PARITY])
def test_the_fast_body_asks_for_no_kind_of_number(program: str) -> None:
    copies = fast_functions(program)
    assert copies
    for text in copies.values():
        assert "INT_OR_FLOAT" not in text and "is int" not in text


def test_calls_whose_arguments_fit_go_to_the_copy() -> None:
    text = compile_source(f"{ESCAPE} (define (main) (escape 0.5 0.5 10))", "<test>", "module").python_text()
    assert "return _fast_escape(0.5, 0.5, 10)" in text


def test_calls_whose_arguments_may_not_fit_go_to_the_public_function() -> None:
    text = compile_source(f"{ESCAPE} (define (main x) (println x) (escape x 0.5 10))", "<test>", "module").python_text()
    assert "return escape(x, 0.5, 10)" in text


@pytest.mark.parametrize(
    "program",
    [
        f"{FIB} (set! fib (fn (n) n))",
        f"{FIB} (define (fib n) n)",
        f"{FIB} (eval '(define (fib n) 1))",
        "(define (f n . more) (let loop ((i 0)) (if (= i n) more (loop (+ i 1)))))",
        "(define (once n) (+ n 1))",
    ],
)
def test_functions_that_may_change_or_run_once_have_no_copy(program: str) -> None:
    assert not fast_functions(program)


# Closed copies: for calls that begin in the module's own forms

TOTALS = "(define (total rows) (foldl (fn (s row) (+ s (foldl (fn (t n) (+ t n)) 0 row))) 0 rows))"
TABLE = "(define (table n) (map (fn (i) (map (fn (j) (* i j)) (range n))) (range n)))"
CELLS = (
    "(define (sums v) (let loop ((i 0) (out '())) (if (= i (length v)) (reverse out)"
    " (loop (+ i 1) (cons (cell v i) out))))) (define (cell v i) (+ 1 (nth (nth v i) 0)))"
)
CLOSED = [
    (f"{TABLE} {TOTALS} (define known (total (table 5)))", "(total {})"),
    (f"{CELLS} (define known (sums [[1 2] [3]]))", "(sums {})"),
    (f"{CELLS} (define (main) (sums [[1 2] [3]])) (main)", "(sums {})"),
    (
        "(define (walk t) (if (null? t) 0 (+ 1 (walk (car t)) (walk (cdr t))))) (define known (walk '(() (()))))",
        "(walk {})",
    ),
    (f"{TOTALS} (define known (map total '(((1 2)) ((3)))))", "(total {})"),
]
ARGUMENTS = ["'((1 2) (3))", "[[1 2] [3]]", "'((1.5) (1/2))", "[[nil]]", "'((a))", "nil", "5", "'()", '"text"', "[[]]"]


@pytest.mark.parametrize("argument", ARGUMENTS)
@pytest.mark.parametrize(("program", "call"), CLOSED)
def test_a_closed_copy_is_called_by_the_module_alone(
    program: str, call: str, argument: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = f"(try {call.format(argument)} (catch e (list (:message e) (:stack-trace e))))"
    scope: dict[str, Any] = {"__name__": "closed", "__sema_names__": {}}
    exec(compile_source(program, "<test>", "module").code, scope)
    assert len(outcomes(f"{program} {asked}", monkeypatch)) == 1
    assert len(outcomes(f"{program} (define (later) {asked}) (later)", monkeypatch)) == 1


def test_a_closed_copy_knows_what_is_in_its_arguments() -> None:
    program, _ = CLOSED[1]
    copies = fast_functions(program)
    assert copies and "type(" not in "".join(copies.values())


def test_a_copy_that_is_folded_otherwise_is_weighed() -> None:
    compile_source(FOLDED, "<test>", "module")


def test_below_a_main_guard_nothing_is_called() -> None:
    assert not fast_functions(f'{CELLS} (when (= __name__ "__main__") (println (sums [[1 2] [3]])))')


def test_programs_have_no_copies() -> None:
    assert "_fast_" not in compile_source(f"{FIB} (println (fib 20))", "<test>", "program").python_text()


def test_python_sees_one_function() -> None:
    scope: dict[str, Any] = {"__name__": "numbers"}
    exec(compile_source(f"{FIB}", "<test>", "module").code, scope)
    assert [scope["fib"](value) for value in (10, 10.0)] == [55, 55.0]
    with pytest.raises(SemaTypeError):
        scope["fib"](True)
    assert scope["fib"].__name__ == "fib"


def test_a_global_that_python_sets_holds_anything() -> None:
    source = (
        "(define limit 5) (define (grow) (set! limit (+ limit 1))) "
        "(define (over xs) (foldl (fn (n x) (if (> x limit) (+ n 1) n)) 0 xs))"
    )
    answers = []
    for optimize in (True, False):
        scope: dict[str, Any] = {"__name__": "test"}
        exec(compile_source(source, "test.sema", "module", optimize=optimize).code, scope)
        for limit in (1, 2.5, "x", None):
            scope["limit"] = limit
            try:
                answers.append(scope["over"]([1, 2, 3]))
            except SemaTypeError as error:
                answers.append(str(error))
            try:
                scope["grow"]()
                answers.append(scope["limit"])
            except SemaTypeError as error:
                answers.append(str(error))
    assert answers[:8] == answers[8:]
    assert answers[:4] == [2, 2, 1, 3.5]
