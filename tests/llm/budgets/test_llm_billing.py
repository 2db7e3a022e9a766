"""Budgets against a server that bills what it can (billing_support.py): `billed <= limit` for every reserving budget,
every hold is settled, and what was billed is what was spent, or less.

SEMA_TRIALS: how many random programs are run.
"""

from __future__ import annotations

import asyncio
import json
import random
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from billed_replies import FIRST, STOP, TEXT, TRIALS, openai, stream_of
from billed_replies import nothing_learnt as nothing_learnt
from billing_support import PRICE_IN, PRICE_OUT, Bank, providers
from llm_support import llm as llm
from llm_support import run
from net_support import received, reply, serving, stall

from sema_runtime.llm.budgets import budget, estimate
from sema_runtime.llm.budgets.budget import Frame
from sema_runtime.llm.messages import Image, Message, Request, ToolCall
from sema_runtime.llm.providers import Provider
from sema_runtime.llm.wires import anthropic as wire_anthropic
from sema_runtime.values.errors import SemaError

pytestmark = pytest.mark.usefixtures("llm")
MARK = 1 << 40  # a limit in tokens that is none, plus the number of a budget, by which it is found again


@contextmanager
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Frame]]:
    """The budgets that a program makes, by their numbers."""
    made: dict[str, Frame] = {}
    inner = budget.inner

    def noted(usd: float | None, tokens: int | None, *rest: bool) -> Frame:
        frame = inner(usd, tokens, *rest)
        if tokens is not None:
            made[str(tokens % 1000)] = frame
        return frame

    monkeypatch.setattr(budget, "inner", noted)
    yield made


class Writer:
    """Random programs. limits: what budgets may be set to, by their numbers."""

    def __init__(self, dice: random.Random) -> None:
        self.dice = dice
        self.limits: dict[str, tuple[float | None, int | None]] = {}

    def block(self, marks: list[str], depth: int) -> str:
        """Calls side by side under a budget, some of which are cancelled."""
        number = str(len(self.limits) + 1)
        reserve = depth == 0 or self.dice.random() < 0.5
        usd = self.dice.choice([0.3, 1.0, 3.0, 10.0, 60.0]) if self.dice.random() < 0.6 else None
        limited = usd is None or self.dice.random() < 0.3
        tokens = self.dice.choice([1000, 4000, 20_000, 90_000]) + int(number) if limited else None
        if reserve:
            self.limits[number] = usd, tokens
            marks = [*marks, number]
        else:
            self.limits[number] = None, None
        options = f":max-tokens {MARK - MARK % 1000 + int(number) if tokens is None else tokens}"
        if usd is not None:
            options += f" :max-cost-usd {usd}"
        calls = [self.call(marks, depth) for _ in range(self.dice.randint(1, 8 - 2 * depth))]
        tasks = " ".join(f"(async (try {call} (catch e nil)))" for call in calls)
        cancelled = self.dice.sample(range(len(calls)), self.dice.randint(0, len(calls) // 3))
        cancels = " ".join(
            f"(async/sleep {self.dice.randint(0, 4)}) (async/cancel (nth tasks {one}))" for one in cancelled
        )
        return f"""(llm/with-budget {{{options} {":reserve #t" if reserve else ""}}} (fn ()
          (let ((tasks (list {tasks}))) {cancels}
            (for-each (fn (task) (try (async/await task) (catch e nil))) tasks))))"""

    def call(self, marks: list[str], depth: int) -> str:
        dice = self.dice
        if depth < 2 and dice.random() < 0.25:
            return self.block(marks, depth + 1)
        text = f'"<{".".join(marks)}> ' + "word " * dice.randint(0, 30) + '"'
        options = f"{{:max-tokens {dice.choice([5, 50, 200])} :timeout 200}}"
        plain = f"(llm/complete {text} {options})"
        effort = f"{{:max-tokens 20 :reasoning-effort {dice.choice([':low', chr(34) + 'HIGH' + chr(34)])}}}"
        tool = '(tool "act" "Acts" {} (fn () "done"))'
        nested = f"(llm/complete {text} {{:max-tokens 20}})"
        asking = f'(tool "act" "Asks" {{}} (fn () {nested}))'
        call = dice.choice(
            [
                plain,
                plain,
                f"(llm/complete {text} {effort})",
                f"(llm/stream {text} (fn (piece) nil) {options})",
                f'(llm/stream {text} (fn (piece) (error "enough")) {options})',
                f"(llm/stream {text} (fn (piece) {nested}) {options})",
                f"(llm/batch [{text} {text} {text}] {options})",
                f"(llm/extract {{:a :number}} {text} {{:max-tokens 40}})",
                f"(llm/extract {{:a :number}} {text} {{:mode :native :max-tokens 40}})",
                f"(llm/classify [:a :b] {text} {{:max-tokens 40}})",
                f"(llm/chat [(message :user {text})] {{:max-tokens 30 :tools [{tool}] :max-tool-rounds 3}})",
                f"(llm/chat [(message :user {text})] {{:max-tokens 30 :tools [{asking}] :parallel-tools #t}})",
                f'(agent/run (agent "a" {{:tools [{tool}] :max-turns 3}}) {text} {{:on-text (fn (piece) nil)}})',
                f"(llm/embed (map (fn (i) {text}) (range {dice.choice([1, 50, 600])})))",
                f"(llm/rerank {text} [{text} {text}])",
                f"(async/timeout {dice.randint(1, 6)} (async {plain}))",
                f"(llm/with-cache (fn () {plain}))",
                f"(begin (llm/set-budget 1000) {plain})",
            ]
        )
        chain = dice.sample(["other", "anthropic", "gemini", "ollama", "via"], dice.randint(1, 3))
        if "ollama" in chain and dice.random() < 0.7:
            chain.remove("ollama")
        return f"(llm/with-fallback [{' '.join(':' + one for one in chain or ['other'])}] (fn () {call}))"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TRIALS))
def test_no_more_is_billed_than_the_limit(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    writer = Writer(random.Random(seed))
    bank = Bank(seed)
    program = writer.block([], 0)
    with serving(bank) as url, watched(monkeypatch) as frames:
        run(f"{providers(url)} {program} (async/run)")
    for number, frame in frames.items():
        usd, tokens = writer.limits[number]
        assert (frame.reserved_units, frame.reserved_tokens) == (0, 0), number
        assert bank.usd(number) <= frame.spent_usd + 1e-9, number
        assert bank.tokens(number) <= frame.spent_tokens, number
        assert usd is None or bank.usd(number) <= usd + 1e-9, number
        assert tokens is None or bank.tokens(number) <= tokens, number
    assert not estimate._excess, "the bounds hold"


HI = '(llm/complete "hi" {:max-tokens 50})'
STREAMED = '(llm/stream "hi" (fn (piece) nil) {:max-tokens 50})'
HELD = 132


def spent(program: str, *answers: Any, reserve: bool = True, provider: str = "other", limits: str = "") -> Any:
    """What a budget says is spent once a program has run: tokens, with a limit in USD a pair. answers: what the server
    says to one request after the other, raw or as JSON."""
    left = list(answers)

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await received(reader):
            answer = left.pop(0)
            raw = answer if isinstance(answer, bytes) else reply(json.dumps(answer))
            writer.write(raw)
            await writer.drain()
            if b"connection: close" in raw:
                return

    with serving(handler) as url:
        found = run(f"""{providers(url)} (llm/set-default :{provider}) (define caught "")
          (define left (llm/with-budget {{:max-tokens 100000 {limits} {":reserve #t" if reserve else ""}}} (fn ()
            (try {program} (catch e (set! caught (:message e))))
            (llm/budget-remaining))))
          (list caught left)""")
    caught, remaining = found
    assert not left, caught
    assert not remaining.get("tokens-reserved")
    tokens = remaining.get("tokens-spent")
    return (tokens, remaining.get("spent")) if limits else tokens


@pytest.mark.parametrize(
    ("usage", "tokens"),
    [
        (None, HELD),
        ({}, HELD),
        ({"prompt_tokens": 0, "completion_tokens": 0}, HELD),
        ({"prompt_tokens": 10}, 10 + 50),
        ({"completion_tokens": 5}, HELD - 50 + 5),
        ({"prompt_tokens": "10", "completion_tokens": 4.5}, 15),
        ({"prompt_tokens": -3, "completion_tokens": True}, HELD),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 45}, 45),
        ({"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 1}, 15),
    ],
)
def test_what_a_reply_may_say_of_its_usage(usage: Any, tokens: int) -> None:
    """What isn't said counts as it was held. (Where thinking is no part of the completion, as of xAI, it is one of the
    total.)"""
    assert spent(HI, openai(usage)) == tokens


def test_an_ordinary_budget_guesses_what_is_not_said() -> None:
    assert spent(HI, openai(None), reserve=False) == 1 + 1
    assert spent(STREAMED, stream_of(TEXT, STOP), reserve=False) == 1 + 1


def test_a_huge_usage() -> None:
    raw = json.dumps(openai({"prompt_tokens": 1, "completion_tokens": 1})).replace(": 1}", ": " + "9" * 4000 + "}")
    assert spent(HI, reply(raw), limits=":max-cost-usd 1000") == ((1 << 53) + 1, pytest.approx((1 << 53) * 3e-3))


def test_a_stream_whose_usage_never_comes() -> None:
    assert spent(STREAMED, stream_of(TEXT, STOP)) == HELD
    counts = {"prompt_tokens": 7, "completion_tokens": 2}
    again = {"prompt_tokens": 0, "completion_tokens": 0}
    assert spent(STREAMED, stream_of(TEXT, {**STOP, "usage": counts}, {**STOP, "usage": again})) == 9


def test_an_answer_under_another_name() -> None:
    """Nobody knows its price: it is that of the model that was asked for."""
    told = {"prompt_tokens": 10, "completion_tokens": 5}
    tokens, usd = spent(HI, openai(told, model="nobody-knows"), limits=":max-cost-usd 1")
    assert (tokens, usd) == (15, pytest.approx((10 * PRICE_IN + 5 * PRICE_OUT) / 1e6))


def test_errors_that_cost() -> None:
    error = {"error": {"message": "no", "code": 503}}
    told = {**error, "usage": {"prompt_tokens": 10, "completion_tokens": 5}}
    good = openai({"prompt_tokens": 1, "completion_tokens": 1})
    assert spent(HI, error, good) == HELD + 2, "with a status of success"
    assert spent(HI, told, good) == 15 + 2
    assert spent(HI, reply("{}", "500 No"), good) == 2
    assert spent(HI, reply("{}", "504 No"), good) == HELD + 2, "who stood before the server has given it up"
    assert spent(HI, reply(json.dumps(told), "429 No"), good) == 15 + 2
    assert spent(HI, reply(json.dumps(told), "429 No"), good, reserve=False) == 15 + 2
    assert spent(HI, reply("<html>", "200 OK")) == HELD
    assert spent(STREAMED, stream_of(error)) == 0, "nothing had begun"
    assert spent(STREAMED, stream_of({**TEXT, "choices": []}, error)) == HELD
    assert spent(STREAMED, reply(json.dumps(told))) == HELD, "no stream"


def test_thoughts_that_leave_no_room_for_an_answer() -> None:
    """Gemini: an error, but all of it is paid for."""
    counts = {"promptTokenCount": 10, "thoughtsTokenCount": 47}
    empty = {"candidates": [{"finishReason": "MAX_TOKENS"}], "usageMetadata": counts}
    assert spent(HI, empty, provider="gemini") == 57
    assert spent(HI, empty, provider="gemini", reserve=False) == 57


def test_a_correction_is_free_unless_it_costs() -> None:
    refused = {"error": {"message": "temperature is not supported"}}
    good = {"content": [], "usage": {"input_tokens": 1, "output_tokens": 1}}
    wanted = '(llm/complete "hi" {:max-tokens 50 :temperature 0.5 :model "m-1"})'
    assert spent(wanted, reply(json.dumps(refused), "400 No"), good, provider="anthropic") == 2
    wire_anthropic._no_temperature.clear()
    told = {**refused, "usage": {"input_tokens": 9, "output_tokens": 9}}
    assert spent(wanted, reply(json.dumps(told), "400 No"), provider="anthropic") == 18
    wire_anthropic._no_temperature.clear()


def test_parts_of_many_embeddings_that_were_under_way_when_another_failed() -> None:
    """Two requests; the second is answered with 500 when the first one is being worked on."""
    begun = asyncio.Event()

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        texts = json.loads((await received(reader)).body)["input"]
        if len(texts) > 1:
            begun.set()
            await stall(reader)
        await begun.wait()
        writer.write(reply("{}", "500 No"))
        await writer.drain()

    with serving(handler) as url:
        program = f"""{providers(url)}
          (llm/configure-embeddings :own {{:api-key "k" :base-url "{url}" :default-model "m"}})
          (llm/with-budget {{:max-tokens 100000 :reserve #t}} (fn ()
            (try (llm/embed (map (fn (i) "t") (range 129))) (catch e nil))
            (:tokens-spent (llm/budget-remaining))))"""
        assert run(program) >= 128


def test_embeddings_and_rankings_without_usage() -> None:
    one = {"data": [{"index": 0, "embedding": [1.0]}]}
    assert spent('(llm/embed "text")', one) == 4 + 16
    assert spent('(llm/embed "text")', {**one, "usage": {"prompt_tokens": 3}}) == 3
    ranked = {"results": [{"index": 0, "relevance_score": 0.5}]}
    assert spent('(llm/rerank "text" ["text"])', ranked) == 2 * (4 + 16)
    told = reply(json.dumps({"detail": "no", "usage": {"total_tokens": 3}}), "429 No")
    assert spent('(llm/embed "text")', told) == 3
    assert spent('(llm/rerank "text" ["text"])', told) == 3


def test_a_batch_counts_what_was_answered_beside_a_failure() -> None:
    good = openai({"prompt_tokens": 4, "completion_tokens": 3})
    program = '(try (llm/batch ["a" "b"] {:max-tokens 50}) (catch e (set! caught (:total-tokens (llm/session-usage)))))'
    for reserve in (True, False):
        failed = reply("{}", "500 No")
        assert spent(program, failed, good, reserve=reserve) == 7
        assert spent(program, good, failed, reserve=reserve) == 7


@pytest.mark.parametrize("tokens", ["0", "-1", "-1000000"])
def test_max_tokens_that_limit_nothing(tokens: str) -> None:
    """For many servers 0 and -1 mean that there is no limit."""
    program = f"""{providers("http://127.0.0.1:1")}
      (llm/with-budget {{:max-tokens 1000 :reserve #t}} (fn () (llm/complete "hi" {{:max-tokens {tokens}}})))"""
    with pytest.raises(budget.BudgetError) as caught:
        run(program)
    assert caught.value.message == "the call's :max-tokens is no limit: a :reserve budget can't hold for it — not sent"


def test_limits_and_prices_that_are_no_numbers() -> None:
    assert spent(HI, openai({"prompt_tokens": 1, "completion_tokens": 1}), limits=":max-cost-usd 1e999")[0] == 2
    for price in ("-1", "math/nan", "math/infinity"):
        with pytest.raises(SemaError, match="llm/set-pricing: expected USD per million tokens, 0 or more, got"):
            run(f'(llm/set-pricing "m" 1 {price})')
    with pytest.raises(SemaError, match="llm/set-budget: expected a number of USD, got NaN"):
        run("(llm/set-budget math/nan)")
    with pytest.raises(budget.BudgetError, match="the call may use"):
        huge = '(llm/complete "hi" {:max-tokens (expt 10 400)})'
        run(f"{providers('http://127.0.0.1:1')} (llm/with-budget {{:max-tokens 9 :reserve #t}} (fn () {huge}))")


def test_what_runs_in_a_reserving_budget_does_not_lift_it() -> None:
    good = openai({"prompt_tokens": 10, "completion_tokens": 10})
    program = f"(begin (llm/set-budget 1000) {HI} (llm/clear-budget) {HI} (llm/set-budget 2000) {HI} {HI})"
    assert spent(f"(async/await (async {program}))", good, good, good, limits=":max-cost-usd 0.32") == (60, 0.12)


def bound(request: Request, wire: str = "openai") -> int:
    return estimate.of_request(Provider("p", wire), request, "m").tokens


def test_what_is_part_of_the_bound() -> None:
    plain = bound(Request([Message("user", "hi")], max_tokens=50))
    schema = {"type": "object", "properties": {"name": {"type": "string", "description": "x" * 5000}}}
    assert plain == HELD
    assert bound(Request([Message("user", "hi")], max_tokens=50, answer_schema=schema)) > plain + 5000
    call = ToolCall("id", "act", {}, "s" * 5000)
    assert bound(Request([Message("assistant", "", tool_calls=(call,))], max_tokens=50)) > plain + 5000
    loud = Request([Message("user", "hi")], max_tokens=50, reasoning_effort="HIGH")
    assert bound(loud, "anthropic") == plain + 12000


@pytest.mark.parametrize(
    ("pdf", "pages"),
    [
        (b"%PDF-1.4 1 0 obj << /Type /Pages /Kids [2 0 R 3 0 R] >> << /Type/Page >> << /Type /Page >>", 2),
        (b"%PDF-1.4 << /Type /Pages /Count 40 >>", 40),
        (b"%PDF-1.5 << /Type /ObjStm /N 3 >> stream\n" + zlib.compress(b"<< /Type /Page >>" * 3), 3),
        (b"%PDF-1.5 << /Type /ObjStm /N 3 >> stream\nencrypted" + b"?" * 5000, 11),
    ],
)
def test_pages_of_a_pdf_count_as_pictures(pdf: bytes, pages: int) -> None:
    asked = Message("user", "hi", images=(Image("application/pdf", pdf),))
    assert bound(Request([asked], max_tokens=50)) == HELD + pages * 6000
