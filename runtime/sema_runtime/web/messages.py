"""Conversion between ASGI and Sema: the request map of a scope and a body, the parts of a response map."""

from __future__ import annotations

from re import compile as regex

from sema_runtime.support.json import json_map
from sema_runtime.values.atoms import Keyword, Symbol, keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display, to_text
from sema_runtime.values.typenames import type_name
from sema_runtime.web.responses import (
    BODY,
    FILE,
    FILE_TYPE,
    HEADERS,
    HTML_HEADERS,
    JSON_HEADERS,
    STATUS,
    STREAM,
    TEXT_HEADERS,
    WEBSOCKET,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

Headers = list[tuple[bytes, bytes]]

METHOD, PATH, QUERY, PARAMS = keyword("method"), keyword("path"), keyword("query"), keyword("params")
BYTES, REMOTE = keyword("bytes"), keyword("remote")
EMPTY = Map()

# Other methods are answered with 501: keywords are never freed, and clients choose the methods.
_NAMES = (
    "get post put patch delete head options trace connect query search report link unlink purge"
    " propfind proppatch mkcol copy move lock unlock"
)
METHODS = {name.upper(): keyword(name) for name in _NAMES.split()}
MAX_FIELDS = 1000  # of a query

TEXT = b"text/plain"
SHARED_HEADERS: dict[int, Headers] = {  # of maps that many responses share
    id(JSON_HEADERS): [(b"content-type", b"application/json")],
    id(TEXT_HEADERS): [(b"content-type", TEXT)],
    id(HTML_HEADERS): [(b"content-type", b"text/html")],
}
_bad_name = regex(r"[^!#$%&'*+\-.^_`|~0-9A-Za-z]").search
_bad_value = regex(r"[\x00-\x08\x0a-\x1f\x7f]").search


class Refused(Exception):
    """A request that is answered without the handler. status, text: the response."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status
        self.text = text


# Requests


def request_map(scope: Any) -> tuple[Map, bool]:
    """Returns the request map, and whether a body is to be added. Raises Refused for an unsupported request."""
    method = METHODS.get(scope.get("method", "GET"))
    if method is None:
        raise Refused(501, "Method Not Implemented")
    headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
    client = scope.get("client")
    query = scope["query_string"]
    request = {
        METHOD: method,
        PATH: path_of(scope),
        HEADERS: Map(headers),
        QUERY: query_map(query) if query else EMPTY,
        PARAMS: EMPTY,
        REMOTE: client[0] if client else None,
        BODY: "",
    }
    return Map(request), "content-length" in headers or "transfer-encoding" in headers


def path_of(scope: Any) -> str:
    """Returns the path as the client wrote it, relative to where the application is mounted."""
    raw = scope.get("raw_path")
    if raw is None:
        from urllib.parse import quote

        path: str = quote(scope["path"])
    else:
        path = raw.decode("latin-1")
    root: str = scope.get("root_path", "")
    return path[len(root) :] or "/" if root and path.startswith(root) else path


def query_map(query: bytes) -> Map:
    """Returns the fields of `a=1&b` by keyword, percent-decoded; of fields with one name the last wins."""
    if query.count(b"&") >= MAX_FIELDS:
        raise Refused(400, "Too many query fields")
    fields: dict[str, str] = {}
    text = query.decode("latin-1")
    encoded = "%" in text or "+" in text
    for field in text.split("&"):
        if field:
            name, _, value = field.partition("=")
            if encoded:
                name, value = _decoded(name), _decoded(value)
            fields[name] = value
    return json_map(fields)


def _decoded(text: str) -> str:
    from urllib.parse import unquote_plus

    return unquote_plus(text)


def with_body(request: Map, body: bytes) -> Map:
    """Returns the request with :body; with :json if the client declares JSON and it is valid; with :bytes if the body
    is no text. The JSON is parsed on first use."""
    more: dict[Keyword, Any] = {}
    try:
        text = body.decode()
    except UnicodeDecodeError:
        text = body.decode(errors="replace")
        more[BYTES] = body
    more[BODY] = text
    entries = {**request.d, **more}
    if text and "json" in request.d[HEADERS].d.get("content-type", ""):
        from sema_runtime.web.lazy_json import LazyJson, Parsing

        entries = LazyJson(entries, Parsing(text))
    return Map(entries)


# Responses


def response_parts(value: Any) -> tuple[int, Headers, bytes]:
    """Returns status, headers and body of a handler's result. Raises SemaError for a map that is no response."""
    if not isinstance(value, Map):
        return text_response(200, to_text(value))
    d = value.d
    status = d.get(STATUS, 200)
    if type(status) is not int or not 200 <= status <= 599:
        raise SemaError(f"http/serve: response :status must be an integer from 200 to 599, got {to_text(status)}")
    body = d.get(BODY)
    if type(body) is str:
        data = body.encode(errors="surrogatepass")
    elif body is None:
        data = b""
    elif isinstance(body, (bytes, bytearray)):
        data = bytes(body)
    else:
        raise SemaError(f"http/serve: response :body must be a string or bytevector, got {type_name(body)}")
    headers = header_list(d.get(HEADERS))
    if status == 204 or status == 304:
        return status, headers, b""
    return status, [*headers, content_length(data)], data


def content_length(data: bytes) -> tuple[bytes, bytes]:
    """Returns the header with the length of the data."""
    return b"content-length", b"%d" % len(data)


def text_response(status: int, text: str, *more: tuple[bytes, bytes]) -> tuple[int, Headers, bytes]:
    """Returns the parts of a plain text response. more: further headers."""
    data = text.encode()
    return status, [(b"content-type", TEXT), content_length(data), *more], data


HANDLER_FAILED = text_response(500, "Handler did not respond")


def header_list(headers: Any) -> Headers:
    """Returns the pairs of a :headers map; a list as value means several headers. Headers of lengths are ignored."""
    shared = SHARED_HEADERS.get(id(headers))
    if shared is not None:
        return shared
    if headers is None:
        return []
    if not isinstance(headers, Map):
        raise SemaError(f"http/serve: response :headers must be a map, got {type_name(headers)}")
    return [
        (name.encode(), value.encode())
        for name, value in _header_texts(headers)
        if name not in ("content-length", "transfer-encoding")
    ]


def _header_texts(headers: Map) -> Iterator[tuple[str, str]]:
    for key, value in headers.pairs():
        name = (key.name if isinstance(key, (Keyword, Symbol)) else display(key)).lower()
        if not name or _bad_name(name):
            raise SemaError(f"http/serve: bad header name {to_text(key)}")
        for part in value if isinstance(value, (List, tuple, list)) else (value,):
            text = display(part)
            if _bad_value(text):
                raise SemaError(f"http/serve: header {name} must be one line, got {to_text(part)}")
            yield name, text


def special_kind(value: Any) -> Keyword | None:
    """Returns the key that marks a map as a file, a stream or a WebSocket; None for an ordinary response."""
    if isinstance(value, Map):
        d = value.d
        if STREAM in d or FILE in d or WEBSOCKET in d:
            return next((key for key in (STREAM, FILE, WEBSOCKET) if d.get(key)), None)
    return None


def special_headers(value: Map, kind: Keyword) -> Headers:
    """Returns the headers of a file or a stream: those of the map, and defaults for others."""
    own = header_list(value.d.get(HEADERS))
    if kind is STREAM:
        defaults = {"content-type": "text/event-stream", "cache-control": "no-cache"}
    else:
        defaults = {"content-type": value.d.get(FILE_TYPE, ""), "cache-control": "public, max-age=3600"}
    names = {name for name, _ in own}
    return [*own, *[header for header in header_list(Map(defaults)) if header[0] not in names]]
