"""The language of signatures (semac/types/signatures.py)."""

from __future__ import annotations

import pytest

from sema_runtime.catalogue_index import INDEX
from semac.types.signatures import (
    ANY,
    Function,
    Name,
    Param,
    Signature,
    SignatureError,
    Union,
    Variable,
    parse,
    signature_for,
    signatures_of,
)

A, B, INT = Variable("a"), Variable("b"), Name("int")


@pytest.mark.parametrize(
    ("text", "signature"),
    [
        ("-> int", Signature((), INT)),
        ("int? -> nil", Signature((Param(INT, optional=True),), Name("nil"))),
        ("keep a... -> list a fresh", Signature((Param(A, "keep", repeated=True),), Name("list", (A,)), True)),
        ("list -> any", Signature((Param(Name("list", (ANY,))),), ANY)),
        ("dict -> any", Signature((Param(Name("dict", (ANY, ANY))),), ANY)),
        (
            "dict a b, any, keep c? -> b|c|nil",
            Signature(
                (
                    Param(Name("dict", (A, B))),
                    Param(ANY),
                    Param(Variable("c"), "keep", optional=True),
                ),
                Union((B, Variable("c"), Name("nil"))),
            ),
        ),
        (
            "now (a, b -> a), later ( -> int) -> list (a|b)",
            Signature(
                (Param(Function((A, B), A), "now"), Param(Function((), INT), "later")),
                Name("list", (Union((A, B)),)),
            ),
        ),
        ("a -> list list a|nil", Signature((Param(A),), Union((Name("list", (Name("list", (A,)),)), Name("nil"))))),
    ],
)
def test_signatures_are_parsed(text: str, signature: Signature) -> None:
    assert parse(text) == signature
    assert parse(str(signature)) == signature


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a type, got the end at column 1 of ''"),
        ("int int -> int", "expected '->', got 'int' at column 5 of 'int int -> int'"),
        ("integer -> int", "unknown type 'integer' at column 1 of 'integer -> int'"),
        ("int -> int; str", "unexpected ';' at column 11 of 'int -> int; str'"),
        ("int -> str int", "unexpected 'int' at column 12 of 'int -> str int'"),
        ("dict a -> a", "'dict' takes 2 types or none, got 1, at column 8 of 'dict a -> a'"),
        ("int..., str -> int", "a parameter follows a repeated one, at column 9 of 'int..., str -> int'"),
        ("int?, str -> int", "a required parameter follows an optional one, at column 7 of 'int?, str -> int'"),
        ("int -> list a", "the variable 'a' of the result is in no parameter, at column 8 of 'int -> list a'"),
        ("int -> int fresh", "'fresh' is said of a type without a container, at column 8 of 'int -> int fresh'"),
        ("(int, str) -> int", "expected '->', got ')' at column 10 of '(int, str) -> int'"),
        ("(int -> int", "expected ')', got the end at column 12 of '(int -> int'"),
    ],
)
def test_malformed_signatures_are_refused_with_their_place(text: str, message: str) -> None:
    with pytest.raises(SignatureError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_a_signature_says_how_many_arguments_fit() -> None:
    signature = parse("int, str?, any... -> int")
    assert [signature.takes(count) for count in range(4)] == [False, True, True, True]
    assert [str(signature.param(index)) for index in range(4)] == ["int", "str?", "any...", "any..."]
    assert not parse("-> int").takes(1)


def test_the_first_signature_that_fits_counts() -> None:
    assert signature_for("no-such-builtin", 1) is None
    for name in INDEX:
        for signature in signatures_of(name):
            least = sum(not (param.optional or param.repeated) for param in signature.params)
            found = signature_for(name, least)
            assert found is not None and found.takes(least)
