"""Responses for handlers of `http/serve`: JSON, text, files, streams of events, WebSockets."""

from __future__ import annotations

import os

from sema_runtime.catalogue import builtin
from sema_runtime.support.file_access import checked, failed
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import Map
from sema_runtime.web.responses import (
    HTML_HEADERS,
    STREAM,
    STREAM_HANDLER,
    TEXT_HEADERS,
    WEBSOCKET,
    WS_HANDLER,
    file_response,
    function_of,
    json_response,
    response,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


@builtin("http/ok", type="any -> map keyword (int|str|map str str) fresh")
def http_ok(body: Any) -> Map:
    """The response 200 with the body as JSON.

    (:body (http/ok {:message "hi"})) => "{\\"message\\":\\"hi\\"}"
    (:headers (http/ok [1 2])) => {"content-type" "application/json"}
    """
    return json_response(200, body)


@builtin("http/created", type="any -> map keyword (int|str|map str str) fresh")
def http_created(body: Any) -> Map:
    """The response 201 with the body as JSON.

    (:status (http/created {:id 1})) => 201
    """
    return json_response(201, body)


@builtin("http/no-content", type="-> map keyword (int|str|map str str) fresh")
def http_no_content() -> Map:
    """The response 204, without a body.

    (http/no-content) => {:body "" :headers {} :status 204}
    """
    return response(204, Map(), "")


@builtin("http/not-found", type="any -> map keyword (int|str|map str str) fresh")
def http_not_found(body: Any) -> Map:
    """The response 404 with the body as JSON.

    (:body (http/not-found {:error "no such user"})) => "{\\"error\\":\\"no such user\\"}"
    """
    return json_response(404, body)


@builtin("http/error", type="int, any -> map keyword (int|str|map str str) fresh")
def http_error(status: Any, body: Any) -> Map:
    """A response of any status with the body as JSON.

    (:status (http/error 422 {:errors ["name is missing"]})) => 422
    """
    if type(status) is not int:
        type_error("integer", status)
    return json_response(status, body)


@builtin("http/redirect", type="str -> map keyword (int|str|map str str) fresh")
def http_redirect(url: Any) -> Map:
    """The response 302, which sends the client to another address.

    (http/redirect "/login") => {:body "" :headers {"location" "/login"} :status 302}
    """
    return response(302, Map({"location": text_of(url)}), "")


@builtin("http/html", type="str -> map keyword (int|str|map str str) fresh")
def http_html(text: Any) -> Map:
    """The response 200 with a page of HTML.

    (:headers (http/html "<h1>Hi</h1>")) => {"content-type" "text/html"}
    """
    return response(200, HTML_HEADERS, text_of(text))


@builtin("http/text", type="str -> map keyword (int|str|map str str) fresh")
def http_text(text: Any) -> Map:
    """The response 200 with plain text.

    (http/text "OK") => {:body "OK" :headers {"content-type" "text/plain"} :status 200}
    """
    return response(200, TEXT_HEADERS, text_of(text))


@builtin("http/file", type="str, str? -> map keyword (bool|str) fresh", cap="fs-read")
def http_file(path: Any, content_type: Any = None) -> Map:
    """The response 200 with a file, which is read when it is sent; its content type is guessed from its name.

    (file/write "a.css" "p {}")
    (:__file_content_type (http/file "a.css")) => "text/css"
    (http/file "missing.html") ! I/O error: http/file missing.html: No such file
    """
    checked_path = checked("http/file", path)
    kind = None if content_type is None else text_of(content_type)
    try:
        real = os.path.realpath(checked_path, strict=True)
    except (OSError, ValueError) as error:
        raise failed("http/file", checked_path, error) from None
    return file_response(real, kind)


@builtin("http/stream", type="later (fn -> any) -> map keyword (bool|fn) fresh")
def http_stream(handler: Any) -> Map:
    """A response of server-sent events: handler is called with a function that sends a text as one event. The stream
    ends when handler returns; it is cancelled when the client goes away.

    (:__stream (http/stream (fn (send) (send "one") (send "two")))) => #t
    """
    return Map({STREAM: True, STREAM_HANDLER: function_of(handler)})


@builtin("http/websocket", type="later (map keyword any -> any) -> map keyword (bool|fn) fresh")
def http_websocket(handler: Any) -> Map:
    """The answer to a WebSocket request: handler is called with a map of the functions `:send` (a string or a
    bytevector), `:recv` (waits for a message, nil when the connection is closed) and `:close`, and the `:request`.

    (:__websocket (http/websocket (fn (conn) ((:send conn) ((:recv conn)))))) => #t
    """
    return Map({WEBSOCKET: True, WS_HANDLER: function_of(handler)})
