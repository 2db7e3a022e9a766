"""`sema.toml` of a project: what it needs. Edits keep all other lines as they are."""

from __future__ import annotations

import json
import os
import re
import tomllib
from typing import Any

from semac.pkg.errors import PackageError
from semac.pkg.specs import Spec, python_spec, spec_of

FILE = "sema.toml"
TABLES = {"git": "deps", "registry": "deps", "python": "python"}
HEADER = re.compile(r"\s*\[+\s*([^\]]+?)\s*\]+\s*(#.*)?")


class Manifest:
    """A sema.toml. path: of the file; text: its contents; specs: the packages that it names."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        try:
            self.data: dict[str, Any] = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise PackageError(f"{path} is not TOML: {error}") from None
        self.specs = [*self._git_and_registry(), *self._python()]

    def _git_and_registry(self) -> list[Spec]:
        return [spec_of(name, wanted) for name, wanted in self._table("deps").items()]

    def _python(self) -> list[Spec]:
        table = self._table("python").items()
        return [python_spec(name if wanted == "*" else f"{name}{wanted}") for name, wanted in table]

    def _table(self, name: str) -> dict[str, str]:
        table = self.data.get(name, {})
        if not isinstance(table, dict):
            raise PackageError(f"{self.path}: {name} must be a table, [{name}]")
        for key, value in table.items():
            if not isinstance(value, str):
                raise PackageError(f'{self.path}: {key} in [{name}] must be a text, such as "1.0.0" or "main"')
        return table

    def package(self) -> dict[str, Any]:
        """The table `[package]`."""
        table = self.data.get("package", {})
        return table if isinstance(table, dict) else {}

    def with_spec(self, spec: Spec) -> Manifest:
        """The manifest that names a package, too, or another version of it. Raises PackageError."""
        table, value = TABLES[spec.kind], spec.wanted or "*"
        lines = self.text.split("\n")
        line = f"{key_of(spec.name)} = {json.dumps(value)}"
        at = self._line_of(lines, table, spec.name)
        if at is not None:
            lines[at] = line
        else:
            start = next((index for index, text in enumerate(lines) if header(text) == table), None)
            if start is None:
                while lines and not lines[-1].strip():
                    lines.pop()
                lines += [""] * bool(lines) + [f"[{table}]", line, ""]
            else:
                lines.insert(self._end_of(lines, start), line)
        return self._edited(lines, table, {**self._table(table), spec.name: value})

    def without(self, spec: Spec) -> Manifest:
        """The manifest that doesn't name a package. Raises PackageError."""
        table = TABLES[spec.kind]
        lines = self.text.split("\n")
        at = self._line_of(lines, table, spec.name)
        if at is not None:
            del lines[at]
        return self._edited(lines, table, {k: v for k, v in self._table(table).items() if k != spec.name})

    def _edited(self, lines: list[str], table: str, expected: dict[str, str]) -> Manifest:
        """The manifest of edited lines, which must say what is expected: a table can be written in many ways."""
        try:
            edited = Manifest(self.path, "\n".join(lines))
            others = {key: value for key, value in edited.data.items() if key != table}
            same = edited._table(table) == expected
        except PackageError:
            same, others, edited = False, {}, self
        if not same or others != {key: value for key, value in self.data.items() if key != table}:
            raise PackageError(f"{self.path}: [{table}] is written in a way that can't be edited; change it by hand")
        return edited

    def _line_of(self, lines: list[str], table: str, name: str) -> int | None:
        """The line of a key in a table."""
        current = None
        for index, line in enumerate(lines):
            found = header(line)
            current = found if found is not None else current
            if found is None and current == table and "=" in line:
                try:
                    parsed = tomllib.loads(line)
                except tomllib.TOMLDecodeError:
                    continue
                if name in parsed:
                    return index
        return None

    def _end_of(self, lines: list[str], start: int) -> int:
        """The line behind the last one of a table that says something."""
        end = start + 1
        for index in range(start + 1, len(lines)):
            if header(lines[index]) is not None:
                break
            if lines[index].strip():
                end = index + 1
        return end


def header(line: str) -> str | None:
    """The name of the table that a line begins."""
    match = HEADER.fullmatch(line)
    return None if match is None else match[1].strip("\"'")


def key_of(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else json.dumps(name)


def find(folder: str = ".") -> Manifest | None:
    """The manifest of the nearest folder upwards that has one. Raises PackageError."""
    folder = os.path.abspath(folder)
    while True:
        path = os.path.join(folder, FILE)
        if os.path.isfile(path):
            return read(path)
        above = os.path.dirname(folder)
        if above == folder:
            return None
        folder = above


def read(path: str) -> Manifest:
    """The manifest in a file. Raises PackageError."""
    try:
        with open(path, encoding="utf-8") as file:
            return Manifest(path, file.read())
    except OSError as error:
        raise PackageError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise PackageError(f"{path} is not UTF-8 text") from None


def new(folder: str = ".") -> str:
    """Writes the manifest of a new project; its path. Raises PackageError where there is one."""
    path = os.path.join(folder, FILE)
    name = os.path.basename(os.path.abspath(folder)) or "project"
    text = f'[package]\nname = {json.dumps(name)}\nversion = "0.1.0"\n\n[deps]\n'
    try:
        with open(path, "x", encoding="utf-8") as file:
            file.write(text)
    except FileExistsError:
        raise PackageError(f"{path} exists already") from None
    except OSError as error:
        raise PackageError(f"cannot write {path}: {error.strerror}") from None
    return path
