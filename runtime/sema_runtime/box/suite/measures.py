"""What is counted of the runs of an evaluation, and how sure the counts are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import comb, sqrt
from typing import Any

from sema_runtime.box.agent.history import ProgramRun

Z = 1.959964  # of 95 %


@dataclass(frozen=True, slots=True)
class Attempt:
    """One run of one task. first_valid: the first answer had a program that ran. answers: of the model;
    without_program, unparsable: how many of these had none, or one that can't be read. first_tool: the turn of the
    first call, None without one. salvaged: right after a failure on the way. exhausted: turns or budget are used up."""

    task: int
    passed: bool
    status: str
    reason: str | None
    value: str | None
    answers: int
    first_valid: bool
    without_program: int
    unparsable: int
    first_tool: int | None
    salvaged: bool
    exhausted: bool
    input_tokens: int
    output_tokens: int
    cost_usd: float | None
    seconds: float
    model: str


def attempt(task: int, passed: bool, run: ProgramRun, seconds: float) -> Attempt:
    outcomes = [turn.outcome for turn in run.turns]
    called = [number for number, one in enumerate(outcomes, 1) if one is not None and one.tool_calls]
    failed = [one for one in outcomes if one is None or one.status == "error"]
    return Attempt(
        task=task,
        passed=passed,
        status=run.status,
        reason=run.reason,
        value=None if run.text is None else run.text[:200],
        answers=len(outcomes),
        first_valid=bool(outcomes) and outcomes[0] is not None and outcomes[0].status != "error",
        without_program=sum(one is None for one in outcomes),
        unparsable=sum(one is not None and one.reason == "parse_error" for one in outcomes),
        first_tool=called[0] if called else None,
        salvaged=passed and bool(failed),
        exhausted=run.reason in ("max_turns_exceeded", "budget_exceeded"),
        input_tokens=run.usage.input_tokens,
        output_tokens=run.usage.output_tokens,
        cost_usd=run.usage.cost_usd,
        seconds=round(seconds, 3),
        model=run.usage.model,
    )


def summary(attempts: Sequence[Attempt]) -> dict[str, Any]:
    """The figures of many runs. Rates are between 0 and 1; those without anything to count are None."""
    passed = sum(one.passed for one in attempts)
    answers = sum(one.answers for one in attempts)
    failed_first = [one for one in attempts if one.salvaged or not one.passed]
    tools = [one.first_tool for one in attempts if one.first_tool is not None]
    costs = [one.cost_usd for one in attempts if one.cost_usd is not None]
    return {
        "runs": len(attempts),
        "passed": passed,
        "pass_rate": rate(passed, len(attempts)),
        "interval_95": wilson(passed, len(attempts)),
        "first_turn_valid": rate(sum(one.first_valid for one in attempts), len(attempts)),
        "parse_fail_rate": rate(sum(one.unparsable for one in attempts), answers),
        "no_code_rate": rate(sum(one.without_program for one in attempts), answers),
        "turns_to_first_tool": rate(sum(tools), len(tools)),
        "salvage_rate": rate(sum(one.salvaged for one in attempts), len(failed_first)),
        "budget_exhausted": rate(sum(one.exhausted for one in attempts), len(attempts)),
        "answers_a_run": rate(answers, len(attempts)),
        "tokens_a_run": rate(sum(one.input_tokens + one.output_tokens for one in attempts), len(attempts)),
        "cost_usd": round(sum(costs), 6) if costs else None,
        "seconds": round(sum(one.seconds for one in attempts), 3),
    }


def rate(count: int, of: int) -> float | None:
    return round(count / of, 4) if of else None


def wilson(passed: int, of: int) -> list[float]:
    """The 95 % interval of a rate by Wilson's score; [0, 1] without runs."""
    if not of:
        return [0.0, 1.0]
    share = passed / of
    centre = share + Z * Z / (2 * of)
    width = Z * sqrt(share * (1 - share) / of + Z * Z / (4 * of * of))
    below = 1 + Z * Z / of
    return [round(max(0.0, (centre - width) / below), 4), round(min(1.0, (centre + width) / below), 4)]


def fisher(passed: int, failed: int, other_passed: int, other_failed: int) -> float:
    """The probability, by Fisher's exact test of two sides, that two series differ as much as these by chance."""
    first, second, successes = passed + failed, other_passed + other_failed, passed + other_passed
    ways = comb(first + second, successes)

    def chance(count: int) -> float:
        return comb(first, count) * comb(second, successes - count) / ways

    seen = chance(passed)
    counts = range(max(0, successes - second), min(first, successes) + 1)
    return min(1.0, sum(one for one in map(chance, counts) if one <= seen * (1 + 1e-9)))


def plain(attempts: Sequence[Attempt]) -> list[dict[str, Any]]:
    return [asdict(one) for one in attempts]
