"""Control sequences of the terminal: written where the output of the program goes."""

from __future__ import annotations

import os
import sys

from sema_runtime.lib.language import output
from sema_runtime.support.terminal_state import Held, hold


def emit(sequence: str) -> None:
    """Writes a control sequence after the text printed so far."""
    if output.sink is not None:
        output.sink.append(sequence)
        return
    sys.stdout.write(sequence)
    sys.stdout.flush()


def hold_sequence(sequence: str) -> Held:
    """Like `hold`, with a control sequence that is written to the output."""
    data = sequence.encode()
    try:
        descriptor = sys.stdout.fileno()
    except (OSError, ValueError):
        descriptor = None
    if output.sink is not None or descriptor is None:
        return hold(lambda: emit(sequence))
    return hold(lambda: _write(descriptor, data))


def _write(descriptor: int, data: bytes) -> None:
    try:
        os.write(descriptor, data)
    except OSError:  # the terminal is closed
        return
