"""Records as classes: accessors as attributes, whatever the names, the values and the ways to run a program are."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import pytest

from sema_runtime.values.printer import to_text
from sema_runtime.values.records import Record
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.session import Session

POINT = "(define-record-type point (make-point x y) point? (x point-x) (y point-y))"
TREE = """(define-record-type tree (node l v r) node? (l left) (v val) (r right))
(define (insert t x)
  (cond ((nil? t) (node nil x nil))
        ((< x (val t)) (node (insert (left t) x) (val t) (right t)))
        (else (node (left t) (val t) (insert (right t) x)))))
(define (walk t) (if (nil? t) '() (append (walk (left t)) (list (val t)) (walk (right t)))))"""

CASES = [
    (f"{POINT} (define (f p) (point-y p)) (list (f (make-point 1 2)) (try (f 5) (catch e (:message e))))",
     '(2 "expected point, got int")'),
    # a loop gives a parameter another value, of another type
    (f"{POINT} (define (f n p) (if (= n 0) (list (point-x p) (point-y p)) "
     "(f (- n 1) (first (list (list (point-x p))))))) (list (f 0 (make-point 1 2)) "
     "(try (f 1 (make-point 1 2)) (catch e (:message e))))", '((1 2) "expected point, got list")'),
    (f"{POINT} (define (f p) (when (point? p) (point-x p))) (map f (list (make-point 1 2) 1 nil {{:x 1}}))",
     "(1 nil nil nil)"),
    (f"{POINT} (define (f a) (let ((p (if a (make-point 1 2) nil))) (point-x p))) "
     "(list (f #t) (try (f #f) (catch e (:message e))))", '(1 "expected point, got nil")'),
    (f"{POINT} (define (f g p) (g p)) (list (f point-x (make-point 1 2)) (map point-y (list (make-point 1 2))) "
     "(sort-by point-x (list (make-point 3 0) (make-point 1 0))))",
     "(1 (2) (#<record point 1 0> #<record point 3 0>))"),
    (f"{POINT} (list point? make-point point-x (make-point 1 2) (record? (make-point 1 2)))",
     "(<native-fn point?> <native-fn make-point> <native-fn point-x> #<record point 1 2> #t)"),
    (f"{POINT} (list (equal? (make-point 1 2) (make-point 1 2)) (get {{(make-point 1 2) :one}} (make-point 1 2)))",
     "(#t :one)"),
    (f"{POINT} (define (f . args) (try (apply make-point args) (catch e (:message e)))) (list (f 1 2) (f 1))",
     '(#<record point 1 2> "make-point expects 2 arguments, got 1")'),
    # the constructor doesn't take them all, or one twice
    ("(define-record-type p (mk x y) p? (y py)) (define (f r) (py r)) (list (f (mk 1 2)) (mk 3 4))",
     "(2 #<record p 3 4>)"),
    ("(define-record-type p (mk x x) p? (x px)) (define (f r) (px r)) (list (f (mk 1 2)) (mk 3 4))",
     "(1 #<record p 3 4>)"),
    # names that mean something to Python
    ("(define-record-type p (mk class def __init__ d self record a-b a_b) p? (class p1) (def p2) (__init__ p3) (d p4) "
     "(self p5) (record p6) (a-b p7) (a_b p8)) (define (f r) (list (p1 r) (p2 r) (p3 r) (p4 r) (p5 r) (p6 r) (p7 r) "
     "(p8 r))) (f (mk 1 2 3 4 5 6 7 8))", "(1 2 3 4 5 6 7 8)"),
    ("(define-record-type Exception (mk P x) p? (P pp)) (define (f r) (try (pp r) (catch e (:message e)))) "
     "(list (f (mk 1 2)) (f nil))", '(1 "expected Exception, got nil")'),
    ("(define-record-type p (mk P) p? (P pp)) (define (f r) (pp r)) (f (mk 1))", "1"),
    ("(define-record-type None (True False) None? (False True?)) (define (f x) (True? x)) (list (f (True 5)))", "(5)"),
    # types and names that are defined again
    ("(define-record-type p (mk x) p? (x px)) (define a (mk 1)) (define-record-type p (mk2 y x) p2? (y py)) "
     "(define (f r) (list (p? r) (p2? r) (px r) (py r))) (list (f a) (f (mk2 3 4)))", "((#t #t 1 1) (#t #t 3 3))"),
    ("(define-record-type p (mk x) p? (x px)) (define old px) (set! px (fn (r) (+ 100 (old r)))) "
     "(define (f r) (px r)) (list (f (mk 1)) (old (mk 2)))", "(101 2)"),
    ("(define-record-type p (mk x) p? (x px)) (define (f r) (px r)) (define (px r) :again) (f (mk 1))", ":again"),
    ("(define (f r) (px r)) (define z (try (f 1) (catch e (:message e)))) (define-record-type p (mk x) p? (x px)) "
     "(list z (f (mk 7)))", '("Unbound variable: px" 7)'),
    ("(define x 1) (if (= x 1) (define-record-type p (mk x) p? (x px)) (define-record-type p (mk y x) p? (x px))) "
     "(define (f r) (px r)) (f (mk 1))", "1"),
    # types that functions make
    ("(define (make) (define-record-type q (mkq x) q? (x qx)) (list mkq q? qx)) (define a (make)) (define b (make)) "
     "(define r ((first a) 1)) (list ((nth b 1) r) ((nth b 2) r) (equal? r ((first b) 1)))", "(#t 1 #t)"),
    # what fields hold
    (f"{TREE} (list (walk (foldl insert nil '(3 1 2))) (walk (foldl insert nil '(2.5 1 2))))", "((1 2 3) (1 2 2.5))"),
    (f"{TREE} (try (walk (foldl insert nil '(3 \"x\"))) (catch e :error))", ":error"),
    ("(define-record-type p (mk f) p? (f pf)) (define (call r x) ((pf r) x)) "
     "(list (call (mk (fn (x) (* x 2))) 4) (call (mk car) '(1 2)))", "(8 1)"),
    ("(define-record-type p (mk x) p? (x px)) (define r (mk (mutable-array/new 0))) "
     '(mutable-array/push! (px r) 5) (mutable-array/push! (px r) "s") (mutable-array/get (px r) 1)', '"s"'),
    ("(define-record-type p (mk x) p? (x px)) (define (f p) (eval (list 'px p))) "
     "(list (f (mk 1)) (eval '(begin (define (px p) :new) (px 1))) (px (mk 5)))", "(1 :new :new)"),
    ("(define-record-type a (mk-a v) a? (v a-v)) (define-record-type b (mk-b v) b? (v b-v)) "
     "(define (g x) (if (or (a? x) (b? x)) (if (a? x) (a-v x) (b-v x)) 0)) (list (g (mk-a 1)) (g (mk-b \"s\")) (g 5))",
     '(1 "s" 0)'),
]  # fmt: skip
SKIPPED = ("", "infer", "records", "tails")


def run(text: str, mode: str) -> dict[str, Any]:
    scope: dict[str, Any] = {"__name__": "__main__"}
    exec(compile_source(text, "<test>", mode, result=True).code, scope)
    return scope


@pytest.mark.parametrize(("text", "expected"), CASES)
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("skipped", SKIPPED)
def test_answers(text: str, expected: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_SKIP", skipped)
    assert to_text(run(text, mode)[RESULT]) == expected


@pytest.mark.parametrize(("text", "expected"), CASES)
def test_answers_of_the_text(text: str, expected: str) -> None:
    scope: dict[str, Any] = {"__name__": "__main__"}
    written = compile_source(text, "<test>", "program", result=True, is_text=True).python_text()
    exec(compile(written, "text.py", "exec"), scope)
    assert to_text(scope[RESULT]) == expected


def test_text_reads_like_python() -> None:
    unit = compile_source(f"{TREE}\n(println (walk (foldl insert nil '(3 1 2))))", "tree.sema", "program", is_text=True)
    text = unit.python_text()
    assert 'class Tree(Record):\n    __slots__ = ("l", "v", "r")\n    sema_tag = "tree"\n    v: int\n' in text
    assert "if x < t.v:\n        return node(insert(t.l, x), t.v, t.r)" in text


def test_a_later_input_may_define_an_accessor_anew() -> None:
    session = Session(closed=False)
    session.run(f"(begin {POINT} (define p (make-point 1 2)) (define (f p) (point-x p)))")
    session.run("(define (point-x p) :again)")
    assert to_text(session.run("(list (f p) (point-y p) (point? p))")) == "(:again 2 #t)"


def test_records_are_copied_and_pickled() -> None:
    scope = run(f"{POINT} (make-point 1 '(2))", "module")
    record = scope[RESULT]
    assert type(record) is scope["Point"]
    assert issubclass(scope["Point"], Record)
    for twin in (copy.copy(record), copy.deepcopy(record), pickle.loads(pickle.dumps(record))):
        assert twin == record
        assert scope["point_y"](twin) == record.y


def test_a_record_of_another_module_is_read_by_its_name() -> None:
    here, there = run(f"{POINT} (define (f p) (list (point? p) (point-y p)))", "module"), run(POINT, "module")
    assert to_text(here["f"](there["make_point"](1, "other"))) == '(#t "other")'


def test_records_that_others_make_are_as_good_as_those_of_the_module() -> None:
    text = f"""{POINT}
    (define (norm p) (+ (* (point-x p) (point-x p)) (* 2 (point-y p))))
    (define (shifted p) (make-point (+ (point-x p) 1) (point-y p)))
    (define (all ps) (map (fn (p) (point-x (shifted p))) ps))
    (define own (list (make-point 1 2) (make-point 3 4)))
    (list (map norm own) (all own) (norm (shifted (first own))))"""
    scope = run(text, "module")
    assert to_text(scope[RESULT]) == "((5 17) (2 4) 8)"
    made = scope["make_point"]
    assert scope["norm"](made(1.5, 2)) == 6.25
    assert to_text(scope["all"]([made(0.5, "y"), *scope["own"]])) == "(1.5 2 4)"
    with pytest.raises(TypeError, match="expected number, got string"):
        scope["norm"](made("a", 2))


def test_fields_may_hold_anything_where_a_program_sets_attributes() -> None:
    text = f"""{POINT}
    (define p (make-point 1 2))
    (define (next) (+ 1 (point-x p)))
    (py/setattr! p "x" 1.5)
    (next)"""
    for mode in ("program", "module"):
        assert to_text(run(text, mode)[RESULT]) == "2.5"
