"""vector-store/*: what is found, in which order, with NumPy and without; files, damaged ones too; the sandbox."""

from __future__ import annotations

import base64
import json
import os
import random
import sys
from pathlib import Path
from typing import Any

import pytest
from llm_support import run

from sema_runtime import capabilities
from sema_runtime.lib.llm import vector_stores
from sema_runtime.llm.embeddings import vector_store
from sema_runtime.llm.embeddings.vector_store import Document, VectorStore
from sema_runtime.llm.embeddings.vectors import cosine, packed, unpacked
from sema_runtime.values.errors import IoError, PermissionDenied, SemaError
from sema_runtime.values.printer import to_text


@pytest.fixture(autouse=True)
def _own(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty folder, no stores, all rights."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(vector_stores, "stores", {})
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)


def shown(program: str) -> str:
    return to_text(run(program))


def message(program: str) -> str:
    with pytest.raises(SemaError) as caught:
        run(program)
    return caught.value.message


def emb(*numbers: float) -> str:
    return f"(embedding/list->embedding '({' '.join(map(repr, numbers))}))"


# Documents


def test_documents() -> None:
    assert (
        shown(f"""
      (vector-store/create "s")
      (list (vector-store/add "s" "a" {emb(1, 0)} {{:n 1}})
            (vector-store/add "s" "b" {emb(0, 2)} nil)
            (vector-store/add "s" "c" {emb(3, 4)} "text")
            (vector-store/count "s")
            (vector-store/search "s" {emb(0, 5)} 2)
            (vector-store/delete "s" "b")
            (vector-store/delete "s" "b")
            (vector-store/count "s"))
    """)
        == '("a" "b" "c" 3 ({:id "b" :metadata nil :score 1.0} {:id "c" :metadata "text" :score 0.8}) #t #f 2)'
    )


def test_an_id_that_is_there_is_replaced_and_moves_to_the_end() -> None:
    assert (
        shown(f"""
      (vector-store/create "s")
      (for-each (fn (id) (vector-store/add "s" id {emb(1)} id)) '("a" "b"))
      (vector-store/add "s" "a" {emb(2)} "new")
      (map :metadata (vector-store/search "s" {emb(1)} 9))
    """)
        == '("b" "new")'
    )


def test_creating_a_store_anew_empties_it() -> None:
    run(f'(vector-store/create "s") (vector-store/add "s" "a" {emb(1)} nil) (vector-store/create "s")')
    assert run('(vector-store/count "s")') == 0
    assert run(f'(vector-store/search "s" {emb(1)} 3)') == []


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        ('(vector-store/count "no")', "vector store 'no' not found"),
        (f'(vector-store/add "no" "a" {emb(1)} nil)', "vector store 'no' not found"),
        (f'(vector-store/search "no" {emb(1)} 1)', "vector store 'no' not found"),
        ('(vector-store/delete "no" "a")', "vector store 'no' not found"),
        ('(vector-store/save "no" "f")', "vector store 'no' not found"),
        ('(vector-store/save "s")', "vector-store/save: no path associated. Use (vector-store/save name path)"),
        ('(vector-store/add "s" "b" (bytevector 1 2) nil)', "vector-store/add: embedding length 2 not multiple of 8"),
        ('(vector-store/add "s" "b" \'(1) nil)', "expected bytevector, got list"),
        (f'(vector-store/add "s" :b {emb(1)} nil)', "expected string, got keyword"),
        ("(vector-store/create :s)", "expected string, got keyword"),
        (f'(vector-store/search "s" {emb(1, 2)} 1.0)', "expected integer, got float"),
        (
            f'(vector-store/search "s" {emb(1, 2)} -1)',
            "vector-store/search: expected a non-negative number of results, got -1",
        ),
        (
            f'(vector-store/search "s" {emb(1, 2, 3)} 1)',
            "vector-store/search: embedding dimension mismatch for document 'a': query has 24 bytes (3 dims) but stored"
            " embedding has 16 bytes (2 dims) — the query and stored embeddings must come from the same model",
        ),
        (
            '(vector-store/create "e") (vector-store/add "e" "x" (bytevector) nil)'
            ' (vector-store/search "e" (bytevector) 1)',
            "vector-store/search: invalid embedding for document 'x': length 0 is not a positive multiple of 8 bytes",
        ),
    ],
)
def test_errors(program: str, expected: str) -> None:
    run(f'(vector-store/create "s") (vector-store/add "s" "a" {emb(1, 2)} nil)')
    assert message(program) == expected


def test_the_first_document_of_another_size_is_named() -> None:
    run(f"""(vector-store/create "s") (vector-store/add "s" "a" {emb(1, 2)} nil)
            (vector-store/add "s" "b" {emb(1)} nil)""")
    assert "for document 'b'" in message(f'(vector-store/search "s" {emb(1, 2)} 1)')
    run('(vector-store/delete "s" "b")')
    assert len(run(f'(vector-store/search "s" {emb(1, 2)} 1)')) == 1


# Searching fast gives what searching slowly gives


def slow(store: VectorStore, query: bytes, count: int) -> list[tuple[str, float]]:
    scored = [(one.id, cosine(unpacked(query), one.vector)) for one in store.documents.values()]
    return sorted(scored, key=lambda one: one[1] if one[1] == one[1] else -2, reverse=True)[:count]


def same(store: VectorStore, query: bytes, count: int) -> None:
    found = [(one.document.id, one.score) for one in store.search(query, count)]
    assert [repr(one) for one in found] == [repr(one) for one in slow(store, query, count)]


def without_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    monkeypatch.setattr(vector_store, "NUMPY_FROM", 0)


def with_numpy(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numpy")
    monkeypatch.setattr(vector_store, "NUMPY_FROM", 0)


@pytest.mark.parametrize("means", [with_numpy, without_numpy])
def test_scores_and_order_are_the_same_to_the_last_bit(means: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    means(monkeypatch)
    chance = random.Random(7)
    store = VectorStore()

    def vector(scale: float = 1.0) -> bytes:
        return packed([chance.gauss(0, scale) for _ in range(24)])

    repeated = [vector() for _ in range(10)]
    for number in range(400):
        kind = number % 5
        made = chance.choice(repeated) if kind == 0 else vector(10.0 ** chance.randint(-9, 9))
        store.add(Document(str(number), bytes(24 * 8) if kind == 1 and number % 3 == 0 else made, None))
        if number % 37 == 0:
            same(store, chance.choice(repeated), 5)
        if number % 41 == 0:
            store.delete(str(chance.randrange(number + 1)))
    for count in (0, 1, 3, 50, 1000):
        same(store, vector(), count)
        same(store, repeated[0], count)
    same(store, bytes(24 * 8), 3)


@pytest.mark.parametrize("means", [with_numpy, without_numpy])
@pytest.mark.parametrize("odd", [[1e200] * 4, [1e-170] * 4, [float("nan"), 1, 2, 3], [float("inf"), 0, 0, 0]])
def test_odd_numbers(means: Any, odd: list[float], monkeypatch: pytest.MonkeyPatch) -> None:
    means(monkeypatch)
    store = VectorStore()
    for number in range(20):
        store.add(Document(str(number), packed([number, 1, 2, 3]), None))
    store.add(Document("odd", packed(odd), None))
    store.add(Document("last", packed([1, 1, 1, 1]), None))
    same(store, packed([1, 2, 3, 4]), 4)
    same(store, packed(odd), 4)


def test_equal_scores_keep_their_order() -> None:
    store = VectorStore()
    for number in range(100):
        store.add(Document(str(number), packed([1.0 + number % 2, 1.0]), None))
    assert [one.document.id for one in store.search(packed([2.0, 1.0]), 3)] == ["1", "3", "5"]


# Files


def test_the_file(tmp_path: Path) -> None:
    saved = run(f"""
      (vector-store/create "s")
      (vector-store/add "s" "ø" {emb(1, -2)} {{:kind :memo "page" 3 :tags [1.5 #t nil] :empty {{}}}})
      (vector-store/add "s" "b" {emb(0.5, 1)} nil)
      (vector-store/save "s" "store.json")
    """)
    assert saved == "store.json"
    first, second = (base64.b64encode(packed(one)).decode() for one in ([1, -2], [0.5, 1]))
    assert (
        (tmp_path / "store.json").read_text()
        == f"""{{
  "documents": [
    {{
      "embedding": "{first}",
      "id": "ø",
      "metadata": {{
        "empty": {{}},
        "kind": ":memo",
        "page": 3,
        "tags": [
          1.5,
          true,
          null
        ]
      }}
    }},
    {{
      "embedding": "{second}",
      "id": "b",
      "metadata": null
    }}
  ],
  "version": 1
}}"""
    )
    found = shown(f'(vector-store/open "t" "store.json") (vector-store/search "t" {emb(1, -2)} 1)')
    assert found == (
        '({:id "ø" :metadata {:empty {} :kind :memo :page 3 :tags (1.5 #t nil)} :score 0.9999999999999998})'
    )
    assert os.listdir() == ["store.json"]


def test_an_empty_store(tmp_path: Path) -> None:
    run('(vector-store/create "s") (vector-store/save "s" "e.json")')
    assert json.loads((tmp_path / "e.json").read_text()) == {"documents": [], "version": 1}
    assert run('(vector-store/open "s" "e.json") (vector-store/count "s")') == 0


def test_a_file_in_the_reference_s_words(tmp_path: Path) -> None:
    text = base64.b64encode(packed([3, 4])).decode()
    document = {"id": "a", "embedding": text, "metadata": {"k": ":w", "s": "x:y", "l": [":a"], "n": 1e21}}
    (tmp_path / "r.json").write_text(
        json.dumps({"documents": [document, {"id": "b", "embedding": text}], "version": 1})
    )
    found = shown(f'(vector-store/open "s" "r.json") (map :metadata (vector-store/search "s" {emb(1, 0)} 2))')
    assert found == '({:k :w :l (:a) :n 1000000000000000000000.0 :s "x:y"} nil)'


def test_a_store_remembers_its_file(tmp_path: Path) -> None:
    assert run('(vector-store/open "s" "new.json")') == "s"
    assert not (tmp_path / "new.json").exists()
    assert run(f'(vector-store/add "s" "a" {emb(1)} nil) (vector-store/save "s")') == "new.json"
    run('(vector-store/save "s" "copy.json")')
    assert (tmp_path / "copy.json").read_text() == (tmp_path / "new.json").read_text()


@pytest.mark.parametrize(
    ("contents", "problem"),
    [
        (b"", "invalid JSON: Expecting value"),
        (b'{"documents": [', "invalid JSON: Expecting value"),
        (b"\xff\xfe", "invalid JSON: not UTF-8 at byte 0"),
        (b"[" * 100000, "invalid JSON: nested too deeply"),
        (b"[]", "missing 'documents' array"),
        (b'{"version": 1}', "missing 'documents' array"),
        (b'{"documents": [], "version": 2}', "version 2 of the format, and only 1 is known"),
        (b'{"documents": [3]}', "document missing 'id' (number 1)"),
        (b'{"documents": [{"id": "a"}]}', "document missing 'embedding' ('a')"),
        (b'{"documents": [{"id": "a", "embedding": "!"}]}', "invalid base64 embedding for 'a'"),
        (
            b'{"documents": [{"id": "a", "embedding": "AAA="}]}',
            "invalid embedding for 'a': 2 bytes, not a multiple of 8",
        ),
        (b'{"documents": [{"id": "a", "embedding": "", "metadata": NaN}]}', "invalid JSON: NaN is no number in JSON"),
    ],
)
def test_damaged_files(contents: bytes, problem: str, tmp_path: Path) -> None:
    run(f'(vector-store/create "s") (vector-store/add "s" "a" {emb(1)} nil)')
    (tmp_path / "bad.json").write_bytes(contents)
    with pytest.raises(IoError) as caught:
        run('(vector-store/open "s" "bad.json")')
    assert caught.value.message.startswith(f"vector-store/open bad.json: {problem}")
    assert (tmp_path / "bad.json").read_bytes() == contents
    assert run('(vector-store/count "s")') == 1  # the store of that name is as it was


def test_what_is_no_file(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    assert message('(vector-store/open "s" "folder")').startswith("vector-store/open folder: Is a directory")
    assert "is a named pipe" in message('(vector-store/open "s" "pipe")')
    run('(vector-store/create "s")')
    assert message('(vector-store/save "s" "no/where.json")') == "vector-store/save no/where.json: No such file"
    assert message('(vector-store/save "s" "folder")').startswith("vector-store/save folder: ")
    assert sorted(os.listdir()) == ["folder", "pipe"]


def test_a_failed_save_loses_nothing(tmp_path: Path) -> None:
    run('(vector-store/create "s") (vector-store/save "s" "store.json")')
    before = (tmp_path / "store.json").read_text()
    vector_stores.stores["s"].add(Document("a", packed([1.0]), "\ud800"))
    assert "vector-store/save store.json: " in message('(vector-store/save "s" "store.json")')
    assert (tmp_path / "store.json").read_text() == before
    assert os.listdir() == ["store.json"]


def test_metadata_that_json_does_not_have(tmp_path: Path) -> None:
    run(f"""(vector-store/create "s")
            (vector-store/add "s" "a" {emb(1)} {{:f car :nan (/ 0.0 0.0) :sym 'x :ch #\\a 1 2}})
            (vector-store/save "s" "store.json")""")
    metadata = json.loads((tmp_path / "store.json").read_text())["documents"][0]["metadata"]
    assert metadata == {"1": 2, "ch": "#\\a", "f": "<native-fn car>", "nan": None, "sym": "x"}


def test_tasks_save_in_the_order_of_their_calls(tmp_path: Path) -> None:
    run(f"""
      (vector-store/create "s")
      (define (save n) (vector-store/add "s" (str n) {emb(1)} n) (vector-store/save "s" "store.json"))
      (async/all (map (fn (n) (async (save n))) (range 20)))
    """)
    assert len(json.loads((tmp_path / "store.json").read_text())["documents"]) == 20


def test_large_stores(tmp_path: Path) -> None:
    """Two million numbers; the limit of time is that of a test that hangs."""
    store = VectorStore()
    row = packed([0.1] * 1000)
    for number in range(2000):
        store.add(Document(str(number), row, None))
    vector_stores.stores["s"] = store
    run('(vector-store/save "s" "store.json") (vector-store/open "t" "store.json")')
    assert [one.embedding for one in vector_stores.stores["t"].documents.values()] == [row] * 2000


def test_the_sandbox(tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    run('(vector-store/open "s" "in/a.json") (vector-store/open "o" "out.json")')
    capabilities.restrict(paths=[str(tmp_path / "in")])
    run('(vector-store/save "s")')
    for program in (
        '(vector-store/save "o")',
        '(vector-store/save "s" "out.json")',
        '(vector-store/open "s" "out.json")',
    ):
        with pytest.raises(PermissionDenied, match=r"path 'out.json' is outside allowed directories"):
            run(program)
    capabilities.restrict(["fs-write"])
    with pytest.raises(PermissionDenied, match="vector-store/save requires 'fs-write' capability"):
        run('(vector-store/save "s")')
    capabilities.restrict(["fs-read"])
    with pytest.raises(PermissionDenied, match="vector-store/open requires 'fs-read' capability"):
        run('(vector-store/open "s" "in/a.json")')
