"""Unified diffs: the edits that the reference finds, and that they can be applied."""

from __future__ import annotations

import random

import pytest

from sema_runtime.lib.text import diff, diff_edits

EDITS = [
    ("jdkngjjpmb", "jddkngljfjpmb", "j d +d k n g +l j +f j p m b"),
    ("mffhaghmllo", "amegnbplgn", "-m -f -f -h a -g -h m -l +e +g +n +b +p l -o +g +n"),
    ("hcbceffg", "lcbcefg", "-h +l c b c e -f f g"),
    ("aa", "a", "a -a"),
    ("bb", "cb", "-b +c b"),
    ("cac", "cbccbc", "c -a +b +c +c +b c"),
    ("cbaabbb", "cacaaa", "c -b a +c +a +a a -b -b -b"),
    ("ppedk", "pkk", "p -p -e -d k +k"),
    ("gk", "ekngidmlp", "-g +e k +n +g +i +d +m +l +p"),
    ("abc", "", "-a -b -c"),
    ("", "ab", "+a +b"),
]


def lines(text: str) -> str:
    return "".join(one + "\n" for one in text)


@pytest.mark.parametrize(("old", "new", "expected"), EDITS)
def test_edits(old: str, new: str, expected: str) -> None:
    found = diff.diff_unified(lines(old), lines(new), 20).splitlines()[3:]
    assert [line.strip() for line in found] == expected.split()


def test_a_diff_applied_gives_the_new_text() -> None:
    source = random.Random(5)
    for _ in range(300):
        old, new = (lines("".join(source.choice("abcd") for _ in range(source.randrange(1, 30)))) for _ in range(2))
        patch = diff.diff_unified(old, new, source.randrange(4))
        assert diff.diff_apply(old, patch) == new


def test_long_texts_of_equal_lines() -> None:
    patch = diff.diff_unified("\n" * 100_000, "\n" * 100_000 + "end\n")
    assert patch == "--- old\n+++ new\n@@ -99998,3 +99998,4 @@\n \n \n \n+end\n"


def test_texts_that_have_too_little_in_common_are_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(diff_edits, "MOST_STEPS", 100)
    source = random.Random(1)
    old, new = (lines("".join(source.choice("abc") for _ in range(200))) for _ in range(2))
    patch = diff.diff_unified("same\n" + old, "same\n" + new)
    assert diff.diff_apply("same\n" + old, patch) == "same\n" + new
