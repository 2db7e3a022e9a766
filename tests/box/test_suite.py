"""The evaluation: its tasks have answers, a scripted model finds them, and what is counted is right."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from python_llm_support import playing, used

from sema_runtime.box import Pool
from sema_runtime.box.suite.catalogue import all_tasks, solutions
from sema_runtime.box.suite.data import generated
from sema_runtime.box.suite.evaluation import Setting, evaluated
from sema_runtime.box.suite.measures import fisher, summary, wilson
from sema_runtime.values.errors import SemaError
from semac.cli.box.commands import main

pytestmark = pytest.mark.usefixtures("llm")


def test_there_are_thirty_tasks_with_solutions() -> None:
    assert [task.number for task in all_tasks()] == list(range(1, 31))
    assert set(solutions()) == set(range(1, 31))
    assert all(len(solutions()[task.number]) <= task.turns for task in all_tasks())


@pytest.mark.parametrize("seed", [7, 8, 9])
def test_answers_are_worth_finding(seed: int) -> None:
    shop = generated(seed)
    assert (len(shop.products), len(shop.orders), len(shop.employees)) == (500, 1_000, 200)
    assert shop == generated(seed)
    for task in all_tasks():
        answer = task.answer(shop)
        assert answer not in (None, 0, [], {}, "") or answer is False, task.number
        assert task.check(json.loads(json.dumps(answer)), answer), task.number
        assert not task.check("nonsense", answer) and not task.check(None, answer), task.number


@pytest.mark.parametrize(("seed", "protocol"), [(7, "fenced"), (8, "tool")])
def test_the_scripted_model_is_right(pool: Pool, seed: int, protocol: str) -> None:
    setting = Setting(scripted=True, protocol=protocol)
    attempts = list(evaluated(all_tasks(), generated(seed), setting, pool, 1))
    assert [one.task for one in attempts if not one.passed] == []
    figures = summary(attempts)
    assert (figures["passed"], figures["first_turn_valid"], figures["no_code_rate"]) == (30, 1.0, 0.0)


def test_what_is_counted(pool: Pool) -> None:
    by_number = {task.number: task for task in all_tasks()}
    playing(
        used("I would say 12."), used("(count data/products"), used('(tool/search {:query "audit"})'),
        used('(return "K-7319")'),
    )  # fmt: skip
    (one,) = evaluated([by_number[22]], generated(), Setting(), pool, 1)
    assert one.passed and one.salvaged and not one.first_valid
    assert (one.answers, one.without_program, one.first_tool) == (4, 2, 3)
    assert (one.input_tokens, one.output_tokens, one.model) == (12, 8, "m")
    playing("(+ 1 1)")
    (lost,) = evaluated([by_number[22]], generated(), Setting(), pool, 1)
    assert not lost.passed and lost.exhausted and lost.reason == "max_turns_exceeded"
    figures = summary([one, lost])
    assert (figures["pass_rate"], figures["salvage_rate"], figures["budget_exhausted"]) == (0.5, 0.5, 0.5)
    assert figures["no_code_rate"] == 0.2 and figures["turns_to_first_tool"] == 3


def test_intervals_and_chances() -> None:
    assert wilson(897, 900) == [0.9902, 0.9989]
    assert wilson(0, 0) == [0.0, 1.0] and wilson(5, 5)[1] == 1.0
    assert fisher(3, 1, 1, 3) == pytest.approx(0.4857, abs=1e-4)
    assert fisher(10, 0, 0, 10) == pytest.approx(2 / 184_756)
    assert fisher(5, 5, 5, 5) == pytest.approx(1.0)


def command(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    status = main(list(args))
    seen = capsys.readouterr()
    return status, seen.out, seen.err


def test_the_command(capsys: pytest.CaptureFixture[str], pool: Pool, tmp_path: Path) -> None:
    trace = tmp_path / "runs.jsonl"
    status, out, err = command(capsys, "eval-suite", "--scripted", "--task", "1", "--task", "16", "--trace", str(trace))
    assert status == 0 and out.startswith("2 of 2 runs passed") and "task 16: passed, 2 answers" in err
    status, out, _ = command(capsys, "trace", str(trace))
    assert status == 0 and "  | (count data/products)" in out and "tool/stock_level" in out
    status, out, _ = command(capsys, "trace", str(trace), "--diff", str(trace))
    assert (status, out) == (0, "no differences\n")
    status, out, _ = command(capsys, "trace", str(trace), "--chrome", str(tmp_path / "chrome.json"))
    bars: Any = json.loads((tmp_path / "chrome.json").read_text())["traceEvents"]
    assert {bar["cat"] for bar in bars} == {"model", "program", "tool", "run"}


def test_series_are_compared(capsys: pytest.CaptureFixture[str], pool: Pool, tmp_path: Path) -> None:
    status, out, _ = command(capsys, "eval-suite", "--scripted", "--task", "1", "--runs", "3", "--json")
    figures = json.loads(out)
    assert status == 0 and figures["figures"]["passed"] == 3 and len(figures["attempts"]) == 3
    (tmp_path / "earlier.json").write_text(out)
    playing("(fail 0)")
    _, out, _ = command(
        capsys, "eval-suite", "--task", "1", "--runs", "3", "--compare", str(tmp_path / "earlier.json")
    )  # fmt: skip
    assert "0 of 3 runs passed" in out and "failed tasks: 1" in out and "p = 0.100" in out


def test_bad_arguments(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "x.json").write_text("[]")
    (tmp_path / "empty.jsonl").touch()
    with pytest.raises(SemaError, match="is not what sema box eval-suite --json prints"):
        command(capsys, "eval-suite", "--scripted", "--compare", str(tmp_path / "x.json"))
    with pytest.raises(SemaError, match="no events"):
        command(capsys, "trace", str(tmp_path / "empty.jsonl"))


def test_no_provider_is_said_at_once(capsys: pytest.CaptureFixture[str], pool: Pool) -> None:
    from sema_runtime import ai

    def down(request: dict[str, Any]) -> str:
        raise RuntimeError("out of order")

    ai.configure("player", complete=down, default_model="m")
    status, out, err = command(capsys, "eval-suite", "--task", "1")
    assert (status, out) == (1, "") and "the runs ended early" in err
