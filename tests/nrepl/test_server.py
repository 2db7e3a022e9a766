"""`sema nrepl` as a process, driven by nrepl-python-client, and by bare sockets where a client misbehaves."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import nrepl
import pytest
from paths import ROOT

from semac.nrepl.bencode import Decoder, encode

PATIENCE = 20  # seconds after which a test has failed; nothing takes that long
COMMAND = [sys.executable, "-m", "semac.cli.entry", "nrepl"]
NODE_CLIENT = ROOT / "node_modules" / "nrepl-client"


class Server:
    """A running server."""

    def __init__(self, folder: Path, *args: str) -> None:
        self.process = subprocess.Popen(
            [*COMMAND, *args], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.banner = self.process.stdout.readline()
        self.port = int(self.banner.rsplit(":", 1)[1])

    def end(self, number: int = signal.SIGINT) -> tuple[int, str]:
        """Ends the server; its exit status and what it wrote to stderr."""
        self.process.send_signal(number)
        _, errors = self.process.communicate(timeout=PATIENCE)
        return self.process.returncode, errors


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    running = Server(tmp_path)
    yield running
    if running.process.poll() is None:
        running.end(signal.SIGKILL)


class Bare:
    """A client that sends what it likes."""

    def __init__(self, server: Server) -> None:
        self.socket = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
        self.decoder = Decoder(self.socket.makefile("rb"))

    def send(self, **message: Any) -> None:
        self.socket.sendall(encode({name.replace("_", "-"): value for name, value in message.items()}))

    def until(self, status: str) -> list[dict[str, Any]]:
        """The replies up to the one with a status."""
        replies = [self.decoder.message()]
        while status not in replies[-1].get("status", ()):
            replies.append(self.decoder.message())
        return replies

    def ask(self, **message: Any) -> list[dict[str, Any]]:
        self.send(**message)
        return self.until("done")

    def value(self, code: str, **message: Any) -> str:
        return next(reply["value"] for reply in self.ask(op="eval", code=code, **message) if "value" in reply)


class Library:
    """The client library of others."""

    def __init__(self, server: Server) -> None:
        self.connection = nrepl.connect(f"nrepl://127.0.0.1:{server.port}")
        self.count = 0

    def ask(self, **message: Any) -> list[dict[str, Any]]:
        """Sends a request and returns its replies."""
        self.count += 1
        self.connection.write({"id": str(self.count), **message})
        replies = [self.connection.read()]
        while "done" not in replies[-1].get("status", ()):
            replies.append(self.connection.read())
        assert {reply["id"] for reply in replies} == {str(self.count)}
        return replies

    def fields(self, **message: Any) -> dict[str, Any]:
        """All fields of the replies, the later ones of a name winning; output joined."""
        replies = self.ask(**message)
        joined = {name: "".join(reply.get(name, "") for reply in replies) for name in ("out", "err")}
        return {name: value for reply in replies for name, value in reply.items()} | joined


def test_an_existing_client_evaluates_and_asks(server: Server, tmp_path: Path) -> None:
    client = Library(server)
    session = client.fields(op="clone")["new-session"]
    assert client.fields(op="ls-sessions")["sessions"] == [session]
    shown = client.fields(op="eval", session=session, code='(define (twice x) (* 2 x)) (println "hi") (twice 21)')
    assert (shown["value"], shown["out"], shown["ns"]) == ("42", "hi\n", "user")
    assert client.fields(op="eval", session=session, code="(list *1 *2 *3)")["value"] == "(42 nil nil)"
    failed = client.ask(op="eval", session=session, code="(twice :a)")
    assert "at twice (" in failed[0]["err"]
    assert ["eval-error"] in [reply.get("status") for reply in failed]
    assert client.fields(op="lookup", sym="twice")["info"]["arglists-str"] == "[x]"
    assert client.fields(op="eldoc", sym="twice")["eldoc"] == [["x"]]
    found = client.fields(op="completions", prefix="twi")["completions"]
    assert found == [{"candidate": "twice", "ns": "user", "type": "function"}]
    path = str(tmp_path / "lib.sema")
    loaded = client.fields(op="load-file", file="(define (thrice x)\n  (* 3 x))\n(thrice 5)", **{"file-path": path})
    assert loaded["value"] == "15"
    info = client.fields(op="info", sym="thrice")
    assert (info["file"], info["line"]) == (path, 1)
    assert client.fields(op="close", session=session)["status"] == ["done", "session-closed"]
    assert client.ask(op="eval", session=session, code="1")[0]["status"] == ["done", "error", "unknown-session"]


def test_documentation_of_builtins_and_special_forms(server: Server) -> None:
    client = Bare(server)
    (answer,) = client.ask(op="lookup", sym="string/join")
    assert "Joins the items" in answer["info"]["doc"]
    assert answer["info"]["arglists-str"] == "[items separator]"
    (answer,) = client.ask(op="info", symbol="if")
    assert answer["special-form"] == "true"
    (answer,) = client.ask(op="complete", symbol="when-l")
    assert [found["candidate"] for found in answer["completions"]] == ["when-let"]


def test_describe_names_every_operation(server: Server) -> None:
    (answer,) = Bare(server).ask(op="describe", id="1")
    assert {"clone", "close", "describe", "eval", "load-file", "interrupt", "completions"} <= set(answer["ops"])
    assert {"lookup", "eldoc", "stdin", "info", "complete"} <= set(answer["ops"])
    assert set(answer["versions"]) == {"sema", "python", "nrepl"}


@pytest.mark.parametrize("code", ["(let loop () (loop))", "(sleep 60000)", "(await (async (sleep 60000)))"])
def test_an_interrupt_stops_the_evaluation_and_no_other(server: Server, code: str) -> None:
    client = Bare(server)
    (reply,) = client.ask(op="clone")
    session = reply["new-session"]
    client.send(op="eval", id="a", session=session, code=f'(println "runs") (io/flush) {code}')
    assert client.decoder.message()["out"] == "runs\n"
    client.send(op="eval", id="b", session=session, code="(+ 1 2)")
    client.send(op="interrupt", id="x", session=session, interrupt_id="other")
    assert client.until("done")[-1]["status"] == ["done", "error", "interrupt-id-mismatch"]
    client.send(op="interrupt", id="c", session=session, interrupt_id="a")
    replies = [client.decoder.message() for _ in range(5)]
    by_id = {name: [reply for reply in replies if reply["id"] == name] for name in "abc"}
    assert [reply["status"] for reply in by_id["a"]] == [["interrupted"], ["done"]]
    assert by_id["b"][0]["value"] == "3"
    assert [reply["status"] for reply in by_id["c"]] == [["done"]]
    assert client.ask(op="interrupt", session=session)[0]["status"] == ["done", "session-idle"]


def test_an_interrupt_at_any_moment_leaves_the_server_alive(server: Server) -> None:
    client = Bare(server)
    (reply,) = client.ask(op="clone")
    session = reply["new-session"]
    for _ in range(100):
        client.send(op="eval", id="a", session=session, code="(+ 1 2)")
        client.send(op="interrupt", id="b", session=session)
        done: set[str] = set()
        while done != {"a", "b"}:
            message = client.decoder.message()
            if "done" in message.get("status", ()):
                done.add(message["id"])
    assert client.value("(+ 20 22)", session=session) == "42"


def test_waiting_evaluations_can_be_cancelled(server: Server) -> None:
    client = Bare(server)
    (reply,) = client.ask(op="clone")
    session = reply["new-session"]
    client.send(op="eval", id="a", session=session, code="(read-line)")
    assert client.decoder.message()["status"] == ["need-input"]
    client.send(op="eval", id="b", session=session, code="(define reached 1)")
    client.send(op="interrupt", session=session, interrupt_id="b")
    assert client.until("done")[0] == {"id": "b", "session": session, "status": ["done", "interrupted"]}
    client.until("done")
    client.send(op="stdin", id="c", session=session, stdin="a line\n")
    replies = [client.decoder.message() for _ in range(3)]
    assert [reply["value"] for reply in replies if "value" in reply] == ['"a line"']


def test_output_arrives_while_the_program_runs(server: Server) -> None:
    client = Bare(server)
    (reply,) = client.ask(op="clone")
    client.send(op="eval", session=reply["new-session"], code='(display "prompt> ") (read-line)')
    seen = [client.decoder.message(), client.decoder.message()]
    assert {"prompt> "} == {message["out"] for message in seen if "out" in message}
    client.ask(op="stdin", session=reply["new-session"], stdin="")


def test_places_are_those_of_the_file(server: Server, tmp_path: Path) -> None:
    path = str(tmp_path / "x.sema")
    replies = Bare(server).ask(op="eval", code="(car 5)", file=path, line=7, column=3)
    assert "x.sema:7:3" in replies[0]["err"]


def test_a_long_value_is_cut_on_request(server: Server) -> None:
    message = {"nrepl.middleware.print/quota": 10}
    (reply, _) = Bare(server).ask(op="eval", code="(range 1000)", **message)
    assert reply["value"] == "(0 1 2 3 4"
    assert reply["status"] == ["nrepl.middleware.print/truncated"]


def test_what_calva_sends_first(server: Server) -> None:
    replies = Bare(server).ask(op="eval", code="*ns*", id="1")
    assert [(reply.get("ns"), reply.get("value"), reply.get("status")) for reply in replies] == [
        ("user", "user", None),
        (None, None, ["done"]),
    ]


def test_requests_that_make_no_sense_are_refused(server: Server) -> None:
    client = Bare(server)
    assert client.ask(op="dance")[0]["status"] == ["done", "error", "unknown-op"]
    assert client.ask(nothing=1)[0]["status"] == ["done", "error", "unknown-op"]
    assert client.ask(op="eval")[0]["status"] == ["done", "error", "no-code"]
    assert client.ask(op="eval", code=["x"])[0]["status"] == ["done", "error", "no-code"]
    assert client.ask(op="load-file")[0]["status"] == ["done", "error", "no-file"]
    assert client.ask(op="close")[0]["status"] == ["done", "error", "unknown-session"]
    assert client.ask(op="lookup", sym="no-such-name")[0]["status"] == ["done", "lookup-error"]
    assert client.ask(op="eldoc", sym=5)[0]["status"] == ["done", "no-eldoc"]
    assert "unterminated list" in client.ask(op="eval", code="(+ 1")[0]["err"]
    assert "exit is ignored" in client.ask(op="eval", code="(exit 3)")[0]["err"]
    assert client.value("(+ 1 2)") == "3"


NONSENSE = [
    b"GET / HTTP/1.1\r\n\r\n",
    b"i5e",
    b"d1:a",
    b"99999999999:x",
    b"di1ei2ee",
    b"l" * 100,
    b"d1:ae",
    b"i--5e",
    b"i" + b"1" * 40,
]


@pytest.mark.parametrize("data", NONSENSE, ids=range(len(NONSENSE)))
def test_bad_bencode_ends_the_connection_and_nothing_else(server: Server, data: bytes) -> None:
    bad = Bare(server)
    bad.socket.sendall(data)
    bad.socket.shutdown(socket.SHUT_WR)
    assert bad.socket.recv(100) == b""
    assert Bare(server).value("(+ 1 2)") == "3"
    status, errors = server.end()
    assert status == 0
    assert errors.startswith("Closed a connection that sent no nREPL message: ")


@pytest.mark.parametrize("code", ["(let loop () (loop))", "(read-line)", '(let loop () (println "x") (loop))'])
def test_a_client_that_vanishes_leaves_the_server_to_others(server: Server, code: str) -> None:
    client = Bare(server)
    client.send(op="eval", code=f'(println "runs") (io/flush) {code}')
    client.decoder.message()
    client.socket.close()
    client.decoder.file.close()
    assert Bare(server).value("(+ 1 2)") == "3"


def test_the_port_file_names_the_server_while_it_runs(server: Server, tmp_path: Path) -> None:
    port = tmp_path / ".nrepl-port"
    assert server.banner == (
        f"nREPL server started on port {server.port} on host 127.0.0.1 - nrepl://127.0.0.1:{server.port}\n"
    )
    assert port.read_text() == str(server.port)
    second = Server(tmp_path)
    assert port.read_text() == str(server.port)
    status, errors = second.end()
    assert status == 0
    assert errors == f"Warning: .nrepl-port names the server at port {server.port}, which is running; it stays\n"
    assert server.end() == (0, "")
    assert not port.exists()


def test_ctrl_c_and_sigterm_end_a_busy_server(tmp_path: Path) -> None:
    for number, status in ((signal.SIGINT, 0), (signal.SIGTERM, 143)):
        server = Server(tmp_path)
        client = Bare(server)
        client.send(op="eval", code='(println "runs") (io/flush) (let loop () (loop))')
        client.decoder.message()
        assert server.end(number) == (status, "")
        assert not (tmp_path / ".nrepl-port").exists()


def test_a_port_that_is_taken(server: Server, tmp_path: Path) -> None:
    done = subprocess.run([*COMMAND, "--port", str(server.port)], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == (
        f"Error: cannot listen at 127.0.0.1:{server.port}: Address already in use;"
        " choose another --port, or 0 for a free one\n"
    )


def test_the_sandbox_holds(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "semac.cli.entry", "--sandbox", "strict", "nrepl"]
    process = subprocess.Popen(command, cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    server = Server.__new__(Server)
    server.process = process
    assert process.stdout is not None
    server.port = int(process.stdout.readline().rsplit(":", 1)[1])
    try:
        assert "Permission denied" in Bare(server).ask(op="eval", code='(shell "ls")')[0]["err"]
    finally:
        process.kill()
        process.communicate()


@pytest.mark.skipif(not (shutil.which("node") and NODE_CLIENT.exists()), reason="needs npm install nrepl-client")
def test_the_client_of_npm(server: Server) -> None:
    script = """
    const client = require(process.argv[1]).connect({port: +process.argv[2]});
    client.once('connect', () => client.eval('(println "hi") (+ 1 2)', (error, replies) => {
      console.log(JSON.stringify([error, replies.map(r => [r.out, r.value, r.status])]));
      client.end();
    }));
    """
    command = ["node", "-e", script, str(NODE_CLIENT), str(server.port)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, env={**os.environ})
    assert done.stdout == '[null,[["hi\\n",null,null],[null,"3",null],[null,null,["done"]]]]\n'
