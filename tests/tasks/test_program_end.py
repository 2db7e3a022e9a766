"""The end of a program: what is left over gets a moment, is then dropped, and gives back what it holds."""

import subprocess
import sys
from pathlib import Path

import pytest

LONG = 600_000  # milliseconds: a program that waited for it would not end within the test's limit


def run(tmp_path: Path, source: str) -> str:
    path = tmp_path / "program.sema"
    path.write_text(source)
    command = [sys.executable, "-m", "semac.cli.entry", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


@pytest.mark.parametrize(
    "source",
    [
        f"(println (async/race (list (async (sleep {LONG})) (async (sleep 1) :end))))",
        f"(async (sleep {LONG}) (println :late)) (println :end)",
        f"(async (try (sleep {LONG}) (catch e (println (:message e))))) (await (async 1)) (println :end)",
        f"(try (async/timeout 1 (async (sleep {LONG}))) (catch e (println :end)))",
        "(define c (channel/new)) (async (channel/recv c)) (println :end)",
        "(async (let loop () (await (async 1)) (loop))) (await (async 1)) (println :end)",
        '(println (async/race (list (async (shell "sleep 600")) (async (sleep 1) :end))))',
    ],
)
def test_the_end_does_not_wait_for_what_is_left(tmp_path: Path, source: str) -> None:
    assert run(tmp_path, source) == ":end\n"


def test_tasks_that_can_go_on_at_once_finish(tmp_path: Path) -> None:
    source = """
        (define c (channel/new 1))
        (async (dotimes (i 3) (channel/send c i)))
        (async (dotimes (i 3) (println (channel/recv c))))"""
    assert run(tmp_path, source) == "0\n1\n2\n"


def test_a_dropped_task_closes_what_it_holds(tmp_path: Path) -> None:
    (tmp_path / "held.py").write_text(
        "class Closing:\n    def __enter__(self):\n        return self\n\n"
        "    def __exit__(self, *_):\n        print('closed')\n"
    )
    source = f'(py/from "held" Closing) (async (py/with (x (Closing)) (sleep {LONG}))) (println "end")'
    assert run(tmp_path, source) == "end\nclosed\n"


THREADS = """
import asyncio, gc, threading
from sema_runtime.tasks.scheduler import scheduler

gc.get_referrers = lambda *objects: []  # as it answers while another thread collects what refers to these
kept = []
def work():
    scheduler().suspend(asyncio.sleep(0))
    kept.append(scheduler())
for _ in range(30):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
gc.collect()
print({type(its.hub).__name__ for its in kept})
"""


def test_the_scheduler_of_an_ended_thread_can_be_collected() -> None:
    done = subprocess.run([sys.executable, "-c", THREADS], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, "{'greenlet'}\n"), done.stderr
