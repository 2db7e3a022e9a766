"""The machines that `--target` names, and which of them a build can serve."""

from __future__ import annotations

import os
import sys

from semac.build.errors import BuildError

TRIPLES = (
    "aarch64-apple-darwin",
    "x86_64-apple-darwin",
    "aarch64-unknown-linux-gnu",
    "x86_64-unknown-linux-gnu",
    "x86_64-pc-windows-msvc",
)
ALIASES = {
    "linux": "x86_64-unknown-linux-gnu",
    **dict.fromkeys(("linux-arm", "linux-aarch64"), "aarch64-unknown-linux-gnu"),
    **dict.fromkeys(("macos", "darwin", "mac"), "aarch64-apple-darwin"),
    **dict.fromkeys(("macos-intel", "darwin-intel", "macos-x86_64"), "x86_64-apple-darwin"),
    **dict.fromkeys(("windows", "win", "win32"), "x86_64-pc-windows-msvc"),
}
SYSTEMS = {"linux": "unknown-linux-gnu", "darwin": "apple-darwin", "win32": "pc-windows-msvc"}
ELSEWHERE = (
    "{} can't be built on {}: the Python and the compiled packages in a program are those of the machine that builds"
    " it. Run sema build there, in CI with a job for each system"
)


def host() -> str:
    """The triple of this machine."""
    arch = os.uname().machine if hasattr(os, "uname") else os.environ.get("PROCESSOR_ARCHITECTURE", "x86_64")
    arch = {"arm64": "aarch64", "amd64": "x86_64"}.get(arch.lower(), arch)
    return f"{arch}-{SYSTEMS.get(sys.platform, sys.platform)}"


def chosen(name: str | None) -> str:
    """The triple to build for. Raises BuildError for another one than this machine's."""
    own = host()
    if name is None:
        return own
    if name == "web":
        raise BuildError("--target web: programs for the browser are not built by sema build")
    triple = ALIASES.get(name, name)
    if triple != own and name != "all" and triple not in TRIPLES:
        raise BuildError(f"unknown target '{name}'; sema build --list-targets lists them")
    if triple != own:
        raise BuildError(ELSEWHERE.format("all targets" if name == "all" else triple, own))
    return own


def listing() -> str:
    """What `--list-targets` prints."""
    own = host()
    lines = []
    for triple in sorted({*TRIPLES, own}):
        names = ", ".join(alias for alias, target in ALIASES.items() if target == triple)
        state = "this machine" if triple == own else "build it there"
        lines.append(f"{triple:<28} {state:<15} {names}".rstrip())
    lines.append("\nWithout --standalone, a program that needs no compiled packages runs on each of them.")
    return "\n".join(lines)
