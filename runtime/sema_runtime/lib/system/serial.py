"""Serial ports, with the package pyserial (the extra `serial`): lines and JSON over a UART or USB.

Every operation ends within the port's timeout, at most a minute. Other tasks run meanwhile; those that use the same
port wait for each other.
"""

from __future__ import annotations

import os
import time

from sema_runtime.catalogue import builtin
from sema_runtime.support.handles import Handles
from sema_runtime.support.missing_packages import package_missing
from sema_runtime.support.text_arguments import text_of
from sema_runtime.tasks.threads import in_background
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

TIMEOUT = 2000  # milliseconds
MAX_TIMEOUT = 60_000
MAX_BAUD = (1 << 31) - 1
MAX_LINE = 1 << 20  # bytes; a device that sends more without ending a line speaks something else


class Port:
    """An open port. Bytes received after the last line read are kept for the next one."""

    def __init__(self, device: Any, seconds: float) -> None:
        from threading import Lock

        self.device = device
        self.seconds = seconds
        self.received = bytearray()
        self.lock = Lock()
        self.talk: _Talk | None = None  # what the lock is held for

    def write(self, step: str, data: bytes) -> None:
        """Sends bytes. step: what an error calls this."""
        try:
            self.device.write(data)
        except OSError as error:
            raise SemaError(f"{step}: {_reason(error)}") from None

    def flush(self, step: str) -> None:
        """Waits until what was sent is on the wire."""
        from termios import error as TerminalError

        try:
            self.device.flush()
        except (OSError, TerminalError) as error:
            raise SemaError(f"{step}: {_reason(error)}") from None

    def read_line(self, step: str, talk: _Talk) -> str:
        """The next line without its end."""
        deadline = time.monotonic() + self.seconds
        while True:
            end = self.received.find(b"\n")
            if end >= 0:
                line = bytes(self.received[:end])
                del self.received[: end + 1]
                return _text(step, line)
            if len(self.received) > MAX_LINE:
                self.received.clear()
                raise SemaError(f"{step}: line exceeds the {MAX_LINE}-byte limit")
            if talk.stopped or time.monotonic() >= deadline:
                raise SemaError(f"{step}: Operation timed out")
            try:
                self.received += self.device.read(max(1, self.device.in_waiting))
            except OSError as error:
                raise SemaError(f"{step}: {_reason(error)}") from None


def _text(step: str, line: bytes) -> str:
    try:
        return line.rstrip(b"\r").decode()
    except UnicodeDecodeError:
        raise SemaError(f"{step}: stream did not contain valid UTF-8") from None


def _reason(error: Exception) -> str:
    number = getattr(error, "errno", None)
    return os.strerror(number) if number else str(error)


class _Talk:
    """One use of a port, which can be cancelled."""

    __slots__ = ("port", "stopped")

    def __init__(self, port: Port) -> None:
        self.port = port
        self.stopped = False

    def run(self, work: Callable[[Port, _Talk], Any]) -> Any:
        with self.port.lock:
            self.port.talk = self
            try:
                return work(self.port, self)
            finally:
                self.port.talk = None

    def stop(self) -> None:
        self.stopped = True
        if self.port.talk is self:
            self.port.device.cancel_read()
            self.port.device.cancel_write()


ports = Handles("int", "invalid handle")


def _talk(function: str, handle: Any, work: Callable[[Port, _Talk], Any]) -> Any:
    talk = _Talk(ports.get(function, handle))
    return in_background(lambda: talk.run(work), stop=talk.stop)


@builtin("serial/list", type="-> list str fresh", cap="serial")
def serial_list() -> List:
    """The names of the serial ports of this machine.

    ; (serial/list) => ("/dev/ttyACM0" "/dev/ttyUSB0")
    """
    try:
        from serial.tools.list_ports import comports  # type: ignore[import-untyped]
    except ImportError:
        raise package_missing("serial/list", "pyserial", "serial") from None
    return List(sorted(port.device for port in comports()))


@builtin("serial/open", type="str, int, int? -> int", cap="serial")
def serial_open(path: Any, baud: Any, timeout_ms: Any = TIMEOUT) -> int:
    """Opens a serial port and returns a handle. timeout-ms, at most a minute, limits each operation on it.

    ; (define pico (serial/open "/dev/ttyACM0" 115200))
    (serial/open "/dev/ttyACM0" 0) ! serial/open: invalid baud rate 0
    """
    name = text_of(path)
    for number in (baud, timeout_ms):
        if type(number) is not int:
            type_error("int", number)
    hint = f"path={name}, baud={baud}"
    if not 0 < baud <= MAX_BAUD:
        raise SemaError(f"serial/open: invalid baud rate {baud}", hint)
    seconds = _bounded(timeout_ms)
    try:
        from serial import Serial  # type: ignore[import-untyped]
    except ImportError:
        raise package_missing("serial/open", "pyserial", "serial") from None
    try:
        device = in_background(lambda: Serial(name, baud, timeout=seconds, write_timeout=seconds))
    except (OSError, ValueError) as error:
        raise SemaError(f"serial/open: {_reason(error)}", hint) from None
    return ports.add(Port(device, seconds))


def _bounded(milliseconds: int) -> float:
    """The timeout in seconds."""
    if milliseconds == 0:
        message = "serial/open: a serial read timeout of zero is not a bounded operation timeout"
        raise SemaError(message, "open the port with a positive timeout in milliseconds")
    if not 0 < milliseconds <= MAX_TIMEOUT:
        message = f"serial/open: read timeout {milliseconds}ms exceeds the maximum serial op timeout {MAX_TIMEOUT}ms"
        raise SemaError(message, "open the port with a smaller timeout: (serial/open path baud timeout-ms)")
    return milliseconds / 1000


@builtin("serial/close", type="int -> nil", cap="serial")
def serial_close(handle: Any) -> None:
    """Closes a serial port. Raises an error while another task uses it.

    ; (let ((pico (serial/open "/dev/ttyACM0" 115200))) (serial/close pico))
    """
    port: Port = ports.get("serial/close", handle)
    if not port.lock.acquire(blocking=False):
        raise SemaError(
            f"serial/close: serial port {handle} is busy — another serial/* call is in flight on it",
            "wait for the in-flight serial/* call on this handle to resolve before calling another",
        )
    try:
        ports.forget(handle)
        port.device.close()
    finally:
        port.lock.release()


@builtin("serial/write", type="int, str -> nil", cap="serial")
def serial_write(handle: Any, text: Any) -> None:
    """Sends text without a line end, and waits until it is on the wire.

    ; (let ((pico (serial/open "/dev/ttyACM0" 115200))) (serial/write pico "led on\\r\\n"))
    """
    data = text_of(text).encode(errors="surrogateescape")

    def work(port: Port, _: _Talk) -> None:
        port.write("serial/write", data)
        port.flush("serial/write flush")

    _talk("serial/write", handle, work)


@builtin("serial/read-line", type="int -> str", cap="serial")
def serial_read_line(handle: Any) -> str:
    """Reads the next line from a serial port, without its end. Raises an error when none arrives within the port's
    timeout.

    ; (serial/read-line 1) => "ready"
    """
    line: str = _talk("serial/read-line", handle, lambda port, talk: port.read_line("serial/read-line", talk))
    return line


@builtin("serial/send", type="int, str -> map keyword any|list any|str|int|float|bool|nil fresh", cap="serial")
def serial_send(handle: Any, command: Any) -> Any:
    """Sends a command as a line and returns the line that comes back, parsed as JSON; nil for an empty one.

    ; (serial/send 1 "{\\"cmd\\":\\"led-on\\"}") => {:ok #t}
    """
    data = text_of(command).encode(errors="surrogateescape") + b"\n"

    def work(port: Port, talk: _Talk) -> str:
        port.write("serial/send write", data)
        port.flush("serial/send flush")
        return port.read_line("serial/send read", talk)

    answer: str = _talk("serial/send", handle, work).strip()
    return _parsed(answer) if answer else None


def _parsed(answer: str) -> Any:
    from sema_runtime.support.json import decode

    try:
        return decode(answer)
    except SemaError as error:
        reason = error.message.removeprefix("json/decode: ").removeprefix("parse error ")
        raise SemaError(f"serial/send parse: {reason}: {answer}") from None
