"""What programs become: tests/golden holds Sema sources, each with the Python it is compiled to.

SEMA_UPDATE_GOLDEN=1 writes the Python (and the picture in the README) anew; the difference is there to be read.
"""

from __future__ import annotations

import io
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from shutil import which
from typing import Any

import pytest
from golden_files import DIVIDER, GOLDEN, read
from paths import EXAMPLES, ROOT

from sema_runtime.conditions.describe import describe
from semac.pipeline import compile_source
from semac.session import Session

RUFF = Path(sys.executable).parent / "ruff"
UPDATE = bool(os.environ.get("SEMA_UPDATE_GOLDEN"))
FENCES = re.compile(r"```lisp\n(?P<source>.*?)```(?P<between>.*?)```python\n(?P<python>.*?)```", re.DOTALL)


def printed(run: Any) -> tuple[str, str]:
    """What something prints, and the message of the error it ends with."""
    out = io.StringIO()
    failure = ""
    with redirect_stdout(out):
        try:
            run()
        except Exception as error:
            failure = describe(error).message
    return out.getvalue(), failure


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_emitted_python(path: Path) -> None:
    golden = read(path)
    made = golden.compiled()
    if UPDATE:
        path.write_text(golden.header + golden.source + DIVIDER + made)
        return
    assert made == golden.python


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_emitted_python_compiles_and_is_the_same_each_time(path: Path) -> None:
    golden = read(path)
    made = golden.compiled()
    compile(made, "example.py", "exec", dont_inherit=True)
    assert golden.compiled() == made


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_emitted_python_is_the_same_under_a_debugger(path: Path) -> None:
    golden = read(path)
    tracer = sys.gettrace()
    sys.settrace(lambda frame, event, argument: None)
    try:
        made = golden.compiled()
    finally:
        sys.settrace(tracer)
    assert made == golden.python


@pytest.mark.parametrize("path", GOLDEN, ids=[path.stem for path in GOLDEN])
def test_emitted_python_prints_what_the_program_prints(path: Path) -> None:
    golden = read(path)
    code = compile(golden.compiled(), "example.py", "exec", dont_inherit=True)
    ours = printed(lambda: exec(code, {"__name__": "example"}))
    assert ours == printed(lambda: Session("example.sema", closed=golden.mode == "program").run(golden.source))
    assert ours[0], "a golden program prints something"


@pytest.mark.skipif(which("ruff") is None and not RUFF.exists(), reason="no ruff")
def test_emitted_python_is_laid_out_as_formatters_do(tmp_path: Path) -> None:
    for path in GOLDEN:
        (tmp_path / f"{path.stem}.py").write_text(read(path).python)
    command = [str(RUFF) if RUFF.exists() else "ruff", "format", "--isolated", "--line-length", "100", "--diff", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_picture_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text()
    source = (EXAMPLES / "pipeline.sema").read_text()
    python = compile_source(source, "pipeline.sema", "module", is_text=True).python_text()
    if UPDATE:
        made = f"```lisp\n{source}```\\g<between>```python\n{python}```"
        (ROOT / "README.md").write_text(FENCES.sub(made.replace("\\n", "\\\\n"), readme, count=1))
        return
    found = FENCES.search(readme)
    assert found is not None
    assert (found["source"], found["python"]) == (source, python)
