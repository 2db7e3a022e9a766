"""Every name is documented, and every example does what it says (semac/docs/examples.py has the notation)."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import redirect_stderr, redirect_stdout
from contextvars import copy_context
from io import StringIO
from pathlib import Path
from unittest.mock import patch

import pytest
from llm_support import llm as llm
from paths import DOCS, SCRIPTS

from sema_runtime import tasks
from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.describe import describe
from sema_runtime.tasks import scheduler
from sema_runtime.values.printer import to_text
from semac.checks.program import check_text
from semac.docs.entries import all_entries
from semac.docs.examples import Example, split_examples
from semac.session import Session

LINK = re.compile(r"\]\(([\w-]*\.md)?#([^)]+)\)")
SLEEP = tasks.sleep  # which the fixture llm replaces
ENTRIES = {name: entry for name, entry in all_entries().items() if not entry.alias_of}


# What has no capability but waits for a person, or tells about a terminal that a test may not have.
NOT_RUN = {
    *("io/eof?", "io/read-key", "io/read-key-timeout", "io/tty-raw!", "io/tty-restore!", "read-line", "read-stdin"),
    *("sys/term-size", "sys/tty", "term/cursor-position", "term/query-cursor-position", "term/supports-kitty-keys?"),
}


def examples_of(name: str) -> list[Example]:
    return split_examples(ENTRIES[name].body)[1]


def runs(example: Example) -> bool:
    return example.runs


WITH_EXAMPLES = [name for name in ENTRIES if examples_of(name)]


@pytest.fixture
def folder(llm: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty current folder and ten seconds. The environment is as before afterwards, waiting tasks are forgotten."""

    def give_up(*_: object) -> None:
        raise TimeoutError("the example doesn't end")

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tasks, "sleep", SLEEP)
    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(10)
    with patch.dict(os.environ):
        yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)
    scheduler._per_thread.scheduler = None


@pytest.mark.parametrize("name", WITH_EXAMPLES)
@pytest.mark.usefixtures("folder")
def test_examples(name: str) -> None:
    copy_context().run(check_examples, name)  # what one entry puts in the context is unknown to the next


def check_examples(name: str) -> None:
    session = Session(closed=False)
    for example in examples_of(name):
        if example.runs:
            assert outcome(session, example) == example.expected, f"{name}: {example.source}"


def outcome(session: Session, example: Example) -> str:
    """What the example gives, in the words of its kind."""
    written = StringIO()
    try:
        with redirect_stdout(written), redirect_stderr(StringIO()):
            value = session.run(example.source, drain=False)
    except Exception as error:
        message = describe(error).message
        return message if example.kind == "!" else f"error: {message}"
    if example.kind == "!":
        return f"no error: {to_text(value)}"
    if example.kind == "prints":
        return written.getvalue().removesuffix("\n").replace("\n", "\\n")
    return to_text(value) if example.kind else ""


@pytest.mark.parametrize("name", [name for name in WITH_EXAMPLES if not all(map(runs, examples_of(name)))])
def test_examples_that_are_not_run_are_sound(name: str) -> None:
    program = "\n".join(example.source for example in examples_of(name) if example.kind != "!")
    assert [finding.text() for finding in check_text(program, name)] == []


def test_every_name_has_a_sentence() -> None:
    assert [name for name, entry in ENTRIES.items() if not entry.summary] == []


def test_every_name_has_an_example() -> None:
    assert [name for name, entry in ENTRIES.items() if entry.module != "unavailable" and not examples_of(name)] == []


def test_what_needs_no_capability_has_an_example_that_runs() -> None:
    shown = [name for name in WITH_EXAMPLES if name in INDEX and not any(map(runs, examples_of(name)))]
    assert {name for name in shown if not ENTRIES[name].capability} == NOT_RUN


def test_the_pages_are_current() -> None:
    """Else run scripts/build_manual.py."""
    assert subprocess.run([sys.executable, SCRIPTS / "build_manual.py", "--check"]).returncode == 0


def test_links() -> None:
    """Every link of the pages of names leads to one entry."""
    texts = {path.name: path.read_text(encoding="utf-8") for path in (DOCS / "reference").glob("*.md")}
    pages = {name: text for name, text in texts.items() if name == "index.md" or "[All names](index.md)" in text}
    places = [f"{page}#{anchor}" for page, text in pages.items() for anchor in re.findall(r'<a id="([^"]+)"', text)]
    links = {f"{file or page}#{anchor}" for page, text in pages.items() for file, anchor in LINK.findall(text)}
    assert len(places) == len(set(places)) and links == set(places)
