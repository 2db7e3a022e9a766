"""Texts from elsewhere that are malformed, deep, huge or hostile: the reference's values or conditions, and soon."""

from __future__ import annotations

import random

import pytest
from outcomes import outcome

from sema_runtime.lib.data import csv, json
from sema_runtime.lib.text import security
from sema_runtime.values.errors import SemaError

JSON = [
    ('(json/decode "[1e400, -1e400, 1e-400, -0.0]")', "(nil nil 0.0 -0.0)"),
    (r'(json/decode "\"\\ud83d\\ude00\"")', '"😀"'),
    (r'(json/decode "\"\\ud800\"")',
     "! json/decode: parse error at line 1 column 8: unexpected end of hex escape at line 1 column 8"),
    (r'(json/decode "\"\\ude00x\"")',
     "! json/decode: parse error at line 1 column 7: lone leading surrogate in hex escape at line 1 column 7"),
    ('(json/decode "\\ufeff1")', "! json/decode: parse error at line 1 column 1: expected value at line 1 column 1"),
    ('(json/decode "NaN")', "! json/decode: parse error at line 1 column 1: expected value at line 1 column 1"),
    ('(json/decode "[-Infinity]")', "! json/decode: parse error at line 1 column 3: invalid number at line 1 column 3"),
    ('(json/decode "{\\"a\\":1,\\"a\\":2}")', "{:a 2}"),
    ('(json/decode "[1] 2")', "! json/decode: parse error at line 1 column 5: trailing characters at line 1 column 5"),
    ('(json/decode (string/repeat "[" 100000))',
     "! json/decode: parse error at line 1 column 128: recursion limit exceeded at line 1 column 128"),
    ('(json/decode (str (string/repeat "[" 128) (string/repeat "]" 128)))',
     "! json/decode: parse error at line 1 column 128: recursion limit exceeded at line 1 column 128"),
]  # fmt: skip
CSV = [
    ('(csv/parse "a,\\"b")', '(("a" "b"))'),
    ('(csv/parse "a\\"b,c\\"\\n")', '(("a\\"b" "c\\""))'),
    ('(csv/parse "\\ufeffa\\r1\\r")', '(("a") ("1"))'),
    ('(csv/parse "\\n\\n")', "()"),
    ('(csv/parse-maps "a,a\\n1,2")', '({:a "2"})'),
    ('(csv/parse "a,b\\n\\n1")',
     "! csv/parse: parse error: CSV error: record 1 (line: 2, byte: 4): found record with 1 fields, but the previous "
     "record has 2 fields"),
]  # fmt: skip
TOML = [
    ('(toml/decode "\\ufeffa = 1")', "{:a 1}"),
    ('(toml/decode "a = 1e400")', "! toml/decode: parse error: TOML parse error at line 1, column 5"),
    ('(toml/decode "a = [1, 1e999]")', "! toml/decode: parse error: TOML parse error at line 1, column 9"),
    ('(toml/decode "abc = 2024-13-45")', "! toml/decode: parse error: TOML parse error at line 1, column 7"),
    ('(toml/decode "a = truee")', "! toml/decode: parse error: TOML parse error at line 1, column 5"),
    ('(toml/decode "a = \\"xx\\\\q\\"")', "! toml/decode: parse error: TOML parse error at line 1, column 9"),
    ('(toml/decode "a = \\"xx\\\\ud800\\"")', "! toml/decode: parse error: TOML parse error at line 1, column 10"),
    ('(toml/decode "a = 99999999999999999999")', "! toml/decode: parse error: TOML parse error at line 1, column 5"),
    ('(toml/decode (str "[" (string/repeat "a." 100000) "a]"))', "! toml/decode: parse error: recursion limit"),
    ('(toml/decode (str "a = " (string/repeat "[" 100000)))', "! toml/decode: parse error: recursion limit"),
]  # fmt: skip
OTHERS = [
    ('(time/parse "2024-02-29 23:59:60" "%F %T")', "1709251199.0"),
    ('(time/parse "2025-02-30 00:00:00" "%F %T")', "! time/parse: parse error: input is out of range"),
    ('(time/parse "2024-02-29" "%F")', "! time/parse: parse error: input is not enough for unique date and time"),
    ('(time/parse "x" "%F %T")', "! time/parse: parse error: input contains invalid characters"),
    ('(time/format 1e20 "%F")', None),
    ("(time/format (/ 0.0 0.0) \"%F\")", None),
    ('(time/date-parts 1e300)', None),
    ('(base64/decode "aGVs bG8=")', "! base64/decode: Invalid symbol 32, offset 4."),
    ('(base64/decode "////")', None),
]  # fmt: skip


@pytest.mark.parametrize(("source", "expected"), JSON + CSV + TOML + OTHERS)
def test_malformed_texts(source: str, expected: str | None) -> None:
    found = outcome(source)
    if expected is None:
        assert found.startswith(("!", '"'))
    else:
        assert found.split("\n")[0] == expected


def test_integers_with_more_digits_than_python_converts() -> None:
    assert json.json_decode("[" + "9" * 5000 + "]").items[0] == 10**5000 - 1
    with pytest.raises(SemaError, match=r"json/decode: the integer 9{20}\.\.\. has 20001 digits; at most 20000"):
        json.json_decode("[" + "9" * 20_001 + "]")
    with pytest.raises(SemaError, match=r"json/encode: Eval error: Exceeds the limit \(4300 digits\)"):
        json.json_encode(10**5000)


def test_fields_of_any_size() -> None:
    field = "x" * 1_000_000
    assert csv.csv_parse(f'"{field}",1').items[0].items == [field, "1"]


LONG = [
    "a" * 1_000_000,
    "eyJ" * 300_000,
    "a@" * 300_000,
    "eyJa.b." * 100_000,
    "-----BEGIN " * 50_000,
    "token" + " " * 500_000,
    "(555" * 200_000,
    "é 10.0.0.1 " * 30_000,
]


@pytest.mark.parametrize("text", LONG, ids=lambda text: text[:12])
def test_redaction_of_long_texts_is_linear(text: str) -> None:
    """What grows with the square of the length would take minutes."""
    security.secret_redact(text)
    security.pii_detect(text)


def test_secrets_in_mixed_texts() -> None:
    text = (
        'é key AKIAABCDEFGHIJKLMNOPQ, "password" : "Abcdefgh1234567890XyZ" xoxb-1 x eyJa.b.c.d '
        "-----BEGIN RSA PRIVATE KEY-----"
    )
    assert security.secret_redact(text) == (
        'é key «redacted:aws-access-key»Q, "password" : "Abcdefgh1234567890XyZ" «redacted:slack-token» x '
        "«redacted:jwt».d «redacted:private-key»"
    )
    assert security.secret_redact("api_key=Abcdefgh1234567890XyZ") == "«redacted:api-key»"
    assert security.secret_redact("token: aaaaaaaaaaaaaaaaaaaaaaaa") == "token: aaaaaaaaaaaaaaaaaaaaaaaa"
    found = security.pii_detect("é a@b.com_x@y.org 5551234567 +1 (555) 123-4567 1.2.3.4 256.1.1.1").items
    assert [(one["type"], one["match"], one["start"]) for one in found] == [
        ("email", "a@b.com", 3),
        ("email", "_x@y.org", 10),
        ("phone", "5551234567", 19),
        ("phone", "+1 (555) 123-4567", 30),
        ("ipv4", "1.2.3.4", 48),
    ]


def test_spans_that_don_t_fit() -> None:
    spans = '(list {:start 0 :end 2 :label "x"} {:start 1 :end 3} {:start -1 :end 2} 5 {:start "a"} {:start 9 :end 10})'
    assert outcome(f'(redact/spans "héllo" {spans})') == '"h«redacted»llo"'


def test_random_bytes_are_conditions_or_values() -> None:
    """The long run is `scripts/fuzz.py --part library`."""
    source = random.Random(11)
    for _ in range(2000):
        text = source.randbytes(source.randrange(30)).decode("latin-1")
        for decode in (json.json_decode, csv.csv_parse, security.secret_detect):
            try:
                decode(text)
            except SemaError as error:
                assert error.message
