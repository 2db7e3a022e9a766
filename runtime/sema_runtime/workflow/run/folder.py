"""The files of a run beside its journal: metadata.json, origin.json, result.json."""

from __future__ import annotations

import os
from contextlib import suppress

from sema_runtime.workflow.journal import files
from sema_runtime.workflow.journal.values import pretty_json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet
    from typing import Any

    from sema_runtime.workflow.journal.origin import Origin

METADATA, RESULT, ORIGIN = "metadata", "result", "origin"


class RunFolder:
    """path: of the run's directory. unwritten: names of files that could not be written, and why: the run continues
    without them."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.unwritten: dict[str, str] = {}
        self.process = os.getpid()

    def write_metadata(self, metadata: Any) -> None:
        self._write(METADATA, pretty_json(metadata))

    def write_result(self, envelope: Any) -> None:
        self._write(RESULT, pretty_json(envelope))

    def write_origin(self, origin: Origin | None, kept: AbstractSet[str] | None = None) -> None:
        """kept: content keys of the results that a fork took; None while it runs."""
        if origin is not None:
            self._write(ORIGIN, origin.text(kept))

    def _write(self, name: str, text: str) -> None:
        """Replaces a file; in a process that was forked from the one of the run it does nothing."""
        if os.getpid() != self.process:
            return
        file = f"{name}.json"
        try:
            files.replace(self.path, file, f"{text}\n".encode("utf-8", "replace"), name)
            self.unwritten.pop(file, None)
        except OSError as error:
            self.unwritten[file] = error.strerror or str(error)

    def remove(self) -> None:
        """Removes the directory of a run that doesn't start, unless it holds other files."""
        with suppress(OSError):
            with suppress(FileNotFoundError):
                os.remove(os.path.join(self.path, f"{METADATA}.json"))
            os.rmdir(self.path)
