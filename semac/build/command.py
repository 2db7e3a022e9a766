"""`sema build`: a program and all that it needs in one file."""

from __future__ import annotations

import json
import os
import sys
import time
from hashlib import sha256
from typing import Any, NamedTuple

import click

from semac.build.errors import BuildError
from semac.build.launch import placed
from semac.cli.common import SETTINGS, failed, standalone


class Options(NamedTuple):
    """What the command line says; see its help."""

    file: str
    output: str | None
    includes: tuple[str, ...]
    distributions: tuple[str, ...]
    standalone: bool
    target: str | None
    runtime: str | None
    no_cache: bool
    verbose: bool
    as_json: bool


def main(args: list[str]) -> int:
    """Runs `sema build ARGS` and returns the exit status."""
    return standalone(build_command, args)


@click.command("sema build", context_settings=SETTINGS)
@click.argument("file", required=False, metavar="FILE")
@click.option("-o", "--output", metavar="OUT", help="File to write, or folder for it. [name of FILE without ending]")
@click.option("--include", "includes", multiple=True, metavar="PATH", help="File or folder to carry; repeatable.")
@click.option("--with", "distributions", multiple=True, metavar="NAME", help="Python package to carry, with what it"
              " requires; repeatable. Those that are imported come by themselves.")  # fmt: skip
@click.option("--standalone", is_flag=True, help="An executable for machines without Python (PyInstaller).")
@click.option("--target", metavar="T", help="System to build for; has to be this one, see --list-targets.")
@click.option("--list-targets", is_flag=True, help="List systems and exit.")
@click.option("--runtime", metavar="PYTHON", help="Command that runs the program. [/usr/bin/env python3]")
@click.option("--no-cache", is_flag=True, help="Build everything again, keep nothing for the next build.")
@click.option("-v", "--verbose", is_flag=True, help="List what goes in.")
@click.option("--json", "as_json", is_flag=True, help="Print a manifest as JSON.")
def build_command(file: str | None, list_targets: bool, **options: Any) -> int:
    """Build FILE, a Sema or Python program, into one file that runs without semac.

    The file carries what the program imports or loads by literal names (Sema files, packages, Python modules beside
    it), the Python packages that these and the runtime need, and the files of --include. Imports, loads and reads of
    files look there first, by paths relative to FILE; a folder of --include keeps its name.

    \b
    Examples:
      sema build agent.sema                       ./agent, for machines with Python
      sema build agent.sema --include prompts     (file/read "prompts/first.txt")
      sema build agent.sema --standalone          for machines without
      ./agent --mcp                               serves its deftools to MCP clients

    A program that needs compiled packages (greenlet, pydantic-core) runs on the version of Python and the kind of
    machine that built it, another one anywhere. At its first start it unpacks itself into ~/.sema/cache/built.
    """
    from semac.build.targets import listing

    if list_targets:
        print(listing())
        return 0
    if file is None:
        raise click.UsageError("Missing argument 'FILE'.")
    chosen = Options(file, **options)
    started = time.monotonic()
    try:
        manifest = build(chosen)
    except BuildError as error:
        if chosen.as_json:
            print(json.dumps(manifest_of_failure(chosen, str(error), started)))
        return failed(str(error))
    if chosen.as_json:
        print(json.dumps(manifest))
    return 0


def build(options: Options) -> dict[str, Any]:
    """Builds a program; the manifest. Raises BuildError."""
    from semac.build.distributions import files, needed
    from semac.build.layers import Compiled, our_packages
    from semac.build.program import traced
    from semac.build.targets import chosen

    started = time.monotonic()
    target = chosen(options.target)
    program = traced(options.file, options.includes)
    output = output_path(options)
    refuse_inputs(output, program.files)
    for note in program.notes:
        tell(f"Warning: {note}")
    compiled = Compiled(program)
    tell(f"Compiled {options.file} ({len(program.sources) + len(program.packages)} source files)", not options.as_json)
    distributions = needed(program.modules, compiled.runtime, options.distributions)
    if options.verbose:
        list_parts(program, distributions)
    if options.standalone:
        from semac.build.standalone import executable

        data = executable(program, compiled, distributions, not options.no_cache)
        interpreter = None
    else:
        from semac.build.archive import Zipapp

        packages = our_packages()
        for distribution in distributions.values():
            packages.update(files(distribution))
        layers = {"packages": packages, "program": compiled.files}
        zipapp = Zipapp(os.path.basename(output), layers, compiled.main, compiled.digest)
        data = zipapp.written(metadata(program.entry, options.file), options.runtime, not options.no_cache)
        interpreter = options.runtime or zipapp.interpreter()
        if not zipapp.native:
            target = "any"
    write(output, data)
    return report(options, output, data, len(program.files), target, interpreter, time.monotonic() - started)


def output_path(options: Options) -> str:
    """The file to write."""
    path = os.path.abspath(options.file)
    package = placed(path)[1]
    name = package.rpartition(".")[2] or os.path.splitext(os.path.basename(path))[0]
    if sys.platform == "win32":
        name += ".exe" if options.standalone else ".pyz"
    if options.output is None:
        return name
    if os.path.isdir(options.output) or options.output.endswith((os.sep, "/")):
        return os.path.join(options.output, name)
    return options.output


def refuse_inputs(output: str, inputs: list[str]) -> None:
    """Raises BuildError where the output would replace a file that goes into it, or a folder."""
    if os.path.isdir(output):
        raise BuildError(f"{output} is a folder; name the file to write with -o")
    for file in inputs:
        if os.path.exists(output) and os.path.samefile(output, file):
            raise BuildError(f"the output would replace {file}, which is a part of the program; choose another with -o")


def write(output: str, data: bytes) -> None:
    """Writes an executable file as a whole. Raises BuildError."""
    from sema_runtime.support.replacing import Replacement

    umask = os.umask(0)
    os.umask(umask)
    try:
        os.makedirs(os.path.dirname(output) or ".", exist_ok=True)
        with Replacement(output, 0o777 & ~umask) as file:
            file.write(data)
    except OSError as error:
        raise BuildError(f"cannot write {output}: {error.strerror}") from None


def metadata(entry: str, file: str) -> dict[str, str]:
    """Facts about a build that its file carries."""
    from datetime import UTC, datetime

    from semac import __version__

    moment = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    return {
        "sema-version": __version__,
        "build-timestamp": datetime.fromtimestamp(moment, UTC).isoformat(),
        "entry-point": entry,
        "build-root": os.path.dirname(os.path.realpath(file)),
    }


def report(
    options: Options, output: str, data: bytes, count: int, target: str, interpreter: str | None, seconds: float
) -> dict[str, Any]:
    """Says what was built; the manifest."""
    if not options.as_json:
        where = "any machine with Python 3.11 or newer" if target == "any" else target
        print(f"Built {output} ({size(len(data))}, {count} bundled files) for {where} in {seconds:.1f}s")
    built = {
        **described(target),
        "path": output,
        "bytes": len(data),
        "sha256": sha256(data).hexdigest(),
        "runtime": interpreter,
        "ok": True,
        "error": None,
    }
    duration = round(seconds * 1000)
    return {
        "source": options.file,
        "bundled_files": count,
        "archive_bytes": len(data),
        "duration_ms": duration,
        "targets": [built],
    }


def manifest_of_failure(options: Options, error: str, started: float) -> dict[str, Any]:
    """The manifest of a build that failed."""
    from semac.build.targets import host

    built = {**described(options.target or host()), "path": None, "bytes": 0, "sha256": None, "runtime": None}
    return {
        "source": options.file,
        "bundled_files": 0,
        "archive_bytes": 0,
        "duration_ms": round((time.monotonic() - started) * 1000),
        "targets": [{**built, "ok": False, "error": error}],
    }


def described(target: str) -> dict[str, str]:
    """A target with its parts."""
    arch, _, system = target.partition("-")
    return {"target": target, "os": system or "any", "arch": arch}


def list_parts(program: Any, distributions: dict[str, Any]) -> None:
    """Lists the files and the packages of a program on stderr."""
    for place, file in {**program.sources, **program.packages, **program.included}.items():
        tell(f"  {place}  {file}")
    for name, distribution in sorted(distributions.items()):
        tell(f"  package {name} {distribution.version}")


def tell(text: str, is_wanted: bool = True) -> None:
    if is_wanted:
        print(text, file=sys.stderr)


def size(count: int) -> str:
    """A number of bytes for people."""
    if count < 1 << 20:
        return f"{count / 1024:.1f} KB"
    return f"{count / (1 << 20):.1f} MB"
