"""Notebooks of the reference, `.sema-nb`: reading, writing, and conversion from and to Jupyter's `.ipynb`."""

from __future__ import annotations

import json
import os
import secrets
from datetime import UTC, datetime
from typing import Any

from semac import __version__

VERSION = 1
JUPYTER_VERSION = 4  # of Jupyter's format
KERNEL = {"kernelspec": {"name": "sema", "display_name": "Sema", "language": "sema"}, "language_info": {"name": "sema"}}
STARTER = "; the last value of a cell is shown below it\n(+ 1 2)"


class NotebookError(Exception):
    """A file that is no notebook that we can read; its text says what to do."""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


def new_notebook(title: str) -> dict[str, Any]:
    """A notebook with one cell."""
    metadata = {"title": title, "created": now(), "modified": now(), "sema_version": __version__}
    return {"version": VERSION, "metadata": metadata, "cells": [new_cell("code", STARTER)]}


def new_cell(kind: str, source: str) -> dict[str, Any]:
    return {"id": f"c{secrets.token_hex(4)}", "type": kind, "source": source, "outputs": []}


def read_jupyter(path: str) -> dict[str, Any]:
    """An `.ipynb` file. Raises NotebookError and OSError."""
    return read_json(path, "nbformat", JUPYTER_VERSION)


def read_json(path: str, key: str, version: int) -> dict[str, Any]:
    """The notebook in a JSON file, whose key has the version of the format. Raises NotebookError and OSError."""
    with open(path, encoding="utf-8") as file:
        try:
            value = json.load(file)
        except (ValueError, RecursionError) as error:
            raise NotebookError(f"{path} is not JSON: {error}") from None
    if isinstance(value, dict) and key in value and value[key] != version:
        said = f"{path} has version {value[key]!r} of the format, this semac reads version {version}"
        raise NotebookError(said + ("; JupyterLab saves it as that" if key == "nbformat" else ""))
    if not isinstance(value, dict) or key not in value or not isinstance(value.get("cells"), list):
        raise NotebookError(f"{path} is not a notebook: it has no '{key}' or no list of cells")
    if not all(isinstance(cell, dict) for cell in value["cells"]):
        raise NotebookError(f"{path} is not a notebook: a cell is not an object")
    return value


def read_sema(path: str) -> dict[str, Any]:
    """A `.sema-nb` file. Fields that we don't know are kept. Raises NotebookError and OSError."""
    if path.endswith(".ipynb"):
        raise NotebookError(
            f"{path} is a notebook of Jupyter's: jupyter execute runs it, sema notebook convert reads it"
        )
    notebook = read_json(path, "version", VERSION)
    for number, cell in enumerate(notebook["cells"], 1):
        if cell.get("type") not in ("code", "markdown") or not isinstance(cell.get("source"), str):
            raise NotebookError(f"{path}: cell {number} has no type 'code' or 'markdown', or no source")
    return notebook


def write_json(path: str, value: dict[str, Any], replace: bool = True) -> None:
    """Writes a file as a whole or not at all. Raises FileExistsError unless it may replace one."""
    if not replace and os.path.lexists(path):
        raise FileExistsError(f"{path} exists already")
    from sema_runtime.support.replacing import Replacement

    with Replacement(path) as file:
        file.write((json.dumps(value, indent=1, ensure_ascii=False) + "\n").encode())


def title_of(notebook: dict[str, Any], path: str) -> str:
    metadata = notebook.get("metadata")
    title = metadata.get("title") if isinstance(metadata, dict) else None
    return str(title or os.path.splitext(os.path.basename(path))[0])


# Conversion


def to_jupyter(notebook: dict[str, Any]) -> dict[str, Any]:
    """The `.ipynb` of a notebook; what Jupyter has no place for stands in the metadata."""
    cells = []
    for cell in notebook["cells"]:
        common = {"id": cell["id"] if "id" in cell else f"c{secrets.token_hex(4)}", "source": cell["source"]}
        if cell["type"] == "markdown":
            cells.append({**common, "cell_type": "markdown", "metadata": {}})
        else:
            outputs = [_jupyter_output(output) for output in cell.get("outputs") or []]
            cells.append({**common, "cell_type": "code", "metadata": {}, "execution_count": None, "outputs": outputs})
    metadata = {**KERNEL, "sema": notebook.get("metadata", {})}
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": metadata, "cells": cells}


def _jupyter_output(output: dict[str, Any]) -> dict[str, Any]:
    shown = str(output.get("display", ""))
    if output.get("type") == "stdout":
        return {"output_type": "stream", "name": "stdout", "text": shown}
    if output.get("type") == "error":
        return {"output_type": "error", "ename": "Error", "evalue": shown, "traceback": shown.split("\n")}
    return {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": {"text/plain": shown}}


def from_jupyter(notebook: dict[str, Any], title: str) -> dict[str, Any]:
    """The `.sema-nb` of an `.ipynb`: raw cells become Markdown, of outputs the text stays."""
    metadata = notebook.get("metadata") if isinstance(notebook.get("metadata"), dict) else {}
    kept = metadata.get("sema") if isinstance(metadata, dict) else None
    made = new_notebook(title)
    made["metadata"].update(kept if isinstance(kept, dict) else {})
    made["metadata"]["modified"] = now()
    made["cells"] = []
    for cell in notebook["cells"]:
        source = _joined(cell.get("source", ""))
        new = new_cell("code" if cell.get("cell_type") == "code" else "markdown", source)
        new["outputs"] = [output for one in cell.get("outputs") or [] if (output := _sema_output(one)) is not None]
        if isinstance(cell.get("id"), str):
            new["id"] = cell["id"]
        made["cells"].append(new)
    return made


def _sema_output(output: dict[str, Any]) -> dict[str, Any] | None:
    kind = output.get("output_type")
    if kind == "stream":
        return {"type": "stdout", "display": _joined(output.get("text", "")), "timestamp": now()}
    if kind == "error":
        return {"type": "error", "display": str(output.get("evalue", "")), "timestamp": now()}
    text = output.get("data", {}).get("text/plain")
    return None if text is None else {"type": "value", "display": _joined(text), "timestamp": now()}


def _joined(text: Any) -> str:
    return "".join(map(str, text)) if isinstance(text, list) else str(text)


def to_markdown(notebook: dict[str, Any], title: str) -> str:
    """The notebook as Markdown: code in fences, followed by what it printed, gave and raised."""
    parts = [f"# {title}"]
    for number, cell in enumerate(notebook["cells"], 1):
        if cell["type"] == "markdown":
            parts.append(cell["source"])
            continue
        parts.append(fenced(cell["source"], "sema"))
        for output in cell.get("outputs") or []:
            label = {"stdout": "Stdout", "error": "Error"}.get(str(output.get("type")), "Out")
            parts.append(f"**{label} [{number}]:**\n\n{fenced(str(output.get('display', '')))}")
    return "\n\n".join(parts) + "\n"


def fenced(text: str, language: str = "") -> str:
    """A code block whose fence is longer than any in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"
