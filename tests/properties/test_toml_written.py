"""What toml/encode writes, Python's reader reads back as it was."""

from __future__ import annotations

import tomllib

import pytest

from sema_runtime.lib.data.toml import toml_encode
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

PIECES = ["", "x", "\n", "\t", '"', '""', '"""', '"""""', "'", "'''", "\\", "\r", "\x01", "\x7f", "é", "\u2028", "\r\n"]
TEXTS = [one + other + last for one in PIECES for other in PIECES for last in ("", '"', "\n", "\\")]


def test_strings_come_back() -> None:
    assert tomllib.loads(toml_encode(Map.of([("all", List(TEXTS))])))["all"] == TEXTS


def test_keys_come_back() -> None:
    document = {text: {text: [{text: text}]} for text in TEXTS}
    value = Map.of((key, Map.of([(key, List([Map.of([(key, key)])]))])) for key in document)
    assert tomllib.loads(toml_encode(value)) == document


@pytest.mark.parametrize("number", [1e16, 1e23, -1.5e300, 5e-324, 0.1, 123456789012345680000.0, float("inf")])
def test_floats_come_back(number: float) -> None:
    assert tomllib.loads(toml_encode(Map.of([("n", number)])))["n"] == number
