"""The Python names of the globals that the inputs of one session share."""

from __future__ import annotations

from typing import Any

from sema_runtime.values.naming import program_globals
from semac.ir.identifiers import decodes, mangle, unique
from semac.ir.intrinsics import INTRINSICS

NAMES_TABLE = "__sema_names__"  # in the globals of a module: Python name → Sema name, what messages say


class SharedNames:
    """What every input calls each global, so that a Sema name means one variable in all of them.

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
        found = self.python.get(sema)
        if found is None:
            found = unique(mangle(sema), self.taken)
            self.keep(sema, found)
            self.note(found, sema, is_global=True)
        return found

    def keep(self, sema: str, python: str) -> None:
        """Gives a name to a global for good."""
        self.python[sema] = python
        self.taken.add(python)

    def imported(self, module: str, attr: str) -> str:
        """The global that holds something of the runtime."""
        found = self.hidden.get((module, attr))
        if found is None:
            found = self.hide((module, attr), attr)
            self.imports[found] = module, attr
        return found

    def atom(self, value: Any, base: str) -> str:
        """The global that holds a keyword, symbol or char, each of which exists once in a process."""
        found = self.hidden.get(value)
        if found is None:
            found = self.hide(value, base)
            self.atoms[found] = value
        return found

    def hide(self, key: Any, base: str) -> str:
        """A name for something of ours: `mangle` ends what starts like this with an underscore."""
        found = self.hidden[key] = unique(f"__{base.strip('_')}", self.taken)
        self.taken.add(found)
        return found

    def note(self, python: str, sema: str, is_global: bool) -> None:
        """Remembers what something is called in messages; globals come before what stands inside of an input."""
        if (is_global or python not in self.taken) and (python in self.shown or not decodes(python, sema)):
            self.shown[python] = sema


def shared_names(namespace: dict[str, Any]) -> SharedNames:
    """The names in the globals of a module that is running.

    What the compiler added for itself keeps its names, but for builtins: `eval` may define them anew.
    """
    found = SharedNames(namespace.setdefault(NAMES_TABLE, {}))
    for sema, python in program_globals(namespace).items():
        found.keep(sema, python)
    for python, value in namespace.items():
        sema = getattr(value, "__sema_name__", "")
        if python not in found.taken and sema and sema not in INTRINSICS and mangle(sema) == python:
            found.python.setdefault(sema, python)
    found.taken.update(namespace, (python for python, sema in found.shown.items() if sema.startswith("<")))
    return found
