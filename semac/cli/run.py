"""`sema run`: a file or a module as the main program, with the import hook, as `python FILE` and `python -m`."""

from __future__ import annotations

import sys

import click

from semac.cli.common import SETTINGS, failed, standalone

PASSED_ON = {**SETTINGS, "ignore_unknown_options": True, "allow_interspersed_args": False}


def main(args: list[str]) -> int:
    """Runs `sema run ARGS` and returns the exit status of what it ran."""
    if args[:1] == ["-m"] and args[2:3] not in ([], ["--"]):
        args = [*args[:2], "--", *args[2:]]  # options behind the module are its own
    return standalone(run_command, args)


@click.command("sema run", context_settings=PASSED_ON, options_metavar="[OPTIONS]")
@click.option("-m", "module", metavar="MODULE", help="Run a module or a package, as 'python -m' does.")
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[FILE] [ARGS]...")
def run_command(module: str | None, words: tuple[str, ...]) -> int:
    """Run a Sema file, or a module of Python or Sema, that finds .sema files wherever it imports.

    \b
    Examples:
      sema run program.sema in.txt        as: sema program.sema -- in.txt
      sema run -m shop.orders             shop/orders.sema, or shop/orders/__main__.sema
      sema run -m pytest tests            tests of a package that has .sema files
      sema run -m uvicorn shop.web:app    serves app of shop/web.sema
    """
    from semac.cli.running import run_file

    if module is not None:
        return run_module(module, words)
    if not words:
        raise click.UsageError("what to run is missing: a FILE, or -m MODULE")
    return run_file(words[0], words[2:] if words[1:2] == ("--",) else words[1:])


def run_module(name: str, arguments: tuple[str, ...]) -> int:
    """Runs a module as `__main__`; an error of it is shown as Python shows it, without frames of the compiler."""
    from semac.cli import launch
    from semac.imports.cache import sandboxed
    from semac.imports.finder import install

    if sandboxed():
        return failed("a sandbox that denies Python can't run modules: name a file")
    install()
    try:
        launch.run_module(name, [*arguments])
    except Exception:
        sys.excepthook(*sys.exc_info())
        return 1
    return 0
