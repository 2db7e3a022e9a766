"""Records, multimethods, mutable containers."""

from __future__ import annotations

import copy
import pickle

import pytest
from outcomes import outcome

from sema_runtime.interop import to_python
from sema_runtime.lib.collections.records import record_accessor, record_constructor, record_modifier, record_predicate
from sema_runtime.lib.language.predicates import type_
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.maps import Map
from sema_runtime.values.mutable import MutableArray
from sema_runtime.values.printer import to_text
from sema_runtime.values.records import Record, make_record_type, slot_names
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


class Written(Record):
    """A record type as emitted code writes it down."""

    __slots__ = ("owner", "sort_code")
    sema_tag = "written-account"
    sema_fields = ("owner", "sort-code")


def test_a_class_statement_is_a_record_type() -> None:
    for kind in (Written, make_record_type("made-account", ("owner", "sort-code"))):
        make = record_constructor(kind, "make-account", kind.sema_fields)
        account, same, other = make("Ada", 7), make("Ada", 7), make("Ada", 7.0)
        assert (account.owner, account.sort_code) == ("Ada", 7)
        assert to_text(account) == f'#<record {kind.sema_tag} "Ada" 7>'
        assert account == same != other
        assert hash(account) == hash(same)
        assert Map.of([(account, 1)]).lookup(same) == 1
        assert copy.deepcopy(account) == pickle.loads(pickle.dumps(account)) == account
        assert type(pickle.loads(pickle.dumps(account))) is kind
        assert to_python(account) == {"owner": "Ada", "sort-code": 7}
        assert record_accessor(kind, "account-code", "sort-code")(account) == 7
        record_modifier(kind, "set-code!", "sort-code")(account, 8)
        assert account.sort_code == 8
        assert record_predicate(kind, "account?")(account)
        assert type_(account) is keyword(kind.sema_tag)
    assert record_constructor(Written, "make", Written.sema_fields)("Ada", 7) != make("Ada", 7)


def test_a_type_written_down_twice_is_one_type() -> None:
    class Again(Record):
        __slots__ = ("owner", "sort_code")
        sema_tag = "written-account"
        sema_fields = ("owner", "sort-code")

    old = record_constructor(Written, "make", Written.sema_fields)("Ada", 7)
    new = record_constructor(Again, "make", Again.sema_fields)("Ada", 7)
    assert old == new
    assert hash(old) == hash(new)
    assert record_predicate(Again, "account?")(old)
    assert record_accessor(Again, "account-owner", "owner")(old) == "Ada"
    assert make_record_type("written-account", ("owner", "sort-code")) is Written


def test_fields_that_python_cannot_write() -> None:
    fields = ("class", "class-", "x?", "--b", "tag", "sema-tag", "type-name", "grö-ße", "x?")
    assert slot_names(fields) == (
        "class_", "class__", "field_2", "field_3", "tag", "field_5", "field_6", "grö_ße", "field_8",
    )  # fmt: skip
    kind = make_record_type("odd", fields)
    made = record_constructor(kind, "make-odd", fields)(*range(9))
    assert [record_accessor(kind, "get", field)(made) for field in fields] == [0, 1, 2, 3, 4, 5, 6, 7, 2]
    assert to_text(made) == "#<record odd 0 1 2 3 4 5 6 7 8>"


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
