"""`define-syntax` with `syntax-rules`: patterns, templates, renaming of the binders that a template brings along.

Hygiene is the reference's: names that a template itself binds with let, let*, letrec, lambda, fn, do or define get
fresh names for each expansion, wherever they stand in the template; all other names mean what they mean at the call.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.equality import equal
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro, gensym
from sema_runtime.values.maps import Map

ELLIPSIS, WILDCARD, DOT, RULES = map(symbol, ("...", "_", ".", "syntax-rules"))
BINDING_LISTS = frozenset(map(symbol, ("let", "let*", "letrec", "do")))
LAMBDAS = frozenset(map(symbol, ("lambda", "fn")))
LET, DEFINE, BEGIN = map(symbol, ("let", "define", "begin"))

Bindings = dict[Symbol, Any]  # pattern variable → form, or Repeated for one under an ellipsis


class Repeated(list[Any]):
    """What a variable under an ellipsis matched, one entry a repetition."""


class Special(NamedTuple):
    """The symbols that are no pattern variables: the literals, and what stands for "any number of these"."""

    literals: frozenset[Symbol]
    ellipsis: Symbol


def make_syntax_rules(form: List) -> Macro:
    """The macro that `(define-syntax name (syntax-rules [ellipsis] (literal ...) (pattern template) ...))` defines.

    ellipsis: a symbol that stands for `...`, which is an ordinary symbol then. Raises SemaError for a malformed
    definition. The macro raises SemaError when no rule fits its call.
    """
    items = form.items
    if len(items) != 3:
        raise SemaError("define-syntax: expected (define-syntax name (syntax-rules ...))")
    name, rules = items[1], items[2]
    if type(name) is not Symbol:
        raise SemaError("define-syntax: name must be a symbol")
    if type(rules) is not List or not rules.items or rules.items[0] is not RULES:
        raise SemaError("define-syntax: transformer must be a (syntax-rules ...) form")
    parts = rules.items[1:]
    ellipsis = ELLIPSIS
    if len(parts) > 1 and type(parts[0]) is Symbol:
        ellipsis, *parts = parts
    special = Special(_literals(parts), ellipsis)
    clauses = [_clause(rule) for rule in parts[1:]]

    def transformer(*forms: Any) -> Any:
        for pattern, template in clauses:
            if type(pattern) is not List:
                raise SemaError(f"syntax-rules: pattern in '{name.name}' must be a list")
            bindings: Bindings = {}
            if _match_items(pattern.items[1:], forms, special, bindings):
                kept = {*special.literals, *bindings, DOT, WILDCARD, ellipsis}
                return _filled(template, bindings | _fresh_names(template, kept), ellipsis)
        raise SemaError(f"no matching syntax-rules clause for macro '{name.name}'")

    return Macro(name.name, transformer)


def _literals(parts: Sequence[Any]) -> frozenset[Symbol]:
    if not parts:
        raise SemaError("syntax-rules: malformed — expected (syntax-rules (literals...) rules...)")
    if type(parts[0]) is Symbol:
        raise SemaError("syntax-rules: malformed — missing literals list")
    if type(parts[0]) is not List:
        raise SemaError("syntax-rules: literals must be a list")
    if not all(type(literal) is Symbol for literal in parts[0].items):
        raise SemaError("syntax-rules: each literal must be a symbol")
    return frozenset(parts[0].items)


def _clause(rule: Any) -> tuple[Any, Any]:
    """(pattern, template) of one rule; several templates form a `begin`."""
    if type(rule) is not List or len(rule.items) < 2:
        raise SemaError("syntax-rules: each rule must be (pattern template)")
    pattern, *templates = rule.items
    return pattern, templates[0] if len(templates) == 1 else List([BEGIN, *templates])


# Matching


def _match(pattern: Any, form: Any, special: Special, bindings: Bindings) -> bool:
    kind = type(pattern)
    if kind is Symbol:
        if pattern is WILDCARD:
            return True
        if pattern in special.literals:
            return form is pattern
        if pattern is special.ellipsis:  # a second one in the same list fits nothing
            return False
        bindings[pattern] = form
        return True
    if kind is List:
        return type(form) is List and _match_items(pattern.items, form.items, special, bindings)
    if kind is tuple:
        return type(form) is tuple and _match_items(pattern, form, special, bindings)
    return equal(pattern, form)


def _match_items(patterns: Sequence[Any], forms: Sequence[Any], special: Special, into: Bindings) -> bool:
    """Matches elements against patterns, of which one may be followed by an ellipsis with more patterns behind it.

    A dot in a pattern is an element like any other, as in the reference, where `(a . b)` reads as three elements.
    """
    at = next((index for index, pattern in enumerate(patterns) if pattern is special.ellipsis), None)
    if at is None:
        return len(patterns) == len(forms) and _match_each(patterns, forms, special, into)
    if at == 0:
        raise SemaError("syntax-rules: ellipsis with no preceding subpattern")
    before, repeated, after = patterns[: at - 1], patterns[at - 1], patterns[at + 1 :]
    end = len(forms) - len(after)
    if end < len(before) or not _match_each(before, forms, special, into):
        return False
    rounds = []
    for form in forms[len(before) : end]:
        bound: Bindings = {}
        if not _match(repeated, form, special, bound):
            return False
        rounds.append(bound)
    for variable in _variables(repeated, special):
        into[variable] = Repeated(bound[variable] for bound in rounds)
    return _match_each(after, forms[end:], special, into)


def _match_each(patterns: Sequence[Any], forms: Sequence[Any], special: Special, into: Bindings) -> bool:
    return all(_match(pattern, form, special, into) for pattern, form in zip(patterns, forms, strict=False))


def _variables(pattern: Any, special: Special) -> list[Symbol]:
    if type(pattern) is Symbol:
        return [] if pattern in special.literals or pattern in (WILDCARD, special.ellipsis) else [pattern]
    if type(pattern) is List or type(pattern) is tuple:
        return [variable for part in pattern for variable in _variables(part, special)]
    return []


# Filling the template


def _filled(template: Any, bindings: Bindings, ellipsis: Symbol) -> Any:
    kind = type(template)
    if kind is Symbol:
        value = bindings.get(template, template)
        if type(value) is Repeated:
            raise SemaError(f"syntax-rules: pattern variable '{template.name}' used without ellipsis")
        return value
    if kind is List:
        return List(_filled_items(template.items, bindings, ellipsis))
    if kind is tuple:
        return tuple(_filled_items(template, bindings, ellipsis))
    if kind is Map:
        return Map.of(
            (_filled(key, bindings, ellipsis), _filled(value, bindings, ellipsis)) for key, value in template.pairs()
        )
    return template


def _filled_items(items: Sequence[Any], bindings: Bindings, ellipsis: Symbol) -> list[Any]:
    filled: list[Any] = []
    index = 0
    while index < len(items):
        item = items[index]
        index += 1
        if index == len(items) or items[index] is not ellipsis:
            filled.append(_filled(item, bindings, ellipsis))
            continue
        index += 1
        if index < len(items) and items[index] is ellipsis:
            raise SemaError("syntax-rules: unsupported nested ellipsis depth in template")
        filled.extend(_filled(item, round_bindings, ellipsis) for round_bindings in _rounds(item, bindings))
    return filled


def _rounds(item: Any, bindings: Bindings) -> Iterable[Bindings]:
    """The bindings for each repetition of a template element that an ellipsis follows."""
    repeated = [name for name in dict.fromkeys(_symbols(item)) if type(bindings.get(name)) is Repeated]
    if not repeated:
        raise SemaError("syntax-rules: ellipsis in template with no matching pattern variable")
    lengths = {len(bindings[name]) for name in repeated}
    if len(lengths) > 1:
        raise SemaError("syntax-rules: mismatched ellipsis lengths for pattern variables")
    for round_ in range(lengths.pop()):
        yield bindings | {name: bindings[name][round_] for name in repeated}


def _symbols(form: Any) -> list[Symbol]:
    if type(form) is Symbol:
        return [form]
    if type(form) is List or type(form) is tuple:
        return [name for part in form for name in _symbols(part)]
    if type(form) is Map:
        return [name for pair in form.pairs() for part in pair for name in _symbols(part)]
    return []


# Names the template binds


def _fresh_names(template: Any, kept: set[Symbol]) -> Bindings:
    """New names for the binders in a template, in the order they are met; kept: names that stay as they are."""
    names: dict[Symbol, None] = {}
    _collect(template, names)
    return {name: gensym(name.name) for name in names if name not in kept}


def _collect(form: Any, names: dict[Symbol, None]) -> None:
    if type(form) is tuple:
        for part in form:
            _collect(part, names)
        return
    if type(form) is Map:
        for pair in form.pairs():
            for part in pair:
                _collect(part, names)
        return
    if type(form) is not List:
        return
    items = form.items
    head = items[0] if items else None
    if type(head) is Symbol and len(items) > 1:
        if head in BINDING_LISTS:
            _collect_let(head, items, names)
        elif head in LAMBDAS or head is DEFINE:
            names.update(dict.fromkeys(_symbols(items[1])))
    for part in items:
        _collect(part, names)


def _collect_let(head: Symbol, items: Sequence[Any], names: dict[Symbol, None]) -> None:
    """The names of `((name value) ...)`, and that of a named let."""
    if head is LET and type(items[1]) is Symbol:
        names[items[1]] = None
        items = items[1:]
    if len(items) > 1 and type(items[1]) is List:
        for binding in items[1].items:
            if type(binding) is List and binding.items and type(binding.items[0]) is Symbol:
                names[binding.items[0]] = None
