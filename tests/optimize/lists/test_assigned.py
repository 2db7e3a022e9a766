"""Maps and lists of variables under `set!` change in place where nobody has what the variable held before."""

from __future__ import annotations

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

IN_PLACE = [
    "(define (tally xs) (let ((m {})) (for-each (fn (x) (set! m (assoc m x (+ 1 (get m x 0))))) xs) m)) (tally '(1 2 1))",
    "(define (grid n) (let ((m {})) (for-range (x 0 n) (for-range (y 0 n) (unless (contains? m [y x]) "
    "(set! m (assoc m [x y] 1))))) (count m))) (grid 3)",
    "(define (seen n) (let ((m {}) (k 0)) (for-range (x 0 n) (unless (contains? m (mod x 7)) (set! m (assoc m (mod x 7) x)) "
    "(set! k (+ k 1)))) (list m k))) (seen 10)",
    "(define (rev xs) (let ((acc '())) (for-each (fn (x) (set! acc (cons (* x 2) acc))) xs) (reverse acc))) (rev '(1 2))",
    "(define (runs xs) (let ((run '()) (out '())) (for-each (fn (x) (if (= x 0) (begin (set! out (cons (reverse run) out)) "
    "(set! run '())) (set! run (cons x run)))) xs) (reverse (cons (reverse run) out)))) (runs '(1 2 0 3 0 4))",
    "(define (walk n) (let ((stack (list 0)) (seen {}) (order '())) (while (not (null? stack)) (let ((x (car stack))) "
    "(set! stack (cdr stack)) (unless (contains? seen x) (set! seen (assoc seen x #t)) (set! order (cons x order)) "
    "(for-each (fn (y) (set! stack (cons (mod (+ x y) n) stack))) (list 1 3 5))))) (reverse order))) (walk 12)",
    "(define (f n) (let ((m {})) (for-range (i 0 n) (let ((next (assoc m i i))) (set! m next))) (dissoc m 0))) (f 3)",
    "(define (f n) (let ((m {}) (old nil)) (for-range (i 0 n) (set! m (assoc m i i))) (set! m {}) (set! m (assoc m :a 1)) m)) "
    "(f 3)",
]
GLOBAL = [
    "(define known (assoc {} 1 1)) (define (fib n) (or (get known n) (let ((v (+ (fib (- n 1)) (fib (- n 2))))) "
    "(set! known (assoc known n v)) v))) (set! known (assoc known 0 0)) (list (fib 20) (count known))",
    "(define seen {}) (define (note x) (set! seen (assoc seen x (+ 1 (get seen x 0))))) (for-each note '(1 2 1)) "
    "(sort-by (fn (e) (- 0 (cadr e))) (map/entries seen))",
]
KEPT = [  # something still has what the variable held
    "(define (f n) (let ((m {}) (old '())) (for-range (i 0 n) (set! old (cons m old)) (set! m (assoc m i i))) (list m old)))"
    " (f 3)",
    "(define (f n) (let ((m {}) (o {})) (for-range (i 0 n) (set! m (assoc m i i)) (when (= i 1) (set! o m))) (list m o))) (f 4)",
    "(define (f n) (let ((m {}) (fs '())) (for-range (i 0 n) (set! fs (cons (fn () m) fs)) (set! m (assoc m i i))) "
    "(map (fn (g) (g)) fs))) (f 3)",
    "(define (f n) (let ((m {})) (try (for-range (i 0 n) (set! m (assoc m i (if (= i 2) (throw 1) i)))) (catch e 0)) m)) (f 4)",
    "(define (f n) (let ((m {:a 1})) (try (begin (set! m (let ((r (assoc m :b 2))) (when (> n 2) (throw r)) r))) (catch e 0)) m))"
    " (list (f 1) (f 3))",
    "(define (f n) (let ((m {0 1})) (for-each (fn (k) (set! m (assoc m (+ k 5) k))) (keys m)) m)) (f 1)",
    "(define (f) (let ((l (list 1 2))) (for-each (fn (x) (set! l (cons x l))) l) l)) (f)",
    "(define (f n) (let ((m {}) (before {})) (for-range (i 0 n) (set! before m) (set! m (assoc m i i))) (list before m))) (f 3)",
    "(define (f n) (let* ((m {:a 1}) (x m)) (set! m (assoc m :b n)) (list x m))) (f 2)",
    "(define (f n) (let ((m {:a 1})) (let ((r (assoc m :b n))) (when (> n 1) (set! m r)) (list (count m) r)))) (list (f 1) (f 2))",
    "(define (f n) (let ((m {}) (l '())) (for-range (i 0 n) (set! l (cons i l)) (set! m (assoc m i l))) (list m l))) (f 3)",
    "(define (f n) (let ((a {}) (b {})) (for-range (i 0 n) (let ((c a)) (set! a (assoc b i i)) (set! b c))) (list a b))) (f 4)",
    "(define (f k) (let ((m (assoc {} :a k))) (match m ({:a x} when (= 2 (count (assoc m :z 1))) :no) ({:z z} z) (_ :none))))"
    " (list (f 1) (f 2))",
    "(define (f k) (let ((m (assoc {} :a k))) (match m ({:a x} when (= 5 (count (assoc m :z 1))) :no) ({:z z} z) (_ :none))))"
    " (list (f 1) (f 2))",
    "(define (f n) (let ((m {})) (set! m (assoc m :x (begin (set! m (assoc m :y 1)) n))) m)) (f 1)",
    "(define (f n) (let ((m {})) (set! m (assoc (begin (set! m (assoc m :y 1)) m) :x (count m))) m)) (f 1)",
]  # fmt: skip


@pytest.mark.parametrize("source", [*IN_PLACE, *GLOBAL, *KEPT])
def test_answers_are_those_of_plain_code(source: str) -> None:
    plain = run(source, optimize=False)
    for mode in ("program", "module"):
        assert run(source, mode=mode, watch=Verifier()) == plain


@pytest.mark.parametrize("source", [*IN_PLACE, *GLOBAL])
def test_what_nobody_else_has_changes_in_place(source: str) -> None:
    text = python(source)
    assert "with_entry(" not in text
    assert "cons(" not in text


def test_a_count_reads_as_a_person_writes_it() -> None:
    assert "m[x] = 1 + m.get(x, 0)" in python(IN_PLACE[0])
    assert "x = stack.pop() if stack else None" in python(IN_PLACE[5])


LOOPS = [
    (
        "(define (f n) (let ((m n) (k 0)) (while (> m 0) (set! m (- m 1)) (for-range (i 0 m) (set! k (+ k i)))) k)) (f 5)",
        1,
    ),
    (
        "(define (f n) (let ((m n) (k 0)) (for-range (i 0 m) (when (= i 1) (set! m (+ m 1))) (set! k (+ k 1))) k)) (f 3)",
        0,
    ),
    ("(define (f n) (let* ((m n) (k 0) (g (fn () (set! m 2)))) (for-range (i 0 m) (g) (set! k (+ k 1))) k)) (f 5)", 0),
]


@pytest.mark.parametrize(("source", "ranges"), LOOPS)
def test_a_loop_counts_to_a_variable_that_it_leaves_alone(source: str, ranges: int) -> None:
    assert run(source, mode="program", watch=Verifier()) == run(source, optimize=False)
    assert python(source).count("range(") == ranges
