"""`sema fmt` as a process: files, settings, modes, exit statuses."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

LOOSE, TIDY = "(a   b)\n", "(a b)\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "loose.sema").write_text(LOOSE)
    (tmp_path / "tidy.sema").write_text(TIDY)
    return tmp_path


def fmt(folder: Path, *args: str, stdin: bytes = b"") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "semac.cli.entry", "fmt", *args]
    done = subprocess.run(command, cwd=folder, input=stdin, capture_output=True, timeout=60)
    return subprocess.CompletedProcess(command, done.returncode, done.stdout.decode(), done.stderr.decode())


def test_all_files_below_are_formatted_and_hidden_folders_are_not(folder: Path) -> None:
    for name in ("lib", ".cache"):
        (folder / name).mkdir()
        (folder / name / "x.sema").write_text(LOOSE)
    done = fmt(folder)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == ("Formatted: loose.sema\nFormatted: lib/x.sema\n\n2 file(s) formatted, 1 file(s) unchanged\n")
    assert (folder / ".cache" / "x.sema").read_text() == LOOSE
    assert (folder / "lib" / "x.sema").read_text() == TIDY
    assert fmt(folder).stdout == "3 file(s) already formatted\n"


def test_check_changes_nothing_and_fails(folder: Path) -> None:
    done = fmt(folder, "--check")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout == "Would reformat: loose.sema\n\n1 file(s) would be reformatted, 2 file(s) checked\n"
    assert (folder / "loose.sema").read_text() == LOOSE
    done = fmt(folder, "--check", "tidy.sema")
    assert (done.returncode, done.stdout) == (0, "1 file(s) already formatted\n")


def test_diff_shows_lines_and_changes_nothing(folder: Path) -> None:
    (folder / "long.sema").write_text("(a   b)\n1\n2\n3\n4\n(c   d)\n")
    done = fmt(folder, "--diff", "long.sema")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == [
        *("--- long.sema", "+++ long.sema", "@@ -1 +1 @@", "-(a   b)", "+(a b)", " 1", " 2"),
        *("@@ -6 +6 @@", "-(c   d)", "+(c d)", "", "1 file(s) would change, 1 file(s) checked"),
    ]
    assert fmt(folder, "--diff", "--check", "long.sema").returncode == 1
    assert fmt(folder, "--diff", "tidy.sema").stdout == "0 file(s) would change, 1 file(s) checked\n"


def test_json_has_an_object_a_file(folder: Path) -> None:
    (folder / "broken.sema").write_text("(a\n  (b)")
    done = fmt(folder, "--json", "broken.sema", "loose.sema", "tidy.sema")
    assert (done.returncode, done.stderr) == (1, "")
    assert [json.loads(line) for line in done.stdout.splitlines()] == [
        {"error": "unclosed delimiter\n  at broken.sema:1:1", "file": "broken.sema", "formatted": False},
        {"changed": True, "file": "loose.sema", "formatted": True, "source": TIDY},
        {"changed": False, "file": "tidy.sema", "formatted": True, "source": TIDY},
    ]
    assert (folder / "loose.sema").read_text() == LOOSE
    assert fmt(folder, "--json", "loose.sema").returncode == 0
    assert fmt(folder, "--json", "--check", "loose.sema").returncode == 1
    done = fmt(folder, "--json", "-", stdin=LOOSE.encode())
    assert done.stdout == '{"formatted":true,"source":"(a b)\\n"}\n'


def test_stdin_goes_to_stdout(folder: Path) -> None:
    done = fmt(folder, "-", stdin="(ü   b)".encode())
    assert (done.returncode, done.stdout, done.stderr) == (0, "(ü b)\n", "")
    done = fmt(folder, "-", stdin=b"(a\n  ]")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "Error formatting <stdin>: unexpected closing delimiter\n  at <stdin>:2:3\n1 error(s)\n"
    assert fmt(folder, "--check", "-", stdin=LOOSE.encode()).returncode == 1


def test_files_that_fail_are_named_and_the_others_formatted(folder: Path) -> None:
    (folder / "broken.sema").write_text('(a "b')
    (folder / "latin.sema").write_bytes(b"(a)\n \xff")
    done = fmt(folder, "broken.sema", "latin.sema", "missing.sema", "loose.sema")
    assert done.returncode == 1
    assert done.stdout == "Formatted: loose.sema\n\n1 file(s) formatted, 0 file(s) unchanged\n"
    assert done.stderr.splitlines() == [
        *("Error formatting broken.sema: unterminated string", "  at broken.sema:1:4"),
        *("Error formatting latin.sema: not UTF-8 text", "  at latin.sema:2:2"),
        *("Error formatting missing.sema: No such file or directory", "3 error(s)"),
    ]
    assert (folder / "broken.sema").read_text() == '(a "b'


def test_pipes_and_dangling_links_are_no_files(folder: Path) -> None:
    os.mkfifo(folder / "pipe.sema")
    (folder / "dangling.sema").symlink_to("nothing")
    assert fmt(folder, "--check").stdout.endswith("\n1 file(s) would be reformatted, 2 file(s) checked\n")
    done = fmt(folder, "pipe.sema", "dangling.sema")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines() == [
        "Error formatting pipe.sema: it is a device or a pipe, not a regular file; use - for stdin",
        *("Error formatting dangling.sema: No such file or directory", "2 error(s)"),
    ]


def test_links_modes_and_marks_stay(folder: Path) -> None:
    script = folder / "script"
    script.write_bytes(b"\xef\xbb\xbf(a   b)")
    script.chmod(0o754)
    (folder / "link.sema").symlink_to("script")
    assert fmt(folder, "link.sema").returncode == 0
    assert (folder / "link.sema").is_symlink()
    assert script.read_bytes() == b"\xef\xbb\xbf(a b)\n"
    assert stat.S_IMODE(script.stat().st_mode) == 0o754
    assert sorted(os.listdir(folder)) == ["link.sema", "loose.sema", "script", "tidy.sema"]


def test_settings_come_from_the_nearest_file_and_options_win(folder: Path) -> None:
    inner = folder / "inner"
    (inner / "made").mkdir(parents=True)
    (folder / "sema.toml").write_text(
        '[fmt]\nwidth = 10\nindent = 4\nmax_blank_lines = 0\nignore = ["./made", "*.gen.sema"]\n'
    )
    (inner / "x.sema").write_text("(f aaaa bbbb)\n\n\n(g)\n")
    for name in ("made/y.sema", "z.gen.sema"):
        (inner / name).write_text(LOOSE)
    assert fmt(inner).stdout == "Formatted: x.sema\n\n1 file(s) formatted, 0 file(s) unchanged\n"
    assert (inner / "x.sema").read_text() == "(f aaaa\n    bbbb)\n(g)\n"
    done = fmt(inner, "--width", "80", "-", stdin=b"(f aaaa bbbb)")
    assert done.stdout == "(f aaaa bbbb)\n"
    assert fmt(inner, "made/*.sema").stdout == "No .sema files found\n"
    assert fmt(inner, "made/y.sema").stdout.startswith("Formatted: made/y.sema\n")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[fmt", "is not TOML"),
        ("fmt = 3", "fmt must be a table, [fmt]"),
        ("[fmt]\nwidth = 0", "width of [fmt] must be a whole number from 1 to 1000000"),
        ("[fmt]\nindent = true", "indent of [fmt] must be a whole number"),
        ("[fmt]\nalign = 1", "align of [fmt] must be true or false"),
        ("[fmt]\nignore = 'x'", "ignore of [fmt] must be a list of strings"),
    ],
)
def test_settings_that_make_no_sense_change_nothing(folder: Path, text: str, problem: str) -> None:
    (folder / "sema.toml").write_text(text)
    done = fmt(folder)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("Error: ") and problem in done.stderr
    assert (folder / "loose.sema").read_text() == LOOSE


@pytest.mark.parametrize("args", [("--json", "--diff"), ("-", "loose.sema"), ("--width", "0"), ("--nonsense",)])
def test_wrong_usage(folder: Path, args: tuple[str, ...]) -> None:
    done = fmt(folder, *args)
    assert (done.returncode, done.stdout) == (2, "")
    assert (folder / "loose.sema").read_text() == LOOSE


def test_options_reach_the_layout(folder: Path) -> None:
    text = b"(define a 1)\n(define bcd 2)\n\n\n\n(f\n x)"
    done = fmt(folder, "--align", "--max-blank-lines", "2", "-", stdin=text)
    assert done.stdout == "(define a    1)\n(define bcd  2)\n\n\n(f x)\n"


def test_no_files(tmp_path: Path) -> None:
    done = fmt(tmp_path)
    assert (done.returncode, done.stdout) == (0, "No .sema files found\n")
