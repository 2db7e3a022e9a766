"""scripts/bench_speed.py: what it says of programs that agree with their twins, and of those that don't."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from paths import SCRIPTS


def bench(*args: str | Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, SCRIPTS / "bench_speed.py", *args]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


def add_program(folder: Path, name: str, sema: str, python: str) -> None:
    (folder / name).mkdir(parents=True)
    (folder / name / "program.sema").write_text(sema)
    (folder / name / "program.py").write_text(python)


def test_check_compares_what_is_printed(tmp_path: Path) -> None:
    add_program(tmp_path, "same", '(println (str "n: " (+ 1 2)))', 'print("n:", 3)')
    add_program(tmp_path, "wrong", "(println (+ 1 2))", "print(4)")
    add_program(tmp_path, "broken", "(println (car 5))", "print(5)")
    done = bench(tmp_path, "--check")
    lines = dict(line.split(": ", 1) for line in done.stdout.splitlines() if ": " in line)
    assert done.returncode == 1
    assert lines["same"] == "the same"
    assert lines["wrong"] == "program printed '3' instead of '4'"
    assert lines["broken"].startswith("program failed: ")
    assert bench(tmp_path, "--check", "--only", "same").returncode == 0


def test_times_of_a_program_and_a_module(tmp_path: Path) -> None:
    loop = "(define (f n) (if (= n 0) 0 (f (- n 1))))\n(println (f 300000))"
    add_program(tmp_path / "programs", "loop", loop, "for n in range(600000):\n    pass\nprint(0)")
    done = bench(tmp_path / "programs", "--rounds", "1", "--json", tmp_path / "times.json")
    (programs,) = json.loads((tmp_path / "times.json").read_text())["programs"].values()
    assert done.returncode == 0
    assert "median" in done.stdout
    assert [(way, len(times)) for way, times in programs["loop"]["cpu"].items()] == [
        ("python", 1),
        ("program", 1),
        ("module", 1),
    ]
    assert not list((tmp_path / "programs").rglob("__pycache__")), "programs run in a copy"


def test_a_folder_without_programs(tmp_path: Path) -> None:
    done = bench(tmp_path)
    assert done.returncode == 1
    assert "no such programs" in done.stderr
