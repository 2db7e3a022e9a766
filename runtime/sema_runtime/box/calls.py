"""Calls of tools that programs make, on the side of the host: counted, bounded, and kept where nothing changes."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from hashlib import sha256
from typing import Any, NamedTuple

from sema_runtime.box.codec import LONG_BITS, TooLarge, for_python, nodes_in
from sema_runtime.box.host_values import HostEncoder
from sema_runtime.box.json_schema import misfits
from sema_runtime.box.limits import Limits, too_many_bytes
from sema_runtime.box.toolbox import LONGEST, MOST_NAMES, MOST_TEXT, Grant, Invalid, bounded
from sema_runtime.values.errors import SemaError

KEPT_RESULTS, KEPT_BYTES = 256, 16_000_000  # of a session's read tools; the oldest go first
Record = dict[str, Any]  # of a call, in Outcome.tool_calls
Asked = tuple[Grant, list[Any]]
MOST_AT_ONCE = 8  # tools
MOST_WORDS = 500  # characters of what an exception of a tool says
NOTED_BYTES, ALL_NOTED_BYTES = 16_384, 2_000_000  # of the arguments that a record has, and those of a program
TOO_LONG = "<too long to keep>"
PART_OF_MEMORY = 4  # a program needs more memory than that for replies of so many bytes


class Reply(NamedTuple):
    """What a call gets. text: JSON of {"result"}, {"error", "kind"?}, or {"ended"} where a limit ends the program, as
    it crosses and is kept: objects take many times the memory. error: what went wrong."""

    text: str
    error: str | None = None


def failed(message: str, **more: str) -> Reply:
    return Reply(json.dumps({"error": message[:MOST_TEXT], **more}), message[:MOST_TEXT])


def ended(reason: str, message: str, hint: str) -> Reply:
    message = f"{message} exceeded; nothing that the program defined was kept"
    return Reply(json.dumps({"ended": {"status": "error", "reason": reason, "message": message, "hint": hint}}))


class Refused(Exception):
    """A call of a tool that nobody granted, or one that no worker writes: its process isn't to be trusted."""


class Quota:
    """Calls that several sessions share, such as the parallel branches of one job. May be used by threads.

    total: most calls of all tools; each: most calls by name of a tool. None, or a missing name: no such bound.
    """

    def __init__(self, total: int | None = None, each: Mapping[str, int] | None = None) -> None:
        self.total = total
        self.each = dict(each or {})
        self.used: Counter[str] = Counter()
        self._lock = threading.Lock()

    def take(self, name: str) -> str | None:
        """Counts a call. What is used up, where it may not run, in the words of a message."""
        with self._lock:
            if self.total is not None and self.used.total() >= self.total:
                return f"limit total of {self.total} calls, shared by all branches,"
            if name in self.each and self.used[name] >= self.each[name]:
                return f"limit each of {self.each[name]} calls of tool/{name}, shared by all branches,"
            self.used[name] += 1
            return None


class Results:
    """What read tools have answered in a session, by name and content of the arguments."""

    def __init__(self) -> None:
        self.by_call: dict[str, Reply] = {}
        self.bytes = 0

    def get(self, key: str) -> Reply | None:
        return self.by_call.get(key)

    def keep(self, key: str, reply: Reply) -> None:
        self.bytes += len(reply.text) - len(self.by_call.pop(key, Reply("")).text)
        self.by_call[key] = reply
        while len(self.by_call) > KEPT_RESULTS or self.bytes > KEPT_BYTES:
            self.bytes -= len(self.by_call.pop(next(iter(self.by_call))).text)


class Calls:
    """The calls of one program. made: each with name, args, error, duration_ms, effect, and whether its result was kept
    from an earlier call. Long arguments are left out of it."""

    def __init__(self, tools: Mapping[str, Grant], limits: Limits, results: Results, quota: Quota | None) -> None:
        self.tools = tools
        self.limits = limits
        self.results = results
        self.quota = quota
        self.made: list[dict[str, Any]] = []
        self.counts: Counter[str] = Counter()
        self.noted = 0  # bytes of arguments in records

    def asked(self, calls: Any) -> list[Asked]:
        """The calls of a message, each a tool and its arguments. Raises Refused for what no worker writes."""
        if type(calls) is not list or not calls:
            raise Refused()
        known = []
        for call in calls:
            if type(call) is not list or len(call) != 2 or type(call[0]) is not str or type(call[1]) is not list:
                raise Refused()
            name, args = call
            if name not in self.tools:
                raise Refused()
            known.append((self.tools[name], args))
        return known

    def replies(self, asked: list[Asked], deadline: float) -> list[Reply]:
        """What calls give that were made at the same time. Several run at once, in threads, but those whose grant says
        otherwise; a read tool that is asked the same twice runs once. None begins after the deadline (of
        `time.monotonic`), nor when the replies are more than the program has memory for."""
        replies: list[Reply | None] = [self.admitted(tool) for tool, _ in asked]
        records: list[Record] = [
            {"name": tool.name, "args": {}, "error": None, "effect": tool.effect, "kept": False} for tool, _ in asked
        ]
        allowed = [number for number, reply in enumerate(replies) if reply is None]
        at_once = self.at_once(asked, allowed) if len(allowed) > 1 else []

        room = (self.limits.memory_mb << 20) // PART_OF_MEMORY
        lock = threading.Lock()

        def call(number: int) -> None:
            nonlocal room
            if room < 0:
                reply = ended("memory_exceeded", f"limit memory_mb of {self.limits.memory_mb}", "ask tools for less")
            elif time.monotonic() < deadline:
                reply = self.timed(*asked[number], records[number])
            else:
                reply = failed("not called: the time of the program is over")
            replies[number] = reply
            with lock:
                room -= len(reply.text)

        if len(at_once) > 1:
            with ThreadPoolExecutor(min(len(at_once), MOST_AT_ONCE)) as threads:
                contexts = [copy_context() for _ in at_once]
                list(threads.map(lambda context, number: context.run(call, number), contexts, at_once))
        for number in allowed:
            if replies[number] is None:
                call(number)
        self.made += [record for record in records if "duration_ms" in record]
        return [reply for reply in replies if reply is not None]

    def at_once(self, asked: list[Asked], allowed: list[int]) -> list[int]:
        """Those of the allowed calls that may run in threads: the first of equal ones."""
        first: dict[str, int] = {}
        for number in allowed:
            tool, args = asked[number]
            if tool.parallel:
                first.setdefault(json.dumps([tool.name, args]), number)
        return list(first.values())

    def admitted(self, tool: Grant) -> Reply | None:
        """Counts a call; the end of the program where a limit doesn't allow it."""
        spent = self.spent(tool)
        if spent is None:
            self.counts[tool.name] += 1
            return None
        return ended("tool_calls_exceeded", spent[0], f"ask for more with each call; {spent[1]}")

    def timed(self, tool: Grant, args: list[Any], record: Record) -> Reply:
        started = time.monotonic()
        reply = self.called(tool, args, record)
        record["error"] = reply.error
        record["duration_ms"] = round((time.monotonic() - started) * 1000, 3)
        record["args"] = self.noted_args(record["args"])
        return reply

    def noted_args(self, args: dict[str, Any]) -> dict[str, Any]:
        """Arguments for a record, without long ones: programs would fill the host's memory otherwise."""
        sizes = {name: size_of(value) for name, value in args.items()}
        short = min(NOTED_BYTES // max(1, len(args)), ALL_NOTED_BYTES - self.noted)
        self.noted += sum(size for size in sizes.values() if size <= short)
        return {
            name[:LONGEST]: value if sizes[name] <= short else TOO_LONG
            for name, value in list(args.items())[:MOST_NAMES]
        }

    def spent(self, tool: Grant) -> tuple[str, str] | None:
        """The limit that a further call of a tool passes, and how to raise it."""
        count, total = self.counts[tool.name], self.counts.total()
        if total >= self.limits.tool_calls:
            return f"limit tool_calls of {self.limits.tool_calls}", "the host can raise tool_calls"
        if tool.calls is not None and count >= tool.calls:
            return f"limit calls of {tool.calls} for tool/{tool.name}", "the host can raise calls of its ToolGrant"
        if tool.calls is None and count >= self.limits.tool_calls_each:
            most = self.limits.tool_calls_each
            return f"limit tool_calls_each of {most} for tool/{tool.name}", "the host can raise tool_calls_each"
        shared = self.quota.take(tool.name) if self.quota is not None else None
        return (shared, "the host can raise its Quota") if shared else None

    def called(self, tool: Grant, args: list[Any], call: Record) -> Reply:
        """Calls a tool, unless a read tool has been asked the same before. Sets args and kept of the record."""
        try:
            size, most = len(json.dumps(args)), self.limits.tool_argument_bytes
            if size > most:
                raise Invalid(too_many_bytes("its arguments take", size, "tool_argument_bytes", most, "send less"))
            call["args"] = keywords(tool.name, [for_python(arg) for arg in args])
            if tool.effect != "read" or not tool.cached:
                return self.result(tool, call["args"])
            key = content_key(tool.name, call["args"])
            kept = self.results.get(key)
            call["kept"] = kept is not None
            reply = kept or self.result(tool, call["args"])
            if not kept:
                self.results.keep(key, reply)
            return reply
        except TooLarge as problem:
            return failed(f"its result {problem.message}, too much to be handed on; ask for less")
        except Invalid as problem:
            return failed(problem.message, kind="validation-error")
        except SemaError as problem:
            return failed(problem.message)
        except (Exception, SystemExit) as problem:  # a tool of the host: its trace is nobody's business in the box
            return failed(words_of(problem))

    def result(self, tool: Grant, args: dict[str, Any]) -> Reply:
        encoded = HostEncoder(nodes_in(self.limits.tool_result_bytes)).encode(tool.call(args))
        text, most = json.dumps(encoded), self.limits.tool_result_bytes
        if len(text) > most:
            raise SemaError(too_many_bytes("its result takes", len(text), "tool_result_bytes", most, "ask for less"))
        wrong = misfits(for_python(encoded), tool.result) if tool.result else []
        if wrong:
            raise SemaError(f"its result isn't what {tool.signature} says: {bounded(wrong)}")
        return Reply(f'{{"result": {text}}}')

    def effects(self) -> str | None:
        """What a failed program has done that nobody takes back."""
        done = Counter(call["name"] for call in self.made if call["effect"] == "write" and call["error"] is None)
        if not done:
            return None
        shown = ", ".join(f"tool/{name} {'once' if count == 1 else f'{count} times'}" for name, count in done.items())
        return f"already done, and not to be repeated: {shown}"


def words_of(problem: BaseException) -> str:
    """An exception in some words, whatever its class makes of itself."""
    name = type(problem).__name__
    try:
        return f"{name}: {problem}"[:MOST_WORDS]
    except (Exception, SystemExit):
        return f"{name}, which can't be told"


def content_key(name: str, args: dict[str, Any]) -> str:
    """The same for arguments of the same content: the order of keys and the zero after a point don't matter."""
    return sha256(json.dumps([name, plain(args)], sort_keys=True).encode()).hexdigest()


def size_of(value: Any) -> int:
    """The bytes of an argument as JSON; more than a record has for integers of too many digits."""
    try:
        return len(json.dumps(value, default=repr))
    except ValueError:
        return NOTED_BYTES + 1


def plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return hex(value) if isinstance(value, int) and value.bit_length() > LONG_BITS else value


def keywords(name: str, args: list[Any]) -> dict[str, Any]:
    """The named arguments of a tool: one map, or keys and values."""
    if len(args) == 1 and type(args[0]) is dict:
        pairs = list(args[0].items())
    elif len(args) % 2 == 0:
        pairs = list(zip(args[::2], args[1::2], strict=True))
    else:
        pairs = [(None, None)]
    if not all(type(key) is str for key, _ in pairs):
        raise Invalid(f"arguments have names: (tool/{name} {{:key value}}) or (tool/{name} :key value)")
    named = {key.replace("-", "_"): value for key, value in pairs}
    if len(named) < len(pairs):
        raise Invalid("an argument is given twice; - and _ are the same in its name")
    return named
