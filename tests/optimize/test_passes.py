"""Programs give the same answers with all passes, with none, and with any one left out."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from typing import Any

import pytest
from corpus import SAMPLE
from paths import ROOT

from sema_runtime.values.errors import SemaError
from semac.optimize import passes
from semac.optimize.passes import PASSES
from semac.pipeline import compile_source
from semac.session import Session


def answers(part: slice = slice(None), **environment: str) -> list[dict[str, Any]]:
    """What `sema eval --jsonl` says of the sample of the corpus, without hints: they may name an outer call."""
    run = subprocess.run(
        [sys.executable, "-m", "semac.cli.entry", "eval", "--jsonl"],
        input="".join(SAMPLE.read_text("utf-8").splitlines(keepends=True)[part]),
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return [{**json.loads(line), "hint": None} for line in run.stdout.splitlines()]


@pytest.fixture(scope="module")
def expected() -> list[dict[str, Any]]:
    return answers(SEMA_OPT="0")


def test_answers_with_all_passes(expected: list[dict[str, Any]]) -> None:
    assert answers() == expected


OPTIONAL = [
    *(one.name for one in PASSES if one.optional),
    "signs",
    "filled",
    "importing",
    "extended",
    "apart",
    "foreign",
    "once",
    "cut",
    "kinds",
    "copies",
    "held",
]


@pytest.mark.parametrize("name", OPTIONAL)
def test_a_pass_can_be_left_out(name: str, expected: list[dict[str, Any]]) -> None:
    """On a third of the sample; `scripts/programs soak` leaves passes out of random programs."""
    part = slice(OPTIONAL.index(name) % 3, None, 3)
    assert answers(part, SEMA_SKIP=name) == expected[part]


def test_values_are_of_their_inferred_types(expected: list[dict[str, Any]]) -> None:
    assert answers(SEMA_ASSERT_TYPES="1") == expected


def emitted() -> list[str]:
    """The Python of programs of the sample, as programs and as inputs of a session."""
    texts = []
    for line in SAMPLE.read_text("utf-8").splitlines()[::2]:
        source = json.loads(line)["src"]
        for mode in ("module", "program"):
            try:
                texts.append(ast.dump(compile_source(source, "<test>", mode).tree))
                texts.append(ast.dump(Session().compile(source, "<test>", mode).tree))
            except SemaError as error:
                texts.append(str(error))
    for name in ("avl", "exprwalk", "inventory", "mergestreams", "regexm", "tokens"):
        source = (ROOT / "scripts" / "speed" / name / "program.sema").read_text("utf-8")
        texts += [ast.dump(compile_source(source, "<test>", mode).tree) for mode in ("module", "program")]
    return texts


def test_passes_that_a_unit_leaves_out_would_do_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    chosen = emitted()
    everything = {each for one in PASSES for each in one.about or ()}
    monkeypatch.setattr(passes, "contents", lambda unit: (set(everything), False))
    assert emitted() == chosen


@pytest.mark.parametrize(("program", "mode"), [("stages", "module"), ("mergestreams", "module"), ("calc", "program")])
def test_one_text_gives_one_code(program: str, mode: str) -> None:
    """Whatever else lies in memory, which decides the order of sets."""
    source = (ROOT / "scripts" / "speed" / program / "program.sema").read_text("utf-8")
    taken: list[list[object]] = []
    texts = set()
    for round_ in range(6):
        taken.append([object() for _ in range(997 * round_)])
        texts.add(compile_source(source, "program.sema", mode).python_text())
    assert len(texts) == 1
