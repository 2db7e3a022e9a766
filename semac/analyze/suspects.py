"""Mistakes that the language accepts: analysis notices them, `sema check` and a run report them.

Each function gives a `Suspicion` or None for forms that the analyzer has before it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator
from typing import Any, NamedTuple

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text

REST_MARKS = frozenset(("&", "&rest", "&body", "&args", "&more"))
OPTIONAL_MARKS = frozenset(("&optional", "&key", "&aux"))
MARKS = REST_MARKS | OPTIONAL_MARKS
SHAPES = {
    "define": "(define ({name} {params}) ...)",
    "defun": "(defn {name} ({params}) ...)",
    "defmacro": "(defmacro {name} ({params}) ...)",
}
# Heads of parenthesised patterns in the match of other languages.
PATTERN_HEADS = frozenset(("list", "list*", "list-rest", "cons", "vector", "?", "or", "and", "not", "struct", "app"))


# Forms of other languages whose parts bind names: a run fails at a name inside before it comes to theirs.
BINDING_FORMS = frozenset([
    "loop", "dolist", "doseq", "for", "for*", "for/list", "for*/list", "for/vector", "for/fold", "for/sum", "for/and",
    "for/or", "for/hash", "for/map", "for/filter", "do-times", "letfn", "flet", "labels", "letrec*", "let-syntax",
    "let-rec", "receive", "destructuring-bind", "multiple-value-bind", "match-let", "pcase", "case-lambda", "ns",
    "defstruct", "defrecord", "define-struct", "struct", "defclass", "class", "defprotocol", "condition-case",
    "handler-case", "with-handlers", "when-some", "if-some", "when-let*", "if-let*", "while-let", "dynamic-wind",
    "require", "define-macro", "define-syntax-rule", "with-open-file", "with-slots", "set", "let-destructure",
    "setq", "setf", "swap!", "reset!", "with-open", "import-from", "from", "def-", "defn-", "try*",
])  # fmt: skip


class Suspicion(NamedTuple):
    """A warning. span: where, or None; hint: what to write instead; unbound: the name whose error it explains."""

    span: Any
    message: str
    hint: str
    unbound: str = ""


def marked_parameters(span: Any, name: str, params: list[Any], what: str) -> Suspicion | None:
    """Parameters with a `&` of another Lisp, which is the name of an ordinary parameter here."""
    mark = next((param.name for param in params if type(param) is Symbol and param.name in MARKS), None)
    if mark is None:
        return None
    at = next(index for index, param in enumerate(params) if type(param) is Symbol and param.name == mark)
    rest = next((param for param in params[at + 1 :] if type(param) is Symbol), None)
    rest_name = rest.name if rest is not None and mark in REST_MARKS else "more"
    before = [param for param in params[:at] if type(param) is not Symbol or param.name not in MARKS]
    written = " ".join([*map(to_text, before), f". {rest_name}"])
    shape = SHAPES.get(what, "(fn ({params}) ...)").format(name=name, params=written)
    advice = f"; an optional one is (if (null? {rest_name}) default (first {rest_name}))"
    return Suspicion(
        span,
        f"`{mark}` is an ordinary parameter here, not a mark: exactly {len(params)} arguments are expected",
        f"write {shape}" + (advice if mark in OPTIONAL_MARKS else ""),
    )


def bare_pattern(pattern: Any) -> List | None:
    """A parenthesised pattern with names in it, at any depth; a quoted one is data on purpose."""
    if type(pattern) is List:
        items = pattern.items
        if items and type(items[0]) is Symbol and items[0].name == "quote":
            return None
        return pattern if any(True for _ in _symbols(pattern)) else None
    parts = pattern.d.values() if type(pattern) is Map else pattern if type(pattern) is tuple else ()
    return next((bare for part in parts if (bare := bare_pattern(part)) is not None), None)


def pattern_advice(pattern: List) -> str:
    """What a parenthesised pattern means, and the vector pattern to write instead."""
    items = list(pattern.items)
    head = items[0].name if type(items[0]) is Symbol else ""
    if head == "cons" and len(items) == 3:
        written = f"[{to_text(items[1])} & {to_text(items[2])}]"
    elif head in ("or", "and", "not", "?", "app", "struct"):
        written = "(p when test body ...)"
    else:
        parts = items[1:] if head in PATTERN_HEADS else items
        written = "[" + " ".join("&" if to_text(part) == "." else to_text(part) for part in parts) + "]"
    return f"`{to_text(pattern)}` is quoted data as a pattern; write {written}"


def mistaken_pattern(span: Any, clause: list[Any]) -> Suspicion | None:
    """A parenthesised pattern whose names the rest of the clause uses, or that has the head of a pattern elsewhere."""
    pattern = bare_pattern(clause[0])
    if pattern is None:
        return None
    head = pattern.items[0]
    names = {name for name in _symbols(pattern) if name not in INDEX}
    foreign = type(head) is Symbol and head.name in PATTERN_HEADS and len(pattern.items) > 1
    if foreign or "_" in names or names & {name for form in clause[1:] for name in _symbols(form)}:
        return Suspicion(span, f"the pattern {to_text(pattern)} matches only this very list", pattern_advice(pattern))
    return None


def foreign_form(span: Any, name: str) -> Suspicion:
    """A form of another language."""
    from sema_runtime.conditions.hints import foreign

    message = f"there is no form `{name}`; its parts are read as ordinary expressions"
    return Suspicion(span, message, foreign(name) or "", name)


def module_name(span: Any, name: str) -> Suspicion:
    """A name where import wants the path of a file."""
    hint = f'write (import "{name}.sema"); a module of Python is (py/import "{name}")'
    return Suspicion(span, "import takes the path of a file, as a string", hint)


def sibling_binding(span: Any, name: str) -> Suspicion:
    """A name that another binding of the same let introduces."""
    hint = f"bindings of let don't see each other; let* binds `{name}` before the next one is computed"
    return Suspicion(span, f"`{name}` is used by another binding of the let that binds it", hint, name)


def unparenthesised(forms: list[Any], spans: Any, bound: Container[str]) -> Iterator[Suspicion]:
    """Top-level lines such as `println "x"` and `x = 5`: a name with other forms behind it, where nothing is called."""
    for index, (form, span) in enumerate(zip(forms[:-1], spans, strict=False)):
        if type(form) is not Symbol or span.line != spans[index + 1].line:
            continue
        if index and spans[index - 1].line == span.line:
            continue
        line = [other for other, place in zip(forms[index:], spans[index:], strict=False) if place.line == span.line]
        if len(line) > 2 and type(line[1]) is Symbol and line[1].name in ("=", ":="):
            message, written = "nothing is defined here", f"(define {form.name} {to_text(line[2])})"
        elif form.name in bound:
            items = [part for other in line[1:] for part in _without_comma(other)]
            message, written = f"`{form.name}` isn't called here", to_text(List([form, *items]))
        else:
            continue
        yield Suspicion(span, f"{message}: the forms of this line stand side by side", f"write {written}")


def _without_comma(form: Any) -> Any:
    """`"y"` of `,"y"`; the parts of a list of arguments, as of `f("x", "y")`."""
    if type(form) is List and len(form.items) == 2 and to_text(form.items[0]) == "unquote":
        return (form.items[1],)
    if type(form) is List and form.items and type(form.items[0]) is not Symbol:
        return [part for other in form.items for part in _without_comma(other)]
    return (form,)


def _symbols(form: Any) -> Iterator[str]:
    """The names in a form, quoted parts left out."""
    if type(form) is Symbol:
        yield form.name
    elif type(form) is List:
        items = form.items
        if items and type(items[0]) is Symbol and items[0].name == "quote":
            return
        for item in items:
            yield from _symbols(item)
    elif type(form) is tuple:
        for item in form:
            yield from _symbols(item)
    elif type(form) is Map:
        for _, value in form.pairs():
            yield from _symbols(value)


DIRECTIVES = "aAsS"
FORMAT_HINT = (
    "directives are ~a (display), ~s (written), ~% (newline), ~~; decimals are (math/format-fixed x 2), "
    "width is (string/pad-left (str x) 8)"
)


def template(span: Any, parts: Any) -> Suspicion | None:
    """`(format "template" value ...)` with directives that aren't any, or with too few or too many values."""
    text, values = parts[0], len(parts) - 1
    if type(text) is not str:
        return None
    pieces = text.replace("~~", "").split("~")[1:]
    unknown = next((piece for piece in pieces if piece[:1] not in (*DIRECTIVES, "%")), None)
    if unknown is not None:
        message = f"`~{unknown[:1].strip()}` is no directive of format, so it is printed as it is"
        return Suspicion(span, message, FORMAT_HINT)
    count = sum(piece[0] in DIRECTIVES for piece in pieces)
    if count != values:
        said = "1 value" if values == 1 else f"{values} values"
        return Suspicion(span, f"format has {said} for {count} of ~a and ~s in its template", FORMAT_HINT)
    return None


def catch_class(span: Any, items: Any) -> Suspicion | None:
    """`(catch Exception e ...)`: the first name takes the error, the second one is only evaluated."""
    if len(items) < 4 or type(items[2]) is not Symbol:
        return None
    first, second = items[1].name, items[2].name
    return Suspicion(
        span,
        f"catch takes every error as `{first}`; `{second}` is not bound by it",
        f"write (catch {second} ...), and tell kinds apart by (:type {second})",
    )
