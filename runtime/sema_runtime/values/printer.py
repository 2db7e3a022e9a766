"""Printed forms: `to_text` for `write`, `display` for `println`, `pretty` with line breaks at a width in bytes.

A class of the runtime defines how it prints: `sema_text() -> str` for an opaque value, or `sema_parts() -> (open,
items, close)` for one that holds values (a record). The functions handle data of any depth, since they keep their own
stacks.
"""

from __future__ import annotations

import sys

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.typenames import NAMES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Any

    Parts = tuple[str, Iterable[Any], str]

CHAR_NAMES = {" ": "space", "\n": "newline", "\t": "tab", "\r": "return", "\0": "nul"}
BRACKETS = frozenset(("list", "vector", "map", "hashmap"))
DEPTH = 8  # of values that are shown by calls of a function for each level
ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"})


def to_text(value: Any) -> str:
    """The readable one-line form of any value."""
    atom = ATOMS.get(type(value))
    if atom is not None:
        return atom(value)
    text = _shallow(value, DEPTH)
    if text is not None:
        return text
    parts = _parts(value)
    return _opaque(value) if parts is None else _nested(parts)


def display(value: Any) -> str:
    """As `to_text`, except that a top-level string is shown raw and a top-level Python object as its `str`."""
    if type(value) is str:
        return value
    atom = ATOMS.get(type(value))
    if atom is not None:
        return atom(value)
    text = _shallow(value, DEPTH)
    if text is not None:
        return text
    parts = _parts(value)
    return _opaque(value, str) if parts is None else _nested(parts)


def pretty(value: Any, width: int = 80) -> str:
    """The readable form; a collection wider than width bytes (UTF-8) is broken into one element a line.

    The value of a map entry that doesn't fit behind its key stands below it, indented by 2.
    """
    text = to_text(value)
    if _size(text) <= width or brackets(value) is None:
        return text
    return _laid_out(_tree(value), width)


# Atoms


def quoted(text: str) -> str:
    """A string literal."""
    return '"' + text.translate(ESCAPES) + '"'


def float_text(value: float) -> str:
    """A float without exponent, always with a decimal point: `1e21` → `1000000000000000000000.0`."""
    text = float.__repr__(value)  # also of subclasses, such as numpy's
    if "e" not in text:
        return "NaN" if text == "nan" else text
    digits, _, exponent = text.partition("e")
    if exponent[0] != "-":
        return f"{int(value)}.0"
    sign = "-" if digits[0] == "-" else ""
    return f"{sign}0.{'0' * (-int(exponent) - 1)}{digits.lstrip('-').replace('.', '')}"


def _complex(value: complex) -> str:
    imaginary = _part(value.imag)
    return f"{_part(value.real)}{'' if imaginary[0] == '-' else '+'}{imaginary}i"


def _part(value: float) -> str:
    return str(int(value)) if value.is_integer() else float_text(value)


def _bytes(value: bytes | bytearray) -> str:
    return f"#u8({' '.join(map(str, value))})"


def _function(value: Any) -> str:
    from sema_runtime.values.naming import ANONYMOUS, function_name

    name = function_name(value)
    return f"<native-fn {'<vm-closure>' if name == ANONYMOUS else name}>"


ATOMS: dict[type, Callable[[Any], str]] = {
    str: quoted,
    int: str,
    bool: lambda value: "#t" if value else "#f",
    type(None): lambda value: "nil",
    float: float_text,
    Keyword: lambda value: ":" + value.name,
    Symbol: lambda value: value.name,
    Char: lambda value: "#\\" + CHAR_NAMES.get(value.value, value.value),
    complex: _complex,
    bytes: _bytes,
    bytearray: _bytes,
    type(to_text): _function,
    type(len): _function,
    type: _function,
}


def _opaque(value: Any, foreign: Callable[[Any], str] = repr) -> str:
    """The text of a value that is neither an atom nor a collection: an opaque one, a callable, a Python object."""
    own = getattr(value, "sema_text", None)
    if own is not None:
        return str(own())
    if type(value).__module__ == "fractions":  # not imported here: it is slow to load
        ATOMS[type(value)] = str
        return str(value)
    for kind in type(value).__mro__[1:]:
        atom = ATOMS.get(kind)
        if atom is not None:
            return str(value) if kind is str and foreign is str else atom(value)
    if callable(value):
        return _function(value)
    numbers = sys.modules.get("numbers")  # numpy registers its scalars, whose repr is a call
    return str(value) if numbers is not None and isinstance(value, numbers.Real) else foreign(value)


# Collections on one line


def brackets(value: Any) -> Parts | None:
    """The pieces of a collection that `pretty` may break; None for everything else."""
    name = NAMES.get(type(value))
    if name == "list":
        return "(", value, ")"
    if name == "vector":
        return "[", value, "]"
    if name == "map" or name == "hashmap":
        return "{", _flat_pairs(value), "}"
    if name is not None:
        return None
    if isinstance(value, dict):
        return "{", _flat_pairs(value), "}"
    if isinstance(value, tuple):
        return "[", value, "]"
    return ("(", value, ")") if isinstance(value, list) else None


def _parts(value: Any) -> Parts | None:
    parts = brackets(value)
    if parts is None:
        own = getattr(value, "sema_parts", None)
        if own is not None and type(value) is not type:
            parts = own()
    return parts


def _flat_pairs(value: Any) -> Iterator[Any]:
    """The keys and values of a map or of a dict of Python, alternating, in the order of the keys."""
    if not hasattr(value, "pairs"):
        from sema_runtime.values.ordering import order_key

        for key in sorted(value, key=order_key):
            yield key
            yield value[key]
        return
    for pair in value.pairs():
        yield from pair


def _shallow(value: Any, depth: int) -> str | None:
    """The text of a list, vector or map of the language that holds atoms and such values down to a depth; None for any
    other value. Most are so, and `_nested` takes twice as long."""
    name = NAMES.get(type(value))
    pieces = []
    if not depth or name not in BRACKETS or type(value) is dict:
        return None
    if name == "list" or name == "vector":
        for item in value:
            atom = ATOMS.get(type(item))
            text = atom(item) if atom is not None else _shallow(item, depth - 1)
            if text is None:
                return None
            pieces.append(text)
        return f"({' '.join(pieces)})" if name == "list" else f"[{' '.join(pieces)}]"
    for key, item in value.pairs():
        atom = ATOMS.get(type(item))
        text = atom(item) if atom is not None else _shallow(item, depth - 1)
        shown = f":{key.name}" if type(key) is Keyword else to_text(key)
        if text is None:
            return None
        pieces.append(f"{shown} {text}")
    return f"{{{' '.join(pieces)}}}"


def _nested(parts: Parts) -> str:
    opening, items, closing = parts
    out = [opening]
    push = out.append
    stack: list[tuple[Iterator[Any], str]] = [(iter(items), closing)]
    first = True
    while stack:
        iterator, closing = stack[-1]
        for item in iterator:
            if not first:
                push(" ")
            atom = ATOMS.get(type(item))
            if atom is not None:
                push(atom(item))
            elif (inner := _parts(item)) is None:
                push(_opaque(item))
            else:
                push(inner[0])
                stack.append((iter(inner[1]), inner[2]))
                first = True
                break
            first = False
        else:
            stack.pop()
            push(closing)
            first = False
    return "".join(out)


# Collections over several lines


class _Node:
    """A collection to lay out. size: bytes of its one-line form. children: texts without line breaks, and nodes."""

    __slots__ = ("children", "closing", "opening", "size")

    def __init__(self, opening: str, closing: str) -> None:
        self.opening = opening
        self.closing = closing
        self.children: list[str | _Node] = []
        self.size = 0


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _tree(value: Any) -> _Node:
    pieces = brackets(value)
    assert pieces is not None
    root = _Node(pieces[0], pieces[2])
    stack = [(root, iter(pieces[1]))]
    while stack:
        node, iterator = stack[-1]
        for item in iterator:
            inner = None if type(item) in ATOMS else brackets(item)
            if inner is None:
                node.children.append(to_text(item))
            else:
                child = _Node(inner[0], inner[2])
                node.children.append(child)
                stack.append((child, iter(inner[1])))
                break
        else:
            stack.pop()
            node.size = 2 + max(0, len(node.children) - 1) + sum(map(_width, node.children))
    return root


def _width(piece: str | _Node) -> int:
    return _size(piece) if type(piece) is str else piece.size  # type: ignore[union-attr]


def _laid_out(root: _Node, width: int) -> str:
    out: list[str] = []
    todo: list[tuple[str | _Node, int]] = [(root, 0)]
    while todo:
        piece, indent = todo.pop()
        if isinstance(piece, str):
            out.append(piece)
        elif indent + piece.size <= width or not piece.children:
            _write_flat(piece, out)
        else:
            lines = _entries(piece, indent, width) if piece.opening == "{" else _elements(piece, indent)
            todo.append((piece.closing, 0))
            todo.extend(reversed(lines))
            todo.append((piece.opening, 0))
    return "".join(out)


def _elements(node: _Node, indent: int) -> list[tuple[str | _Node, int]]:
    """The pieces between the brackets with their columns, one element a line."""
    separator = "\n" + " " * (indent + 1)
    lines: list[tuple[str | _Node, int]] = []
    for child in node.children:
        lines += [(separator, 0), (child, indent + 1)]
    return lines[1:]


def _entries(node: _Node, indent: int, width: int) -> list[tuple[str | _Node, int]]:
    """The pieces between the braces with their columns, one entry a line, the value after its key or below it."""
    separator = "\n" + " " * (indent + 1)
    below = "\n" + " " * (indent + 3)
    lines: list[tuple[str | _Node, int]] = []
    for key, value in zip(node.children[::2], node.children[1::2], strict=True):
        column = indent + 1 + _width(key) + 1
        fits = isinstance(value, str) or column + value.size <= width
        lines += [
            (separator, 0),
            (key, -node.size),
            (" " if fits else below, 0),
            (value, column if fits else indent + 3),
        ]
    return lines[1:]


def _write_flat(root: _Node, out: list[str]) -> None:
    todo: list[str | _Node] = [root]
    while todo:
        piece = todo.pop()
        if isinstance(piece, str):
            out.append(piece)
            continue
        todo.append(piece.closing)
        for index, child in enumerate(reversed(piece.children)):
            if index:
                todo.append(" ")
            todo.append(child)
        todo.append(piece.opening)
