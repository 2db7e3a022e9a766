"""WebSocket connections in tasks: ws/listen, sharing, cancelling, Ctrl-C, the end of a program."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from net_support import PROXIES, Happening, run
from websocket_support import echo, goodbye, shown, talking
from websockets.asyncio.server import ServerConnection

from sema_runtime.values.printer import to_text


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in PROXIES:
        monkeypatch.delenv(name, raising=False)


def test_listening() -> None:
    program = """
        (define seen '())
        (define (note what) (fn (c x) (set! seen (cons (list what x) seen))))
        (with-open (c (ws/connect "{url}"))
          (await (ws/listen c {{:on-open (fn (c) (set! seen '(:open)))
                               :on-message (note :message) :on-close (note :close) :on-error (note :error)}})))
        (reverse seen)"""
    with talking(goodbye) as url:
        assert to_text(run(program.format(url=url))) == (
            '(:open (:message "a") (:message #u8(98)) (:close {:code 4001 :reason "bye"}))'
        )


def test_listening_to_a_connection_that_breaks() -> None:
    async def conversation(socket: ServerConnection) -> None:
        socket.transport.abort()

    program = """
        (define seen nil)
        (with-open (c (ws/connect "{url}"))
          (await (ws/listen c {{:on-error (fn (c e) (set! seen (:type e)))}})))
        seen"""
    with talking(conversation) as url:
        assert to_text(run(program.format(url=url))) == ":io"


def test_tasks_share_a_connection() -> None:
    with talking(echo) as url:
        body = '(async/all (list (async (ws/recv c)) (async (ws/recv c)) (async (ws/send c "1") (ws/send c "2"))))'
        assert shown(url, body) == '({:text "re:1"} {:text "re:2"} nil)'


def test_a_cancelled_receive_loses_nothing() -> None:
    with talking(echo) as url:
        body = """
            (define p (async (ws/recv c)))
            (async/sleep 1)
            (async/cancel p)
            (ws/send c "kept")
            (ws/recv c)"""
        assert shown(url, body) == '{:text "re:kept"}'


def test_closing_ends_a_receive_in_another_task() -> None:
    with talking(echo) as url:
        body = "(define p (async (ws/recv c))) (async/sleep 1) (ws/close c) (await p)"
        assert shown(url, body) == "nil"


def test_a_cancelled_task_closes_its_connection() -> None:
    closed = Happening()

    async def conversation(socket: ServerConnection) -> None:
        await echo(socket)
        closed.happens()

    with talking(conversation) as url:
        run(f"""
            (define opened (channel/new 1))
            (define p (async (with-open (c (ws/connect "{url}")) (channel/send opened 1) (ws/recv c))))
            (channel/recv opened)
            (async/sleep 1)
            (async/cancel p)
            (sleep 1)""")
        assert closed.happened()


def test_many_connections() -> None:
    count = 100
    with talking(echo) as url:
        program = f"""(async/all (map (fn (i) (async (with-open (c (ws/connect "{url}"))
            (ws/send c (str i)) (:text (ws/recv c))))) (range {count})))"""
        assert list(run(program)) == [f"re:{i}" for i in range(count)]


def test_ctrl_c_ends_a_receive() -> None:
    connected = Happening()

    async def conversation(socket: ServerConnection) -> None:
        connected.happens()
        await echo(socket)

    with talking(conversation) as url:
        command = [sys.executable, "-m", "semac.cli.entry", "-e", f'(with-open (c (ws/connect "{url}")) (ws/recv c))']
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            assert connected.happened()
            process.send_signal(signal.SIGINT)
            _, errors = process.communicate(timeout=20)
    assert (process.returncode, errors) == (1, "Error: interrupted\n")


def test_a_program_that_leaves_connections_open_ends_quietly() -> None:
    with talking(echo) as url:
        program = f'(define c (ws/connect "{url}")) (ws/send c "x") (println (ws/recv c))'
        command = [sys.executable, "-m", "semac.cli.entry", "-e", program]
        done = subprocess.run(command, capture_output=True, text=True, timeout=20)
    assert (done.returncode, done.stdout.splitlines()[:1], done.stderr) == (0, ['{:text "re:x"}'], "")
