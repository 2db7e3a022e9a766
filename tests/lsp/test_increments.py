"""A document that was told of each keystroke knows what one knows that has just read the text."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import pytest
from corpus import SAMPLE, cases_of
from paths import EXAMPLES

from semac.lsp.documents import Document
from semac.lsp.highlight import semantic_tokens
from semac.lsp.navigation import workspace_symbols
from semac.lsp.outline import document_symbols, folding_ranges
from semac.lsp.text import UTF16, Lines
from semac.lsp.tree import walk
from semac.lsp.workspace import Files

TYPED = ["(", ")", '"', "\n", "\n(", ";", "'", "[", "]", "{", "}", "x", "💡", "#\\", '#"', 'f"', "${", "define ", " "]
URI = "file:///nowhere/a.sema"


def known(document: Document) -> Any:
    """Everything that answers are made of."""
    files = Files()
    files.open[URI] = document
    nodes = [
        (node.span, node.kind, repr(node.value), node.quoted) for unit in document.units for node in walk(unit.root)
    ]
    names = {name: [node.span for node in document.uses(binding)] for name, binding in document.top.items()}
    scopes = [
        (name, [node.span for node in binding.uses])
        for unit in document.units
        for scope in unit.names.scopes
        for name, binding in scope.names.items()
    ]
    shown = semantic_tokens(files, document), folding_ranges(document), document_symbols(document)
    return nodes, names, scopes, shown, workspace_symbols(files, ""), [spec for spec, _ in document.import_nodes()]


def edited(document: Document, chance: random.Random) -> Document:
    """A document after an insertion, a deletion or a replacement somewhere."""
    length = len(document.lines.lines)
    line = chance.randrange(length)
    end = min(line + chance.choice((0, 0, 0, 1, 3)), length - 1)
    first = chance.randrange(len(document.lines.lines[line]) + 2)
    last = chance.randrange(len(document.lines.lines[end]) + 2)
    text = chance.choice(("", *TYPED, *TYPED)) * chance.choice((1, 1, 2))
    if chance.random() < 0.6:
        end, last = line, first
    start = document.lines.position(line + 1, first)
    change = {"range": {"start": start, "end": document.lines.position(end + 1, last)}, "text": text}
    return document.changed([change])


def texts() -> list[str]:
    sources = [path.read_text() for path in sorted(EXAMPLES.rglob("*.sema"))]
    return [*sources, "\n".join(case["src"] for case in cases_of(SAMPLE)[:60]), "", "(", '"\n("\n(a)\n"', "\r\n(a)\r\n"]


@pytest.mark.parametrize("seed", range(8))
def test_random_edits(seed: int) -> None:
    chance = random.Random(seed)
    for text in chance.sample(texts(), 6):
        document = Document(URI, text.split("\n"), UTF16)
        for step in range(25):
            document = edited(document, chance)
            if step % 4 == 3:  # several keystrokes may come before a request
                fresh = Document(URI, document.text.split("\n"), UTF16)
                assert known(document) == known(fresh), document.text


def test_units_are_taken_over() -> None:
    text = Path(EXAMPLES / "word_count.sema").read_text() * 3
    document = Document(URI, text.split("\n"), UTF16)
    before = {id(unit) for unit in document.units}
    place = {"line": len(document.lines.lines) // 2, "character": 1}
    after = document.changed([{"range": {"start": place, "end": place}, "text": "x"}])
    assert sum(id(unit) not in before for unit in after.units) == 1


def test_what_follows_an_open_form_stays_what_it_is() -> None:
    document = Document(URI, ["(define (f x)", '  (g "', "(define y 1)", "(f y)"], UTF16)
    assert [*document.top] == ["f", "y"]
    assert len(document.uses(document.top["y"])) == 2


def test_a_string_may_have_lines_that_look_like_forms() -> None:
    document = Document(URI, ['(define (f) "', "(define g 1)", '" 2)', "(define h 3)"], UTF16)
    assert [*document.top] == ["f", "h"]


@pytest.mark.parametrize("text", ["a💡b💡c", "äöü", "plain", ""])
def test_places_are_counted_as_the_client_does(text: str) -> None:
    lines = Lines([text], UTF16)
    for column in range(len(text) + 1):
        units = len(text[:column].encode("utf-16-le")) // 2
        assert lines.position(1, column + 1) == {"line": 0, "character": units}
        assert lines.place({"line": 0, "character": units}) == (1, column + 1)
    assert lines.place({"line": 7, "character": 3}) == (1, len(text) + 1)


def test_a_form_too_large_to_read_at_each_keystroke_hides_no_other() -> None:
    document = Document(URI, ["(define a 1)", "(define b '(" + "💡 " * 200_000 + "))", "(define c 2)"], UTF16)
    assert [*document.top] == ["a", "c"]
