"""Modules of wheels whose functions run as machine code (`semac/native`)."""

from __future__ import annotations

import os
import tempfile
from types import CodeType

from sema_runtime.source_maps import digest_in, mapped
from sema_runtime.values.errors import SemaError
from semac.fingerprint import compiler_hash, digest
from semac.pipeline import CompiledUnit


def native_module(text: str, path: str) -> tuple[str, str] | None:
    """The module linked with an extension beside it, and the path of that; None when no function can run natively.

    Raises SemaError where something is missing, such as a C compiler, and what the compiler raises.
    """
    from semac.native.build import build, problem
    from semac.native.module import Linked, suffix
    from semac.pipeline import compile_source

    missing = problem()
    if missing is not None:
        raise missing
    unit = compile_source(text, path, "module", lists_globals=True, is_native=True)
    unit.text = text
    name = f"sema_native_{digest(text.encode() + compiler_hash()).hex()}"
    linked = Linked(unit, name, f"{name}{suffix()}", mapped_code)
    if not linked.native_count:
        return None
    if unit.unit.warnings:
        unit.show_warnings()
    extension = os.path.join(tempfile.mkdtemp(prefix="sema-native-"), f"{name}{suffix()}")
    build(linked.text, name, extension)
    return unit.mapped_text(), extension


def mapped_code(unit: CompiledUnit) -> CodeType:
    """The code that a module runs as which is imported from a wheel."""
    text = unit.mapped_text()
    code = mapped(text, unit.filename, digest_in(text))
    if code is None:
        raise SemaError(f"the places of {unit.filename} are not found again")
    return code
