"""Programs that serve with `http/serve`, as processes, and the routes that most tests ask."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from paths import ROOT


class Program:
    """A program that serves at a port."""

    def __init__(self, source: str, folder: Path) -> None:
        (folder / "server.sema").write_text(source)
        self.errors = folder / "stderr"
        command = [sys.executable, "-m", "semac.cli.entry", "server.sema"]
        environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'runtime'}"}
        with self.errors.open("w") as errors:
            self.process = subprocess.Popen(
                command, cwd=folder, stdout=subprocess.PIPE, stderr=errors, text=True, env=environment
            )
        assert self.process.stdout is not None
        self.output = self.process.stdout
        line = self.output.readline()
        assert line, self.stderr()
        self.port = int(line)

    def url(self, path: str = "/") -> str:
        return f"http://127.0.0.1:{self.port}{path}"

    def get(self, path: str, **options: Any) -> httpx.Response:
        return httpx.get(self.url(path), timeout=30, **options)

    def stderr(self) -> str:
        return self.errors.read_text()

    def says(self, text: str) -> bool:
        """Waits until stderr holds a text; False when it doesn't in half a minute."""
        deadline = time.monotonic() + 30
        while text not in self.stderr():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.01)
        return True

    def ask(self, data: bytes) -> bytes:
        """What comes back for these bytes until the connection is closed."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=30) as client:
            client.sendall(data)
            return b"".join(iter(lambda: client.recv(65536), b""))

    def connect(self, data: bytes = b"") -> socket.socket:
        client = socket.create_connection(("127.0.0.1", self.port), timeout=30)
        client.sendall(data)
        return client

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        self.output.close()


@contextmanager
def serving(folder: Path, handler: str, options: str = "", before: str = "", after: str = "") -> Iterator[Program]:
    listen = '{:port 0 :host "127.0.0.1" :on-listen (fn (info) (println (:port info)))' + f" {options}}}"
    program = Program(f"{before} (http/serve {handler} {listen}) {after}", folder)
    try:
        yield program
    finally:
        program.close()


ROUTES = """
(define gate (channel/new 1000))
(define news (channel/new 1000))
(define arrived 0)
(define limit (make-parameter "outside"))
(define (meet request)  ; waits until all clients are there
  (set! arrived (+ arrived 1))
  (let wait () (when (< arrived 200) (async/sleep 1) (wait)))
  (let ((n (string->number (:n (:query request)))))
    (cond ((= (mod n 10) 3) (error "three"))
          ((= (mod n 10) 4) (async/sleep 1) (error "four"))
          (else (http/ok {:n n})))))
(define (hang request)
  (try (channel/send news "entered") (channel/recv (channel/new 1))
       (catch e (channel/send news (str (:type e))))))
(define (echo conn)
  (let ((message ((:recv conn))))
    (if message
      (begin ((:send conn) message) (echo conn))
      (channel/send news "closed"))))
(define app (http/router
  [[:get "/map" (fn (r) (http/ok r))]
   [:post "/map" (fn (r) (http/ok r))]
   [:get "/text" (fn (r) "plain")]
   [:any "/empty" (fn (r) (http/no-content))]
   [:get "/cookies" (fn (r) {:status 201 :headers {"Set-Cookie" ["a=1" "b=2"] :x-number 5} :body (bytevector 0 255)})]
   [:get "/error" (fn (r) (car 5))]
   [:get "/late-error" (fn (r) (async/sleep 1) (throw {:secret "password"}))]
   [:get "/bad-body" (fn (r) {:body {:a 1}})]
   [:get "/bad-status" (fn (r) {:status 42})]
   [:get "/bad-header" (fn (r) {:headers {"x" "a\\r\\nset-cookie: evil"}})]
   [:get "/wait" (fn (r) (http/text (channel/recv gate)))]
   [:get "/release" (fn (r) (channel/send gate "released") (http/text "ok"))]
   [:get "/meet" meet]
   [:get "/hang" hang]
   [:get "/news" (fn (r) (http/text (channel/recv news)))]
   [:get "/limit" (fn (r) (async/sleep 1) (http/text (limit)))]
   [:get "/stream-hang" (fn (r) (http/stream (fn (send) (send "first") (hang r))))]
   [:get "/events" (fn (r) (http/stream (fn (send) (send "one\\ntwo") (channel/recv gate) (send "") (send "é"))))]
   [:get "/broken-events" (fn (r) (http/stream (fn (send) (send "one") (error "in the stream"))))]
   [:get "/flood" (fn (r) (http/stream (fn (send) (try (let go () (send (string/repeat "x" 50000)) (go))
                                                    (catch e (channel/send news "flood ended"))))))]
   [:get "/big" (fn (r) (http/text (string/repeat "x" 3000000)))]
   [:get "/file" (fn (r) (http/file "big.bin"))]
   [:get "/page" (fn (r) (assoc (http/file "big.bin" "text/html") :headers {"Cache-Control" "no-store"}))]
   [:get "/bad-type" (fn (r) (http/file "big.bin" "a\\nb"))]
   [:get "/gone" (fn (r) (assoc (http/file "big.bin") :__file_path "/nowhere"))]
   [:ws "/echo/:room" echo]
   [:get "/dynamic" (fn (r) (http/websocket (fn (conn) ((:send conn) (:path (:request conn))))))]
   [:ws "/close" (fn (conn) ((:send conn) "bye") ((:close conn)) (channel/recv gate)
                   (channel/send news (try ((:send conn) "more") (catch e (:message e)))))]
   [:ws "/push" (fn (conn) (for-each (fn (i) ((:send conn) (number->string i))) (range 1000)))]
   [:ws "/fails" (fn (conn) (error "in the socket"))]]))
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """One server for all tests that leave it as it was."""
    folder = tmp_path_factory.mktemp("server")
    (folder / "big.bin").write_bytes(bytes(range(256)) * 5000)
    with serving(
        folder, "app", ":max-body 100000 :grace 5000", ROUTES + '(parameterize ((limit "inside"))', ")"
    ) as one:
        yield one
