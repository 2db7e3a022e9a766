"""The declared signatures hold in random calls, and scripts/check_signatures.py finds what is wrong with one."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import check_signatures
from signature_values import Values

from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.mutable import MutableArray
from semac.types.signatures import parse

KEPT: list[Any] = []


def found(signature: str, function: Callable[..., Any], *arguments: Any, **facts: bool) -> list[str]:
    """What the check says of one call."""
    call = check_signatures.Call(parse(signature), list(arguments), Values("0"), **facts)
    return list(call.contradictions(function))


def fail(*_: Any) -> Any:
    raise ValueError("no")


def test_the_declared_signatures_hold() -> None:
    faults: list[str] = []
    check_signatures.run(check_signatures.checked_names(), 15, 1, faults.append)
    assert faults == []


@pytest.mark.parametrize(
    ("signature", "function", "arguments", "fault"),
    [
        ("int -> int", str, (1,), 'returns "1", a str'),
        ("str -> int", lambda x: 1, (1,), "accepts 1 as argument 1, which isn't str"),
        ("list str -> int", lambda xs: 1, (List([1]),), "accepts (1) as argument 1, which isn't list str"),
        ("list a -> list a", lambda xs: List(["x"]), (List([1]),), 'returns ("x"), a list'),
        ("list a|vector b -> list a|vector b", tuple, (List([1]),), "returns [1], a vector"),
        ("list any -> list any fresh", lambda xs: List(xs.items), (List([1]),), "returns (1), which isn't fresh"),
        ("list a -> list a", lambda xs: xs, (List([1]),), "returns (1) of argument 1, declared only read"),
        ("list -> any", lambda xs: xs.car, (List([List([1])]),), "returns (1) of argument 1, declared only read"),
        ("any -> nil", KEPT.append, (List([1]),), "argument 1 is still held after the call, and declared only read"),
        (
            "array, any -> nil",
            lambda array, x: array.items.append(x),
            (MutableArray([]), List([1])),
            "stores argument 2 in argument 1, and declares it only read",
        ),
        ("any -> nil", lambda f: f(), (lambda: None,), "calls argument 1, which is declared only read"),
        (
            "now (int -> any), str -> nil",
            lambda f, text: f(text),
            (lambda text: None, "a"),
            'calls argument 1 with "a", which isn\'t (int -> any)',
        ),
        (
            "now (a -> any), list -> nil",
            lambda f, xs: f(xs),
            (lambda xs: None, List([1])),
            "passes argument 2 to argument 1 and declares it only read",
        ),
    ],
)
def test_a_wrong_signature_is_found(
    signature: str, function: Callable[..., Any], arguments: tuple[Any, ...], fault: str
) -> None:
    assert fault in found(signature, function, *arguments)


@pytest.mark.parametrize(
    ("signature", "function", "arguments"),
    [
        ("keep list a -> list a", lambda xs: xs, (List([1]),)),
        ("keep a, list b -> list (a|b) fresh", lambda x, xs: List([x, *xs]), (List([1]), List([Map({})]))),
        ("dict a b, any, keep c? -> b|c|nil", lambda m, *_: m.lookup(keyword("a")), (Map({keyword("a"): (1,)}), 1)),
        ("now (a -> b), list a -> list b fresh", lambda f, xs: List(list(map(f, xs))), (tuple, List([List([1])]))),
        ("now (a -> b), list a -> list b", lambda f, xs: List([]), (1, List([]))),
        ("list a... -> list a fresh", lambda *_: List([]), ()),
    ],
)
def test_a_right_signature_passes(signature: str, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    assert found(signature, function, *arguments) == []


def test_pure_and_total_are_verified() -> None:
    assert found("array -> nil", lambda a: a.items.clear(), MutableArray([1]), pure=True) == [
        "is declared pure and changes an argument"
    ]
    assert found("-> nil", lambda: print("x"), pure=True) == ["is declared pure and prints"]
    assert found("int -> int", fail, 1, total=True) == ["is declared total and raises ValueError('no')"]
    assert found("int -> int", fail, "a", total=True) == []
