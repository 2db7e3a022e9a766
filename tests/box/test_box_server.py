"""`sema mcp --box`, as a process, with the official client over stdio and over HTTP."""

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

pytest.importorskip("mcp")
from mcp import Client, StdioServerParameters

from sema_runtime.box import Pool
from sema_runtime.box.serve import service
from sema_runtime.box.serve.answers import Record, answer
from sema_runtime.box.serve.output_schema import check_schema, misfit
from sema_runtime.box.serve.service import Run, Service
from sema_runtime.mcp_server.transports import check_token
from sema_runtime.values.errors import SemaError

COMMAND = ["-m", "semac.cli.entry", "mcp", "--box"]
WRONG_ARGUMENTS: list[tuple[dict[str, Any], str]] = [
    ({"program": "1", "contxt": {"a": 1}}, "there is no argument contxt"),
    ({"prog": "1"}, "there is no argument prog"),
    ({}, "program: missing"),
    ({"program": 5}, "program: expected string, got int 5"),
    ({"program": "1", "profile": "fat"}, 'profile: expected "slim" or "structured" or "debug", got "fat"'),
]
TOKEN = "0123456789abcdef0123456789abcdef-x"


def text_of(result: Any) -> str:
    return str(result.content[0].text)


async def tour(client: Client) -> None:
    """What every client can do, whatever the transport."""
    names = {tool.name for tool in (await client.list_tools()).tools}
    assert {"lisp_eval", "lisp_session_start", "lisp_session_eval", "lisp_session_inspect", "lisp_session_list",
            "lisp_session_forget", "lisp_session_close", "lisp_debug"} == names  # fmt: skip

    async def call(name: str, **arguments: Any) -> Any:
        return await client.call_tool(name, arguments)

    plain = await call("lisp_eval", program='(println "hi") (list/sum data/xs)', context={"xs": [1, 2, 3]})
    assert text_of(plain) == "hi\n6" and not plain.is_error
    wrong = await call("lisp_eval", program="\n(car 5)")
    assert wrong.is_error and text_of(wrong).startswith("type_error at 2:1: car expected list or vector")
    rich = await call("lisp_eval", program="{:a [1 2.5]}", profile="structured")
    assert rich.structured_content["value"] == {"a": [1, 2.5]}
    schema = {"type": "object", "properties": {"n": {"type": "integer"}}}
    assert not (await call("lisp_eval", program="{:n 1}", output_schema=schema)).is_error
    unfit = await call("lisp_eval", program='{:n "x"}', output_schema=schema)
    assert unfit.is_error and "validation_error: n:" in text_of(unfit)
    odd = await call("lisp_eval", program='(json/decode "\\"\\\\ud800\\"")', profile="debug")
    assert odd.content
    long = await call("lisp_eval", program="(pow 10 5000)", profile="structured")
    assert long.structured_content["left_out"] == ["value"] and len(long.structured_content["text"]) == 5001

    for arguments, words in WRONG_ARGUMENTS:
        refused = await call("lisp_eval", **arguments)
        assert refused.is_error and words in text_of(refused) and "(lisp_eval takes program, " in text_of(refused)
    assert "there is no tool lisp_run" in text_of(await call("lisp_run"))

    session = json.loads(text_of(await call("lisp_session_start", context={"k": 20})))["session"]
    assert not (await call("lisp_session_eval", session=session, program="(define x (+ data/k 1))")).is_error
    assert text_of(await call("lisp_session_eval", session=session, program="(* x 2)")) == "42"
    facts = (await call("lisp_session_inspect", session=session)).structured_content
    assert facts["programs"] == ["(define x (+ data/k 1))", "(* x 2)"] and "k" in facts["data"]
    await call("lisp_session_forget", session=session, programs=2)
    assert "unbound_var" in text_of(await call("lisp_session_eval", session=session, program="x"))
    assert [entry["session"] for entry in (await call("lisp_session_list")).structured_content["sessions"]] == [session]
    await call("lisp_session_close", session=session)
    assert "no such session" in text_of(await call("lisp_session_eval", session=session, program="1"))

    assert (await call("lisp_debug", action="stats")).structured_content["programs"]["type_error"] == 1
    recent = (await call("lisp_debug", action="recent")).structured_content["recent"]
    one = (await call("lisp_debug", action="get", id=recent[0]["id"])).structured_content
    assert one["program"].startswith("(println") and one["prints"] == ["hi"]
    assert (await call("lisp_debug", action="get", id="none")).is_error


def test_over_stdio(tmp_path: Path) -> None:
    tools = tmp_path / "tools.sema"
    tools.write_text('(deftool double "Doubles." {:n {:type :number}} (lambda (n) (* 2 n)))')
    server = StdioServerParameters(
        command=sys.executable, args=[*COMMAND, "--tools", str(tools), "--data", "year=2026"]
    )

    async def session() -> None:
        async with Client(server) as client:
            await tour(client)
            used = await client.call_tool("lisp_eval", {"program": "(tool/double :n data/year)"})
            assert text_of(used) == "4052"

    asyncio.run(session())


@contextmanager
def serving(*options: str, token: str | None = None) -> Iterator[str]:
    """A server on loopback; its URL."""
    environment = {name: value for name, value in os.environ.items() if name != "SEMA_BOX_TOKEN"}
    command = [sys.executable, *COMMAND, "--http", "127.0.0.1:0", *options]
    environment |= {"SEMA_BOX_TOKEN": token} if token else {}
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stderr is not None
        try:
            yield process.stderr.readline().strip().removeprefix("serving ")
        finally:
            process.terminate()
            process.communicate(timeout=30)


def test_over_http() -> None:
    async def session(url: str) -> None:
        async with Client(url) as client:
            await tour(client)

    with serving() as url:
        asyncio.run(session(url))
        root = url.removesuffix("/mcp")
        assert httpx.get(f"{root}/health").text == "ok" and httpx.get(f"{root}/ready").text == "ok"
        ping = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accepts = {"Accept": "application/json, text/event-stream"}
        assert httpx.post(url, json=ping, headers={**accepts, "Origin": "http://evil.example"}).status_code == 403
        assert httpx.post(url, json=ping, headers={**accepts, "Host": "evil.example"}).status_code == 421
        assert httpx.post(url, content=b"x" * (9 << 20), headers=accepts).status_code == 413


def test_strangers_are_refused() -> None:
    with serving(token=TOKEN) as url:
        root = url.removesuffix("/mcp")
        assert httpx.get(f"{root}/health").status_code == 200
        for header in ({}, {"Authorization": "Bearer x"}, {"Authorization": TOKEN}):
            assert httpx.post(url, json={}, headers=header).status_code == 401
        assert httpx.post(url, json={}, headers={"Authorization": f"Bearer {TOKEN}"}).status_code != 401


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (["--http", "0.0.0.0:0"], "needs a token"),
        (["--http", "x"], "[HOST:]PORT"),
        (["--http", "0", "--token-file", "/no/such"], "No such file"),
    ],
)
def test_a_server_that_strangers_could_call_does_not_start(options: list[str], words: str) -> None:
    environment = {name: value for name, value in os.environ.items() if name != "SEMA_BOX_TOKEN"}
    ran = subprocess.run(
        [sys.executable, *COMMAND, *options], capture_output=True, text=True, timeout=60, env=environment
    )
    assert ran.returncode != 0 and words in ran.stderr
    with pytest.raises(SemaError, match="at least 32"):
        check_token("127.0.0.1", "short")


def test_a_request_that_is_taken_back_ends_its_program(pool: Pool) -> None:
    served = Service(pool)
    run = Run()

    async def taken_back() -> Record:
        task = asyncio.create_task(asyncio.to_thread(served.evaluate, "(let loop () (loop))", None, run))
        while run.session is None or run.session.worker is None:
            await asyncio.sleep(0)
        run.cancel()
        return await task

    record = asyncio.run(taken_back())
    assert record.outcome.reason == "cancelled" and record.outcome.duration_ms < 4_000
    assert served.evaluate("(+ 1 2)", None, Run()).outcome.value == 3


def test_sessions_end_and_are_counted(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    now = [0.0]
    served = Service(pool, clock=lambda: now[0])
    monkeypatch.setattr(service, "MOST_SESSIONS", 2)
    first, second = served.start(None), served.start(None)
    with pytest.raises(SemaError, match="2 sessions"):
        served.start(None)
    now[0] = service.IDLE_SECONDS - 1
    assert served.session_evaluate(second, "1", Run()).outcome.value == 1
    now[0] += 2
    with pytest.raises(SemaError, match="no such session"):
        served.inspect(first)
    assert [entry["session"] for entry in served.listed()] == [second]
    served.close()
    assert served.listed() == []


def test_programs_of_the_past_take_a_bounded_amount(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "KEPT_BYTES", 500_000)
    served = Service(pool)
    records = [served.evaluate(f'(string/repeat "x" {200_000 + n})', None, Run()) for n in range(3)]
    assert [entry["id"] for entry in served.recent()] == [records[-1].id]
    assert len(served.get(records[-1].id)["text"]) == 200_004
    large = served.evaluate("(range 100000)", None, Run())
    assert {"value", "text"} <= set(served.get(large.id)["left_out"])
    with pytest.raises(SemaError, match="no such record"):
        served.get(records[0].id)


def test_too_many_at_once_are_told(pool: Pool) -> None:
    served = Service(pool)
    for _ in range(service.MOST_RUNNING):
        served.running.acquire()
    assert served.evaluate("1", None, Run()).outcome.reason == "busy"


@pytest.mark.parametrize("profile", ["slim", "structured", "debug"])
def test_values_are_exact_or_absent(pool: Pool, profile: str) -> None:
    served = Service(pool)
    shown = answer(served.evaluate('(println "p") (string/repeat "é" 400000)', None, Run()), profile)
    assert len(shown.text.encode()) + len(json.dumps(shown.fields)) < 520 << 10 and "éé" not in shown.text
    if shown.fields is not None:
        assert {"value", "text"} <= set(shown.fields["left_out"]) and shown.fields["prints"] == ["p"]
    shown = answer(served.evaluate("(/ 1.0 0.0)", None, Run()), profile)
    assert shown.fields is None or shown.fields["left_out"] == ["value"]


def test_schemas_of_strangers_fetch_and_match_nothing() -> None:
    check_schema({"properties": {"pattern": {"type": "string"}, "$ref": {"enum": [1]}}})
    for schema in (
        {"$ref": "http://127.0.0.1:9/x"}, {"items": {"pattern": "(a+)+$"}}, {"anyOf": [{"uniqueItems": True}]},
        {"type": 5}, {"anyOf": [{}] * 3000},
    ):  # fmt: skip
        with pytest.raises(SemaError, match="output_schema"):
            check_schema(schema)
    assert misfit({"items": {"type": "integer"}}, [1, "x"]) == "1: 'x' is not of type 'integer'"
    assert "too large" in str(misfit({"items": {"allOf": [{"type": "integer"}] * 900}}, [1] * 3_000))


def test_garbage_is_survived_and_a_client_that_leaves_ends_the_server() -> None:
    server = subprocess.Popen(
        [sys.executable, *COMMAND], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert server.stdin is not None and server.stdout is not None and server.stderr is not None

    def send(message: bytes | dict[str, Any]) -> None:
        assert server.stdin is not None
        server.stdin.write((message if isinstance(message, bytes) else json.dumps(message).encode()) + b"\n")
        server.stdin.flush()

    def call(number: int, program: Any) -> dict[str, Any]:
        return {"jsonrpc": "2.0", "id": number, "method": "tools/call",
                "params": {"name": "lisp_eval", "arguments": {"program": program}}}  # fmt: skip

    hello = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "x", "version": "1"}}
    for garbage in (b"garbage", b"\xff\xfe", b"[1,", b"[" * 100_000, b'{"jsonrpc": "2.0"}'):
        send(garbage)
    send({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello})
    send({"jsonrpc": "2.0", "method": "notifications/initialized"})
    send(call(2, 5))
    send(call(3, "(* 6 7)"))
    answers = {}
    while 3 not in answers:
        answer = json.loads(server.stdout.readline())
        answers[answer.get("id")] = answer
    assert answers[2]["result"]["isError"] and answers[3]["result"]["content"][0]["text"] == "42"
    send(call(4, "(let l () (l))"))
    server.stdout.close()
    server.stdin.close()
    assert server.wait(60) == 0 and b"Traceback" not in server.stderr.read()
