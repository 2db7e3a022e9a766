"""Tests in `.sema` files, run by the real pytest in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

PROGRAM = """\
(define (total xs) (apply + xs))
(define (unused x)
  (* x 2))
"""
TESTS = """\
(import "shop.sema")

(deftest adds (is (= 6 (total '(1 2 3)))))
(deftest differs
  (let ((want {:name "a name of some length" :parts [1 2 3]}))
    (is (= want {:name "a name of some length" :parts [1 2 4]}) "the parts")))
(deftest doubles [n expected] {:each [[1 2] [2 4] [3 7]]}
  (is (= expected (* 2 n))))
(deftest folder [tmp-path word] (is (= "hello" word)) (is (not (nil? tmp-path))))
(deftest waits (is (= 3 (await (async (begin (async/sleep 1) 3))))))
(deftest later {:skip "not now"} (is #f))
(deftest known {:xfail "known"} (is #f))
(deftest slow {:marks [:slow]} (is #t))
(deftest raises (testing "a list" (car 5)))
(deftest thrown
  (is (thrown? :type-error (+ 1 "a")))
  (is (thrown? "no user \\\\d" (error "no user 5")))
  (is (thrown? "no pen" (error "no user 5"))))
(define (test-true) (= 1 1))
(define (test-false) (= 1 2))
(define (helper) (error "never called"))
(defproperty reversed [xs [:list :int]] (= xs (reverse (reverse xs))))
(defproperty short [xs [:list :int]]
  (is (< (length xs) 2)))
"""
CONFTEST = """\
import pytest

@pytest.fixture
def word():
    return "hello"

def pytest_configure(config):
    config.addinivalue_line("markers", "slow: takes long")
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    (folder / "shop.sema").write_text(PROGRAM)
    (folder / "test_shop.sema").write_text(TESTS)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / ".coveragerc").write_text("[run]\nplugins = semac.coverage_plugin\n")
    return folder


def run(folder: Path, *args: str, command: tuple[str, ...] = ("-m", "pytest")) -> subprocess.CompletedProcess[str]:
    env = {name: text for name, text in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    return subprocess.run([sys.executable, *command, *args], cwd=folder, env=env, capture_output=True, text=True)


@pytest.fixture(scope="module")
def report(project: Path) -> str:
    done = run(project)
    assert done.returncode == 1, done.stderr
    return done.stdout


def test_counts(report: str) -> None:
    assert "6 failed, 8 passed, 1 skipped, 1 xfailed" in report
    assert "warning" not in report


def test_a_failed_check_shows_both_sides(report: str) -> None:
    assert ">       (is (= want" in report
    assert "E   the parts" in report
    assert "E     -  :parts [1 2 3]}" in report
    assert "E     +  :parts [1 2 4]}" in report
    assert "test_shop.sema:6: CheckFailed" in report


def test_rows_are_tests(report: str) -> None:
    assert "FAILED test_shop.sema::test_doubles[[3 7]]" in report
    assert "E     expected is 7" in report
    assert "E     (* 2 n) is 6" in report


def test_other_errors_show_message_and_place(report: str) -> None:
    assert "E   expected list or vector, got int" in report
    assert "at car (test_shop.sema:14:35)" in report
    assert "the message was: no user 5" in report


def test_false_is_a_failure(report: str) -> None:
    assert "test-false returned #f" in report
    assert "test_shop.sema:20: AssertionError" in report


def test_a_property_shows_its_smallest_example(report: str) -> None:
    assert "E   smallest failing example: xs = (0 0)" in report


def test_selection(project: Path) -> None:
    assert "2 passed" in run(project, "-k", "adds or waits").stdout
    assert "1 passed" in run(project, "-m", "slow").stdout
    assert "1 passed" in run(project, "test_shop.sema::test_adds").stdout
    assert "6 failed" in run(project, "--lf").stdout


def test_in_several_processes(project: Path) -> None:
    done = run(project, "-n", "2")
    assert "6 failed, 8 passed, 1 skipped, 1 xfailed" in done.stdout
    assert "E     +  :parts [1 2 4]}" in done.stdout


def test_coverage(project: Path) -> None:
    run(project, "-k", "adds", "--cov=.", "--cov-report=json")
    assert json.loads((project / "coverage.json").read_text())["files"]["shop.sema"]["missing_lines"] == [3]


def test_sema_test(project: Path) -> None:
    done = run(project, "-k", "adds or true", command=("-m", "semac.cli.entry", "test"))
    assert "2 passed" in done.stdout
    assert "warning" not in done.stdout
    assert run(project, command=("-m", "semac.cli.entry", "test")).returncode == 1


def test_a_file_that_does_not_parse(tmp_path: Path) -> None:
    (tmp_path / "test_open.sema").write_text("(deftest open\n  (is (= 1 1))")
    done = run(tmp_path)
    assert done.returncode == 2
    assert "--> test_open.sema:1:1" in done.stdout


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("(deftest a {:skipp 1} (is #t))", "unknown option :skipp"),
        ("(deftest a [x y] {:each [[1 2 3]]} (is x))", "a row of :each has 3 values, the test takes 2"),
        ("(defproperty a [x :intt] (is #t))", "no kind of values: :intt"),
        ("(defproperty a [x] (is #t))", "expected a vector of names and kinds"),
    ],
)
def test_mistakes(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "test_a.sema").write_text(text)
    assert problem in run(tmp_path).stdout


def test_a_script_that_ends_itself(tmp_path: Path) -> None:
    """It is left alone where its name isn't that of a test file, else an error of its own, and the others are run."""
    for name in ("test_script.sema", "script_test.sema"):
        (tmp_path / name).write_text("(println 1)\n(exit 1)")
    (tmp_path / "test_good.sema").write_text("(deftest good (is #t))")
    done = run(tmp_path, "--continue-on-collection-errors")
    assert "1 passed, 1 error" in done.stdout
    assert "test_script.sema ends itself with (exit 1): a script, not a file of tests" in done.stdout


def test_without_sema_files_no_compiler_is_loaded(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "import sys\ndef test_a():\n    assert not {'semac.pipeline', 'greenlet'} & set(sys.modules)\n"
    )
    assert "1 passed" in run(tmp_path).stdout
