"""Lists that are only taken apart are tuples, and programs answer as before."""

from __future__ import annotations

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

TUPLES = [
    "(define (pairs n) (map (fn (i) (list i (* i i))) (range n))) "
    "(foldl (fn (s p) (+ s (first p) (cadr p))) 0 (filter (fn (p) (odd? (first p))) (pairs 6)))",
    "(define (best m) (foldl (fn (b e) (if (or (nil? b) (> (cadr e) (cadr b))) e b)) nil (map/entries m))) "
    "(list (first (best {:a 3 :b 5})) (first (best {1 2})))",
    '(define counts (foldl (fn (m w) (assoc m w (+ 1 (get m w 0)))) {} (string/split "a b a c a b" " "))) '
    "(map first (take 2 (sort-by (fn (e) (- 0 (nth e 1))) (map/entries counts))))",
    "(define (tree n) (if (= n 0) nil (list (tree (- n 1)) n (tree (- n 1))))) "
    "(define (sum t) (if (nil? t) 0 (+ (sum (nth t 0)) (nth t 1) (sum (nth t 2))))) (sum (tree 4))",
    "(define (f xs) (foldl (fn (s x) (+ s (foldl + 0 x))) 0 (map (fn (x) (list x 1 2)) xs))) (f '(1 2))",
    "(define (queue n) (let loop ((q (list (list 0 n))) (out '())) (if (null? q) (reverse out) "
    "(let (([d k] (first q))) (if (= k 0) (loop (rest q) (cons d out)) "
    "(loop (append (rest q) (list (list (+ d 1) (- k 1)))) (cons d out))))))) "
    "(queue 3)",
    "(define (f rows) (map cadr rows)) (f (map (fn (x) (list x (* 2 x))) (range 3)))",
]
BEST = (
    "(define (rows n) (map (fn (i) (list i (* i 2) (* i 3))) (range n))) "
    "(define (best rs) (foldl (fn (b r) (if (or (nil? b) (> (caddr r) (caddr b))) r b)) nil rs)) "
    "(define (f n) (let ((b (best (rows n)))) (try (list (first b) (cadr b) (caddr b)) (catch e (:message e))))) "
)
TUPLES += [BEST + "(f 4)", BEST + "(f 0)"]
TUPLES += [  # compared with each other, written out, sorted
    "(define (walk n) (let loop ((i 0) (p (list 0 0)) (seen {})) (if (= i n) (list (count seen) (first p)) "
    "(let ((q (list (mod (+ i (first p)) 3) (mod (* i (cadr p)) 2)))) "
    "(if (= p q) (loop (+ i 1) p seen) (loop (+ i 1) q (assoc seen q i))))))) (walk 9)",
    "(define steps '((1 0) (0 1) (-1 0))) (define (near p) (map (fn (d) (list (+ (first p) (first d)) "
    "(+ (cadr p) (cadr d)))) steps)) (define (go p n) (if (= n 0) {p 1} (foldl (fn (m q) (assoc m q n)) "
    "(go (first (near p)) (- n 1)) (near p)))) (count (go '(0 0) 3))",
    "(define (f n) (sort (map (fn (i) (list (mod i 3) i)) (range n)) (fn (a b) (> (cadr a) (cadr b))))) "
    "(map (fn ([a b]) (+ a b)) (f 5))",
    "(define m (foldl (fn (m i) (map/update m (list (mod i 3) 1) (fn (n) (+ 1 (or n 0))))) {} (range 7))) "
    "(map (fn ([[a _] n]) (+ a n)) (sort-by (fn ([p n]) [(- n) p]) (map/entries m)))",
    "(define (f n) (apply append (map (fn (i) (list (list i 1) (list 2 i))) (range n)))) "
    "(foldl (fn (s p) (+ s (first p) (cadr p))) 0 (f 4))",
    "(define (f n) (let ((p (list n 1))) (list (= p '(1 1)) (first p)))) (list (f 1) (f 2))",
    "(define (f n) (let ((p (list n 1.0)) (q (list 1 1))) (list (= p q) (equal? p p) (first p)))) (f 1)",
]
SEEN = [  # somebody would notice, or variables hold the parts
    "(define (split xs) (let loop ((xs xs) (a '()) (b '())) (if (null? xs) (list a b) "
    "(loop (cdr xs) (cons (car xs) b) a)))) (define (f xs) (let (([a b] (split xs))) (+ (length a) (length b)))) "
    "(list (f '(1 2 3)) (length (nth (split '(1)) 1)))",
    "(define (step s x) (list (+ x (first s)) (cons x (cadr s)))) "
    "(let ((s (foldl step (list 0 '()) (range 4)))) (list (first s) (reverse (cadr s))))",
    "(define (f n) (let ((row (list n (list n 2)))) (let (([a inner] row)) (+ a (length inner) (cadr inner))))) (f 3)",
    "(define (f n) (map (fn (i) (list i i)) (range n))) (println (f 2))",
    "(define (f n) (let ((p (list n 1))) (list (list? p) (vector? p) (first p)))) (f 1)",
    "(define (f n) (= (list n 1) '(1 1))) (f 1)",
    "(define (f n) (let ((p (list n 1))) (cdr p))) (f 1)",
    "(define (f n) (get {(list 1 2) :there} (list n 2))) (f 1)",
    "(define (f n) (let ((m (assoc {} (list n 2) :there))) (list (get m '(1 2)) (keys m)))) (f 1)",
    "(define (f n) (try (throw (list n 2)) (catch e (:value e)))) (f 1)",
    "(define (f n) (let ((g (fn (x) (list x 2)))) (map g (range n)))) (f 2)",
    "(define (f n) (match (list n 2) ([a b] (+ a b)) (_ 0))) (f 1)",
    "(define (f n) (str (list n 2))) (f 1)",
    "(define (f c) (let ((p (if c (list 1 2) (list 1 2 3)))) (try (nth p 2) (catch e (:message e))))) "
    "(list (f #t) (f #f))",
    "(define (f n) (try (+ 1 (list n 2)) (catch e (:message e)))) (f 1)",
    "(define (f n) (try (string-length (list n 2)) (catch e (:message e)))) (f 1)",
    "(define (f n) (apply + (list n 2))) (f 1)",
    "(define (f n) (sort (list (list n 2) (list 0 5)))) (f 1)",
    "(define (f n) (let ((p (list n 2))) (set! p (cons 0 p)) p)) (f 1)",
    "(define (f n) (flatten (list (list n 2) (list 3 4)))) (f 1)",
    "(define rows (map (fn (x) (list x 1)) (range 2))) (define (show xs) xs) (println (map show rows))",
    "(define (f n) (let (([a & others] (list n 2 3))) others)) (f 1)",
    "(define (f g n) (g (list n 2))) (list (f first 1) (f (fn (x) x) 2))",
    "(define (f n) (let ((e (first (map/entries {n 2})))) (list e (first e)))) (f 1)",
    "(define-record-type r (mk x) r? (x rx)) (define (f n) (rx (mk (list n 2)))) (f 1)",
    "(define (f n) (let ((c (channel/new 1))) (channel/send c (list n 2)) (channel/recv c))) (f 1)",
    "(define (f n) (append (list n 2) (list 3))) (f 1)",
    "(define (f n) (= (list n 1) [1 1])) (f 1)",
    "(define (f n) (let ((p (list n 1))) (list (first p) (= p [1 1]) (= p '(1 1)) (= p :a) (= p nil)))) (f 1)",
    "(define (f x) (let ((p (list 1 2))) (list (first p) (= p x)))) (list (f '(1 2)) (f [1 2]) (f 3))",
    "(define pairs '((1 2) (3 4))) (println pairs) (map first pairs)",
    "(define (f x) (get {'(1 2) :there} x)) (list (f [1 2]) (f (list 1 2)))",
    "(define (f n) (try (sort (list (list n 2) (list 0 5)) <) (catch e (:message e)))) (f 1)",
    "(define (f n) (sort (list (list n 2) (list 0 5)) (fn (a b) (list? a)))) (f 1)",
    "(define (f n) (try (apply append (list (list n 2) 3)) (catch e (:message e)))) (f 1)",
    "(define (f n) (apply append (list (list n 2) (list 3 4)))) (f 1)",
    "(define (f n) (try (foldl (fn (m e) (+ m (cadr e))) 0 (map/entries (list n))) (catch e (:message e)))) (f 1)",
    "(define (f n) (try (map/entries (list n)) (catch e (:message e)))) (f 1)",
    "(define (f n) (try (for-each (fn (x y) x) (list n 2) 5) (catch e (:message e)))) (f 1)",
    "(define (f n) (flat-map (fn (i) (list i i)) (range n))) (f 2)",
    "(define (f n) (let ((h (hash-map :p (list n 2)))) (:p h))) (f 1)",
    "(define (f n) (map (fn (x y) (list x y)) (range n) (range n))) (f 2)",
]


@pytest.mark.parametrize("source", [*TUPLES, *SEEN])
def test_answers_are_those_of_plain_code(source: str, capsys: pytest.CaptureFixture[str]) -> None:
    plain = run(source, optimize=False)
    printed = capsys.readouterr().out
    for mode in ("program", "module"):
        assert run(source, mode=mode, watch=Verifier()) == plain
        assert capsys.readouterr().out == printed


@pytest.mark.parametrize("source", TUPLES)
def test_rows_are_tuples(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with_tuples = python(source)
    monkeypatch.setenv("SEMA_SKIP", "rows")
    without = python(source)
    assert with_tuples != without
    assert "map_entries(" not in with_tuples
