"""Response maps of `http/serve` handlers: `{:status n :headers map :body text}`, or a map for a file, a stream of
events or a WebSocket. web/app.py sends them."""

from __future__ import annotations

from sema_runtime.support.json import encode
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STATUS, HEADERS, BODY = keyword("status"), keyword("headers"), keyword("body")
FILE, FILE_PATH, FILE_TYPE = keyword("__file"), keyword("__file_path"), keyword("__file_content_type")
STREAM, STREAM_HANDLER = keyword("__stream"), keyword("__stream_handler")
WEBSOCKET, WS_HANDLER, WS_REQUEST = keyword("__websocket"), keyword("__ws_handler"), keyword("__ws_request")

JSON_HEADERS = Map({"content-type": "application/json"})
TEXT_HEADERS = Map({"content-type": "text/plain"})
HTML_HEADERS = Map({"content-type": "text/html"})


def response(status: int, headers: Map, body: str) -> Map:
    """Returns a response map."""
    return Map({STATUS: status, HEADERS: headers, BODY: body})


def json_response(status: int, value: Any) -> Map:
    """Returns a response whose body is the JSON text of a value."""
    return response(status, JSON_HEADERS, json_text(value))


def json_text(value: Any) -> str:
    """Returns the JSON text of any value: values without JSON form are printed, NaN and infinities are null."""
    try:
        return encode(value)
    except SemaError:
        import json

        from sema_runtime.llm.jsonable import to_json

        return json.dumps(to_json(value), ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def file_response(path: str, content_type: str | None = None) -> Map:
    """Returns the response map of a file."""
    from sema_runtime.web.mime import content_type_of

    return Map({FILE: True, FILE_PATH: path, FILE_TYPE: content_type or content_type_of(path)})


def function_of(value: Any) -> Any:
    """Returns the value. Raises a type error unless it is a function."""
    if not callable(value) or type(value) is Keyword:
        type_error("function", value)
    return value
