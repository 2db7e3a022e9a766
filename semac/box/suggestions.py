"""What to write in place of a name that the box doesn't have."""

from __future__ import annotations

import re
from collections.abc import Iterable

from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.hints import FORM_VALUES, foreign, nearest, respelled
from sema_runtime.conditions.name_tables import dialects, habits, reference_names
from semac.box.profile import ABSENT_FORMS, BUILTINS, FORMS, INSTEAD, advice

LONGEST = 80  # characters of a name that is looked up, and of one in a message
MOST_NAMES = 16  # of a message
WORD = re.compile(r"[^\s()\[\]{}\"'`,;]+")


def load_advice() -> None:
    """Reads the tables of names before the process is hardened."""
    habits(), dialects(), reference_names()


def suggestion(name: str, known: Iterable[str]) -> str | None:
    """The hint for a name that isn't among the known ones; None where only far-fetched ones are left."""
    if len(name) > LONGEST:
        return None
    own = advice(name)
    if own is not None and (name in INDEX or name in INSTEAD):
        return own
    if name in FORMS:
        return f"{name} is a special form, no value: pass {FORM_VALUES.get(name, 'a function around it')}"
    habit = foreign(name)
    if habit is not None and is_of_the_box(habit):
        return habit
    names = list(known)
    near = respelled(name, names)
    near = near if near in names else nearest(name, names)
    if near is not None:
        return f"did you mean {near}?"
    if own is not None:
        return own
    family, slash, _ = name.partition("/")
    members = sorted(other for other in names if other.startswith(family + slash)) if family and slash else []
    return f"{family}/ has {listed(members)}" if members else None


def is_of_the_box(text: str) -> bool:
    """Whether advice names nothing that the box lacks."""
    return not any((word in INDEX and word not in BUILTINS) or word in ABSENT_FORMS for word in WORD.findall(text))


def listed(names: Iterable[str]) -> str:
    """Names, as many as fit into a message."""
    shown = [name if len(name) <= LONGEST else f"{name[:LONGEST]}..." for name in names]
    return ", ".join(shown[:MOST_NAMES]) + (", ..." if len(shown) > MOST_NAMES else "")
