"""When Python's collector starts, and that it needn't at the end: programs of lists make many objects that live
(decisions 70 and 125)."""

from __future__ import annotations

import atexit
import gc
import os

THRESHOLDS = (10_000, 200, 100)
OF_PYTHON = frozenset((700, 2_000))  # its first threshold, by version, where nobody has changed it


def relax() -> None:
    """Has the collector start less often, unless somebody has set it or SEMA_GC is `host`."""
    if gc.get_threshold()[0] in OF_PYTHON and os.environ.get("SEMA_GC") != "host":
        gc.set_threshold(*THRESHOLDS)
        atexit.register(_leave)  # before what a program registers, and so behind it


def _leave() -> None:
    if gc.get_threshold() == THRESHOLDS:
        from sema_runtime.leaving import leave_objects_alone

        leave_objects_alone()
