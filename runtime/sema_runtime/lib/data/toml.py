"""TOML: documents to maps with keyword keys, and back."""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import INT_LIMIT, strings
from sema_runtime.values.atoms import Keyword, Symbol, keyword
from sema_runtime.values.digits import MOST_DIGITS, may_exceed
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display, float_text
from sema_runtime.values.typenames import type_name

HINT = "toml/decode expects a TOML document (keys use = not :, strings use double quotes)"
BARE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-")
DEEPEST = 80  # tables and arrays in one another
LONGEST_KEY = 500  # parts
CODES = frozenset(map(chr, {*range(32), 127} - {9, 10}))  # what only an escape can say
ESCAPES = {"\\": "\\\\", '"': '\\"', "\b": "\\b", "\t": "\\t", "\n": "\\n", "\f": "\\f", "\r": "\\r"}


@builtin("toml/decode", type="str -> map keyword (map keyword any|flat|str|int|float|bool) fresh", pure=True)
def toml_decode(text: Any) -> Map:
    """Parses TOML into a map with keyword keys, arrays as lists, dates and times as strings.

    (toml/decode "[server]\\nport = 80") => {:server {:port 80}}
    """
    from tomllib import TOMLDecodeError, loads

    strings(text)
    text = text.removeprefix("\ufeff")
    if text.count(".") > LONGEST_KEY:
        _refuse_endless_keys(text)
    try:
        if may_exceed(text.replace("_", "")):
            _refuse_endless_integers(text)
        table = loads(text, parse_float=_float)
        return Map({keyword(key): _decoded(item, 1) for key, item in table.items()})
    except TOMLDecodeError as error:
        raise _refused(text, str(error)) from None
    except TooLarge as error:
        raise _too_large(text, *error.args) from None
    except RecursionError:
        raise SemaError("toml/decode: parse error: recursion limit", HINT) from None


def _refuse_endless_keys(text: str) -> None:
    """Python's reader takes time with the square of the number of a key's parts."""
    import re

    part = rf"(?:{KEY})[ \t]*\.[ \t]*"
    if re.search(rf"(?m)(?:^|[{{,])[ \t]*\[{{0,2}}[ \t]*(?:{part}){{{LONGEST_KEY}}}", text):
        raise SemaError("toml/decode: parse error: recursion limit", HINT)


def _refuse_endless_integers(text: str) -> None:
    """Raises TooLarge for an integer of too many digits, which Python's reader would convert first."""
    import re

    strings = r"""\"{3}(?:[^\\]|\\.)*?\"{3}|'{3}.*?'{3}|"(?:[^"\\\n]|\\.)*"|'[^'\n]*'"""
    integer = rf"(?<![0-9A-Za-z_])([0-9][0-9_]{{{MOST_DIGITS},}})(?![0-9_]|[ \t]*[=.]|[eE][0-9+\-])"
    for match in re.finditer(rf"(?s){strings}|#[^\n]*|{integer}", text):
        if match[1]:
            raise TooLarge("u64 value", match[1].replace("_", ""))


class TooLarge(Exception):
    """A number: what it is too large for, and its text."""


def _float(text: str) -> float:
    value = float(text)
    if value - value != 0 and text[-3:] not in ("inf", "nan"):
        raise TooLarge("floating-point number", text)
    return value


def _decoded(value: Any, depth: int) -> Any:
    kind = type(value)
    if depth > DEEPEST:
        raise RecursionError
    if kind is dict:
        return Map({keyword(key): _decoded(item, depth + 1) for key, item in value.items()})
    if kind is list:
        return List([_decoded(item, depth + 1) for item in value])
    if kind is int and not -INT_LIMIT <= value < INT_LIMIT:
        raise TooLarge("u64 value", str(value) if value.bit_length() <= 3 * MOST_DIGITS else "")  # long ones are hex
    if kind in (str, int, float, bool):
        return value
    return _moment_text(value.isoformat())


def _moment_text(text: str) -> str:
    """A date or time without the zeros that Python adds to fractions, UTC as Z."""
    head, dot, fraction = text.replace("+00:00", "Z").partition(".")
    digits = fraction[:6].rstrip("0")
    return f"{head}{dot}{digits}{fraction[6:]}" if dot else head


def _too_large(text: str, kind: str, number: str) -> SemaError:
    before = text[: max(text.replace("_", "").find(number), 0)]
    line, column = before.count("\n") + 1, len(before) - before.rfind("\n")
    return _error(text, line, column, f"{kind} was too large", len(number))


REASONS = {"Expected '=' after a key in a key/value pair": "key with no value, expected `=`"}
WORD = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+:."
TAKEN = ("Cannot overwrite", "Cannot declare", "Cannot mutate")  # how Python begins to say that a key is there already
KEY = r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[A-Za-z0-9_-]+'


def _refused(text: str, reason: str) -> SemaError:
    """An error with the place in Python's message: `reason (at line 1, column 5)` or `reason (at end of document)`."""
    problem, _, place = reason.rpartition(" (at ")
    lines = text.split("\n")
    line, column = len(lines), len(lines[-1]) + 1
    if place.startswith("line"):
        numbers = place.rstrip(")").replace("line ", "").replace("column ", "").split(", ")
        line, column = int(numbers[0]), int(numbers[1])
    shown = lines[line - 1]
    if problem.startswith(TAKEN):
        problem = "duplicate key"
        column = _taken(lines[:line], shown)
    elif problem == "Invalid statement" and shown[column - 1 : column] not in "=}],":
        rest = shown[column - 1 :].partition(" ")[2].lstrip()
        column = column if rest.startswith("=") else len(shown) - len(rest) + 1  # where `=` should be
    elif problem.startswith("Unescaped"):
        column -= 1
    elif problem.startswith("Escaped character"):
        column -= 4 if shown[column - 7 : column - 5] == "\\u" else 8
    elif problem == "Invalid hex value":
        column += len(shown[column - 1 :]) - len(shown[column - 1 :].lstrip("0123456789abcdefABCDEF"))
    elif shown[column - 1 : column] == "\r":
        column += 1
    elif (
        problem.startswith("Expected newline")
        and shown[column - 2 : column - 1] not in "\"'}]"
        and shown[column - 1] != " "
    ):
        column = len(shown[: column - 1].rstrip(WORD)) + 1  # a date that is none, a leading zero: all of it is wrong
    return _error(text, line, column, REASONS.get(problem, problem), 1)


def _taken(lines: list[str], shown: str) -> int:
    """The column of the part of a key, in the last of the lines, that is already defined."""
    import re
    import tomllib

    path = []
    if not shown.lstrip().startswith("["):
        headers = [line for line in lines[:-1] if line.lstrip().startswith("[")]
        path = re.findall(KEY, headers[-1]) if headers else []
    parts = list(re.finditer(KEY, shown.partition("=")[0]))
    try:
        table: Any = tomllib.loads("\n".join(lines[:-1]))
    except tomllib.TOMLDecodeError:  # the last value began on an earlier line
        return len(shown) - len(shown.lstrip()) + 1
    for name in path:
        table = _entry(table, name)
    for part in parts:
        table = _entry(table, part[0])
        if not isinstance(table, dict):
            return part.start() + 1
    return parts[-1].start() + 1


def _entry(table: Any, key: str) -> Any:
    """The value of a key in a table; of an array of tables the last one."""
    value = table.get(key.strip("\"'")) if isinstance(table, dict) else None
    return value[-1] if isinstance(value, list) and value else value


def _error(text: str, line: int, column: int, message: str, width: int) -> SemaError:
    gutter = " " * len(str(line))
    marked = f"{' ' * (column - 1)}{'^' * width}"
    shown = f"{gutter} |\n{line} | {text.split(chr(10))[line - 1]}\n{gutter} | {marked}\n{message}\n"
    return SemaError(f"toml/decode: parse error: TOML parse error at line {line}, column {column}\n{shown}", HINT)


@builtin("toml/encode", type="dict -> str", pure=True)
def toml_encode(value: Any) -> str:
    """Converts a map to TOML: plain keys first, then tables.

    (toml/encode {:server {:port 80}}) => "[server]\\nport = 80\\n"
    """
    plain = _checked(value)
    if not isinstance(plain, dict):
        raise SemaError("toml/encode: top-level value must be a map")
    sections: list[str] = []
    _write_table(plain, [], "", sections)
    return "\n".join(sections)


def _checked(value: Any) -> Any:
    """A value in Python's terms. Raises an error for what TOML can't say."""
    kind = type(value)
    if isinstance(value, Map):
        texts = {_key_text(key): _checked(item) for key, item in value.pairs()}
        return {key: texts[key] for key in sorted(texts)}
    if kind is List or kind is tuple or kind is list:
        return [_checked(item) for item in value]
    if kind is Keyword or kind is Symbol:
        return value.name
    if kind in (str, bool, float) or (kind is int and -INT_LIMIT <= value < INT_LIMIT):
        return value
    raise SemaError(f"toml/encode: cannot encode {type_name(value)}")


def _key_text(key: Any) -> str:
    return key.name if isinstance(key, (Keyword, Symbol)) else display(key)


def _write_table(table: dict[str, Any], path: list[str], header: str, sections: list[str]) -> None:
    """Adds the text of a table and of those in it. header: its first line, "" for the document itself."""
    tables = {key: item for key, item in table.items() if isinstance(item, dict)}
    arrays = {key: item for key, item in table.items() if _is_table_array(item)}
    lines = [
        f"{_key(key)} = {_inline(item)}\n" for key, item in table.items() if key not in tables and key not in arrays
    ]
    if lines or (header and (header.startswith("[[") or (not tables and not arrays))):
        sections.append((f"{header}\n" if header else "") + "".join(lines))
    for key, item in table.items():
        name = ".".join([*path, _key(key)])
        if key in tables:
            _write_table(item, [*path, _key(key)], f"[{name}]", sections)
        elif key in arrays:
            for entry in item:
                _write_table(entry, [*path, _key(key)], f"[[{name}]]", sections)


def _is_table_array(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) for item in value)


def _key(text: str) -> str:
    if text and BARE.issuperset(text):
        return text
    return _on_one_line(text) or _basic(text)


def _string(text: str) -> str:
    """A string in the first of the four notations of TOML that needs no escapes, else in a basic one with escapes."""
    plain = _on_one_line(text)
    if plain is not None:
        return plain
    start = "\n" if "\n" in text else ""
    has_codes = not CODES.isdisjoint(text)
    if not has_codes and "\\" not in text and '"""' not in text:
        return f'"""{start}{_in_lines(text)}"""'
    if not has_codes and "'''" not in text:
        return f"'''{start}{text}'''"
    return f'"""{start}{_in_lines(text)}"""' if start else _basic(text)


def _on_one_line(text: str) -> str | None:
    """A basic or a literal string that needs no escapes but `\\t`; None when neither can say the text."""
    if "\n" in text or not CODES.isdisjoint(text):
        return None
    if "\\" not in text and '"' not in text:
        return _basic(text)
    return f"'{text}'" if "'" not in text else None


def _basic(text: str) -> str:
    return '"' + "".join(map(_escaped, text)) + '"'


def _in_lines(text: str) -> str:
    """The inside of a basic string of several lines: quotes are escaped where three would follow each other."""
    escaped = "".join(character if character in '\n"' else _escaped(character) for character in text)
    return escaped.replace('"""', '""\\"')


def _escaped(character: str) -> str:
    return ESCAPES.get(character) or (f"\\u{ord(character):04X}" if character in CODES else character)


def _float_text(value: float) -> str:
    """The shortest digits that are this float, without an exponent."""
    digits, _, exponent = repr(value).partition("e+")
    if not exponent:
        return "nan" if value != value else float_text(value)
    whole, _, fraction = digits.partition(".")
    return whole + fraction + "0" * (int(exponent) - len(fraction)) + ".0"


def _inline(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, float):
        return _float_text(value)
    if isinstance(value, list):
        return f"[{', '.join(map(_inline, value))}]"
    if isinstance(value, dict):
        inner = ", ".join(f"{_key(key)} = {_inline(item)}" for key, item in value.items())
        return f"{{ {inner} }}" if inner else "{}"
    return str(value)
