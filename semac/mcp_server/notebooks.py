"""The tools of notebooks (`.sema-nb`). Each has an environment, in a process that lives on between calls."""

from __future__ import annotations

import asyncio
import json
import os
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import anyio

from sema_runtime.mcp_server.program import Outcome, Program
from sema_runtime.mcp_server.program_tools import reason, seconds_of
from sema_runtime.mcp_server.server import Offered, Progress, Reply
from semac.jupyter import sema_nb
from semac.jupyter.sema_nb import NotebookError
from semac.mcp_server.tools import LONG_PATH, Arguments, may_use, text_parameter, tool

MOST_OPEN = 8  # processes
KINDS = {"type": "string", "enum": ["code", "markdown"], "description": "What the cell holds."}
FORMATS = {"type": "string", "enum": ["markdown", "source"], "description": "markdown, or the code of all cells."}
Notebook = dict[str, Any]


class Open:
    """A notebook in use. lock: held while a call changes its file or evaluates cells."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.lock = asyncio.Lock()


class NotebookTools:
    def __init__(self, make_program: Callable[[str], Program], timeout_ms: int) -> None:
        """make_program: a process for the notebook in a file, not started yet."""
        self.make_program = make_program
        self.timeout_ms = timeout_ms
        self.opened: OrderedDict[str, Open] = OrderedDict()

    async def close(self) -> None:
        await asyncio.gather(*(entry.program.close() for entry in self.opened.values()))

    def offered(self) -> list[Offered]:
        path = text_parameter(f"The .sema-nb file, {LONG_PATH}.")
        cell = text_parameter("The id of the cell.")
        source = text_parameter("The code or Markdown of the cell.")
        return [
            tool("notebook/new", "New notebook", "Create an empty notebook.",
                 {"path": path, "title": text_parameter("Its title. [Untitled]"),
                  "overwrite": {"type": "boolean", "description": "Replace a file that is there. [false]"}},
                 "path", self.new),
            tool("notebook/read", "Read a notebook", "Cells of a notebook with ids, sources and outputs, as JSON.",
                 {"path": path}, "path", self.read, reads_only=True),
            tool("notebook/add_cell", "Add a cell", "Add a cell at the end, or after another one; gives its id.",
                 {"path": path, "type": KINDS, "source": source,
                  "after_id": text_parameter("The cell to add it after. [the last one]")},
                 "path type source", self.add_cell),
            tool("notebook/update_cell", "Change a cell", "Change the source or type of a cell; remove its outputs.",
                 {"path": path, "id": cell, "source": source, "type": KINDS}, "path id", self.update_cell),
            tool("notebook/delete_cell", "Delete a cell", "Remove a cell.",
                 {"path": path, "id": cell}, "path id", self.delete_cell),
            tool("notebook/eval_cell", "Run a cell", "Evaluate a code cell in the notebook's environment.",
                 {"path": path, "id": cell}, "path id", self.eval_cell),
            tool("notebook/eval_all", "Run all cells", "Evaluate all code cells in order; keep the outputs.",
                 {"path": path}, "path", self.eval_all),
            tool("notebook/export", "Export a notebook", "The notebook as Markdown, or its code as a Sema program.",
                 {"path": path, "format": FORMATS,
                  "output_path": text_parameter("The file to write; without one the text is returned.")},
                 "path format", self.export),
        ]  # fmt: skip

    # Files

    async def new(self, arguments: Arguments, _: Progress) -> Reply:
        path = may_use("notebook/new", arguments["path"], "fs-read", "fs-write")
        made = sema_nb.new_notebook(arguments.get("title") or "Untitled")
        made["cells"] = []
        try:
            sema_nb.write_json(path, made, replace=bool(arguments.get("overwrite")))
        except FileExistsError:
            return Reply(f"Notebook already exists at {path}; pass overwrite=true to replace it", True)
        entry = self.opened.pop(os.path.realpath(path), None)
        if entry is not None:  # the environment was that of another notebook
            await entry.program.close()
        return Reply(f"Created new empty notebook at {path}")

    async def read(self, arguments: Arguments, _: Progress) -> Reply:
        return self.reading("notebook/read", arguments, lambda book: json.dumps(book, indent=1, ensure_ascii=False))

    def reading(self, name: str, arguments: Arguments, show: Callable[[Notebook], str]) -> Reply:
        path = may_use(name, arguments["path"], "fs-read")
        try:
            return Reply(show(sema_nb.read_sema(path)))
        except (NotebookError, OSError) as error:
            return Reply(f"Failed to read notebook: {problem(error)}", True)

    async def changing(self, name: str, arguments: Arguments, change: Callable[[Notebook], str]) -> Reply:
        """Reads a notebook, changes it and writes it. change: raises LookupError for a cell that isn't there."""
        path = may_use(name, arguments["path"], "fs-read", "fs-write")
        entry = await self.entry(path)
        async with entry.lock:
            try:
                book = sema_nb.read_sema(path)
                text = change(book)
                save(path, book)
            except (NotebookError, OSError, LookupError) as error:
                return Reply(f"Failed to change notebook: {problem(error)}", True)
        return Reply(text)

    async def add_cell(self, arguments: Arguments, _: Progress) -> Reply:
        def add(book: Notebook) -> str:
            cell = sema_nb.new_cell(arguments["type"], arguments["source"])
            after = arguments.get("after_id")
            at = len(book["cells"]) if after is None else index_of(book, after) + 1
            book["cells"].insert(at, cell)
            return json.dumps({"cell_id": cell["id"]})

        return await self.changing("notebook/add_cell", arguments, add)

    async def update_cell(self, arguments: Arguments, _: Progress) -> Reply:
        def update(book: Notebook) -> str:
            at = index_of(book, arguments["id"])
            cell = book["cells"][at]
            cell["source"] = arguments["source"] if arguments.get("source") is not None else cell["source"]
            cell["type"] = arguments.get("type") or cell["type"]
            cell["outputs"], cell["stale"] = [], False
            mark_stale(book, at)
            return "Cell updated successfully."

        return await self.changing("notebook/update_cell", arguments, update)

    async def delete_cell(self, arguments: Arguments, _: Progress) -> Reply:
        def delete(book: Notebook) -> str:
            del book["cells"][index_of(book, arguments["id"])]
            return "Cell deleted successfully."

        return await self.changing("notebook/delete_cell", arguments, delete)

    async def export(self, arguments: Arguments, _: Progress) -> Reply:
        def text(book: Notebook) -> str:
            if arguments["format"] == "source":
                return "\n\n".join(cell["source"] for cell in book["cells"] if cell["type"] == "code")
            return sema_nb.to_markdown(book, sema_nb.title_of(book, arguments["path"]))

        reply = self.reading("notebook/export", arguments, text)
        target = arguments.get("output_path")
        if target is None or reply.is_error:
            return reply
        may_use("notebook/export", target, "fs-write")
        with open(target, "w", encoding="utf-8") as file:
            file.write(reply.text)
        return Reply(f"Notebook exported successfully to {target}")

    # Evaluation

    async def entry(self, path: str) -> Open:
        """The notebook of a file; of those that nobody uses, the one that was used least lately is closed."""
        key = os.path.realpath(path)
        entry = self.opened.pop(key, None) or Open(self.make_program(key))
        self.opened[key] = entry
        idle = [other for other in self.opened if other != key and not self.opened[other].lock.locked()]
        if len(self.opened) > MOST_OPEN and idle:
            await self.opened.pop(idle[0]).program.close()
        return entry

    async def eval_cell(self, arguments: Arguments, progress: Progress) -> Reply:
        path = may_use("notebook/eval_cell", arguments["path"], "fs-read", "fs-write")
        entry = await self.entry(path)
        async with entry.lock:
            try:
                cell = (book := sema_nb.read_sema(path))["cells"][index_of(book, arguments["id"])]
            except (NotebookError, OSError, LookupError) as error:
                return Reply(f"Failed to load notebook: {problem(error)}", True)
            if cell["type"] != "code":
                return Reply(f"Cell {cell['id']} holds Markdown, which is not evaluated", True)
            answer = await self.evaluate(entry.program, path, cell, progress)
        return Reply(json.dumps(answer, ensure_ascii=False), "error" in answer)

    async def eval_all(self, arguments: Arguments, progress: Progress) -> Reply:
        path = may_use("notebook/eval_all", arguments["path"], "fs-read", "fs-write")
        entry = await self.entry(path)
        answers = []
        async with entry.lock:
            try:
                cells = [cell for cell in sema_nb.read_sema(path)["cells"] if cell["type"] == "code"]
            except (NotebookError, OSError) as error:
                return Reply(f"Failed to load notebook: {problem(error)}", True)
            for number, cell in enumerate(cells, 1):
                quiet = Progress(None)
                answer = await self.evaluate(entry.program, path, cell, quiet)
                answers.append({"cell_id": cell["id"], "success": "error" not in answer, **answer})
                progress.step(number, len(cells), f"cell {number} of {len(cells)}: {cell['source'].strip()[:60]}")
        return Reply(json.dumps(answers, ensure_ascii=False), not all(answer["success"] for answer in answers))

    async def evaluate(self, program: Program, path: str, cell: Notebook, progress: Progress) -> Notebook:
        """Evaluates a cell and keeps its outputs in the file, which may have changed meanwhile."""
        started = anyio.current_time()
        outcome = await program.ask("cell", {"code": cell["source"]}, seconds_of(self.timeout_ms), progress.output)
        took = round((anyio.current_time() - started) * 1000)
        outputs = outputs_of(outcome, self.timeout_ms)
        book = sema_nb.read_sema(path)
        try:
            at = index_of(book, cell["id"])
        except LookupError:
            at = -1  # somebody has deleted it
        if at >= 0:
            stamp = {"timestamp": sema_nb.now(), "duration_ms": took}
            book["cells"][at]["outputs"] = [{**output, **stamp} for output in outputs]
            book["cells"][at]["stale"] = False
            mark_stale(book, at)
            save(path, book)
        shown = {"value": "display", "error": "error", "stdout": "stdout"}
        return {"stdout": "", "display": None} | {shown[output["type"]]: output["display"] for output in outputs}


def outputs_of(outcome: Outcome, timeout_ms: int) -> list[dict[str, Any]]:
    """The outputs of a cell: what it printed, then its value or its error."""
    outputs = [{"type": "stdout", "display": outcome.output}] if outcome.output else []
    if outcome.status == "ok":
        value = outcome.fields.get("value")
        return outputs if value is None else [*outputs, {"type": "value", "display": value}]
    if outcome.status == "exit" and not outcome.fields["status"]:
        return outputs
    return [*outputs, {"type": "error", "display": reason(outcome, timeout_ms)}]


def index_of(book: Notebook, cell_id: str) -> int:
    for at, cell in enumerate(book["cells"]):
        if cell.get("id") == cell_id:
            return at
    raise LookupError(f"Cell not found: {cell_id}")


def mark_stale(book: Notebook, at: int) -> None:
    """Marks the code cells behind a changed one that have outputs."""
    for cell in book["cells"][at + 1 :]:
        if cell["type"] == "code" and cell.get("outputs"):
            cell["stale"] = True


def save(path: str, book: Notebook) -> None:
    book.setdefault("metadata", {})["modified"] = sema_nb.now()
    sema_nb.write_json(path, book)


def problem(error: Exception) -> str:
    if isinstance(error, OSError):
        return f"{error.strerror or error}: {error.filename}"
    return str(error.args[0]) if error.args else str(error)
