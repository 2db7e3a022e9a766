"""Random programs with what plain code gives, as lines of JSON."""

from __future__ import annotations

import json

from programs.configurations import configuration
from programs.outcome import SECONDS, outcome
from programs.sources import SOURCES

FIRST = 5_000_000  # seed of the first program
SHARES = {"small": 5, "corpus": 2, "nested": 2, "modules": 2, "large": 1}


def main(count: int) -> None:
    """Prints programs that end, compiled as programs and as modules in turn."""
    plain = configuration("plain")
    names = [name for name, share in SHARES.items() for _ in range(share)]
    made = 0
    for seed in range(FIRST, FIRST + 2 * count):
        text = SOURCES[names[seed % len(names)]][1](seed, False).text
        given = outcome(text, "module", plain, SECONDS)
        if given.countable:
            print(json.dumps([text, ("program", "module")[seed % 2], given]))
            made += 1
        if made == count:
            break
