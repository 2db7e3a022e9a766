"""Servers of the Model Context Protocol: `mcp/connect`, and the tools of a server."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, SemaTypeError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.mcp.access import Access
    from sema_runtime.mcp.client import Program, Remote
    from sema_runtime.mcp.official import Given
    from sema_runtime.mcp.servers import Server

CONFIG_HINT = 'a program: {:command "npx" :args ["-y" "PACKAGE"]}; a URL: {:url "https://example.com/mcp"}'


@builtin("mcp/connect", returns="string")
def mcp_connect(config: Any) -> str:
    """Connects to an MCP server, initializes the connection and returns a handle. `mcp/close` ends the connection.

    config, for a server that is a program to start (capability process):
    - :command, and :args, a list of strings; :env, a map added to the environment; :cwd
    For a server at a URL (capability network):
    - :url, and :headers, a map; :auth, a map with :client-id and :scopes for a login. When the server wants a login,
      the token is taken from the store or refreshed, or a browser opens; see `sema mcp login`.
    Or :client, an `mcp.Client` of the official package (extra mcp) that isn't open yet; :name, by which tapes know it.
    For all servers:
    - :timeout, milliseconds for an answer, 120000 without it
    - :tools, a list of the names of those tools that may be used

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (define tickets (mcp/connect {:url "https://mcp.example.com/mcp" :headers {"Authorization" "Bearer ..."}}))
    (mcp/connect {:name "files"}) ! mcp/connect requires a :command (stdio) or :url (http) entry
    """
    return connect(config)


def connect(config: Any, access: Access | None = None) -> str:
    """Like `mcp/connect`. access: how a server at a URL gets its tokens, None for the default."""
    from sema_runtime.capabilities import require
    from sema_runtime.lib.network.http_client import options_map, positive

    if not isinstance(config, Map | dict):
        raise SemaTypeError("map", type_name(config), "mcp/connect takes one map; " + CONFIG_HINT)
    options = _named(options_map(config))
    is_remote = isinstance(options.lookup(keyword("url")), str)
    is_given = options.lookup(keyword("client")) is not None
    if not is_remote and not is_given and not isinstance(options.lookup(keyword("command")), str):
        raise SemaError("mcp/connect requires a :command (stdio) or :url (http) entry", CONFIG_HINT)
    require("mcp/connect", "network" if is_remote else "process")
    target = _given(options) if is_given else _remote(options, access) if is_remote else _program(options)
    timeout = positive("mcp/connect", options, "timeout")

    from sema_runtime.mcp import servers
    from sema_runtime.mcp.protocol import TIMEOUT_MS

    server = servers.Server(target, _texts(options, "tools"), timeout or TIMEOUT_MS)
    _asked("mcp/connect", server, server.connect)
    return servers.add(server)


def _named(options: Map) -> Map:
    """The options with their names as keywords; names may also be strings."""
    return Map({keyword(key) if isinstance(key, str) else key: value for key, value in options.pairs()})


def _given(options: Map) -> Given:
    from sema_runtime.mcp.official import Given

    client, name = options.lookup(keyword("client")), options.lookup(keyword("name"))
    if not all(hasattr(client, needed) for needed in ("__aenter__", "list_tools", "call_tool")):
        raise SemaError(
            f"mcp/connect: :client must be a client of the official mcp package, got {type_name(client)}",
            "(py/from \"mcp\" Client) and {:client (Client server)}; pip install 'semac[mcp]'",
        )
    return Given(client, name if isinstance(name, str) else "client")


def _program(options: Map) -> Program:
    from sema_runtime.lib.network.http_client import options_map
    from sema_runtime.mcp.client import Program
    from sema_runtime.support.secrets import SHORTEST
    from sema_runtime.tasks.children import Settings

    settings = Settings("mcp/connect", options)
    argv = [options.lookup(keyword("command")), *(_texts(options, "args") or [])]
    values = [value for _, value in options_map(options.lookup(keyword("env"))).pairs()]
    return Program(argv, settings, tuple(value for value in values if len(value) >= SHORTEST))


def _remote(options: Map, access: Access | None) -> Remote:
    from urllib.parse import urlsplit

    from sema_runtime.lib.network.http_client import header_list, options_map
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
    auth = _named(options_map(options.lookup(keyword("auth"))))
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


# Asking a server


def _server(function: str, handle: Any) -> Server:
    """The server of a handle."""
    from sema_runtime.mcp import servers
    from sema_runtime.tasks.scheduler import scheduler

    if not isinstance(handle, str):
        type_error("string", handle, f"{function} takes the handle that mcp/connect gave")
    found = servers.find(handle)
    if found is None:
        raise SemaError(f"mcp connection {handle} is not registered; it may have been closed")
    if found.is_elsewhere(scheduler().loop()):
        raise SemaError(f"{function}: the connection {handle} was opened in another thread or server")
    return found


def _asked(function: str, server: Server, ask: Callable[[], Any]) -> Any:
    """The answer of a server. Raises a condition without keys in its text: servers repeat what they were sent."""
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.support.redaction import hidden

    try:
        return ask()
    except Failure as failure:
        secrets = server.secrets()
        hint, note = (text and hidden(text, secrets) for text in (failure.hint, failure.note))
        raise SemaError(f"{function}: {hidden(failure.message, secrets)}", hint, note) from None


@builtin("mcp/tools", returns="list")
def mcp_tools(handle: Any) -> List:
    """The tools of an MCP server: a list of maps with :name, :description and :input-schema.

    The last is the JSON Schema of the arguments, as a map with keyword keys.

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (map :name (mcp/tools files)) => ("read_file" "write_file")
    (mcp/tools "mcp-0") ! mcp connection mcp-0 is not registered; it may have been closed
    """
    from sema_runtime.llm.jsonable import to_sema

    server = _server("mcp/tools", handle)
    return List([
        Map({
            keyword("name"): tool["name"],
            keyword("description"): _description(tool),
            keyword("input-schema"): to_sema(tool.get("inputSchema") or {}),
        })
        for tool in _asked("mcp/tools", server, server.tools)
    ])  # fmt: skip


def _description(tool: dict[str, Any]) -> str:
    text = tool.get("description")
    return text if isinstance(text, str) else ""


@builtin("mcp/call")
def mcp_call(handle: Any, name: Any, arguments: Any) -> Any:
    """Calls a tool of an MCP server with a map of arguments.

    Returns the texts of the result, joined with newlines, or the whole result as a map when there is no text. An error
    that the tool reports is also a result. Inside a task only that task waits.

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (mcp/call files "read_file" {:path "/tmp/notes.txt"}) => "milk, bread"
    (mcp/call "mcp-0" "read_file" {}) ! mcp connection mcp-0 is not registered; it may have been closed
    """
    return _value(_result(_server("mcp/call", handle), name, _arguments(arguments)))


def _arguments(value: Any) -> dict[str, Any]:
    from sema_runtime.llm.jsonable import to_json

    if value is not None and not isinstance(value, Map | dict):
        type_error("map", value, "mcp/call takes the arguments of the tool as a map")
    return to_json(value) if value is not None else {}


def _result(server: Server, name: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """The result object of a tool."""
    tool = text_of(name)
    if not server.allows(tool):
        raise SemaError(
            f"mcp/call: tool `{tool}` is not declared in this connection's :tools manifest"
            f" [{', '.join(server.allowed or ()) or '(none)'}]",
            "add it to :tools of the workflow's :mcp entry, or of the map given to mcp/connect, to allow it",
        )
    found: dict[str, Any] = _asked("mcp/call", server, lambda: server.call(tool, arguments))
    return found


def _text(result: dict[str, Any]) -> str | None:
    """The texts of a result, None when it has none."""
    content = result.get("content")
    items = [item for item in content if isinstance(item, dict)] if isinstance(content, list) else []
    texts = [item["text"] for item in items if item.get("type") == "text" and isinstance(item.get("text"), str)]
    return "\n".join(texts) if texts else None


def _value(result: dict[str, Any]) -> Any:
    from sema_runtime.llm.jsonable import to_sema

    text = _text(result)
    return to_sema(result) if text is None else text


class ToolHandler:
    """The function of a tool value: calls the tool of a server with arguments in the order of their sorted names."""

    type_name = "native-fn"

    def __init__(self, handle: str, tool: str, names: list[str]) -> None:
        self.handle = handle
        self.tool = tool
        self.names = names
        self.__sema_name__ = f"mcp/{tool}"

    def __call__(self, *values: Any) -> Any:
        from sema_runtime.llm.jsonable import compact, to_json

        given = dict(zip(self.names, values, strict=False))
        arguments = {name: to_json(value) for name, value in given.items() if value is not None}
        result = _result(_server("mcp/call", self.handle), self.tool, arguments)
        if result.get("isError") is True:
            text = _text(result)
            raise SemaError(f"mcp tool `{self.tool}` returned an error: {compact(result) if text is None else text}")
        return _value(result)


@builtin("mcp/tools->sema", returns="list")
def mcp_tools_to_sema(handle: Any) -> List:
    """The tools of an MCP server as tool values, as `deftool` makes them: for agents and `llm/chat`.

    An error that a tool reports is raised, so that an agent reports it to its model. Arguments that are nil are not
    sent.

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (defagent librarian {:system "You look things up in files." :tools (mcp/tools->sema files)})
    ; (agent/run librarian "What is on the shopping list?")
    (mcp/tools->sema "mcp-0") ! mcp connection mcp-0 is not registered; it may have been closed
    """
    from sema_runtime.llm.tools.schema import keys
    from sema_runtime.mcp.schema import McpTool, for_models, parameters_of

    server = _server("mcp/tools->sema", handle)
    made = []
    for tool in _asked("mcp/tools->sema", server, server.tools):
        schema = tool.get("inputSchema")
        parameters = parameters_of(schema)
        handler = ToolHandler(handle, tool["name"], keys(parameters))
        made.append(McpTool(tool["name"], _description(tool), parameters, handler, input_schema=for_models(schema)))
    return List(made)


@builtin("mcp/close", returns="nil")
def mcp_close(handle: Any) -> None:
    """Ends a connection: a started server is ended, a server at a URL is notified. Calls that still wait fail.

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (mcp/close files)
    (mcp/close "mcp-0") ! mcp connection mcp-0 is not registered; it may have been closed
    """
    from sema_runtime.mcp import servers
    from sema_runtime.tasks import finish

    server = _server("mcp/close", handle)
    servers.forget(handle)
    finish(server.close())
