"""The full command line: options, files, expressions, subcommands; `semac/cli/entry.py` handles the plain cases."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from typing import Any

import click

# name: (module, function, one line of help); the function takes the arguments and gives the exit status
COMMANDS: dict[str, tuple[str, str, str]] = {
    "ast": ("semac.cli.commands", "ast_main", "Show what the reader makes of a program, as text or JSON."),
    "cassette": ("semac.cli.cassette", "main", "List, show, verify and prune recordings of LLM calls."),
    "check": ("semac.cli.check", "main", "Report errors of programs without running them."),
    "compile": ("semac.cli.compile", "main", "Compile programs to Python modules."),
    "doc": ("semac.docs.lookup", "main", "Show or search the documentation of builtins and special forms."),
    "doctor": ("semac.cli.doctor", "main", "Show which providers, keys and extras are set up; try a call."),
    "eval": ("semac.cli.commands", "eval_main", "Evaluate one program and print its value, or a JSON report."),
    "mcp": ("semac.cli.mcp", "main", "Log in to MCP servers, log out, list them."),
    "usage": ("semac.cli.usage", "main", "Sum up what calls to models used and cost."),
    "workflow": ("semac.cli.workflow.command", "main", "Run workflows; watch, list and compare runs."),
}
NOT_YET = ("build", "completions", "dap", "disasm", "fmt", "lsp", "notebook", "pkg", "update", "web")  # the reference's
WITH_VALUE = {
    *("-e", "--eval", "-p", "--print", "-l", "--load", "--chat-model", "--chat-provider"),
    *("--embedding-model", "--embedding-provider", "--sandbox", "--allowed-paths", "--allow"),
}
SANDBOX_HELP = (
    "strict (no shell, processes, network, LLM calls, serial ports, Python, and no writing of files or the environment;"
    " reading both is allowed), all, none, or a comma list of denied capabilities. No security boundary."
)
PATHS_HELP = "Directories that file operations may touch; also denies shell, process and Python."
ALLOW_HELP = "What --allowed-paths alone would deny: shell, process or both, comma-separated."
LLM_OPTIONS = ("chat_model", "chat_provider", "embedding_model", "embedding_provider")
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
    """Runs `sema ARGS`; the exit status."""
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
        click.echo(f"Error: {problem}", err=True)
        return 2
    if at:
        status = standalone(top, [*before[:at], "--setup-only"])
        if status:
            return status
    return run_command(name, [*before[at + 1 :], *(["--", *script] if len(before) < len(args) else [])])


def split_script(args: list[str]) -> tuple[list[str], list[str]]:
    """(our arguments, those behind `--`)."""
    if "--" not in args:
        return args, []
    at = args.index("--")
    return args[:at], args[at + 1 :]


def word_at(args: list[str]) -> int | None:
    """Where the first argument stands that is no option: a file, or the name of a command."""
    index = 0
    while index < len(args):
        arg = args[index]
        if not arg.startswith("-") or arg == "-":
            return index
        index += 2 if arg in WITH_VALUE else 1
    return None


def _no_command(word: str) -> str | None:
    """What is wrong with a word that was meant as a command; None for a file, and for what is neither."""
    from difflib import get_close_matches

    if os.path.lexists(word):
        return None
    if word in NOT_YET:
        return f"'sema {word}' is not available yet"
    near = get_close_matches(word, COMMANDS, 1, 0.75)
    return f"no such file or command '{word}'. Did you mean 'sema {near[0]}'?" if near else None


def run_command(name: str, args: list[str]) -> int:
    """Runs one subcommand, imported now."""
    module, function, _ = COMMANDS[name]
    action: Callable[[list[str]], int] = getattr(import_module(module), function)
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
    """Whether a command runs no program, so that all that it writes is ours or what we quote."""
    return name != "eval" and (name != "workflow" or args[:1] not in (["run"], ["view"]))


def standalone(command: click.Command, args: list[str], script: Sequence[str] = ()) -> int:
    """Runs a click command whose name is all of what is typed, `sema workflow run`; wrong usage gives 2."""
    name = command.name or ""
    try:
        with command.make_context(name, args, obj=script) as context:  # `main` would end the process at a closed pipe
            result = command.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        _misplaced(error, name).show()
        return error.exit_code
    except click.Abort:
        return 1
    except (EOFError, KeyboardInterrupt):
        click.echo(file=sys.stderr)
        return 1
    return result if isinstance(result, int) else 0


def _misplaced(error: click.ClickException, name: str) -> click.ClickException:
    """What is told of an error: of an option of `sema` behind a command, where it belongs."""
    if name == "sema" or not isinstance(error, click.NoSuchOption):
        return error
    option = error.option_name
    if option not in WITH_VALUE and option != "--no-llm":
        return error
    moved = name.replace("sema", f"sema {option} ..." if option in WITH_VALUE else f"sema {option}", 1)
    return click.UsageError(f"{option} stands before the command: {moved}", error.ctx)


def _listing() -> str:
    return "\n".join(f"  {name:<10} {COMMANDS[name][2]}" for name in sorted(COMMANDS))


def _version(context: click.Context, _: click.Parameter, wanted: bool) -> None:
    if wanted and not context.resilient_parsing:
        from semac import __version__

        click.echo(f"sema {__version__}")
        context.exit()


@click.command(
    "sema",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
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
@click.option("--sandbox", metavar="MODE", help=SANDBOX_HELP)
@click.option("--allowed-paths", metavar="A,B", help=PATHS_HELP)
@click.option("--allow", metavar="CAPS", help=ALLOW_HELP)
@click.option("-V", "--version", is_flag=True, callback=_version, expose_value=False, is_eager=True, help="Show it.")
@click.option("--setup-only", is_flag=True, hidden=True)
@click.pass_context
def top(context: click.Context, /, file: str | None, expression: str | None, shown: str | None, **options: Any) -> int:
    """Run a Sema program, evaluate an expression, or start the REPL."""
    if sum(given is not None for given in (file, expression, shown)) > 1:
        raise click.UsageError("FILE, --eval and --print exclude each other")
    problem = set_up(options)
    if problem is not None:
        click.echo(f"Error: {problem}", err=True)
        return 1
    if options["setup_only"]:
        return 0
    if file is not None and not options["loads"] and not options["interactive"]:
        from semac.cli.running import run_file

        return run_file(file, context.obj)
    return in_session(file, expression, shown, options, context.obj)


def set_up(options: dict[str, Any]) -> str | None:
    """Applies the sandbox and the settings for LLM calls to this process; the problem, if there is one."""
    if any(options[option] is not None for option in ("sandbox", "allowed_paths", "allow")):
        from sema_runtime import capabilities, telemetry

        try:
            denied = capabilities.parse_mode(options["sandbox"] or "none")
            allowed = capabilities.parse_allowed(options["allow"] or "")
        except ValueError as error:
            return str(error)
        paths = options["allowed_paths"]
        directories = None if paths is None else [path for path in paths.split(",") if path]
        capabilities.restrict(denied, directories, allowed)
        telemetry.tracer()  # traces go where the environment says now, not where the program makes it say later
    for option in LLM_OPTIONS:
        if options[option] is not None:
            os.environ[f"SEMA_{option.upper()}"] = options[option]
    if options["no_llm"]:
        os.environ["SEMA_NO_LLM"] = "1"
    return None


def in_session(
    file: str | None, expression: str | None, shown: str | None, options: dict[str, Any], script: list[str]
) -> int:
    """Loads files, evaluates the expression or file, and goes on with the REPL where that is wanted."""
    from sema_runtime.support.visible import at_terminal
    from sema_runtime.values.printer import pretty, to_text
    from semac.cli.exits import guarded
    from semac.cli.running import look_beside, read_source
    from semac.session import Session

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

        return Repl(session, quiet=options["quiet"]).run()
    return status


def run_text(session: Any, source: bytes, path: str) -> Any:
    """Runs the text of a file in a session."""
    from semac.sources import decode

    session.globals["__file__"] = path
    return session.run(decode(source, path), os.path.realpath(path))
