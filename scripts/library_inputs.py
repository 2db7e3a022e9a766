"""The library's part of scripts/fuzz.py: the functions that take texts from outside, and texts for them."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from sema_runtime.lib.data import csv, json, toml
from sema_runtime.lib.files import streams
from sema_runtime.lib.text import crypto, diff, regex, security, text
from sema_runtime.lib.time import datetime
from sema_runtime.values.lists import List
from sema_runtime.values.printer import to_text

Decoder = tuple[Callable[[str], Any], list[str]]


def _two(function: Callable[[str, str], Any]) -> Callable[[str], Any]:
    """A function of two texts, which are cut at the first `|||`."""
    return lambda text: function(text.partition("|||")[0], text.partition("|||")[2])


def _all_of(*functions: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda text: [to_text(function(text)) for function in functions]


def _through_bytes(text: str) -> Any:
    """The text as the bytes of a stream, read in all ways."""
    source = streams.stream_from_bytes(text.encode("latin-1", errors="replace"))
    while streams.stream_read_line(source) is not None:
        streams.stream_read(source, 3)
    return streams.stream_to_string(source)


def _matches(pattern: str, text: str) -> str:
    return to_text(List([regex.regex_match(pattern, text), regex.regex_find_all(pattern, text)]))


DECODERS: dict[str, Decoder] = {
    "json": (
        lambda given: json.json_encode_pretty(json.json_decode(given)),
        [
            r'{"a": [1, 2.5, -0, 1e5, true, false, null], "b": {"c": "x\u00e9\ud83d\ude00\n"}}',
            '[[[["deep"]]], {}, [], "", 123456789012345678901234567890, 1e400, -1E-7]',
            r'"\ud800" ',
            "[" * 200 + "]" * 200,
        ],
    ),
    "csv": (
        _all_of(csv.csv_parse, csv.csv_parse_maps, lambda given: csv.csv_encode(csv.csv_parse(given))),
        ['a,b\n1,"2\n3"\r\n"x ""y""",z\n', "\ufeffa;b\n\n1\t2\n", '"a\0b",c', 'name,"a b",\nAda,1,2\n', "a,a\n1,2"],
    ),
    "toml": (
        lambda given: toml.toml_encode(toml.toml_decode(given)),
        [
            'a = 1\nb = "x\\u00e9"\nc = [1, 2.5, "z", {d = true}]\n[t.u]\nv = 2024-01-15T10:30:00Z\n[[w]]\nx = 0xff\n',
            "a = 1979-05-27\nb = 07:32:00.999\nc = inf\nd = nan\ne = 1_000\nf = '''raw'''\n\"g h\".i = 0o7\n",
        ],
    ),
    "time/parse": (
        _two(datetime.time_parse),
        [
            "2025-01-15 12:10:00|||%Y-%m-%d %H:%M:%S",
            "Wed, 15 Jan 2025 12:10:60 +0200|||%a, %d %b %Y %T %z",
            "1736943000|||%s",
            "12:10 PM 015 25|||%I:%M %p %j %y",
        ],
    ),
    "time/format": (
        _all_of(
            *(
                lambda given, power=power: datetime.time_format(-(float(len(given) + 1) ** power), given)
                for power in range(9)
            )
        ),
        ["%Y-%m-%dT%H:%M:%S%.3f%:z %%", "%c %D %e %G-W%V"],
    ),
    "base64": (crypto.base64_decode, ["aGVsbG8=", "w6k=", "AA==", "+/+/"]),
    "base64 bytes": (crypto.base64_decode_bytes, ["aGVsbG8=", "////"]),
    "regex": (
        _two(_matches),
        [
            r"(?P<y>\d{4})-(\d\d)|[^\s&&[a-z]]+?\b{start}|||2024-05 x",
            r"(?i:a+b*)*(?m)^(é|\p{L})$|[[:alpha:]]{2,3}|\x{41}\pN|||aab é A1",
            "(a*)*(b|c?)+$|||aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!",
        ],
    ),
    "regex/replace-all": (
        _two(lambda pattern, given: regex.regex_replace_all(pattern, given, given)),
        ["(a)|(b)|||$1${x}$$ ab"],
    ),
    "diff/apply": (_two(diff.diff_apply), ["a\nb\nc\n|||--- old\n+++ new\n@@ -1,3 +1,3 @@\n a\n-b\n+x\n c\n"]),
    "diff": (
        _all_of(diff.diff_parse, diff.diff_hunks, diff.diff_stat),
        ["--- a/x\n+++ b/x\n@@ -1 +1,2 @@ f\n-a\n+b\n+c\n\\ No newline at end of file\n"],
    ),
    "security": (
        _all_of(security.secret_redact, security.secret_detect, security.pii_detect),
        ["password = Zx9Yw8Vu7Ts6Rq5Po4 eyJa.b.c a@b.co 10.0.0.1 é AKIAIOSFODNN7EXAMPLE", "@@a@b.c@d.ee"],
    ),
    "text": (
        _all_of(
            text.text_chunk,
            text.text_split_sentences,
            text.text_clean_whitespace,
            text.text_strip_html,
            text.text_trim_indent,
            text.text_normalize_newlines,
            text.text_word_count,
        ),
        ["A b. <b>c</b> &amp; d!\n  e? &#x41;<!-- x -->", "<<a><p <b>>&#99999999999;&nbsp"],
    ),
    "streams": (_through_bytes, ["line\r\nother\n\u00e9"]),
}
PIECES = [
    '"', "\\", "\\u", "\\ud83d", "{", "}", "[", "]", "(", ")", ",", ":", "\n", "\r\n", "\r", "\t", " ", "\ufeff",
    "é", "😀", "\0", "-", "+", ".", "e", "E", "0", "9", "1e999", "00", "NaN", "Infinity", "null", "true", "9" * 30,
    "-0", "%", "%Y", "%:", "%9", "%s", "%+", "%-d", "%.9f", "2024-13-45", "T25:61:61", "_", "/", "|||", "=", "==", "@@",
    "@@ -1,9999999999 +0,0 @@", "---", "#", "'''", "[[", "]]", "<", ">", "&", "&#", ";", "|", "*", "+?", "{2}",
    "{1000}", "?", "^", "$", "(?", "(?P<", r"\b", r"\p{L}", r"\x{", "[^", "&&", "(?x)",
]  # fmt: skip


def changed_text(source: random.Random, texts: list[str]) -> str:
    """One of the texts with a few pieces inserted, removed, doubled or moved; sometimes random bytes."""
    if source.random() < 0.05:
        return source.randbytes(source.randrange(40)).decode("latin-1")
    text = source.choice(texts)
    for _ in range(source.randrange(1, 5)):
        start = source.randrange(len(text) + 1)
        end = min(len(text), start + source.randrange(0, 8))
        choice = source.randrange(5)
        if choice == 0:
            text = text[:start] + text[end:]
        elif choice == 1:
            text = text[:start] + source.choice(PIECES) + text[end:]
        elif choice == 2:
            text = text[:end] + text[start:end] * source.choice((1, 2, 50)) + text[end:]
        elif choice == 3:
            other = source.choice(texts)
            cut = source.randrange(len(other) + 1)
            text = text[:start] + other[cut : cut + 20] + text[end:]
        else:
            text = text[:start] + chr(source.choice((0, 7, 0x80, 0xFF, 0x2028, 0xFFFE, 0x1F600))) + text[start:]
    return text
