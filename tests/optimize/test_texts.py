"""Characters are texts of length one inside, and characters wherever anybody sees them."""

from __future__ import annotations

from typing import Any

import pytest
from outcomes import python, run

from semac.verify.unit import Verifier

AS_TEXTS = [
    '(define (f t) (list->string (map char-upcase (string->list t)))) (f "aß!z")',
    '(define (f t) (list->string (filter char-alphabetic? (string->list t)))) (f "a1 b-é")',
    "(define (f t n) (list->string (map (fn (c) (let ((k (char->integer c))) (if (<= 97 k 122) "
    '(integer->char (+ 97 (mod (+ (- k 97) n) 26))) c))) (string->list t)))) (list (f "xyz!" 3) (f "abc" -1))',
    "(define (f t) (let loop ((i 0) (n 0)) (if (= i (string-length t)) n (loop (+ i 1) "
    '(if (= (string-ref t i) #\\a) (+ n 1) n))))) (list (f "banana") (f ""))',
    "(define (f t) (let loop ((i 0) (out '())) (if (= i (string-length t)) (list->string (reverse out)) "
    '(loop (+ i 1) (cons (char-downcase (string-ref t i)) out))))) (f "HeLLo")',
    '(define (f t) (foldl (fn (h c) (mod (+ (* 31 h) (char->integer c)) 1009)) 7 (string->list t))) (f "hash")',
    "(define (f t) (let loop ((cs (string->list t)) (depth 0)) (cond ((null? cs) depth) ((= (car cs) #\\() "
    "(loop (cdr cs) (+ depth 1))) ((= (car cs) #\\)) (loop (cdr cs) (- depth 1))) ((= (car cs) #\\!) 99) "
    '(else (loop (cdr cs) depth))))) (list (f "(a(b") (f "x!"))',
    "(define (f t i) (let ((c (string-ref t i))) (cond ((char<? c #\\b) :low) ((char>=? c #\\x) :high) "
    '((eq? c #\\m) :mid) (else (char->string c))))) (list (f "amxq" 0) (f "amxq" 1) (f "amxq" 2) (f "amxq" 3))',
    '(define (f t) (for-each (fn (c) (when (char-numeric? c) (println (char->string c)))) (string->list t))) (f "a1b2")',
    '(define (f t) (every (fn (c) (or (char-numeric? c) (= c #\\-))) (string->list t))) (list (f "1-2") (f "1a"))',
    # reversed in one function, joined in another
    "(define (f t) (let loop ((i 0) (out '())) (if (= i (string-length t)) (let ((r (reverse out))) "
    "(fn () (list->string r))) (loop (+ i 1) (cons (char-downcase (string-ref t i)) out))))) "
    '(list ((f "HeLLo")) ((f "")))',
    # taken from a text, put in another order and joined or counted
    '(define (f t) (list->string (sort (string->list t)))) (list (f "hello") (f "") (f "bäa€"))',
    '(define (f t) (list->string (reverse (sort (string->list t))))) (f "hello")',
    '(define (f t) (length (filter (fn (c) (member c \'(#\\a #\\e))) (string->list t)))) (list (f "tea") (f ""))',
    '(define (f t) (list->string (filter (fn (c) (not (member c \'(#\\a #\\e)))) (string->list t)))) (f "teacup")',
    '(define (f t) (any (fn (c) (member c \'())) (string->list t))) (list (f "tea") (f ""))',
    # two at a time, and with their places
    "(define (f a b) (foldl + 0 (map (fn (x y) (if (= x y) 0 1)) (string->list a) (string->list b)))) "
    '(list (f "karolin" "kathrin") (f "abc" "") (f "ab" "abc"))',
    "(define (f a b) (foldl (fn (n p) (let (([x y] p)) (if (= x y) n (+ n 1)))) 0 "
    '(map list (string->list a) (string->list b)))) (list (f "karolin" "kathrin") (f "" "a"))',
    "(define (f t) (foldl (fn (found e) (let (([i c] e)) (if (= c #\\a) (cons i found) found))) '() "
    '(enumerate (string->list t)))) (list (f "banana") (f ""))',
    # as keys of maps that nobody sees
    "(define (f t) (let loop ((i 0) (seen {})) (cond ((= i (string-length t)) nil) ((contains? seen (string-ref t i)) i) "
    '(else (loop (+ i 1) (assoc seen (string-ref t i) i)))))) (list (f "abcadb") (f "abc") (f ""))',
    "(define (f a b) (let ((m (foldl (fn (m c) (assoc m c (+ 1 (get m c 0)))) {#\\a 1} (string->list a)))) "
    '(foldl (fn (n c) (if (= c #\\b) n (+ n (get m c 0)))) 0 (string->list b)))) (list (f "banana" "nab") (f "" "ab"))',
]
SHOWN = [
    '(define (f t) (map (fn (c) (if (= c #\\a) c #\\z)) (string->list t))) (f "abc")',
    '(define (f t) (let ((c (string-ref t 0))) (list c (= c #\\a) {c 1} [c] (str c)))) (f "abc")',
    '(define (f t) (frequencies (filter char-alphabetic? (string->list t)))) (f "aba1")',
    "(define (f t i) (try (char->integer (string-ref t i)) (catch e (list (:message e) (:type e))))) "
    '(list (f "abc" 1) (f "abc" 3) (f "abc" -1))',
    "(define (f n) (try (list->string (list (integer->char n))) (catch e (:message e)))) (list (f 97) (f 55296) (f -5) (f 1114112))",
    "(define (f n) (try (char->string (integer->char n)) (catch e (:message e)))) (list (f 97) (f 55296) (f -5) (f 1114112))",
    "(define (f t) (let loop ((i 0) (last #\\space) (out '())) (if (= i (string-length t)) (list last (reverse out)) "
    '(let ((c (string-ref t i))) (loop (+ i 1) c (if (= c last) out (cons c out))))))) (f "aabba")',
    '(define (f t) (let ((cs (string->list t))) (list (list->string (map char-upcase cs)) (length cs) (first cs)))) (f "ab")',
    '(define (f t) (let ((kept (filter char-alphabetic? (string->list t)))) (list (list->string kept) kept))) (f "a1b")',
    '(define (f t) (let loop ((cs (string->list t))) (if (or (null? cs) (= (car cs) #\\:)) cs (loop (cdr cs))))) (f "a:bc")',
    "(define (f t) (let loop ((i 0) (out '())) (if (= i (string-length t)) (list (list->string (reverse out)) out) "
    '(loop (+ i 1) (cons (string-ref t i) out))))) (f "abc")',
    '(define (f t) (sort (string->list t))) (f "cab")',
    '(define (f t) (length (sort (string->list t)))) (list (f "hello") (f ""))',
    '(define (f t) (filter (fn (c) (member c \'(#\\a #\\e))) (string->list t))) (f "tea")',
    '(define (f t) (let ((cs (string->list t))) (list (= cs (reverse cs)) (= cs (sort cs))))) (list (f "aba") (f "") (f "ab"))',
    '(define (f t) (let ((cs (sort (string->list t)))) (list (list->string cs) cs))) (f "ba")',
    '(define (f t) (list->string (sort t))) (try (f "ba") (catch e (:message e)))',
    '(define (f t) (match (string-ref t 0) (#\\a :a) (c c))) (list (f "abc") (f "bc"))',
    '(define (f t) (let ((c (string-ref t 0))) ((fn (g) (g)) (fn () (list c (= c #\\a)))))) (f "abc")',
    '(define (f x) (= (string-ref "abc" 0) x)) (list (f #\\a) (f "a") (f 97))',
    # maps whose keys were texts
    '(define (f t) (foldl (fn (m c) (assoc m c (+ 1 (get m c 0)))) {} (string->list t))) (list (f "banana") (f ""))',
    '(define (f t) (foldl (fn (m c) (assoc m (if (= c #\\a) "a" c) c)) {} (string->list t))) (f "banana")',
    "(define (f t) (let ((m (foldl (fn (m c) (dissoc (assoc m c c) #\\n)) {} (string->list t)))) "
    '(list (keys m) (vals m) (count m) (get m #\\b) (get m "b")))) (f "banana")',
    "(define (counts t m) (foldl (fn (m c) (assoc m c (+ 1 (get m c 0)))) m (string->list t))) "
    '(list (counts "ab" {}) (counts "aa" (counts "b" {})) (counts "a" {#\\a 2 "a" 1}))',
    # what is no text
    "(define (f t) (try (foldl (fn (n c) (if (= c #\\a) (+ n 1) n)) 0 (string->list t)) (catch e (:message e)))) "
    '(list (f "aba") (f nil) (f 5) (f (list #\\a)))',
    "(define (f a b) (try (map (fn (x y) (= x y)) (string->list a) b) (catch e (:message e)))) "
    '(list (f "ab" \'(#\\a)) (f "ab" "ab") (f nil nil))',
]


@pytest.mark.parametrize("source", [*AS_TEXTS, *SHOWN])
def test_answers_are_those_of_plain_code(source: str) -> None:
    ways: list[dict[str, Any]] = [
        {"optimize": False},
        *({"mode": m, "watch": Verifier()} for m in ("program", "module")),
    ]
    assert len({run(source, **way) for way in ways}) == 1


@pytest.mark.parametrize("source", AS_TEXTS)
def test_no_characters_are_made(source: str) -> None:
    text = python(source)
    assert "CHARS" not in text and "string_to_list" not in text


@pytest.mark.parametrize("skipped", ["texts", "stacks", "cursors", "inline"])
def test_passes_can_be_left_out(skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_SKIP", skipped)
    for source in (*AS_TEXTS, *SHOWN):
        assert run(source, mode="program") == run(source, optimize=False)


FOUND = (
    "(define (before t m) (let ((i (string/index-of t m))) (if (nil? i) t (substring t 0 i)))) "
    "(define (after t m) (let ((i (string/index-of t m))) "
    '(if i (substring t (+ i (string-length m)) (string-length t)) ""))) '
    '(define (pair t) (let ((i (string/index-of t "=>"))) (if i [(substring t 0 i) (substring t (+ i 2))] nil))) '
)
FAR = (
    '(define (far t) (let ((i (string/index-of t "=>"))) (if i (substring t (+ i 3)) nil))) '
    '(define (other a b) (let ((i (string/index-of a "="))) (if i (substring b 0 i) nil))) '
)


def test_what_stands_before_and_behind_a_found_part_is_a_slice() -> None:
    source = f'{FOUND} (map (fn (t) [(before t "=>") (after t "=>") (pair t)]) (list "a=>b" "=>" "" "x" "==>>"))'
    assert run(source, watch=Verifier()) == run(source, optimize=False)
    assert "substring(" not in python(source)


def test_an_index_that_may_be_outside_is_asked() -> None:
    source = f'{FAR} (map (fn (t) (try [(far t) (other t "xyz")] (catch e (:message e)))) (list "a=>b" "=>" "abcd=" "abcd=>e"))'
    assert run(source, watch=Verifier()) == run(source, optimize=False)
    assert "substring(" in python(source)
