"""Logins of a workflow's MCP servers: which store keeps them, and how a run or the viewer gets one.

`:persist` names the store: `:keyring` is the default store (the system's keychain, or a file where there is none),
`:workflow` is `.sema/auth/WORKFLOW/`, `:run` is `RUN/auth/`, `:none` is the memory of this process. All but the first
fall back to a login of the default store, made by `sema mcp login`.
"""

from __future__ import annotations

import os
import sys

from sema_runtime.mcp.access import Access, Stores, log_in
from sema_runtime.mcp.protocol import Failure
from sema_runtime.mcp.scoped import MemoryStore, ScopedStore, folder_names
from sema_runtime.mcp.tokens import default_store
from sema_runtime.support.visible import tell
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

    from sema_runtime.mcp.tokens import Store

_memory: dict[str, MemoryStore] = {}  # by workflow


def own_store(persist: str, workflow: str, run_folder: str) -> Store:
    """The store of a scope. Raises Failure."""
    if persist == "keyring":
        return default_store()
    if persist == "none":
        return _memory.setdefault(workflow, MemoryStore())
    if persist == "run":
        return run_store(run_folder)
    return workflow_store(workflow, os.path.dirname(run_folder))


def workflow_store(workflow: str, root: str = "") -> ScopedStore:
    """root: the directory of runs."""
    return ScopedStore(_holder(root), ("auth", *folder_names(workflow)), workflow)


def workflow_stores(root: str = "") -> list[ScopedStore]:
    """Those of all workflows that have logins here."""
    holder = _holder(root)
    stores = []
    for folder, folders, names in os.walk(os.path.join(holder, "auth")):
        folders.sort()
        parts = os.path.relpath(folder, holder).split(os.sep)
        if len(parts) > 1 and any(name.endswith(".json") for name in names):
            stores.append(ScopedStore(holder, tuple(parts), "/".join(parts[1:])))
    return stores


def _holder(root: str) -> str:
    """The directory `.sema`: the one that holds the runs, or the one here."""
    holder, name = os.path.split(os.path.normpath(root))
    return holder if name == "runs" and os.path.basename(holder) == ".sema" else ".sema"


def run_store(run_folder: str) -> ScopedStore:
    return ScopedStore(run_folder, ("auth",), os.path.basename(run_folder))


def stores(persist: str, workflow: str, run_folder: str) -> Stores:
    """Where logins are kept, and where they are taken from. Raises Failure when they can't be kept there."""
    own = own_store(persist, workflow, run_folder)
    if isinstance(own, ScopedStore):
        own.check()
    return Stores(own, None if persist == "keyring" else default_store(), persist != "none")


# In a run


class RunAccess(Access):
    """How a connection of a run gets its tokens: out of the store of its scope; with a browser, where somebody can be
    asked."""

    over_headers = True

    def __init__(self, alias: str, place: tuple[str, str, str], may_ask: bool, eager: bool) -> None:
        """place: the scope of the login, the workflow and the run's directory, as `stores` takes them. eager: the
        server is declared with :auth."""
        from sema_runtime import capabilities

        super().__init__(may_ask and "process" not in capabilities.denied)
        self.alias = alias
        self.eager = eager
        self._place = place

    def stores(self) -> Stores:
        return stores(*self._place)

    def will_ask(self) -> None:
        self._say("authentication required — opening browser…")

    def did_not_log_in(self, failure: Failure) -> None:
        self.needed = True
        self._say(f"authentication failed — {failure.message}")

    def not_refreshed(self, failure: Failure) -> None:
        self._say(f"the login could not be renewed — {failure.message}")

    def not_kept(self, failure: Failure) -> None:
        self._say(f"the login can't be kept for later — {failure.message}")

    def _say(self, text: str) -> None:
        if sys.stderr.isatty():
            sys.stderr.write("\r\x1b[K")  # over the sums that may stand there
        tell(f"{self.alias}: {text}")


# From the viewer


def login(run_folder: Path, workflow: str, alias: str, spec: dict[str, Any]) -> int | None:
    """Logs in to the server of a declaration with the browser of this machine, and blocks meanwhile; until when that
    counts, in seconds since 1970, None if it isn't known. Raises SemaError."""
    from sema_runtime.mcp.oauth import Login
    from sema_runtime.tasks import suspend

    url, auth = _url(alias, spec), spec.get("auth")
    client_id, scopes = (auth.get("client-id"), auth.get("scopes")) if isinstance(auth, dict) else (None, None)
    wanted = tuple(scope for scope in scopes if isinstance(scope, str)) if isinstance(scopes, list) else ()
    try:
        where = stores(_persist(spec), workflow, str(run_folder))
        how = Login(url, _unheard, client_id if isinstance(client_id, str) else None, wanted)
        expires: int | None = suspend(log_in(how, where)).expires_at
    except (Failure, OSError) as error:
        raise SemaError(str(error)) from None
    return expires


def forget(run_folder: Path, workflow: str, alias: str, spec: dict[str, Any]) -> None:
    """Deletes what is kept of a login: in the default store, too, from which the next run would take it again. Raises
    SemaError."""
    try:
        own_store(_persist(spec), workflow, str(run_folder)).delete(spec["url"])
        default_store().delete(spec["url"])
    except (Failure, OSError) as error:
        raise SemaError(str(error)) from None


def _persist(spec: dict[str, Any]) -> str:
    persist = spec.get("persist")
    return persist if persist in ("keyring", "run", "none") else "workflow"


def _url(alias: str, spec: dict[str, Any]) -> str:
    url = spec.get("url")
    if not isinstance(url, str) or not url.startswith(("http://", "https://")):
        raise SemaError(f":mcp {alias}: :url must start with http:// or https://")
    return url


def _unheard(text: str) -> None:
    """The page says that a login is going on; nobody need read it in the terminal."""
