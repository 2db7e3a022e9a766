"""Advice for names that aren't bound: what other Lisps call differently, and the nearest name that is bound."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

SET = "Sema uses 'set!' for variable assignment"
DEFINE = "Sema uses 'define' for variable definitions"
PRINT = "Sema uses 'print' or 'println' for output"
LETREC = "Sema uses 'letrec' for local recursive bindings"
SEQUENCING = "Sema uses 'begin' for sequencing; use 'throw'/'try' for non-local exits"
CONTINUATIONS = "Sema doesn't support first-class continuations; use 'try'/'throw' for control flow"
TYPE = "Sema uses 'type' to get the type of a value"

DIALECTS: dict[str, str] = {
    "setq": SET,
    "setf": SET,
    "progn": "Sema uses 'begin' to sequence expressions",
    "funcall": "In Sema, functions are called directly: (f arg ...)",
    "mapcar": "Sema uses 'map' to apply a function to each element",
    "loop": "Sema uses 'do' or 'while' for iteration, or tail recursion",
    "princ": PRINT,
    "prin1": PRINT,
    "format-string": "Sema uses 'format' with ~a (display) and ~s (write) directives",
    "defvar": DEFINE,
    "defparameter": DEFINE,
    "labels": LETREC,
    "flet": LETREC,
    "block": SEQUENCING,
    "return-from": SEQUENCING,
    "multiple-value-bind": "Sema uses destructuring 'let' for multiple return values",
    "typep": TYPE,
    "type-of": TYPE,
    "atom": "Sema is single-threaded; use 'define' for mutable state with 'set!'",
    "swap!": "Sema is single-threaded; use 'set!' for mutation",
    "deref": "Sema uses 'force' to evaluate delayed/promised values",
    "into": "Use type-specific conversions like 'list->vector' or 'vector->list'",
    "conj": "Sema uses 'cons' to prepend and 'append' to add to the end",
    "some": "Sema uses 'any' to test if any element matches a predicate",
    "not=": "Use (not (equal? a b)) for inequality in Sema",
    "syntax-case": "Sema supports 'define-syntax' with 'syntax-rules', or use 'defmacro'",
    "call/cc": CONTINUATIONS,
    "call-with-current-continuation": CONTINUATIONS,
    "string-contains": "Sema uses 'string/contains?' (slash-namespaced, with '?')",
    "hash-set!": "Sema maps are immutable; use 'assoc' to create an updated copy",
    "with-exception-handler": "Sema uses 'try'/'catch', 'throw'/'raise', and 'guard' for exception handling",
}

# Short names that the reference lacks. They are never proposed: it proposes nothing there, and `spit` is no `split`.
SHORTHAND = {
    "avg", "avg-by", "blank?", "capitalize", "count-by", "distinct-by", "ends-with?", "includes?", "index-by",
    "index-of", "join", "keep", "lower", "lower-case", "mapcat", "max-by", "min-by", "pluck", "replace", "split",
    "split-lines", "starts-with?", "sum", "sum-by", "trim", "upper", "upper-case",
}  # fmt: skip


def for_unbound(name: str, program_names: Iterable[str] = ()) -> str | None:
    """The hint below `Unbound variable: NAME`. program_names: what the program defines, in order of definition.

    Names that the reference's browser build lacks are proposed where it has nothing to propose.
    """
    from sema_runtime.reference_names import NAMES

    advice = DIALECTS.get(name)
    if advice is not None:
        return advice
    near = nearest(name, dict.fromkeys([*NAMES, *program_names]))
    near = near or nearest(name, [other for other in _builtins() if other not in SHORTHAND])
    return f"Did you mean '{near}'?" if near is not None else None


def visible_names(program_names: Iterable[str] = ()) -> list[str]:
    """Every name a program can use."""
    from sema_runtime.reference_names import NAMES

    return list(dict.fromkeys([*NAMES, *program_names, *_builtins()]))


def _builtins() -> list[str]:
    from sema_runtime.catalogue_index import INDEX

    return [name for name in INDEX if not name.startswith("__")]


def nearest(name: str, candidates: Iterable[str]) -> str | None:
    """The first candidate at the smallest edit distance from name, which is 1 to a third of its length (at most 3)."""
    limit = max(1, min(3, len(name) // 3))
    best = None
    for candidate in candidates:
        if abs(len(candidate) - len(name)) <= limit:
            found = distance(name, candidate, limit)
            if 0 < found <= limit:
                best, limit = candidate, found - 1
                if limit == 0:
                    break
    return best


def distance(a: str, b: str, limit: int) -> int:
    """The Levenshtein distance of two texts; some number above limit when it is above limit."""
    previous = list(range(len(b) + 1))
    for row, char in enumerate(a, 1):
        current = [row]
        for column, other in enumerate(b):
            current.append(min(previous[column + 1] + 1, current[column] + 1, previous[column] + (char != other)))
        if min(current) > limit:
            return limit + 1
        previous = current
    return previous[-1]
