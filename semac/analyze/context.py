"""The context of the handlers of special forms: the unit, the names known so far, and the nodes of parts of a form."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import ArityError, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.analyze.scope import Scope
from semac.expand.environment import MacroEnvironment
from semac.ir.nodes import Const, Define, Function, Lambda, Quote, Seq, Var
from semac.ir.unit import Unit
from semac.syntax.definitions import sequence_name


class Context(ABC):
    """The state of the analysis of one unit. `Analyzer` finds the node of any form."""

    def __init__(
        self,
        filename: str,
        forms: Mapping[str, Handler],
        environment: MacroEnvironment,
        known: frozenset[str] = frozenset(),
        reassigned: frozenset[str] = frozenset(),
    ) -> None:
        """forms: the special forms by name. known: names that earlier units of the same session defined.
        reassigned: builtins that the unit changes with `set!`."""
        self.unit = Unit(filename)
        self.forms = forms
        self.environment = environment
        self.macros = environment.macros
        self.prelude = environment.prelude
        self.reassigned = reassigned
        self.unit.reassigned = set(reassigned)
        self.own: set[str] = set()  # what top-level forms of this unit define: no macro of such a name counts
        self.defined: set[str] = set(known)
        self.resolved_builtins: set[str] = set()
        self.depth = 0
        self.span: Any = None
        self.form: Any = None  # the list form being analyzed
        self.top_level = True
        self.doubts: list[Any] = []  # warnings that hold unless the rest of the program defines their name
        self.task_names: frozenset[str] = frozenset()  # calls of these may let other tasks run; see task_calls.py
        self.native_names: frozenset[str] = frozenset()  # calls of these may call back, in a program with tasks
        self.ahead: dict[int, tuple[Any, Any]] = {}  # calls of macros by id, and what they were expanded to
        self.before: list[Any] = []  # nodes that run before the first form

    @abstractmethod
    def node(self, form: Any, scope: Scope) -> Any:
        """The node of any form."""

    @abstractmethod
    def reference(self, name: str, scope: Scope) -> Any:
        """The node of a name as an expression."""

    # Variables and functions

    def global_var(self, name: str) -> Var:
        var = self.unit.globals.get(name)
        if var is None:
            var = self.unit.globals[name] = Var(name, None, is_global=True)
        return var

    def define_global(self, name: str) -> Var:
        """The global variable that a definition of the name sets."""
        self.defined.add(name)
        self.unit.python_names.discard(name)
        return self.global_var(name)

    def function(self, name: str, scope: Scope) -> tuple[Function, Scope]:
        """A new function nested in the scope's, with its own scope."""
        function = Function(name, scope.function)
        function.span = self.span
        self.unit.functions.append(function)
        return function, Scope(function, scope)

    def thunk(self, forms: Any, scope: Scope, name: str = "thunk") -> Any:
        """A Lambda of no parameters over the forms."""
        function, inner = self.function(name, scope)
        function.anonymous = function.is_thunk = True
        function.body = self.body(list(forms), inner)
        return Lambda(function, span=self.span)

    def announce(self, forms: Any, scope: Scope) -> None:
        """Declares what the forms of a sequence define themselves: it has these names from its start on.

        Defines that stand elsewhere, such as in operands, declare their variables when they are met.
        """
        if self.at_top_level(scope):
            return  # they are globals
        for form in forms:
            name = sequence_name(self.expanded(form, scope))
            if name is not None and scope.find_in_function(name) is None:
                scope.define(name)

    def at_top_level(self, scope: Scope) -> bool:
        """Whether what is defined there is a global."""
        return scope.parent is None and scope.function is self.unit.main

    def expanded(self, form: Any, scope: Scope) -> Any:
        """A form, or what a macro of the program makes of it."""
        return form

    # Nodes of parts

    def part(self, index: int, scope: Scope) -> Any:
        """The node of one element of the list form being analyzed; an atom takes its own place."""
        form = self.form.items[index]
        spans = getattr(self.form.span, "children", ()) or ()
        outer = self.span
        if type(form) is not List and index < len(spans):
            self.span = spans[index]
        node = self.node(form, scope)
        self.span = outer
        return node

    def located(self, forms: Any, scope: Scope, whole: Any) -> list[Any]:
        """The nodes of forms; where they are the last elements of the list `whole`, atoms take their own places."""
        spans = getattr(whole.span, "children", ()) if type(whole) is List else ()
        first = len(spans) - len(forms)
        if first < 0 or any(form is not item for form, item in zip(forms, whole.items[first:], strict=False)):
            spans = [None] * len(forms)
        outer = self.span
        nodes: list[Any] = []
        for form, span in zip(forms, spans[-len(forms) :] if forms else (), strict=True):
            if nodes:
                scope.function.returning = None
            if span is not None and type(form) is not List:
                self.span = span
            nodes.append(self.node(form, scope))
            self.span = outer
        return nodes

    def body(self, forms: Any, scope: Scope, whole: Any = None) -> Any:
        """A sequence of forms in a scope of their own: inner defines become variables of the scope.

        whole: the list whose last elements the forms are; without it, the form being analyzed.
        """
        fresh: list[Var] = []
        scope.inner_defines = fresh
        self.announce(forms, scope)
        nodes = self.located(forms, scope, whole or self.form)
        inner = nodes[0] if len(nodes) == 1 else Seq(nodes, span=self.span)
        return Define(fresh, inner, span=self.span) if fresh else inner

    def sequence(self, forms: Any, scope: Scope, whole: Any = None) -> Any:
        """A sequence of forms that opens no scope. whole: as for `body`."""
        self.announce(forms, scope)
        return self.in_order(self.located(forms, scope, whole or self.form))

    def in_order(self, nodes: list[Any]) -> Any:
        """The node of several that run one after the other."""
        if len(nodes) == 1:
            return nodes[0]
        return Seq(nodes, span=self.span) if nodes else Const(None, span=self.span)

    def quote(self, value: Any) -> Any:
        if type(value) in (List, tuple, Map):
            return Quote(value, span=self.span)
        return Const(value, span=self.span)

    # Errors and warnings

    def warn(self, suspicion: Any) -> None:
        """Notes what is surely a mistake; None is nothing."""
        if suspicion is not None:
            self.unit.warnings.append(suspicion)

    def error(self, message: str, hint: str | None = None) -> SemaError:
        error = SemaError(message, hint)
        error.span = self.span  # type: ignore[attr-defined]
        return error

    def expect(self, form: List, low: int, high: int | None = None, name: str = "") -> Any:
        """The items behind the head; raises the arity error of a special form. name: what errors call the form."""
        items = form.items
        count = len(items) - 1
        if count < low or (high is not None and count > high):
            expected = f"{low}+" if high is None else str(low) if low == high else f"{low} or {high}"
            error = ArityError(name or items[0].name, expected, count)
            error.span = self.span  # type: ignore[attr-defined]
            raise error
        return items[1:]

    def name_of(self, form: Any, what: str) -> str:
        """The name of a symbol form; raises `WHAT: expected a symbol`."""
        if type(form) is not Symbol:
            raise self.error(f"{what}: expected a symbol")
        return form.name


Handler = Callable[[Context, List, Scope], Any]
