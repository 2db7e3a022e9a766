"""Programs in the pages of documentation."""

from __future__ import annotations

import re

from paths import DOCS

FENCE = re.compile(r"```sema\n(.*?)```", re.DOTALL)


def blocks(page: str) -> list[str]:
    """Returns the Sema programs of a page in docs/, in their order."""
    return FENCE.findall((DOCS / page).read_text())
