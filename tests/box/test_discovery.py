"""`dir`, `apropos` and `doc` inside the box: what may be called, and nothing else."""

from __future__ import annotations

import pytest

from sema_runtime.box import Pool, Session
from semac.box.discovery import MACROS
from semac.box.profile import FORMS
from semac.docs.special_forms import FORMS as DOCUMENTED

FORM_NAMES = {*FORMS, *MACROS}


def search(query: str, limit: int = 10) -> list[str]:
    """Finds titles."""
    return [query] * limit


def test_everything_listed_can_be_used_and_described(pool: Pool) -> None:
    names = pool.run("(dir)").value
    assert {"map", "json/decode", "return", "let"} <= set(names)
    assert not {"file/read", "http/get", "py/import", "eval", "time-ms", "shell", "import", "deftool"} & set(names)
    assert pool.run("(count (map doc (dir)))").value == len(names)
    callable_names = [name for name in names if name not in FORM_NAMES]
    assert pool.run(f"(count (list {' '.join(callable_names)}))").value == len(callable_names)


def test_forms_are_those_that_the_box_admits(pool: Pool) -> None:
    assert DOCUMENTED.keys() >= FORM_NAMES
    for name in ("import", "py/import", "deftool", "defagent", "eval", "load"):
        assert pool.run(f"(doc '{name})").status == "error"


def test_tools_have_signatures(pool: Pool) -> None:
    outcome = pool.run(
        '(list (dir "tool/") (doc \'tool/search) (doc tool/search) (doc "search"))', tools={"search": search}
    )
    line = "tool/search(query string, limit int?) -> [string] ; Finds titles."
    assert outcome.value == [["tool/search"], line, line, line]


def test_names_of_a_session_are_found(pool: Pool) -> None:
    with Session(pool, data={"rows": [1]}) as session:
        assert session.run("(define (total-of xs) (list/sum xs))").ok
        assert session.run('(filter (fn (n) (not (string/starts-with? n "string"))) (dir "total"))').value == [
            "total-of"
        ]
        assert "data/rows" in session.run('(list data/rows (apropos "rows"))').value[1]
    assert "total-of" not in pool.run("(dir)").value


@pytest.mark.parametrize(
    ("source", "words"),
    [('(doc "string/joyn")', "did you mean string/join?"), ("(doc 5)", ""), ('(doc "file/read")', "")],
)
def test_what_does_not_exist_gets_advice(pool: Pool, source: str, words: str) -> None:
    outcome = pool.run(source)
    assert outcome.status == "error" and words in (outcome.hint or "")
