"""`sema box eval-suite`: how well a model writes programs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from semac.cli.box.options import opened

if TYPE_CHECKING:
    from sema_runtime.box.suite.evaluation import Setting
    from sema_runtime.box.suite.measures import Attempt

FIGURES = {
    "pass_rate": "passed",
    "first_turn_valid": "first answer is a program that runs",
    "parse_fail_rate": "programs that can't be read, of all answers",
    "no_code_rate": "answers without a program",
    "turns_to_first_tool": "turns to the first call of a tool",
    "salvage_rate": "right after a failure on the way",
    "budget_exhausted": "turns or budget used up",
    "answers_a_run": "answers a run",
    "tokens_a_run": "tokens a run",
}
COUNTS = ("turns_to_first_tool", "answers_a_run", "tokens_a_run")


@click.command("eval-suite")
@click.option("--model", default="", help="The model; without it the provider's default.")
@click.option("--scripted", is_flag=True, help="Call no model: play programs that are right. Checks the suite itself.")
@click.option("--task", "numbers", multiple=True, type=click.IntRange(1, 30), help="Only this task; several times.")
@click.option("--runs", default=1, type=click.IntRange(1, 1000), help="How often each task is run (1).")
@click.option("--seed", default=7, type=int, help="Of the generated data (7).")
@click.option("--protocol", type=click.Choice(["fenced", "tool"]), default="fenced", help="How programs are given.")
@click.option("--no-plans", is_flag=True, help="Leave the developer's plans of tasks 25 to 30 out.")
@click.option("--max-tokens", type=click.IntRange(1), help="A budget of tokens for each run.")
@click.option("--json", "as_json", is_flag=True, help="Print all runs and figures as JSON.")
@click.option("--trace", type=click.Path(dir_okay=False), help="Record the runs in a file, for 'sema box trace'.")
@click.option(
    "--compare", type=click.Path(exists=True, dir_okay=False), help="An earlier --json: are these runs different?"
)
@click.option("--allow-missing-layers", is_flag=True, help="Run also where the kernel lacks landlock or seccomp.")
def suite(
    model: str,
    scripted: bool,
    numbers: tuple[int, ...],
    runs: int,
    seed: int,
    protocol: str,
    no_plans: bool,
    max_tokens: int | None,
    as_json: bool,
    trace: str | None,
    compare: str | None,
    allow_missing_layers: bool,
) -> int:
    """Ask a model thirty questions over generated data, which it answers by programs; count how it does.

    The provider is the one that programs use: see 'sema doctor'. A failure of the provider ends the runs; what is
    there so far is shown. The status is 0 when all runs passed.
    """
    from sema_runtime.box.suite.evaluation import Setting

    earlier = None if compare is None else earlier_runs(compare)
    setting = Setting(model, protocol, max_tokens, scripted, not no_plans)
    attempts, problem = measured(setting, numbers, runs, seed, trace, allow_missing_layers)
    if attempts or as_json:
        report(attempts, earlier, as_json, {"seed": seed, "runs": runs, "protocol": protocol})
    if problem is not None:
        from sema_runtime.support.visible import tell

        tell(f"Error: the runs ended early: {problem}")
    return 0 if problem is None and all(one.passed for one in attempts) else 1


def measured(
    setting: Setting, numbers: tuple[int, ...], runs: int, seed: int, trace: str | None, allow_missing_layers: bool
) -> tuple[list[Attempt], str | None]:
    """The runs, and what ended them early."""
    from sema_runtime.box.agent.trace import Trace
    from sema_runtime.box.suite.catalogue import all_tasks
    from sema_runtime.box.suite.data import generated
    from sema_runtime.box.suite.evaluation import evaluated
    from sema_runtime.support.visible import tell
    from sema_runtime.values.errors import LlmError, SemaError

    chosen = [task for task in all_tasks() if not numbers or task.number in numbers]
    attempts: list[Attempt] = []
    try:
        record = Trace(trace) if trace is not None else None
    except OSError as problem:
        raise SemaError(f"--trace: {problem.strerror}: {trace}") from None
    try:
        with opened((), allow_missing_layers) as pool:
            for one in evaluated(chosen, generated(seed), setting, pool, runs, record):
                attempts.append(one)
                came = "passed" if one.passed else f"failed ({one.reason or one.status})"
                tell(f"task {one.task}: {came}, {one.answers} answers, {one.seconds:.1f} s")
    except LlmError as problem:
        return attempts, problem.message
    except KeyboardInterrupt:
        return attempts, "interrupted"
    finally:
        if record is not None:
            record.close()
    return attempts, None


def earlier_runs(path: str) -> dict[str, Any]:
    """The figures of an earlier --json. Raises SemaError for another file."""
    from sema_runtime.values.errors import SemaError

    try:
        figures = json.loads(Path(path).read_text(encoding="utf-8"))["figures"]
        if type(figures["runs"]) is int and type(figures["passed"]) is int:
            return dict(figures)
    except (ValueError, KeyError, TypeError):
        pass
    raise SemaError(f"--compare: {path} is not what sema box eval-suite --json prints")


def report(attempts: list[Attempt], earlier: dict[str, Any] | None, as_json: bool, about: dict[str, Any]) -> None:
    from sema_runtime.box.suite.measures import fisher, plain, summary

    figures = summary(attempts)
    chance = None
    if earlier is not None:
        passed, before = figures["passed"], earlier["passed"]
        chance = fisher(passed, figures["runs"] - passed, before, earlier["runs"] - before)
    if as_json:
        models = sorted({one.model for one in attempts if one.model})
        whole = {**about, "models": models, "figures": figures, "p_value": chance, "attempts": plain(attempts)}
        print(json.dumps(whole, indent=1))
        return
    low, high = figures["interval_95"]
    print(f"{figures['passed']} of {figures['runs']} runs passed; 95 % interval {low:.1%} to {high:.1%}")
    for name, words in FIGURES.items():
        value = figures[name]
        shown = "-" if value is None else f"{value:,.2f}" if name in COUNTS else f"{value:.1%}"
        print(f"{shown:>10}  {words}")
    cost = figures["cost_usd"]
    print(f"{'unknown' if cost is None else f'${cost:.4f}':>10}  cost of all runs")
    failed = sorted({one.task for one in attempts if not one.passed})
    if failed:
        print(f"failed tasks: {', '.join(map(str, failed))}")
    if chance is not None and earlier is not None:
        print(f"earlier: {earlier['passed']} of {earlier['runs']}; as different by chance: p = {chance:.3f}")
