"""The viewer as an ASGI application: the page, runs as files and JSON, and a stream of changes.

The routes that the format of runs names are answered as it says; the others are the page's own:

    GET /api/list                        rows of all runs, {root, runs}
    GET /api/run/<id>/summary            status, totals, phases
    GET /api/run/<id>/rows               ?phase&first&many&status&text: a phase's agents and checkpoints
    GET /api/run/<id>/counts             ?status&text: how many of each phase a filter leaves
    GET /api/run/<id>/agent/<n>          prompt, tool calls, output
    GET /api/run/<id>/checkpoint/<n>     value
    GET /api/run/<id>/place/<n>          where an agent stands in its phase
    GET /api/run/<id>/events             ?first&many&kind&text: a page of the journal
    GET /api/run/<id>/event/<n>          one line of it
    GET /api/run/<id>/timeline           ?begin&end&width
    GET /api/run/<id>/approvals          what the run asks for
    POST /api/run/<id>/approvals/<a>/approve, reject   {reason?, comment?}; needs the token, and a viewer with a key
    GET /api/run/<id>/stream             server-sent events: a summary whenever there is news
"""

from __future__ import annotations

import asyncio
import hmac
import json
import os
import secrets
from contextlib import suppress
from pathlib import Path
from urllib.parse import parse_qsl, unquote

from sema_runtime.workflow.viewer import answers
from sema_runtime.workflow.viewer.auth import NO_RUN, Logins
from sema_runtime.workflow.viewer.decisions import Decisions
from sema_runtime.workflow.viewer.guard import HEADERS, from_elsewhere, host_allowed, safe_segment
from sema_runtime.workflow.viewer.runs import Runs

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable
    from typing import Any

    from sema_runtime.workflow.read.totals import Inside
    from sema_runtime.workflow.viewer.journal import Journal

    Scope = dict[str, Any]
    Receive = Callable[[], Awaitable[Any]]
    Send = Callable[[Any], Awaitable[None]]

PAGE = Path(__file__).parent / "page"
TYPES = {".js": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}
TOKEN = "__SEMA_VIEW_TOKEN__"  # replaced in the page by the token of this process
FILES = {
    "events.jsonl": "application/x-ndjson",
    "result.json": "application/json",
    "metadata.json": "application/json",
    "args.json": "application/json",
}
FORBIDDEN = {"error": "missing or invalid X-Sema-View-Token"}
PATIENCE = 0.3  # seconds that an answer waits until a journal has been read
MUCH = 1.0  # the same of a stream that has sent a summary, while there is much to read
PIECES = 8  # of a journal that are read before others have a turn
LOOK = 0.2  # seconds between two reads of a journal that a page watches
NEWS = 0.25  # seconds between two messages of a stream, at least
SIGN = 15.0  # seconds after which a quiet stream says that it is there
LONGEST_BODY = 64 * 1024  # bytes
BLOCK = 1 << 18  # bytes of a file that are sent at once


class Refused(Exception):
    """An answer that isn't what was asked for."""

    def __init__(self, status: int, body: Any) -> None:
        super().__init__(status)
        self.status = status
        self.body = body


class Application:
    """root: the folder of the runs. listening: the address the server listens at. decisions: who decides here."""

    def __init__(self, root: Path, listening: str, decisions: Decisions) -> None:
        self.runs = Runs(root)
        self.listening = listening
        self.token = secrets.token_hex(16)
        self.logins = Logins()
        self.decisions = decisions
        self.reading: dict[Journal, asyncio.Task[None]] = {}
        self.stopping = asyncio.Event()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            await self._answer(scope, receive, send)
        except Refused as refused:
            await respond(send, refused.status, refused.body)

    async def _answer(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = scope["headers"]
        hosts = [value.decode("latin-1") for name, value in headers if name == b"host"]
        if len(hosts) != 1 or not host_allowed(hosts[0], self.listening):
            raise Refused(403, "this server answers to loopback names only")
        if from_elsewhere(headers):
            raise Refused(403, "pages of other sites may not read runs")
        method = scope["method"]
        path = [unquote(part, errors="strict") for part in parts_of(scope)]
        match path:
            case [""] if method == "GET":
                page = (PAGE / "index.html").read_text(encoding="utf-8").replace(TOKEN, self.token, 1)
                await respond(send, 200, page.encode(), "text/html; charset=utf-8")
            case ["alpine.min.js"] if method == "GET":  # the script asset of the table
                await self._asset("main.js", send)
            case ["assets", name] if method == "GET":
                await self._asset(name, send)
            case ["api", "runs"] if method == "GET":
                await respond(send, 200, await asyncio.to_thread(self.runs.names))
            case ["api", "list"] if method == "GET":
                listing = await asyncio.to_thread(self.runs.listing)
                await respond(send, 200, {"root": str(self.runs.root), "runs": listing})
            case ["api", "index", "runs"] if method == "GET":
                await respond(send, 200, await asyncio.to_thread(index_rows, self.runs.root))
            case ["api", "run", run, "auth", alias, "connect" | "forget" as action] if method == "POST":
                await self._write(run, alias, action, headers, send)
            case ["api", "run", run, "approvals", approval, "approve" | "reject" as verdict] if method == "POST":
                self._check_token(headers)
                folder, body = self._folder(run), await body_of(receive)
                await respond(send, *await asyncio.to_thread(self.decisions.decide, folder, approval, verdict, body))
            case ["api", "run", run, "approvals"] if method == "GET":
                self._journal(run)
                await respond(send, 200, await asyncio.to_thread(self.decisions.listed, self._folder(run)))
            case ["api", "run", run, name] if method == "GET" and name in FILES:
                await self._file(run, name, send)
            case ["api", "run", run, "stream"] if method == "GET":
                await self._stream(run, headers, receive, send)
            case ["api", "run", run, *what] if method == "GET":
                try:
                    listing = await self._about(run, what, query_of(scope))
                except OSError:  # it was deleted meanwhile
                    raise Refused(404, "no such run/file") from None
                await respond(send, 200, listing)
            case _:
                raise Refused(404, "not found")

    async def _asset(self, name: str, send: Send) -> None:
        kind = TYPES.get(os.path.splitext(name)[1])
        path = PAGE / name
        if kind is None or not safe_segment(name) or not path.is_file():
            raise Refused(404, "not found")
        await respond(send, 200, path.read_bytes(), kind)

    # Runs

    def _folder(self, run: str) -> Path:
        """The folder of a run, which lies in the run directory itself."""
        if not safe_segment(run):
            raise Refused(404, "no such run/file")
        return self.runs.root / run

    async def _file(self, run: str, name: str, send: Send) -> None:
        path = self._folder(run) / name
        try:
            if not path.resolve().is_relative_to(self.runs.root.resolve()) or not path.is_file():
                raise Refused(404, "no such run/file")
            file = path.open("rb")
        except OSError:
            raise Refused(404, "no such run/file") from None
        with file:
            left = os.fstat(file.fileno()).st_size
            await begin(send, 200, FILES[name], left)
            while left and (block := file.read(min(BLOCK, left))):
                left -= len(block)
                await send({"type": "http.response.body", "body": block, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    def _check_token(self, headers: Any) -> None:
        tokens = [value for name, value in headers if name == b"x-sema-view-token"]
        if len(tokens) != 1 or not hmac.compare_digest(tokens[0], self.token.encode()):
            raise Refused(403, FORBIDDEN)

    async def _write(self, run: str, alias: str, action: str, headers: Any, send: Send) -> None:
        self._check_token(headers)
        if not safe_segment(run):
            raise Refused(*NO_RUN)
        act = self.logins.connect if action == "connect" else self.logins.forget
        await respond(send, *await asyncio.to_thread(act, run, alias, self._folder(run)))

    def _journal(self, run: str) -> Journal:
        self._folder(run)
        journal = self.runs.journal(run)
        if journal is None:
            raise Refused(404, "no such run/file")
        return journal

    async def _about(self, run: str, what: list[str], query: dict[str, str]) -> Any:
        """The JSON of the page's own routes."""
        journal = self._journal(run)
        unread = await self._caught_up(journal)
        wanted = answers.Filter(query.get("status", ""), query.get("text", ""))
        first, many = number(query, "first", 0), max(0, number(query, "many", 100))
        details: Any = None
        match what:
            case ["auth"]:
                return self.logins.rows(run, journal)
            case ["summary"]:
                return answers.summary(journal, unread, await self._inside(run))
            case ["rows"]:
                return answers.rows(journal, number(query, "phase", 0), max(0, first), many, wanted)
            case ["counts"]:
                return answers.counts(journal, wanted)
            case ["events"]:
                kind, text = query.get("kind", ""), query.get("text", "")
                if text:  # which goes through the whole file
                    return await asyncio.to_thread(answers.events, journal, first, many, kind, text)
                return answers.events(journal, first, many, kind, text)
            case ["timeline"]:
                width = min(4000, max(10, number(query, "width", 1000)))
                return answers.timeline(journal, number(query, "begin", 0), number(query, "end", 0), width)
            case ["agent", which] if which.isdecimal():
                details = answers.agent_details(journal, int(which[:12]))
            case ["checkpoint", which] if which.isdecimal():
                details = answers.checkpoint_details(journal, int(which[:12]))
            case ["place", which] if which.isdecimal():
                details = answers.place(journal, int(which[:12]))
            case ["event", which] if which.isdecimal():
                details = answers.raw_event(journal, int(which[:12]))
        if details is None:
            raise Refused(404, "no such run/file")
        return details

    async def _inside(self, run: str) -> Inside:
        """What the runs inside of one used by now."""
        if not self.runs.totals.directly_inside(run):
            return answers.NOTHING_INSIDE
        return await asyncio.to_thread(self.runs.totals.inside, run)

    # Reading as journals grow

    async def _caught_up(self, journal: Journal, patience: float = PATIENCE) -> int:
        """Reads what is new in a journal, and waits at most so many seconds: reading continues in a task. The number of
        unread bytes."""
        unread = journal.unread()
        if unread:
            task = self.reading.get(journal)
            if task is None:
                task = self.reading[journal] = asyncio.ensure_future(self._read(journal))
            await asyncio.wait([task], timeout=patience)
            unread = journal.unread()
        return unread

    async def _read(self, journal: Journal) -> None:
        try:
            with suppress(OSError):  # it was deleted meanwhile
                while journal.read(PIECES):
                    await asyncio.sleep(0)
        finally:
            del self.reading[journal]

    async def _stream(self, run: str, headers: Any, receive: Receive, send: Send) -> None:
        """A summary as an event whenever something was added, also to what the runs inside used; its id is the
        cursor, with which a browser comes back."""
        journal = self._journal(run)
        seen = next((value.decode("latin-1") for name, value in headers if name == b"last-event-id"), "")
        await begin(send, 200, "text/event-stream; charset=utf-8")
        gone = asyncio.ensure_future(disconnected(receive, self.stopping))
        quiet = 0.0
        try:
            while not gone.done():
                unread = await self._caught_up(journal, PATIENCE if not seen else MUCH)
                if not self.runs.has(run):
                    break
                pause, within = LOOK, await self._inside(run)
                mark = f"{journal.cursor}-{within.usage.calls}" if within.runs else journal.cursor
                if mark != seen:
                    seen = mark
                    data = dumped(answers.summary(journal, unread, within))
                    text = b"event: summary\nid: %b\ndata: %b\n\n" % (seen.encode(), data)
                    await send({"type": "http.response.body", "body": text, "more_body": True})
                    quiet, pause = 0.0, NEWS
                elif quiet >= SIGN:
                    await send({"type": "http.response.body", "body": b": still here\n\n", "more_body": True})
                    quiet = 0.0
                quiet += pause
                reading = [task] if (task := self.reading.get(journal)) else []  # its progress is sent at once
                await asyncio.wait([gone, *reading], timeout=pause, return_when=asyncio.FIRST_COMPLETED)
            await send({"type": "http.response.body", "body": b""})
        finally:
            gone.cancel()


async def body_of(receive: Receive) -> bytes:
    """The body of a request, which is short here. Raises Refused for a longer one."""
    body: bytes = b""
    while True:
        message = await receive()
        body = body + message.get("body", b"")
        if len(body) > LONGEST_BODY:
            raise Refused(413, "the body is too long")
        if not message.get("more_body", False):
            return body


async def disconnected(receive: Receive, stopping: asyncio.Event) -> None:
    """Returns when the client has gone away or the server stops."""

    async def left() -> None:
        while (await receive())["type"] != "http.disconnect":
            pass

    both = [asyncio.ensure_future(left()), asyncio.ensure_future(stopping.wait())]
    try:
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for waiting in both:
            waiting.cancel()


def index_rows(root: Path) -> list[Any]:
    """The rows of index.db; [] when there is none to be had."""
    try:
        from sema_runtime.workflow.read.index import rows

        return rows(str(root))
    except Exception:
        return []


# Requests and responses


def parts_of(scope: Scope) -> list[str]:
    """The path between its slashes, not yet decoded."""
    raw = scope.get("raw_path") or scope["path"].encode()
    return raw.partition(b"?")[0].decode("latin-1").split("/")[1:]  # type: ignore[no-any-return]


def query_of(scope: Scope) -> dict[str, str]:
    return dict(parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True))


def number(query: dict[str, str], name: str, otherwise: int) -> int:
    """A whole number of a query; what is none counts as not given."""
    try:
        return int(float(query[name][:20]))
    except (KeyError, ValueError, OverflowError):
        return otherwise


def dumped(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


async def begin(send: Send, status: int, kind: str, length: int | None = None) -> None:
    headers = [*HEADERS, (b"content-type", kind.encode())]
    if length is not None:
        headers.append((b"content-length", b"%d" % length))
    await send({"type": "http.response.start", "status": status, "headers": headers})


async def respond(send: Send, status: int, body: Any, kind: str = "") -> None:
    """Sends bytes as what they are, a text as plain text, anything else as JSON."""
    if isinstance(body, str):
        body, kind = body.encode(), "text/plain; charset=utf-8"
    elif not isinstance(body, bytes):
        body, kind = dumped(body), "application/json"
    await begin(send, status, kind, len(body))
    await send({"type": "http.response.body", "body": body})
