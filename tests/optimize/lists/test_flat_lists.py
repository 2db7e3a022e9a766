"""Lists of which types know that they have their items at hand: read by index, walked by index, spliced."""

from __future__ import annotations

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

WALK = (
    "(define (f xs ys) (let loop ((a xs) (b ys) (out '())) {body})) (f (list 1 4 6) (map (fn (x) (* x x)) (range 4)))"
)
INDEXED = [  # each loop holds an index
    WALK.format(
        body="(cond ((null? a) (append (reverse out) b)) ((null? b) (append (reverse out) a)) "
        "((< (car a) (car b)) (loop (cdr a) b (cons (car a) out))) (else (loop a (cdr b) (cons (car b) out))))"
    ),
    WALK.format(body="(if (and (pair? a) (pair? b)) (loop (cddr a) (cdr b) (cons (cadr a) out)) (list a b out))"),
    WALK.format(
        body="(if (null? b) (list (car a) (cadr a) (caddr a) (cdr a) out) "
        "(if (null? (cdr b)) (loop a (cdr b) (cons (cadr b) out)) (loop (cdr a) (cdr b) (cons (cadr b) out))))"
    ),
    "(define (run ts depth) (cond ((null? ts) depth) ((= (car ts) :up) (run (cdr ts) (+ depth 1))) "
    "((= (car ts) :skip) (run (cdr (cdr ts)) depth)) (else (list depth ts)))) "
    "(list (run (list :up :up) 0) (run (list :skip :up :up) 0) (run (list :up :down :up) 0) (run (list :skip) 5))",
    "(define (f xs) (let loop ((xs xs) (n 0)) (let ((more (cdr xs)) (first-item (car xs))) "
    "(if (null? more) (list n first-item more) (loop more (+ n (* first-item 10))))))) (f (list 1 2 3))",
    "(define (f xs) (let outer ((xs xs) (out '())) (if (null? xs) (reverse out) (let inner ((k 0)) "
    "(if (= k (car xs)) (outer (cdr xs) (cons k out)) (inner (+ k 1))))))) (f (list 2 0 3))",
    "(define (f t) (let loop ((cs (string->list t)) (n 0)) (cond ((null? cs) n) ((= (car cs) #\\a) (loop (cdr cs) (+ n 1)))"
    ' ((null? (cdr cs)) (list :last (car cs) n)) (else (loop (cddr cs) n))))) (list (f "aaba") (f "abc") (f "ab"))',
    "(define (f xs) (let loop ((xs xs) (n 0)) (if (or (null? xs) (> n 9)) xs (loop (cdr xs) (+ n (length xs)))))) (f (list 1 2 3))",
    WALK.format(
        body="(if (and (null? a) (empty? b)) (reverse out) (loop (if (null? a) a (cdr a)) (if (null? b) '() (rest b)) "
        "(cons [(if (null? a) 0 (car a)) (if (null? b) 0 (car b))] out)))"
    ),
    "(define (f xs) (let loop ((xs xs) (out '())) (if (null? xs) (reverse out) (let in ((ys (rest xs)) (n 1)) "
    "(if (and (not (null? ys)) (= (car ys) (car xs))) (in (rest ys) (+ n 1)) (loop ys (cons [(car xs) n] out)))))))"
    " (f (list 1 1 1 2 3 3))",
    "(define (f xs) (let loop ((xs xs) (out '())) (if (null? xs) (reverse out) (let ((left (let in ((ys (rest xs))) "
    "(if (and (not (null? ys)) (= (car ys) (car xs))) (in (rest ys)) ys)))) (loop left (cons (car xs) out))))))"
    " (f (list 1 1 1 2 3 3))",
    "(define (f xs) (let loop ((xs xs) (out '())) (if (null? xs) (reverse out) (loop (drop 3 xs) (cons (take 3 xs) out)))))"
    " (f (range 8))",
    "(define (f xs) (let loop ((xs xs) (n 0)) (if (null? xs) n (loop (rest xs) (+ n (nth xs 2)))))) "
    "(list (try (f (list 1 2 3 4)) (catch e (:message e))) (try (f (range 5)) (catch e (list (:message e) (:type e)))))",
    "(define (f xs n) (let loop ((xs xs) (out '())) (if (null? xs) out (loop (drop n xs) (cons (take n xs) out))))) "
    "(list (f (range 5) 2) (f (range 3) (length '(1 2))))",
    "(define (f xs) (let loop ((xs xs) (n 0)) (if (null? xs) n "
    "(loop (rest xs) (+ n (length (filter (fn (y) (< y (first xs))) (rest xs)))))))) (f (list 3 1 2 0))",
]
KEPT = [  # the list is wanted as it is in a round
    "(define (f xs) (let loop ((xs xs) (n 0)) (if (or (null? xs) (> n 9)) xs (loop (cdr xs) (+ n (foldl max 0 (map (fn (g) (g)) (list (fn () (car xs)))))))))) (f (list 1 2 3))",
    "(define (f xs) (let loop ((xs xs) (fs '())) (if (null? xs) (map (fn (g) (g)) fs) (loop (cdr xs) (cons (fn () xs) fs)))))"
    " (f (list 1 2 3))",
    "(define (f xs) (let loop ((xs xs)) (if (null? xs) 0 (if (= 1 (car xs)) (loop (list 5 6)) (loop (cdr xs)))))) (f (list 1 2 3))",
    "(define (f xs) (let loop ((xs xs) (seen '())) (if (null? xs) seen (loop (cdr xs) (cons xs seen))))) (f (list 1 2 3))",
]
READ = [
    "(define (f xs) (let loop ((xs xs) (n 0)) (if (null? xs) n "
    "(loop (cdr xs) (+ n (reduce (fn (a b) (if (> a b) a b)) (list 1 (car xs)))))))) (f (list 1 2 3))",
    "(define (f xs n) (if (null? xs) n (let ((m (reduce (fn (a b) (+ a b)) (list 1 2 n)))) (f (rest xs) m)))) (f (list 1 2) 0)",
    "(define (f xs n) (if (null? xs) n (let ((m (reduce (fn (a b) (+ a b)) xs))) (f (rest xs) (+ n m))))) (f (list 1 2 3) 0)",
    "(define (f n) (let loop ((xs (range 5)) (out '())) (if (null? xs) out (loop (drop n xs) (cons (take n xs) out))))) "
    "(list (f 2) (map (fn (n) (try (f n) (catch e (list (:message e) (:type e))))) (list 3 (* 4611686018427387904 4))))",
    WALK.format(
        body="(if (empty? b) (list a out) (loop (if (odd? (first b)) (rest a) a) (rest b) (cons (car a) out)))"
    ),
    '(define (f t i) (let ((parts (string/split t ","))) (list (nth parts i) (length parts) (first parts) (cadr parts) (caddr parts)))) '
    '(list (f "a,b,c" 2) (f "a" 0) (try (f "a" 3) (catch e (:message e))))',
    "(define (f n) (let ((xs (filter odd? (range n)))) (nth xs (- (length xs) 1)))) (list (f 5) (f 8))",
    "(define (f n) (let ((xs (filter odd? (range n)))) (try (nth xs n) (catch e (:message e))))) (list (f 5) (f 8))",
    "(define (f n) (nth (filter odd? (range n)) (* n 2))) (try (f 5) (catch e (list (:message e) (:type e))))",
    "(define (f xs) (let ((more (rest xs))) (list (map (fn (x) (* x x)) more) (length (filter odd? more))))) (f (list 3 4 5))",
    "(define (f xs) (append (list 0) (map - xs) [1 2] (cdr xs) (list))) (f (list 5 6))",
    "(define (f xs) (append xs xs (reverse xs))) (list (f (cons 1 (list 2))) (f '()))",
    "(define (f x) (let ((make list) (join append)) (car (join (make x) (make 2))))) (f 1)",
    "(append (rest (car (partition even? '(1 2 3 4)))) '(7))",
    "(define (f xs) (let ((ys (car (partition even? xs)))) (append (cdr ys) (rest (reverse ys))))) (f (range 9))",
    "(define (f) (map (fn (e) (let (([k v] e)) (list v k))) (map/entries {:a 1 :b 2}))) (f)",
    "(define (f . more) (list (length more) (nth more 1) (apply + more) (apply max more))) (f 4 9 2)",
    "(define (f xs) (list (try (apply max xs) (catch e (:message e))) (apply + xs))) (list (f (filter odd? (list 2))) (f (list 3 9)))",
    '(define (f n) (string/join (map (fn (i) (str i ":" (* i i))) (range n)) ", ")) (list (f 3) (f 0))',
    "(define (f xs) (list->vector (map (fn (x) (+ x 1)) (vector->list xs)))) (f [1 2 3])",
    "(define (f t i) (list (substring t i (+ i 1)) (substring t 0 i) (substring t i))) "
    '(list (f "abc" 1) (try (f "abc" 3) (catch e (:message e))) (try (f "abc" 7) (catch e (:message e))))',
    "(define (f x) (list (string? x) (number? x) (symbol? x) (list? x) (vector? x) (char? x) (integer? x) (bool? x)))"
    " (map f (list 1 1.5 2.0 \"a\" 'a '() [1] #\\a #t nil 1/2 {} :k))",
]


@pytest.mark.parametrize("source", [*INDEXED, *KEPT, *READ])
def test_answers_are_those_of_plain_code(source: str) -> None:
    plain = run(source, optimize=False)
    for mode in ("program", "module"):
        assert run(source, mode=mode, watch=Verifier()) == plain


FILLED = [  # the first item is there, so nobody asks
    "(define (f n) (let loop ((i 0) (rows (list [0 1]))) (if (= i n) rows "
    "(loop (+ i 1) (cons (map (fn (x) (+ x i)) (first rows)) rows))))) (f 3)",
    "(define (f xs) (foldl (fn (out x) (if (odd? x) (cons (+ x (first out)) out) out)) '(1) xs)) (f (range 6))",
    "(define (f n) (let* ((xs (cons n (range n))) (ys (reverse (map (fn (x) (* x x)) xs)))) (+ 1 (first ys)))) (f 4)",
    "(define (f b) (let ((xs (if b (list 1 2) (append '(3) (range 2))))) (+ 1 (first xs)))) (list (f #t) (f #f))",
]
EMPTIED = [
    "(define (f n) (let loop ((i 0) (xs (list 1 2))) (if (= i n) (first xs) (loop (+ i 1) (rest xs))))) (list (f 1) (f 2) (f 5))",
    "(define (f xs) (let loop ((i 0) (ys (cons 1 xs))) (if (= i 2) (first ys) (loop (+ i 1) (filter even? ys))))) (f (list 3 4))",
    "(define (f xs) (first (map (fn (x) (* x x)) xs))) (list (f '()) (f (list 3)))",
]


@pytest.mark.parametrize("source", FILLED)
def test_lists_that_have_an_item_are_not_asked(source: str) -> None:
    text = python(source)
    assert "None" not in text and "first(" not in text
    assert run(source, watch=Verifier()) == run(source, optimize=False)


@pytest.mark.parametrize("source", EMPTIED)
def test_lists_that_may_be_empty_are_asked(source: str) -> None:
    for mode in ("program", "module"):
        assert run(source, mode=mode, watch=Verifier()) == run(source, optimize=False)


@pytest.mark.parametrize("source", INDEXED)
def test_a_loop_down_a_flat_list_holds_an_index(source: str) -> None:
    text = python(source)
    assert "at = 0" in text and ".next" not in text


def test_a_loop_down_a_list_may_have_a_fold_without_a_first_value() -> None:
    source = "(define (f xs) (let loop ((i xs)) (reduce + i))) (list (try (f 1) (catch e (:message e))) (f (list 1 2)))"
    assert run(source) == run(source, optimize=False)


@pytest.mark.parametrize("source", KEPT)
def test_a_list_that_is_handed_on_stays_a_list(source: str) -> None:
    assert "at = 0" not in python(source)


def test_walking_a_long_list_twice_is_linear() -> None:
    source = (
        "(define (skip xs) (if (and (pair? xs) (> (car xs) 0)) (skip (cdr xs)) xs)) "
        "(define (count-runs xs n) (if (null? xs) n (count-runs (skip (cdr xs)) (+ n 1)))) "
        "(count-runs (map (fn (i) (mod i 3)) (range 300000)) 0)"
    )
    assert run(source, mode="program") == "100000"


def test_the_check_of_types_knows_flat_lists() -> None:
    from sema_runtime.values.lists import List, cons
    from semac.anf.assertions import admits
    from semac.types.lattice import ANY, FLAT, make

    flat = make(FLAT, item=ANY)
    consed = cons(1, List([2]))
    assert admits(flat, List([1])) and not admits(flat, consed)
    assert len(consed) == 2 and not admits(flat, consed)  # its items are a cache, which it may lose


@pytest.mark.parametrize(
    ("source", "loops"),
    [
        ("(define (f n) (flat-map (fn (x) (map (fn (y) [x y]) (range x))) (range n))) (f 4)", 1),
        ("(define (f n) (flat-map (fn (x) (flat-map (fn (y) (map (fn (z) (* x y z)) (list 1 2))) (range x))) (range n))) (f 4)", 1),
        ("(define (f n) (map (fn (g) (g)) (flat-map (fn (x) (map (fn (y) (fn () (+ x y))) (range x))) (range n)))) (f 3)", 0),
        ("(define (f xs) (flat-map (fn (x) (map (fn (y) (quotient 6 y)) (list x (- x 2)))) xs)) (try (f (range 1 4)) (catch e (:message e)))", 1),
    ],
)  # fmt: skip
def test_lists_of_lists_are_made_by_one_comprehension(source: str, loops: int) -> None:
    assert python(source).count(" in [") == 0
    assert run(source, watch=Verifier()) == run(source, optimize=False)
    assert loops == 0 or "part" not in python(source)


RESTS_AS_INDICES = (
    '(define names (list "x" "y" "z")) (define (f i) (list (nth ["a" "b"] (mod i 2)) (nth names (mod (* i 7) 3)) '
    "(nth names (remainder (* i i) 3)))) (map f (range 5))",
    '(define (f i) (try (nth ["a" "b"] (mod i 3)) (catch e (:message e)))) (map f (list 0 1 2 -1 -2 2.5 nil))',
    '(define (f i) (try (nth ["a" "b"] (remainder i 2)) (catch e (:message e)))) (map f (list 0 1 -1 -2))',
)


@pytest.mark.parametrize("source", RESTS_AS_INDICES)
def test_what_is_left_of_a_division_is_an_index(source: str) -> None:
    for mode in ("program", "module"):
        assert run(source, mode=mode, watch=Verifier()) == run(source, optimize=False)


def test_an_index_that_surely_fits_is_not_asked() -> None:
    text = python(RESTS_AS_INDICES[0])
    assert "nth(" not in text and "len(" not in text
