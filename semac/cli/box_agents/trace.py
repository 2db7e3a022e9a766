"""`sema box trace`: what a recorded agent did."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from sema_runtime.box.agent.recording import Event, Recording


@click.command("trace")
@click.argument("file", type=click.Path(exists=True, dir_okay=False))
@click.option("--diff", "other", type=click.Path(exists=True, dir_okay=False), help="Another trace: what differs.")
@click.option("--chrome", type=click.Path(dir_okay=False), help="Write a Chrome trace, for Perfetto, to a file.")
@click.option(
    "--html", type=click.Path(dir_okay=False), help="Write a page to a file: programs, calls, memory, turn by turn."
)
@click.option("--open", "open_it", is_flag=True, help="Show that page in a browser.")
@click.option("--json", "as_json", is_flag=True, help="Print the runs as JSON, or the differences with --diff.")
def trace(file: str, other: str | None, chrome: str | None, html: str | None, open_it: bool, as_json: bool) -> int:
    """Show what a recorded agent did: its programs, calls of tools, what was printed, what it cost.

    With --diff the status is 1 when the runs differ; with --html, too, the page has both beside each other.

    \b
    Examples:
      sema box trace run.jsonl
      sema box trace run.jsonl --open
      sema box trace run.jsonl --diff other.jsonl --html both.html
    """
    from sema_runtime.box.agent.recording import chrome as as_chrome
    from sema_runtime.box.agent.recording import differences, read, recordings

    events = read(file)
    found = recordings(events)
    if chrome is not None:
        Path(chrome).write_text(json.dumps(as_chrome(events)), encoding="utf-8")
        return 0
    second = recordings(read(other))[0] if other is not None else None
    lines = differences(found[0], second) if second is not None else []
    if html is not None or open_it:
        write_page(html, found, second, lines, open_it)
        return 1 if lines else 0
    if second is not None:
        print(json.dumps(lines) if as_json else "\n".join(lines) or "no differences")
        return 1 if lines else 0
    if as_json:
        print(json.dumps([recording.events for recording in found]))
        return 0
    for number, recording in enumerate(found):
        if number:
            print()
        show(recording)
    return 0


def write_page(
    path: str | None, found: list[Recording], second: Recording | None, differences: list[str], open_it: bool
) -> None:
    """Writes the page of a trace, or of two, to a file for its owner alone; by default to one that only lives on where
    the system keeps such files."""
    from sema_runtime.support.private_files import owned
    from semac.cli.box_agents.page import comparison, page

    if path is None:
        descriptor, path = tempfile.mkstemp(prefix="sema-trace-", suffix=".html")
        os.close(descriptor)
    with open(path, "w", encoding="utf-8", errors="replace", opener=owned) as file:
        file.write(page(found) if second is None else comparison(found[0], second, differences))
    print(f"wrote {path}")
    if open_it:
        import webbrowser

        webbrowser.open(Path(path).resolve().as_uri())


def show(recording: Recording) -> None:
    from sema_runtime.support.visible import at_terminal

    start = recording.started
    lines = [f"run {start['run']}  agent {start.get('agent') or '-'}  {start['ts']}", f"  {recording.question}"]
    for event in recording.events[1:]:
        lines += lines_of(event)
    sys.stdout.write("\n".join(map(at_terminal, lines)) + "\n")


def lines_of(event: Event) -> list[str]:
    """An event as people read it."""
    kind = event["event"]
    if kind == "model.answered":
        tokens = f"{event.get('input_tokens', 0)} + {event.get('output_tokens', 0)} tokens"
        return ["", f"turn {event['turn']}  {event.get('model') or '-'}  {tokens}, {event.get('dur_ms', 0):.0f} ms"]
    if kind == "program.started":
        return [f"  | {line}" for line in str(event["program"]).splitlines()]
    if kind == "tool.called":
        args = json.dumps(plain_value(event.get("args")))
        came = f"error: {event['error']}" if "error" in event else json.dumps(plain_value(event.get("result")))
        return [f"  tool/{event['tool']} {short(args)} -> {short(came)}  ({event.get('dur_ms', 0):.0f} ms)"]
    if kind == "program.ended":
        printed = [f"  > {line}" for text in event.get("prints", ()) for line in text.splitlines()]
        place = f" at line {event['line']}, column {event['column']}" if "line" in event else ""
        value = f"{event['status']}: {short(event.get('text') or event.get('message') or 'nil')}{place}"
        return [*printed, f"  {value}"]
    if kind == "run.ended":
        cost = f", ${event['cost_usd']:.4f}" if "cost_usd" in event else ""
        reason = f" ({event['reason']})" if "reason" in event else ""
        return ["", f"{event['status']}{reason}: {short(event.get('text') or event.get('message') or 'nil')}",
                f"  {event.get('input_tokens', 0)} + {event.get('output_tokens', 0)} tokens{cost}, "
                f"{event.get('dur_ms', 0):.0f} ms"]  # fmt: skip
    return []


def plain_value(value: Any) -> Any:
    from sema_runtime.box.codec import for_python

    return for_python(value)


def short(text: str) -> str:
    return text if len(text) <= 200 else f"{text[:200]}... ({len(text)} characters)"
