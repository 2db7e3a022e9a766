"""mcp/connect with a client of the official package: servers that live in this process."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from llm_support import llm as llm
from llm_support import run

from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text

pytest.importorskip("mcp", reason="the dev-llm extra is not installed")
pytestmark = pytest.mark.usefixtures("llm")
SERVER = """
from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
server = MCPServer("mine")
calls = []
@server.tool()
def add(a: int, b: int) -> int:
    "Adds two numbers."
    calls.append(a)
    return a + b
@server.tool()
def refuse() -> str:
    raise ToolError("not today")
"""
CONNECT = """
(py/from "mcp" Client)
(py/from "mcp_of_this_test" server calls)
(define mine (mcp/connect {:client (Client server) :name "mine"}))
"""


@pytest.fixture(autouse=True)
def module(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A module with a server."""
    (tmp_path / "mcp_of_this_test.py").write_text(SERVER)
    monkeypatch.syspath_prepend(tmp_path)
    yield
    sys.modules.pop("mcp_of_this_test", None)


def test_tools_and_calls_side_by_side() -> None:
    program = """(define shown (list (map :name (mcp/tools mine)) (mcp/call mine "add" {:a 1 :b 2})
      (async/map (fn (i) (mcp/call mine "add" {:a i :b i})) (range 3))))
      (mcp/close mine) shown"""
    assert to_text(run(CONNECT + program)) == '(("add" "refuse") "3" ("0" "2" "4"))'


def test_an_agent_uses_them() -> None:
    program = """(define tool (nth (mcp/tools->sema mine) 0))
      (list (tool/invoke tool {:a 2 :b 3})
            (try (tool/invoke (nth (mcp/tools->sema mine) 1) {}) (catch e (:message e))))"""
    answer, error = run(CONNECT + program)
    assert answer == "5"
    assert error == "mcp tool `refuse` returned an error: Error executing tool refuse: not today"


def test_closing_and_what_comes_after() -> None:
    program = '(mcp/close mine) (mcp/call mine "add" {:a 1 :b 2})'
    with pytest.raises(SemaError, match="is not registered; it may have been closed"):
        run(CONNECT + program)


def test_a_tape_stands_in_for_the_server(tmp_path: Path) -> None:
    call = '(mcp/call mine "add" {:a 1 :b 2})'
    recorded = f'(llm/with-cassette "{tmp_path}/tape.jsonl" (fn () {CONNECT} {call}))'
    assert run(recorded) == "3"
    replayed = (
        f'(llm/with-cassette "{tmp_path}/tape.jsonl" {{:mode :replay}} (fn () {CONNECT} (list {call} (length calls))))'
    )
    assert to_text(run(replayed)) == '("3" 1)'


@pytest.mark.parametrize("client", ["5", '"x"', "{}"])
def test_something_else_is_no_client(client: str) -> None:
    with pytest.raises(SemaError, match="mcp/connect: :client must be a client of the official mcp package"):
        run(f"(mcp/connect {{:client {client}}})")


def test_a_client_that_cant_connect_says_why() -> None:
    program = """(py/from "mcp" Client)
      (mcp/connect {:client (Client "http://127.0.0.1:9/mcp") :timeout 5000})"""
    with pytest.raises(SemaError, match="mcp/connect: "):
        run(program)
