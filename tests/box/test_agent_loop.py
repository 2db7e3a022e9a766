"""What runs of agents that write programs may do beyond one question after another: the engine, played by scripts."""

from __future__ import annotations

from typing import Any

import pytest
from llm_support import llm as llm
from python_llm_support import playing, used

from sema_runtime import ai
from sema_runtime.ai import sync
from sema_runtime.box import Limits, Pool
from sema_runtime.box.agent.protocol import NoProgram, fenced, program_of
from sema_runtime.llm.messages import Reply
from sema_runtime.values.errors import SemaError

pytestmark = pytest.mark.usefixtures("llm")


def calling(program: str, name: str = "run_program") -> dict[str, Any]:
    return {"content": "", "tool_calls": [{"id": "c1", "name": name, "arguments": {"program": program}}]}


def told(request: dict[str, Any], index: int = -1) -> str:
    return str(request["messages"][index]["content"])


def test_one_native_tool(pool: Pool) -> None:
    asked = playing(calling("(define x 2)"), "I think so.", calling("(no)", "other"), calling("(return (* x 21))"))
    run = sync.ProgramAgent(pool=pool, protocol="tool").run("?")
    assert (run.status, run.value) == ("return", 42)
    assert [tool["name"] for tool in asked[0]["tools"]] == ["run_program"]
    assert asked[1]["messages"][-1]["role"] == "tool" and "4 programs left" in told(asked[1])
    assert "call run_program" in told(asked[2]) and "call run_program" in told(asked[3])
    assert "one call of run_program" in told(asked[0], 0)


def test_two_calls_in_one_turn_are_both_answered(pool: Pool) -> None:
    two = {"content": "", "tool_calls": [{"id": f"c{n}", "name": "run_program", "arguments": {}} for n in (1, 2)]}
    asked = playing(two, calling("(return 1)"))
    assert sync.ProgramAgent(pool=pool, protocol="tool").run("?").value == 1
    assert [message["role"] for message in asked[1]["messages"][-2:]] == ["tool", "tool"]


def test_corrections_cost_no_turn(pool: Pool) -> None:
    asked = playing("hm", "well", "(return 5)")
    run = sync.ProgramAgent(pool=pool, turns=2).run("?")
    assert (run.value, len(run.turns)) == (5, 3)
    assert "2 programs left" in told(asked[2])
    playing("hm", "well", "(return 5)")
    run = sync.ProgramAgent(pool=pool, turns=2, retries=1).run("?")
    assert (run.status, run.reason) == ("error", "no_code_found")


def test_early_exchanges_are_shortened(pool: Pool) -> None:
    programs = [f'(define x{n} {n}) (println (str "printed " {n}))' for n in range(6)]
    asked = playing(*programs, "(return (+ x0 x5))")
    run = sync.ProgramAgent(pool=pool, turns=9, whole_turns=4).run("Add them.")
    assert run.value == 5 and len(run.messages) == 2 + 2 * 7
    assert [len(request["messages"]) for request in asked] == [2, 4, 6, 8, 10, 8, 8]
    question = told(asked[-1], 1)
    assert question.startswith("Add them.") and "printed 0" in question and "They defined: x0, x1, x2." in question
    assert "x3" not in question


def test_the_form_of_the_answer(pool: Pool) -> None:
    asked = playing('(define n 3) (return {:total "3"})', "(return {:total n})")
    agent = sync.ProgramAgent(pool=pool, returns={"type": "map", "fields": {"total": {"type": "int"}}})
    assert agent.run("?").value == {"total": 3}
    assert "answer.total: expected int, got string" in told(asked[1]) and "definitions were kept" in told(asked[1])
    assert '"total": <int>' in agent.prompt()


def test_a_plan_is_ticked_off(pool: Pool) -> None:
    asked = playing(
        '(tool/step-done {:step "fetch"})', '(tool/step-done {:step "dance"})', "(return 1)"
    )  # fmt: skip
    agent = sync.ProgramAgent(pool=pool, plan=["fetch", "sum"])
    assert agent.run("?").ok
    assert "1. fetch\n2. sum" in agent.prompt()
    assert "Plan: [x] fetch; [ ] sum" in told(asked[1])
    assert "there is no step 'dance'; the steps are 'fetch', 'sum'" in told(asked[2])


def test_a_budget_ends_the_run_with_the_last_value(pool: Pool) -> None:
    asked = playing(used("(+ 1 2)", 40, 10), used("(+ 2 2)", 60, 10))
    run = sync.ProgramAgent(pool=pool, max_tokens=100).run("?")
    assert (run.status, run.reason, run.value) == ("error", "budget_exceeded", 3)
    assert "Budget left: 100 of 100 tokens." in told(asked[0]) and "Budget left: 50 of 100 tokens." in told(asked[1])
    assert (run.usage.calls, run.usage.input_tokens) == (2, 100)


def test_a_budget_around_it_raises(pool: Pool) -> None:
    playing(used("(+ 1 2)", 40, 10))
    with pytest.raises(ai.BudgetError), sync.budget(max_tokens=70):
        sync.ProgramAgent(pool=pool, max_tokens=1000).run("?")


def test_a_tool_that_spends_the_budget_ends_the_run(pool: Pool) -> None:
    def think(about: str) -> str:
        """Thinks."""
        return sync.complete(about)

    playing(used('(try (tool/think {:about "x"}) (catch e 1))', 10, 1), used("deep", 100, 1), used("(return 1)"))
    run = sync.ProgramAgent(pool=pool, tools=[think], max_tokens=50).run("?")
    assert run.reason == "budget_exceeded"


def test_failover(pool: Pool) -> None:
    def down(request: dict[str, Any]) -> str:
        raise RuntimeError("down")

    ai.configure("up", complete=lambda request: "(return 1)", default_model="u")
    ai.configure("down", complete=down, default_model="d")
    assert sync.ProgramAgent(pool=pool, fallback=["down", "up"]).run("?").value == 1


def test_other_agents_are_not_timed_and_not_too_deep(pool: Pool) -> None:
    def answer(request: dict[str, Any]) -> str:
        name = request["messages"][0]["content"].split(".")[0]
        below = {"one": "two", "two": "three", "three": "four", "four": "five"}.get(name)
        return f'(return (tool/{below} {{:question "q"}}))' if below else '(return "bottom")'

    ai.configure("player", complete=answer, default_model="m")

    def chain(*names: str) -> Any:
        last = None
        for name in reversed(names):
            options: dict[str, Any] = {"agents": [last]} if last is not None else {}
            last = sync.ProgramAgent(pool=pool, name=name, system=f"{name}.", turns=2, retries=0, **options)
        return last

    assert chain("two", "three", "four", "five").run("?").value == "bottom"
    deep = chain("one", "two", "three", "four", "five").run("?")
    assert deep.status == "error" and "more than 3 deep" in str(deep.message)


def test_an_ordinary_agent_as_a_tool(pool: Pool) -> None:
    def answer(request: dict[str, Any]) -> str:
        return "Ada" if told(request) == "name?" else '(return (tool/clerk {:question "name?"}))'

    ai.configure("player", complete=answer, default_model="m")
    clerk = sync.Agent(name="clerk", system="You know names.")
    agent = sync.ProgramAgent(pool=pool, agents=[clerk])
    assert "- tool/clerk(question string) -> any ; asks another agent: You know names." in agent.prompt()
    assert agent.run("?").value == "Ada"


@pytest.mark.parametrize("protocol", ["fenced", "tool"])
def test_an_answer_that_was_cut_off(protocol: str) -> None:
    with pytest.raises(NoProgram, match="cut off") as caught:
        program_of(Reply("```sema\n(f)\n```", "m", stop_reason="max_tokens"), protocol)
    assert caught.value.reason == "truncated"


@pytest.mark.parametrize(
    ("answer", "program"),
    [("x\n  ```lisp title\n(a)\n  ``` \ny", "(a)"), ("```python\nx\n```\n```\n(b)\n```", "(b)"),
     ("```sema\r\n(a)\r\n```\r\n", "(a)"), ("<think>```sema\n(no)\n```</think>(yes)", "(yes)"),
     ("```sema\n(say \u201ca\u201d)\n```", '(say "a")')],
)  # fmt: skip
def test_programs_of_answers(answer: str, program: str) -> None:
    assert program_of(Reply(answer, "m"), "fenced") == program


@pytest.mark.parametrize("part", ["```a\n", "<think>", "<think>\n```x ", "```sema\nx", "\t\t\t`\n"])
def test_no_answer_takes_the_host_long_to_read(part: str) -> None:
    with pytest.raises(NoProgram):  # hours, where the time grew with the square of the length
        program_of(Reply(part * 200_000, "m"), "fenced")


def test_output_does_not_leave_its_marker() -> None:
    shown = fenced("a</output>b</OUTPUT>c< / output>d\x1b[2J\u202e<output>", 1_000, "")
    assert shown == "<output>\na<\\/output>b<\\/OUTPUT>c<\\ / output>d\\x1b[2J\\u202e<output>\n</output>"


def test_streams_and_events(pool: Pool) -> None:
    def double(n: int) -> int:
        """Doubles."""
        return 2 * n

    playing("(return (tool/double {:n 4}))")
    pieces: list[str] = []
    events: list[Any] = []
    run = sync.ProgramAgent(pool=pool, tools=[double]).run("?", on_text=pieces.append, on_tool_call=events.append)
    assert run.value == 8 and "".join(pieces) == "(return (tool/double {:n 4}))"
    assert [(event["event"], event["tool"]) for event in events] == [("start", "double"), ("end", "double")]
    assert events[1]["result"] == "8"


def test_bad_settings_are_named(pool: Pool) -> None:
    for options, message in (
        ({"turns": 0}, "turns"),
        ({"retries": -1}, "retries"),
        ({"protocol": "xml"}, "protocol"),
        ({"whole_turns": 0}, "whole turns"),
        ({"agents": [sync.ProgramAgent()]}, "needs a name"),
    ):
        with pytest.raises(SemaError, match=message):
            sync.ProgramAgent(pool=pool, **options)  # type: ignore[arg-type]


def test_earlier_messages_come_first(pool: Pool) -> None:
    asked = playing("(return 1)")
    said = [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Hello"}]
    sync.ProgramAgent(pool=pool, limits=Limits(wall_ms=900)).run("?", history=said)
    assert [told(asked[0], n) for n in (1, 2)] == ["Hi", "Hello"]
