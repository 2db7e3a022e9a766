"""Routes: vectors `[method pattern handler]`, and the handler that chooses among them.

The segments of a pattern are literal, `:name` (one segment, in `:params`) or `*` (the rest of the path). Methods are
those of requests, `:any`, `:ws` (a WebSocket) and `:static` (the files of a directory). The first match wins.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence

from sema_runtime.capabilities import require
from sema_runtime.catalogue import builtin
from sema_runtime.support.file_access import checked, reason
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.web.responses import (
    JSON_HEADERS,
    TEXT_HEADERS,
    WEBSOCKET,
    WS_HANDLER,
    WS_REQUEST,
    file_response,
    json_response,
    json_text,
    response,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sema_runtime.llm.tools.tool import Tool

METHOD, PATH, PARAMS, JSON = keyword("method"), keyword("path"), keyword("params"), keyword("json")
POST, GET = keyword("post"), keyword("get")
READING = ("get", "head")  # the methods of requests that :ws and :static routes answer
INDEX = "index.html"


class Route:
    """One route, with its pattern parsed. handler: a function; for a :static route the directory."""

    __slots__ = ("handler", "method", "segments")

    def __init__(self, method: str, pattern: str, handler: Any) -> None:
        self.method = method
        self.segments = segments_of(pattern)
        self.handler = handler

    def match(self, path: list[str]) -> dict[str, str] | None:
        """The captures of the pattern from the segments of a path; None when they don't match."""
        if len(path) != len(self.segments) and self.segments[-1] != "*":
            return None
        params: dict[str, str] = {}
        for position, segment in enumerate(self.segments):
            if segment == "*":
                params["*"] = "/".join(path[position:]).lstrip("/")
                return params
            if position >= len(path):
                return None
            if segment.startswith(":"):
                params[segment[1:]] = path[position]
            elif segment != path[position]:
                return None
        return params


def segments_of(path: str) -> list[str]:
    """The parts of a path between its slashes; a slash at its end is ignored."""
    return path.rstrip("/").split("/")


def path_segments(path: str) -> list[str]:
    """The segments of a request's path, with their percent-encoding undone."""
    if "%" not in path:
        return segments_of(path)
    from urllib.parse import unquote

    return [unquote(segment) for segment in segments_of(path)]


@builtin("http/router", type="keep seq seq -> fn")
def http_router(routes: Any) -> Callable[[Any], Any]:
    """A handler that passes a request to the first route that matches it, with the captures of the pattern in
    `:params`, and answers 404 when none does. A `:static` route whose file doesn't exist leaves the request to later
    routes.

    ((http/router [[:get "/users/:id" (fn (request) (:params request))]])
     {:method :get :path "/users/42"}) => {:id "42"}
    (:status ((http/router []) {:method :get :path "/"})) => 404
    """
    table = [_route(row) for row in _sequence(routes)]

    def dispatch(request: Any) -> Any:
        if not isinstance(request, Map):
            type_error("map", request)
        key, place = request.lookup(METHOD), request.lookup(PATH)
        if type(key) is not Keyword or type(place) is not str:
            _bad_request(request)
        method, path = key.name, path_segments(place)
        for route in table:
            kind = route.method
            if kind != method and kind != "any" and (kind not in ("ws", "static") or method not in READING):
                continue
            params = route.match(path)
            if params is not None:
                answer = _answer(route, request, params)
                if answer is not None or kind != "static":
                    return answer
        return response(404, JSON_HEADERS, '"Not Found"')

    dispatch.__sema_name__ = "http/router/dispatch"  # type: ignore[attr-defined]
    return dispatch


def _bad_request(request: Map) -> NoReturn:
    """Raises the error for a wrong :method or :path of a request."""
    for key, kind, expected in ((METHOD, Keyword, "keyword"), (PATH, str, "string")):
        if not request.has(key):
            raise SemaError(f"http/router: request missing :{key.name}")
        if type(request.lookup(key)) is not kind:
            type_error(expected, request.lookup(key))
    raise AssertionError("nothing is wrong with the request")


def _answer(route: Route, request: Map, matched: dict[str, str]) -> Any:
    if route.method == "static":
        return static_file(route.handler, matched.get("*", ""))
    earlier = request.lookup(PARAMS)
    if matched or not isinstance(earlier, Map):
        params = {keyword(name): value for name, value in matched.items()}
        if isinstance(earlier, Map) and len(earlier):
            params = {**earlier.stable(), **params}
        entries = request.d.copy()  # as assoc, which would count them: that parses the body
        entries[PARAMS] = Map(params)
        request = Map(entries)
    if route.method == "ws":
        return Map({WEBSOCKET: True, WS_HANDLER: route.handler, WS_REQUEST: request})
    return route.handler(request)


def static_file(directory: str, name: str) -> Map | None:
    """The response with a file below a directory, or with the index of a directory there; None when there is none."""
    if ".." in name or "\0" in name:
        return response(400, TEXT_HEADERS, "Bad Request")
    path = os.path.join(directory, name.lstrip("/"))
    if os.path.isdir(path):
        path = os.path.join(path, INDEX)
    if not os.path.isfile(path):
        return None
    if not os.path.realpath(path).startswith(directory.rstrip("/") + "/"):
        return response(403, TEXT_HEADERS, "Forbidden")
    return file_response(path)


def _sequence(value: Any) -> Sequence[Any]:
    if type(value) is List:
        return value.items
    if not isinstance(value, (tuple, list)):
        type_error("list or vector", value)
    return value


def _route(row: Any) -> Route:
    if not isinstance(row, (List, tuple, list)):
        raise SemaError("http/router: each route must be a vector [method path handler]")
    if len(row) != 3:
        raise SemaError("http/router: each route must have exactly 3 elements [method path handler]")
    method, pattern, handler = row
    if type(method) is not Keyword:
        type_error("keyword", method)
    text_of(pattern)
    if method.name != "static":
        return Route(method.name, pattern, handler)
    if type(handler) is not str:
        raise SemaError("http/router: :static route directory must be a string")
    if not pattern.endswith("*"):
        pattern = pattern.rstrip("/") + "/*"
    return Route("static", pattern, _directory(handler))


def _directory(path: str) -> str:
    """The directory of a :static route, without symbolic links."""
    require("http/router", "fs-read")
    try:
        return os.path.realpath(checked("http/router", path), strict=True)
    except (OSError, UnicodeError) as error:
        raise SemaError(f"http/router: static directory '{path}': {reason(error)}") from None


@builtin("route/prefix", type="str, keep seq vector -> list vector fresh")
def route_prefix(prefix: Any, routes: Any) -> List:
    """Returns routes with prefix in front of their patterns.

    (route/prefix "/api" [[:get "/users" 'list-users]]) => ([:get "/api/users" list-users])
    """
    start = text_of(prefix).rstrip("/")
    return List([_prefixed(start, route) for route in _sequence(routes)])


def _prefixed(prefix: str, route: Any) -> tuple[Any, ...]:
    if not isinstance(route, tuple):
        raise SemaError("route/prefix: each route must be a vector [method pattern handler]")
    if len(route) < 3:
        raise SemaError("route/prefix: each route must have at least 3 elements")
    method, pattern, *rest = route
    return (method, prefix + text_of(pattern), *rest)


@builtin("tools->routes", "route/from-tools", type="keep seq other -> list vector fresh")
def tools_to_routes(tools: Any) -> List:
    """Two routes for each tool: POST /tools/NAME calls its handler with the fields of the JSON body and answers with
    the result as JSON (400 when the arguments are wrong); GET /tools/NAME/schema describes it. A handler whose one
    parameter isn't one of the tool's gets the whole body, a map.

    (begin (deftool add "Adds" {:a {:type :number}} (fn (a) (+ a 1)))
           (map (fn (route) (nth route 1)) (tools->routes [add]))) => ("/tools/add" "/tools/add/schema")
    """
    from sema_runtime.lib.llm.tools import tool_of

    routes: list[Any] = []
    for item in _sequence(tools):
        tool = tool_of(item)
        path = f"/tools/{tool.name}"
        routes += [(POST, path, _caller(tool)), (GET, f"{path}/schema", _describer(tool))]
    return List(routes)


def _caller(tool: Tool) -> Callable[[Any], Map]:
    from sema_runtime.llm.tools.schema import problems

    whole = _takes_the_body(tool)

    def call(request: Any) -> Map:
        body = request.lookup(JSON) if isinstance(request, Map) else None
        arguments = Map() if body is None else body
        if whole:
            return json_response(200, tool.handler(arguments))
        wrong = problems(tool.parameters, arguments)
        if wrong:
            return json_response(400, Map({"error": "; ".join(wrong)}))
        return json_response(200, tool.invoke(arguments))

    return call


def _takes_the_body(tool: Tool) -> bool:
    from sema_runtime.llm.tools import schema
    from sema_runtime.llm.tools.tool import parameter_names

    names = parameter_names(tool.handler)
    if names is None or len(names[0]) != 1:
        return False
    return not {*names[0][0]} & {*schema.keys(tool.parameters)}


def _describer(tool: Tool) -> Callable[[Any], Map]:
    def describe(_: Any) -> Map:
        parts = {"name": tool.name, "description": tool.description, "parameters": json_text(tool.parameters)}
        return json_response(200, Map(parts))

    return describe
