"""Templates of calls of builtins, made from their signatures and from scripts/signatures/call_arguments.txt."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path

from programs.kinds import Kind
from sema_runtime.catalogue_index import INDEX
from semac.types.signatures import Function, Name, Param, Signature, TypeExpr, Union, Variable, signatures_of

sys.path.insert(0, str(Path(__file__).parent.parent / "signatures"))

from call_arguments import CSV, DATES, JSON, PATCH, PATTERNS, SKIPPED, SKIPPED_FAMILIES, STAMPS, TOML, WANTED

# Letters of arguments for which there are words instead of expressions.
WORDS: dict[str, list[str]] = {
    "pattern": PATTERNS, "stamp": STAMPS, "date": DATES, "json": [json.dumps(text) for text in JSON],
    "csv": [json.dumps(text, ensure_ascii=False) for text in CSV], "toml": [json.dumps(text) for text in TOML],
    "patch": [PATCH, '"not a patch"'], "radix": ["2", "8", "10", "16"],
    "stream": ["(stream/byte-buffer)", '(stream/from-string "ab\\ncd")', "(stream/from-bytes #u8(1 2 255))"],
    "document": ['(document/create "some text" {:a 1})'], "form": ['"(NFC)"', '":nfc"'],
}  # fmt: skip
LETTERS = {
    "x": "~pattern~", "t": "~stamp~", "e": "~date~", "j": "~json~", "y": "~csv~", "o": "~toml~", "u": "~patch~",
    "r": "~radix~", "q": "~stream~", "D": "~document~", "b": "<bytes>", "d": "<farr>", "z": "<iarr>",
    "K": "<(list K)>", "C": "<(list char)>", "S": "<(list str)>", "I": "<(list int)>", "N": "<(list num)>",
    "L": "<(list (list A))>", "M": "<(list (map kw A))>", "A": "<(list (tup K A))>", "k": "<K>", "c": "<char>",
    "s": "<str>", "i": "<int>", "n": "<num>", "m": "<(map K A)>", "h": "<(map K A)>", "v": "<(arr A)>",
    "w": "<(cell A)>", "f": "<(fn A B)>", "g": "<(fn A B C)>", "p": "<(fn A bool)>", "l": "<(list A)>",
    "a": "<any>",
}  # fmt: skip
SPECIAL = frozenset("xtejyourqDbdz")  # letters that say more than signatures
NAMES: dict[str, Kind] = {
    "any": "any", "nil": "nil", "bool": "bool", "int": "int", "nat": "nat", "float": "float", "rational": "ratio",
    "number": "num", "str": "str", "char": "char", "keyword": "kw", "symbol": "sym", "bytevector": "bytes",
    "fn": ("fn", "A", "B"), "other": "any",
}  # fmt: skip
MOST = 4  # templates of one builtin
# Not drawn: what prints, waits, ends the program, or remembers something until the next program.
LEFT_OUT = SKIPPED | {"display", "print", "println", "pprint", "error", "assert", "assert=", "throw", "newline", "spy"}
LEFT_OUT_FAMILIES = (*SKIPPED_FAMILIES, "context/", "async/", "channel/", "term/", "secret/", "pii/", "redact/")


def names() -> list[str]:
    """The builtins of which calls are made."""
    known = {name for group in WANTED for name in group.split()}
    return sorted(
        name for name in known if name in INDEX and name not in LEFT_OUT and not name.startswith(LEFT_OUT_FAMILIES)
    )


def lines() -> Iterator[tuple[str, str]]:
    """(kind, template) of all of them."""
    letters = {name: wanted for group, wanted in WANTED.items() for name in group.split()}
    for name in names():
        for signature in signatures_of(name):
            yield from lines_of(name, signature, letters[name])


def lines_of(name: str, signature: Signature, wanted: str) -> Iterator[tuple[str, str]]:
    keys = key_letters(signature)
    slots = [slot(param, index, wanted, keys) for index, param in enumerate(signature.params)]
    makes = "".join(text_of(kind) for kind in kinds_of(signature.result, keys)[:1]) or "nil"
    if makes.isupper():
        makes = "A" if makes not in ("K", "N") else makes
    for number, texts in enumerate(product(*slots)):
        if number == MOST:
            break
        yield makes, f"({' '.join([name, *filter(None, texts)])})"


def slot(param: Param, index: int, wanted: str, keys: frozenset[str]) -> list[str]:
    """The holes for one parameter, one of which a template has."""
    plain = wanted.replace("?", "").replace("*", "")
    letter = plain[index] if index < len(plain) else ""
    if letter in SPECIAL or (letter in ("f", "g", "p") and not has_function(param.type)):
        holes = [LETTERS[letter]]
    else:
        holes = [f"<{text_of(kind)}>" for kind in kinds_of(param.type, keys) if kind != "any" or letter in ("", "a")]
        holes = holes or [LETTERS[letter]]
    if param.repeated:
        return [holes[0], "", f"{holes[-1]} {holes[0]}"]
    return [*holes, ""] if param.optional else holes


def has_function(type_: TypeExpr) -> bool:
    parts = type_.parts if type(type_) is Union else (type_,)
    return any(type(part) is Function for part in parts)


def key_letters(signature: Signature) -> frozenset[str]:
    """The variables that stand for keys of maps."""
    found: set[str] = set()
    work: list[TypeExpr] = [*(param.type for param in signature.params), signature.result]
    while work:
        type_ = work.pop()
        if type(type_) is Name:
            if type_.name in ("map", "hashmap", "dict") and type_.args and type(type_.args[0]) is Variable:
                found.add(type_.args[0].letter)
            work += type_.args
        elif type(type_) is Function:
            work += [*type_.params, type_.result]
        elif type(type_) is Union:
            work += type_.parts
    return frozenset(found)


def kinds_of(type_: TypeExpr, keys: frozenset[str]) -> list[Kind]:
    """The kinds of values of a type, the most common ones first."""
    inner = lambda part: kinds_of(part, keys)[0] if kinds_of(part, keys) else "any"  # noqa: E731
    if type(type_) is Union:
        return [kind for part in type_.parts for kind in kinds_of(part, keys)[:1]]
    if type(type_) is Variable:
        return ["K" if type_.letter in keys else type_.letter.upper()]
    if type(type_) is Function:
        return [("fn", *map(inner, type_.params), inner(type_.result))]
    assert type(type_) is Name
    args = [inner(part) for part in type_.args]
    if type_.name in ("list", "seq", "vector", "array"):
        heads = {"list": ("list",), "seq": ("list", "vec"), "vector": ("vec",), "array": ("arr",)}[type_.name]
        item = args[0] if args and args[0] != "any" else "A"
        return [(head, item) for head in heads]
    if type_.name in ("map", "hashmap", "dict"):
        key, value = args or ("K", "A")
        return [("map", "K" if key == "any" else key, value if value != "any" else "A")]
    known = NAMES.get(type_.name)
    return [] if known is None else [known]


def text_of(kind: Kind) -> str:
    return kind if type(kind) is str else f"({' '.join(map(text_of, kind))})"


@cache
def values() -> list[tuple[Kind, str]]:
    """Builtins as functions: their kinds with variables, and their names."""
    found: list[tuple[Kind, str]] = []
    for name in names():
        for signature in signatures_of(name):
            keys = key_letters(signature)
            params = [param for param in signature.params if not param.optional]
            if not params or len(params) > 2 or name.endswith("!"):
                continue
            kinds = [kinds_of(param.type, keys)[:1] for param in params]
            result = kinds_of(signature.result, keys)[:1]
            if all(kinds) and result:
                found.append((("fn", *(kind for (kind,) in kinds), result[0]), name))
    return found
