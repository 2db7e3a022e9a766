"""Packages of npm for the playground, a Node.js that is new enough, and bundles of JavaScript."""

from __future__ import annotations

import platform
import shutil
from pathlib import Path

from places import SOURCES, WORK, Problem, ran, say

LEAST = 22  # the oldest Node.js whose WebAssembly saves a memory that browsers can start from
NEWER = "24.14.0"  # is taken from npm where Node.js is older
MACHINES = {"x86_64": "x64", "AMD64": "x64", "aarch64": "arm64"}


def node_modules() -> Path:
    """The folder of the packages in package-lock.json, installed anew when that has changed."""
    if shutil.which("npm") is None:
        raise Problem("the playground needs Node.js with npm; --no-playground builds the pages alone")
    folder = WORK / "npm"
    stamp = folder / "installed.json"
    lock = (SOURCES / "package-lock.json").read_bytes()
    if not stamp.exists() or stamp.read_bytes() != lock:
        say("installing the packages of npm")
        folder.mkdir(parents=True, exist_ok=True)
        for name in ("package.json", "package-lock.json"):
            shutil.copy(SOURCES / name, folder / name)
        ran(["npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts"], folder, "npm could not install them")
        stamp.write_bytes(lock)
    return folder / "node_modules"


def node() -> str | Path:
    """The command of a Node.js that is new enough."""
    version = ran(["node", "--version"], WORK, "Node.js doesn't run").strip()
    if int(version.removeprefix("v").split(".")[0]) >= LEAST:
        return "node"
    machine = MACHINES.get(platform.machine(), platform.machine())
    package = f"node-{platform.system().lower()}-{machine}"
    folder = WORK / "node"
    program = folder / "node_modules" / package / "bin" / "node"
    if not program.exists():
        say(f"Node.js is {version}; taking {NEWER} from npm for the build")
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text("{}")
        command = ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", f"{package}@{NEWER}"]
        ran([*command], folder, f"Node.js {LEAST} or newer is needed")
    return program


def bundle(modules: Path, entry: Path, out: Path, *options: str) -> None:
    """Writes a script with all that it imports as one file that needs no module loader."""
    command = [modules / ".bin" / "esbuild", entry, f"--outfile={out}", "--bundle", "--format=iife", "--minify"]
    flags = ["--target=es2022", "--legal-comments=none", "--log-level=warning", *options]
    ran([*command, *flags], modules.parent, f"esbuild could not bundle {entry.name}")
