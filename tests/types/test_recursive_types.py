"""Types of values that hold their own like: what is known of a tree is known of its children, and nothing false is."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

# (program, its answer, what its Python doesn't have where the types of nodes are known)
TREES = {
    "of vectors": (
        "(define (insert t x) (cond ((nil? t) [x nil nil]) ((< x (nth t 0)) [(nth t 0) (insert (nth t 1) x) (nth t 2)])"
        " (else [(nth t 0) (nth t 1) (insert (nth t 2) x)])))"
        "(define (total t) (if (nil? t) 0 (+ (nth t 0) (total (nth t 1)) (total (nth t 2)))))"
        "(total (foldl insert nil '(5 2 8 1 9)))",
        "25",
        ["add(", "nth(", "lt("],
    ),
    "of maps": (
        "(define (insert t x) (cond ((nil? t) {:v x :l nil :r nil}) ((< x (:v t)) (assoc t :l (insert (:l t) x)))"
        " (else (assoc t :r (insert (:r t) x)))))"
        "(define (depth t) (if (nil? t) 0 (+ 1 (max (depth (:l t)) (depth (:r t))))))"
        "(depth (foldl insert nil '(5 2 8 1 9 10)))",
        "4",
        ["keyword_get(", "lt("],
    ),
    "of maps in maps": (
        "(define (insert node cs) (if (null? cs) (assoc node :end #t) (assoc node :next (assoc (:next node) (car cs)"
        " (insert (get (:next node) (car cs) {:end #f :next {}}) (cdr cs))))))"
        "(define (words node) (+ (if (:end node) 1 0) (foldl + 0 (map words (vals (:next node))))))"
        '(words (foldl (fn (t w) (insert t (string->list w))) {:end #f :next {}} (list "a" "ab" "ac" "abcde" "b")))',
        "5",
        ["keyword_get(", "add("],
    ),
    "with children in lists": (
        "(define (tree n) {:n n :kids (map (fn (i) (tree (- n i 1))) (range n))})"
        "(define (size t) (+ 1 (foldl + 0 (map size (:kids t))))) (size (tree 6))",
        "64",
        ["keyword_get(", "add("],
    ),
}
# what must not be believed of a node
OTHERS = {
    "lists in lists": (
        "(define (nest n) (if (= n 0) '() (list n (nest (- n 1)))))"
        "(define (sum t) (if (null? t) 0 (+ (car t) (sum (cadr t))))) (sum (nest 20))",
        "210",
    ),
    "functions in nodes get what they are called with": (
        "(define (build n) (if (= n 0) nil [(fn (x) (+ x n)) (build (- n 1)) nil]))"
        "(define (run t x) (if (nil? t) x (run (nth t 1) ((nth t 0) x))))"
        "(list (run (build 8) 1) (run (build 8) 0.5) (run (build 0) :none))",
        "(37 36.5 :none)",
    ),
    "leaves of another kind": (
        "(define (wrap n t) (if (= n 0) t (wrap (- n 1) [n t])))"
        "(define (leaf t) (if (vector? t) (leaf (nth t 1)) t))"
        '(list (leaf (wrap 9 1)) (leaf (wrap 9 "a")) (leaf (wrap 9 {:k 1})) (leaf (wrap 0 nil)))',
        '(1 "a" {:k 1} nil)',
    ),
    "vectors of other lengths below": (
        "(define (wrap n t) (cond ((= n 0) t) ((even? n) (wrap (- n 1) [:one t])) (else (wrap (- n 1) [:two t n]))))"
        "(define (show t) (match t ([:one a] (show a)) ([:two a n] (+ n (show a))) (n n)))"
        "(list (show (wrap 9 0.5)) (show (wrap 8 1)))",
        "(25.5 17)",
    ),
    "maps that gain keys on the way down": (
        "(define (wrap n t) (if (= n 0) t (wrap (- n 1) (if (odd? n) {:in t :n n} {:in t :m (str n)}))))"
        "(define (show t) (if (map? t) (str (:n t) (:m t) (show (:in t))) t)) (show (wrap 7 :end))",
        '"1nilnil23nilnil45nilnil67nil:end"',
    ),
    "two trees made by one function": (
        "(define (node v l r) [v l r]) (define (grow n v) (if (= n 0) nil (node v (grow (- n 1) v) nil)))"
        "(define (all t) (if (nil? t) '() (cons (nth t 0) (all (nth t 1)))))"
        '(list (all (grow 6 1)) (all (grow 6 "x")) (all (grow 7 [1 2])))',
        '((1 1 1 1 1 1) ("x" "x" "x" "x" "x" "x") ([1 2] [1 2] [1 2] [1 2] [1 2] [1 2] [1 2]))',
    ),
    "a tree that others read": (
        "(define (node n) (if (= n 0) {} {:f (fn (x) (list x n)) :in (node (- n 1))})) (define t (node 7))"
        "(define (deep t n) (if (= n 0) t (deep (get t :in) (- n 1)))) (map (fn (m) ((:f m) :y)) (list t (deep t 6)))",
        "((:y 7) (:y 1))",
    ),
}


def compiled(text: str, **options: Any) -> Any:
    return compile_source(text, "<test>", result=True, watch=Verifier(), **options)


def answer(text: str, **options: Any) -> str:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compiled(text, **options).code, scope)
    return to_text(scope[RESULT])


@pytest.mark.parametrize("name", TREES)
def test_what_is_known_of_a_tree_is_known_of_its_children(name: str) -> None:
    text, _, guards = TREES[name]
    python = compiled(text, mode="program").python_text()
    assert not [guard for guard in guards if guard in python]


@pytest.mark.parametrize("name", [*TREES, *OTHERS])
@pytest.mark.parametrize("options", [{"mode": "program"}, {"mode": "module"}, {"optimize": False}], ids=str)
def test_answers(name: str, options: dict[str, Any]) -> None:
    text, expected = (TREES.get(name) or OTHERS[name])[:2]
    assert answer(text, **options) == expected


@pytest.mark.parametrize("name", [*TREES, *OTHERS])
def test_values_are_of_their_inferred_types(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_ASSERT_TYPES", "1")
    text, expected = (TREES.get(name) or OTHERS[name])[:2]
    assert answer(text, mode="program") == expected
