"""What the detectors of policies find in texts, what they leave alone, and texts without it."""

from __future__ import annotations

import pytest

from sema_runtime.workflow.policy import detectors


def found(name: str, text: str) -> list[str]:
    return [text[start:end] for start, end in detectors.spans(name, [text])[0]]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("email", "write to Ann.Lee+x@mail.example.co.uk, or not", ["Ann.Lee+x@mail.example.co.uk"]),
        ("email", "(a@b.io)(c@d.io)", ["a@b.io", "c@d.io"]),
        ("email", "@decorator user@host a@b @ c@-d.com", []),
        ("ipv4", "from 192.168.1.10 to 10.0.0.255.", ["192.168.1.10", "10.0.0.255"]),
        ("ipv4", "1.2.3 256.1.1.1 1.2.3.4.5 v1.2.3.4", []),
        ("phone", "call +49 (30) 1234-5678 or (212) 555-0123", ["+49 (30) 1234-5678", "(212) 555-0123"]),
        ("phone", "Tel. 030 12345678, mobile 0171-2345678", ["030 12345678", "0171-2345678"]),
        ("phone", "2024-01-15 192.168.1.10 1234567890 10:30:00 3.14159265", []),
        ("payment-card", "4111 1111 1111 1111", ["4111 1111 1111 1111"]),
        ("payment-card", "pay 378282246310005, order 4111111111111112", ["378282246310005"]),
        ("payment-card", "ref 1234 5555-5555-5555-4444 5678", ["5555-5555-5555-4444"]),
        ("payment-card", "0000 0000 0000 0000 and 12345678901234567890123", []),
        ("secret", "key AKIAIOSFODNN7EXAMPLE.", ["AKIAIOSFODNN7EXAMPLE"]),
        ("secret", "sk-ant-api03-abcdefghijklmnopqrst", ["sk-ant-api03-abcdefghijklmnopqrst"]),
        ("secret", "Authorization: Bearer abcdefghij0123456789xyz", ["abcdefghij0123456789xyz"]),
        ("secret", 'password = "correct-horse-9"', ["correct-horse-9"]),
        ("secret", "ghp_" + "a1" * 18, ["ghp_" + "a1" * 18]),
        ("secret", "the secret of a good soup: patience; sk-short; a token ring", []),
    ],
)
def test_detectors(name: str, text: str, expected: list[str]) -> None:
    assert found(name, text) == expected


def test_private_key_goes_to_its_last_line() -> None:
    key = "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"
    assert found("secret", f"a {key} b") == [key]
    assert found("secret", "a -----BEGIN PRIVATE KEY-----\nMIIE") == ["-----BEGIN PRIVATE KEY-----\nMIIE"]
    assert found("secret", "-----BEGIN CERTIFICATE-----\nMIIE\n-----END CERTIFICATE-----") == []


def test_keys_of_this_process_are_secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOME_API_KEY", "not-shaped-like-one")
    assert found("secret", "x not-shaped-like-one y") == ["not-shaped-like-one"]


@pytest.mark.parametrize("digits", ["4111111111111111", "5555555555554444", "378282246310005", "6011111111111117"])
def test_luhn(digits: str) -> None:
    assert detectors.luhn(digits)
    assert not any(detectors.luhn(digits[:-1] + last) for last in "0123456789" if last != digits[-1])


def test_redaction_names_what_it_replaced() -> None:
    text = "mail a@b.io, card 4111 1111 1111 1111"
    spans = [(name, span) for name in detectors.NAMES for span in detectors.spans(name, [text])[0]]
    assert detectors.redacted(text, spans) == "mail «redacted:email», card «redacted:payment-card»"


def test_overlapping_spans_are_replaced_once() -> None:
    assert detectors.redacted("abcdef", [("x", (1, 4)), ("y", (2, 5)), ("z", (5, 6))]) == "a«redacted:x»«redacted:z»"


@pytest.mark.parametrize(
    "unit",
    [
        "a@",
        "a.",
        "1234 ",
        "1",
        "sk-",
        "-----BEGIN ",
        "-----BEGIN PRIVATE KEY-----",
        "token=",
        "+1 ",
        "eyJaaaaaaaa.",
        "(0",
    ],
)
def test_hostile_texts_take_no_longer_than_others(unit: str) -> None:
    """They end at all: a detector that goes back over what it has read would take hours."""
    text = unit * ((1 << 19) // len(unit))
    for name in detectors.NAMES:
        detectors.spans(name, [text])
