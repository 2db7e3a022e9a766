"""The Jupyter kernel: `python -m semac.jupyter.kernel -f CONNECTION_FILE`, as `sema jupyter install` enters it."""

from __future__ import annotations

import os
import sys
from contextvars import copy_context
from typing import Any

from ipykernel.kernelbase import Kernel

from sema_runtime.conditions.describe import describe
from semac import __version__
from semac.interact.completion import complete
from semac.interact.documentation import describe_name
from semac.interact.forms import broken, function_at, incomplete, indentation, name_at
from semac.jupyter.display import bundle, open_figures
from semac.session import Session

HISTORY = 5000


class SemaKernel(Kernel):
    """One session of Sema. Cells run in the main thread, so that an interrupt reaches them."""

    implementation = "semac"
    implementation_version = __version__
    banner = f"Sema v{__version__} — A Lisp with LLM primitives"
    language_info = {  # noqa: RUF012
        "name": "sema",
        "version": __version__,
        "mimetype": "text/x-sema",
        "file_extension": ".sema",
        "pygments_lexer": "scheme",
        "codemirror_mode": "scheme",
    }
    help_links = [{"text": "Sema", "url": "https://pypi.org/project/semac/"}]  # noqa: RUF012

    def __init__(self, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.sema = Session("<cell>", closed=False)
        self.texts: dict[str, str] = {}
        self.sema.globals["__sema_texts__"] = self.texts
        self.inputs: list[tuple[int, int, str]] = []
        look_beside_notebook()

    async def do_execute(
        self,
        code: str,
        silent: bool,
        store_history: bool = True,
        user_expressions: dict[str, str] | None = None,
        allow_stdin: bool = False,
        **_: Any,
    ) -> dict[str, Any]:
        """Runs a cell and shows its value. The reply has status `error` where it raises."""
        if store_history and not silent:
            self.inputs.append((0, self.execution_count, code))
        self.connect_streams(allow_stdin)
        name = f"<input {self.execution_count}>"
        self.texts[name] = code
        payload: list[dict[str, Any]] = []
        try:
            value = self.sema.run(code, name)
            self.keep(value)
            if not silent:
                self.show(value)
            answers = {key: self.answer(text) for key, text in (user_expressions or {}).items()}
        except (KeyboardInterrupt, Exception) as error:
            return self.failure(error, name, silent)
        except SystemExit:
            answers, payload = {}, [{"source": "ask_exit", "keepkernel": False}]
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
        return {
            "status": "ok",
            "execution_count": self.execution_count,
            "payload": payload,
            "user_expressions": answers,
        }

    def connect_streams(self, allow_stdin: bool) -> None:
        """Has what the cell prints, and what it reads, go to the client that asked for it."""
        self._allow_stdin = allow_stdin
        parent = self.get_parent("shell")
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "set_parent"):
                stream.set_parent(parent)
        sys.stdin = Questions(self) if allow_stdin else open(os.devnull)  # noqa: SIM115

    def keep(self, value: Any) -> None:
        """Rotates the last values: `*1`, `*2`, `*3`."""
        for older, newer in (("*3", "*2"), ("*2", "*1")):
            self.sema.bind(older, self.sema.globals.get(self.sema.shared.global_name(newer)))
        self.sema.bind("*1", value)

    def show(self, value: Any) -> None:
        """Sends the value unless it is nil, and the figures that were drawn."""
        figures = open_figures()
        if value is not None:
            content = {"execution_count": self.execution_count, "data": bundle(value), "metadata": {}}
            self.send_response(self.iopub_socket, "execute_result", content)
        for figure in figures:
            if figure is not value:
                self.send_response(self.iopub_socket, "display_data", {"data": bundle(figure), "metadata": {}})

    def answer(self, text: str) -> dict[str, Any]:
        """The value of an expression that a client asks for beside the cell."""
        try:
            return {"status": "ok", "data": bundle(self.sema.run(text, "<expression>")), "metadata": {}}
        except Exception as error:
            return {"status": "error", **problem(error, "<expression>", {"<expression>": text})}

    def failure(self, error: BaseException, name: str, silent: bool) -> dict[str, Any]:
        """The reply for a cell that failed; the error is shown with its place and hint."""
        from semac.diagnostics.render import restore_terminal

        restore_terminal()
        content = problem(error, name, self.texts)
        self.sema.bind("*e", content["evalue"])
        if not silent:
            self.send_response(self.iopub_socket, "error", content)
        return {"status": "error", "execution_count": self.execution_count, **content}

    async def do_complete(self, code: str, cursor_pos: int) -> dict[str, Any]:
        """Names at the cursor."""
        start, found = complete(self.sema, code, cursor_pos)
        kinds = [{"start": start, "end": cursor_pos, "text": one.text, "type": one.kind} for one in found]
        return {
            "status": "ok",
            "matches": [one.text for one in found],
            "cursor_start": start,
            "cursor_end": cursor_pos,
            "metadata": {"_jupyter_types_experimental": kinds},
        }

    async def do_inspect(
        self, code: str, cursor_pos: int, detail_level: int = 0, omit_sections: tuple[str, ...] = ()
    ) -> dict[str, Any]:
        """The documentation of the name at the cursor, else of the function that is called around it."""
        for name in (name_at(code, cursor_pos)[1], function_at(code, cursor_pos)):
            text = describe_name(self.sema, name, source=detail_level > 0) if name else None
            if text is not None:
                return {"status": "ok", "found": True, "data": {"text/plain": text}, "metadata": {}}
        return {"status": "ok", "found": False, "data": {}, "metadata": {}}

    async def do_is_complete(self, code: str) -> dict[str, Any]:
        """Whether Enter runs the text."""
        if incomplete(code):
            return {"status": "incomplete", "indent": " " * indentation(code)}
        return {"status": "invalid" if broken(code) else "complete"}

    async def do_history(
        self,
        hist_access_type: str,
        output: bool,
        raw: bool,
        session: int | None = None,
        start: int | None = None,
        stop: int | None = None,
        n: int | None = None,
        pattern: str | None = None,
        unique: bool = False,
    ) -> dict[str, Any]:
        """The inputs of this session: a range, the last ones, or those that match a pattern of the shell."""
        from fnmatch import fnmatchcase

        found = self.inputs[-HISTORY:]
        if hist_access_type == "range":
            first, last = start or 0, len(self.inputs) + 1 if stop is None else stop
            found = [entry for entry in found if first <= entry[1] < last]
        elif hist_access_type == "search":
            found = [entry for entry in found if fnmatchcase(entry[2], pattern or "*")]
            if unique:
                found = list({entry[2]: entry for entry in found}.values())
        if hist_access_type != "range" and n:
            found = found[-n:]
        return {"status": "ok", "history": [(*entry[:2], (entry[2], None)) if output else entry for entry in found]}

    async def do_shutdown(self, restart: bool) -> dict[str, Any]:
        """Gives tasks that are left a moment."""
        return {"status": "ok", "restart": restart}


class Questions:
    """The standard input of a cell: each line is asked for in the notebook."""

    def __init__(self, kernel: SemaKernel) -> None:
        self.kernel = kernel
        self.context = copy_context()

    def isatty(self) -> bool:
        return False

    def readline(self) -> str:
        """One line; the context of the cell says which client to ask, whatever thread reads."""
        return f"{self.context.run(self.kernel.raw_input, '')}\n"


def problem(error: BaseException, name: str, texts: dict[str, str]) -> dict[str, Any]:
    """The fields of an error message: name, message, and the lines that `sema` shows for it."""
    if isinstance(error, KeyboardInterrupt):
        return {"ename": "KeyboardInterrupt", "evalue": "", "traceback": ["Interrupted"]}
    from semac.diagnostics.render import render

    lines = render(error, name, texts, colour=True).split("\n")
    return {"ename": type(error).__name__, "evalue": describe(error).message, "traceback": lines}


def look_beside_notebook() -> None:
    """Modules in the notebook's folder can be imported, as they can beside a program."""
    from semac.importer import install

    if "" not in sys.path:
        sys.path.insert(0, "")
    install()


def main() -> None:
    """Starts the kernel with the arguments of the command line."""
    from ipykernel.kernelapp import IPKernelApp

    os.environ.setdefault("MPLBACKEND", "agg")
    sys.set_int_max_str_digits(0)
    IPKernelApp.launch_instance(kernel_class=SemaKernel)


if __name__ == "__main__":
    main()
