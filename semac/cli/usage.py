"""`sema usage`: the cost of calls to models by model, provider, script and day, from the local ledger."""

from __future__ import annotations

import json
import os
import sys
import time
from typing import Any

import click

from sema_runtime.support.money import dollars
from semac.cli.common import SETTINGS, failed, standalone
from semac.cli.tables import aligned, one_line
from semac.cli.usage_sums import GROUPS, LAST_MOMENT, Sums, Usage, end_of, start_of, summed


def main(args: list[str]) -> int:
    """Runs `sema usage ARGS` and returns the exit status."""
    return standalone(usage_command, args)


@click.command("sema usage", context_settings=SETTINGS)
@click.option("--by", metavar="GROUP", multiple=True, help=f"{', '.join(GROUPS)}; several with commas. [model]")
@click.option("--since", default="30d", metavar="TIME", help="7d, 12h, 2w, today, 2026-11, 2026-11-01, all. [30d]")
@click.option("--until", metavar="TIME", help="The same; a date includes its day. [now]")
@click.option("--json", "as_json", is_flag=True, help="One JSON object.")
@click.option("--csv", "as_csv", is_flag=True, help="Comma-separated values.")
def usage_command(by: tuple[str, ...], since: str, until: str | None, as_json: bool, as_csv: bool) -> int:
    """Sum up what calls to models used and cost.

    Costs include only calls whose price is known; other calls count as unpriced. Replays of cassettes and answers of
    the response cache cost nothing and are counted separately. Calls are recorded in SEMA_HOME/usage as they end, as
    counts without texts; SEMA_USAGE=off turns that off.

    \b
    Examples:
      sema usage
      sema usage --by day --since 7d
      sema usage --by script,model --since 2026-11-01 --until 2026-11-15
      sema usage --since all --csv > usage.csv
    """
    from sema_runtime.support.home import in_home

    if as_json and as_csv:
        raise click.UsageError("--json and --csv exclude each other")
    groups = [name.strip() for option in by for name in option.split(",")] or ["model"]
    for name in groups:
        if name not in GROUPS:
            raise click.UsageError(f"--by {name}: expected {', '.join(GROUPS)}")
    now = time.time()
    try:
        start, end = start_of(since, now), LAST_MOMENT if until is None else end_of(until, now)
    except (ValueError, OverflowError) as error:
        raise click.UsageError(str(error)) from None
    folder = in_home("usage")
    try:
        usage = summed(folder, list(dict.fromkeys(groups)), start, end)
    except OSError as error:
        return failed(f"{error.filename or folder}: {error.strerror or error}")
    if as_json:
        print(json.dumps(report(usage, start, end), ensure_ascii=False, indent=2))
    elif as_csv:
        _print_csv(usage)
    else:
        print("\n".join(_shown(usage, folder, start, end)))
    return 0


def report(usage: Usage, start: float, end: float) -> dict[str, Any]:
    """The JSON of --json; since and until in seconds since 1970, null for open ends."""
    rows = [{**dict(zip(usage.by, key, strict=True)), **sums.as_json()} for key, sums in usage.sorted_rows()]
    return {
        "since": start or None,
        "until": end if end < LAST_MOMENT else None,
        "by": list(usage.by),
        "rows": rows,
        "total": usage.total().as_json(),
        "damaged_lines": sum(usage.damaged.values()),
    }


def _print_csv(usage: Usage) -> None:
    import csv

    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow([*usage.by, *Sums().as_json()])
    for key, sums in usage.sorted_rows():
        writer.writerow([*key, *("" if value is None else value for value in sums.as_json().values())])


# Text


def _shown(usage: Usage, folder: str, start: float, end: float) -> list[str]:
    lines = [_period(start, end), ""]
    if not usage.rows:
        lines.append(f"No calls in {folder}.")
    else:
        total = usage.total()
        header = (*usage.by, "calls", "failed", "sent", "received", "cost", "unpriced")
        rows = [(*map(_name, usage.by, key), *_cells(sums)) for key, sums in usage.sorted_rows() if sums.calls]
        blank = ("total", *[""] * (len(usage.by) - 1))
        right = range(len(usage.by), len(header))
        lines += [*aligned([header, *rows, (*blank, *_cells(total))], right=right), ""]
        lines += _remarks(total)
    lines += [f"{count} damaged {_lines(count)} skipped in {path}." for path, count in usage.damaged.items()]
    if os.environ.get("SEMA_USAGE"):
        lines.append(f"SEMA_USAGE is {os.environ['SEMA_USAGE']}.")
    lines.append(f"The ledger is {folder}; SEMA_USAGE=off switches it off.")
    return lines


def _period(start: float, end: float) -> str:
    since = f"since {_time(start)}" if start else "of all calls"
    return f"Usage {since}{f' until {_time(end)}' if end < LAST_MOMENT else ''}"


def _time(at: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(at))


def _name(group: str, value: str) -> str:
    """A value of a group as it is shown: paths relative to the current or the home folder."""
    if group == "script":
        for folder, shown in ((_current_folder(), ""), (os.path.expanduser("~"), "~/")):
            if folder and value.startswith(folder + "/"):
                value = shown + value.removeprefix(folder + "/")
                break
    return one_line(value) or "(none)"


def _current_folder() -> str:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return ""


def _cells(sums: Sums) -> tuple[str, ...]:
    cost = "?" if sums.unpriced and not sums.priced else dollars(sums.cost_usd)
    counts = (sums.calls, sums.failed, sums.prompt_tokens, sums.completion_tokens)
    return (*(f"{count:,}" for count in counts), cost, f"{sums.unpriced:,}" if sums.unpriced else "")


def _remarks(total: Sums) -> list[str]:
    said = []
    if total.unpriced:
        said.append(f"The price of {_calls(total.unpriced)} is unknown and not in the cost (llm/set-pricing sets one).")
    if total.estimated:
        said.append(f"The tokens of {_calls(total.estimated)} are estimated: streams that broke before they were told.")
    if total.replayed:
        said.append(f"Not counted: {_calls(total.replayed)} replayed from cassettes.")
    if total.cached:
        said.append(f"Not counted: {_calls(total.cached)} answered by the response cache.")
    return said


def _calls(count: int) -> str:
    return f"{count:,} call{'' if count == 1 else 's'}"


def _lines(count: int) -> str:
    return "line" if count == 1 else "lines"
