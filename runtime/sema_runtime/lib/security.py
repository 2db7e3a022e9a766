"""Finding secrets and personal data in texts. Offsets are UTF-8 bytes, as in the reference."""

from __future__ import annotations

from math import log2
from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.lib.text_args import strings
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

START, END, TYPE, MATCH, LABEL = map(keyword, ("start", "end", "type", "match", "label"))
SECRETS = (
    ("aws-access-key", r"\bAKIA[0-9A-Z]{16}\b"),
    ("github-token", r"\bgh[pousr]_[A-Za-z0-9]{36,}\b"),
    ("slack-token", r"\bxox[abprs]-[A-Za-z0-9-]{10,}"),
    ("jwt", r"\beyJ[\w-]+\.[\w-]+\.[\w-]+"),
    ("private-key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----"),
    ("api-key", r"""(?i:\bapi[_-]?key)["']?\s*[:=]\s*["']?[\w-]{16,}"""),
)
PERSONAL = (
    ("email", r"[\w.%+-]+@[\w-]+(?:\.[\w-]+)*\.[A-Za-z]{2,}"),
    ("ssn", r"\b\d{3}-\d{2}-\d{4}\b"),
    ("phone", r"(?:\+?\d{1,2}[ .-]?)?\(?\b\d{3}\)?[ .-]\d{3}[ .-]\d{4}\b"),
    ("ipv4", r"\b(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)\b"),
)
TOKEN = r"[A-Za-z0-9+/=_-]{20,}"
LEAST_ENTROPY = 3.5  # bits a character

Found = tuple[int, int, str]


def _found(text: str, patterns: tuple[tuple[str, str], ...]) -> list[Found]:
    """(start, end, type) of the matches, in order; the first pattern wins where two overlap."""
    from re import ASCII, finditer

    spans: list[Found] = []
    for kind, pattern in patterns:
        for match in finditer(pattern, text, ASCII):
            if not any(start < match.end() and match.start() < end for start, end, _ in spans):
                spans.append((match.start(), match.end(), kind))
    return sorted(spans)


def _secrets(text: str) -> list[Found]:
    from re import finditer

    spans = _found(text, SECRETS)
    for match in finditer(TOKEN, text):
        free = not any(start < match.end() and match.start() < end for start, end, _ in spans)
        if free and _entropy(match[0]) >= LEAST_ENTROPY:
            spans.append((match.start(), match.end(), "high-entropy"))
    return sorted(spans)


def _entropy(token: str) -> float:
    shares = [token.count(one) / len(token) for one in set(token)]
    return -sum(share * log2(share) for share in shares)


def _described(text: str, spans: list[Found]) -> List:
    def offset(index: int) -> int:
        return len(text[:index].encode())

    return List(
        [
            Map({END: offset(end), MATCH: text[start:end], START: offset(start), TYPE: kind})
            for start, end, kind in spans
        ]
    )


@builtin("secret/detect", returns="list[map]", pure=True)
def secret_detect(text: Any) -> List:
    """The secrets in a text (keys, tokens, what looks random): maps of :type :match :start :end.

    (map :type (secret/detect "key = AKIAIOSFODNN7EXAMPLE")) => ("aws-access-key")
    """
    strings(text)
    return _described(text, _secrets(text))


@builtin("secret/redact", returns="string", pure=True)
def secret_redact(text: Any) -> str:
    """The text with its secrets replaced by «redacted:TYPE».

    (secret/redact "key = AKIAIOSFODNN7EXAMPLE") => "key = «redacted:aws-access-key»"
    """
    strings(text)
    for start, end, kind in reversed(_secrets(text)):
        text = f"{text[:start]}«redacted:{kind}»{text[end:]}"
    return str(text)


@builtin("pii/detect", returns="list[map]", pure=True)
def pii_detect(text: Any) -> List:
    """Personal data in a text (mail addresses, telephone numbers, IP addresses): maps of :type :match :start :end.

    (map :match (pii/detect "Mail ann@example.org")) => ("ann@example.org")
    """
    strings(text)
    return _described(text, _found(text, PERSONAL))


@builtin("redact/spans", returns="string", pure=True)
def redact_spans(text: Any, spans: Any) -> str:
    """The text with spans (maps of :start :end and maybe :label) replaced by «redacted:LABEL».

    A span that overlaps one before it is left out, and so is what has no numbers under :start and :end.

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
        if start < done or end <= start:
            continue
        mark = f"«redacted:{label}»" if isinstance(label, str) else "«redacted»"
        out += [data[done:start], mark.encode()]
        done = end
    return b"".join([*out, data[done:]]).decode(errors="replace")


def _span(value: Any) -> tuple[int, int, Any] | None:
    """Start, end and label of a span."""
    if not isinstance(value, Map):
        return None
    start, end = value.lookup(START), value.lookup(END)
    return (start, end, value.lookup(LABEL)) if type(start) is type(end) is int else None
