"""HTTP requests: `http/get` and its family, and event streams. `net/http.py` does the sending and receiving.

Each function suspends only its own task; cancelling the task abandons the request.
"""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.options import header_list, options_or_empty, positive
from sema_runtime.support.redaction import hidden, shown_url
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import IoError, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from sema_runtime.net.failures import Failure
    from sema_runtime.net.http import Part, Reply, Request, Stream
    from sema_runtime.net.sse import Event

HINTS = {
    "url": 'a URL looks like "https://example.com/path"',
    "size": "raise the limit with {:max-bytes n}",
    "connect": "is the server running, and are its host and port right?",
}
TIMEOUT_HINT = "the limit is :timeout in the options, in milliseconds"


@builtin("http/get", type="str, any? -> map keyword (int|str|bytevector|map keyword str) fresh", cap="network")
def http_get(url: Any, options: Any = None) -> Map:
    """Fetches a URL: `{:status 200 :headers {:content-type "..."} :body "..."}`, whatever the status.

    options: a map of
    - :headers, a map whose keys are strings or keywords
    - :timeout, milliseconds for the whole request; without it, a request fails after two minutes without a byte
    - :as, `:bytes` for the body as a bytevector instead of a string
    - :multipart, the parts of a form to send, maps of :name, :content (string or bytevector), :filename, :content-type
    - :max-bytes, the size limit of the body; 256 MiB without it

    Up to ten redirects are followed. Raises an error when there is no reply (no such host, no connection, a timeout,
    ...).

    ; (:status (http/get "https://example.com")) => 200
    ; (json/decode (:body (http/get "https://example.com/x.json" {:timeout 5000})))
    ; (file/write-bytes "a.png" (:body (http/get "https://example.com/a.png" {:as :bytes})))
    """
    return _reply_to("GET", url, options)


@builtin("http/delete", type="str, any? -> map keyword (int|str|bytevector|map keyword str) fresh", cap="network")
def http_delete(url: Any, options: Any = None) -> Map:
    """Sends a DELETE request. Options and result are those of http/get.

    ; (http/delete "https://example.com/users/42" {:headers {:authorization "Bearer x"}})
    """
    return _reply_to("DELETE", url, options)


@builtin("http/post", type="str, any, any? -> map keyword (int|str|bytevector|map keyword str) fresh", cap="network")
def http_post(url: Any, body: Any, options: Any = None) -> Map:
    """Sends a POST request: a map as JSON, a string or bytevector as it is, nil for no body.

    Options and result are those of http/get. With :multipart in the options, a form is sent and body is ignored.

    ; (http/post "https://example.com/users" {:name "Ada"})
    ; (http/post "https://example.com/log" "a line" {:headers {:content-type "text/plain"}})
    ; (http/post "https://example.com/up" nil {:multipart [{:name "f" :filename "a.txt" :content "hi"}]})
    """
    return _reply_to("POST", url, options, body)


@builtin("http/put", type="str, any, any? -> map keyword (int|str|bytevector|map keyword str) fresh", cap="network")
def http_put(url: Any, body: Any, options: Any = None) -> Map:
    """Sends a PUT request. Body, options and result are those of http/post.

    ; (http/put "https://example.com/users/42" {:name "Ada Lovelace"})
    """
    return _reply_to("PUT", url, options, body)


@builtin("http/query", type="str, any, any? -> map keyword (int|str|bytevector|map keyword str) fresh", cap="network")
def http_query(url: Any, body: Any, options: Any = None) -> Map:
    """Sends a QUERY request, which changes nothing, like GET, and has a body, like POST.

    Body, options and result are those of http/post.

    ; (http/query "https://example.com/search" {:status "active" :limit 50})
    """
    return _reply_to("QUERY", url, options, body)


@builtin(
    "http/request", type="str, str, any?, any? -> map keyword (int|str|bytevector|map keyword str) fresh", cap="network"
)
def http_request(method: Any, url: Any, options: Any = None, body: Any = None) -> Map:
    """Sends a request with any method, in upper or lower case. Body, options and result are those of http/post.

    ; (http/request "PATCH" "https://example.com/users/42" {} {:name "Ada"})
    ; (:headers (http/request "HEAD" "https://example.com"))
    """
    return _reply_to(_method(method), url, options, body)


@builtin(
    "http/events",
    type=("str, now (map keyword (str|nil) -> any) -> str|nil", "str, now any, now fn? -> str|nil"),
    cap="network",
)
def http_events(url: Any, options: Any, handler: Any = None) -> str | None:
    """Reads a stream of server-sent events and calls handler with `{:event "message" :data "..." :id nil}` for each
    event.

    Call it as `(http/events url handler)` or `(http/events url options handler)`. It returns the id of the last event
    (nil without one) when the server ends the stream or handler returns `:stop`. To continue a broken stream, send that
    id as the header Last-Event-ID. options: those of http/get, where :timeout limits the wait for the next event and
    :max-bytes the size of one; and :method (default "GET") and :body.

    ; (http/events "https://example.com/feed" (fn (event) (println (:data event))))
    ; (http/events "https://example.com/feed" {:timeout 60000} (fn (event) :stop))
    """
    if handler is None:
        options, handler = None, options
    if not callable(handler):
        type_error("function", handler)
    settings = options_or_empty(options)
    method = _method(settings.lookup(keyword("method"), "GET"))
    request = _request(method, url, settings, settings.lookup(keyword("body")))
    if not any(name.lower() == "accept" for name, _ in request.headers):
        request = request._replace(headers=[*request.headers, ("accept", "text/event-stream")])
    return _Events(request).run(handler)


# Requests


def _method(method: Any) -> str:
    from sema_runtime.net.http import METHOD_CHARACTERS

    name = text_of(method).upper()
    if not name or not METHOD_CHARACTERS.issuperset(name):
        raise SemaError(f"http: invalid method {name}")
    return name


def _reply_to(method: str, url: Any, options: Any, body: Any = None) -> Map:
    from sema_runtime.net.failures import Failure
    from sema_runtime.net.http import fetch
    from sema_runtime.tasks import suspend

    settings = options_or_empty(options)
    request = _request(method, url, settings, body)
    as_bytes = _wants_bytes(settings)
    try:
        reply: Reply = suspend(fetch(request))
    except Failure as failure:
        raise _failed(request, failure) from None
    return Map(
        {
            keyword("status"): reply.status,
            keyword("headers"): Map({keyword(name): value for name, value in reply.headers}),
            keyword("body"): reply.body if as_bytes else reply.text(),
        }
    )


def _request(method: str, url: Any, options: Map, body: Any) -> Request:
    from sema_runtime.net.http import MAX_BYTES, Request

    target = text_of(url)
    headers = header_list(options.lookup(keyword("headers")))
    typed = [pair for pair in headers if pair[0].lower() == "content-type"]
    parts = _parts(options)
    content: bytes | list[Part] | None = parts
    if parts is None:
        content, kind = _content(body)
        if kind and not typed:
            headers.append(("content-type", kind))
    else:  # its type says where one part ends, which is not known yet
        headers = [pair for pair in headers if pair not in typed]
    where = f"http {method} {shown_url(target)}"
    timeout = positive(where, options, "timeout")
    limit = positive(where, options, "max-bytes")
    return Request(method, target, headers, content, timeout, max_bytes=int(limit or MAX_BYTES))


def _content(body: Any) -> tuple[bytes | None, str]:
    """The bytes to send for a body, and their content type."""
    if body is None:
        return None, ""
    if isinstance(body, (bytes, bytearray)):
        return bytes(body), ""
    if isinstance(body, (Map, dict)):
        from sema_runtime.web.responses import json_text

        return json_text(body).encode(), "application/json"
    return (body if isinstance(body, str) else to_text(body)).encode(), ""


def _parts(options: Map) -> list[Part] | None:
    """The parts of a form, None without :multipart."""
    parts = options.lookup(keyword("multipart"))
    if parts is None:
        return None
    if not isinstance(parts, (List, tuple, list)):
        raise SemaError("http: :multipart must be a list of part maps")
    return [_part(part) for part in parts]


def _part(part: Any) -> Part:
    from sema_runtime.net.http import Part

    if not isinstance(part, Map):
        raise SemaError("http: each :multipart part must be a map")
    name, content = part.lookup(keyword("name")), part.lookup(keyword("content"))
    if not isinstance(name, str):
        raise SemaError("http: a :multipart part is missing :name")
    if content is None:
        raise SemaError(f"http: :multipart part '{name}' is missing :content")
    if not isinstance(content, (str, bytes, bytearray)):
        raise SemaError(f"http: :multipart part '{name}' :content must be a string or bytevector")
    filename, kind = part.lookup(keyword("filename")), part.lookup(keyword("content-type"))
    if isinstance(kind, str) and not ("/" in kind and kind.isascii() and kind.isprintable()):
        raise SemaError(f"http: invalid :content-type '{kind}': expected type/subtype")
    return Part(
        name,
        content.encode() if isinstance(content, str) else bytes(content),
        filename if isinstance(filename, str) else None,
        kind if isinstance(kind, str) else None,
    )


# Options


def _wants_bytes(options: Map) -> bool:
    wanted = options.lookup(keyword("as"))
    name = wanted.name if isinstance(wanted, Keyword) else wanted
    if name not in (None, "text", "bytes"):
        raise SemaError(f"http: :as must be :text or :bytes, got {to_text(wanted)}")
    return name == "bytes"


# Errors


def _failed(request: Request, failure: Failure) -> IoError:
    """The condition for a request without a reply: `http GET https://x.invalid: could not connect (...)`."""
    reason = failure.reason
    if failure.kind == "connect":
        reason = f"could not connect ({reason})"
    elif failure.kind == "url":
        reason = f"invalid URL: {reason}"
    hint = TIMEOUT_HINT if failure.kind == "timeout" else HINTS.get(failure.kind)
    return IoError(hidden(f"http {request.method} {request.url}: {reason}"), hint)


# Event streams


class _Events:
    """One stream of server-sent events."""

    def __init__(self, request: Request) -> None:
        from sema_runtime.net.http import Stream
        from sema_runtime.net.sse import SseParser

        self.request = request
        self.stream: Stream = Stream(request)
        self.parser = SseParser()

    def run(self, handler: Callable[[Any], Any]) -> str | None:
        """Calls handler with each event. The id of the last one that had one."""
        from sema_runtime.net.failures import Failure
        from sema_runtime.tasks import finish

        last = ""
        try:
            self._open()
            for event in self._events():
                last = event.id
                if handler(_event_map(event)) is keyword("stop"):
                    break
        except Failure as failure:
            raise _failed(self.request, failure) from None
        finally:
            finish(self.stream.close())
        return last or None

    def _open(self) -> None:
        from sema_runtime.net.failures import Failure
        from sema_runtime.tasks import suspend

        head: Reply = suspend(self.stream.open())
        kind = (head.header("content-type") or "").partition(";")[0].strip().lower()
        if head.status != 200:
            text = head._replace(body=suspend(self.stream.rest())).text()
            raise Failure("status", f"status {head.status}: {text[:200]}" if text else f"status {head.status}")
        if kind != "text/event-stream":
            raise Failure("type", f"expected text/event-stream, got {kind or 'a reply without a content type'}")

    def _events(self) -> Iterator[Event]:
        from sema_runtime.net.failures import Failure
        from sema_runtime.tasks import suspend

        waiting = 0  # bytes of the event that is not complete yet
        while piece := suspend(self.stream.read()):
            events = self.parser.feed(piece)
            yield from events
            waiting = 0 if events else waiting + len(piece)
            if waiting > self.request.max_bytes:
                raise Failure("size", f"an event is larger than {self.request.max_bytes} bytes")
        yield from self.parser.close()


def _event_map(event: Event) -> Map:
    return Map(
        {
            keyword("event"): event.name or "message",
            keyword("data"): event.data,
            keyword("id"): event.id or None,
        }
    )
