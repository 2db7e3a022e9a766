"""The native code of one function while it is written: variables, temporaries, errors."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from semac.native.scopes import Scope
from semac.native.values import C_TYPES, COUNTED, DROP, DROP_MAYBE, NOTHING, NotNative, Unknown, Value, of_all

if TYPE_CHECKING:
    from semac.native.module_facts import ModuleFacts

Flow = frozenset[str] | None  # the variables that surely have a value; None where no code gets to


class Variable:
    """One variable. c: its name in C. rep: "" until something is assigned. where: "local", "param", "cell", "free"."""

    __slots__ = ("c", "code", "kind", "name", "rep", "where")

    def __init__(self, name: str, c: str, rep: str, where: str, code: int = 0) -> None:
        self.name = name
        self.c = c
        self.rep = rep
        self.kind = ""
        self.where = where
        self.code = code


class Around:
    """What statements stand in.

    kind: "loop", "try" (errors go to `label`), "handler" (an error is being handled; saved: what was handled before),
    "finally" and "with" (done on the way out; saved: the method `__exit__`). depth: how many temporaries live when it
    begins.
    """

    __slots__ = ("body", "depth", "exits", "kind", "label", "node", "saved", "used")

    def __init__(self, kind: str, label: str, depth: int, saved: str = "", body: Any = None, node: Any = None) -> None:
        self.kind = kind
        self.label = label
        self.depth = depth
        self.saved = saved
        self.body = body  # of "finally"
        self.node = node  # of "with"
        self.used: set[str] = set()
        self.exits: list[Flow] = []  # at each `break`


class FunctionCode:
    """name: of a function of the top level, "" for one inside of another and for a lambda. seen, kinds: what variables
    have got in earlier rounds, by their C names; results: what was returned."""

    def __init__(
        self,
        module: ModuleFacts,
        index: int,
        scope: Scope,
        node: ast.FunctionDef | ast.Lambda,
        name: str,
        is_inner: bool,
    ) -> None:
        self.module = module
        self.index = index
        self.scope = scope
        self.node = node
        self.name = name
        self.is_inner = is_inner
        self.seen: dict[str, set[str]] = {}
        self.kinds: dict[str, str] = {}
        self.c_names: dict[str, str] = {}  # the same in all rounds: what is known of variables is kept by them
        self.result = ""
        self.results: set[str] = set()
        self.why = ""  # it has no native form
        self.outer: FunctionCode | None = None
        self.param_reps: list[str] = ["o"] * (len(scope.params) + (scope.rest is not None))
        self.begin()

    def begin(self) -> None:
        """Before each round."""
        self.out: list[str] = []
        self.live: list[Value] = []
        self.around: list[Around] = []
        self.declared: dict[str, str] = {}
        self.sites: list[tuple[int, int, int]] = []  # (number of a node, code, site around)
        self.known_sites: dict[tuple[int, int, int], int] = {}
        self.comprehensions: list[tuple[dict[str, Variable], int, int]] = []  # variables, code, site around
        self.comprehension_nodes: list[ast.expr] = []
        self.variables: dict[str, Variable] = {}
        self.all_variables: list[Variable] = []
        self.assigned: Flow = frozenset()
        self.numbers: dict[str, int] = {}
        self.guessed = False
        self.calls = False
        self.loops = False
        self.changed = False
        self.has_error = False
        self.is_second_way = False  # of a region
        self.early, self.early_end = 0, 0  # how many statements come before the frame, and how many lines
        self.returns: set[str] = set()
        self.branches: tuple[Flow, Flow] = (self.assigned, self.assigned)
        self.needs: set[str] = set()  # globals of the module that must be defined
        self.called: set[str] = set()  # native functions

    # Text

    def emit(self, line: str) -> None:
        self.out.append(line)

    def fresh(self, prefix: str) -> str:
        number = self.numbers[prefix] = self.numbers.get(prefix, -1) + 1
        return f"{prefix}{number}"

    def declare(self, c: str, type_: str) -> str:
        self.declared[c] = type_
        return c

    @contextmanager
    def into(self) -> Iterator[list[str]]:
        """Collects what is written inside apart."""
        before, self.out = self.out, []
        try:
            yield self.out
        finally:
            self.out = before

    def guess(self, write: Callable[[], object]) -> None:
        """Writes something; in the first rounds nothing, where too little is known yet."""
        if self.module.is_certain:
            write()
            return
        depth, arounds, comprehensions = len(self.live), len(self.around), len(self.comprehensions)
        try:
            write()
        except Unknown:
            self.guessed = True
            for value in self.live[depth:]:
                value.is_owned = False
            del self.live[depth:], self.around[arounds:], self.comprehensions[comprehensions:]

    @property
    def c_name(self) -> str:
        return f"n_{self.index}"

    # Temporaries

    def temp(self, rep: str, c: str, *, is_owned: bool = True, kind: str = "") -> Value:
        """A temporary with the value of a C expression, a new reference unless it is said to be none."""
        name = self.fresh("t")
        self.emit(f"{C_TYPES[rep]}{name} = {c};")
        value = Value(name, rep, is_owned and rep in COUNTED, kind)
        if value.is_owned:
            self.live.append(value)
        return value

    def checked(self, rep: str, c: str, node: ast.AST, kind: str = "") -> Value:
        """A temporary for the result of what may fail."""
        name = self.fresh("t")
        self.emit(f"{C_TYPES[rep]}{name} = {c};")
        self.fail_if(failure(rep, name), node)
        value = Value(name, rep, rep in COUNTED, kind)
        if value.is_owned:
            self.live.append(value)
        return value

    def forget(self, value: Value) -> None:
        """The reference of a value belongs to somebody else from here on."""
        if value.is_owned:
            self.live.remove(value)
            value.is_owned = False

    def drop(self, *values: Value) -> None:
        """Gives references back."""
        for value in values:
            if value.is_owned:
                self.emit(DROP[value.rep].format(value.c) + ";")
                self.forget(value)

    def take(self, value: Value) -> str:
        """An expression of a reference that the caller must put somewhere at once."""
        if value.is_owned:
            self.forget(value)
            return value.c
        if value.rep == "o":
            return f"Py_NewRef({value.c})"
        return {"i": "sint_keep({})", "d": "sdyn_keep({})"}.get(value.rep, "{}").format(value.c)

    def kept(self, value: Value) -> Value:
        """A value whose reference is its own, also where the variable it comes from changes."""
        if value.is_owned or value.c.startswith(("C_", "Py_")):
            return value
        return self.temp(value.rep, self.take(value), kind=value.kind)

    # Frames

    def note_early(self, node: ast.stmt) -> None:
        """Notes that a statement which was just written needs no frame, as it calls nothing and can't fail.

        Such are the tests in front with which recursion ends: half of all calls and more return there.
        """
        body = self.node.body
        if self.is_second_way or isinstance(body, ast.expr) or self.early == len(body) or body[self.early] is not node:
            return
        ends = isinstance(node, ast.If) and not node.orelse and isinstance(node.body[-1], ast.Return)
        if ends and not (self.sites or self.calls or self.has_error or self.guessed):
            self.early += 1
            self.early_end = len(self.out)

    # Errors

    def site(self, node: ast.AST) -> int:
        """The number of the place of an operation."""
        number: int = node.number  # type: ignore[attr-defined]
        code, up = self.comprehensions[-1][1:] if self.comprehensions else (0, -1)
        key = number, code, up
        if key not in self.known_sites:
            self.known_sites[key] = len(self.sites)
            self.sites.append(key)
        return self.known_sites[key]

    def at(self, node: ast.AST) -> None:
        """Notes where the function stands, before a call of code that may ask."""
        self.calls = True
        self.emit(f"F.site = {self.site(node)};")

    def fail_if(self, condition: str, node: ast.AST) -> None:
        """Leaves with the error that is set, where a condition holds."""
        self.emit(f"if (UNLIKELY({condition})) {{ F.site = {self.site(node)}; {self.leave()} }}")

    def leave(self) -> str:
        """To the code for errors; gives back what temporaries hold."""
        handler = next((each for each in reversed(self.around) if each.kind == "try"), None)
        depth = 0 if handler is None else handler.depth
        text = "".join(DROP[value.rep].format(value.c) + "; " for value in reversed(self.live[depth:]))
        for each in reversed(self.around):
            if each is handler:
                break
            if each.kind == "handler":
                text += f"sema_handled({each.saved}); "
        if handler is None:
            self.has_error = True
            return f"{text}goto error;"
        handler.used.add("error")
        return f"{text}goto {handler.label};"

    # Variables

    def variable(self, name: str) -> Variable | None:
        """The variable of a name; None for a global."""
        for names, _, _ in reversed(self.comprehensions):
            if name in names:
                return names[name]
        if name in self.variables:
            return self.variables[name]
        scope = self.scope
        if name in scope.own:
            where = (
                "cell" if name in scope.cells else "param" if name in scope.params or name == scope.rest else "local"
            )
            c = self.c_names.setdefault(name, f"v{len(self.c_names)}_{ascii_name(name)}")
            return self.add_variable(name, c, where)
        if name in scope.free:
            return self.add_variable(name, f"free{scope.free.index(name)}", "free")
        return None

    def add_variable(self, name: str, c: str, where: str, code: int = 0) -> Variable:
        rep = "o" if where in ("cell", "free") else of_all(self.seen.get(c, set()))
        if where == "param":
            index = [*self.scope.params, self.scope.rest].index(name)
            rep = of_all({self.param_reps[index], *self.seen.get(c, ())})
        variable = Variable(name, c, rep, where, code)
        variable.kind = self.kinds.get(c, "")
        self.all_variables.append(variable)
        if not code:
            self.variables[name] = variable
        return variable

    def read(self, variable: Variable, node: ast.AST) -> Value:
        """The value of a variable: borrowed, but from a cell."""
        if variable.where in ("cell", "free"):
            value = f"PyCell_GET({variable.c})"
            if variable.where == "free" or not self.is_assigned(variable):
                name = self.fresh("t")
                self.emit(f"PyObject *{name} = {value};")
                self.unbound(f"{name} == NULL", variable, node)
                value = name
            return self.temp("o", f"Py_NewRef({value})")
        if not variable.rep and not self.module.is_certain:
            raise Unknown
        if not self.is_assigned(variable) and not (self.guessed and not self.module.is_certain):
            if (variable.rep or "o") in COUNTED:
                self.unbound(failure(variable.rep or "o", variable.c), variable, node)
            if (variable.rep or "o") not in COUNTED:
                self.settle(variable, Value("NULL", "o"))  # no plain number can say that there is none
        return Value(variable.c, variable.rep or "o", False, variable.kind if variable.kind != "?" else "")

    def unbound(self, condition: str, variable: Variable, node: ast.AST) -> None:
        is_free = int(variable.where == "free")
        self.emit(f'if (UNLIKELY({condition})) {{ sema_unbound("{variable.name}", {is_free});')
        self.emit(f"F.site = {self.site(node)}; {self.leave()} }}")

    def is_assigned(self, variable: Variable) -> bool:
        return variable.where == "param" or self.assigned is None or variable.c in self.assigned

    def settle(self, variable: Variable, value: Value) -> None:
        """Notes that a variable gets a value: the next round knows."""
        seen = self.seen.setdefault(variable.c, set())
        if variable.where == "param":
            seen.add(self.param_reps[[*self.scope.params, self.scope.rest].index(variable.name)])
        known = self.kinds.get(variable.c, value.kind or "?")
        kind = value.kind if known == value.kind and value.kind else "?"
        if said(value) not in seen or kind != self.kinds.get(variable.c):
            self.changed = True
            seen.add(said(value))
            self.kinds[variable.c] = kind
            if not variable.rep:
                variable.rep, variable.kind = value.rep, kind

    def store(self, variable: Variable, value: Value, node: ast.AST) -> None:
        """Assigns to a variable."""
        if variable.where in ("cell", "free"):
            value = self.as_object(value, node)
            self.emit(f"sema_set_cell({variable.c}, {self.take(value)});")
        else:
            self.settle(variable, value)
            rep = variable.rep
            value = self.converted(value, rep, node)
            taken = self.take(value)
            if rep in COUNTED:
                old = self.fresh("old")
                self.emit(f"{{ {C_TYPES[rep]}{old} = {variable.c}; {variable.c} = {taken};")
                self.emit(f"{DROP_MAYBE[rep].format(old)}; }}")
            else:
                self.emit(f"{variable.c} = {taken};")
        if self.assigned is not None:
            self.assigned |= {variable.c}

    # Conversions

    def converted(self, value: Value, rep: str, node: ast.AST) -> Value:
        """A value in another representation that can hold it."""
        if value.rep == rep:
            return value
        if rep == "o":
            return self.as_object(value, node)
        if rep == "d":
            return self.as_dynamic(value)
        if self.module.is_draft:
            return Value(NOTHING[rep], rep)
        raise NotNative(f"{value.rep} as {rep}")

    def as_object(self, value: Value, node: ast.AST) -> Value:
        if value.rep == "o":
            return value
        if value.rep == "b":
            return Value(
                "Py_True" if value.c == "1" else "Py_False" if value.c == "0" else f"TRUTH({value.c})", "o", kind="bool"
            )
        number = int(value.c[6:-1]) if value.rep == "i" and value.c.startswith("SHORT(") else None
        if number is not None:
            return Value(self.module.constant(number), "o", kind="int")
        if value.rep == "f" and value.c in self.module.float_texts:
            return Value(self.module.constant(self.module.float_texts[value.c]), "o", kind="float")
        make = {"i": "sint_box", "f": "PyFloat_FromDouble", "d": "sdyn_box"}[value.rep]
        kind = {"i": "int", "f": "float"}.get(value.rep, "")
        boxed = self.checked("o", f"{make}({value.c})", node, kind)
        self.drop_below(value)
        return boxed

    def drop_below(self, value: Value) -> None:
        """Gives a reference back that may not be the last temporary."""
        if value.is_owned:
            self.emit(DROP[value.rep].format(value.c) + ";")
            self.forget(value)

    def as_dynamic(self, value: Value) -> Value:
        if value.rep == "d":
            return value
        if value.rep == "i":
            made = Value(f"DYN_INT({value.c})", "d", value.is_owned)
        elif value.rep == "f":
            return Value(f"DYN_FLOAT({value.c})", "d")
        elif value.rep == "b":
            return Value(f"DYN_INT(WORD(TRUTH({value.c})))", "d")
        elif value.is_owned:
            self.forget(value)
            return self.temp("d", f"sdyn_take({value.c})")
        else:
            name = self.fresh("t")
            self.emit(f"sdyn {name} = sdyn_of({value.c});")
            return Value(name, "d")
        if value.is_owned:  # the same reference in other words
            self.live[self.live.index(value)] = made
            value.is_owned = False
        return made


def failure(rep: str, c: str) -> str:
    """The condition under which a result is none."""
    return {
        "o": f"{c} == NULL",
        "i": f"{c} == INT_ERROR",
        "d": f"{c}.x == INT_ERROR",
        "f": f"{c} == -1.0 && PyErr_Occurred()",
        "b": f"{c} < 0",
    }[rep]


def said(value: Value) -> str:
    """The representation of a value, in capitals where it is a number in the text."""
    if value.rep == "i" and value.c.startswith("SHORT("):
        return "I"
    return "F" if value.rep == "f" and value.c.startswith(("0x", "(-0x")) else value.rep


def ascii_name(name: str) -> str:
    return "".join(letter if letter.isascii() else "_" for letter in name)


def is_name(node: Any, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
