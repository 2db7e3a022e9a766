"""Servers of the Model Context Protocol: `mcp/connect`, and the tools of a server."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.mcp.connections import asked, close, connect, server_of
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.mcp.servers import Server


@builtin("mcp/connect", type="keep dict -> str")
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


@builtin("mcp/tools", type="str -> list (map keyword any) fresh")
def mcp_tools(handle: Any) -> List:
    """The tools of an MCP server: a list of maps with :name, :description and :input-schema.

    The last is the JSON Schema of the arguments, as a map with keyword keys.

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (map :name (mcp/tools files)) => ("read_file" "write_file")
    (mcp/tools "mcp-0") ! mcp connection mcp-0 is not registered; it may have been closed
    """
    from sema_runtime.llm.jsonable import to_sema

    server = server_of("mcp/tools", handle)
    return List([
        Map({
            keyword("name"): tool["name"],
            keyword("description"): _description(tool),
            keyword("input-schema"): to_sema(tool.get("inputSchema") or {}),
        })
        for tool in asked("mcp/tools", server, server.tools)
    ])  # fmt: skip


def _description(tool: dict[str, Any]) -> str:
    text = tool.get("description")
    return text if isinstance(text, str) else ""


@builtin("mcp/call", type="str, str, dict|nil -> any")
def mcp_call(handle: Any, name: Any, arguments: Any) -> Any:
    """Calls a tool of an MCP server with a map of arguments.

    Returns the texts of the result, joined with newlines, or the whole result as a map when there is no text. An error
    that the tool reports is also a result. Inside a task only that task waits.

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (mcp/call files "read_file" {:path "/tmp/notes.txt"}) => "milk, bread"
    (mcp/call "mcp-0" "read_file" {}) ! mcp connection mcp-0 is not registered; it may have been closed
    """
    return _value(_result(server_of("mcp/call", handle), name, _arguments(arguments)))


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
    result: dict[str, Any] = asked("mcp/call", server, lambda: server.call(tool, arguments))
    return result


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

        named = zip(self.names, values, strict=False)
        arguments = {name: to_json(value) for name, value in named if value is not None}
        result = _result(server_of("mcp/call", self.handle), self.tool, arguments)
        if result.get("isError") is True:
            text = _text(result)
            raise SemaError(f"mcp tool `{self.tool}` returned an error: {compact(result) if text is None else text}")
        return _value(result)


@builtin("mcp/tools->sema", type="str -> list other fresh")
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

    server = server_of("mcp/tools->sema", handle)
    tools = []
    for tool in asked("mcp/tools->sema", server, server.tools):
        schema = tool.get("inputSchema")
        parameters = parameters_of(schema)
        handler = ToolHandler(handle, tool["name"], keys(parameters))
        tools.append(McpTool(tool["name"], _description(tool), parameters, handler, input_schema=for_models(schema)))
    return List(tools)


@builtin("mcp/close", type="str -> nil")
def mcp_close(handle: Any) -> None:
    """Ends a connection: a started server is ended, a server at a URL is notified. Calls that still wait fail.

    ; (define files (mcp/connect {:command "npx" :args ["-y" "@modelcontextprotocol/server-filesystem" "/tmp"]}))
    ; (mcp/close files)
    (mcp/close "mcp-0") ! mcp connection mcp-0 is not registered; it may have been closed
    """
    close("mcp/close", handle)
