"""Events into the rows of the index: those that journals have most of by their form and many at once, the others one by
one from their fields."""

from __future__ import annotations

from bisect import bisect_right, insort
from json import loads

from sema_runtime.workflow.journal.parser import BY_FORM, fields_of, is_text, is_word, taking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Any

LARGEST = 1 << 63
RECORD = (
    "event", "is_result", "seq", "ts", "agent_id", "tool_name", "args_json", "agent_name", "asked_model", "status",
    "dur_ms", "model", "next_seq", "is_alone", "budget_seq", "input", "output", "cost", "checkpoint_seq", "key",
    "digest",
)  # fmt: skip
(
    KIND, _, SEQ, STAMP, WHO, TOOL, ARGS, NAME, ASKED, STATUS, TOOK, MODEL, NEXT, _, BUDGET_SEQ, INPUT, OUTPUT, COST,
    CHECKPOINT_SEQ, KEY, DIGEST,
) = range(len(RECORD))  # fmt: skip
records_of = taking(*RECORD)
OTHERS = BY_FORM.difference((b"agent.started", b"agent.result", b"agent.tool_call", b"checkpoint", b"budget"))
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


class Intake:
    """Takes in one file of a journal. Everything happens in the transaction of who calls. Raises sqlite3.Error."""

    def __init__(self, db: Connection, run_id: str, segment: int) -> None:
        self.db = db
        self.run_id = run_id
        self.segment = segment
        found = db.execute("SELECT start_seq FROM phases WHERE run_id = ? ORDER BY start_seq", (run_id,))
        self.phases: list[int] = [seq for (seq,) in found]
        self._empty()

    def _empty(self) -> None:
        self.started: dict[str, tuple[Any, ...]] = {}  # rows of agents that have no result yet
        self.ended: dict[str, tuple[Any, ...]] = {}  # of those that have one
        self.results: list[tuple[Any, ...]] = []  # of agents that started before
        self.calls: list[tuple[Any, ...]] = []
        self.checkpoints: list[tuple[Any, ...]] = []
        self.budgets: list[tuple[Any, ...]] = []

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

    def take(self, piece: bytes) -> None:
        """Takes in whole lines."""
        if not is_text(piece):
            for line in piece.split(b"\n"):
                self._take_line(line)
            return
        stamp = b""
        lines: list[bytes] = []
        at = -1  # number of the line
        for record in records_of(piece):
            at += 1
            kind = record[KIND]
            if record[STAMP] != stamp:
                if is_word(record[STAMP]):
                    stamp = record[STAMP]
                else:
                    kind = b""
            if kind == b"agent.tool_call" and record[TOOL]:
                values = text(record[WHO]), text(record[TOOL]), text(record[ARGS])
                self.calls.append((self.run_id, self.segment, int(record[SEQ]), *values))
            elif kind == b"budget" and record[INPUT]:
                self._budget(record, record[SEQ])
            elif kind == b"agent.result" and record[STATUS]:
                self._result(text(record[WHO]) or "", text(record[STATUS]), int(record[TOOK]), text(record[MODEL]))
                if record[NEXT]:
                    at += 1
                    self._budget(record, record[NEXT])
            elif kind == b"agent.started" and record[NAME]:
                self._start(text(record[WHO]) or "", record)
            elif kind == b"checkpoint" and record[KEY]:
                row = number(record[CHECKPOINT_SEQ]), text(record[KEY]), text(record[DIGEST])
                self.checkpoints.append((self.run_id, self.segment, int(record[SEQ]), *row))
            elif kind not in OTHERS:
                lines = lines or piece.split(b"\n")
                self._take_line(lines[at])
                if record[NEXT]:
                    at += 1
                    self._take_line(lines[at])
        self._write()

    def _start(self, who: str, record: tuple[bytes, ...]) -> None:
        if who in self.started or who in self.ended:  # the first one counts
            self._write()
        phase = self._phase_of(int(record[SEQ]))
        self.started[who] = (self.run_id, who, text(record[NAME]), text(record[ASKED]), phase)

    def _phase_of(self, seq: int) -> int | None:
        """The seq of the phase that was open by then."""
        at = bisect_right(self.phases, seq)
        return self.phases[at - 1] if at else None

    def _result(self, who: str, status: str | None, took: int, model: str | None) -> None:
        row = self.started.pop(who, None)
        if row is None:
            self.results.append((status, took, model, self.run_id, who))
        else:
            run_id, _, name, asked, phase = row
            self.ended[who] = (run_id, who, name, model or asked, phase, status, took, model)

    def _budget(self, record: tuple[bytes, ...], seq: bytes) -> None:
        place, cost = number(record[BUDGET_SEQ]), float(record[COST]) if record[COST] else None
        values = text(record[WHO]), place, int(record[INPUT]), int(record[OUTPUT]), cost
        self.budgets.append((self.run_id, self.segment, int(seq), *values))

    # Events whose fields may be anything

    def _take_line(self, line: bytes) -> None:
        fields = fields_of(line)
        take = None if fields is None else EVENTS.get(fields["event"])
        if take is not None and fields is not None:
            self._write()
            take(self, fields)

    def _run_started(self, fields: dict[str, Any]) -> None:
        names = "run_id", "workflow", "code_version", "ts", "args_json"
        self.db.execute(RUN_STARTED, (self.run_id, *(_text(fields.get(name)) for name in names)))

    def _run_ended(self, fields: dict[str, Any]) -> None:
        values = (_text(fields.get("ts")), _text(fields.get("status")), self.run_id)
        self.db.execute("UPDATE runs SET ended_ts = ?, status = ? WHERE run_id = ?", values)

    def _phase_started(self, fields: dict[str, Any]) -> None:
        seq = _seq(fields)
        values = (self.run_id, seq, _text(fields.get("phase")))
        self.db.execute("INSERT OR IGNORE INTO phases (run_id, start_seq, phase) VALUES (?, ?, ?)", values)
        insort(self.phases, seq)

    def _phase_ended(self, fields: dict[str, Any]) -> None:
        values = _text(fields.get("status")), _int(fields.get("dur_ms")), self.run_id, _text(fields.get("phase"))
        self.db.execute(PHASE_ENDED, values)

    def _any_start(self, fields: dict[str, Any]) -> None:
        texts = (_text(fields.get(name)) for name in ("agent_id", "agent_name", "model"))
        self.db.execute(STARTED, (self.run_id, *texts, self._phase_of(_seq(fields))))

    def _any_result(self, fields: dict[str, Any]) -> None:
        values = _text(fields.get("status")), _int(fields.get("dur_ms")), _text(fields.get("model"))
        self.db.execute(RESULT, (*values, self.run_id, _text(fields.get("agent_id"))))

    def _any_call(self, fields: dict[str, Any]) -> None:
        texts = (_text(fields.get(name)) for name in ("agent_id", "tool_name", "args_json"))
        self.db.execute(CALL, (self.run_id, self.segment, _seq(fields), *texts))

    def _any_checkpoint(self, fields: dict[str, Any]) -> None:
        values = _int(fields.get("phase_seq")), _text(fields.get("key")), _text(fields.get("value_digest"))
        self.db.execute(CHECKPOINT, (self.run_id, self.segment, _seq(fields), *values))

    def _any_budget(self, fields: dict[str, Any]) -> None:
        cost = fields.get("cost_usd")
        numbers = (_int(fields.get(name)) for name in ("phase_seq", "input_tokens", "output_tokens"))
        known = float(cost) if isinstance(cost, float | int) and abs(cost) < LARGEST else None
        self.db.execute(
            BUDGET, (self.run_id, self.segment, _seq(fields), _text(fields.get("agent_id")), *numbers, known)
        )


EVENTS: dict[str, Callable[[Intake, dict[str, Any]], None]] = {
    "run.started": Intake._run_started,
    "run.ended": Intake._run_ended,
    "phase.started": Intake._phase_started,
    "phase.ended": Intake._phase_ended,
    "agent.started": Intake._any_start,
    "agent.result": Intake._any_result,
    "agent.tool_call": Intake._any_call,
    "checkpoint": Intake._any_checkpoint,
    "budget": Intake._any_budget,
}


def text(raw: bytes) -> str | None:
    """A field of a record as SQLite takes it; None for an absent one."""
    if b"\\" in raw:
        return _text(loads(b'"' + raw + b'"'))
    return raw.decode() if raw else None


def number(raw: bytes) -> int | None:
    return int(raw) if raw else None


def _text(value: Any) -> str | None:
    """A text as SQLite takes it: an empty one is none, lone surrogates, which UTF-8 doesn't have, become question
    marks."""
    if type(value) is not str or not value:
        return None
    return value if value.isascii() else value.encode("utf-8", "replace").decode()


def _int(value: Any) -> int | None:
    return value if type(value) is int and -LARGEST <= value < LARGEST else None


def _seq(fields: dict[str, Any]) -> int:
    return _int(fields.get("seq")) or 0
