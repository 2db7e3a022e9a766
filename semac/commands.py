"""The small subcommands: `sema ast` and `sema eval`. Each `..._main(args)` gives the exit status."""

from __future__ import annotations

import json
import sys

import click

from semac.cli import standalone

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
    from semac.ast_dump import json_dump, text_dump
    from semac.importer import decode
    from semac.reader import read_program
    from semac.render import show_error
    from semac.run import read_source

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


@click.command("sema eval", context_settings=SETTINGS)
@click.option("--expr", "expression", metavar="CODE", help="The program.")
@click.option("--stdin", "from_stdin", is_flag=True, help="Read the program from stdin.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object: value, stdout, stderr, error, elapsedMs.")
@click.option("--path", default="<input>", metavar="FILE", help="The file that the text belongs to.")
@click.option("--timeout", default=5000, type=click.IntRange(0), metavar="MS", help="Time limit; 0 = none. [5000]")
@click.option("--sandbox", metavar="MODE", help="strict, all, none or a comma list of denied capabilities.")
@click.option("--no-llm", is_flag=True, help="Don't configure LLM providers.")
def eval_command(
    expression: str | None,
    from_stdin: bool,
    as_json: bool,
    path: str,
    timeout: int,
    sandbox: str | None,
    no_llm: bool,
) -> int:
    """Evaluate one program in a fresh environment.

    `sema eval --jsonl [--timeout MS]` answers a stream of programs, {"id", "src"} a line.

    \b
    Examples:
      sema eval --expr '(+ 1 2)'
      echo '(println "hi") [1 2]' | sema eval --stdin --json
    """
    from semac import eval_command as evaluation
    from semac.cli import LLM_OPTIONS, set_up
    from semac.run import guarded

    options = {**dict.fromkeys(LLM_OPTIONS), "sandbox": sandbox, "allowed_paths": None, "no_llm": no_llm}
    problem = set_up(options)
    if problem is not None:
        problem = f"Invalid sandbox: {problem}"
    elif not from_stdin and expression is None:
        problem = "Either --stdin or --expr is required"
    if problem is not None:
        return failed(problem) if not as_json else _report(evaluation.refusal(problem), 1)
    text = sys.stdin.read() if from_stdin else expression or ""
    if as_json:
        return _report(evaluation.envelope(text, path, timeout), 0)
    return guarded(lambda: _print_value(text, path, timeout), path, {path: text})


def _print_value(text: str, path: str, timeout: int) -> None:
    from sema_runtime.values.printer import pretty
    from sema_runtime.values.visible import at_terminal
    from semac.eval_command import run_limited

    value = run_limited(text, path, timeout)
    if value is not None:
        print(at_terminal(pretty(value)))


def _report(answer: dict[str, object], status: int) -> int:
    print(json.dumps(answer, ensure_ascii=False, sort_keys=True))
    return status


def failed(message: str) -> int:
    """Says what went wrong; the exit status 1."""
    print(f"Error: {message}", file=sys.stderr)
    return 1
