"""The distributions of Python that a built program carries, taken from the environment that builds it."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from collections.abc import Iterable, Iterator
from importlib import metadata

from semac.build.errors import BuildError
from semac.build.layers import OURS, Layer
from semac.build.program import read

# Packages that the runtime uses where they are there, and does without elsewhere: they come with --with.
OPTIONAL = {
    *("cryptography", "google", "hypothesis", "jsonschema", "keyring", "numpy", "opentelemetry", "requests"),
    "watchfiles",
}
NEEDED_BY_TEXTS = ("greenlet", "h11", "httpx", "pydantic", "tenacity")  # what evaluated text may come to
EVALUATING = {"sema_runtime.lib.language.dynamic", "sema_runtime.box.workers"}  # modules that run texts
EXTRA = re.compile(r"extra\s*==\s*['\"]([^'\"]+)['\"]")
REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[([^\]]*)\])?")


def needed(modules: Iterable[str], runtime: Iterable[str], wanted: Iterable[str]) -> dict[str, metadata.Distribution]:
    """The distributions for a program, by normalized name.

    modules: names of modules that it imports. runtime: those of the runtime's modules that it imports. wanted: names of
    distributions that were asked for. Raises BuildError where one is not installed.
    """
    tops = {name.partition(".")[0] for name in modules} - sys.stdlib_module_names - {*OURS}
    reached, third_party = runtime_closure(runtime)
    tops |= third_party - OPTIONAL
    if not EVALUATING.isdisjoint(reached):
        tops |= {*NEEDED_BY_TEXTS}
    owners = metadata.packages_distributions() if tops else {}
    found: dict[str, metadata.Distribution] = {}
    for top in sorted(tops):
        names = owners.get(top)
        if names is None and _is_there(top):
            raise BuildError(
                f"the module {top} belongs to no distribution that is installed with a list of its files; put it beside"
                " the program, or install its project without --editable"
            )
        for name in sorted(set(names or ())):
            _add(name, (), found)
    for name in wanted:
        _add(name, (), found, is_wanted=True)
    return found


def _is_there(top: str) -> bool:
    try:
        return importlib.util.find_spec(top) is not None
    except (ImportError, ValueError):
        return False


def _add(name: str, extras: Iterable[str], found: dict[str, metadata.Distribution], is_wanted: bool = False) -> None:
    """Adds a distribution and what it requires, as far as that is installed."""
    key = normalized(name)
    if key in ("semac", "sema-runtime"):
        return
    try:
        distribution = found.get(key) or metadata.distribution(name)
    except metadata.PackageNotFoundError:
        if is_wanted:
            raise BuildError(f"--with {name}: it is not installed here; pip install {name}") from None
        return
    is_new = key not in found
    found[key] = distribution
    for requirement in distribution.requires or ():
        text, _, marker = requirement.partition(";")
        asked = EXTRA.search(marker)
        if asked[1] not in extras if asked else not is_new:
            continue
        match = REQUIREMENT.match(text)
        if match is not None:
            _add(match[1], [extra.strip() for extra in (match[2] or "").split(",") if extra.strip()], found)


def normalized(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def files(distribution: metadata.Distribution) -> Layer:
    """The files that a distribution has in the folder of packages, without compiled code. Raises BuildError."""
    name = distribution.metadata["Name"]
    if distribution.files is None:
        raise BuildError(f"the distribution {name} has no list of its files; install it again with pip")
    layer: Layer = {}
    for file in distribution.files:
        place = file.as_posix()
        if not place.startswith("../") and "__pycache__" not in file.parts:
            path = str(distribution.locate_file(file))
            if os.path.isfile(path):
                layer[place] = read(path)
    if not any(place.endswith((".py", ".so", ".pyd", ".pyi")) for place in layer) and layer:
        raise BuildError(
            f"the distribution {name} is installed for editing, its files are elsewhere; install it without --editable"
        )
    return layer


# What modules of the runtime come to


def runtime_closure(start: Iterable[str]) -> tuple[set[str], set[str]]:
    """(the modules of the runtime that these may import, the packages of others that they may import)."""
    reached: set[str] = set()
    others: set[str] = set()
    waiting = [*start]
    while waiting:
        name = waiting.pop()
        if name in reached:
            continue
        path = _runtime_file(name)
        if path is None:
            continue
        reached.add(name)
        for imported in _imports(ast.parse(read(path))):
            top = imported.partition(".")[0]
            if top == "sema_runtime":
                waiting.append(imported)
            elif top not in sys.stdlib_module_names and top not in OURS:
                others.add(top)
    return reached, others


def imported_by_ours() -> set[str]:
    """The packages of others that any module of the compiler or the runtime imports."""
    from semac.build.layers import our_packages

    tops: set[str] = set()
    for place, text in our_packages().items():
        if place.endswith(".py"):
            tops.update(name.partition(".")[0] for name in _imports(ast.parse(text)))
    return tops - sys.stdlib_module_names - {*OURS}


def _runtime_file(name: str) -> str | None:
    import sema_runtime

    folder = os.path.dirname(os.path.dirname(os.path.abspath(str(sema_runtime.__file__))))
    path = os.path.join(folder, *name.split("."))
    return next((file for file in (f"{path}.py", os.path.join(path, "__init__.py")) if os.path.isfile(file)), None)


def _imports(tree: ast.AST) -> Iterator[str]:
    """The names of modules, and of what may be modules, that a tree imports, but for types alone."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
        else:
            yield from _imports(node)
