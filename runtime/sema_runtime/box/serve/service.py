"""Programs and sessions for clients that come and go: how many at once, for how long, and what happened lately."""

from __future__ import annotations

import json
import secrets
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sema_runtime.box.outcome import Outcome
from sema_runtime.box.pool import Pool, Session
from sema_runtime.box.serve.answers import Record, answer, brief
from sema_runtime.box.toolbox import Granted
from sema_runtime.values.errors import SemaError

MOST_RUNNING = 8
MOST_SESSIONS = 64
IDLE_SECONDS, LIFE_SECONDS = 15 * 60, 30 * 60
KEPT_RECORDS, KEPT_BYTES = 100, 16_000_000
BUSY = Outcome("error", reason="busy", message=f"{MOST_RUNNING} programs are running", hint="try again in a moment")


@dataclass
class Held:
    """A session of a client. began, used: seconds of the clock."""

    session: Session
    began: float
    used: float
    lock: threading.Lock = field(default_factory=threading.Lock)


class Kept(NamedTuple):
    """What is kept of a program. brief: in a few words. fields: all about it, as JSON, which takes the least memory."""

    brief: dict[str, Any]
    fields: str


class Run:
    """A program that somebody may cancel, from another thread."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.is_cancelled = False

    def cancel(self) -> None:
        self.is_cancelled = True
        if self.session is not None:
            self.session.cancel()


class Service:
    """May be used by threads. clock: gives seconds."""

    def __init__(
        self,
        pool: Pool,
        data: Mapping[str, Any] | None = None,
        tools: Granted | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.pool = pool
        self.data = dict(data or {})
        self.tools = tools
        self.clock = clock
        self.sessions: dict[str, Held] = {}
        self.records: OrderedDict[str, Kept] = OrderedDict()
        self.counts: Counter[str] = Counter()
        self.running = threading.BoundedSemaphore(MOST_RUNNING)
        self.lock = threading.Lock()

    def close(self) -> None:
        with self.lock:
            for held in self.sessions.values():
                held.session.close()
            self.sessions.clear()

    def evaluate(self, program: str, context: Mapping[str, Any] | None, run: Run) -> Record:
        """Runs a program by itself. Raises SemaError for a context that is too large."""
        with Session(self.pool, {**self.data, **(context or {})}, self.tools) as session:
            return self.record(None, program, self.turn(session, program, run))

    def turn(self, session: Session, program: str, run: Run) -> Outcome:
        if not self.running.acquire(blocking=False):
            return BUSY
        try:
            run.session = session
            if run.is_cancelled:
                return Outcome("error", reason="cancelled", message="the client took its request back")
            outcome = session.run(program)
            if run.is_cancelled:
                return Outcome("error", reason="cancelled", message="the client took its request back")
            return outcome
        finally:
            run.session = None
            self.running.release()

    def record(self, session: str | None, program: str, outcome: Outcome) -> Record:
        made = Record(secrets.token_hex(8), session, program, outcome)
        kept = Kept(brief(made), json.dumps(answer(made, "debug").fields))
        with self.lock:
            self.records[made.id] = kept
            self.counts[outcome.reason or outcome.status] += 1
            while (
                len(self.records) > KEPT_RECORDS or sum(len(one.fields) for one in self.records.values()) > KEPT_BYTES
            ):
                self.records.popitem(last=False)
        return made

    def start(self, context: Mapping[str, Any] | None) -> str:
        """The id of a new session. Raises SemaError where there are too many."""
        with self.lock:
            self._expire()
            if len(self.sessions) >= MOST_SESSIONS:
                raise SemaError(f"limit of {MOST_SESSIONS} sessions exceeded", "close one with lisp_session_close")
            session = Session(self.pool, {**self.data, **(context or {})}, self.tools)
            name = secrets.token_urlsafe(12)
            self.sessions[name] = Held(session, self.clock(), self.clock())
            return name

    def session_evaluate(self, name: str, program: str, run: Run) -> Record:
        held = self.held(name)
        if not held.lock.acquire(blocking=False):
            text = "the session is running another program"
            return self.record(name, program, Outcome("error", reason="busy", message=text, hint="wait for it"))
        try:
            return self.record(name, program, self.turn(held.session, program, run))
        finally:
            held.used = self.clock()
            held.lock.release()

    def forget(self, name: str, programs: int) -> int:
        """Takes a session back to before its last programs. How many are left."""
        held = self.held(name)
        with held.lock:
            held.session.forget(programs)
            return len(held.session.history)

    def inspect(self, name: str) -> dict[str, Any]:
        held = self.held(name)
        session = held.session
        return {
            "session": name,
            "programs": [source for source, _ in session.history],
            "data": sorted(session.data),
            "tools": [tool.line() for tool in session.tools.values()],
            "seconds_left": round(min(held.used + IDLE_SECONDS, held.began + LIFE_SECONDS) - self.clock()),
        }

    def listed(self) -> list[dict[str, Any]]:
        with self.lock:
            self._expire()
            return [{"session": name, "programs": len(held.session.history)} for name, held in self.sessions.items()]

    def end(self, name: str) -> str:
        """Ends a session; its id."""
        self.held(name).session.close()
        with self.lock:
            self.sessions.pop(name, None)
        return name

    def held(self, name: str) -> Held:
        """Raises SemaError for a session that isn't there, or no longer."""
        with self.lock:
            self._expire()
            held = self.sessions.get(name)
        if held is None:
            raise SemaError("there is no such session", f"sessions end after {IDLE_SECONDS // 60} minutes without use")
        return held

    def _expire(self) -> None:
        now = self.clock()
        for name, held in list(self.sessions.items()):
            if now - held.used > IDLE_SECONDS or now - held.began > LIFE_SECONDS:
                held.session.cancel()
                del self.sessions[name]

    def stats(self) -> dict[str, Any]:
        with self.lock:
            return {
                "programs": dict(self.counts),
                "sessions": len(self.sessions),
                "layers": sorted(self.pool.layers),
                "limits": vars(self.pool.limits),
            }

    def recent(self, most: int = 20) -> list[dict[str, Any]]:
        """The last programs in a few words each, the latest last."""
        with self.lock:
            return [kept.brief for kept in list(self.records.values())[-most:]]

    def get(self, record: str) -> dict[str, Any]:
        """All about one program. Raises SemaError for one that isn't kept, or no longer."""
        with self.lock:
            kept = self.records.get(record)
        if kept is None:
            raise SemaError("there is no such record", f"the last {KEPT_RECORDS} programs are kept; see action recent")
        return dict(json.loads(kept.fields))
