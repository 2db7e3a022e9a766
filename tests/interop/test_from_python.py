"""Sema modules and values in the hands of Python code: imports, signatures, containers, errors, pickling."""

from __future__ import annotations

import asyncio
import copy
import importlib
import inspect
import json
import pickle
import pydoc
import sys
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import semac.importer
from sema_runtime.interop import (
    Keyword,
    List,
    Map,
    SemaError,
    Thrown,
    char,
    cons,
    keyword,
    symbol,
    to_python,
    to_sema,
)

SHOP = """
(define (total-over items limit)
  "The sum of the prices above limit."
  (foldl + 0 (filter (fn (p) (> p limit)) (map :price items))))
(define (empty-cart? cart) (null? cart))
(define (push! . xs) xs)
(define (list . xs) xs)
(define (describe user) (let (({:keys [name tags]} user)) (format "~a: ~a" name (string/join tags ", "))))
(define (kind value) (match value ({:type "a" :n n} n) ([x & more] more) (_ :other)))
(define (report) {:name "x" :tags '(a :b #\\c) "n" [1 2.5]})
(define rate 1/2)
(define (fail x) (throw {:code x}))
(define (make-adder n) (fn (x) (+ x n)))
(define-record-type point (make-point x y-pos) point? (x point-x))
(define-record-type tag (make-tag class) tag?)
(define (guarded f) (try (f) (catch e (:python-class e))))
(define (kind-of-error f) (try (f) (catch e (:type e))))
(define (again f) (try (f) (catch e (throw e))))
(define (other f) (try (f) (catch e (throw (assoc e :message "changed")))))
(define (countdown n) (if (= n 0) :done (countdown2 (- n 1))))
(define (countdown2 n) (countdown n))
"""


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("modules")
    (folder / "sema_stock").mkdir()
    Path(folder, "sema_stock", "shop.sema").write_text(SHOP)
    sys.path.insert(0, str(folder))
    semac.importer.install()
    yield importlib.import_module("sema_stock.shop")
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.startswith("sema_stock")]:
        del sys.modules[name]


# Functions


def test_functions_look_like_python(shop: Any) -> None:
    from sema_stock.shop import is_empty_cart, push_mut, total_over  # type: ignore[import-not-found]

    assert isinstance(shop, ModuleType)
    assert str(inspect.signature(total_over)) == "(items, limit)"
    assert inspect.getdoc(total_over) == "The sum of the prices above limit."
    assert (total_over.__name__, total_over.__module__) == ("total_over", "sema_stock.shop")
    assert "total_over(items, limit)\n    The sum" in pydoc.plain(pydoc.render_doc(total_over))
    assert str(inspect.signature(push_mut)) == "(*xs)"
    assert str(inspect.signature(shop.make_point)) == "(x, y_pos)"
    assert str(inspect.signature(shop.make_tag)) == "(class_)"
    assert is_empty_cart([]) and push_mut(1, 2) == [1, 2] == shop.list(1, 2)


def test_plain_python_data_goes_in(shop: Any) -> None:
    items = [{"price": 1}, {"price": 5}]
    assert shop.total_over(items, 2) == 5
    assert shop.total_over(tuple(items), limit=0) == 6
    assert shop.total_over(items=to_sema(items), limit=0) == 6
    assert shop.describe({"name": "Ann", "tags": ["x", "y"]}) == "Ann: x, y"
    assert shop.kind({"type": "a", "n": 3}) == 3
    assert shop.kind([1, 2]) == [2] and shop.kind(5) is keyword("other")


def test_wrong_arguments_are_type_errors(shop: Any) -> None:
    with pytest.raises(TypeError, match=r"total_over\(\) missing 1 required positional argument: 'limit'"):
        shop.total_over([])
    with pytest.raises(TypeError, match="unexpected keyword argument 'z'"):
        shop.make_point(1, z=2)


def test_functions_as_callbacks(shop: Any) -> None:
    add = shop.make_adder(1)
    assert list(map(add, [1, 2])) == [2, 3]
    assert sorted([3, 1], key=add) == [1, 3]
    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(add, range(3))) == [1, 2, 3]
        assert list(pool.map(shop.countdown, [10, 20_000])) == [keyword("done")] * 2

    async def main() -> Any:
        return await asyncio.get_running_loop().run_in_executor(None, add, 1)

    assert asyncio.run(main()) == 2


# Containers


def test_a_map_is_a_mapping(shop: Any) -> None:
    report = shop.report()
    assert isinstance(report, Mapping) and not isinstance(report, Sequence) and isinstance(report, dict)
    assert report["name"] == report[keyword("name")] == "x"
    assert "name" in report and "zz" not in report and report.get("zz", 3) == 3
    assert len(report) == 3 and list(report) == ["n", "name", "tags"]
    assert dict(report) == dict(report.items()) and next(iter(report.values())) == (1, 2.5)
    with pytest.raises(KeyError):
        report["zz"]
    match report:
        case {"name": name, "n": (first, *_)}:
            assert (name, first) == ("x", 1)
        case _:
            pytest.fail("no match")


def test_a_list_is_a_sequence(shop: Any) -> None:
    tags = shop.report()["tags"]
    assert isinstance(tags, Sequence) and type(tags) is List
    assert tags[0] is symbol("a") and tags[-1] is char("c") and tags[1:] == [keyword("b"), char("c")]
    assert [*reversed(tags)] == tags[::-1]
    assert (
        [*reversed(tags)] == tags[::-1]
        and tags[::-1][0] is char("c")
        and tags.index(keyword("b")) == 1
        and tags.count(1) == 0
    )
    assert keyword("b") in tags
    with pytest.raises(ValueError):
        tags.index(5)
    with pytest.raises(TypeError):
        tags[0] = 1
    linked = cons(1, cons(2, List()))
    assert len(linked) == 2 and [*linked] == [1, 2] and linked.index(2) == 1
    match linked:
        case [1, *rest]:
            assert rest == [2]
        case _:
            pytest.fail("no match")


def test_equality_with_python_values() -> None:
    assert List([1, [2]]) == [1, List([2])] and List([1, 2]) == [1, 2]
    assert List([1]) != [1.0] and List([1]) != [True]  # stricter inside than Python, as in Sema
    assert List([1, 2]) != (1, 2)  # a tuple is a vector
    assert Map({"a": 1}) == {"a": 1} and Map({keyword("a"): 1}) == {"a": 1} != Map({keyword("a"): 2})
    assert to_python(Map({keyword("a"): List([1])})) == {"a": [1]}
    assert keyword("a") != "a" and keyword("a") is keyword("a")


def test_reprs() -> None:
    values = [keyword("a"), symbol("a"), char("a"), List([1, "s", None]), Map({keyword("a"): (True,)})]
    assert [repr(value) for value in values] == [":a", "a", "#\\a", '(1 "s" nil)', "{:a [#t]}"]
    assert str(char("a")) == "a"


def test_copies_and_pickles(shop: Any) -> None:
    point = shop.make_point(1, y_pos=List([2]))
    for value in (shop.report(), shop.report()["tags"], point, shop.rate, cons(1, List([2])), keyword("a"), char("a")):
        for made in (copy.copy(value), copy.deepcopy(value), pickle.loads(pickle.dumps(value))):
            assert made == value and type(made) is type(value)
    assert pickle.loads(pickle.dumps(keyword("a"))) is keyword("a")
    assert pickle.loads(pickle.dumps(shop.total_over)) is shop.total_over
    assert (point.x, point.y_pos) == (1, [2])


def test_json(shop: Any) -> None:
    assert json.loads(json.dumps(to_python(shop.report()))) == {"n": [1, 2.5], "name": "x", "tags": ["a", "b", "c"]}
    assert json.loads(json.dumps(shop.report(), indent=1)) == json.loads(json.dumps(to_python(shop.report())))


# Errors


def test_errors_of_sema(shop: Any) -> None:
    with pytest.raises(Thrown) as thrown:
        shop.fail(3)
    assert thrown.value.value["code"] == 3
    with pytest.raises(SemaError, match="expected list, vector, or mutable-array, got int in map") as failed:
        shop.total_over(5, 1)
    assert failed.value.kind == "type-error" and failed.value.fields["got"] == "int in map"


def test_errors_can_be_pickled(shop: Any) -> None:
    for call in (lambda: shop.total_over(5, 1), lambda: shop.fail(3), lambda: shop.make_adder("a")([])):
        with pytest.raises(SemaError) as caught:
            call()
        made = pickle.loads(pickle.dumps(caught.value))
        assert (type(made), str(made), made.fields, made.hint) == (
            type(caught.value), str(caught.value), caught.value.fields, caught.value.hint,
        )  # fmt: skip


def test_errors_of_python_pass_through(shop: Any) -> None:
    error = LookupError("k")

    def broken() -> None:
        raise error

    assert shop.guarded(broken) == "LookupError"
    with pytest.raises(LookupError) as caught:
        shop.again(broken)
    assert caught.value is error
    with pytest.raises(Thrown, match="changed"):
        shop.other(broken)


@pytest.mark.parametrize(
    ("broken", "expected"),
    [
        (lambda: 1 // 0, "ZeroDivisionError"),
        (lambda: no_such_name, "NameError"),  # type: ignore[name-defined]  # noqa: F821
        (lambda: 1 + "a", "TypeError"),  # type: ignore[operator]
        (lambda: len(1, 2), "TypeError"),  # type: ignore[call-arg, arg-type]
        (lambda: (1).items(), "AttributeError"),  # type: ignore[attr-defined]
    ],
)
def test_mistakes_in_python_code_are_not_those_of_sema(shop: Any, broken: Any, expected: str) -> None:
    assert shop.guarded(broken) == expected
    assert shop.kind_of_error(broken) is keyword("python")
    assert shop.kind_of_error(lambda x: x) is keyword("arity")  # the call is the program's


def test_a_keyword_is_a_function() -> None:
    assert isinstance(keyword("a"), Keyword) and keyword("a")({"a": 1}) == 1
    assert list(map(keyword("a"), [Map({keyword("a"): 1}), {"a": 2}])) == [1, 2]
