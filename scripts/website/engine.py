"""What the playground runs on: Pyodide, Sema's files, and a memory in which both are loaded."""

from __future__ import annotations

import gzip
import hashlib
import json
import re
import shutil
import sys
import zipfile
from pathlib import Path

from node import node
from places import PLAYGROUND, ROOT, WORK, ran, say

HOME = "/sema"  # the folder in Pyodide
PROGRAM = "/home/program"  # the current folder of programs
GREENLET = "greenlet-pyodide==0.1.0"  # tasks: greenlets on the stack switching of WebAssembly
PURE = ("tenacity",)
PACKAGES = (ROOT / "semac", ROOT / "runtime" / "sema_runtime")
LEFT_OUT = re.compile(
    r"semac/(box|cli|editors|jupyter|lsp|native|nrepl|packaging|testing|__main__\.py|coverage_plugin\.py)"
    r"|sema_runtime/(box|web|workflow/viewer)/"
)
SUFFIXES = (".py", ".sema", ".md", ".json", ".tsv", ".txt")


def engine(modules: Path) -> Path:
    """The folder with the files of the engine, made when their sources have changed:

    pyodide.asm.wasm, python_stdlib.zip, snapshot.gz (the memory), sema.json.gz (files that are not in it).
    """
    files = sources()
    program = node()
    lock = (modules.parent / "package-lock.json").read_text()
    script = PLAYGROUND / "snapshot.mjs"
    memory = (PLAYGROUND / "src" / "memory.mjs").read_text()
    parts = [json.dumps(files, sort_keys=True), lock, script.read_text(), memory, Path(__file__).read_text()]
    digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]
    folder = WORK / "engine" / digest
    if (folder / "snapshot.gz").exists():
        return folder
    say("loading Sema in Pyodide and saving the memory")
    shutil.rmtree(folder.parent, ignore_errors=True)
    folder.mkdir(parents=True)
    everything = folder.parent / "files.json"
    everything.write_text(json.dumps(files))
    ran([program, script, modules, everything, folder.parent], ROOT, "the memory could not be saved")
    loaded = set(json.loads((folder.parent / "loaded.json").read_text()))
    rest = {path: text for path, text in files.items() if path not in loaded}
    (folder / "sema.json.gz").write_bytes(gzip.compress(json.dumps(rest).encode(), 9, mtime=0))
    shutil.copy(modules / "pyodide" / "pyodide.asm.wasm", folder)
    without_loaded(modules / "pyodide" / "python_stdlib.zip", loaded, folder / "python_stdlib.zip")
    saved = (folder.parent / "snapshot.bin").read_bytes()
    (folder / "snapshot.gz").write_bytes(gzip.compress(saved, 9, mtime=0))
    return folder


def without_loaded(library: Path, loaded: set[str], out: Path) -> None:
    """Copies the standard library without the modules that are in the memory."""
    unneeded = {path.partition(".zip/")[2] for path in loaded if path.startswith("/lib/")}
    with zipfile.ZipFile(library) as source, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as target:
        for entry in source.infolist():
            if entry.filename not in unneeded:
                target.writestr(zipfile.ZipInfo(entry.filename), source.read(entry), zipfile.ZIP_DEFLATED, 9)


def sources() -> dict[str, str]:
    """The text of each file that Pyodide gets, by its path there."""
    files = {f"{HOME}/semac/page.py": (PLAYGROUND / "page.py").read_text()}
    for path in sorted((ROOT / "examples" / "data").glob("*.*")):
        if path.suffix in SUFFIXES:
            files[f"{PROGRAM}/examples/data/{path.name}"] = path.read_text()
    for package in PACKAGES:
        for path in sorted(package.rglob("*")):
            name = str(path.relative_to(package.parent))
            if path.suffix in SUFFIXES and not LEFT_OUT.match(name):
                files[f"{HOME}/{name}"] = path.read_text()
    return files | pure_packages()


def pure_packages() -> dict[str, str]:
    """The Python files of packages that run in Pyodide as they are."""
    folder = WORK / "wheels"
    wanted = (GREENLET, *PURE)
    stamp = folder / "wanted.json"
    if not stamp.exists() or json.loads(stamp.read_text()) != list(wanted):
        folder.mkdir(parents=True, exist_ok=True)
        say(f"downloading {', '.join(wanted)}")
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--only-binary", ":all:"]
        ran([*pip, "--dest", folder, *wanted], ROOT, "pip could not download them")
        stamp.write_text(json.dumps(wanted))
    files = {}
    for wheel in sorted(folder.glob("*.whl")):
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                if name.endswith(".py"):
                    files[f"{HOME}/{name}"] = archive.read(name).decode()
    return files
