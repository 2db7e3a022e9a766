"""Python's tools on Sema programs: pdb, debugpy, tracebacks, coverage, profilers. Each is driven for real."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from dap_client import DapClient
from paths import ROOT

PROGRAM = """\
;; A program to step through.
(define (double-it n)
  (let ((twice (* n 2)))
    twice))

(define (sum-of items)
  (let ((total 0))
    (for-each (fn (item)
                (set! total (+ total (double-it item))))
              items)
    total))

(define (main)
  (let ((result (sum-of '(1 2 3))))
    (println "sum" result)
    result))

(main)
"""


def environment() -> dict[str, str]:
    env = dict(os.environ, PYTHONPATH=os.pathsep.join([str(ROOT), str(ROOT / "runtime")]), PYTHONDONTWRITEBYTECODE="1")
    env.pop("SEMA_TRACEBACK", None)
    return env


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "prog.sema").write_text(PROGRAM)
    return tmp_path


def run(folder: Path, *command: str, stdin: str = "", code: int = 0) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [sys.executable, *command], cwd=folder, env=environment(), input=stdin, capture_output=True, text=True
    )
    assert done.returncode == code, done.stdout + done.stderr
    return done


def stops(output: str) -> list[tuple[int, str]]:
    """(line, function) of every place where pdb stopped in a .sema file."""
    found = []
    for line in output.splitlines():
        line = line.removeprefix("(Pdb) ")
        if line.startswith("> ") and ".sema(" in line:
            number, _, function = line.rpartition(".sema(")[2].partition(")")
            found.append((int(number), function.partition("(")[0]))
    return found


# pdb


def test_pdb_stops_at_a_breakpoint_and_shows_locals_and_callers(folder: Path) -> None:
    commands = "b prog.sema:4\nc\np n, twice\nw\nu\np item, total\nq\n"
    shown = run(folder, "-m", "semac", "--pdb", "prog.sema", stdin=commands).stdout
    assert stops(shown)[1] == (4, "double_it")
    assert "(1, 2)" in shown  # n, twice
    assert "(1, 0)" in shown  # item, total in the caller
    where = [line.strip() for line in shown.splitlines() if ".sema(" in line]
    assert [line.rpartition("/")[2] for line in where[2:6]] == [
        "prog.sema(18)<module>()",
        "prog.sema(14)main()",
        "prog.sema(9)sum_of()",
        "prog.sema(4)double_it()",
    ]
    assert "semac/" not in shown
    assert "sema_runtime" not in shown


def test_pdb_next_goes_forward_line_by_line(folder: Path) -> None:
    commands = "b prog.sema:7\nc\nn\nn\nn\nn\nn\nn\nn\nn\nq\n"
    shown = run(folder, "-m", "semac", "--pdb", "prog.sema", stdin=commands).stdout
    assert [line for line, _ in stops(shown)[1:]] == [7, 8, 9, 8, 9, 8, 9, 8, 11]


def test_pdb_steps_into_and_out_of_functions_past_the_runtime(folder: Path) -> None:
    commands = "b prog.sema:9\nc\ns\ns\nr\ncl 1\ns\nr\ns\ns\nq\n"
    shown = run(folder, "-m", "semac", "--pdb", "prog.sema", stdin=commands).stdout
    assert stops(shown)[1:5] == [(9, "sum_of"), (2, "double_it"), (3, "double_it"), (4, "double_it")]
    assert {function for _, function in stops(shown)} <= {"<module>", "main", "sum_of", "double_it"}


def test_plain_pdb_works_on_a_python_program_that_imports_sema(folder: Path) -> None:
    (folder / "use.py").write_text("import semac.importer\nsemac.importer.install()\nimport prog\nprog.double_it(21)\n")
    at_line, at_function = "b prog.sema:4\nc\nc\nc\nc\np twice\nq\n", "n\nn\nn\nb prog.double_it\nc\nn\np twice\nq\n"
    commands = at_function if sys.version_info >= (3, 13) else at_line  # 3.13 knows the lines of .py files only
    shown = run(folder, "-m", "pdb", "use.py", stdin=commands, code=0).stdout
    assert stops(shown)[-1] == (4, "double_it")
    assert "42" in shown


def test_breakpoint_form(folder: Path) -> None:
    (folder / "stop.sema").write_text(
        "(define (f x)\n  (let ((y (+ x 1)))\n    (breakpoint)\n    (* y 2)))\n(println (f 3))\n"
    )
    shown = run(folder, "-m", "semac", "stop.sema", stdin="p x, y\nc\n").stdout
    assert stops(shown) == [(3 if sys.version_info >= (3, 13) else 4, "f")]  # since 3.13, pdb shows the call itself
    assert "(3, 4)" in shown
    assert shown.rstrip().endswith("8")


# debugpy


def test_debugpy_breakpoints_locals_and_steps(folder: Path) -> None:
    with DapClient(folder, environment()) as client:
        client.launch({folder / "prog.sema": [9]}, module="semac", args=["prog.sema"], cwd=str(folder), justMyCode=True)
        thread, frames, frame = client.stopped()
        assert frames[:3] == [("sum_of", "prog.sema", 9), ("main", "prog.sema", 14), ("<module>", "prog.sema", 18)]
        variables = client.local_variables(frame)
        assert variables["item"] == "1"
        assert variables["total"] == "0"
        client.request("setBreakpoints", source={"path": str(folder / "prog.sema")}, breakpoints=[])
        client.request("stepIn", threadId=thread)
        thread, frames, frame = client.stopped()
        assert frames[0][0] == "double_it"
        client.request("next", threadId=thread)
        thread, frames, frame = client.stopped()
        assert frames[0] == ("double_it", "prog.sema", 4)
        assert client.local_variables(frame)["twice"] == "2"
        client.request("stepOut", threadId=thread)
        thread, frames, frame = client.stopped()
        assert frames[0] == ("sum_of", "prog.sema", 9)
        client.request("continue", threadId=thread)
        client.event("terminated")
        assert "sum 12" in client.output


# Tracebacks

FAILING = """\
(define (check-item x)
  (if (> x 2)
      (throw {:bad x})
      x))

(define (check-all xs)
  (map check-item xs))

(define (bad-call) (no-such-name 1))

(define (wrong-type x) (string/upper x))
"""


@pytest.fixture
def failing(tmp_path: Path) -> Path:
    (tmp_path / "failing.sema").write_text(FAILING)
    return tmp_path


def test_traceback_has_sema_functions_and_lines_and_no_frames_of_ours(failing: Path) -> None:
    code = "import semac.importer; semac.importer.install()\nimport failing\nfailing.check_all([1, 2, 3])"
    shown = run(failing, "-c", code, code=1).stderr
    assert f'File "{failing}/failing.sema", line 3, in check-item\n    (throw {{:bad x}})\n' in shown
    assert f'File "{failing}/failing.sema", line 7, in check-all\n    (map check-item xs))\n' in shown
    assert "sema_runtime/" not in shown
    assert "semac/" not in shown
    assert "importlib" not in shown
    shown = run(failing, "-c", code.replace("check_all([1, 2, 3])", "wrong_type(5)"), code=1).stderr
    assert "line 11, in wrong-type" in shown
    assert "SemaTypeError: string/upper argument 1 expected string, got int" in shown
    assert "sema_runtime/" not in shown


def test_python_errors_get_the_sema_message(failing: Path) -> None:
    code = "import semac.importer; semac.importer.install()\nimport failing\nfailing.bad_call()"
    shown = run(failing, "-c", code, code=1).stderr
    assert "line 9, in bad-call" in shown
    assert "sema: Unbound variable: no-such-name" in shown


def test_full_tracebacks_on_request(failing: Path) -> None:
    code = "import os; os.environ['SEMA_TRACEBACK'] = 'full'\nimport semac.importer; semac.importer.install()\n"
    shown = run(failing, "-c", code + "import failing\nfailing.wrong_type(5)", code=1).stderr
    assert "sema_runtime/" in shown


def test_errors_in_threads_and_python_only_errors(failing: Path) -> None:
    code = (
        "import semac.importer; semac.importer.install()\nimport failing, threading\n"
        "worker = threading.Thread(target=failing.check_item, args=(5,), name='worker')\n"
        "worker.start(); worker.join()\n1 / 0"
    )
    shown = run(failing, "-c", code, code=1).stderr
    assert "Exception in thread worker:" in shown
    assert "line 3, in check-item" in shown
    assert shown.rstrip().endswith("ZeroDivisionError: division by zero")
    assert "sema_runtime/" not in shown


def test_format_exception_for_programs(failing: Path) -> None:
    code = (
        "import semac.importer; semac.importer.install()\nimport failing\n"
        "from semac.diagnostics.tracebacks import format_exception\n"
        "try:\n    failing.bad_call()\nexcept NameError as error:\n    print(''.join(format_exception(error)))"
    )
    shown = run(failing, "-c", code).stdout
    assert shown.startswith("Traceback (most recent call last):\n")
    assert "line 9, in bad-call" in shown


# Coverage


def test_coverage_reports_lines_of_sema_files(folder: Path) -> None:
    (folder / "prog.sema").write_text(
        PROGRAM
        + "\n(define (never n)\n  (if (> n 0)\n      (println n)\n      n))\n"
        + "\n(define (left-out)  ; pragma: no cover\n  5)\n"
    )
    (folder / "unused.sema").write_text("(define a 1)\n")
    (folder / ".coveragerc").write_text("[run]\nplugins = semac.coverage_plugin\nsource = .\n")
    run(folder, "-m", "coverage", "run", "-m", "semac", "prog.sema")
    report = json.loads(run(folder, "-m", "coverage", "json", "-q", "-o", "-").stdout)["files"]
    assert report["prog.sema"]["executed_lines"] == [2, 3, 4, 6, 7, 8, 9, 11, 13, 14, 15, 16, 18, 20]
    assert report["prog.sema"]["missing_lines"] == [21, 22, 23]
    assert report["prog.sema"]["excluded_lines"] == [25, 26]
    assert report["unused.sema"]["missing_lines"] == [1]
    run(folder, "-m", "coverage", "html", "-d", "html")
    assert any("double-it" in page.read_text() for page in (folder / "html").glob("*.html"))


# Profilers


def test_cprofile_names_functions_and_lines(folder: Path) -> None:
    shown = run(folder, "-m", "cProfile", "-s", "calls", "-m", "semac", "prog.sema").stdout
    assert "prog.sema:2(double_it)" in shown
    assert "prog.sema:6(sum_of)" in shown


def test_py_spy_shows_sema_functions(folder: Path) -> None:
    (folder / "busy.sema").write_text(
        "(define (spin n)\n  (let loop ((i 0) (acc 0))\n    (if (< i n) (loop (+ i 1) (+ acc i)) acc)))\n"
        "(spin 30000000)\n"
    )
    spy = Path(sys.executable).parent / "py-spy"
    if not spy.exists():
        pytest.skip("py-spy is not installed")
    with subprocess.Popen([sys.executable, "-m", "semac", "busy.sema"], cwd=folder, env=environment()) as program:
        try:
            for _ in range(200):
                done = subprocess.run([spy, "dump", "--pid", str(program.pid)], capture_output=True, text=True)
                if "spin" in done.stdout or "ermission" in done.stderr:
                    break
        finally:
            program.kill()
    if "ermission" in done.stderr:
        pytest.skip("py-spy may not look into processes here")
    assert "spin (busy.sema:" in done.stdout.replace(f"{folder}/", "")
