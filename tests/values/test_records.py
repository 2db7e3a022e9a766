"""Records, multimethods, mutable containers."""

from __future__ import annotations

import pickle

import pytest
from outcomes import outcome

from sema_runtime.lib.collections.records import record_accessor, record_constructor, record_modifier, record_predicate
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import Map
from sema_runtime.values.mutable import MutableArray
from sema_runtime.values.printer import to_text
from sema_runtime.values.records import make_record_type
from semac.session import Session

POINT = "(define-record-type point (make-point x y) point? (x point-x) (y point-y)) "


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(make-point 3 4)", "#<record point 3 4>"),
        ("(point-y (make-point 3 4))", "4"),
        ("(list (point? (make-point 1 2)) (point? 5))", "(#t #f)"),
        ("(equal? (make-point 1 '(2)) (make-point 1 '(2)))", "#t"),
        ("(equal? (make-point 1 2) (make-point 1 2.0))", "#f"),
        ("(type (make-point 1 2))", ":point"),
        ("(list make-point point?)", "(<native-fn make-point> <native-fn point?>)"),
        ("(count {(make-point 1 1) :a (make-point 2 2) :b (make-point 1 1) :c})", "2"),
        ("(define-record-type p (mk b a) p? (a pa)) (list (pa (mk 1 2)) (mk 1 2))", "(2 #<record p 1 2>)"),
    ],
)
def test_record_programs(text: str, expected: str) -> None:
    assert to_text(Session().run(POINT + text)) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("(make-point 1)", "make-point expects 2 arguments, got 1"),
        ("(point-x {:x 1})", "expected point, got map"),
        ("(define-record-type p (mk x) p? (y py))", "define-record-type: field 'y' not in constructor"),
        ("(define-record-type p (mk x) p? (x))", "define-record-type: field spec must have at least (field accessor)"),
    ],
)
def test_record_errors(text: str, message: str) -> None:
    assert outcome(POINT + text) == f"! {message}"


def test_records_in_python() -> None:
    kind = make_record_type("bank-account", ("owner", "sort-code"))
    make = record_constructor(kind, "make-account", ("owner", "sort-code"))
    account = make("Ada", 7)
    assert kind.__name__ == "BankAccount"
    assert account.owner == "Ada"
    assert account.sort_code == 7
    with pytest.raises(AttributeError):
        _ = account.nothing
    assert pickle.loads(pickle.dumps(account)) == account
    record_modifier(kind, "set-owner!", "owner")(account, "Bob")
    assert record_accessor(kind, "owner", "owner")(account) == "Bob"
    again = make_record_type("bank-account", ("owner",))
    assert record_predicate(again, "account?")(account)


MULTI = "(defmulti area :kind) (defmethod area :square (fn (s) (* (:side s) (:side s)))) "


def test_multimethods() -> None:
    assert Session().run(MULTI + "(area {:kind :square :side 3})") == 9
    assert Session().run(MULTI + "(defmethod area :default (fn (s) 0)) (area {:kind :line})") == 0
    assert to_text(Session().run(MULTI + "area")) == "<multimethod area>"
    with pytest.raises(SemaError, match="no method in multimethod 'area' for dispatch value: :line") as caught:
        Session().run(MULTI + "(area {:kind :line})")
    assert caught.value.hint == "add a (defmethod name :default handler) to handle unmatched values"
    with pytest.raises(SemaError, match="first argument is not a multimethod"):
        Session().run("(define area 5) (defmethod area 1 (fn () 1))")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("(let ((a (mutable-array/new))) (mutable-array/push! a 1) (mutable-array/->vector a))", "[1]"),
        ("(mutable-array/get (mutable-array/new 2 :x) 9 :none)", ":none"),
        ("(equal? (mutable-array/new 1 0) (mutable-array/new 1 0))", "#t"),
        ("(mutable-cell/get (mutable-cell/set! (mutable-cell/new 1) 2))", "2"),
        ("(map mutable-cell/get (sort (list (mutable-cell/new 2) (mutable-cell/new 1))))", "(1 2)"),
        ("(list (mutable-array/new 3) (mutable-array/new 3 0))", "(<mutable-array 0> <mutable-array 3>)"),
    ],
)
def test_mutable_programs(text: str, expected: str) -> None:
    assert to_text(Session().run(text)) == expected


def test_an_empty_mutable_array_is_true() -> None:
    assert bool(MutableArray([]))
    assert Map.of([("a", MutableArray([1]))]) == Map.of([("a", MutableArray([1]))])
