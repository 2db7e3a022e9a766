"""Ed25519 keys of who decide. The package `cryptography` is the extra `approvals`, imported where it is needed."""

from __future__ import annotations

import os
from base64 import b64decode, b64encode
from contextlib import suppress

from sema_runtime.support.private_files import make_folders
from sema_runtime.systems import O_CLOEXEC, O_NONBLOCK
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LARGEST = 4096  # bytes of a file of a key
RAW = 32  # bytes of a public key


def _ed25519() -> Any:
    try:
        from cryptography.hazmat.primitives.asymmetric import ed25519
    except ImportError:
        from sema_runtime.support.missing_packages import package_missing

        raise package_missing("workflow approvals", "cryptography", "approvals") from None
    return ed25519


def generate(private_file: str, public_file: str) -> str:
    """Writes a new pair of keys; the public one. Raises SemaError when there is a file of either name already, and
    then writes nothing."""
    key = _ed25519().Ed25519PrivateKey.generate()
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    for path in (private_file, public_file):
        if os.path.lexists(path):
            raise SemaError(f"{path} is there already; keys are never written over")
    private = b64encode(key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())).decode()
    public = public_of(key)
    _create(private_file, private, 0o600)
    try:
        _create(public_file, public, 0o644)
    except SemaError:
        os.unlink(private_file)
        raise
    return public


def _create(path: str, text: str, permissions: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | O_CLOEXEC, permissions)
    except OSError as error:
        raise SemaError(f"{path}: {error.strerror}") from None
    try:
        with open(descriptor, "w") as file:
            file.write(f"{text}\n")
            file.flush()
            os.fsync(descriptor)
    except OSError as error:
        with suppress(OSError):
            os.unlink(path)
        raise SemaError(f"{path}: {error.strerror}") from None


def of_this_user() -> Any:
    """The key with which the user decides on the terminal: made when it is first needed, kept in the user's folder.
    Raises SemaError when it can't be kept there."""
    from sema_runtime.support.home import in_home

    path = in_home("approvals", "private-key")
    if not os.path.exists(path):
        try:
            make_folders(os.path.dirname(path))
            generate(path, in_home("approvals", "public-key"))
        except OSError as error:
            raise SemaError(f"{path}: {error.strerror}") from None
        except SemaError:
            if not os.path.exists(path):  # another process was not faster
                raise
    return read_private(path)


def public_of(key: Any) -> str:
    """The public key of a private one, base64."""
    return b64encode(key.public_key().public_bytes_raw()).decode()


def read_private(path: str) -> Any:
    """Raises SemaError for what is no private key; its message never holds what is in the file."""
    data = _decoded(path)
    _ed25519()
    from cryptography.hazmat.primitives.serialization import load_der_private_key

    try:
        key = load_der_private_key(data, None)
    except (ValueError, TypeError):
        key = None
    except Exception as error:  # an algorithm it doesn't know
        if type(error).__name__ != "UnsupportedAlgorithm":
            raise
        key = None
    if not isinstance(key, _ed25519().Ed25519PrivateKey):
        raise SemaError(f"{path} holds no Ed25519 private key (base64 of PKCS#8)", KEYGEN)
    return key


KEYGEN = "sema workflow approval-keygen --private-key-file A --public-key-file B makes a pair of keys"


def read_public(path: str) -> str:
    """A public key, base64. Raises SemaError for what is none."""
    data = _decoded(path)
    if len(data) != RAW:
        raise SemaError(f"{path} holds no Ed25519 public key (base64 of {RAW} bytes)", KEYGEN)
    return b64encode(data).decode()


def _decoded(path: str) -> bytes:
    """What a file holds in base64, b"" when that is nothing."""
    try:
        with open(os.open(path, os.O_RDONLY | O_NONBLOCK | O_CLOEXEC), "rb") as file:
            data = file.read(LARGEST + 1)
    except OSError as error:
        raise SemaError(f"{path}: {error.strerror}") from None
    try:
        return b64decode(data.strip(), validate=True) if len(data) <= LARGEST else b""
    except ValueError:
        return b""


def sign(key: Any, data: bytes) -> str:
    return b64encode(key.sign(data)).decode()


def is_signed(public: str, data: bytes, signature: str) -> bool:
    """Whether the signature of the data is that of the public key."""
    ed25519 = _ed25519()
    from cryptography.exceptions import InvalidSignature

    try:
        ed25519.Ed25519PublicKey.from_public_bytes(b64decode(public, validate=True)).verify(
            b64decode(signature, validate=True), data
        )
    except (InvalidSignature, ValueError):
        return False
    return True
