"""Reserving budgets in programs that bill: calls inside of streams, threads and loops, workflows, forks."""

from __future__ import annotations

import asyncio
import json
import os
import random
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from billed_replies import FIRST, STOP, TEXT, TRIALS, openai, stream_of
from billed_replies import nothing_learnt as nothing_learnt
from billing_support import Bank, providers
from llm_support import llm as llm
from llm_support import run
from net_support import PATIENCE, answering, received, reply, serving

from sema_runtime import ai
from sema_runtime.ai import sync
from sema_runtime.llm.budgets import budget
from sema_runtime.values.errors import LlmError
from sema_runtime.workflow.run import scope

pytestmark = pytest.mark.usefixtures("llm")


# Calls inside of streams


CHUNKS = stream_of(*[TEXT] * 200, {**STOP, "usage": {"prompt_tokens": 1, "completion_tokens": 1}})
REFUSED = "token budget exceeded: the call may use 131 tokens, 68 of 200 are left — not sent"


def test_a_callback_that_asks_is_not_left_waiting_for_its_own_stream() -> None:
    for inner in ('(llm/complete "a" {:max-tokens 50})', '(async/await (async (llm/complete "a" {:max-tokens 50})))'):
        program = f"""(llm/with-budget {{:max-tokens 200 :reserve #t}} (fn ()
          (llm/stream "hi" (fn (p) {inner}) {{:max-tokens 50}})))"""
        with serving(answering(CHUNKS)) as url, pytest.raises(budget.BudgetError) as caught:
            run(providers(url) + program)
        assert caught.value.message == REFUSED


def test_a_reader_that_asks_is_not_left_waiting_for_what_it_reads() -> None:
    with serving(answering(CHUNKS)) as url:
        run(providers(url))
        with sync.budget(max_tokens=200, reserve=True), sync.stream("hi", max_tokens=50) as pieces:
            next(pieces)
            with pytest.raises(budget.BudgetError) as caught:
                sync.complete("a", max_tokens=50)
            assert caught.value.message == REFUSED
        assert pieces.text == "ok"


def test_a_reader_that_asks_waits_for_a_stream_that_ends_by_itself() -> None:
    told = {"prompt_tokens": 1, "completion_tokens": 1}
    short = stream_of(TEXT, {**STOP, "usage": told})
    answers = iter((short, reply(json.dumps(openai(told)))))

    async def handler(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await received(reader)
        writer.write(next(answers))
        await writer.drain()

    async def main() -> None:
        async with ai.budget(max_tokens=200, reserve=True) as spending:
            async for _ in ai.stream("hi", max_tokens=50):
                assert await ai.complete("a", max_tokens=50) == "ok"
        assert spending.spent_tokens == 4

    with serving(handler) as url:
        run(providers(url))
        asyncio.run(main())


# Python


def test_a_budget_made_outside_of_the_one_it_is_entered_in() -> None:
    made = sync.budget(max_tokens=1000)
    with serving(answering(reply(json.dumps(openai({"prompt_tokens": 5, "completion_tokens": 5}))))) as url:
        run(providers(url))
        with sync.budget(max_tokens=500, reserve=True) as outer, made as inner:
            sync.complete("hi", max_tokens=50)
    assert (outer.spent_tokens, inner.spent_tokens) == (10, 10)


def test_threads_share_a_budget() -> None:
    """Each has a loop of its own; they are made to give way to each other as often as can be."""
    bank = Bank(1)
    interval = sys.getswitchinterval()

    def work() -> None:
        for _ in range(10):
            with suppress(LlmError):
                sync.complete("<1> hello", max_tokens=20, timeout=1)

    with serving(bank) as url:
        run(providers(url))
        sys.setswitchinterval(1e-6)
        try:
            with sync.budget(max_usd=2.0, reserve=True) as spending:
                threads = [threading.Thread(target=copy_context().run, args=(work,)) for _ in range(8)]
                for thread in threads:
                    thread.start()
                for thread in threads:
                    thread.join()
        finally:
            sys.setswitchinterval(interval)
    assert bank.usd("1") <= spending.spent_usd + 1e-9 <= 2.0 + 1e-9
    assert spending._frame.reserved_units == 0


class Worker:
    """Makes random calls from Python, in a thread, with or without a loop of its own."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)

    def blocking(self) -> None:
        for _ in range(6):
            with suppress(LlmError):
                self.call()

    def call(self) -> None:
        text, tokens = "<1> " + "word " * self.dice.randint(0, 20), self.dice.choice([5, 50, 200])
        match self.dice.randint(0, 5):
            case 0:
                with sync.stream(text, max_tokens=tokens) as pieces:
                    for _ in zip(pieces, range(self.dice.randint(0, 2)), strict=False):
                        with suppress(LlmError):
                            sync.complete(text, max_tokens=5, timeout=0.2)
            case 1:
                for _ in sync.stream(text, max_tokens=tokens):
                    break
            case 2:
                with sync.budget(max_tokens=self.dice.choice([300, 3000]), reserve=self.dice.random() < 0.5):
                    sync.complete_all([text] * 3, max_tokens=tokens, timeout=0.2)
            case 3:
                sync.batch([text] * 3, max_tokens=tokens)
            case 4:
                sync.Agent(name="a", tools=[act], model="m").run(text)
            case _:
                sync.complete(text, max_tokens=tokens, timeout=0.2)

    async def waiting(self) -> None:
        await asyncio.gather(*(self.one() for _ in range(6)))

    async def one(self) -> None:
        text, tokens = "<1> " + "word " * self.dice.randint(0, 20), self.dice.choice([5, 50, 200])
        with suppress(LlmError, TimeoutError):
            async with asyncio.timeout(self.dice.choice([0.003, 0.02, 10])):
                match self.dice.randint(0, 3):
                    case 0:
                        async for _ in ai.stream(text, max_tokens=tokens):
                            await ai.complete(text, max_tokens=5, timeout=0.2)
                    case 1:
                        async for _ in ai.stream(text, max_tokens=tokens):
                            break
                    case 2:
                        async with ai.budget(max_tokens=1000, reserve=True):
                            await ai.batch([text] * 3, max_tokens=tokens)
                    case _:
                        await ai.complete(text, max_tokens=tokens, timeout=0.2)


@ai.tool
def act() -> str:
    """Acts."""
    return "done"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + TRIALS // 5))
def test_calls_from_many_threads_and_loops(seed: int) -> None:
    dice = random.Random(seed)
    bank, workers = Bank(seed), [Worker(seed * 10 + i) for i in range(4)]
    limit = dice.choice([1.0, 4.0, 20.0])
    with serving(bank) as url:
        run(providers(url))
        with sync.budget(max_usd=limit, reserve=True) as spending:
            work = [w.blocking if dice.random() < 0.5 else partial(asyncio.run, w.waiting()) for w in workers]
            with ThreadPoolExecutor() as pool:
                for ended in [pool.submit(copy_context().run, one) for one in work]:
                    ended.result(PATIENCE)
        assert bank.usd("1") <= spending.spent_usd + 1e-9 <= limit + 1e-9
        assert spending._frame.reserved_units == 0


# Workflows


def flow(folder: Path, text: str, **settings: Any) -> Any:
    token = scope.settings.set(scope.Settings(root=str(folder), **settings))
    try:
        return run(text)
    finally:
        scope.settings.reset(token)


COUNTED = """(define calls 0)
  (llm/define-provider :counted {:default-model "c" :complete (fn (req)
    (set! calls (+ calls 1)) {:content "x" :usage {:prompt-tokens 3 :completion-tokens 2}})})
  (define (inner) (defworkflow inner "" {} (step "a")))"""


def test_limits_of_the_command_line_are_for_runs_inside_of_a_run_too(tmp_path: Path) -> None:
    program = f'{COUNTED} (define r (defworkflow w "" {{}} (for-each (fn (i) (inner)) (range 5)))) (list calls r)'
    calls, ended = flow(tmp_path, program, max_tokens=8)
    assert (calls, ended.get("reason")) == (2, "budget exceeded")


def test_a_limit_in_usd_that_does_not_hold_for_a_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert flow(tmp_path, f'{COUNTED} (defworkflow w "" {{:budget {{:usd 1}}}} (step "a") (step "b")) calls') == 2
    assert capsys.readouterr().err.count("no price known for model 'c'; the cost limit is not enforced for it") == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_child_that_was_forked_while_a_budget_was_being_changed() -> None:
    program = """
import os, threading
from sema_runtime.llm.budgets import budget
held, go = threading.Event(), threading.Event()
def work():
    with budget.lock:
        held.set()
        go.wait()
threading.Thread(target=work, daemon=True).start()
held.wait()
process = os.fork()
if not process:
    budget.charge(1, 0.0, "m")
    os._exit(0)
print(os.waitpid(process, 0)[1])
go.set()
"""
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert ran.stdout == "0\n", ran.stderr
