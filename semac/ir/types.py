"""The type of a value as a mask of bits, with the mask of its elements 64 bits higher.

Joining two facts is `|`. ANY is every tag; 0 means "no value reaches here yet" while inference runs.

Above the tags stand the rows of a vector: one bit for each vector written out in the unit from which the value may
come, and one, UNKNOWN_ROW, for "from elsewhere". So what a function returns as `[a b]` is known to have two items, and
of which types (`passes/inference.py` keeps those).
"""

from __future__ import annotations

INT, FLOAT, OTHER_NUMBER, STR, BOOL, NIL, KEYWORD, SYMBOL = (1 << i for i in range(8))
CHAR, LIST, VECTOR_TAG, MAP, FUNCTION, OTHER = (1 << i for i in range(8, 14))
UNKNOWN_ROW = 1 << 14
VECTOR = VECTOR_TAG | UNKNOWN_ROW
NUMBER = INT | FLOAT | OTHER_NUMBER
REAL = INT | FLOAT
TAGS = (1 << 14) - 1
FIRST_ROW, MOST_ROWS = 15, 49
LEVEL = (1 << 64) - 1  # the bits of a value itself
ELEMENTS = 64
ANY_ELEMENTS = (TAGS | UNKNOWN_ROW) << ELEMENTS
ANY = TAGS | UNKNOWN_ROW | ANY_ELEMENTS
SEQUENCE = LIST | VECTOR
PLAIN_KEYS = INT | STR | KEYWORD | SYMBOL | CHAR | NIL  # maps store a key of these as it is

BY_NAME = {
    "int": INT, "float": FLOAT, "number": NUMBER, "string": STR, "bool": BOOL, "nil": NIL, "keyword": KEYWORD,
    "symbol": SYMBOL, "char": CHAR,
    "list": LIST | ANY_ELEMENTS, "vector": VECTOR | ANY_ELEMENTS, "map": MAP | ANY_ELEMENTS,
    "hashmap": MAP | ANY_ELEMENTS, "function": FUNCTION, "any": ANY, "real": REAL,
}  # fmt: skip


def parse(text: str) -> int:
    """`int|nil`, `list[string]` → mask; what it doesn't know is ANY."""
    known = BY_NAME.get(text)
    if known is not None:
        return known
    mask = 0
    for part in text.split("|"):
        outer, bracket, inner = part.partition("[")
        if bracket:
            mask |= sequence_of(BY_NAME.get(outer, ANY) & LEVEL, parse(inner.rstrip("]")))
        else:
            mask |= BY_NAME.get(part.strip(), ANY)
    return mask


def sequence_of(tag: int, element: int) -> int:
    return tag | (element & LEVEL) << ELEMENTS


def element(mask: int) -> int:
    """The type of an element, or of a map's values; what its elements hold is unknown."""
    inner = mask >> ELEMENTS & LEVEL
    return inner | ANY_ELEMENTS if inner & (SEQUENCE | MAP) else inner


def rows(mask: int) -> list[int] | None:
    """The numbers of the written vectors that a value may come from; None unless it surely comes from one of them."""
    if mask & TAGS != VECTOR_TAG or mask & UNKNOWN_ROW:
        return None
    bits = (mask & LEVEL) >> FIRST_ROW
    return [number for number in range(bits.bit_length()) if bits >> number & 1]


def only(mask: int, allowed: int) -> bool:
    """Whether a value surely has one of the allowed tags."""
    tags = mask & TAGS
    return tags != 0 and tags & ~allowed == 0


def show(mask: int) -> str:
    """For dumps: `int|nil`, `list[int]`."""
    if mask & TAGS == TAGS:
        return "any"
    names = (
        "int", "float", "rational", "str", "bool", "nil", "keyword", "symbol", "char", "list", "vector", "map", "fn",
        "other",
    )  # fmt: skip
    text = "|".join(name for i, name in enumerate(names) if mask >> i & 1)
    inner = mask >> ELEMENTS & TAGS
    return f"{text}[{show(inner)}]" if inner and inner != TAGS else text or "never"
