"""Compiled modules that run with the places of their source: tracebacks, debuggers and coverage show `.sema` lines.

Such a module is Python text below `if not runs_as_source(globals(), "mail.sema", DIGEST):`, and a comment at its end
that has the places: `# sema-map: ` and the base 64 of compressed JSON with

    positions   line, column, end line, end column of each node of the text, as differences to those of the node before
    places      the table of places (conditions/places.py)
    calls       the calls that sites stand for (conditions/sites.py)

The first import compiles the text with these places and keeps the code in `__pycache__`, or in `~/.sema/cache/modules`
where that can't be written. Where the text was changed, or is not there, the module runs as the Python that it is.
"""

from __future__ import annotations

import _frozen_importlib_external as bootstrap  # what importlib.util wraps; loaded in every process
import _imp
import marshal
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    import ast
    from collections.abc import Callable, Iterator
    from types import CodeType, ModuleType
    from typing import Any

HASH_KEY = 0x4D415053
MAGIC = b"SEMAMAP1" + bootstrap.MAGIC_NUMBER
TAG = f".sema-1.{sys.implementation.cache_tag}" + (f".opt-{sys.flags.optimize}" if sys.flags.optimize else "")
MARKER = "# sema-map: "
POSITION = ("lineno", "col_offset", "end_lineno", "end_col_offset")


def runs_as_source(namespace: dict[str, Any], source: str, digest: str) -> bool:
    """Runs the module that calls this, with the places of its source; false where that is impossible.

    namespace: the module's globals. source: the name of the source file, which is beside the module's own file. digest:
    of the module's text.
    """
    path = namespace.get("__file__")
    if type(path) is not str:
        return False
    filename = os.path.join(os.path.dirname(path), source)
    code = code_of(path, filename, digest, lambda: _text(namespace))
    if code is None:
        return False
    if not os.path.exists(filename):
        _show_member(namespace, filename)
    exec(code, namespace)
    return True


def _show_member(namespace: dict[str, Any], filename: str) -> None:
    """Has tracebacks find the lines of a source in an archive."""
    get_data = getattr(namespace.get("__loader__"), "get_data", None)
    if get_data is None:
        return

    def text() -> str:
        data: bytes = get_data(filename)
        return data.decode("utf-8-sig")

    from sema_runtime import when_loaded

    _members[filename] = text
    when_loaded("linecache", _teach_linecache)


_members: dict[str, Callable[[], str]] = {}  # sources in archives → what reads them


def _teach_linecache(linecache: ModuleType) -> None:
    for filename, text in _members.items():
        linecache.cache.setdefault(filename, (text,))


def code_of(path: str, filename: str, digest: str, text: Callable[[], str]) -> CodeType | None:
    """The code of the module in a file, with the places of its source; None where that is impossible.

    filename: of the source. digest: of the module's text. text: gives that, where no code is kept for it.
    """
    code = _kept(path, filename, digest)
    if code is None:
        code = mapped(text(), filename, digest)
        if code is not None:
            _keep(code, path, digest)
    return code


# Code that is kept


def _kept(path: str, filename: str, digest: str) -> CodeType | None:
    """The code that an earlier import has kept."""
    for file in _files(path, digest):
        try:
            with open(file, "rb", buffering=0) as opened:
                if _is_newer(path, opened.fileno()):  # somebody may have changed the text
                    continue
                data = opened.read()
        except OSError:
            continue
        head = MAGIC + digest.encode()
        payload = memoryview(data)[len(head) + 8 :]
        if data[: len(head)] != head or data[len(head) : len(head) + 8] != _hash(payload):
            continue
        try:
            code: CodeType = marshal.loads(payload)
        except (ValueError, EOFError, TypeError):
            continue
        if code.co_filename != filename:
            _imp._fix_co_filename(code, filename)  # type: ignore[attr-defined]
        return code
    return None


def _is_newer(path: str, kept: int) -> bool:
    """Whether a module's file was written after what is kept of it (a descriptor). A member of an archive never is."""
    try:
        return os.stat(path).st_mtime_ns > os.fstat(kept).st_mtime_ns
    except OSError:
        return False


def _keep(code: CodeType, path: str, digest: str) -> None:
    """Keeps code for the next import, where that is possible."""
    if sys.dont_write_bytecode:
        return
    data = kept_bytes(code, digest)
    for file in _files(path, digest):
        scratch = f"{file}.{os.getpid()}"
        try:
            os.makedirs(os.path.dirname(file), exist_ok=True)
            with open(scratch, "xb") as opened:
                opened.write(data)
            os.replace(scratch, file)
            return
        except OSError:
            try:
                os.remove(scratch)
            except OSError:
                continue


def kept_bytes(code: CodeType, digest: str) -> bytes:
    """What is kept of code."""
    payload = marshal.dumps(code)
    return MAGIC + digest.encode() + _hash(payload) + payload


def kept_beside(path: str) -> str:
    """Where the code of a module is kept, beside it. Raises NotImplementedError in a Python that keeps no code."""
    stem = os.path.splitext(os.path.basename(path))[0]
    return os.path.join(os.path.dirname(bootstrap.cache_from_source(path)), f"{stem}{TAG}.pyc")


def _files(path: str, digest: str) -> Iterator[str]:
    """Where the code of a module may be kept: beside it, else in the user's folder."""
    try:
        yield kept_beside(path)
    except NotImplementedError:
        return
    stem = os.path.splitext(os.path.basename(path))[0]
    from sema_runtime.support.home import in_home

    yield os.path.join(in_home("cache"), "modules", f"{stem}-{digest}{TAG}.pyc")


# Code with the places of the source


def mapped(text: str, filename: str, digest: str | None) -> CodeType | None:
    """The code of a module with the places that its text ends with; None for another text, or without them."""
    body, found, comment = text.partition(MARKER)
    _, head, body = body.partition(f'"{digest}"):\n')
    if not found or not head or digest_of(body + found + comment) != digest:
        return None
    import ast
    import json
    from binascii import a2b_base64
    from zlib import decompress

    from sema_runtime.conditions.placing import with_places

    facts = json.loads(decompress(a2b_base64(comment)))
    tree = ast.parse(f"if 1:\n{body}")
    statements = tree.body[0].body  # type: ignore[attr-defined]
    if not _place(statements, facts["positions"]):
        return None
    code = compile(ast.Module(statements, []), filename, "exec", dont_inherit=True)
    places = {(place[0], place[1]): (*place,) for place in facts["places"]}
    return with_places(code, places, [(*call,) for call in facts["calls"]])


def digest_in(text: str) -> str | None:
    """The digest that the text of a module names at its head; None for another text."""
    import re

    found = re.search(r'^if not runs_as_source\(globals\(\), .*, "([0-9a-f]{16})"\):$', text, re.MULTILINE)
    return None if found is None else found[1]


def _text(namespace: dict[str, Any]) -> str:
    """The text of a module; "" where there is none."""
    spec = namespace.get("__spec__")
    get_source = getattr(getattr(spec, "loader", None) or namespace.get("__loader__"), "get_source", None)
    try:
        return (get_source(getattr(spec, "name", None) or namespace["__name__"]) if get_source else None) or ""
    except (ImportError, OSError):
        return ""


def _place(statements: list[ast.stmt], numbers: list[int]) -> bool:
    """Gives nodes their places; false where there are not as many as nodes."""
    nodes: list[Any] = [*positioned(statements)]
    if len(numbers) != 4 * len(nodes):
        return False
    line = col = end_line = end_col = 0
    each = iter(numbers)
    for node, by in zip(nodes, zip(each, each, each, each), strict=True):  # noqa: B905
        line, col, end_line, end_col = line + by[0], col + by[1], end_line + by[2], end_col + by[3]
        node.lineno, node.col_offset, node.end_lineno, node.end_col_offset = line, col, end_line, end_col
    return True


def positioned(statements: list[ast.stmt]) -> Iterator[ast.AST]:
    """The nodes that have places, in a fixed order."""
    from ast import Module, walk

    return (node for node in walk(Module(statements, [])) if "lineno" in node._attributes)


def encoded_map(facts: str) -> str:
    """The comment that ends the text of a module."""
    from binascii import b2a_base64
    from zlib import compress

    return f"\n{MARKER}{b2a_base64(compress(facts.encode(), 9), newline=False).decode()}\n"


def digest_of(text: str) -> str:
    """Tells texts apart, in 16 characters: a module's from the end of its `if` on."""
    return _hash(text.encode("utf-8", "surrogatepass")).hex()


def _hash(data: bytes | memoryview) -> bytes:
    return bytes(_imp.source_hash(HASH_KEY, data))
