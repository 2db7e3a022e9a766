"""Python's tools started as always on packages with .sema files: two lines in `__init__.py`, or `sema run -m`."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

BIN = Path(sys.executable).parent
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
EXTRA = "pip install 'semac[dev-interop]'"
INIT = "from sema_runtime import importer\nimporter.install()\n"
WEB = """(py/from "fastapi" FastAPI)
(define app (FastAPI))
(py/def [(.get app "/double/{number}")] (double [number int]) {:number number :double (* 2 number)})"""
WSGI = """(define (app environ start-response)
  (start-response "200 OK" (py/list [["Content-Type" "text/plain"]]))
  (py/list [(string->utf8 (str "path " (get environ "PATH_INFO")))]))"""
TASKS = """(py/from "celery" Celery)
(define app (Celery "shop" :broker "filesystem://" :backend "file://results"))
(.update (.-conf app) :broker-transport-options {:data_folder_in "queue" :data_folder_out "queue"})
(py/def [(.task app)] (add x y) (+ x y))"""
SPAWNING = """(py/import "multiprocessing" :as processes)
(define (triple x) (* 3 x))
(when (= __name__ "__main__")
  (for-each
    (fn (method)
      (py/with (pool (.Pool (processes.get-context method) 1))
        (println method (.map pool triple '(1 2)))))
    '("fork" "spawn" "forkserver")))"""
TESTS = """(py/from "shop.sums" total)
(define (test-total) (= (total '(1 2)) 3))
(define (test-fixture tmp-path) (assert (.exists tmp-path)))
(define (test-wrong) (= (total '(1 2)) 4))
(define (test-error) (total '("a" 1)))
(define (helper) #f)"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "shop").mkdir()
    (tmp_path / "queue").mkdir()
    (tmp_path / "results").mkdir()
    for name, text in {"web": WEB, "wsgi": WSGI, "tasks": TASKS, "sums": "(define (total xs) (foldl + 0 xs))"}.items():
        (tmp_path / "shop" / f"{name}.sema").write_text(text)
    (tmp_path / "shop" / "__init__.py").write_text(INIT)
    return tmp_path


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def run(folder: Path, *command: str, status: int = 0) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120)
    assert done.returncode == status, done.stdout + done.stderr
    return done.stdout


@contextmanager
def started(folder: Path, ready: str, *command: str) -> Iterator[None]:
    """A server that has said it is ready, on its standard error."""
    environment = {**os.environ, "PYTHONUNBUFFERED": "1", "HOME": str(folder)}
    process = subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment)
    said = ""
    try:
        assert process.stderr is not None
        for line in process.stderr:
            said += line
            if ready in line:
                break
        else:
            raise AssertionError(said)
        yield
    finally:
        process.terminate()
        process.communicate(timeout=60)


def get(port: int, path: str) -> str:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=30) as reply:
        return str(reply.read().decode())


@pytest.mark.parametrize("start", [["uvicorn"], ["sema", "run", "-m", "uvicorn"]])
def test_uvicorn(folder: Path, start: list[str]) -> None:
    pytest.importorskip("fastapi", reason=EXTRA)
    port = free_port()
    command = [str(BIN / start[0]), *start[1:], "shop.web:app", "--port", str(port)]
    with started(folder, "Uvicorn running", *command):
        assert get(port, "/double/4") in ('{"double":8,"number":4}', '{"number":4,"double":8}')


def test_gunicorn(folder: Path) -> None:
    pytest.importorskip("gunicorn", reason=EXTRA)
    port = free_port()
    command = [str(BIN / "gunicorn"), "shop.wsgi:app", "-b", f"127.0.0.1:{port}", "-w", "2"]
    with started(folder, "Booting worker", *command):
        assert get(port, "/a") == "path /a"


def test_celery(folder: Path) -> None:
    pytest.importorskip("celery", reason=EXTRA)
    command = [str(BIN / "celery"), "-A", "shop.tasks", "worker", "--pool", "solo", "--loglevel", "INFO"]
    with started(folder, " ready.", *command):
        text = "from shop.tasks import add; print(add.delay(2, 3).get(timeout=60))"
        assert run(folder, sys.executable, "-c", text) == "5\n"


def test_pytest(folder: Path) -> None:
    (folder / "test-sums.sema").write_text(TESTS)
    (folder / "test_python.py").write_text("from shop.sums import total\ndef test_it(): assert total([1]) == 1\n")
    said = run(folder, *PYTEST, "-W", "error", status=1)
    assert "2 failed, 3 passed" in said and "test-wrong returned #f" in said
    assert "shop/sums.sema:1:" in said and "expected number, got string" in said and "arithmetic.py" not in said


def test_pytest_names_the_place_of_an_error_in_a_file(folder: Path) -> None:
    (folder / "test_bad.sema").write_text("(define x 1)\n(define (test-a)\n  (let (5) 1))")
    assert "--> test_bad.sema:3:" in run(folder, *PYTEST, status=2)


@pytest.mark.parametrize("start", [[], ["run"], ["run", "-m"]])
def test_the_main_program_may_spawn_processes(folder: Path, start: list[str]) -> None:
    (folder / "main.sema").write_text(SPAWNING)
    name = "main" if start[1:] else "main.sema"
    said = run(folder, str(BIN / "sema"), *start, name)
    assert said == "fork (3 6)\nspawn (3 6)\nforkserver (3 6)\n"
