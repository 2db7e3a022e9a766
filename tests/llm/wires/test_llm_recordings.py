"""Replies of real servers, recorded by others: what we make of them is what the providers' own clients make of them,
however the bytes come in; and the requests that led to them are the ones we would have sent."""

from __future__ import annotations

import pytest
from llm_support import NO_SDK, problems
from paths import DATA
from recorded import Recording, events, load, our_error, ours, rebuilt, their_error, theirs
from request_readers import Beyond, comparable

FOLDER = DATA / "llm" / "recordings"
RECORDINGS = [load(file) for file in sorted(FOLDER.glob("*.json"))]
SDKS = {"openai": "openai", "anthropic": "anthropic", "gemini": "google.genai", "ollama": "ollama"}
every = pytest.mark.parametrize("recording", RECORDINGS, ids=lambda one: one.source)


def need_sdk(recording: Recording) -> None:
    pytest.importorskip("groq" if "groq" in recording.host else SDKS[recording.wire], reason=NO_SDK)


def test_there_are_recordings_of_every_wire() -> None:
    assert {(one.wire, one.stream) for one in RECORDINGS} >= {(wire, False) for wire in SDKS}
    assert len(RECORDINGS) >= 40


@every
def test_a_reply_says_what_the_official_client_reads(recording: Recording) -> None:
    need_sdk(recording)
    if recording.status >= 300:
        assert our_error(recording) == their_error(recording)
    else:
        assert ours(recording) == theirs(recording)


@pytest.mark.parametrize("recording", [one for one in RECORDINGS if one.stream], ids=lambda one: one.source)
def test_a_stream_may_be_split_anywhere(recording: Recording) -> None:
    data = recording.reply
    whole = events(recording, [data])
    for point in range(1, len(data)):
        assert events(recording, [data[:point], data[point:]]) == whole, point
    single = [data[place : place + 1] for place in range(len(data))]
    assert ours(recording, single) == ours(recording)


@pytest.mark.parametrize("recording", [one for one in RECORDINGS if one.stream], ids=lambda one: one.source)
def test_a_stream_that_breaks_is_no_short_answer(recording: Recording) -> None:
    """Cut behind any event before the one that says why the reply ends."""
    from sema_runtime.llm.errors import ProviderError

    whole = ours(recording)
    pieces = recording.reply.splitlines(keepends=True)
    for count in range(len(pieces)):
        try:
            cut = ours(recording, [b"".join(pieces[:count])])
        except ProviderError:
            continue
        assert (cut.content, cut.calls, cut.stop) == (whole.content, whole.calls, whole.stop), count


@every
def test_the_sdk_types_accept_the_request(recording: Recording) -> None:
    """The judge of what we send must not refuse what the servers took."""
    need_sdk(recording)
    if recording.status < 300:
        assert problems(recording.wire, recording.body) == []


@every
def test_our_code_would_have_sent_the_same(recording: Recording) -> None:
    try:
        made = rebuilt(recording)
    except Beyond as beyond:
        pytest.skip(f"not in our requests: {beyond}")
    assert comparable(recording.wire, made) == comparable(recording.wire, recording.body)
