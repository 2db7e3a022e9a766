"""Logins to MCP servers of a run from outside of it, for the viewer. Tokens are kept where runs look for them."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any


def login(run_folder: Path, workflow: str, alias: str, spec: dict[str, Any]) -> int | None:
    """Logs in to the server of a declaration with the browser of this machine, and blocks meanwhile; until when that
    counts, in seconds since 1970, None if it isn't known. Raises SemaError."""
    from sema_runtime.mcp.oauth import Login, log_in
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.tasks import suspend

    url = _url(alias, spec)
    auth = spec.get("auth")
    client_id = auth.get("client-id") if isinstance(auth, dict) else None
    try:
        store = suspend(log_in(Login(url, _unheard, client_id if isinstance(client_id, str) else None), False))
        known = store.load(url)
    except (Failure, OSError) as error:
        raise SemaError(str(error)) from None
    return None if known is None else known.expires_at


def forget(run_folder: Path, workflow: str, alias: str, spec: dict[str, Any]) -> None:
    """Deletes what is kept of a login. Raises SemaError."""
    from sema_runtime.mcp.protocol import Failure
    from sema_runtime.mcp.tokens import default_store

    try:
        default_store().delete(_url(alias, spec))
    except (Failure, OSError) as error:
        raise SemaError(str(error)) from None


def _url(alias: str, spec: dict[str, Any]) -> str:
    url = spec.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise SemaError(f":mcp {alias}: :url must start with http:// or https://")
    return url


def _unheard(text: str) -> None:
    """The page says that a login is going on; nobody need read it in the terminal."""
