"""`sema compile --native`: files run natively, say so, and run as Python where they can't."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from semac.native.build import problem

SEMA = str(Path(sys.executable).with_name("sema"))
MISSING = problem()
needs_compiler = pytest.mark.skipif(MISSING is not None, reason=str(MISSING))
PROGRAM = """
(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
(define (count n) (if (= n 0) 0 (+ 1 (count (- n 1)))))
(define-record-type body (make-body x v) body? (x body-x) (v body-v))
(define (move b n) (if (= n 0) b (move (make-body (+ (body-x b) (body-v b)) (body-v b)) (- n 1))))
(define (spin n) (let loop ((i 0) (s 0)) (if (= i n) s (loop (+ i 1) (mod (+ s i) 7)))))
(define (climbed n low) (if (< n low) low (+ n (climbed (- n 1) low))))
(define (sunk n low) (if (< n low) (- low n) (+ (sunk (- n 1) low) (/ 6 (- n 3)))))
(println (climbed 5 2) (climbed 10000000000000000000003 10000000000000000000000) (sunk 9 4))
(println (try (sunk 9 1) (catch e (list (:message e) (map (fn (f) (:name f)) (:stack-trace e))))))
(println (fib 20) (count 15000) (body-x (move (make-body 1.0 0.5) 10)))
"""
CALLS = """
import signal, sys
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
for args in [(10,), (10.0,), (True,), ("a",), (None,), (1, 2)]:
    print(answer(program.fib, *args))
print(answer(program.move, program.make_body(1, 2), 3), answer(program.move, program.make_body(2**70, 0.5), 3))
print(list(map(program.fib, range(10))), answer(program.count, 10**6))
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.05)
try:
    program.spin(10**15)
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with `program.sema`, compiled natively."""
    folder = tmp_path_factory.mktemp("native")
    (folder / "program.sema").write_text(PROGRAM)
    made = run([SEMA, "compile", "--native", "program.sema"], folder, CFLAGS="-O0")
    assert (made.returncode, made.stderr) == (0, "")
    assert "count, fib" in made.stdout
    return folder


def run(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(folder), **variables}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)


@needs_compiler
def test_a_program_prints_what_it_prints_in_python(compiled: Path) -> None:
    extensions = [path.name for path in (compiled / "__pycache__").glob("*sema_native_*")]
    assert len(extensions) == len({name.partition(".semac")[0] for name in extensions}) == 2  # calls are known
    natively = run([SEMA, "program.sema"], compiled)
    plainly = run([SEMA, "program.sema"], compiled, SEMA_NATIVE="0")
    assert natively.stdout == plainly.stdout
    assert plainly.stdout.endswith("\n6765 15000 6.0\n")


@needs_compiler
def test_a_module_takes_any_arguments_and_interrupts(compiled: Path) -> None:
    natively = run([sys.executable, "-c", CALLS], compiled)
    plainly = run([sys.executable, "-c", CALLS], compiled, SEMA_NATIVE="0")
    assert natively.stdout == plainly.stdout
    assert natively.stdout.endswith("interrupted\n")
    assert (natively.stderr, plainly.stderr) == ("True\n", "False\n")


@needs_compiler
def test_doctor_says_what_runs_natively(compiled: Path) -> None:
    report = json.loads(run([SEMA, "doctor", "--json"], compiled).stdout)
    assert report["native"]["modules"] == {"program.sema": "native"}
    assert report["native"]["problem"] is None


@needs_compiler
def test_a_stale_extension_is_ignored(tmp_path: Path) -> None:
    (tmp_path / "program.sema").write_text("(define (f n) (if (= n 0) 1 (f (- n 1))))\n(println (f 10))\n")
    assert run([SEMA, "compile", "--native", "program.sema"], tmp_path, CFLAGS="-O0").returncode == 0
    (tmp_path / "program.sema").write_text("(define (f n) (if (= n 0) 2 (f (- n 1))))\n(println (f 10))\n")
    assert run([SEMA, "program.sema"], tmp_path).stdout == "2\n"
    assert "program.sema: stale" in run([SEMA, "doctor"], tmp_path).stdout


@needs_compiler
def test_native_code_of_another_compiler_is_stale(tmp_path: Path) -> None:
    """What an edited or upgraded compiler finds: a stamp that isn't its own, or the files of another Python."""
    (tmp_path / "program.sema").write_text("(define (f n) (if (= n 0) 1 (f (- n 1))))\n(println (f 10))\n")
    assert run([SEMA, "compile", "--native", "program.sema"], tmp_path, CFLAGS="-O0").returncode == 0
    assert "program.sema: runs natively" in run([SEMA, "doctor"], tmp_path).stdout
    edited = (
        "import sys; from semac import fingerprint; fingerprint.COMPILING_NATIVELY += ('cli',)\n"
        "from semac.cli.entry import main; sys.argv = ['sema', *sys.argv[1:]]; sys.exit(main())"
    )
    assert "program.sema: stale" in run([sys.executable, "-c", edited, "doctor"], tmp_path).stdout
    assert run([sys.executable, "-c", edited, "program.sema"], tmp_path).stdout == "1\n"
    for kept in (tmp_path / "__pycache__").glob("*.semac-*"):
        kept.rename(kept.with_name(kept.name.replace("cpython-", "cpython-9")))
    assert "program.sema: stale" in run([SEMA, "doctor"], tmp_path).stdout


@needs_compiler
def test_a_lost_extension_is_told_by_doctor_alone(tmp_path: Path) -> None:
    (tmp_path / "program.sema").write_text("(define (f n) (if (= n 0) 1 (f (- n 1))))\n(println (f 10))\n")
    assert run([SEMA, "compile", "--native", "program.sema"], tmp_path, CFLAGS="-O0").returncode == 0
    for extension in (tmp_path / "__pycache__").glob("*sema_native_*"):
        extension.unlink()
    ran = run([SEMA, "program.sema"], tmp_path)
    assert (ran.stdout, ran.stderr) == ("1\n", "")
    assert "program.sema: stale" in run([SEMA, "doctor"], tmp_path).stdout


@needs_compiler
def test_without_functions_there_is_no_extension(tmp_path: Path) -> None:
    (tmp_path / "hello.sema").write_text('(println "hello")\n')
    made = run([SEMA, "compile", "--native", "hello.sema"], tmp_path)
    assert (made.returncode, made.stdout) == (0, "hello.sema: nothing to run natively\n")
    assert not list(tmp_path.glob("**/*sema_native*"))


def test_without_a_compiler_one_message(tmp_path: Path) -> None:
    (tmp_path / "program.sema").write_text("1")
    made = run([SEMA, "compile", "--native", "program.sema"], tmp_path, PATH="/nowhere", CC="no-such-compiler")
    assert made.returncode == 1
    assert made.stderr.startswith("Error: native code needs a C compiler, and there is none (")
    assert made.stderr.count("\n") == 1


@needs_compiler
def test_a_module_of_a_wheel_has_its_extension_beside_it(tmp_path: Path) -> None:
    from semac.packaging.native import native_module

    source = tmp_path / "source" / "shapes.sema"
    source.parent.mkdir()
    source.write_text(
        "(define (area n) (if (= n 0) 0.0 (+ 1.5 (area (- n 1)))))\n(define (bad x) (+ (area 1) (car x)))\n"
    )
    made = native_module(source.read_text(), str(source))
    assert made is not None
    text, extension = made
    site = tmp_path / "site"
    site.mkdir()
    (site / "shapes.py").write_text(text)
    os.replace(extension, site / os.path.basename(extension))
    script = (
        "import shapes, sys\n"
        "print(shapes.area(4), any(name.startswith('sema_native_') for name in sys.modules))\n"
        "try:\n    shapes.bad(5)\nexcept Exception as error:\n"
        "    trace = error.__traceback__.tb_next\n    print(trace.tb_lineno, trace.tb_frame.f_code.co_name)\n"
    )
    assert run([sys.executable, "-c", script], site).stdout == "6.0 True\n2 bad\n"
    assert run([sys.executable, "-c", script], site, SEMA_NATIVE="0").stdout == "6.0 False\n2 bad\n"
    changed = text.replace("1.5", "2.50")  # of another length: Python keeps code by size and second
    (site / "shapes.py").write_text(changed)
    assert run([sys.executable, "-c", script], site).stdout.startswith("10.0 ")
