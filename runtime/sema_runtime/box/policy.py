"""Which layers of the kernel's protection must be there, and what is said where one isn't."""

from __future__ import annotations

import os
import warnings

from sema_runtime.box.probe import LAYERS, Unprotected, UnprotectedWarning
from sema_runtime.values.errors import SemaError

VARIABLE = "SEMA_BOX_NEEDS"
WHERE = {  # what gives a layer
    "landlock": "Linux 5.13 or later, and a container that allows it",
    "seccomp": "Linux on x86-64 or ARM64, and a container that allows filters of system calls",
}
LEFT = {  # what keeps files, network and other processes away from native code, by the layers that there are
    frozenset(("landlock",)): "landlock alone",
    frozenset(("seccomp",)): "the filter of system calls alone",
    frozenset[str](): "nothing but the checks of the language",
}


def needed() -> frozenset[str]:
    """The layers without which nothing runs: all, or those of SEMA_BOX_NEEDS (`none`, or names with commas)."""
    said = os.environ.get(VARIABLE, "").strip()
    if not said:
        return frozenset(LAYERS)
    names = frozenset() if said == "none" else frozenset(part.strip() for part in said.split(","))
    unknown = sorted(names - {*LAYERS})
    if unknown:
        raise SemaError(f"box: {VARIABLE}={said}: there is no layer {', '.join(unknown)}",
                        f"it is none, or some of {', '.join(LAYERS)}")  # fmt: skip
    return names


def check(layers: frozenset[str], needs: frozenset[str]) -> None:
    """Raises Unprotected where a layer is missing that is needed; warns of others that are missing."""
    missing = frozenset(LAYERS) - layers
    if not missing:
        return
    wanted = sorted(needs & missing)
    if wanted:
        raise Unprotected(
            f"box: this machine lacks {' and '.join(wanted)} ({'; '.join(WHERE[name] for name in wanted)})",
            f"{VARIABLE}=none, --allow-missing-layers or Pool(needs=frozenset()) runs programs with what there is",
        )
    warnings.warn(UnprotectedWarning(warning(layers)), stacklevel=4)


def warning(layers: frozenset[str]) -> str:
    missing = sorted(frozenset(LAYERS) - layers)
    lacks = f"box: this machine lacks {' and '.join(missing)}"
    return f"{lacks}: files and network are kept from native code by {LEFT[layers]}"
