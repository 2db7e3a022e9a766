"""`sema eval`: its options; `answers.py` evaluates the programs."""

from __future__ import annotations

import json
import sys
from typing import Any

import click

from semac.cli.common import LLM_OPTIONS, SETTINGS, failed, sandbox_options, set_up, standalone

MEMORY_HELP = "Memory limit, such as 512MB; 0 = none. [2GB]"
OUTPUT_HELP = "Limit of what a program may print into a JSON answer; 0 = none. [16MB]"


def main(args: list[str]) -> int:
    """Runs `sema eval ARGS` and returns the exit status."""
    return standalone(eval_command, args)


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
@click.option("--memory", default=2 << 30, type=Size(), metavar="SIZE", help=MEMORY_HELP)
@click.option("--max-output", default=16 << 20, type=Size(), metavar="SIZE", help=OUTPUT_HELP)
@sandbox_options
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
    from semac.cli.eval import answers
    from semac.cli.eval.limits import Limits
    from semac.cli.eval.processes import supervised

    limits = Limits(timeout / 1000, memory, max_output)
    problem = set_up({**dict.fromkeys(LLM_OPTIONS), **options})
    if problem is not None:
        problem = f"Invalid sandbox: {problem}"
    elif stream and (from_stdin or expression is not None or as_json):
        raise click.UsageError("--jsonl excludes --expr, --stdin and --json")
    elif not (stream or from_stdin) and expression is None:
        problem = "Either --stdin or --expr is required"
    if problem is not None:
        return failed(problem) if not as_json else _report(answers.refusal(problem), 1)
    if stream:
        return answers.jsonl(limits)
    text = sys.stdin.read() if from_stdin else expression or ""
    if as_json:
        return supervised(lambda: _report(answers.report(text, path, limits), 0))
    return supervised(lambda: answers.plain(text, path, limits))


def _report(answer: dict[str, object], status: int) -> int:
    """Prints an answer as JSON and returns the status."""
    from sema_runtime.support.visible import json_at_terminal

    print(json_at_terminal(json.dumps(answer, ensure_ascii=False, sort_keys=True)))
    return status
