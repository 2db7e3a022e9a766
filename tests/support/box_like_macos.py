"""The zygote of the box on a system that has forks, but nothing of Linux. Run as `python FILE FD`."""

from __future__ import annotations

from types import SimpleNamespace

from sema_runtime.box import hardening
from semac.box import keeping, zygote


def main() -> None:
    library = SimpleNamespace()  # without prctl, syscall and mallinfo2
    hardening.system_library = lambda: library  # type: ignore[assignment,return-value]
    keeping.system_library = zygote.system_library = hardening.system_library  # type: ignore[attr-defined]
    zygote.layers = frozenset  # type: ignore[assignment]
    zygote.address_space = lambda: 0  # type: ignore[attr-defined]
    zygote.reserve_stack = lambda: None
    zygote.main()


if __name__ == "__main__":
    main()
