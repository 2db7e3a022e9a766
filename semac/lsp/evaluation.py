"""The lens Run: everything up to a form, run in a process of its own in a sandbox."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable
from typing import Any

from semac.lsp.documents import Document
from semac.lsp.outline import expressions
from semac.lsp.tree import Node

COMMAND = "sema.run"
LIMIT = 60  # seconds that a run may take
METHOD = "sema/evalResult"


def lenses(document: Document) -> list[Any]:
    """`▶ Run` on each top-level expression."""
    found = []
    for form in expressions(document):
        line, column, _, _ = form.span
        here = document.range(form.span)
        command = {"title": "▶ Run", "command": COMMAND, "arguments": [document.uri, here]}
        found.append({"range": document.range((line, column, line, column + 1)), "command": command})
    return found


def form_at(document: Document, chosen: Any) -> Node | None:
    """The top-level form in which a range begins."""
    place = document.place(chosen["start"])
    return next((form for form in document.forms() if form.start <= place <= form.end), None)


def run(document: Document, form: Node, done: Callable[[dict[str, Any]], None]) -> None:
    """Runs a text up to the end of a form, in a thread; done gets the result."""
    line, column = form.end
    lines = document.lines.lines[:line]
    text = "\n".join([*lines[:-1], lines[-1][: column - 1]])
    result = {"uri": document.uri, "range": document.range(form.span), "kind": "run"}

    def evaluate() -> None:
        done({**result, **_evaluated(text, document.path)})

    threading.Thread(target=evaluate, daemon=True).start()


def _evaluated(text: str, path: str) -> dict[str, Any]:
    command = [sys.executable, "-P", "-m", "semac.cli", "eval", "--stdin", "--json", "--sandbox", "strict", "--no-llm"]
    command += ["--path", path, "--timeout", str(LIMIT * 1000)]
    folder = os.path.dirname(path)
    try:
        done = subprocess.run(
            command,
            input=text.encode("utf-8", "replace"),
            capture_output=True,
            timeout=LIMIT + 10,
            cwd=folder if os.path.isdir(folder) else None,
        )
        answer = json.loads(done.stdout)
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        message = {"message": f"the form could not be run: {error}"}
        return {"ok": False, "stdout": "", "stderr": "", "error": message, "elapsedMs": 0}
    return {name: answer.get(name) for name in ("value", "stdout", "stderr", "ok", "error", "elapsedMs")}
