"""Lists and dicts of Python as arguments of a module's functions: the answers are those of plain code, and fast paths
leave the caller's values alone."""

from __future__ import annotations

import ast
import copy
import math
from collections import OrderedDict, UserDict, namedtuple
from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from outcomes import module_scope

from sema_runtime.values.atoms import char, keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import EMPTY, List, cons
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.pipeline import compile_source

MODULE = """
(define (total xs) (foldl + 0 xs))
(define (joined xs) (foldl (fn (a x) (+ a x)) "" xs))
(define (from start xs) (foldl (fn (a x) (+ a x)) start xs))
(define (walk-sum xs) (let loop ((xs xs) (s 0)) (if (null? xs) s (loop (cdr xs) (+ s (car xs))))))
(define (extent xs)
  (let loop ((rest (cdr xs)) (lo (car xs)) (hi (car xs)))
    (cond ((null? rest) (list lo hi))
          ((< (car rest) lo) (loop (cdr rest) (car rest) hi))
          ((> (car rest) hi) (loop (cdr rest) lo (car rest)))
          (else (loop (cdr rest) lo hi)))))
(define (after xs x)
  (cond ((null? xs) xs) ((= (car xs) x) xs) (else (after (cdr xs) x))))
(define (kept xs) (let loop ((ys xs) (n 0)) (if (null? ys) {:all xs :n n} (loop (cdr ys) (+ n 1)))))
(define (later xs) (let loop ((ys xs) (n 0)) (if (null? ys) (fn () (list n (car xs))) (loop (cdr ys) (+ n 1)))))
(define (merge-lists xs ys)
  (let loop ((xs xs) (ys ys) (out '()))
    (cond ((null? xs) (append (reverse out) ys))
          ((null? ys) (append (reverse out) xs))
          ((<= (car xs) (car ys)) (loop (cdr xs) ys (cons (car xs) out)))
          (else (loop xs (cdr ys) (cons (car ys) out))))))
(define (merge-sort xs)
  (if (or (null? xs) (null? (cdr xs)))
      xs
      (let ((half (quotient (length xs) 2)))
        (merge-lists (merge-sort (take half xs)) (merge-sort (drop half xs))))))
(define (names rows) (map :name rows))
(define (worth rows) (foldl (fn (s r) (+ s (* (:n r) (get r "price" 1)))) 0 rows))
(define (column rows key) (map (fn (r) (get r key "none")) rows))
(define (points ps) (map (fn (p) (list (car p) (cadr p) (nth p 1))) ps))
(define (pick xs i) (map (fn (row) (nth row i)) xs))
(define (same xs ys) (map (fn (x y) (= x y)) xs ys))
(define (below xs limit) (filter (fn (x) (< x limit)) xs))
(define (settings text) (map (fn (line) (let ((kv (string/split line "=")))
  (if (null? (rest kv)) (car kv) (list (car kv) (string/join (cdr kv) "="))))) (string/split text ";")))
(define (ordered xs) (list (sort xs) (sort-by (fn (x) x) xs)))
(define (nested a b c) (- (* a b) (* c (+ a 2))))
(define (compared a b c) (list (< (* a a) (+ b c)) (>= (- a b) (* 2 c)) (= (+ a b) c)))
(define (first-computed xs y) (+ (* (car xs) (cadr xs)) y))
(define (later-computed xs y) (+ y (* (car xs) (cadr xs))))
(define (horner cs x) (foldl (fn (s c) (+ (* s x) c)) 0 cs))
(define (spread xs m) (map (fn (x) (* (- x m) (- x m))) xs))
(define (corner p) (list (nth p 0) (+ (* (nth p 0) (nth p 1)) 1)))
(define (cross o a b) (- (* (- (nth a 0) (nth o 0)) (- (nth b 1) (nth o 1))) (* (- (nth a 1) (nth o 1)) (- (nth b 0) (nth o 0)))))
(define (turns? o a b) (<= (cross o a b) 0))
(define (weighted p q) (+ (* 3 (nth p 0)) (* 0.5 (nth p 1)) (* (nth q 0) (nth q 1) 2)))
(define (at xs i) (nth xs i))
(define (share part whole) (list (* 100.0 (/ part whole)) (- 1.5 (/ part whole)) (/ (/ part whole) 0.5)))
(define (half x) (list (/ x 2.0) (- x (/ (* x x) 100.0))))
(define (labelled x y) (list (str x) (str "a" x 1) (str x "-" y) (format "~a: ~a" x y)))
(define (sizes xs) (list (length xs) (count xs)))
(define (array-size xs) (mutable-array/length xs))
(define (cut text) (list (string-length text) (substring text 0 1) (substring text 1)))
(define (fields text)
  (let loop ((i 0) (out '()))
    (if (= i (string-length text)) (reverse out) (loop (+ i 1) (cons (substring text i (+ i 1)) out)))))
(define (later-items xs) (list (map (fn (x) (list x)) (cdr xs)) (foldl (fn (best x) (if (> x best) x best)) (car xs) (rest xs))))
(define (third-of xs) (caddr xs))
(define (price catalogue item) (get (get catalogue item {}) "price" 0))
(define (listed m) (list (keys m) (map/entries m) (foldl (fn (s e) (cons (car e) s)) '() (map/entries m))))
(define (code c) (list (char->integer c) (and (>= (char->integer c) 48) (<= (char->integer c) 57))))
(define (mean xs) (/ (foldl + 0.0 xs) (length xs)))
"""
Pair = namedtuple("Pair", "a b")


class Text(str):
    """A string of a library."""


NAN = float("nan")
LISTS: list[Any] = [
    [], [3], [3, 1, 2], [1.5, 2, 3.25], [1.5, 0.1, 0.2], [2**60, 2**70, 1.5], [0.1, 10**400], [True, 1], [1, True],
    [1, None], ["a", "b"], [1.5, NAN, 2.5], [-0.0, 0.0], [float("inf"), -float("inf"), 1.0], range(4),
]  # fmt: skip
ROWS: list[Any] = [
    {"name": "a", "n": 2, "price": 1.5}, {"n": 3}, {keyword("name"): "k", "name": "s", "n": 1}, OrderedDict(name="o", n=1),
    UserDict(name="u", n=4, price=2), Map({keyword("name"): "m", keyword("n"): 2}), {"name": None, "n": 1},
]  # fmt: skip
PYTHON_NAMES = {"from": "from_", "turns?": "is_turns"}
NUMBERS: list[Any] = [2, 1.5, True, None, "a", Fraction(1, 2), 10**400, NAN, -3]
POINTS: list[Any] = [
    [1, 2],
    (5, 4.5),
    [10**400, 0.5],
    [NAN, 1],
    List([7, 1]),
    [1.5, 2.5],
    [3],
    [],
    ["a", "b"],
    5,
    [True, 1],
]
CALLS: list[tuple[str, tuple[Any, ...]]] = [
    *((name, (xs,)) for name in ("total", "joined", "walk-sum", "extent", "kept", "merge-sort", "ordered") for xs in LISTS),
    *(("from", (start, xs)) for start in (0, 1.5, 2**60, "", None) for xs in LISTS),
    *(("after", (xs, 3)) for xs in LISTS),
    *(("merge-lists", (xs, [2, 9])) for xs in LISTS),
    *(("below", (xs, limit)) for xs in LISTS for limit in (2, 1.5, "b")),
    *(("same", (xs, [3, 1.0, "2", None])) for xs in (*LISTS, ["3", 1, "2", None], [keyword("k")])),
    ("names", (ROWS,)), ("worth", (ROWS[:2],)), ("worth", (ROWS,)), ("names", ([5],)), ("names", ([[1]],)),
    *(("column", (ROWS, key)) for key in ("name", "price", keyword("name"), 3, (1, 2), 1.5)),
    ("column", ([{(1, 2): "t", 3: "i", 1.5: "f"}], (1, 2))),
    *(("points", (ps,)) for ps in ([[1, 2], (3, 4), List([5, 6])], [[1], [1, 2]], [[]], [Pair(1, 2)], [7])),
    *(("pick", ([[1, 2], (3, 4), List([5, 6]), Pair(7, 8)], i)) for i in (0, 1, 2, -1, "x")),
    ("settings", ("a=1;b;c=2=3;=;",)),
    *((name, args) for name in ("nested", "compared") for args in product(NUMBERS, NUMBERS, NUMBERS[:4])),
    *((name, ([a, b], c)) for name in ("first-computed", "later-computed") for a, b, c in product(NUMBERS, repeat=3)),
    *((name, ([a, b], c)) for name in ("horner", "spread") for a, b, c in product(NUMBERS[:7], repeat=3)),
    *((name, args) for name in ("share",) for args in product([*NUMBERS, 0, 3, -7, 1e300, 2**53 + 1], repeat=2)),
    *(("half", (x,)) for x in (*NUMBERS, 10**15, 10**16 + 1, "s", [1])),
    *(("labelled", args) for args in product([*NUMBERS, [1], keyword("k"), 0.5, 10**30], repeat=2)),
    *((name, (xs,)) for name in ("sizes", "array-size", "third-of", "later-items", "mean") for xs in (*LISTS, (1, 2, 3), List([3, 1, 2]), "abc", 5, None)),
    *((name, (text,)) for name in ("cut", "fields") for text in ("", "a", "abc", 5, None, ["a"], Text("xyz"))),
    *((name, points) for name in ("cross", "turns?") for points in product(POINTS, repeat=3)),
    *(("weighted", points) for points in product(POINTS, repeat=2)),
    *(("at", (xs, i)) for xs in ([1, 2], (1, 2), List([1, 2]), "ab", {0: 1}, None) for i in (0, 1, 2, -1, True, 1.0, "x", 2**70)),
    *(("price", (catalogue, "a")) for catalogue in ({"a": {"price": 3}}, {}, {"a": {}}, {"a": None}, {"a": 5}, Map({}), 5, None)),
    *(("listed", (m,)) for m in ({"b": 1, "a": 2}, {}, {"a": 1, 2: 3}, {True: 1, 2: 3}, {keyword("a"): 1, "a": 2}, ROWS[3], ROWS[4], 5)),
    *(("code", (c,)) for c in (char("a"), char("7"), "a", "", 5, None, ["a"])),
    *(("corner", (p,)) for p in ([1, 2], (1.5, 2.5), List([1, 2]), [1], [], List([1]), 7, None, "ab", ["a", 2])),
]  # fmt: skip


def outcome(function: Any, args: tuple[Any, ...]) -> Any:
    try:
        result = function(*args)
        return type(result).__name__, to_text(result)
    except SemaError as error:
        return "error", str(error), error.hint
    except Exception as error:
        return type(error).__name__, str(error)


def functions(monkeypatch: pytest.MonkeyPatch, **environment: str) -> dict[str, Any]:
    return module_scope(MODULE, monkeypatch, **environment)


@pytest.mark.parametrize("environment", [{}, {"SEMA_SKIP": "foreign"}, {"SEMA_SKIP": "rests,sums,once,cut"}])
def test_answers_are_those_of_plain_code(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    plain, fast = functions(monkeypatch, SEMA_OPT="0"), functions(monkeypatch, **environment)
    for name, args in CALLS:
        python_name = PYTHON_NAMES.get(name) or name.replace("-", "_")
        mine, theirs = copy.deepcopy(args), copy.deepcopy(args)
        assert outcome(fast[python_name], mine) == outcome(plain[python_name], theirs), (name, args)
        assert to_text(list(mine)) == to_text(list(args)), (name, args)  # nothing has changed them


def test_a_list_that_is_given_back_is_the_callers(monkeypatch: pytest.MonkeyPatch) -> None:
    m = functions(monkeypatch)
    xs = [3]
    assert m["merge_sort"](xs) is xs and m["after"](xs, 3) is xs and m["kept"](xs)["all"] is xs
    assert type(m["merge_sort"]([3, 1])) is List


def test_what_is_made_of_a_list_does_not_change_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    m = functions(monkeypatch)
    xs = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    rest, sorted_ = m["after"](xs, 3), m["merge_sort"](xs)
    closure = m["later"](xs)
    xs[:] = [0]
    assert rest == [3, 4, 5, 6, 7, 8, 9, 10, 11, 12] and len(sorted_) == 12
    assert closure() == [12, 0]  # a function reads the caller's list itself


def test_sums_of_floats_are_those_of_the_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    xs = [0.1] * 10 + [1e16, 1.0, -1e16]
    expected = 0.0
    for x in xs:
        expected += x
    assert functions(monkeypatch)["total"](xs) == expected != math.fsum(xs)


HELD = """
(define (span e) (- (:end e) (:start e)))
(define (later e) (set! e (assoc e :end 9)) (- (:end e) (:start e)))
(define (spans es) (map span es))
(define (walked es) (foldl (fn (s e) (let ((d (- (:end e) (:start e)))) (if (> (:end e) 3) (+ s d) s))) 0 es))
(define (inner e) (fn (f) (list (:end e) (:start e) (:end f) (:start f))))
(define (rows m key) (let ((row (get m key))) (if (nil? (car row)) nil (list (car row) (cadr row)))))
(define (again xs) (let ((ys (car xs))) (let loop ((ys ys) (n 0)) (if (null? ys) n (loop (cdr ys) (+ n (car ys)))))))
"""
EVENTS: list[Any] = [
    {"start": 1, "end": 4},
    Map({keyword("start"): 2, keyword("end"): 3}),
    {keyword("end"): 7, "start": 2},
]


def module_of(source: str, monkeypatch: pytest.MonkeyPatch, environment: dict[str, str]) -> dict[str, Any]:
    """The globals of a module that was compiled with variables of the environment set."""
    scope: dict[str, Any] = {"__name__": "test"}
    with monkeypatch.context() as context:
        for name, value in environment.items():
            context.setenv(name, value)
        exec(compile_source(source, "<test>", "module").code, scope)
    return scope


def test_types_that_are_held_are_those_of_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(**environment: str) -> list[Any]:
        scope = module_of(HELD, monkeypatch, environment)
        calls: list[tuple[str, tuple[Any, ...]]] = [
            *((name, (event,)) for name in ("span", "later") for event in [*EVENTS, None, 3, {"start": 1}]),
            ("spans", (EVENTS,)), ("walked", (EVENTS,)), ("walked", ([*EVENTS, 1],)),
            *(("rows", ({"a": row}, "a")) for row in ([1, 2], (1, 2), List([1, 2]), [], [1], 5)),
            *(("again", ([ys],)) for ys in ([1, 2], (1, 2), List([1, 2]), None, 4)),
        ]  # fmt: skip
        return [*(outcome(scope[name], args) for name, args in calls), outcome(scope["inner"](EVENTS[0]), (EVENTS[1],))]

    assert answers() == answers(SEMA_OPT="0") == answers(SEMA_SKIP="kinds")
    text = ast.unparse(compile_source(HELD, "<test>", "module").tree)
    assert "kind = type(e)" in text and "kind = type(e)" not in ast.unparse(
        compile_source(HELD, "<test>", "module", is_native=True).tree
    )


INDEXED = """
(define (distance a b) (let ((dx (- (nth a 0) (nth b 0))) (dy (- (nth a 1) (nth b 1)))) (+ (* dx dx) (* dy dy))))
(define (between a f) (let ((x (nth a 0))) (f a) (list x (nth a 0) (nth a 1) (length a))))
(define (at a i) (list (nth a i) (nth a (+ i 1)) (length a)))
(define (counted a) (let loop ((i 0) (s 0)) (if (>= i (length a)) s (loop (+ i 1) (+ s (nth a i))))))
(define (each rows) (foldl (fn (s row) (+ s (- (nth row 1) (nth row 0)) (* (nth row 0) (nth row 1)))) 0 rows))
(define (built n) (let loop ((i 0) (xs '())) (if (= i n) (+ (nth xs 0) (length xs) (nth xs 1)) (loop (+ i 1) (cons i xs)))))
(define (changed a) (let ((x (nth a 0))) (set! a (list 7 x)) (list (nth a 0) (nth a 1) (length a))))
"""


class Own(list[Any]):
    """It answers an index itself."""

    def __getitem__(self, index: Any) -> Any:
        return 40 + list.__getitem__(self, index)


def test_items_that_are_held_are_those_of_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers(**environment: str) -> list[Any]:
        scope = module_of(INDEXED, monkeypatch, environment)
        values: list[Any] = [
            (1, 2), [1, 2], List([1, 2]), List([0, 1, 2]).cdr, cons(1, cons(2, EMPTY)), Own([1, 2]), [1], (), List([]), [True, 2.5],
            [10**30, 1], None, "ab", {"a": 1}, 5, namedtuple("Point", "x y")(1, 2),
        ]  # fmt: skip
        calls: list[tuple[str, tuple[Any, ...]]] = [
            *(("distance", pair) for pair in product(values, ([5, 6], List([5.5, 6])))),
            *(("at", (value, index)) for value in values for index in (0, 1, -1, True, 0.0, 10**30, None)),
            *((name, (value,)) for name in ("counted", "changed") for value in values),
            ("each", ([[1, 2], (3, 4), List([5, 6])],)), ("each", ([[1, 2], [3]],)), ("built", (2000,)), ("built", (1,)),
        ]  # fmt: skip
        shrunk = [outcome(scope["between"], ([1, 2, 3], change)) for change in (list.pop, list.clear, list.copy)]
        return [*(outcome(scope[name], args) for name, args in calls), *shrunk]

    assert answers() == answers(SEMA_OPT="0") == answers(SEMA_SKIP="held")
    text = ast.unparse(compile_source(INDEXED, "<test>", "module").tree)
    assert "items = a if type(a) in INDEXED else held_items(a)" in text


HELD_ITEMS = """
(define (pairs xs) (map (fn (x) (list (:a x) (:b x))) xs))
(define (nested xs) (flat-map (fn (x) (map (fn (y) (list (:a x) (:a y) (:b y))) (:ys x))) (filter (fn (x) (> (:a x) (:b x))) xs)))
(define (shadowed xs) (map (fn (x) (list (:a x) (:b x) (map (fn (x) (list (:a x) (:b x))) (:ys x)))) xs))
(define (twice x xs) (list (:a x) (:b x) (map (fn (x) (+ (:a x) (:b x))) xs) (map (fn (x) (- (:a x) (:b x))) xs) (:a x) (:b x)))
(define (is-any xs) (any (fn (x) (= (:a x) (:b x))) xs))
(define (named xs) (let ((kind 1)) (map (fn (x) (list kind (:a x) (:b x))) xs)))
"""


def test_comprehensions_hold_the_types_of_items(monkeypatch: pytest.MonkeyPatch) -> None:
    """Items are asked once for their type, each in its own comprehension."""
    plain, sema = {"a": 2, "b": 1}, Map({keyword("a"): 1, keyword("b"): 1.5})
    items = [
        {**plain, "ys": [plain, sema]},
        Map({keyword("a"): 3, keyword("b"): 1, keyword("ys"): List([sema, plain])}),
    ]

    def answers(**environment: str) -> list[Any]:
        scope = module_of(HELD_ITEMS, monkeypatch, environment)
        names = ("pairs", "nested", "shadowed", "is_any", "named")
        calls = [(name, (xs,)) for name in names for xs in (items, List(items), tuple(items[::-1]), [*items, 5], [])]
        return [outcome(scope[name], args) for name, args in [*calls, *(("twice", (x, items)) for x in (*items, None))]]

    assert answers() == answers(SEMA_OPT="0") == answers(SEMA_SKIP="kinds")
    assert "for kind in [type(x)]" in ast.unparse(compile_source(HELD_ITEMS, "<test>", "module").tree)
