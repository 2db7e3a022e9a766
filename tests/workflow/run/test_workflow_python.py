"""Workflows that Python starts, awaits, watches and breaks off."""

from __future__ import annotations

import asyncio
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from paths import DOCS
from workflow_support import COUNTING

from sema_runtime import workflow
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from sema_runtime.workflow.read import recorded_run as reading
from sema_runtime.workflow.read.recorded_run import open_run
from sema_runtime.workflow.replay.recording import Replayed
from semac.session import Session

pytestmark = pytest.mark.usefixtures("llm")
PAGE = DOCS / "how-to" / "workflow-python.md"
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


REPLAYED = (
    COUNTING
    + """(define (flow n)
  (defworkflow w "" {} (phase "A") {:status :success :texts (pipeline (range n) (fn (i) (step (str "item " i))))}))"""
)


def test_replayed(tmp_path: Path) -> None:
    async def main(text: str, n: int, new: bool = False) -> tuple[str, list[str]]:
        session, flow = function(text)
        if new:
            await workflow.start(flow, n, root=str(tmp_path), run_id="a")
        found = await workflow.replayed(flow, n, root=str(tmp_path), run_id="a")
        assert found.problems == ()
        return found.difference, list(session.run("prompts"))

    assert asyncio.run(main(REPLAYED, 2, new=True)) == ("", ["item 0", "item 1"])
    assert asyncio.run(main(REPLAYED, 2)) == ("", [])
    more, prompts = asyncio.run(main(REPLAYED, 3))
    assert (more, prompts) == ("the program comes to step step (phase A), the run doesn't: item 2", [])
    other, prompts = asyncio.run(main(REPLAYED.replace("item ", "thing "), 2))
    assert other.startswith("step step (phase A) asks something else (event 2 of events.jsonl)")
    assert prompts == []


@pytest.mark.journals_by_hand
def test_a_replay_says_what_is_wrong_with_its_recording(tmp_path: Path) -> None:
    async def main() -> Replayed:
        _, flow = function(REPLAYED)
        await workflow.start(flow, 2, root=str(tmp_path), run_id="a")
        with (tmp_path / "a" / "events.jsonl").open("a") as journal:
            journal.write("{damaged\n")
        return await workflow.replayed(flow, 2, root=str(tmp_path), run_id="a")

    assert asyncio.run(main()) == Replayed("", ("events.jsonl: 1 damaged line, skipped",))


def test_forked(tmp_path: Path) -> None:
    async def main(text: str, **more: Any) -> list[str]:
        session, flow = function(text)
        await workflow.start(flow, 3, root=str(tmp_path), **more)
        return list(session.run("prompts"))

    assert asyncio.run(main(REPLAYED, run_id="a", code_version="1")) == ["item 0", "item 1", "item 2"]
    assert asyncio.run(main(REPLAYED, fork="a")) == []
    assert asyncio.run(main(REPLAYED.replace("item ", "ITEM "), fork="a")) == ["ITEM 0", "ITEM 1", "ITEM 2"]
    first = next(
        event.data["seq"] for event in reading.open_run(str(tmp_path), "a").events() if event.data.get("status") == "ok"
    )
    assert len(asyncio.run(main(REPLAYED, fork="a", at=str(first)))) == 2
    forks = [reading.open_run(str(tmp_path), one).origin for one in reading.run_ids(tmp_path) if one != "a"]
    assert sorted((one.run_id, one.at or "", len(one.kept or ())) for one in forks if one is not None) == [
        ("a", "", 0),
        ("a", "", 3),
        ("a", str(first), 1),
    ]
    with pytest.raises(ValueError, match="--at 500: the journal of a ends at 0:"):
        asyncio.run(main(REPLAYED, fork="a", at="500"))
    with pytest.raises(reading.RunNotFound):
        asyncio.run(main(REPLAYED, fork="b"))


# The page


FLOWS = """(define calls 0)
(llm/define-provider :echo {:default-model "echo" :complete (fn (request)
  (set! calls (+ calls 1))
  (when (= calls 3) (async/sleep 60000)) ; the first one of the run that is given little time
  (str "<" (:content (last (:messages request))) ">"))})
(define (review folder)
  (defworkflow review "Reviews" {} (map (fn (name) (step (str folder "/" name) {:name "reader"})) '("a" "b"))))
"""


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """The program of docs/how-to/workflow-python.md, in a folder with a module like the one that it uses."""
    (block,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (tmp_path / "flows.sema").write_text(FLOWS)
    assert "at_most(0.01)" in block  # seconds for a step to begin
    (tmp_path / "program.py").write_text(block.replace("at_most(0.01)", "at_most(2)"))
    return tmp_path / "program.py"


def python(*args: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, *args], cwd=folder, capture_output=True, text=True, timeout=120)


def test_the_program_of_the_page(program: Path) -> None:
    done = python("program.py", folder=program.parent)
    runs = sorted((program.parent / "runs").iterdir(), key=lambda path: path.stat().st_mtime)
    assert done.stdout.splitlines() == [
        'reader_1 ok "<src/a>"', 'reader_2 ok "<src/b>"', f"{runs[0].name} success",
        "reader_1 failed error: cancelled", 'reader_1 ok "<src/a>"', 'reader_2 ok "<src/b>"',
    ]  # fmt: skip
    assert done.stderr == ""


def test_mypy_knows_the_types(program: Path) -> None:
    pytest.importorskip("mypy")
    config = program.parent / "mypy.ini"
    config.write_text("[mypy]\nstrict = true\n[mypy-flows]\nignore_missing_imports = true\n")
    done = python("-m", "mypy", "--cache-dir", "cache", "program.py", folder=program.parent)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_objects_of_a_run_have_what_the_page_says(tmp_path: Path) -> None:
    async def main() -> None:
        _, flow = function(FLOW.replace('(phase "A")', '(phase "A") (checkpoint :k 1)'))
        await workflow.start(flow, 1, root=str(tmp_path), run_id="a")

    asyncio.run(main())
    run = open_run(tmp_path, "a")
    found = {"run": run, "phase": run.phases[0], "agent": run.agents[0], "checkpoint": run.checkpoints[0]}
    found["usage"] = run.usage
    page = (DOCS / "reference" / "workflow-commands.md").read_text()
    for name, one in found.items():
        (names,) = re.findall(rf"^\| {name} \| `(.*?)`", page, re.MULTILINE)
        for attribute in names.split():
            assert hasattr(one, attribute), (name, attribute)


# As programs use it


def test_a_handler_of_a_web_server_sends_events_as_they_come(tmp_path: Path) -> None:
    """In the manner of ASGI, two requests at once; one client goes away, and its run goes on."""

    async def app(flow: Any, send: Any, n: int) -> Any:
        handle = workflow.start(flow, n, root=str(tmp_path))
        async for event in handle.events():
            await send(event.name)
            if n == 1:
                break
        return await handle

    async def main() -> tuple[list[Any], list[str]]:
        _, flow = function()
        sent: list[str] = []

        async def send(name: str) -> None:
            await asyncio.sleep(0)
            sent.append(name)

        return await asyncio.gather(app(flow, send, 3), app(flow, send, 1)), sent

    envelopes, sent = asyncio.run(main())
    assert [to_text(one) for one in envelopes] == [
        '{:status :success :value ("<0>" "<1>" "<2>")}', '{:status :success :value ("<0>")}'
    ]  # fmt: skip
    assert sent.count("agent.result") == 3


def test_two_who_listen_both_get_all_events(tmp_path: Path) -> None:
    async def main() -> list[list[str]]:
        _, flow = function()
        handle = workflow.start(flow, 2, root=str(tmp_path))

        async def listen() -> list[str]:
            return [event.name async for event in handle.events()]

        return await asyncio.gather(listen(), listen())

    first, second = asyncio.run(main())
    assert first == second
    assert first[-1] == "run.ended"


def test_threads_with_a_loop_each(tmp_path: Path) -> None:
    def one(name: str) -> str:
        async def main() -> str:
            _, flow = function()
            return to_text(await workflow.start(flow, 2, root=str(tmp_path), run_id=name))

        return asyncio.run(main())

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(one, "abcd")) == {'{:status :success :value ("<0>" "<1>")}'}


def test_without_a_loop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_WORKFLOW_RUN_DIR", str(tmp_path / "runs"))
    _, flow = function()
    assert to_text(flow(1)) == '{:status :success :value ("<0>")}'
    assert len(list((tmp_path / "runs").iterdir())) == 1
    with pytest.raises(RuntimeError, match="no running event loop"):
        workflow.start(flow, 1)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (
            {"run_id": "../x"},
            'workflow/run: workflow run id "../x" is not a safe directory name: must not contain a path',
        ),
        ({"run_id": "x", "resume": True}, "workflow/run: cannot resume: no prior run journal at "),
        ({"resume": True}, "workflow/run: workflow resume requires an explicit run id"),
    ],
)
def test_what_cannot_be_started(settings: dict[str, Any], message: str, tmp_path: Path) -> None:
    async def main() -> None:
        _, flow = function()
        await workflow.start(flow, 1, root=str(tmp_path), **settings)

    with pytest.raises(SemaError) as caught:
        asyncio.run(main())
    assert str(caught.value).startswith(message)
