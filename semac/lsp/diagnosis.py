"""Findings of `sema check` for open texts: after a pause in typing, by a process that the next keystroke ends."""

from __future__ import annotations

import asyncio
import json
import os
import re
import sys
from contextlib import suppress
from typing import Any

from lsprotocol import types as lsp

from semac.lsp.documents import Document

PAUSE = 0.2  # seconds without a keystroke
LIMIT = 15.0  # seconds that a check may take
MEANT = re.compile(r"Did you mean '([^']+)'")


async def findings(document: Document) -> list[lsp.Diagnostic]:
    """The diagnostics of a text; one that says so when checking takes too long or fails."""
    # -P: no module of the folder that is open stands in for one of ours
    command = [sys.executable, "-P", "-m", "semac.lsp.checker", document.path]
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL)
    try:
        answer = process.communicate(document.text.encode("utf-8", "replace"))
        output, _ = await asyncio.wait_for(answer, LIMIT)
        return [_diagnostic(document, finding) for finding in json.loads(output)]
    except TimeoutError:
        return [_whole(document, f"checking took more than {LIMIT:.0f} s and was stopped; does a macro loop?")]
    except ValueError:
        return [_whole(document, f"checking failed; run: sema check {os.path.basename(document.path)}")]
    finally:
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.kill()
            await process.wait()


def _whole(document: Document, message: str) -> lsp.Diagnostic:
    return lsp.Diagnostic(document.range((1, 1, 1, 1)), message, lsp.DiagnosticSeverity.Warning, source="sema")


def _diagnostic(document: Document, finding: dict[str, Any]) -> lsp.Diagnostic:
    span = tuple(finding[name] for name in ("line", "column", "end_line", "end_column"))
    severity = lsp.DiagnosticSeverity.Warning if finding["severity"] == "warning" else lsp.DiagnosticSeverity.Error
    notes = [f"{label}: {finding[label]}" for label in ("hint", "note") if finding[label]]
    meant = MEANT.search(finding["hint"] or "")
    return lsp.Diagnostic(
        document.range(span),
        "\n".join([finding["message"], *notes]),
        severity,
        code=finding["code"],
        source="sema",
        data={"replace": meant[1]} if meant and finding["code"] == "unbound" else None,
    )


def fixes(uri: str, diagnostics: list[lsp.Diagnostic]) -> list[lsp.CodeAction]:
    """The changes that hints propose."""
    return [
        lsp.CodeAction(
            f"Replace by '{found.data['replace']}'",
            lsp.CodeActionKind.QuickFix,
            [found],
            edit=lsp.WorkspaceEdit({uri: [lsp.TextEdit(found.range, found.data["replace"])]}),
        )
        for found in diagnostics
        if isinstance(found.data, dict) and isinstance(found.data.get("replace"), str)
    ]
