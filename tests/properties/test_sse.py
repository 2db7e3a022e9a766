"""Server-sent events: whatever the split, the same events."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sema_runtime.net.sse import Event, SseParser

STREAM = (
    "\ufeff: a comment\r\n"
    "event: greeting\r\ndata: grüß dich 🦊\r\ndata:second line\r\n\r\n"
    "data: [1]\n\ndata\n\nretry: 10\nid: 7\n\n"
    "data: old mac\rdata: style\r\r"
    'data: {"a": "x: y"}\n\n'
    "data: [DONE]"
).encode()
EVENTS = [
    Event("greeting", "grüß dich 🦊\nsecond line"),
    Event("", "[1]"),
    Event("", ""),
    Event("", "old mac\nstyle", "7"),
    Event("", '{"a": "x: y"}', "7"),
    Event("", "[DONE]", "7"),
]


def events_of(*pieces: bytes) -> list[Event]:
    parser = SseParser()
    found = [event for piece in pieces for event in parser.feed(piece)]
    return found + parser.close()


@pytest.mark.parametrize("at", range(len(STREAM) + 1))
def test_every_split_in_two(at: int) -> None:
    assert events_of(STREAM[:at], STREAM[at:]) == EVENTS


def test_byte_by_byte() -> None:
    assert events_of(*(STREAM[i : i + 1] for i in range(len(STREAM)))) == EVENTS


@settings(max_examples=60, deadline=None)
@given(st.lists(st.integers(0, len(STREAM)), max_size=12))
def test_any_split(cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(STREAM)]
    assert events_of(*(STREAM[a:b] for a, b in pairwise(edges))) == EVENTS


def test_an_event_is_given_when_its_blank_line_comes() -> None:
    parser = SseParser()
    assert parser.feed(b"data: 1\n") == []
    assert parser.feed(b"\n") == [Event("", "1")]
    assert parser.close() == []
