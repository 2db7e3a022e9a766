"""Code objects as text that compresses well: what `packed_code.py` packs.

`marshal` writes each name in full where a code object has it, and the places for caches in the code, which are empty.
Here names and strings are numbers in a table, which begins with those of similar code that the reader has, and the
places for caches are left out. Compressed beside similar code, it takes a third less.
"""

from __future__ import annotations

import marshal
import sys
from array import array
from itertools import chain

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType
    from typing import Any

CODE: Any = type((lambda: None).__code__)
TEMPLATE: Any = (lambda: None).__code__
PLAIN = 2  # the format of marshal without references
INNER, TEXT, OTHER, SMALL = range(4)  # kinds of constants; from SMALL on: ints
LARGEST = 120  # of these ints
NAMED = ".<locals>."  # between the names of a function and of one inside


def written(codes: list[CodeType], similar: list[CodeType]) -> tuple[bytes, bytes]:
    """(code as text, the text of similar code, for zlib's dictionary)."""
    table = table_of(similar)
    known = len(table)
    add_strings(codes, table)
    own = [each.encode("utf-8", "surrogatepass") for each in list(table)[known:]]
    text = numbers([len(own), *map(len, own)]) + b"".join(own) + numbers([len(codes)])
    return text + b"".join([_written(code, "", table) for code in codes]), text_of(similar, table)


def text_of(similar: list[CodeType], table: dict[str, int]) -> bytes:
    """The text of code whose strings are in the table."""
    return b"".join([_written(code, "", table) for code in similar])


def table_of(codes: list[CodeType]) -> dict[str, int]:
    """The strings of code, numbered."""
    table: dict[str, int] = {"": 0}
    add_strings(codes, table)
    return table


def add_strings(codes: Iterable[Any], table: dict[str, int]) -> None:
    for code in codes:
        inner: list[Any] = []
        strings = [code.co_filename, code.co_name, code.co_qualname]
        for constant in code.co_consts:
            if type(constant) is CODE:
                inner.append(constant)
            elif type(constant) is str:
                strings.append(constant)
        for name in chain(strings, code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars):
            if name not in table:
                table[name] = len(table)
        if inner:
            add_strings(inner, table)


def _written(code: Any, outer: str, table: dict[str, int]) -> bytes:
    """outer: what the qualified name begins with, unless it is another."""
    name, qualified = code.co_name, code.co_qualname
    operations, lines, exceptions = _without_caches(code.co_code), code.co_linetable, code.co_exceptiontable
    texts = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
    head = [code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_stacksize, code.co_flags]
    head += (code.co_firstlineno, table[code.co_filename], table[name])
    head.append(0 if qualified == outer + name else table[qualified])
    for names in texts:
        head.append(len(names))
        head += [table[each] for each in names]
    parts = [numbers(head), numbers([len(code.co_consts)])]
    for constant in code.co_consts:
        kind = type(constant)
        if kind is CODE:
            parts += (b"\0", _written(constant, qualified + NAMED, table))
        elif kind is str:
            parts.append(numbers([TEXT, table[constant]]))
        elif kind is int and 0 <= constant < LARGEST:
            parts.append(bytes((SMALL + constant,)))
        else:
            text = marshal.dumps(constant, PLAIN)
            parts += (numbers([OTHER, len(text)]), text)
    parts += (numbers([len(exceptions), len(lines), len(operations)]), exceptions, lines, operations)
    return b"".join(parts)


def read(text: bytes, table: dict[str, int]) -> list[CodeType]:
    """The code that a text says. table: the strings of the code that was similar."""
    reader = Reader(text, [*table])
    sizes = [reader.number() for _ in range(reader.number())]
    reader.strings += [str(reader.take(size), "utf-8", "surrogatepass") for size in sizes]
    return [reader.code("") for _ in range(reader.number())]


class Reader:
    def __init__(self, text: bytes, strings: list[str]) -> None:
        self.text = text
        self.strings = strings
        self.at = 0

    def number(self) -> int:
        byte = self.text[self.at]
        self.at += 1
        number, shift = byte & 127, 7
        while byte > 127:
            byte = self.text[self.at]
            self.at += 1
            number |= (byte & 127) << shift
            shift += 7
        return number

    def take(self, size: int) -> bytes:
        self.at += size
        return self.text[self.at - size : self.at]

    def names(self) -> tuple[str, ...]:
        count, strings = self.number(), self.strings
        small = self.text[self.at : self.at + count]
        if not small.isascii():
            return tuple([strings[self.number()] for _ in range(count)])
        self.at += count
        return tuple([strings[number] for number in small])

    def code(self, outer: str) -> CodeType:
        number, strings = self.number, self.strings
        arguments, positional, named, stack, flags, line = [number() for _ in range(6)]
        file, name = strings[number()], strings[number()]
        qualified = strings[number()] or outer + name
        names, variables, cells, free = (self.names() for _ in range(4))
        constants = tuple([self.constant(qualified + NAMED) for _ in range(number())])
        sizes = number(), number(), number()
        exceptions, lines, operations = map(self.take, sizes)
        code: CodeType = TEMPLATE.replace(
            co_argcount=arguments, co_posonlyargcount=positional, co_kwonlyargcount=named, co_stacksize=stack,
            co_flags=flags, co_firstlineno=line, co_filename=file, co_name=name, co_qualname=qualified, co_names=names,
            co_varnames=variables, co_cellvars=cells, co_freevars=free, co_nlocals=len(variables), co_consts=constants,
            co_exceptiontable=exceptions, co_linetable=lines, co_code=_with_caches(operations),
        )  # fmt: skip
        return code

    def constant(self, outer: str) -> Any:
        kind = self.number()
        if kind >= SMALL:
            return kind - SMALL
        if kind == INNER:
            return self.code(outer)
        if kind == TEXT:
            return self.strings[self.number()]
        return marshal.loads(self.take(self.number()))


def numbers(values: list[int]) -> bytes:
    """Numbers, small ones in a byte: seven bits each, the lowest first."""
    if max(values, default=0) < 128:
        return bytes(values)
    text = bytearray()
    for value in values:
        while value > 127:
            text.append(value & 127 | 128)
            value >>= 7
        text.append(value)
    return bytes(text)


def _without_caches(operations: bytes) -> bytes:
    """Code without the units in which the interpreter keeps what it learns: those that are 0."""
    return array("H", filter(None, array("H", operations))).tobytes()


def _with_caches(operations: bytes) -> bytes:
    return b"".join(map(UNITS.__getitem__, array("H", operations)))


class _Units(dict[int, bytes]):
    """The units of code, as numbers, with what stands behind them for caches."""

    caches: list[int] | None = None  # how many units that are, by operation

    def __missing__(self, unit: int) -> bytes:
        operation = array("H", (unit,)).tobytes()
        if self.caches is None:
            self.caches = _caches()
        self[unit] = text = operation + b"\0\0" * self.caches[operation[0]]
        return text


def _caches() -> list[int]:
    import opcode

    counts: Any = opcode._inline_cache_entries  # type: ignore[attr-defined]
    if sys.version_info < (3, 13):
        return [*counts]
    known = {opcode.opmap[name]: count for name, count in counts.items() if name in opcode.opmap}  # by name
    return [known.get(operation, 0) for operation in range(256)]


UNITS = _Units()
