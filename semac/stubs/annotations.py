"""Inferred types as Python's type checkers read them. Where a type isn't certain stands `Any`, which raises no alarm.

Names of Python carry a mark, since a module may have other things of the same names: `resolved` takes it away.
"""

from __future__ import annotations

import re

from semac.types.lattice import (
    ANY,
    BOOL,
    CHAR,
    DICT,
    FLOAT,
    FN,
    INT,
    KEYWORD,
    LIST,
    NIL,
    NUMBER,
    OTHER,
    RATIO,
    RECORD,
    STR,
    SYMBOL,
    VECTOR,
    Type,
)

MARK = "\ue000"  # before each name of Python
MARKED = re.compile(MARK + r"(\w+)")
ANYTHING = f"{MARK}Any"
RECORD_CLASS = f"{MARK}Record"
MOST_ITEMS = 6  # of a tuple whose items are told one by one
MAX_DEPTH = 2  # of containers in containers
ATOMS = {BOOL: "bool", STR: "str", CHAR: "Char", KEYWORD: "Keyword", SYMBOL: "Symbol"}
IMPORTS = {  # what a name in an annotation takes to be imported
    "Any": "typing",
    "Callable": "collections.abc",
    "Char": "sema_runtime.values.atoms",
    "Fraction": "fractions",
    "Keyword": "sema_runtime.values.atoms",
    "Record": "sema_runtime.values.records",
    "Symbol": "sema_runtime.values.atoms",
}


def annotation(type_: Type | None, classes: dict[str, str], depth: int = 0) -> str:
    """The annotation of a value of a type. classes: the names of the classes of record types, by the type's name.

    Of a union only nil and one more kind are told: inference takes in what a program never lets happen, and a checker
    would ask about each part. What may be nil is `T | Any`: its uses are those of T, and no test for None is asked for.
    """
    if type_ is None or not type_.tags or type_ is ANY or type_.tags & OTHER:
        return ANYTHING
    rest = type_.tags & ~NIL
    if not rest:
        return "None"
    shown = _kind(type_, rest, classes, depth)
    if shown == ANYTHING or not type_.tags & NIL:
        return shown
    return f"{shown} | {ANYTHING}"


def _kind(type_: Type, tags: int, classes: dict[str, str], depth: int) -> str:
    if not tags & ~NUMBER:
        return _number(tags)
    for group, name in ATOMS.items():
        if not tags & ~group:
            return MARK + name
    if tags == FN:
        return f"{MARK}Callable[..., {ANYTHING}]"
    if tags == RECORD:
        return _record(type_, classes)
    if depth >= MAX_DEPTH:
        return ANYTHING
    if not tags & ~LIST:
        return f"{MARK}list[{annotation(type_.item, classes, depth + 1)}]"
    if tags == VECTOR:
        return _vector(type_, classes, depth + 1)
    if not tags & ~DICT:
        return _map(type_)
    return ANYTHING


def _number(tags: int) -> str:
    """Whole and floating numbers; a rational among others isn't told, since `float` doesn't take it in."""
    if not tags & ~INT:
        return f"{MARK}int"
    if not tags & ~(INT | FLOAT):
        return f"{MARK}float"
    return f"{MARK}Fraction" if tags == RATIO else ANYTHING


def _record(type_: Type, classes: dict[str, str]) -> str:
    if not type_.records or len(type_.records) != 1:
        return ANYTHING
    return classes.get(next(iter(type_.records)).name, ANYTHING)


def _vector(type_: Type, classes: dict[str, str], depth: int) -> str:
    if type_.vec is not None and len(type_.vec) <= MOST_ITEMS:
        items = [annotation(item, classes, depth) for item in type_.vec]
        return f"{MARK}tuple[{', '.join(items) or '()'}]"
    return f"{MARK}tuple[{annotation(type_.vitem, classes, depth)}, ...]"


def _map(type_: Type) -> str:
    """Python sees a keyword as the string of its name."""
    key = f"{MARK}str" if type_.key.only(KEYWORD) else ANYTHING
    return f"{MARK}dict[{key}, {ANYTHING}]"


def resolved(lines: list[str], taken: set[str]) -> tuple[list[str], list[str]]:
    """(lines with Python's names as the stub has them, the imports that they need). taken: names of the module."""
    used = {name for line in lines for name in MARKED.findall(line)}
    spelled = {name: f"_{name}" if name in taken else name for name in used}
    imports: dict[str, list[str]] = {}
    for name in sorted(used):
        if name in IMPORTS or name in taken:
            alias = name if spelled[name] == name else f"{name} as {spelled[name]}"
            imports.setdefault(IMPORTS.get(name, "builtins"), []).append(alias)
    heads = [f"from {module} import {', '.join(names)}" for module, names in sorted(imports.items())]
    return [MARKED.sub(lambda match: spelled[match[1]], line) for line in lines], heads
