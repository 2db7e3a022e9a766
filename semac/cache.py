"""Compiled modules on disk: `__pycache__/NAME.semac-VERSION.cpython-311.pyc`.

A file is valid for one source text, one place of the source (tracebacks name it), the sources of the modules whose
macros were used, and one compiler (a hash of semac's own sources). It is written under another name and renamed into
place, so readers never see half a file; a folder that can't be written costs nothing but the compilation.
"""

from __future__ import annotations

import importlib.util
import marshal
import os
import sys
import threading
import zlib
from functools import lru_cache
from types import CodeType

MAGIC = b"SEMA\x01" + importlib.util.MAGIC_NUMBER
VERSION = "1"  # of the file format
CLOCK_TICK = 0.02  # seconds by which a file's time may lag behind the clock


def cache_path(source_path: str) -> str | None:
    """Where the compiled form of a source file belongs; None when this interpreter keeps no bytecode."""
    try:
        folder = os.path.dirname(importlib.util.cache_from_source(source_path))
    except NotImplementedError:
        return None
    stem = os.path.splitext(os.path.basename(source_path))[0]
    optimization = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
    return os.path.join(folder, f"{stem}.semac-{VERSION}.{sys.implementation.cache_tag}{optimization}.pyc")


def load(source_path: str, source: bytes, filename: str) -> CodeType | None:
    """The stored code of source, or None when there is none that is valid. filename: what the code calls its file."""
    path = cache_path(source_path)
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            data = file.read()
    except OSError:
        return None
    start = len(MAGIC) + 4
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : start] != _checksum(data[start:]):
        return None
    try:
        compiler, source_hash, made_for, macros, code = marshal.loads(data[start:])
    except (ValueError, EOFError, TypeError):
        return None
    if compiler != compiler_hash() or source_hash != _hash(source) or made_for != filename:
        return None
    if any(file_hash(macro_path) != known for macro_path, known in macros):
        return None
    return code if isinstance(code, CodeType) else None


def store(source_path: str, source: bytes, code: CodeType, macro_files: dict[str, bytes]) -> bool:
    """Keeps the code for the next start; false when that is impossible or unwanted.

    macro_files: the files of the modules whose macros were used, and the hash that each had *before* compilation.
    """
    path = cache_path(source_path)
    if path is None or sys.dont_write_bytecode:
        return False
    macros = tuple(sorted(macro_files.items()))
    payload = marshal.dumps((compiler_hash(), _hash(source), code.co_filename, macros, code))
    scratch = f"{path}.{os.getpid()}.{threading.get_ident()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(scratch, "xb") as file:
            file.write(MAGIC + _checksum(payload) + payload)
        os.replace(scratch, path)
    except OSError:
        _remove(scratch)
        return False
    return True


def unchanged_since(paths: list[str], moment: float) -> dict[str, bytes] | None:
    """The hashes of files; None when one was written after moment (seconds, as in `time.time()`) or is gone."""
    hashes = {}
    for path in paths:
        try:
            if os.stat(path).st_mtime >= moment - CLOCK_TICK:
                return None
        except OSError:
            return None
        hashes[path] = file_hash(path)
    return hashes


def file_hash(path: str) -> bytes:
    """The hash of a file's bytes; empty for a file that can't be read."""
    try:
        with open(path, "rb") as file:
            return _hash(file.read())
    except OSError:
        return b""


@lru_cache(1)
def compiler_hash() -> bytes:
    """A hash of everything that decides what a source compiles to: semac's sources and the catalogue of builtins."""
    import semac

    folder = os.path.dirname(os.path.abspath(semac.__file__))
    files = []
    for where, folders, names in os.walk(folder):
        folders[:] = sorted(name for name in folders if name != "__pycache__")
        files += [os.path.join(where, name) for name in sorted(names) if name.endswith((".py", ".sema"))]
    catalogue = importlib.util.find_spec("sema_runtime.catalogue_index")
    if catalogue is not None and catalogue.origin:
        files.append(catalogue.origin)
    return _hash(b"".join(file_hash(path) for path in files) + sys.version.encode())


def _hash(data: bytes) -> bytes:
    return importlib.util.source_hash(data)


def _checksum(payload: bytes) -> bytes:
    return zlib.crc32(payload).to_bytes(4, "little")


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return
