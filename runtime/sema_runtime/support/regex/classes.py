"""Sets of code points for the regex translator: sorted lists of (first, last), and Unicode properties as such lists.

`limit` is the last code point that matters: 127 for ASCII texts, which keeps sets tiny, else 0x10FFFF.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from functools import cache, lru_cache

Ranges = list[tuple[int, int]]
ASCII = 0x7F
UNICODE = 0x10FFFF

POSIX = {
    "alnum": "0-9A-Za-z", "alpha": "A-Za-z", "ascii": "\x00-\x7f", "blank": "\t-\t - ",
    "cntrl": "\x00-\x1f\x7f-\x7f", "digit": "0-9", "graph": "!-~", "lower": "a-z", "print": " -~",
    "punct": "!-/:-@[-`{-~", "space": "\t-\r - ", "upper": "A-Z", "word": "0-9A-Z_-_a-z", "xdigit": "0-9A-Fa-f",
}  # fmt: skip
SPACE = "\t-\r -\x20\x85-\x85\xa0-\xa0\u1680-\u1680\u2000-\u200a\u2028-\u2029\u202f-\u202f\u205f-\u205f\u3000-\u3000"
CIRCLED = [(0x24B6, 0x24E9), (0x1F130, 0x1F149), (0x1F150, 0x1F169), (0x1F170, 0x1F189)]
EMOJI = (
    "#-#*-*0-9\xa9-\xa9\xae-\xae\u203c-\u203c\u2049-\u2049\u2122-\u2122\u2139-\u2139\u2194-\u2199\u21a9-\u21aa\u231a-\u231b"
    "\u2328-\u2328\u23cf-\u23cf\u23e9-\u23f3\u23f8-\u23fa\u24c2-\u24c2\u25aa-\u25ab\u25b6-\u25b6\u25c0-\u25c0\u25fb-\u25fe"
    "\u2600-\u2604\u260e-\u260e\u2611-\u2611\u2614-\u2615\u2618-\u2618\u261d-\u261d\u2620-\u2620\u2622-\u2623\u2626-\u2626"
    "\u262a-\u262a\u262e-\u262f\u2638-\u263a\u2640-\u2640\u2642-\u2642\u2648-\u2653\u265f-\u2660\u2663-\u2663\u2665-\u2666"
    "\u2668-\u2668\u267b-\u267b\u267e-\u267f\u2692-\u2697\u2699-\u2699\u269b-\u269c\u26a0-\u26a1\u26a7-\u26a7\u26aa-\u26ab"
    "\u26b0-\u26b1\u26bd-\u26be\u26c4-\u26c5\u26c8-\u26c8\u26ce-\u26cf\u26d1-\u26d1\u26d3-\u26d4\u26e9-\u26ea\u26f0-\u26f5"
    "\u26f7-\u26fa\u26fd-\u26fd\u2702-\u2702\u2705-\u2705\u2708-\u270d\u270f-\u270f\u2712-\u2712\u2714-\u2714\u2716-\u2716"
    "\u271d-\u271d\u2721-\u2721\u2728-\u2728\u2733-\u2734\u2744-\u2744\u2747-\u2747\u274c-\u274c\u274e-\u274e\u2753-\u2755"
    "\u2757-\u2757\u2763-\u2764\u2795-\u2797\u27a1-\u27a1\u27b0-\u27b0\u27bf-\u27bf\u2934-\u2935\u2b05-\u2b07\u2b1b-\u2b1c"
    "\u2b50-\u2b50\u2b55-\u2b55\u3030-\u3030\u303d-\u303d\u3297-\u3297\u3299-\u3299\U0001f004-\U0001f004\U0001f0cf-\U0001f0cf"
    "\U0001f170-\U0001f171\U0001f17e-\U0001f17f\U0001f18e-\U0001f18e\U0001f191-\U0001f19a\U0001f1e6-\U0001f1ff"
    "\U0001f201-\U0001f202\U0001f21a-\U0001f21a\U0001f22f-\U0001f22f\U0001f232-\U0001f23a\U0001f250-\U0001f251"
    "\U0001f300-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
CATEGORIES = {
    "letter": "L", "casedletter": "LC", "uppercaseletter": "Lu", "lowercaseletter": "Ll",
    "titlecaseletter": "Lt", "modifierletter": "Lm", "otherletter": "Lo", "mark": "M", "combiningmark": "M",
    "nonspacingmark": "Mn", "spacingmark": "Mc", "enclosingmark": "Me", "number": "N", "decimalnumber": "Nd",
    "digit": "Nd", "letternumber": "Nl", "othernumber": "No", "punctuation": "P", "punct": "P",
    "connectorpunctuation": "Pc", "dashpunctuation": "Pd", "openpunctuation": "Ps", "closepunctuation": "Pe",
    "initialpunctuation": "Pi", "finalpunctuation": "Pf", "otherpunctuation": "Po", "symbol": "S",
    "mathsymbol": "Sm", "currencysymbol": "Sc", "modifiersymbol": "Sk", "othersymbol": "So", "separator": "Z",
    "spaceseparator": "Zs", "lineseparator": "Zl", "paragraphseparator": "Zp", "other": "C", "control": "Cc",
    "cntrl": "Cc", "format": "Cf", "surrogate": "Cs", "privateuse": "Co", "unassigned": "Cn",
}  # fmt: skip
SCRIPTS = {
    "han": ("CJK UNIFIED", "CJK COMPATIBILITY IDEO", "CJK RADICAL", "KANGXI", "IDEOGRAPHIC ITERATION", "HANGZHOU"),
    "latin": ("LATIN ", "FULLWIDTH LATIN ", "FEMININE ORDINAL", "MASCULINE ORDINAL", "KELVIN SIGN", "ANGSTROM SIGN"),
}
SCRIPT_NAMES = frozenset((
    "arabic", "armenian", "balinese", "bengali", "bopomofo", "braille", "cherokee", "coptic", "cyrillic",
    "devanagari", "ethiopic", "georgian", "gothic", "greek", "gujarati", "gurmukhi", "han", "hangul", "hebrew",
    "hiragana", "kannada", "katakana", "khmer", "lao", "latin", "malayalam", "mongolian", "myanmar", "ogham",
    "oriya", "runic", "sinhala", "syriac", "tamil", "telugu", "thaana", "thai", "tibetan",
))  # fmt: skip


def ranges_of(text: str) -> Ranges:
    """Ranges written as text: first, any separator, last, one after another."""
    return [(ord(text[index]), ord(text[index + 2])) for index in range(0, len(text), 3)]


def union(*sets: Iterable[tuple[int, int]]) -> Ranges:
    """The ranges of all sets, sorted and merged."""
    merged: Ranges = []
    for first, last in sorted(pair for ranges in sets for pair in ranges):
        if merged and first <= merged[-1][1] + 1:
            if last > merged[-1][1]:
                merged[-1] = (merged[-1][0], last)
        else:
            merged.append((first, last))
    return merged


def negated(ranges: Ranges, limit: int) -> Ranges:
    """The code points outside of a sorted set."""
    out: Ranges = []
    start = 0
    for first, last in ranges:
        if first > start:
            out.append((start, first - 1))
        start = last + 1
    if start <= limit:
        out.append((start, limit))
    return out


def within(ranges: Ranges, limit: int) -> Ranges:
    """The part of a set up to limit."""
    return [(first, min(last, limit)) for first, last in ranges if first <= limit]


def intersection(left: Ranges, right: Ranges, limit: int) -> Ranges:
    """The code points in both sets."""
    return negated(union(negated(left, limit), negated(right, limit)), limit)


def combined(left: Ranges, operator: str, right: Ranges, limit: int) -> Ranges:
    """`&&`, `--` or `~~` of two sets."""
    if operator == "&&":
        return intersection(left, right, limit)
    if operator == "--":
        return intersection(left, negated(right, limit), limit)
    both = intersection(left, right, limit)
    return intersection(union(left, right), negated(both, limit), limit)


@cache
def _categories(limit: int) -> dict[str, Ranges]:
    """General category → ranges. Some 30 ms for all of Unicode, needed only for properties in non-ASCII texts."""
    categories: dict[str, Ranges] = {}
    parts = [range(128)] if limit == ASCII else [range(0x32400), range(0xE0000, 0xE0200)]
    for part in parts:
        start, before = part.start, unicodedata.category(chr(part.start))
        for code, kind in zip(part, map(unicodedata.category, map(chr, part)), strict=True):
            if kind != before:
                categories.setdefault(before, []).append((start, code - 1))
                start, before = code, kind
        categories.setdefault(before, []).append((start, part.stop - 1))
    if limit == UNICODE:
        categories["Co"] += [(0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)]
        categories["Cn"] += [(0x32400, 0xDFFFF), (0xE0200, 0xEFFFF), (0xFFFFE, 0xFFFFF), (0x10FFFE, 0x10FFFF)]
    return categories


def _category(prefix: str, limit: int) -> Ranges:
    if prefix == "LC":
        return union(*(_category(kind, limit) for kind in ("Lu", "Ll", "Lt")))
    return union(*(ranges for kind, ranges in _categories(limit).items() if kind.startswith(prefix)))


@lru_cache(64)
def word(limit: int) -> Ranges:
    """The code points that `\\w` matches: letters, marks, decimal digits, connectors, joiners."""
    if limit == ASCII:
        return ranges_of("0-9A-Z_-_a-z")
    kinds = [_category(kind, limit) for kind in ("L", "M", "Nd", "Nl", "Pc")]
    return union(*kinds, [(0x200C, 0x200D)], CIRCLED)


def digit(limit: int) -> Ranges:
    """The code points that `\\d` matches."""
    return _category("Nd", limit)


def space(limit: int) -> Ranges:
    """The code points that `\\s` matches."""
    return within(ranges_of(SPACE), limit)


@lru_cache(256)
def _script(name: str, limit: int) -> Ranges:
    prefixes = SCRIPTS.get(name, (name.upper() + " ",))
    names = (unicodedata.name(chr(code), "") for code in range(min(limit + 1, 0x32400)))
    return union([(code, code) for code, full in enumerate(names) if full.startswith(prefixes)])


def property_set(name: str, limit: int) -> Ranges | None:
    """The code points with a Unicode property, as written in `\\p{name}`; None when it isn't known."""
    key, _, value = name.replace(":", "=").partition("=")
    plain = "".join(char for char in (value or key).lower() if char.isalnum())
    if value and key.lower() in ("script", "sc", "scx", "scriptextensions", "script_extensions"):
        return _script(plain, limit) if plain in SCRIPT_NAMES else None
    if plain in CATEGORIES:
        return _category(CATEGORIES[plain], limit)
    short = (value or key).strip().capitalize() if plain != "lc" else "LC"
    if short in ("L", "M", "N", "P", "S", "Z", "C", "LC") or short in CATEGORIES.values():
        return _category(short, limit)
    if plain in SCRIPT_NAMES and not value:
        return _script(plain, limit)
    return _binary_property(plain, limit)


def _binary_property(plain: str, limit: int) -> Ranges | None:
    if plain == "any":
        return [(0, limit)]
    if plain == "ascii":
        return [(0, 127)]
    if plain == "assigned":
        return negated(_category("Cn", limit), limit)
    if plain in ("alphabetic", "alpha"):
        return union(_category("L", limit), _category("Nl", limit), within(CIRCLED, limit))
    if plain in ("uppercase", "upper"):
        return _category("Lu", limit)
    if plain in ("lowercase", "lower"):
        return _category("Ll", limit)
    if plain in ("whitespace", "wspace", "space"):
        return space(limit)
    return within(ranges_of(EMOJI), limit) if plain == "emoji" else None


def literal(char: str) -> str:
    """The piece of a pattern of `re` that matches one character."""
    return (
        char
        if char.isalnum() or char == "_"
        else "\\" + char
        if char.isascii() and char.isprintable()
        else _spelled(ord(char))
    )


def _spelled(code: int) -> str:
    if 48 <= code <= 57 or 65 <= code <= 90 or 97 <= code <= 122:
        return chr(code)
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}" if code < 65536 else f"\\U{code:08x}"


def rendered(ranges: Ranges, limit: int, negative: bool = False) -> str:
    """The character class of `re` for ranges."""
    ranges = within(ranges, limit)
    if not ranges:
        return "(?s:.)" if negative else "(?!)"
    if ranges == [(0, limit)]:
        return "(?!)" if negative else "(?s:.)"
    body = "".join(_spelled(a) if a == b else f"{_spelled(a)}-{_spelled(b)}" for a, b in ranges)
    return f"[{'^' if negative else ''}{body}]"
