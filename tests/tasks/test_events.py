"""event/select and time/tick: timers, real programs, real keys."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from paths import ROOT

from sema_runtime.lib.language import output
from sema_runtime.lib.system import processes, pty
from sema_runtime.lib.terminal import events
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.session import Session


@pytest.fixture(autouse=True)
def without_tasks() -> Iterator[None]:
    from sema_runtime.tasks import scheduler

    yield
    scheduler._per_thread.scheduler = None


def source(kind: str, **fields: Any) -> Map:
    return Map({keyword("type"): keyword(kind), **{keyword(name): value for name, value in fields.items()}})


def select(*sources: Any, timeout: int | None = None) -> str:
    return to_text(events.event_select(List(list(sources)), timeout))


def test_ticks() -> None:
    assert to_text(events.time_tick(16)) == "{:ms 16 :type :timer}"
    assert to_text(events.time_tick(-5)) == "{:ms 0 :type :timer}"
    with pytest.raises(SemaError, match=r"^expected integer, got float$"):
        events.time_tick(1.5)


def test_timers() -> None:
    one, two = events.time_tick(1), events.time_tick(10_000)
    assert select(two, one) == "{:source {:ms 1 :type :timer} :type :timer}"
    assert select(one, timeout=1000) == "{:source {:ms 1 :type :timer} :type :timer}"
    assert select(source("timer")) == "{:source {:type :timer} :type :timer}"  # is due at once
    assert select(events.time_tick(10_000), timeout=1) == "nil"


def test_what_never_comes() -> None:
    assert select(timeout=1) == "nil"
    assert select(timeout=-1) == "nil"
    assert select(source("proc", handle=999_999), source("proc"), source("other"), 5, timeout=1) == "nil"
    with pytest.raises(SemaError, match=r"^expected list of source maps, got map$"):
        events.event_select(events.time_tick(1))


def test_programs_are_ready_when_they_write_and_when_they_end() -> None:
    process = processes.proc_spawn(List(["sh", "-c", "echo 1; read go; echo 2 >&2; read go; exit 3"]))
    seen = source("proc", handle=process)
    shown = to_text(seen)
    assert select(seen) == f"{{:exited? #f :output? #t :source {shown} :type :proc}}"
    assert processes.proc_read_stdout(process) == "1\n"
    assert select(seen, timeout=20) == "nil"
    processes.proc_write_stdin(process, "go\n")
    assert select(seen, events.time_tick(10_000)) == f"{{:exited? #f :output? #t :source {shown} :type :proc}}"
    assert processes.proc_read_stderr(process) == "2\n"
    processes.proc_write_stdin(process, "go\n")
    for _ in range(2):  # the end is news for as long as the handle is there
        assert select(seen) == f"{{:exited? #t :output? #f :source {shown} :type :proc}}"
    processes.proc_close(process)
    assert select(seen, timeout=1) == "nil"


def test_other_tasks_go_on() -> None:
    lines: list[str] = []
    output.sink = lines
    program = """
    (define p (proc/spawn ["cat"]))
    (define waiting (async (println (:type (event/select (list {:type :proc :handle p}))))))
    (define tick (async (println (:type (event/select (list (time/tick 1)))))))
    (await tick)
    (println "others")
    (proc/close-stdin p)
    (await waiting)
    """
    try:
        Session().run(program)
    finally:
        output.sink = None
    assert lines == [":timer", "others", ":proc"]


KEYS = """
(define p (proc/spawn ["cat"]))
(define (next) (event/select (list {:type :key} {:type :proc :handle p}) 20000))
(io/with-raw-mode
  (println "ready")
  (println (:value (next)))
  (proc/write-stdin p "x")
  (println (:output? (next)) (proc/read-stdout p))
  (println (:value (next)))
  (println (:value (%s))))
"""


@pytest.mark.parametrize("last", ["next", "await (async (next))"])
def test_keys(last: str, tmp_path: Path) -> None:
    (tmp_path / "keys.sema").write_text(KEYS % last)
    command = [sys.executable, "-m", "semac.cli.entry", str(tmp_path / "keys.sema")]
    paths = Map({"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"})
    terminal = pty.pty_spawn(List(command), Map({keyword("env"): paths}))
    seen = ""
    for words, typed in [("ready", "a"), ("#t x", "\x1b[A"), (":up", "\x03")]:
        deadline = time.monotonic() + 20
        while words not in seen:
            assert time.monotonic() < deadline, seen
            time.sleep(0.001)
            seen += pty.pty_read(terminal)
        pty.pty_write(terminal, typed)
    assert pty.pty_wait(terminal) == 0
    shown = (seen + pty.pty_read(terminal)).split()
    expected = 'ready {:char "a" :kind :char} #t x {:kind :key :name :up} {:char "c" :kind :ctrl}'
    assert shown == expected.split()
    pty.pty_close(terminal)


def test_the_end_of_the_input_is_no_key() -> None:
    process = processes.proc_spawn(
        List([sys.executable, "-m", "semac.cli.entry", "-e", "(println (event/select (list {:type :key}) 30))"]),
        Map({keyword("env"): Map({"PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"})}),
    )
    processes.proc_close_stdin(process)
    assert processes.proc_wait(process) == 0
    assert processes.proc_read_stdout(process) == "nil\n"
