"""Amounts of money."""

from __future__ import annotations

import pytest

from sema_runtime.support.money import dollars


@pytest.mark.parametrize(
    ("usd", "shown"),
    [
        (0.0, "$0.0000"),
        (0.0192, "$0.0192"),
        (0.01, "$0.0100"),
        (0.001, "$0.0010"),
        (0.000999, "$0.0010"),
        (0.00042, "$0.00042"),
        (0.0000421, "$0.000042"),
        (0.0000999, "$0.00010"),
        (1e-8, "$0.000000010"),
        (1e-17, "$0.0000"),
        (-1e-17, "$0.0000"),
        (1234.5, "$1,234.5000"),
        (-0.5, "-$0.5000"),
        (-0.00003, "-$0.000030"),
    ],
)
def test_only_nothing_is_shown_as_nothing(usd: float, shown: str) -> None:
    assert dollars(usd) == shown


def test_with_one_digit() -> None:
    assert [dollars(usd, 1) for usd in (0.00014, 0.00003, 0.02)] == ["$0.0001", "$0.00003", "$0.0200"]
