"""What the commands share: click settings, options of the sandbox, running a command, reporting a failure."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import click

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
LLM_OPTIONS = ("chat_model", "chat_provider", "embedding_model", "embedding_provider")
OPTIONS = ("sandbox", "allowed_paths", "allow", "no_llm", *LLM_OPTIONS)  # what `set_up` needs
WITH_VALUE = {
    *("-e", "--eval", "-p", "--print", "-l", "--load", "--chat-model", "--chat-provider"),
    *("--embedding-model", "--embedding-provider", "--sandbox", "--allowed-paths", "--allow"),
}
SANDBOX_HELP = (
    "strict (no shell, processes, network, LLM calls, serial ports, Python, and no writing of files or the environment;"
    " reading both is allowed), all, none, or denied capabilities, comma-separated. No security boundary."
)
PATHS_HELP = "Directories that file operations may touch; also denies shell, process and Python."
ALLOW_HELP = "Capabilities to allow in spite of --allowed-paths: shell, process or both, comma-separated."


# What gets the click command and its arguments in place of a run, while a shell asks what can follow.
instead_of_running: Callable[[click.Command, list[str]], None] | None = None


def sandbox_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Adds --sandbox, --allowed-paths and --allow to a command, for `set_up`."""
    command = click.option("--allow", metavar="CAPS", help=ALLOW_HELP)(command)
    command = click.option("--allowed-paths", metavar="A,B", help=PATHS_HELP)(command)
    return click.option("--sandbox", metavar="MODE", help=SANDBOX_HELP)(command)


def set_up(options: dict[str, Any]) -> str | None:
    """Applies the sandbox and the settings for LLM calls to this process. Returns a message if they are wrong."""
    if any(options[option] is not None for option in ("sandbox", "allowed_paths", "allow")):
        from sema_runtime import capabilities, sandbox

        try:
            denied = capabilities.parse_mode(options["sandbox"] or "none")
            allowed = capabilities.parse_allowed(options["allow"] or "")
        except ValueError as error:
            return str(error)
        paths = options["allowed_paths"]
        directories = None if paths is None else [path for path in paths.split(",") if path]
        sandbox.enter(denied, directories, allowed)
    for option in LLM_OPTIONS:
        if options[option] is not None:
            os.environ[f"SEMA_{option.upper()}"] = options[option]
    if options["no_llm"]:
        os.environ["SEMA_NO_LLM"] = "1"
    return None


def standalone(command: click.Command, args: list[str], script: Sequence[str] = ()) -> int:
    """Runs a click command and returns its exit status, 2 for wrong usage.

    The command's name is everything that users type, such as `sema workflow run`. script: arguments after `--`.
    """
    name = command.name or ""
    if instead_of_running is not None:
        instead_of_running(command, args)
        return 0
    try:
        with command.make_context(name, args, obj=script) as context:  # `main` would end the process at a closed pipe
            result = command.invoke(context)
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except click.ClickException as error:
        from sema_runtime.support.visible import escape_terminal

        escape_terminal()  # the message quotes arguments
        _misplaced(error, name).show()
        return error.exit_code
    except click.Abort:
        return 1
    except (EOFError, KeyboardInterrupt):
        click.echo(file=sys.stderr)
        return 1
    return result if isinstance(result, int) else 0


def _misplaced(error: click.ClickException, name: str) -> click.ClickException:
    """The error to show: for an option of `sema` that follows a command, one that says where it belongs."""
    if name == "sema" or not isinstance(error, click.NoSuchOption):
        return error
    option = error.option_name
    if option not in WITH_VALUE and option != "--no-llm":
        return error
    moved = name.replace("sema", f"sema {option} ..." if option in WITH_VALUE else f"sema {option}", 1)
    return click.UsageError(f"{option} stands before the command: {moved}", error.ctx)


def failed(message: str) -> int:
    """Prints an error message to stderr and returns the exit status 1."""
    from sema_runtime.support.visible import tell

    tell(f"Error: {message}")
    return 1


def sema_files(folder: str) -> Iterator[str]:
    """The `.sema` files below a folder, hidden folders left out, in a fixed order."""
    return files_below(folder, (".sema",))


def files_below(folder: str, endings: tuple[str, ...]) -> Iterator[str]:
    """The files below a folder with such names, hidden folders left out, in a fixed order."""
    for current, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        for name in sorted(files):
            if name.endswith(endings):
                yield os.path.join(current, name)
