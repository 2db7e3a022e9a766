"""The MCP client: with servers of the official package, of fastmcp and of the protocol's authors, over each transport,
and with servers that misbehave."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llm_support import free_port
from mcp_calls import CONNECT, SEMA, SPAWN, error, scripted, shown
from mcp_support import (
    environment,
    everything,
    fastmcp_python,
    program,
    run,
    started,
    wait_for_port,
)
from mcp_support import mcp as mcp
from paths import DATA

from sema_runtime.conditions.describe import condition_map
from sema_runtime.mcp import stdio
from sema_runtime.values.printer import to_text
from semac.session import Session

pytestmark = pytest.mark.usefixtures("mcp")


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
