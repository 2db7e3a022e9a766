"""Advice for names that aren't bound: what other languages call differently, and the nearest name that is bound."""

from __future__ import annotations

import re

from sema_runtime.conditions.name_tables import dialects, habits, reference_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable

# Short names that the reference lacks. They are never proposed: it proposes nothing there, and `spit` is no `split`.
SHORTHAND = {
    "avg", "avg-by", "blank?", "capitalize", "count-by", "distinct-by", "ends-with?", "includes?", "index-by",
    "index-of", "join", "keep", "lower", "lower-case", "mapcat", "max-by", "min-by", "pluck", "replace", "split",
    "split-lines", "starts-with?", "sum", "sum-by", "trim", "upper", "upper-case",
}  # fmt: skip


# What stands before the `/` or `.` of a foreign name → the families of names here that may have its last part.
FAMILIES = {
    "array": ("list", "vector"), "clojure.core": ("",), "clojure.set": ("list",), "clojure.string": ("string",),
    "coll": ("list",), "dict": ("map",), "dir": ("file", "path"), "fs": ("file", "path"), "hash": ("map",),
    "hash-map": ("map",), "hash-table": ("map",), "hashmap": ("map",), "io": ("file",), "json": ("json",),
    "Math": ("math",), "number": ("math",), "os": ("sys", "file"), "os.path": ("path", "file"), "path": ("file",),
    "file": ("path",), "re": ("regex",), "regexp": ("regex",), "seq": ("list",), "set": ("list",), "str": ("string",),
    "system": ("sys",), "text": ("string",), "vec": ("list", "vector"), "vector": ("list",),
}  # fmt: skip
BARE = ("string", "list", "map", "math", "file", "path", "regex", "time", "json", "async")  # families of short names
# Special forms that programs try to pass as values, and a function around each.
FORM_VALUES = {
    "and": "(fn (a b) (and a b))", "or": "(fn (a b) (or a b))", "if": "(fn (test a b) (if test a b))",
    "force": "(fn (x) (force x))", "await": "(fn (task) (await task))",
    "eval": "(fn (form) (eval form))", "throw": "(fn (x) (throw x))", "delay": "(fn (x) (delay x))",
    "macroexpand": "(fn (form) (macroexpand form))",
}  # fmt: skip
COMMA = 'a comma is unquote, for use inside of `(...); spaces alone stand between arguments: (println "x" "y")'
COMMAS = {"unquote": COMMA, "unquote-splicing": COMMA}
SHORTEST = 4  # letters of a name for which a neighbour is proposed
STEADY = 5  # letters up to which a neighbour has the same first one: `test` is no `rest`


def for_unbound(name: str, program_names: Iterable[str] = ()) -> str | None:
    """The hint below `Unbound variable: NAME`. program_names: the names that the program defines, in order.

    In this order: the reference's own advice, a name of the program that differs in one letter, the Sema form of
    another language's name, the same words in another spelling, the nearest name. No advice is better than a
    far-fetched one.
    """
    advice = COMMAS.get(name) or dialects().get(name)
    if advice is not None:
        return advice
    wrapped = FORM_VALUES.get(name)
    if wrapped is not None:
        return f"'{name}' is a special form, not a value; pass {wrapped}"
    own = list(dict.fromkeys(program_names))
    slip = nearest(name, own, 1)
    if slip is not None:
        return f"Did you mean '{slip}'?"
    advice = foreign(name)
    if advice is not None:
        return advice
    near = respelled(name, own) or _nearest_of_all(name, own)
    return f"Did you mean '{near}'?" if near is not None else _python_advice(name)


def foreign(name: str) -> str | None:
    """The Sema form of another language's name, as advice; None for an unknown name."""
    snippet = habits().get(name)
    return dialects().get(name) or (f"Sema has no '{name}'; write {snippet}" if snippet is not None else None)


def _nearest_of_all(name: str, program_names: list[str]) -> str | None:
    """The nearest name of the reference or the program, else of the other builtins."""
    near = nearest(name, dict.fromkeys([*reference_names(), *program_names]))
    return near or nearest(name, [other for other in _builtins() if other not in SHORTHAND])


def respelled(name: str, program_names: Iterable[str] = ()) -> str | None:
    """The bound name that is the same in another spelling: `to_upper`, `isEmpty`, `stringp`, `str/join`, `list/map`."""
    bound = {*visible_names(program_names)}
    dashed = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "-", name).replace("_", "-").lower()
    words = dashed.replace(".", "/") if not dashed.startswith(".") else dashed
    spellings = [dashed, words, *_slashed(words)]
    family, slash, last = words.rpartition("/")
    if slash:
        known = FAMILIES.get(family, ())
        spellings += [f"{other}/{last}" if other else last for other in known]
        spellings += [f"{family}-{last}", *([last] if known or family in BARE else [])]
    else:
        spellings += [f"{other}/{last}" for other in BARE]
    for spelling in spellings:
        for variant in _predicates(spelling):
            if variant in bound and variant != name and len(variant) > 1:
                return variant
    return None


def _slashed(words: str) -> list[str]:
    """`http-get` → `http/get`: each dash in turn as the end of the family."""
    parts = words.split("-")
    return ["-".join(parts[:at]) + "/" + "-".join(parts[at:]) for at in range(1, len(parts))]


def _predicates(name: str) -> list[str]:
    """A name, and the same as a predicate or without the mark of one: `emptyp`, `is-empty` → `empty?`."""
    plain = name.rstrip("?!")
    asked = [plain.removeprefix("is-") + "?"]
    if plain.endswith("p") and len(plain) > 3:
        asked += [plain[:-1] + "?", plain.removesuffix("-p") + "?"]
    return [name, plain, *asked] if plain.startswith("is-") or plain != name else [name, *asked]


def _python_advice(name: str) -> str | None:
    """Advice for the `object.method` of Python and JavaScript."""
    owner, dot, member = name.rpartition(".")
    if not dot or not all(part.isidentifier() for part in name.replace("-", "_").split(".")):
        return None
    return (
        f"a method is called as (.{member} {owner}), an attribute read as (.-{member} {owner}); "
        f'a Python module is imported first: (py/import "{owner}")'
    )


def visible_names(program_names: Iterable[str] = ()) -> list[str]:
    """Every name a program can use."""
    return list(dict.fromkeys([*reference_names(), *program_names, *_builtins()]))


def _builtins() -> list[str]:
    from sema_runtime.catalogue_index import INDEX

    return [name for name in INDEX if not name.startswith("__")]


def nearest(name: str, candidates: Iterable[str], most: int = 3) -> str | None:
    """The first candidate at the smallest edit distance from name, which is 1 to a third of its length (at most 3).

    The only neighbours of a name shorter than SHORTEST are words with its letters in another order: too many others are
    that near. A candidate without letters is no neighbour of a name.
    """
    if len(name) < SHORTEST:
        return next((other for other in candidates if other != name and sorted(other) == sorted(name)), None)
    limit = max(1, min(most, len(name) // 3))
    best = None
    for candidate in candidates:
        if abs(len(candidate) - len(name)) <= limit and _is_comparable(name, candidate):
            edits = distance(name, candidate, limit)
            if 0 < edits <= limit:
                best, limit = candidate, edits - 1
                if limit == 0:
                    break
    return best


def _is_comparable(name: str, candidate: str) -> bool:
    if len(name) <= STEADY and name[0] != candidate[0]:
        return False
    return len(candidate) > 1 and any(char.isalpha() for char in candidate)


def distance(a: str, b: str, limit: int) -> int:
    """The Levenshtein distance of two texts; any number above limit when it is larger than limit."""
    previous = list(range(len(b) + 1))
    for row, char in enumerate(a, 1):
        current = [row]
        for column, other in enumerate(b):
            current.append(min(previous[column + 1] + 1, current[column] + 1, previous[column] + (char != other)))
        if min(current) > limit:
            return limit + 1
        previous = current
    return previous[-1]
