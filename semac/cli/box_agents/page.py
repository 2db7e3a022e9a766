"""A record of an agent that writes programs as a page of HTML, without scripts: one run, or two beside each other."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable
from html import escape
from importlib.resources import files
from itertools import zip_longest
from typing import TYPE_CHECKING, Any

from sema_runtime.support.visible import visible
from semac.cli.repl.colours import coloured_lines

if TYPE_CHECKING:
    from sema_runtime.box.agent.recording import Event, Recording

MOST_SHOWN = 20_000  # characters of one text
MOST_COMPARED = 4_000_000  # pairs of lines of two programs
HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>{title}</title><style>{style}</style></head><body>
"""


class Turn:
    """What belongs to one answer of the model. memory: what the session holds after it, by name."""

    def __init__(self, number: int, memory: dict[str, str]) -> None:
        self.number = number
        self.answer: Event = {}
        self.program: str | None = None
        self.calls: list[Event] = []
        self.outcome: Event = {}
        self.before = memory
        self.memory = memory


def turns_of(recording: Recording) -> list[Turn]:
    turns: list[Turn] = []
    memory: dict[str, str] = {}
    for event in recording.events:
        kind = event["event"]
        if kind == "model.answered":
            turns.append(Turn(event["turn"], memory))
            turns[-1].answer = event
        elif not turns:
            continue
        elif kind == "program.started":
            turns[-1].program = str(event["program"])
        elif kind == "tool.called":
            turns[-1].calls.append(event)
        elif kind == "program.ended":
            turns[-1].outcome = event
            memory = turns[-1].memory = {**memory, **event.get("defined", {})}
    return turns


# Pages


def page(recordings: Iterable[Recording]) -> str:
    """The runs of a trace, one below the other; those inside others are indented."""
    found = list(recordings)
    parts = [opening(f"Trace of {found[0].started.get('agent') or 'an agent'}")]
    for recording in found:
        depth = str(recording.started["run"]).count(".")
        parts.append(f'<main style="margin-left:{2 * depth}rem">{heading(recording)}')
        parts += [turn_html(turn) for turn in turns_of(recording)]
        parts.append(ending(recording) + "</main>")
    return "\n".join([*parts, "</body></html>\n"])


def comparison(first: Recording, second: Recording, differences: list[str]) -> str:
    """Two runs beside each other, turn by turn; what differs in programs and outcomes is marked."""
    listed = "".join(f"<li>{shown(line)}</li>" for line in differences) or "<li>no differences</li>"
    parts = [opening("Two runs"), f'<main class="wide"><h1>Two runs</h1><ul class="differences">{listed}</ul>']
    parts.append(beside(heading(first), heading(second), False))
    for one, other in zip_longest(turns_of(first), turns_of(second)):
        old, new = (turn.program or "" if turn is not None else "" for turn in (one, other))
        removed, added = changed_lines(old, new)
        left, right = (
            turn_html(turn, marks) if turn is not None else '<p class="soft">no such turn</p>'
            for turn, marks in ((one, removed), (other, added))
        )
        parts.append(beside(left, right, outcome_of(one) != outcome_of(other)))
    parts.append(beside(ending(first), ending(second), False))
    return "\n".join([*parts, "</main></body></html>\n"])


def opening(title: str) -> str:
    style = files(__package__).joinpath("page.css").read_text(encoding="utf-8")
    return HEAD.format(title=escape(title), style=style)


def beside(left: str, right: str, differs: bool) -> str:
    kind = "pair differs" if differs else "pair"
    return f'<div class="{kind}"><div>{left}</div><div>{right}</div></div>'


def changed_lines(old: str, new: str) -> tuple[set[int], set[int]]:
    """The numbers, from 0, of the lines that only one of two programs has."""
    before, after = old.splitlines(), new.splitlines()
    if len(before) * len(after) > MOST_COMPARED:  # comparing them takes too long
        return (set(), set()) if before == after else (set(range(len(before))), set(range(len(after))))
    removed: set[int] = set()
    added: set[int] = set()
    for kind, a, b, c, d in difflib.SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind != "equal":
            removed.update(range(a, b))
            added.update(range(c, d))
    return removed, added


def outcome_of(turn: Turn | None) -> list[Any]:
    if turn is None:
        return []
    return [turn.outcome.get(field) for field in ("status", "text", "reason", "prints")]


# Parts of a run


def heading(recording: Recording) -> str:
    start = recording.started
    facts = [
        ("run", start["run"]),
        ("begun", start["ts"]),
        ("model", start.get("model") or "of the provider"),
        ("programs at most", start.get("turns")),
        ("inputs", ", ".join(f"data/{name}" for name in start.get("data", ())) or "none"),
    ]
    tools = "".join(f"<li><code>{shown(line)}</code></li>" for line in start.get("tools", {}).values())
    return (
        f"<h1>{shown(start.get('agent') or 'agent')}</h1><p class=question>{shown(recording.question)}</p>"
        f"{fact_list(facts)}"
        f"<details><summary>Tools</summary><ul>{tools or '<li>none</li>'}</ul></details>"
        f"<details><summary>What the model is told</summary><pre>{shown(start.get('system', ''))}</pre></details>"
    )


def ending(recording: Recording) -> str:
    end = recording.ended
    if end is None:
        return '<p class="status error">the process ended before the run did</p>'
    facts = [
        ("answers", end.get("answers")),
        ("tokens", f"{end.get('input_tokens', 0)} + {end.get('output_tokens', 0)}"),
        ("cost", f"${end['cost_usd']:.4f}" if "cost_usd" in end else None),
        ("time", f"{end.get('dur_ms', 0):.0f} ms"),
    ]
    return f"<h2>End</h2>{status_line(end)}{fact_list(facts)}"


def turn_html(turn: Turn, marks: set[int] | None = None) -> str:
    answer = turn.answer
    used = f"{answer.get('input_tokens', 0)} + {answer.get('output_tokens', 0)} tokens"
    tokens = f"{used}, {answer.get('dur_ms', 0):.0f} ms"
    parts = [f"<h2>Turn {turn.number} <small>{shown(answer.get('model') or '')} {tokens}</small></h2>"]
    if turn.program is None:
        parts.append(f"<p class=soft>No program in the answer:</p><pre>{shown(answer.get('text', ''))}</pre>")
        return "".join(parts)
    parts.append(program_html(turn.program, turn.outcome.get("line"), marks or set()))
    parts += [call_html(call) for call in turn.calls]
    parts += [f'<pre class="printed">{shown(text)}</pre>' for text in turn.outcome.get("prints", ())]
    parts.append(status_line(turn.outcome) if turn.outcome else "<p class=soft>No outcome was recorded.</p>")
    return "".join(parts) + memory_html(turn)


def program_html(source: str, error_line: int | None, marks: set[int]) -> str:
    """The lines of a program, highlighted; the one of the error and those of marks stand out."""
    rows = []
    for number, pieces in enumerate(coloured_lines(source[:MOST_SHOWN])):
        kinds = (["wrong"] if number + 1 == error_line else []) + (["changed"] if number in marks else [])
        spans = "".join(
            f'<span class="{style.removeprefix("class:")}">{shown(text)}</span>' if style else shown(text)
            for style, text in pieces
        )
        rows.append(f'<li class="{" ".join(kinds)}">{spans}</li>')
    return f'<ol class="program">{"".join(rows)}</ol>'


def call_html(call: Event) -> str:
    from sema_runtime.box.codec import for_python

    args = json.dumps(for_python(call.get("args")), ensure_ascii=False)
    failed = "error" in call
    came = call["error"] if failed else json.dumps(for_python(call.get("result")), ensure_ascii=False)
    return (
        f'<details class="call"><summary><code>tool/{shown(call["tool"])}</code> {shown(args[:100])}'
        f" <small>{call.get('dur_ms', 0):.0f} ms</small></summary>"
        f'<pre>{shown(args)}</pre><pre class="{"error" if failed else ""}">{shown(str(came))}</pre></details>'
    )


def status_line(event: Event) -> str:
    place = f" at line {event['line']}, column {event.get('column', 1)}" if "line" in event else ""
    reason = f" ({event['reason']})" if event.get("reason") else ""
    text = event.get("text") or event.get("message") or "nil"
    status = str(event.get("status", "?"))
    kind = "error" if status in ("error", "fail") else "ok"
    return f'<p class="status {kind}"><b>{shown(status)}{shown(reason)}</b>{place}: <code>{shown(text)}</code></p>'


def memory_html(turn: Turn) -> str:
    if not turn.memory:
        return ""
    defined = turn.outcome.get("defined", {})
    rows = "".join(
        f'<tr class="{"" if name not in defined else "changed" if name in turn.before else "added"}">'
        f"<td><code>{shown(name)}</code></td><td>{shown(text)}</td></tr>"
        for name, text in sorted(turn.memory.items())
    )
    title = f"Memory: {count(len(turn.memory), 'name')}, {len(defined)} of this turn"
    return f"<details><summary>{title}</summary><table>{rows}</table></details>"


def count(number: int, word: str) -> str:
    return f"{number} {word}{'' if number == 1 else 's'}"


def fact_list(facts: Iterable[tuple[str, Any]]) -> str:
    rows = "".join(f"<div><dt>{name}</dt><dd>{shown(value)}</dd></div>" for name, value in facts if value is not None)
    return f"<dl>{rows}</dl>"


def shown(value: Any) -> str:
    """A text without markup and control characters, at most MOST_SHOWN characters of it."""
    text = str(value)
    if len(text) > MOST_SHOWN:
        text = f"{text[:MOST_SHOWN]}... ({len(text)} characters)"
    return escape("\n".join(map(visible, text.split("\n"))))
