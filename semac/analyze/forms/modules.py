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


def module(context: Context, form: List, scope: Scope) -> Any:
    parts = context.expect(form, 2)
    context.name_of(parts[0], "module")
    exports = parts[1]
    if type(exports) is not List:
        raise context.error("module: expected a list")
    if not exports.items or not is_export(exports):
        raise context.error("module: second argument must start with 'export'")
    for name in exports.items[1:]:
        context.name_of(name, "module export")
    context.unit.exports = [name.name for name in exports.items[1:]]
    return Seq([context.node(part, scope) for part in parts[2:]] or [Const(None)], span=context.span)


def is_export(form: List) -> bool:
    head = form.items[0]
    return type(head) is Symbol and head.name == "export"


def import_(context: Context, form: List, scope: Scope) -> Any:
    items = form.items
    if len(items) < 2:
        raise ArityError("import", "1+", 0)
    path = context.node(items[1], scope)
    if type(items[1]) is Symbol and scope.find(items[1].name) is None and items[1].name not in context.defined:
        from semac.analyze.suspects import module_name

        context.warn(module_name(context.span, items[1].name))
    names = []
    for item in items[2:]:
        if type(item) is not Symbol:
            raise context.error("import: expected a symbol")
        names.append(item.name)
    imported = import_macros(context, items[1], names) if type(items[1]) is str else None
    variables = [context.define_global(name) for name in names or imported or ()]
    for variable in variables:
        variable.defined += 2
    if not names and imported is None:
        context.unit.is_open = True  # nobody knows which globals it defines
    return Import(path, names, variables, span=context.span)


def import_macros(context: Context, spec: str, names: list[str]) -> list[str] | None:
    """Takes over the macros of a module known at compile time; the names it exports, None when it isn't found."""
    interface = context.environment.interface(spec, context.unit.filename)
    if interface is None:
        context.unit.macro_files.append(expected_file(spec, context.unit.filename))
        return None
    for name, macro in interface.macros.items():
        if not names or name in names:
            context.macros[name] = macro
    context.unit.macro_files += [
        interface.path,
        *interface.macro_files,
    ]  # also without macros: there may be some tomorrow
    return [name for name in interface.exports if name not in interface.macros]


def expected_file(spec: str, importer: str) -> str:
    """Where a module would be that isn't there or can't be read yet: compiled code is stale as soon as it is."""
    from sema_runtime.compiler_bridge import packages_dir, resolve

    try:
        return os.path.realpath(resolve(spec, importer))
    except SemaError:
        return os.path.join(packages_dir(), spec)


def load(context: Context, form: List, scope: Scope) -> Any:
    (path,) = context.expect(form, 1, 1)
    context.unit.is_open = context.unit.lists_globals = True
    if type(path) is str:
        for name in import_macros(context, path, []) or []:
            context.define_global(name).defined += 2
    node = context.node(path, scope)
    return Runtime("sema_runtime.compiler_bridge:load_file", [node, Runtime("builtins:globals", [])], span=context.span)


FORMS: dict[str, Handler] = {
    "module": module,
    "import": import_,
    "load": load,
}
