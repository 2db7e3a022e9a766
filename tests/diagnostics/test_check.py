"""`sema check`: what it finds, where, and that nothing runs."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from semac.checks.program import check_text
from semac.cli import check


def found(text: str) -> list[tuple[int, int, str, str]]:
    return [(finding.line, finding.column, finding.code, finding.message) for finding in check_text(text)]


@pytest.mark.parametrize(
    "program",
    [
        "(define (f x) (g x)) (define (g x) (+ x 1)) (f 1)",
        "(define late 0) (set! late 1) (println late)",
        "(let loop ((i 0)) (if (< i 3) (loop (+ i 1)) i))",
        "(define-record-type point (make-point x y) point? (x point-x)) (point-x (make-point 1 2))",
        "(defmacro twice (e) `(begin ,e ,e)) (twice (println 1))",
        "(try (car 1) (catch e (:message e)))",
        "(define (f . xs) xs) (f) (f 1 2 3)",
        "(eval '(define from-eval 7)) from-eval",
        "(match [1 2] ([a & more] (list a more)) ({:keys [b]} b))",
        "(define f (fn (a) a)) (set! f (fn () 1)) (f)",
        '#!/usr/bin/env sema\n(println "hi")',
        "",
    ],
)
def test_nothing_to_find(program: str) -> None:
    assert found(program) == []


@pytest.mark.parametrize(
    ("program", "finding"),
    [
        ("(println\n  undefined-thing)", (2, 3, "unbound", "Unbound variable: undefined-thing")),
        ("(if nope 1 2)", (1, 5, "unbound", "Unbound variable: nope")),
        ("(let ((x 1)\n      (y [1 nope]))\n  x)", (2, 13, "unbound", "Unbound variable: nope")),
        ("(define (add a b) a)\n(add 1)", (2, 1, "arity", "add expects 2 arguments, got 1")),
        (
            "(define e2 1) (try 1 (catch e e2 e))",
            (1, 15, "warning", "catch takes every error as `e`; `e2` is not bound by it"),
        ),
        ("(define (f a . rest) a)\n(f)", (2, 1, "arity", "f expects 1 or more arguments, got 0")),
        ("(list (string-length))", (1, 7, "arity", "string-length expects 1 argument, got 0")),
        ("((fn (x) x))", (1, 1, "arity", "<lambda> expects 1 argument, got 0")),
        ("(let loop ((i 0)) (loop))", (1, 19, "arity", "loop expects 1 argument, got 0")),
        ("(let ((x)) x)", (1, 1, "syntax", "let: each binding must have 2 elements")),
        ("(define 5 1)", (1, 1, "syntax", "expected symbol, list, vector, or map, got int")),
        ("(defmacro m (x) x)\n(list (m))", (2, 7, "macro", "m expects 1 argument, got 0")),
        ('(defmacro m (x) (error "bad use"))\n(list (m 1))', (2, 7, "macro", "bad use")),
        ("(defmacro m (x) (/ x 0))\n(m 1)", (2, 1, "macro", "division by zero")),
    ],
)
def test_findings(program: str, finding: tuple[int, int, str, str]) -> None:
    assert found(program) == [finding]


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        ("(define g (a b) a)", "a function is written (define (g a b) body ...)"),
        ("(define g [a & b] a)", "a function is written (define (g a . b) body ...)"),
        ("(define g (a 1) a)", "a function is written (define (g x y) body ...)"),
        (
            "(let (a 1 b 2) a)",
            "each binding stands in parentheses, and all of them in another pair: (let ((a 1) (b 2)) ...)",
        ),
    ],
)
def test_hints_write_the_form_itself(form: str, hint: str) -> None:
    assert [finding.hint for finding in check_text(form)] == [hint]


def test_one_error_does_not_hide_the_others() -> None:
    codes = [finding.code for finding in check_text("(define (f) (let ((x)) x) (g))\n(if)\n(f 1)")]
    assert codes == ["syntax", "unbound", "arity", "arity"]


def test_reader_errors_stand_alone() -> None:
    findings = check_text('(car 1 2 3)\n(f }\n"open')
    assert findings and {finding.code for finding in findings} == {"reader"}


def test_hint_names_what_was_meant() -> None:
    assert check_text("(define (total xs) xs)\n(totel 1)")[0].hint == "Did you mean 'total'?"


def test_the_program_does_not_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert found('(println "ran")') == []
    assert capsys.readouterr().out == ""


def test_names_of_an_unknown_import_are_not_reported() -> None:
    assert found('(import "no/such/file.sema")\n(helper 1)') == []


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.sema", tmp_path / "bad.sema"
    good.write_text("(+ 1 2)")
    bad.write_text("(if)\n(nope)")
    assert check.main([str(good)]) == 0
    assert capsys.readouterr().out == ""
    assert check.main([str(good), str(bad)]) == 1
    first = capsys.readouterr().out.splitlines()[0]
    assert first == f"{bad}:1:1: arity: if expects 2 or 3 arguments, got 0"
    assert check.main([str(bad), "--json"]) == 1
    rows = json.loads(capsys.readouterr().out)
    assert [(row["line"], row["code"]) for row in rows] == [(1, "arity"), (2, "unbound")]
    fields = {"file", "line", "column", "end_line", "end_column", "code", "severity", "message", "hint", "note"}
    assert set(rows[0]) == fields


def test_command_misuse(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert check.main([]) == 2
    assert check.main(["--bogus", "x"]) == 2
    assert check.main([str(tmp_path / "missing.sema")]) == 1
    assert "file not found" in capsys.readouterr().err
    assert check.main([str(tmp_path)]) == 1
    assert capsys.readouterr().err == f"Error: cannot read '{tmp_path}': Is a directory\n"


def test_a_file_that_is_no_text_is_a_finding(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "latin.sema"
    file.write_bytes(b'(println 1)\n"\xe9"')
    assert check.main([str(file)]) == 1
    assert capsys.readouterr().out == f"{file}:2:2: reader: {file} is not UTF-8 text\n"


def test_imports_that_cannot_succeed(tmp_path: Path) -> None:
    (tmp_path / "b.sema").write_text('(module b (export x) (import "sub/c.sema") (define x 1))')
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "c.sema").write_text('(import "../b.sema")')
    (tmp_path / "fine.sema").write_text('(define (later) (import "main.sema"))')
    main = tmp_path / "main.sema"
    main.write_text('(import "fine.sema")\n(import "b.sema")\n(load "gone.sema")\n(import "example.com/a/b")')
    circle, missing, package = check_text(main.read_text(), str(main))
    assert (circle.line, circle.code) == (2, "import")
    assert circle.message == "cyclic import: b.sema -> sub/c.sema -> b.sema"
    assert (missing.code, missing.message) == ("warning", "load gone.sema: there is no file gone.sema")
    assert (package.code, package.hint) == ("warning", "Run: sema pkg add example.com/a/b")
