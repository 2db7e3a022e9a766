"""The end of a process: Python's collector visits every object once more, though the system takes them all.

For a million cells of lists that took longer than the program. It is left out where no object is alive that could do
something when it goes: a generator that has begun, an object with `__del__` or of a library. Open files are flushed
first, as the collector may come to a file before it comes to what still has text for it.
"""

from __future__ import annotations

import gc
import sys
from _io import _IOBase, _TextIOBase
from types import AsyncGeneratorType, CoroutineType, GeneratorType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIBRARY = frozenset((
    "__future__", "_bisect", "_collections_abc", "_contextvars", "_datetime", "_decimal", "_distutils_hack",
    "_frozen_importlib", "_frozen_importlib_external", "_hashlib", "_heapq", "_json", "_pydatetime", "_random",
    "_sitebuiltins", "_struct", "_weakrefset", "abc", "argparse", "ast", "bisect", "codecs", "collections",
    "contextlib", "contextvars", "copy", "copyreg", "dataclasses", "datetime", "decimal", "dis", "encodings",
    "enum", "errno", "fractions", "functools", "genericpath", "hashlib", "importlib", "inspect", "io", "itertools",
    "json", "keyword", "linecache", "math", "numbers", "opcode", "operator", "os", "pathlib", "posixpath", "random",
    "re", "reprlib", "site", "stat", "string", "struct", "textwrap", "threading", "time", "token", "tokenize",
    "traceback", "types", "typing", "unicodedata", "warnings", "weakref", "zipimport",
))  # fmt: skip
KNOWN = LIBRARY.union(("__main__", "sema_runtime", "semac"), sys.builtin_module_names)
SUSPENDED = (GeneratorType, CoroutineType, AsyncGeneratorType)


def leave_objects_alone() -> None:
    """Flushes files that are open, and keeps the last collection from visiting what is alive."""
    alive = gc.get_objects()
    kinds = set(map(type, alive))
    files = {kind for kind in kinds if issubclass(kind, _IOBase)}
    standard = _standard()
    flush([file for file in alive if type(file) in files and file not in standard])
    if not any(may_act(kind) for kind in kinds - files):
        gc.freeze()


def flush(files: list[Any]) -> None:
    """Has files write what they hold: texts before the bytes below."""
    for is_text in (True, False):
        for file in files:
            if isinstance(file, _TextIOBase) is is_text:
                try:  # noqa: SIM105 - contextlib takes 1 ms to load
                    file.flush()
                except (OSError, ValueError):  # it is full, or closed
                    pass


def may_act(kind: type) -> bool:
    """Whether objects of a class may do something when they go."""
    if kind in SUSPENDED or hasattr(kind, "__del__"):
        return True
    module = kind.__module__
    return type(module) is not str or module.partition(".")[0] not in KNOWN


def _standard() -> list[object]:
    """The standard streams, with what they write to."""
    streams: list[object] = [sys.stdin, sys.stdout, sys.stderr, sys.__stdin__, sys.__stdout__, sys.__stderr__]
    for stream in streams:  # which grows meanwhile
        streams += [part for name in ("buffer", "raw") if (part := getattr(stream, name, None)) is not None]
    return streams
