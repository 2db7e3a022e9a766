"""Running a file as a program, from a warm cache without loading the compiler."""

from __future__ import annotations

import atexit
import os
import sys

from sema_runtime.collector import relax
from semac.cli.exits import guarded
from semac.process import deepen, drain_tasks

NOT_FOUND = "file not found: '{}' (not a file or command)\n\nRun 'sema --help' for available commands."

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import CodeType


def run_file(path: str, arguments: Sequence[str] = ()) -> int:
    """Runs a program; the exit status. arguments: what `(sys/args)` shows behind the path."""
    source = read_source(path)
    if source is None:
        return 1
    return guarded(lambda: _run(path, source, arguments), path)


def read_source(path: str, missing: str = NOT_FOUND) -> bytes | None:
    """The bytes of a source file; None, and a message on stderr, when it can't be read."""
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        _tell(f"Error: {missing.format(path)}")
    except OSError as error:
        _tell(f"Error: cannot read '{path}': {error.strerror}")
    return None


def _tell(text: str) -> None:
    from sema_runtime.support.visible import tell

    tell(text)


def _run(path: str, source: bytes, arguments: Sequence[str]) -> None:
    from semac.imports.cache import program_code, sandboxed

    if sandboxed():  # no file that the program can write may stand in for a module that is imported late
        del sys.path[:1]
    code = program_code(path, source)
    look_beside(path)
    run_code(code, path, [path, *arguments])


def run_code(code: CodeType, path: str, command: Sequence[str], package: str = "") -> None:
    """Runs the code of a program as the main module. path: of its file. command: what `sys.argv` is to be. package: the
    one whose `__main__` it is."""
    sys.argv = [*command]
    deepen()
    relax()
    module = type(sys)("__main__")  # the module that pickled functions and other processes look for
    module.__file__ = path
    if package:
        module.__package__ = package
    atexit.register(sys.modules.__setitem__, "__main__", sys.modules["__main__"])  # Python takes modules apart: 0.2 s
    sys.modules["__main__"] = module
    exec(code, module.__dict__)
    drain_tasks()


def look_beside(path: str) -> None:
    """Has imports of Python and Sema modules look in the program's folder first, but not in a sandbox."""
    from semac.imports.cache import sandboxed

    if not sandboxed():
        sys.path[:1] = [os.path.dirname(os.path.realpath(path))]
        find_sema_modules()


def find_sema_modules() -> None:
    """Has imports of Python find .sema files, but not in a sandbox."""
    from semac.imports.cache import sandboxed

    if not sandboxed():
        from semac.imports.on_demand import prepare

        prepare()
