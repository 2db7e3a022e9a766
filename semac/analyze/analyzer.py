"""Analysis: forms → IR. Resolves names, expands macros where they are met, turns special forms into nodes.

The special forms are in `analyze/forms/`, each a function `(analyzer, form, scope) -> Node` by its name in `SPECIAL`.
Macros are recognised only where they are defined at top level before their use; a local or a global definition of the
same name shadows them. Syntax errors are raised here, before anything runs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.constants import CONSTANTS
from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.errors import ArityError, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from sema_runtime.values.maps import Map
from semac.analyze.places import HIGHER_ORDER, Places, unplace
from semac.analyze.scope import Scope
from semac.ir.nodes import (
    Builtin,
    Call,
    CallBuiltin,
    Const,
    Define,
    Function,
    Lambda,
    MapLit,
    Quote,
    Ref,
    Runtime,
    Seq,
    TopLevel,
    Var,
    Vector,
)  # fmt: skip
from semac.syntax.definitions import defined_names, inner_names, is_top_level

Handler = Callable[["Analyzer", List, Scope], Any]
SPECIAL: dict[str, Handler] = {}
MAX_DEPTH = 900
STREAMS = frozenset(("*stdin*", "*stdout*", "*stderr*"))
WORKFLOW_ARGS = "*workflow-args*"

# Heads that expansions use and programs can't shadow → the runtime function behind them.
INTERNAL = {
    "%list": "sema_runtime.values.lists:make_list",
    "%cons": "sema_runtime.lib.collections.lists:cons",
    "%append": "sema_runtime.lib.collections.lists:spliced",
    "%vector": "builtins:tuple",
}
# Special forms of ours that are macros in the reference: any definition of the name hides them.
MACRO_LIKE = frozenset(("dotimes", "for-range", "guard", "if-let", "parameterize", "when-let", "with-stream"))
# As in the reference, calls of OPERATORS ignore inner definitions of the name, those of INTRINSICS ignore `set!`.
OPERATORS = frozenset(["+", "-", "*", "/", "<", ">", "<=", ">=", "=", "not"])
INTRINSICS = OPERATORS | frozenset(
    [
        "car",
        "cdr",
        "cons",
        "length",
        "null?",
        "nth",
        "get",
        "append",
        "mod",
        "first",
        "rest",
        "string-length",
        "pair?",
        "list?",
        "number?",
        "string?",
        "symbol?",
        "contains?",
        "string-ref",
    ]
)


def special(*names: str) -> Callable[[Handler], Handler]:
    """Registers the handler of a special form."""

    def register(handler: Handler) -> Handler:
        for name in names:
            SPECIAL[name] = handler
        return handler

    return register


class Unit:
    """What analysis makes of one program or module: the IR, its globals, and where its macros came from."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.tree: Any = None
        self.main = Function("<lambda>", None)
        self.globals: dict[str, Var] = {}
        self.functions: list[Function] = []
        self.macro_files: list[str] = []
        self.module_name: str | None = None
        self.exports: list[str] | None = None
        self.is_portable = True  # no value of this process stands in the code
        self.is_open = False  # code compiled elsewhere may call our functions: eval, load
        self.optimize = True  # false: as it is written (optimization.py)
        self.lists_globals = False  # says which globals are the program's: for eval and load, and for who imports it
        self.reassigned: set[str] = set()
        self.places = Places()
        self.fitting: dict[int, bool] = {}  # ids of sequence patterns → whether the value surely has their length
        self.fixed: set[Any] = set()  # calls of builtins that the text doesn't name: no definition changes them
        self.raw: set[Any] = set()  # expressions that yield a raw dict to an owner
        self.python_names: set[str] = set()  # globals bound by Python imports
        self.match_advice: dict[Any, str] = {}  # matches → what is wrong with a parenthesised pattern of theirs
        self.warnings: list[Any] = []  # Suspicions of `suspects.py`: what is accepted and surely a mistake
        self.values: list[Any] = []  # what stands in the code of an input of a session although no text can say it


class Analyzer:
    """Analyzes one unit. macros: name → Macro known before it starts (REPL, earlier forms); evaluate: form → value,
    for macro bodies; known: names defined by earlier units of the same environment."""

    def __init__(
        self,
        filename: str,
        macros: dict[str, Macro],
        prelude: Any,
        evaluate: Callable[[Any], Any],
        known: frozenset[str] = frozenset(),
        reassigned: frozenset[str] = frozenset(),
    ) -> None:
        self.unit = Unit(filename)
        self.macros = macros
        self.prelude = prelude
        self.evaluate = evaluate
        self.known = known
        self.reassigned = reassigned  # builtins that the unit changes with set!
        self.unit.reassigned = set(reassigned)
        self.own: set[str] = set()  # what top-level forms of this unit define: no macro of such a name counts
        self.defined: set[str] = set(known)
        self.resolved_builtins: set[str] = set()
        self.depth = 0
        self.span: Any = None
        self.form: Any = None  # the list form being analyzed
        self.top_level = True
        self.doubts: list[Any] = []  # warnings that hold unless the rest of the program defines their name
        self.task_names: frozenset[str] = frozenset()  # what calls may have other tasks run; see forms/tasks.py
        self.native_names: frozenset[str] = frozenset()  # what calls may call back, in a program with tasks
        self.before: list[Any] = []  # what is done before the first form

    def program(self, forms: List) -> Unit:
        """The unit of all top-level forms."""
        import semac.analyze.forms  # noqa: F401  (fills SPECIAL)
        from semac.analyze.forms.python import imported_names
        from semac.analyze.forms.tasks import task_names

        items = list(forms)
        spans = getattr(forms.span, "children", ()) or ()
        for form in items:
            self.own.update(defined_names(form))
            self.unit.python_names.update(imported_names(form))
        self.defined |= self.own
        self.task_names, self.native_names = task_names(items)
        for name in self.own & self.macros.keys():
            del self.macros[name]
        scope = Scope(self.unit.main, None)
        nodes = []
        for index, form in enumerate(items):
            self.span = spans[index] if index < len(spans) else None
            self.top_level = is_top_level(form)
            unplace(form, self.is_macro_name)
            nodes.append(self.node(form, scope))
        self.unit.tree = TopLevel([*self.before, *nodes])
        if not self.unit.is_open:
            bound = self.defined | self.macros.keys()
            self.unit.warnings += [doubt for doubt in self.doubts if doubt.unbound not in bound]
        late = {name for name, var in self.unit.globals.items() if var.defined} & self.resolved_builtins
        if late - OPERATORS or self.unit.reassigned != self.reassigned:
            raise LateDefinition(late, self.unit.reassigned)
        return self.unit

    # Forms

    def node(self, form: Any, scope: Scope) -> Any:
        """The node of any form."""
        kind = type(form)
        if kind is List:
            return self.list_form(form, scope)
        if kind is Symbol:
            return self.reference(form.name, scope)
        if kind is tuple:
            return Vector([self.node(item, scope) for item in form], span=self.span)
        if kind is Map:
            keys, values = [], []
            for key, value in form.pairs():
                keys.append(self.node(key, scope))
                values.append(self.node(value, scope))
            return MapLit(keys, values, span=self.span)
        return Const(form, span=self.span)

    def list_form(self, form: List, scope: Scope) -> Any:
        span = form.span
        outer, outer_form = self.span, self.form
        self.form = form
        function = scope.function
        if span is not None:
            self.span = span
            if span.is_written:
                function.place = span
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise self.error("expression nested too deeply", hint="split it with define or let")
            node = self._list_form(form, scope)
            self.unit.places.note(self.span, function)
            return node
        except SemaError as error:
            if not hasattr(error, "span") or error.span is None:
                error.span = self.span  # type: ignore[attr-defined]
            if error.hint is None and not hasattr(error, "form"):
                from semac.analyze.form_hints import form_hint

                error.form = form  # type: ignore[attr-defined]
                error.hint = form_hint(form, error.message)
            raise
        finally:
            self.depth -= 1
            self.span, self.form = outer, outer_form

    def _list_form(self, form: List, scope: Scope) -> Any:
        items = form.items
        if not items:
            return Const(None, span=self.span)
        head = items[0]
        if type(head) is Symbol:
            name = head.name
            handler = SPECIAL.get(name)
            if handler is not None and not self.is_overridden(name, scope):
                return handler(self, form, scope)
            macro = self.macro(name, scope)
            if macro is not None:
                return self.expansion(macro, form, scope)
            if is_member(name):
                found = scope.find(name)
                if found is None and name not in self.defined:
                    from semac.analyze.forms.python import method_call

                    return method_call(self, form, scope)
            if name in self.unit.python_names or "." in name:
                from semac.analyze.forms.python import python_call

                found_call = python_call(self, name, items, scope)
                if found_call is not None:
                    return found_call
            if name == "__vm-str":  # what the reader makes of an f-string
                made = CallBuiltin("str", self.arguments(items, scope), False, span=self.span)
                self.unit.fixed.add(made)
                return made
            if name in INTERNAL:
                return Runtime(INTERNAL[name], self.arguments(items, scope), span=self.span)
            return self.named_call(name, items, scope)
        elif type(head) is Keyword:
            if len(items) == 2:
                path = "sema_runtime.values.lookup:keyword_get"
                return Runtime(path, [self.node(items[1], scope), Const(head)], span=self.span)
            return Call(Const(head), self.arguments(items, scope), False, None, span=self.span)
        made = self.node(head, scope)
        return Call(made, self.arguments(items, scope), False, None, span=self.span)

    def arguments(self, items: Any, scope: Scope) -> list[Any]:
        """The nodes of everything behind the head; bare atoms take their own spans."""
        outer = self.span
        spans = getattr(outer, "children", ()) or ()
        nodes = []
        for index in range(1, len(items)):
            item = items[index]
            if type(item) is not List and index < len(spans):
                self.span = spans[index]
                nodes.append(self.node(item, scope))
                self.span = outer
            else:
                nodes.append(self.node(item, scope))
        return nodes

    def named_call(self, name: str, items: Any, scope: Scope) -> Any:
        """A call whose head is a symbol: of a builtin where the name means one."""
        var = scope.find(name)
        direct = name in INDEX and name not in self.defined
        if direct and (var is None or (var.inner_define and name in OPERATORS)):
            if name not in self.reassigned or name in INTRINSICS or scope.function is self.unit.main:
                self.resolved_builtins.add(name)
                if name == "format" and len(items) > 1:
                    from semac.analyze.suspects import template

                    self.warn(template(self.span, items[1:]))
                made = CallBuiltin(name, self.arguments(items, scope), False, span=self.span)
                if name in HIGHER_ORDER:
                    self.unit.places.note_callbacks(made, scope.function)
                if self.task_names:
                    from semac.analyze.forms.tasks import native_call

                    return native_call(self, made, items[1:], scope)
                return made
        arguments = self.arguments(items, scope)
        head = self.reference(name, scope)
        if type(head) is Ref and head.var.is_global and name not in self.defined:
            from semac.analyze.suspects import BINDING_FORMS, foreign_form

            if name in BINDING_FORMS:
                self.doubts.append(foreign_form(self.span, name))
        return Call(head, arguments, False, None, span=self.span)

    def reference(self, name: str, scope: Scope) -> Any:
        """A name as an expression."""
        var = scope.find(name)
        if var is not None:
            return Ref(var, span=self.span)
        if name not in self.defined:
            if name in self.macros:
                return Const(self.macros[name], span=self.span)
            if name in INDEX and name not in self.reassigned:
                self.resolved_builtins.add(name)
                return Builtin(name, span=self.span)
            if name in CONSTANTS:
                return Const(CONSTANTS[name], span=self.span)
            if name in STREAMS:
                return Runtime("sema_runtime.lib.files.streams:standard_stream", [Const(name[1:-1])], span=self.span)
            if name == WORKFLOW_ARGS:
                return Runtime("sema_runtime.workflow.run.scope:workflow_args", [], span=self.span)
            macro = self.prelude.get(name)
            if macro is not None:
                return Const(macro, span=self.span)
            if "." in name and name[0] != ".":
                from semac.analyze.forms.python import dotted

                found = dotted(self, name, scope)
                if found is not None:
                    return found
            if is_member(name):
                from semac.analyze.forms.python import method_value

                return method_value(self, name)
        self.unit.places.note(self.span, scope.function)
        return Ref(self.global_var(name), span=self.span)

    def global_var(self, name: str) -> Var:
        var = self.unit.globals.get(name)
        if var is None:
            var = self.unit.globals[name] = Var(name, None, is_global=True)
        return var

    def macro(self, name: str, scope: Scope) -> Macro | None:
        """The macro a head symbol calls, unless a variable of that name shadows it."""
        macro = self.macros.get(name)
        if macro is None:
            if name in self.defined:
                return None
            macro = self.prelude.get(name)
        if macro is None or (name in self.defined and name not in self.macros) or scope.find(name) is not None:
            return None
        return macro

    def is_macro_name(self, name: str) -> bool:
        """Whether a form with that head is surely or probably a macro call in the reference."""
        return name in self.macros or name in MACRO_LIKE or (name in self.prelude and name not in self.defined)

    def is_overridden(self, name: str, scope: Scope) -> bool:
        """Whether a macro of the program hides a special form, or any definition one that is a macro at heart."""
        if name in self.macros:
            return True
        return name in MACRO_LIKE and (name in self.defined or scope.find(name) is not None)

    def expansion(self, macro: Macro, form: List, scope: Scope) -> Any:
        from semac.expand.expander import expand_all

        def find(name: str) -> Macro | None:
            return None if name in SPECIAL and not self.is_overridden(name, scope) else self.macro(name, scope)

        return self.node(expand_all(form, macro, find, self.span), scope)

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
            return [self.node(form, scope) for form in forms]
        outer = self.span
        nodes = []
        for form, span in zip(forms, spans[first:], strict=True):
            if type(form) is not List:
                self.span = span
            nodes.append(self.node(form, scope))
            self.span = outer
        return nodes

    def body(self, forms: Any, scope: Scope, whole: Any = None) -> Any:
        """A sequence of forms in a scope of their own: inner defines become variables of the scope.

        whole: the list whose last elements the forms are; without it, the form being analyzed.
        """
        fresh = self.declare_inner(forms, scope)
        nodes = self.located(forms, scope, whole or self.form)
        inner = nodes[0] if len(nodes) == 1 else Seq(nodes, span=self.span)
        return Define(fresh, inner, span=self.span) if fresh else inner

    def declare_inner(self, forms: Any, scope: Scope) -> list[Var]:
        """Declares what the forms of a body define in its scope; those variables that are new."""
        fresh = []
        for name in dict.fromkeys(name for form in forms for name in inner_names(form)):
            if scope.find_in_function(name) is None:
                fresh.append(scope.declare(name))
                fresh[-1].inner_define = True
        return fresh

    def sequence(self, forms: Any, scope: Scope, whole: Any = None) -> Any:
        """A sequence of forms that opens no scope. whole: as for `body`."""
        nodes = self.located(forms, scope, whole or self.form)
        if len(nodes) == 1:
            return nodes[0]
        return Seq(nodes, span=self.span) if nodes else Const(None, span=self.span)

    def function(self, name: str, scope: Scope) -> tuple[Function, Scope]:
        """A new function nested in the scope's, with its own scope."""
        function = Function(name, scope.function)
        function.span = self.span
        scope.function.children.append(function)
        self.unit.functions.append(function)
        return function, Scope(function, scope)

    def thunk(self, forms: Any, scope: Scope, name: str = "thunk") -> Any:
        """A Lambda of no parameters over the forms."""
        function, inner = self.function(name, scope)
        function.anonymous = function.is_thunk = True
        function.body = self.body(list(forms), inner)
        return Lambda(function, span=self.span)

    def gensym(self, name: str = "g") -> Symbol:
        """A symbol that no program text spells."""
        from semac.expand.expander import gensym

        return gensym(name)

    def quote(self, value: Any) -> Any:
        if type(value) in (List, tuple, Map):
            return Quote(value, span=self.span)
        return Const(value, span=self.span)

    # Errors

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


class LateDefinition(Exception):
    """A builtin that earlier code already used turned out to be defined or set by the program: analyze again."""

    def __init__(self, names: set[str], reassigned: set[str]) -> None:
        self.names = names
        self.reassigned = frozenset(reassigned)


def is_member(name: str) -> bool:
    """Whether a name is `.method` or `.-attribute`; `.5` and `...` are ordinary names."""
    return name[0] == "." and name[1:].removeprefix("-")[:1].isidentifier()
