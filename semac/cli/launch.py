"""`python -m semac`: runs a Sema file or module as the main program, as `python` runs Python ones, for Python's tools.

python -m semac FILE [ARG...]          python -m semac --pdb FILE [ARG...]
python -m semac -m MODULE [ARG...]     python -m coverage run -m semac FILE
"""

from __future__ import annotations

import os
import sys
from types import CodeType, ModuleType

from semac.imports import finder as importer

USAGE = "usage: python -m semac [--pdb] (FILE | -m MODULE) [ARG...]"


def main(arguments: list[str]) -> int:
    """Runs the command and returns the exit status. Errors of the program are raised, for debuggers and the
    excepthook."""
    debug = arguments[:1] == ["--pdb"]
    rest = arguments[1:] if debug else arguments
    if not rest or (rest[0] == "-m" and (debug or len(rest) < 2)) or (rest[0].startswith("-") and rest[0] != "-m"):
        print(USAGE, file=sys.stderr)
        return 2
    importer.install()
    if rest[0] == "-m":
        run_module(rest[1], rest[2:])
    elif debug:
        debug_file(rest[0], rest[1:])
    else:
        run_file(rest[0], rest[1:])
    return 0


def run_module(name: str, arguments: list[str]) -> None:
    """Runs a module or a package's `__main__`, Sema or Python, as `python -m` does."""
    import runpy

    sys.argv = [name, *arguments]
    if sys.path[:1] != [os.getcwd()]:
        sys.path.insert(0, os.getcwd())
    runpy.run_module(name, run_name="__main__", alter_sys=True)
    _finish()


def run_file(path: str, arguments: list[str]) -> None:
    """Runs a file as `__main__`. Raises SystemExit with a message when there is no such file."""
    code, module = _main_module(path, arguments)
    exec(code, module.__dict__)
    _finish()


def debug_file(path: str, arguments: list[str]) -> None:
    """Runs a file under pdb, stopped at its first form; the debugger passes over the runtime."""
    from semac.diagnostics.debugger import Debugger

    code, module = _main_module(path, arguments)
    Debugger().run(code, module.__dict__, module.__dict__)
    _finish()


def _main_module(path: str, arguments: list[str]) -> tuple[CodeType, ModuleType]:
    from semac.process import deepen

    if not os.path.isfile(path):
        raise SystemExit(f"Error: file not found: '{path}'")
    loader = importer.SemaLoader("__main__", path)
    code = loader.get_code()
    sys.argv = [path, *arguments]
    sys.path[:1] = [os.path.dirname(os.path.realpath(path))]
    module = ModuleType("__main__")
    module.__dict__.update(__file__=path, __loader__=loader, __builtins__=__builtins__)
    sys.modules["__main__"] = module
    deepen()
    return code, module


def _finish() -> None:
    from semac.process import drain_tasks

    drain_tasks()
