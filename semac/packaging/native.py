"""Modules of wheels whose functions run as machine code (`semac/native`)."""

from __future__ import annotations

import os
import tempfile

from sema_runtime.values.errors import SemaError
from semac.fingerprint import compiler_hash, digest


def native_module(text: str, path: str) -> tuple[str, str] | None:
    """The module linked with an extension beside it, and the path of that; None when no function can run natively.

    Raises SemaError where something is missing, such as a C compiler, and what the compiler raises.
    """
    from semac.native.build import problem
    from semac.native.kernels import Kernels
    from semac.native.link import linked
    from semac.native.module import build_or_drop, native_program, suffix, without_copies
    from semac.pipeline import compile_source

    missing = problem()
    if missing is not None:
        raise missing
    program = native_program(text, path)
    kernels = Kernels(program.unit, program.tree)
    if not kernels.entries:
        return None
    name = f"sema_native_{digest(text.encode() + compiler_hash()).hex()}"
    folder = tempfile.mkdtemp(prefix="sema-native-")
    extension = os.path.join(folder, f"{name}{suffix()}")
    build_or_drop(kernels, name, extension)
    if not kernels.entries:
        return None
    unit = compile_source(text, path, "module", lists_globals=True, watch=without_copies)
    unit.text = text
    if unit.unit.warnings:
        unit.show_warnings()
    unit.tree = linked(unit.tree, kernels, name, os.path.basename(extension))
    if not os.path.exists(extension):
        raise SemaError(f"{extension} is gone")
    return unit.mapped_text(), extension
