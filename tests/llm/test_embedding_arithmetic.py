"""The arithmetic of embeddings: bytevectors of doubles, similarity, sums, wrong arguments."""

from __future__ import annotations

import math

import pytest
from llm_support import llm as llm
from llm_support import run

from sema_runtime.llm.embeddings.vectors import packed
from sema_runtime.values.errors import SemaError

pytestmark = pytest.mark.usefixtures("llm")


# Arithmetic


def bytevector(*values: float) -> str:
    return f"(bytevector {' '.join(map(str, packed(values)))})"


def test_embeddings_are_doubles_little_end_first() -> None:
    assert run("(embedding/list->embedding '(1 -2.5))") == bytes.fromhex("000000000000f03f00000000000004c0")
    assert run(f"(embedding/->list {bytevector(1, -2.5)})") == [1.0, -2.5]
    assert run(f"(embedding/ref {bytevector(1, -2.5)} 1)") == -2.5
    assert run(f"(embedding/length {bytevector(1, -2.5)})") == 2
    assert run("(embedding/->list (embedding/list->embedding '()))") == []


def test_arithmetic() -> None:
    a, b = bytevector(1, 2, 3), bytevector(4, -5, 6)
    assert run(f"(vector/dot-product {a} {b})") == 12.0
    assert run(f"(vector/distance {a} {b})") == math.sqrt(9 + 49 + 9)
    cosine = 12.0 / (math.sqrt(14.0) * math.sqrt(77.0))
    assert run(f"(vector/cosine-similarity {a} {b})") == cosine
    assert run(f"(llm/similarity {a} {b})") == cosine
    assert run("(llm/similarity '(1 2 3) [4 -5 6.0])") == cosine
    zero = bytevector(0, 0, 0)
    assert run(f"(list (vector/cosine-similarity {a} {zero}) (llm/similarity '(0) '(1)))") == [0.0, 0.0]
    assert run(f"(embedding/->list (vector/normalize {bytevector(3, 4)}))") == [0.6, 0.8]
    assert run(f"(embedding/->list (vector/normalize {zero}))") == [0.0, 0.0, 0.0]


def test_sums_are_rounded_at_each_step() -> None:
    """As in the reference, on every version of Python (whose sum is exact from 3.12 on)."""
    values = [0.1] * 10
    stepwise = 0.0
    for one in values:
        stepwise += one
    assert stepwise != math.fsum(values)
    assert run(f"(vector/dot-product {bytevector(*values)} {bytevector(*[1.0] * 10)})") == stepwise


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ("(embedding/length (bytevector 1 2 3))", "embedding/length: bytevector length 3 is not divisible by 8"),
        ("(embedding/->list (bytevector 1))", "embedding/->list: bytevector length 1 is not divisible by 8"),
        ("(embedding/ref (bytevector 1) 0)", "embedding/ref: bytevector length 1 is not divisible by 8"),
        (f"(embedding/ref {bytevector(1)} 1)", "embedding/ref: index 1 out of bounds (length 1)"),
        (f"(embedding/ref {bytevector(1)} -1)", "embedding/ref: index -1 out of bounds (length 1)"),
        (f"(embedding/ref {bytevector(1)} 1.0)", "expected integer, got float"),
        ("(embedding/length '(1))", "expected bytevector, got list"),
        ("(embedding/list->embedding 1)", "expected list or vector, got int"),
        (
            "(embedding/list->embedding '(1 :a))",
            "embedding/list->embedding: element 1 is keyword, expected number",
        ),
        (f"(vector/dot-product {bytevector(1)} {bytevector(1, 2)})", "vector/dot-product: length mismatch (1 vs 2)"),
        (f"(vector/distance {bytevector(1)} {bytevector(1, 2)})", "vector/distance: length mismatch (1 vs 2)"),
        (
            f"(vector/cosine-similarity {bytevector(1)} {bytevector(1, 2)})",
            "vector/cosine-similarity: length mismatch (1 vs 2)",
        ),
        ("(vector/distance (bytevector) (bytevector))", "vector/distance: invalid bytevector length 0"),
        ("(vector/distance (bytevector 1) (bytevector 2))", "vector/distance: invalid bytevector length 1"),
        ("(vector/distance 1 (bytevector 2))", "expected bytevector, got int"),
        ("(vector/normalize (bytevector))", "vector/normalize: invalid bytevector"),
        ("(vector/normalize (bytevector 1))", "vector/normalize: invalid bytevector"),
        ("(llm/similarity '(1) '(1 2))", "llm/similarity: vectors must have same length (1 vs 2)"),
        ("(llm/similarity '() '())", "llm/similarity: empty vectors"),
        ("(llm/similarity (bytevector) (bytevector))", "llm/similarity: empty vectors"),
        (
            f"(llm/similarity {bytevector(1)} {bytevector(1, 2)})",
            "llm/similarity: bytevectors must have same length (8 vs 16)",
        ),
        (
            "(llm/similarity (bytevector 1) (bytevector 1))",
            "llm/similarity: bytevector length must be a multiple of 8 (got 1)",
        ),
        ("(llm/similarity '(1 :a) '(1 2))", "expected number, got keyword"),
        (
            f"(llm/similarity {bytevector(1)} '(1))",
            "llm/similarity: both arguments must be the same type (both bytevectors or both lists). Use"
            " embedding/->list or embedding/list->embedding to convert between formats.",
        ),
    ],
)
def test_errors_of_the_arithmetic(program: str, message: str) -> None:
    with pytest.raises(SemaError) as caught:
        run(program)
    assert caught.value.message == message
