"""`sema_runtime.ai`: typed answers, agents, conversations, use without asyncio, packaging."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypedDict

import pydantic
import pytest
from llm_support import aimock
from llm_support import llm as llm
from paths import DATA, ROOT
from python_llm_support import playing, used

from sema_runtime import ai
from sema_runtime.ai import sync

pytestmark = pytest.mark.usefixtures("llm")


# Typed answers


@dataclasses.dataclass
class Person:
    name: str
    age: int | None = None


class Order(pydantic.BaseModel):
    buyer: Person
    lines: list[str] = []


class Point(TypedDict):
    x: float


class Priority(enum.Enum):
    LOW = "low"
    HIGH = "high"


@pytest.mark.parametrize(
    ("schema", "reply", "expected"),
    [
        (Person, '{"name": "Ann", "age": 3}', Person("Ann", 3)),
        (Order, '{"buyer": {"name": "Ann"}}', Order(buyer=Person("Ann"))),
        (Point, '{"x": 1}', {"x": 1.0}),
        (list[Point], '[{"x": 1}]', [{"x": 1.0}]),
        (
            {"amount": "number", "note": {"type": "string", "optional": True}},
            '```json\n{"amount": 2}\n```',
            {"amount": 2},
        ),
        ({"names": ["string"]}, '{"names": ["a"]}', {"names": ["a"]}),
    ],
)
def test_extraction(schema: Any, reply: str, expected: Any) -> None:
    asked = playing(reply)
    assert asyncio.run(ai.extract(schema, "the text")) == expected == sync.extract(schema, "the text")
    assert asked[0]["messages"][0]["content"] == "the text" and len(asked) == 2


def test_an_extraction_that_fails_is_asked_again() -> None:
    asked = playing('{"name": 5}', '{"name": "Ann", "age": "x"}', '{"name": "Ann"}')
    assert asyncio.run(ai.extract(Person, "text")) == Person("Ann")
    assert "name: Input should be a valid string" in asked[1]["system"]
    playing("{}")
    with pytest.raises(ai.LlmError, match=r"after 1 attempt.*name: Field required"):
        asyncio.run(ai.extract(Person, "text", retries=0))
    with pytest.raises(ai.SemaError, match="no schema can be made of"):
        sync.extract(threading.Lock, "text")


def test_labels() -> None:
    playing("high")
    assert asyncio.run(ai.classify(Priority, "it burns")) is Priority.HIGH
    assert asyncio.run(ai.classify(["high", "low"], "it burns")) == "high"
    playing("no idea")
    with pytest.raises(ai.LlmError, match="'no idea', which is no value of Priority"):
        sync.classify(Priority, "?")


def test_summaries_and_comparisons() -> None:
    asked = playing("short", '{"similarity": 0.5, "differences": ["a"], "summary": "s"}')
    assert asyncio.run(ai.summarize("long", max_words=5, style="one-line")) == "short"
    assert "5 words" in asked[0]["system"]
    assert asyncio.run(ai.compare("a", "b")) == ai.Comparison(0.5, ["a"], "s")


# Agents


@ai.tool
async def add(a: int, b: int) -> int:
    """Adds.

    Args:
        a: the first
        b: the second
    """
    await asyncio.sleep(0)
    return a + b


def call(name: str, **arguments: Any) -> dict[str, Any]:
    return {"id": "c1", "name": name, "arguments": arguments}


def test_an_agent() -> None:
    asked = playing({"content": "let me", "tool_calls": [call("add", a=1, b=2)]}, "three", "more")
    events: list[ai.ToolEvent] = []
    texts: list[str] = []

    async def heard(text: str) -> None:
        await asyncio.sleep(0)
        texts.append(text)

    async def main() -> None:
        helper = ai.Agent(system="Help.", tools=[add], name="helper", max_turns=3)
        run = await helper.run("1+2?", on_tool_call=events.append, on_text=heard)
        assert (run.text, str(run), len(run.conversation)) == ("three", "three", 4)
        assert [m["role"] for m in run.messages] == ["user", "assistant", "tool", "assistant"]
        assert run.messages[1]["tool_calls"] == [call("add", a=1, b=2)] and run.messages[2]["tool_call_id"] == "c1"
        stored = json.loads(json.dumps(run.messages))
        again = await helper.run("and?", history=stored)
        assert again.messages[:4] == run.messages
        short = await helper.run("so?", conversation=run.conversation)
        assert len(short.messages) == 6

    asyncio.run(main())
    assert asked[0]["tools"][0]["parameters"]["properties"]["a"] == {"type": "integer", "description": "the first"}
    assert [event["event"] for event in events] == ["start", "end"] and events[1]["result"] == "3"
    assert events[0]["args"] == {"a": 1, "b": 2} and "duration_ms" in events[1]
    assert texts == ["let me", "three"]


def test_an_agent_whose_text_streams() -> None:
    playing({"content": "hm", "tool_calls": [call("add", a=1, b=2)]}, "three")

    async def main() -> None:
        stream = ai.Agent(tools=[add]).stream("1+2?")
        assert [piece async for piece in stream] == ["hm", "three"]
        assert stream.result.text == "three"

    asyncio.run(main())


def test_an_agent_that_fails_tells_what_there_is() -> None:
    kept: list[ai.Run] = []
    playing({"tool_calls": [call("add", a=1, b=2)]}, 5)
    with pytest.raises(ai.ProviderError, match="must return a string"):
        asyncio.run(ai.Agent(tools=[add]).run("go", on_partial=kept.append))
    assert [m["role"] for m in kept[0].messages] == ["user", "assistant", "tool"]


def test_an_agent_remembers(tmp_path: Path) -> None:
    asked = playing("fine", "fine")
    memory = ai.Memory("ann", folder=tmp_path)
    memory.remember("name", {"first": "Ann"})
    asyncio.run(ai.Agent().run("I am Ann.", memory=memory))
    asyncio.run(ai.Agent().run("Who am I?", memory=ai.Memory("ann", folder=tmp_path)))
    assert [m["content"] for m in asked[1]["messages"]] == ["I am Ann.", "fine", "Who am I?"]
    memory.append("user", "bye")
    assert [m.content for m in memory.messages][-2:] == ["fine", "bye"]
    assert memory.fact("name") == {"first": "Ann"} and memory.fact("x") is None


def test_chat_with_functions_as_they_are() -> None:
    def shout(text: str) -> str:
        return text.upper()

    asked = playing({"tool_calls": [call("shout", text="hi")]}, "done")
    assert asyncio.run(ai.chat("go", tools=[shout], parallel_tools=True)) == "done"
    assert asked[1]["messages"][-1] == {"role": "tool", "content": "HI"}


def test_conversations() -> None:
    playing(used("hello"))
    start = ai.Conversation("gpt-5.5", system="Be brief.")

    async def main() -> ai.Conversation:
        heard: list[str] = []
        talk = await (await start.say("hi")).say("again", max_tokens=5, on_text=heard.append)
        assert heard == ["hello"]
        return talk

    talk = asyncio.run(main())
    assert len(start) == 1 and len(talk) == 5 and talk.last_reply == "hello"
    assert talk.stats.prompt_tokens == 6 and talk.stats.turns == 2 and talk.model == "gpt-5.5"
    assert [found.index for found in talk.search("AGAIN")] == [3]
    assert len(talk.without(1)) == 4 and talk.with_system("x").system == "x"
    assert len(talk.filter(lambda m: m.role == "user")) == 2
    assert isinstance(sync.Conversation().say("x"), sync.Conversation)
    with pytest.raises(ai.SemaError, match="out of bounds"):
        talk.without(9)


@pytest.mark.parametrize("provider", ["openai", "anthropic", "gemini"])
def test_an_agent_against_aimock(provider: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def weather(city: str) -> dict[str, Any]:
        """The weather of a city."""
        return {"city": city, "degrees": 4}

    asks = {
        "toolCalls": [
            {"name": "weather", "arguments": {"city": "Oslo"}},
            {"name": "weather", "arguments": {"city": "Rome"}},
        ]
    }
    fixtures = [
        {"match": {"userMessage": "WEATHER", "hasToolResult": False}, "response": asks},
        {"match": {"userMessage": "WEATHER", "hasToolResult": True}, "response": {"content": "4 C in both"}},
    ]
    with aimock(fixtures, tmp_path) as url:
        if provider == "gemini":
            ai.configure("gemini", api_key="k", base_url=f"{url}/v1beta")
        else:
            monkeypatch.setenv(f"{provider.upper()}_API_KEY", "k")
            monkeypatch.setenv(f"{provider.upper()}_BASE_URL", url + ("/v1" if provider == "openai" else ""))
        helper = ai.Agent(tools=[weather], parallel_tools=2)
        run = asyncio.run(helper.run("WEATHER?"))
        assert run.text == "4 C in both"
        assert [m["content"] for m in run.messages if m["role"] == "tool"] == [
            '{"city":"Oslo","degrees":4}',
            '{"city":"Rome","degrees":4}',
        ]

        async def streamed() -> str:
            return "".join([piece async for piece in helper.stream("WEATHER?")])

        assert asyncio.run(streamed()) == "4 C in both"


# Without asyncio, in threads, below a running loop


def test_synchronous_calls() -> None:
    playing("one", {"tool_calls": [call("add", a=1, b=2)]}, "three", "text")
    assert sync.complete("a") == "one"
    assert sync.Agent(tools=[add]).run("1+2").text == "three"
    stream = sync.stream("go")
    assert list(stream) == ["text"] and stream.result == "text"
    assert sync.Agent().stream("go").read().text == "text"
    with sync.budget(max_tokens=100) as spending:
        sync.complete("x")
    assert spending.spent_tokens == 0


def test_leaving_a_synchronous_stream_ends_it() -> None:
    seen: list[str] = []

    def pieces(push: Callable[[str], None]) -> None:
        from sema_runtime.lib.tasks.concurrency import async_sleep

        try:
            push("one")
            async_sleep(60_000)
        finally:
            seen.append("ended")

    from sema_runtime.ai.streams import SyncStream

    with SyncStream(pieces) as stream:
        assert next(stream) == "one"
    assert seen == ["ended"] and list(stream) == []


def test_threads_and_a_running_loop() -> None:
    async def answer(request: dict[str, Any]) -> str:
        await asyncio.sleep(0.001)
        return str(request["messages"][-1]["content"])

    ai.configure("slow", complete=answer)
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(sync.complete, "abcdefgh")) == list("abcdefgh")

    async def notebook() -> str:
        return sync.complete("blocks the loop, but works")

    assert asyncio.run(notebook()) == "blocks the loop, but works"


# Packaging


def python(*args: str, folder: Path | None = None) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}", "MYPYPATH": str(ROOT / "runtime")}
    return subprocess.run([sys.executable, *args], capture_output=True, text=True, env=env, cwd=folder, timeout=120)


def test_the_import_is_cheap() -> None:
    code = "import sys; from sema_runtime import ai; print({'httpx', 'pydantic', 'semac'} & {*sys.modules})"
    done = python("-c", code)
    assert done.stdout.strip() == "set()", done.stderr


def test_mypy_knows_the_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    sample = DATA / "typed" / "python_llm.py"
    done = python("-m", "mypy", "--strict", "--cache-dir", str(tmp_path), str(sample), folder=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
