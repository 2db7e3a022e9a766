"""Programs of the corpus that name nothing which the box lacks answer there as the reference does."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from paths import ROOT

from sema_runtime.box import Outcome, Pool
from sema_runtime.catalogue_index import INDEX
from semac.box.profile import ABSENT_FORMS, BUILTINS

EVERY = 5  # of the sample of the corpus; scripts/box/compare_corpus.py runs all of it
WORD = re.compile(r"[^\s()\[\]{}\"';,`]+")
# Answers that are others on purpose: names are looked up before anything runs, and tasks end before their program does.
DIFFERS = {"std-concurrency/225", "core-async/029"}
REFUSED = {"unbound_var", "invalid_form", "parse_error", "invalid_arity"}


def cases() -> Iterator[dict[str, Any]]:
    """Programs that the reference answers, of builtins of the box alone."""
    for line in (ROOT / "tests/conformance/corpus_sample.jsonl").read_text(encoding="utf-8").split("\n")[::EVERY]:
        case = json.loads(line) if line else {"id": "", "src": ""}
        words = WORD.findall(case["src"])
        if words and case["id"] not in DIFFERS and all(word in BUILTINS or word not in INDEX for word in words):
            if not ABSENT_FORMS & {*words} and not any(word.startswith(("py/", ".")) for word in words):
                yield case


def agrees(case: dict[str, Any], outcome: Outcome) -> bool:
    if outcome.reason in REFUSED:  # before it ran: the reference fails later, or catches it
        return case["error"] is not None or "undefined" in case["src"]
    if case["error"] is not None:
        message = (outcome.message or "").partition("\n")[0]
        if outcome.reason == "type_error":  # says more than outside: of which function
            return case["error"] in message
        return outcome.status == "error" and message == case["error"]
    printed = [line for text in outcome.prints for line in text.split("\n")]
    return outcome.status == "value" and outcome.text == case["value"] and printed == (case["output"] or [])


def test_answers_are_the_same_inside(pool: Pool) -> None:
    known = list(cases())
    limits = replace(pool.limits, wall_ms=30_000)
    with ThreadPoolExecutor(2) as threads:
        outcomes = list(threads.map(lambda case: pool.run(case["src"], limits=limits), known))
    others = [
        (case["id"], case["src"][:200], outcome)
        for case, outcome in zip(known, outcomes, strict=True)
        if not agrees(case, outcome)
    ]
    assert len(known) > 80 and others == []
