"""Sema's values in the hands of Python's libraries, and theirs in Sema's: each test runs the real library."""

from __future__ import annotations

import copy
import dataclasses
import json
import pickle
import pprint
from collections.abc import Mapping
from typing import Any

import pytest

from sema_runtime.interop import HashMap, List, Map, keyword, symbol
from sema_runtime.lib.collections.lists import nth
from sema_runtime.values.errors import ArityError, SemaError, SemaTypeError, UnboundError
from semac.session import Session


def sema(text: str) -> Any:
    session = Session()
    return session.execute(session.compile(text, "<input>"))


ORDER = '{:id 7 :items (list {:sku "a" :price 1.5} {:sku "b" :price 2.0}) :state :open}'
PLAIN = {"id": 7, "items": [{"sku": "a", "price": 1.5}, {"sku": "b", "price": 2.0}], "state": "open"}
ROWS = '(list {:id 1 :name "x"} {:id 2 :name "y"})'
PLAIN_ROWS = [{"id": 1, "name": "x"}, {"id": 2, "name": "y"}]


# The protocols of dict and list


def test_a_map_is_a_dict_that_does_not_change() -> None:
    m = sema('{:a 1 "b" 2 3 4}')
    assert isinstance(m, dict) and isinstance(m, Mapping) and type(m) is Map
    assert dict(m) == {**m} == m.copy() == {"a": 1, "b": 2, 3: 4} == m
    assert m.keys() & {"a", "z"} == {"a"} and (3, 4) in m.items() and m | {"a": 5} == {"a": 5, "b": 2, 3: 4}
    assert m[keyword("a")] == m["a"] == m.get("a") == 1 and "a" in m and keyword("a") in m and "q" not in m
    for change in (lambda: m.update(a=2), lambda: m.pop("a"), lambda: m.__setitem__("a", 1)):
        with pytest.raises(TypeError, match="can't be changed"):
            change()


def test_a_string_beside_its_keyword_stays_apart() -> None:
    m = sema('{:a 1 "a" 2}')
    assert dict(m) == {keyword("a"): 1, "a": 2} and len(m) == len(m.keys()) == 2 and m["a"] == 2


def test_equality_goes_down() -> None:
    assert sema(ORDER) == {**PLAIN, "state": keyword("open")} and sema(ROWS) == PLAIN_ROWS and sema(ROWS) == PLAIN_ROWS
    assert sema("{:a {:b 1}}") != {"a": {"b": 2}} and sema("{:a 1}") != {"a": 1.0} and sema("{:a 1}") != {"b": 1}
    assert Map({symbol("a"): 1}) == {"a": 1} == HashMap({keyword("a"): 1})


def test_copies_by_way_of_the_type() -> None:
    m, xs = sema(ORDER), sema("(list 1 {:a 2})")
    assert type(m)((key, value) for key, value in m.items()) == dict(m) and type(xs)(x for x in xs) == xs
    assert pickle.loads(pickle.dumps(m)) == m == copy.deepcopy(m) and type(copy.copy(m)) is Map
    assert pickle.loads(pickle.dumps(xs)) == xs == copy.deepcopy(xs) and type(copy.copy(xs)) is List

    @dataclasses.dataclass
    class Box:
        content: Any

    assert dataclasses.asdict(Box(m))["content"]["items"][0]["sku"] == "a"


def test_keyword_arguments() -> None:
    assert (lambda **named: named)(**sema("{:a 1 :b 2}")) == {"a": 1, "b": 2}


def test_sema_keeps_its_own_equality() -> None:
    assert sema("(= {:a 1} (py/dict {:a 1}))") is False and sema("(map? (hashmap/new))") is False
    assert sema("(keys {:a 1})") == [keyword("a")]


# The standard library


def test_json() -> None:
    m = sema(ORDER)
    assert json.loads(json.dumps(m)) == PLAIN == json.loads(json.dumps(m, indent=2, default=str))
    assert json.dumps({"x": sema("(list 1 :k 'sym)")}) == '{"x": [1, "k", "sym"]}'
    read = sema('(json/decode "{\\"b\\": [1, {\\"c\\": null}], \\"a\\": 1}")')
    assert json.loads(json.dumps(read)) == {"b": [1, {"c": None}], "a": 1}
    with pytest.raises(TypeError, match="object is not JSON serializable"):
        json.dumps({"x": object()})
    assert json.dumps(object(), default=lambda value: sema("{:seen #t}")) == '{"seen": true}'


def test_json_of_a_record() -> None:
    assert json.dumps(sema("(begin (define-record-type p (make-p x y) p? (x p-x)) (make-p 1 {:a 2}))")) == (
        '{"x": 1, "y": {"a": 2}}'
    )


def test_pprint() -> None:
    assert pprint.pformat(sema(ROWS)) == '({:id 1 :name "x"} {:id 2 :name "y"})'


def test_conditions_are_exceptions_that_callers_catch() -> None:
    with pytest.raises(IndexError) as caught:
        nth(List([10]), 5)
    assert isinstance(caught.value, SemaError)
    with pytest.raises(TypeError):
        sema("(string-length 5)")
    assert issubclass(SemaTypeError, TypeError) and issubclass(ArityError, TypeError)
    assert issubclass(UnboundError, NameError)
    assert pickle.loads(pickle.dumps(caught.value)).message == caught.value.message


# Libraries


def test_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Item(pydantic.BaseModel):
        sku: str
        price: float

    class Order(pydantic.BaseModel):
        id: int
        items: list[Item]
        state: Any

    order = Order.model_validate(sema(ORDER))
    assert order.items[1] == Item(sku="b", price=2.0)
    assert json.loads(Order(id=1, items=[], state=sema("{:a (list 1 {:b :c})}")).model_dump_json())["state"] == {
        "a": [1, {"b": "c"}]
    }
    assert pydantic.TypeAdapter(dict[str, int]).validate_python(sema("{:a 1}")) == {"a": 1}
    assert sema("(begin (define (f order) (map :sku (:items order))) f)")(order.model_dump()) == ["a", "b"]


def test_pandas() -> None:
    pandas = pytest.importorskip("pandas", reason="pip install 'semac[dev-interop]'")
    frame = pandas.DataFrame(sema(ROWS))
    assert list(frame.columns) == ["id", "name"] and frame["id"].sum() == 3
    columns = pandas.DataFrame(sema('{:id (list 1 2) :name ["x" "y"]}'))
    assert columns.to_dict("records") == PLAIN_ROWS
    assert sema("(begin (define (ids rows) (map :id rows)) ids)")(frame.to_dict("records")) == [1, 2]


def test_polars() -> None:
    polars = pytest.importorskip("polars", reason="pip install 'semac[dev-interop]'")
    assert polars.DataFrame(sema('{:id (list 1 2) :name ["x" "y"]}')).rows() == [(1, "x"), (2, "y")]
    assert sema("(begin (define (ids rows) (map :id rows)) ids)")(polars.DataFrame(PLAIN_ROWS).to_dicts()) == [1, 2]


def test_sqlalchemy() -> None:
    sqlalchemy = pytest.importorskip("sqlalchemy", reason="pip install 'semac[dev-interop]'")
    engine = sqlalchemy.create_engine("sqlite://")
    with engine.begin() as connection:
        connection.execute(sqlalchemy.text("create table t (id integer, name text)"))
        insert = sqlalchemy.text("insert into t values (:id, :name)")
        connection.execute(insert, sema('{:id 1 :name "x"}'))
        connection.execute(insert, sema('[{:id 2 :name "y"} {:id 3 :name "z"}]'))
        rows = connection.execute(sqlalchemy.text("select * from t order by id")).mappings().all()
        assert sema("(begin (define (names rows) (map :name rows)) names)")(rows) == ["x", "y", "z"]


def test_fastapi() -> None:
    fastapi = pytest.importorskip("fastapi", reason="pip install 'semac[dev-interop]'")
    from fastapi.testclient import TestClient

    app = fastapi.FastAPI()
    app.get("/orders/{id}")(sema(f"(begin (define (order id format) (assoc {ORDER} :id id :format format)) order)"))
    app.get("/rows")(sema(f"(begin (define (rows) {ROWS}) rows)"))
    client = TestClient(app)
    assert client.get("/orders/9?format=long").json() == {**PLAIN, "id": "9", "format": "long"}
    assert client.get("/rows").json() == PLAIN_ROWS


def test_jinja() -> None:
    jinja2 = pytest.importorskip("jinja2", reason="pip install 'semac[dev-interop]'")
    template = jinja2.Template(
        "{{ o.id }}{% for item in o['items'] %} {{ item.sku }}{% endfor %}{% for k in o %} {{ k }}{% endfor %}"
    )
    assert template.render(o=sema(ORDER)) == "7 a b id items state"


def test_httpx_and_requests() -> None:
    import httpx

    assert json.loads(httpx.Request("POST", "http://x/", json=sema(ORDER)).content) == PLAIN
    assert httpx.Request("GET", "http://x/", params=sema("{:q 1}")).url.query == b"q=1"
    requests = pytest.importorskip("requests", reason="pip install 'semac[dev-interop]'")
    prepared = requests.Request("POST", "http://x/", json=sema(ORDER), params=sema("{:q 1}")).prepare()
    assert json.loads(prepared.body) == PLAIN and prepared.url.endswith("?q=1")


def test_numpy() -> None:
    numpy = pytest.importorskip("numpy")
    assert numpy.array(sema("(list 1 2 3)")).sum() == 6 and numpy.array(sema("(list [1 2] [3 4])")).shape == (2, 2)


def test_rich() -> None:
    rich = pytest.importorskip("rich.pretty", reason="pip install 'semac[dev-interop]'")
    assert "7" in rich.pretty_repr(sema(ORDER))


# What Python sees of a map


def test_iteration_loses_no_key_that_python_confuses() -> None:
    m = sema("{0 :int 0.0 :float 1 :one #t :true :a 5}")
    assert len(m) == len(list(m)) == len(list(m.items())) == len(m.keys()) == len(list(m.values())) == 5
    assert {(type(key), value) for key, value in m.items() if key == 0} == {
        (int, keyword("int")),
        (float, keyword("float")),
    }
    assert json.loads(json.dumps(m)) == {"0": "int", "0.0": "float", "1": "one", "True": "true", "a": 5}
    with pytest.raises(ValueError, match="one to a dict of Python"):
        m.copy()


def test_an_object_with_a_name_is_no_keyword() -> None:
    from pathlib import Path

    m = Map.of([(Path("x/a"), 1), (keyword("b"), 2)])
    assert list(m) == [Path("x/a"), "b"] and m[Path("x/a")] == 1 and dict(m) == {Path("x/a"): 1, "b": 2}


def test_reading_once_and_again_gives_the_same() -> None:
    m = sema('{:a 1 "b" 2 c 3}'.replace(" c ", " (quote c) "))
    for _ in range(3):
        assert (m["a"], m["b"], m["c"], m.get("d", 4), m[keyword("a")]) == (1, 2, 3, 4, 1)
        assert dict(m.items()) == {"a": 1, "b": 2, "c": 3} == m.copy() and "c" in m and "d" not in m
    m.copy()["z"] = 1
    assert "z" not in m and len(m) == 3


def test_looking_for_a_string_interns_no_keyword() -> None:
    from sema_runtime.values.atoms import KEYWORDS

    before = len(KEYWORDS)
    assert [sema("{:a 1}").get(f"nowhere-{index}") for index in range(50)] == [None] * 50
    assert len(KEYWORDS) - before < 10


def test_a_map_that_was_read_gives_new_maps_their_own_entries() -> None:
    m = sema("{:a 1}")
    for _ in range(3):
        dict(m)
    changed = sema("(begin (define (f m) (assoc m :b 2)) f)")(m)
    assert dict(changed) == {"a": 1, "b": 2} and dict(m) == {"a": 1} == m.copy()


def test_numbers_of_libraries_convert_and_print_as_numbers() -> None:
    text = """(begin (py/import "numpy" :as np) (py/from "decimal" Decimal)
      (define i (np.int64 3)) (define f (np.float32 2.5))
      (list (int i) (float f) (int (Decimal "3.7")) (float (Decimal "0.5")) (str i f (np.float64 1))
            (<= i 3) (< i 2)))"""
    assert sema(text) == [3, 2.5, 3, 0.5, "32.51.0", True, False]
    text = '(begin (py/import "numpy" :as np) (define (f a) (list (<= a 1) (>= a 1))) (f (np.arange 3)))'
    assert [list(map(bool, answer)) for answer in sema(text)] == [[True, True, False], [False, True, True]]
