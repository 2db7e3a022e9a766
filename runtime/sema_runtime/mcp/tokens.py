"""Where the tokens of MCP servers are kept: the system's keychain, or a file that only the user can read.

The keychain is used when the package `keyring` is there and has a place to keep things; SEMA_MCP_TOKEN_STORE chooses
one of `file` and `keychain`. The file is `sema/mcp-auth.json` in the user's configuration directory, in the reference's
format; it is replaced as a whole, under a lock, so that processes don't undo each other's changes.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager
from dataclasses import dataclass

from sema_runtime.mcp.protocol import Failure

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Store(Protocol):
        """Credentials by the URL of the server. Each operation raises Failure where the store can't be used."""

        place: str  # in words

        def load(self, url: str) -> Credentials | None: ...
        def save(self, credentials: Credentials) -> None: ...
        def delete(self, url: str) -> bool: ...
        def urls(self) -> list[str]: ...


SKEW_SECONDS = 60  # before its end a token counts as expired
SERVICE = "sema-mcp"
INDEX = "__sema_servers__"  # the keychain entry that lists the servers; a keychain can't
SETTING = "SEMA_MCP_TOKEN_STORE"


@dataclass(slots=True, repr=False)
class Credentials:
    """What is kept for a server. expires_at: unix seconds, None for a token that doesn't end.

    client: `client_id`, and of a registration `redirect_uri`, `scope`, and if there are such `client_secret` and
    `auth_method`; None without one.
    """

    url: str
    access_token: str
    refresh_token: str | None = None
    expires_at: int | None = None
    scope: str | None = None
    client: dict[str, str] | None = None

    def expired(self) -> bool:
        return self.expires_at is not None and time.time() + SKEW_SECONDS >= self.expires_at

    def as_json(self) -> dict[str, Any]:
        tokens = {
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "expires_at": self.expires_at,
            "scope": self.scope,
        }
        made: dict[str, Any] = {
            "server_url": self.url,
            "tokens": {name: value for name, value in tokens.items() if value is not None},
        }
        if self.client is not None:
            made["client_info"] = self.client
        return made


def credentials_of(url: str, value: Any) -> Credentials | None:
    """What an entry says; None for one that is of another server or damaged."""
    tokens = value.get("tokens") if isinstance(value, dict) and value.get("server_url") == url else None
    if not isinstance(tokens, dict) or not isinstance(tokens.get("access_token"), str):
        return None
    expires = tokens.get("expires_at")
    client = value.get("client_info")
    usable = isinstance(client, dict) and isinstance(client.get("client_id"), str)
    return Credentials(
        url,
        tokens["access_token"],
        _text(tokens.get("refresh_token")),
        int(expires) if isinstance(expires, int | float) else None,
        _text(tokens.get("scope")),
        {name: text for name, text in client.items() if isinstance(text, str)} if usable else None,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def default_store() -> Store:
    """The store that the setting chooses, or the first one that works. Raises Failure."""
    wanted = os.environ.get(SETTING, "").strip().lower()
    if wanted == "file":
        return FileStore()
    if wanted == "keychain":
        return KeychainStore()
    if wanted:
        raise Failure(f"{SETTING} must be file or keychain, got {wanted}")
    try:
        return KeychainStore()
    except Failure:
        return FileStore()


# A file


def folder() -> str:
    """The directory of the file and of the locks."""
    from sema_runtime.lib.system import sys_config_dir

    return os.path.join(sys_config_dir(), "sema")


class FileStore:
    def __init__(self) -> None:
        self.path = os.path.join(folder(), "mcp-auth.json")
        self.place = self.path

    def _servers(self) -> dict[str, Any]:
        try:
            with open(self.path, "rb") as file:
                document = json.loads(file.read())
        except FileNotFoundError:
            return {}
        except OSError as error:
            raise Failure(f"failed to read the token store {self.path}: {error.strerror}") from None
        except ValueError:
            raise Failure(*_damaged(self.path)) from None
        servers = document.get("servers", {}) if isinstance(document, dict) else None
        if not isinstance(servers, dict):
            raise Failure(*_damaged(self.path))
        return servers

    def load(self, url: str) -> Credentials | None:
        return credentials_of(url, self._servers().get(url))

    def urls(self) -> list[str]:
        return sorted(url for url in self._servers() if self.load(url) is not None)

    def save(self, credentials: Credentials) -> None:
        with self._changed() as servers:
            servers[credentials.url] = credentials.as_json()

    def delete(self, url: str) -> bool:
        if url not in self._servers():
            return False
        with self._changed() as servers:
            return servers.pop(url, None) is not None

    @contextmanager
    def _changed(self) -> Iterator[dict[str, Any]]:
        """The entries; what is changed in them stands in the file afterwards."""
        from sema_runtime.lib.replacing import Replacement

        with _lock(f"{self.path}.lock") as wait:
            wait()
            servers = self._servers()
            yield servers
            text = json.dumps({"servers": servers}, indent=2, sort_keys=True)
            try:
                with Replacement(self.path, 0o600, sync=True) as file:
                    file.write(text.encode())
            except OSError as error:
                raise Failure(f"failed to write the token store {self.path}: {error.strerror}") from None


def _damaged(path: str) -> tuple[str, str]:
    return f"the MCP token store {path} is damaged; it is left as it is", "mend or delete it, then log in again"


# The system's keychain


class KeychainStore:
    """Raises Failure when there is none."""

    def __init__(self) -> None:
        try:
            import keyring  # type: ignore[import-not-found, unused-ignore]
            from keyring.errors import KeyringError  # type: ignore[import-not-found, unused-ignore]
        except ImportError:
            raise Failure(
                "the system's keychain needs the package keyring: pip install 'semac[keychain]'",
                f"or set {SETTING}=file",
            ) from None
        backend = keyring.get_keyring()
        if backend.priority <= 0:
            raise Failure("there is no keychain that could be used here", f"set {SETTING}=file")
        self.keyring = keyring
        self.error = KeyringError
        self.place = "the system's keychain"

    def _get(self, name: str) -> Any:
        try:
            return json.loads(self.keyring.get_password(SERVICE, name) or "null")
        except self.error as error:
            raise Failure(f"the keychain can't be read: {error}") from None
        except ValueError:
            return None

    def _set(self, name: str, value: Any) -> None:
        try:
            self.keyring.set_password(SERVICE, name, json.dumps(value))
        except self.error as error:
            raise Failure(f"the keychain can't be written: {error}") from None

    def load(self, url: str) -> Credentials | None:
        return credentials_of(url, self._get(url))

    def urls(self) -> list[str]:
        listed = self._get(INDEX)
        return [one for one in listed if isinstance(one, str)] if isinstance(listed, list) else []

    def save(self, credentials: Credentials) -> None:
        self._set(credentials.url, credentials.as_json())
        self._list({*self.urls(), credentials.url})

    def delete(self, url: str) -> bool:
        if self._get(url) is None:
            return False
        try:
            self.keyring.delete_password(SERVICE, url)
        except self.error as error:
            raise Failure(f"the keychain can't be changed: {error}") from None
        self._list({*self.urls()} - {url})
        return True

    def _list(self, urls: set[str]) -> None:
        self._set(INDEX, sorted(urls))


# Locks between processes


@contextmanager
def _lock(path: str) -> Iterator[Any]:
    """An open lock file. Gives a function that takes the lock: `(blocking=True) -> whether it is ours`."""
    try:
        os.makedirs(os.path.dirname(path), mode=0o700, exist_ok=True)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Failure(f"failed to write the token store {path}: {error.strerror}") from None
    try:
        import fcntl
    except ImportError:  # Windows: without a lock
        fcntl = None  # type: ignore[assignment]

    def take(blocking: bool = True) -> bool:
        if fcntl is None:
            return True
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if blocking else fcntl.LOCK_NB))
        except BlockingIOError:
            return False
        return True

    try:
        yield take
    finally:
        os.close(descriptor)


class Turn:
    """An async context in which nobody else, in this process or another one, gets a token for the same server."""

    def __init__(self, url: str) -> None:
        from hashlib import sha256

        self.lock = _lock(os.path.join(folder(), f"mcp-auth-{sha256(url.encode()).hexdigest()[:16]}.lock"))

    async def __aenter__(self) -> None:
        import asyncio

        take = self.lock.__enter__()
        try:
            while not take(blocking=False):
                await asyncio.sleep(0.05)
        except BaseException:
            self.lock.__exit__(None, None, None)
            raise

    async def __aexit__(self, *_: object) -> None:
        self.lock.__exit__(None, None, None)
