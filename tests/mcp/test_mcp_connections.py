"""Connections to MCP servers over stdio: waiting, cancelling, servers that misbehave, their end."""

from __future__ import annotations

import json
import signal
import subprocess
from pathlib import Path

import pytest
from mcp_calls import CONNECT, SEMA, error, hurried, scripted, shown
from mcp_support import (
    alive,
    run,
)
from mcp_support import mcp as mcp

from sema_runtime.mcp import stdio
from sema_runtime.values.errors import SemaError

pytestmark = pytest.mark.usefixtures("mcp")


# Waiting


def test_a_connection_carries_many_calls_at_once() -> None:
    found = shown(
        f"""{CONNECT}
        (define order '())
        (async/all (map (fn (n) (async (mcp/call s "turn" {{:turn n}}) (set! order (append order (list n)))))
                        '(3 2 1 0)))
        order""",
        config=scripted(),
    )
    assert found == "(0 1 2 3)"


def test_a_cancelled_call_is_taken_back_and_the_connection_goes_on() -> None:
    found = run(
        f"""{CONNECT}
        (define hanging (async (mcp/call s "hang" {{}})))
        (mcp/call s "echo" {{}})
        (async/cancel hanging)
        (mcp/call s "echo" {{}})
        (mcp/call s "seen" {{}})""",
        config=scripted(),
    )
    cancelled = [params for method, params in json.loads(found)[1:] if method == "notifications/cancelled"]
    assert [one["reason"] for one in cancelled] == ["the task that waited was cancelled"]


def test_a_server_that_does_not_answer() -> None:
    slow = error("(mcp/connect config)", config=scripted("mute", timeout=150))
    assert slow.message == "mcp/connect: MCP server did not respond to `initialize` within 0.15s"
    with pytest.raises(SemaError) as hanging:
        hurried('(mcp/call s "hang" {})', 100)
    assert hanging.value.message == "mcp/call: MCP server did not respond to `tools/call` within 0.1s"


def test_what_the_server_says_meanwhile_does_not_extend_the_time() -> None:
    with pytest.raises(SemaError) as chatting:
        hurried('(mcp/call s "chatty" {})', 900)
    assert chatting.value.message == "mcp/call: MCP server did not respond to `tools/call` within 0.9s"


def test_closing_fails_what_waits() -> None:
    found = run(
        f"""{CONNECT}
        (define hanging (async (try (mcp/call s "hang" {{}}) (catch e (:message e)))))
        (mcp/call s "echo" {{}})
        (mcp/close s)
        (await hanging)""",
        config=scripted(),
    )
    assert found == "mcp/call: the connection was closed"


# Servers that misbehave


def test_what_is_no_message_is_passed_over() -> None:
    assert run(f'{CONNECT} (mcp/call s "noise" {{}})', config=scripted()) == "heard"


def test_what_servers_ask_is_answered() -> None:
    ping, roots, sampling = json.loads(run(f'{CONNECT} (mcp/call s "ask" {{}})', config=scripted()))
    assert ping == {}
    assert roots == {"code": -32601, "message": "Method not found: roots/list"}
    assert sampling == {"code": -32601, "message": "Method not found: sampling/createMessage"}


def test_big_messages_both_ways() -> None:
    size = 3_000_000
    assert run(f'{CONNECT} (string-length (mcp/call s "big" {{:bytes {size}}}))', config=scripted()) == size
    ask = f'{CONNECT} (mcp/call s "size" {{:text (string/repeat "x" {size})}})'
    assert run(ask, config=scripted()) == str(size)


def test_a_message_without_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "MAX_BYTES", 100_000)
    message = error(f'{CONNECT} (mcp/call s "big" {{:bytes 2000000}})', config=scripted()).message
    assert message == "mcp/call: MCP server sent a message of more than 100000 bytes"


def test_the_error_output_of_a_server_stays_apart(capfd: pytest.CaptureFixture[str]) -> None:
    assert run(f'{CONNECT} (mcp/call s "stderr" {{}})', config=scripted()) == "done"
    assert capfd.readouterr() == ("", "")


def test_a_server_that_dies() -> None:
    config = scripted(env={"DEMO_SECRET": "hunter2-hunter2"})
    died = error(f'{CONNECT} (mcp/call s "die" {{}})', config=config)
    assert (
        died.message == "mcp/call: MCP server closed the connection before responding (the process ended with status 3)"
    )
    assert died.note == "its error output ends with:\n    starting\n    fatal: the database [redacted] is gone"
    again = error(f'{CONNECT} (try (mcp/call s "die" {{}}) (catch e nil)) (mcp/tools s)', config=config)
    assert again.message == died.message.replace("mcp/call", "mcp/tools")


def test_a_server_that_does_not_start() -> None:
    found = error("(mcp/connect config)", config=scripted("exit"))
    assert found.message.endswith("(the process ended with status 2)")
    assert found.note == "its error output ends with:\n    usage: server --port N"


def test_an_unknown_version_of_the_protocol() -> None:
    found = error("(mcp/connect config)", config=scripted("version"))
    assert found.message == "mcp/connect: MCP server speaks protocol version 1999-12-31, which is not known here"


# Their end


def server_pid(handle: str) -> int:
    return int(run('(mcp/call s "pid" {})', s=handle))


def test_close_ends_the_server() -> None:
    handle = run("(mcp/connect config)", config=scripted())
    pid = server_pid(handle)
    run("(mcp/close s)", s=handle)
    assert not alive(pid)


def test_close_ends_a_server_that_would_not_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "GRACE", 0.1)
    handle = run("(mcp/connect config)", config=scripted("stubborn"))
    pid = server_pid(handle)
    run("(mcp/close s)", s=handle)
    assert not alive(pid)


@pytest.mark.parametrize(
    ("rest", "number", "status"),
    [
        ("", None, 0),
        ('(error "boom")', None, 1),
        ("(exit 4)", None, 4),
        ('(mcp/call s "hang" {})', signal.SIGINT, 1),
        ('(mcp/call s "hang" {})', signal.SIGTERM, -signal.SIGTERM),
    ],
)
def test_servers_end_with_the_program(rest: str, number: int | None, status: int, tmp_path: Path) -> None:
    source = f'(define s (mcp/connect CONFIG)) (println (mcp/call s "pid" {{}})) (io/flush) {rest}'
    from mcp_support import literal

    file = tmp_path / "program.sema"
    file.write_text(source.replace("CONFIG", literal(scripted())))
    process = subprocess.Popen([*SEMA, str(file)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stderr is not None
    pid = int(process.stdout.readline())
    if number is not None:
        process.send_signal(number)
    _, errors = process.communicate(timeout=30)
    assert process.returncode == status, errors
    assert "Traceback" not in errors
    assert not alive(pid)
