"""Budgets that reserve: what a server bills never passes the limit, whatever a program does meanwhile.

SEMA_TRIALS: how many random fan-outs are run (60 without it).
"""

from __future__ import annotations

import asyncio
import json
import os
import random
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import pytest
from llm_support import llm as llm
from llm_support import run
from net_support import received, reply, serving

from sema_runtime.values.errors import LlmError
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")
TRIALS = int(os.environ.get("SEMA_TRIALS", "60"))
PRICE_IN, PRICE_OUT = 1000.0, 3000.0  # USD per million tokens: a call costs cents, so that limits are reached soon


class Biller:
    """A server that answers, fails and hangs up at random. It bills what it generates, also for clients that went."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.tokens = 0
        self.billed = 0.0
        self.calls = 0

    def bill(self, prompt: int, completion: int) -> None:
        self.calls += 1
        self.tokens += prompt + completion
        self.billed += (prompt * PRICE_IN + completion * PRICE_OUT) / 1e6

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            body = json.loads((await received(reader)).body)
            if "input" in body:
                if await self.embed(writer, body["input"]):
                    continue
                return
            # the worst that a tokenizer does is a token for each byte
            prompt = self.random.randint(1, len(body["messages"][-1]["content"]))
            completion = self.random.randint(0, body["max_tokens"])
            fate = self.random.random()
            await asyncio.sleep(self.random.random() * 0.004)
            if fate < 0.08:
                writer.write(reply("{}", "429 Too Many Requests"))
            elif fate < 0.16:
                writer.write(reply("{}", "500 Oops"))
            elif fate < 0.24:  # all of it is billed, and nothing arrives
                self.bill(prompt, completion)
                return
            elif body.get("stream"):
                await self.stream(writer, prompt, completion, cut=fate < 0.4)
                return
            else:
                self.bill(prompt, completion)
                data = reply(json.dumps(answer(prompt, completion)))
                writer.write(data[: len(data) // 2] if fate < 0.3 else data)
                if fate < 0.3:
                    return
            await writer.drain()

    async def embed(self, writer: asyncio.StreamWriter, texts: list[str]) -> bool:
        """Whether the connection stays open."""
        tokens, fate = self.random.randint(1, sum(map(len, texts))), self.random.random()
        await asyncio.sleep(self.random.random() * 0.004)
        if fate < 0.15:
            writer.write(reply("{}", "500 Oops"))
        else:
            self.bill(tokens, 0)
            if fate < 0.3:
                return False
            data = [{"index": i, "embedding": [1.0, 0.0]} for i in range(len(texts))]
            usage = {"prompt_tokens": tokens}
            writer.write(reply(json.dumps({"model": "e", "data": data, "usage": usage})))
        await writer.drain()
        return True

    async def stream(self, writer: asyncio.StreamWriter, prompt: int, completion: int, cut: bool) -> None:
        """The client may hang up in between; what was to be generated is billed all the same."""
        self.bill(prompt, completion)
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        with suppress(OSError):
            for _ in range(min(5, completion)):
                writer.write(b'data: {"model":"m","choices":[{"index":0,"delta":{"content":"x "}}]}\n\n')
                await writer.drain()
                await asyncio.sleep(0.001)
            if not cut:
                usage = {"prompt_tokens": prompt, "completion_tokens": completion}
                end = {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage}
                writer.write(b"data: %s\n\ndata: [DONE]\n\n" % json.dumps(end).encode())
                await writer.drain()


def answer(prompt: int, completion: int) -> dict[str, object]:
    return {
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "x"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": prompt, "completion_tokens": completion},
    }


@contextmanager
def billing(seed: int) -> Iterator[tuple[Biller, str]]:
    """The server, and the program text that makes it the provider."""
    biller = Biller(seed)
    with serving(biller) as url:
        yield (
            biller,
            (
                f'(llm/set-pricing "m" {PRICE_IN} {PRICE_OUT})'
                f'(llm/configure :billed {{:api-key "k" :base-url "{url}" :default-model "m"}})'
            ),
        )


def fan_out(dice: random.Random) -> str:
    """A random program of calls side by side, some of which are cancelled, under a limit of its own or two."""
    calls = []
    for _ in range(dice.randint(2, 25)):
        words = '"' + "word " * dice.randint(1, 40) + '"'
        options = f"{{:max-tokens {dice.choice([5, 50, 200])}}}"
        call = dice.choice(
            [
                f"(llm/complete {words} {options})",
                f"(llm/complete {words} {options})",
                f"(llm/stream {words} (fn (piece) nil) {options})",
                f'(llm/stream {words} (fn (piece) (error "enough")) {options})',
                f"(llm/batch [{words} {words} {words}] {options})",
                f"(llm/with-budget {{:max-cost-usd 0.3 :reserve #t}} (fn () (llm/complete {words} {options})))",
                f"(llm/with-budget {{:max-tokens 300}} (fn () (llm/complete {words} {options})))",
                f'(llm/embed (map (fn (i) "text") (range {dice.choice([5, 50, 300])})) {{:model "m"}})',
                f"(async/timeout {dice.randint(1, 6)} (async (llm/complete {words} {options})))",
            ]
        )
        calls.append(f"(async (try {call} (catch e (:message e))))")
    cancelled = dice.sample(range(len(calls)), dice.randint(0, len(calls) // 3))
    cancels = " ".join(f"(async/sleep {dice.randint(0, 3)}) (async/cancel (nth tasks {one}))" for one in cancelled)
    return f"""(define tasks (list {" ".join(calls)})) {cancels}
      (for-each (fn (task) (try (async/await task) (catch e nil))) tasks) (async/run)"""


@pytest.mark.parametrize("seed", range(TRIALS))
def test_what_is_billed_never_passes_the_limit(seed: int) -> None:
    dice = random.Random(seed)
    usd, tokens = dice.choice([0.2, 1.0, 2.5]), dice.choice([500, 3000, 10_000])
    limits = dice.choice([f":max-cost-usd {usd}", f":max-tokens {tokens}", f":max-cost-usd {usd} :max-tokens {tokens}"])
    with billing(seed) as (biller, provider):
        left = run(f"""{provider} (llm/with-budget {{{limits} :reserve #t}} (fn ()
          {fan_out(dice)} (llm/budget-remaining)))""")
    shown = to_text(left)
    assert ":reserved 0.0" in shown or ":tokens-reserved 0" in shown, "every hold is settled"
    if "cost" in limits:
        assert biller.billed <= usd + 1e-9
    if "tokens" in limits:
        assert biller.tokens <= tokens


# One at a time

PAID = """
(llm/set-pricing "m" 1000 3000)
(define calls 0)
(llm/define-provider :p {:default-model "m" :complete (fn (req) (async/sleep 1) (set! calls (+ calls 1))
  {:content "ok" :usage {:prompt-tokens 10 :completion-tokens 10}})})
"""


def message_of(program: str) -> LlmError:
    with pytest.raises(LlmError) as caught:
        run(PAID + program)
    return caught.value


def test_a_call_that_may_not_fit_is_not_sent() -> None:
    error = message_of('(llm/with-budget {:max-cost-usd 1.0 :reserve #t} (fn () (llm/complete "hi")))')
    assert error.message == ("budget exceeded: the call may cost $12.3700, $1.0000 of $1.0000 are left — not sent")
    assert error.hint is not None and ":max-tokens of up to 306 would fit (this call's is 4096)" in error.hint


def test_its_advice_holds() -> None:
    program = '(llm/with-budget {:max-cost-usd 1.0 :reserve #t} (fn () (llm/complete "hi" {:max-tokens 306})))'
    assert run(PAID + program) == "ok"


def test_tokens() -> None:
    error = message_of('(llm/with-budget {:max-tokens 100 :reserve #t} (fn () (llm/complete "hi")))')
    assert error.message == "token budget exceeded: the call may use 4178 tokens, 100 of 100 are left — not sent"


def test_the_limit_is_used_up_by_those_that_wait() -> None:
    """Each call is held at 0.232 USD and costs 0.04: only four fit side by side, and twenty in the end."""
    program = """(llm/with-budget {:max-cost-usd 1.0 :reserve #t} (fn ()
      (define tasks (map (fn (i) (async (try (llm/complete "hi" {:max-tokens 50}) (catch e (:reason e))))) (range 60)))
      (frequencies (map async/await tasks))))"""
    assert to_text(run(PAID + program)) == '{"ok" 20 :budget 40}'


def test_those_that_wait_go_in_the_order_they_came() -> None:
    program = """(define order '())
      (llm/with-budget {:max-cost-usd 0.5 :reserve #t} (fn ()
        (for-each async/await (map (fn (i) (async (llm/complete "hi" {:max-tokens 50}) (set! order (cons i order))))
                                   (range 6)))
        (reverse order)))"""
    assert to_text(run(PAID + program)) == "(0 1 2 3 4 5)"


def test_a_cancelled_wait_leaves_the_queue() -> None:
    program = """(llm/with-budget {:max-cost-usd 0.3 :reserve #t} (fn ()
      (define first (async (llm/complete "hi" {:max-tokens 50})))
      (define second (async (llm/complete "hi" {:max-tokens 50})))
      (define third (async (llm/complete "hi" {:max-tokens 50})))
      (async/cancel second)
      (list (async/await first) (async/await third) calls (:spent (llm/budget-remaining)))))"""
    assert to_text(run(PAID + program)) == '("ok" "ok" 2 0.08)'


def test_an_unknown_price_is_refused() -> None:
    program = '(llm/with-budget {:max-cost-usd 1.0 :reserve #t} (fn () (llm/complete "hi" {:model "nobody-knows"})))'
    assert message_of(program).message == (
        "no price known for model 'nobody-knows': a :reserve limit in USD can't hold for it — not sent"
    )


def test_inner_budgets_are_charged_to_a_reserving_one_around_them() -> None:
    program = """(llm/with-budget {:max-cost-usd 1.0 :reserve #t} (fn ()
      (llm/with-budget {:max-tokens 1000} (fn () (llm/complete "hi" {:max-tokens 50})))
      (:spent (llm/budget-remaining))))"""
    assert run(PAID + program) == 0.04


NESTED = """
(llm/set-pricing "outer" 0 1000) (llm/set-pricing "inner" 0 1000)
(llm/define-provider :inner {:default-model "inner" :complete (fn (req) (async/sleep 1) "in")})
(llm/define-provider :outer {:default-model "outer" :complete (fn (req)
  (async/sleep 1)
  (llm/with-fallback [:inner] (fn () (llm/complete "x" {:max-tokens 60}))))})
(define (run limit) (llm/with-budget {:max-cost-usd limit :reserve #t} (fn ()
  (define tasks (map (fn (i) (async (try (llm/complete "y" {:max-tokens 100}) (catch e (:message e))))) (range 3)))
  (map async/await tasks))))
"""


def test_calls_on_behalf_of_others_dont_wait_for_them() -> None:
    """A provider that asks another one: both are held, and the inner call doesn't wait for what waits for it."""
    assert to_text(run(NESTED + "(run 1.0)")) == '("in" "in" "in")'
    shown = to_text(run(NESTED + "(run 0.2)"))
    assert '"in"' in shown, "the two that got stuck in each other's way are told apart, not left waiting"


def test_zero() -> None:
    error = message_of('(llm/with-budget {:max-cost-usd 0 :reserve #t} (fn () (llm/complete "hi" {:max-tokens 1})))')
    assert error.message == "budget exceeded: the call may cost $0.0850, $0.0000 of $0.0000 are left — not sent"
    assert error.hint == "its input alone doesn't fit: raise the limit, or send less"


def test_a_program_can_tell_a_spent_budget_from_a_failed_call() -> None:
    program = """(llm/with-budget {:max-tokens 5} (fn () (try (llm/complete "hi")
      (catch e (list (:type e) (:reason e) (:unit e) (:limit e) (:spent e))))))"""
    assert to_text(run(PAID + program)) == "(:llm :budget :tokens 5 20)"


def test_more_than_was_held() -> None:
    """A provider that bills more than it was asked for: the reply is not lost, and the next bound is higher."""
    program = """
      (llm/set-pricing "liar" 0 1000)
      (define reply {:content "long" :usage {:completion-tokens 200}})
      (llm/define-provider :liar {:default-model "liar" :complete (fn (req) reply)})
      (llm/with-budget {:max-cost-usd 0.35 :reserve #t} (fn ()
        (list (llm/complete "a" {:max-tokens 100})
              (try (llm/complete "b" {:max-tokens 100}) (catch e (:message e))))))"""
    assert to_text(run(program)) == (
        '("long" "budget exceeded: the call may cost $0.2000, $0.1500 of $0.3500 are left — not sent")'
    )


def test_a_server_that_hangs_up_on_a_used_connection_may_have_billed() -> None:
    """What it was sent there isn't sent again under the same hold: the first request is charged, the next one held."""
    asked = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal asked
        for _ in range(2):
            await received(reader)
            asked += 1
            if asked == 2:
                return
            writer.write(reply(json.dumps(answer(10, 10))))
            await writer.drain()

    with serving(handler) as url:
        program = f"""(llm/configure :brief {{:api-key "k" :base-url "{url}" :default-model "m"}})
          (llm/with-budget {{:max-tokens 1000 :reserve #t}} (fn ()
            (llm/complete "hi" {{:max-tokens 50}})
            (define attempts (begin (llm/complete "hi" {{:max-tokens 50}}) (count (:attempts (llm/last-call)))))
            (list attempts (:tokens-spent (llm/budget-remaining)))))"""
        attempts, spent = run(program)
    assert (asked, attempts) == (3, 2)
    assert spent > 10 + 10 + 50 + 10 + 10


def test_embeddings_of_which_some_are_billed_without_an_answer() -> None:
    """Nine requests, eight at once: the ninth comes when the first is answered, and then the server hangs up on all."""
    billed = 0

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal billed
        while True:
            texts = json.loads((await received(reader)).body)["input"]
            billed += len(texts)
            places.append(len(places))
            if places[-1] == 8:
                ninth.set()
            if places[-1]:
                await ninth.wait()
                return
            data = [{"index": i, "embedding": [1.0]} for i in range(len(texts))]
            writer.write(reply(json.dumps({"model": "e", "data": data, "usage": {"prompt_tokens": len(texts)}})))
            await writer.drain()

    places: list[int] = []
    ninth = asyncio.Event()
    with serving(handler) as url:
        program = f"""(llm/configure :brief {{:api-key "k" :base-url "{url}" :default-model "m"}})
          (llm/with-budget {{:max-tokens 200000 :reserve #t}} (fn ()
            (try (llm/embed (map (fn (i) "t") (range {9 * 128})) {{:model "m"}}) (catch e nil))
            (:tokens-spent (llm/budget-remaining))))"""
        spent = run(program)
    assert billed == 9 * 128
    assert spent >= billed
