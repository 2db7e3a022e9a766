"""Agreement with the recorded answers of the reference implementation.

A sample of its corpus is committed as corpus_sample.jsonl. The whole corpus is used when its folder is in SEMA_CORPUS
or beside the checkout. Cases that differ on purpose stand in docs/divergences.json; each must still differ.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
CORPUS = Path(os.environ.get("SEMA_CORPUS") or ROOT.parent / "shared" / "conformance")
FILES = sorted(CORPUS.glob("*.jsonl"))
LANGUAGE = [path for path in FILES if not path.name.startswith("std-")]
SAMPLE = Path(__file__).parent / "corpus_sample.jsonl"
LEDGER: dict[str, dict[str, str]] = json.loads((ROOT / "docs" / "divergences.json").read_text())
CLASSES = {"reference bug", "platform gap", "extension", "not yet"}
APART = {"platform", "wasm-gap", "reference-bug"}  # tags of cases where the reference's browser build is no model
AT_THE_TOP = '"/sb-'  # in cases with files in the top directory, where not everybody may write
FLOAT = re.compile(r"-?\d+\.\d+")
HINTS = "hints"  # the ledger's one entry for all hints that are ours
GUESS = "Did you mean '"
SHOWN = 10
EVAL = ("-m", "semac.cli.entry", "eval", "--jsonl")
TEXT = (str(Path(__file__).parent / "text_answers.py"),)

# Programs that expand their own macros while they run: the macros are gone from the written Python.
EXPANDING = re.compile(r"\(defmacro.*\((eval|macroexpand) |\(define-syntax.*\(macroexpand ", re.DOTALL)

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


def test_sample() -> None:
    check(cases_of(SAMPLE))


@pytest.mark.skipif(not FILES, reason=f"no corpus in {CORPUS}")
@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_corpus(path: Path) -> None:
    check(cases_of(path))


@pytest.mark.parametrize("path", LANGUAGE or [SAMPLE], ids=lambda path: path.stem)
def test_written_python_gives_the_same_answers(path: Path) -> None:
    check([case for case in cases_of(path) if not EXPANDING.search(case["src"])], TEXT)


@pytest.mark.parametrize("command", [EVAL, TEXT], ids=["eval", "text"])
def test_own_programs(command: tuple[str, ...]) -> None:
    """Programs that stress evaluation order, owned maps, loops, closures and names; the answers are the reference's."""
    check(cases_of(Path(__file__).parent / "emission.jsonl"), command)


def test_own_calls() -> None:
    """Edges of builtins and of the scheduler that random calls found; the answers are the reference's."""
    check(cases_of(Path(__file__).parent / "calls.jsonl"))


def test_ledger_gives_reasons() -> None:
    for name, entry in LEDGER.items():
        assert set(entry) == {"class", "reason"}, name
        assert entry["class"] in CLASSES, name
        assert len(entry["reason"]) > 20, name
        assert not (name.startswith("std-") and entry["class"] == "not yet"), name


@pytest.mark.skipif(not FILES, reason=f"no corpus in {CORPUS}")
def test_ledger_is_short() -> None:
    """Of the core and the programs, and of the standard library, at most 1.5 % may differ; of the diagnostics, 2 %."""
    for families, limit in ((("core-*", "programs"), 0.015), (("std-*",), 0.015), (("diagnostics",), 0.02)):
        paths = [path for family in families for path in CORPUS.glob(f"{family}.jsonl")]
        names = [case["id"] for path in paths for case in cases_of(path)]
        assert sum(name in LEDGER for name in names) <= limit * len(names), families
