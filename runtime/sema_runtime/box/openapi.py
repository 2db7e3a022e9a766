"""Tools of an OpenAPI document (3.x): each operation becomes a function that asks the server, from the host's process.

Credentials are headers of the host. They go to the server of the document alone, no redirect is followed, and what the
server says is handed on without them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from sema_runtime.box.json_schema import misfits
from sema_runtime.box.signatures import signature
from sema_runtime.box.toolbox import Grant, Invalid, check_names, refuse
from sema_runtime.mcp.schema import resolved
from sema_runtime.support.json_input import received
from sema_runtime.values.errors import SemaError

if TYPE_CHECKING:
    import httpx

METHODS = {"get": "read", "head": "read", "put": "write", "post": "write", "delete": "write", "patch": "write"}
MOST_BYTES = 8 << 20  # of an answer
SHORTEST_SECRET = 6  # characters of a header's value that are worth hiding
SHOWN = 300  # characters of what the server says of an error
JSON = "application/json"


def openapi_tools(
    document: Mapping[str, Any] | str | Path,
    url: str | None = None,
    headers: Mapping[str, str] | None = None,
    only: Collection[str] | None = None,
    seconds: float = 30.0,
) -> dict[str, Grant]:
    """Returns the operations of an OpenAPI document as tools by name: the operationId, or method and path.

    document: parsed, or the path of a JSON file. url: of the server, where the document doesn't say it. only: names of
    those that are wanted. seconds: for an answer.

    Raises SemaError for a document that can't be used, and for a name in `only` that it doesn't have.
    """
    parsed = document if isinstance(document, Mapping) else read_document(Path(document))
    base = url or first_server(parsed)
    if urlsplit(base).scheme not in ("http", "https"):
        raise SemaError(f"openapi: {base!r} is no URL of a server", "pass url='https://...'")
    found: dict[str, Grant] = {}
    for operation in operations(dict(parsed)):
        if only is not None and operation.name not in only:
            continue
        if operation.name in found:
            raise SemaError(f"openapi: there are two operations {operation.name}")
        found[operation.name] = operation.grant(Server(base.rstrip("/"), dict(headers or {}), seconds))
    missing = sorted(set(only or ()) - found.keys())
    if missing or not found:
        names = ", ".join(operation.name for operation in operations(dict(parsed)))
        raise SemaError(f"openapi: there is no operation {', '.join(missing)}", f"those that can be called: {names}")
    return found


def read_document(path: Path) -> dict[str, Any]:
    try:
        parsed = json.loads(path.read_text(encoding="utf-8"))
    except OSError as problem:
        raise SemaError(f"openapi: {problem.strerror}: {path}") from None
    except ValueError as problem:
        raise SemaError(f"openapi: {path} isn't JSON: {problem}", "convert YAML to JSON first") from None
    if not isinstance(parsed, dict):
        raise SemaError(f"openapi: {path} is no OpenAPI document")
    return parsed


def first_server(document: Mapping[str, Any]) -> str:
    servers = document.get("servers")
    first = servers[0] if isinstance(servers, list) and servers else {}
    return str(first.get("url", "")) if isinstance(first, dict) else ""


def operations(document: dict[str, Any]) -> Iterator[Operation]:
    """The operations that can be called: those whose body, if any, is JSON."""
    paths = document.get("paths")
    if not isinstance(paths, dict):
        raise SemaError("openapi: the document has no paths")
    for path, item in paths.items():
        shared = item.get("parameters", []) if isinstance(item, dict) else []
        for method in METHODS:
            described = item.get(method) if isinstance(item, dict) else None
            if isinstance(described, dict):
                operation = Operation(document, method, path, described, shared)
                if operation.is_json:
                    yield operation


class Server:
    """Where requests go. headers: of the host, with its credentials."""

    def __init__(self, base: str, headers: dict[str, str], seconds: float) -> None:
        self.base = base
        self.headers = headers
        self.seconds = seconds
        parts = {part for value in headers.values() for part in (value, *value.split())}
        self.secrets = sorted((part for part in parts if len(part) >= SHORTEST_SECRET), key=len, reverse=True)

    def ask(self, method: str, path: str, query: dict[str, Any], own: dict[str, str], body: Any) -> Any:
        """The answer's value. Raises SemaError."""
        import httpx

        try:
            with httpx.Client(timeout=self.seconds, follow_redirects=False) as client:
                sent: dict[str, Any] = {} if body is None else {"json": body}
                request = client.build_request(
                    method, self.base + path, params=query or None, headers={**own, **self.headers}, **sent
                )
                reply = client.send(request, stream=True)
                text = self.text_of(reply)
        except httpx.HTTPError as problem:
            raise SemaError(f"{method.upper()} {path}: {type(problem).__name__}: the server gave no answer") from None
        if not reply.is_success:
            said = text[:SHOWN]
            raise SemaError(f"{method.upper()} {path}: status {reply.status_code}{': ' if said else ''}{said}")
        if "json" not in reply.headers.get("content-type", ""):
            return text or None
        try:
            return received(text) if text else None
        except ValueError as problem:
            raise SemaError(f"{method.upper()} {path}: the answer isn't JSON: {problem}") from None

    def text_of(self, reply: httpx.Response) -> str:
        """What the server says, without secrets."""
        collected = bytearray()
        for part in reply.iter_bytes():
            collected += part
            if len(collected) > MOST_BYTES:
                raise SemaError(f"the answer has more than {MOST_BYTES} bytes", "ask for less")
        text = collected.decode(errors="replace")
        for secret in self.secrets:
            text = text.replace(secret, "[redacted]")
        return text


class Operation:
    """One method of one path, with its parameters and its body as one object of arguments."""

    def __init__(
        self, document: dict[str, Any], method: str, path: str, described: dict[str, Any], shared: list[Any]
    ) -> None:
        self.document = document
        self.method = method
        self.path = path
        named = described.get("operationId") or f"{method}-{path}"
        self.name = re.sub(r"[^A-Za-z0-9_]+", "-", str(named)).strip("-")
        self.description = str(described.get("summary") or described.get("description") or "")
        self.places: dict[str, tuple[str, str]] = {}  # by argument: where it goes, and its name there
        self.properties: dict[str, Any] = {}
        self.required: list[str] = []
        self.result = self.schema_of(next((reply for status, reply in described.get("responses", {}).items()
                                           if str(status).startswith("2")), {}))  # fmt: skip
        for parameter in [*shared, *described.get("parameters", [])]:
            facts = resolved(parameter, document)
            if facts.get("in") in ("path", "query", "header"):
                self.add(facts["in"], str(facts.get("name")), facts.get("schema", {}), bool(facts.get("required")))
        body = resolved(described.get("requestBody", {}), document)
        self.is_json = not body or JSON in body.get("content", {})
        if body and self.is_json:
            self.add_body(self.schema_of(body), bool(body.get("required")))

    def schema_of(self, part: Any) -> dict[str, Any]:
        content = resolved(part, self.document).get("content", {}).get(JSON, {})
        expanded: dict[str, Any] = self.expanded(content.get("schema", {}))
        return expanded

    def expanded(self, schema: Any, depth: int = 6) -> Any:
        """A schema without references; {} for what is too deep."""
        if isinstance(schema, list):
            return [self.expanded(part, depth) for part in schema]
        if not isinstance(schema, dict):
            return schema
        if depth == 0:
            return {}
        return {key: self.expanded(part, depth - 1) for key, part in resolved(schema, self.document).items()}

    def add_body(self, schema: dict[str, Any], required: bool) -> None:
        fields = schema.get("properties")
        if not isinstance(fields, dict) or {argument_name(field) for field in fields} & self.properties.keys():
            self.add("whole", "body", schema, required)
            return
        needed = schema.get("required", []) if required else []
        for field, part in fields.items():
            self.add("body", field, part, field in needed)

    def add(self, place: str, name: str, schema: Any, required: bool) -> None:
        argument = argument_name(name)
        self.places[argument] = (place, name)
        self.properties[argument] = self.expanded(schema)
        if required or place == "path":
            self.required.append(argument)

    def grant(self, server: Server) -> Grant:
        schema = {"type": "object", "properties": self.properties, "required": self.required}
        shown = signature(self.name, schema, self.result)

        def call(arguments: dict[str, Any]) -> Any:
            check_names(self.name, arguments, list(self.properties), shown)
            refuse(misfits(arguments, schema), shown)
            return self.request(server, arguments)

        made = Grant(self.name, call, shown, self.description)
        made.effect, made.result = METHODS[self.method], self.result
        return made

    def request(self, server: Server, arguments: dict[str, Any]) -> Any:
        path, query, headers = self.path, dict[str, Any](), dict[str, str]()
        body: Any = None
        for argument, value in arguments.items():
            place, name = self.places[argument]
            if place == "path":
                path = path.replace("{" + name + "}", segment(argument, value))
            elif place == "query":
                query[name] = value
            elif place == "header":
                headers[name] = single_line(argument, value)
            elif place == "whole":
                body = value
            else:
                body = {**(body or {}), name: value}
        return server.ask(self.method, path, query, headers, body)


def argument_name(name: str) -> str:
    """A name as programs write it: hyphens and the like are underscores to tools."""
    return re.sub(r"[^A-Za-z0-9_]", "_", name)


def segment(argument: str, value: Any) -> str:
    """A value as one part of a path, which can't lead elsewhere. Raises Invalid."""
    text = str(value)
    if text in ("", ".", ".."):
        raise Invalid(f"{argument}: {text!r} can't be a part of a path")
    return quote(text, safe="")


def single_line(argument: str, value: Any) -> str:
    text = str(value)
    if not text.isprintable() or not text.isascii():
        raise Invalid(f"{argument}: a header has printable ASCII characters alone")
    return text
