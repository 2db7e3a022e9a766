"""When Python's collector starts: programs of lists make many objects that live (decisions 70 and 125)."""

from __future__ import annotations

import gc
import os

THRESHOLDS = (10_000, 200, 100)
OF_PYTHON = frozenset((700, 2_000))  # its first threshold, by version, where nobody has changed it


def relax() -> None:
    """Has the collector start less often, unless somebody has set it or SEMA_GC is `host`."""
    if gc.get_threshold()[0] in OF_PYTHON and os.environ.get("SEMA_GC") != "host":
        gc.set_threshold(*THRESHOLDS)
