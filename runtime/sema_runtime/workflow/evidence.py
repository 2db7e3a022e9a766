"""The evidence of a run: one bundle that says what was done, with a manifest by which changes to it show."""

from __future__ import annotations

import json
import os
from collections import Counter
from hashlib import sha256

from sema_runtime.support.private_files import make_folders
from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.approvals import deciding
from sema_runtime.workflow.journal import files

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.read.recorded_run import Run

VERSION = 1
POLICY_EVENTS = ("policy.violation", "policy.flagged", "policy.redacted", "policy.bypassed")


def export(run: Run, folder: str) -> list[str]:
    """Writes the bundle into a folder, which is made; the paths of its files. Raises SemaError when it can't be written
    or what was approved can't be trusted."""
    evidence = collected(run)
    contents = {
        "evidence.json": (json.dumps(evidence, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace"),
        "evidence.md": page(evidence).encode("utf-8", "replace"),
    }
    manifest = {
        "schema_version": VERSION,
        "run_id": evidence["run_id"],
        "files": [
            {"path": name, "bytes": len(data), "sha256": sha256(data).hexdigest()} for name, data in contents.items()
        ],
    }
    contents["manifest.json"] = (json.dumps(manifest, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")
    path = folder
    try:
        make_folders(folder)
        for name, data in contents.items():
            path = os.path.join(folder, name)
            files.replace(folder, name, data, "evidence")
    except OSError as error:
        raise SemaError(f"{path}: {error.strerror or error}") from None
    return [os.path.join(folder, name) for name in contents]


def collected(run: Run) -> dict[str, Any]:
    """Everything, as JSON. Events: those of the first journal, then of each resumption in their order."""
    try:
        events = [event.data for event in run.events()]
    except OSError as error:
        raise SemaError(f"{run.folder}: {error.strerror or error}") from None
    counts = Counter(str(event.get("event")) for event in events)
    return {
        "schema_version": VERSION,
        "run_id": run.id,
        "status": run.status,
        "metadata": run.metadata,
        "result": run.result,
        "event_counts": dict(sorted(counts.items())),
        "events": events,
        "approvals": deciding.listed(run.folder),
    }


# For people


def page(evidence: dict[str, Any]) -> str:
    """The same as Markdown, without the texts of steps."""
    metadata = evidence["metadata"] or {}
    parts = [
        f"# Evidence of run {_plain(evidence['run_id'])}\n",
        f"- workflow: {_plain(metadata.get('workflow', 'unknown'))}",
        f"- what it does: {_plain(metadata.get('doc') or 'not said')}",
        f"- code version: {_plain(metadata.get('code_version') or 'unknown')}",
        f"- status: {_plain(evidence['status'])}\n",
        _table("Events", ("event", "count"), list(evidence["event_counts"].items())),
        _table("Approvals", ("id", "status", "reason", "by", "at"), list(map(_approval, evidence["approvals"]))),
    ]
    for name in POLICY_EVENTS:
        rows = [_policy(event) for event in evidence["events"] if event.get("event") == name]
        parts.append(_table(name, ("time", "policy", "boundary", "subject", "rule or reason", "source"), rows))
    return "\n".join(part for part in parts if part) + "\n"


def _approval(entry: dict[str, Any]) -> tuple[Any, ...]:
    request, decision = entry["request"], entry["decision"] or {}
    at = decision.get("decided_at", "")
    return request["approval_id"], entry["status"], request["reason"], decision.get("actor", ""), at


def _policy(event: dict[str, Any]) -> tuple[Any, ...]:
    about = [event.get(name) for name in ("ts", "policy", "boundary", "subject")]
    return *about, event.get("rule") or event.get("reason"), event.get("source")


def _table(title: str, header: tuple[str, ...], rows: list[Any]) -> str:
    if not rows:
        return ""
    lines = [header, ("---",) * len(header), *rows]
    return f"## {title}\n\n" + "\n".join(f"| {' | '.join(map(_plain, line))} |" for line in lines) + "\n"


def _plain(value: Any) -> str:
    """A text in one line that Markdown shows as it is."""
    text = " ".join(str("" if value is None else value).split())
    return "".join(f"\\{char}" if char in "|`*<>[]\\" and text != "---" else char for char in text)
