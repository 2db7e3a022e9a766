"""Python files that `sema compile` writes: which version made them, and what happens with a runtime of another one."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from semac import __version__
from semac.cli.compile import main

OLD = '''"""Compiled from shop.sema by semac."""

from {module} import {name}

print("loaded")
'''


def run(file: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, file], capture_output=True, text=True, timeout=60)


def test_a_file_says_which_version_made_it(tmp_path: Path) -> None:
    source = tmp_path / "shop.sema"
    source.write_text('(println "open")')
    assert main([str(source)]) == 0
    target = tmp_path / "shop.py"
    first, second, *_ = target.read_text().split("\n")
    assert first == f"# Compiled with semac {__version__}"
    assert second == '"""Compiled from shop.sema by semac."""'
    assert run(target).stdout == "open\n"


@pytest.mark.parametrize(
    ("module", "name", "missing"),
    [
        ("sema_runtime.lib.strings", "string_append", "sema_runtime.lib.strings"),  # a module that moved
        ("sema_runtime.lib.files", "file_read", "sema_runtime.lib.files.file_read"),  # a module that became a package
    ],
)
def test_a_file_of_another_version_says_how_to_compile_it_again(
    tmp_path: Path, module: str, name: str, missing: str
) -> None:
    file = tmp_path / "shop.py"
    file.write_text(OLD.format(module=module, name=name))
    done = run(file)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.splitlines()[-1] == (
        f"ImportError: {file} imports {missing}, which this sema_runtime doesn't have: another version of semac"
        f" compiled the file. Compile it again: sema compile shop.sema -o {file}"
    )
    assert "During handling" not in done.stderr


def test_other_failing_imports_are_left_alone(tmp_path: Path) -> None:
    file = tmp_path / "shop.py"
    file.write_text('"""A shop."""\nimport sema_runtime.lib.strings\n')
    assert run(file).stderr.endswith("ModuleNotFoundError: No module named 'sema_runtime.lib.strings'\n")
    file.write_text('"""Compiled from shop.sema by semac."""\nimport no_such_module\n')
    assert run(file).stderr.endswith("ModuleNotFoundError: No module named 'no_such_module'\n")
