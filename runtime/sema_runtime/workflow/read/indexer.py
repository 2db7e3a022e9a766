"""Events as rows of the index."""

from __future__ import annotations

from bisect import bisect_right, insort

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from sqlite3 import Connection
    from typing import Any

    Fields = dict[str, Any]
    Row = tuple[Any, ...]

LARGEST = 1 << 63
STARTED = "INSERT OR IGNORE INTO agents (run_id, agent_id, agent_name, model, phase_seq) VALUES (?, ?, ?, ?, ?)"
RESULT = """
UPDATE agents SET status = ?, dur_ms = ?, model = COALESCE(NULLIF(?, ''), model) WHERE run_id = ? AND agent_id = ?
"""
BOTH = """
INSERT INTO agents (run_id, agent_id, agent_name, model, phase_seq, status, dur_ms) VALUES (?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id, agent_id) DO UPDATE SET status = excluded.status, dur_ms = excluded.dur_ms,
    model = COALESCE(?, model)
"""  # of an agent that starts and ends in the same piece of a journal
CALL = "INSERT OR IGNORE INTO tool_calls VALUES (?, ?, ?, ?, ?, ?)"
CHECKPOINT = "INSERT OR IGNORE INTO checkpoints VALUES (?, ?, ?, ?, ?, ?)"
BUDGET = "INSERT OR IGNORE INTO usage VALUES (?, ?, ?, ?, ?, ?, ?, ?)"
RUN_STARTED = """
INSERT INTO runs (run_id, embedded_run_id, workflow, code_version, started_ts, args_json) VALUES (?, ?, ?, ?, ?, ?)
ON CONFLICT (run_id) DO UPDATE SET embedded_run_id = excluded.embedded_run_id, workflow = excluded.workflow,
    code_version = excluded.code_version, args_json = excluded.args_json
"""
PHASE_ENDED = """
UPDATE phases SET status = ?, dur_ms = ? WHERE rowid = (
    SELECT rowid FROM phases WHERE run_id = ? AND phase = ? AND status IS NULL ORDER BY start_seq DESC LIMIT 1
)
"""  # the latest phase of that name that is open


class Indexer:
    """Adds the events of one file of a journal to the index, in the transaction of the caller. Its methods raise
    sqlite3.Error."""

    def __init__(self, db: Connection, run_id: str, segment: int) -> None:
        self.db = db
        self.run_id = run_id
        self.segment = segment
        known = db.execute("SELECT start_seq FROM phases WHERE run_id = ? ORDER BY start_seq", (run_id,))
        self.phases: list[int] = [seq for (seq,) in known]
        self._empty()

    def _empty(self) -> None:
        self.started: dict[str | None, Row] = {}  # agents that have no result yet, by id
        self.ended: dict[str | None, Row] = {}  # those that have one
        self.results: list[Row] = []  # of agents that started before
        self.later: set[str | None] = set()  # their ids
        self.calls: list[Row] = []
        self.checkpoints: list[Row] = []
        self.budgets: list[Row] = []

    def add(self, events: Iterable[Fields | None]) -> None:
        """Adds events in order. None stands for a damaged line, which has no row."""
        for fields in events:
            if fields is not None and (handler := HANDLERS.get(fields["event"])) is not None:
                handler(self, fields)
        self._write()

    def _write(self) -> None:
        """Writes the rows that have been gathered."""
        for statement, rows in (
            (STARTED, self.started.values()),
            (BOTH, self.ended.values()),
            (RESULT, self.results),
            (CALL, self.calls),
            (CHECKPOINT, self.checkpoints),
            (BUDGET, self.budgets),
        ):
            if rows:
                self.db.executemany(statement, rows)
        self._empty()

    # Many of these: rows are gathered

    def _agent_started(self, fields: Fields) -> None:
        agent_id = _text(fields.get("agent_id"))
        if agent_id in self.started or agent_id in self.ended or agent_id in self.later:  # the order counts
            self._write()
        at = bisect_right(self.phases, _seq(fields))
        phase = self.phases[at - 1] if at else None
        names = _text(fields.get("agent_name")), _text(fields.get("model"))
        self.started[agent_id] = (self.run_id, agent_id, *names, phase)

    def _agent_result(self, fields: Fields) -> None:
        agent_id = _text(fields.get("agent_id"))
        status, took, model = _text(fields.get("status")), _int(fields.get("dur_ms")), _text(fields.get("model"))
        row = self.started.pop(agent_id, None)
        if row is None:
            self.results.append((status, took, model, self.run_id, agent_id))
            self.later.add(agent_id)
        else:
            _, _, name, asked, phase = row
            self.ended[agent_id] = (self.run_id, agent_id, name, model or asked, phase, status, took, model)

    def _tool_call(self, fields: Fields) -> None:
        texts = _text(fields.get("agent_id")), _text(fields.get("tool_name")), _text(fields.get("args_json"))
        self.calls.append((self.run_id, self.segment, _seq(fields), *texts))

    def _checkpoint(self, fields: Fields) -> None:
        values = _int(fields.get("phase_seq")), _text(fields.get("key")), _text(fields.get("value_digest"))
        self.checkpoints.append((self.run_id, self.segment, _seq(fields), *values))

    def _budget(self, fields: Fields) -> None:
        cost = fields.get("cost_usd")
        known = float(cost) if isinstance(cost, float | int) and abs(cost) < LARGEST else None
        self.budgets.append(
            (
                self.run_id,
                self.segment,
                _seq(fields),
                _text(fields.get("agent_id")),
                _int(fields.get("phase_seq")),
                _int(fields.get("input_tokens")),
                _int(fields.get("output_tokens")),
                known,
            )
        )

    # Few of these: they are written at once

    def _run_started(self, fields: Fields) -> None:
        names = "run_id", "workflow", "code_version", "ts", "args_json"
        self.db.execute(RUN_STARTED, (self.run_id, *(_text(fields.get(name)) for name in names)))

    def _run_ended(self, fields: Fields) -> None:
        values = (_text(fields.get("ts")), _text(fields.get("status")), self.run_id)
        self.db.execute("UPDATE runs SET ended_ts = ?, status = ? WHERE run_id = ?", values)

    def _phase_started(self, fields: Fields) -> None:
        seq = _seq(fields)
        values = (self.run_id, seq, _text(fields.get("phase")))
        self.db.execute("INSERT OR IGNORE INTO phases (run_id, start_seq, phase) VALUES (?, ?, ?)", values)
        insort(self.phases, seq)

    def _phase_ended(self, fields: Fields) -> None:
        values = _text(fields.get("status")), _int(fields.get("dur_ms")), self.run_id, _text(fields.get("phase"))
        self.db.execute(PHASE_ENDED, values)


HANDLERS: dict[str, Callable[[Indexer, Fields], None]] = {
    "run.started": Indexer._run_started,
    "run.ended": Indexer._run_ended,
    "phase.started": Indexer._phase_started,
    "phase.ended": Indexer._phase_ended,
    "agent.started": Indexer._agent_started,
    "agent.result": Indexer._agent_result,
    "agent.tool_call": Indexer._tool_call,
    "checkpoint": Indexer._checkpoint,
    "budget": Indexer._budget,
}


def _text(value: Any) -> str | None:
    """A text as SQLite takes it: None for an empty one, and question marks for lone surrogates, which UTF-8 doesn't
    have."""
    if type(value) is not str or not value:
        return None
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _int(value: Any) -> int | None:
    return value if type(value) is int and -LARGEST <= value < LARGEST else None


def _seq(fields: Fields) -> int:
    return _int(fields.get("seq")) or 0
