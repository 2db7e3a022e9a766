"""Waiting for the first of several events: a key, output of a program or its end, a point in time."""

from __future__ import annotations

import time

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import Map
from sema_runtime.values.matching import sequence_items

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

PATIENCE = 10_000  # milliseconds until nil, where neither the call nor a timer says
LOOK_AGAIN = 5  # milliseconds between two checks of programs, which send no event when they write

TYPE, KEY, PROC, TIMER = map(keyword, ("type", "key", "proc", "timer"))


@builtin("time/tick", type="int -> map keyword (int|keyword) fresh")
def time_tick(ms: Any) -> Map:
    """A source for event/select that is ready after ms milliseconds.

    (time/tick 16) => {:ms 16 :type :timer}
    """
    if type(ms) is not int:
        type_error("integer", ms)
    return Map({TYPE: TIMER, keyword("ms"): max(0, ms)})


@builtin("event/select", type="keep seq, any? -> map keyword any|nil fresh")
def event_select(sources: Any, timeout: Any = None) -> Map | None:
    """Waits until one of the sources is ready and returns `{:type t :source s}` for the first; other tasks run
    meanwhile.

    Sources: `{:type :key}`, a key, with :value as io/read-key returns it; `{:type :proc :handle p}`, a process that has
    written output (:output?) or has ended (:exited?), when the rest of its output can be read too; `(time/tick ms)`.
    timeout: milliseconds after which the result is nil; the default is the shortest timer, or 10 seconds.

    (event/select (list (time/tick 60000) (time/tick 1))) => {:source {:ms 1 :type :timer} :type :timer}
    (event/select '() 1) => nil
    """
    items = sequence_items(sources)
    if items is None:
        type_error("list of source maps", sources)
    known = [item for item in items if isinstance(item, Map)]
    started = time.monotonic()
    limit = _limit(known, timeout)
    while True:
        elapsed = (time.monotonic() - started) * 1000
        for source in known:
            more = _news(source, elapsed)
            if more is not None:
                return Map({keyword("source"): source, TYPE: source.lookup(TYPE), **more})
        if elapsed >= limit:
            return None
        _wait(known, _pause(known, elapsed, limit))


def _limit(sources: Sequence[Map], timeout: Any) -> int:
    """Milliseconds after which waiting ends."""
    if type(timeout) is int:
        return max(0, timeout)
    return min((_moment(source) for source in sources if source.lookup(TYPE) is TIMER), default=PATIENCE)


def _moment(timer: Map) -> int:
    ms = timer.lookup(keyword("ms"))
    return max(0, ms) if type(ms) is int else 0


def _news(source: Map, elapsed: float) -> dict[Keyword, Any] | None:
    """The fields of a source's event besides its source; None while it isn't ready."""
    kind = source.lookup(TYPE)
    if kind is TIMER:
        return {} if elapsed >= _moment(source) else None
    if kind is PROC:
        return _news_of_process(source.lookup(keyword("handle")))
    if kind is KEY:
        from sema_runtime.lib.terminal.keys import io_read_key_timeout

        event = io_read_key_timeout(0)
        return None if event is None else {keyword("value"): event}
    return None


def _news_of_process(handle: Any) -> dict[Keyword, Any] | None:
    from sema_runtime.lib.system.processes import processes

    process = processes.open.get(handle) if type(handle) is int else None
    if process is None:
        return None
    exited = process.child.is_over()  # asked first, so that all its output has arrived
    written = any(output.size for output in process.child.outputs)
    return {keyword("output?"): written, keyword("exited?"): exited} if written or exited else None


def _pause(sources: Sequence[Map], elapsed: float, limit: int) -> float:
    """Milliseconds until the next check of sources that don't report changes."""
    moments = [_moment(source) for source in sources if source.lookup(TYPE) is TIMER]
    pause = max(0.0, min((limit, *moments)) - elapsed)
    return min(pause, LOOK_AGAIN) if any(source.lookup(TYPE) is PROC for source in sources) else pause


def _wait(sources: Sequence[Map], pause: float) -> None:
    from sema_runtime.lib.terminal.console import io_is_eof
    from sema_runtime.tasks import sleep

    if any(source.lookup(TYPE) is KEY for source in sources) and not io_is_eof():
        from sema_runtime.lib.terminal.keys import wait_for_input

        wait_for_input(pause / 1000)
    else:
        sleep(pause)
