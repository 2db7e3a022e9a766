"""Which rewrites the compiler may do: all, or with `SEMA_OPT=0` none.

Without optimization a program is compiled as it is written: nothing is known of variables, maps and lists are always
Sema's own, and `map`, `filter`, `foldl` and their kind are calls. Its answers must be those of the optimized program;
`tests/test_optimization.py` and `scripts/compare_optimization.py` hold that.
"""

from __future__ import annotations

import os

VARIABLE = "SEMA_OPT"


def enabled() -> bool:
    """Whether programs are optimized: unless the environment says `SEMA_OPT=0`."""
    return os.environ.get(VARIABLE, "1") != "0"
