"""The playground in a real browser: Sema on Pyodide, from a local server and from local files."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from chromium_support import Page, browser
from paths import EXAMPLES
from site_support import built, served

from semac.dumps import Dumps
from semac.format.document import format_text
from semac.pipeline import compile_source

READY = "document.body?.dataset.ready || document.querySelector('#status.error')"
IDLE = "!document.body.classList.contains('running')"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder with the playground."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        pytest.skip("no Node.js with npm here: the playground can't be built")
    folder = tmp_path_factory.mktemp("site")
    done = built(folder, "--only-playground")
    if "npm could not install" in done.stderr or "pip could not download" in done.stderr:
        pytest.skip(f"the playground can't be built here: {done.stderr[-500:]}")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    with served(site) as base:
        yield f"{base}/playground/index.html"


@pytest.fixture(scope="module")
def tab(site: Path, address: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    """A tab in which the playground is ready; its Python starts once for most tests."""
    with browser(tmp_path_factory.mktemp("profile")) as opened:
        opened.size(1360, 860)
        opened.go(address)
        opened.until(READY)
        yield opened


@pytest.fixture
def page(tab: Page) -> Iterator[Page]:
    tab.said.clear()
    yield tab
    assert tab.said == []


def put(page: Page, program: str) -> None:
    """Has the page open a program, as a link to it does."""
    page.run("history.replaceState(null, '', '#')")
    page.run(f"location.hash = 'text=' + encodeURIComponent({json.dumps(program)})")
    page.until(f"window.playground.text() === {json.dumps(program)}")


def ran(page: Page, program: str | None = None) -> str:
    """What the page shows once the program has run."""
    if program is not None:
        put(page, program)
    page.click("#run")
    page.until(IDLE)
    return page.text("#output")


def test_it_starts(page: Page, address: str) -> None:
    assert page.text("#status").startswith("Ready")
    assert page.text("#facts").startswith("Sema ")
    loaded = page.run("performance.getEntriesByType('resource').map((entry) => entry.name)")
    assert loaded and all(name.startswith((address.rpartition("/")[0], "data:")) for name in loaded)


def test_examples(page: Page) -> None:
    """Each runs; those that the project has too print what they print elsewhere."""
    for name in page.run("[...document.querySelector('#examples').options].map((option) => option.value)")[1:]:
        page.run(
            f"(() => {{ const list = document.querySelector('#examples'); list.value = '{name}'; list.onchange(); }})()"
        )
        printed = ran(page)
        assert "Done" in page.text("#status"), (name, printed)
        expected = EXAMPLES / "expected" / f"{name}.txt"
        if expected.exists():
            assert printed.strip().startswith(expected.read_text().strip()), name


def test_an_error_has_its_place_and_a_hint(page: Page) -> None:
    printed = ran(page, '(define (total xs)\n  (foldl + 0 xs))\n(total (list 1 "a"))\n')
    assert "expected number, got string" in printed and "main.sema:2:3" in printed and "^" in printed
    assert "Failed" in page.text("#status")
    page.until("document.querySelector('.cm-lint-marker-error') !== null")
    page.click("#output .place")
    assert page.run("window.playground.line()") == 2


def test_what_cannot_be_read_is_marked_as_you_type(page: Page) -> None:
    put(page, "(println (+ 1 2)")
    page.until("document.querySelector('.cm-lint-marker-error') !== null")
    page.until("window.playground.python().includes('# Error')")
    put(page, "(println (strng/upper 1))")
    page.until("document.querySelector('.cm-lintRange-error') !== null")


def test_the_python_is_what_the_compiler_writes(page: Page) -> None:
    program = (EXAMPLES / "pipeline.sema").read_text()
    dumps = Dumps("py")
    unit = compile_source(program, "main.sema", "module", is_text=True, watch=dumps.watch)
    unit.text = program
    put(page, program)
    page.until(f"window.playground.python() === {json.dumps(dumps.of(unit))}")


def test_share_links(page: Page, address: str) -> None:
    program = '(println "ünïcode, \\"quotes\\" and 🐍")\n; ' + "x" * 3000
    put(page, program)
    page.click("#share")
    page.until("location.hash.startsWith('#code=')")
    link = page.run("location.href")
    assert len(link) < 400
    put(page, "1")
    page.run(f"location.href = {json.dumps(link)}")
    page.until(f"window.playground.text() === {json.dumps(program)}")
    page.run(f"location.href = {json.dumps(link[:-9])}")
    page.until("document.querySelector('#status.error') !== null")
    assert "damaged" in page.text("#status") and page.run("window.playground.text()") == program


def test_a_program_that_never_ends_is_stopped(page: Page) -> None:
    put(page, '(println "begun") (define (spin n) (spin (+ n 1))) (spin 0)')
    page.click("#run")
    page.until("document.querySelector('#output').textContent.includes('begun')")
    page.click("#stop")
    page.until(IDLE)
    assert page.text("#output").splitlines() == ["begun", "Stopped."]
    assert ran(page, "(+ 1 2)") == "=> 3\n"


def test_the_time_limit(page: Page) -> None:
    page.run("document.querySelector('#limit').append(new Option('0.3 s', '0.3', true, true))")
    assert ran(page, "(define (spin n) (spin (+ n 1))) (spin 0)") == "Stopped by the time limit of 0.3 s.\n"
    page.run("document.querySelector('#limit').value = '10'")


def test_deep_recursion_is_an_error(page: Page) -> None:
    for program in ("(define (f n) (+ 1 (f n))) (f 1)", "(define (g n) (map (fn (x) (g x)) [n])) (g 1)"):
        assert "stack overflow: maximum call depth exceeded" in ran(page, program)
    assert ran(page, "1") == "=> 1\n"


def test_much_output_is_cut(page: Page) -> None:
    printed = ran(page, '(for-range (i 0 40000) (println "line" i))')
    assert "line 0\n" in printed and "the output was cut after 300,000 characters" in printed


def test_the_prompt_sees_the_program(page: Page) -> None:
    ran(page, "(define (double x) (* 2 x))")
    for typed in ("(double", "(double 21)"):
        page.run(f"document.querySelector('#prompt').value = {json.dumps(typed)}")
        page.run("document.querySelector('#prompt').focus()")
        page.key("Enter")
        page.until(IDLE)
    page.until("document.querySelector('#output').textContent.includes('=> 42')")
    assert page.text("#output") == "sema> (double 21)\n=> 42\n"


def test_input(page: Page) -> None:
    page.run("document.querySelector('#input').value = 'Ada\\nLovelace\\n'")
    assert ran(page, '(println "Hello" (read-line) (read-line) (read-line))') == "Hello Ada Lovelace nil\n"


def test_format(page: Page) -> None:
    program = "(define   (f x)\n(+ x\n 1))"
    put(page, program)
    page.click("#format")
    page.until(f"window.playground.text() === {json.dumps(format_text(program))}")


def test_models_are_a_stand_in(page: Page) -> None:
    printed = ran(page, '(llm/complete "What is 2+2?")')
    assert "its stand-in was asked: what is 2+2?" in printed.lower() and "(1 calls)" in printed


@pytest.mark.parametrize(
    ("program", "message"),
    [
        ('(http/get "https://example.com")', "http/get: a page has no sockets"),
        ('(shell "ls")', "shell: a page can't start programs"),
        ('(py/import "pydantic")', "pydantic is not part of the playground"),
        ('(box/run "1")', "box/run: the box is not part of the playground"),
    ],
)
def test_what_a_page_cannot_do(page: Page, program: str, message: str) -> None:
    printed = ran(page, program)
    assert message in printed and "main.sema:1:1" in printed and "page.py" not in printed


def test_without_stack_switching_tasks_say_so(address: str, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        page.call("Page.addScriptToEvaluateOnNewDocument", source="delete WebAssembly.Suspending")
        page.go(address)
        page.until(READY)
        assert page.run("document.querySelector('#tasks').hidden") is False
        assert "tasks, channels and calls of models don't run in this browser" in ran(page, "(await (async 1))")
        assert ran(page, "(map (fn (x) (* x x)) [1 2 3])") == "=> (1 4 9)\n"


def test_from_local_files(site: Path, tmp_path: Path) -> None:
    with browser(tmp_path) as page:
        page.go((site / "playground" / "index.html").as_uri())
        page.until(READY)
        assert ran(page, "(await (async (begin (sleep 1) 5)))") == "=> 5\n"
        assert page.said == []
