"""What is wrong with the workflows of a text, found from its forms alone.

Nothing is evaluated or expanded. Codes, texts and order are those of the reference implementation; the checks of
approvals and of `policy/without` are additions, as are the hints for text that can't be read.
"""

from __future__ import annotations

from sema_runtime.values.atoms import Keyword, Symbol, keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from semac.syntax.reader import read_recovering

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any


ERROR, WARNING = "error", "warning"
OPEN_ENDED = {  # heads of forms whose value isn't known before they run
    *("let", "let*", "let-values", "let*-values", "letrec", "do", "begin"),
    *("if", "when", "unless", "cond", "case", "match"),
}
PERSIST = ("keyring", "workflow", "run", "none")
NO_APPROVAL_IN = {  # heads of forms that run their parts apart from the body, again, or clean up when it is left
    *("parallel", "parallel-settled", "pipeline", "pipeline-settled", "step", "async", "try", "guard"),
    *("retry", "with-retry", "with-open", "with-stream", "py/with", "io/with-raw-mode", "defworkflow"),
    "checkpoint",  # its value is kept: a resumed run wouldn't ask whether the approval still holds
}
NO_APPROVAL_IN_PREFIXED = ("async/", "term/with-", "workflow/step", "workflow/run", "workflow/checkpoint")
APPROVAL_NEEDS = ("reason", "subject")
STEP_OPTIONS = ("name", "schema", "tools", "agent", "policy")
BUDGET_OPTIONS = ("tokens", "usd", "reserve", "scope")
BUDGET_SCOPES = ("run", "process")
BUDGET_HINT = "{:budget {:tokens 50000 :usd 0.50}}"
OTHER_OPTIONS = "others go into (workflow/step {:name … :prompt p} (fn () (llm/complete p {:model …})))"
DEBUG_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t", "\0": "\\0"}


class Diagnostic:
    """One thing that is wrong. line and column count from 1; both None where the place isn't known."""

    __slots__ = ("code", "column", "hint", "line", "message", "severity")

    def __init__(self, severity: str, span: Any, code: str, message: str, hint: str | None = None) -> None:
        self.severity = severity
        self.line: int | None = None if span is None else span.line
        self.column: int | None = None if span is None else span.col
        self.code = code
        self.message = message
        self.hint = hint

    def as_json(self) -> dict[str, Any]:
        return {
            "severity": self.severity,
            "code": self.code,
            "message": self.message,
            "line": self.line,
            "col": self.column,
            "hint": self.hint,
        }

    def text(self, file: str) -> str:
        """`FILE:LINE:COLUMN: SEVERITY[CODE]: MESSAGE`, and the hint below it."""
        place = file if self.line is None else f"{file}:{self.line}:{self.column}"
        said = f"{place}: {self.severity}[{self.code}]: {self.message}"
        return said if self.hint is None else f"{said}\n  hint: {self.hint}"


# The rules


def check_text(text: str) -> list[Diagnostic]:
    """The findings for a text: what can't be read first, then workflow by workflow."""
    forms, errors, _ = read_recovering(text)
    diagnostics = [Diagnostic(ERROR, error.span, "E-PARSE", error.message, error.hint) for error in errors]
    unfinished = {(diagnostic.line, diagnostic.column) for diagnostic in diagnostics}
    for form in _workflows(forms.items):
        _check_workflow(form, diagnostics, unfinished)
    return diagnostics


def _workflows(forms: Sequence[Any]) -> Iterator[List]:
    """The `(defworkflow ...)` lists in forms, in the order of the text; none inside another."""
    waiting = [*reversed(forms)]
    while waiting:
        form = waiting.pop()
        if _head(form) == "defworkflow":
            yield form
        elif type(form) in (List, tuple):
            waiting.extend(reversed(form))


def _check_workflow(form: List, diagnostics: list[Diagnostic], unfinished: set[Any]) -> None:
    """unfinished: where forms begin that aren't closed. What they lack may be missing with the bracket."""
    items, span = form.items, form.span
    is_finished = _place(span) not in unfinished
    if len(items) < 4:
        problem = "defworkflow needs a name, a doc string, a meta map, and a body"
        hint = '(defworkflow name "doc" {:phases [...]} body…)'
        if is_finished:
            diagnostics.append(Diagnostic(ERROR, span, "E-WF-SHAPE", problem, hint))
        return
    if type(items[1]) is not Symbol:
        diagnostics.append(Diagnostic(ERROR, span, "E-WF-NAME", "defworkflow name must be a bare symbol"))
    if type(items[2]) is not str:
        diagnostics.append(Diagnostic(WARNING, span, "W-WF-DOC", "defworkflow doc should be a string"))
    meta, body = items[3], items[4:]
    if type(meta) is Map:
        _check_phases(meta, body, span, diagnostics)
    else:
        problem = "defworkflow meta must be a map (e.g. {:phases [...] :budget {...}})"
        diagnostics.append(Diagnostic(ERROR, span, "E-WF-META", problem))
    if body and is_finished and not _may_end_in_status(body[-1]):
        diagnostics.append(
            Diagnostic(
                WARNING,
                _span_of_last(form),
                "W-NO-STATUS",
                "workflow body should end in a {:status …} map (the run result envelope)",
                "e.g. {:status :success :result …}",
            )
        )
    if type(meta) is Map:
        _check_servers(meta, span, diagnostics)
        diagnostics += _check_budget(meta, span)
    _check_markers(body, diagnostics, unfinished)


def _check_phases(meta: Map, body: Sequence[Any], span: Any, diagnostics: list[Diagnostic]) -> None:
    """Declared phases against those that the body opens itself; in other forms they open any number of times."""
    if keyword("phases") not in meta.d:
        return
    plan = _entry(meta, "phases")
    declared = [name for name in map(_name, plan) if name is not None] if type(plan) in (List, tuple) else []
    opened = [
        (form.items[1], form.span)
        for form in body
        if _head(form) == "phase" and len(form.items) > 1 and type(form.items[1]) is str
    ]
    names = {name for name, _ in opened}
    for name in declared:
        if name not in names:
            shown = _debug(name)
            problem = f"phase {shown} is declared in :phases but never opened with (phase {shown})"
            diagnostics.append(Diagnostic(WARNING, span, "W-PHASE-UNUSED", problem))
    for name, place in opened:
        if name not in declared:
            problem = (
                f"phase {_debug(name)} is opened but not declared in :phases (the dashboard won't show it up front)"
            )
            diagnostics.append(Diagnostic(WARNING, place, "W-PHASE-UNDECL", problem))


def _may_end_in_status(form: Any) -> bool:
    if type(form) is Map:
        return keyword("status") in form.d
    first = next(iter(form), None) if type(form) in (List, tuple) else None
    return type(first) is Symbol and first.name in OPEN_ENDED


def _span_of_last(form: List) -> Any:
    """The place of a form's last element, when that is a list or vector; else the form's own."""
    last = form.items[-1]
    if type(last) is List:
        return last.span or form.span
    places: Sequence[Any] = getattr(form.span, "children", ())
    return places[-1] if type(last) is tuple and len(places) == len(form.items) else form.span


def _check_servers(meta: Map, span: Any, diagnostics: list[Diagnostic]) -> None:
    """The `:mcp` declarations of a literal meta map."""
    if keyword("mcp") not in meta.d:
        return
    servers = _entry(meta, "mcp")
    if type(servers) is not Map:
        diagnostics.append(Diagnostic(ERROR, span, "E-MCP-SPEC", ":mcp must be a map of alias -> server spec"))
        return
    for alias, spec in servers.pairs():
        if type(alias) is not Symbol:
            from sema_runtime.values.printer import to_text

            problem = f":mcp alias {to_text(alias)} must be a bare symbol"
            diagnostics.append(Diagnostic(ERROR, span, "E-MCP-SPEC", problem))
        else:
            diagnostics += (
                Diagnostic(severity, span, code, f":mcp {alias.name}: {problem}")
                for severity, code, problem in _server_problems(spec)
            )


def _server_problems(spec: Any) -> Iterator[tuple[str, str, str]]:
    """(severity, code, problem) for one server."""
    if type(spec) is not Map:
        yield ERROR, "E-MCP-SPEC", "spec must be a map"
        return
    url, command = keyword("url") in spec.d, keyword("command") in spec.d
    if not url and not command:
        yield ERROR, "E-MCP-SPEC", "spec is missing :url or :command"
    if url and command:
        yield ERROR, "E-MCP-SPEC", "spec has both :url and :command — pick exactly one transport"
    if command and not url and keyword("auth") in spec.d:
        yield ERROR, "E-MCP-SPEC", ":auth is not valid on a stdio (:command) spec"
    if keyword("persist") in spec.d:
        persist = _entry(spec, "persist")
        if type(persist) is not Keyword or persist.name not in PERSIST:
            yield ERROR, "E-MCP-PERSIST", ":persist must be one of :keyring, :workflow, :run, :none"
    if keyword("tools") in spec.d:
        tools = _entry(spec, "tools")
        if type(tools) not in (List, tuple) or not all(type(tool) is str for tool in tools):
            yield WARNING, "W-MCP-TOOLS", ":tools should be a list of strings"


def _check_budget(meta: Map, span: Any) -> Iterator[Diagnostic]:
    """A `:budget` of a literal meta map that would limit nothing, without a word when the workflow runs."""
    budget = _entry(meta, "budget")
    if budget is None or type(budget) in (Symbol, List):  # absent, or an expression
        return
    if type(budget) is not Map:
        yield Diagnostic(WARNING, span, "W-BUDGET", ":budget limits nothing: it should be a map", BUDGET_HINT)
        return
    for key, value in budget.pairs():
        name = _name(key)
        if name not in BUDGET_OPTIONS:
            problem = f":budget has an unknown key{'' if name is None else f' :{name}'}, which limits nothing"
            yield Diagnostic(WARNING, span, "W-BUDGET", problem, BUDGET_HINT)
        elif name == "scope":
            if type(value) not in (Symbol, List) and _name(value) not in BUDGET_SCOPES:
                problem = ":budget :scope must be :run or :process"
                yield Diagnostic(ERROR, span, "E-BUDGET-SCOPE", problem, "{:budget {:usd 5 :scope :run}}")
        elif name != "reserve" and type(value) not in (int, float, Symbol, List):
            yield Diagnostic(WARNING, span, "W-BUDGET", f":budget limits nothing: :{name} is no number", BUDGET_HINT)


def _check_markers(body: Sequence[Any], diagnostics: list[Diagnostic], unfinished: set[Any]) -> None:
    """`phase`, `step` and so on, wherever they stand in lists and vectors of the body.

    With each form waits the head of the form around it in which an approval can't wait, if there is one.
    """
    waiting: list[tuple[Any, str | None]] = [(form, None) for form in reversed(body)]
    while waiting:
        form, around = waiting.pop()
        head = _head(form)
        if head is not None:
            if _place(form.span) not in unfinished:
                if head == "approval":
                    diagnostics += _check_approval(form.items, form.span, around)
                elif head in CHECKS:
                    diagnostics += CHECKS[head](form.items, form.span)
            if head in NO_APPROVAL_IN or head.startswith(NO_APPROVAL_IN_PREFIXED):
                around = around or head
        if type(form) in (List, tuple):
            waiting.extend([(part, around) for part in reversed(form)])


def _check_phase(items: Sequence[Any], span: Any) -> Iterator[Diagnostic]:
    if len(items) != 2:
        yield Diagnostic(
            ERROR,
            span,
            "E-PHASE-ARITY",
            f"phase takes exactly 1 argument (its label), got {len(items) - 1}",
            'phase is a marker, not a wrapper: write (phase "x") then the body forms as siblings',
        )
    elif type(items[1]) is not str:
        yield Diagnostic(WARNING, span, "W-PHASE-LABEL", "phase label should be a string")


def _check_checkpoint(items: Sequence[Any], span: Any) -> Iterator[Diagnostic]:
    if len(items) not in (2, 3):
        yield Diagnostic(ERROR, span, "E-CKPT-ARITY", f"checkpoint takes 1 or 2 arguments, got {len(items) - 1}")
    elif type(items[1]) not in (Keyword, str):
        yield Diagnostic(WARNING, span, "W-CKPT-KEY", "checkpoint key should be a keyword or string")


def _check_step(items: Sequence[Any], span: Any) -> Iterator[Diagnostic]:
    if len(items) < 2:
        yield Diagnostic(ERROR, span, "E-STEP-ARITY", "step needs at least a prompt argument")
    if len(items) < 3 or type(items[2]) is not Map:
        return
    entries = items[2].d
    yield from _ignored_options(items[2], span)
    if keyword("name") in entries and type(entries[keyword("name")]) is not str:
        yield Diagnostic(WARNING, span, "W-STEP-NAME", "step :name should be a string")
    if keyword("tools") in entries and type(entries[keyword("tools")]) not in (List, tuple):
        yield Diagnostic(WARNING, span, "W-STEP-TOOLS", "step :tools should be a list/vector of tools")
    if keyword("agent") in entries:
        if keyword("tools") in entries:
            yield Diagnostic(
                WARNING, span, "W-STEP-AGENT-TOOLS", "step :agent owns its own tools; inline :tools is ignored"
            )
        if keyword("model") in entries:
            yield Diagnostic(
                WARNING, span, "W-STEP-AGENT-MODEL", "step :agent owns its own model; inline :model is ignored"
            )


def _ignored_options(options: Map, span: Any) -> Iterator[Diagnostic]:
    """Options that a step doesn't look at. Those that an agent has are told elsewhere."""
    known = (*STEP_OPTIONS, "model") if keyword("agent") in options.d else STEP_OPTIONS
    for key in options.d:
        name = _name(key)
        if name is not None and name not in known:
            hint = f"a step takes {', '.join(f':{known}' for known in STEP_OPTIONS)}; {OTHER_OPTIONS}"
            yield Diagnostic(WARNING, span, "W-STEP-OPTION", f"step :{name} has no effect", hint)


def _check_fan_out(items: Sequence[Any], span: Any) -> Iterator[Diagnostic]:
    name = items[0].name
    if len(items) < 2:
        yield Diagnostic(WARNING, span, "W-FANOUT-ARITY", f"{name} expects at least one argument")
        return
    functions = items[2:] if name == "pipeline" else [items[1], *_elements(items[1])]
    if any(_head(form) == "step" for form in functions):
        problem = f"{name} takes functions: this step is asked before {name} begins"
        hint = "(fn (item) (step …))" if name == "pipeline" else "(parallel (list (fn () (step …)) (fn () (step …))))"
        yield Diagnostic(WARNING, span, "W-FANOUT-STEP", problem, hint)


def _elements(form: Any) -> Sequence[Any]:
    """What a vector or a call of `list` holds."""
    return form if type(form) is tuple else form.items[1:] if _head(form) == "list" else ()


def _check_without(items: Sequence[Any], span: Any) -> Iterator[Diagnostic]:
    if len(items) < 3 or type(items[1]) is not str:
        problem = "policy/without requires a literal reason string and at least one body form"
        yield Diagnostic(ERROR, span, "E-POLICY-WITHOUT", problem)


def _check_approval(items: Sequence[Any], span: Any, around: str | None) -> Iterator[Diagnostic]:
    if len(items) != 3:
        problem = f"approval takes exactly 2 arguments (its key and its options), got {len(items) - 1}"
        yield Diagnostic(ERROR, span, "E-APPROVAL-ARITY", problem)
    elif type(items[2]) is Map and not all(keyword(name) in items[2].d for name in APPROVAL_NEEDS):
        hint = '(approval :key {:reason "what a person agrees to" :subject value})'
        yield Diagnostic(ERROR, span, "E-APPROVAL-OPTIONS", "approval needs :reason and :subject", hint)
    if around is not None:
        yield Diagnostic(
            ERROR,
            span,
            "E-APPROVAL-PLACE",
            f"approval must stand in the workflow body itself, not inside {around}",
            f"an undecided approval ends the run: ask for it before or after the ({around} …) form",
        )


CHECKS = {
    "phase": _check_phase,
    "checkpoint": _check_checkpoint,
    "step": _check_step,
    "parallel": _check_fan_out,
    "pipeline": _check_fan_out,
    "policy/without": _check_without,
}


# Parts of forms


def _head(form: Any) -> str | None:
    """The name at the head of a list; None for anything else."""
    if type(form) is List and form.items and type(form.items[0]) is Symbol:
        return form.items[0].name
    return None


def _place(span: Any) -> tuple[int | None, int | None]:
    return (None, None) if span is None else (span.line, span.col)


def _entry(entries: Map, name: str) -> Any:
    return entries.d.get(keyword(name))


def _name(value: Any) -> str | None:
    return value if type(value) is str else value.name if type(value) is Keyword else None


def _debug(text: str) -> str:
    """A text in quotes as the reference's messages show it."""
    return '"' + "".join(DEBUG_ESCAPES.get(char) or _visible(char) for char in text) + '"'


def _visible(char: str) -> str:
    """The character, unless it can't be seen or only changes the one before it."""
    if char.isascii() and char.isprintable():
        return char
    from unicodedata import category

    return char if char.isprintable() and category(char) not in ("Mn", "Me") else f"\\u{{{ord(char):x}}}"
