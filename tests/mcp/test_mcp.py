"""The MCP client: with servers of the official package, of fastmcp and of the protocol's authors, over each transport,
and with servers that misbehave."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_support import free_port
from mcp_support import (
    Asked,
    Told,
    alive,
    environment,
    everything,
    fastmcp_python,
    greeting,
    http_server,
    literal,
    mcp,
    peaceful,
    program,
    result,
    run,
    said,
    started,
    wait_for_port,
)
from paths import DATA

from sema_runtime.conditions.describe import condition_map, describe
from sema_runtime.mcp import servers, stdio
from sema_runtime.mcp.client import Connection
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

pytestmark = pytest.mark.usefixtures("mcp")
SEMA = [sys.executable, "-m", "semac.cli.entry"]
SPAWN = "mcp/connect: failed to spawn MCP server process"
CONNECT = "(define s (mcp/connect config))"
__all__ = ["mcp"]


def shown(source: str, **names: Any) -> str:
    return to_text(run(source, **names))


def error(source: str, **names: Any) -> Any:
    """The error that a program ends with."""
    with pytest.raises(Exception) as caught:
        run(source, **names)
    return describe(caught.value)


def scripted(*mode: str, **more: Any) -> dict[str, Any]:
    return {**program("scripted.py", *mode), **more}


def hurried(source: str, milliseconds: float) -> Any:
    """The value of a program whose server has so much time for its answers; for beginning it has had what it wanted."""
    session = Session()
    session.run(f"(define config {literal(scripted())}) {CONNECT}")
    (server,) = servers._servers.values()
    assert isinstance(server.connection, Connection)
    server.connection.peer.timeout_ms = milliseconds
    return session.run(source)


# Servers that others wrote


@pytest.fixture(scope="module")
def urls() -> Iterator[dict[str, str]]:
    """The official server by transport."""
    pytest.importorskip("mcp")
    with started("official.py", "http", ports=3) as (streamable, as_json, sse):
        yield {"http": f"{streamable}/mcp", "json": f"{as_json}/mcp", "sse": f"{sse}/sse"}


def official(transport: str, request: pytest.FixtureRequest) -> dict[str, Any]:
    pytest.importorskip("mcp")
    if transport == "stdio":
        return program("official.py", "stdio")
    return {"url": request.getfixturevalue("urls")[transport]}


TRANSPORTS = pytest.mark.parametrize("transport", ["stdio", "http", "json", "sse"])


@TRANSPORTS
def test_official_server(transport: str, request: pytest.FixtureRequest) -> None:
    found = shown(
        f"""{CONNECT}
        (define tools (mcp/tools->sema s))
        (define meeting (map (fn (i) (async (mcp/call s "meet" {{:count 5}}))) (range 5)))
        (list (map :name (mcp/tools s))
              (map tool/parameters tools)
              (mcp/call s "add" {{:a 40 :b 2}})
              (mcp/call s "paint" {{:color :red :places [{{:name "hall"}} {{:name "attic" :floor 2}}]}})
              (keys (first (:content (mcp/call s "picture" {{}}))))
              (async/all meeting)
              (mcp/close s))""",
        config=official(transport, request),
    )
    assert found == (
        '(("add" "paint" "crash" "picture" "meet")'
        " ({:a {:type :integer} :b {:optional #t :type :integer}}"
        ' {:color {:enum ("red" "green") :type :string} :note {:optional #t :type :string} :places {:type :array}}'
        " {} {} {:count {:type :integer}})"
        ' "42" "red: hall, attic" (:data :mimeType :type) ("5" "5" "5" "5" "5") nil)'
    )


def test_errors_of_tools_are_results_to_programs_and_errors_to_agents(request: pytest.FixtureRequest) -> None:
    config = official("json", request)
    assert "out of paint" in run(f'{CONNECT} (mcp/call s "crash" {{}})', config=config)
    crash = '(first (filter (fn (t) (= (tool/name t) "crash")) (mcp/tools->sema s)))'
    message = error(f"{CONNECT} (tool/invoke {crash} {{}})", config=config).message
    assert message.startswith("mcp tool `crash` returned an error: ")
    assert "out of paint" in message


def test_models_are_sent_the_whole_schema(request: pytest.FixtureRequest) -> None:
    tools = run(f"{CONNECT} (mcp/tools->sema s)", config=official("json", request))
    paint = next(tool for tool in tools if tool.name == "paint").schema()
    place = {"type": "object", "properties": {"name": {"type": "string"}, "floor": {"type": "integer", "default": 0}}}
    assert paint.description == "Paints places."
    assert paint.parameters == {
        "type": "object",
        "properties": {
            "color": {"type": "string", "enum": ["red", "green"]},
            "places": {"type": "array", "items": {**place, "required": ["name"]}},
            "note": {"type": "string", "default": ""},
        },
        "required": ["color", "places"],
    }


def test_fastmcp() -> None:
    python = fastmcp_python()
    server = str(DATA / "mcp" / "with_fastmcp.py")
    port = free_port()
    remote = subprocess.Popen([python, server, "http", str(port)], stderr=subprocess.DEVNULL)
    ask = f'{CONNECT} (list (map :name (mcp/tools s)) (mcp/call s "add" {{:a 1 :b 2}}))'
    try:
        assert shown(ask, config={"command": python, "args": [server]}) == '(("add") "3")'
        wait_for_port(port)
        assert shown(ask, config={"url": f"http://127.0.0.1:{port}/mcp/"}) == '(("add") "3")'
        assert shown(ask, config={"url": f"http://127.0.0.1:{port}/mcp"}) == '(("add") "3")'
    finally:
        remote.kill()
        remote.wait()


def test_example_server_of_the_protocol() -> None:
    command, *arguments = everything()
    found = shown(
        f"""{CONNECT}
        (list (mcp/call s "echo" {{:message "hi"}})
              (mcp/call s "get-sum" {{:a 1 :b 2.5}})
              (json/decode (mcp/call s "get-structured-content" {{:location "Chicago"}}))
              (mcp/call s "trigger-long-running-operation" {{:duration 0.1 :steps 2}}))""",
        config={"command": command, "args": [*arguments, "stdio"]},
    )
    assert found.startswith('("Echo: hi" "The sum of 1 and 2.5 is 3.5." {:conditions "Light rain / drizzle"')
    assert "Long running operation completed" in found


# Tools and results


def test_handles() -> None:
    handles = run("(list (mcp/connect config) (mcp/connect config))", config=scripted())
    numbers = [int(handle.removeprefix("mcp-")) for handle in handles]
    assert numbers[1] == numbers[0] + 1


def test_all_pages_of_the_tools_are_listed() -> None:
    found = run(f"{CONNECT} (mcp/tools s)", config=scripted())
    assert len(found) == 11
    assert to_text(found[0]) == '{:description "" :input-schema {:type "object"} :name "echo"}'


@pytest.mark.parametrize(
    ("tool", "expected"),
    [
        ("texts", '"one\\ntwo"'),
        ("image", '{:content ({:data "AAAA" :mimeType "image/png" :type "image"})}'),
        ("structured", '{:content () :structuredContent {:celsius 4.5 :tags ("a" nil)}}'),
        ("fail", '"disk full"'),
    ],
)
def test_results(tool: str, expected: str) -> None:
    assert shown(f'{CONNECT} (mcp/call s "{tool}" {{}})', config=scripted()) == expected


def test_arguments_become_json() -> None:
    ask = f'{CONNECT} (mcp/call s "echo" {{:n 1 :x 1.5 :list \'(1 "a" :k) :map {{"a" nil}} :on #t}})'
    assert json.loads(run(ask, config=scripted())) == {
        "n": 1, "x": 1.5, "list": [1, "a", "k"], "map": {"a": None}, "on": True,
    }  # fmt: skip
    assert run(f'{CONNECT} (mcp/call s "echo" nil)', config=scripted()) == "{}"


def test_tools_of_agents_leave_out_what_is_nil() -> None:
    from sema_runtime.lib.llm.mcp import ToolHandler

    handle = run("(mcp/connect config)", config=scripted())
    handler = ToolHandler(handle, "echo", ["a", "b", "c"])
    assert json.loads(handler(1, None, (2,))) == {"a": 1, "c": [2]}
    assert to_text(handler) == "<native-fn mcp/echo>"


def test_an_agent_uses_the_tools() -> None:
    found = shown(
        f"""{CONNECT}
        (define rounds 0)
        (llm/define-provider :told {{:complete (fn (request)
          (set! rounds (+ rounds 1))
          (case rounds
            ((1) {{:tool-calls [{{:id "1" :name "texts" :arguments {{}}}} {{:id "2" :name "fail" :arguments {{}}}}]}})
            (else {{:content (string/join (map :content (filter (fn (m) (= (:role m) "tool")) (:messages request)))
                                          " | ")}})))}})
        (agent/run (agent {{:tools (mcp/tools->sema s)}}) "go")""",
        config=scripted(),
    )
    assert found == '"one\\ntwo | Error: mcp tool `fail` returned an error: disk full"'


def test_schemas_become_parameters() -> None:
    from sema_runtime.mcp.schema import for_models, parameters_of

    schema = {
        "type": "object",
        "$defs": {
            "Unit": {"type": "string", "enum": ["C", "F"]},
            "Tree": {"properties": {"t": {"$ref": "#/$defs/Tree"}}},
        },
        "properties": {
            "unit": {"$ref": "#/$defs/Unit", "description": "which"},
            "maybe": {"anyOf": [{"type": "integer"}, {"type": "null"}]},
            "listed": {"type": ["null", "number"]},
            "either": {"oneOf": [{"type": "integer"}, {"type": "string"}]},
            "free": {},
            "tree": {"$ref": "#/$defs/Tree"},
            "lost": {"$ref": "https://example.com/other"},
            "odd": True,
        },
        "required": ["unit", 5],
    }
    assert to_text(parameters_of(schema)) == (
        "{:either {:optional #t :type :string} :free {:optional #t :type :string} :listed {:optional #t :type :number}"
        " :lost {:optional #t :type :string} :maybe {:optional #t :type :integer} :odd {:optional #t :type :string}"
        ' :tree {:optional #t :type :string} :unit {:description "which" :enum ("C" "F") :type :string}}'
    )
    sent = for_models(schema)
    assert sent["properties"]["unit"] == {"type": "string", "enum": ["C", "F"], "description": "which"}
    assert sent["properties"]["listed"] == {"anyOf": [{"type": "null"}, {"type": "number"}]}
    assert "$" not in json.dumps(sent)
    assert for_models(None) == {"type": "object", "properties": {}}
    assert to_text(parameters_of("junk")) == "{}"


# Connecting


def test_environment_and_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/ada")
    config = scripted(env={"DEMO": "yes"}, cwd=str(tmp_path))
    assert run(f'{CONNECT} (mcp/call s "env" {{:name "DEMO"}})', config=config) == f"yes\n{tmp_path}"
    assert run(f'{CONNECT} (mcp/call s "env" {{:name "HOME"}})', config=config).startswith("/home/ada\n")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ("{}", "mcp/connect requires a :command (stdio) or :url (http) entry"),
        ("{:url 5}", "mcp/connect requires a :command (stdio) or :url (http) entry"),
        ('"npx"', "expected map, got string"),
        ('{:command "x" :args ["a" 1]}', "mcp/connect: every :args element must be a string"),
        ('{:command "x" :args "a"}', "mcp/connect: :args must be a list of strings"),
        ('{:command "x" :env {:PORT 80}}', "expected string, got int"),
        ('{:command "x" :cwd 5}', "expected string, got int"),
        ('{:command "no-such-program-7"}', f"{SPAWN} `no-such-program-7`: No such file or directory"),
        ('{:command "true" :cwd "/nowhere-7"}', f"{SPAWN} `true`: :cwd /nowhere-7: No such file or directory"),
        ('{:command "a\\u0000b"}', f"{SPAWN} `a\0b`: embedded null byte"),
        ('{:command "true" :timeout 0}', "mcp/connect: :timeout must be a positive number, got 0"),
        ('{:url ""}', "mcp/connect: invalid URL: "),
        ('{:url "ftp://x"}', "mcp/connect: invalid URL: ftp://x"),
        ('{:url "http://u:pw@x:99999/"}', "mcp/connect: invalid URL: http://u:***@x:99999/"),
        ('{:url "http://127.0.0.1:9/mcp"}',
         "mcp/connect: failed to send MCP request: could not connect (Connection refused)"),
        ('{:url "http://127.0.0.1:9" :headers {"X-Key" "a\\nb"}}',
         "mcp/connect: failed to send MCP request: the header X-Key holds characters that can't be sent"),
    ],
)  # fmt: skip
def test_what_can_not_be_connected_to(config: str, message: str) -> None:
    assert error(f"(mcp/connect {config})").message == message


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ('(mcp/tools "mcp-0")', "mcp connection mcp-0 is not registered; it may have been closed"),
        ('(mcp/tools->sema "mcp-0")', "mcp connection mcp-0 is not registered; it may have been closed"),
        ('(mcp/close "mcp-0")', "mcp connection mcp-0 is not registered; it may have been closed"),
        ("(mcp/close 5)", "expected string, got int"),
        ('(mcp/call "mcp-0" "t" {})', "mcp connection mcp-0 is not registered; it may have been closed"),
        ("(mcp/call s 5 {})", "expected string, got int"),
        ('(mcp/call s "echo" 5)', "expected map, got int"),
        ('(mcp/call s "echo")', "mcp/call expects 3 arguments, got 2"),
        ('(mcp/call s "refuse" {})', "mcp/call: MCP RPC error -32602: no such argument"),
        ('(mcp/call s "nothing" {})', "mcp/call: MCP response did not include a result"),
        ('(mcp/close s) (mcp/close s)', "mcp connection HANDLE is not registered; it may have been closed"),
    ],
)  # fmt: skip
def test_wrong_calls(call: str, message: str) -> None:
    handle = run("(mcp/connect config)", config=scripted())
    assert error(call, s=handle).message == message.replace("HANDLE", handle)


def test_only_declared_tools_can_be_used() -> None:
    config = scripted(tools=["echo", "texts"])
    assert shown(f"{CONNECT} (map :name (mcp/tools s))", config=config) == '("echo" "texts")'
    assert shown(f"{CONNECT} (map tool/name (mcp/tools->sema s))", config=config) == '("echo" "texts")'
    refused = error(f'{CONNECT} (mcp/call s "fail" {{}})', config=config)
    assert refused.message == (
        "mcp/call: tool `fail` is not declared in this connection's :tools manifest [echo, texts]"
    )
    none = error(f'{CONNECT} (mcp/call s "fail" {{}})', config=scripted(tools=[]))
    assert none.message.endswith("manifest [(none)]")


@pytest.mark.parametrize(
    ("denied", "config", "capability"),
    [("process", '{:command "true"}', "process"), ("network", '{:url "http://127.0.0.1:9"}', "network")],
)
def test_capabilities(denied: str, config: str, capability: str) -> None:
    done = subprocess.run(
        [*SEMA, "--sandbox", f"no-{denied}", "-e", f"(mcp/connect {config})"], capture_output=True, text=True
    )
    assert done.returncode == 1
    assert f"Permission denied: mcp/connect requires '{capability}' capability" in done.stderr


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


# Over HTTP


def test_sessions_and_versions_are_sent_along() -> None:
    def behave(asked: Asked) -> Told:
        return (
            greeting(asked, "s-1") if "initialize" in json.dumps(asked.body) and "id" in asked.body else peaceful(asked)
        )

    with http_server(behave) as server:
        config = {"url": f"{server.url}/mcp", "headers": {"X-Team": "blue"}}
        run(f'{CONNECT} (mcp/call s "echo" {{}}) (mcp/close s)', config=config)
        first, *others = server.asked
    assert [one.method for one in others] == ["POST", "POST", "DELETE"]
    assert "mcp-session-id" not in first.headers
    assert first.headers["accept"] == "application/json, text/event-stream"
    for one in others:
        assert one.headers["mcp-session-id"] == "s-1"
        assert one.headers["mcp-protocol-version"] == "2025-11-25"
        assert one.headers["x-team"] == "blue"


def test_a_session_that_has_ended_is_begun_anew() -> None:
    sessions = iter(["s-1", "s-2"])
    ended = set()

    def behave(asked: Asked) -> Told:
        if asked.method == "POST" and asked.body.get("method") == "initialize":
            return greeting(asked, next(sessions))
        if asked.headers.get("mcp-session-id") in ended:
            return Told(404, "no such session")
        return peaceful(asked)

    with http_server(behave) as server:
        handle = run("(mcp/connect config)", config={"url": server.url})
        ended.add("s-1")
        calls = run('(async/all (map (fn (i) (async (mcp/call s "echo" {:i i}))) (range 3)))', s=handle)
        assert list(calls) == ['{"i": 0}', '{"i": 1}', '{"i": 2}']
        ended.add("s-2")
        sessions = iter(["s-2"])
        lost = error('(mcp/call s "echo" {})', s=handle)
    assert lost.message == (
        "mcp/call: MCP session expired (HTTP 404) on `tools/call`; reconnect required"
        " (MCP server returned HTTP 404 on `notifications/initialized`: no such session)"
    )


def test_a_stream_that_breaks_off_is_taken_up_again() -> None:
    def behave(asked: Asked) -> Told:
        if asked.method == "GET":
            assert asked.headers["last-event-id"] == "e-1"
            return Told(events=[("e-2", {"jsonrpc": "2.0", "id": 2, "result": said("at last")})])
        if asked.body.get("method") == "tools/call":
            return Told(events=[("e-1", "")], headers={"retry": "1"})
        return peaceful(asked)

    import sema_runtime.mcp.http as http

    with http_server(behave) as server, pytest.MonkeyPatch.context() as patch:
        patch.setattr(http, "RESUME_SECONDS", 0.01)
        assert run(f'{CONNECT} (mcp/call s "echo" {{}})', config={"url": server.url}) == "at last"


def call_answered(told: Any) -> Any:
    """What a call makes of an answer."""

    def behave(asked: Asked) -> Told:
        is_call = isinstance(asked.body, dict) and asked.body.get("method") == "tools/call"
        return (told(asked) if callable(told) else told) if is_call else peaceful(asked)

    with http_server(behave) as server:
        return error(f'{CONNECT} (mcp/call s "echo" {{}})', config={"url": server.url}).message


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (Told(500, "database down"), "MCP server returned HTTP 500 on `tools/call`: database down"),
        (Told(400, {"jsonrpc": "2.0", "id": 2, "error": {"code": -32600, "message": "bad"}}),
         "MCP server returned HTTP 400 on `tools/call`: bad"),
        (Told(500, "x" * 9000), "MCP server returned HTTP 500 on `tools/call`: " + "x" * 500 + "..."),
        (Told(200, "<html>hello</html>"),
         "failed to decode MCP response: no JSON-RPC message in the reply (text/plain)"),
        (Told(200, {"jsonrpc": "2.0", "id": 99, "result": {}}),
         "MCP response id mismatch on `tools/call` (expected 2)"),
        (Told(200, {"jsonrpc": "2.0", "id": 2, "result": []}),
         "MCP server answered `tools/call` with a result that is no object"),
        (Told(events=[]), "MCP SSE stream ended before the response arrived"),
        (Told(events=[("", "not json"), ("", [1, 2])]), "MCP SSE stream ended before the response arrived"),
        (Told(302, headers={"location": "http://example.invalid/mcp?key=1"}),
         "MCP server redirects to another server, http://example.invalid/mcp"),
        (Told(403, "no"), "MCP server returned HTTP 403 on `tools/call`: no"),
    ],
)  # fmt: skip
def test_answers_that_are_none(told: Told, message: str) -> None:
    assert call_answered(told) == f"mcp/call: {message}"


def test_an_event_stream_may_carry_more_than_the_answer() -> None:
    def behave(asked: Asked) -> Told:
        if asked.method == "POST" and asked.body.get("method") == "tools/call":
            news = {"jsonrpc": "2.0", "method": "notifications/progress", "params": {}}
            ping = {"jsonrpc": "2.0", "id": "p", "method": "ping"}
            return Told(events=[("", news), ("", ping), ("", result(asked, said("here")))])
        return peaceful(asked)

    with http_server(behave) as server:
        twice = f'{CONNECT} (mcp/call s "echo" {{}}) (async/sleep 50) (mcp/call s "echo" {{}})'
        assert run(twice, config={"url": server.url}) == "here"
        calls = [
            one.port for one in server.asked if isinstance(one.body, dict) and one.body.get("method") == "tools/call"
        ]
        assert calls[0] == calls[1]  # the connection is used again
        assert {"jsonrpc": "2.0", "id": "p", "result": {}} in [one.body for one in server.asked]


def test_a_server_over_http_that_does_not_answer(tmp_path: Path) -> None:
    release = threading.Event()

    def behave(asked: Asked) -> Told:
        method = asked.body.get("method", "") if isinstance(asked.body, dict) else ""
        if method in ("tools/call", "notifications/cancelled"):
            (tmp_path / method.replace("/", "-")).touch()
        if method == "tools/call":
            release.wait(20)
        return peaceful(asked)

    def awaited(method: str) -> str:
        """Waits until the server has got that, once more."""
        file = json.dumps(str(tmp_path / method.replace("/", "-")))
        return f"(while (not (file/exists? {file})) (async/sleep 1)) (file/delete {file})"

    with http_server(behave) as server:
        config = {"url": server.url}
        waiting = f"""(define hanging (async (try (mcp/call s "echo" {{}}) (catch e (:message e)))))
                     (async (mcp/tools s)) {awaited("tools/call")}"""
        tools = error(f'{CONNECT} (mcp/call s "echo" {{}})', config={**config, "timeout": 1500})
        run(f"{awaited('tools/call')} {awaited('notifications/cancelled')}")
        closed = run(f"{CONNECT} {waiting} (mcp/close s) (await hanging)", config=config)
        run(
            f"{CONNECT} {waiting} (async/cancel hanging) {awaited('notifications/cancelled')} (mcp/close s)",
            config=config,
        )
        release.set()
    assert tools.message == "mcp/call: MCP server did not respond to `tools/call` within 1.5s"
    assert closed == "mcp/call: the connection was closed"
    taken_back = [one.body["params"]["reason"] for one in server.asked if "cancelled" in json.dumps(one.body)]
    assert taken_back == ["the answer took too long", "the task that waited was cancelled"]


@pytest.mark.parametrize(
    ("place", "shown"),
    [
        ("http://[", "which is no URL"),
        ("//example.invalid:99999/x", "which is no URL"),
        ("http://example.invalid:8080/messages?key=1", "http://example.invalid:8080/messages"),
    ],
)
def test_places_that_servers_name_elsewhere(place: str, shown: str) -> None:
    def behave(asked: Asked) -> Told:
        if asked.method == "POST":
            return Told(405)
        return Told(body=f"event: endpoint\ndata: {place}\n\n", headers={"content-type": "text/event-stream"})

    with http_server(behave) as server:
        message = error("(mcp/connect config)", config={"url": server.url}).message
    assert message == f"mcp/connect: MCP server names an endpoint on another server, {shown}"


def test_an_authorization_that_was_given_is_not_replaced() -> None:
    with http_server(lambda asked: Told(401, "", {"www-authenticate": "Bearer"})) as server:
        config = {"url": server.url, "headers": {"Authorization": "Bearer abcdefghijklmnop"}}
        refused = error("(mcp/connect config)", config=config)
        assert refused.message == "mcp/connect: MCP server requires authorization (HTTP 401) on `initialize`"
        assert refused.hint == "the server does not take the Authorization header that was given in :headers"
        assert len(server.asked) == 1


# Tapes


def test_a_tape_stands_in_for_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tape = str(tmp_path / "tape.ndjson")
    config = scripted(env={"TOKEN": "very-secret-token"})
    ask = f"""(llm/with-cassette tape {{:mode MODE}} (fn ()
      {CONNECT}
      (list (map :name (mcp/tools s)) (mcp/call s "echo" {{:a 1}}) (tool/invoke (first (mcp/tools->sema s)) {{}})
            (mcp/call s "env" {{:name "TOKEN"}}))))"""
    recorded = shown(ask.replace("MODE", ":auto"), tape=tape, config=config)
    text = Path(tape).read_text()
    kinds = [json.loads(line)["kind"] for line in text.splitlines()]
    assert kinds == ["mcp-connect", "mcp-tools", "mcp-call", "mcp-call", "mcp-call"]
    assert "very-secret-token" in recorded
    assert "very-secret-token" not in text

    def start(*_: Any) -> None:
        raise AssertionError("a server was started")

    monkeypatch.setattr(stdio.Stdio, "started", start)
    for mode in (":replay", ":auto"):
        replayed = shown(ask.replace("MODE", mode), tape=tape, config=config)
        assert replayed == recorded.replace("very-secret-token", "[redacted]")
    missing = ask.replace("MODE", ":replay").replace("{:a 1}", "{:a 2}")
    message = error(missing, tape=tape, config=config).message
    assert message == "mcp/call: no cassette recording for this call (replay miss)"


def test_keys_of_tapes() -> None:
    """As the reference makes them: SHA-256 of the kind, the server, the tool and the arguments."""
    from hashlib import sha256

    from sema_runtime.llm.recordings import cassette
    from sema_runtime.mcp.client import Program, Remote
    from sema_runtime.mcp.servers import Server
    from sema_runtime.tasks.children import Settings

    local = Server(Program(["npx", "-y", "é"], Settings("mcp/connect", None)), None, 1).identity()
    assert local == '{"args":["-y","é"],"command":"npx","cwd":null,"t":"stdio"}'
    assert Server(Remote("https://x.example/mcp"), None, 1).identity() == "https://x.example/mcp"
    text = f'mcp-call\0{local}\0search\0{{"a":1,"q":"x"}}'
    assert (
        cassette.mcp_key("mcp-call", local, "search", {"q": "x", "a": 1}) == f"mcp-{sha256(text.encode()).hexdigest()}"
    )


# What it costs


def test_programs_without_servers_load_nothing_of_this() -> None:
    source = "import sys; from semac.session import Session; Session().run('(+ 1 2)')"
    source += "; print([name for name in sys.modules if '.mcp' in name])"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=environment())
    assert done.stdout.strip() == "[]"


def test_a_server_over_stdio_needs_no_http(tmp_path: Path) -> None:
    from mcp_support import literal

    file = tmp_path / "program.sema"
    config = literal(scripted())
    file.write_text(f'(define s (mcp/connect {config})) (mcp/call s "echo" {{}})')
    source = f"import sys; from semac.cli.running import run_file; run_file({str(file)!r})"
    source += "; print([name for name in ('httpx', 'mcp', 'pydantic') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", source], capture_output=True, text=True, env=environment())
    assert done.stdout.strip() == "[]"


def test_errors_can_be_caught() -> None:
    with pytest.raises(Exception) as caught:
        Session().run('(mcp/call "mcp-0" "x" {})')
    assert to_text(condition_map(caught.value)).startswith("{:")
    assert shown('(try (mcp/call "mcp-0" "x" {}) (catch e (:type e)))') == ":eval"
