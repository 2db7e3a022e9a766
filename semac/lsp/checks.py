"""What `sema check` finds in open texts, and the types that the compiler infers, by processes that a keystroke ends."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
from typing import Any

from semac.lsp.documents import Document
from semac.lsp.text import Lines

PAUSE = 0.2  # seconds without a keystroke
LIMIT = 15.0  # seconds that a check may take
MEANT = re.compile(r"Did you mean '([^']+)'")
ERROR, WARNING = 1, 2

# -P: no module of the folder that is open stands in for one of ours
COMMAND = [sys.executable, "-P", "-m", "semac.lsp.checker"]


class Check:
    """One check of one version of a text, in a thread that waits for a process. done: gets the answer, if not ended."""

    def __init__(self, document: Document, done: Any, pause: float = PAUSE) -> None:
        self.path = document.path
        self.lines = document.lines
        self.done = done
        self.lock = threading.Lock()
        self.is_over = False
        self.process: subprocess.Popen[bytes] | None = None
        self.timer = threading.Timer(pause, self._run)
        self.timer.daemon = True
        self.timer.start()

    def end(self) -> None:
        """Stops the check; nothing comes of it."""
        self.timer.cancel()
        with self.lock:
            self.is_over = True
            if self.process is not None and self.process.poll() is None:
                self.process.kill()

    def _run(self) -> None:
        with self.lock:
            if self.is_over:
                return
            pipe = subprocess.PIPE
            command = [*COMMAND, self.path]
            self.process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL)
        answer = self._answer(self.process)
        with self.lock:
            if self.is_over:
                return
        self.done(self, *answer)

    def _answer(self, process: subprocess.Popen[bytes]) -> tuple[list[Any], dict[str, Any]]:
        """(diagnostics, types). A diagnostic says so when checking takes too long or fails."""
        text = "\n".join(self.lines.lines).encode("utf-8", "replace")
        with process:
            try:
                output, _ = process.communicate(text, LIMIT)
                answer = json.loads(output)
            except subprocess.TimeoutExpired:
                process.kill()
                return [whole(f"checking took more than {LIMIT:.0f} s and was stopped; does a macro loop?")], {}
            except (OSError, ValueError):
                return [whole(f"checking failed; run: sema check {os.path.basename(self.path)}")], {}
        return [diagnostic(self.lines, finding) for finding in answer["findings"]], answer["types"]


def whole(message: str) -> dict[str, Any]:
    """A warning about a text as a whole."""
    start = {"line": 0, "character": 0}
    return {"range": {"start": start, "end": start}, "message": message, "severity": WARNING, "source": "sema"}


def diagnostic(lines: Lines, finding: dict[str, Any]) -> dict[str, Any]:
    """A finding of `sema check` as the client has it."""
    span = tuple(finding[name] for name in ("line", "column", "end_line", "end_column"))
    notes = [f"{label}: {finding[label]}" for label in ("hint", "note") if finding[label]]
    meant = MEANT.search(finding["hint"] or "")
    fix = {"data": {"replace": meant[1]}} if meant and finding["code"] == "unbound" else {}
    return {
        "range": lines.range(span),
        "message": "\n".join([finding["message"], *notes]),
        "severity": WARNING if finding["severity"] == "warning" else ERROR,
        "code": finding["code"],
        "source": "sema",
        **fix,
    }


def fixes(uri: str, diagnostics: list[Any]) -> list[Any]:
    """The changes that hints propose."""
    actions = []
    for found in diagnostics:
        data = found.get("data")
        new = data.get("replace") if isinstance(data, dict) else None
        if isinstance(new, str):
            edit = {"changes": {uri: [{"range": found["range"], "newText": new}]}}
            action = {"title": f"Replace by '{new}'", "kind": "quickfix", "diagnostics": [found], "edit": edit}
            actions.append({**action, "isPreferred": True})
    return actions
