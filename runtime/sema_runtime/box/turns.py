"""One program in a worker: the request, the calls of tools that it makes, and the outcome."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Mapping
from typing import Any

from sema_runtime.box.calls import Asked, Calls, Quota, Refused, Results
from sema_runtime.box.codec import for_python, framed, to_frame
from sema_runtime.box.limits import Limits
from sema_runtime.box.outcome import Outcome, excerpt
from sema_runtime.box.toolbox import Grant
from sema_runtime.box.workers import START_SECONDS, WIDEST, Died, Late, Spent, Worker
from sema_runtime.values.errors import SemaError

INSTEAD = "work on less at a time: filter first, keep counts in place of items; the host can raise memory_mb"
EXTRA_FRAME = 1 << 16  # bytes of an answer beyond its value and its output


class Full(Exception):
    """Tools have said more than a session can keep."""


class Turn:
    """One program. data: encoded inputs. replay: replies of tools, as JSON, that are given instead of calling them.
    results, quota: of the session, and what it shares with others. keeps: whether other programs will follow.
    room: bytes of replies that are kept for running it again, where others follow."""

    def __init__(
        self,
        source: str,
        data: dict[str, Any],
        tools: Mapping[str, Grant],
        limits: Limits,
        replay: list[str] | None = None,
        results: Results | None = None,
        quota: Quota | None = None,
        keeps: bool = False,
        room: int = 0,
    ) -> None:
        self.keeps = keeps
        self.room = room
        self.source = source
        self.data = data
        self.tools = tools
        self.limits = limits
        self.replay = replay
        self.replies: list[str] = []
        self.left_nothing = False  # whether the program was refused before anything of it ran
        self.printed: list[str] = []  # what the program has printed until now
        self.broker = Calls(tools, limits, results or Results(), quota)
        self.calls = self.broker.made

    def run(self, worker: Worker, is_handed_over: Callable[[], object]) -> Outcome:
        """is_handed_over: called when the worker has the program and is busy with it."""
        started = time.monotonic()
        try:
            if not worker.is_ready:
                worker.receive(started + START_SECONDS, EXTRA_FRAME)
                worker.is_ready = True
                started = time.monotonic()
            deadline = started + self.limits.wall_ms / 1000
            worker.watch_processor(self.limits.cpu_ms if self.limits.cpu_ms < self.limits.wall_ms else None)
            worker.send(to_frame(self.request(worker)), deadline)
            is_handed_over()
            return self.outcome(self.answer(worker, deadline))
        except Late:
            text = f"limit wall_ms of {self.limits.wall_ms} exceeded; nothing that the program defined was kept"
            hint = "do less: filter first, stop early, split the work over several programs; the host can raise wall_ms"
            return self.failed("timeout", text, hint, started)
        except Spent:
            text = f"limit cpu_ms of {self.limits.cpu_ms} exceeded; nothing that the program defined was kept"
            hint = "compute less: filter first, stop early; the host can raise cpu_ms"
            return self.failed("cpu_exceeded", text, hint, started)
        except Full:
            return self.failed("history_exceeded", *history_full(self.limits), started)
        except Died as died:
            if died.is_out_of_memory:
                return self.failed("memory_exceeded", self.out_of_memory(), INSTEAD, started)
            text = "the process of the program ended: it used up its memory, or met a fault of the system"
            return self.failed("worker_died", text, "work on less at a time", started)

    def request(self, worker: Worker) -> dict[str, Any]:
        """The program, and what else the worker doesn't have: inputs cross when a program first names them."""
        lines = {name: tool.line() for name, tool in sorted(self.tools.items())} if self.tools else {}
        facts = {"inputs": list(self.data), "tools": lines, "limits": vars(self.limits), "keeps": self.keeps}
        request = {"source": self.source, **worker.news(facts)}
        if self.data:
            given = worker.told.setdefault("data", set())
            mentioned = [name for name in self.data if name not in given and f"data/{name}" in self.source]
            given.update(mentioned)
            request["data"] = {name: self.data[name] for name in mentioned}
        return request

    def answer(self, worker: Worker, deadline: float) -> dict[str, Any]:
        """The final answer, after the calls of tools that come before it."""
        limits = self.limits
        most = max(limits.result_bytes + limits.output_bytes, limits.tool_argument_bytes) * WIDEST + EXTRA_FRAME
        while True:
            message = worker.receive(deadline, most)
            if "printed" in message:
                self.hear(message["printed"])
                continue
            if "call" not in message:
                self.left_nothing = message.get("untouched") is True and message.get("status") == "error"
                return message
            begun = time.monotonic()
            try:
                asked = self.broker.asked(message.get("asked"))
            except Refused:
                raise Died() from None
            untimed = any(tool.untimed for tool, _ in asked)
            replies = self.replies_to(asked, math.inf if untimed else deadline)
            if untimed:
                deadline += time.monotonic() - begun
            number = json.dumps(message["call"])
            worker.send(framed(f'{{"replies": [{", ".join(replies)}], "call": {number}}}'), deadline)

    def hear(self, texts: Any) -> None:
        """Notes what a program has printed, for the case that it won't end by itself. Raises Died."""
        self.printed += texts_of(texts)
        length = sum(map(len, self.printed))
        if not texts or len(self.printed) > self.limits.output_entries or length > self.limits.output_bytes:
            raise Died()

    def replies_to(self, asked: list[Asked], deadline: float) -> list[str]:
        """What tools say to calls that were made at the same time, as JSON. Raises Full."""
        if self.replay is not None:
            if len(self.replay) < len(asked):
                raise Died()  # the program isn't the same any more
            return [self.replay.pop(0) for _ in asked]
        replies = [reply.text for reply in self.broker.replies(asked, deadline)]
        if self.keeps:
            self.replies += replies
            self.room -= sum(map(len, replies))
            if self.room < 0:
                raise Full()
        return replies

    def outcome(self, answer: dict[str, Any]) -> Outcome:
        """The outcome that an answer says. Raises Died for one that no worker writes."""
        status = answer.get("status")
        if status not in ("value", "return", "fail", "error"):
            raise Died()
        try:
            value = for_python(answer.get("value"))
        except (SemaError, RecursionError):
            raise Died() from None
        prints, warnings = texts_of(answer.get("prints")), texts_of(answer.get("warnings", []))
        duration = answer.get("duration_ms")
        defined = answer.get("defined", {})
        if type(defined) is not dict or (defined and not all(type(text) is str for text in defined.values())):
            raise Died()
        line, column = place_of(answer.get("line")), place_of(answer.get("column"))
        reason, message = text_of(answer.get("reason")), text_of(answer.get("message"))
        if reason == "memory_exceeded":  # the process had no memory left to say more
            message, prints = self.out_of_memory(), prints or self.printed
        return Outcome(
            status,
            value,
            text=text_of(answer.get("text")),
            reason=reason,
            message=message,
            hint=self.hint(text_of(answer.get("hint")), status),
            line=line,
            column=column,
            excerpt=excerpt(self.source, line, column) if status == "error" else None,
            prints=prints,
            warnings=warnings,
            defined=defined,
            tool_calls=self.calls,
            duration_ms=float(duration) if isinstance(duration, int | float) else 0.0,
            encoded=answer.get("value"),
        )

    def hint(self, hint: str | None, status: str) -> str | None:
        """A hint, and what a failed program has done nevertheless."""
        done = self.broker.effects() if status in ("fail", "error") else None
        return "; ".join(filter(None, (hint, done))) or None

    def failed(self, reason: str, message: str, hint: str, started: float) -> Outcome:
        spent = round((time.monotonic() - started) * 1000, 3)
        hint = self.hint(hint, "error") or hint
        return Outcome("error", reason=reason, message=message, hint=hint, prints=self.printed, tool_calls=self.calls,
                       duration_ms=spent)  # fmt: skip

    def out_of_memory(self) -> str:
        return f"limit memory_mb of {self.limits.memory_mb} exceeded; nothing that the program defined was kept"


def history_full(limits: Limits) -> tuple[str, str]:
    """The message and the hint about programs that a session has no room for."""
    text = f"limit history_bytes of {limits.history_bytes} exceeded by what programs and tools said"
    return (f"{text}; nothing that the program defined was kept",
            "ask tools for less, or start another; the host can raise history_bytes")  # fmt: skip


def text_of(value: Any) -> str | None:
    return value if type(value) is str else None


def texts_of(value: Any) -> list[str]:
    """Raises Died for what is no list of texts."""
    if type(value) is not list or (value and not all(type(text) is str for text in value)):
        raise Died()
    return value


def place_of(value: Any) -> int | None:
    return value if type(value) is int and value > 0 else None
