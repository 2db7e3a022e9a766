"""The small subcommands: `sema ast` and `sema eval`. Each `..._main(args)` gives the exit status."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from semac.cli.main import ALLOW_HELP, PATHS_HELP, SANDBOX_HELP, standalone

SETTINGS = {"help_option_names": ["-h", "--help"], "max_content_width": 100}


def ast_main(args: list[str]) -> int:
    """`sema ast ARGS`."""
    return standalone(ast_command, args)


def eval_main(args: list[str]) -> int:
    """`sema eval ARGS`."""
    return standalone(eval_command, args)


@click.command("sema ast", context_settings=SETTINGS)
@click.argument("file", required=False)
@click.option("-e", "--eval", "expression", metavar="EXPR", help="Text to read instead of a file.")
@click.option("--json", "as_json", is_flag=True, help="JSON instead of an indented tree.")
def ast_command(file: str | None, expression: str | None, as_json: bool) -> int:
    """Show the forms that the reader finds in FILE or EXPR.

    \b
    Examples:
      sema ast program.sema
      sema ast -e "'(1 x)" --json
    """
    from sema_runtime.values.errors import SemaError
    from semac.cli.running import read_source
    from semac.diagnostics.render import show_error
    from semac.sources import decode
    from semac.syntax.dump import json_dump, text_dump
    from semac.syntax.reader import read_program

    if file is not None and expression is not None:
        return failed("cannot specify both a file and --eval")
    if file is None and expression is None:
        return failed("provide a file or --eval expression")
    text = expression or ""
    try:
        if file is not None:
            source = read_source(file, "file not found: {}")
            if source is None:
                return 1
            text = decode(source, file)
        forms = read_program(text)
    except SemaError as error:
        show_error(error, file or "<input>", {"<input>": text}, label="Parse error:")
        return 1
    shown = json_dump(forms) if as_json else text_dump(forms)
    if shown:
        print(shown)
    return 0


class Size(click.ParamType):  # type: ignore[type-arg]
    """A number of bytes, such as 512MB."""

    name = "size"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        from semac.cli.eval.limits import size

        try:
            return value if isinstance(value, int) else size(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


@click.command("sema eval", context_settings=SETTINGS)
@click.option("--expr", "expression", metavar="CODE", help="The program.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the program from stdin.")
@click.option("--jsonl", "stream", is_flag=True, help='Answer programs from stdin, {"id", "src"} a line.')
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: value, stdout, stderr, error, elapsedMs.")
@click.option("--path", default="<input>", metavar="FILE", help="The file that the text belongs to.")
@click.option("--timeout", default=5000, type=click.IntRange(0), metavar="MS", help="Time limit; 0 = none. [5000]")
@click.option(
    "--memory", default=2 << 30, type=Size(), metavar="SIZE", help="Memory limit, such as 512MB; 0 = none. [2GB]"
)
@click.option(
    "--max-output",
    default=16 << 20,
    type=Size(),
    metavar="SIZE",
    help="Limit of what a program may print into a JSON answer; 0 = none. [16MB]",
)
@click.option("--sandbox", metavar="MODE", help=SANDBOX_HELP)
@click.option("--allowed-paths", metavar="A,B", help=PATHS_HELP)
@click.option("--allow", metavar="CAPS", help=ALLOW_HELP)
@click.option("--no-llm", is_flag=True, help="Don't configure LLM providers.")
def eval_command(
    expression: str | None,
    from_stdin: bool,
    stream: bool,
    as_json: bool,
    path: str,
    timeout: int,
    memory: int,
    max_output: int,
    **options: Any,
) -> int:
    """Evaluate one program in a fresh environment and a process of its own, or with --jsonl a stream of programs.

    A program that passes a limit is ended together with all processes it started; its answer names the limit.

    \b
    Examples:
      sema eval --expr '(+ 1 2)'
      echo '(println "hi") [1 2]' | sema eval --stdin --json
      sema eval --jsonl --timeout 1000 --memory 512MB --sandbox strict < programs.jsonl
    """
    from semac.cli.eval import command as evaluation
    from semac.cli.eval.limits import Limits
    from semac.cli.eval.processes import supervised
    from semac.cli.main import LLM_OPTIONS, set_up

    limits = Limits(timeout / 1000, memory, max_output)
    problem = set_up({**dict.fromkeys(LLM_OPTIONS), **options})
    if problem is not None:
        problem = f"Invalid sandbox: {problem}"
    elif stream and (from_stdin or expression is not None or as_json):
        raise click.UsageError("--jsonl excludes --expr, --stdin and --json")
    elif not (stream or from_stdin) and expression is None:
        problem = "Either --stdin or --expr is required"
    if problem is not None:
        return failed(problem) if not as_json else _report(evaluation.refusal(problem), 1)
    if stream:
        return evaluation.jsonl(limits)
    text = sys.stdin.read() if from_stdin else expression or ""
    if as_json:
        return supervised(lambda: _report(evaluation.report(text, path, limits), 0))
    return supervised(lambda: evaluation.plain(text, path, limits))


def _report(answer: dict[str, object], status: int) -> int:
    from sema_runtime.support.visible import json_at_terminal

    print(json_at_terminal(json.dumps(answer, ensure_ascii=False, sort_keys=True)))
    return status


def failed(message: str) -> int:
    """Says what went wrong; the exit status 1."""
    print(f"Error: {message}", file=sys.stderr)
    return 1
