"""Logins of a workflow or a run: a directory with an encrypted file for each server, or memory.

A file is HOST-HASH.json, `{"v":1,"nonce":...,"ciphertext":...}` in base64: the JSON entry of the default store,
encrypted with ChaCha20-Poly1305. The format, the names and the key are the reference's.
"""

from __future__ import annotations

import errno
import json
import os
from base64 import b64decode, b64encode
from hashlib import sha256
from stat import S_ISDIR, S_ISREG

from sema_runtime.mcp.protocol import Failure
from sema_runtime.mcp.tokens import credentials_of
from sema_runtime.support.json_input import loads
from sema_runtime.support.private_files import make_folders, owned
from sema_runtime.support.visible import tell
from sema_runtime.systems import O_CLOEXEC, O_NOFOLLOW, O_NONBLOCK

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305

    from sema_runtime.mcp.tokens import Credentials

VERSION = 1
NONCE_BYTES = 12
MAX_BYTES = 1 << 20
EXTRA = "scoped-logins"


class _Unusable(Exception):
    """A file that counts as missing; the message says why."""


class ScopedStore:
    """base: a trusted directory. parts: names of nested directories in it, private to the user and no symbolic links.
    name: of the workflow, or id of the run."""

    def __init__(self, base: str, parts: tuple[str, ...], name: str) -> None:
        self.base = base
        self.parts = parts
        self.name = name
        self.folder = os.path.join(base, *parts)
        self.place = self.folder
        self._key: bytes | None = None
        self._said: set[str] = set()

    def lock_name(self, url: str) -> str:
        return f"{os.path.abspath(self.folder)}\n{url}"

    def check(self) -> None:
        """Raises Failure when logins can't be encrypted here; called before a login."""
        from sema_runtime.mcp import store_key

        _cipher()
        self._key = store_key.found()

    # Reading

    def load(self, url: str) -> Credentials | None:
        """Returns the stored login. An unusable file counts as none; a warning on stderr says why."""
        name = file_name(url)
        entry = self._entry(name)
        credentials = None if entry is None else credentials_of(url, entry)
        if entry is not None and credentials is None:
            self._say(name, "is of another server, or damaged")
        return credentials

    def urls(self) -> list[str]:
        """Returns the URLs of the servers whose files can be read."""
        if not self._is_there():
            return []
        try:
            names = sorted(os.listdir(self.folder))
        except OSError as error:
            raise Failure(f"failed to read {self.folder}: {error.strerror}") from None
        entries = (self._entry(name) for name in names if name.endswith(".json"))
        urls = [entry.get("server_url") for entry in entries if entry is not None]
        return [url for url in urls if isinstance(url, str) and self.load(url) is not None]

    def has(self, url: str) -> bool:
        """Whether a file for a server exists, usable or not."""
        return self._is_there() and os.path.lexists(os.path.join(self.folder, file_name(url)))

    def _entry(self, name: str) -> dict[str, Any] | None:
        """Returns the decrypted entry of a file; None for a missing or unusable one."""
        try:
            data = self._read(name)
            return None if data is None else self._decrypted(data)
        except _Unusable as problem:
            self._say(name, str(problem))
            return None

    def _read(self, name: str) -> bytes | None:
        if not self._is_there():
            return None
        path = os.path.join(self.folder, name)
        flags = os.O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
        try:
            descriptor = os.open(path, flags)
        except FileNotFoundError:
            return None
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _Unusable("is a symbolic link") from None
            raise Failure(f"failed to read {path}: {error.strerror}") from None
        if not S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise _Unusable("is no file")
        with open(descriptor, "rb") as file:
            return file.read(MAX_BYTES)

    def _decrypted(self, data: bytes) -> dict[str, Any]:
        try:
            envelope = loads(data)
            version = envelope["v"]
            nonce, ciphertext = (b64decode(envelope[field], validate=True) for field in ("nonce", "ciphertext"))
        except (ValueError, TypeError, KeyError, RecursionError):
            raise _Unusable("is damaged") from None
        if version != VERSION or len(nonce) != NONCE_BYTES:
            raise _Unusable("has a format that is not known here")
        key = self._existing_key()
        if key is None:
            raise _Unusable("can't be decrypted: there is no key")
        try:
            entry = loads(_opened(key, nonce, ciphertext))
        except (ValueError, RecursionError):
            entry = None
        if not isinstance(entry, dict):
            raise _Unusable("is damaged")
        return entry

    def _say(self, name: str, what: str) -> None:
        """Warns once for each file that it counts as no login."""
        if name not in self._said:
            self._said.add(name)
            tell(f"sema: {os.path.join(self.folder, name)} {what}; it counts as no login")

    def _existing_key(self) -> bytes | None:
        from sema_runtime.mcp import store_key

        if self._key is None:
            self._key = store_key.found()
        return self._key

    def _is_there(self) -> bool:
        """Whether the directory exists. Raises Failure for a symbolic link in its path."""
        path = self.base
        for part in self.parts:
            path = os.path.join(path, part)
            try:
                mode = os.lstat(path).st_mode
            except FileNotFoundError:
                return False
            except OSError as error:
                raise Failure(f"failed to read {path}: {error.strerror}") from None
            if not S_ISDIR(mode):
                raise Failure(f"{path} must be a directory; logins are not kept behind symbolic links")
        return True

    # Writing

    def save(self, credentials: Credentials) -> None:
        from sema_runtime.mcp import store_key

        if self._key is None:
            self._key = store_key.found_or_made()
        text = json.dumps(credentials.as_json(), separators=(",", ":"), ensure_ascii=False).encode()
        nonce = os.urandom(NONCE_BYTES)
        envelope = {
            "v": VERSION,
            "nonce": b64encode(nonce).decode(),
            "ciphertext": b64encode(_cipher()(self._key).encrypt(nonce, text, None)).decode(),
        }
        self._is_there()
        try:
            self._make_folder()
            self._write(file_name(credentials.url), json.dumps(envelope, separators=(",", ":")).encode())
        except OSError as error:
            raise Failure(f"failed to write {self.folder}: {error.strerror}") from None

    def _make_folder(self) -> None:
        from contextlib import suppress

        make_folders(self.base)
        path = self.base
        for part in self.parts:
            path = os.path.join(path, part)
            with suppress(FileExistsError):
                os.mkdir(path, 0o700)
            os.chmod(path, 0o700)
        if len(self.parts) > 1:  # in .sema/auth: keeps logins out of the project's repository
            path = os.path.join(self.base, self.parts[0], ".gitignore")
            with suppress(FileExistsError), open(path, "x", opener=owned) as file:
                file.write("*\n")

    def _write(self, name: str, data: bytes) -> None:
        """Replaces a file atomically; a symbolic link in its place is removed, not followed."""
        from sema_runtime.support.replacing import Replacement, remove_leftovers

        remove_leftovers(self.folder)
        path = os.path.join(self.folder, name)
        if os.path.islink(path):
            os.remove(path)
        with Replacement(path, 0o600, sync=True) as file:
            file.write(data)

    def delete(self, url: str) -> bool:
        """Deletes a login; returns whether it existed. Needs neither the key nor the package."""
        if not self._is_there():
            return False
        path = os.path.join(self.folder, file_name(url))
        try:
            os.remove(path)
        except FileNotFoundError:
            return False
        except OSError as error:
            raise Failure(f"failed to delete {path}: {error.strerror}") from None
        return True


def _cipher() -> type[ChaCha20Poly1305]:
    """Returns the class that encrypts. Raises Failure without the package."""
    try:
        from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    except ImportError:
        from sema_runtime.support.missing_packages import install

        raise Failure(
            f"logins of workflows and runs need the package cryptography: {install(EXTRA)}",
            "or :persist :keyring, for the default store",
        ) from None
    return ChaCha20Poly1305


def _opened(key: bytes, nonce: bytes, ciphertext: bytes) -> bytes:
    """Returns the decrypted text. Raises _Unusable."""
    from cryptography.exceptions import InvalidTag

    try:
        text: bytes = _cipher()(key).decrypt(nonce, ciphertext, None)
    except InvalidTag:
        raise _Unusable("can't be decrypted: the key is another one, or the file is damaged") from None
    return text


# Names


def file_name(url: str) -> str:
    """Returns the file name of a server: its host, for readers, and a hash of the whole URL."""
    return f"{_plain(_host(url), '-.')[:200]}-{_hash(url)}.json"


def _host(url: str) -> str:
    from urllib.parse import urlsplit

    try:
        host = urlsplit(url).hostname or "server"
        if ":" in host:  # IPv6
            return f"[{host}]"
        return host if host.isascii() else host.encode("idna").decode()
    except ValueError:
        return "server"


def _hash(text: str) -> str:
    return sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def folder_names(workflow: str) -> tuple[str, ...]:
    """Returns the directories of a workflow's logins below `auth`: its name, or `name-hash` if that is unsafe."""
    parts = workflow.split("/")
    if len(workflow) <= 200 and all(_is_safe(part) for part in parts):
        return tuple(parts)
    return (f"{_plain(workflow, '-_')[:80]}-{_hash(workflow)}",)


def _plain(text: str, more: str) -> str:
    """Returns a text with `_` for all characters but ASCII letters, digits, and those of more."""
    return "".join(
        character if character.isascii() and (character.isalnum() or character in more) else "_" for character in text
    )


def _is_safe(name: str) -> bool:
    return bool(name.strip(". ")) and name.isprintable() and "\\" not in name


# Memory


class MemoryStore:
    """Logins that last as long as the process."""

    def __init__(self) -> None:
        self.place = "memory"
        self.logins: dict[str, Credentials] = {}

    def lock_name(self, url: str) -> str:
        return f"{os.getpid()} {id(self)}\n{url}"

    def load(self, url: str) -> Credentials | None:
        return self.logins.get(url)

    def urls(self) -> list[str]:
        return sorted(self.logins)

    def save(self, credentials: Credentials) -> None:
        self.logins[credentials.url] = credentials

    def delete(self, url: str) -> bool:
        return self.logins.pop(url, None) is not None
