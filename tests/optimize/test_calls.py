"""Calls of small functions become what these do, and nobody sees a difference but a faster program."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source

SEMA = [sys.executable, "-m", "semac.cli.entry"]
CELL = "(define (cell m i j) (nth (nth m i) j))\n"
PROGRAMS = {
    "third operands": "(define (f a b) (- b 1 (* b))) (list (try (f 1 nil) (catch e (:message e))) (f 0 1))",
    "operators without operands": "(define (f) (-)) (list (+) (*) (try (f) (catch e (:message e))))",
    "the frames of calls in calls": CELL
    + """(define (both m i) (+ (cell m i 0) (cell m i 5)))
         (define (total m) (let loop ((i 0) (s 0)) (if (= i 1) s (loop (+ i 1) (+ s (both m i))))))
         (try (total [[1 2]]) (catch e (:stack-trace e)))""",
    "an error in the second of two equal calls": CELL
    + "(define (f m) (for-each (fn (i) (cell m i 0) (cell m i 1)) '(0 1)))"
    " (try (f [[1 2] [3]]) (catch e (list (:message e) (:stack-trace e))))",
    "an argument that isn't used fails all the same": "(define (first-of a b) a)"
    " (try (map (fn (x) (first-of x (car x))) '(1)) (catch e (:message e)))",
    "arguments are computed once, from left to right": "(define seen '()) (define (note x) (set! seen (cons x seen)) x)"
    " (define (twice a b) (+ b a a b)) (define r (map (fn (x) (twice (note x) (note (* 10 x)))) '(1 2))) (list r seen)",
    "an argument that changes later": "(define (pair a b) (list a b)) (define n 1)"
    " (define (f) (pair n (begin (set! n 5) n))) (let loop ((i 0) (r '())) (if (= i 2) r (loop (+ i 1) (f))))",
    "a function that calls itself": "(define (down n) (if (= n 0) 0 (down (- n 1)))) (map down '(1 5))",
    "functions that call each other": "(define (ev? n) (if (= n 0) #t (od? (- n 1))))"
    " (define (od? n) (if (= n 0) #f (ev? (- n 1)))) (map ev? '(3 4))",
    "a function that isn't defined yet": "(define r (try (later 1) (catch e (:message e))))"
    " (define (later x) (+ x 1)) r",
    "a function that the program changes": "(define (f x) (+ x 1)) (define (g) (map (fn (x) (f x)) '(1)))"
    " (define a (g)) (set! f (fn (x) (* x 100))) (list a (g))",
    "the accessors of records": "(define-record-type point (make-point x y) point? (x px) (y py))"
    " (define (norm p) (+ (* (px p) (px p)) (py p)))"
    " (list (map (fn (p) (norm p)) (list (make-point 3 4)))"
    "       (try (map (fn (p) (norm p)) '(7)) (catch e (list (:message e) (:stack-trace e)))))",
    "choices and destructured values": "(define (sign x) (cond ((< x 0) :neg) ((= x 0) :zero) (else :pos)))"
    " (map (fn (x) (sign x)) '(-1 0 1))",
    "functions that a call hands to `map`": "(define (all f xs) (list (map f xs) (filter f xs)))"
    " (define (total key xs) (foldl + 0 (map key xs))) (define (both xs) (list (total :a xs) (total :b xs)))"
    " (list (all (fn (x) (if (> x 1) x #f)) '(1 2 3)) (all even? '(1 2)) (both (list {:a 1 :b 2} {:a 3 :b 4}))"
    " (total (fn (x) (* x x)) '(1 2)) (try (both (list 1)) (catch e (list (:message e) (:stack-trace e))))"
    " (try (total :a 5) (catch e (:message e))))",
    "a wrong number of arguments": "(define (two a b) a) (try (map (fn (x) (two x)) '(1)) (catch e (:message e)))",
}


DEEP = "".join(
    f"(define (f{n} x) (let loop ((i 0) (s 0)) (if (= i 1) s (loop (+ i 1) (+ s (f{n + 1} x))))))" for n in range(26)
)
PROGRAMS["loops of functions that are called once, deeper than Python nests"] = DEEP + "(define (f26 x) x) (f0 7)"


def answer(source: str, **options: Any) -> str:
    unit = compile_source(source, "test.sema", result=True, **options)
    scope: dict[str, Any] = {"__name__": "test"}
    exec(unit.code, scope)
    return to_text(scope[RESULT])


WAYS: list[tuple[str, dict[str, Any]]] = [
    (skipped, options)
    for skipped in ("", "calls", "loops")
    for options in ({"mode": "program"}, {"mode": "module"}, {"optimize": False})
]


@pytest.mark.parametrize("name", PROGRAMS)
def test_answers_and_traces_are_those_of_calls(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = set()
    for skipped, options in WAYS:
        monkeypatch.setenv("SEMA_SKIP", skipped)
        answers.add(answer(PROGRAMS[name], **options))  # at one place, which traces show
    assert len(answers) == 1


def test_a_small_function_is_not_called_in_a_loop() -> None:
    unit = compile_source(CELL + "(define (f m) (map (fn (i) (cell m i i)) (range 3)))", "test.sema", mode="program")
    (function,) = (value for value in unit.code.co_consts if getattr(value, "co_name", "") == "f")
    assert "cell" not in {name for code in (function, *function.co_consts) for name in getattr(code, "co_names", ())}


def test_a_keyword_that_a_call_hands_to_map_is_looked_up() -> None:
    text = "(define (mean key xs) (/ (foldl + 0.0 (map key xs)) (length xs))) (define (f n) (list (mean :a n) n))"
    code = compile_source(text + " (f (list {:a 1}))", "test.sema", mode="program").python_text()
    assert "map_(" not in code[code.index("def f(") :]


def test_the_report_of_an_error_shows_the_call(tmp_path: Path) -> None:
    program = tmp_path / "prog.sema"
    program.write_text(CELL + "(define (f m) (map (fn (i)\n  (cell m i i)) '(0 1)))\n(println (f [[1]]))\n")
    ran = subprocess.run([*SEMA, "prog.sema"], cwd=tmp_path, capture_output=True, text=True)
    lines = [line.strip() for line in ran.stderr.splitlines() if line.startswith("  at ")]
    assert lines[:2] == ["at nth (prog.sema:1:27)", "at cell (prog.sema:1:27)"]
    assert lines[2] == "at <lambda> (prog.sema:3:3)"
    assert lines[3].startswith("at f (prog.sema:2:")
