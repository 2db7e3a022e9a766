"""Pictures for models: reading them, and their media types."""

from __future__ import annotations

import os

from sema_runtime.capabilities import require
from sema_runtime.llm.messages import Image
from sema_runtime.support.file_access import FAILURES, checked, opened_regular, reason
from sema_runtime.values.errors import IoError, SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LIMIT = 32 << 20  # bytes; no provider takes larger requests
UNKNOWN = "application/octet-stream"
MAGIC = (
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"%PDF", "application/pdf"),
)


def media_type_of(data: bytes) -> str:
    """Returns the media type that the first bytes show, "" for none that models read."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "image/webp"
    return next((kind for magic, kind in MAGIC if data.startswith(magic)), "")


def read_picture(function: str, source: Any) -> Image:
    """Returns the picture in a file or a bytevector. Raises IoError for a file that can't be read or is too large."""
    if isinstance(source, str):
        data = _contents(function, source)
    elif isinstance(source, bytes | bytearray):
        data = bytes(source)
    else:
        type_error("string path or bytevector", source)
    if len(data) > LIMIT:
        raise _too_large(SemaError, function, len(data))
    return Image(media_type_of(data), data)


def _contents(function: str, path: str) -> bytes:
    require(function, "fs-read")
    file_path = checked(function, path)
    try:
        with open(opened_regular(function, file_path), "rb", buffering=0) as file:
            size = os.fstat(file.fileno()).st_size
            data = b"" if size > LIMIT else file.read(LIMIT + 1)
    except FAILURES as error:
        raise IoError(f"{function}: {path}: {reason(error)}") from None
    if size > LIMIT:
        raise _too_large(IoError, f"{function}: {path}", size)
    return data or b""


def _too_large(kind: type[SemaError], where: str, size: int) -> SemaError:
    return kind(f"{where}: a picture of {size} bytes; models take at most {LIMIT}", "scale it down, or crop it")
