"""MCP servers that flood, never end, or answer what no client expects: real processes."""

from __future__ import annotations

import gc
import os
import resource
import warnings
from typing import Any

import mcp_support
import pytest
from mcp_support import alive, program, run

from sema_runtime.mcp import protocol, servers, stdio
from sema_runtime.mcp.client import Connection
from sema_runtime.values.errors import SemaError
from semac.session import Session

mcp = mcp_support.mcp
pytestmark = pytest.mark.usefixtures("mcp")

CONNECT = "(define s (mcp/connect config))"
LIMIT = 64 << 20  # bytes by which this process may grow


def config(timeout: int = 10_000) -> dict[str, Any]:
    return {**program("hostile.py"), "timeout": timeout}


def asked(tool: str, timeout: int = 10_000) -> Any:
    return run(f'{CONNECT} (mcp/call s "{tool}" {{}})', config=config(timeout))


def refused(tool: str, timeout: int = 10_000) -> str:
    with pytest.raises(SemaError) as caught:
        asked(tool, timeout)
    return caught.value.message


def grown() -> int:
    """The most memory that this process has had, in bytes."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def pid() -> int:
    (server,) = servers._servers.values()
    assert isinstance(server.connection, Connection)
    transport = server.connection.peer.transport
    assert isinstance(transport, stdio.Stdio)
    return transport.process.pid


@pytest.mark.parametrize("tool", ["notifications", "blank", "stderr", "trickle", "deaf"])
def test_the_time_holds_whatever_the_server_writes(tool: str) -> None:
    before = grown()
    assert refused(tool, 700) == "mcp/call: MCP server did not respond to `tools/call` within 0.7s"
    assert grown() - before < LIMIT


def test_a_line_without_end_ends_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_BYTES", 4_000_000)
    before = grown()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = Session()
        session.run(f"(define config {mcp_support.literal(config())}) {CONNECT}")
        number = pid()
        with pytest.raises(SemaError) as caught:
            session.run('(mcp/call s "line" {})')
        assert caught.value.message == "mcp/call: MCP server sent a message of more than 4000000 bytes"
        session.run("(mcp/close s)")
        gc.collect()
    assert not alive(number)
    assert grown() - before < LIMIT


def test_a_server_that_asks_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(protocol, "MOST_UNSENT", 50)
    before = grown()
    assert refused("questions") == "mcp/call: MCP server asked 50 questions without taking the answers"
    assert grown() - before < LIMIT


def test_calls_to_a_server_that_does_not_read_do_not_pile_up() -> None:
    session = Session()
    session.run(f"(define config {mcp_support.literal(config(300))}) {CONNECT}")
    before = grown()
    tell = '(try (mcp/call s "deaf" {:text big}) (catch e (:message e)))'
    session.run(f'(define big (string/repeat "x" 12000000)) {tell}')
    for _ in range(6):
        found = session.run(tell)
        assert found == "mcp/call: MCP server did not respond to `tools/call` within 0.3s"
    assert grown() - before < LIMIT
    number = pid()
    session.run("(mcp/close s)")
    assert not alive(number)


@pytest.mark.parametrize(
    ("tool", "reason"),
    [
        ("digits", "the integer 77777777777777777777... has 1000000 digits; at most 20000 are read"),
        ("deep", "it is nested deeper than 127 levels"),
        ("deeper", "it is nested deeper than 127 levels"),
    ],
)
def test_answers_that_can_not_be_read_say_so(tool: str, reason: str) -> None:
    assert refused(tool) == f"mcp/call: MCP server sent a message that can't be read: {reason}"
    assert asked("still here") == "still here"


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("bytes", "\ufffd\ufffd\ufffd\ufffd"),
        ("half", "\ufffd"),
        ("twice", "first"),
        ("ids", "right"),
        ("batch", "batched"),
    ],
)
def test_odd_answers(tool: str, expected: str) -> None:
    assert asked(tool) == expected


def test_numbers_that_are_no_json_are_nil() -> None:
    assert run(f'{CONNECT} (:value (mcp/call s "constants" {{}}))', config=config()).items == [None, None, None]


def test_the_errors_of_a_server_are_cut() -> None:
    assert len(refused("error")) < 5000


def test_pages_without_end() -> None:
    with pytest.raises(SemaError) as caught:
        run(f"{CONNECT} (mcp/tools s)", config=config())
    assert caught.value.message.startswith("mcp/tools: tools/list does not come to an end")


def test_nothing_is_left_open() -> None:
    asked("warm")
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(3):
        run(f'{CONNECT} (mcp/call s "x" {{}}) (mcp/close s)', config=config())
    assert len(os.listdir("/proc/self/fd")) <= before
