"""Commands of `sema` that the server runs in processes of their own: their macros and programs may do anything."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import anyio

from sema_runtime.systems import KILL

MOST = 1_000_000  # characters of each stream that are kept
CHUNK = 1 << 16


class Ended(NamedTuple):
    """status: None where the time was up."""

    status: int | None
    output: str
    errors: str


async def run_sema(
    words: list[str],
    seconds: float | None,
    on_line: Callable[[str], None] | None = None,
    environment: dict[str, str] | None = None,
    grace: float = 2.0,
) -> Ended:
    """Runs `sema WORDS`. on_line: gets lines of its errors as they come. grace: seconds in which it may end in order
    when the time is up or the waiting task is cancelled."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-P", "-m", "semac.cli.entry", *words,
        stdin=asyncio.subprocess.DEVNULL, stdout=-1, stderr=-1, start_new_session=True,
        env={**os.environ, **(environment or {})},
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stderr is not None
    output, errors = _Text(None), _Text(on_line)
    work = asyncio.gather(output.read(process.stdout), errors.read(process.stderr), process.wait())
    status: int | None = None
    try:
        await asyncio.wait_for(asyncio.shield(work), seconds)
        status = process.returncode
    except TimeoutError:
        pass
    finally:
        with anyio.CancelScope(shield=True):
            await _end(process, work, grace)
    return Ended(status, output.text(), errors.text())


async def _end(process: asyncio.subprocess.Process, work: asyncio.Future[Any], grace: float) -> None:
    """Ends a process and what it has started."""
    for number in (signal.SIGTERM, KILL):
        if not work.done():
            _signal(process.pid, number)
            await asyncio.wait([work], timeout=grace)
    _signal(process.pid, KILL)  # what it has left behind
    work.cancel()
    with suppress(asyncio.CancelledError):
        await work


def _signal(process: int, number: int) -> None:
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process, number) if hasattr(os, "killpg") else os.kill(process, number)


class _Text:
    """What comes from a pipe."""

    def __init__(self, on_line: Callable[[str], None] | None) -> None:
        self.on_line = on_line
        self.parts: list[str] = []
        self.size = 0

    async def read(self, pipe: asyncio.StreamReader) -> None:
        from codecs import getincrementaldecoder

        decode = getincrementaldecoder("utf-8")("replace").decode
        while data := await pipe.read(CHUNK):
            text = decode(data)
            if self.size < MOST:
                self.parts.append(text)
            self.size += len(text)
            if self.on_line is not None:
                self.on_line(text)

    def text(self) -> str:
        text = "".join(self.parts)
        return text if self.size <= MOST else f"{text[:MOST]}\n… {self.size - MOST} more characters"
