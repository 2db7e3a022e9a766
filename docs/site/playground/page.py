"""What the playground's worker calls, in Pyodide: runs, compiles, checks and formats the text of the editor.

Functions return what JSON can hold. `send(kind, text)` of the worker receives what a program writes.
"""

from __future__ import annotations

import gc
import importlib
import io
import os
import random
import subprocess
import sys
import threading
import zipimport
from collections.abc import Callable
from contextlib import suppress
from importlib.abc import MetaPathFinder
from typing import Any

import greenlet

from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.describe import describe
from sema_runtime.llm import providers
from sema_runtime.tasks import scheduler
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac import __version__
from semac.checks.program import check_text
from semac.diagnostics.render import render
from semac.dumps import Dumps
from semac.format.document import format_text
from semac.interact.completion import complete
from semac.interact.documentation import describe_name
from semac.interact.forms import incomplete
from semac.pipeline import compile_source
from semac.session import Session

FILE = "main.sema"
FOLDER = "/home/program"
DEPTH = 4_000  # Python frames: of 6,000 the stack of a worker overflows when a trace is freed
MOST_OUTPUT = 300_000  # characters of one run
MOST_VALUE = 20_000  # characters of a value
MOST_COMPLETIONS = 200
INSTALL = "it works where Sema is installed"
NO_PROGRAMS = "a page can't start programs"
NO_SOCKETS = "a page has no sockets"
REFUSED = {
    "box/": "the box is not part of the playground",
    "git/": NO_PROGRAMS,
    "http/": NO_SOCKETS,
    "proc/": NO_PROGRAMS,
    "pty/": NO_PROGRAMS,
    "serial/": "a page has no serial ports",
    "shell": NO_PROGRAMS,
    "ws/": NO_SOCKETS,
}
ABSENT = {
    "httpx": f"{NO_SOCKETS} for httpx",
    "pydantic": "pydantic is not part of the playground",
    "sema_runtime.box": "the box is not part of the playground",
    "sema_runtime.web": "a page can't be a server",
    "sema_runtime.workflow.viewer": "the viewer is not part of the playground",
}
NO_TASKS = "tasks, channels and calls of models don't run in this browser"
NO_TASKS_HINT = (
    "they switch stacks of WebAssembly (JSPI), which this browser can't: Chrome and Edge can, from version 137 on"
)
REPLY = "(No model can be reached from this page. Its stand-in was asked: {})"
WARM = """
(define (total prices) (foldl + 0 (filter (fn (price) (> price 1)) prices)))
(defmacro twice (form) `(begin ,form ,form))
(match [1 {:a 2}] ([x {:keys [a]}] (+ x a)))
(try (throw {:code 1}) (catch e (:message e)))
(println (total '(1 2 3)) f"${(string/upper "a")}" (map (fn (x) (* x x)) [1 2]))
(twice (json/encode {:a [1 2.5]}))
"""


class Page:
    """The state between two messages: the session of the last run, the texts that it ran, who receives output."""

    def __init__(self) -> None:
        self.send: Callable[[str, str], None] = lambda kind, text: None
        self.session = Session(FILE, closed=False)
        self.texts: dict[str, str] = {}
        self.entries = 0
        self.written = 0
        self.asked = 0


page = Page()


class Output(io.TextIOBase):
    """A stream to the page. What exceeds MOST_OUTPUT in a run is dropped, and a line says so."""

    def __init__(self, kind: str) -> None:
        self.kind = kind

    def writable(self) -> bool:
        return True

    def write(self, text: str) -> int:
        room = MOST_OUTPUT - page.written
        page.written += len(text)
        if room > 0:
            page.send(self.kind, text[:room])
            if len(text) >= room:
                page.send("note", f"\n... the output was cut after {MOST_OUTPUT:,} characters\n")
        return len(text)

    def flush(self) -> None:
        page.send("flush", "")


class Absences(MetaPathFinder):
    """Refuses the imports of what the playground leaves out, in words that say so."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> None:
        for package, reason in ABSENT.items():
            if name == package or name.startswith(package + "."):
                raise ImportError(f"{reason}: {INSTALL}")


def start(send: Callable[[str, str], None], tasks: bool) -> dict[str, Any]:
    """Connects the page. tasks: whether stacks can be switched. Returns what the page shows of us."""
    page.send = send
    sys.stdout, sys.stderr = Output("out"), Output("err")
    sys.path_importer_cache.clear()  # the memory was saved where other files were
    zipimport._zip_directory_cache.clear()  # type: ignore[attr-defined]
    sys.setrecursionlimit(DEPTH)
    random.seed()
    os.chdir(FOLDER)
    if not tasks:
        greenlet._switch_to = refuse_tasks
    return {"version": __version__, "python": sys.version.split()[0]}


def refuse(reason: str) -> Callable[..., Any]:
    """A function that a page can't have: it raises."""

    def refused(*_: Any, **__: Any) -> Any:
        raise SemaError(reason, INSTALL)

    return refused


def refuse_tasks(*_: Any, **__: Any) -> None:
    scheduler._per_thread.scheduler = None  # the next program finds none in the middle of a switch
    raise SemaError(NO_TASKS, NO_TASKS_HINT)


# Running


def run(text: str, typed: str) -> dict[str, Any]:
    """Runs a program in a fresh session. typed: what (read-line) reads. Returns its value or its error."""
    page.session = Session(FILE, closed=False)
    page.texts.clear()
    page.entries = 0
    scheduler._per_thread.scheduler = None
    without_models()
    sys.stdin = io.StringIO(typed)
    return evaluate(text, FILE)


def enter(text: str) -> dict[str, Any]:
    """Evaluates one entry of the prompt in the session of the last run."""
    if incomplete(text):
        return {"incomplete": True}
    page.entries += 1
    return evaluate(text, f"<input {page.entries}>")


def evaluate(text: str, name: str) -> dict[str, Any]:
    page.texts[name] = text
    page.written = page.asked = 0
    try:
        value = page.session.run(text, name)
        result: dict[str, Any] = {"value": None if value is None else shown(value)}
    except SystemExit as ended:
        result = {"exit": ended.code if isinstance(ended.code, int) else 0}
    except BaseException as error:
        result = problem(error, name)
    sys.stdout.flush()
    if page.asked:
        result["note"] = f"A scripted stand-in played the model ({page.asked} calls): this page can reach none."
    return result


def shown(value: Any) -> str:
    """A value as the REPL prints it, cut where it is long."""
    text = to_text(value)
    return text if len(text) <= MOST_VALUE else f"{text[:MOST_VALUE]} … ({len(text):,} characters)"


def problem(error: BaseException, name: str) -> dict[str, Any]:
    """An error as `sema` prints it, and the place in the program that the editor marks."""
    described = describe(error)
    places = [(frame.line, frame.col or 1) for frame in described.frames if frame.line and frame.file == FILE]
    if described.place and name == FILE:
        places.insert(0, described.place)
    return {
        "error": render(error, name, page.texts),
        "message": described.message,
        "hint": described.hint,
        "place": list(places[0]) if places else None,
    }


# The editor


def emit(text: str, fast: bool) -> dict[str, Any]:
    """The Python that the program becomes: as `sema compile` writes it, or with --fast."""
    dumps = Dumps("py")
    try:
        unit = compile_source(text, FILE, "module", is_text=not fast, watch=dumps.watch)
        unit.text = text
        return {"python": dumps.of(unit)}
    except BaseException as error:
        page.texts[FILE] = text
        return problem(error, FILE)


def check(text: str) -> list[dict[str, Any]]:
    """What `sema check` finds."""
    return [finding.as_json() for finding in check_text(text, FILE)]


def formatted(text: str) -> dict[str, Any]:
    """The text as `sema fmt` lays it out."""
    try:
        return {"text": format_text(text)}
    except Exception as error:
        page.texts[FILE] = text
        return problem(error, FILE)


def completions(text: str, cursor: int) -> dict[str, Any]:
    """What completes the name at an offset of the text."""
    start, names = complete(page.session, text, cursor)
    return {"from": start, "options": [{"label": name.text, "kind": name.kind} for name in names[:MOST_COMPLETIONS]]}


def documentation(name: str) -> str | None:
    """The documentation of a name."""
    return describe_name(page.session, name)


# Models: none can be reached. A stand-in is the provider of programs that define none of their own.


def stand_in(request: Any) -> str:
    """The reply of the stand-in: it says that it is none of a model, and what was asked."""
    page.asked += 1
    messages = list(request.get(keyword("messages")))
    asked = str(messages[-1].get(keyword("content"))) if messages else ""
    return REPLY.format(asked if len(asked) <= 80 else asked[:80] + " …")


def without_models() -> None:
    """Forgets the providers of the last program; the stand-in is the default."""
    providers.reset()
    provider = providers.Provider("stand-in", "sema", default_model="stand-in", function=stand_in)
    providers.registry().define(provider, None, None)


# The memory that the page starts from


def warm() -> None:
    """Imports what programs use and runs one, before the memory is saved."""
    os.environ["SEMA_NO_LLM"] = "1"
    threading.Thread.start = refuse("a page has no threads")  # type: ignore[method-assign]
    subprocess.Popen.__init__ = refuse("a page can't start programs")  # type: ignore[method-assign]
    sys.meta_path.insert(0, Absences())
    for module in sorted({entry[0] for entry in INDEX.values()}):
        with suppress(ImportError, SemaError):  # which a program that uses it will see
            importlib.import_module(f"sema_runtime.{module}")
    for name, entry in INDEX.items():
        home = sys.modules.get(f"sema_runtime.{entry[0]}")
        reason = next((reason for prefix, reason in REFUSED.items() if name.startswith(prefix)), None)
        if reason is not None and home is not None and entry[5]:  # what needs no capability works anywhere
            setattr(home, entry[1], refuse(f"{name}: {reason}"))
    emit(WARM, False)
    emit(WARM, True)
    check(WARM)
    formatted(WARM)
    completions("(str", 4)
    run(WARM, "")
    page.session = Session(FILE, closed=False)
    gc.collect()
