"""An executable for machines without Python, made by PyInstaller: one file, which unpacks itself at each start."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import sha256
from importlib import metadata
from importlib.util import find_spec
from typing import TYPE_CHECKING

from semac.build.errors import BuildError
from semac.build.layers import Compiled, Layer, our_packages

if TYPE_CHECKING:
    from semac.build.program import Program

REPORTED = ("nth", "string-ref", "mutable-array/get", "mutable-array/set!")  # builtins that word errors of others
FOR_COMMANDS = (
    "semac/cli/",
    "semac/editors/",
    "semac/mcp_server/",
    "semac/project/",
    "sema_runtime/workflow/viewer/page/",
)
SHOWN = 3000  # characters of what PyInstaller says
START = """\
import os
import sys

from semac.build.launch import run

sys.exit(run(os.path.join(sys._MEIPASS, "program"), {entry!r}, {digest!r}, sys.argv))
"""


def executable(
    program: Program, compiled: Compiled, distributions: dict[str, metadata.Distribution], use_cache: bool
) -> bytes:
    """The bytes of the executable. Raises BuildError."""
    if find_spec("PyInstaller") is None:
        raise BuildError("--standalone needs PyInstaller: pip install 'semac[build]'")
    with work_folder(program, use_cache) as work:
        command = arguments(work, program, compiled, distributions)
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace")
        made = [os.path.join(work, "dist", name) for name in ("program", "program.exe")]
        file = next((path for path in made if os.path.isfile(path)), None)
        if done.returncode or file is None:
            raise BuildError(f"PyInstaller failed; it said:\n{(done.stdout + done.stderr).strip()[-SHOWN:]}")
        with open(file, "rb") as opened:
            return opened.read()


@contextmanager
def work_folder(program: Program, use_cache: bool) -> Iterator[str]:
    """A folder for what PyInstaller makes, of which it uses parts again the next time, or one that goes."""
    from sema_runtime.support.home import in_home

    if not use_cache:
        with tempfile.TemporaryDirectory(prefix="sema-build-") as folder:
            yield folder
        return
    name = sha256(program.sources[program.entry].encode("utf-8", "surrogateescape")).hexdigest()[:16]
    folder = os.path.abspath(in_home("cache", "builds", f"standalone-{name}"))
    try:
        os.makedirs(folder, exist_ok=True)
    except OSError as error:
        raise BuildError(f"cannot write {folder}: {error.strerror}; --no-cache builds without it") from None
    for part in ("dist", "program", "data"):
        shutil.rmtree(os.path.join(folder, part), ignore_errors=True)
    yield folder


def arguments(
    work: str, program: Program, compiled: Compiled, distributions: dict[str, metadata.Distribution]
) -> list[str]:
    """The command line of PyInstaller; writes the files that it names."""
    ours = our_packages()
    modules = [place for place in ours if place.endswith(".py")]
    write(work, "program", compiled.files)
    write(work, "data", {place: data for place, data in ours.items() if is_data(place)})
    with open(os.path.join(work, "start.py"), "w", encoding="utf-8") as file:
        file.write(START.format(entry=compiled.main, digest=compiled.digest or ""))
    command = [sys.executable, "-m", "PyInstaller", "--onefile", "--noconfirm", "--log-level=WARN", "--name=program"]
    command += [f"--distpath={work}/dist", f"--workpath={work}/work", f"--specpath={work}"]
    command += [f"--add-data={work}/program{os.pathsep}program"]
    command += [f"--add-data={work}/data{os.pathsep}."]
    command += [f"--hidden-import={name}" for name in sorted(ours_needed(compiled, modules))]
    command += [f"--hidden-import={name}" for name in sorted(program.modules)]
    command += [f"--exclude-module={name}" for name in sorted(left_out(modules, distributions))]
    command += [f"--copy-metadata={distribution.metadata['Name']}" for distribution in distributions.values()]
    return [*command, os.path.join(work, "start.py")]


def is_data(place: str) -> bool:
    """Whether a file of ours is data that programs may need: each is unpacked at each start."""
    return not place.endswith(".py") and not place.startswith(FOR_COMMANDS)


def write(work: str, folder: str, layer: Layer) -> None:
    for place, data in layer.items():
        path = os.path.join(work, folder, place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(data)


def module_name(place: str) -> str:
    return place.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def ours_needed(compiled: Compiled, places: list[str]) -> set[str]:
    """The modules of ours that PyInstaller doesn't see from the start: those of the program's builtins, and those that
    are imported by a name from a table. A program that evaluates text may come to any builtin."""
    from sema_runtime.catalogue_index import INDEX
    from sema_runtime.compiler_bridge import COMPILER
    from semac.build.distributions import EVALUATING, runtime_closure

    every = {module_name(place) for place in places}
    runtime = {name for name in every if name.partition(".")[0] == "sema_runtime"}
    reached, _ = runtime_closure(compiled.runtime)
    if not EVALUATING.isdisjoint(reached):
        return runtime | {COMPILER} | {name for name in every if name.startswith("semac.box")}
    wires = {name for name in runtime if name.startswith("sema_runtime.llm.wires.")}
    return {
        *(name for name in runtime if name.startswith("sema_runtime.conditions.")),
        *(f"sema_runtime.{INDEX[name][0]}" for name in REPORTED),
        *(wires if "sema_runtime.llm.transport" in reached else ()),
        *(reached & runtime),
        COMPILER,
    }


def left_out(modules: list[str], distributions: dict[str, metadata.Distribution]) -> set[str]:
    """The packages that modules of ours can use, and that the program doesn't carry."""
    from semac.build.distributions import imported_by_ours, normalized

    owners = metadata.packages_distributions()
    return {
        top for top in imported_by_ours() if not any(normalized(name) in distributions for name in owners.get(top, ()))
    }
