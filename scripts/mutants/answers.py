"""Random programs with what plain code gives, as lines of JSON."""

from __future__ import annotations

import json

from programs.configurations import configuration
from programs.outcome import SECONDS, different, outcome
from programs.sources import SOURCES

IGNORED = frozenset(("hint", "trace", "frames"))  # parts of an outcome
FIRST = 5_000_000  # seed of the first program
SHARES = {"small": 5, "corpus": 2, "nested": 2, "modules": 2, "large": 1}


def main(count: int) -> None:
    """Prints programs that end, compiled as programs and as modules in turn."""
    plain, asserted = configuration("plain"), configuration("asserted")
    names = [name for name, share in SHARES.items() for _ in range(share)]
    made = 0
    for seed in range(FIRST, FIRST + 2 * count):
        text = SOURCES[names[seed % len(names)]][1](seed, False).text
        given = outcome(text, "module", plain, SECONDS)
        mode = ("program", "module")[seed % 2]
        found = outcome(text, mode, asserted) if given.countable else given
        if found.countable and different(mode, given, found, IGNORED) is None:
            print(json.dumps([text, mode, given]))
            made += 1
        if made == count:
            break
