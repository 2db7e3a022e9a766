"""The runtime itself as machine code: an extension for each of its modules that programs spend time in.

The Python of these modules is compiled as it is written. Their functions stay Python functions, of which calls from C
run natively; so does what native code of programs calls. An extension is kept where the module's own compiled code is,
or in the user's cache, and belongs to one text of the module.
"""

from __future__ import annotations

import ast
import marshal
import os
import sys
import sysconfig
from importlib import import_module
from importlib.util import cache_from_source

from semac.fingerprint import digest
from semac.native.build import build
from semac.native.extension import HEADERS, ModuleCode
from semac.native.link import Plan
from semac.native.sites import Twins

VALUES = "equality functions lists lookup map_keys maps matching mutable records sequences"
COLLECTIONS = "hofs list_sets list_slices list_stats lists map_entries maps mutable sorting vectors"
MODULES = (
    *(f"sema_runtime.values.{name}" for name in VALUES.split()),
    "sema_runtime.support.counting",
    *(f"sema_runtime.lib.collections.{name}" for name in COLLECTIONS.split()),
    *(f"sema_runtime.lib.numbers.{name}" for name in ("arithmetic", "convert", "math")),
    *(f"sema_runtime.lib.text.{name}" for name in ("chars", "format", "padding", "strings")),
    *(f"sema_runtime.lib.language.{name}" for name in ("multimethods", "predicates")),
)


class Part:
    """One module of the runtime: its extension's name and file."""

    def __init__(self, module: str, compiler: bytes) -> None:
        self.module = module
        self.source = str(import_module(module).__file__)
        with open(self.source, "rb") as file:
            self.text = file.read()
        self.name = f"sema_native_{digest(self.text + compiler + module.encode()).hex()}"
        self.path = os.path.join(folder_of(self.source), f"{self.name}{sysconfig.get_config_var('EXT_SUFFIX') or '.so'}")

    @property
    def is_built(self) -> bool:
        return os.path.exists(self.path)

    def build(self) -> None:
        build(self.c_text(), self.name, self.path)

    def c_text(self) -> str:
        tree = ast.parse(self.text)
        code = ModuleCode(tree, False, {}, is_python=True)
        compiled = compile(self.text, self.source, "exec", dont_inherit=True)
        plan = Plan(code, Twins(tree, compiled), set())
        facts = os.stat(self.source)
        data = marshal.dumps((plan.value, (facts.st_size, facts.st_mtime_ns)))
        return code.text(self.name, plan.sites, data)


def folder_of(source: str) -> str:
    """Where the extension of a module goes."""
    own = os.path.dirname(cache_from_source(source))
    os.makedirs(own, exist_ok=True)
    if os.access(own, os.W_OK):
        return own
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return os.path.join(home, "sema", "native")


def compiler_digest() -> bytes:
    """What decides the native code of a module besides its text."""
    folder = os.path.dirname(os.path.abspath(__file__))
    files = sorted([os.path.join(folder, name) for name in os.listdir(folder) if name.endswith(".py")] + list(map(str, HEADERS)))
    parts = [sys.version.encode()]
    for path in files:
        with open(path, "rb") as file:
            parts.append(file.read())
    return digest(b"\0".join(parts))


def parts() -> list[Part]:
    compiler = compiler_digest()
    return [Part(module, compiler) for module in MODULES]
