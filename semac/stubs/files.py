"""Stubs of files: what they say, where they stand, whether they are as they should be."""

from __future__ import annotations

import os

from sema_runtime.support.replacing import Replacement
from semac import sources
from semac.pipeline import compile_source
from semac.stubs.stub import stub_text

BESIDE = ("1", "true", "yes", "on")  # values of SEMA_STUBS that mean: beside each source


def stub_of(path: str) -> str:
    """The stub of a .sema file. Raises OSError, SemaError, and what macro bodies raise."""
    real = os.path.realpath(path)
    compiled = compile_source(sources.decode(sources.read_file(path), path), real, "module", lists_globals=True)
    return stub_text(compiled, os.path.basename(path))


def stub_path(path: str) -> str:
    """Where the stub of a source stands: beside it, under the name by which Python imports it."""
    folder, name = os.path.split(path)
    return os.path.join(folder, os.path.splitext(name)[0].replace("-", "_") + ".pyi")


def module_stub_path(folder: str, module: str, is_package: bool) -> str:
    """Where a folder of stubs has that of a module."""
    base = os.path.join(folder, *module.split("."))
    return os.path.join(base, "__init__.pyi") if is_package else base + ".pyi"


def write_stub(target: str, text: str) -> None:
    """Writes a stub as a whole. Raises OSError."""
    os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
    with Replacement(target, in_place=True) as file:
        file.write(text.encode())


def is_current(target: str, source: str) -> bool:
    """Whether a stub was written after the last change of its source."""
    try:
        return os.stat(target).st_mtime_ns >= os.stat(source).st_mtime_ns
    except OSError:
        return False


def keep_current(wanted: str, module: str, source: str, is_package: bool) -> None:
    """Writes the stub of a module that is being imported, unless that is current or nobody may write there.

    wanted: the value of SEMA_STUBS: a folder, or "1" for beside the source.
    """
    beside = wanted.lower() in BESIDE
    target = stub_path(source) if beside else module_stub_path(wanted, module, is_package)
    if not is_current(target, source):
        try:
            write_stub(target, stub_of(source))
        except OSError as error:
            import warnings

            warnings.warn(f"the stub {target} can't be written: {error.strerror}", RuntimeWarning, stacklevel=2)
