"""Writes sema_runtime/llm/budgets/prices.tsv from the data of the installed `genai-prices` package (extra dev-llm).

    pip install -U genai-prices && python scripts/build_prices.py

Lines have the vendor, the model, and its base rates for input and output in USD per million tokens: no tiers for long
contexts, no cache rates, of rates that change with the hour the highest. Where a change is announced, its day and the
rates from then on follow. A model without an input rate is left out: its price is unknown.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from importlib.metadata import version
from pathlib import Path
from typing import Any

TABLE = Path(__file__).parent.parent / "runtime" / "sema_runtime" / "llm" / "prices.tsv"
VENDORS = {  # of the package → of the table, which has the names that providers have here
    **{name: name for name in ("anthropic", "openai", "google", "mistral", "moonshotai", "deepseek", "perplexity")},
    **{name: name for name in ("groq", "cerebras", "together", "fireworks", "openrouter", "cohere")},
    "x-ai": "xai",
    "voyageai": "voyage",
    "huggingface_sambanova": "sambanova",
}


def main() -> None:
    from genai_prices.data import providers

    now = datetime.now(UTC)
    rows: dict[tuple[str, str], list[str]] = {}
    for provider in providers:
        vendor = VENDORS.get(provider.id)
        for model in provider.models if vendor else ():
            rates = _rates_over_time(model.prices, now.date())
            for name in {model.id, *_names(model.match)} if rates else ():
                assert vendor is not None
                rows[vendor, name] = rates
    lines = ["\t".join((*key, *rows[key])) for key in sorted(rows)]
    source = f"genai-prices {version('genai-prices')}"
    head = f"# {now:%Y-%m-%d}: USD per million tokens, base rates of {source}. vendor, model, input, output"
    TABLE.write_text("\n".join([head, *lines]) + "\n", encoding="utf-8")
    print(f"{len(lines)} prices of {len({vendor for vendor, _ in rows})} vendors")


def _rates_over_time(prices: Any, today: date) -> list[str]:
    """[input, output], and for an announced change its day, input and output. Empty without rates."""
    if not isinstance(prices, list):
        return _rates([prices])
    begun, announced, hourly = prices[0].prices, None, []
    for price in prices:
        start = getattr(price.constraint, "start_date", None)
        if hasattr(price.constraint, "start_time"):
            hourly.append(price.prices)
        elif start is None or start <= today:
            begun = price.prices
        else:
            announced = announced or (start, price.prices)
    later = [] if announced is None else [announced[0].isoformat(), *_rates([announced[1]])]
    now = _rates([begun, *hourly])
    return now + later if now and len(later) in (0, 3) else now


def _rates(prices: list[Any]) -> list[str]:
    """[input, output] as texts, of several the highest; output 0 for models that only read."""
    inputs = [rate for price in prices if (rate := _base(price.input_mtok)) is not None]
    outputs = [rate for price in prices if (rate := _base(price.output_mtok)) is not None]
    return [format(max(rates).normalize(), "f") for rates in (inputs, outputs or [Decimal(0)])] if inputs else []


def _base(rate: Any) -> Decimal | None:
    """The rate without tiers."""
    return getattr(rate, "base", rate)


def _names(match: Any) -> set[str]:
    """The names that a model also goes by, and what its dated versions begin with."""
    parts = getattr(match, "or_", None) or [match]
    names = {getattr(part, "equals", None) or getattr(part, "starts_with", None) for part in parts}
    return {name.rstrip("-") for name in names if name}


if __name__ == "__main__":
    main()
