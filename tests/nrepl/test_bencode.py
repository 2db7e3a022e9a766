"""bencode: what is encoded is read back, and anything else is refused without end or crash."""

from __future__ import annotations

from io import BytesIO

import pytest
from hypothesis import given
from hypothesis import strategies as st

from semac.nrepl.bencode import DEEPEST, BencodeError, Decoder, encode

TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
VALUES = st.recursive(
    TEXTS | st.integers(-(10**17), 10**17),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


@given(st.lists(VALUES, max_size=4))
def test_values_come_back_one_after_the_other(values: list[object]) -> None:
    decoder = Decoder(BytesIO(b"".join(map(encode, values))))
    assert [decoder.message() for _ in values] == values
    with pytest.raises(EOFError):
        decoder.message()


@given(st.binary() | st.text("ild0123456789:-e").map(str.encode))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    decoder = Decoder(BytesIO(data))
    with pytest.raises((BencodeError, EOFError)):
        while True:
            decoder.message()


def test_known_encodings() -> None:
    assert encode({"b": ["ü", 5], "a": {}}) == b"d1:ade1:bl2:\xc3\xbci5eee"
    with pytest.raises(TypeError):
        encode(1.5)
    assert Decoder(BytesIO(b"2:\xff\xfe")).message() == "\ufffd\ufffd"


@pytest.mark.parametrize(
    "data", [b"l" * (DEEPEST + 2), b"99999999:a", b"i" + b"9" * 30 + b"e", b"di1ei1ee", b"d1:ae", b"i1", b"x", b"3:ab"]
)
def test_refused(data: bytes) -> None:
    with pytest.raises(BencodeError):
        Decoder(BytesIO(data)).message()
