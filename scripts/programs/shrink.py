"""Reduces a program that fails to few small forms that still fail in the same way."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from sema_runtime.values.atoms import Symbol, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.syntax.reader import read_program

Failing = Callable[[list[str]], int | None]  # the index of the first program of several that still fails
ATOMS: tuple[Any, ...] = (1, None, List([symbol("quote"), List([])]))
SECONDS = 60.0
BATCH = 40  # programs that are tried at once
NUMBERED = re.compile(r"(?<![\w:.\"\\-])[a-z]+\d+(?![\w])")
QUOTE = symbol("quote")


def one_by_one(fails: Callable[[str], bool]) -> Failing:
    """What asks for each program alone."""
    return lambda texts: next((index for index, text in enumerate(texts) if fails(text)), None)


def shrunk(source: str, failing: Failing, seconds: float = SECONDS) -> str:
    """A program like `source` that fails, too, as short as can be found in some seconds."""
    try:
        forms = list(read_program(source))
    except SemaError:
        return source
    search = Search(failing, time.monotonic() + seconds)
    if failing([text_of(forms)]) is None:
        return source
    while True:
        before = text_of(forms)
        forms = search.without_forms(forms)
        forms = search.with_smaller_forms(forms)
        if text_of(forms) == before or search.is_over:
            return renamed(text_of(forms), failing)


class Search:
    """A search for smaller programs that ends at a time."""

    def __init__(self, failing: Failing, end: float) -> None:
        self.failing = failing
        self.end = end

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.end

    def first(self, programs: list[list[Any]]) -> list[Any] | None:
        """The first of several programs that still fails."""
        for start in range(0, len(programs), BATCH):
            if self.is_over:
                return None
            batch = programs[start : start + BATCH]
            found = self.failing(list(map(text_of, batch)))
            if found is not None:
                return batch[found]
        return None

    def without_forms(self, forms: list[Any]) -> list[Any]:
        """Leaves out top-level forms: half of them, a quarter, ... one."""
        size = max(1, len(forms) // 2)
        while True:
            fewer = self.first([forms[:start] + forms[start + size :] for start in range(0, len(forms), size)])
            if fewer is not None:
                forms = fewer
            elif size == 1:
                return forms
            else:
                size //= 2

    def without_items(self, forms: list[Any], index: int) -> list[Any]:
        """Leaves out items of one form: half of them, a quarter, ... one."""
        while type(forms[index]) is List:
            items = list(forms[index])
            found = self.first([[*forms[:index], List(rest), *forms[index + 1 :]] for rest in without_parts(items, 1)])
            if found is None:
                break
            forms = found
        return forms

    def with_smaller_forms(self, forms: list[Any]) -> list[Any]:
        """Replaces parts of forms by parts of them or by atoms, the largest gains first."""
        for index in range(len(forms)):
            forms = self.without_items(forms, index)
            while True:
                candidates = sorted(set_of(smaller(forms[index])), key=lambda form: len(written(form)))
                found = self.first([[*forms[:index], form, *forms[index + 1 :]] for form in candidates])
                if found is None:
                    break
                forms = found
        return forms


def text_of(forms: list[Any]) -> str:
    return "\n".join(map(written, forms))


def written(form: Any) -> str:
    """The text of a form, quotes in short."""
    if type(form) is List:
        if len(form) == 2 and form.items[0] is QUOTE:
            return "'" + written(form.items[1])
        return f"({' '.join(map(written, form))})"
    if type(form) is tuple:
        return f"[{' '.join(map(written, form))}]"
    if type(form) is Map:
        return f"{{{' '.join(f'{written(key)} {written(value)}' for key, value in form.pairs())}}}"
    if type(form) is float and not math.isfinite(form):
        return "nan" if math.isnan(form) else "inf" if form > 0 else "-inf"
    return to_text(form)


def set_of(forms: Iterator[Any]) -> list[Any]:
    """The forms without those that are written alike."""
    return list({written(form): form for form in forms}.values())


def smaller(form: Any) -> Iterator[Any]:
    """Forms that are made from a form by one reduction somewhere in it."""
    parts = list(parts_of(form))
    yield from (part for part in parts if type(part) in (List, tuple, Map))
    if parts or type(form) is str:
        yield from (atom for atom in ATOMS if len(written(atom)) < len(written(form)))
    if type(form) in (List, tuple):
        items = list(form)
        yield from (made(form, rest) for rest in without_parts(items))
        for index, item in enumerate(items):
            yield made(form, items[:index] + items[index + 1 :])
            if index == 0 and isinstance(item, Symbol):
                continue
            for other in smaller(item):
                yield made(form, [*items[:index], other, *items[index + 1 :]])
            if isinstance(item, Symbol):
                yield made(form, [*items[:index], 1, *items[index + 1 :]])
    elif type(form) is Map:
        pairs = list(form.pairs())
        for index, (key, value) in enumerate(pairs):
            yield Map.of(pairs[:index] + pairs[index + 1 :])
            for other in smaller(value):
                yield Map.of([*pairs[:index], (key, other), *pairs[index + 1 :]])
    elif type(form) is int and form not in (0, 1):
        yield from (0, 1)


def without_parts(items: list[Any], least: int = 2) -> Iterator[list[Any]]:
    """The items of a form without a half of them, a quarter, ... the least number."""
    size = len(items) // 2
    while size >= least:
        for start in range(1, len(items), size):
            yield items[:start] + items[start + size :]
        size //= 2


def made(form: Any, items: list[Any]) -> Any:
    return List(items) if type(form) is List else tuple(items)


def parts_of(form: Any) -> Iterator[Any]:
    if type(form) in (List, tuple):
        yield from form
    elif type(form) is Map:
        yield from (value for _, value in form.pairs())


def renamed(text: str, failing: Failing) -> str:
    """The program with names that have no numbers, where that changes nothing."""
    for name in sorted(set(NUMBERED.findall(text)), key=len, reverse=True):
        shorts = [name.rstrip("0123456789"), name[0], *"abcdfghxyz"]
        free = [short for short in shorts if not re.search(rf"(?<![\w-]){re.escape(short)}(?![\w-])", text)]
        others = [re.sub(rf"(?<![\w:.\"\\-]){name}(?![\w])", short, text) for short in free[:3]]
        found = failing(others) if others else None
        if found is not None:
            text = others[found]
    return text
