"""What is wrong with a program, found without running it (macro bodies do run).

Warnings are what the language accepts although it is surely a mistake; they count only with `--strict`.
Text that can't be read gives reader errors alone. Otherwise every malformed special form, failing macro call, name
that nothing binds, and call with a wrong number of arguments is found: an error in one form does not hide the others.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import zip_longest
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.hints import for_unbound
from sema_runtime.values.atoms import Symbol
from sema_runtime.values.errors import ArityError, ReaderError, SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map, program_key
from semac.analyze.analyzer import Analyzer, LateDefinition
from semac.analyze.program import analyze_program
from semac.analyze.scope import Scope
from semac.checks.imports import problems
from semac.ir import nodes as ir
from semac.ir.identifiers import is_module_attribute
from semac.ir.unit import Unit
from semac.pipeline import macro_environment
from semac.syntax.definitions import defined_names

WARNING = "warning"


class Finding:
    """One thing that is wrong. line and column count from 1; code: reader, syntax, macro, import, unbound, arity,
    warning."""

    __slots__ = ("code", "column", "end_column", "end_line", "file", "hint", "line", "message", "note")

    def __init__(
        self, file: str, span: Any, code: str, message: str, hint: str | None, note: str | None = None
    ) -> None:
        self.file = file
        self.line, self.column, self.end_line, self.end_column = tuple(span) if span is not None else (1, 1, 1, 1)
        self.code = code
        self.message = message
        self.hint = hint
        self.note = note

    @property
    def severity(self) -> str:
        return WARNING if self.code == WARNING else "error"

    def as_json(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("file", "line", "column", *_JSON_REST)}

    def text(self) -> str:
        """`FILE:LINE:COLUMN: CODE: MESSAGE` and the hint and note below it."""
        lines = [f"{self.file}:{self.line}:{self.column}: {self.code}: {self.message}"]
        lines += [f"  {label}: {text}" for label, text in (("hint", self.hint), ("note", self.note)) if text]
        return "\n".join(lines)


_JSON_REST = ("end_line", "end_column", "code", "severity", "message", "hint", "note")


def check_text(text: str, file: str = "<input>") -> list[Finding]:
    """The findings for one program, in the order of their places."""
    from semac.syntax.reader import read_recovering

    forms, errors, _ = read_recovering(text)
    if errors:
        return [unreadable(error, file) for error in errors]
    try:
        findings = check_forms(forms, file)
    except RecursionError:
        findings = [Finding(file, None, "syntax", "expression nested too deeply", "split it with define or let")]
    return sorted(findings, key=lambda finding: (finding.line, finding.column))


def unreadable(error: ReaderError, file: str) -> Finding:
    return Finding(file, error.span, "reader", error.message, error.hint)


def check_forms(forms: List, file: str) -> list[Finding]:
    """The findings for forms that could be read."""
    checker = analyze_program(forms, file, macro_environment({}), Checker)
    names = _name_findings(checker, forms, file)
    imports = [
        Finding(file, problem.span, "import" if problem.is_error else WARNING, problem.message, problem.hint)
        for problem in problems(forms, file)
    ]
    return [*checker.findings, *imports, *names, *_call_findings(checker.unit, file), *_warnings(checker, file)]


class Checker(Analyzer):
    """Analysis that notes an error in a list form and continues after it."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.findings: list[Finding] = []
        self.opaque = False  # something may bind names that can't be seen here

    def list_form(self, form: List, scope: Scope) -> Any:
        try:
            node = super().list_form(form, scope)
        except (LateDefinition, RecursionError):
            raise
        except Exception as error:
            self.note(error, form)
            return ir.Const(None, span=form.span)
        if (type(node) is ir.Import and not node.names) or _is_call_of(form, "load"):
            self.opaque = self.opaque or not self._is_resolved(form)
        return node

    def note(self, error: Exception, form: List) -> None:
        """Records an error that analysis of the form raised."""
        from sema_runtime.conditions.describe import describe

        span = getattr(error, "span", None) or form.span or self.span
        notes = [getattr(error, "note", None), *getattr(error, "__notes__", ())]
        note = next((text for text in notes if text), None)
        shown = describe(error)
        code = "macro" if note and note.startswith("while expanding") else _code(error)
        self.findings.append(Finding(self.unit.filename, span, code, shown.message, shown.hint, note))

    def _is_resolved(self, form: List) -> bool:
        path = form.items[1]
        return type(path) is str and self.environment.interface(path, self.unit.filename) is not None


def _code(error: Exception) -> str:
    return "arity" if isinstance(error, ArityError) else "reader" if isinstance(error, ReaderError) else "syntax"


def _is_call_of(form: List, name: str) -> bool:
    return bool(form.items) and type(form.items[0]) is Symbol and form.items[0].name == name


def _name_findings(checker: Checker, forms: List, file: str) -> list[Finding]:
    """The uses of global names that nothing binds."""
    if checker.opaque:
        return []
    unit = checker.unit
    program_names = [name for name, var in unit.globals.items() if var.defined or var.assigned]
    bound = {*program_names, *checker.defined, *checker.macros, *unit.python_names}
    hints: dict[str, str | None] = {warning.unbound: warning.hint for warning in unit.warnings if warning.unbound}
    places = Places(forms)
    if any(_is_call_of(form, "eval") for form in places.lists.values()):
        bound |= {name for form in places.lists.values() for name in defined_names(form)}  # quoted definitions too
    findings = []
    for node, local_names in _references(unit.tree):
        name = node.var.name
        if name not in bound and not is_module_attribute(name):
            if name not in hints:
                hints[name] = for_unbound(name, [*local_names, *program_names])
            place = places.of(name, node.span)
            findings.append(Finding(file, place, "unbound", f"Unbound variable: {name}", hints[name]))
    return findings


def _references(tree: ir.Node) -> Iterator[tuple[ir.Ref, tuple[str, ...]]]:
    """The uses of global names, and the names of the variables of the functions around each."""
    waiting: list[tuple[Any, tuple[str, ...]]] = [(tree, ())]
    while waiting:
        node, names = waiting.pop()
        if type(node) is ir.Ref and node.var.is_global:
            yield node, names
        if type(node) is ir.Lambda or type(node) is ir.NamedLet:
            own = [*node.function.params, *node.function.locals]
            names = (*(var.name for var in own), *names)
        waiting += [(child, names) for child in ir.children(node)]


def _warnings(checker: Checker, file: str) -> list[Finding]:
    """What the language accepts although it is surely a mistake; a definition may come from an unknown import."""
    from semac.checks.warnings import warnings

    everything = {*checker.defined, *checker.unit.python_names, *checker.unit.globals}
    bound = everything if checker.opaque else _defined(checker)
    suspicions = warnings(checker.unit, frozenset(checker.macros), bound)
    return [Finding(file, suspicion.span, WARNING, suspicion.message, suspicion.hint) for suspicion in suspicions]


def _defined(checker: Checker) -> set[str]:
    """The names that the program defines, those left out that only a `set!` makes."""
    return {name for name, var in checker.unit.globals.items() if var.defined} | checker.unit.python_names


class Places:
    """Finds where in a list a name stands; analysis often knows only the list."""

    def __init__(self, forms: List) -> None:
        self.lists: dict[int, List] = {}  # id of a span → the list that has it
        self.found: dict[tuple[int, str], list[Any]] = {}  # places in a list that were not given out yet
        stack: list[Any] = [forms]
        while stack:
            form = stack.pop()
            if type(form) is List and form.span is not None:
                self.lists[id(form.span)] = form
            stack.extend(part for part, _ in _parts(form, None))

    def of(self, name: str, span: Any) -> Any:
        """The next place of the name in the list with that span; the span itself where there is none."""
        form = self.lists.get(id(span))
        if form is None:
            return span
        key = id(span), name
        if key not in self.found:
            self.found[key] = list(_places(form, span, name))
        return self.found[key].pop(0) if self.found[key] else span


def _places(form: Any, span: Any, name: str) -> Iterator[Any]:
    for part, place in _parts(form, span):
        if type(part) is Symbol:
            if part.name == name and place is not None:
                yield place
        else:
            yield from _places(part, place, name)


def _parts(form: Any, span: Any) -> list[tuple[Any, Any]]:
    """(element, its span or None) of a list, vector or map."""
    if type(form) is Map:
        parts = [part for key, value in form.d.items() for part in (program_key(key), value)]
    else:
        parts = list(form) if type(form) in (List, tuple) else []
    spans = getattr(span, "children", ()) or ()
    return list(zip_longest(parts, spans[: len(parts)]))


def _call_findings(unit: Unit, file: str) -> list[Finding]:
    """The calls of builtins and of the program's own functions with a wrong number of arguments."""
    from sema_runtime.conditions.usage import ADVICE, usage

    findings = []
    for node in ir.walk(unit.tree):
        bounds = None
        if type(node) is ir.CallBuiltin and node.name in INDEX:
            bounds = (node.name, *INDEX[node.name][2:4])
        elif type(node) is ir.Call:
            bounds = _bounds(node.head)
        if bounds is not None:
            error = _arity_error(*bounds, len(node.args))
            if error is not None:
                call = usage(bounds[0]) if type(node) is ir.CallBuiltin else None
                hint = ADVICE.get(bounds[0]) or (f"usage: {call}" if call else None)
                findings.append(Finding(file, node.span, "arity", error.message, hint))
    return findings


def _bounds(head: Any) -> tuple[str, int, int] | None:
    """(name, least, most) arguments of the function that a call's head is known to be."""
    function = None
    if type(head) is ir.Ref:
        function = head.var.known_function
    elif type(head) is ir.Lambda:
        function = head.function
    if function is None:
        return None
    name = "<lambda>" if function.anonymous else function.name
    least = len(function.params)
    return name, least, -1 if function.rest is not None else least


def _arity_error(name: str, least: int, most: int, count: int) -> SemaError | None:
    if count >= least and (most < 0 or count <= most):
        return None
    expected = f"{least}+" if most < 0 else str(least) if least == most else f"{least}-{most}"
    return ArityError(name, expected, count)
