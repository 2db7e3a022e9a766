"""A source file compiled natively: its extension, and the Python code that is linked with it.

Both stand in `__pycache__`, beside the compiled code of the file (`imports/cache.py`): the linked code is kept as that
is, so a change of the source, of a module whose macros it uses, of the compiler or of Python makes it stale; it names
its extension. Where it is stale or the extension can't be loaded, plain code runs.
"""

from __future__ import annotations

import ast
import glob
import marshal
import os
import sysconfig
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from operator import attrgetter
from types import CodeType
from typing import Any

from sema_runtime.values.errors import SemaError
from sema_runtime.values.naming import PRIVATE
from semac.fingerprint import digest, native_hash
from semac.imports import cache
from semac.ir.unit import Unit
from semac.native.build import build
from semac.native.extension import Known, ModuleCode
from semac.native.link import Plan, entered, insert_calls
from semac.native.sites import Twins
from semac.pipeline import CompiledUnit, compile_source
from semac.sources import decode
from semac.types.lattice import BOOL, FLOAT, INT, REAL


class Outcome:
    """native: the functions that run natively. plain: why others don't, by name."""

    def __init__(self, native: list[str], plain: dict[str, str], path: str | None) -> None:
        self.native = native
        self.plain = plain
        self.path = path


class Linked:
    """A unit whose tree is linked with an extension of that name and file; text: of the extension, in C.

    code_of: gives the code that the linked unit is run as. A function whose code isn't found there stays Python.
    """

    def __init__(
        self, unit: CompiledUnit, name: str, path: str, code_of: Callable[[CompiledUnit], CodeType] = attrgetter("code")
    ) -> None:
        tree, reps, left_out = unit.tree, param_reps(unit.unit), frozenset[Known]()
        self.unit = unit
        self.name = name
        self.path = path
        unit.packs = False
        self.text = ""
        while True:
            unit.tree = unshared(tree)
            self.code = ModuleCode(unit.tree, unit.unit.is_open, reps, left_out)
            if not self.code.native:
                unit.tree = tree
                return
            entries = entered(self.code)
            insert_calls(unit.tree, self.code, entries, name, path)
            plan = Plan(self.code, Twins(unit.tree, code_of(unit)), entries)
            if not plan.lost:
                break
            left_out |= plan.lost
        self.text = self.code.text(name, plan.sites, marshal.dumps(plan.value))

    def build(self) -> None:
        """Makes the extension, if there is anything in it. Raises SemaError and OSError."""
        if self.code.native:
            build(self.text, self.name, self.path)

    @property
    def native_count(self) -> int:
        return len(self.code.native)

    @property
    def native(self) -> list[str]:
        return sorted(each.name for each in self.code.native if each.name and not each.name.startswith(PRIVATE))


def unshared(node: Any) -> Any:
    """A copy of a tree in which no part stands in two places."""
    if isinstance(node, list):
        return [unshared(part) for part in node]
    if not isinstance(node, ast.AST):
        return node
    made = type(node)(**{name: unshared(part) for name, part in ast.iter_fields(node)})
    return ast.copy_location(made, node)


def param_reps(unit: Unit) -> dict[str, list[str]]:
    """How the parameters of functions are represented, as far as the compiler knows their types, by Python name."""
    found = {}
    for function in unit.functions:
        var = function.var
        if var is not None and var.is_global and var.py and not var.assigned and var.defined == 1:
            found[var.py] = [rep_of(param.type) for param in function.params]
    return found


def rep_of(type_: object) -> str:
    tags = getattr(type_, "tags", 0)
    for kinds, rep in ((INT, "i"), (FLOAT, "f"), (BOOL, "b"), (REAL, "d")):
        if tags and not tags & ~kinds:
            return rep
    return "o"


def compile_natively(path: str) -> Outcome:
    """Compiles a file, as a module and as a program. Raises SemaError, OSError and what macro bodies raise."""
    with open(path, "rb") as file:
        source = file.read()
    real = os.path.realpath(path)
    stamp = cache.stamp(os.stat(path))
    kept = {"module": cache.cache_path(os.path.abspath(path)), "program": cache.program_path(real)}
    unit = compile_source(decode(source, path), real, "module", is_native=True)
    forget(kept)
    if kept["module"] is None or not unit.unit.is_portable or unit.unit.warnings:
        why = "has warnings" if unit.unit.warnings else "can't be kept compiled"
        raise SemaError(f"{path} {why}, and compiled code that is kept is all that runs natively")
    program = own_program(decode(source, path), real, unit)
    linked = {"module": linked_as("module", unit, kept["module"], source)}
    if not linked["module"].code.native:
        return Outcome([], linked["module"].code.reasons, None)
    if program is not None and kept["program"] is not None:
        linked["program"] = linked_as("program", program, kept["program"], source)
    with ThreadPoolExecutor(len(linked)) as pool:  # the C compiler takes nearly all of the time
        list(pool.map(Linked.build, linked.values()))
    for mode in kept:
        known = linked.get(mode, linked["module"])
        keep(known.unit, kept[mode], source, stamp if mode == "module" else None)
    return Outcome(linked["module"].native, linked["module"].code.reasons, linked["module"].path)


def own_program(text: str, real: str, module: CompiledUnit) -> CompiledUnit | None:
    """The file compiled as a program, where that gives other code than it has as a module: more is known of calls."""
    program = compile_source(text, real, "program", is_native=True)
    if not program.unit.is_portable or program.unit.warnings or ast.dump(program.tree) == ast.dump(module.tree):
        return None
    return program


def linked_as(mode: str, unit: CompiledUnit, kept: str, source: bytes) -> Linked:
    name = f"sema_native_{digest(mode.encode() + source + native_hash()).hex()}"
    return Linked(unit, name, f"{extension_stem(kept)}{name}{suffix()}")


def keep(unit: CompiledUnit, kept: str | None, source: bytes, stamp: tuple[int, ...] | None) -> None:
    """Stores the linked code. Raises SemaError where that is impossible."""
    macro_files = {file: cache.file_hash(file) for file in unit.macro_files}
    if kept is None or not cache.store(
        cache.native_path(kept), source, unit.code, macro_files, stamp, True, native_hash()
    ):
        raise SemaError(f"cannot write to {os.path.dirname(kept or '')}")


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
    """Whether imports of a file take its extension; None when it has none, False when that is stale.

    Stale is also what was made for another version of Python, and the file as a program alone.
    """
    real = os.path.realpath(path)
    kept, program = cache.cache_path(path), cache.program_path(real)
    if kept is None:
        return None
    if not os.path.exists(cache.native_path(kept)):
        stem = glob.escape(f"{os.path.splitext(kept)[0].partition('.semac-')[0]}.semac-")
        return False if glob.glob(f"{stem}*.native.pyc") else None
    ways = [each for each in (kept, program) if each is not None and os.path.exists(cache.native_path(each))]
    is_fresh = all(cache.load_native(each, path, real) is not None for each in ways)
    return is_fresh and bool(glob.glob(f"{glob.escape(extension_stem(kept))}sema_native_*"))
