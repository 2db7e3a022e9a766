"""A headless Chromium, driven through the DevTools protocol: for tests of pages."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage", "--hide-scrollbars",
    "--force-color-profile=srgb",
)  # fmt: skip
PATIENCE = 20.0  # seconds


def program() -> str:
    """The browser's program; the test is skipped where there is none."""
    for name in ("chromium", "chromium-browser", "google-chrome", "chrome"):
        if found := shutil.which(name):
            return found
    pytest.skip("no Chromium here: install Debian's package chromium")


class Page:
    """One tab."""

    def __init__(self, socket: Any) -> None:
        self.socket = socket
        self.number = 0
        self.said: list[str] = []  # what the page wrote to the console, and errors
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **params: Any) -> Any:
        """The result of a command of the protocol."""
        self.number += 1
        self.socket.send(json.dumps({"id": self.number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv(timeout=PATIENCE))
            if answer.get("id") == self.number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _note(self, event: Any) -> None:
        params = event.get("params", {})
        if event.get("method") == "Runtime.exceptionThrown":
            self.said.append(json.dumps(params["exceptionDetails"])[:600])
        elif event.get("method") == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.said.append(params["entry"]["text"] + " " + params["entry"].get("url", ""))

    def run(self, script: str) -> Any:
        """The value of a JavaScript expression; promises are awaited."""
        found = self.call("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def until(self, script: str) -> Any:
        """Waits until an expression is true; its value."""
        end = time.monotonic() + PATIENCE
        while True:
            found = self.run(script)
            if found:
                return found
            assert time.monotonic() < end, f"never: {script}\n{self.said}\n{self.run('document.body.innerText')[:2000]}"
            time.sleep(0.02)

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def text(self, selector: str) -> str:
        return str(self.run(f"document.querySelector({json.dumps(selector)}).innerText"))

    def click(self, selector: str) -> None:
        self.run(f"document.querySelector({json.dumps(selector)}).click()")

    def mouse(self, kind: str, x: float, y: float) -> None:
        """A real pointer: kind is `mousePressed`, `mouseReleased` or `mouseMoved`."""
        held = 0 if kind == "mouseMoved" else 1
        button = "left" if held else "none"
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=held)

    def middle(self, element: str) -> tuple[float, float]:
        """The middle of what a JavaScript expression gives, on the screen."""
        middle = "[b.x + b.width / 2, b.y + b.height / 2]"
        x, y = self.run(f"(() => {{ const b = ({element}).getBoundingClientRect(); return {middle}; }})()")
        return x, y

    def key(self, *keys: str) -> None:
        """Presses keys: `Tab`, `ArrowDown`, `Enter`, `a`."""
        codes = {"Tab": 9, "Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        for key in keys:
            shared: dict[str, Any] = {"key": key, "windowsVirtualKeyCode": codes.get(key, 0)}
            if len(key) == 1:
                shared["text"] = key
            elif key == "Enter":
                shared["text"] = "\r"
            self.call("Input.dispatchKeyEvent", type="keyDown", **shared)
            self.call("Input.dispatchKeyEvent", type="keyUp", **shared)

    def type(self, selector: str, text: str) -> None:
        """Writes into a field."""
        self.run(f"document.querySelector({json.dumps(selector)}).focus()")
        self.call("Input.insertText", text=text)

    def size(self, width: int, height: int) -> None:
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def colours(self, scheme: str) -> None:
        """ "light" or "dark", as the system would have it."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def picture(self) -> bytes:
        """The page as PNG."""
        return base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"])


@contextmanager
def browser(folder: Path) -> Iterator[Page]:
    """A browser with one empty tab; its profile is in the folder."""
    from websockets.sync.client import connect

    process = subprocess.Popen(
        [program(), *FLAGS, "--remote-debugging-port=0", f"--user-data-dir={folder}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        tabs = httpx.get(f"http://127.0.0.1:{_port(folder, process)}/json").json()
        url = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(url, max_size=None, open_timeout=PATIENCE) as socket:
            yield Page(socket)
    finally:
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(10)
        process.kill()
        process.wait()


def _port(folder: Path, process: subprocess.Popen[bytes]) -> int:
    """The port that the browser has chosen: it writes it to its profile."""
    end = time.monotonic() + PATIENCE
    while process.poll() is None and time.monotonic() < end:
        with suppress(OSError, ValueError):  # not there yet, or not whole
            port, _ = (folder / "DevToolsActivePort").read_text().split("\n/")
            return int(port)
        time.sleep(0.02)
    pytest.skip("Chromium doesn't start here")
