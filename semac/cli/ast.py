"""`sema ast`: the forms of a program, as text or JSON."""

from __future__ import annotations

import click

from semac.cli.common import SETTINGS, failed, standalone


def main(args: list[str]) -> int:
    """Runs `sema ast ARGS` and returns the exit status."""
    return standalone(ast_command, args)


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
