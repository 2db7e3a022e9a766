"""The Python names of the globals that the inputs of one session share."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.naming import program_globals
from semac.ir.identifiers import beside_builtins, decodes, is_module_attribute, unique
from semac.ir.intrinsics import INTRINSICS

NAMES_TABLE = "__sema_names__"  # in the globals of a module: Python name → Sema name, what messages say


class SharedNames:
    """The Python name of each global, the same in all inputs of a session.

    shown: the `__sema_names__` of the globals. What inputs import, and their atoms, are globals too, with names that no
    Sema name becomes, as are the builtins, which a later input may define anew. imports: Python name → (module,
    attribute) and atoms: Python name → value, of those that the globals may not have yet.
    """

    def __init__(self, shown: dict[str, str]) -> None:
        self.python: dict[str, str] = {}  # Sema name → Python name
        self.taken: set[str] = set()
        self.shown = shown
        self.hidden: dict[Any, str] = {}  # (module, attribute) or atom → Python name
        self.imports: dict[str, tuple[str, str]] = {}
        self.atoms: dict[str, Any] = {}

    def global_name(self, sema: str) -> str:
        """The Python name of a global; the first of two colliding names gets the plain one."""
        python = self.python.get(sema)
        if python is None:
            python = sema if is_module_attribute(sema) else unique(beside_builtins(sema), self.taken)
            self.keep(sema, python)
            self.note(python, sema, is_global=True)
        return python

    def keep(self, sema: str, python: str) -> None:
        """Gives a name to a global for good."""
        self.python[sema] = python
        self.taken.add(python)

    def imported(self, module: str, attr: str) -> str:
        """The global that holds something of the runtime."""
        python = self.hidden.get((module, attr))
        if python is None:
            python = self.hide((module, attr), attr)
            self.imports[python] = module, attr
        return python

    def atom(self, value: Any, base: str) -> str:
        """The global that holds a keyword, symbol or char, each of which exists once in a process."""
        python = self.hidden.get(value)
        if python is None:
            python = self.hide(value, base)
            self.atoms[python] = value
        return python

    def hide(self, key: Any, base: str) -> str:
        """A name that no Sema name becomes: `mangle` ends what starts like this with an underscore."""
        python = self.hidden[key] = unique(f"__{base.strip('_')}", self.taken)
        self.taken.add(python)
        return python

    def note(self, python: str, sema: str, is_global: bool) -> None:
        """Remembers what something is called in messages; globals come before names inside an input."""
        if (is_global or python not in self.taken) and (python in self.shown or not decodes(python, sema)):
            self.shown[python] = sema


def shared_names(namespace: dict[str, Any]) -> SharedNames:
    """The names in the globals of a module that is running.

    What the compiler added for itself keeps its names, but for builtins: `eval` may define them anew.
    """
    names = SharedNames(namespace.setdefault(NAMES_TABLE, {}))
    for sema, python in program_globals(namespace).items():
        names.keep(sema, python)
    for python, value in namespace.items():
        sema = getattr(value, "__sema_name__", "")
        if python not in names.taken and sema and sema not in INTRINSICS and beside_builtins(sema) == python:
            names.python.setdefault(sema, python)
    names.taken.update(namespace, (python for python, sema in names.shown.items() if sema.startswith("<")))
    return names
