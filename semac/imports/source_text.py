"""The source of Sema functions and classes for Python's tools: `inspect.getsource`, `??` of IPython, `ll` of pdb.

`inspect` looks for the line of a `def` and reads a block of Python from there. For .sema files it gets lines that know
that they are Sema, and the block is the form that starts in the first of them.
"""

from __future__ import annotations

import linecache
import re
from types import ModuleType
from typing import Any

SUFFIX = ".sema"


class SemaLines(list[str]):
    """Lines of a .sema file, also where they are sliced."""

    def __getitem__(self, index: Any) -> Any:
        found = super().__getitem__(index)
        return SemaLines(found) if isinstance(index, slice) else found


def teach_inspect(inspect: ModuleType) -> None:
    """Has `inspect` find functions, classes and frames of .sema files, and the ends of their forms."""
    tools: Any = inspect
    if hasattr(tools.findsource, "untaught"):
        return
    find, block = tools.findsource, tools.getblock

    def findsource(object: Any) -> tuple[list[str], int]:
        file = _file(object, tools)
        if not file.endswith(SUFFIX):
            return find(object)  # type: ignore[no-any-return]
        linecache.checkcache(file)
        lines = SemaLines(linecache.getlines(file))
        if not lines:
            raise OSError("could not get source code")
        return lines, _line(object, lines, tools)

    def getblock(lines: list[str]) -> list[str]:
        return list(lines[: form_length(lines)]) if type(lines) is SemaLines else block(lines)

    findsource.untaught = find  # type: ignore[attr-defined]
    tools.findsource, tools.getblock = findsource, getblock


def _file(object: Any, tools: Any) -> str:
    try:
        return str(tools.getfile(object))
    except TypeError:  # a builtin, which `findsource` says better
        return ""


def _line(object: Any, lines: list[str], tools: Any) -> int:
    """The index of the line where the form of an object starts."""
    if tools.ismodule(object):
        return 0
    if tools.isclass(object):
        return _class_line(object, lines)
    if tools.ismethod(object):
        object = object.__func__
    if tools.istraceback(object):
        object = object.tb_frame
    code = getattr(object, "__code__", None) or getattr(object, "f_code", object)
    first: int = code.co_firstlineno - 1
    return min(max(first, 0), len(lines) - 1)


def _class_line(kind: type, lines: list[str]) -> int:
    """The line of the form that defines a class; a name stands behind its head, perhaps in parentheses."""
    name = re.escape(getattr(kind, "sema_tag", kind.__name__)).replace("_", "[-_]")
    header = re.compile(rf"\((define-record-type|py/class)\b.*?[\s(]{name}(?=[\s)]|$)")
    for number, line in enumerate(lines):
        if header.search(line):
            return number
    raise OSError("could not find class definition")


def form_length(lines: list[str]) -> int:
    """How many lines the first form takes that starts in the first line."""
    from semac.syntax.reader import read_recovering

    first = re.search(r"[(\[{]", lines[0]) if lines else None
    text = "".join(lines)[first.start() :] if first is not None else "".join(lines)
    forms, _, _ = read_recovering(text)
    spans = getattr(forms.span, "children", ()) or ()
    last: int = spans[0].end_line if spans else 1
    return last
