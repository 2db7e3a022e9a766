"""Texts of programs that are two files: a library, and a program that imports it."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

FILE = "random.sema"  # frames of such files are those of programs
LIBRARY = "library.sema"
BORDER = f'\n(import "{LIBRARY}")\n'  # between the two in a text; it belongs to the program


@contextmanager
def on_disk(text: str) -> Iterator[tuple[str, str]]:
    """The text of the program itself and its path, while its library lies beside it. A program of one file has no
    folder."""
    library, border, own = text.partition(BORDER)
    if not border:
        yield text, FILE
        return
    folder = place()
    (folder / LIBRARY).write_text(library)
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    try:
        yield border + own, str(folder / FILE)
    finally:
        sys.dont_write_bytecode = kept
        stem = LIBRARY.removesuffix(".sema")
        for name in [name for name in sys.modules if name.startswith(f"{stem}@")]:
            del sys.modules[name]


@cache
def place() -> Path:
    """A folder of this process; of equal length in all."""
    return Path(tempfile.mkdtemp(prefix=f"sema-{os.getpid():010}-"))
