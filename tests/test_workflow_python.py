"""Workflows that Python starts, awaits, watches and breaks off."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from workflow_support import COUNTING

from sema_runtime import workflow
from sema_runtime.values.printer import to_text
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")
FLOW = COUNTING + '(define (flow n) (defworkflow w "" {} (phase "A") (pipeline (range n) (fn (i) (step (str i))))))'


def function(text: str = FLOW, name: str = "flow") -> tuple[Session, Any]:
    session = Session(closed=False)
    session.run(text)
    return session, session.globals[name]


def test_its_value_and_its_events(tmp_path: Path) -> None:
    async def main() -> tuple[Any, list[str], list[str], str]:
        _, flow = function()
        handle = workflow.start(flow, 2, root=str(tmp_path), run_id="a")
        live = [event.name async for event in handle.events()]
        envelope = await handle
        return envelope, live, [event.name async for event in handle.events()], handle.run_id

    envelope, live, later, run_id = asyncio.run(main())
    assert to_text(envelope) == '{:status :success :value ("<0>" "<1>")}'
    assert envelope["status"].name == "success"
    assert (live[0], live[-1], live.count("agent.result")) == ("run.started", "run.ended", 2)
    assert later == live
    assert run_id == "a"
    assert (tmp_path / "a" / "result.json").exists()


def test_two_at_once_and_resumed(tmp_path: Path) -> None:
    async def main(resume: bool) -> tuple[list[str], list[str]]:
        session, flow = function()
        handles = [workflow.start(flow, 2, root=str(tmp_path), run_id=name, resume=resume) for name in ("a", "b")]
        envelopes = await asyncio.gather(*handles)
        return list(map(to_text, envelopes)), list(session.run("prompts"))

    envelopes, prompts = asyncio.run(main(False))
    assert len(prompts) == 4
    assert asyncio.run(main(True)) == (envelopes, [])


def test_broken_off_and_resumed(tmp_path: Path) -> None:
    slow = """(define (flow ms) (defworkflow w "" {}
      (list (workflow/step "a" (fn () 1)) (workflow/step "b" (fn () (async/sleep ms) 2)))))"""

    async def first() -> str:
        _, flow = function(slow)
        handle = workflow.start(flow, 60000, root=str(tmp_path))
        async for event in handle.events():
            if event.name == "agent.result":
                handle.cancel()
        with pytest.raises(asyncio.CancelledError):
            await handle
        return handle.run_id

    async def second(run_id: str) -> tuple[Any, list[str]]:
        _, flow = function(slow)
        handle = workflow.start(flow, 0, root=str(tmp_path), run_id=run_id, resume=True)
        return await handle, [event.agent_id async for event in handle.events() if event.name == "agent.result"]

    envelope, results = asyncio.run(second(asyncio.run(first())))
    assert to_text(envelope) == "{:status :success :value (1 2)}"
    assert results == ["b_1"]


def test_what_the_function_raises(tmp_path: Path) -> None:
    async def main() -> None:
        _, flow = function('(define (flow) (error "outside of the run"))')
        handle = workflow.start(flow, root=str(tmp_path))
        assert [event async for event in handle.events()] == []
        await handle

    with pytest.raises(Exception, match="outside of the run"):
        asyncio.run(main())
