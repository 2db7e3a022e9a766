"""Models for Python programs: `sema_runtime.ai` with asyncio and without, against servers on loopback."""

from __future__ import annotations

import asyncio
import dataclasses
import enum
import json
import os
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, TypedDict

import pydantic
import pytest
from llm_support import Answer, Server, aimock, chat_reply, problems, serving
from llm_support import llm as llm
from paths import DATA, ROOT

from sema_runtime import ai
from sema_runtime.ai import sync

pytestmark = pytest.mark.usefixtures("llm")


def use(server: Server, name: str = "openai") -> None:
    ai.configure(name, api_key="k", base_url=f"{server.url}/v1", default_model="gpt-5.5")


def playing(*replies: Any) -> list[dict[str, Any]]:
    """A provider that gives these replies in turn, the last one again and again; the requests it got."""
    asked: list[dict[str, Any]] = []

    async def answer(request: dict[str, Any]) -> Any:
        asked.append(request)
        await asyncio.sleep(0)
        return replies[min(len(asked), len(replies)) - 1]

    ai.configure("player", complete=answer, default_model="m")
    return asked


def used(content: str, prompt: int = 3, completion: int = 2) -> dict[str, Any]:
    return {"content": content, "usage": {"prompt_tokens": prompt, "completion_tokens": completion}}


# A server in the loop of the test, which sees when its client goes away


class Peer:
    """gone: set when the client has hung up. waiting: set when a request has come."""

    def __init__(self, pieces: list[str]) -> None:
        self.pieces = pieces
        self.waiting = asyncio.Event()
        self.gone = asyncio.Event()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            int(line[15:]) for line in head.decode().lower().split("\r\n") if line.startswith("content-length")
        )
        await reader.readexactly(length)
        if self.pieces:
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
            for piece in self.pieces:
                line = f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': piece}}]})}\n\n".encode()
                writer.write(b"%x\r\n%s\r\n" % (len(line), line))
        self.waiting.set()
        await reader.read()
        self.gone.set()
        writer.close()


@asynccontextmanager
async def hanging(*pieces: str) -> AsyncIterator[Peer]:
    """A server that answers with these pieces of a stream, or not at all, and then waits for its client to leave."""
    peer = Peer(list(pieces))
    server = await asyncio.start_server(peer.serve, "127.0.0.1", 0)
    host, port = server.sockets[0].getsockname()
    ai.configure("openai", api_key="k", base_url=f"http://{host}:{port}/v1", default_model="gpt-5.5")
    try:
        yield peer
    finally:
        server.close()


def within_seconds(main: Callable[[], Awaitable[Any]]) -> Any:
    async def limited() -> Any:
        return await asyncio.wait_for(main(), 20)

    return asyncio.run(limited())


# Calls


def test_a_call_and_its_options() -> None:
    async def main() -> str:
        return await ai.complete("hi", system="Be brief.", max_tokens=7, temperature=0.5, timeout=9.5, tags=["a"])

    with serving(Answer(200, chat_reply("hello"))) as server:
        use(server)
        assert asyncio.run(main()) == "hello"
    body = server.received[0].body
    assert body["max_tokens"] == 7 and body["temperature"] == 0.5
    assert [m["content"] for m in body["messages"]] == ["Be brief.", "hi"]
    assert problems("openai", body) == []


def test_prompts_of_every_kind() -> None:
    asked = playing("ok")

    async def main() -> None:
        await ai.complete([{"role": "system", "content": "s"}, ai.Message("user", "u")])
        await ai.complete({"role": "user", "content": "one"})
        await ai.chat(ai.Conversation(system="s").add("user", "c"))
        picture = ai.image(b"\x89PNG....")
        assert picture.media_type == "image/png"
        await ai.chat(ai.Message("user", "see", images=(picture,)))
        with pytest.raises(ValueError, match='a message needs "role"'):
            await ai.complete({"role": "robot", "content": "x"})
        with pytest.raises(TypeError, match="a message must be a Message or a dict, not int"):
            await ai.complete([5])  # type: ignore[list-item]

    asyncio.run(main())
    assert [[m["content"] for m in request["messages"]] for request in asked] == [
        ["s", "u"],
        ["one"],
        ["s", "c"],
        ["see"],
    ]


def test_an_option_that_does_not_exist() -> None:
    playing("ok")
    with pytest.raises(TypeError, match=r"complete\(\) got an unexpected keyword argument 'max_token'"):
        sync.complete("hi", max_token=5)  # type: ignore[call-arg]


def test_many_at_once_on_one_thread() -> None:
    waiting, everybody = 0, asyncio.Event()

    async def answer(request: dict[str, Any]) -> str:
        nonlocal waiting
        waiting += 1
        if waiting == 1000:
            everybody.set()
        await everybody.wait()
        return str(request["messages"][-1]["content"])

    async def main() -> list[str]:
        ai.configure("slow", complete=answer)
        before = threading.active_count()
        answers = await asyncio.gather(*(ai.complete(str(n)) for n in range(1000)))
        assert threading.active_count() == before
        return answers

    assert within_seconds(main) == [str(n) for n in range(1000)]


def test_many_prompts_in_order_with_a_limit() -> None:
    running = most = 0

    async def answer(request: dict[str, Any]) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(3):
            await asyncio.sleep(0)
        running -= 1
        return "<" + str(request["messages"][-1]["content"]) + ">"

    ai.configure("slow", complete=answer)
    prompts = [str(n) for n in range(9)]
    assert asyncio.run(ai.complete_all(prompts, limit=3)) == [f"<{one}>" for one in prompts]
    assert most == 3
    assert sync.complete_all(prompts[:2]) == ["<0>", "<1>"]
    assert asyncio.run(ai.batch(prompts)) == [f"<{one}>" for one in prompts]
    with pytest.raises(ValueError, match="at least 1"):
        sync.complete_all(prompts, limit=0)


# Cancelling


def test_cancelling_the_task_hangs_up() -> None:
    async def main() -> None:
        async with hanging() as peer:
            call = asyncio.create_task(ai.complete("hi"))
            await peer.waiting.wait()
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            await peer.gone.wait()

    within_seconds(main)


def test_a_timeout_of_asyncio_hangs_up() -> None:
    async def main() -> None:
        async with hanging() as peer:
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.05):
                    await ai.complete("hi")
            await peer.gone.wait()

    within_seconds(main)


def test_cancelling_waits_for_the_cleanup() -> None:
    seen: list[str] = []

    async def answer(_: dict[str, Any]) -> str:
        try:
            await asyncio.Event().wait()
        finally:
            seen.append("cleaned up")
        return ""

    async def main() -> None:
        ai.configure("slow", complete=answer)
        call = asyncio.create_task(ai.complete("hi"))
        await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert seen == ["cleaned up"]

    within_seconds(main)


# Streams


def test_a_stream() -> None:
    async def main() -> None:
        with serving(Answer(200, pieces=[sse("Hel"), sse("lo"), b"data: [DONE]\n\n"])) as server:
            use(server)
            stream = ai.stream("hi", max_tokens=5)
            with pytest.raises(RuntimeError, match="isn't at its end"):
                _ = stream.result
            assert [piece async for piece in stream] == ["Hel", "lo"]
            assert stream.text == stream.result == "Hello"
            assert [piece async for piece in stream] == []
            assert await ai.stream("hi").read() == "Hello"

    within_seconds(main)


def sse(text: str) -> bytes:
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n".encode()


@pytest.mark.parametrize("way", ["break", "aclose", "with", "cancel"])
def test_leaving_a_stream_hangs_up(way: str) -> None:
    async def leave(peer: Peer) -> None:
        if way == "break":
            async for _ in ai.stream("hi"):
                break
        elif way == "aclose":
            stream = ai.stream("hi")
            assert await anext(stream) == "one"
            await stream.aclose()
            await stream.aclose()
            assert [piece async for piece in stream] == [] and stream.text == "one"
        elif way == "with":
            async with ai.stream("hi") as stream:
                await anext(stream)
        else:
            reading = asyncio.create_task(ai.stream("hi").read())
            await peer.waiting.wait()
            await asyncio.sleep(0.01)
            reading.cancel()
            with pytest.raises(asyncio.CancelledError):
                await reading

    async def main() -> None:
        async with hanging("one", "two") as peer:
            await leave(peer)
            await peer.gone.wait()

    within_seconds(main)


def test_a_stream_that_is_never_read_sends_nothing() -> None:
    asked = playing("ok")

    async def main() -> None:
        stream = ai.stream("hi")
        await stream.aclose()
        assert [piece async for piece in stream] == []

    asyncio.run(main())
    assert asked == []


def test_a_stream_that_breaks_raises() -> None:
    async def main() -> None:
        with serving(Answer(200, pieces=[sse("Hel")], cut=True)) as server:
            use(server)
            stream = ai.stream("hi")
            with pytest.raises(ai.ProviderError) as caught:
                await stream.read()
            assert stream.text == "Hel" and caught.value.provider == "openai"

    within_seconds(main)


def test_a_slow_reader_holds_the_stream_back() -> None:
    pieces = [sse(str(n % 10)) for n in range(500)]

    async def main() -> None:
        with serving(Answer(200, pieces=[*pieces, b"data: [DONE]\n\n"])) as server:
            use(server)
            seen = ""
            async for piece in ai.stream("hi"):
                seen += piece
                await asyncio.sleep(0)
            assert seen == "0123456789" * 50

    within_seconds(main)


# Scopes


def test_a_budget_holds_in_tasks() -> None:
    playing(used("ok"))

    async def main() -> None:
        async with ai.budget(max_tokens=12) as spending:
            await asyncio.gather(ai.complete("a"), ai.complete("b"))
            assert (spending.spent_tokens, spending.remaining_tokens, spending.remaining_usd) == (10, 2, None)
            with pytest.raises(ai.BudgetError, match="used 15 of 12 tokens"):
                await ai.complete("c")
        assert await ai.complete("d") == "ok"

    asyncio.run(main())
    with pytest.raises(ValueError, match="max_usd or max_tokens"):
        ai.budget()


def test_a_reserving_budget_is_never_passed() -> None:
    asked = playing(used("ok", 3, 20))

    async def main() -> None:
        async with ai.budget(max_tokens=200, reserve=True) as spending:
            results = await asyncio.gather(
                *(ai.complete("a", max_tokens=20) for _ in range(30)), return_exceptions=True
            )
        assert 0 < spending.spent_tokens <= 200
        assert {type(one) for one in results} == {str, ai.BudgetError}

    asyncio.run(main())
    assert len(asked) < 30


def test_cache_cassette_fallback_and_rate_limit(tmp_path: Path) -> None:
    asked = playing("first", "second")

    async def main() -> None:
        async with ai.cache(ttl=60):
            assert [await ai.complete("a"), await ai.complete("a")] == ["first", "first"]
        with ai.cassette(tmp_path / "tape.jsonl"):
            assert await ai.complete("b") == "second"
        ai.configure("down", complete=down)
        async with ai.cassette(tmp_path / "tape.jsonl", mode="replay"):
            assert await ai.complete("b") == "second"
            with pytest.raises(ai.LlmError, match="cassette miss"):
                await ai.complete("c")
        async with ai.fallback("down", ("player", "other")), ai.rate_limit(1000):
            assert await ai.complete("d") == "second"

    def down(_: dict[str, Any]) -> str:
        raise OSError("no")

    asyncio.run(main())
    assert asked[-1]["model"] == "other"


def test_usage_is_that_of_the_task() -> None:
    playing(used("ok", 3, 2), used("ok", 30, 20))

    async def main() -> None:
        await ai.complete("a")
        last = ai.last_usage()
        assert last is not None and (last.total_tokens, last.model) == (5, "m")
        await asyncio.create_task(ai.complete("b"))
        assert ai.last_usage() == last
        assert ai.usage().total_tokens == 55
        await ai.stream("c").read()
        now = ai.last_usage()
        assert now is not None and now.total_tokens == 50
        ai.reset_usage()
        assert ai.usage().total_tokens == 0

    asyncio.run(main())


# Errors


@pytest.mark.parametrize(
    ("answer", "status", "retry_after"),
    [
        (Answer(401, {"error": {"message": "bad key"}}), 401, None),
        (Answer(429, {"error": {"message": "slow"}}, {"retry-after": "2"}), 429, 2.0),
    ],
)
def test_errors_have_attributes(answer: Answer, status: int, retry_after: float | None) -> None:
    with serving(answer) as server:
        use(server)
        with pytest.raises(ai.ProviderError) as caught:
            asyncio.run(ai.complete("hi"))
    error = caught.value
    assert isinstance(error, ai.LlmError) and isinstance(error, ai.SemaError)
    assert (error.status, error.retry_after, error.provider, error.model) == (status, retry_after, "openai", "gpt-5.5")
    assert error.hint


def test_what_a_callback_raises_is_raised() -> None:
    playing("ok")

    def stop(_: str) -> None:
        raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        asyncio.run(ai.Agent().run("hi", on_text=stop))


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
