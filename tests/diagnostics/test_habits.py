"""Hints for names of other languages: nothing in the table is bound here, and everything it says to write runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.hints import FORM_VALUES, for_unbound
from sema_runtime.conditions.name_tables import dialects, habits
from semac.analyze.forms import SPECIAL_FORMS
from semac.checks.program import check_text
from semac.pipeline import prelude
from semac.session import Session

SAMPLES = """
(define n 6) (define x 3) (define xs '(3 1 2 5 4)) (define ys '(4 5 6)) (define m {:a 1 :b 2}) (define k :a)
(define v 9) (define s "a-b,c") (define f (fn (x . more) x)) (define g (fn (x) x)) (define p (fn (x) (> x 0)))
(define path "folder/file.txt") (define err {:message "no" :type :user :value 1})
"""
ELSEWHERE = re.compile(r"\((http/|exit|read-line|read-stdin|llm/|agent/run)")  # needs a network, ends, waits for input
SNIPPETS = sorted(set(habits().values()))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A current directory with the files that the snippets name."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("folder/file.txt").write_text("text\n")
    Path("shapes.sema").write_text("(define (area w h) (* w h))")


def test_the_table_is_large_and_holds_nothing_that_is_bound() -> None:
    assert len(habits()) > 1500
    assert [name for name in habits() if name in INDEX or name in SPECIAL_FORMS or name in prelude()] == []
    assert not habits().keys() & dialects().keys()


@pytest.mark.parametrize("snippet", SNIPPETS)
def test_what_it_says_to_write_runs(snippet: str) -> None:
    assert [finding.text() for finding in check_text(SAMPLES + snippet)] == []
    if not ELSEWHERE.search(snippet):
        Session().run(SAMPLES + snippet)


@pytest.mark.parametrize(
    ("name", "part"),
    [
        ("zipmap", "(map/zip "), ("update", "(map/update m k "), ("append-map", "(flat-map f xs)"),
        ("comp", "(fn (x) (f (g x)))"), ("interleave", "(list/interleave xs ys)"), ("dolist", "(for-each "),
        ("floor/", "(quotient n 2)"), ("!=", "(not (= n 1))"), ("file/remove", "(file/delete path)"),
        ("file/size", "(:size (file/info path))"), ("next.isoformat", "(.isoformat next)"), ("inc", "(+ n 1)"),
        ("json.loads", "(json/decode "), ("self.total", "(.-total self)"), ("parse-json", "(json/decode "),
    ],
)  # fmt: skip
def test_habits_lead_to_our_names(name: str, part: str) -> None:
    hint = for_unbound(name)
    assert hint is not None and part in hint


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("string_upper", "string/upper"), ("isList", "list?"), ("boundaryp", None), ("http_get", "http/get"),
        ("figures/drawn", None), ("str/title-case", "string/title-case"), ("word-wrap", "string/word-wrap"),
        ("text.split", "string/split"), ("hash-map/entries", "map/entries"), ("is-symbol", "symbol?"),
        ("list/foldl", "foldl"), ("file-read-lines", "file/read-lines"), ("stirng/upper", "string/upper"),
    ],
)  # fmt: skip
def test_other_spellings(name: str, near: str | None) -> None:
    assert for_unbound(name) == (near and f"Did you mean '{near}'?")


@pytest.mark.parametrize("name", sorted(FORM_VALUES))
def test_special_forms_as_values(name: str) -> None:
    hint = for_unbound(name)
    assert hint is not None and hint.startswith(f"'{name}' is a special form")
    wrapped = hint.rpartition("pass ")[2]
    assert check_text(f"(map {wrapped} '())") == []


def test_the_advice_of_the_reference_stays() -> None:
    for name, advice in dialects().items():
        assert for_unbound(name, ["setr", "conk"]) == advice
