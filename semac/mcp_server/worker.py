"""The process in which `sema mcp` runs programs: one environment for all calls, and one for each notebook."""

from __future__ import annotations

import os
import sys
from typing import Any

from sema_runtime.mcp_server.arguments import called
from sema_runtime.mcp_server.exposed import described, exposed
from sema_runtime.mcp_server.worker import Operation, Operations, serve
from semac.session import Session

KEPT = 1000  # texts of evaluations, for errors in functions that they defined
Fields = dict[str, Any]


class Environment:
    """A session that lives on. texts: sources by file name, for messages."""

    def __init__(self, settings: Fields) -> None:
        self.session = Session(closed=False)
        self.texts: dict[str, str] = {}
        self.count = 0
        self.file = "<input>"  # what runs, for errors that have only a position
        self.enter(settings)
        if settings["notebook"] is not None:
            self.look_beside(settings["notebook"])
        for path in settings["files"]:
            self.load(path)

    def enter(self, settings: Fields) -> None:
        """Applies the sandbox, and prepares imports."""
        from semac.cli.common import OPTIONS, set_up
        from semac.cli.running import find_sema_modules
        from semac.imports.cache import sandboxed

        set_up({**dict.fromkeys(OPTIONS), **settings["options"]})  # the server has checked them
        if not sandboxed():
            sys.path.insert(0, "")
            find_sema_modules()
        sys.argv = ["sema"]

    def operations(self) -> Operations:
        named: dict[str, Operation] = {
            "call": self.call,
            "eval": self.eval,
            "run_file": self.run_file,
            "cell": self.cell,
            "describe": self.describe,
        }
        return Operations(named, frozenset(("eval", "run_file", "cell")), self.listing, self.explain)

    def tools(self) -> dict[str, Any]:
        return exposed(list(self.session.globals.values()))

    def listing(self) -> list[Fields]:
        return described(self.tools())

    def load(self, path: str) -> Any:
        """Runs a file in the session; its value."""
        from semac.cli.running import read_source
        from semac.sources import decode

        source = read_source(path, "file not found: {}")
        if source is None:
            raise SystemExit(1)
        self.look_beside(path)
        self.file = os.path.realpath(path)
        self.session.globals["__file__"] = path
        return self.session.run(decode(source, path), self.file, drain=False)

    def look_beside(self, path: str) -> None:
        """Modules in the folder of a file can be imported, but not in a sandbox."""
        from semac.imports.cache import sandboxed

        folder = os.path.dirname(os.path.realpath(path))
        if not sandboxed() and folder not in sys.path:
            sys.path.insert(0, folder)

    # Operations

    def call(self, question: Fields) -> Fields:
        tool = self.tools().get(question["tool"])
        if tool is None:
            raise LookupError(f"the program has no tool '{question['tool']}' any more")
        return called(tool, question["arguments"])

    def eval(self, question: Fields) -> Fields:
        return shown(self.evaluated(question["code"]))

    def evaluated(self, code: str) -> Any:
        self.count += 1
        self.file = f"<input {self.count}>"
        self.texts[self.file] = code
        if len(self.texts) > KEPT:
            del self.texts[next(iter(self.texts))]
        return self.session.run(code, self.file, drain=False)

    def run_file(self, question: Fields) -> Fields:
        before = sys.argv
        sys.argv = [question["path"], *question["arguments"]]
        try:
            return shown(self.load(question["path"]))
        finally:
            sys.argv = before

    def cell(self, question: Fields) -> Fields:
        from sema_runtime.values.printer import pretty

        value = self.evaluated(question["code"])
        return {"value": None if value is None else pretty(value)}

    def describe(self, question: Fields) -> Fields:
        """The documentation of a name that the program defines."""
        from semac.interact.documentation import describe_name

        name = question["name"]
        tool = self.tools().get(name)
        if tool is not None:
            from sema_runtime.values.printer import pretty

            return {"text": f"Tool: {name}\nDescription: {tool.description}\nParameters: {pretty(tool.parameters)}"}
        return {"text": describe_name(self.session, name)}

    def explain(self, error: BaseException) -> str:
        """An error as `sema` shows it: message, place, trace, hint."""
        from semac.diagnostics.render import render, restore_terminal

        restore_terminal()
        return render(error, self.file, self.texts).removeprefix("Error: ")


def shown(value: Any) -> Fields:
    from sema_runtime.values.printer import to_text

    return {"value": None if value is None else to_text(value)}


def main() -> None:
    """Runs the process."""
    sys.set_int_max_str_digits(0)
    serve(lambda settings: Environment(settings).operations())


if __name__ == "__main__":
    main()
