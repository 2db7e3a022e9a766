"""Python names for one emitted module: globals, locals, imports from the runtime, module constants.

What the user named gets the plain name; what we import steps aside (`get` → `sema_get`) when the user's code uses it.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

from sema_runtime.values.atoms import Char, Keyword, Symbol
from semac.analyze import Unit
from semac.ir import Var
from semac.names import decodes, mangle
from semac.pyast import NOWHERE, Loc, assign, call, const, name


class ModuleNames:
    """Imports, constants and the table of Sema names of one module."""

    def __init__(self, unit: Unit) -> None:
        self.user: set[str] = set()
        self.imports: dict[str, dict[str, str]] = {}  # module → {name: local name}
        self.taken: set[str] = set()
        self.temporaries: set[str] = set()  # names of our own in functions, which an import must not hide behind
        self.constants: dict[Any, str] = {}
        self.constant_statements: list[ast.stmt] = []
        self.display: dict[str, str] = {}
        for var in unit.globals.values():
            var.py = self.global_name(var.name)
        for function in [unit.main, *unit.functions]:
            self.user.update(local_base(var.name) for var in [*function.params, *function.locals])

    def global_name(self, sema: str) -> str:
        """The Python name of a global variable; the first of two colliding names gets the plain one."""
        base = mangle(sema)
        found = unique(base, self.taken)
        self.taken.add(found)
        self.user.add(found)
        self.note(found, sema)
        return found

    def note(self, python: str, sema: str) -> None:
        """Remembers the Sema name of a Python name that doesn't decode by the rule."""
        if not decodes(python, sema):
            self.display[python] = sema

    def runtime(self, module: str, attr: str) -> str:
        """The local name under which a function of the runtime is imported."""
        names = self.imports.setdefault(module, {})
        found = names.get(attr)
        if found is None:
            base = attr
            if base in self.user or base in self.taken:
                base = f"sema_{attr.rstrip('_')}"
            found = names[attr] = unique(base, self.user | self.taken | self.temporaries)
            self.taken.add(found)
        return found

    def constant(self, key: Any, base: str, value: ast.expr) -> str:
        """A module constant, made once for equal keys."""
        found = self.constants.get(key)
        if found is None:
            found = unique(base, self.user | self.taken | self.temporaries)
            self.taken.add(found)
            self.constants[key] = found
            self.constant_statements.append(assign(found, value, NOWHERE))
        return found

    def fresh_global(self, base: str) -> str:
        found = unique(base, self.user | self.taken | self.temporaries)
        self.taken.add(found)
        return found

    def atom(self, value: Any, loc: Loc) -> ast.expr:
        """An atom that Python can't write as a literal, as a module constant."""
        atoms = "sema_runtime.values.atoms"
        kind = type(value)
        if kind is Keyword or kind is Symbol:
            maker = "keyword" if kind is Keyword else "symbol"
            made = call(name(self.runtime(atoms, maker), NOWHERE), [const(value.name, NOWHERE)], NOWHERE)
            prefix = "kw" if kind is Keyword else "sym"
            return name(self.constant(value, f"{prefix}_{mangle(value.name).strip('_')}", made), loc)
        if kind is Char:
            made = call(name(self.runtime(atoms, "char"), NOWHERE), [const(value.value, NOWHERE)], NOWHERE)
            label = value.value if value.value.isalnum() and value.value.isascii() else f"u{ord(value.value):x}"
            return name(self.constant(value, f"char_{label}", made), loc)
        if kind is Fraction:
            parts: list[ast.expr] = [const(value.numerator, NOWHERE), const(value.denominator, NOWHERE)]
            made = call(name(self.runtime("fractions", "Fraction"), NOWHERE), parts, NOWHERE)
            return name(
                self.constant(("ratio", value), f"ratio_{value.numerator}_{value.denominator}".replace("-", "m"), made),
                loc,
            )
        raise TypeError(f"no way to write {value!r}")

    def import_statements(self) -> list[ast.stmt]:
        made: list[ast.stmt] = []
        for module in sorted(self.imports):
            names = self.imports[module]
            aliases = [
                ast.alias(attr, None if local == attr else local, **NOWHERE) for attr, local in sorted(names.items())
            ]
            made.append(ast.ImportFrom(module, aliases, 0, **NOWHERE))
        return made

    def display_statement(self) -> list[ast.stmt]:
        if not self.display:
            return []
        keys: list[ast.expr | None] = [const(key, NOWHERE) for key in self.display]
        values: list[ast.expr] = [const(value, NOWHERE) for value in self.display.values()]
        return [assign("__sema_names__", ast.Dict(keys, values, **NOWHERE), NOWHERE)]


class LocalNames:
    """Python names of the variables of one emitted function."""

    def __init__(self, module: ModuleNames, parent: LocalNames | None, avoid: set[str]) -> None:
        self.module = module
        self.taken: set[str] = set(avoid)
        if parent is not None:
            self.taken |= parent.taken

    def local(self, var: Var) -> str:
        """Gives a variable its name."""
        var.py = found = unique(local_base(var.name), self.taken)
        self.taken.add(found)
        return found

    def temporary(self, base: str) -> str:
        found = unique(base, self.taken | self.module.user | self.module.taken)
        self.taken.add(found)
        self.module.temporaries.add(found)
        return found


def local_base(sema: str) -> str:
    """The identifier a local variable would like to have; the number of a generated name (`v__12`) is dropped."""
    plain, _, number = sema.rpartition("__")
    return mangle(plain if plain and number.isdecimal() else sema)


def unique(base: str, taken: set[str]) -> str:
    """base, or base_2, base_3, ... not in taken."""
    if base not in taken:
        return base
    number = 2
    while f"{base.rstrip('_')}_{number}" in taken:
        number += 1
    return f"{base.rstrip('_')}_{number}"
