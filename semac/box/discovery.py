"""`(dir)`, `(apropos "part")` and `(doc name)` inside the box: what may be called there, and nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from difflib import get_close_matches
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.naming import function_name
from semac.box.profile import BUILTINS, FORMS
from semac.docs.entries import module_entries
from semac.docs.special_forms import FORMS as DOCUMENTED

MACROS = (  # of the prelude
    "->", "->>", "as->", "dotimes", "for", "for-range", "for/filter", "for/fold", "for/list", "for/map", "guard",
    "if-let", "some->", "when-let",
)  # fmt: skip
OWN = {
    "return": "(return [value])\n\nEnds the program with a value: done.",
    "fail": "(fail [value])\n\nEnds the program with a value: done, but failed.",
    "dir": "(dir [start])\n\nThe names that the program may use, those that start with start.",
    "apropos": "(apropos part)\n\nThe names that contain a text, and those whose description does.",
    "*1": "The value of the last program of the session that ended with one; *2 and *3: of those before it.",
    "*2": "The value of the program before the last one; see *1.",
    "*3": "The value of the program before the last two; see *1.",
    "doc": "(doc name)\n\nThe documentation of a name: how it is called, what it does, examples.",
}


TEXTS: dict[str, str] = {}  # the documentation of the language in the box, by name


def load_texts() -> None:
    """Reads the documentation from the files that declare it: before the process is hardened."""
    found = dict(OWN)
    for name in (*FORMS, *MACROS):
        found[name] = DOCUMENTED[name]
    for module in sorted({INDEX[name][0] for name in BUILTINS}):
        for name, entry in module_entries(module).items():
            if name in BUILTINS:
                found[name] = "\n".join(entry.signatures) + "\n\n" + entry.body
    TEXTS.update((name, text) for name, text in sorted(found.items()) if not name.startswith("__"))


class Discovery:
    """Answers of one session. own: its names, tools and inputs among them. tools: the line of each tool,
    signature and description."""

    def __init__(self, own: AbstractSet[str], tools: Mapping[str, str]) -> None:
        self.own = own
        self.tools = tools

    def names(self) -> list[str]:
        """Those of the session first."""
        mine = sorted(self.own - TEXTS.keys())
        return [*mine, *TEXTS]

    def dir(self, start: Any = "") -> List:
        return List([name for name in self.names() if name.startswith(text_of(start))])

    def apropos(self, part: Any) -> List:
        wanted = text_of(part).lower()
        named = [name for name in self.names() if wanted in name.lower()]
        described = [name for name, text in TEXTS.items() if wanted in summary(text) and name not in named]
        return List([*named, *described])

    def doc(self, name: Any) -> str:
        wanted = text_of(name)
        tool = wanted.removeprefix("tool/")
        if tool in self.tools and wanted not in TEXTS:
            return self.tools[tool]
        if wanted in TEXTS:
            return TEXTS[wanted]
        if wanted in self.own:
            return f"{wanted}: defined in this session"
        close = get_close_matches(wanted, self.names(), 1, 0.6)
        raise SemaError(
            f"doc: there is no {wanted} in the box",
            f"did you mean {close[0]}?" if close else '(apropos "part") finds names',
        )


def summary(text: str) -> str:
    """The first sentence of a documentation."""
    _, _, body = text.partition("\n\n")
    return body.partition(".")[0].lower()


def text_of(name: Any) -> str:
    """A name, given as text, symbol, keyword or the function itself."""
    if isinstance(name, Symbol | Keyword):
        return name.name
    if isinstance(name, str):
        return name
    if callable(name):
        return function_name(name)
    raise SemaError("expected a name: a string, a quoted symbol or a function")
