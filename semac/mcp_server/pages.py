"""Resources: the guide, the documentation, the runs of workflows."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import Any
from urllib.parse import quote, unquote

from mcp.types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from sema_runtime import capabilities
from sema_runtime.mcp_server.server import NotHere

GUIDE, INDEX = "sema://guide", "sema://docs"
ENTRY, MODULE, RUN, JOURNAL = "sema://docs/", "sema://docs/module/", "sema://runs/", "/journal"
MARKDOWN, TEXT, JSON, LINES = "text/markdown", "text/plain", "application/json", "application/jsonl"
MOST_RUNS = 50
MOST_BYTES = 4 << 20  # of a journal


class SemaPages:
    """What clients can read. Runs are those of this directory."""

    def listed(self) -> list[Resource]:
        pages = [
            Resource(uri=GUIDE, name="guide", title="Sema on one page", mime_type=MARKDOWN,
                     description="The language for people and coding agents: read it before you write Sema."),
            Resource(uri=INDEX, name="docs", title="Modules of the library", mime_type=MARKDOWN,
                     description="All modules with the names in them."),
        ]  # fmt: skip
        for row in _runs()[:MOST_RUNS]:
            title = f"{row['workflow'] or 'workflow'}: {row['status']}, {row['started_ts'] or ''}"
            pages.append(Resource(uri=RUN + quote(row["run_id"]), name=row["run_id"], title=title, mime_type=JSON))
        return pages

    def templates(self) -> list[ResourceTemplate]:
        return [
            ResourceTemplate(uri_template=ENTRY + "{+name}", name="entry", title="Documentation of a name",
                             mime_type=MARKDOWN, description="A builtin, special form or macro, such as string/split."),
            ResourceTemplate(uri_template=MODULE + "{module}", name="module", title="Documentation of a module",
                             mime_type=MARKDOWN, description="All entries of a module, such as lists."),
            ResourceTemplate(uri_template=RUN + "{run}", name="run", title="A run of a workflow",
                             mime_type=JSON, description="Phases, agents, checkpoints, sums, result."),
            ResourceTemplate(uri_template=RUN + "{run}" + JOURNAL, name="journal", title="The journal of a run",
                             mime_type=LINES, description="All events, a JSON object a line."),
        ]  # fmt: skip

    def completions(self, argument: str, typed: str) -> Iterable[str]:
        from semac.docs.entries import all_entries

        if argument == "name":
            values: Iterable[str] = all_entries()
        elif argument == "module":
            values = sorted(_modules())
        else:
            values = [row["run_id"] for row in _runs()] if argument == "run" else []
        return [value for value in values if value.startswith(typed)]

    def read(self, uri: str) -> ReadResourceResult:
        """Raises NotHere."""
        text, kind = _page(uri)
        return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=kind, text=text)])


def _page(uri: str) -> tuple[str, str]:
    """Text and MIME type."""
    if uri == GUIDE:
        from semac.docs.lookup import guide

        return guide(), MARKDOWN
    if uri == INDEX:
        lines = [f"## {module}\n\n{', '.join(f'`{name}`' for name in names)}" for module, names in _modules().items()]
        return "# Modules\n\n" + "\n\n".join(lines), MARKDOWN
    if uri.startswith(MODULE):
        return _module_page(unquote(uri.removeprefix(MODULE))), MARKDOWN
    if uri.startswith(ENTRY):
        return _entry_page(unquote(uri.removeprefix(ENTRY))), MARKDOWN
    if uri.startswith(RUN):
        return _run_page(unquote(uri.removeprefix(RUN)))
    raise NotHere(f"there is no resource {uri}; {GUIDE}, {INDEX} and {RUN}ID exist")


def _modules() -> dict[str, list[str]]:
    from semac.docs.entries import all_entries

    modules: dict[str, list[str]] = {}
    for name, entry in all_entries().items():
        modules.setdefault(entry.module, []).append(name)
    return dict(sorted(modules.items()))


def _entry_page(name: str) -> str:
    from semac.docs.entries import lookup
    from semac.docs.lookup import related

    entry = lookup(name)
    if entry is None:
        raise NotHere(f"there is no documentation of {name}; related: {', '.join(related(name)) or 'nothing'}")
    return entry.text()


def _module_page(module: str) -> str:
    from semac.docs.entries import all_entries

    entries = [entry for entry in all_entries().values() if entry.module == module and not entry.alias_of]
    if not entries:
        raise NotHere(f"there is no module {module}; {INDEX} lists them")
    return f"# {module}\n\n" + "\n\n".join(f"## {entry.text()}" for entry in entries)


# Runs


def _runs() -> list[dict[str, Any]]:
    """The rows of `sema workflow list`, none where they can't be read."""
    import sqlite3

    from semac.cli.workflow.list import root_of, rows, unreadable

    if "fs-read" in capabilities.denied:
        return []
    root = root_of(None)
    try:
        capabilities.check_path("resources/list", root)
        return [] if unreadable(root) else rows(root)
    except (OSError, sqlite3.Error, capabilities.PathDenied):
        return []


def _run_page(name: str) -> tuple[str, str]:
    from semac.cli.workflow.list import Problem, opened, root_of
    from semac.cli.workflow.show import run_as_json

    run_id, journal = name.removesuffix(JOURNAL), name.endswith(JOURNAL)
    root = root_of(None)
    capabilities.require("resources/read", "fs-read")
    capabilities.check_path("resources/read", root)
    if not run_id or os.sep in run_id or run_id.startswith("."):
        raise NotHere(f"there is no run {run_id!r}; resources/list has the latest")
    try:
        run = opened(root, run_id, read=not journal)
        if not journal:
            return json.dumps(run_as_json(run), indent=1, ensure_ascii=False), JSON
        lines: list[str] = []
        size = 0
        for event in run.events():
            lines.append(json.dumps(event.data, ensure_ascii=False))
            size += len(lines[-1])
            if size > MOST_BYTES:
                lines.append(json.dumps({"cut": f"the journal has more than {MOST_BYTES} bytes"}))
                break
        return "\n".join(lines), LINES
    except (Problem, OSError, ValueError) as error:
        raise NotHere(f"run {run_id}: {error}") from None
