"""Every name of the reference is bound here, says that it is not available, or belongs to a part that is still to come.

data/reference_names.txt has a name and its arity (2, 1+, 2-3; nothing where it isn't known) on each line.
"""

from __future__ import annotations

import pytest
from paths import DATA

from sema_runtime.catalogue_index import INDEX
from sema_runtime.constants import CONSTANTS
from semac.analyze.analyzer import STREAMS
from semac.docs.entries import prelude_entries, reference_names
from semac.docs.special_forms import FORMS
from semac.session import Session

LINES = (DATA / "reference_names.txt").read_text().split("\n")
NAMES = {name: arity for name, _, arity in (line.partition(" ") for line in LINES if line)}
UNAVAILABLE = {name for name, entry in INDEX.items() if entry[0].endswith(".unavailable")}
READ = {"inf", "nan"}  # numbers to the reader

# What is still unbound, by the part of the project that brings it. A name that is bound leaves this list.
LATER: dict[str, str] = {}
TO_COME = {name for names in LATER.values() for name in names.split()}


def is_bound(name: str) -> bool:
    return any(name in names for names in (INDEX, CONSTANTS, STREAMS, FORMS, prelude_entries(), READ))


def shown(least: int, most: int) -> str:
    return f"{least}+" if most < 0 else str(least) if least == most else f"{least}-{most}"


def test_every_name_is_bound_or_to_come() -> None:
    assert [name for name in NAMES if not is_bound(name) and name not in TO_COME] == []


def test_what_is_to_come_is_unbound() -> None:
    assert [name for name in TO_COME if is_bound(name) or name not in NAMES] == []


def test_the_documentation_knows_them() -> None:
    assert set(NAMES) - reference_names() == set()


def test_arities() -> None:
    differing = {}
    for name, arity in NAMES.items():
        if arity and name in INDEX and name not in UNAVAILABLE:
            ours = shown(*INDEX[name][2:4])
            if ours != arity:
                differing[name] = (arity, ours)
    assert differing == {}


@pytest.mark.parametrize("name", sorted(UNAVAILABLE))
def test_an_unavailable_name_says_so(name: str) -> None:
    assert name in NAMES
    caught = f"(try ({name} 1 2) (catch e (:message e)))"
    assert Session(closed=False).run(caught).startswith(f"{name} is not available here: ")
