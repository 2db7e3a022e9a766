"""What a program that is checked with `mypy --strict` may rely on; tests/ai/test_python_llm.py checks it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Any, TypedDict, assert_type

from pydantic import BaseModel

from sema_runtime import ai
from sema_runtime.ai import sync
from sema_runtime.interop import asynchronous, run


@dataclass
class Person:
    name: str


class Order(BaseModel):
    amount: float


class Point(TypedDict):
    x: float


class Priority(enum.Enum):
    HIGH = "high"


@ai.tool
def forecast(city: str, days: int = 1) -> list[str]:
    """The weather."""
    return [city] * days


@ai.tool(name="slow", thread=True)
async def look_up(key: str) -> int:
    return len(key)


def price(item: str, count: int) -> float:
    return float(count)


async def main() -> None:
    assert_type(await ai.complete("hi", max_tokens=5, reasoning_effort="low", timeout=2.5), str)
    assert_type(await ai.complete_all(["a", "b"], limit=2), list[str])
    assert_type(await ai.chat([ai.Message("user", "hi")], tools=[forecast], parallel_tools=True), str)
    assert_type(await ai.batch(["a"], model="m"), list[str])
    assert_type(await ai.extract(Person, "text"), Person)
    assert_type(await ai.extract(Order, "text", retries=1), Order)
    assert_type(await ai.extract(Point, "text"), Point)
    assert_type(await ai.extract(list[Person], "text"), list[Person])
    assert_type(await ai.extract({"amount": "number"}, "text"), dict[str, Any])
    assert_type(await ai.classify(["a", "b"], "text"), str)
    assert_type(await ai.classify(Priority, "text"), Priority)
    assert_type(await ai.summarize("text", max_words=5), str)
    assert_type(await ai.embed("text"), list[float])
    assert_type(await ai.embed(["text"]), list[list[float]])
    assert_type(await ai.rerank("query", ["text"], top_k=1), list[ai.Ranked])
    assert_type(forecast("Oslo", days=2), list[str])
    assert_type(await look_up("key"), int)
    async for piece in ai.stream("hi", temperature=0.5):
        assert_type(piece, str)
    async with ai.budget(max_usd=0.5, reserve=True) as spending, ai.cache(), ai.fallback("a", ("b", "m")):
        assert_type(spending.remaining_usd, float | None)
    agent = ai.Agent(system="Help.", tools=[forecast, look_up], max_turns=3)
    result = await agent.run("hi", on_text=print, tags=["a"])
    assert_type(result, ai.Run)
    stream = agent.stream("hi", history=result.messages)
    assert_type(await stream.read(), ai.Run)
    assert_type(await ai.Conversation("m").say("hi"), ai.Conversation)
    assert_type(await run(price, "x", count=2), float)
    assert_type(await asynchronous(price)("x", count=2), float)
    try:
        await ai.complete("hi")
    except ai.ProviderError as error:
        assert_type(error.retry_after, float | None)
        assert_type((error.provider, error.model, error.status), tuple[str, str, int])


def script() -> None:
    assert_type(sync.complete("hi"), str)
    assert_type(sync.extract(Person, "text"), Person)
    assert_type(sync.Agent(tools=[forecast]).run("hi"), ai.Run)
    for piece in sync.stream("hi"):
        assert_type(piece, str)
    # what is wrong is an error
    sync.complete("hi", max_token=5)  # type: ignore[call-arg]
    sync.complete(5)  # type: ignore[arg-type]
    forecast(5)  # type: ignore[arg-type]
