"""What the LLM tests share: a clean process state, a scripted HTTP server, aimock, and the SDKs' types as a checker."""

from __future__ import annotations

import fcntl
import functools
import json
import os
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy")
SETTINGS = (
    *("SEMA_CHAT_PROVIDER", "SEMA_CHAT_MODEL", "SEMA_NO_LLM"),
    *("SEMA_LLM_CASSETTE", "SEMA_LLM_CASSETTE_MODE"),
)
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "semac-tests"
AIMOCK = "@copilotkit/aimock@1.43.0"
INSTALL_SECONDS = 240
THIS_RUN = os.environ.get("PYTEST_XDIST_TESTRUNUID") or f"{os.getpid()}"  # the same in all its processes


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """No keys, no providers, no cassette, an empty cache, retries that don't sleep."""
    from sema_runtime import tasks
    from sema_runtime.llm import embedders, providers
    from sema_runtime.llm.budgets import budget, pricing, usage
    from sema_runtime.llm.recordings import cache, cassette

    for preset in (*providers.PRESETS.values(), *embedders.PRESETS.values()):
        monkeypatch.delenv(preset.variable, raising=False)
    for name in (
        *PROXIES,
        "SEMA_CHAT_PROVIDER",
        "SEMA_CHAT_MODEL",
        "SEMA_EMBEDDING_PROVIDER",
        "SEMA_EMBEDDING_MODEL",
        "SEMA_LLM_CASSETTE",
        "SEMA_LLM_CASSETTE_MODE",
        "SEMA_NO_LLM",
        "SEMA_HOME",
    ):
        monkeypatch.delenv(name, raising=False)
    for name in providers.BASE_URL_VARIABLES.values():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(tasks, "sleep", lambda milliseconds: SLEPT.append(milliseconds))
    monkeypatch.setattr(budget, "_base", budget.Frame())
    monkeypatch.setattr(budget, "_warned", False)
    monkeypatch.setattr(cache, "store", cache.Store())
    SLEPT.clear()
    providers.reset()
    cassette.reset()
    pricing.clear_custom()
    usage.reset()
    yield
    providers.reset()
    cassette.reset()


SLEPT: list[float] = []
"""Milliseconds of every wait between attempts since the test began."""


@dataclass
class Answer:
    """body: a dict is sent as JSON. pieces: a stream instead of a body. cut: close before the announced end."""

    status: int = 200
    body: Any = ""
    headers: dict[str, str] = field(default_factory=dict)
    pieces: list[bytes] | None = None
    cut: bool = False
    wait: threading.Event | None = None


@dataclass
class Received:
    path: str
    headers: dict[str, str]
    body: Any


class Server:
    """Gives the scripted answers in order, the last one again and again; keeps what it received."""

    def __init__(self, answers: list[Answer] | Callable[[Received], Answer]) -> None:
        self.answers = answers
        self.received: list[Received] = []
        handler = type("Handler", (_Handler,), {"owner": self})
        self.http = _QuietServer(("127.0.0.1", 0), handler)
        self.url = f"http://127.0.0.1:{self.http.server_port}"
        threading.Thread(target=self.http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True).start()

    def stop(self) -> None:
        self.http.shutdown()
        self.http.server_close()

    def next(self, received: Received) -> Answer:
        self.received.append(received)
        if callable(self.answers):
            return self.answers(received)
        return self.answers[min(len(self.received), len(self.answers)) - 1]


class _QuietServer(ThreadingHTTPServer):
    request_queue_size = 256

    def handle_error(self, *_: Any) -> None:
        """Clients that hang up are part of the tests."""


class _Handler(BaseHTTPRequestHandler):
    owner: Server
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers.get("content-length") or 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        answer = self.owner.next(Received(self.path, headers, json.loads(raw)))
        if answer.wait is not None:
            answer.wait.wait(10)
        if answer.pieces is not None:
            self._stream(answer)
        else:
            self._whole(answer)

    def _whole(self, answer: Answer) -> None:
        body = answer.body if isinstance(answer.body, str) else json.dumps(answer.body)
        data = body.encode()
        self.send_response(answer.status)
        self.send_header("content-length", str(len(data) + (100 if answer.cut else 0)))
        self._end(answer)
        self.wfile.write(data)
        self.close_connection = self.close_connection or answer.cut

    def _stream(self, answer: Answer) -> None:
        self.send_response(answer.status)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self._end(answer)
        for piece in answer.pieces or []:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))
            self.wfile.flush()
        if not answer.cut:
            self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def _end(self, answer: Answer) -> None:
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def serving(*answers: Answer | Callable[[Received], Answer]) -> Iterator[Server]:
    """A server on loopback for the time of a `with`."""
    one = answers[0] if answers else Answer()
    server = Server(one if callable(one) else [a for a in answers if isinstance(a, Answer)])
    try:
        yield server
    finally:
        server.stop()


def closed_port() -> int:
    """A port at which nobody listens, nor will: a socket that doesn't has it until the end of the tests."""
    _taken.append(socket.socket())
    _taken[-1].bind(("127.0.0.1", 0))
    return int(_taken[-1].getsockname()[1])


_taken: list[socket.socket] = []


def free_port() -> int:
    """A port for a program that can't choose one itself."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def chat_reply(
    content: str | None, calls: list[tuple[str, str, dict[str, Any]]] = (), prompt: int = 3, completion: int = 2
) -> dict[str, Any]:  # type: ignore[assignment]
    """An OpenAI reply with text or tool calls (id, name, arguments)."""
    message: dict[str, Any] = {"role": "assistant", "content": content, "refusal": None}
    if calls:
        message["tool_calls"] = [
            {"id": i, "type": "function", "function": {"name": n, "arguments": json.dumps(a)}} for i, n, a in calls
        ]
    return {
        "id": "c1",
        "object": "chat.completion",
        "created": 1,
        "model": "gpt-5.5",
        "choices": [
            {"index": 0, "message": message, "finish_reason": "tool_calls" if calls else "stop", "logprobs": None}
        ],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion, "total_tokens": prompt + completion},
    }


def claude_reply(*blocks: dict[str, Any], prompt: int = 3, completion: int = 2) -> dict[str, Any]:
    """An Anthropic reply with content blocks."""
    return {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": "claude-sonnet-4-6",
        "content": list(blocks),
        "stop_reason": "tool_use" if any(b["type"] == "tool_use" for b in blocks) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": prompt, "output_tokens": completion},
    }


# Programs


COUNTING = """
(define calls 0)
(llm/define-provider :fake {:default-model "claude-sonnet-4-6"
  :complete (fn (req) (set! calls (+ calls 1))
    {:content (str "n=" (length (:messages req))) :usage {:prompt-tokens 3 :completion-tokens 2}})})
"""


def run(text: str) -> Any:
    """The value of a Sema program."""
    from semac.session import Session

    return Session().run(text)


def counted(program: str) -> str:
    """What a program prints as its value; a provider answers it and counts `calls`."""
    from sema_runtime.values.printer import to_text

    return to_text(run(COUNTING + program))


# aimock


def _aimock_cli() -> Path:
    """The mock server's script, installed into the user's cache folder on first use; skips when that can't be."""
    if shutil.which("node") is None or shutil.which("npm") is None:
        pytest.skip("aimock needs node and npm")
    folder = CACHE / AIMOCK.rpartition("/")[2]
    command = ["npm", "install", "--no-save", "--no-audit", "--no-fund", "--prefix", str(folder), AIMOCK]
    installed("aimock", folder, command)
    return folder / "node_modules" / "@copilotkit" / "aimock" / "dist" / "cli.js"


def installed(what: str, folder: Path, *commands: list[str]) -> None:
    """Makes a folder with commands, unless that was done earlier; skips where they fail. Other processes of this run of
    the tests, which may want the same, wait meanwhile, and don't try again what has failed."""
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        opened = open(f"{folder}.lock", "a+")  # noqa: SIM115 - closed below
    except OSError as error:  # no home
        pytest.skip(f"{what} could not be installed: {error}")
    with opened as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if (folder / "installed").exists():
            return
        lock.seek(0)
        tried_by, _, problem = lock.read().partition(" ")
        if tried_by != THIS_RUN:
            problem = _problem_with(folder, commands)
            lock.truncate(0)
            lock.write(f"{THIS_RUN} {problem}")
    if problem:
        pytest.skip(f"{what} could not be installed: {problem}")


def _problem_with(folder: Path, commands: Sequence[list[str]]) -> str:
    """Why the folder could not be made; nothing when it was."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for command in commands:
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=INSTALL_SECONDS)
        except subprocess.TimeoutExpired:
            return "it takes too long"
        if done.returncode:
            return done.stderr.strip()[-300:] or f"status {done.returncode}"
    (folder / "installed").touch()
    return ""


@contextmanager
def aimock(fixtures: list[dict[str, Any]], folder: Path) -> Iterator[str]:
    """The URL of an aimock with these fixtures, for the time of a `with`."""
    file = folder / "fixtures.json"
    file.write_text(json.dumps({"fixtures": fixtures}))
    port = free_port()
    process = subprocess.Popen(
        ["node", str(_aimock_cli()), "-p", str(port), "-f", str(file), "--log-level", "warn"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    try:
        _wait_for(port, process)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if process.poll() is not None:
            pytest.skip(f"aimock did not start: {process.stdout.read().decode()[-200:] if process.stdout else ''}")
        try:
            socket.create_connection(("127.0.0.1", port), 0.2).close()
            return
        except OSError:
            time.sleep(0.05)
    pytest.skip("aimock did not start in 20 s")


# The official SDKs' types check what we send

NO_SDK = "the dev-llm extra is not installed"


def _closed(schema: Any) -> Any:
    """TypedDicts are open in JSON Schema; closed ones catch misspelt keys."""
    if isinstance(schema, dict):
        if schema.get("type") == "object" and "properties" in schema:
            schema.setdefault("additionalProperties", False)
        for value in schema.values():
            _closed(value)
    elif isinstance(schema, list):
        for value in schema:
            _closed(value)
    return schema


@functools.cache
def _checker(kind: str, stream: bool) -> Any:
    import jsonschema
    from pydantic import TypeAdapter

    if kind == "openai":
        pytest.importorskip("openai", reason=NO_SDK)
        from openai.types.chat import completion_create_params as params

        base = "CompletionCreateParams"
    else:
        pytest.importorskip("anthropic", reason=NO_SDK)
        from anthropic.types import message_create_params as params

        base = "MessageCreateParams"
    kind_of_params = getattr(params, base + ("Streaming" if stream else "NonStreaming"))
    return jsonschema.Draft202012Validator(_closed(TypeAdapter(kind_of_params).json_schema()))


def problems(kind: str, body: dict[str, Any]) -> list[str]:
    """What the SDK's types find wrong with a request body; kind: a wire."""
    if kind == "gemini":
        return _gemini_problems(body)
    if kind == "ollama":
        return _refusals([(pytest.importorskip("ollama._types", reason=NO_SDK).ChatRequest, body)])
    return [error.message[:300] for error in _checker(kind, bool(body.get("stream"))).iter_errors(body)]


def _gemini_problems(body: dict[str, Any]) -> list[str]:
    types = pytest.importorskip("google.genai.types", reason=NO_SDK)
    parts = [(types.Content, content) for content in body["contents"]]
    parts += [(types.Tool, tool) for tool in body.get("tools") or ()]
    named = {
        "generationConfig": types.GenerationConfig,
        "systemInstruction": types.Content,
        "toolConfig": types.ToolConfig,
    }
    parts += [(kind, body[key]) for key, kind in named.items() if key in body]
    strange = set(body) - {"contents", "tools", "safetySettings", "cachedContent", "labels", "serviceTier", *named}
    return _refusals(parts) + [f"unknown key {key}" for key in sorted(strange)]


def _refusals(parts: list[tuple[Any, Any]]) -> list[str]:
    from pydantic import ValidationError

    found = []
    for kind, value in parts:
        try:
            kind.model_validate(value)
        except ValidationError as error:
            found.append(str(error)[:300])
    return found
