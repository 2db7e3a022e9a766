"""`%sema` and `%%sema` in IPython: Sema and Python share the variables of the notebook."""

from __future__ import annotations

from keyword import iskeyword
from types import FunctionType
from typing import Any

from IPython.core.formatters import MimeBundleFormatter, PlainTextFormatter

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from semac.jupyter.display import bundle, plain
from semac.session import Session

OURS = (List, Map, HashMap, Keyword, Symbol, Char)


class Bridge:
    """A session whose globals are the variables of an IPython shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.session = Session("<cell>", closed=False, namespace=shell.user_ns)
        self.texts: dict[str, str] = {}
        self.own: set[str] = set()

    def line(self, text: str) -> Any:
        """`%sema FORM`: its value."""
        return self.run(text)

    def cell(self, line: str, text: str) -> Any:
        """`%%sema`: the value of the last form of the cell."""
        return self.run(f"{line}\n{text}" if line.strip() else text)

    def run(self, text: str) -> Any:
        """Runs a text; an error is shown with the place in it."""
        self.know_variables()
        name = f"<input {len(self.texts) + 1}>"
        self.texts[name] = text
        try:
            return self.session.run(text, name)
        except Exception as error:
            self.show_as_sema(error, name)
            raise

    def know_variables(self) -> None:
        """Tells the session of the variables that Python has defined, also as `my-name` for `my_name`."""
        hidden, session = self.shell.user_ns_hidden, self.session
        for name, value in list(self.shell.user_ns.items()):
            if name.startswith("_") or name in hidden or iskeyword(name):
                continue
            for sema in {name, name.replace("_", "-")}:
                known = session.shared.python.get(sema)
                if known is None or known not in self.shell.user_ns:
                    session.shared.keep(sema, name)
                if session.shared.python[sema] == name:
                    session.names.add(sema)
            if not isinstance(value, FunctionType):
                session.python_names.add(name)

    def show_as_sema(self, error: Exception, name: str) -> None:
        """Has IPython show the error as `sema` does."""
        from semac.diagnostics.render import render

        lines = render(error, name, self.texts, colour=True).split("\n")
        error._render_traceback_ = lambda: lines  # type: ignore[attr-defined]


def load(shell: Any) -> None:
    """Registers the magics, and Sema's notation for its values."""
    bridge = Bridge(shell)
    shell.register_magic_function(bridge.line, "line", "sema")
    shell.register_magic_function(bridge.cell, "cell", "sema")
    display = shell.display_formatter
    display.mimebundle_formatter = SemaFormatter(parent=display)
    display.formatters["text/plain"] = SemaText(parent=display)


class SemaFormatter(MimeBundleFormatter):
    """Rich forms of Sema's own values. By `type`, because some of them are lists and dicts to `isinstance`."""

    def __call__(self, obj: Any, include: Any = None, exclude: Any = None) -> Any:
        """(data by MIME type, metadata)."""
        return (bundle(obj), {}) if type(obj) in OURS else super().__call__(obj, include, exclude)


class SemaText(PlainTextFormatter):
    """The notation of Sema's own values; IPython's own printers for lists and dicts would take them."""

    def __call__(self, obj: Any) -> Any:
        """The text."""
        return plain(obj) if type(obj) in OURS else super().__call__(obj)
