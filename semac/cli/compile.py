"""`sema compile` and `semac`: Sema programs to Python modules."""

from __future__ import annotations

import os
import sys

import click

from sema_runtime.compiled_modules import compiled_path
from semac.cli.common import SETTINGS, failed, files_below, sema_files, standalone

PYTHON_FILES = (".py", ".pyi", "py.typed")  # what a compiled folder gets besides


def main(args: list[str]) -> int:
    """Runs `sema compile ARGS` and returns the exit status."""
    return standalone(compile_command, args)


@click.command("sema compile", context_settings=SETTINGS)
@click.argument("source", metavar="FILE|FOLDER")
@click.option("-o", "--output", metavar="OUT", help="File or folder to write; - for stdout. [FILE with .py, beside it]")
@click.option("--check", is_flag=True, help="Compile without writing; report whether it worked.")
@click.option("--fast", is_flag=True, help="Write what runs fastest, not what reads best: see below.")
@click.option("--native", is_flag=True, help="Compile functions to machine code, which imports then use.")
@click.option("--dump", metavar="PASS", help="Print what one pass of the compiler makes instead: see below.")
def compile_command(source: str, output: str | None, check: bool, fast: bool, native: bool, dump: str | None) -> int:
    """Compile Sema files to Python modules that run wherever sema_runtime is installed.

    A folder is compiled with everything below it, and its Python files are copied: OUT runs where sema_runtime alone is
    installed. The `-` of a file name becomes `_`, so that Python can import it.

    \b
    Examples:
      sema compile program.sema                 writes program.py
      sema compile src -o build                 writes build/... for src/**/*.sema
      sema compile --dump py program.sema       prints the Python text
      sema compile --check program.sema
      sema compile --native program.sema        machine code, kept in __pycache__

    With --fast the Python is that which the import hook runs: operators on values of unknown types test the types in
    the expression, and functions have copies for likely arguments. Without it they are calls such as add(a, b).

    PASS is expanded (Sema without macros), tree (names resolved), build (A-normal form), a pass over that (infer,
    loops, own, ...: a wrong name lists them), ast or py.
    """
    if native:
        from semac.cli.native import compile_natively

        if output is not None or check or fast or dump is not None:
            return failed("--native keeps what it makes beside the source, and takes no other option")
        return compile_natively(list(sema_files(source)) if os.path.isdir(source) else [source])
    if os.path.isdir(source):
        if dump is not None or output == "-":
            return failed("a folder is compiled to files: -o FOLDER, without --dump")
        return compile_folder(source, output or source, check, fast)
    if dump is None and not check and output != "-":
        into_folder = output is not None and (os.path.isdir(output) or output.endswith(os.sep))
        name = os.path.join(output or "", os.path.basename(source)) if into_folder else source
        return compile_file(source, compiled_path(name) if into_folder or output is None else output, check, fast=fast)
    return compile_file(source, None, check, dump or "py", fast)


def compile_folder(source: str, output: str, check: bool, fast: bool) -> int:
    """Compiles the .sema files below a folder and copies its Python files, so that the output runs on its own."""
    outside = os.path.realpath(output)
    status = 0
    made = set()
    for path in files_below(source, (".sema",)):
        target = compiled_path(os.path.join(output, os.path.relpath(path, source)))
        beside = os.path.join(os.path.dirname(path), os.path.basename(target))
        if os.path.isfile(beside) and not same_place(beside, target):
            status = failed(f"{path} and {beside} would both be written to {target}: Python imports the latter")
            continue
        made.add(os.path.realpath(target))
        status |= compile_file(path, target, check, fast=fast, for_import=True)
    if check or os.path.realpath(source) == outside:
        return status
    for path in files_below(source, PYTHON_FILES):
        target = os.path.join(output, os.path.relpath(path, source))
        if not os.path.realpath(path).startswith(os.path.join(outside, "")) and os.path.realpath(target) not in made:
            status |= copy_file(path, target)
    return status


def same_place(path: str, other: str) -> bool:
    return os.path.realpath(path) == os.path.realpath(other)


def copy_file(path: str, target: str) -> int:
    """Copies a file. Returns 0, or 1 with a message on stderr."""
    import shutil

    try:
        os.makedirs(os.path.dirname(target) or ".", exist_ok=True)
        shutil.copyfile(path, target)
    except OSError as error:
        return failed(f"cannot write '{target}': {error.strerror}")
    return 0


def compile_file(
    path: str, target: str | None, check: bool, dump: str = "py", fast: bool = False, for_import: bool = False
) -> int:
    """Compiles one file to target, None for stdout. Returns 0, or 1 with a message on stderr.

    for_import: whether compiled files import it, which then need to know its names.
    """
    from semac.cli.running import read_source
    from semac.diagnostics.render import show_error
    from semac.sources import decode

    source = read_source(path, "file not found: {}")
    if source is None:
        return 1
    try:
        text = decode(source, path)
        output, functions = compiled(text, path, dump, fast, for_import)
    except Exception as error:  # errors of macro bodies are of any kind
        if check:
            print(f"✗ {path}: {_first_line(error)}", file=sys.stderr)
        else:
            show_error(error, path)
        return 1
    if check:
        print(f"✓ {path}: valid ({functions} functions, {len(output.encode())} bytes)")
    elif target is None:
        sys.stdout.write(output)
    elif os.path.abspath(target) == os.path.abspath(path):
        return failed(f"the output would replace the source: {path}")
    else:
        from semac.generate.text import version_line

        return write_whole(target, version_line() + output)
    return 0


def compiled(text: str, path: str, dump: str, fast: bool, for_import: bool = False) -> tuple[str, int]:
    """(the text of one pass, the number of functions). Raises SemaError and what macro bodies raise."""
    from semac.dumps import Dumps
    from semac.pipeline import compile_source

    dumps = Dumps(dump)
    is_text = dump == "py" and not fast
    real = os.path.realpath(path)
    unit = compile_source(text, real, "module", is_text=is_text, watch=dumps.watch, lists_globals=for_import)
    unit.text = text
    output = dumps.of(unit)
    return output if output.endswith("\n") else output + "\n", len(unit.unit.functions)


def _first_line(error: Exception) -> str:
    from sema_runtime.conditions.describe import describe

    shown = describe(error)
    place = f"{shown.place[0]}:{shown.place[1]}: " if shown.place else ""
    return place + shown.message.split("\n", 1)[0]


def write_whole(path: str, text: str) -> int:
    """Replaces a file as a whole, so that readers never see half of it. A device or a pipe is written directly."""
    from sema_runtime.support.replacing import Replacement

    try:
        os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
        with Replacement(path, in_place=True, through=True) as file:
            file.write(text.encode())
    except OSError as error:
        return failed(f"cannot write '{path}': {error.strerror}")
    return 0
