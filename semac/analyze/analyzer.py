"""Analysis: forms → IR. Resolves names, expands macros where they are met, turns special forms into nodes.

The special forms are in `analyze/forms/`, each a function `(context, form, scope) -> Node`; their table is handed in.
Macros are recognised only where they are defined at top level before their use; a local or a global definition of the
same name shadows them. Syntax errors are raised here, before anything runs.
"""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.constants import CONSTANTS
from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from sema_runtime.values.maps import Map
from semac.analyze.context import Context
from semac.analyze.folding import is_folded
from semac.analyze.places import unplace
from semac.analyze.python_calls import dotted, method_call, method_value, python_call
from semac.analyze.scope import Scope
from semac.analyze.task_calls import native_call, task_names
from semac.ir.intrinsics import INTRINSICS, OPERATORS
from semac.ir.nodes import Builtin, Call, CallBuiltin, Const, Define, MapLit, NamedLet, Ref, Runtime, TopLevel, Vector
from semac.ir.places import HIGHER_ORDER
from semac.ir.unit import Unit
from semac.syntax.definitions import defined_names, imported_names, is_top_level

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
RETURNING = (Call, NamedLet)  # nodes with a frame of their own
ENDS_IN_LAST = frozenset((  # special forms that compile nothing behind their last part
    "and", "begin", "case", "cond", "do", "if", "let", "let*", "letrec", "match", "match*", "or", "progn", "try",
    "unless", "when",
))  # fmt: skip
# Special forms of ours that are macros in the reference: any definition of the name hides them.
MACRO_LIKE = frozenset(("dotimes", "for-range", "guard", "if-let", "parameterize", "when-let", "with-stream"))


class Analyzer(Context):
    """Analyzes one unit."""

    def program(self, forms: List) -> Unit:
        """The unit of all top-level forms."""
        items = list(forms)
        spans = getattr(forms.span, "children", ()) or ()
        for form in items:
            self.own.update(defined_names(form))
            self.unit.python_names.update(imported_names(form))
        self.defined |= self.own
        self.unit.own = self.own
        self.task_names, self.native_names = task_names(items)
        for name in self.own & self.macros.keys():
            del self.macros[name]
        scope = Scope(self.unit.main, None)
        nodes = []
        for index, form in enumerate(items):
            self.span = spans[index] if index < len(spans) else None
            self.top_level = is_top_level(form)
            unplace(form, self.is_macro_name)
            scope.inner_defines = []
            node = self.node(form, scope)
            nodes.append(Define(scope.inner_defines, node, span=self.span) if scope.inner_defines else node)
        if any(type(form) is Symbol for form in items[:-1]):
            from semac.analyze.suspects import unparenthesised

            self.unit.warnings += unparenthesised(items, spans, self.own | INDEX.keys() | self.forms.keys())
        self.unit.tree = TopLevel([*self.before, *nodes])
        if not self.unit.is_open:
            bound = self.defined | self.macros.keys()
            self.unit.warnings += [doubt for doubt in self.doubts if doubt.unbound not in bound]
        late = {name for name, var in self.unit.globals.items() if var.defined} & self.resolved_builtins
        self.unit.uses_python |= any(name.startswith("py/") for name in self.resolved_builtins)
        if late - OPERATORS or self.unit.reassigned != self.reassigned:
            raise LateDefinition(late, self.unit.reassigned)
        return self.unit

    # Forms

    def node(self, form: Any, scope: Scope) -> Any:
        """The node of any form."""
        kind = type(form)
        if kind is List:
            return self.list_form(form, scope)
        if kind is tuple:
            made: Any = Vector([self.node(item, scope) for item in form], span=self.span)
        elif kind is Map:
            keys, values = [], []
            for key, value in form.pairs():
                keys.append(self.node(key, scope))
                values.append(self.node(value, scope))
            made = MapLit(keys, values, span=self.span)
        else:
            made = self.reference(form.name, scope) if kind is Symbol else Const(form, span=self.span)
        scope.function.returning = None
        return made

    def list_form(self, form: List, scope: Scope) -> Any:
        span = form.span
        outer, outer_form = self.span, self.form
        self.form = form
        function = scope.function
        if span is not None:
            self.span = span
            if span.is_written and span.has_place and form.items:
                function.place = span
                self.unit.places.note_next(function)
        self.depth += 1
        try:
            if self.depth > MAX_DEPTH:
                raise self.error("expression nested too deeply", hint="split it with define or let")
            node = self._list_form(form, scope)
            self.unit.places.note(self.span, function)
            if type(node) not in RETURNING and head_name(form) not in ENDS_IN_LAST:
                function.returning = None
            return node
        except SemaError as error:
            if not hasattr(error, "span") or error.span is None:
                error.span = self.span  # type: ignore[attr-defined]
            if error.hint is None and not hasattr(error, "form"):
                from semac.analyze.form_hints import form_hint, mistaken_part

                error.form = form  # type: ignore[attr-defined]
                error.hint = form_hint(form, error.message)
                if error.hint is not None and error.span is span and span is not None:  # type: ignore[attr-defined]
                    error.span = mistaken_part(form, error.message)  # type: ignore[attr-defined]
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
            handler = self.forms.get(name)
            if handler is not None and not self.is_overridden(name, scope):
                return handler(self, form, scope)
            macro = self.macro(name, scope)
            if macro is not None:
                return self.expansion(macro, form, scope)
            if is_member(name):
                if scope.find(name) is None and name not in self.defined:
                    return method_call(self, form, scope)
            if name in self.unit.python_names or "." in name:
                call = python_call(self, name, items, scope)
                if call is not None:
                    return call
            if name == "__vm-str":  # what the reader makes of an f-string
                text = CallBuiltin("str", self.arguments(items, scope), False, span=self.span)
                self.unit.fixed.add(text)
                return text
            if name in INTERNAL:
                return Runtime(INTERNAL[name], self.arguments(items, scope), span=self.span)
            return self.named_call(name, items, scope)
        elif type(head) is Keyword:
            scope.function.returning = None
            if len(items) == 2:
                path = "sema_runtime.values.lookup:keyword_get"
                return Runtime(path, [self.node(items[1], scope), Const(head)], span=self.span)
            return self.returned(Call(Const(head), self.arguments(items, scope), False, None, span=self.span), scope)
        function = self.node(head, scope)
        return self.returned(Call(function, self.arguments(items, scope), False, None, span=self.span), scope)

    def returned(self, call: Call, scope: Scope) -> Call:
        """A call of which the analysis is at its end."""
        self.unit.places.note_call(call.span, scope.function)
        return call

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
        if direct and (var is None or (var.inner_define and name in OPERATORS and is_folded(name, items[1:]))):
            if name not in self.reassigned or name in INTRINSICS or scope.function is self.unit.main:
                self.resolved_builtins.add(name)
                if name == "format" and len(items) > 1:
                    from semac.analyze.suspects import template

                    self.warn(template(self.span, items[1:]))
                call = CallBuiltin(name, self.arguments(items, scope), False, span=self.span)
                if name in HIGHER_ORDER:
                    self.unit.places.note_callbacks(call, scope.function)
                return native_call(self, call, items[1:], scope) if self.task_names else call
        if var is not None:
            scope.function.returning = None  # the reference loads a local variable first
        arguments = self.arguments(items, scope)
        head = self.reference(name, scope)
        if type(head) is Ref and head.var.is_global and name not in self.defined:
            from semac.analyze.suspects import BINDING_FORMS, foreign_form

            if name in BINDING_FORMS:
                self.doubts.append(foreign_form(self.span, name))
        return self.returned(Call(head, arguments, False, None, span=self.span), scope)

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
                attribute = dotted(self, name, scope)
                if attribute is not None:
                    return attribute
            if is_member(name):
                return method_value(self, name)
        self.unit.places.note(self.span, scope.function)
        return Ref(self.global_var(name), span=self.span)

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
        _, expanded = self.ahead.pop(id(form), (form, None))
        return self.node(self.expand(macro, form, scope) if expanded is None else expanded, scope)

    def expand(self, macro: Macro, form: List, scope: Scope) -> Any:
        from semac.expand.expander import expand_all

        def find(name: str) -> Macro | None:
            return None if name in self.forms and not self.is_overridden(name, scope) else self.macro(name, scope)

        return expand_all(form, macro, find, self.span)

    def expanded(self, form: Any, scope: Scope) -> Any:
        name = head_name(form) if type(form) is List and self.macros else ""
        if name not in self.macros or (macro := self.macro(name, scope)) is None:
            return form
        outer = self.span
        self.span = form.span or outer
        try:
            expanded = self.expand(macro, form, scope)
        except SemaError:  # it is raised when its turn comes
            return form
        finally:
            self.span = outer
        self.ahead[id(form)] = (form, expanded)
        return expanded


def head_name(form: List) -> str:
    """The name at the head of a form; "" where there is none."""
    head = form.items[0] if form.items else None
    return head.name if type(head) is Symbol else ""


class LateDefinition(Exception):
    """A builtin that earlier code already used turned out to be defined or set by the program: analyze again."""

    def __init__(self, names: set[str], reassigned: set[str]) -> None:
        self.names = names
        self.reassigned = frozenset(reassigned)


def is_member(name: str) -> bool:
    """Whether a name is `.method` or `.-attribute`; `.5` and `...` are ordinary names."""
    return name[:1] == "." and name[1:].removeprefix("-")[:1].isidentifier()
