"""module, export, import, load."""

from __future__ import annotations

import os
from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import ArityError, SemaError
from sema_runtime.values.lists import List
from semac.analyze.context import Context, Handler
from semac.analyze.scope import Scope
from semac.ir.nodes import Const, Import, Runtime, Seq


def module(a: Context, form: List, scope: Scope) -> Any:
    parts = a.expect(form, 2)
    a.unit.module_name = a.name_of(parts[0], "module")
    exports = parts[1]
    if type(exports) is not List:
        raise a.error("module: expected a list")
    if not exports.items or not is_export(exports):
        raise a.error("module: second argument must start with 'export'")
    a.unit.exports = [a.name_of(name, "module export") for name in exports.items[1:]]
    return Seq([a.node(part, scope) for part in parts[2:]] or [Const(None)], span=a.span)


def is_export(form: List) -> bool:
    head = form.items[0]
    return type(head) is Symbol and head.name == "export"


def import_(a: Context, form: List, scope: Scope) -> Any:
    items = form.items
    if len(items) < 2:
        raise ArityError("import", "1+", 0)
    path = a.node(items[1], scope)
    names = []
    for item in items[2:]:
        if type(item) is not Symbol:
            raise a.error("import: expected a symbol")
        names.append(item.name)
    imported = import_macros(a, items[1], names) if type(items[1]) is str else None
    for name in names:
        a.define_global(name).defined += 2
    if not names and imported is not None:
        for name in imported:
            a.define_global(name).defined += 2
    a.unit.is_open = True
    return Import(path, names, None, span=a.span)


def import_macros(a: Context, spec: str, names: list[str]) -> list[str] | None:
    """Takes over the macros of a module known at compile time; gives the names it exports (None: not found)."""
    interface = a.environment.interface(spec, a.unit.filename)
    if interface is None:
        a.unit.macro_files.append(expected_file(spec, a.unit.filename))
        return None
    for name, macro in interface.macros.items():
        if not names or name in names:
            a.macros[name] = macro
    a.unit.macro_files += [interface.path, *interface.macro_files]  # also without macros: there may be some tomorrow
    return [name for name in interface.exports if name not in interface.macros]


def expected_file(spec: str, importer: str) -> str:
    """Where a module would be that isn't there or can't be read yet: compiled code is stale as soon as it is."""
    from sema_runtime.compiler_bridge import packages_dir, resolve

    try:
        return os.path.realpath(resolve(spec, importer))
    except SemaError:
        return os.path.join(packages_dir(), spec)


def load(a: Context, form: List, scope: Scope) -> Any:
    (path,) = a.expect(form, 1, 1)
    a.unit.is_open = a.unit.lists_globals = True
    if type(path) is str:
        for name in import_macros(a, path, []) or []:
            a.define_global(name).defined += 2
    node = a.node(path, scope)
    return Runtime("sema_runtime.compiler_bridge:load_file", [node, Runtime("builtins:globals", [])], span=a.span)


FORMS: dict[str, Handler] = {
    "module": module,
    "import": import_,
    "load": load,
}
