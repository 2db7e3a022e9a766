"""`sema cassette`: lists, shows, checks and prunes tapes of recorded LLM calls."""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click

from semac.cli.common import SETTINGS, failed, standalone
from semac.cli.tables import aligned, one_line

NARROWEST_TEXT, PIPE_WIDTH = 20, 120
KEY_SHOWN, ANSWER_SHOWN = 10, 200
FIELDS_SHOWN = ("kind", "key", "role", "model", "stop_reason")


def main(args: list[str]) -> int:
    """Runs `sema cassette ARGS` and returns the exit status."""
    return standalone(cassette_command, args)


@click.group("sema cassette", context_settings=SETTINGS)
def cassette_command() -> None:
    """List, show, check and prune tapes of recorded LLM calls.

    A tape is the file of (llm/with-cassette "FILE" f) or of SEMA_LLM_CASSETTE: one JSON object a line.

    \b
    Examples:
      sema cassette list tests/tapes/*.jsonl     what is on them
      sema cassette show tape.jsonl 3            everything about line 3
      sema cassette verify tests/tapes/*.jsonl   damaged lines, duplicates, secrets; exit status 1 if any
      sema cassette prune tape.jsonl --dry-run   what can never be replayed
    """


def reporting(command: Callable[..., int]) -> Callable[..., int]:
    """Turns errors of reading and writing into a message."""

    @wraps(command)
    def run(*args: Any, **options: Any) -> int:
        from sema_runtime.values.errors import SemaError
        from semac.cli.cassette_files import Choice

        try:
            return command(*args, **options)
        except BrokenPipeError:
            raise  # the reader of the output is gone
        except FileNotFoundError as error:
            return failed(f"cassette {error.filename}: no such file")
        except OSError as error:
            return failed(f"cassette {error.filename or ''}: {error.strerror or error}")
        except SemaError as error:
            return failed(error.message)
        except Choice as error:
            return failed(str(error))

    return run


# list


@cassette_command.command("list")
@click.argument("tapes", nargs=-1, required=True, metavar="TAPE...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object a line instead of a table.")
@reporting
def list_command(tapes: tuple[str, ...], as_json: bool) -> int:
    """Show the entries of tapes: line, kind, model, tokens (sent+received), key, the beginning of the answer.

    An entry marked * is never replayed: an earlier one has the same key.

    \b
    Examples:
      sema cassette list tape.jsonl
      sema cassette list tape.jsonl --json | jq 'select(.model == "gpt-5.5")'
    """
    for index, path in enumerate(tapes):
        rows, unread = _rows(path)
        if as_json:
            for row in rows:
                print(json.dumps(row, ensure_ascii=False))
        else:
            if len(tapes) > 1:
                print(f"{'' if index == 0 else chr(10)}{path}:")
            _print_table(rows)
        sys.stdout.flush()
        if unread:
            lines = "line" if unread == 1 else "lines"
            print(f"{unread} {lines} can't be replayed: sema cassette verify {path}", file=sys.stderr)
    return 0


def _rows(path: str) -> tuple[list[dict[str, Any]], int]:
    """(what is shown of each entry, how many lines are none)."""
    from sema_runtime.llm.recordings.cassette_file import lines, open_cassette

    rows, unread, seen = [], 0, set()
    with open_cassette(path) as file:
        for line in lines(file):
            entry = line.entry
            if entry is None:
                unread += 1
                continue
            rows.append(
                {
                    "tape": path,
                    "line": line.number,
                    "kind": entry["kind"],
                    "model": entry["model"],
                    "prompt_tokens": entry.get("prompt_tokens", 0),
                    "completion_tokens": entry.get("completion_tokens", 0),
                    "key": entry["key"],
                    "answer": answer_of(entry),
                    "replayed": entry["key"] not in seen,
                }
            )
            seen.add(entry["key"])
    return rows, unread


def answer_of(entry: dict[str, Any]) -> str:
    """The beginning of the answer, in one line: text, calls of tools, sizes of vectors, an MCP result."""
    parts = [entry["content"][:ANSWER_SHOWN]] if entry["content"] else []
    for call in entry.get("tool_calls") or ():
        parts.append(f"{call['name']}({json.dumps(call['arguments'], ensure_ascii=False)})")
    if vectors := entry.get("embeddings"):
        parts.append(f"{len(vectors)} x {len(vectors[0])} numbers")
    if entry.get("mcp_result") is not None:
        parts.append(json.dumps(entry["mcp_result"], ensure_ascii=False))
    return one_line(" ".join(parts)[:ANSWER_SHOWN])


def _print_table(rows: list[dict[str, Any]]) -> None:
    if not rows:
        print("(no entries)")
        return
    cells = [
        (
            f"{row['line']}{'' if row['replayed'] else '*'}",
            row["kind"],
            one_line(row["model"]),
            f"{row['prompt_tokens']}+{row['completion_tokens']}",
            row["key"].removeprefix("mcp-")[:KEY_SHOWN],
            row["answer"],
        )
        for row in rows
    ]
    width = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_WIDTH
    header = ("line", "kind", "model", "tokens", "key", "answer")
    for text in aligned([header, *cells], right=(0, 3), width=max(width, NARROWEST_TEXT)):
        print(text)


# show


@cassette_command.command("show")
@click.argument("tape")
@click.argument("which", metavar="LINE|KEY")
@click.option("--json", "as_json", is_flag=True, help="The entry as JSON.")
@reporting
def show_command(tape: str, which: str, as_json: bool) -> int:
    """Show one entry of TAPE: the entry in line LINE, or the one whose key begins with KEY.

    \b
    Examples:
      sema cassette show tape.jsonl 3
      sema cassette show tape.jsonl 9de9dfba
    """
    from sema_runtime.llm.recordings.cassette_file import lines, open_cassette
    from semac.cli.cassette_files import chosen

    number = chosen(tape, which)
    with open_cassette(tape) as file:
        entry = next(line.entry for line in lines(file) if line.number == number)
    assert entry is not None
    if as_json:
        print(json.dumps(entry, ensure_ascii=False, indent=2))
    else:
        print(described(entry, number))
    return 0


def described(entry: dict[str, Any], number: int) -> str:
    """The whole entry as text for people."""
    shown = [(name.replace("_", " "), one_line(str(entry[name]))) for name in FIELDS_SHOWN if entry.get(name)]
    tokens = f"{entry.get('prompt_tokens', 0)} sent, {entry.get('completion_tokens', 0)} received"
    for name in ("read", "creation"):
        if count := entry.get(f"cache_{name}_input_tokens"):
            tokens += f", cache {name} {count}"
    shown = [("line", str(number)), *shown, ("tokens", tokens)]
    if chunks := entry.get("chunks"):
        shown.append(("pieces", str(len(chunks))))
    if vectors := entry.get("embeddings"):
        shown.append(("vectors", f"{len(vectors)} x {len(vectors[0])} numbers"))
    for call in entry.get("tool_calls") or ():
        arguments = json.dumps(call["arguments"], ensure_ascii=False)
        shown.append(("tool call", one_line(f"{call['name']} {arguments} (id {call['id']})")))
    text = "\n".join(aligned(shown, width=None))
    if entry.get("mcp_result") is not None:
        text += "\n\n" + json.dumps(entry["mcp_result"], ensure_ascii=False, indent=2)
    if entry["content"]:
        text += "\n\n" + "\n".join(map(one_line, entry["content"].split("\n")))
    return text


# verify


@cassette_command.command("verify")
@click.argument("tapes", nargs=-1, required=True, metavar="TAPE...")
@click.option("--json", "as_json", is_flag=True, help="One JSON object for each finding.")
@reporting
def verify_command(tapes: tuple[str, ...], as_json: bool) -> int:
    """Check tapes. Findings are lines that are damaged or of a later version of Sema, entries that are never replayed
    because an earlier one has the same key, and texts that look like API keys. The exit status is 1 if there are
    findings.

    \b
    Examples:
      sema cassette verify tests/tapes/*.jsonl
    """
    from semac.cli.cassette_files import findings

    status = 0
    for path in tapes:
        entries, problems = findings(path)
        status = 1 if problems else status
        for problem in problems:
            if as_json:
                print(json.dumps({"tape": path, **problem._asdict()}, ensure_ascii=False))
            else:
                print(f"{path}:{problem.line}: {problem.kind}: {problem.reason}")
        if not problems and not as_json:
            print(f"{path}: {entries} {'entry' if entries == 1 else 'entries'}, nothing wrong")
    return status


# prune


@cassette_command.command("prune")
@click.argument("tape")
@click.option(
    "--keep", type=click.Choice(["first", "last"]), default="first", help="Entry to keep of each key. [first]"
)
@click.option("--drop", multiple=True, metavar="LINE|KEY", help="Remove this entry too; repeatable.")
@click.option("--dry-run", is_flag=True, help="Only show what would be removed.")
@click.option("--no-backup", is_flag=True, help="Don't keep the old tape as TAPE.bak.")
@reporting
def prune_command(tape: str, keep: str, drop: tuple[str, ...], dry_run: bool, no_backup: bool) -> int:
    """Remove from TAPE what can't be replayed: damaged lines, and all but one of the entries with the same key.

    Lines of a later version of Sema stay. The tape is replaced as a whole, also while programs record to it.

    \b
    Examples:
      sema cassette prune tape.jsonl
      sema cassette prune tape.jsonl --keep last      after :mode :record: the new answers count
      sema cassette prune tape.jsonl --drop 9de9dfba  this call will be recorded again
    """
    from semac.cli.cassette_files import chosen, doomed, prune

    unwanted = {chosen(tape, which) for which in drop}
    last = keep == "last"
    out = doomed(tape, last, unwanted) if dry_run else prune(tape, last, unwanted, None if no_backup else f"{tape}.bak")
    for number, reason in out.items():
        print(f"{tape}:{number}: {reason}")
    if not out:
        print(f"{tape}: nothing to take out")
    elif dry_run:
        print(f"{len(out)} of its lines would be taken out")
    else:
        print(
            f"{len(out)} {'line' if len(out) == 1 else 'lines'} taken out"
            + ("" if no_backup else f"; the old tape is {tape}.bak")
        )
    return 0
