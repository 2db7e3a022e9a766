"""The operations of nREPL. Each takes a request and gives the replies; evaluations reply later.

The names and fields are those of https://nrepl.org/nrepl/ops.html, and `complete`, `info` and `eldoc` of cider-nrepl.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from semac.nrepl.evaluator import NAMESPACE, Client, Evaluator, Job, Message, placed
from semac.nrepl.names import completions, information, parameters

DONE: Message = {"status": ["done"]}


class Request:
    """A message of a client. reply: sends a message with the id and session of the request."""

    def __init__(self, message: Message, clients: dict[str, Client], evaluator: Evaluator, connection: object) -> None:
        self.message = message
        self.clients = clients
        self.evaluator = evaluator
        self.connection = connection
        self.client = clients.get(self.text("session"))
        self.reply: Callable[[Message], None] = lambda _: None

    def text(self, *names: str) -> str:
        """The first field of those names that is a string; empty without one."""
        values = (self.message.get(name) for name in names)
        return next((value for value in values if isinstance(value, str)), "")

    def number(self, name: str, default: int) -> int:
        """A field that is a positive number."""
        value = self.message.get(name)
        return value if isinstance(value, int) and value > 0 else default


def answer(request: Request) -> Iterable[Message]:
    """The replies to a request, as far as they are known at once."""
    operation = OPERATIONS.get(request.text("op"))
    if operation is None:
        return [{"op": request.text("op"), "status": ["done", "error", "unknown-op"]}]
    if request.client is None and request.text("session"):
        return [_failed("unknown-session")]
    return operation(request)


def _failed(status: str) -> Message:
    return {"status": ["done", "error", status]}


# Sessions


def _clone(request: Request) -> Iterable[Message]:
    client = Client()
    if request.client is not None:
        client.history = dict(request.client.history)
    request.clients[client.id] = client
    return [{"new-session": client.id, **DONE}]


def _close(request: Request) -> Iterable[Message]:
    client = request.client
    if client is None:
        return [_failed("unknown-session")]
    del request.clients[client.id]
    request.evaluator.drop(lambda job: job.client is client)
    return [{"status": ["done", "session-closed"]}]


def _sessions(request: Request) -> Iterable[Message]:
    return [{"sessions": list(request.clients), **DONE}]


def _describe(_: Request) -> Iterable[Message]:
    import platform

    from semac import __version__

    return [
        {
            "ops": {name: {} for name in OPERATIONS},
            "versions": {
                "sema": {"version-string": __version__},
                "python": {"version-string": platform.python_version()},
                "nrepl": {"major": 1, "minor": 3, "incremental": 0, "version-string": "1.3.0"},
            },
            "aux": {"current-ns": NAMESPACE},
            **DONE,
        }
    ]


# Evaluation


def _eval(request: Request) -> Iterable[Message]:
    if not isinstance(request.message.get("code"), str):
        return [_failed("no-code")]
    code = request.text("code")
    file = request.text("file")
    if file:
        code = placed(code, request.number("line", 1), request.number("column", 1))
    return _submitted(request, code, file)


def _load_file(request: Request) -> Iterable[Message]:
    if not isinstance(request.message.get("file"), str):
        return [_failed("no-file")]
    return _submitted(request, request.text("file"), request.text("file-path", "file-name"))


def _submitted(request: Request, code: str, file: str) -> Iterable[Message]:
    client = request.client or Client()
    job = Job(client, request.text("id"), code, file, request.reply, request.connection)
    job.quota = request.number("nrepl.middleware.print/quota", 0)
    job.pretty = bool(request.text("nrepl.middleware.print/print"))
    request.evaluator.submit(job)
    return ()


def _interrupt(request: Request) -> Iterable[Message]:
    if request.client is None:
        return [_failed("unknown-session")]
    status = request.evaluator.interrupt(request.client, request.text("interrupt-id") or None)
    if status == "interrupt-id-mismatch":
        return [_failed(status)]
    return [{"status": ["done", status]} if status else DONE]


def _stdin(request: Request) -> Iterable[Message]:
    if request.client is None:
        return [_failed("unknown-session")]
    request.client.input.add(request.text("stdin"))
    return [DONE]


# Names


def _completions(request: Request) -> Iterable[Message]:
    found = completions(request.evaluator.session, request.text("prefix", "symbol"))
    return [{"completions": found, **DONE}]


def _lookup(request: Request) -> Iterable[Message]:
    found = information(request.evaluator.session, request.text("sym", "symbol"))
    if found is None:
        return [{"info": {}, "status": ["done", "lookup-error"]}]
    return [{"info": found, **DONE}]


def _info(request: Request) -> Iterable[Message]:
    found = information(request.evaluator.session, request.text("sym", "symbol"))
    return [{"status": ["done", "no-info"]} if found is None else {**found, **DONE}]


def _eldoc(request: Request) -> Iterable[Message]:
    found = information(request.evaluator.session, request.text("sym", "symbol"))
    if found is None or "arglists-str" not in found:
        return [{"status": ["done", "no-eldoc"]}]
    shown = {"name": found["name"], "ns": found["ns"], "type": "function"}
    if "doc" in found:
        shown["docstring"] = found["doc"]
    return [{"eldoc": parameters(found), **shown, **DONE}]


OPERATIONS: dict[str, Callable[[Request], Iterable[Message]]] = {
    "clone": _clone,
    "close": _close,
    "complete": _completions,
    "completions": _completions,
    "describe": _describe,
    "eldoc": _eldoc,
    "eval": _eval,
    "info": _info,
    "interrupt": _interrupt,
    "load-file": _load_file,
    "lookup": _lookup,
    "ls-sessions": _sessions,
    "stdin": _stdin,
}
