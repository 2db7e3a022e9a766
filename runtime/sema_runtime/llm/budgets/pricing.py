"""Prices of tokens, in USD per million. A model without a known price has no cost (None), never a cost of 0.

The lookup order: the program's own patterns, then the table (prices.tsv): `vendor/id` of the serving provider, the
maker's exact id, an exact `vendor/id` written out, the longest maker's id inside the model's name. An announced price
change takes effect on its day.
"""

from __future__ import annotations

from functools import cache, lru_cache
from pathlib import Path
from time import strftime
from typing import NamedTuple

TABLE = Path(__file__).with_name("prices.tsv")  # made by scripts/build_prices.py
VENDORS = {"gemini": "google", "moonshot": "moonshotai"}
MAKERS = frozenset(("anthropic", "openai", "google", "xai", "moonshotai", "deepseek", "mistral", "perplexity"))
SHORTEST_PART = 4  # characters; `o1` or `o3` inside some other name would be an accident


class Price(NamedTuple):
    """USD per million tokens."""

    input: float
    output: float


_custom: dict[str, Price] = {}


def set_price(pattern: str, price: Price) -> None:
    """Prices every model whose id contains pattern; a later setting of the same pattern replaces it."""
    _custom[pattern] = price


def clear_custom() -> None:
    _custom.clear()


def forget() -> None:
    """Forgets the table; it is read again when used."""
    _table.cache_clear()
    _listed.cache_clear()


def updated_at() -> str:
    """Returns the date of the table, as YYYY-MM-DD."""
    with TABLE.open(encoding="utf-8") as file:
        return file.readline()[2:12]


@cache
def _table() -> tuple[dict[str, Price], dict[str, Price]]:
    """Returns the prices by `vendor/id`, and by the maker's id."""
    by_vendor: dict[str, Price] = {}
    by_maker: dict[str, Price] = {}
    today = strftime("%Y-%m-%d")
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            vendor, model, input_price, output_price, *later = line.split("\t")
            if later and later[0] <= today:
                _, input_price, output_price = later
            price = Price(float(input_price), float(output_price))
            by_vendor[f"{vendor}/{model}"] = price
            if vendor in MAKERS:
                by_maker[model] = price
    return by_vendor, by_maker


def price_of(model: str, provider: str = "") -> Price | None:
    """Returns the price of a model as served by a provider; None when unknown."""
    for pattern, price in _custom.items():
        if pattern in model:
            return price
    return _listed(model, provider)


@lru_cache(1024)
def _listed(model: str, provider: str) -> Price | None:
    by_vendor, by_maker = _table()
    exact = by_vendor.get(f"{VENDORS.get(provider, provider)}/{model}") or by_maker.get(model) or by_vendor.get(model)
    if exact is not None:
        return exact
    parts = [known for known in by_maker if known in model and len(known) >= SHORTEST_PART]
    return by_maker[max(parts, key=len)] if parts else None


def cost(model: str, provider: str, prompt_tokens: int, completion_tokens: int) -> float | None:
    """Returns the cost in USD, None when the price is unknown."""
    price = price_of(model, provider)
    if price is None:
        return None
    return (prompt_tokens * price.input + completion_tokens * price.output) / 1_000_000
