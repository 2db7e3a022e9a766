"""What goes wrong between a program and a provider: the outcome, what is charged for it, and the journal of attempts,
on each wire, for calls and for streams."""

from __future__ import annotations

import asyncio
from email.utils import formatdate
from time import time
from typing import Any

import pytest
from fault_support import CALL, STREAM, asked, charged, check, fault, journal
from fault_wires import RESET, STALL, WIRES, Script, Wire, streamed, whole
from llm_support import SLEPT, run
from llm_support import llm as llm
from net_support import closed_port, serving

from sema_runtime.llm import http, observers
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.calls import Attempt

pytestmark = pytest.mark.usefixtures("llm")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")


@pytest.fixture(params=list(WIRES))
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


# Before the reply


def test_good_replies(wire: Wire) -> None:
    with fault(wire, [whole(wire.whole)], [streamed(wire.events)]) as (url, _):
        assert asked(wire, url, CALL).value == "Hello world"
        assert (journal(), charged()) == ([""], 5)
        seen = asked(wire, url, STREAM)
    assert (seen.value, seen.heard) == ("Hello world", ["Hello ", "world"])
    assert (journal(), charged()) == ([""], 10)


REFUSALS = [
    (400, "", "API error: 400 - no", None),
    (401, "", "API error: 401 - no", None),
    (404, "", "API error: 404 - no", None),
    (307, "location: http://127.0.0.1:9/\r\n", "API error: 307 - no", None),
    (429, "", "Rate limited: retry after 5000ms", [5000] * 3),
    (429, "retry-after: 2\r\n", "Rate limited: retry after 5000ms", [2000] * 3),
    (429, "retry-after-ms: 1500\r\n", "Rate limited: retry after 5000ms", [1500] * 3),
    (429, "retry-after: soon\r\n", "Rate limited: retry after 5000ms", [5000] * 3),
    (429, "retry-after: -3\r\n", "Rate limited: retry after 5000ms", [0] * 3),
    (429, "retry-after: nan\r\n", "Rate limited: retry after 5000ms", [5000] * 3),
    (500, "", "API error: 500 - no", ...),
    (503, "retry-after: 1\r\n", "API error: 503 - no", [1000] * 3),
    (529, "", "API error: 529 - no", ...),
]


@pytest.mark.parametrize(("status", "headers", "message", "waited"), REFUSALS)
def test_refusals(wire: Wire, status: int, headers: str, message: str, waited: Any) -> None:
    if wire.name == "ollama" and status == 429:
        message, waited = "API error: 429 - no", None
    with fault(wire, [whole({"error": {"message": "no"}}, status, headers)]) as (url, server):
        check(asked(wire, url, CALL), wire, message, 1 if waited is None else 4)
        assert waited in (None, ..., SLEPT)
        SLEPT.clear()
        check(asked(wire, url, STREAM), wire, message, 1)
    assert len(server.requests) == (2 if waited is None else 5)


def test_retry_after_a_date() -> None:
    wire = WIRES["openai"]
    limited = whole("", 429, f"retry-after: {formatdate(time() + 10, usegmt=True)}\r\n")
    with fault(wire, [limited], [whole(wire.whole)]) as (url, _):
        assert asked(wire, url, CALL).value == "Hello world"
    assert 8000 < SLEPT[0] <= 10000
    assert journal() == ["Rate limited: retry after 5000ms", ""]
    assert charged() == 5


def test_refused_connection(wire: Wire) -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    message = f"HTTP error: could not connect to {url} (Connection refused)"
    check(asked(wire, url, CALL), wire, message, 4)
    SLEPT.clear()
    check(asked(wire, url, STREAM), wire, message, 1)


# script, words of the error, whether it is asked again
BROKEN = {
    "reset before": ([RESET], "HTTP error: URL: Connection reset by peer", True),
    "hung up before": ([], "HTTP error: URL: Server disconnected without sending a response.", True),
    "no HTTP": ([b"220 mail.example.com\r\n\r\n"], "HTTP error: URL: illegal status line", True),
    "endless header": ([b"HTTP/1.1 200 OK\r\nx: " + b"x" * 200_000], "HTTP error: URL: Receive buffer too long", True),
    "cut in the body": ([whole("{", length=99)], "HTTP error: URL: peer closed connection", True),
    "reset in the body": ([whole("{", length=99), RESET], "HTTP error: URL: ", True),
    "truncated JSON": ([whole('{"choices": [{"mess')], "Parse error: reply is not JSON (", False),
    "login page": (
        [whole("<html>Please log in</html>", headers="content-type: text/html\r\n")],
        "Parse error: reply is not JSON (",
        False,
    ),
    "empty body": ([whole("")], "Parse error: reply is not JSON (", False),
    "no object": ([whole("[1]")], "Parse error: expected a JSON object, got '[1]'", False),
    "null": ([whole("null")], "Parse error: expected a JSON object, got 'null'", False),
    "not UTF-8": ([whole(b'\xff\xfe{"a": 1}')], "Parse error: reply is not JSON (", False),
    "bad gzip": ([whole(b"no gzip", headers="content-encoding: gzip\r\n")], "HTTP error: URL: ", True),
    "oversized": ([whole("", length=300 << 20)], "HTTP error: URL: the body is larger than 268435456 bytes", True),
}


@pytest.mark.parametrize("name", BROKEN)
def test_broken_replies(wire: Wire, name: str) -> None:
    script, words, again = BROKEN[name]
    with fault(wire, script) as (url, server):
        check(asked(wire, url, CALL), wire, words.replace("URL", url), 4 if again else 1)
    assert len(server.requests) == (4 if again else 1)


@pytest.mark.parametrize("name", ["reset before", "cut in the body", "bad gzip", "hung up before"])
def test_what_breaks_once_is_asked_again(wire: Wire, name: str) -> None:
    with fault(wire, BROKEN[name][0], [whole(wire.whole)]) as (url, _):
        assert asked(wire, url, CALL).value == "Hello world"
    assert len(journal()) == 2
    assert journal()[1] == ""
    assert charged() == 5


@pytest.mark.parametrize("script", [[STALL], [b"HTTP/1.1 200 OK\r\n", STALL], [whole("{", length=99), STALL]])
def test_time_is_limited(wire: Wire, script: Script) -> None:
    if wire.name == "ollama":
        pytest.skip(":timeout doesn't hold for Ollama")
    with fault(wire, script) as (url, server):
        seen = asked(wire, url, '(llm/complete "hi" {:timeout 30})')
        check(seen, wire, f"HTTP error: no reply from {url} within 0.03 s", 4)
        assert server.hung_up.happened()


def test_a_reply_that_drips(wire: Wire) -> None:
    """The limit is for the reply as a whole, not between its pieces."""
    if wire.name == "ollama":
        pytest.skip(":timeout doesn't hold for Ollama")

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(whole("", length=10**6))
        while not writer.is_closing():
            writer.write(b" ")
            await asyncio.sleep(0.005)

    with serving(drip) as url:
        seen = asked(wire, url, '(llm/complete "hi" {:timeout 40})')
    check(seen, wire, f"HTTP error: no reply from {url} within 0.04 s", 4)


# Streams


@pytest.mark.parametrize("name", ["reset before", "hung up before", "no HTTP", "endless header"])
def test_streams_that_never_begin(wire: Wire, name: str) -> None:
    script, words, _ = BROKEN[name]
    with fault(wire, script) as (url, _):
        seen = asked(wire, url, STREAM)
    assert seen.heard == []
    check(seen, wire, words.replace("URL", url), 1)


def test_a_stream_that_stalls(wire: Wire, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http, "TIMEOUT_MS", 250)
    for script, heard in ([STALL], []), ([streamed(wire.events[: wire.texts[0] + 1], ends=False), STALL], ["Hello "]):
        with fault(wire, script) as (url, server):
            seen = asked(wire, url, STREAM)
            assert server.hung_up.happened()
        assert (seen.heard, seen.message) == (heard, f"HTTP error: no reply from {url} within 0.25 s")
        assert journal() == [seen.message]
    assert SLEPT == []


CUTS = ["closed", "reset", "ended"]


@pytest.mark.parametrize("how", CUTS)
def test_a_stream_that_breaks_before_its_first_text(wire: Wire, how: str) -> None:
    """What the server has reported by then is charged."""
    head = wire.events[: wire.texts[0]]
    with fault(wire, _cut(head, how)) as (url, _):
        seen = asked(wire, url, STREAM)
    assert seen.message.startswith("HTTP error: ")
    assert (seen.heard, journal(), SLEPT) == ([], [seen.message], [])
    assert charged() >= wire.said_before if head else charged() in (0, _likely(wire))


@pytest.mark.parametrize("how", CUTS)
def test_a_stream_that_breaks_in_the_middle(wire: Wire, how: str) -> None:
    """It is an error, never a short answer; what was used is charged: as reported, else estimated."""
    with fault(wire, _cut(wire.events[: wire.texts[0] + 1], how)) as (url, _):
        seen = asked(wire, url, STREAM)
    assert seen.message.startswith("HTTP error: ")
    assert (seen.heard, journal(), SLEPT) == (["Hello "], [seen.message], [])
    used = usage.session.usage
    assert used.prompt == wire.said_before or (wire.said_before == 0 and used.prompt > 0)
    assert used.completion > 0
    call = observers.last()
    assert call is not None
    assert call.usage is not None
    assert call.usage.total == used.total == charged()
    assert call.estimated


def _cut(pieces: list[bytes], how: str) -> Script:
    if how == "ended":
        return [streamed(pieces)]
    return [streamed(pieces, ends=False), *([RESET] if how == "reset" else [])]


def _likely(wire: Wire) -> int:
    from sema_runtime.llm.budgets import estimate

    call = observers.last()
    assert call is not None
    assert call.request is not None
    return estimate.likely_prompt(call.request)


def test_a_broken_stream_is_charged_to_the_budget(wire: Wire) -> None:
    left = "(define left nil) (try {} (catch e (set! left (:tokens-spent (llm/budget-remaining))))) left"
    with fault(wire, _cut(wire.events[: wire.texts[0] + 1], "closed")) as (url, _):
        seen = asked(wire, url, left.format(STREAM))
    assert seen.value == charged() > 0


def test_what_stands_before_the_end_of_a_cut_stream_is_heard(wire: Wire) -> None:
    """Also of an event whose own end is missing."""
    pieces = wire.events[: wire.texts[0] + 1]
    with fault(wire, _cut([*pieces[:-1], pieces[-1].rstrip(b"\n")], "ended")) as (url, _):
        seen = asked(wire, url, STREAM)
    assert (seen.heard, seen.message) == (["Hello "], "HTTP error: the stream ended before the reply was complete")


@pytest.mark.parametrize("junk", [b"data: {not json\n\n", b"data: [1]\n\n", b"data: 5\n\n"])
def test_junk_in_a_stream(wire: Wire, junk: bytes) -> None:
    """An event that can't be read is an error of the provider or left out, never a failure of ours."""
    line = junk.removeprefix(b"data: ").replace(b"\n\n", b"\n") if wire.name == "ollama" else junk
    pieces = [*wire.events[: wire.texts[0] + 1], line, *wire.events[wire.texts[0] + 1 :]]
    with fault(wire, [streamed(pieces)]) as (url, _):
        seen = asked(wire, url, STREAM)
    assert seen.value == "Hello world" or seen.message.startswith("Parse error: ")
    assert seen.heard[0] == "Hello "


def test_a_page_instead_of_a_stream(wire: Wire) -> None:
    page = whole("<html>Please log in</html>", headers="content-type: text/html\r\n")
    with fault(wire, [page]) as (url, _):
        seen = asked(wire, url, STREAM)
    check(seen, wire, "Parse error: reply is not a stream: '<html>Please log in</html>'", 1)
    assert seen.error is not None
    assert "the login page of a network" in str(seen.error.hint)


def test_a_whole_reply_instead_of_a_stream(wire: Wire) -> None:
    """Of servers and proxies that don't stream, whatever they are asked for."""
    with fault(wire, [whole(wire.whole)]) as (url, _):
        seen = asked(wire, url, STREAM)
    assert (seen.value, seen.heard) == ("Hello world", ["Hello world"])
    assert charged() == 5


@pytest.mark.parametrize("call", [CALL, STREAM])
@pytest.mark.parametrize("error", ['"no such model"', '{"message": "no such model"}'])
def test_an_error_inside_of_a_success(wire: Wire, call: str, error: str) -> None:
    with fault(wire, [whole(f'{{"error": {error}}}')]) as (url, server):
        seen = asked(wire, url, call)
    assert "no such model" in seen.message
    assert seen.message.startswith("API error: 200 - ")
    assert len(server.requests) == 1


# Chains


def chain(*wires: Wire) -> str:
    return f"(llm/with-fallback [{' '.join(':' + wire.name for wire in wires)}] (fn () PROGRAM))"


def test_a_chain_retries_in_each_link(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = WIRES["openai"], WIRES["anthropic"]
    with fault(first, [whole("no", 500)]) as (url, _), fault(second, [RESET], [whole(second.whole)]) as (other, _):
        run(second.configure(other))
        seen = asked(first, url, chain(first, second).replace("PROGRAM", CALL))
    assert seen.value == "Hello world"
    assert [message[:14] for message in journal()] == ["API error: 500"] * 4 + ["HTTP error: ht", ""]
    assert [attempt.provider for attempt in _attempts()] == ["local"] * 4 + ["anthropic"] * 2
    assert len(SLEPT) == 4
    assert charged() == 5
    assert "Provider 'local' failed: API error: 500 - no, trying next...\n" in capfd.readouterr().err


def _attempts() -> list[Attempt]:
    call = observers.last()
    assert call is not None
    return call.attempts


def test_a_stream_fails_over_before_its_first_piece_only(capfd: pytest.CaptureFixture[str]) -> None:
    first, second = WIRES["openai"], WIRES["gemini"]
    with fault(second, [streamed(second.events)]) as (other, _):
        run(second.configure(other))
        program = chain(first, second).replace("PROGRAM", STREAM)
        with fault(first, [whole("no", 529)]) as (url, _):
            seen = asked(first, url, program)
        assert (seen.value, seen.heard) == ("Hello world", ["Hello ", "world"])
        assert journal() == ["API error: 529 - no", ""]
        assert "Provider 'local' failed: API error: 529 - no, trying next...\n" in capfd.readouterr().err
        with fault(first, _cut(first.events[:1], "reset")) as (url, _):
            seen = asked(first, url, program)
    assert seen.message.startswith("HTTP error: ")
    assert seen.heard == ["Hello "]
    assert len(journal()) == 1
    assert capfd.readouterr().err == ""


def test_all_of_a_chain_fail() -> None:
    first, second = WIRES["openai"], WIRES["anthropic"]
    with fault(first, [whole("a", 400)]) as (url, _), fault(second, [whole("b", 400)]) as (other, _):
        run(second.configure(other))
        seen = asked(first, url, chain(first, second).replace("PROGRAM", CALL))
    assert seen.message == "API error: 400 - b"
    assert journal() == ["API error: 400 - a", "API error: 400 - b"]
    assert seen.error is not None
    assert seen.error.fields["provider"].name == "anthropic"


def test_a_batch_raises_its_first_failure() -> None:
    wire = WIRES["openai"]
    with fault(wire, [whole("no", 500)]) as (url, server):
        assert asked(wire, url, '(llm/batch ["a" "b"])').message == "API error: 500 - no"
    assert len(server.requests) == 2
    assert (SLEPT, charged()) == ([], 0)
