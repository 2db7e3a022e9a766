"""The sockets of the nREPL server: one thread a connection reads requests and sends replies."""

from __future__ import annotations

import socket
import struct
import sys
import threading
from contextlib import suppress
from typing import Any

from semac.nrepl.bencode import BencodeError, Decoder, encode
from semac.nrepl.evaluator import Client, Evaluator, Message
from semac.nrepl.operations import Request, answer

MOST_CONNECTIONS = 64
SEND_SECONDS = 10  # for which a client may leave replies unread


class Server:
    """A listening socket, and what all connections share."""

    def __init__(self, host: str, port: int) -> None:
        """Raises OSError where the port is taken."""
        self.socket = socket.create_server((host, port))
        self.evaluator = Evaluator()
        self.clients: dict[str, Client] = {}
        self.connections: set[Connection] = set()

    @property
    def address(self) -> tuple[str, int]:
        """Host and port."""
        host, port = self.socket.getsockname()[:2]
        return host, port

    def run(self) -> None:
        """Serves on the main thread until Ctrl-C raises KeyboardInterrupt, or SIGTERM SystemExit."""
        threading.Thread(target=self.accept, daemon=True).start()
        try:
            self.evaluator.run()
        finally:
            self.socket.close()
            for connection in list(self.connections):
                connection.close()

    def accept(self) -> None:
        """Starts a thread for each connection."""
        while True:
            try:
                peer, _ = self.socket.accept()
            except OSError:  # closed
                return
            if len(self.connections) >= MOST_CONNECTIONS:
                peer.close()
                continue
            connection = Connection(self, peer)
            self.connections.add(connection)
            threading.Thread(target=connection.serve, daemon=True).start()


class Connection:
    """One client program."""

    def __init__(self, server: Server, peer: socket.socket) -> None:
        self.server = server
        self.peer = peer
        self.sending = threading.Lock()
        self.closed = False
        peer.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", SEND_SECONDS, 0))
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def serve(self) -> None:
        """Answers requests until the client goes away or sends nonsense."""
        try:
            with self.peer.makefile("rb") as file:
                decoder = Decoder(file)
                while True:
                    self.handle(decoder.message())
        except BencodeError as error:
            print(f"Closed a connection that sent no nREPL message: {error}", file=sys.__stderr__)
        except (EOFError, OSError):
            pass
        finally:
            self.close()
            self.server.connections.discard(self)
            self.server.evaluator.drop(lambda job: job.connection is self)

    def handle(self, message: Any) -> None:
        """Answers one request."""
        if not isinstance(message, dict):
            raise BencodeError("a request is not a map")
        request = Request(message, self.server.clients, self.server.evaluator, self)
        extra = {name: message[name] for name in ("id", "session") if isinstance(message.get(name), str)}
        request.reply = lambda reply: self.send({**extra, **reply})
        try:
            replies = list(answer(request))
        except Exception as error:  # of a lookup; the connection lives on
            replies = [{"err": f"{error}\n", "status": ["done", "error"]}]
        for reply in replies:
            request.reply(reply)

    def send(self, message: Message) -> None:
        """Sends a message; nothing when the client is gone or has not read for long."""
        data = encode(message)
        with self.sending:
            if self.closed:
                return
            try:
                self.peer.sendall(data)
            except OSError:
                self.close()

    def close(self) -> None:
        self.closed = True
        with suppress(OSError):  # the client was faster
            self.peer.shutdown(socket.SHUT_RDWR)
        self.peer.close()
