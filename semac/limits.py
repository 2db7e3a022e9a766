"""What deep recursion needs from Python and from the operating system. Imports nothing that is slow to load."""

from __future__ import annotations

import sys

DEPTH = 22_000  # Python frames: non-tail recursion works some 20,000 deep and then ends in a condition
STACK = 100 << 20  # bytes of C stack, for recursion through builtins


def deepen() -> None:
    """Allows deep recursion of Sema functions, also of those that builtins call back."""
    if sys.getrecursionlimit() < DEPTH:
        sys.setrecursionlimit(DEPTH)
        grow_stack()


def grow_stack() -> None:
    """Lets the C stack of the main thread grow beyond the usual 8 MB, where the system knows of such a limit."""
    try:
        import resource
    except ImportError:
        return
    soft, most = resource.getrlimit(resource.RLIMIT_STACK)
    wanted = STACK if most == resource.RLIM_INFINITY else min(STACK, most)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_STACK, (wanted, most))
