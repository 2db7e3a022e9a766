"""Formats amounts of money."""

from __future__ import annotations

DECIMALS = 4  # of an amount that is large enough to show in them
LEAST = 1e-10  # what is less is an error of floating point: a token costs more


def dollars(usd: float, digits: int = 2) -> str:
    """An amount in US dollars with four decimals; a small one has as many as show its first significant digits, so only
    zero is $0.0000.

    dollars(0.0192) == "$0.0192"; dollars(0.0000421) == "$0.000042"; dollars(-1234.5) == "-$1,234.5000"
    """
    amount = 0.0 if abs(usd) < LEAST else abs(usd)
    decimals = DECIMALS
    if 0 < amount < 10 ** (digits - 1 - DECIMALS):
        exponent = int(f"{amount:.{digits - 1}e}".partition("e")[2])
        decimals = max(DECIMALS, digits - 1 - exponent)
    return f"{'-' if usd < 0 < amount else ''}${amount:,.{decimals}f}"
