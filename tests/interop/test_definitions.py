"""`py/def`, `py/fn`, `py/class`: what Python's tools read of them, optimized and not, as a program and as a module."""

from __future__ import annotations

import importlib
import inspect
import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from semac import importer

SEMA = Path(sys.executable).with_name("sema")

PROGRAM = """
(py/from "dataclasses" dataclass)
(py/from "contextlib" contextmanager)
(py/def (area [w float] (h 2) * [unit str "m"] **more) -> float "Area." (list (* w h) unit more))
(println (area 3) (area 3 4 :unit "km" :z 1))
(py/class [dataclass] Point "A point." [x int] [y int 0] (define unit "m")
  (py/def (norm self) (+ (.-x self) (.-y self)))
  (py/def [property] (double self) (* 2 (.norm self)))
  (py/def [classmethod] (origin cls) (cls 0 0))
  (py/def (__add__ self other) (Point (+ (.-x self) (.-x other)) (+ (.-y self) (.-y other)))))
(println (py/repr (Point 1 :y 2)) (.norm (Point 1 2)) (.-double (Point 1 2)) (py/repr (Point.origin)))
(println (py/repr (+ (Point 1 2) (Point 3 4))))
(py/class (Loud Point) (py/def (norm self) (* 10 (.norm (py/super Loud self)))))
(println (.norm (Loud 1 2)))
(py/def (evens n) (for-each (fn (i) (py/yield (* 2 i))) (range n)) :end)
(println (py/iter->list (evens 4)))
(py/def [contextmanager] (opened name)
  (println "in" name)
  (try (py/yield (str name "!")) (catch e (println "caught" (:message e))))
  (println "out"))
(println (py/with (f (opened "x")) f))
(py/with (f (opened "x")) (error "boom"))
(define g (py/fn (x * (y 2)) (+ x y)))
(println (py/call g 1 :y 5) (g 1))
(py/def (spread first *args) [first args])
(println (spread 1 2 3))
(py/def (count-down n (seen 0)) (if (= n 0) seen (count-down (- n 1) (+ seen 1))))
(println (count-down 100 0.5))
(py/class (MyError ValueError) (define code 5))
(println (try (throw (MyError "no")) (catch e (:python-type e))))
"""
PRINTED = """(6 "m" {}) (12 "km" {"z" 1})
Point(x=1, y=2) 3 6 Point(x=0, y=0)
Point(x=4, y=6)
30
(0 2 4 6)
in x
out
x!
in x
caught boom
out
6 3
[1 [2 3]]
100.5
MyError
"""

MODULE = """
(py/from "pydantic" BaseModel Field)
(py/from "fastapi" FastAPI Depends)
(py/from "typing" Annotated)
(py/class (Item BaseModel) [sku str] [price float (Field :gt 0)] [tags (list str) (py/list)])
(define app (FastAPI))
(py/def (limit (n 10)) (py/yield n))
(py/def [(.post app "/items/{id}")] (add-item [id int] [item Item] [n (Annotated int (Depends limit))]
                                              [format str "short"])
  -> dict
  "Adds an item."
  {:id id :item (.-sku item) :format format :n n})
(py/def (typed [xs (list int)] [y nil nil]) xs)
(py/class Plain (py/def (__init__ self (a 1)) (set! (.-a self) a)) (py/def (__len__ self) (.-a self)))
"""


@pytest.fixture
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    pytest.importorskip("fastapi", reason="pip install 'semac[dev-interop]'")
    (tmp_path / "shaped.sema").write_text(MODULE)
    monkeypatch.syspath_prepend(str(tmp_path))
    importer.install()
    yield importlib.import_module("shaped")
    sys.modules.pop("shaped")


@pytest.mark.parametrize("optimized", ["0", "1"])
def test_programs(tmp_path: Path, optimized: str) -> None:
    (tmp_path / "program.sema").write_text(PROGRAM)
    done = subprocess.run(
        [SEMA, tmp_path / "program.sema"],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, "SEMA_OPT": optimized},
    )
    assert (done.stderr, done.stdout) == ("", PRINTED)


def test_the_same_as_written_python(tmp_path: Path) -> None:
    (tmp_path / "program.sema").write_text(PROGRAM)
    subprocess.run([SEMA, "compile", tmp_path / "program.sema"], check=True, timeout=60)
    done = subprocess.run([sys.executable, tmp_path / "program.py"], capture_output=True, text=True, timeout=60)
    assert (done.stderr, done.stdout) == ("", PRINTED)


def test_fastapi_reads_types_defaults_and_generators(module: Any) -> None:
    from fastapi.testclient import TestClient

    client = TestClient(module.app)
    answer = client.post("/items/7?format=long", json={"sku": "a", "price": 2})
    assert answer.json() == {"id": 7, "item": "a", "format": "long", "n": 10}
    assert client.post("/items/x", json={"sku": "a", "price": 2}).status_code == 422
    assert client.post("/items/1", json={"sku": "a", "price": -2}).status_code == 422
    assert client.get("/openapi.json").json()["paths"]["/items/{id}"]["post"]["description"] == "Adds an item."


def test_what_inspect_sees(module: Any) -> None:
    signature = inspect.signature(module.add_item)
    assert (
        list(signature.parameters) == ["id", "item", "n", "format"]
        and signature.parameters["format"].default == "short"
    )
    assert get_type_hints(module.add_item)["return"] is dict and module.add_item.__doc__ == "Adds an item."
    assert str(inspect.signature(module.typed)) == "(xs: list[int], y: None = None)"
    assert inspect.isgeneratorfunction(module.limit) and module.Plain.__module__ == "shaped"
    assert module.Plain.__len__.__qualname__ == "Plain.__len__" and module.Item(sku="a", price=1).tags == []
    assert len(pickle.loads(pickle.dumps(module.Plain(3)))) == 3


def test_typer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typer = pytest.importorskip("typer", reason="pip install 'semac[dev-interop]'")
    from typer.testing import CliRunner

    (tmp_path / "tool_of_typer.sema").write_text(
        '(py/import "typer")\n(define app (typer.Typer))\n'
        "(py/def [(.command app)] (list [name str] [count int 1]) (println name count))"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    importer.install()
    tool = importlib.import_module("tool_of_typer")
    assert typer and CliRunner().invoke(tool.app, ["Ann", "--count", "3"]).stdout == "Ann 3\n"


def test_sqlalchemy_models(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("sqlalchemy", reason="pip install 'semac[dev-interop]'")
    (tmp_path / "models_of_sema.sema").write_text("""
(py/from "sqlalchemy.orm" DeclarativeBase Mapped Session mapped_column)
(py/from "sqlalchemy" create_engine select)
(py/class (Base DeclarativeBase))
(py/class (User Base)
  (define __tablename__ "users")
  [id (Mapped int) (mapped_column :primary-key #t)]
  [name (Mapped str)])
(define engine (create_engine "sqlite://"))
(.create_all Base.metadata engine)
(define (names)
  (py/with (session (Session engine))
    (.add session (User :name "Ann"))
    (.commit session)
    (map .-name (.all (.scalars session (select User))))))
""")
    monkeypatch.syspath_prepend(str(tmp_path))
    importer.install()
    assert importlib.import_module("models_of_sema").names() == ["Ann"]


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ("(py/def (f (a 1) b) a)", "without a default follows"),
        ("(py/def f 1)", "expected (name parameter ...)"),
        ("(py/class C 5)", "expected a field, an attribute or a method"),
        ("(py/yield 1)", "no generator runs here"),
        ("(py/def (f [a]) a)", "expected a parameter"),
    ],
)
def test_mistakes(form: str, message: str) -> None:
    done = subprocess.run([SEMA, "-e", form], capture_output=True, text=True, timeout=60)
    assert message in done.stderr and done.returncode == 1


def test_a_sandbox_denies_them() -> None:
    for form in ("(py/def (f) 1)", "(py/class C)", "(py/fn () 1)", "(py/yield 1)"):
        done = subprocess.run([SEMA, "--sandbox", "strict", "-e", form], capture_output=True, text=True, timeout=60)
        assert "requires 'python' capability" in done.stderr, form
