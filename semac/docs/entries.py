"""The documented names: builtins (from the docstrings in the runtime's source), special forms, values, macros.

Nothing of the runtime is imported for this; its files are read with `ast`.
"""

from __future__ import annotations

import ast
import importlib.util
import os
import re
from functools import lru_cache
from inspect import cleandoc
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text
from semac.docs.examples import split_examples
from semac.docs.results import returned
from semac.docs.special_forms import FORMS, VALUES

SENTENCE_END = re.compile(r"(?<!\.)\.(?=\s|$)")
FOLDER = os.path.dirname(__file__)
PRELUDE = os.path.join(os.path.dirname(FOLDER), "expand", "prelude.sema")
SHIPPED = ("sema/patterns",)  # what `import` finds without an installation
REFERENCE_NAMES = os.path.join(FOLDER, "reference_names.txt")
TOPICS = {  # modules whose file name alone doesn't say what they are about
    **{f"lib.llm.{name}": f"llm-{name}" for name in ("providers", "scopes", "usage")},
    **{f"lib.terminal.{name}": f"term-{name}" for name in ("keys", "raw", "screen", "spinner", "style")},
    "lib.text.case": "string-case",
    "lib.text.padding": "string-pad",
    "lib.text.search": "string-search",
}


class Entry:
    """One documented name. signatures: ways to write a call; body: Markdown below them; summary: its first sentence."""

    __slots__ = (
        *("alias_of", "aliases", "body", "capability", "imported_from", "kind", "module", "name", "returns"),
        "signatures",
    )

    def __init__(self, name: str, kind: str, module: str, signatures: list[str], body: str) -> None:
        self.name = name
        self.kind = kind
        self.module = module
        self.signatures = signatures
        self.body = body
        self.returns = ""
        self.capability = ""
        self.alias_of = ""
        self.imported_from = ""
        self.aliases: list[str] = []

    @property
    def summary(self) -> str:
        """The first sentence of the body, on one line."""
        text = " ".join(self.body.split("\n\n", 1)[0].split())
        return SENTENCE_END.split(text, maxsplit=1)[0]

    def heading(self) -> str:
        return f"{self.name} → {self.alias_of} : {self.kind}" if self.alias_of else f"{self.name} : {self.kind}"

    def remarks(self) -> list[str]:
        """Sentences about other names, capability, and being an extension."""
        remarks = []
        if self.aliases:
            remarks.append("Also: " + ", ".join(f"`{alias}`" for alias in self.aliases) + ".")
        if self.imported_from:
            return [f'To be imported: `(import "{self.imported_from}")`.']
        if self.capability:
            remarks.append(f"Needs the capability `{self.capability}`.")
        extensions = [name for name in sorted({self.name, *self.aliases}) if name not in reference_names()]
        if extensions:
            names = " and ".join(f"`{name}`" for name in extensions)
            are = "is an extension" if len(extensions) == 1 else "are extensions"
            remarks.append(f"{names} {are} of this implementation.")
        return remarks

    def text(self) -> str:
        """The whole documentation: heading, signatures, description, examples, as Markdown."""
        arrow = f" → {self.returns}" if self.returns else ""
        parts = [self.heading(), "\n".join(f"    {signature}{arrow}" for signature in self.signatures)]
        prose, examples = split_examples(self.body)
        parts.append(prose)
        if examples:
            parts.append("```sema\n" + "\n".join(example.shown() for example in examples) + "\n```")
        parts += self.remarks()
        return "\n\n".join(part for part in parts if part)


@lru_cache(1)
def reference_names() -> frozenset[str]:
    """The names that the reference implementation has."""
    with open(REFERENCE_NAMES, encoding="utf-8") as file:
        return frozenset(line for line in file.read().splitlines() if not line.startswith("; "))


def lookup(name: str) -> Entry | None:
    """The documentation of one name, or None. Reads only the file that declares it."""
    if name in FORMS or name in VALUES:
        return _form_entry(name)
    if name in INDEX:
        return module_entries(INDEX[name][0]).get(name)
    return prelude_entries().get(name) or shipped_entries().get(name)


@lru_cache(1)
def all_entries() -> dict[str, Entry]:
    """Every documented name, sorted."""
    entries = {**shipped_entries(), **prelude_entries(), **{name: _form_entry(name) for name in (*FORMS, *VALUES)}}
    for module in sorted({entry[0] for entry in INDEX.values()}):
        entries.update(module_entries(module))
    return {name: entries[name] for name in sorted(entries) if not name.startswith("__")}


def _form_entry(name: str) -> Entry:
    if name in VALUES:
        return Entry(name, "value", "values", [name], VALUES[name])
    syntax, _, body = FORMS[name].partition("\n\n")
    return Entry(name, "special form", "special-forms", syntax.split("\n"), body)


@lru_cache(1)
def prelude_entries() -> dict[str, Entry]:
    """The macros of the prelude whose names aren't those of special forms; the docstring is the first form of the
    body."""
    entries = macro_entries(PRELUDE, "builtin", "macros")
    return {name: entry for name, entry in entries.items() if name not in FORMS}


@lru_cache(1)
def shipped_entries() -> dict[str, Entry]:
    """The macros of the packages that come with the runtime."""
    entries = {}
    for package in SHIPPED:
        path = os.path.join(runtime_folder(), "packages", *package.split("/")) + ".sema"
        for name, entry in macro_entries(path, "macro", package.rpartition("/")[2]).items():
            entry.imported_from = package
            entries[name] = entry
    return entries


def macro_entries(path: str, kind: str, module: str) -> dict[str, Entry]:
    """The macros of a file of Sema; the docstring is the first form of the body."""
    from semac.syntax.reader import read_program

    entries = {}
    with open(path, encoding="utf-8") as file:
        forms = read_program(file.read())
    for form in forms:
        if type(form) is not List:
            continue
        name, params, *body = form.items[1:]
        text = cleandoc(body[0]) if len(body) > 1 and type(body[0]) is str else ""
        entries[name.name] = Entry(name.name, kind, module, [to_text(List([name, *params.items]))], text)
    return entries


def topic(module: str) -> str:
    """The name that `sema doc search` and the manual show for a runtime module."""
    return TOPICS.get(module) or module.rpartition(".")[2].replace("_", "-")


def runtime_folder() -> str:
    root = importlib.util.find_spec("sema_runtime")
    assert root is not None and root.submodule_search_locations
    return root.submodule_search_locations[0]


@lru_cache(None)
def module_entries(module: str) -> dict[str, Entry]:
    """The entries of one runtime module, given as in the index (`lib.strings`)."""
    path = os.path.join(runtime_folder(), *module.split(".")) + ".py"
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    entries: dict[str, Entry] = {}
    for node in tree.body:
        for mark, function in _declarations(node, functions):
            names = [ast.literal_eval(arg) for arg in mark.args]
            for name in names:
                entries[name] = _entry(name, names, module, function)
    return entries


def _declarations(node: ast.stmt, functions: dict[str, ast.FunctionDef]) -> list[tuple[ast.Call, Any]]:
    """(the call of `builtin`, the function it declares if the file defines it) for one statement of a module."""
    if isinstance(node, ast.FunctionDef):
        return [(mark, node) for mark in node.decorator_list if _is_builtin(mark)]  # type: ignore[misc]
    value = getattr(node, "value", None)
    if isinstance(value, ast.Call) and _is_builtin(value.func):
        argument = value.args[0] if value.args else None
        return [(value.func, functions.get(argument.id) if isinstance(argument, ast.Name) else None)]  # type: ignore[list-item]
    return []


def _is_builtin(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "builtin"


def _entry(name: str, names: list[str], module: str, function: ast.FunctionDef | None) -> Entry:
    _, _, least, most, _, capability, *_ = INDEX.get(name, (module, "", 0, -1, "any", "", False))
    parameters = _parameters(function.args) if function is not None else _numbered(least, most)
    signature = f"({' '.join([name, *parameters])})"
    body = (ast.get_docstring(function) or "") if function is not None else ""
    entry = Entry(name, "builtin", topic(module), [signature], body)
    entry.returns = returned(name) if name in INDEX else ""
    entry.capability = capability
    if name != names[0]:
        entry.alias_of = names[0]
    entry.aliases = [other for other in names if other != name]
    return entry


def _parameters(args: ast.arguments) -> list[str]:
    """Parameter names as Sema shows them: optional ones in brackets, a rest parameter after a dot."""
    plain = [arg.arg.strip("_").replace("_", "-") for arg in [*args.posonlyargs, *args.args]]
    required = len(plain) - len(args.defaults)
    if args.vararg and not args.vararg.arg.startswith("_"):  # parameters named so are ignored
        return [*plain[:required], ".", args.vararg.arg.strip("_").replace("_", "-")]
    return plain[:required] + [f"[{name}]" for name in plain[required:]]


def _numbered(least: int, most: int) -> list[str]:
    """Placeholders for a function whose Python signature isn't in the file."""
    shown = [f"arg{index + 1}" for index in range(least)]
    if most < 0:
        return [*shown, ".", "args"]
    return shown + [f"[arg{index + 1}]" for index in range(least, most)]
