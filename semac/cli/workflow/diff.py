"""`sema workflow diff A B`: which steps of two runs have the same results, and what they cost."""

from __future__ import annotations

from typing import Any

import click

from sema_runtime.support.money import dollars
from semac.cli.common import SETTINGS, standalone
from semac.cli.tables import aligned, cut, one_line
from semac.cli.workflow.list import UNKNOWN, Problem, as_json, cost, opened, root_of, run_dir, show_json, width
from semac.cli.workflow.show import status

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

BRIEF = 100  # characters of a result that are shown where lines are not cut anyway


def main(args: list[str]) -> int:
    """`sema workflow diff ARGS`."""
    return standalone(diff_command, args)


@click.command("sema workflow diff", context_settings=SETTINGS)
@click.argument("a")
@click.argument("b")
@run_dir
@as_json
@click.option("--full", is_flag=True, help="Whole results, not their beginnings.")
def diff_command(a: str, b: str, run_dir: str | None, as_json: bool, full: bool) -> int:
    """Compare the runs A and B: results that changed, leaves that only one of them has, tokens and cost.

    Leaves are matched by phase, name and prompt, checkpoints by phase and key, so that runs of an edited program can be
    compared too: `edited` leaves have another prompt. `kept` ones were taken over from memos and not run again. Status:
    0 the same results, 1 differences.
    """
    from sema_runtime.workflow.read import comparison

    root = root_of(run_dir)
    first, second = opened(root, a), opened(root, b)
    try:
        differences = comparison.compared(first, second)
        report = _report(first, second, differences) if as_json else None
        lines = [] if as_json else _lines(first, second, differences, full)
    except (OSError, ValueError) as error:
        raise Problem(str(error)) from None
    if as_json:
        show_json(report)
    room = width()
    for line in lines:
        print(line if room is None or full else cut(line, room))
    return int(any(difference.kind in comparison.DIFFERENT for difference in differences))


def _report(a: Any, b: Any, differences: list[Any]) -> dict[str, Any]:
    return {
        "a": _run(a),
        "b": _run(b),
        "tokens_difference": b.usage_with_inside.tokens - a.usage_with_inside.tokens,
        "cost_difference_usd": _cost_difference(a, b),
        "leaves": [
            {
                "kind": difference.kind,
                "type": "agent" if difference.step.is_agent else "checkpoint",
                "phase": difference.step.phase or None,
                "a": _step(difference.a, a),
                "b": _step(difference.b, b),
            }
            for difference in differences
        ],
    }


def _run(run: Any) -> dict[str, Any]:
    used = run.usage_with_inside
    return {
        "run_id": run.id,
        "workflow": run.workflow,
        "status": run.status,
        "agents": len(run.agents),
        "tokens": used.tokens,
        "cost_usd": used.cost_usd,
        "unpriced": used.unpriced,
    }


def _step(step: Any, run: Any) -> dict[str, Any] | None:
    if step is None:
        return None
    return {
        "id": step.id,
        "status": step.status,
        "tokens": step.tokens,
        "cost_usd": step.cost_usd,
        "result": step.result(run),
    }


def _cost_difference(a: Any, b: Any) -> float | None:
    """None when a price is missing on either side."""
    before, after = a.usage_with_inside, b.usage_with_inside
    if before.unpriced or after.unpriced:
        return None
    return (after.cost_usd or 0.0) - (before.cost_usd or 0.0)


def _lines(a: Any, b: Any, differences: list[Any], full: bool) -> list[str]:
    sides = [(name, run, run.usage_with_inside) for name, run in (("A", a), ("B", b))]
    rows = [
        (
            name,
            one_line(run.id),
            one_line(run.workflow),
            status(run.status),
            f"{len(run.agents):,} agents",
            f"{used.tokens:,} tokens",
            cost(used.cost_usd, used.unpriced),
        )
        for name, run, used in sides
    ]
    said = [
        *aligned(rows, right=(4, 5, 6)),
        f"difference: {sides[1][2].tokens - sides[0][2].tokens:+,} tokens, {_signed(a, b)}",
    ]
    counts: dict[str, int] = {}
    for difference in differences:
        counts[difference.kind] = counts.get(difference.kind, 0) + 1
    said += ["", ", ".join(f"{count:,} {kind}" for kind, count in counts.items()) or "no leaves"]
    for difference in differences:
        if difference.kind != "same" and not difference.kind.startswith("kept"):
            said += _difference(difference, a, b, full)
    return said


def _signed(a: Any, b: Any) -> str:
    difference = _cost_difference(a, b)
    if difference is None:
        return f"cost {UNKNOWN} (a price is missing)"
    shown = dollars(difference)
    return shown if shown.startswith("-") else f"+{shown}"


def _difference(difference: Any, a: Any, b: Any, full: bool) -> list[str]:
    kind = "agent" if difference.step.is_agent else "checkpoint"
    place = f"  phase {one_line(difference.step.phase)}" if difference.step.phase else ""
    names = " → ".join(dict.fromkeys(one_line(step.id) for step in (difference.a, difference.b) if step is not None))
    said = [f"{difference.kind}  {kind} {names}{place}"]
    sides = [
        (mark, step, run) for mark, step, run in (("-", difference.a, a), ("+", difference.b, b)) if step is not None
    ]
    results = [step.result(run) if step.offset >= 0 else f"({step.status})" for _, step, run in sides]
    if difference.kind == "edited":
        prompts = [step.prompt(run) for _, step, run in sides]
        said += _marked("prompt: ", prompts, full)
        if results[0] == results[1]:
            return said
    return said + _marked("", results, full, [mark for mark, _, _ in sides])


def _marked(name: str, texts: list[str], full: bool, marks: Sequence[str] = "-+") -> list[str]:
    """Texts of the runs behind their marks: all lines, or one from a little before the first difference."""
    start = 0 if full or len(texts) == 1 else _shared(*texts)
    said = []
    for mark, text in zip(marks, texts, strict=True):
        shown = text[start:] if full or len(text) - start <= BRIEF else text[start : start + BRIEF - 1] + "…"
        lines = shown.split("\n") if full else [("…" if start else "") + shown]
        said += [f"  {mark} {name}{one_line(line)}" for line in lines]
    return said


def _shared(text: str, other: str) -> int:
    """Where two texts are shown from: their beginning, or where they begin to differ, with some of what is before."""
    same = next((at for at, (x, y) in enumerate(zip(text, other, strict=False)) if x != y), min(len(text), len(other)))
    return same - BRIEF // 3 if same > BRIEF // 2 else 0
