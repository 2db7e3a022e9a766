"""Finding secrets and personal data in texts, of any length. Offsets are UTF-8 bytes, as in the reference."""

from __future__ import annotations

from math import log2

from sema_runtime.catalogue import builtin
from sema_runtime.support.text_arguments import strings
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

START, END, TYPE, MATCH, LABEL = map(keyword, ("start", "end", "type", "match", "label"))
SECRETS = (
    ("aws-access-key", r"AKIA[0-9A-Z]{16}"),
    ("private-key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("slack-token", r"xox[abprs]-[A-Za-z0-9-]+"),
    ("github-token", r"gh[oprsu]_[A-Za-z0-9]{36,}"),
)
ASSIGNED = r"""(?i:api[_-]?key|secret|token|password)\s*[:=]\s*['"]?([A-Za-z0-9_-]{16,})"""
BLOB = r"[A-Za-z0-9+/=_-]{32,}"
LEAST_ENTROPY = 3.5  # bits a character, of what is called a secret only because it looks random
SEGMENT = r"[A-Za-z0-9_-]++(?=(\.[A-Za-z0-9_-]++\.[A-Za-z0-9_-]++)?)"  # with the two that follow it, joined by dots
LOCAL_PART = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._%+-"
DOMAIN = r"[A-Za-z0-9.-]+\.[A-Za-z]{2,}"
OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
PERSONAL = (
    ("ipv4", rf"\b(?:{OCTET}\.){{3}}{OCTET}\b"),
    ("phone", r"(?:\+?1[\s.-]?)?\(?\d{3}\)?[\s.-]?\d{3}[\s.-]?\d{4}"),
)

Found = tuple[int, int, str]


class Findings:
    """Spans of a text. A span that overlaps an earlier one is not added."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.spans: list[Found] = []
        self.taken = bytearray(len(text))

    def add(self, start: int, end: int, kind: str) -> None:
        if self.taken.find(1, start, end) < 0:
            self.taken[start:end] = b"\1" * (end - start)
            self.spans.append((start, end, kind))

    def add_all(self, patterns: tuple[tuple[str, str], ...]) -> None:
        from re import finditer

        for kind, pattern in patterns:
            for match in finditer(pattern, self.text):
                self.add(match.start(), match.end(), kind)

    def in_order(self) -> list[Found]:
        return sorted(self.spans)


def _secrets(text: str) -> list[Found]:
    """The secrets in a text, in time linear in its length, as everything here."""
    from re import finditer

    findings = Findings(text)
    findings.add_all(SECRETS[:2])
    for start, end in _web_tokens(text):
        findings.add(start, end, "jwt")
    findings.add_all(SECRETS[2:])
    for match in finditer(ASSIGNED, text):
        if _entropy(match[1]) >= LEAST_ENTROPY:
            findings.add(match.start(), match.end(), "api-key")
    for match in finditer(BLOB, text):
        if _entropy(match[0]) >= LEAST_ENTROPY:
            findings.add(match.start(), match.end(), "high-entropy")
    return findings.in_order()


def _web_tokens(text: str) -> Iterator[tuple[int, int]]:
    """`eyJ...`, a dot, more, a dot, more. A pattern for it would look for the dots again at each `eyJ`."""
    from re import finditer

    done = 0
    for match in finditer(SEGMENT, text) if "eyJ" in text else ():
        begin = match[0].find("eyJ")
        if match[1] and 0 <= begin < len(match[0]) - 3 and match.start() >= done:
            done = match.end(1)
            yield match.start() + begin, done


def _personal(text: str) -> list[Found]:
    findings = Findings(text)
    for start, end in _addresses(text):
        findings.add(start, end, "email")
    findings.add_all(PERSONAL)
    return findings.in_order()


def _addresses(text: str) -> Iterator[tuple[int, int]]:
    """Mail addresses, found from their `@`: a pattern would restart at each character of a long word."""
    from re import compile

    domain = compile(DOMAIN)
    done = 0
    at = text.find("@")
    while at >= 0:
        start = done + len(text[done:at].rstrip(LOCAL_PART))
        match = domain.match(text, at + 1) if start < at else None
        if match:
            yield start, match.end()
        done = match.end() if match else at + 1
        at = text.find("@", done)


def _entropy(token: str) -> float:
    shares = [token.count(character) / len(token) for character in set(token)]
    return -sum(share * log2(share) for share in shares)


def _described(text: str, spans: list[Found]) -> List:
    """The findings as maps, with offsets in bytes."""
    described = []
    place = offset = 0
    for start, end, kind in spans:
        begin = offset + len(text[place:start].encode())
        place, offset = end, begin + len(text[start:end].encode())
        described.append(Map({END: offset, MATCH: text[start:end], START: begin, TYPE: kind}))
    return List(described)


@builtin("secret/detect", type="str -> flat (map keyword (int|str)) fresh", pure=True)
def secret_detect(text: Any) -> List:
    """The secrets in a text (keys, tokens, random-looking strings), as maps of :type :match :start :end.

    (map :type (secret/detect "key = AKIAIOSFODNN7EXAMPLE")) => ("aws-access-key")
    """
    strings(text)
    return _described(text, _secrets(text))


@builtin("secret/redact", type="str -> str", total=True, pure=True)
def secret_redact(text: Any) -> str:
    """Replaces the secrets in a text by «redacted:TYPE».

    (secret/redact "key = AKIAIOSFODNN7EXAMPLE") => "key = «redacted:aws-access-key»"
    """
    strings(text)
    out = []
    done = 0
    for start, end, kind in _secrets(text):
        out += [text[done:start], f"«redacted:{kind}»"]
        done = end
    return "".join([*out, text[done:]])


@builtin("pii/detect", type="str -> flat (map keyword (int|str)) fresh", pure=True)
def pii_detect(text: Any) -> List:
    """Personal data in a text (mail addresses, telephone numbers, IP addresses), as maps of :type :match :start :end.

    (map :match (pii/detect "Mail ann@example.org")) => ("ann@example.org")
    """
    strings(text)
    return _described(text, _personal(text))


@builtin("redact/spans", type="str, list -> str", pure=True)
def redact_spans(text: Any, spans: Any) -> str:
    """Replaces spans of a text (maps of :start, :end and optionally :label) by «redacted:LABEL».

    A span is ignored when it overlaps an earlier one, cuts a character, or lacks numbers.

    (redact/spans "my name is Ann" (list {:start 11 :end 14 :label "name"})) => "my name is «redacted:name»"
    """
    strings(text)
    if not isinstance(spans, (List, list)):
        type_error("list", spans)
    data = text.encode()
    out: list[bytes] = []
    done = 0
    for start, end, label in sorted(filter(None, map(_span, spans)), key=lambda span: span[0]):
        end = min(end, len(data))
        if start < done or end <= start or _is_inside(data, start) or _is_inside(data, end):
            continue
        mark = f"«redacted:{label}»" if isinstance(label, str) else "«redacted»"
        out += [data[done:start], mark.encode()]
        done = end
    return b"".join([*out, data[done:]]).decode()


def _is_inside(data: bytes, offset: int) -> bool:
    """Whether an offset is inside a character."""
    return data[offset : offset + 1] > b"\x7f" and data[offset] & 0xC0 == 0x80


def _span(value: Any) -> tuple[int, int, Any] | None:
    """Start, end and label of a span."""
    if not isinstance(value, Map):
        return None
    start, end = value.lookup(START), value.lookup(END)
    return (start, end, value.lookup(LABEL)) if type(start) is type(end) is int else None
