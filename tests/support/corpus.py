"""Cases of the conformance corpus, and how the answers of a command differ from the recorded ones."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

from paths import CORPUS, DOCS, TESTS

FOLDER = TESTS / "conformance"
FILES = sorted(CORPUS.glob("*.jsonl"))
SAMPLE = FOLDER / "corpus_sample.jsonl"
LEDGER: dict[str, dict[str, str]] = json.loads((DOCS / "divergences.json").read_text())
APART = {"platform", "wasm-gap", "reference-bug"}  # tags of cases where the reference's browser build is no model
AT_THE_TOP = '"/sb-'  # in cases with files in the top directory, where not everybody may write
FLOAT = re.compile(r"-?\d+\.\d+")
HINTS = "hints"  # the ledger's one entry for all hints that are ours
GUESS = "Did you mean '"
SHOWN = 10
# Programs that expand their own macros while they run: compiled modules have no macros any more.
EXPANDING = re.compile(r"\(defmacro.*\((eval|macroexpand) |\(define-syntax.*\(macroexpand ", re.DOTALL)
EVAL = ("-m", "semac.cli.entry", "eval", "--jsonl")

Case = dict[str, Any]


def cases_of(path: Path) -> list[Case]:
    cases = [json.loads(line) for line in path.read_text().split("\n") if line]
    return [case for case in cases if AT_THE_TOP not in case["src"] or os.access("/", os.W_OK)]


def differences(cases: list[Case], command: tuple[str, ...]) -> dict[str, str]:
    """Case id → how the answer of a command differs, for those that do."""
    questions = "".join(json.dumps({"id": case["id"], "src": case["src"]}) + "\n" for case in cases)
    done = subprocess.run([sys.executable, *command], input=questions, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
    answers = {answer["id"]: answer for answer in map(json.loads, filter(None, done.stdout.split("\n")))}
    return {case["id"]: found for case in cases if (found := difference(case, answers[case["id"]]))}


def difference(case: Case, answer: Case) -> str:
    """What differs, one part a line; empty when nothing does."""
    same = close if case.get("approx") else (lambda mine, theirs: mine == theirs)
    parts = [key for key in ("value", "output", "error") if not same(answer.get(key), case.get(key))]
    parts += [] if hint_is_kept(case.get("hint"), answer.get("hint")) else ["hint"]
    return "".join(f"\n    {key}: reference {case.get(key)!r}, here {answer.get(key)!r}" for key in parts)


def hint_is_kept(theirs: str | None, ours: str | None) -> bool:
    """Whether a hint is the reference's, adds to it, or stands where the reference has none or guesses a name."""
    if ours == theirs or HINTS not in LEDGER or theirs is None:
        return ours == theirs or HINTS in LEDGER
    return theirs.startswith(GUESS) or (ours or "").startswith(theirs)


def close(mine: Any, theirs: Any) -> bool:
    """Whether two answers are the same but for the last digits of floats."""
    a, b = json.dumps(mine), json.dumps(theirs)
    if FLOAT.sub("#", a) != FLOAT.sub("#", b):
        return False
    pairs = zip(FLOAT.findall(a), FLOAT.findall(b), strict=True)
    return all(abs(float(x) - float(y)) <= 1e-12 * max(1.0, abs(float(y))) for x, y in pairs)


def check(cases: list[Case], command: tuple[str, ...] = EVAL) -> None:
    cases = [case for case in cases if not APART & set(case.get("tags", ()))]
    differing = differences(cases, command)
    unexpected = [f"{name}: {sources(cases)[name]!r}{differing[name]}" for name in differing if name not in LEDGER]
    assert not unexpected, f"{len(unexpected)} of {len(cases)} differ\n" + "\n".join(unexpected[:SHOWN])
    settled = [case["id"] for case in cases if case["id"] in LEDGER and case["id"] not in differing]
    assert not settled, "these agree: take them out of docs/divergences.json"


def sources(cases: list[Case]) -> dict[str, str]:
    return {case["id"]: case["src"] for case in cases}
