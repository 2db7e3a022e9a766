"""Maps that were just made change in place, several changes are one, and programs answer as before."""

from __future__ import annotations

from typing import Any

import pytest

from sema_runtime.lib.collections.maps import set_entries, set_entry, with_entry
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.generate.module import RESULT
from semac.pipeline import compile_source
from semac.verify.unit import Verifier

BIG = "(define big (foldl (fn (m i) (assoc m i i)) {} (range 104))) "
SHOWN = " (define s {:n 1 :in {:n 2 :m 3} :k 0}) (println (f s) s (f s))"
CASES = {
    "an old map is kept": "(define (f s) (let ((t (assoc s :n 5))) (list t (assoc t :k (:n t)) t)))" + SHOWN,
    "a map is read afterwards": (
        "(define (f s) (let* ((t (assoc s :n 5)) (u (assoc t :n 6))) (list (:n t) (:n u))))" + SHOWN
    ),
    "one branch returns the old map": (
        "(define (f s) (let* ((t (assoc s :n 5)) (n (:n t))) (if (> n 4) (list (assoc t :k n) n) (list t t))))" + SHOWN
    ),
    "both branches change it": (
        "(define (f s) (let* ((t (assoc s :n 5)) (n (:k t)) (u (if (> n 4) (assoc t :k n) (assoc t :n n))))"
        " (assoc u :m (:n u))))" + SHOWN
    ),
    "one branch changes it": (
        "(define (f s) (let* ((t (assoc s :n 5)) (u (if (> (:n s) 0) (assoc t :k 9) t)) (n (:k u)))"
        " (list (assoc u :m n) (:n s))))" + SHOWN + " (println (f {:n 0 :k 2}))"
    ),
    "one branch has another": (
        "(define (f s) (let* ((t (assoc s :n 5)) (u (if (> (:n s) 0) (assoc t :k 9) s)) (n (:k u)))"
        " (list (assoc u :m n) (:n s) s)))" + SHOWN
    ),
    "one branch changes it, and it is read": (
        "(define (f s) (let* ((t (assoc s :n 5)) (u (if (> (:n s) 0) (assoc t :k 9) t)) (n (:k u)))"
        " (list (assoc u :m n) (:n t) t)))" + SHOWN
    ),
    "it may be what a branch gives": (
        "(define (f s) (let* ((t (assoc s :n 5)) (u (if (> (:n s) 0) t (assoc s :k 9))) (n (:k u))"
        " (v (assoc t :z n))) (list (assoc u :m n) v)))" + SHOWN
    ),
    "a handler sees the old map": (
        "(define (f s) (let ((t (assoc s :n 5))) (try (let ((u (assoc t :n (+ 1 (:n t))))) (throw (:n u)))"
        " (catch e (list t (:value e))))))" + SHOWN
    ),
    "a loop changes it again and again": (
        "(define (f s) (let ((t (assoc s :n 5))) (map (fn (i) (assoc t :k (+ i (:n t)))) '(1 2 3))))" + SHOWN
    ),
    "a named let": (
        "(define (f s) (let ((t (assoc s :n 5))) (let loop ((i 0) (all '()))"
        " (if (= i 3) all (loop (+ i 1) (cons (assoc t :k (+ i (:n t))) all))))))" + SHOWN
    ),
    "a map in itself": "(define (f s) (let ((t (assoc s :n 5))) (assoc t :in t :k (:n t))))" + SHOWN,
    "a map in another": (
        "(define (f s) (let* ((t (assoc (:in s) :n 5)) (o (assoc s :in t)) (u (assoc t :m (:n t)))) (list o u)))"
        + SHOWN
    ),
    "a map in another that is replaced": (
        "(define (f s) (let* ((t (assoc (:in s) :n 5)) (o (assoc s :in t)) (u (assoc t :m (:n t))))"
        " (assoc o :in u :k (:n o))))" + SHOWN
    ),
    "a map in another that is read before": (
        "(define (f s) (let* ((t (assoc (:in s) :n 5)) (o (assoc s :in t)) (u (assoc t :n (+ 1 (:n t))))"
        " (was (:in o))) (list (assoc o :in u) was)))" + SHOWN
    ),
    "a map in another under two keys": (
        "(define (f s) (let* ((t (assoc (:in s) :n 5)) (o (assoc s :in t :also t)) (u (assoc t :n (+ 1 (:n t)))))"
        " (assoc o :in u)))" + SHOWN
    ),
    "levels": (
        "(define (f s) (-> s (update-in [:in :n] (fn (n) (+ n 1))) (update-in [:in :m] (fn (m) (* m 2)))"
        " (map/update :n (fn (n) (+ n 1))) (assoc :old (:in s))))" + SHOWN
    ),
    "levels under a key that varies": (
        "(define (g s k) (-> s (update-in [k :n] (fn (n) (+ n 1))) (update-in [:in :n] (fn (n) (* n 10)))"
        " (update-in [k :n] (fn (n) (+ n 1))))) (define (f s) (list (g s :in) (g (assoc s :o {:n 3}) :o)))" + SHOWN
    ),
    "what was written is read": (
        "(define (f s) (let ((k (if (map? s) :n :k)) (t (assoc s :n 8))) (let ((u (assoc t k 9 :k 10)))"
        " (list (:n t) (:n u) (get u k) (:k u)))))" + SHOWN
    ),
    "what was written twice is read": (
        "(define (g s k) (let ((t (assoc s k 1 :n 2))) (list (get t k) (:n t))))"
        " (define (h s k) (let ((t (assoc s :n 1 k 2))) (list (get t k) (:n t))))"
        " (define (f s) (list (g s :n) (g s :k) (h s :n) (h s :k)))" + SHOWN
    ),
    "a large map": (
        BIG + "(define (f m) (let* ((t (assoc m 1 :x)) (n (get t 2)) (u (assoc t 2 (+ 1 n)))) (list (get u 1) (get u 2)"
        " (get m 1) (get m 2)))) (println (f big) (get big 1) (f big))"
    ),
    "a map that grows large": (
        BIG + "(define (f m) (let* ((t (assoc m :x 1)) (u (assoc t :y (:x t))) (v (assoc u :z (:y u)))) (list (count m)"
        " (count v)))) (println (map (fn (n) (f (foldl (fn (m i) (dissoc m i)) big (range n)))) (range 8)) (count big))"
    ),
    "hashmaps": "(define (f s) (let ((t (assoc (hashmap/new :n 1) :m 2))) (assoc t :n (+ 1 (:m t)))))" + SHOWN,
}  # fmt: skip


def answer(text: str, mode: str = "program", **options: Any) -> str:
    import io
    from contextlib import redirect_stdout

    scope: dict[str, Any] = {"__name__": "__main__"}
    with redirect_stdout(io.StringIO()) as out:
        exec(compile_source(text, "<test>", mode, result=True, watch=Verifier(), **options).code, scope)
    return out.getvalue() + to_text(scope[RESULT])


@pytest.mark.parametrize("skipped", ["", "inplace", "inplace,own,fields"])
@pytest.mark.parametrize("mode", ["program", "module"])
@pytest.mark.parametrize("name", CASES)
def test_answers(name: str, mode: str, skipped: str, monkeypatch: pytest.MonkeyPatch) -> None:
    expected = answer(CASES[name], mode, optimize=False)
    monkeypatch.setenv("SEMA_SKIP", skipped)
    assert answer(CASES[name], mode) == expected


def changes(text: str) -> str:
    """The functions that change maps in the Python of a program."""
    python = compile_source(text, "<test>", "program").python_text()
    return " ".join(name for name in ("with_entry", "with_entries", "set_entry", "set_entries") if f"{name}(" in python)


@pytest.fixture(autouse=True)
def apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """Maps that loops change are not what is tested here."""
    monkeypatch.setenv("SEMA_SKIP", "inplace")


def test_changes_without_other_uses_are_one(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "(define (f s) (println s) (let ((t (assoc (assoc s :n 5) :k 6))) (println t) (list t s)))" + SHOWN
    assert changes(text) == "with_entries"
    monkeypatch.setenv("SEMA_SKIP", "inplace,joins,chains")
    assert changes(text) == "with_entry"


@pytest.mark.parametrize("name", ["levels", "a map in another that is replaced", "both branches change it"])
def test_new_maps_change_in_place(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "set_entr" in changes(CASES[name])
    monkeypatch.setenv("SEMA_SKIP", "inplace,chains")
    assert "set_entr" not in changes(CASES[name])


@pytest.mark.parametrize(
    "name",
    [
        "an old map is kept",
        "a handler sees the old map",
        "a map in another",
        "a map in another under two keys",
        "one branch changes it, and it is read",
    ],
)
def test_maps_that_somebody_sees_are_copied(name: str) -> None:
    assert "set_entr" not in changes(CASES[name])


def test_a_large_map_stays_as_it_was() -> None:
    old = Map({n: n for n in range(200)})
    new = with_entry(old, 0, "a")
    newer = set_entries(set_entry(new, 1, "b"), 2, "c", 3, "d")
    assert [old.lookup(n) for n in range(4)] == [0, 1, 2, 3]
    assert [newer.lookup(n) for n in range(5)] == ["a", "b", "c", "d", 4]
