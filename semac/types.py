"""What the compiler knows of a value's type: a mask of bits, with the mask of its elements 16 bits higher.

Joining two facts is `|`. ANY is every bit; 0 means "no value reaches here yet" while inference runs.
"""

from __future__ import annotations

INT, FLOAT, OTHER_NUMBER, STR, BOOL, NIL, KEYWORD, SYMBOL = (1 << i for i in range(8))
CHAR, LIST, VECTOR, MAP, FUNCTION, OTHER = (1 << i for i in range(8, 14))
NUMBER = INT | FLOAT | OTHER_NUMBER
REAL = INT | FLOAT
TAGS = (1 << 14) - 1
ELEMENTS = 16
ANY = TAGS | TAGS << ELEMENTS
SEQUENCE = LIST | VECTOR

BY_NAME = {
    "int": INT, "float": FLOAT, "number": NUMBER, "string": STR, "bool": BOOL, "nil": NIL, "keyword": KEYWORD,
    "symbol": SYMBOL, "char": CHAR,
    "list": LIST | TAGS << ELEMENTS, "vector": VECTOR | TAGS << ELEMENTS, "map": MAP | TAGS << ELEMENTS,
    "hashmap": MAP | TAGS << ELEMENTS, "function": FUNCTION, "any": ANY, "real": REAL,
}  # fmt: skip


def parse(text: str) -> int:
    """`int|nil`, `list[string]` → mask; what it doesn't know is ANY."""
    found = BY_NAME.get(text)
    if found is not None:
        return found
    mask = 0
    for part in text.split("|"):
        outer, bracket, inner = part.partition("[")
        if bracket:
            mask |= (BY_NAME.get(outer, ANY) & TAGS) | (parse(inner.rstrip("]")) & TAGS) << ELEMENTS
        else:
            mask |= BY_NAME.get(part.strip(), ANY)
    return mask


def sequence_of(tag: int, element: int) -> int:
    return tag | (element & TAGS) << ELEMENTS


def element(mask: int) -> int:
    """The type of an element, or of a map's values; what the elements hold in turn is unknown."""
    inner = mask >> ELEMENTS & TAGS
    return inner | TAGS << ELEMENTS if inner & (SEQUENCE | MAP) else inner


def only(mask: int, allowed: int) -> bool:
    """Whether a value surely has one of the allowed tags."""
    tags = mask & TAGS
    return tags != 0 and tags & ~allowed == 0


def show(mask: int) -> str:
    """For dumps: `int|nil`, `list[int]`."""
    if mask & TAGS == TAGS:
        return "any"
    names = [
        "int",
        "float",
        "rational",
        "str",
        "bool",
        "nil",
        "keyword",
        "symbol",
        "char",
        "list",
        "vector",
        "map",
        "fn",
        "other",
    ]
    text = "|".join(name for i, name in enumerate(names) if mask >> i & 1)
    inner = mask >> ELEMENTS & TAGS
    return f"{text}[{show(inner)}]" if inner and inner != TAGS else text or "never"
