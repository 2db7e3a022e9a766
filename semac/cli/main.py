"""The full command line: options, files, expressions, subcommands; `semac/cli/entry.py` handles the plain cases."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import click

from semac.cli.common import SETTINGS, WITH_VALUE, failed, sandbox_options, set_up, standalone

# name: (module, one line of help); the module's `main` takes the arguments and returns the exit status
COMMANDS: dict[str, tuple[str, str]] = {
    "ast": ("semac.cli.ast", "Show the forms of a program, as text or JSON."),
    "box": ("semac.cli.box.commands", "Run programs that nobody trusts, in hardened processes."),
    "build": ("semac.build.command", "Build a program and all that it needs into one file."),
    "cassette": ("semac.cli.cassette", "List, show, verify and prune recordings of LLM calls."),
    "check": ("semac.cli.check", "Report errors of programs without running them."),
    "completions": ("semac.cli.completions.command", "Print or install what a shell completes at Tab."),
    "compile": ("semac.cli.compile", "Compile programs to Python modules."),
    "doc": ("semac.docs.lookup", "Show or search the documentation of builtins and special forms."),
    "doctor": ("semac.cli.doctor", "Show which providers, keys and extras are set up; try a call."),
    "eval": ("semac.cli.eval.command", "Evaluate one program and print its value, or a JSON report."),
    "fmt": ("semac.cli.fmt", "Lay out source files."),
    "jupyter": ("semac.jupyter.install", "Install the kernel for Jupyter notebooks."),
    "lsp": ("semac.cli.editors.lsp", "Answer an editor: completion, definitions, errors (Language Server Protocol)."),
    "mcp": ("semac.mcp_server.command", "Serve Sema to MCP clients such as coding agents; logins to other servers."),
    "new": ("semac.project.command", "Make a project with a package, tests, CI and a build hook."),
    "notebook": ("semac.jupyter.notebook", "Run, export and convert notebooks; open JupyterLab."),
    "nrepl": ("semac.cli.editors.nrepl", "Start a server with which editors evaluate forms."),
    "pkg": ("semac.pkg.command", "Install packages from git, registries and Python's index."),
    "run": ("semac.cli.run", "Run a file or, with -m, a module of Python or Sema, with the import hook."),
    "stubs": ("semac.cli.editors.stubs", "Write .pyi files: types for mypy, pyright and editors."),
    "test": ("semac.testing.command", "Run the tests in test_*.sema and test_*.py, with pytest."),
    "usage": ("semac.cli.usage", "Sum up what calls to models used and cost."),
    "workflow": ("semac.cli.workflow.command", "Run workflows; watch, list and compare runs."),
}
INSTEAD = {  # of commands that the reference has
    "dap": "debugpy debugs Sema files: python -m debugpy --listen 5678 --wait-for-client -m semac FILE",
    "disasm": "sema compile FILE -o - shows the Python that a file becomes",
    "update": "pip install --upgrade semac",
    "web": "the playground of the documentation's site runs Sema in a browser",
}
EPILOG = """\b
Commands:
{commands}
  'sema COMMAND --help' describes one of them.

\b
Examples:
  sema                           start the REPL
  sema program.sema              run a program
  sema program.sema -- in.txt    run it with arguments for (sys/args)
  sema -e '(map abs [-1 2])'     evaluate, print the value unless it is nil
  sema -l lib.sema -p '(f 3)'    load a file first, print the value
  sema --sandbox strict p.sema   run without network, processes, Python; files are only read
  sema doc guide                 the language on one page, for coding agents too
"""


def main(args: Sequence[str]) -> int:
    """Runs `sema ARGS` and returns the exit status."""
    before, script = split_script(list(args))
    if len(before) < len(args):
        from sema_runtime.support import command_line

        command_line.has_dashes = True
    at = word_at(before)
    if at is None:
        return standalone(top, before, script)
    name = before[at]
    if name not in COMMANDS:
        problem = _no_command(name)
        if problem is None:
            return standalone(top, before, script)
        from sema_runtime.support.visible import tell

        tell(f"Error: {problem}")
        return 2
    if at:
        status = standalone(top, [*before[:at], "--setup-only"])
        if status:
            return status
    return run_command(name, [*before[at + 1 :], *(["--", *script] if len(before) < len(args) else [])])


def split_script(args: list[str]) -> tuple[list[str], list[str]]:
    """(the arguments before `--`, those after it)."""
    if "--" not in args:
        return args, []
    at = args.index("--")
    return args[:at], args[at + 1 :]


def word_at(args: list[str]) -> int | None:
    """The index of the first argument that isn't an option: a file, or the name of a command."""
    index = 0
    while index < len(args):
        arg = args[index]
        if not arg.startswith("-") or arg == "-":
            return index
        index += 2 if arg in WITH_VALUE else 1
    return None


def _no_command(word: str) -> str | None:
    """The problem with a word that was meant as a command; None for a file, and for anything else."""
    from difflib import get_close_matches

    if os.path.lexists(word):
        return None
    if word in INSTEAD:
        return f"there is no 'sema {word}'\n  hint: {INSTEAD[word]}"
    near = get_close_matches(word, COMMANDS, 1, 0.75)
    return f"no such file or command '{word}'. Did you mean 'sema {near[0]}'?" if near else None


def run_command(name: str, args: list[str]) -> int:
    """Imports and runs one subcommand."""
    module, _ = COMMANDS[name]
    action: Callable[[list[str]], int] = import_module(module).main
    from semac.cli.exits import guarded

    status = 0

    def run() -> None:
        nonlocal status
        status = action(args)

    if shows_only(name, args):
        from sema_runtime.support.visible import escape_terminal

        escape_terminal("--json" in args)
    return guarded(run) or status


def shows_only(name: str, args: list[str]) -> bool:
    """Whether a command runs no program, so that all its output can be escaped."""
    return name not in ("eval", "lsp", "nrepl", "run") and (name != "workflow" or args[:1] not in (["run"], ["view"]))


def _listing() -> str:
    return "\n".join(f"  {name:<11} {COMMANDS[name][1]}" for name in sorted(COMMANDS))


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from semac import __version__

        click.echo(f"sema {__version__}")
        context.exit()


@click.command(
    "sema",
    context_settings=SETTINGS,
    epilog=EPILOG.format(commands=_listing()),
    options_metavar="[OPTIONS]",
)
@click.argument("file", required=False, metavar="[FILE] [-- ARGS...]")
@click.option("-e", "--eval", "expression", metavar="EXPR", help="Evaluate EXPR, print its value unless it is nil.")
@click.option("-p", "--print", "shown", metavar="EXPR", help="Evaluate EXPR, print its value in one line.")
@click.option("-l", "--load", "loads", multiple=True, metavar="FILE", help="Run FILE first; repeatable.")
@click.option("-q", "--quiet", is_flag=True, help="No banner.")
@click.option("-i", "--interactive", is_flag=True, help="Start the REPL afterwards, in the same environment.")
@click.option("--no-llm", is_flag=True, help="Don't configure LLM providers.")
@click.option("--chat-model", metavar="MODEL", help="Model for chat and completion (SEMA_CHAT_MODEL).")
@click.option("--chat-provider", metavar="NAME", help="Its provider (SEMA_CHAT_PROVIDER).")
@click.option("--embedding-model", metavar="MODEL", help="Model for embeddings (SEMA_EMBEDDING_MODEL).")
@click.option("--embedding-provider", metavar="NAME", help="Its provider (SEMA_EMBEDDING_PROVIDER).")
@sandbox_options
@click.option("-V", "--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show it.")
@click.option("--setup-only", is_flag=True, hidden=True)
@click.pass_context
def top(context: click.Context, /, file: str | None, expression: str | None, shown: str | None, **options: Any) -> int:
    """Run a Sema program, evaluate an expression, or start the REPL."""
    if sum(text is not None for text in (file, expression, shown)) > 1:
        raise click.UsageError("FILE, --eval and --print exclude each other")
    problem = set_up(options)
    if problem is not None:
        return failed(problem)
    if options["setup_only"]:
        return 0
    if file is not None and not options["loads"] and not options["interactive"]:
        from semac.cli.running import run_file

        return run_file(file, context.obj)
    return in_session(file, expression, shown, options, context.obj)


def in_session(
    file: str | None, expression: str | None, shown: str | None, options: dict[str, Any], script: list[str]
) -> int:
    """Loads files, evaluates the expression or file, and then starts the REPL if requested."""
    from sema_runtime.support.visible import at_terminal
    from sema_runtime.values.printer import pretty, to_text
    from semac.cli.exits import guarded
    from semac.cli.running import find_sema_modules, look_beside, read_source
    from semac.session import Session

    find_sema_modules()
    sys.argv = [file or "sema", *script]
    plain = file is None and expression is None and shown is None
    session = Session(file or "<input>", closed=not (options["loads"] or options["interactive"] or plain))
    for path in options["loads"]:
        source = read_source(path, "file not found: {}")
        if source is None:
            return 1
        status = guarded(partial(run_text, session, source, path), path, prefix=f"Error loading {path}:")
        if status:
            return status
    status = 0
    if file is not None:
        source = read_source(file)
        if source is None:
            return 1
        look_beside(file)
        status = guarded(partial(run_text, session, source, file), file)
    elif not plain:
        text = expression if expression is not None else shown or ""

        def run() -> None:
            value = session.run(text)
            if expression is None:
                print(at_terminal(to_text(value)))
            elif value is not None:
                print(at_terminal(pretty(value)))

        status = guarded(run, "<input>", {"<input>": text})
    if plain or options["interactive"]:
        from semac.cli.repl.loop import Repl

        return Repl(lambda: session, quiet=options["quiet"]).run()
    return status


def run_text(session: Any, source: bytes, path: str) -> Any:
    """Runs the text of a file in a session."""
    from semac.sources import decode

    session.globals["__file__"] = path
    return session.run(decode(source, path), os.path.realpath(path))
