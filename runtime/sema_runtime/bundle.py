"""The files that a built program carries (`sema build`): reads look there first, then on the disk."""

from __future__ import annotations

import os
import sys

root: str | None = None  # the folder of the program's own files, in a built program
packages: str | None = None  # the folder of the Sema packages that it carries
RUN_MODULE = "--sema-run-module"  # first argument of a built program that is started again, to run a module of Python


def bundled(path: str) -> str:
    """Where to read a path: in the built program, if it carries such a file or folder; else the path itself."""
    if root is None or os.path.isabs(path):
        return path
    inside = os.path.normpath(path)
    if inside == os.pardir or inside.startswith(os.path.join(os.pardir, "")) or "\0" in path:
        return path
    carried = os.path.join(root, inside)
    return carried if inside != os.curdir and os.path.exists(carried) else path


def is_compiled(path: str) -> bool:
    """Whether a file in a built program was made by the build, so that searches leave it out."""
    return path.endswith((".py", ".pyc", "__pycache__"))


def python_command(module: str) -> list[str]:
    """What starts another process that runs a module of this Python, without the user's modules. Its settings of Python
    are those of the environment that it gets."""
    if root is None:
        return [sys.executable, "-s", "-P", "-m", module]
    if getattr(sys, "frozen", False):
        return [sys.executable, RUN_MODULE, module]
    paths = [os.path.abspath(path) for path in sys.path]
    run = "runpy.run_module(sys.argv[0], run_name='__main__', alter_sys=True)"
    return [
        sys.executable,
        "-s",
        "-P",
        "-c",
        f"import runpy, sys; sys.path = {paths!r}; del sys.argv[0]; {run}",
        module,
    ]
