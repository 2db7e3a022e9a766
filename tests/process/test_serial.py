"""serial/*: a real pair of terminal ends, of which the test plays the device."""

from __future__ import annotations

import builtins
import os
import tty
from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from sema_runtime import capabilities
from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language import output
from sema_runtime.lib.system import serial
from sema_runtime.values.errors import PermissionDenied, SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

SHORT = 50  # milliseconds, where a timeout is what the test waits for


class Device:
    """The other side of a port. name: what to open."""

    def __init__(self) -> None:
        self.ours, self.theirs = os.openpty()
        tty.setraw(self.ours)
        self.name = os.ttyname(self.theirs)

    def says(self, data: bytes) -> None:
        os.write(self.ours, data)

    def hears(self) -> bytes:
        return os.read(self.ours, 1000)


@pytest.fixture
def device() -> Iterator[Device]:
    from sema_runtime.tasks import scheduler

    made = Device()
    yield made
    for handle in list(serial.ports.open):
        serial.serial_close(handle)
    for descriptor in (made.ours, made.theirs):
        os.close(descriptor)
    scheduler._per_thread.scheduler = None


def test_text_goes_out_as_it_is(device: Device) -> None:
    port = serial.serial_open(device.name, 115200)
    serial.serial_write(port, "AT\r\né")
    assert device.hears() == "AT\r\né".encode()


def test_lines(device: Device) -> None:
    port = serial.serial_open(device.name, 9600)
    device.says("one\r\ntwo\n\né thr".encode())
    device.says(b"ee\r\r\nrest")
    assert [serial.serial_read_line(port) for _ in range(4)] == ["one", "two", "", "é three"]


def test_a_line_that_does_not_come_in_time(device: Device) -> None:
    port = serial.serial_open(device.name, 9600, SHORT)
    device.says(b"begun")
    with pytest.raises(SemaError, match=r"^serial/read-line: Operation timed out$"):
        serial.serial_read_line(port)
    device.says(b" and ended\n")
    assert serial.serial_read_line(port) == "begun and ended"
    with pytest.raises(SemaError, match=r"^serial/send read: Operation timed out$"):
        serial.serial_send(port, "{}")


def test_json_over_lines(device: Device) -> None:
    port = serial.serial_open(device.name, 9600)
    device.says(b'{"ok": true, "value": 2048}\r\n\r\n{"ok":\n')
    assert to_text(serial.serial_send(port, '{"cmd":"adc"}')) == "{:ok #t :value 2048}"
    assert device.hears() == b'{"cmd":"adc"}\n'
    assert serial.serial_send(port, "x") is None
    with pytest.raises(SemaError, match=r'^serial/send parse: .* at line 1 column .*: \{"ok":$'):
        serial.serial_send(port, "x")


def test_what_is_no_line_of_text(device: Device, monkeypatch: pytest.MonkeyPatch) -> None:
    port = serial.serial_open(device.name, 9600)
    device.says(b"\xff\xfe\nfine\n")
    with pytest.raises(SemaError, match="serial/read-line: stream did not contain valid UTF-8"):
        serial.serial_read_line(port)
    assert serial.serial_read_line(port) == "fine"
    monkeypatch.setattr(serial, "MAX_LINE", 100)
    device.says(b"x" * 200)
    with pytest.raises(SemaError, match="serial/read-line: line exceeds the 100-byte limit"):
        serial.serial_read_line(port)


def test_a_device_that_goes_away(device: Device) -> None:
    port = serial.serial_open(device.name, 9600)
    os.close(device.ours)
    device.ours = os.open(os.devnull, os.O_RDONLY)
    for use in (lambda: serial.serial_read_line(port), lambda: serial.serial_write(port, "x")):
        with pytest.raises(SemaError, match=r"^serial/(read-line|write): (Input/output error|device |write failed)"):
            use()


def test_handles(device: Device) -> None:
    port = serial.serial_open(device.name, 9600)
    serial.serial_close(port)
    for use in (serial.serial_close, serial.serial_read_line):
        with pytest.raises(SemaError, match=rf"^serial/[a-z-]+: invalid handle {port}$"):
            use(port)
    with pytest.raises(SemaError, match=r"^expected int, got string$"):
        serial.serial_write("1", "x")


BAD = [
    (("/dev/no-such-port", 9600), "serial/open: No such file or directory"),
    (("/dev/null", 9600), "serial/open: Could not configure port: .*Inappropriate ioctl"),
    (("/dev/null", 0), "serial/open: invalid baud rate 0"),
    (("/dev/null", 1 << 40), "serial/open: invalid baud rate 1099511627776"),
    (("/dev/null", 9600, 0), "serial/open: a serial read timeout of zero is not a bounded operation timeout"),
    (("/dev/null", 9600, 60001), "serial/open: read timeout 60001ms exceeds the maximum serial op timeout 60000ms"),
    (("/dev/null", "fast"), "expected int, got string"),
    ((5, 9600), "expected string, got int"),
]


@pytest.mark.parametrize(("arguments", "message"), BAD)
def test_what_cannot_be_opened(arguments: tuple[Any, ...], message: str) -> None:
    with pytest.raises(SemaError, match=f"^{message}"):
        serial.serial_open(*arguments)


def test_the_hint_names_the_port() -> None:
    with pytest.raises(SemaError) as raised:
        serial.serial_open("/dev/no-such-port", 9600)
    assert describe(raised.value).hint == "path=/dev/no-such-port, baud=9600"


def test_the_ports_of_this_machine() -> None:
    assert all(type(name) is str for name in serial.serial_list())


def test_other_tasks_go_on_and_a_wait_can_be_broken_off(device: Device) -> None:
    lines: list[str] = []
    output.sink = lines
    source = f"""
    (define port (serial/open "{device.name}" 9600 60000))
    (define reading (async (serial/read-line port)))
    (async/sleep 1)
    (println (try (serial/close port) (catch e (:message e))))
    (async/cancel reading)
    (serial/write port "x")
    (serial/read-line port)
    """

    def answer() -> None:
        device.hears()
        device.says(b"answer\n")

    Thread(target=answer, daemon=True).start()
    try:
        assert Session().run(source) == "answer"
    finally:
        output.sink = None
    assert lines[0].endswith(" is busy — another serial/* call is in flight on it")


def test_the_sandbox(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {"serial"})
    for use in (serial.serial_list, lambda: serial.serial_open("/dev/null", 9600)):
        with pytest.raises(PermissionDenied, match="requires 'serial' capability"):
            use()


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.partition(".")[0] == "serial":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    for use in (serial.serial_list, lambda: serial.serial_open("/dev/null", 9600)):
        with pytest.raises(
            SemaError, match=r"^serial/[a-z]+ needs the package pyserial: pip install 'semac\[serial\]'$"
        ):
            use()
