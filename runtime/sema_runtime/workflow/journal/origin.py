"""`origin.json` of a fork: which run it is one of, and which of that run's results its program came to.

    {"run_id": "wf_1763700000_1_42_0", "at": "2:14", "kept": ["0f3a..._0"]}

at: the event by which it begins, null for the end. kept: content keys, written when the fork ends, null until then: a
value that was kept leaves no event, so nothing else shows what the fork took.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass

from sema_runtime.support.json_input import loads

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

NAME = "origin.json"


@dataclass(frozen=True, slots=True)
class Fork:
    """What a new run begins with. keys: the content keys of the results that it takes, None for all."""

    run_id: str
    at: str | None = None
    keys: frozenset[str] | None = None


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a fork comes from."""

    run_id: str
    at: str | None = None
    kept: tuple[str, ...] | None = None

    def text(self, kept: Iterable[str] | None = None) -> str:
        """The text of the file."""
        origin = Origin(self.run_id, self.at, None if kept is None else tuple(sorted(kept)))
        return json.dumps(asdict(origin), ensure_ascii=False, indent=2)


def of(folder: str) -> Origin | None:
    """The origin of a run that is a fork; None for others, and where the file is damaged."""
    try:
        with open(os.path.join(folder, NAME), "rb") as file:
            said = loads(file.read())
        run_id, at, kept = said["run_id"], said.get("at"), said.get("kept")
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    if type(run_id) is not str or not (at is None or type(at) is str):
        return None
    keys = tuple(key for key in kept if type(key) is str) if type(kept) is list else None
    return Origin(run_id, at, keys)
