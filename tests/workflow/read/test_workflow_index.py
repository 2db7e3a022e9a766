"""index.db: its tables and rows, taking in what is new once, runs that change, and `sema workflow index`."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import workflow_journals as journals

from sema_runtime.workflow.read import index
from semac.cli.workflow.list import index_main

pytestmark = pytest.mark.journals_by_hand

COLUMNS = {
    "runs": "run_id embedded_run_id workflow code_version started_ts ended_ts status args_json",
    "phases": "run_id start_seq phase status dur_ms",
    "agents": "run_id agent_id agent_name model phase_seq status dur_ms",
    "tool_calls": "run_id seg seq agent_id tool_name args_json",
    "checkpoints": "run_id seg seq phase_seq key value_digest",
    "usage": "run_id seg seq agent_id phase_seq input_tokens output_tokens cost_usd",
    "ingest_cursor": "cursor_key byte_offset",
}
OURS = {"totals", "nested"}  # tables that other implementations don't have


@pytest.fixture
def db(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    opened = index.open_index(index.index_path(str(tmp_path)))
    yield opened
    opened.close()


def dump(db: sqlite3.Connection) -> dict[str, list[tuple[object, ...]]]:
    return {table: db.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in COLUMNS}


def test_the_tables(db: sqlite3.Connection) -> None:
    found = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert found == {*COLUMNS, *OURS}
    for table, columns in COLUMNS.items():
        assert [row[1] for row in db.execute(f"PRAGMA table_info({table})")] == columns.split()
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)


def test_the_golden_run(db: sqlite3.Connection, tmp_path: Path) -> None:
    journals.written(tmp_path, "one", journals.GOLDEN)
    index.sync_all(db, str(tmp_path))
    assert dump(db) == {
        "runs": [("one", "wf_test_0001", "hello-wf", None, "0", "0", "success", '{"name":"x"}')],
        "phases": [("one", 1, "Inventory", "success", 0), ("one", 4, "Audit", "success", 0)],
        "agents": [],
        "tool_calls": [],
        "checkpoints": [
            ("one", 0, 2, 1, "files", "dc071858552dae9a60200b0a36a13dd3"),
            ("one", 0, 5, 4, "findings", "eccbc87e4b5ce2fe28308fd9f2a7baf3"),
        ],
        "usage": [],
        "ingest_cursor": [("one", len(journals.GOLDEN))],
    }


def test_agents_tools_and_costs(db: sqlite3.Connection, tmp_path: Path) -> None:
    journals.written(tmp_path, "r", journals.review(until="failed"))
    index.sync_run(db, str(tmp_path), "r")
    agents = db.execute("SELECT agent_id, agent_name, model, phase_seq, status, dur_ms FROM agents").fetchall()
    assert agents[1] == ("reader_2", "reader", journals.MODELS[1], 4, "ok", 2500)
    assert agents[-1] == ("reader_6", "reader", journals.MODELS[2], 4, "failed", 4100)
    assert db.execute("SELECT COUNT(*), MIN(tool_name) FROM tool_calls").fetchone() == (9, "file/read")
    assert db.execute("SELECT cost_usd FROM usage WHERE agent_id = 'reader_2'").fetchone() == (None,)
    (row,) = index.summary(db)
    assert row.pop("cost_usd") == pytest.approx(0.0103)
    assert row == {
        "run_id": "r",
        "workflow": "review",
        "status": "failed",
        "started_ts": journals.stamp(0),
        "ended_ts": journals.stamp(6.4),
        "agents": 6,
        "tokens": sum(900 + 80 * n + 120 + 9 * n for n in range(6)),
    }


def test_every_line_is_taken_in_once(db: sqlite3.Connection, tmp_path: Path) -> None:
    lines = journals.review().lines
    folder = journals.written(tmp_path, "r", lines[:1])
    with (folder / "events.jsonl").open("a") as file:
        for line in lines[1:]:
            for part in (line[:20], line[20:] + "\n"):
                file.write(part)
                file.flush()
                index.sync_run(db, str(tmp_path), "r")
    grown = dump(db)
    index.sync_all(db, str(tmp_path))
    assert dump(db) == grown
    db.execute("DELETE FROM ingest_cursor")  # even from the beginning
    index.sync_all(db, str(tmp_path))
    assert dump(db) == grown
    other = index.open_index(":memory:")
    index.sync_all(other, str(tmp_path))
    assert dump(other) == grown
    other.close()


def test_a_resumed_run(db: sqlite3.Connection, tmp_path: Path) -> None:
    first, second = journals.review(until="running"), journals.Segment("review", "r", at=100)
    second.open_phase("Judge")
    second.finish(second.start("writer", "p"), 5, tokens=(10, 1), cost=0.5)
    second.tool("writer_1", "grep")
    second.end()
    journals.written(tmp_path, "r", first)
    index.sync_all(db, str(tmp_path))
    assert [(row["status"], row["ended_ts"]) for row in index.summary(db)] == [("running", None)]
    journals.written(tmp_path, "r", first, second)
    index.sync_all(db, str(tmp_path))
    (row,) = index.summary(db)
    assert (row["status"], row["started_ts"], row["ended_ts"]) == ("success", journals.stamp(0), journals.stamp(100))
    assert (row["agents"], row["cost_usd"]) == (7, pytest.approx(0.5015))
    assert db.execute("SELECT seg, seq FROM tool_calls WHERE tool_name = 'grep' AND seg > 0").fetchall() == [(1, 5)]
    cursors = [key for (key,) in db.execute("SELECT cursor_key FROM ingest_cursor ORDER BY 1")]
    assert cursors == ["r", "r::resume-1"]


def test_a_journal_that_has_become_shorter_is_another_run(db: sqlite3.Connection, tmp_path: Path) -> None:
    journals.written(tmp_path, "r", journals.review(), journals.review())
    journals.written(tmp_path, "r2", journals.review())
    index.sync_all(db, str(tmp_path))
    (tmp_path / "r" / "events.resume-1.jsonl").unlink()
    journals.written(tmp_path, "r", journals.GOLDEN)
    index.sync_all(db, str(tmp_path))
    assert [row["workflow"] for row in index.summary(db)] == ["review", "hello-wf"]
    assert db.execute("SELECT COUNT(*) FROM agents WHERE run_id = 'r'").fetchone() == (0,)
    assert db.execute("SELECT cursor_key FROM ingest_cursor ORDER BY 1").fetchall() == [("r",), ("r2",)]


def test_damaged_lines_and_odd_fields_are_no_problem(db: sqlite3.Connection, tmp_path: Path) -> None:
    lines = [
        '{"event":"run.started","seq":0,"ts":"0","workflow":"\\udcff","run_id":7}',
        "{damaged",
        '{"event":"budget","seq":"x","agent_id":[],"input_tokens":1e400,"output_tokens":99999999999999999999,"cost_usd":{}}',
        '{"event":"agent.started","agent_id":"\\ud800"}',
        '{"event":"later.version"}',
    ]
    journals.written(tmp_path, "r", lines)
    index.sync_all(db, str(tmp_path))
    assert [(row["workflow"], row["agents"], row["tokens"], row["cost_usd"]) for row in index.summary(db)] == [
        ("?", 1, 0, None)
    ]


def test_the_latest_run_comes_first(db: sqlite3.Connection, tmp_path: Path) -> None:
    for name, at in (("a", 5), ("c", 9), ("b", 9)):
        journals.written(tmp_path, name, journals.Segment(at=at))
    index.sync_all(db, str(tmp_path))
    assert [row["run_id"] for row in index.summary(db)] == ["b", "c", "a"]


def test_two_at_once(tmp_path: Path) -> None:
    journals.written(tmp_path, "r", journals.wide(300))
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(index.rows(str(tmp_path)))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 4
    assert all(rows == found[0] for rows in found)
    assert index.rows(str(tmp_path))[0]["agents"] == 300


def test_rows_of_what_cannot_be_indexed(tmp_path: Path) -> None:
    assert index.rows(str(tmp_path / "nothing")) == []
    (tmp_path / "index.db").write_text("this is no database, and long enough to be taken for one" * 20)
    assert index.rows(str(tmp_path)) == []


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    journals.written(tmp_path, "r", journals.review())
    journals.written(tmp_path, "s", journals.GOLDEN)
    assert index_main(["--run-dir", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"indexed 2 run(s) → {tmp_path / 'index.db'}\n"
    assert index_main(["--run-dir", str(tmp_path / "nothing")]) == 1
    assert capsys.readouterr().err.startswith("error: cannot open index db: ")
