"""`sema_runtime.ai`: calls, cancelling, streams, scopes and errors, against servers on loopback."""

from __future__ import annotations

import asyncio
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, chat_reply, problems, serving
from llm_support import llm as llm
from python_llm_support import Peer, hanging, playing, use, used, within_seconds

from sema_runtime import ai
from sema_runtime.ai import sync

pytestmark = pytest.mark.usefixtures("llm")


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
