"""Where random programs come from, by name: a function of a seed each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import random_modules
import random_programs
import random_tasks

from programs import mutations
from programs.divided import divided
from programs.generator import Profile
from programs.kinds import Kind
from programs.program import program
from programs.written import (
    arities,
    around,
    assigned,
    attempts,
    chains,
    defines,
    handed,
    held,
    holders,
    key_sets,
    letters,
    queues,
    rounds,
    shapes,
    sorts,
    statements,
    tables,
    threaded,
    walks,
)


class Source(NamedTuple):
    """A program, and the kinds of those of its functions that are known: for who calls them from outside."""

    text: str
    kinds: Mapping[str, Kind] = {}


Maker = Callable[[int, bool], Source]  # of a seed, and whether forms may occur that the reference does otherwise


def of_profile(**options: bool) -> Maker:
    """What the grammar makes."""

    def make(seed: int, wild: bool) -> Source:
        made = program(seed, Profile(wild=wild, **options))  # type: ignore[arg-type]
        return Source(made.source, {function.name: function.kind for function in made.functions})

    return make


SOURCES: dict[str, tuple[int, Maker]] = {  # with how often each is drawn
    "small": (50, of_profile(small=True)),
    "large": (6, of_profile()),
    "nested": (8, lambda seed, _: Source(random_programs.Programs(seed).program())),
    "modules": (8, lambda seed, _: Source(random_modules.Modules(seed).program())),
    "mixed": (25, of_profile(small=True, mixed=True)),
    "states": (15, of_profile(small=True, states=True)),
    "daily": (25, of_profile(small=True, daily=True)),
    "divided": (10, lambda seed, wild: Source(divided(seed, wild))),
    "corpus": (20, lambda seed, _: Source(mutations.mutated(seed))),
    "idioms": (20, lambda seed, _: Source(mutations.mutated_idioms(seed))),
    "maps": (12, lambda seed, _: Source(holders.Programs(seed).program())),
    "chains": (6, lambda seed, _: Source(chains.Programs(seed).program())),
    "shapes": (12, lambda seed, _: Source(shapes.Programs(seed).program())),
    "assigned": (12, lambda seed, _: Source(assigned.Programs(seed).program())),
    "around": (8, lambda seed, _: Source(around.Programs(seed).program())),
    "attempts": (8, lambda seed, _: Source(attempts.Programs(seed).program())),
    "threaded": (8, lambda seed, _: Source(threaded.Programs(seed).program())),
    "sorts": (4, lambda seed, _: Source(sorts.Programs(seed).program())),
    "arities": (4, lambda seed, _: Source(arities.Programs(seed).program())),
    "sets": (4, lambda seed, _: Source(key_sets.Programs(seed).program())),
    "handed": (6, lambda seed, _: Source(handed.Programs(seed).program())),
    "tables": (6, lambda seed, _: Source(tables.Programs(seed).program())),
    "letters": (6, lambda seed, _: Source(letters.Programs(seed).program())),
    "defines": (3, lambda seed, _: Source(defines.Programs(seed).program())),
    "statements": (12, lambda seed, _: Source(statements.Programs(seed).program())),
    "queues": (6, lambda seed, _: Source(queues.Programs(seed).program())),
    "held": (6, lambda seed, _: Source(held.Programs(seed).program())),
    "rounds": (8, lambda seed, _: Source(rounds.Programs(seed).program())),
    "walks": (8, lambda seed, _: Source(walks.Programs(seed).program())),
    "tasks": (3, lambda seed, _: Source(random_tasks.Programs(seed).program())),
    "quiet": (3, lambda seed, _: Source(random_tasks.Quiet(seed).program())),
}
