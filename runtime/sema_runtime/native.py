"""What modules with native functions, and the native functions themselves, need at run time."""

from __future__ import annotations

import _frozen_importlib_external as bootstrap  # what importlib.machinery wraps; loaded in every process
import os
import sys
from _frozen_importlib import ModuleSpec

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MOST_FAILURES = 100  # of a native function, before Python runs alone

FAILED: Any = type("Failed", (), {"__slots__": ()})()  # what a native function returns for: ask the plain one

_failures: dict[tuple[str, str], int] = {}
_linked: dict[tuple[str, str], list[tuple[dict[str, Any], str]]] = {}


def load(name: str, path: str, module: str = "") -> bool:
    """Loads an extension of native functions; false where it can't be used: the module then runs without it.

    module: the file of the module, from whose folder a relative path starts.
    """
    if name in sys.modules:
        return True
    if os.environ.get("SEMA_NATIVE") == "0" or sys.gettrace() is not None:
        return False
    try:
        place = os.path.join(os.path.dirname(module), path)
        loader = bootstrap.ExtensionFileLoader(name, place)
        extension = loader.create_module(ModuleSpec(name, loader, origin=place))
        sys.modules[name] = extension
        loader.exec_module(extension)
    except Exception:
        sys.modules.pop(name, None)
        return False
    return True


def entry(namespace: dict[str, Any], module: str, target: str, function: str) -> Callable[..., Any]:
    """A native function, for the global target of a module's namespace."""
    native = getattr(sys.modules.get(module), function, None)
    if native is None:
        return never
    _linked.setdefault((module, function), []).append((namespace, target))
    found: Callable[..., Any] = native
    return found


def never(*_: Any) -> Any:
    """Stands for a native function that isn't there."""
    return FAILED


def failed(module: str, function: str) -> Any:
    """What a native function returns that raised an error; one that does so often isn't called any more."""
    key = module, function
    count = _failures[key] = _failures.get(key, 0) + 1
    if count >= MOST_FAILURES:
        for namespace, target in _linked.pop(key, ()):
            namespace[target] = never
    return FAILED


def breathe() -> None:
    """A call of Python code, which lets signals and other threads have their turn."""


def failures() -> dict[tuple[str, str], int]:
    """How often native functions have failed, by (extension, function)."""
    return dict(_failures)
