"""A small client of the debug adapter protocol, speaking to `python -m debugpy.adapter` over its standard streams."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

PATIENCE = 60.0  # seconds until a session that hangs is ended


class DapClient:
    """One debugging session. Requests wait for their answer; events that come meanwhile are kept."""

    def __init__(self, folder: Path, env: dict[str, str]) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "debugpy.adapter"],
            cwd=folder,
            env=env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
        self.number = 0
        self.events: list[dict[str, Any]] = []
        self.output = ""
        self.watchdog = threading.Timer(PATIENCE, self.process.kill)
        self.watchdog.start()

    def __enter__(self) -> DapClient:
        return self

    def __exit__(self, *error: object) -> None:
        self.watchdog.cancel()
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            if stream is not None:
                stream.close()

    def send(self, command: str, **arguments: Any) -> int:
        """Sends a request; gives its number."""
        self.number += 1
        message = {"seq": self.number, "type": "request", "command": command, "arguments": arguments}
        body = json.dumps(message).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        self.process.stdin.flush()
        return self.number

    def receive(self) -> dict[str, Any]:
        """The next message. Raises EOFError when the adapter has ended."""
        assert self.process.stdout is not None
        length = 0
        while line := self.process.stdout.readline().strip():
            name, _, value = line.partition(b":")
            if name.lower() == b"content-length":
                length = int(value)
        if not length:
            raise EOFError("the debug adapter has ended")
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        if message.get("event") == "output":
            self.output += message["body"].get("output", "")
        return message

    def answer(self, number: int) -> Any:
        """The body of the answer to request number; fails when the adapter refused it."""
        while True:
            message = self.receive()
            if message["type"] == "response" and message["request_seq"] == number:
                assert message["success"], message
                return message.get("body")
            self.events.append(message)

    def request(self, command: str, **arguments: Any) -> Any:
        return self.answer(self.send(command, **arguments))

    def event(self, *names: str) -> dict[str, Any]:
        """The next event of one of these names."""
        while True:
            for index, message in enumerate(self.events):
                if message.get("event") in names:
                    return self.events.pop(index)
            self.events.append(self.receive())

    def launch(self, breakpoints: dict[Path, list[int]], **configuration: Any) -> None:
        """Starts a program that will stop at breakpoints (file → lines)."""
        self.request("initialize", clientID="test", adapterID="debugpy", linesStartAt1=True, columnsStartAt1=True)
        launched = self.send("launch", console="internalConsole", redirectOutput=True, **configuration)
        self.event("initialized")
        for path, lines in breakpoints.items():
            wanted = [{"line": line} for line in lines]
            self.request("setBreakpoints", source={"path": str(path)}, breakpoints=wanted)
        self.request("configurationDone")
        self.answer(launched)

    def stopped(self) -> tuple[int, list[tuple[str, str, int]], int]:
        """Waits for a stop: (thread, frames as (function, file name, line), number of the innermost frame)."""
        event = self.event("stopped", "terminated")
        assert event["event"] == "stopped", self.output
        thread = event["body"]["threadId"]
        frames = self.request("stackTrace", threadId=thread)["stackFrames"]
        shown = [(frame["name"], Path(frame["source"]["path"]).name, frame["line"]) for frame in frames]
        return thread, shown, frames[0]["id"]

    def local_variables(self, frame: int) -> dict[str, str]:
        scopes = self.request("scopes", frameId=frame)["scopes"]
        reference = next(scope["variablesReference"] for scope in scopes if scope["name"] == "Locals")
        variables = self.request("variables", variablesReference=reference)["variables"]
        return {variable["name"]: variable["value"] for variable in variables}
