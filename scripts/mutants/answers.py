"""Programs with what plain code gives and what they compile to, as lines of JSON."""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path

from programs.configurations import configuration
from programs.outcome import SECONDS, different, outcome
from programs.sources import SOURCES

from semac.pipeline import compile_source

IGNORED = frozenset(("hint", "trace", "frames"))  # parts of an outcome
FIRST = 5_000_000  # seed of the first program
SHARES = {"small": 5, "mixed": 4, "corpus": 2, "nested": 2, "modules": 2, "large": 1}
DATA = Path(__file__).parent.parent.parent / "tests" / "data"
FOUND = ("found_programs.jsonl", "tried_programs.jsonl")


def main(count: int) -> None:
    """Prints programs that end, those of the tests and random ones, compiled as programs and as modules alternately."""
    plain, asserted = configuration("plain"), configuration("asserted")
    names = [name for name, share in SHARES.items() for _ in range(share)]
    texts = [json.loads(line)["src"] for file in FOUND for line in (DATA / file).read_text("utf-8").splitlines()]
    texts += [SOURCES[names[seed % len(names)]][1](seed, False).text for seed in range(FIRST, FIRST + count)]
    for number, text in enumerate(texts):
        given = outcome(text, "module", plain, SECONDS)
        mode = ("program", "module")[number % 2]
        found = outcome(text, mode, asserted) if given.countable else given
        if found.countable and different(mode, given, found, IGNORED) is None:
            print(json.dumps([text, mode, given, code_of(text, mode)]))


def code_of(text: str, mode: str) -> str:
    """A digest of the Python that a program becomes; of the error of one that can't be compiled."""
    try:
        code = ast.dump(compile_source(text, "<mutant>", mode, result=True).tree)
    except Exception as error:
        code = repr(error)
    return hashlib.sha256(code.encode()).hexdigest()[:16]
