"""asyncio from Sema: awaitables, `py/async-with`, `py/async-for`, coroutine functions, cancellation, a host's loop."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from semac.session import Session

AIOHTTP = """
(py/import "asyncio")
(py/import "aiohttp")
(py/from "aiohttp" web)
(define (hello request) (async/sleep 1) (.json_response web {:q (.get (.-query request) "q") :n 1}))
(define app (.Application web))
(.add_get (.-router app) "/hi" (py/async hello))
(define runner (.AppRunner web app))
(await (.setup runner))
(define site (.TCPSite web runner "127.0.0.1" 0))
(await (.start site))
(define port (py/get (.getsockname (py/get (.-sockets (.-_server site)) 0)) 1))
(define url (format "http://127.0.0.1:~a/hi?q=x" port))
(define (n-of session) (py/async-with (r (.get session url)) (:n (await (.json r)))))
(py/async-with (session (aiohttp.ClientSession))
  (py/async-with (r (.get session url)) (println (await (.json r))))
  (println (async/all (map (fn (i) (async (n-of session))) '(1 2 3))))
  (py/async-with (r (.get session url)) (py/async-for (line (.-content r)) (println (py/len line)))))
(await (.cleanup runner))
"""


SEMA = Path(sys.executable).with_name("sema")


def sema(text: str) -> Any:
    session = Session()
    return session.execute(session.compile(f'(begin (py/import "asyncio") {text})', "<input>"))


def test_client_and_server_of_aiohttp_in_a_plain_program(tmp_path: Any) -> None:
    pytest.importorskip("aiohttp", reason="pip install 'semac[dev-interop]'")
    program = tmp_path / "both.sema"
    program.write_text(AIOHTTP)
    done = subprocess.run([sys.executable, "-m", "semac", program], capture_output=True, text=True, timeout=60)
    assert (done.stdout, done.stderr) == ('{"n" 1 "q" "x"}\n(1 1 1)\n18\n', "")


def test_await_waits_for_any_awaitable() -> None:
    assert sema("(await (asyncio.sleep 0.001 5))") == 5 and sema("(await 5)") == 5
    assert sema("(await (asyncio.gather (asyncio.sleep 0.001 1) (asyncio.sleep 0 2)))") == [1, 2]
    assert sema("(let ((f (async (await (asyncio.sleep 0.001 3))))) (await f))") == 3
    assert sema("(await ((py/async (fn (x) (async/sleep 1) (* 2 x))) 4))") == 8


def test_other_tasks_run_while_one_awaits() -> None:
    log = sema(
        "(define log (py/list)) (define a (async (await (asyncio.sleep 0.02)) (.append log 1)))"
        "(define b (async (.append log 2))) (async/all (list a b)) log"
    )
    assert log == [2, 1]


def test_errors_and_cancellation_cross() -> None:
    caught = "(try (await (asyncio.wait_for (asyncio.sleep 5) 0.01)) (catch e (:python-type e)))"
    assert sema(caught) == "TimeoutError"
    cancelled = (
        "(define log (py/list)) (define (note e) (.append log (:type e)))"
        "(define f (py/async (fn () (try (async/sleep 60000) (catch e (note e))))))"
        "(try (await (asyncio.wait_for (f) 0.01)) (catch e (.append log (:python-type e)))) (map str log)"
    )
    assert sema(cancelled) == [":cancelled", "TimeoutError"]
    assert sema("(try (await ((py/async (fn () (throw :no))))) (catch e (:value e)))").name == "no"


def test_asynchronous_generators_and_managers() -> None:
    session = Session()
    session.run("(define (all-of items) (define out (py/list)) (py/async-for ([a b] items) (.append out (+ a b))) out)")
    session.run("(define (inside m f) (py/async-with (x m) (f x)))")

    async def pairs() -> Any:
        for n in range(3):
            await asyncio.sleep(0)
            yield n, n

    class Manager:
        left: Any = None

        async def __aenter__(self) -> int:
            return 7

        async def __aexit__(self, kind: Any, *_: Any) -> bool:
            await asyncio.sleep(0)
            self.left = kind
            return kind is ValueError

    assert session.globals["all_of"](pairs()) == [0, 2, 4]
    quiet = Manager()
    assert session.globals["inside"](quiet, lambda x: x + 1) == 8 and quiet.left is None

    def fail(_: Any) -> None:
        raise ValueError

    assert session.globals["inside"](quiet, fail) is None and quiet.left is ValueError


def test_blocking_a_hosts_loop_is_said() -> None:
    session = Session()
    session.run("(define (wait) (async/sleep 1) 5)")

    async def main() -> Any:
        return session.globals["wait"]()

    with pytest.warns(RuntimeWarning, match=r"await run\(function"):
        assert asyncio.run(main()) == 5


def test_a_sandbox_denies_them(tmp_path: Any) -> None:
    for form in ("(py/async-with (x 1) x)", "(py/async-for (x 1) x)", "(py/for (x '(1)) x)", "(py/async car)"):
        command = [SEMA, "--sandbox", "strict", "-e", form]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        assert "requires 'python' capability" in done.stderr, form
