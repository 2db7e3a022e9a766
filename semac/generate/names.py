"""Python names for one emitted module: globals, locals, imports from the runtime, module constants.

What the user named gets the plain name; what we import steps aside (`get` → `sema_get`) when the user's code uses it.
"""

from __future__ import annotations

import ast
from fractions import Fraction
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.naming import EXPORTS, GLOBALS, PRIVATE
from semac.generate.pyast import NOWHERE, Loc, assign, call, const, give_way, name
from semac.generate.session_names import NAMES_TABLE, SharedNames
from semac.ir.identifiers import (
    PREDEFINED,
    beside_builtins,
    decodes,
    is_module_attribute,
    mangle,
    mangle_global,
    unique,
)
from semac.ir.nodes import Var
from semac.ir.unit import Unit

VALUES = "__sema_values__"  # the parameter of an input's function: values that no text can say


class ModuleNames:
    """Imports, constants and the table of Sema names of one module.

    shared: the names of a session, when the unit is one of its inputs. Then only what stands there is global.
    """

    def __init__(self, unit: Unit, shared: SharedNames | None = None) -> None:
        self.shared = shared
        self.user: set[str] = set()
        self.imports: dict[str, dict[str, str]] = {}  # module → {name: local name}
        self.taken: set[str] = set()
        self.temporaries: set[str] = set()  # names of our own in functions, which an import must not hide behind
        self.constants: dict[Any, str] = {}
        self.constant_statements: list[ast.stmt] = []
        self.display: dict[str, str] = {}
        self.top_temporaries: list[str] = []
        self.builtins: set[str] = set()  # globals of the session that hold builtins
        self.numbers: dict[str, int] = {}  # the last number that a name of the module was given
        for var in unit.globals.values():
            var.py = self.python_name(var)
        self.own = frozenset(self.user)
        # what functions are called that tell their names in errors
        self.told = {
            mangle(function.name) for function in unit.functions if not function.anonymous and function.own_name
        }
        for function in [unit.main, *unit.functions]:
            named = (var for var in [*function.params, *function.locals] if var.name)
            self.user.update(local_base(var.name) for var in named)

    def python_name(self, var: Var) -> str:
        """The name of a global; that of a private copy says whose it is, as traces want to know."""
        original = var.function.original if var.function is not None else None
        if original is None or original.var is None:
            return self.global_name(var.name, is_bound=var.defined > 0 and not var.late)
        python = unique(PRIVATE + original.var.py, self.taken)
        shown = python.removeprefix(PRIVATE)  # by its code (conditions/placing.py)
        if self.shared is None and shown not in self.taken:
            self.taken.add(shown)
            self.note(shown, original.var.name)
        self.taken.add(python)
        self.user.add(python)
        return python

    def global_name(self, sema: str, is_bound: bool = True) -> str:
        """The Python name of a global variable; the first of two colliding names gets the plain one.

        is_bound: whether it surely is defined where it is used; else a builtin of Python must not be found instead.
        """
        if self.shared is not None:
            python = self.shared.global_name(sema)
        else:
            python = unique(mangle_global(sema) if is_bound else beside_builtins(sema), self.taken)
            self.note(python, sema)
        self.taken.add(python)
        self.user.add(python)
        return python

    def note(self, python: str, sema: str) -> None:
        """Remembers the Sema name of a Python name that doesn't decode by the rule."""
        if self.shared is not None:
            self.shared.note(python, sema, python in self.own)
        elif not decodes(python, sema):
            self.display[python] = sema

    def runtime(self, module: str, attr: str) -> str:
        """The local name under which a function of the runtime is imported."""
        if self.shared is not None:
            return self.shared.imported(module, attr)
        names = self.imports.setdefault(module, {})
        local = names.get(attr)
        if local is None:
            base = attr
            if base in self.user or base in self.taken:
                base = f"sema_{attr.rstrip('_')}"
            local = names[attr] = self.fresh_global(base)
        return local

    def settle_builtins(self) -> None:
        """Has the builtins of Python that the code uses make way for names of the program."""
        give_way(self.user | self.taken, lambda builtin: self.runtime("builtins", builtin))

    def shared_builtin(self, sema: str) -> str | None:
        """The global by which an input of a session calls a builtin, so that it follows a later definition.

        None where the builtin is imported instead: in modules, and where the input uses that name for something else.
        """
        if self.shared is None:
            return None
        local = self.shared.global_name(sema)
        if local not in self.builtins:
            if local in self.temporaries or ((local in self.user or local in self.taken) and local not in self.own):
                return None
            module, python, *_ = INDEX[sema]
            self.shared.imports[local] = f"sema_runtime.{module}", python
            self.builtins.add(local)
            self.taken.add(local)
        return local

    def constant(self, key: Any, base: str, value: ast.expr) -> str:
        """A module constant, made once for equal keys."""
        local = self.constants.get(key)
        if local is None:
            local = self.constants[key] = self.fresh_global(base)
            self.constant_statements.append(assign(local, value, NOWHERE))
        return local

    def fresh_global(self, base: str) -> str:
        """A name for what the program has no name for; in messages none of its functions is mistaken for it."""
        shared = self.shared.taken if self.shared else set()
        python = unique(base, self.user, self.taken, self.temporaries, shared, numbers=self.numbers)
        self.taken.add(python)
        return python

    def atom(self, value: Any, loc: Loc) -> ast.expr:
        """An atom that Python can't write as a literal, as a module constant."""
        atoms = "sema_runtime.values.atoms"
        kind, known = type(value), len(self.constants)
        if kind is Keyword or kind is Symbol or kind is Char:
            maker, base = spelled(value)
            if self.shared is not None:
                return name(self.shared.atom(value, base), loc)
            text = value.value if kind is Char else value.name
            maker_call = call(name(self.runtime(atoms, maker), NOWHERE), [const(text, NOWHERE)], NOWHERE)
            local = self.constant(value, base, maker_call)
            if kind is Keyword and len(self.constants) > known:
                self.constant_statements[-1].keyword = text  # type: ignore[attr-defined]  # packed/head.py
            return name(local, loc)
        if kind is Fraction:
            parts: list[ast.expr] = [const(value.numerator, NOWHERE), const(value.denominator, NOWHERE)]
            maker_call = call(name(self.runtime("fractions", "Fraction"), NOWHERE), parts, NOWHERE)
            base = f"ratio_{value.numerator}_{value.denominator}".replace("-", "m")
            return name(self.constant(("ratio", value), base, maker_call), loc)
        raise TypeError(f"no way to write {value!r}")

    def import_statements(self) -> list[ast.stmt]:
        statements: list[ast.stmt] = []
        for module in sorted(self.imports):
            names = self.imports[module]
            aliases = [
                ast.alias(attr, None if local == attr else local, **NOWHERE) for attr, local in sorted(names.items())
            ]
            statement = ast.ImportFrom(module, aliases, 0, **NOWHERE)
            statement.is_needed = True  # type: ignore[attr-defined]  # packed/head.py
            statements.append(statement)
        return statements

    def tables(self, unit: Unit) -> list[ast.stmt]:
        """The tables of names that a module has: for messages, and for the session that shares its globals."""
        if not unit.lists_globals:
            offered = [offer(unit)] if unit.exports is not None else []
            return [*offered, *([table(NAMES_TABLE, self.display)] if self.display else [])]
        shown = {**dict.fromkeys(self.top_temporaries, "<temporary>"), **self.display}
        shared = [var for var in unit.globals.values() if var.function is None or var.function.original is None]
        shared = [var for var in shared if not var.is_private]
        shared = [var for var in shared if not is_module_attribute(var.name)]  # each module has its own
        own = [var.py if decodes(var.py, var.name) else f"{var.py} {var.name}" for var in shared]
        listed = ast.Tuple([const(entry, NOWHERE) for entry in own], ast.Load(), **NOWHERE)
        declared = [const(name, NOWHERE) for name in unit.exports or ()]
        exports = assign(EXPORTS, ast.Tuple([*declared], ast.Load(), **NOWHERE), NOWHERE)
        tables = [table(NAMES_TABLE, shown), assign(GLOBALS, listed, NOWHERE), offer(unit)]
        return tables if unit.exports is None else [*tables, exports]


def offer(unit: Unit) -> ast.stmt:
    """`__all__ = [...]`: what a module exports, without an `export` all that it defines but names with `_` in front."""
    if unit.exports is None:
        names = sorted(name for name in unit.own if not name.startswith("_"))
    else:
        names = unit.exports
    variables = [unit.globals[name] for name in names if name in unit.globals and unit.globals[name].defined]
    return assign("__all__", ast.List([const(var.py, NOWHERE) for var in variables], ast.Load(), **NOWHERE), NOWHERE)


def spelled(value: Any) -> tuple[str, str]:
    """(function that makes it, name it would like to have) of a keyword, symbol or char."""
    if type(value) is Char:
        label = value.value if value.value.isalnum() and value.value.isascii() else f"u{ord(value.value):x}"
        return "char", f"char_{label}"
    maker, prefix = ("keyword", "kw") if type(value) is Keyword else ("symbol", "sym")
    return maker, f"{prefix}_{mangle(value.name).strip('_')}"


def table(target: str, entries: dict[str, str]) -> ast.stmt:
    """The assignment of a dict."""
    keys: list[ast.expr | None] = [const(key, NOWHERE) for key in entries]
    values: list[ast.expr] = [const(value, NOWHERE) for value in entries.values()]
    return assign(target, ast.Dict(keys, values, **NOWHERE), NOWHERE)


class LocalNames:
    """Python names of the variables of one emitted function."""

    def __init__(self, module: ModuleNames, parent: LocalNames | None, avoid: set[str], is_top: bool = False) -> None:
        """is_top: of the statements of a module, where temporaries become globals."""
        self.module = module
        self.is_top = is_top
        self.reserved: tuple[set[str], ...] = parent.reserved if parent is not None else ()  # as the program has them
        self.program: dict[str, str] = {}  # Python names of the program's variables → their own
        self.taken: set[str] = set(avoid)
        self.numbers: dict[str, int] = {}  # the last number that a name was given: of temporaries, and of variables
        self.local_numbers: dict[str, int] = {}
        if parent is not None:
            self.taken |= parent.taken

    def reserve(self, names: set[str]) -> None:
        """Keeps names of the program's variables from temporaries, here and in the functions inside."""
        self.reserved = (*self.reserved, names)

    def give_back(self, names: set[str]) -> None:
        """These names mean something in an expression alone, which is written."""
        if not self.taken.isdisjoint(names):
            self.taken -= names
            self.numbers.clear()
            self.local_numbers.clear()

    def local(self, var: Var) -> str:
        """Gives a variable its name."""
        around = (self.module.own, self.module.taken) if self.is_top else ()
        var.py = python = unique(local_base(var.name), self.taken, *around, numbers=self.local_numbers)
        self.taken.add(python)
        self.program[python] = var.name
        if self.is_top:
            self.module.temporaries.add(python)
            self.module.top_temporaries.append(python)
        return python

    def temporary(self, base: str) -> str:
        """A name for a value that the program gives none. base: what it would like to be called, in either language."""
        own = base if base.isidentifier() else mangle(base)
        if own in PREDEFINED:
            own += "_"
        around = (self.module.own, self.module.taken)
        python = unique(own, self.taken, *self.reserved, *around, numbers=self.numbers)
        self.taken.add(python)
        self.module.temporaries.add(python)
        if self.is_top:
            self.module.top_temporaries.append(python)
        return python


def local_base(sema: str) -> str:
    """The identifier a local variable would like to have; the number of a generated name (`v__12`) is dropped."""
    if sema[:1] == "%":  # of `#(+ % 1)`
        return "it" if sema in ("%", "%1") else f"it_{mangle(sema[1:])}"
    plain, _, number = sema.rpartition("__")
    return mangle(plain if plain and number.isdecimal() else sema)
