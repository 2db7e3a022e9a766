"""`sema mcp` over HTTP and stdio, with clients of other revisions of the protocol and clients that others wrote."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

pytest.importorskip("mcp", reason="the dev-llm extra is not installed")
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_server_support import SERVE, TOOLS, call
from mcp_support import fastmcp_python, inspector

TOKEN = "0123456789abcdef0123456789abcdef-x"
FASTMCP = """
import asyncio, sys
from fastmcp import Client
from fastmcp.client.transports import StdioTransport
async def main(command, *arguments):
    async with Client(StdioTransport(command, list(arguments))) as client:
        print(any(tool.name == "add" for tool in await client.list_tools()))
        lines = []
        async def note(done, total, message): lines.append(message)
        await client.call_tool("count", {"n": 3}, progress_handler=note)
        print(lines[0], (await client.call_tool("add", {"a": 2})).content[0].text)
        print((await client.read_resource("sema://guide"))[0].text[:18])
asyncio.run(main(*sys.argv[1:]))
"""
PROGRAM = """
import sys
from sema_runtime.mcp_server import serve_program

def load():
    print("at load")
    import tools
    return vars(tools)

sys.exit(serve_program(load, "prog", "1.2", exclude=("b*",)))
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools.sema").write_text(TOOLS)
    return tmp_path


class OldClient:
    """Lines of JSON to and from a server, as clients of the revision 2024-11-05 send them."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self.input, self.output = process.stdin, process.stdout
        self.last = 0

    def send(self, text: str) -> None:
        self.input.write(text + "\n")
        self.input.flush()

    def ask(self, method: str, params: Any = None) -> int:
        self.last += 1
        self.send(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}}))
        return self.last

    def answer(self) -> dict[str, Any]:
        """The next answer; notifications are passed over."""
        while True:
            message: dict[str, Any] = json.loads(self.output.readline())
            if "id" in message:
                return message


def test_a_client_of_the_first_revision(folder: Path) -> None:
    with subprocess.Popen(
        [*SERVE, "tools.sema"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        client = OldClient(process)
        info = {"protocolVersion": "2024-11-05", "capabilities": {}, "clientInfo": {"name": "old", "version": "1"}}
        client.ask("initialize", info)
        first = client.answer()["result"]
        assert first["protocolVersion"] == "2024-11-05" and first["serverInfo"]["name"] == "sema-mcp"
        client.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        client.ask("ping")
        assert client.answer()["result"] == {}
        client.ask("tools/list")
        assert "add" in [tool["name"] for tool in client.answer()["result"]["tools"]]
        client.send("this is no JSON")
        assert client.answer()["error"]["code"] == -32700
        client.send("")
        client.ask("no/such/method")
        assert client.answer()["error"]["code"] == -32601
        for tool in ("wait", "forever"):  # one that waits, one that computes
            number = client.ask("tools/call", {"name": tool})
            started = client.ask("tools/call", {"name": "docs", "arguments": {"symbol": "map"}})
            assert client.answer()["id"] == started
            cancelled = {"requestId": number}
            client.send(json.dumps({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled}))
            client.ask("tools/call", {"name": "add", "arguments": {"a": 1}})
            assert client.answer()["result"] == {"content": [{"type": "text", "text": "2"}], "isError": False}
        client.ask("tools/call", {"name": "eval", "arguments": {"code": '(deftool fresh "" {} (fn () 1)) 2'}})
        assert json.loads(client.output.readline())["method"] == "notifications/tools/list_changed"
        client.answer()
        client.input.close()
        assert client.output.read() == "" and process.wait(20) == 0


@contextmanager
def serving(folder: Path, *options: str) -> Iterator[str]:
    """A server on loopback; its URL."""
    with subprocess.Popen(
        [*SERVE, "tools.sema", "--http", "0", *options], cwd=folder, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            line = next(line for line in process.stderr if "http://" in line)
            yield line.split()[-1]
        finally:
            process.terminate()
            process.communicate(timeout=30)


def test_over_http(folder: Path) -> None:
    async def tour(url: str) -> None:
        async with Client(url) as first, Client(url) as second:
            assert await call(first, "eval", code="(define x 5) x") == "\nResult: 5"
            progress: list[Any] = []

            async def note(done: float, total: float | None, message: str | None) -> None:
                progress.append(message)

            counting = asyncio.create_task(first.call_tool("count", {"n": 8}, progress_callback=note))
            assert await call(second, "eval", code="x") == "\nResult: 5"
            await counting
            assert progress[0] == "step 0"

    with serving(folder) as url:
        asyncio.run(tour(url))
        assert httpx.get(url.replace("/mcp", "/health")).text == "ok"
        accepts = {"Accept": "application/json, text/event-stream"}
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        assert httpx.post(url, json=ping, headers={**accepts, "Origin": "http://evil.example"}).status_code == 403
        assert httpx.post(url, json=ping, headers={**accepts, "Host": "evil.example"}).status_code == 421


def test_strangers_are_refused(folder: Path) -> None:
    (folder / "token").write_text(TOKEN + "\n")
    with serving(folder, "--token-file", "token") as url:
        assert httpx.get(url.replace("/mcp", "/health")).status_code == 200
        assert httpx.post(url, json={}).status_code == 401
        assert httpx.post(url, json={}, headers={"Authorization": f"Bearer {TOKEN}"}).status_code != 401


def test_the_inspector(folder: Path) -> None:
    command = [*inspector(), *SERVE, "tools.sema", "--method"]

    def inspected(*words: str) -> Any:
        ran = subprocess.run([*command, *words], cwd=folder, capture_output=True, text=True, timeout=120)
        assert ran.returncode == 0, ran.stderr
        return json.loads(ran.stdout)

    assert "add" in [tool["name"] for tool in inspected("tools/list")["tools"]]
    assert inspected("tools/call", "--tool-name", "add", "--tool-arg", "a=2", "b=3")["content"][0]["text"] == "5"
    prompt = inspected("prompts/get", "--prompt-name", "write-sema", "--prompt-args", "task=sorting")
    assert "sorting" in prompt["messages"][1]["content"]["text"]


def test_fastmcp(folder: Path) -> None:
    command = [fastmcp_python(), "-c", FASTMCP, *SERVE, "tools.sema"]
    ran = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert ran.stdout == "True\nstep 0 3\n# Sema on one page\n", ran.stderr


def test_a_program_serves_its_own_tools(folder: Path) -> None:
    subprocess.run([*SERVE[:-1], "compile", "tools.sema"], cwd=folder, check=True)
    (folder / "prog.py").write_text(PROGRAM)

    async def tour() -> None:
        server = StdioServerParameters(
            command=sys.executable, args=["prog.py", "--mcp"], cwd=folder, env={**os.environ}
        )
        async with Client(stdio_client(server)) as client:
            assert client.server_info is not None and client.server_info.name == "prog"
            names = [tool.name for tool in (await client.list_tools()).tools]
            assert names == ["add", "count", "forever", "send_", "wait"]
            assert await call(client, "add", a=1) == "2"
            assert "expected number" in await call(client, "add", a="x")
            assert "exceeded time budget" in await call(client, "forever", timeout_ms=300)
            assert await call(client, "count", n=1) == "step 0\n"

    asyncio.run(tour())
