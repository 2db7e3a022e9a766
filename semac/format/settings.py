"""The settings of `sema fmt`: the table `[fmt]` of the nearest `sema.toml`."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from semac.format.document import Style

FILE = "sema.toml"
LEAST = {"width": 1, "indent": 1, "max-blank-lines": 0}  # smallest values
MOST = 1_000_000


class Settings(NamedTuple):
    """style: of the layout; ignore: globs and prefixes of paths, relative to the current folder."""

    style: Style = Style()
    ignore: tuple[str, ...] = ()


class SettingsError(Exception):
    """A settings file that cannot be read or says something impossible."""


def find_settings(folder: str = ".") -> Settings:
    """The settings of the nearest `sema.toml` from a folder upwards. Raises SettingsError."""
    folder = os.path.abspath(folder)
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return read_settings(path)
        parent = os.path.dirname(folder)
        if parent == folder:
            return Settings()
        folder = parent


def read_settings(path: str) -> Settings:
    """The settings of one file. Raises SettingsError."""
    import tomllib

    try:
        with open(path, "rb") as file:
            table = tomllib.load(file).get("fmt", {})
    except OSError as error:
        raise SettingsError(f"cannot read '{path}': {error.strerror}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} is not TOML: {error}") from None
    if not isinstance(table, dict):
        raise SettingsError(f"{path}: fmt must be a table, [fmt]")
    default = Style()
    if "max_blank_lines" in table:
        table.setdefault("max-blank-lines", table["max_blank_lines"])
    style = Style(
        width=_number(table, "width", default.width, path),
        indent=_number(table, "indent", default.indent, path),
        align=_align(table, path),
        blanks=_number(table, "max-blank-lines", default.blanks, path),
    )
    return Settings(style, _ignored(table, path))


def _number(table: dict[str, Any], key: str, default: int, path: str) -> int:
    value = table.get(key, default)
    if type(value) is not int or not LEAST[key] <= value <= MOST:
        raise SettingsError(f"{path}: {key} of [fmt] must be a whole number from {LEAST[key]} to {MOST}")
    return value


def _align(table: dict[str, Any], path: str) -> bool:
    value = table.get("align", False)
    if type(value) is not bool:
        raise SettingsError(f"{path}: align of [fmt] must be true or false")
    return value


def _ignored(table: dict[str, Any], path: str) -> tuple[str, ...]:
    value = table.get("ignore", [])
    if not isinstance(value, list) or not all(isinstance(entry, str) for entry in value):
        raise SettingsError(f"{path}: ignore of [fmt] must be a list of strings")
    return tuple(entry.removeprefix("./") for entry in value)
