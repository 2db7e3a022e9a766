"""`sema notebook`: files of the reference."""

from __future__ import annotations

import json
from pathlib import Path

import nbformat
import pytest

from semac.jupyter.notebook import main

CELLS = [
    {"id": "c00000001", "type": "markdown", "source": "Some *text*"},
    {"id": "c00000002", "type": "code", "source": '(println "hi")\n(define x 20)\n(+ x 1)', "extra": 1},
    {"id": "c00000003", "type": "code", "source": "(* x 2)", "stale": True},
]


@pytest.fixture
def book(tmp_path: Path) -> Path:
    path = tmp_path / "book.sema-nb"
    metadata = {"title": "A book", "created": "2026-01-01T00:00:00Z", "modified": "2026-01-01T00:00:00Z"}
    path.write_text(json.dumps({"version": 1, "metadata": metadata, "cells": CELLS}))
    return path


def test_run_prints_and_saves(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(book)]) == 0
    assert capsys.readouterr().out == "[2/3] (stdout) hi\n\n[2/3] 21\n[3/3] 40\n"
    saved = json.loads(book.read_text())
    assert [output["display"] for output in saved["cells"][1]["outputs"]] == ["hi\n", "21"]
    assert saved["cells"][1]["extra"] == 1
    assert saved["cells"][2]["stale"] is False


def test_a_cell_that_fails(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(book), "--cells", "3"]) == 1
    assert "[3/3] Unbound variable: x" in capsys.readouterr().out
    assert main(["run", str(book), "--cells", "9"]) == 1
    assert "cells 1 to 3" in capsys.readouterr().err


def test_a_cell_that_ends_the_program(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What came before it is shown and saved."""
    notebook = json.loads(book.read_text())
    notebook["cells"][2]["source"] = '(println "last words") (exit 3)'
    book.write_text(json.dumps(notebook))
    with pytest.raises(SystemExit):
        main(["run", str(book)])
    assert capsys.readouterr().out == "[2/3] (stdout) hi\n\n[2/3] 21\nlast words\n"
    assert [output["display"] for output in json.loads(book.read_text())["cells"][1]["outputs"]] == ["hi\n", "21"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"nbformat": 5, "cells": []}', "has version 5 of the format, this semac reads version 4; JupyterLab saves"),
        ('{"nbformat": 3, "worksheets": []}', "has version 3 of the format"),
        ('{"cells": []}', "it has no 'nbformat'"),
    ],
)
def test_notebooks_of_other_jupyters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    path = tmp_path / "a.ipynb"
    path.write_text(text)
    for command in ("export", "convert"):
        assert main([command, str(path)]) == 1
        assert problem in capsys.readouterr().err
    assert main(["run", str(path)]) == 1
    assert "jupyter execute runs it" in capsys.readouterr().err
    assert [*tmp_path.iterdir()] == [path]


def test_export(book: Path) -> None:
    assert main(["run", str(book)]) == 0
    assert main(["export", str(book)]) == 0
    text = book.with_suffix(".md").read_text()
    assert text.startswith("# A book\n\nSome *text*\n\n```sema\n(println")
    assert "**Stdout [2]:**\n\n```\nhi\n```" in text
    assert "**Out [3]:**\n\n```\n40\n```" in text


def test_there_and_back(book: Path) -> None:
    assert main(["run", str(book)]) == 0
    before = json.loads(book.read_text())
    assert main(["convert", str(book)]) == 0
    jupyter = book.with_suffix(".ipynb")
    nbformat.validate(nbformat.read(jupyter, as_version=4))
    assert main(["convert", str(jupyter), "--force"]) == 0
    after = json.loads(book.read_text())
    assert after["metadata"]["title"] == "A book"
    assert after["metadata"]["created"] == before["metadata"]["created"]
    for old, new in zip(before["cells"], after["cells"], strict=True):
        assert [new[key] for key in ("id", "type", "source")] == [old[key] for key in ("id", "type", "source")]
        assert [one["display"] for one in new["outputs"]] == [one["display"] for one in old.get("outputs", [])]


def test_nothing_is_replaced_unasked(book: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = book.read_bytes()
    assert main(["new", str(book)]) == 1
    book.with_suffix(".ipynb").write_text("mine")
    assert main(["convert", str(book)]) == 1
    assert "--force" in capsys.readouterr().err
    assert book.read_bytes() == before
    assert book.with_suffix(".ipynb").read_text() == "mine"


def test_new(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "first.sema-nb"
    assert main(["new", str(path)]) == 0
    assert capsys.readouterr().out == f"Created notebook: {path}\n"
    made = json.loads(path.read_text())
    assert made["metadata"]["title"] == "first"
    assert made["version"] == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "is not JSON"),
        ("[]", "is not a notebook"),
        ('{"version": 2, "cells": []}', "has version 2 of the format, this semac reads version 1"),
        ('{"version": 1, "cells": [{"type": "raw"}]}', "cell 1 has no type"),
        ('{"version": 1, "cells": [5]}', "a cell is not an object"),
    ],
)
def test_files_that_are_no_notebooks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, problem: str
) -> None:
    path = tmp_path / "a.sema-nb"
    path.write_text(text)
    for command in ("run", "export", "convert"):
        assert main([command, str(path)]) == 1
        assert problem in capsys.readouterr().err
    assert path.read_text() == text
