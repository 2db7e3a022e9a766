"""The MCP servers that a workflow declares under `:mcp`: connected before the body of a run, and closed after it.

Tokens come from the store that `:persist` names (logins.py). Where a login is needed and nobody can be asked, the body
doesn't run.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass

from sema_runtime.conditions.describe import condition_of
from sema_runtime.values.atoms import Keyword, Symbol, keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, HashMap, Map
from sema_runtime.values.matching import sequence_items
from sema_runtime.values.printer import quoted, to_text
from sema_runtime.values.typenames import type_name
from sema_runtime.workflow.journal import events
from sema_runtime.workflow.run.envelopes import failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from sema_runtime.workflow.run.event_log import EventLog

PERSIST = ("keyring", "workflow", "run", "none")
CLIENT_HINT = 'e.g. :client-id "my-client"'


@dataclass(slots=True)
class Declared:
    """A server of the meta map. url: "" for one that is a program. config: as `mcp/connect` takes it. wants_login: it
    has :auth."""

    alias: str
    url: str
    config: Map
    wants_login: bool
    scopes: tuple[str, ...]
    tools: tuple[str, ...]
    persist: str


def declared(meta: Any) -> list[Declared]:
    """The servers of a meta map in the order of their aliases. Raises SemaError, naming the alias."""
    specs = meta.lookup(keyword("mcp"), MISSING) if isinstance(meta, Map) else MISSING
    if specs is MISSING:
        return []
    if not isinstance(specs, Map | HashMap):
        raise SemaError(
            f":mcp must be a map of alias -> server spec, got {type_name(specs)}",
            'e.g. :mcp {asana {:url "https://mcp.asana.com/mcp"}}',
        )
    servers = []
    for alias, spec in specs.pairs():
        if not isinstance(alias, Symbol):
            raise SemaError(
                f":mcp alias {to_text(alias)} must be a bare symbol, got {type_name(alias)}",
                "write the alias without a colon or quotes, e.g. :mcp {asana {...}}",
            )
        if not isinstance(spec, Map | HashMap):
            _bad(alias.name, f"spec must be a map, got {type_name(spec)}", 'e.g. :mcp {alias {:url "https://..."}}')
        servers.append(_declared(alias.name, spec))
    return sorted(servers, key=lambda server: server.alias)


def _bad(alias: str, problem: str, hint: str) -> NoReturn:
    raise SemaError(f":mcp {alias}: {problem}", hint)


def _declared(alias: str, spec: Map) -> Declared:
    has_url, has_command = (spec.lookup(keyword(name), MISSING) is not MISSING for name in ("url", "command"))
    if has_url and has_command:
        _bad(
            alias,
            "spec has both :url and :command — pick exactly one transport",
            "use :url for a server behind a URL, :command for one that is a program",
        )
    if not has_url and not has_command:
        _bad(
            alias,
            "spec is missing :url or :command",
            'a URL: {:url "https://..."}; a program: {:command "npx" :args [...]}',
        )
    if has_url:
        _text(alias, spec, "url", 'e.g. :url "https://mcp.example.com/mcp"')
        _pairs(alias, spec, "headers")
    else:
        _text(alias, spec, "command", 'e.g. :command "npx"')
        _texts(alias, spec, "args")
        _pairs(alias, spec, "env")
        if spec.lookup(keyword("cwd"), MISSING) is not MISSING:
            _text(alias, spec, "cwd", 'e.g. :cwd "."')
    scopes = _auth(alias, spec, has_command)
    tools = _texts(alias, spec, "tools")
    without = {key: value for key, value in spec.pairs() if key not in (keyword("persist"), keyword("tools"))}
    if tools:
        without[keyword("tools")] = List(tools)
    url = spec.lookup(keyword("url")) if has_url else ""
    wants_login = spec.lookup(keyword("auth"), MISSING) is not MISSING
    return Declared(alias, url, Map(without), wants_login, tuple(scopes), tuple(tools), _persist(alias, spec))


def _auth(alias: str, spec: Map, is_program: bool) -> list[str]:
    """The scopes of a login."""
    auth = spec.lookup(keyword("auth"), MISSING)
    if auth is MISSING:
        return []
    if is_program:
        _bad(
            alias,
            ":auth is not valid on a stdio (:command) spec — stdio servers never need an OAuth flow",
            "leave :auth out, or connect to a :url",
        )
    if not isinstance(auth, Map | HashMap):
        _bad(alias, f":auth must be a map, got {type_name(auth)}", 'e.g. :auth {:scopes ["default"]}')
    client = auth.lookup(keyword("client-id"), MISSING)
    if client is not MISSING and not isinstance(client, str):
        _bad(alias, ":auth :client-id must be a string", CLIENT_HINT)
    return _texts(alias, auth, "scopes")


def _text(alias: str, spec: Map, name: str, hint: str) -> None:
    if not isinstance(spec.lookup(keyword(name)), str):
        _bad(alias, f":{name} must be a string", hint)


def _texts(alias: str, spec: Map, name: str) -> list[str]:
    value = spec.lookup(keyword(name), MISSING)
    if value is MISSING:
        return []
    items = sequence_items(value)
    if items is None:
        _bad(alias, f":{name} must be a list of strings", f'e.g. :{name} ["a" "b"]')
    for item in items:
        if not isinstance(item, str):
            problem = f"every :{name} element must be a string, got {type_name(item)}"
            _bad(alias, problem, f":{name} entries must all be strings")
    return list(items)


def _pairs(alias: str, spec: Map, name: str) -> None:
    value = spec.lookup(keyword(name), MISSING)
    hint = f':{name} entries look like {{"NAME" "value"}}'
    if value is MISSING:
        return
    if not isinstance(value, Map | HashMap):
        _bad(alias, f":{name} must be a map of string to string", hint)
    for key, item in value.pairs():
        if not isinstance(key, str):
            _bad(alias, f":{name} keys must be strings", hint)
        if not isinstance(item, str):
            _bad(alias, f":{name} value for {quoted(key)} must be a string", hint)


def _persist(alias: str, spec: Map) -> str:
    value = spec.lookup(keyword("persist"), MISSING)
    if value is MISSING:
        return "workflow"
    choices = ", ".join(f":{name}" for name in PERSIST)
    if not isinstance(value, Keyword):
        _bad(alias, f":persist must be one of {choices}, got {type_name(value)}", "e.g. :persist :workflow")
    if value.name not in PERSIST:
        _bad(alias, f":persist value :{value.name} is invalid (expected one of {choices})", "e.g. :persist :workflow")
    return value.name


# Connecting

Ending = tuple["Any", str, str]  # an envelope, status and reason of run.ended


class Servers:
    """The MCP servers of a run. handles: by alias; None for one that is declared, but not connected. error: of the
    last connection that failed and has a note of the server, None without any."""

    def __init__(self, log: EventLog, workflow: str, directory: str, may_ask: bool) -> None:
        self.log = log
        self.workflow = workflow
        self.directory = directory
        self.may_ask = may_ask
        self.handles: dict[str, str | None] = {}
        self.error: Exception | None = None

    def connect(self, meta: Any) -> Ending | None:
        """Connects the servers of a meta map, with an event for each login. Not None: how the run ends before its
        body."""
        try:
            servers = declared(meta)
        except SemaError as error:
            return failure(error.display()), "failed", "mcp declaration invalid"
        self.handles = dict.fromkeys((server.alias for server in servers), None)
        failures, wanting = [], []
        for server in servers:
            reason, needs_login = self._connect(server)
            if needs_login:
                wanting.append(server)
                scopes, tools = server.scopes or None, server.tools or None
                self.log.emit((events.AuthRequired, server.alias, scopes, tools, server.persist))
            elif reason:
                failures.append(f"{server.alias}: {reason}")
                self.log.emit((events.AuthFailed, server.alias, reason))
        if failures:
            return failure("; ".join(failures)), "failed", "mcp resolution failed"
        if wanting:
            return _needs_auth(wanting), "needs-auth", "authentication required"
        return None

    def _connect(self, server: Declared) -> tuple[str, bool]:
        """Connects one server: (what went wrong, whether it needs a login)."""
        from sema_runtime.mcp import connections
        from sema_runtime.workflow.run.logins import RunAccess

        place = (server.persist, self.workflow, self.directory)
        access = RunAccess(server.alias, place, self.may_ask, server.wants_login) if server.url else None
        try:
            self.handles[server.alias] = connections.connect(server.config, access)
        except Exception as error:
            if getattr(error, "note", None):  # what the server wrote before it died
                self.error = error
            reason = condition_of(error).display().removeprefix("mcp/connect: ")
            return reason, access is not None and access.needed
        if access is not None and access.credentials is not None:
            known = access.credentials
            scopes = tuple((known.scope or "").split()) or None
            self.log.emit((events.AuthGranted, server.alias, scopes, known.expires_at, access.source))
        return "", False

    def close(self) -> None:
        """Ends the connections. One that the program has closed itself is left alone."""
        from sema_runtime.mcp import connections

        handles, self.handles = self.handles, dict.fromkeys(self.handles)
        for handle in handles.values():
            if handle is not None:
                with suppress(SemaError):
                    connections.close("mcp/close", handle)


def _needs_auth(servers: list[Declared]) -> Map:
    entries = [
        Map({
            keyword("server"): server.alias,
            keyword("url"): server.url,
            keyword("persist"): server.persist,
        })
        for server in servers
    ]  # fmt: skip
    return Map({
        keyword("status"): keyword("needs-auth"),
        keyword("servers"): List([server.alias for server in servers]),
        keyword("auth"): List(entries),
    })  # fmt: skip
