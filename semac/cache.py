"""Compiled modules on disk: `__pycache__/NAME.semac-VERSION.cpython-311.pyc`.

A file is valid for one source text, one place of the source (tracebacks name it), the sources of the modules whose
macros were used, and one compiler (a hash of semac's own sources). It is written under another name and renamed into
place, so readers never see half a file; a folder that can't be written costs nothing but the compilation.

In a sandbox nothing is read or written: stored code may use Python, and a program might write such a file itself. So it
is where a run must execute the sources that were approved, and nothing else.
"""

from __future__ import annotations

import _frozen_importlib_external as bootstrap  # what importlib.util wraps; loaded in every process
import _imp
import marshal
import os
import sys
from _thread import get_ident
from types import CodeType

MAGIC = b"SEMA\x02" + bootstrap.MAGIC_NUMBER
VERSION = "1"  # of the file format
HASH_KEY = 0x53454D41
CLOCK_TICK = 0.02  # seconds by which a file's time may lag behind the clock

trusted = True  # whether stored code may stand for its source


def cache_path(source_path: str) -> str | None:
    """Where the compiled form of a source file belongs; None when this interpreter keeps no bytecode."""
    try:
        folder = os.path.dirname(bootstrap.cache_from_source(source_path))
    except NotImplementedError:
        return None
    stem = os.path.splitext(os.path.basename(source_path))[0]
    optimization = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
    return os.path.join(folder, f"{stem}.semac-{VERSION}.{sys.implementation.cache_tag}{optimization}.pyc")


def load(source_path: str, source: bytes, filename: str) -> CodeType | None:
    """The stored code of source, or None when there is none that is valid. filename: what the code calls its file."""
    path = cache_path(source_path)
    if path is None or not trusted or sandboxed():
        return None
    try:
        with open(path, "rb", buffering=0) as file:
            data = file.read()
    except OSError:
        return None
    start = len(MAGIC) + 4
    payload = memoryview(data)[start:]
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : start] != _checksum(payload):
        return None
    try:
        compiler, source_hash, made_for, macros, code = marshal.loads(payload)
    except (ValueError, EOFError, TypeError):
        return None
    if compiler != compiler_hash() or source_hash != digest(source) or made_for != filename:
        return None
    if any(file_hash(macro_path) != known for macro_path, known in macros):
        return None
    return code if isinstance(code, CodeType) else None


def store(source_path: str, source: bytes, code: CodeType, macro_files: dict[str, bytes]) -> bool:
    """Keeps the code for the next start; false when that is impossible or unwanted.

    macro_files: the files of the modules whose macros were used, and the hash that each had *before* compilation.
    """
    path = cache_path(source_path)
    if path is None or sys.dont_write_bytecode or not trusted or sandboxed():
        return False
    macros = tuple(sorted(macro_files.items()))
    payload = marshal.dumps((compiler_hash(), digest(source), code.co_filename, macros, code))
    scratch = f"{path}.{os.getpid()}.{get_ident()}"
    try:
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(scratch, "xb") as file:
            file.write(MAGIC + _checksum(payload) + payload)
        os.replace(scratch, path)
    except OSError:
        _remove(scratch)
        return False
    return True


def sandboxed() -> bool:
    """Whether this process runs a program that must not use Python. (Nothing is denied before the module is loaded.)"""
    capabilities = sys.modules.get("sema_runtime.capabilities")
    return capabilities is not None and "python" in capabilities.denied


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
            return digest(file.read())
    except OSError:
        return b""


_compiler: bytes | None = None


def compiler_hash() -> bytes:
    """A stamp of everything that decides what a source compiles to: semac's sources and the catalogue of builtins.

    Names, sizes and times of the files stand for their contents: this runs at every start.
    """
    global _compiler
    if _compiler is None:
        import semac

        folder = os.path.dirname(os.path.abspath(semac.__file__))
        if os.path.basename(os.path.dirname(folder)) == "site-packages":  # installed: replaced as a whole
            _compiler = digest((_stamp(folder, os.stat(folder)) + sys.version).encode())
            return _compiler
        found = [entry for part in (folder, os.path.join(folder, "forms")) for entry in _files(part)]
        for entry in sys.path:
            index = os.path.join(entry, "sema_runtime", "catalogue_index.py")
            if os.path.exists(index):
                found.append(_stamp(index, os.stat(index)))
                break
        _compiler = digest("\n".join(sorted(found)).encode() + sys.version.encode())
    return _compiler


def _files(folder: str) -> list[str]:
    try:
        with os.scandir(folder) as entries:
            return [_stamp(one.name, one.stat()) for one in entries if one.name.endswith((".py", ".sema"))]
    except OSError:  # semac inside a zip file: its path decides
        return [folder]


def _stamp(name: str, facts: os.stat_result) -> str:
    return f"{name} {facts.st_size} {facts.st_mtime_ns}"


def digest(data: bytes | memoryview) -> bytes:
    """Eight bytes that tell one text from another: the hash that Python has for sources, with a key of our own."""
    return bytes(_imp.source_hash(HASH_KEY, data))


def _checksum(payload: bytes | memoryview) -> bytes:
    return digest(payload)[:4]


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return
