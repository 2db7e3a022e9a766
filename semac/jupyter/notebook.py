"""`sema notebook`: notebooks of the reference (`.sema-nb`) without their server, and Jupyter with them."""

from __future__ import annotations

import io
import os
import sys
from contextlib import redirect_stdout
from typing import Any

from sema_runtime.support.visible import at_terminal, tell
from semac.jupyter import sema_nb
from semac.jupyter.sema_nb import NotebookError

HELP = """\
Usage: sema notebook new FILE [-t TITLE]
       sema notebook run FILE [--cells 1,3]
       sema notebook export FILE [--format md] [-o OUT]
       sema notebook convert FILE [-o OUT] [--force]
       sema notebook serve [FILE] [--host HOST] [-p PORT]

  new      make a notebook with a first cell
  run      run the cells of a .sema-nb file, print and keep what they give
  export   write a notebook as Markdown
  convert  make an .ipynb of a .sema-nb file, or the other way round
  serve    open JupyterLab; a .sema-nb file is converted first

  Status: 0, 1 a cell failed or a file can't be read, 2 wrong usage.
"""
PORT = 8888


def main(args: list[str]) -> int:
    """Runs `sema notebook ...` and returns the exit status."""
    from argparse import ArgumentParser

    if not args or args[0] in ("--help", "-h") or "--help" in args:
        print(HELP, end="")
        return 0
    action = ACTIONS.get(args[0])
    if action is None:
        tell(f"Error: sema notebook has no command '{args[0]}'\n\n{HELP}")
        return 2
    parser = ArgumentParser(f"sema notebook {args[0]}", add_help=False)
    parser.add_argument("file", nargs="?" if args[0] == "serve" else None)
    for flags, keywords in OPTIONS[args[0]]:
        parser.add_argument(*flags, **keywords)
    try:
        return action(parser.parse_args(args[1:]))
    except (NotebookError, OSError) as error:
        tell(f"Error: {error}")
        return 1


def _new(options: Any) -> int:
    stem = os.path.splitext(os.path.basename(options.file))[0]
    sema_nb.write_json(options.file, sema_nb.new_notebook(options.title or stem), replace=False)
    print(f"Created notebook: {options.file}")
    return 0


def _run(options: Any) -> int:
    """Runs cells in one environment and saves what they give."""
    from semac.session import Session

    notebook = sema_nb.read_sema(options.file)
    count = len(notebook["cells"])
    wanted = _numbers(options.cells, count)
    sys.path.insert(0, os.path.dirname(os.path.abspath(options.file)))
    session = Session(options.file, closed=False)
    failed = False
    try:
        for number, cell in enumerate(notebook["cells"], 1):
            if cell["type"] == "code" and number in wanted:
                cell["outputs"] = run_cell(session, cell["source"], number)
                cell["stale"] = False
                for output in cell["outputs"]:
                    mark = "(stdout) " if output["type"] == "stdout" else ""
                    print(at_terminal(f"[{number}/{count}] {mark}{output['display']}"))
                    failed = failed or output["type"] == "error"
    finally:  # a cell may end the program, or Ctrl-C
        notebook.setdefault("metadata", {})["modified"] = sema_nb.now()
        sema_nb.write_json(options.file, notebook)
    return int(failed)


def run_cell(session: Any, source: str, number: int) -> list[dict[str, Any]]:
    """The outputs of a cell: what it printed, then its value or its error."""
    from time import perf_counter

    from sema_runtime.values.printer import pretty
    from semac.diagnostics.render import render

    printed = io.StringIO()
    name = f"<input {number}>"
    started = perf_counter()
    outcome: dict[str, Any] | None = None
    try:
        with redirect_stdout(printed):
            value = session.run(source, name)
        if value is not None:
            outcome = {"type": "value", "display": pretty(value)}
    except Exception as error:
        outcome = {"type": "error", "display": render(error, name, {name: source}).removeprefix("Error: ")}
    except (SystemExit, KeyboardInterrupt):
        sys.stdout.write(printed.getvalue())
        raise
    took = round((perf_counter() - started) * 1000)
    outputs = [{"type": "stdout", "display": printed.getvalue()}] if printed.getvalue() else []
    outputs += [outcome] if outcome else []
    return [{**output, "timestamp": sema_nb.now(), "duration_ms": took} for output in outputs]


def _numbers(text: str | None, count: int) -> set[int]:
    """The numbers in `1,3`; all where there is no text. Raises NotebookError."""
    if text is None:
        return set(range(1, count + 1))
    parts = text.split(",")
    if not all(part.strip().isdigit() and 1 <= int(part) <= count for part in parts):
        raise NotebookError(f"--cells {text}: the notebook has the cells 1 to {count}")
    return {int(part) for part in parts}


def _export(options: Any) -> int:
    if options.format not in ("md", "markdown"):
        raise NotebookError(f"unknown format '{options.format}': md or markdown")
    notebook = _as_sema(options.file)
    out = options.out or os.path.splitext(options.file)[0] + ".md"
    with open(out, "w", encoding="utf-8") as file:
        file.write(sema_nb.to_markdown(notebook, sema_nb.title_of(notebook, options.file)))
    tell(f"Exported to {out}")
    return 0


def _convert(options: Any) -> int:
    stem, suffix = os.path.splitext(options.file)
    if suffix == ".ipynb":
        made, out = _as_sema(options.file), options.out or f"{stem}.sema-nb"
    else:
        made, out = sema_nb.to_jupyter(sema_nb.read_sema(options.file)), options.out or f"{stem}.ipynb"
    try:
        sema_nb.write_json(out, made, replace=options.force)
    except FileExistsError as error:
        raise NotebookError(f"{error}; --force replaces it, -o writes another file") from None
    print(f"Wrote {out}")
    return 0


def _as_sema(path: str) -> dict[str, Any]:
    """A notebook of either format, as a `.sema-nb`."""
    if not path.endswith(".ipynb"):
        return sema_nb.read_sema(path)
    return sema_nb.from_jupyter(sema_nb.read_jupyter(path), os.path.splitext(os.path.basename(path))[0])


def _serve(options: Any) -> int:
    """Becomes JupyterLab."""
    from importlib.util import find_spec

    if find_spec("jupyterlab") is None:
        raise NotebookError("sema notebook serve needs JupyterLab\n  hint: pip install 'semac[jupyter]' jupyterlab")
    file = options.file
    if file is not None and not file.endswith(".ipynb"):
        target = os.path.splitext(file)[0] + ".ipynb"
        if not os.path.lexists(target):
            sema_nb.write_json(target, sema_nb.to_jupyter(sema_nb.read_sema(file)), replace=False)
        tell(f"Opening {target}; 'sema notebook convert {target} --force' writes {file} again")
        file = target
    from semac.jupyter.install import main as install

    status = install(["install"])
    if status:
        return status
    command = ["-m", "jupyterlab", f"--ip={options.host}", f"--port={options.port}", *([file] if file else [])]
    os.execv(sys.executable, [sys.executable, *command])


ACTIONS = {"new": _new, "run": _run, "export": _export, "convert": _convert, "serve": _serve}
OPTIONS: dict[str, list[tuple[tuple[str, ...], dict[str, Any]]]] = {
    "new": [(("-t", "--title"), {})],
    "run": [(("--cells",), {})],
    "export": [(("--format",), {"default": "md"}), (("-o", "--out"), {})],
    "convert": [(("-o", "--out"), {}), (("--force",), {"action": "store_true"})],
    "serve": [(("--host",), {"default": "127.0.0.1"}), (("-p", "--port"), {"type": int, "default": PORT})],
}
