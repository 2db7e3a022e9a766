"""`http/serve`. The application and the server are in web/."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.missing_packages import package_missing
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from sema_runtime.web import MAX_BODY, READ_TIMEOUT
from sema_runtime.web.responses import function_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PORT, HOST, URL, STOP = keyword("port"), keyword("host"), keyword("url"), keyword("stop")
PORT_FALLBACK, ON_LISTEN = keyword("port-fallback"), keyword("on-listen")


@builtin(
    "http/serve",
    type=("later (map keyword any -> any), keep dict? -> nil", "later (map keyword any -> any), keep any... -> nil"),
    cap="network",
)
def http_serve(handler: Any, *options: Any) -> None:
    """Runs a web server that answers HTTP requests with a handler, a function from request map to response map.

    It runs until Ctrl-C, SIGTERM or the cancellation of its task. Each request is a task of its own. A request has
    `:method :path :headers :query :params :body :remote`, and `:json` for a JSON body.

    Options: :port (3000; 0 for any free port), :host ("0.0.0.0"), :port-fallback (#t: the next free port), :on-listen
    (called with `{:host :port :url :stop}` once connections are accepted), :max-body (bytes, 16 MiB), :max-connections,
    :read-timeout (ms that a client may stall, 30000), :grace (ms that requests get when the server stops, 10000),
    :origins (a list of origins whose pages may open WebSockets besides the server's own, or "*" for all).

    ; (http/serve (fn (request) (http/ok {:path (:path request)})) {:port 8080})
    """
    function_of(handler)
    settings = options[0] if options and options[0] is not None else Map()
    if not isinstance(settings, Map):
        type_error("map", settings)
    port = _number(settings, "port", 3000)
    if not 0 <= port <= 65535:
        raise SemaError(f"http/serve: port must be in 0..=65535, got {port}")
    host = settings.lookup(HOST, "0.0.0.0")
    if type(host) is not str:
        type_error("string", host)
    on_listen = settings.lookup(ON_LISTEN)
    if on_listen is not None:
        function_of(on_listen)
    limits: dict[str, Any] = {
        "max_body": _number(settings, "max-body", MAX_BODY),
        "max_connections": _number(settings, "max-connections", None),
        "read_timeout": _number(settings, "read-timeout", int(READ_TIMEOUT * 1000)) / 1000,
        "grace": _number(settings, "grace", 10_000) / 1000,
        "origins": _origins(settings.lookup(keyword("origins"))),
    }
    fallback = settings.lookup(PORT_FALLBACK)
    _serve(handler, host, port, fallback is not None and fallback is not False, on_listen, limits)


def _number(options: Map, name: str, default: Any) -> Any:
    value = options.lookup(keyword(name))
    if value is None:
        return default
    if type(value) is not int:
        type_error("int", value, f"http/serve: :{name} must be an integer")
    if value < 0 and name != "port":
        raise SemaError(f"http/serve: :{name} must not be negative, got {to_text(value)}")
    return value


def _origins(value: Any) -> frozenset[str]:
    """The origins among the options, in one form. Raises SemaError for what is no list of strings."""
    if value is None:
        return frozenset()
    origins = [value] if isinstance(value, str) else value
    if not isinstance(origins, (List, tuple, list)) or not all(isinstance(origin, str) for origin in origins):
        raise SemaError(
            f"http/serve: :origins must be a list of strings, got {to_text(value)}",
            'an origin looks like "https://app.example.com"; "*" allows all',
        )
    from sema_runtime.web.origins import normal

    for origin in origins:
        if origin not in ("*", "null") and "://" not in origin:
            raise SemaError(
                f"http/serve: :origins has {to_text(origin)}, which isn't an origin",
                'an origin looks like "https://app.example.com"; "*" allows all',
            )
    return frozenset(normal(origin) for origin in origins)


def _serve(handler: Any, host: str, port: int, fallback: bool, on_listen: Any, limits: dict[str, Any]) -> None:
    try:
        from sema_runtime.web.server import TRIES, Server, listen
    except ImportError as error:
        raise package_missing("http/serve", error.name or "uvicorn", "web") from None
    from sema_runtime.web.reports import say

    listener = listen(host, port, TRIES if fallback else 1)
    bound = listener.getsockname()[1]
    server = Server(handler, listener, **limits)
    if on_listen is None:
        say(f"Listening on {host}:{bound}")
    else:
        shown = f"[{host}]" if ":" in host else host
        info = Map({HOST: host, PORT: bound, URL: f"http://{shown}:{bound}", STOP: server.stop})
        server.tasks.spawn(lambda: _tell(on_listen, info))
    server.run()


def _tell(on_listen: Any, info: Map) -> None:
    """Calls the function; the server continues if it fails."""
    from sema_runtime.tasks.promises import Cancelled
    from sema_runtime.web.reports import report

    try:
        on_listen(info)
    except Cancelled:
        raise
    except Exception as error:
        report("http/serve on-listen handler error", error)
