"""Programs linked with native code, each with an extension of its own that is built when the program is first run.

The C compiler is asked for speed of its own, not of the code: set CFLAGS=-O2 for what users get.
"""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile

from semac.fingerprint import digest
from semac.native.build import build
from semac.native.module import Linked
from semac.pipeline import CompiledUnit, compile_source

_folders: dict[int, str] = {}  # of each process


def natively(source: str, filename: str, mode: str) -> CompiledUnit:
    """A program whose functions run natively."""
    unit = compile_source(source, filename, mode, result=True)
    name = f"sema_native_{digest(f'{mode} {source}'.encode()).hex()}_{os.getpid()}"
    path = os.path.join(folder(), f"{name}.so")
    linked = Linked(unit, name, path)
    if linked.native_count and not os.path.exists(path):
        os.environ.setdefault("CFLAGS", "-O0")
        build(linked.text, name, path)
    return unit


def folder() -> str:
    """Where this process keeps extensions."""
    found = _folders.get(os.getpid())
    if found is None:
        found = _folders[os.getpid()] = tempfile.mkdtemp(prefix="sema-natively-")
        atexit.register(shutil.rmtree, found, True)
    return found
