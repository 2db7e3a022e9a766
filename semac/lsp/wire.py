"""Messages of the Language Server Protocol over two streams: frames, requests that wait, answers."""

from __future__ import annotations

import gc
import json
import os
import queue
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import Any, BinaryIO

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS, INTERNAL_ERROR = -32700, -32600, -32601, -32602, -32603
NOT_INITIALIZED, CANCELLED = -32002, -32800
MOST_BYTES = 256_000_000  # of one message
PAUSE = 1.0  # seconds without a message, after which garbage is collected
CANCEL = "$/cancelRequest"

Message = dict[str, Any]
Handler = Callable[[Any], Any]


class RequestError(Exception):
    """An answer that is an error. code: of JSON-RPC or the protocol."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Connection:
    """One client. Messages are read ahead by a thread, so that requests which the client has cancelled aren't run."""

    def __init__(self, source: BinaryIO, target: BinaryIO) -> None:
        self.source = source
        self.target = target
        self.lock = threading.Lock()
        self.waiting: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self.cancelled: set[Any] = set()
        self.spare: list[Callable[[], object]] = []  # work that any message comes before
        self.requests = 0  # sent to the client
        self.is_readable = True  # until the client sends what is no message

    # Writing, from any thread

    def send(self, message: Message) -> None:
        """Writes a message; one that the client no longer reads is dropped."""
        body = json.dumps({"jsonrpc": "2.0", **message}, ensure_ascii=False, separators=(",", ":"))
        data = body.encode("utf-8", "replace")  # half of a surrogate pair is no text
        with self.lock:
            try:
                self.target.write(b"Content-Length: %d\r\n\r\n" % len(data) + data)
                self.target.flush()
            except (OSError, ValueError):  # the client has gone: reading finds the end
                pass

    def notify(self, method: str, params: Any) -> None:
        self.send({"method": method, "params": params})

    def ask(self, method: str, params: Any = None) -> None:
        """Sends a request whose answer makes no difference."""
        with self.lock:
            self.requests += 1
            number = self.requests
        self.send({"id": f"sema-{number}", "method": method, "params": params})

    # Reading

    def later(self, action: Callable[[], None]) -> None:
        """Has the thread that answers requests do something, in its turn. From any thread."""
        self.waiting.put(action)

    def messages(self) -> Iterator[Any]:
        """What the client sends, to its end. Spare work and the collection of garbage happen while nothing waits.

        A collection visits every object of the open texts, so one in the middle of typing would hold up an answer.
        The objects that outlive it are left out of those that Python starts by itself, which become rare.
        """
        gc.set_threshold(20_000, 10, 100)
        threading.Thread(target=self._read, daemon=True, name="sema-lsp-reader").start()
        while True:
            while self.spare and self.waiting.empty():
                self.spare.pop(0)()
            try:
                message = self.waiting.get(timeout=PAUSE)
            except queue.Empty:
                gc.unfreeze()
                gc.collect()
                gc.freeze()
                message = self.waiting.get()
            if message is None:
                return
            yield message

    def _read(self) -> None:
        try:
            while (message := self._message()) is not None:
                if isinstance(message, dict) and message.get("method") == CANCEL:
                    params = message.get("params")
                    self.cancelled.add(str(params.get("id")) if isinstance(params, dict) else None)
                else:
                    self.waiting.put(message)
        except (OSError, ValueError) as error:
            self.is_readable = False
            print(f"sema lsp: the client's messages can't be read: {error}", file=sys.stderr, flush=True)
        self.waiting.put(None)

    def _message(self) -> Any:
        """The next message, a RequestError for one that isn't JSON, None at the end."""
        size = None
        while (line := self.source.readline(4096)).strip():
            name, _, value = line.partition(b":")
            if name.strip().lower() == b"content-length":
                size = int(value)
        if not line:
            return None
        if size is None or not 0 <= size <= MOST_BYTES:
            raise ValueError("no usable Content-Length")
        body = self.source.read(size)
        if len(body) < size:
            return None
        try:
            return json.loads(body)
        except (ValueError, RecursionError):
            return RequestError(PARSE_ERROR, "the message is not JSON")


def serve(connection: Connection, requests: Mapping[str, Handler], notes: Mapping[str, Handler]) -> int:
    """Answers a client until it leaves; returns the exit status: 0 after `shutdown`, or when the client is gone.

    It is 1 for an `exit` without `shutdown`, and for input that has no frames of messages.

    requests, notes: by method, what answers a request, and what takes a notification.
    """
    life = _Life()
    for message in connection.messages():
        if callable(message):
            message()
        elif isinstance(message, RequestError):
            connection.send({"id": None, "error": {"code": message.code, "message": message.message}})
        elif not isinstance(message, dict) or not isinstance(message.get("method"), str):
            if not (isinstance(message, dict) and "id" in message):  # else the answer to a request of ours
                connection.send({"id": None, "error": {"code": INVALID_REQUEST, "message": "no method is named"}})
        elif "id" in message:
            connection.send({"id": message["id"], **_answer(connection, life, requests, message)})
        elif message["method"] == "exit":
            return 0 if life.is_over else 1
        else:
            _take(life, notes, message)
    return 0 if connection.is_readable else 1


class _Life:
    """Where a conversation stands."""

    def __init__(self) -> None:
        self.has_begun = False
        self.is_over = False


def _answer(connection: Connection, life: _Life, requests: Mapping[str, Handler], message: Message) -> Message:
    method, number = message["method"], str(message["id"])
    try:
        if number in connection.cancelled:
            connection.cancelled.discard(number)
            raise RequestError(CANCELLED, "cancelled")
        if life.is_over:
            raise RequestError(INVALID_REQUEST, "the server was shut down")
        if method == "initialize":
            if life.has_begun:
                raise RequestError(INVALID_REQUEST, "the server was initialized before")
            life.has_begun = True
        elif not life.has_begun:
            raise RequestError(NOT_INITIALIZED, "the first request is initialize")
        if method == "shutdown":
            life.is_over = True
            return {"result": None}
        if method not in requests:
            raise RequestError(METHOD_NOT_FOUND, f"unknown method: {method}")
        return {"result": requests[method](message.get("params") or {})}
    except RequestError as error:
        return {"error": {"code": error.code, "message": error.message}}
    except (KeyError, TypeError, AttributeError, IndexError, ValueError) as error:
        _report(method)
        return {"error": {"code": INVALID_PARAMS, "message": f"{method}: {type(error).__name__}: {error}"}}
    except Exception as error:
        _report(method)
        return {"error": {"code": INTERNAL_ERROR, "message": f"{method}: {type(error).__name__}: {error}"}}


def _take(life: _Life, notes: Mapping[str, Handler], message: Message) -> None:
    handler = notes.get(message["method"])
    if handler is None or not life.has_begun or life.is_over:
        return
    try:
        handler(message.get("params") or {})
    except Exception:
        _report(message["method"])


def _report(method: str) -> None:
    """Says on stderr, where editors keep a log, that a message could not be handled."""
    import traceback

    print(f"sema lsp: {method} failed", traceback.format_exc(), sep="\n", file=sys.stderr, flush=True)


def watch_parent(process: int) -> None:
    """Ends this process when another one is gone: an editor that was killed may leave the pipe open in a child."""

    def watch() -> None:
        import time

        while True:
            time.sleep(5)
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                os._exit(0)
            except OSError:
                return

    if os.name == "posix":
        threading.Thread(target=watch, daemon=True, name="sema-lsp-parent").start()
