"""The stores of MCP servers' tokens: the system's keychain, or a file that only the user can read. (scoped.py has those
of workflows and runs.)

The keychain is used if the package `keyring` is installed and has a backend; SEMA_MCP_TOKEN_STORE chooses `file` or
`keychain`. The file is `sema/mcp-auth.json` in the user's configuration directory, in the reference's format; it is
replaced atomically, under a lock, so that processes don't undo each other's changes.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from sema_runtime.mcp.protocol import Failure
from sema_runtime.support.json_input import loads
from sema_runtime.support.private_files import make_folders
from sema_runtime.systems import O_CLOEXEC

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any, Protocol

    class Store(Protocol):
        """Credentials by the URL of the server. Each operation raises Failure where the store can't be used."""

        place: str  # for messages

        def load(self, url: str) -> Credentials | None: ...
        def save(self, credentials: Credentials) -> None: ...
        def delete(self, url: str) -> bool: ...
        def urls(self) -> list[str]: ...
        def lock_name(self, url: str) -> str: ...  # of the lock for getting a token of that server


SKEW_SECONDS = 60  # a token counts as expired that long before its end
SERVICE = "sema-mcp"
INDEX = "__sema_servers__"  # the keychain entry that lists the servers, which a keychain can't do
SETTING = "SEMA_MCP_TOKEN_STORE"


@dataclass(slots=True, repr=False)
class Credentials:
    """What is stored for a server. expires_at: unix seconds, None for a token that doesn't expire.

    client: `client_id`, and of a registration `redirect_uri`, `scope`, optionally `client_secret` and `auth_method`;
    None without a client. copied: from the default store to that of a workflow or run.
    """

    url: str
    access_token: str
    refresh_token: str | None = None
    expires_at: int | None = None
    scope: str | None = None
    client: dict[str, str] | None = None
    copied: bool = False

    def expired(self) -> bool:
        return self.expires_at is not None and time.time() + SKEW_SECONDS >= self.expires_at

    def as_json(self) -> dict[str, Any]:
        tokens = {
            "access_token": self.access_token,
            "refresh_token": self.refresh_token,
            "expires_at": self.expires_at,
            "scope": self.scope,
        }
        entry: dict[str, Any] = {
            "server_url": self.url,
            "tokens": {name: value for name, value in tokens.items() if value is not None},
        }
        if self.client is not None:
            entry["client_info"] = self.client
        if self.copied:
            entry["copied"] = True
        return entry


def credentials_of(url: str, value: Any) -> Credentials | None:
    """Returns the credentials in an entry; None for a damaged entry, or one of another server."""
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
        value.get("copied") is True,
    )


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) and value else None


def default_store() -> Store:
    """Returns the store that the setting chooses, or the first one that works. Raises Failure."""
    choice = os.environ.get(SETTING, "").strip().lower()
    if choice == "file":
        return FileStore()
    if choice == "keychain":
        return KeychainStore()
    if choice:
        raise Failure(f"{SETTING} must be file or keychain, got {choice}")
    try:
        return KeychainStore()
    except Failure:
        return FileStore()


# A file


def folder() -> str:
    """Returns the directory of the file and of the locks."""
    from sema_runtime.support.home import settings_directory

    return os.path.join(settings_directory(), "sema")


class FileStore:
    def __init__(self) -> None:
        self.path = os.path.join(folder(), "mcp-auth.json")
        self.place = self.path

    def lock_name(self, url: str) -> str:
        return url

    def _servers(self) -> dict[str, Any]:
        try:
            with open(self.path, "rb") as file:
                document = loads(file.read())
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
        """Yields the entries; their changes are written to the file afterwards."""
        from sema_runtime.support.replacing import Replacement

        with locked(f"{self.path}.lock"):
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
            from sema_runtime.support.missing_packages import install

            raise Failure(
                f"the system's keychain needs the package keyring: {install('keychain')}",
                f"or set {SETTING}=file",
            ) from None
        backend = keyring.get_keyring()
        if backend.priority <= 0:
            raise Failure("there is no keychain that could be used here", f"set {SETTING}=file")
        self.keyring = keyring
        self.error = KeyringError
        self.place = "the system's keychain"

    def lock_name(self, url: str) -> str:
        return url

    def _get(self, name: str) -> Any:
        try:
            return loads(self.keyring.get_password(SERVICE, name) or "null")
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
        return [url for url in listed if isinstance(url, str)] if isinstance(listed, list) else []

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
def locked(path: str) -> Iterator[None]:
    """A context in which no other process has the lock file. Raises Failure if it can't be created."""
    try:
        make_folders(os.path.dirname(path))
        descriptor = _lock_file(path)
    except OSError as error:
        raise Failure(f"failed to write the token store {path}: {error.strerror}") from None
    try:
        _take(descriptor, blocking=True)
        yield
    finally:
        os.close(descriptor)


def _lock_file(path: str) -> int:
    return os.open(path, os.O_RDWR | os.O_CREAT | O_CLOEXEC, 0o600)


def _take(descriptor: int, blocking: bool) -> bool:
    """Tries to take the lock; returns whether that succeeded."""
    try:
        import fcntl
    except ImportError:  # Windows: without a lock
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if blocking else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    return True


class TokenLock:
    """An async context that only one task, of all processes, enters at a time for the same name.

    Its file is in the directory of the default store, and is removed afterwards. If it can't be created, there is no
    lock: existing tokens can still be read.
    """

    def __init__(self, name: str) -> None:
        from hashlib import sha256

        self.path = os.path.join(folder(), f"mcp-auth-{sha256(name.encode()).hexdigest()[:16]}.lock")
        self.descriptor: int | None = None

    async def __aenter__(self) -> None:
        import asyncio

        try:
            make_folders(os.path.dirname(self.path))
            while not self._taken():
                await asyncio.sleep(0.05)
        except OSError:
            return

    def _taken(self) -> bool:
        """Tries to take the lock; returns False also if its previous owner removed the file. Raises OSError."""
        descriptor = _lock_file(self.path)
        try:
            if _take(descriptor, blocking=False) and os.path.samestat(os.fstat(descriptor), os.stat(self.path)):
                self.descriptor = descriptor
                return True
        except FileNotFoundError:
            return False
        finally:
            if self.descriptor is None:
                os.close(descriptor)
        return False

    async def __aexit__(self, *_: object) -> None:
        if self.descriptor is not None:
            with suppress(OSError):
                os.remove(self.path)
            os.close(self.descriptor)
            self.descriptor = None
