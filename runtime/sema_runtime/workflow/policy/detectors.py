"""What looks like a secret or like somebody's data in a text, and the text without it.

Each detector reads a text once, in time in proportion to its length, whatever stands in it. They find what has the
shape of a thing: a number of a card must pass its checksum, the others have no more than their shape.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache

TYPE_CHECKING = False
if TYPE_CHECKING:
    import re

Span = tuple[int, int]

NAMES = ("secret", "email", "phone", "ipv4", "payment-card")
LARGEST = 16 << 20  # bytes of a text that is read

TOKENS = (
    r"\b(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}\b",  # AWS
    r"\bgh[pousr]_[A-Za-z0-9]{36,255}\b",
    r"\bgithub_pat_[A-Za-z0-9_]{22,255}\b",
    r"\bglpat-[A-Za-z0-9_-]{20,64}",
    r"\bsk-[A-Za-z0-9_-]{20,255}",  # OpenAI, Anthropic and many others
    r"\b(?:sk|rk|pk)_(?:live|test)_[A-Za-z0-9]{16,255}\b",  # Stripe
    r"\bxox[abeoprs]-[A-Za-z0-9-]{10,255}",  # Slack
    r"\bAIza[A-Za-z0-9_-]{35}",  # Google
    r"\bya29\.[A-Za-z0-9_-]{20,255}",
    r"\bhf_[A-Za-z0-9]{30,255}\b",
    r"\bnpm_[A-Za-z0-9]{36}\b",
    r"\bpypi-[A-Za-z0-9_-]{50,255}",
    r"\bSG\.[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43}",  # SendGrid
    r"\beyJ[A-Za-z0-9_-]{8,2000}\.eyJ[A-Za-z0-9_-]{8,4000}\.[A-Za-z0-9_-]{8,2000}",  # JSON web tokens
)
NAMED = (  # the value beside a name that says it is secret; the group is the value
    r"(?i:\b(?:authorization: ?)?bearer )([A-Za-z0-9._~+/-]{20,2000}=*)",
    r"(?i:(?:api|access|secret|private|auth)[_-]?(?:key|token)|passw(?:or)?d|secret|token)"
    r"[\"']?[ \t]{0,3}[:=][ \t]{0,3}[\"']?([A-Za-z0-9+/_.~!@#$%^&*-]{8,512}=*)",
)
KEY_BEGIN, KEY_END, DASHES = "-----BEGIN ", "-----END ", "-----"
PRIVATE_KEY = r"-----BEGIN (?:[A-Z0-9]{2,12} ){0,2}PRIVATE KEY(?: BLOCK)?-----"

LOCAL = r"[A-Za-z0-9.!#$%&'*+/=?^_`{|}~-]{1,64}"
HOST = r"@(?:[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?\.){1,8}[A-Za-z]{2,63}(?![A-Za-z0-9])"
OCTET = r"(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
IPV4 = rf"(?<![\w.])(?:{OCTET}\.){{3}}{OCTET}(?!\w|\.[0-9])"
PHONE = (
    r"(?<![\w+.-])(?:"
    r"\+[1-9](?:[ ./()-]{0,2}[0-9]){7,14}"  # international
    r"|(?:\([2-9][0-9]{2}\) ?|[2-9][0-9]{2}[-. ])[2-9][0-9]{2}[-. ][0-9]{4}"  # North America
    r"|\(?0[1-9][0-9]{0,4}\)?[ /-][0-9]{2,8}(?:[ -][0-9]{2,4}){0,3}"  # with the 0 of trunk calls
    r")(?![\w]|[-.][0-9])"
)
PHONE_DIGITS = range(8, 16)
CARD = r"(?<![\w.])[0-9]{3,19}(?:[ -][0-9]{3,19}){0,6}(?!\w)"
CARD_DIGITS = range(13, 20)


@cache
def _regex(pattern: str) -> re.Pattern[str]:
    import re

    return re.compile(pattern, re.ASCII)


def spans(name: str, texts: Iterable[str]) -> list[list[Span]]:
    """Where a detector finds something in each text: (start, end) in characters, in order, none overlapping."""
    if name == "secret":
        from sema_runtime.support import secrets

        known = secrets.known()
        return [_merged(_secrets(text, known)) for text in texts]
    return [_merged(FINDERS[name](text)) for text in texts]


def _merged(spans: Iterable[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start < merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _secrets(text: str, known: list[str]) -> Iterator[Span]:
    """known: the secrets of this process, whatever they look like."""
    for secret in known:
        at = text.find(secret)
        while at >= 0:
            yield at, at + len(secret)
            at = text.find(secret, at + len(secret))
    for match in _regex("|".join(TOKENS)).finditer(text):
        yield match.span()
    for pattern in NAMED:
        for match in _regex(pattern).finditer(text):
            yield match.span(1)
    yield from _private_keys(text)


def _private_keys(text: str) -> Iterator[Span]:
    """From the first line of a key to its last, or to the end of the text."""
    at = text.find(KEY_BEGIN)
    while at >= 0:
        begin = _regex(PRIVATE_KEY).match(text, at)
        end = at + 1
        if begin is not None:
            last_line = text.find(KEY_END, begin.end())
            dashes = text.find(DASHES, last_line + len(KEY_END)) if last_line >= 0 else -1
            end = dashes + len(DASHES) if dashes >= 0 else len(text)
            yield at, end
        at = text.find(KEY_BEGIN, end)


def _emails(text: str) -> Iterator[Span]:
    """Around each @: looked for from there, as a search for what may stand before it would be slow."""
    at = text.find("@")
    while at >= 0:
        host = _regex(HOST).match(text, at)
        if host is not None:
            before = _regex(f"{LOCAL}$").search(text[max(0, at - 64) : at])
            if before is not None:
                yield at - len(before.group().lstrip(".")), host.end()
        at = text.find("@", at + 1)


def _phones(text: str) -> Iterator[Span]:
    for match in _regex(PHONE).finditer(text):
        if sum(char.isdigit() for char in match.group()) in PHONE_DIGITS:
            yield match.span()


def _addresses(text: str) -> Iterator[Span]:
    return (match.span() for match in _regex(IPV4).finditer(text))


def _cards(text: str) -> Iterator[Span]:
    """Whole groups of digits that are a card's number together, wherever in a row of groups they begin."""
    for match in _regex(CARD).finditer(text):
        groups = [digits.span() for digits in _regex("[0-9]+").finditer(text, *match.span())]
        first = 0
        while first < len(groups):
            last = _card_from(text, groups, first)
            if last is not None:
                yield groups[first][0], groups[last][1]
            first = first + 1 if last is None else last + 1


def _card_from(text: str, groups: list[Span], first: int) -> int | None:
    """The last of the groups that make a card's number, None for no card."""
    digits = ""
    for last in range(first, len(groups)):
        digits += text[slice(*groups[last])]
        if len(digits) > CARD_DIGITS[-1]:
            break
        if len(digits) in CARD_DIGITS and digits[0] in "23456" and luhn(digits):
            return last
    return None


def luhn(digits: str) -> bool:
    """Whether the checksum is right that ends the numbers of cards."""
    total = 0
    for place, char in enumerate(reversed(digits)):
        digit = int(char) << (place & 1)
        total += digit - 9 if digit > 9 else digit
    return total % 10 == 0


FINDERS: dict[str, Callable[[str], Iterator[Span]]] = {
    "email": _emails,
    "phone": _phones,
    "ipv4": _addresses,
    "payment-card": _cards,
}


def redacted(text: str, found: Iterable[tuple[str, Span]]) -> str:
    """The text with `«redacted:LABEL»` for each (label, span). Of spans that overlap, the first names both."""
    pieces: list[str] = []
    at = 0
    for label, (start, end) in sorted(found, key=lambda finding: (finding[1][0], -finding[1][1])):
        if start >= at:
            pieces += text[at:start], f"«redacted:{label}»"
        at = max(at, end)
    pieces.append(text[at:])
    return "".join(pieces)
