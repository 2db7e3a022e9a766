"""`sema fmt`: lays out source files."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING, Any

import click

from semac.cli.common import SETTINGS, failed, standalone

if TYPE_CHECKING:
    from collections.abc import Iterable

    from semac.format.document import Style
    from semac.format.files import Outcome

STDIN = "<stdin>"
SUMMARIES = {  # of a mode: what is said of a changed file, and of all at the end
    "write": ("Formatted: {}", "{changed} file(s) formatted, {unchanged} file(s) unchanged"),
    "check": ("Would reformat: {}", "{changed} file(s) would be reformatted, {parsed} file(s) checked"),
    "diff": ("", "{changed} file(s) would change, {parsed} file(s) checked"),
}


def main(args: list[str]) -> int:
    """Runs `sema fmt ARGS` and returns the exit status."""
    return standalone(fmt_command, args)


@click.command("sema fmt", context_settings=SETTINGS)
@click.argument("files", nargs=-1, metavar="[FILE|FOLDER|GLOB|-]...")
@click.option("--check", is_flag=True, help="Change nothing; status 1 if a file would change.")
@click.option("--diff", is_flag=True, help="Change nothing; show what would change.")
@click.option("--json", "as_json", is_flag=True, help="Change nothing; print one JSON object a file, with its text.")
@click.option("--width", type=click.IntRange(1, 1_000_000), help="Columns of a line. [80]")
@click.option("--indent", type=click.IntRange(1, 1_000_000), help="Columns of an indentation. [2]")
@click.option("--align", is_flag=True, help="Align values of definitions, clauses, bindings and maps.")
@click.option("--max-blank-lines", "blanks", type=click.IntRange(0, 1_000_000), help="Blank lines kept in a row. [1]")
def fmt_command(files: tuple[str, ...], check: bool, diff: bool, as_json: bool, **flags: Any) -> int:
    """Lay out Sema source files; without arguments all *.sema files below the current folder.

    - reads stdin and writes to stdout. The table [fmt] of the nearest sema.toml sets width, indent, align,
    max-blank-lines and ignore (globs and prefixes of paths); options win over it.

    \b
    Examples:
      sema fmt                       format everything here
      sema fmt src "lib/*.sema"      a folder, a glob
      sema fmt --check               for CI: status 1 if a file is not formatted
      sema fmt - < program.sema

    Lines from a comment "; @formatter:off" to "; @formatter:on" stay as they are.
    """
    from semac.format.files import chosen_files
    from semac.format.settings import SettingsError, find_settings

    if as_json and diff:
        raise click.UsageError("--json and --diff exclude each other")
    if "-" in files and len(files) > 1:
        raise click.UsageError("- stands alone: stdin is formatted to stdout")
    try:
        settings = find_settings()
    except SettingsError as error:
        return failed(str(error))
    chosen = {name: value for name, value in flags.items() if value not in (None, False)}
    style = settings.style._replace(**chosen)
    if files == ("-",):
        return _stdin(style, check, diff, as_json)
    names = chosen_files(files, settings.ignore)
    if not names:
        print("No .sema files found")
        return 0
    outcomes = _outcomes(names, style, write=not (check or diff or as_json))
    if as_json:
        return _as_json(outcomes, check)
    return _report(outcomes, "diff" if diff else "check" if check else "write", check)


def _outcomes(names: Iterable[str], style: Style, write: bool) -> Iterable[Outcome]:
    """Formats files one by one, and writes those that changed."""
    from semac.format.files import Outcome, formatted_file
    from semac.format.files import write as write_file

    for name in names:
        try:
            outcome = formatted_file(name, style)
            if write and outcome.changed:
                write_file(outcome)
        except OSError as error:
            outcome = Outcome(name, error=error.strerror or str(error))
        yield outcome


def _report(outcomes: Iterable[Outcome], mode: str, check: bool) -> int:
    """Says what happened to each file and to all; the exit status."""
    from sema_runtime.support.visible import tell
    from semac.format.files import difference

    each, at_end = SUMMARIES[mode]
    changed = parsed = errors = 0
    for outcome in outcomes:
        if outcome.error:
            errors += 1
            tell(f"Error formatting {outcome.name}: {outcome.error}")
            continue
        parsed += 1
        if outcome.changed:
            changed += 1
            for line in difference(outcome) if mode == "diff" else [each.format(outcome.name)]:
                print(line)
    if changed or mode == "diff":
        print("\n" * bool(changed) + at_end.format(changed=changed, unchanged=parsed - changed, parsed=parsed))
    elif parsed:
        print(f"{parsed} file(s) already formatted")
    if errors:
        tell(f"{errors} error(s)")
    return 1 if errors or (check and changed) else 0


def _as_json(outcomes: Iterable[Outcome], check: bool) -> int:
    """Prints an object for each file; the exit status."""
    status = 0
    for outcome in outcomes:
        if outcome.error:
            report: dict[str, Any] = {"error": outcome.error, "file": outcome.name, "formatted": False}
        else:
            report = {
                "changed": outcome.changed,
                "file": outcome.name,
                "formatted": True,
                "source": outcome.after,
            }
        if outcome.name == STDIN:
            report = {key: value for key, value in report.items() if key not in ("changed", "file")}
        print(json.dumps(report, ensure_ascii=False, sort_keys=True, separators=(",", ":")))
        if outcome.error or (check and outcome.changed):
            status = 1
    return status


def _stdin(style: Style, check: bool, diff: bool, as_json: bool) -> int:
    """Formats stdin; the exit status. Text that cannot be formatted leaves stdout empty."""
    from semac.format.files import formatted_bytes

    outcome = formatted_bytes(sys.stdin.buffer.read(), STDIN, style)
    if as_json:
        return _as_json([outcome], check)
    if check or diff or outcome.error:
        return _report([outcome], "diff" if diff else "check", check)
    sys.stdout.buffer.write(outcome.after.encode())
    return 0
