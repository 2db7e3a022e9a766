"""Compiled modules on disk: `__pycache__/NAME.semac-VERSION.cpython-311.pyc`.

A file is valid for one source text, one place of the source (tracebacks name it), the sources of the modules whose
macros were used, and one compiler (a hash of semac's own sources; of native code that of the runtime, too). Where size
and times of the source are what they were, its text is; else its hash decides. The file is written under another name
and renamed into place, so readers never see half of it; a folder that can't be written costs nothing but the
compilation.

In a sandbox nothing is read or written: stored code may use Python, and a program might write such a file itself. So it
is where a run must execute the sources that were approved, and nothing else.
"""

from __future__ import annotations

import _frozen_importlib_external as bootstrap  # what importlib.util wraps; loaded in every process
import marshal
import os
import sys
import time
from _thread import get_ident
from stat import S_ISREG
from types import CodeType

from semac.fingerprint import compiler_hash, digest, native_hash, switches

MAGIC = b"SEMA\x04" + bootstrap.MAGIC_NUMBER
VERSION = "1"  # of the file format
CLOCK_TICK = 0.02  # seconds by which a file's time may lag behind the clock
COARSE_TICK = 2.02  # the same where times may be whole seconds, on some disks even ones
TAG = f".semac-{VERSION}.{sys.implementation.cache_tag}"
OPTIMIZATION = f".opt-{sys.flags.optimize}" if sys.flags.optimize else ""
OPTIMIZATION += switches()

SMALL = 1 << 14  # bytes of a file of which each counts in its checksum
STEP = 32  # of larger ones, one in so many does; a sector has 512

trusted = True  # whether stored code may stand for its source


def cache_path(source_path: str) -> str | None:
    """Where the compiled form of a source file belongs; None when this interpreter keeps no bytecode."""
    folder, name = os.path.split(source_path)
    if sys.pycache_prefix is not None or sys.implementation.cache_tag is None:
        try:
            folder = os.path.dirname(bootstrap.cache_from_source(source_path))
        except NotImplementedError:
            return None
    else:
        folder = os.path.join(folder, "__pycache__")
    return f"{folder}{os.sep}{os.path.splitext(name)[0]}{TAG}{OPTIMIZATION}.pyc"


def native_path(kept: str) -> str:
    """Where code belongs that is linked with native functions (`semac/native`)."""
    return f"{kept[: -len('pyc')]}native.pyc"


def program_path(real: str) -> str | None:
    """Where a file compiled as a whole program belongs: beside the same file as a module, under `NAME.run`."""
    return cache_path(f"{os.path.splitext(real)[0]}.run.sema")


def load_native(kept: str | None, source_path: str, filename: str, source: bytes | None = None) -> CodeType | None:
    """The code that is linked with native functions, where it is as good as what `load` would give."""
    if kept is None or not os.access(path := native_path(kept), os.F_OK):
        return None
    return load(path, source_path, filename, source, native_hash())


def load(
    kept: str | None, source_path: str, filename: str, source: bytes | None = None, maker: bytes | None = None
) -> CodeType | None:
    """The code in the file kept, or None when there is none that is valid for the source file.

    filename: what the code calls its file. source: the bytes of the source file, where they have been read already.
    maker: the stamp of what has made the file, if not of the compiler.
    """
    if kept is None or not trusted or sandboxed():
        return None
    try:
        with open(kept, "rb", buffering=0) as file:
            data = file.read()
        facts = os.stat(source_path)
    except OSError:
        return None
    start = len(MAGIC) + 4
    if data[: len(MAGIC)] != MAGIC or data[len(MAGIC) : start] != _checksum(data, start):
        return None
    try:
        compiler, known_stamp, source_hash, macros, code = marshal.loads(memoryview(data)[start:])
    except (ValueError, EOFError, TypeError):
        return None
    if compiler != (maker or compiler_hash()) or not isinstance(code, CodeType) or code.co_filename != filename:
        return None
    if source is not None:
        if source_hash != digest(source):
            return None
    elif known_stamp != identity(facts) and source_hash != file_hash(source_path):
        return None
    if any(file_hash(macro_path) != known for macro_path, known in macros):
        return None
    return code


def store(
    kept: str | None,
    source: bytes,
    code: CodeType,
    macro_files: dict[str, bytes],
    stamp: tuple[int, ...] | None = None,
    is_asked_for: bool = False,
    maker: bytes | None = None,
) -> bool:
    """Keeps the code for the next start in the file kept; false when that is impossible or unwanted.

    macro_files: the files of the modules whose macros were used, and the hash that each had *before* compilation.
    stamp: that of the source file before it was read, to tell next time without its text that it is the same.
    is_asked_for: also where Python is told not to write compiled code. maker: as for `load`.
    """
    if kept is None or (sys.dont_write_bytecode and not is_asked_for) or not trusted or sandboxed():
        return False
    macros = tuple(sorted(macro_files.items()))
    payload = marshal.dumps((maker or compiler_hash(), stamp, digest(source), macros, code))
    scratch = f"{kept}.{os.getpid()}.{get_ident()}"
    try:
        os.makedirs(os.path.dirname(kept), exist_ok=True)
        if os.path.lexists(kept) and not S_ISREG(os.lstat(kept).st_mode):
            return False
        with open(scratch, "xb") as file:
            file.write(MAGIC + _checksum(payload, 0) + payload)
        os.replace(scratch, kept)
    except OSError:
        _remove(scratch)
        return False
    return True


def stamp(facts: os.stat_result) -> tuple[int, ...] | None:
    """What will be different as soon as a file's contents or a folder's names are; None when the last change is so
    recent that another one might have the same time."""
    tick = CLOCK_TICK if facts.st_mtime_ns % 1_000_000_000 else COARSE_TICK
    latest = max(facts.st_mtime_ns, facts.st_ctime_ns)
    return identity(facts) if latest < time.time_ns() - tick * 1e9 else None


def identity(facts: os.stat_result) -> tuple[int, ...]:
    """The stamp that a file had if nothing was changed since it was made."""
    return facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns, facts.st_ino


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


def _checksum(data: bytes, start: int) -> bytes:
    """Four bytes that tell the data from start on from damaged data.

    What a power failure leaves out is at least a sector of a disk, so of large files some bytes of each sector will do:
    hashing all of them would take half as long as making code of them.
    """
    size = len(data) - start
    return digest(data[start :: 1 if size < SMALL else STEP] + size.to_bytes(8))[:4]


def _remove(path: str) -> None:
    try:
        os.remove(path)
    except OSError:
        return


def program_code(path: str, source: bytes) -> CodeType:
    """The code of a file compiled as a whole program, from the cache or fresh. Raises SemaError.

    It is kept apart from the code of the same file as a module: a program may be compiled more freely.
    """
    real = os.path.realpath(path)
    kept = program_path(real)
    known = load_native(kept, path, real, source) or load(kept, path, real, source)
    if known is not None:
        return known
    from semac.pipeline import compile_source
    from semac.sources import decode

    unit = compile_source(decode(source, path), real, "program")
    code = unit.code
    unit.show_warnings()
    if unit.unit.is_portable and not unit.unit.warnings:  # each run says them
        store(kept, source, code, {file: file_hash(file) for file in unit.macro_files})
    return code
