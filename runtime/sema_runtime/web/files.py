"""Sending files: a thread reads them in pieces, so that large files and slow disks don't delay other requests."""

from __future__ import annotations

import asyncio
import os
import stat

from sema_runtime import capabilities
from sema_runtime.values.errors import PermissionDenied
from sema_runtime.web.asgi import send_parts
from sema_runtime.web.messages import text_response

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import IO, Any

    from sema_runtime.web.asgi import Send
    from sema_runtime.web.messages import Headers

PIECE = 1 << 18  # bytes read at a time


async def send_file(path: str, headers: Headers, send: Send) -> None:
    """Sends a file, or 404 if it can't be read."""
    try:
        file, size, piece = await asyncio.to_thread(_opened, path)
    except (OSError, ValueError, PermissionDenied):
        await send_parts(send, *text_response(404, "Not Found"))
        return
    with file:
        headers = [*headers, (b"content-length", b"%d" % size)]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        left = size - len(piece)
        await send({"type": "http.response.body", "body": piece, "more_body": left > 0})
        while left > 0:
            piece = await asyncio.to_thread(file.read, min(PIECE, left))
            if not piece:  # the file was truncated: its length is wrong now, so the connection is closed
                return
            left -= len(piece)
            await send({"type": "http.response.body", "body": piece, "more_body": left > 0})


def _opened(path: Any) -> tuple[IO[bytes], int, bytes]:
    """Opens a file; returns it with its size and first piece."""
    capabilities.require("http/file", "fs-read")
    capabilities.check_path("http/file", path)
    if not stat.S_ISREG(os.stat(path).st_mode):  # opening a pipe would wait for a writer
        raise FileNotFoundError(path)
    file = open(path, "rb")  # noqa: SIM115  # closed by the caller
    try:
        size = os.fstat(file.fileno()).st_size
        return file, size, file.read(min(PIECE, size))
    except BaseException:
        file.close()
        raise
