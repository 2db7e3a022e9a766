"""Python from Sema, as programs see it: notation, values, callbacks, errors, conversions, libraries."""

from __future__ import annotations

import json
from fractions import Fraction

import pytest
from outcomes import outcome

from sema_runtime.conditions.describe import condition_map
from sema_runtime.interop import keyword, to_python, to_sema
from sema_runtime.lib.collections.maps import assoc
from sema_runtime.values.printer import to_text
from semac.pipeline import compile_source
from semac.session import Session

PY = '(py/import "builtins" :as py) '


SUPPRESS = '(py/from "contextlib" suppress) (py/from "builtins" ValueError int)'


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ('(py/import "json") (json.dumps [1] :indent nil)', '"[1]"'),
        ('(py/import "os.path" :as p) (p.join "a" "b")', '"a/b"'),
        ('(py/import "os.path") (os.path.join "a" "b")', '"a/b"'),
        ('(py/from "os.path" (join :as j) basename) (basename (j "a" "b"))', '"b"'),
        ('(py/from "json" dumps) (map dumps (list 1 "a"))', '("1" "\\"a\\"")'),
        ('(define (f) (json.dumps 1)) (py/import "json") (f)', '"1"'),  # a function may come before the import it uses
        ('(define (f) (py/import "json") (json.dumps 1)) (f)', '"1"'),
        ('(py/import "json") ((fn (json) (json.lower)) "ABC")', '"abc"'),  # a local variable hides the module
        ('(py/import "json") (define (json.dumps x) :mine) (json.dumps 1)', ":mine"),
        ('(py/import "math") (math.floor math.pi)', "3"),
        ('(py/import "sys") (set! sys.sema-test 5) (py/getattr sys "sema_test")', "5"),
        ('(.upper "loud")', '"LOUD"'),
        ('(.split "a,b,c" "," :maxsplit 1)', '("a" "b,c")'),
        ('(-> "a,b" (.split ",") (.index "b"))', "1"),
        ('(map .upper \'("a" "b"))', '("A" "B")'),
        ("(map .-real [1 2])", "(1 2)"),
        ("(list (.-real.imag 5) (.real.bit-length 5) (map .-real.imag [1 2]))", "(0 3 (0 0))"),
        ('(py/from "types" SimpleNamespace) (let ((o (SimpleNamespace :a-b 1))) (set! (.-a-b o) 2) (.-a_b o))', "2"),
        ('(py/call (py/getattr (py/module "builtins") "sorted") \'(1 3 2) :reverse #t)', "(3 2 1)"),
        ('(.encode "a" :encoding "utf-16-le" :errors "strict")', "#u8(97 0)"),
        (PY + "(py.isinstance ':a py.object)", "#t"),  # a quoted keyword is a value
        (PY + "(py.repr :a)", '":a"'),  # so is one with nothing behind it
        ("(py/get {:a 1} :a)", "1"),
        ("(py/get [1 2 3] -1)", "3"),
        ("(map py/get '([1] [2]) '(0 0))", "(1 2)"),
        ("(py/get [1] 5 :none)", ":none"),
        ("(let ((d (py/dict))) (py/set! d :k 1) (py/set! d :l 2) (py/del! d :l) d)", "{:k 1}"),
        ('(py/from "io" StringIO) (py/with (f (StringIO "x")) (.read f))', '"x"'),
        ('(py/from "io" StringIO) (define s (StringIO)) (py/with (f s) (.write f "x")) (.-closed s)', "#t"),
        (
            f'{SUPPRESS} (map (fn (s) (let ((n (py/with (_ (suppress ValueError)) (int s)))) (list n))) \'("5" "z"))',
            "((5) (nil))",
        ),
        (
            f'{SUPPRESS} (let loop ((i 0)) (if (> i 5) :end (py/with (_ (suppress ValueError)) (if (= i 2) (int "z") '
            "(loop (+ i 1))))))",
            "nil",
        ),
        (
            f'{SUPPRESS} (let ((m {{:a 1}})) (py/with (_ (suppress ValueError)) (let ((r (assoc m :b 2))) (int "z") '
            "(set! m r))) m)",
            "{:a 1}",
        ),
        ('(py/apply (.-date (py/module "datetime")) [2024] {:month 2 :day 3})', "datetime.date(2024, 2, 3)"),
        ("(define-record-type p (mk class a-b) p? (class pc)) (pc (py/apply mk [] {:class 1 :a-b 2}))", "1"),
        ('(py/import "datetime") (- (datetime.date 2024 1 3) (datetime.date 2024 1 2))', "datetime.timedelta(days=1)"),
        ('(py/import "datetime") (str (datetime.date 2024 1 3) "!")', '"2024-01-03!"'),
        ('(py/from "pathlib" Path) (= (/ (Path "a") "b") (Path "a/b"))', "#t"),
        (PY + "(if (py.set) :yes :no)", ":yes"),  # truth is Sema's: only #f and nil are false
        ('(py/from "http" HTTPStatus) (list (+ 1 HTTPStatus.OK) (= 200 HTTPStatus.OK))', "(201 #t)"),
    ],
)
def test_notation(source: str, expected: str) -> None:
    assert outcome(source) == expected


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ('(py/import "no_such_module")', "ModuleNotFoundError: No module named 'no_such_module'"),
        ('(py/import "not a name")', "py/import: 'not a name' is no name of a Python module"),
        ('(py/import "json" :to j)', "py/import: expected :as name"),
        ("(py/import json)", "py/import: expected a string"),
        ('(py/from "json" "dumps")', "py/from: expected a symbol"),
        (PY + "(py.dict :a 1 2)", "positional argument after a keyword argument"),
        (PY + "(py.dict :a 1 :a 2)", "keyword argument :a given twice"),
        ("(py/apply + '(1) 5)", "expected map or hashmap, got int"),
        ("(py/apply 5 '(1))", "expected callable, got int"),
        ("(py/raise 5)", "py/raise: expected an exception of Python"),
        ("(undefined.name 1)", "Unbound variable: undefined.name"),
    ],
)
def test_mistakes(source: str, message: str) -> None:
    assert outcome(source).startswith("! ")
    assert message in outcome(source) or message in str(error_of(source))


def error_of(source: str) -> Exception:
    with pytest.raises(Exception) as caught:
        Session().run(source)
    return caught.value


CONTAINERS = {
    "(py/list [1 2 3])": "(1 2 3)",
    "(py/tuple '(1 2 3))": "[1 2 3]",
    '(py/call (.-deque (py/module "collections")) \'(1 2 3))': "deque([1, 2, 3])",
    '(py/call (.-range (py/module "builtins")) 1 4)': "range(1, 4)",
    '(py/call (.-array (py/module "array")) "i" \'(1 2 3))': "array('i', [1, 2, 3])",
}


@pytest.mark.parametrize("made", CONTAINERS)
def test_sequences_are_lists_to_the_builtins(made: str) -> None:
    uses = """(length d) (count d) (empty? d) (first d) (nth d 1) (last d) (map - d) (filter even? d) (foldl + 0 d)
        (apply + d) (sort d) (take 2 d) (for-each - d) (let (([a & more] d)) (list a more))"""
    expected = "3 3 #f 1 2 3 (-1 -2 -3) (2) 6 6 (1 2 3) (1 2) nil (1 (2 3))"
    assert outcome(f"(define d {made}) (list {uses})") == f"({expected})"
    assert outcome(made) == CONTAINERS[made]


@pytest.mark.parametrize(
    "made",
    ["(py/dict {:a 1 :b 2})"]
    + [
        f'(py/call (.-{kind} (py/module "collections")) (py/dict {{:a 1 :b 2}}))'
        for kind in ("OrderedDict", "UserDict")
    ],
)
def test_mappings_are_maps_to_the_builtins(made: str) -> None:
    uses = """(count d) (length d) (keys d) (vals d) (get d "a") (get d "z" 0) (contains? d "b") (assoc d "c" 3)
        (map first (map/entries d)) (let (({"a" x} d)) x)"""
    expected = '2 2 ("a" "b") (1 2) 1 0 #t {"a" 1 "b" 2 "c" 3} ("a" "b") 1'
    assert outcome(f"(define d {made}) (list {uses})") == f"({expected})"


def test_keywords_find_strings_in_mappings() -> None:
    uses = """(:a d) (get d :a) (get d :z 0) (contains? d :a) (get-in {:d d} [:d :a]) (let (({:keys [a]} d)) a)
        (match d ({:a 5} :no) ({:a x} x))"""
    for made in ("(py/dict {:a 1})", '(py/call (.-OrderedDict (py/module "collections")) (py/dict {:a 1}))'):
        assert outcome(f"(define d {made}) (list {uses})") == "(1 1 0 #t 1 1 1)"
    assert (
        outcome('(py/import "os") (list (string? (:PATH os.environ)) (string? (get os.environ "PATH")))') == "(#t #t)"
    )


CHANGED = {
    "(assoc d :a 5)": "{:a 5 :b 2}",
    "(assoc d :c 3)": "{:a 1 :b 2 :c 3}",
    '(assoc d "c" 3 :a 5)': '{"c" 3 :a 5 :b 2}',
    "(:b (assoc d :a 5))": "2",
    "(assoc-in d [:b :c] 3)": "{:a 1 :b {:c 3}}",
    "(map/update d :a -)": "{:a -1 :b 2}",
    "(update-in d [:a] -)": "{:a -1 :b 2}",
    "(dissoc d :a)": "{:b 2}",
    "(merge {:a 0 :c 0} d)": "{:a 1 :b 2 :c 0}",
    "(merge d {:a 0})": "{:a 0 :b 2}",
    "(map/select-keys d '(:a))": "{:a 1}",
    "(map/except d '(:a))": "{:b 2}",
    '(merge d {"a" 0})': '{"a" 0 "b" 2}',
    '(dissoc d "a")': '{"b" 2}',
}


@pytest.mark.parametrize("kind", ["dict", "OrderedDict", "UserDict"])
def test_what_a_keyword_changes_in_a_mapping_has_keywords(kind: str) -> None:
    made = f'(py/call (.-{kind} (py/module "collections")) (py/dict {{:a 1 :b 2}}))'
    source = "(py/dict {:a 1 :b 2})" if kind == "dict" else made
    for change, expected in CHANGED.items():
        assert outcome(f"(define d {source}) {change}") == expected, change
        assert outcome(f'(define d {source}) {change} (list (get d "a") (keys d))') == '(1 ("a" "b"))', change


def test_a_keyword_of_a_mapping_keeps_its_value() -> None:
    d = {"a": 1, keyword("a"): 7, 3: 4, "b": 2}
    assert to_text(assoc(d, keyword("b"), 5)) == "{3 4 :a 7 :b 5}"
    assert d == {"a": 1, keyword("a"): 7, 3: 4, "b": 2}


def test_iterators_need_no_conversion() -> None:
    assert outcome(PY + "(map - (py.iter [1]))") == "(-1)"
    assert outcome(PY + "(map - (py/iter->list (py.iter [1])))") == "(-1)"
    assert outcome("(map last (py/iter->list (.items (py/dict {:a 1}))))") == "(1)"
    assert outcome("(count (py/set [1 1 2]))") == "2"


# Callbacks


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        (PY + "(py.sorted '(3 1 2) :key -)", "(3 2 1)"),
        (PY + "(py.sorted '({:n 2} {:n 1}) :key :n)", "({:n 1} {:n 2})"),
        (
            PY + '(define (double x) (* x 2)) (double 1) (py/list (py.map double [1 "a"]))',
            "! expected number, got string and int",
        ),
        (PY + "(define fs (map (fn (i) (fn () i)) (py.range 3))) (map (fn (f) (f)) fs)", "(0 1 2)"),
        # tail calls of a function that Python calls back, from a function that was itself called in tail position
        (
            '(py/import "functools") (define (add a b) (+ a b)) (define (pick n) (if (> n 0) step add))'
            " (define (step a b) ((pick 0) a b)) (define (call h f xs) (h f xs))"
            " (call functools.reduce step [1 2 3])",
            "6",
        ),
        (
            '(py/import "functools") (define (add a b) (+ a b)) (define (pick n) (if (> n 0) step add))'
            " (define (step a b) ((pick 0) a b)) (define (call h . args) (apply h args))"
            " (call functools.reduce step [1 2 3])",
            "6",
        ),
        (
            '(py/import "threading" :as th) (define x 1) (define (f y) (set! x y))'
            " (let ((t (th.Thread :target f :args [5]))) (.start t) (.join t) x)",
            "5",
        ),
        (  # a thread without any Python frame below the function
            '(py/import "_thread" :as th) (define done (th.allocate_lock)) (define out nil)'
            " (define (k) (set! out :done) (.release done)) (define (f n) ((if (> n 0) f2 k*) n)) (define (k* n) (k))"
            " (define (f2 n) (f (- n 1))) (.acquire done) (th.start_new_thread f [10]) (.acquire done) out",
            ":done",
        ),
        (PY + "(try (py.sorted [2 1] :key (fn (x) (throw :boom))) (catch e (:value e)))", ":boom"),
        ('(py/import "re") (re.sub "[0-9]+" (fn (m) (str (* 2 (int (.group m))))) "a1b20")', '"a2b40"'),
    ],
)  # fmt: skip
def test_callbacks(source: str, expected: str) -> None:
    assert outcome(source) == expected


# Errors


def test_exceptions_are_conditions() -> None:
    caught = '(py/import "json") (try (json.loads "{") (catch e HERE))'
    assert outcome(caught.replace("HERE", "(:type e)")) == ":python"
    assert outcome(caught.replace("HERE", "(:python-type e)")) == '"JSONDecodeError"'
    assert outcome(caught.replace("HERE", "(:python-class e)")) == '"json.decoder.JSONDecodeError"'
    assert outcome(caught.replace("HERE", "(.-pos (py/exception e))")) == "1"
    assert outcome(caught.replace("HERE", "(:message e)")).startswith('"JSONDecodeError: Expecting property name')
    assert outcome(caught.replace("HERE", "(contains? (json/decode (json/encode e)) :python-exception)")) == "#t"
    assert outcome("(try (car 5) (catch e (py/exception e)))") == "nil"


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("(.append (list 1) 2)", "TypeError: a list of Sema can't be changed: xs.copy() is a list of Python"),
        ('(.nope "s")', "AttributeError: 'str' object has no attribute 'nope'"),
        ('(.-count (py/module "json"))', "AttributeError: module 'json' has no attribute 'count'"),
        ('(py/from "pathlib" Path) (.upper (Path "a"))', "AttributeError: 'PosixPath' object has no attribute 'upper'"),
        ('(py/get {"a" 1} "b")', "KeyError: b"),
        ("(py/get [1] 5)", "IndexError: tuple index out of range"),
        ('(py/from "builtins" ValueError) (throw (ValueError "x"))', "ValueError: x"),
        ('(py/from "builtins" ValueError) (py/raise ValueError)', "ValueError"),
        ("(try (py/get (py/list) 0) (catch e (py/raise e)))", "IndexError: list index out of range"),
        ("(try (py/get (py/list) 0) (catch e (throw e)))", "IndexError: list index out of range"),
        ('(py/from "json" no-such-name)', "ImportError: cannot import name 'no_such_name' from 'json'"),
    ],
)
def test_uncaught_exceptions(source: str, expected: str) -> None:
    assert outcome(source).startswith("! " + expected)


def test_a_caught_exception_dies_with_its_map() -> None:
    """No cycle between an exception and its translation keeps frames and open files alive."""
    import gc
    import weakref

    class Custom(Exception):
        pass

    error = Custom("x")
    try:
        raise error
    except Custom as caught:
        found = condition_map(caught)
    assert found["python-class"].endswith("Custom") and found["python-exception"] is error
    gone = weakref.ref(error)
    gc.disable()
    try:
        del error, found
        assert gone() is None
    finally:
        gc.enable()


# Sessions and emitted code


def test_later_inputs_of_a_session_know_the_imports() -> None:
    session = Session(closed=False)
    session.run('(py/import "json") (py/from "datetime" timedelta)')
    assert session.run("(json.dumps [1] :indent nil)") == "[1]"
    assert session.run("(str (timedelta :days 2))") == "2 days, 0:00:00"
    assert session.run("(eval '(json.dumps 1))") == "1"
    session.run("(define json 5)")
    with pytest.raises(NameError):
        session.run("json.dumps")


def test_emitted_code_is_what_one_would_write() -> None:
    source = """(py/import "json") (py/from "os.path" (join :as join-path))
    (define (save rows path)
      (py/with (f (.open path "w" :encoding "utf-8"))
        (json.dump (py/get rows 0) f :sort-keys #t)))"""
    text = compile_source(source, "save.sema").python_text()
    assert "import json\nfrom os.path import join as join_path\n" in text
    assert (
        '    with path.open("w", encoding="utf-8") as f:\n        return json.dump(rows[0], f, sort_keys=True)' in text
    )


# Conversions


def test_to_python() -> None:
    source = """(begin (define-record-type point (make-point x first-name) point? (x point-x))
        {:name "a" "plain" 1.5 3 '(1 :k sym #\\c nil #t) :v [1/2 (vector)] :r (make-point 1 2) :m (mutable-cell/new 1)
         :h (hashmap/new :b 1) :b #u8(1) [1 :a] 0})"""
    assert to_python(Session().run(source)) == {
        3: [1, "k", "sym", "c", None, True], "plain": 1.5, (1, "a"): 0, "b": b"\x01", "h": {"b": 1}, "m": 1,
        "name": "a", "r": {"x": 1, "first-name": 2}, "v": [0.5, []],
    }  # fmt: skip
    data = Session().run('{:a \'(1 2.5 nil #t "s") :b {:c [1]}}')
    assert json.loads(json.dumps(to_python(data))) == {"a": [1, 2.5, None, True, "s"], "b": {"c": [1]}}
    assert to_python(Session().run("(values 1 :a)")) == [1, "a"]
    marker = object()
    assert to_python(marker) is marker


def test_keys_that_would_become_one() -> None:
    assert outcome('(py/->py {:a 1 "a" 2})') == "! to Python: the keys 'a' and :a of a map would become one"


def test_to_sema() -> None:
    import collections
    import dataclasses
    import decimal
    import enum

    @dataclasses.dataclass
    class Point:
        x: int
        tags: list[str]

    class Level(enum.IntEnum):
        HIGH = 3

    class Text(str):
        pass

    cases = {
        "{:a (1 [2 3]) :b {:c nil}}": {"a": [1, (2, 3)], "b": {"c": None}},
        "(1 2 3)": {3, 1, 2},
        "(0 1)": range(2),
        "(1 4)": (x * x for x in (1, 2)),
        '("a" "b")': {"a": 1, "b": 2}.keys(),
        "(1 2)": collections.deque([1, 2]),
        "{1 2}": collections.OrderedDict({1: 2}),
        "[1 2]": collections.namedtuple("P", "x y")(1, 2),
        '{:tags ("t") :x 1}': Point(1, ["t"]),
        "3": Level.HIGH,
        '"s"': Text("s"),
        "1/2": Fraction(1, 2),
        "2": Fraction(4, 2),
        "1.0+2.0i": 1 + 2j,
        "#u8(1 2)": bytearray(b"\x01\x02"),
        "Decimal('1.5')": decimal.Decimal("1.5"),
    }
    for expected, value in cases.items():
        assert to_text(to_sema(value)) == expected
    assert type(to_sema(Fraction(4, 2))) is int
    assert type(to_sema(Text("s"))) is str and type(to_sema(Level.HIGH)) is int
    assert to_text(to_sema({"a": {"b": 1}}, keywords=False)) == '{"a" {"b" 1}}'
    assert to_sema({"a": 1}).lookup(keyword("a")) == 1


def test_json_data_survives_both_ways() -> None:
    data = {"users": [{"name": "Ann", "age": 3, "tags": [], "x": None, "ok": True, "f": 1.5}], "n": -1}
    assert to_python(to_sema(data)) == data


# Libraries


def test_httpx_with_a_sema_handler() -> None:
    source = """
    (py/import "httpx")
    (define (handler request)
      (httpx.Response 200 :json (py/->py {:path (.-path (.-url request)) :sent (py/->sema (.-headers request))})))
    (py/with (client (httpx.Client :transport (httpx.MockTransport handler) :base-url "http://test"))
      (let* ((reply (.get client "/a/b" :headers {"X-Mark" "1"}))
             (data (py/->sema (.json reply))))
        (list (.-status-code reply) (:path data) (:x-mark (:sent data)))))"""
    assert outcome(source) == '(200 "/a/b" "1")'
    assert outcome('(py/import "httpx") (try (httpx.URL 5) (catch e (:type e)))') == ":python"


def test_pydantic_models() -> None:
    source = """
    (py/import "builtins" :as py)
    (py/from "pydantic" create-model)
    (define User (create-model "User" :name [py.str py.Ellipsis] :age [py.int 0]))
    (define ann (py/call User :name "Ann" :age "5"))
    (list (.-age ann) (:name (py/->sema (.model-dump ann)))
          (try (py/call User :age 1)
            (catch e (list (:python-type e) (map (fn (one) (get one "type")) (.errors (py/exception e)))))))"""
    assert outcome(source) == '(5 "Ann" ("ValidationError" ("missing")))'
