"""Every block of code in the documentation runs: those of a page in their order, in a folder of their own.

| language | what is done |
|---|---|
| `sema`, `lisp` | run in one session; `; => value`, `; error: message`, `; prints text` behind a form: what must come |
| `python` | run in one namespace, with `await`; `# => repr` behind an expression is its value |
| `console` | each line `$ command` is run, and prints what stands below it (see tests/support/followed_pages.py) |
| `sh` | run as a script that may not fail |
| `json`, `toml`, `yaml`, `ini` | parsed |

A `text` block directly below a program is what it prints. A comment `<!-- not run: REASON -->` above a block has it
compiled or checked instead. tests/data/docs/PAGE/ has what a page takes for granted: files for its folder, and
before.sema and before.py, which run first; REPLACE of the latter has texts that stand for others, such as addresses of
servers. Variables that they set reach commands. Pages in OWN are followed by tests of their own.
"""

from __future__ import annotations

import ast
import asyncio
import builtins
import importlib
import inspect
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from configparser import ConfigParser
from contextlib import redirect_stdout
from contextvars import copy_context
from io import StringIO
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
import yaml
from doc_blocks import CODE, Block, blocks, pages
from followed_pages import commands, environment, pattern_of, printed_by, tidy
from llm_support import llm as llm
from paths import DATA, DOCS, ROOT

from sema_runtime import tasks
from sema_runtime.conditions.describe import describe
from sema_runtime.tasks import scheduler
from sema_runtime.values.printer import to_text
from semac.checks.program import check_text
from semac.session import Session

OWN = {  # pages that a test of their own follows
    "docs/how-to/cookbook.md": "tests/docs/test_cookbook.py",
    "docs/how-to/data-analyst.md": "tests/docs/test_followed_guides.py",
    "docs/how-to/python-libraries.md": "tests/interop/test_libraries.py",
    "docs/how-to/python-llm.md": "tests/docs/test_python_docs.py",
    "docs/how-to/workflow-python.md": "tests/workflow/run/test_workflow_python.py",
    **{f"docs/tutorial/{page.name}": "tests/docs/test_tutorial.py" for page in (DOCS / "tutorial").glob("*.md")},
}
PAGES = [page for page in pages() if str(page.relative_to(ROOT)) not in OWN]
SECONDS = 60  # for one page
SLEEP = tasks.sleep  # which the fixture llm replaces
EXPECTED = re.compile(r"^(.*?)  ; (=>|error:|prints) ?(.*)$")
PYTHON_VALUE = re.compile(r"^(.*?)  +# => (.*)$", re.MULTILINE)
TOP_LEVEL_AWAIT = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
OTHER = ("text", "csv", "markdown", "lua", "vim", "elisp")  # shown, not run; editors read the last three


@pytest.fixture
def folder(llm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """tmp_path/work, the current folder; what blocks change of the process is undone."""

    def give_up(*_: object) -> None:
        raise TimeoutError("the block doesn't end")

    work = tmp_path / "work"
    work.mkdir()
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(work)
    monkeypatch.syspath_prepend(str(work))
    monkeypatch.setattr(tasks, "sleep", SLEEP)
    before, modules = signal.signal(signal.SIGALRM, give_up), set(sys.modules)
    signal.alarm(SECONDS)
    with patch.dict(os.environ):
        yield work
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    scheduler._per_thread.scheduler = None
    for name in set(sys.modules) - modules:
        if str(work) in (getattr(sys.modules[name], "__file__", None) or ""):
            del sys.modules[name]


@pytest.mark.parametrize("page", PAGES, ids=[str(page.relative_to(ROOT)) for page in PAGES])
def test_page(page: Path, folder: Path) -> None:
    copy_context().run(Reader(page, folder).read)


class Reader:
    """Does what the blocks of one page say."""

    def __init__(self, page: Path, folder: Path) -> None:
        self.page = page
        self.folder = folder
        self.session = Session("<page>", closed=False)
        self.namespace: dict[str, Any] = {"__name__": "__main__", "__builtins__": builtins}
        self.ids: dict[str, str] = {}
        self.given: dict[str, str] = {}  # variables for commands
        self.seen = ""  # the programs so far, which those that are only checked may use

    def read(self) -> None:
        self.prepare()
        for block in blocks(self.page):
            try:
                self.do(block)
            except pytest.skip.Exception:
                raise
            except Exception as error:
                raise AssertionError(f"{block}: {describe(error).message}\n{block.text}") from error

    def prepare(self) -> None:
        """Puts into the folder what the page takes for granted, and runs the programs that do more."""
        base = DOCS if DOCS in self.page.parents else ROOT
        given = DATA / "docs" / self.page.relative_to(base).with_suffix("")
        if not given.exists():
            return
        shutil.copytree(given, self.folder, dirs_exist_ok=True)
        before = dict(os.environ)
        if (self.folder / "before.py").exists():
            self.namespace["ROOT"] = ROOT
            code = compile((self.folder / "before.py").read_text(), "before.py", "exec", dont_inherit=True)
            exec(code, self.namespace)
        if (self.folder / "before.sema").exists():
            self.seen = (self.folder / "before.sema").read_text() + "\n"
            self.session.run(self.seen, "before.sema")
        self.given = {name: value for name, value in os.environ.items() if before.get(name) != value}

    def do(self, block: Block) -> None:
        for shown, meant in self.namespace.get("REPLACE", {}).items():
            block.text = block.text.replace(shown, meant)
        if block.file:
            path = self.folder / block.file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text)
        elif block.language in ("sema", "lisp"):
            check_sema(self.seen, block) if block.not_run else self.run_sema(block)
            self.seen += block.text
        elif block.language == "python":
            check_python(block) if block.not_run else self.run_python(block)
        elif block.language == "console" and not block.not_run:
            self.run_console(block)
        elif block.language in ("sh", "bash", "console"):
            check_shell(block) if block.not_run else self.run_shell(block)
        elif block.language in DATA_READERS:
            DATA_READERS[block.language](block.text)
        else:
            assert block.language in OTHER, f"no such language: {block.language!r}"

    def run_sema(self, block: Block) -> None:
        """Runs the lines up to each expectation, together with the line that has it; then the rest."""
        written = StringIO()
        lines: list[str] = []
        self.session.run(block.before, "<before>")
        with redirect_stdout(written):
            for line in block.text.splitlines():
                match = EXPECTED.match(line)
                lines.append(match[1] if match else line)
                if match:
                    start = written.tell()
                    outcome = self.outcome("\n".join(lines), match[2], lambda at=start: written.getvalue()[at:])
                    assert outcome == match[3], f"{match[1]}\n  gives {outcome}\n  not   {match[3]}"
                    lines = []
            self.session.run("\n".join(lines), str(block))
        if block.printed is not None:
            assert written.getvalue() == block.printed

    def outcome(self, text: str, kind: str, written: Any) -> str:
        try:
            value = self.session.run(text, "<page>")
        except Exception as error:
            if kind != "error:":
                raise
            return describe(error).message
        assert kind != "error:", f"no error: {to_text(value)}"
        return to_text(value) if kind == "=>" else written().removesuffix("\n").replace("\n", "\\n")

    def run_python(self, block: Block) -> None:
        def check(value: Any, expected: str) -> None:
            assert repr(value) == expected, f"gives {value!r}, not {expected}"

        if block.text.startswith("%") or "shell" in self.namespace:
            return self.run_cell(block)
        code = PYTHON_VALUE.sub(lambda match: f"check(({match[1]}), {match[2]!r})", block.text)
        compiled = compile(code, str(block), "exec", flags=TOP_LEVEL_AWAIT, dont_inherit=True)
        written = StringIO()
        self.namespace["check"] = check
        with redirect_stdout(written):
            done = eval(compiled, self.namespace)
            if inspect.iscoroutine(done):
                asyncio.run(done)
        if block.printed is not None:
            assert written.getvalue() == block.printed

    def run_cell(self, block: Block) -> None:
        """Runs a cell of a notebook; a page whose first block has a magic is one."""
        from IPython.core.interactiveshell import InteractiveShell

        shell = self.namespace.setdefault("shell", InteractiveShell())
        shell.run_cell(block.text).raise_error()

    def run_console(self, block: Block) -> None:
        for command in commands(block):
            printed = "".join(f"{line}\n" for line in printed_by(command, self.folder.parent, self.ids, self.given))
            match = re.fullmatch(pattern_of(tidy(command.expected), self.ids), printed)
            expected = "\n".join(command.expected)
            assert match, f"$ {command.text}\n--- the page\n{expected}\n--- printed\n{printed}"
            self.ids |= match.groupdict()

    def run_shell(self, block: Block) -> None:
        env = environment(self.folder.parent, self.given)
        done = subprocess.run(
            ["sh", "-e", "-c", block.text], cwd=self.folder, env=env, capture_output=True, text=True, timeout=SECONDS
        )
        assert done.returncode == 0, done.stderr or done.stdout


# Blocks that are not run


def check_sema(seen: str, block: Block) -> None:
    """A program is read and compiled; its names exist, and calls have arguments that their functions take."""
    line = seen.count("\n")
    findings = [finding for finding in check_text(seen + block.text, str(block)) if finding.line > line]
    assert findings == [], "\n".join(finding.text() for finding in findings)


def check_python(block: Block) -> None:
    """A program is compiled, and what it imports of ours exists."""
    compile(block.text, str(block), "exec", flags=TOP_LEVEL_AWAIT, dont_inherit=True)
    for node in ast.walk(ast.parse(block.text)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(("sema_runtime", "semac")):
            module = importlib.import_module(node.module or "")
            for alias in node.names:
                if not hasattr(module, alias.name):
                    importlib.import_module(f"{node.module}.{alias.name}")


def check_shell(block: Block) -> None:
    text = block.text
    if block.language == "console":
        text = "\n".join(line.removeprefix("$ ") for line in text.splitlines() if line.startswith("$ "))
    done = subprocess.run(["sh", "-n", "-c", text], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def read_ini(text: str) -> None:
    ConfigParser().read_string(text)


DATA_READERS = {"json": json.loads, "toml": tomllib.loads, "yaml": yaml.safe_load, "ini": read_ini}


def test_pages_of_their_own_tests_are_named_there() -> None:
    for page, test in OWN.items():
        text = (ROOT / test).read_text()
        assert Path(page).name in text or Path(page).parent.name in text, f"{test} doesn't follow {page}"
        assert (ROOT / page).exists()


def test_every_block_has_a_language() -> None:
    assert [str(block) for page in pages() for block in blocks(page) if block.language not in (*CODE, *OTHER)] == []


def test_reasons() -> None:
    """What isn't run has a reason that says something, and is code."""
    marked = [block for page in PAGES for block in blocks(page) if block.not_run]
    assert [str(block) for block in marked if len(block.not_run.split()) < 3 or block.language not in CODE] == []
