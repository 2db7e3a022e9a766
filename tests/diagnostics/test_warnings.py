"""Warnings of what the language accepts although it is a mistake, and hints for malformed forms and wrong arguments."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from paths import DATA, EXAMPLES, SHARED, TESTS

from sema_runtime.conditions.describe import describe
from semac.checks.program import WARNING, check_text
from semac.cli.check import main
from semac.session import Session

CORPUS = sorted((SHARED / "conformance").glob("*.jsonl"))
OWN = [TESTS / "conformance" / name for name in ("corpus_sample.jsonl", "emission.jsonl", "calls.jsonl")]
# Cases of the corpus that succeed and are warned of: each is about the very thing that the warning names.
WARNED = set((DATA / "warned_cases.txt").read_text().split())

SAID_BY_A_RUN = {
    "(define (f x & more) (list x more))": "write (define (f x . more) ...)",
    "(defn f (x & more) more)": "write (defn f (x . more) ...)",
    "(define g (fn [a &rest b] b))": "write (fn (a . b) ...)",
    "(map (lambda (a & b) a) '())": "write (fn (a . b) ...)",
    "(define (f x &optional y) y)": "(if (null? more) default (first more))",
    "(defmacro m (x &body body) x)": "write (defmacro m (x . body) ...)",
    '(format "~d" 5)': "(math/format-fixed x 2)",
    '(format "%d of %s" 5 6)': "directives are ~a",
    '(format "~a" 1 2)': "directives are ~a",
    "(try 1 (catch Exception e (println (:message e))))": "write (catch e ...)",
    "(match (list 1 2) ((x y) (list x y)) (_ 0))": "write [x y]",
    "(match (list 1 2) ((list x y) 1) (_ 0))": "write [x y]",
    "(match (list 1 2) ((cons h t) 1) (_ 0))": "write [h & t]",
    "(match {:a 1} ({:a (x y)} x) (_ 0))": "write [x y]",
    "(match 1 ((or 1 2) 1) (_ 0))": "(p when test body ...)",
}
SAID_BEFORE_AN_ERROR = {
    "(import math)": '(py/import "math")',
    "(swap! counter (fn (n) n))": "set!",
    "(setq x 5)": "set!",
    "(loop [i 0] (recur i))": "'do' or 'while'",
    "(dolist (x '(1 2)) (println x))": "(for-each ",
    "(define-struct point (x y))": "(define-record-type ",
    "(let ((a 1) (b (+ a 1))) b)": "let* binds `a`",
}
SAID_BY_CHECK = {
    "(set! totl 1)": "(define totl ...)",
    "(define total 0) (set! totl 1)": "did you mean 'total'?",
    '(error :kind "msg")': '(error "msg")',
    '(error "no user" 5)': "(error (str",
    "(cons 1 2)": "there are no pairs",
    "(define (f) 1) (cons 1 f)": "there are no pairs",
    "(cons :a (fn (x) x))": "there are no pairs",
    "(cons 1 {:a 1})": "there are no pairs",
    "(cdr (assoc 'b '((a . 1) (b . 2))))": "[b 2] or a map",
    "(println later) (define later 1)": "move the definition up",
    "(start) (define (start) 1)": "move the definition up",
    "(define (start) (help)) (start) (define (help) 1)": "move the definition up",
    "(define y (+ y 1))": "move the definition up",
    "(define (g) (m 1)) (defmacro m (x) x) (g)": "move the defmacro up",
    "(twice 1) (defmacro twice (x) x)": "move the defmacro up",
    '(string/join "," \'(1))': "(string/join list separator)",
    '(define (f text) (string/split "," text))': "(string/split text separator)",
}
QUIET = [
    "(match '(1 2) ([a & more] (list a more)) ({:keys [b]} b))",
    "(match '(1 2) ((1 2) :literal) ('(a b) :quoted))",
    "(match '(+ 1 2) (['+ a b] (+ a b)) (_ 0))",
    "(let (([a & more] '(1 2))) more)",
    '(format "~a ~s ~~ 100%~%" 1 2) (define t "~d") (format t 1)',
    "(define (f) (g)) (define (g) 1) (f)",
    "(define (on) (later)) (define (later) 1) (list on)",
    "(try (later) (catch e 1)) (define later 1)",
    "(define (even2? n) (if (= n 0) #t (odd2? (- n 1)))) (define (odd2? n) (not (even2? (- n 1)))) (even2? 4)",
    "(define xs '()) (set! xs (cons 1 xs)) (cons 1 (list 2)) (cons 1 nil) (cons 1 '())",
    '(define (f e) (cons 1 e)) (try 1 (catch e (println "x")))',
    "(define (first-of x) (first x)) (define (first x) x)",
    "(let ((a 1)) (let ((a 2) (b a)) b))",
    "(define a 1) (let ((a 2) (b a)) b)",
    '(string/split "a,b" ",") (string/join (list 1) ",")',
    "(defmacro m (x . body) `(fn (a . more) ,x ,@body))",
]
WRITTEN = {
    "(let [x 1 y 2] x)": "(let ((x 1) (y 2)) ...)",
    "(let (x 1) x)": "(let ((x 1)) ...)",
    "(let* [x 1] x)": "(let* ((x 1)) ...)",
    "(let loop [i 0] i)": "(let loop ((i 0)) ...)",
    "(letrec [x 1] x)": "(letrec ((x 1)) ...)",
    "(let ((x)) x)": "(let ((x 1) (y 2)) ...)",
    "(defn f [x] x)": "defn takes its parameters in parentheses: (defn f (x) body ...)",
    "(defun f [x & more] x)": "(defun f (x . more) body ...)",
    '(defn f "doc" [x] x)': "behind the parameters: (defn f (x) text body ...)",
    "(defn f ([x] 1) ([x y] 2))": "one list of parameters: (defn f (x . more) ...)",
    "(define f [x] x)": "(define (f x) body ...)",
    "(define f (x y) x)": "(define (f x y) body ...)",
    "(define (f [a b]) a)": "patterns stand in (fn ([a b]) ...)",
    "(cond [#t 1])": "(else :none)",
    "(case 1 (1 2))": "((1 2) :few)",
    "(try 1 (catch e 2) (finally 3))": "no finally",
    "(fn args args)": "(fn (. args) ...)",
    "(if 1 2 3 4)": "(begin ...)",
    "(if-let (x 1) x)": "when-let has one",
    "(do [i 0] 1)": "(do ((i 0 (+ i 1)))",
    "(define-record-type point (x y))": "(make-point x y)",
    "(defmacro m [x & body] x)": "(defmacro m (x . body) ...)",
    "(set! (:a m) 1)": "(assoc m :k v)",
}
CALLED = {
    "(:a {} 1)": "(get m :a default)",
    "(:a nil)": "(get-in m [:key])",
    "(+ 1 nil)": "(or x 0)",
    "(reduce + 0 (list 1 2))": "(foldl + 0 xs)",
    '(string/join "," (list 1))': "usage: (string/join ",
    "(string/split 1 2)": "usage: (string/split text separator)",
    '(file/write "x")': "usage: (file/write path content)",
    "(for-each println {:a 1})": "(map/entries m)",
    "(sort-by (list 3 1) (fn (x) x))": "(sort-by function collection)",
    "(contains? [1 2] 1)": "(list/contains? xs x)",
    '(format #t "~a" 1)': "the template comes first",
    "((1 2) 3)": "'(1 2)",
    "(define (f) 1) ((cdr (cons 1 f)))": "(cadr (cons a f)) is f",
    "(match (list 1 2) ((x y) 1))": "`(x y)` is quoted data as a pattern; write [x y]",
}


def warned(text: str) -> list[str]:
    return [f"{one.message} | {one.hint}" for one in check_text(text) if one.code == WARNING]


def hint_of(program: str) -> str:
    with pytest.raises(Exception) as caught:
        Session().run(program)
    return describe(caught.value).hint or ""


@pytest.mark.parametrize("program", SAID_BY_A_RUN)
def test_a_run_and_check_say_it_once(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    Session().run(program)
    said = capsys.readouterr().err
    assert said.count("Warning:") == 1 and SAID_BY_A_RUN[program] in said
    (warning,) = warned(program)
    assert SAID_BY_A_RUN[program] in warning


@pytest.mark.parametrize("program", SAID_BEFORE_AN_ERROR)
def test_a_foreign_form_is_named_before_its_parts_fail(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(NameError):
        Session().run(program)
    assert SAID_BEFORE_AN_ERROR[program] in capsys.readouterr().err
    assert any(SAID_BEFORE_AN_ERROR[program] in (one.hint or "") for one in check_text(program))


@pytest.mark.parametrize("program", SAID_BY_CHECK)
def test_check_warns(program: str) -> None:
    found = warned(program)
    assert found and any(SAID_BY_CHECK[program] in warning for warning in found)


@pytest.mark.parametrize("program", QUIET)
def test_nothing_is_said_of_what_is_meant(program: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert check_text(program) == []
    Session().run(program)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("program", WRITTEN)
def test_a_malformed_form_says_how_it_is_written(program: str) -> None:
    assert WRITTEN[program] in hint_of(program)
    assert any(WRITTEN[program] in (one.hint or "") for one in check_text(program))


@pytest.mark.parametrize("program", CALLED)
def test_wrong_arguments_say_what_is_expected(program: str) -> None:
    assert CALLED[program] in hint_of(program)


@pytest.mark.parametrize("path", [*CORPUS, *OWN], ids=lambda path: path.stem)
def test_programs_that_succeed_are_not_warned_of(path: Path) -> None:
    cases = [json.loads(line) for line in path.read_text().split("\n") if line]
    found = {case["id"] for case in cases if not case.get("error") and warned(case["src"])}
    assert found - WARNED == set()


def test_examples_are_not_warned_of() -> None:
    files = [*(EXAMPLES).rglob("*.sema"), *(SHARED / "bench").rglob("*.sema")]
    assert len(files) > 20
    assert [one.text() for file in files for one in check_text(file.read_text(), str(file))] == []


def test_each_run_says_it_although_code_is_kept(tmp_path: Path) -> None:
    (tmp_path / "lib.sema").write_text("(define (g a & b) a)")
    (tmp_path / "main.sema").write_text('(import "lib.sema")\n(define (f x & more) x)\n(println (f 1 2 3))')
    for _ in range(2):
        command = [sys.executable, "-m", "semac.cli.entry", "main.sema"]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
        assert (done.returncode, done.stdout) == (0, "1\n")
        assert done.stderr.count("Warning:") == 2
        assert "main.sema:2:1" in done.stderr and "lib.sema:1:1" in done.stderr


def test_answers_of_a_stream_do_not_change() -> None:
    question = json.dumps({"id": "1", "src": "(define (f x & more) x) (f 1 2 3)"})
    command = [sys.executable, "-m", "semac.cli.entry", "eval", "--jsonl"]
    done = subprocess.run(command, input=question + "\n", capture_output=True, text=True)
    assert (json.loads(done.stdout), done.stderr) == ({"id": "1", "value": "1", "output": [], "error": None}, "")


def test_status(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "warned.sema"
    file.write_text("(define (f x & more) x)")
    assert main([str(file)]) == 0
    assert "1:1: warning: `&` is an ordinary parameter" in capsys.readouterr().out
    assert main([str(file), "--strict", "--json"]) == 1
    (row,) = json.loads(capsys.readouterr().out)
    assert (row["code"], row["severity"]) == ("warning", "warning")
