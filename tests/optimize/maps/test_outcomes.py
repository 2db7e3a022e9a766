"""Loops that go on with what a `try` gives: the handler goes on by itself, the state changes in place."""

from __future__ import annotations

import pytest
from outcomes import python, run

STEP = (
    "(define (take-from bank id n) (let ((b (get bank id 0))) (if (< b n) (throw {:code :funds :id id})"
    " (assoc bank id (- b n)))))"
)
START = "(define (start) (foldl (fn (m i) (assoc m i (* 3 i))) {} (range 5)))"
LOOPS = {
    "outcomes in maps": (
        "(define (run n) (let loop ((i 0) (bank (start)) (bad 0)) (if (= i n) (list bank bad)"
        " (let ((r (try {:ok (take-from bank (mod i 5) i)} (catch e {:error (:value e)}))))"
        " (if (:ok r) (loop (+ i 1) (:ok r) bad) (loop (+ i 1) bank (+ bad 1)))))))"
    ),
    "nil for a failure": (
        "(define (run n) (let loop ((i 0) (bank (start)) (bad 0)) (if (= i n) (list bank bad)"
        " (let ((next (try (take-from bank (mod i 5) i) (catch e nil))))"
        " (if next (loop (+ i 1) next bad) (loop (+ i 1) bank (+ bad 1)))))))"
    ),
    "kinds of failures": (
        "(define (run n) (let loop ((i 0) (bank (start)) (bad (list))) (if (>= i n) (list bank bad)"
        " (let ((r (try {:status :done :bank (take-from bank (mod i 5) i)} (catch e (if (> i 7) {:status :late}"
        " {:status :no :id (:id (:value e))}))))) (case (:status r) ((:done) (loop (+ i 1) (:bank r) bad))"
        " ((:no) (loop (+ i 1) bank (cons (:id r) bad))) (else (loop (+ i 2) bank (cons :late bad))))))))"
    ),
    "a failure that ends the loop": (
        "(define (run n) (let loop ((i 0) (bank (start))) (if (= i n) bank"
        " (let ((r (try {:ok (take-from bank (mod i 5) i)} (catch e {:error (:value e)}))))"
        " (if (:ok r) (loop (+ i 1) (:ok r)) (list i (:error r) bank))))))"
    ),
    "the old state in a list": (
        "(define (run n) (let loop ((i 0) (bank (start)) (seen '())) (if (= i n) (list bank seen)"
        " (let ((r (try {:ok (take-from bank (mod i 5) i)} (catch e {:error e}))))"
        " (if (:ok r) (loop (+ i 1) (:ok r) seen) (loop (+ i 1) bank (cons bank seen)))))))"
    ),
    "an error in the branch of the failure": (
        "(define (go n) (let loop ((i 0) (bank (start)) (bad 0)) (if (= i n) (list bank bad)"
        " (let ((r (try {:ok (take-from bank (mod i 5) i)} (catch e {:error (:value e)}))))"
        " (if (:ok r) (loop (+ i 1) (:ok r) bad) (loop (+ i 1) bank (quotient 1 (- 1 bad))))))))"
        " (define (run n) (try (go n) (catch e (:message e))))"
    ),
    "a value that may be nil": (
        "(define (run n) (let loop ((i 0) (bank (start)) (bad 0)) (if (= i n) (list bank bad)"
        " (let ((r (try {:ok (if (= i 3) nil (take-from bank (mod i 5) i))} (catch e {:error (:value e)}))))"
        " (if (:ok r) (loop (+ i 1) (:ok r) bad) (loop (+ i 1) bank (+ bad 1)))))))"
    ),
    "an outcome that a function keeps": (
        "(define kept '()) (define (run n) (let loop ((i 0) (bank (start)) (bad 0)) (if (= i n)"
        " (list bank bad (map (fn (f) (f)) kept))"
        " (let ((r (try {:ok (take-from bank (mod i 5) i)} (catch e {:error (:value e)}))))"
        " (set! kept (cons (fn () (or (:error r) i)) kept))"
        " (if (:ok r) (loop (+ i 1) (:ok r) bad) (loop (+ i 1) bank (+ bad 1)))))))"
    ),
}


def program(name: str) -> str:
    return f"{STEP} {START} {LOOPS[name]} (list (run 0) (run 4) (run 9))"


@pytest.mark.parametrize("name", LOOPS)
@pytest.mark.parametrize("skipped", ["", "threads", "decided", "inplace", "fields"])
def test_answers_are_those_of_plain_code(name: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run(program(name), optimize=False)
    monkeypatch.setenv("SEMA_SKIP", skipped)
    for mode in ("program", "module"):
        assert run(program(name), mode=mode) == plain


@pytest.mark.parametrize("name", ["outcomes in maps", "nil for a failure"])
def test_the_state_changes_in_place(name: str) -> None:
    """Of a loop over what surely is a map when the body of the `try` ends."""
    text = python(program(name)).split("def run(")[1].split("\n\n\n")[0]
    assert "in range(n):" in text and "continue" in text and "Map({kw_ok" not in text
    assert "Owner()" in text.split("for ")[0]


def test_tests_of_one_outcome_are_gone() -> None:
    text = python("(define (f n) (let ((m (assoc {} :n n))) (if m (count m) (println :never)))) (f 3)")
    assert "never" not in text


PIVOT = (
    "(define (pivot rows) (foldl (fn (t r) (update-in t [(first r) (nth r 1)] (fn (n) (+ 1 (or n 0))))) {} rows))"
    " (define (totals t) (map (fn (inner) (foldl + 0 (vals inner))) (vals t)))"
    " (define (show t) (list (totals t) t))"
    " (list (map (fn (k) (show (pivot (list [k 1] [k 1] [2 k])))) (range 3)) (show (pivot (list [1 1]))))"
)


def test_a_function_that_is_given_no_maps_owns_what_it_makes() -> None:
    """Others see the inner maps when it has returned, while it may run once more."""
    plain = run(PIVOT, optimize=False)
    for mode in ("program", "module"):
        assert run(PIVOT, mode=mode) == plain
    text = python(PIVOT)
    assert "put(owner" in text and "Owner()" in text.split("def pivot(")[1].split("for ")[0]
