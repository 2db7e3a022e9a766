"""What a task is: a question, and what the answer must be.

Answers are computed in Python from the data, so a task is right for any seed.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sema_runtime.box.suite.data import Shop

SINGLE, SEVERAL = 1, 6
CENT = 0.011


@dataclass(frozen=True, slots=True)
class Task:
    """answer: of the data. check: whether a value is that answer. turns: how many programs are allowed. plan: of the
    developer."""

    number: int
    question: str
    answer: Callable[[Shop], Any]
    check: Callable[[Any, Any], bool]
    turns: int = SINGLE
    plan: tuple[str, ...] = ()


def same(value: Any, wanted: Any) -> bool:
    """Equal; true is no 1."""
    return isinstance(value, bool) == isinstance(wanted, bool) and bool(value == wanted)


def near(value: Any, wanted: Any) -> bool:
    """A number within a cent of the one that is wanted."""
    return type(value) in (int, float) and abs(value - wanted) <= CENT


def members(value: Any, wanted: Any) -> bool:
    """A list with the same items, in any order."""
    return isinstance(value, list) and len(value) == len(wanted) and all(item in value for item in wanted)


def numbers(value: Any, wanted: Any) -> bool:
    """A map with the same keys, and numbers within a cent."""
    return (
        isinstance(value, dict)
        and {str(key) for key in value} == set(wanted)
        and all(near(number, wanted[str(key)]) for key, number in value.items())
    )


def where(rows: list[dict[str, Any]], **wanted: Any) -> list[dict[str, Any]]:
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def total(rows: list[dict[str, Any]], name: str) -> float:
    return float(sum(row[name] for row in rows))


def grouped(rows: list[dict[str, Any]], key: Callable[[dict[str, Any]], Any], value: str) -> dict[Any, float]:
    sums: dict[Any, float] = {}
    for row in rows:
        sums[key(row)] = sums.get(key(row), 0.0) + row[value]
    return sums


def highest(sums: dict[Any, float]) -> Any:
    return max(sums, key=lambda name: sums[name])


def text_of(shop: Shop, title: str) -> str:
    return str(next(row["text"] for row in shop.documents if row["title"] == title))


def id_of(shop: Shop, title: str) -> str:
    return str(next(row["id"] for row in shop.documents if row["title"] == title))
