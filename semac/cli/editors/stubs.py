"""`sema stubs`: `.pyi` files, by which mypy and pyright check Python code that imports Sema modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

import click

from semac.cli.common import SETTINGS, failed, sema_files, standalone


def main(args: list[str]) -> int:
    """Runs `sema stubs ARGS` and returns the exit status."""
    return standalone(stubs, args)


@click.command("sema stubs", context_settings=SETTINGS)
@click.argument("paths", nargs=-1, metavar="[FILE|FOLDER]...")
@click.option("-o", "--output", metavar="DIR", help="Folder for the stubs. [beside each source]")
@click.option("--check", is_flag=True, help="Write nothing; status 1 when a stub is missing or stale.")
def stubs(paths: tuple[str, ...], output: str | None, check: bool) -> int:
    """Write the .pyi stubs of Sema files: types for mypy, pyright and editors.

    Without a path: of all files below the current folder. A stub has the types that the compiler infers, Any where they
    are not certain, and the documentation of functions. Macros of the files run, as when they are compiled.

    \b
    Examples:
      sema stubs                    beside every .sema file below this folder
      sema stubs src -o typings     typings/... for src/**/*.sema: pyright looks there
      sema stubs --check src        for continuous integration
    With SEMA_STUBS=1, or SEMA_STUBS=DIR, importing a module writes its stub.
    """
    files = [*_files(paths or (".",), output)]
    missing = [path for path in paths if not os.path.exists(path)]
    for path in missing:
        failed(f"file not found: {path}")
    status = 1 if missing else 0
    if not files and not missing:
        print("No .sema files found")
    for source, target in files:
        status |= _stub(source, target, check)
    return status


def _files(paths: tuple[str, ...], output: str | None) -> Iterator[tuple[str, str]]:
    """(source, its stub) of the files that were named and of those below folders."""
    from semac.stubs.files import stub_path

    for path in paths:
        is_folder = os.path.isdir(path)
        for source in sema_files(path) if is_folder else [path] if os.path.exists(path) else []:
            inside = os.path.relpath(source, path) if is_folder else os.path.basename(source)
            yield os.path.normpath(source), stub_path(os.path.join(output, inside) if output else source)


def _stub(source: str, target: str, check: bool) -> int:
    """Writes or compares one stub; returns 0, or 1 with a message."""
    from semac.diagnostics.render import show_error
    from semac.stubs.files import stub_of, write_stub

    target = os.path.normpath(target)
    if os.path.isfile(os.path.splitext(target)[0] + ".py"):
        return failed(f"{source}: Python imports {os.path.splitext(target)[0]}.py instead; rename one of them")
    try:
        text = stub_of(source)
    except OSError as error:
        return failed(f"cannot read '{source}': {error.strerror}")
    except Exception as error:  # errors of macro bodies are of any kind
        show_error(error, source)
        return 1
    try:
        with open(target, encoding="utf-8") as file:
            is_same = file.read() == text
    except (OSError, ValueError):
        is_same = False
    if is_same:
        return 0
    if check:
        print(
            f"{target}: {'stale' if os.path.exists(target) else 'missing'}; run: sema stubs {source}", file=sys.stderr
        )
        return 1
    try:
        write_stub(target, text)
    except OSError as error:
        return failed(f"cannot write '{target}': {error.strerror}")
    print(target)
    return 0
