"""The key that encrypts the logins of workflows and runs. It is never stored next to what it encrypts.

It is SEMA_MCP_AUTH_KEY, else an entry of the system's keychain (shared with the reference), else a file next to the
default store that only the user can read. It is created when something is encrypted for the first time.
"""

from __future__ import annotations

import os

from sema_runtime.mcp.protocol import Failure
from sema_runtime.mcp.tokens import SERVICE, FileStore, KeychainStore, default_store, folder, locked

SETTING = "SEMA_MCP_AUTH_KEY"
ACCOUNT = "store-encryption-key"
BYTES = 32


def found() -> bytes | None:
    """Returns the key, None without one. Raises Failure for an unusable key."""
    text = os.environ.get(SETTING, "").strip()
    if text:
        return _decoded(text, SETTING, f"make one with: openssl rand -hex {BYTES}")
    store = default_store()
    if isinstance(store, KeychainStore):
        text = _of_keychain(store)
        hint = "delete that entry; logins that were encrypted with it are then lost"
        return _decoded(text, f"the key in the keychain ({SERVICE}/{ACCOUNT})", hint) if text else None
    return _of_file(path())


def found_or_made() -> bytes:
    """Returns the key, created if necessary. Raises Failure when it can't be stored."""
    key = found()
    if key is not None:
        return key
    with locked(f"{path()}.lock"):
        key = found()
        if key is not None:  # another process created it
            return key
        new_key = os.urandom(BYTES)
        store = default_store()
        if isinstance(store, FileStore):
            _to_file(path(), new_key)
        elif isinstance(store, KeychainStore):
            try:
                store.keyring.set_password(SERVICE, ACCOUNT, new_key.hex())
            except store.error as error:
                raise Failure(f"the keychain can't be written: {error}", f"or set {SETTING}") from None
        return new_key


def path() -> str:
    """Returns the path of the key file, for systems without keychain."""
    return os.path.join(folder(), "mcp-auth.key")


def _of_keychain(store: KeychainStore) -> str:
    try:
        return str(store.keyring.get_password(SERVICE, ACCOUNT) or "")
    except store.error as error:
        raise Failure(f"the keychain can't be read: {error}", f"or set {SETTING}") from None


def _of_file(name: str) -> bytes | None:
    try:
        with open(name, encoding="ascii", errors="replace") as file:
            text = file.read(2 * BYTES + 100)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise Failure(f"failed to read the key {name}: {error.strerror}", f"or set {SETTING}") from None
    return _decoded(text, f"the key {name}", "delete it; logins that were encrypted with it are then lost")


def _to_file(name: str, key: bytes) -> None:
    from sema_runtime.support.replacing import Replacement

    try:
        with Replacement(name, 0o600, sync=True) as file:
            file.write(f"{key.hex()}\n".encode())
    except OSError as error:
        raise Failure(f"failed to write the key {name}: {error.strerror}", f"or set {SETTING}") from None


def _decoded(text: str, where: str, hint: str) -> bytes:
    digits = text.strip()
    if len(digits) != 2 * BYTES or not all(digit in "0123456789abcdefABCDEF" for digit in digits):
        raise Failure(f"{where} is not valid: it must be {2 * BYTES} hexadecimal digits ({BYTES} random bytes)", hint)
    return bytes.fromhex(digits)
