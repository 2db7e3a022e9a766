"""Kinds of values, as the generator thinks of them: names (`int`) and tuples (`("list", "int")`).

A kind is a wish, not a promise: a program may have another value there, and now and then it has one on purpose.

    nat (small, for counting) int big float num ratio bool str char kw sym nil any stmt (for its effect)
    key (of a map), ord (what sort takes), bytes, farr and iarr (typed arrays)
    (list A) (vec A) (tup A B) (map K V) (arr A) (cell A) (promise A) (opt A) (fn A B result) (param A)
    (shape NAME) a map with fixed keys, (rec NAME) a record: a World knows their fields
"""

from __future__ import annotations

Kind = str | tuple["Kind", ...]

ATOMS = frozenset(
    [
        "nat",
        "int",
        "big",
        "float",
        "num",
        "ratio",
        "bool",
        "str",
        "char",
        "kw",
        "sym",
        "nil",
        "any",
        "stmt",
        "key",
        "ord",
        "text",
        "bytes",
        "farr",
        "iarr",
    ]
)
KEYS: tuple[Kind, ...] = ("int", "kw", "str", "int", "kw", "str", "char", "bool", "sym", "float", ("tup", "int", "int"))
ORDERED: tuple[Kind, ...] = ("int", "int", "str", "float", "kw")
NARROWER: dict[Kind, tuple[Kind, ...]] = {
    "int": ("nat",),
    "num": ("int", "int", "float", "nat"),
    "key": KEYS,
    "ord": ORDERED,
}
SORTS: dict[str, tuple[Kind, ...]] = {"K": KEYS, "O": ORDERED, "N": ("int", "int", "float", "num")}


def parse(text: str) -> Kind:
    """The kind that a text like `(list (opt A))` names. Raises ValueError for one that is no kind."""
    words = text.replace("(", " ( ").replace(")", " ) ").split()
    kind = _parse(words)
    if words:
        raise ValueError(f"no kind: {text}")
    return kind


def _parse(words: list[str]) -> Kind:
    word = words.pop(0)
    if word != "(":
        if word in ATOMS or is_variable(word):
            return word
        raise ValueError(f"no kind: {word}")
    head = words.pop(0)
    parts: list[Kind] = [head]
    while words[0] != ")":
        parts.append(_parse(words))
    words.pop(0)
    return tuple(parts)


def is_variable(kind: Kind) -> bool:
    """Whether a kind stands for another one in a template: any, or of a sort (K key, N number, O ordered, S shape,
    P record)."""
    return type(kind) is str and len(kind) == 1 and kind.isupper()


def may_be(variable: str, kind: Kind) -> bool:
    if variable in ("S", "P"):
        return type(kind) is tuple and kind[0] == ("shape" if variable == "S" else "rec")
    if variable in SORTS:
        return kind in SORTS[variable]
    return kind != "stmt"


def unify(pattern: Kind, kind: Kind, found: dict[str, Kind]) -> bool:
    """Whether a pattern with variables can be a kind; the variables are added to `found`."""
    if type(pattern) is str:
        if not is_variable(pattern):
            return pattern == kind
        return may_be(pattern, kind) and found.setdefault(pattern, kind) == kind
    if type(kind) is str or len(kind) != len(pattern) or kind[0] != pattern[0]:
        return False
    return all(unify(part, other, found) for part, other in zip(pattern[1:], kind[1:], strict=True))


def replaced(pattern: Kind, found: dict[str, Kind]) -> Kind:
    """A pattern with its variables replaced."""
    if type(pattern) is str:
        return found.get(pattern, pattern)
    return (pattern[0], *(replaced(part, found) for part in pattern[1:]))


def variables(pattern: Kind) -> set[str]:
    if type(pattern) is str:
        return {pattern} if is_variable(pattern) else set()
    return {name for part in pattern[1:] for name in variables(part)}


def fits(have: Kind, want: Kind) -> bool:
    """Whether a value of one kind will do where another is wanted."""
    if have == want or want == "any":
        return have not in ("stmt",)
    if type(want) is tuple and want[0] == "opt":
        return have == "nil" or fits(have[1] if have[0] == "opt" else have, want[1])
    if want in NARROWER:
        return any(fits(have, narrower) for narrower in set(NARROWER[want]))
    if type(have) is str or type(want) is str:
        return False
    if have[0] == "param" and want[0] == "fn":
        return len(want) == 2 and fits(have[1], want[1])
    if have[0] == "tup" and want[0] == "vec":
        return all(fits(part, want[1]) for part in have[1:])
    if have[0] == "shape" and want == ("map", "kw", "any"):
        return True
    if have[0] != want[0] or len(have) != len(want):
        return False
    if have[0] == "fn":
        same = all(fits(theirs, mine) for mine, theirs in zip(have[1:-1], want[1:-1], strict=True))
        return same and fits(have[-1], want[-1])
    if have[0] in ("shape", "rec", "arr", "cell"):
        return have == want
    return all(fits(part, other) for part, other in zip(have[1:], want[1:], strict=True))
