"""`sema doc`: names, search, apropos."""

from __future__ import annotations

import pytest

from sema_runtime.catalogue_index import INDEX
from semac import doc
from semac.doc_entries import all_entries, lookup
from semac.special_forms_doc import FORMS


def run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    status = doc.main([*args, "--no-pager"])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_builtin(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, _ = run(capsys, "string/join")
    assert status == 0
    assert out.startswith("string/join : builtin\n\n    (string/join ")
    assert """(string/join '("a" "b") "-")  ; => "a-b\"""" in out


def test_alias_names_the_main_spelling(capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(capsys, "show", "str")
    assert out.startswith("str → string-append : builtin\n")


def test_special_form_and_macro(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "let")[1].startswith("let : special form\n")
    assert "(with-retry options thunk)" in run(capsys, "with-retry")[1]


def test_unknown_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "no-such") == (1, "", "Error: documentation not found: no-such\n")


@pytest.mark.parametrize("args", [[], ["a", "b"], ["search", "x", "-n"]])
def test_wrong_usage(capsys: pytest.CaptureFixture[str], args: list[str]) -> None:
    status, out, err = run(capsys, *args)
    assert (status, out) == (2, "") and "Usage: sema doc" in err


def test_search_rows(capsys: pytest.CaptureFixture[str]) -> None:
    lines = run(capsys, "search", "split", "string", "-n", "2")[1].splitlines()
    assert lines[0].split()[:2] in (["string/split", "[strings]"], ["string-split", "[strings]"])
    assert lines[-1] == "  (2 matches)"
    assert run(capsys, "search", "zzzz")[1] == '(no documentation matches for "zzzz")\n'


def test_apropos_puts_prefixes_first(capsys: pytest.CaptureFixture[str]) -> None:
    names = [line.split()[0] for line in run(capsys, "apropos", "STRING/s")[1].splitlines()]
    prefixed = [name for name in names if name.startswith("string/s")]
    assert len(prefixed) > 2 and names[: len(prefixed)] == sorted(prefixed)


def test_apropos_suggests_a_similar_name(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "apropos", "strnig/joni")[1].startswith("  string/join  ")
    assert run(capsys, "apropos", "qqqqqq")[1] == '(no matches for "qqqqqq")\n'


def test_every_builtin_has_an_entry() -> None:
    assert {name for name in INDEX if not name.startswith("__")} <= set(all_entries())


def test_every_special_form_is_documented_with_its_shape() -> None:
    for name in FORMS:
        entry = lookup(name)
        assert entry is not None and entry.signatures and entry.summary, name
