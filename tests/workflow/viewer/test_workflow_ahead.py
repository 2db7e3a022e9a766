"""Large journals in the viewer: a process of its own takes lines apart ahead of the fold, which comes to the same with
and without it."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from viewer_support import signing_key as signing_key
from viewer_support import viewer as viewer
from workflow_journals import review, wide, written

from sema_runtime.workflow.journal import segments
from sema_runtime.workflow.read import reducer as fold
from sema_runtime.workflow.viewer import ahead, answers, app
from sema_runtime.workflow.viewer.journal import Journal
from sema_runtime.workflow.viewer.server import Viewer

pytestmark = pytest.mark.journals_by_hand


OURS = fold.records_of


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three segments and some forty pieces, with lines that aren't of the form."""
    monkeypatch.setattr(segments, "PIECE", 1024)
    odd = [*review().lines, "no event", '{"event": "agent.started", "agent_id": "é"}']
    return written(tmp_path, "a", wide(60, tools=1), odd, wide(30))


@pytest.fixture
def own(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The lengths of the pieces that the server takes apart itself."""
    lengths: list[int] = []

    def records_of(piece: bytes) -> Any:
        lengths.append(len(piece))
        return OURS(piece)

    monkeypatch.setattr(fold, "records_of", records_of)
    return lengths


@pytest.fixture
def journal(folder: Path) -> Iterator[Journal]:
    made = Journal(folder)
    made.unread()
    yield made
    made.look_no_further()


def told(journal: Journal) -> Any:
    while journal.read():
        pass
    found = answers.summary(journal, journal.unread())
    rows = [answers.rows(journal, phase["number"], 0, 100, answers.Filter("", ""))["rows"] for phase in found["phases"]]
    return {name: value for name, value in found.items() if name not in ("now", "generation", "cursor")}, rows


def plain(folder: Path) -> Any:
    """What the journal comes to without another process."""
    journal = Journal(folder)
    journal.unread()
    return told(journal)


def looked_ahead(journal: Journal) -> ahead.Ahead:
    """With a process that has done what it will do: any pipe has room for all of it."""
    journal.look_ahead()
    assert journal.ahead is not None
    journal.ahead.process.wait()
    return journal.ahead


def test_most_comes_from_the_process(journal: Journal, own: list[int]) -> None:
    looked_ahead(journal)
    found = told(journal)
    assert len(own) == ahead.LEAD
    assert found == plain(journal.path)


def test_it_goes_on_where_the_server_is(journal: Journal, own: list[int]) -> None:
    journal.read(5)
    own.clear()
    looked_ahead(journal)
    found = told(journal)
    assert len(own) == ahead.LEAD
    assert found == plain(journal.path)


def test_pieces_that_the_server_has_passed_are_thrown_away(journal: Journal, own: list[int]) -> None:
    process = looked_ahead(journal)
    journal.ahead = None
    journal.read(9)
    own.clear()
    journal.ahead = process
    found = told(journal)
    assert own == []
    assert found == plain(journal.path)


def test_a_process_that_is_late_leaves_out_what_is_done(journal: Journal, own: list[int]) -> None:
    journal.look_ahead()
    assert journal.ahead is not None
    journal.ahead.process.send_signal(signal.SIGSTOP)
    journal.read(20)
    before = len(own)
    journal.ahead.process.send_signal(signal.SIGCONT)
    journal.ahead.process.wait()
    found = told(journal)
    assert before >= 20 - ahead.LEAD
    assert len(own) - before <= ahead.LEAD
    assert found == plain(journal.path)


@pytest.mark.parametrize("when", ["before", "during"])
def test_a_process_that_dies_is_no_loss(journal: Journal, own: list[int], when: str) -> None:
    journal.look_ahead()
    assert journal.ahead is not None
    if when == "during":
        journal.read(20)
    journal.ahead.process.kill()
    journal.ahead.process.wait()
    assert told(journal) == plain(journal.path)


def test_no_process_to_be_had(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.executable", "/no/python")
    journal.look_ahead()
    assert journal.ahead is None
    assert told(journal) == plain(journal.path)


def test_a_replaced_journal_has_nothing_of_the_old_one(journal: Journal, folder: Path) -> None:
    process = looked_ahead(journal)
    journal.read(5)
    other = written(folder.parent, "b", wide(40))
    folder.rename(folder.parent / "old")
    other.rename(folder)
    assert journal.unread() > 0
    assert journal.ahead is None
    assert process.process.poll() is not None
    assert told(journal) == plain(folder)


def test_a_line_without_end_waits(journal: Journal, folder: Path) -> None:
    last = folder / "events.resume-2.jsonl"
    text = last.read_bytes()
    last.write_bytes(text[:-100])
    journal.unread()
    looked_ahead(journal)
    assert told(journal) == plain(folder)
    with last.open("ab") as file:
        file.write(text[-100:])
    journal.unread()
    assert told(journal) == plain(folder)


def test_the_server_has_such_a_process_while_it_reads(viewer: Viewer, monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[ahead.Ahead] = []

    class Seen(ahead.Ahead):
        def __init__(self, *arguments: Any) -> None:
            super().__init__(*arguments)
            made.append(self)

    monkeypatch.setattr("sema_runtime.workflow.viewer.journal.Ahead", Seen)
    monkeypatch.setattr(app, "LARGE", 1 << 20)
    folder = written(viewer.root, "large", wide(4_000))
    written(viewer.root, "small", wide(40))
    for run in ("large", "small"):
        while (found := httpx.get(f"{viewer.url}/api/run/{run}/summary").json())["unread"]:
            pass
        if run == "large":
            expected, _ = plain(folder)
            assert {name: found[name] for name in expected if name != "written"} == {
                name: value for name, value in expected.items() if name != "written"
            }
    assert len(made) == 1
    assert made[0].process.returncode is not None
