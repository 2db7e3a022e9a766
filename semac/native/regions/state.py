"""What is known while the first way of a region is written: variables, fields and items that were read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from semac.native.function import FunctionCode, Variable
from semac.native.values import C_TYPES

Number = tuple[str, str]  # "f" a double, "i" a short sint; the expression of C
State = tuple[Any, ...]


class Other(Exception):
    """What does more than compute, or computes with other values."""


class Local:
    """A variable of the function while it is a variable of C in a region.

    is_loaded: it was read from the function's variable on every way here. flag: the variable of C that says whether it
    was assigned, where that isn't known.
    """

    __slots__ = ("c", "flag", "is_assigned", "is_loaded", "rep", "variable")

    def __init__(self, variable: Variable, rep: str, c: str, flag: str, is_loaded: bool) -> None:
        self.variable = variable
        self.rep = rep
        self.c = c
        self.flag = flag
        self.is_loaded = is_loaded
        self.is_assigned = False


class Numeric:
    """The expressions of a region. score: operations of floats; guesses: operands that may be anything;
    is_float: one is a float for sure."""

    def __init__(self, f: FunctionCode) -> None:
        self.f = f
        self.name = f.fresh("region")
        self.out: list[str] = []
        self.declared: list[str] = []
        self.locals: dict[str, Local] = {}  # by the variable's name in C
        self.known: dict[str, Local] = {}  # those that have a value on every way here
        self.parts: dict[tuple[str, str], Number] = {}  # fields and items that were read
        self.objects: dict[str, str] = {}  # those of which numbers are, by the number in C
        self.tested: set[str] = set()
        self.depth = 0
        self.changed: list[str] = []  # the names that were assigned to
        self.score = 0
        self.guesses = 0
        self.is_float = False
        self.is_over = False

    def state(self) -> State:
        marks = [(each, each.is_assigned) for each in self.locals.values()]
        return (len(self.out), len(self.declared), dict(self.locals), dict(self.known), dict(self.parts),
                set(self.tested), self.score, self.guesses, self.is_float, marks)  # fmt: skip

    def restore(self, state: State) -> None:
        (
            out,
            declared,
            self.locals,
            self.known,
            self.parts,
            self.tested,
            self.score,
            self.guesses,
            self.is_float,
            marks,
        ) = state
        del self.out[out:], self.declared[declared:]
        for local, is_assigned in marks:
            local.is_assigned = is_assigned
        self.is_over = False
        self.depth = 0

    def emit(self, line: str) -> None:
        self.out.append(line)

    def leave_if(self, condition: str) -> None:
        self.emit(f"if (UNLIKELY({condition})) goto {self.name}_other;")

    def held(self, number: Number) -> Number:
        """A number in a variable of its own."""
        rep, c = number
        name = self.f.fresh("x")
        self.emit(f"{C_TYPES[rep]}{name} = {c};")
        return rep, name

    # Branches

    def either(self, condition: str, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Two ways, of which one may be left to the second way of the region."""
        before, parts, tested, changed = dict(self.known), dict(self.parts), set(self.tested), len(self.changed)
        ends = []
        is_plain = False
        self.emit(f"if ({condition}) {{")
        self.depth += 1
        for way in (then, otherwise):
            state = self.state()
            depth = self.depth
            try:
                way()
                is_plain = True
                ends.append(None if self.is_over else self.known)
            except Other:
                self.restore(state)
                self.depth = depth
                self.emit(f"goto {self.name}_other;")
                ends.append(None)
            self.is_over = False
            self.known, self.parts, self.tested = dict(before), dict(parts), set(tested)
            self.emit("} else {" if way is then else "}")
        self.depth -= 1
        self.forget_parts(self.changed[changed:])
        if not is_plain:
            raise Other
        one, other = ends
        if one is None or other is None:
            self.known = one or other or {}
            self.is_over = one is None and other is None
        else:
            self.known = {c: local for c, local in one.items() if other.get(c) is local}

    # Variables

    def put(self, name: str, number: Number) -> None:
        rep, c = number
        variable = self.f.variable(name)
        if variable is None or variable.where in ("cell", "free"):
            raise Other
        if variable.rep not in ("d", rep) and not (variable.rep == "o" and c in self.objects):
            raise Other
        local = self.locals.get(variable.c)
        if local is None:
            local = self.new_local(variable, rep, is_loaded=False)
        elif local.rep != rep or (local.is_loaded and variable.rep == "o"):
            raise Other
        local.is_assigned = True
        self.emit(f"{local.c} = {c};" + (f" {local.flag} = 1;" if local.flag else ""))
        if variable.rep == "o":
            self.emit(f"{local.c}_object = {self.objects[c]};")
        self.known[variable.c] = local
        self.changed.append(name)
        self.forget_parts([name])

    def forget_parts(self, names: list[str]) -> None:
        """Forgets the items that were read at what a variable said before."""
        self.parts = {key: value for key, value in self.parts.items() if key[1] not in names}

    def new_local(self, variable: Variable, rep: str, is_loaded: bool) -> Local:
        c = f"{self.name}_{variable.c}"
        flag = f"{c}_set" if self.depth and not is_loaded else ""
        self.declared.append(f"{C_TYPES[rep]}{c} = 0")
        if flag:
            self.declared.append(f"int {flag} = 0")
        if variable.rep == "o":
            self.declared.append(f"PyObject *{c}_object = NULL")
        local = self.locals[variable.c] = Local(variable, rep, c, flag, is_loaded)
        return local

    def read(self, variable: Variable) -> Number:
        f = self.f
        if variable.c in self.known:
            local = self.known[variable.c]
            return local.rep, local.c
        if variable.c in self.locals or variable.where in ("cell", "free"):
            raise Other
        rep = variable.rep or "o"
        if rep == "f":
            self.is_float = True
            return self.loaded(variable, "f", variable.c)
        if rep == "i":
            self.leave_if(f"!IS_SHORT({variable.c})")
            return self.loaded(variable, "i", variable.c)
        if rep == "d":
            seen = f.seen.get(variable.c, set())
            self.is_float = self.is_float or "F" in seen or "f" in seen
            if seen & {"I", "i"} and not seen & {"F", "f"}:
                self.leave_if(f"!IS_SHORT({variable.c}.x)")
                return self.loaded(variable, "i", f"{variable.c}.x")
            self.leave_if(f"{variable.c}.x != FLOATING")
            return self.loaded(variable, "f", f"{variable.c}.f", is_guess=True)
        if rep == "o":
            missing = "" if f.is_assigned(variable) else f"{variable.c} == NULL || "
            self.leave_if(f"{missing}!PyFloat_CheckExact({variable.c})")
            return self.loaded(variable, "f", f"PyFloat_AS_DOUBLE({variable.c})", is_guess=True)
        raise Other

    def loaded(self, variable: Variable, rep: str, c: str, is_guess: bool = False) -> Number:
        """The number of a variable. What is read in a branch only isn't kept."""
        self.guesses += is_guess
        if self.depth:
            return self.held((rep, c))
        local = self.known[variable.c] = self.new_local(variable, rep, is_loaded=True)
        self.emit(f"{local.c} = {c};")
        return rep, local.c

    def object_of(self, name: str) -> str:
        """The variable of C that holds an object."""
        variable = self.f.variable(name)
        if variable is None or variable.rep != "o" or variable.where in ("cell", "free"):
            raise Other
        if not self.f.is_assigned(variable) and variable.c not in self.tested:
            self.tested.add(variable.c)
            self.leave_if(f"{variable.c} == NULL")
        return variable.c
