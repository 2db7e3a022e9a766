"""Texts laid out by the reference and here; what layout must never change.

cases.jsonl holds answers of the reference. differing.jsonl holds those that differ on purpose;
docs/divergences-format.json says why. The thousand recorded answers are used too where they lie beside the checkout.
"""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from corpus import FILES, SAMPLE
from paths import CORPUS, DOCS, EXAMPLES

from sema_runtime.values.errors import ReaderError
from sema_runtime.values.printer import to_text
from semac.format.document import Style, format_text
from semac.format.tokens import FormatError
from semac.syntax.reader import read_program

FOLDER = Path(__file__).parent
RECORDED = CORPUS.parent / "fmt" / "fmt.jsonl"
REASONS = json.loads((DOCS / "divergences-format.json").read_text())
PIECE = re.compile(r'"(?:[^"\\]|\\.)*"|#?"|;[^\n]*\n?|,@|[\'`,@]|\s+|[()\[\]{}]|[^\s()\[\]{}";\'`,@]+')
SPACES = ["\n", "\n\n\n", " ", "\t", "\r\n", " ; c\n", "\n;; own line\n", "\n; @formatter:off\n", "\n; @formatter:on\n"]


def records(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().split("\n") if line]


def answer(case: dict[str, Any]) -> dict[str, str]:
    """What the formatter says to a case, in the words of the reference."""
    try:
        return {"formatted": format_text(case["src"], Style(case["width"], case["indent"], case["align"]))}
    except FormatError as error:
        return {"error": error.message}


def expected(case: dict[str, Any]) -> dict[str, str]:
    if "error" in case:
        return {"error": case["error"].split("\n  at <input>")[0]}
    return {"formatted": case["formatted"]}


@pytest.mark.parametrize(
    "path", [FOLDER / "cases.jsonl", *([RECORDED] if RECORDED.exists() else [])], ids=lambda p: p.stem
)
def test_answers_of_the_reference(path: Path) -> None:
    differing = [case["id"] for case in records(path) if answer(case) != expected(case)]
    assert [name for name in differing if name not in REASONS] == []


def test_deliberate_differences_have_reasons() -> None:
    cases = records(FOLDER / "differing.jsonl")
    assert {case["id"] for case in cases} == {name for name in REASONS if not name.startswith("fmt-")}
    assert [case["id"] for case in cases if answer(case) == expected(case)] == [], "these agree: take them out"
    assert all(len(entry["reason"]) > 20 for entry in REASONS.values())


OURS = {
    "trailing-blanks-in-strings": '(f "a  \n b")\n',
    "carriage-return-behind-comment": "(a) ; c\n(b c)\n",
    "form-before-region": "(a\n  b) ; @formatter:off\n(c   d)\n",
    "string-before-region": '"a\nb" ; @formatter:off\n(c   d)\n',
    "comment-behind-prefix": "(f a\n  {, ; c\n   b\n   (g)})\n",
    "pairs-with-line-breaks": "(let ((a    (list b))\n      (bcd  2))\n  x)\n",
    "bytes-on-one-row": "#u8(" + " ".join("1" * 38) + "\n    " + " ".join("1" * 22) + ")\n",
    "infinite-imaginary-part": "1+1e400i\n",
}


@pytest.mark.parametrize("case", records(FOLDER / "differing.jsonl"), ids=lambda case: case["id"])
def test_what_we_write_where_we_differ(case: dict[str, Any]) -> None:
    assert answer(case) == {"formatted": OURS[case["id"]]}


PLACES = {
    "(a\n  (b": (2, 3),
    "(a\n b])": (2, 3),
    "(a) '": (1, 6),
    '(a\n  "b': (2, 3),
    "(" * 202 + ")" * 202: (1, 202),
}


@pytest.mark.parametrize("text", PLACES)
def test_errors_know_their_place(text: str) -> None:
    with pytest.raises(FormatError) as caught:
        format_text(text)
    assert caught.value.place(text) == PLACES[text]


# What layout never changes


def programs() -> list[str]:
    cases = [case["src"] for path in FILES or [SAMPLE] for case in records(path)][:: 5 if FILES else 1]
    return [*cases, *(path.read_text() for path in sorted(EXAMPLES.rglob("*.sema")))]


def disturbed(text: str, chance: random.Random) -> str:
    """The text with comments, line breaks and blanks put between its tokens."""
    pieces = PIECE.findall(text)
    for _ in range(chance.choice([1, 3, 10])):
        at = chance.randrange(len(pieces) + 1)
        if "".join(pieces[:at])[-1:] not in ("#", "\\", "f") and "".join(pieces[at : at + 1])[:1] not in ('"', "("):
            pieces.insert(at, chance.choice(SPACES))
    return "".join(pieces)


def forms(text: str) -> str | None:
    """The forms that the reader finds, as text; None for text that it refuses."""
    try:
        return to_text(read_program(text))
    except ReaderError:
        return None


@pytest.mark.parametrize(
    "style", [Style(), Style(20, 4, True), Style(100, 2, True, 3)], ids=["plain", "narrow", "wide"]
)
def test_the_program_stays_the_same_and_the_layout_settles(style: Style) -> None:
    chance = random.Random(1)
    readable = 0
    for text in programs():
        for source in (text, disturbed(text, chance)):
            before = forms(source)
            try:
                laid_out = format_text(source, style)
            except FormatError:
                assert before is None, source
                continue
            readable += 1
            assert forms(laid_out) == before, source
            assert format_text(laid_out, style) == laid_out, source
    assert readable > 400
