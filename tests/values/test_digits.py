"""Integers of very many digits, from every text that a program may be given."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator

import pytest

from sema_runtime.lib.data.json import json_decode, json_encode
from sema_runtime.net.sse import SseParser
from sema_runtime.support.json_input import TooDeep, loads, received
from sema_runtime.values.digits import MOST_DIGITS, TooManyDigits, may_exceed, small, whole
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

LONG = "7" * 1_000_000
REFUSED = "the integer 77777777777777777777... has 1000000 digits; at most 20000 are read"
PATIENCE = 20.0  # seconds; the conversions took from 4 to 17 seconds each


@pytest.fixture(autouse=True)
def any_length() -> Iterator[None]:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)  # as the command sets it
    yield
    sys.set_int_max_str_digits(before)


def said(program: str, **texts: str) -> str:
    """The printed value of a program, or its error; texts are its variables."""
    session = Session()
    for name, text in texts.items():
        session.run(f'(define {name} "{text}")')
    try:
        return to_text(session.run(program))
    except SemaError as error:
        return error.message


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ("(json/decode text)", f"json/decode: {REFUSED}"),
        ('(json/decode (string/append "{\\"a\\": [1, -" text "]}"))', f"json/decode: {REFUSED}"),
        ('(string-length (json/decode (string/append "\\"" text "\\"")))', "1000000"),
        ('(json/decode (string/append text "e5"))', "nil"),
        ('(json/decode (string/append "1e" text))', "nil"),
        ('(json/decode (string/append "1e-" text))', "0.0"),
        ('(json/decode (string/append "0." text))', "0.7777777777777778"),
        ("(string->number text)", REFUSED),
        ('(string->number (string/append " -" text))', REFUSED),
        ('(string->number (string/append "1/" text))', REFUSED),
        ('(string->number (string/append text "+1i"))', REFUSED),
        ('(string->number (string/append "#e" text))', REFUSED),
        ("(string/number? text)", "#f"),
        ("(float text)", "inf"),
        ("(read text)", REFUSED),
        ('(read (string/append "#u8(" text ")"))', REFUSED),
        ('(read (string/append "1/" text))', REFUSED),
        ("(length (csv/parse text))", "1"),
        ("(bytes/parse-int10 (string->utf8 text))", "bytes/parse-int10: value overflows an int"),
        ('(regex/replace "a" (string/append "${" text "}") "a")', '""'),
    ],
)
def test_a_megabyte_of_digits(program: str, expected: str) -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(said(program, text=LONG)), daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert found == [expected]


@pytest.mark.parametrize("value", [LONG, "7_" * 500_000 + "7", "-" + LONG, "[1, " + LONG + "]", "0x" + "f" * 1_000_000])
def test_toml(value: str) -> None:
    assert said(f'(toml/decode "a = {value}")').startswith("toml/decode: parse error: TOML parse error at line 1")


def test_digits_in_toml_that_are_no_integers() -> None:
    long = "7" * 30_000
    text = f"quoted = '{long}'  # {long}\\n{long} = '''{long}'''"
    assert said("(map string-length (vals (toml/decode text)))", text=text) == "(30000 30000)"


def test_integers_up_to_the_limit_are_read() -> None:
    digits = "7" * MOST_DIGITS
    assert whole(digits) == whole("-" + digits) * -1 == json_decode(digits) == int(digits)
    assert whole("+" + digits) == int(digits)
    assert json_encode(json_decode(f"[{digits}]")) == f"[{digits}]"
    with pytest.raises(TooManyDigits):
        whole(digits + "7")


def test_a_lower_limit_of_python_does_not_count() -> None:
    sys.set_int_max_str_digits(4300)
    text = "[" + "7" * MOST_DIGITS + "]"
    assert received(text)[0] == loads(text)[0] == json_decode(text).items[0] == whole("7" * MOST_DIGITS)


@pytest.mark.parametrize("before", range(0, MOST_DIGITS, 1777))
def test_every_long_run_is_seen(before: int) -> None:
    run = "7" * (MOST_DIGITS + 1)
    assert may_exceed("x" * before + run)
    assert may_exceed(("x" * before + run).encode())
    for text in ("x" * before + run + "y", f'{{"a": {" " * before}{run}}}'):
        with pytest.raises(ValueError):
            loads(text)


def test_small_numbers_of_any_length() -> None:
    assert (small("12", 99), small("0" * 100_000 + "12", 99), small(LONG, 99), small("", 9)) == (12, 12, 99, 0)


def test_retry_of_event_streams() -> None:
    parser = SseParser()
    parser.feed(b"retry: " + LONG.encode() + b"\n")
    assert parser.retry_ms == 3_600_000


def test_messages_of_others() -> None:
    assert received(b'["\xff", "\\ud83d", "\\ud83d\\ude00", NaN]') == ["\ufffd", "\ufffd", "\U0001f600", None]
    assert received("[" * 127 + "]" * 127)
    for text in ("[" * 128 + "]" * 128, "[" * 100_000, '{"a":' * 128 + "1" + "}" * 128):
        with pytest.raises(TooDeep):
            received(text)
