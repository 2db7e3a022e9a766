"""What modules compute while they are imported, and what others find and change afterwards."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language.multimethods import add_method
from sema_runtime.values.atoms import keyword
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.pipeline import compile_source

COUNTER = """
(define count 0)
(define (bump! n) (set! count (+ count n)) count)
(define (twice n) (+ (bump! n) (bump! n)))
(define total (foldl (fn (acc i) (+ acc (twice i))) 0 (range 20)))
"""
MATRIX = """
(define rows (mutable-array/new 3 0))
(define (put! i x) (mutable-array/set! rows i x))
(define (sum-of a) (let loop ((i 0) (s 0)) (if (= i 3) s (loop (+ i 1) (+ s (mutable-array/get a i))))))
(dotimes (i 3) (put! i (* i 10)))
(define total (sum-of rows))
(define later (fn () (sum-of rows)))
"""
ADDERS = """
(define sum 0)
(define (make-adder k) (let ((n 0)) (fn (x) (set! n (+ n (* k x))) (set! sum (+ sum x)) n)))
(define adder (make-adder 3))
(define first-sum (foldl (fn (acc i) (+ acc (adder i))) 0 (range 5)))
(define (sum-now) (+ sum 1))
"""
SHAPES = """
(defmulti area :kind)
(defmethod area :square (fn (s) (* (:side s) (:side s))))
(defmethod area :rect (fn (s) (* (:w s) (:h s))))
(define (total shapes) (foldl + 0 (map area shapes)))
(define (all n) (map (fn (i) (if (even? i) {:kind :square :side i} {:kind :rect :w i :h 2})) (range n)))
(define sum (total (all 10)))
"""
HANDED_ON = """
(define xs (mutable-array/new 2 1))
(define (spoil! a) (mutable-array/set! a 0 "text"))
(define (first-plus n) (+ n (mutable-array/get xs 0)))
(define (try-it n) (try (first-plus n) (catch e (:message e))))
(define before (map try-it (range 3)))
(for-each (if (null? '()) spoil! car) (list xs))
(define after (map try-it (range 3)))
"""
GUARDED = """
(define limit 10)
(define (set-limit! x) (set! limit x))
(define (below n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (if (< i limit) (+ s i) s)))))
(when (= __name__ "__main__") (set-limit! 2.5))
(define total (below 20))
"""
TWICE = """
(define state {})
(define (note! k) (set! state (assoc state k 1)))
(define (note! k) (set! state (assoc state k (str k))) (get state k))
(define noted (map note! (list :a :b)))
(define kept (get state :a))
"""
MEMO = """
(define memo {})
(define table (hashmap/new))
(define (fib n)
  (or (get memo n)
      (let ((r (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))) (set! memo (assoc memo n r)) r)))
(define (note! k v) (set! table (assoc table k v)))
(define (forget! k) (set! table (dissoc table k)))
(define answers (map fib (range 20)))
(for-each (fn (k) (note! k k)) (list 1 "two" :three 4 [5 6]))
(forget! 4)
(define kept (count table))
(define before table)
(note! 7 8)
"""
HANDED_MEMO = """
(define memo {})
(define (note! k) (set! memo (assoc memo k (count memo))) k)
(define (all! f xs) (map f xs))
(define notes (all! note! (list :a :b)))
(note! :c)
(define seen memo)
(note! :d)
"""
SNAPSHOTS = """
(define counts {})
(define (bump! k) (set! counts (assoc counts k (+ 1 (get counts k 0)))))
(bump! :a)
(define before counts)
(bump! :a)
(bump! :b)
(define (bump-all! n) (dotimes (i n) (bump! i)))
"""
HIGHER = """
(define kept '())
(define limit 3)
(define (keep! f) (set! kept (cons f kept)) f)
(define (times f n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (+ s (f i))))))
(define (both f g x) (+ (f x) (times g 2) x))
(define (capped x) (if (< x limit) x limit))
(define a (times (fn (x) (capped (* x 2))) 5))
(define b (times (keep! (fn (x) (capped (+ x 1)))) 5))
(define c (both (fn (x) (capped x)) capped 4))
(define (later x) (map (fn (f) (f x)) kept))
(define d (times (fn (x) (set! limit (+ limit x)) limit) 3))
(define e (let ((call (fn (f x) (f x)))) (keep! call) (call (fn (x) (capped x)) 2)))
"""


def square(side: Any) -> Map:
    return Map({keyword("kind"): keyword("square"), keyword("side"): side})


def extend(scope: dict[str, Any]) -> Any:
    add_method(scope["area"], keyword("dot"), lambda _: 1)
    return scope["total"]((Map({keyword("kind"): keyword("dot")}), square(3)))


def replace(scope: dict[str, Any]) -> Any:
    add_method(scope["area"], keyword("square"), lambda _: "replaced")
    return scope["total"]((square(3),))


def put(scope: dict[str, Any], name: str, value: Any) -> None:
    scope[name] = value


CASES: list[tuple[str, list[Callable[[dict[str, Any]], Any]]]] = [
    (COUNTER, [lambda m: m["twice"](2.5), lambda m: put(m, "count", "text"), lambda m: m["bump_mut"](1)]),
    (COUNTER, [lambda m: put(m, "count", True), lambda m: m["twice"](1)]),
    (MATRIX, [lambda m: m["later"](), lambda m: m["put_mut"](1, 2.5), lambda m: m["later"]()]),
    (MATRIX, [lambda m: m["put_mut"](1, "text"), lambda m: m["later"](), lambda m: m["sum_of"](m["rows"])]),
    (ADDERS, [lambda m: m["adder"](0.5), lambda m: m["sum_now"](), lambda m: m["adder"]("a")]),
    (ADDERS, [lambda m: put(m, "sum", "text"), lambda m: m["sum_now"](), lambda m: m["adder"](2)]),
    (SHAPES, [lambda m: m["total"]((square(2.5),)), lambda m: m["total"]((square("a"),)), extend, replace]),
    (SHAPES, [replace, extend, lambda m: m["area"](square(4))]),
    (HANDED_ON, [lambda m: m["after"]]),
    (GUARDED, [lambda m: m["set_limit_mut"]("a"), lambda m: m["below"](3)]),
    (
        MEMO,
        [lambda m: m["fib"](25), lambda m: m["note_mut"](keyword("x"), 1), lambda m: m["before"], lambda m: m["memo"]],
    ),
    (
        MEMO,
        [
            lambda m: put(m, "memo", {}),
            lambda m: m["fib"](12),
            lambda m: put(m, "table", 5),
            lambda m: m["forget_mut"](1),
        ],
    ),
    (HANDED_MEMO, [lambda m: m["note_mut"](1), lambda m: m["memo"]]),
    (SNAPSHOTS, [lambda m: m["bump_mut"](1), lambda m: m["bump_all_mut"](2), lambda m: m["before"]]),
    (HIGHER, [lambda m: m["times"](lambda x: "text", 2), lambda m: m["capped"]("a"), lambda m: m["capped"](2.5)]),
    (HIGHER, [lambda m: put(m, "limit", 1.5), lambda m: m["d"], lambda m: m["capped"](2)]),
    (TWICE, [lambda m: m["note_mut"](keyword("c"))]),
]


def outcomes(source: str, steps: list[Callable[[dict[str, Any]], Any]], name: str) -> list[str]:
    """What the globals hold after an import, and what each step gives."""
    scope: dict[str, Any] = {"__name__": name}
    exec(compile_source(source, "<test>", "module").code, scope)
    found = [f"{key}: {to_text(value)}" for key, value in sorted(scope.items()) if is_data(key, value)]
    for step in steps:
        try:
            found.append(to_text(step(scope)))
        except Exception as error:
            found.append(describe(error).message)
    return found


def is_data(name: str, value: Any) -> bool:
    is_own = not name.startswith(("_", "kw_")) and not name.isupper() and name != "test"
    return is_own and not callable(value)


@pytest.mark.parametrize("name", ["program", "__main__"])
@pytest.mark.parametrize(("source", "steps"), CASES)
def test_others_may_do_anything_afterwards(
    source: str, steps: list[Callable[[dict[str, Any]], Any]], name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fast = outcomes(source, steps, name)
    monkeypatch.setenv("SEMA_OPT", "0")
    assert fast == outcomes(source, steps, name)


@pytest.mark.parametrize("source", [COUNTER, MATRIX])
def test_what_runs_at_import_asks_for_fewer_types(source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    known = guards(source)
    monkeypatch.setenv("SEMA_SKIP", "importing")
    assert known < guards(source)


def guards(source: str) -> int:
    """How often copies and forms ask for types."""
    text = compile_source(source, "<test>", "module").python_text()
    functions = text.split("\ndef ")
    return sum(part.count("type(") for part in functions if part.startswith(("_fast_", "make_", "main")))


def test_methods_are_known_at_import() -> None:
    text = compile_source(SHAPES, "<test>", "module").python_text()
    assert "was_extended" in text.split("\ndef _call_area")[1]
    assert "was_extended" not in text.split("\ndef _fast__call_area")[1].split("\n\n")[0]


def test_a_module_that_imports_others_is_not_alone() -> None:
    source = '(py/import "json")\n' + COUNTER
    assert "INT_OR_FLOAT" in compile_source(source, "<test>", "module").python_text().split("def make_total")[1]


TABLES = """
(define people (map (fn (i) {:name (str "p" i) :age (mod (* i 7) 60) :tags (list :a i)}) (range 20)))
(define nested {:a {:b {:c 1}} :pairs (map (fn (i) [i (list i i)]) (range 3))})
(define (old n) (length (filter (fn (p) (> (:age p) n)) people)))
(define (deep) (get-in nested [:a :b :c]))
(define (pairs) (foldl (fn (s p) (let (([a b] p)) (+ s a (car b)))) 0 (:pairs nested)))
(old 3) (deep) (pairs)
"""


def test_what_a_module_leaves_in_globals_is_known() -> None:
    text = compile_source(TABLES, "<test>", "module").python_text()
    functions = {part.split("(")[0]: part.split("\n\n")[0] for part in text.split("\ndef ")}
    assert "restored(" in text
    assert not any("type(" in functions[name] for name in ("deep", "pairs"))


def test_what_a_module_leaves_in_globals_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    def answers() -> list[Any]:
        scope: dict[str, Any] = {"__name__": "test"}
        exec(compile_source(TABLES, "<test>", "module").code, scope)
        return [scope["old"](30), scope["old"](30.5), scope["deep"](), scope["pairs"](), len(scope["people"])]

    monkeypatch.setenv("SEMA_ASSERT_TYPES", "1")
    found = answers()
    monkeypatch.setenv("SEMA_OPT", "0")
    assert found == answers()
