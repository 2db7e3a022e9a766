"""The zygote of the box on a system that has forks, but nothing of Linux. Run as `python FILE FD`."""

from __future__ import annotations

import os
from types import SimpleNamespace

from sema_runtime.box import hardening
from semac.box import compact, keeping, zygote


def main() -> None:
    library = SimpleNamespace()  # without prctl, syscall and mallinfo2
    for module in (compact, hardening, keeping):
        module.system_library = lambda: library  # type: ignore[assignment,attr-defined,return-value]
    zygote.layers = frozenset  # type: ignore[assignment]
    zygote.address_space = lambda: 0  # type: ignore[attr-defined]
    zygote.forking = lambda: os.fork
    zygote.reserve_stack = lambda: None
    zygote.main()


if __name__ == "__main__":
    main()
