"""What decides the code of a source, apart from its text: the files of the compiler, and the switches of its passes."""

from __future__ import annotations

import _imp
import os
import sys

VARIABLE = "SEMA_OPT"
SWITCHES = ("SEMA_SKIP", "SEMA_ASSERT_TYPES")  # variables of the environment that change the code, too
HASH_KEY = 0x53454D41
SOURCES = (".py", ".sema", ".h")
# The folders of semac whose files decide what a source compiles to.
COMPILING = tuple(
    tuple(folder.split("/")) if folder else ()
    for folder in (
        "", "syntax", "expand", "ir", "analyze", "analyze/forms", "anf", "types", "optimize", "optimize/fields",
        "optimize/infer", "optimize/inline", "optimize/inplace", "optimize/loops", "optimize/own", "optimize/rows",
        "optimize/steps", "optimize/texts", "optimize/versions", "generate", "generate/coalesce", "generate/nested",
        "generate/packed", "generate/text",
    )
)  # fmt: skip

# The same of what is native, and the folders of the runtime whose values native code takes apart and whose functions it
# does itself.
COMPILING_NATIVELY = ("native", "native/regions", "native/c")
DONE_NATIVELY = ("values", "lib/collections", "lib/language", "lib/numbers", "lib/text")

DEBUGGERS = frozenset(("semac.diagnostics.debugger", "pydevd"))

_compiler: bytes | None = None
_native: bytes | None = None
DEBUGGER, COVERAGE, PROFILER = range(3)  # numbers of tools in `sys.monitoring`


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
        import sema_runtime

        index = os.path.join(os.path.dirname(os.path.abspath(sema_runtime.__file__)), "catalogue_index.py")
        stamps = [stamp for part in COMPILING for stamp in _files(os.path.join(folder, *part))]
        if os.path.exists(index):
            stamps.append(_stamp(index, os.stat(index)))
        _compiler = digest("\n".join(sorted(stamps)).encode() + sys.version.encode())
    return _compiler


def native_hash() -> bytes:
    """A stamp of everything that decides what a source compiles to natively, and of what its native code relies on."""
    global _native
    if _native is None:
        import sema_runtime
        import semac

        folder, runtime = (os.path.dirname(os.path.abspath(str(each.__file__))) for each in (semac, sema_runtime))
        stamps = [stamp for part in COMPILING_NATIVELY for stamp in _files(os.path.join(folder, *part.split("/")))]
        stamps += [stamp for part in DONE_NATIVELY for stamp in _files(os.path.join(runtime, *part.split("/")))]
        _native = digest(compiler_hash() + "\n".join(sorted(stamps)).encode())
    return _native


def _files(folder: str) -> list[str]:
    """The stamps of a folder's files, 3 µs each."""
    try:
        with os.scandir(folder) as entries:
            return [
                _stamp(entry.name, entry.stat()) for entry in entries if entry.name.endswith((".py", ".sema", ".h"))
            ]
    except OSError:  # semac inside a zip file: its path decides
        return [folder]


def _stamp(name: str, facts: os.stat_result) -> str:
    return f"{name} {facts.st_size} {facts.st_mtime_ns}"


def digest(data: bytes | memoryview) -> bytes:
    """Eight bytes that tell one text from another: the hash that Python has for sources, with a key of our own."""
    return bytes(_imp.source_hash(HASH_KEY, data))


def switches() -> str:
    """What marks the files of code that the environment has the compiler make otherwise than usual; "" for none."""
    asked = [f"{name}={value}" for name in SWITCHES if (value := os.environ.get(name))]
    plain = "" if optimizes() else ".plain"
    plain += ".traced" if is_traced() else ".profiled" if is_profiled() else ""
    return f"{plain}.{digest(' '.join(asked).encode()).hex()}" if asked else plain


def is_traced() -> bool:
    """Whether a debugger is at work: then each function has one body, in which it can stop."""
    is_loaded = any(map(sys.modules.__contains__, DEBUGGERS))  # `isdisjoint` would go through all modules
    return sys.gettrace() is not None or is_loaded or _watches(DEBUGGER, COVERAGE)


def is_profiled() -> bool:
    """Whether a profiler is at work: then calls of small functions stay calls, which it counts."""
    return sys.getprofile() is not None or _watches(PROFILER)


def _watches(*tools: int) -> bool:
    """Whether one of these tools has asked for events by `sys.monitoring`, as cProfile does from Python 3.12 on."""
    monitoring = getattr(sys, "monitoring", None)
    return monitoring is not None and any(monitoring.get_tool(tool) is not None for tool in tools)


def optimizes() -> bool:
    """Whether programs are optimized: unless the environment says `SEMA_OPT=0`.

    Without optimization a program is compiled as it is written: nothing is known of variables, maps and lists are
    always Sema's own, and `map`, `filter`, `foldl` and their kind are calls. Its answers are those of the optimized
    program.
    """
    return os.environ.get(VARIABLE, "1") != "0"
