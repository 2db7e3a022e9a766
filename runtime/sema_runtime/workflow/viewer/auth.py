"""MCP servers that a run declares, and where their logins stand: from metadata.json and the journal's `auth.*` events,
over which a login that was started from the page goes. Credentials are never read here."""

from __future__ import annotations

import threading
from time import time

from sema_runtime.support.json_input import loads
from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.journal.parser import fields_of
from sema_runtime.workflow.viewer.guard import safe_segment

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from sema_runtime.workflow.viewer.journal import Journal

    Row = dict[str, Any]
    Answer = tuple[int, Row | str]  # status, JSON or text

NO_RUN = (404, "no such run/alias")
NOT_HTTP = (400, "alias is not an HTTP MCP server")


class Logins:
    """Logins started from the page: the latest outcome of each."""

    def __init__(self) -> None:
        self.flows: dict[tuple[str, str], Row] = {}

    def rows(self, run: str, journal: Journal) -> list[Row]:
        """A row for each declared server, in the order of their names."""
        manifest = servers(journal.path)
        latest = latest_events(journal) if manifest else {}
        return [row(alias, spec, latest.get(alias), self.flows.get((run, alias))) for alias, spec in manifest.items()]

    def connect(self, run: str, alias: str, folder: Path) -> Answer:
        """Starts a login, unless one is going on."""
        spec = http_server(folder, alias)
        if not isinstance(spec, dict):
            return spec
        key = (run, alias)
        if self.flows.get(key, {}).get("status") != "connecting":
            self.flows[key] = {"status": "connecting"}
            threading.Thread(target=self._log_in, args=(key, folder, spec), daemon=True).start()
        return 202, {"status": "connecting"}

    def _log_in(self, key: tuple[str, str], folder: Path, spec: Row) -> None:
        from sema_runtime.workflow.run import logins

        try:
            expires = logins.login(folder, workflow_of(folder), key[1], spec)
        except Exception as error:
            self.flows[key] = {"status": "failed", "reason": str(error)}
        else:
            self.flows[key] = {"status": "authorized"} | ({} if expires is None else {"expires_at": expires})

    def forget(self, run: str, alias: str, folder: Path) -> Answer:
        """Deletes what is kept of a login."""
        spec = http_server(folder, alias)
        if not isinstance(spec, dict):
            return spec
        from sema_runtime.workflow.run import logins

        try:
            logins.forget(folder, workflow_of(folder), alias, spec)
        except SemaError as error:
            return 500, {"error": error.message}
        self.flows.pop((run, alias), None)
        return 200, {"status": "forgotten"}


def metadata(folder: Path) -> Row:
    try:
        value = loads((folder / "metadata.json").read_bytes())
    except (OSError, ValueError, RecursionError):
        return {}
    return value if isinstance(value, dict) else {}


def workflow_of(folder: Path) -> str:
    name = metadata(folder).get("workflow")
    return name if isinstance(name, str) else ""


def servers(folder: Path) -> dict[str, Row]:
    """The declared servers by alias."""
    meta = metadata(folder).get("meta")
    declared = meta.get("mcp") if isinstance(meta, dict) else None
    return (
        {alias: spec for alias, spec in declared.items() if isinstance(spec, dict)}
        if isinstance(declared, dict)
        else {}
    )


def http_server(folder: Path, alias: str) -> Row | Answer:
    """The declaration of a server that is spoken to over HTTP, or the answer that says why there is none."""
    if not safe_segment(alias):
        return NO_RUN
    spec = servers(folder).get(alias)
    if spec is None:
        return NO_RUN
    return spec if isinstance(spec.get("url"), str) else NOT_HTTP


def latest_events(journal: Journal) -> dict[str, Row]:
    """The last `auth.*` event of each server."""
    state = journal.state
    wanted = {number for number, name in enumerate(state.kinds.texts) if name.startswith("auth.")}
    events: dict[str, Row] = {}
    for number, kind in enumerate(state.kind) if wanted else ():
        if kind in wanted:
            event = fields_of(journal.line(number)) or {}
            events[str(event.get("server"))] = event
    return events


def row(alias: str, spec: Row, event: Row | None, flow: Row | None) -> Row:
    auth = spec.get("auth")
    needs = isinstance(auth, dict)
    shown: Row = {"alias": alias, "needs_auth": needs, "status": "needs-consent" if needs else "open"}
    scopes = texts(auth.get("scopes")) if isinstance(auth, dict) else []
    if scopes:
        shown["scopes"] = scopes
    shown["tools"] = texts(spec.get("tools"))
    shown["persist"] = spec["persist"] if isinstance(spec.get("persist"), str) else "workflow"
    shown |= {key: spec[key] for key in ("url", "command") if isinstance(spec.get(key), str)}
    if flow is not None:
        return shown | flow
    return shown | journaled(event) if event else shown


def journaled(event: Row) -> Row:
    """What an event says of a login."""
    if event.get("event") == "auth.granted":
        expires = event.get("expires_at")
        if isinstance(expires, int):
            return {"status": "expired"} if expires < time() else {"status": "authorized", "expires_at": expires}
        return {"status": "authorized"}
    if event.get("event") == "auth.failed":
        reason = event.get("reason")
        return {"status": "failed"} | ({"reason": reason} if isinstance(reason, str) else {})
    return {"status": "needs-consent"}


def texts(value: Any) -> list[str]:
    return [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
