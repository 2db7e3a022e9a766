"""Tools of programs: effects, results that are kept, quotas, sizes."""

from __future__ import annotations

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any, Literal, TypedDict

import pytest

from sema_runtime.box import Pool, Quota, Session, ToolGrant, calls
from sema_runtime.llm.jsonable import to_sema
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.errors import SemaError


class Counted:
    def __init__(self) -> None:
        self.calls: list[dict[str, object]] = []

    def __call__(self, **arguments: object) -> int:
        self.calls.append(arguments)
        return len(self.calls)


def test_read_tools_are_asked_once_for_equal_arguments(pool: Pool) -> None:
    look = Counted()
    with Session(pool, tools={"look": ToolGrant(look, "read")}) as session:
        source = '(list (tool/look {:a 1 :b "x"}) (tool/look {:b "x" :a 1.0}) (tool/look :a 2) (tool/look {"a" 2}))'
        outcome = session.run(source)
        assert outcome.value == [1, 1, 2, 2]
        assert [call["kept"] for call in outcome.tool_calls] == [False, True, False, True]
        assert session.run("(tool/look :a 2)").value == 2
    assert len(look.calls) == 2
    assert pool.run("(tool/look :a 2)", tools={"look": ToolGrant(look, "read")}).value == 3


@pytest.mark.parametrize("effect", ["write", None])
def test_other_tools_are_asked_each_time(pool: Pool, effect: str | None) -> None:
    act = Counted()
    assert pool.run("(list (tool/act) (tool/act))", tools={"act": ToolGrant(act, effect)}).value == [1, 2]
    again = ToolGrant(act, "read", cached=False)
    assert pool.run("(list (tool/act) (tool/act))", tools={"act": again}).value == [3, 4]


def test_a_failure_names_the_effects_before_it(pool: Pool) -> None:
    outcome = pool.run("(tool/send) (tool/send) (car 5)", tools={"send": ToolGrant(Counted(), "write")})
    assert outcome.reason == "type_error" and "not to be repeated: tool/send 2 times" in (outcome.hint or "")
    late = pool.run(
        "(tool/send) (let l () (l))",
        tools={"send": ToolGrant(Counted(), "write")},
        limits=replace(pool.limits, wall_ms=300),
    )
    assert late.reason == "timeout" and "tool/send once" in (late.hint or "")
    assert "repeated" not in (pool.run("(tool/send) (car 5)", tools={"send": Counted()}).hint or "")


def test_quotas_name_the_limit_and_how_to_raise_it(pool: Pool) -> None:
    forever = "(let loop () (tool/act) (loop))"
    tools = {"act": ToolGrant(Counted(), calls=2)}
    outcome = pool.run(f"(try {forever} (catch e 1))", tools=tools)
    assert outcome.reason == "tool_calls_exceeded" and len(outcome.tool_calls) == 2
    assert "limit calls of 2 for tool/act" in (outcome.message or "") and "ToolGrant" in (outcome.hint or "")
    each = pool.run(forever, tools={"act": Counted()}, limits=replace(pool.limits, tool_calls_each=3))
    assert "tool_calls_each of 3 for tool/act" in (each.message or "") and "raise tool_calls_each" in (each.hint or "")


def test_branches_share_a_quota(pool: Pool) -> None:
    act, quota = Counted(), Quota(total=20, each={"act": 10})
    with ThreadPoolExecutor(4) as threads:
        outcomes = list(
            threads.map(
                lambda _: pool.run("(dotimes (i 5) (tool/act))", tools={"act": act}, quota=quota),
                range(4),
            )
        )
    assert len(act.calls) == 10
    stopped = [outcome for outcome in outcomes if outcome.reason == "tool_calls_exceeded"]
    assert stopped and "limit each of 10 calls of tool/act" in (stopped[0].message or "")


def test_sizes_of_arguments_and_results_are_bounded(pool: Pool) -> None:
    give = Counted()
    limits = replace(pool.limits, tool_argument_bytes=1000, tool_result_bytes=1000)
    outcome = pool.run('(tool/give :a (string/repeat "x" 2000))', tools={"give": give}, limits=limits)
    assert outcome.reason == "validation_error" and "tool_argument_bytes is 1000" in (outcome.message or "")
    assert give.calls == []
    outcome = pool.run("(tool/big)", tools={"big": lambda: "x" * 2000}, limits=limits)
    assert outcome.reason == "tool_error" and "tool_result_bytes is 1000" in (outcome.message or "")


class Row(TypedDict):
    id: int
    names: list[str]


def rows(limit: int, kind: Literal["a", "b"] = "a") -> list[Row]:
    return [{"id": 1, "names": ["x"]}, {"id": "2", "names": [3]}][:limit]  # type: ignore[typeddict-item,list-item]


def untyped(place, size=1):  # type: ignore[no-untyped-def]
    return place


@pytest.mark.parametrize(
    ("source", "reason", "words"),
    [
        ("(tool/rows {:limit 1})", None, ""), ("(tool/rows {:limit 1.0})", None, ""),
        ("(tool/rows {:limit 2})", "tool_error",
         '1.id: expected int, got string "2"; 1.names.0: expected string, got int 3'),
        ('(tool/rows {:limit "x"})', "validation_error", 'limit: expected int, got string "x"'),
        ("(tool/rows {:limit nil})", "validation_error", "limit: expected int, got nil"),
        ("(tool/rows)", "validation_error", "limit: missing"),
        ('(tool/rows {:limit 1 :kind "c"})', "validation_error", 'kind: expected "a" or "b", got "c"'),
        ("(tool/rows {:limti 1})", "validation_error", "no argument limti; did you mean limit?"),
        ("(tool/untyped {:place 1})", None, ""), ("(tool/untyped)", "validation_error", "missing argument place"),
        ("(tool/untyped {:plaec 1})", "validation_error",
         "did you mean place? (tool/untyped(place any, size any?) -> any)"),
    ],
)  # fmt: skip
def test_arguments_and_results_fit_the_signature(pool: Pool, source: str, reason: str | None, words: str) -> None:
    outcome = pool.run(source, tools=[rows, untyped])
    assert outcome.reason == reason and words in (outcome.message or ""), outcome


def test_messages_about_arguments_are_bounded(pool: Pool) -> None:
    def many(numbers: list[int]) -> int:
        return 1

    source = '(tool/many {:numbers (map (fn (n) (string/repeat "x" 99)) (range 2000))})'
    message = pool.run(source, tools=[many]).message or ""
    assert "numbers.0: expected int" in message and len(message) < 4_300 and message.count("expected") == 16


def test_effects_are_words_that_exist() -> None:
    with pytest.raises(SemaError, match="'read', 'write'"):
        ToolGrant(print, "reads")
    with pytest.raises(SemaError, match="positive"):
        ToolGrant(print, calls=0)


class Account:
    """An object of the host whose text nobody in the box may read."""

    def __repr__(self) -> str:
        return "Account(key='sk-secret')"


def open_account() -> Account:
    return Account()


def test_objects_of_the_host_show_their_type_alone(pool: Pool) -> None:
    value = pool.run("(str (tool/open))", tools={"open": ToolGrant(open_account)}).value
    assert "Account" in str(value) and "secret" not in str(value)


def test_a_tool_that_ends_the_process_ends_its_call_alone(pool: Pool) -> None:
    def leave() -> None:
        raise SystemExit(3)

    outcome = pool.run("(tool/leave)", tools={"leave": ToolGrant(leave)})
    assert outcome.reason == "tool_error" and "SystemExit: 3" in (outcome.message or "")
    assert pool.run("(+ 1 2)").value == 3


def test_what_a_tool_says_is_no_reason_of_its_own(pool: Pool) -> None:
    def divide() -> None:
        raise ValueError("division by zero in column b")

    assert pool.run("(tool/divide)", tools={"divide": ToolGrant(divide)}).reason == "tool_error"


def test_no_tool_is_called_after_the_deadline(pool: Pool) -> None:
    """Of calls that were made at the same time, too: those that come one after the other would take long together."""
    begun: list[int] = []

    def wait(number: int) -> int:
        begun.append(number)
        threading.Event().wait(1)
        return number

    source = "(async/all (map (fn (i) (async (tool/wait {:number i}))) (range 20)))"
    tools = {"wait": ToolGrant(wait, parallel=False)}
    assert pool.run(source, tools=tools, limits=replace(pool.limits, wall_ms=900)).reason == "timeout"
    assert begun == [0]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


def test_an_exception_that_has_no_words_ends_its_call_alone(pool: Pool) -> None:
    def fail() -> None:
        raise Unspeakable()

    outcome = pool.run('(try (tool/burst) (catch e "caught"))', tools={"burst": fail})
    assert outcome.value == "caught" and outcome.tool_calls[0]["error"] == "Unspeakable, which can't be told"


@pytest.mark.parametrize(
    ("tools", "words"),
    [(print, "tools are several"), (5, "tools are several"), ("print", "tools are several"),
     ({"a b": print}, "can't be called 'a b'"), ({"": print}, "can't be called ''"), ({5: print}, "called 5"),
     ([lambda: 1], "needs a name"), ({"x": 5}, "tool x is no function")],
)  # fmt: skip
def test_what_no_program_can_call_is_refused(pool: Pool, tools: Any, words: str) -> None:
    with pytest.raises(SemaError, match=words):
        pool.run("1", tools=tools)


@pytest.mark.parametrize("source", [5, None, b"1", ["1"]])
def test_a_program_is_text(pool: Pool, source: Any) -> None:
    with pytest.raises(SemaError, match="a program is text, got"):
        pool.run(source)


# What programs make the host hold

EMPTY = "(map (fn (i) []) (range {count}))"  # which takes far more memory than its text


def memory_held(value: Any) -> int:
    """The bytes that Python allocated for what a value refers to, roughly."""
    kinds = (list, dict, tuple)
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, kinds) else ()
    return sys.getsizeof(value) + sum(map(memory_held, inner))


def test_long_arguments_are_not_kept_with_the_outcome(pool: Pool) -> None:
    source = f"(define many {EMPTY.format(count=20_000)}) (map (fn (i) (tool/look {{:a many :n i}})) (range 60))"
    outcome = pool.run(f"{source} (tool/look {{:a (pow 10 15000) :b (bytevector 1)}})", tools={"look": Counted()})
    assert outcome.value == 61
    assert [call["args"] for call in outcome.tool_calls[:2]] == [{"a": "<too long to keep>", "n": n} for n in (0, 1)]
    assert outcome.tool_calls[-1]["args"] == {"a": "<too long to keep>", "b": b"\x01"}
    short = f"(define many {EMPTY.format(count=2_000)}) (map (fn (i) (tool/look {{:a many}})) (range 256))"
    outcome = pool.run(short, tools={"look": Counted()}, limits=replace(pool.limits, tool_calls_each=256))
    assert outcome.ok and memory_held(outcome.tool_calls) < 40_000_000
    assert outcome.tool_calls[0]["args"] == {"a": [[]] * 2_000} != outcome.tool_calls[-1]["args"]


def test_a_program_ends_when_tools_have_said_more_than_its_session_keeps(pool: Pool) -> None:
    look = Counted()
    tools = {"big": lambda: "x" * 10_000, "look": look}
    limits = replace(pool.limits, history_bytes=25_000)
    source = "(map (fn (i) (tool/big) (tool/look)) (range 9))"
    with Session(pool, tools=tools, limits=limits) as session:
        assert session.run("(define before (tool/big))").ok
        outcome = session.run(source)
        assert outcome.reason == "history_exceeded" and "history_bytes of 25000" in (outcome.message or "")
        assert len(look.calls) == 1
        assert session.run("(count before)").value == 10_000
    assert pool.run(source, tools=tools, limits=limits).ok  # nothing is kept


def test_tools_are_asked_for_no_more_than_a_program_has_memory_for(pool: Pool) -> None:
    pages: list[int] = []

    def page(number: int) -> str:
        pages.append(number)
        return "x" * 900_000

    source = "(count (async/all (map (fn (n) (async (tool/page {:number n}))) (range 100))))"
    outcome = pool.run(source, tools=[page], limits=replace(pool.limits, memory_mb=64))
    assert outcome.reason == "memory_exceeded" and len(pages) < 40
    assert pool.run("(+ 1 2)").value == 3


def test_results_are_kept_up_to_a_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calls, "KEPT_BYTES", 100)
    results = calls.Results()
    for number in range(5):
        results.keep(str(number), calls.Reply("x" * 40))
    assert list(results.by_call) == ["3", "4"] and results.bytes == 80
    results.keep("4", calls.Reply("y"))
    assert results.bytes == 41


def test_an_exception_that_would_end_the_host_in_words_ends_its_call(pool: Pool) -> None:
    class Leaving(Exception):
        def __str__(self) -> str:
            raise SystemExit(3)

    def fail() -> None:
        raise Leaving()

    assert pool.run("(try (tool/burst) (catch e (:message e)))", tools={"burst": fail}).value.startswith(
        "tool/burst: Leav"
    )


def test_names_of_arguments_may_have_either_sign(pool: Pool) -> None:
    parameters = to_sema({"city-name": {"type": "string"}, "unit_name": {"type": "string", "optional": True}})
    weather = Tool("weather", "", parameters, lambda city_name, unit_name=None: [city_name, unit_name])

    def says(source: str) -> Any:
        outcome = pool.run(source, tools=[weather])
        return outcome.value or outcome.message

    assert says('(tool/weather {:city-name "B"})') == ["B", None]
    assert says('(tool/weather :city_name "B" :unit-name "C")') == ["B", "C"]
    assert "did you mean city-name?" in says('(tool/weather {:city-nme "B"})')
    assert "given twice" in says('(tool/weather {:city-name "B" :city_name "B"})')
