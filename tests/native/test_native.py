"""`sema compile --native`: answers, messages and depths of native modules are those of plain ones."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from semac.native.build import problem
from semac.native.kernels import Kernels
from semac.native.module import native_program

SEMA = str(Path(sys.executable).with_name("sema"))
MISSING = problem()
needs_compiler = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
PROGRAM = """
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))
(define (forever n) (if (= n -1) 0 (+ 1 (forever (+ n 1)))))
(define (power n acc) (if (= n 0) acc (power (- n 1) (* acc 3))))
(define (ratio n) (let loop ((i n) (x 1.0)) (if (= i -3) x (loop (- i 1) (/ x (* 1.0 i))))))
(define (fill n size)
  (let ((a (mutable-array/new size 0)))
    (let loop ((i 0)) (if (= i n) (mutable-array/get a 0) (begin (mutable-array/set! a i n) (loop (+ i 1)))))))
(define-record-type body (make-body x v) body? (x body-x) (v body-v))
(define (move b n) (if (= n 0) b (move (make-body (+ (body-x b) (body-v b)) (body-v b)) (- n 1))))
(define (total bodies) (foldl (fn (sum b) (+ sum (body-x b))) 0.0 bodies))
(define-record-type node (make-node left right) node? (left node-left) (right node-right))
(define (tree n) (if (= n 0) (make-node nil nil) (make-node (tree (- n 1)) (tree (- n 1)))))
(define (size t) (if (nil? (node-left t)) 1 (+ 1 (size (node-left t)) (size (node-right t)))))
(define (nodes n) (let loop ((i 0) (sum 0)) (if (= i n) sum (loop (+ i 1) (+ sum (size (tree i)))))))
(define start (make-body 1.0 0.5))
(println (fib 20) (count 1500) (count 15000) (power 200 1) (nodes 8))
(println (try (forever 0) (catch e (:message e))))
(println (try (ratio 5) (catch e e)))
(println (try (fill 4 3) (catch e e)))
(println (fill 3 3) (body-x (move start 10)) (eq? start (move start 0)) (total (list start (move start 3))))
"""
CALLS = """
import sys
from semac.importer import install
from semac.process import deepen
install()
deepen()
import program
from sema_runtime.values.printer import to_text
def answer(function, *args):
    try:
        return to_text(function(*args))
    except Exception as error:
        return f"{type(error).__name__}: {error}"
print(any(name.startswith("sema_native_") for name in sys.modules), file=sys.stderr)
for args in [(10,), (10.0,), (True,), ("a",), (None,), (2**70,)][:5]:
    print(answer(program.fib, *args))
print(answer(program.power, 3, 2**70), answer(program.power, 3, 0.5), answer(program.power, 3, "x"))
print(answer(program.move, program.make_body(1, 2), 3), answer(program.move, program.make_body(1.0, 2.0), 3))
print(answer(program.total, []), answer(program.ratio, 2))
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `program.sema`, compiled natively."""
    folder = tmp_path_factory.mktemp("native")
    (folder / "program.sema").write_text(PROGRAM)
    made = run([SEMA, "compile", "--native", "program.sema"], folder)
    assert made.returncode == 0, made.stderr
    return folder


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@needs_compiler
def test_a_program_answers_as_in_python(compiled: Path) -> None:
    natively = run([SEMA, "program.sema"], compiled)
    plainly = run([SEMA, "program.sema"], compiled, SEMA_NATIVE="0")
    assert natively.stdout == plainly.stdout
    assert natively.stdout.startswith("6765 1500 15000 ")
    assert natively.returncode == plainly.returncode == 0


@needs_compiler
def test_a_module_takes_any_arguments(compiled: Path) -> None:
    natively = run([sys.executable, "-c", CALLS], compiled)
    plainly = run([sys.executable, "-c", CALLS], compiled, SEMA_NATIVE="0")
    assert natively.stdout == plainly.stdout
    assert natively.stderr == "True\n"
    assert plainly.stderr == "False\n"


@needs_compiler
def test_doctor_says_what_runs_natively(compiled: Path) -> None:
    report = json.loads(run([SEMA, "doctor", "--json"], compiled).stdout)
    assert report["native"]["modules"] == {"program.sema": "native"}
    assert report["native"]["problem"] is None


@needs_compiler
def test_a_stale_extension_is_ignored(compiled: Path, tmp_path: Path) -> None:
    (tmp_path / "program.sema").write_text("(define (f n) (if (= n 0) 1 (f (- n 1))))\n(println (f 10))\n")
    assert run([SEMA, "compile", "--native", "program.sema"], tmp_path).returncode == 0
    (tmp_path / "program.sema").write_text("(define (f n) (if (= n 0) 2 (f (- n 1))))\n(println (f 10))\n")
    assert run([SEMA, "program.sema"], tmp_path).stdout == "2\n"
    assert "program.sema: stale" in run([SEMA, "doctor"], tmp_path).stdout
    for extension in (tmp_path / "__pycache__").glob("*sema_native_*"):
        extension.unlink()
    assert run([SEMA, "program.sema"], tmp_path).stdout == "2\n"


@needs_compiler
def test_an_interrupt_ends_a_native_loop(tmp_path: Path) -> None:
    (tmp_path / "spin.sema").write_text(
        "(define (spin n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (mod (+ s i) 7)))))\n"
        '(println "started")\n(spin 1000000000000)\n'
    )
    assert run([SEMA, "compile", "--native", "spin.sema"], tmp_path).stdout == "spin.sema: spin native\n"
    process = subprocess.Popen([SEMA, "spin.sema"], cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(1.5)
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=120)
    assert error == b"Error: interrupted\n"


@needs_compiler
def test_without_native_functions_there_is_no_extension(tmp_path: Path) -> None:
    (tmp_path / "hello.sema").write_text('(println "hello")\n')
    made = run([SEMA, "compile", "--native", "hello.sema"], tmp_path)
    assert (made.returncode, made.stdout) == (0, "hello.sema: nothing to run natively\n")
    assert not list(tmp_path.glob("**/*sema_native*"))


def test_without_a_compiler_one_message(tmp_path: Path) -> None:
    (tmp_path / "program.sema").write_text("1")
    if MISSING is not None and "mypyc" in str(MISSING):
        pytest.skip("mypyc is missing, too")
    made = run([SEMA, "compile", "--native", "program.sema"], tmp_path, PATH="/nowhere", CC="no-such-compiler")
    assert made.returncode == 1
    assert made.stderr.startswith("Error: native code needs a C compiler, and there is none (")
    assert made.stderr.count("\n") == 1


def native(text: str) -> set[str]:
    unit = native_program(text, "<test>")
    return set(Kernels(unit.unit, unit.tree).entries)


def test_what_is_native() -> None:
    loop = "(define (f n) (let loop ((i 0) (s {0})) (if (= i n) s (loop (+ i 1) {1})))) (f {2})"
    assert native(loop.format("0", "(- i s)", "10")) == {"f"}
    assert native(loop.format("0.0", "(- i s)", "10")) == {"f"}
    assert native(loop.format("0", "(begin (println s) (+ s i))", "10")) == set()  # an effect
    assert native(loop.format("0", "(if (> s 5) 0.5 s)", "10")) == set()  # int or float
    assert native(loop.format("0", "(- i s)", "10") + " (set! f 1)") == set()
    assert native(loop.format("0", "(- i s)", "10") + " (eval '(f 2.0))") == set()


def test_ints_are_not_compared_with_floats_natively() -> None:
    text = "(define (f n x) (if (> (* n n) x) n (f (+ n 1) x))) (f 1 {0})"
    assert native(text.format("5")) == {"f"}
    assert native(text.format("5.0")) == set()  # Python compares them exactly, C doesn't


def test_what_the_compiler_knows_is_what_an_entry_tests() -> None:
    """A parameter that always is true may have been folded away, so a native function would not see #f."""
    text = "(define (f on n) (if on (if (= n 0) 1 (f on (- n 1))) 2)) (f #t 10) {0}"
    assert native(text.format("")) == set()
    assert native(text.format("(f #f 10)")) == {"f"}
