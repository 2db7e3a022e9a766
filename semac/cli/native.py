"""`sema compile --native`: files and folders to extensions, and what `sema doctor` says of them."""

from __future__ import annotations

import os
import sys
from typing import Any

from semac.cli.common import failed, sema_files


def compile_natively(paths: list[str]) -> int:
    """Compiles files one after the other. Returns 0, or 1 with a message on stderr."""
    from semac.native.build import problem

    missing = problem()
    if missing is not None:
        return failed(f"{missing.message} ({missing.hint})")
    return max((compile_one(path) for path in paths), default=0)


def compile_one(path: str) -> int:
    """Compiles a file natively; says what runs natively then."""
    from semac.diagnostics.render import show_error
    from semac.native.module import compile_natively

    if not os.path.isfile(path):
        return failed(f"file not found: {path}")
    at_terminal = sys.stderr.isatty()
    if at_terminal:
        print(f"{path}: compiling ...", end="", file=sys.stderr, flush=True)
    try:
        outcome = compile_natively(path)
    except Exception as error:  # errors of macro bodies are of any kind
        show_error(error, path)
        return 1
    finally:
        if at_terminal:
            print("\r\x1b[K", end="", file=sys.stderr, flush=True)
    if not outcome.native:
        print(f"{path}: nothing to run natively{because(outcome.plain)}")
    else:
        print(f"{path}: {', '.join(outcome.native)} native{because(outcome.plain)}")
    return 0


def because(plain: dict[str, str]) -> str:
    """Why functions stay Python."""
    if not plain:
        return ""
    return "; Python: " + ", ".join(f"{name} ({why})" for name, why in sorted(plain.items()))


def native_report() -> dict[str, Any]:
    """What is there to compile natively, and the state of the files in and below the current folder."""
    from semac.native.build import c_compiler, problem
    from semac.native.module import is_native

    missing = problem()
    modules = {path: state for path in _first(sema_files("."), MOST_FILES) if (state := is_native(path)) is not None}
    return {
        "c_compiler": c_compiler(),
        "problem": None if missing is None else f"{missing.message} ({missing.hint})",
        "modules": {os.path.normpath(path): "native" if fresh else "stale" for path, fresh in modules.items()},
    }


MOST_FILES = 1000  # that are looked at


def _first(paths: Any, count: int) -> list[str]:
    return [path for path, _ in zip(paths, range(count), strict=False)]


def native_lines(report: dict[str, Any]) -> list[str]:
    """The report for people."""
    if report["problem"] is not None:
        lines = [f"Native code: not available, {report['problem']}"]
    else:
        lines = [f"Native code: sema compile --native, with {report['c_compiler']}"]
    stale = "stale, Python runs instead: sema compile --native {}"
    return lines + [
        f"  {path}: {'runs natively' if state == 'native' else stale.format(path)}"
        for path, state in report["modules"].items()
    ]
