"""Values that cross: exact where they can be, an error where they can't; a decoder that nothing brings down."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sema_runtime.box.codec import Encoder, TooLarge, decoded, for_python, to_frame
from sema_runtime.box.host_values import HostEncoder
from sema_runtime.values.atoms import char, keyword, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

ATOMS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False),
    st.text(st.characters(exclude_categories=["Cs"])), st.sampled_from([keyword("a"), symbol("b"), char("c")]),
)  # fmt: skip
VALUES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4).map(List),
        st.lists(inner, max_size=4).map(tuple),
        st.dictionaries(st.sampled_from([keyword(name) for name in "xyz"]), inner, max_size=3).map(Map),
    ),
    max_leaves=20,
)
JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.sampled_from(["l", "m", "k", "s", "c", "f", "x", "?"]), inner)
    ),
    max_leaves=30,
)


@settings(deadline=None, max_examples=200)
@given(VALUES)
def test_values_come_back_as_they_went(value: Any) -> None:
    message = json.loads(to_frame({"value": Encoder().encode(value)})[4:])
    assert decoded(message["value"]) == value


@settings(deadline=None, max_examples=300)
@given(JSON)
def test_the_host_takes_anything(message: Any) -> None:
    for decode in (decoded, for_python):
        with contextlib.suppress(SemaError):
            decode(message)


def test_shared_parts_count_each_time() -> None:
    value: Any = 1
    for _ in range(60):
        value = (value, value)
    with pytest.raises(TooLarge, match="parts"):
        Encoder().encode(value)


def test_depth_is_bounded() -> None:
    value: Any = 1
    for _ in range(1000):
        value = List([value])
    with pytest.raises(TooLarge, match="deep"):
        Encoder().encode(value)


def test_keys_of_the_host_are_keywords() -> None:
    assert decoded(HostEncoder().encode({"a": [1, {"b": None}]})) == Map({keyword("a"): (1, Map({keyword("b"): None}))})
    assert for_python(Encoder().encode(Map({keyword("a"): List([1])}))) == {"a": [1]}
