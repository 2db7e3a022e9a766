"""Connections to MCP servers: from a map of options to a handle, and from a handle to the server's answers."""

from __future__ import annotations

from sema_runtime.support.options import header_list, options_or_empty, positive
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, SemaTypeError, type_error
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.mcp.access import Access
    from sema_runtime.mcp.client import Program, Remote
    from sema_runtime.mcp.official import OfficialClient
    from sema_runtime.mcp.servers import Server

CONFIG_HINT = 'a program: {:command "npx" :args ["-y" "PACKAGE"]}; a URL: {:url "https://example.com/mcp"}'


def connect(config: Any, access: Access | None = None) -> str:
    """Connects to a server and returns its handle; `mcp/connect` documents config.

    access: how a server at a URL gets its tokens, None for the default. Raises SemaError.
    """
    from sema_runtime.capabilities import require

    if not isinstance(config, Map | dict):
        raise SemaTypeError("map", type_name(config), "mcp/connect takes one map; " + CONFIG_HINT)
    options = _named(options_or_empty(config))
    is_remote = isinstance(options.lookup(keyword("url")), str)
    is_official = options.lookup(keyword("client")) is not None
    if not is_remote and not is_official and not isinstance(options.lookup(keyword("command")), str):
        raise SemaError("mcp/connect requires a :command (stdio) or :url (http) entry", CONFIG_HINT)
    require("mcp/connect", "network" if is_remote else "process")
    target = _official(options) if is_official else _remote(options, access) if is_remote else _program(options)
    timeout = positive("mcp/connect", options, "timeout")

    from sema_runtime.mcp import servers
    from sema_runtime.mcp.protocol import TIMEOUT_MS

    server = servers.Server(target, _texts(options, "tools"), timeout or TIMEOUT_MS)
    asked("mcp/connect", server, server.connect)
    return servers.add(server)


def _named(options: Map) -> Map:
    """The options with their names as keywords; names may also be strings."""
    return Map({keyword(key) if isinstance(key, str) else key: value for key, value in options.pairs()})


def _official(options: Map) -> OfficialClient:
    from sema_runtime.mcp.official import OfficialClient

    client, name = options.lookup(keyword("client")), options.lookup(keyword("name"))
    if not all(hasattr(client, needed) for needed in ("__aenter__", "list_tools", "call_tool")):
        raise SemaError(
            f"mcp/connect: :client must be a client of the official mcp package, got {type_name(client)}",
            "(py/from \"mcp\" Client) and {:client (Client server)}; pip install 'semac[mcp]'",
        )
    return OfficialClient(client, name if isinstance(name, str) else "client")


def _program(options: Map) -> Program:
    from sema_runtime.mcp.client import Program
    from sema_runtime.support.secrets import SHORTEST
    from sema_runtime.tasks.children import Settings

    settings = Settings("mcp/connect", options)
    argv = [options.lookup(keyword("command")), *(_texts(options, "args") or [])]
    values = [value for _, value in options_or_empty(options.lookup(keyword("env"))).pairs()]
    return Program(argv, settings, tuple(value for value in values if len(value) >= SHORTEST))


def _remote(options: Map, access: Access | None) -> Remote:
    from urllib.parse import urlsplit

    from sema_runtime.mcp.client import Remote
    from sema_runtime.support.redaction import shown_url

    url = options.lookup(keyword("url"))
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise SemaError(
            f"mcp/connect: invalid URL: {shown_url(url)}", "it must start with http:// or https:// and a host"
        )
    auth = _named(options_or_empty(options.lookup(keyword("auth"))))
    client = auth.lookup(keyword("client-id"))
    headers = tuple(header_list(options.lookup(keyword("headers"))))
    scopes = tuple(_texts(auth, "scopes") or ())
    return Remote(url, headers, client if isinstance(client, str) else None, scopes, access)


def _texts(options: Map, name: str) -> list[str] | None:
    """An option that is a list of strings; None without it."""
    from sema_runtime.values.matching import sequence_items

    value = options.lookup(keyword(name))
    if value is None:
        return None
    items = sequence_items(value)
    if items is None:
        raise SemaError(f"mcp/connect: :{name} must be a list of strings", f"got {type_name(value)}")
    for item in items:
        if not isinstance(item, str):
            raise SemaError(f"mcp/connect: every :{name} element must be a string", f"got {type_name(item)}")
    return list(items)


def server_of(function: str, handle: Any) -> Server:
    """The server of a handle."""
    from sema_runtime.mcp import servers
    from sema_runtime.tasks.scheduler import scheduler

    if not isinstance(handle, str):
        type_error("string", handle, f"{function} takes the handle that mcp/connect gave")
    server = servers.find(handle)
    if server is None:
        raise SemaError(f"mcp connection {handle} is not registered; it may have been closed")
    if server.is_elsewhere(scheduler().loop()):
        raise SemaError(f"{function}: the connection {handle} was opened in another thread or server")
    return server


def asked(function: str, server: Server, ask: Callable[[], Any]) -> Any:
    """The answer of a server. Raises a condition without keys in its text: servers repeat what they were sent."""
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.support.redaction import hidden

    try:
        return ask()
    except Failure as failure:
        secrets = server.secrets()
        hint, note = (text and hidden(text, secrets) for text in (failure.hint, failure.note))
        raise SemaError(f"{function}: {hidden(failure.message, secrets)}", hint, note) from None


def close(function: str, handle: Any) -> None:
    """Ends a connection and forgets its handle. Raises SemaError for an unknown handle."""
    from sema_runtime.mcp import servers
    from sema_runtime.tasks import finish

    server = server_of(function, handle)
    servers.forget(handle)
    finish(server.close())
