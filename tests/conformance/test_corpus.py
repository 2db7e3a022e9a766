"""Agreement with the recorded answers of the reference implementation.

A sample of its corpus is committed as corpus_sample.jsonl. The whole corpus is used when its folder is in SEMA_CORPUS
or beside the checkout. Cases that differ on purpose stand in docs/divergences.json; each must still differ.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from corpus import EVAL, EXPANDING, FILES, FOLDER, LEDGER, SAMPLE, cases_of, check
from paths import CORPUS

LANGUAGE = [path for path in FILES if not path.name.startswith("std-")]
CLASSES = {"reference bug", "platform gap", "extension", "not yet"}
TEXT = (str(FOLDER / "text_answers.py"),)


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
    check(cases_of(FOLDER / "emission.jsonl"), command)


def test_own_calls() -> None:
    """Edges of builtins and of the scheduler that random calls found; the answers are the reference's."""
    check(cases_of(FOLDER / "calls.jsonl"))


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
