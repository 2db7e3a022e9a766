"""A source file compiled natively: its extension, and the Python code that is linked with it.

Both stand in `__pycache__`, beside the compiled code of the file (`imports/cache.py`): the linked code is kept as that
is, so a change of the source, of a module whose macros it uses, of the compiler or of Python makes it stale; it names
its extension. Where it is stale or the extension can't be loaded, plain code runs.
"""

from __future__ import annotations

import glob
import os
import sysconfig

from sema_runtime.values.errors import SemaError
from semac.fingerprint import compiler_hash, digest
from semac.imports import cache
from semac.ir.unit import Unit
from semac.native.build import Refused, build
from semac.native.kernels import Kernels, extension_text
from semac.native.link import linked
from semac.pipeline import CompiledUnit, compile_source
from semac.sources import decode


class Outcome:
    """native: the functions that run natively when they are called. plain: why others don't, by name."""

    def __init__(self, native: list[str], plain: dict[str, str], path: str | None) -> None:
        self.native = native
        self.plain = plain
        self.path = path


def compile_natively(path: str) -> Outcome:
    """Compiles a file. Raises SemaError, OSError and what macro bodies raise."""
    with open(path, "rb") as file:
        source = file.read()
    real = os.path.realpath(path)
    stamp = cache.stamp(os.stat(path))
    kept = {"module": cache.cache_path(os.path.abspath(path)), "program": cache.program_path(real)}
    program = native_program(decode(source, path), real)
    forget(kept)
    kernels = Kernels(program.unit, program.tree)
    if not kernels.entries:
        return Outcome([], kernels.reasons, None)
    if not program.unit.is_portable or program.unit.warnings or kept["module"] is None:
        why = "has warnings" if program.unit.warnings else "can't be kept compiled"
        raise SemaError(f"{path} {why}, and compiled code that is kept is all that runs natively")
    name = f"sema_native_{digest(source + compiler_hash()).hex()}"
    target = f"{extension_stem(kept['module'])}{name}{suffix()}"
    build_or_drop(kernels, name, target)
    if kernels.entries:
        units = {
            "program": program,
            "module": compile_source(decode(source, path), real, "module", lists_globals=True, watch=without_copies),
        }
        for mode, unit in units.items():
            keep(unit, kept[mode], source, kernels, name, target, stamp if mode == "module" else None)
    return Outcome(sorted(kernels.entries), kernels.reasons, target)


def native_program(text: str, path: str) -> CompiledUnit:
    """The program from which native functions are made: it relies on nothing that a test at an entry doesn't see."""
    return compile_source(text, path, "program", watch=without_signs)


def without_signs(_: str, unit: Unit) -> None:
    unit.left_out = frozenset(("signs",))


def without_copies(_: str, unit: Unit) -> None:
    """Has the module call its public functions, which call the native ones."""
    unit.left_out = frozenset(("versions",))


def keep(
    unit: CompiledUnit,
    kept: str | None,
    source: bytes,
    kernels: Kernels,
    name: str,
    target: str,
    stamp: tuple[int, ...] | None,
) -> None:
    """Stores the linked code. Raises SemaError where that is impossible."""
    unit.tree = linked(unit.tree, kernels, name, target)
    macro_files = {file: cache.file_hash(file) for file in unit.macro_files}
    if kept is None or not cache.store(cache.native_path(kept), source, unit.code, macro_files, stamp, True):
        raise SemaError(f"cannot write to {os.path.dirname(kept or '')}")


def build_or_drop(kernels: Kernels, name: str, target: str) -> None:
    """Builds the extension, without the functions that mypyc refuses."""
    while kernels.entries:
        text = extension_text(name, [kernels])
        try:
            build(text, name, target)
            return
        except Refused as refused:
            named = {function_at(text, line): why for line, why in refused.lines}
            known = {function: name for name in kernels.functions for function in [kernels.native_name(name)]}
            if not named.keys() & known.keys():
                raise SemaError("mypyc failed", f"it said: {refused}") from None
            kernels.reasons.update({known[each]: why for each, why in named.items() if each in known})
            kernels.drop(set(named))


def function_at(text: str, line: int) -> str:
    """The name of the function in which a line of a text stands."""
    above = [row for row in text.split("\n")[:line] if row.startswith("def ")]
    return above[-1][4:].partition("(")[0] if above else ""


def suffix() -> str:
    return sysconfig.get_config_var("EXT_SUFFIX") or ".so"


def extension_stem(kept: str) -> str:
    """How the paths of the extensions of a source begin."""
    return kept[: -len("pyc")]


def forget(kept: dict[str, str | None]) -> None:
    """Removes what an earlier compilation of the same file has left."""
    for path in filter(None, kept.values()):
        for old in [cache.native_path(path), *glob.glob(f"{glob.escape(extension_stem(path))}sema_native_*")]:
            if os.path.exists(old):
                os.remove(old)


def is_native(path: str) -> bool | None:
    """Whether imports of a file take its extension; None when it has none, False when that is stale."""
    kept = cache.cache_path(path)
    if kept is None or not os.path.exists(cache.native_path(kept)):
        return None
    fresh = cache.load(cache.native_path(kept), path, os.path.realpath(path)) is not None
    return fresh and bool(glob.glob(f"{glob.escape(extension_stem(kept))}sema_native_*"))
