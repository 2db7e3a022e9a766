"""index.db: what all runs of a directory did, in SQLite. It is built from the journals and can be deleted at any time.

Tables and rules are shared with other implementations. `run_id` is the name of the run's directory. Each journal file
has a cursor, the bytes of whole lines that were taken in, so that taking in a journal again adds nothing; the rows of
one file and its cursor are written in one transaction.
"""

from __future__ import annotations

import json
import os
import time
from contextlib import suppress

from sema_runtime.support.private_files import make_file
from sema_runtime.workflow.journal import nested
from sema_runtime.workflow.journal.parser import events_of
from sema_runtime.workflow.journal.segments import Segment, segment_files
from sema_runtime.workflow.read.indexer import Indexer
from sema_runtime.workflow.read.recorded_run import run_ids
from sema_runtime.workflow.read.reducer import RunState
from sema_runtime.workflow.read.totals import Totals, mark_of, together, totals_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

INDEX_NAME = "index.db"
MEMORY = ":memory:"  # an index without a file
BUSY_SECONDS = 3.0
BUSY_PAUSE = 0.01  # seconds
NOTHING = Totals("running", 0, 0, 0, 0, 0, None, 0)
SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
    run_id TEXT PRIMARY KEY, embedded_run_id TEXT, workflow TEXT, code_version TEXT, started_ts TEXT, ended_ts TEXT,
    status TEXT, args_json TEXT
);
CREATE TABLE IF NOT EXISTS phases (
    run_id TEXT, start_seq INTEGER, phase TEXT, status TEXT, dur_ms INTEGER, PRIMARY KEY (run_id, start_seq)
);
CREATE TABLE IF NOT EXISTS agents (
    run_id TEXT, agent_id TEXT, agent_name TEXT, model TEXT, phase_seq INTEGER, status TEXT, dur_ms INTEGER,
    PRIMARY KEY (run_id, agent_id)
);
CREATE TABLE IF NOT EXISTS tool_calls (
    run_id TEXT, seg INTEGER, seq INTEGER, agent_id TEXT, tool_name TEXT, args_json TEXT,
    PRIMARY KEY (run_id, seg, seq)
);
CREATE TABLE IF NOT EXISTS checkpoints (
    run_id TEXT, seg INTEGER, seq INTEGER, phase_seq INTEGER, key TEXT, value_digest TEXT,
    PRIMARY KEY (run_id, seg, seq)
);
CREATE TABLE IF NOT EXISTS usage (
    run_id TEXT, seg INTEGER, seq INTEGER, agent_id TEXT, phase_seq INTEGER, input_tokens INTEGER,
    output_tokens INTEGER, cost_usd REAL, PRIMARY KEY (run_id, seg, seq)
);
CREATE TABLE IF NOT EXISTS ingest_cursor (cursor_key TEXT PRIMARY KEY, byte_offset INTEGER);
CREATE TABLE IF NOT EXISTS totals (
    run_id TEXT PRIMARY KEY, mark TEXT, status TEXT, agents INTEGER, calls INTEGER, unpriced INTEGER,
    input_tokens INTEGER, output_tokens INTEGER, cost_usd REAL, elapsed_ms INTEGER
);
CREATE TABLE IF NOT EXISTS nested (run_id TEXT, nested_run_id TEXT, PRIMARY KEY (run_id, nested_run_id));
"""
ROW = ("run_id", "workflow", "status", "started_ts", "ended_ts", "agents", "tokens", "cost_usd")
TABLES = ("runs", "phases", "agents", "tool_calls", "checkpoints", "usage", "totals", "nested")
RUNS = """
SELECT r.run_id, r.workflow, COALESCE(t.status, r.status, 'running') AS status, r.started_ts, r.ended_ts
FROM runs r LEFT JOIN totals t ON t.run_id = r.run_id ORDER BY r.started_ts DESC, r.run_id
"""


def rows(root: str) -> list[dict[str, Any]]:
    """What `GET /api/index/runs` answers: the index brought up to date, one row a run; [] when that fails."""
    import sqlite3
    from contextlib import closing

    try:
        with closing(open_index(index_path(root))) as db:
            sync_all(db, root)
            return summary(db)
    except (OSError, sqlite3.Error):
        return []


def index_path(root: str) -> str:
    return os.path.join(root, INDEX_NAME)


def open_index(path: str) -> Connection:
    """The index, with its tables. Raises sqlite3.Error."""
    import sqlite3

    if path != MEMORY:
        with suppress(OSError):  # SQLite says what is wrong
            make_file(path)  # files that SQLite makes beside it take its mode
    db = sqlite3.connect(path, timeout=BUSY_SECONDS, isolation_level=None)
    try:
        _write_ahead(db)
        db.execute("PRAGMA synchronous=NORMAL")
        db.executescript(SCHEMA)
    except sqlite3.Error:
        db.close()
        raise
    return db


def _write_ahead(db: Connection) -> None:
    """Puts the file into WAL mode. While another process does so SQLite doesn't wait, whatever its timeout says."""
    from sqlite3 import SQLITE_BUSY, OperationalError

    last = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            db.execute("PRAGMA journal_mode=WAL")
            return
        except OperationalError as error:
            if error.sqlite_errorcode != SQLITE_BUSY or time.monotonic() > last:
                raise
            time.sleep(BUSY_PAUSE)


def summary(db: Connection) -> list[dict[str, Any]]:
    """One row a run, the latest first, as other implementations have them. tokens, cost_usd: with those of the runs
    inside. cost_usd: None when no price is known."""
    return [{name: row[name] for name in ROW} for row in listing(db)]


def listing(db: Connection) -> list[dict[str, Any]]:
    """The rows of `summary` with {unpriced, duration_ms, elapsed_ms}. duration_ms: None while the run is unfinished."""
    own = {run_id: Totals(*rest) for run_id, _, *rest in db.execute("SELECT * FROM totals")}
    inside: dict[str, list[str]] = {}
    for run_id, nested_id in db.execute("SELECT run_id, nested_run_id FROM nested"):
        inside.setdefault(run_id, []).append(nested_id)
    rows = []
    for run_id, workflow, status, started, ended in db.execute(RUNS):
        totals = own.get(run_id, NOTHING)
        used = totals.usage().join(together(run_id, own.get, lambda outer: inside.get(outer, ())).usage)
        rows.append(
            {
                "run_id": run_id,
                "workflow": workflow,
                "status": status,
                "started_ts": started,
                "ended_ts": None if status == "running" else ended,
                "agents": totals.agents,
                "tokens": used.tokens,
                "cost_usd": used.cost_usd,
                "unpriced": used.unpriced,
                "duration_ms": totals.duration_ms,
                "elapsed_ms": totals.elapsed_ms,
            }
        )
    return rows


def sync_all(db: Connection, root: str) -> None:
    """Takes in what is new in all runs of a directory. A journal that can't be read is left out."""
    for run_id in run_ids(root):
        try:
            sync_run(db, root, run_id)
        except OSError:
            continue


def sync_run(db: Connection, root: str, run_id: str) -> None:
    """Adds what is new in the journal of a run, in all its segments, and its totals when they have changed. Raises
    OSError, sqlite3.Error."""
    folder = os.path.join(root, run_id)
    known = run_id.encode("utf-8", "replace").decode()  # a file name may hold what UTF-8 doesn't
    mark = json.dumps(mark_of(folder))
    row = db.execute("SELECT mark FROM totals WHERE run_id = ?", (known,)).fetchone()
    state = RunState() if row is None or row[0] != mark else None
    for number in range(len(segment_files(folder))):
        _sync_file(db, known, Segment(folder, number), state)
    if state is not None:
        values = (known, mark, *totals_of(folder, state))
        db.execute(f"INSERT OR REPLACE INTO totals VALUES ({', '.join('?' * len(values))})", values)
    inside = [(known, run.run_id) for run in nested.of(folder).values()]
    count = db.execute("SELECT COUNT(*) FROM nested WHERE run_id = ?", (known,)).fetchone()[0]
    if count != len(inside):
        db.executemany("INSERT OR IGNORE INTO nested VALUES (?, ?)", inside)


def _sync_file(db: Connection, run_id: str, segment: Segment, state: RunState | None) -> None:
    """Adds what is new in one file. state: of the run as far as the files before; takes in the whole file."""
    cursor_key = f"{run_id}::resume-{segment.number}" if segment.number else run_id
    size = os.path.getsize(segment.path)
    if size == _cursor(db, cursor_key):
        _read(segment, state, size, None)
        return
    db.execute("BEGIN IMMEDIATE")
    try:
        cursor = _cursor(db, cursor_key)  # again: another process may have been here
        if size < cursor:
            cursor = 0
            if not segment.number:
                _wipe(db, run_id)
        _read(segment, state, cursor, Indexer(db, run_id, segment.number))
        db.execute("INSERT OR REPLACE INTO ingest_cursor VALUES (?, ?)", (cursor_key, segment.read))
    except BaseException:
        db.execute("ROLLBACK")
        raise
    db.execute("COMMIT")


def _read(segment: Segment, state: RunState | None, cursor: int, indexer: Indexer | None) -> None:
    """Reads a file once for both: the state of the run takes all of it, the index what stands behind the cursor."""
    if state is None:
        segment.read = cursor
    else:
        state.begin_segment()
    while (state or indexer) and (following := segment.next_piece(cursor)) is not None:
        place, piece = following
        events = [None] if piece is None else events_of(piece)
        if state is not None:
            state.apply(events)
        if indexer is not None and place >= cursor:
            indexer.add(events)


def _cursor(db: Connection, cursor_key: str) -> int:
    row = db.execute("SELECT byte_offset FROM ingest_cursor WHERE cursor_key = ?", (cursor_key,)).fetchone()
    return row[0] if row is not None and type(row[0]) is int else 0


def _wipe(db: Connection, run_id: str) -> None:
    """Deletes the rows of a run, whose directory is another one now."""
    for table in TABLES:
        db.execute(f"DELETE FROM {table} WHERE run_id = ?", (run_id,))
    start = f"{run_id}::resume-"
    db.execute(
        "DELETE FROM ingest_cursor WHERE cursor_key = ? OR substr(cursor_key, 1, ?) = ?", (run_id, len(start), start)
    )
