"""Text and metadata of PDF files. Those in tests/data/pdf have no embedded fonts and were made like this:

pages.pdf        Ghostscript 10.0, from a PostScript text of two pages with a DOCINFO pdfmark
picture.pdf      Ghostscript 10.0, a page with a filled rectangle
packed.pdf       qpdf 11.3 --object-streams=generate --linearize, from pages.pdf
no-password.pdf  qpdf 11.3 --encrypt "" owner 256, from pages.pdf
password.pdf     qpdf 11.3 --encrypt secret owner 256, from pages.pdf
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from outcomes import outcome
from paths import DATA, ROOT

from sema_runtime import capabilities
from sema_runtime.lib.data import pdf
from sema_runtime.support import input_files
from sema_runtime.tasks import scheduler
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import to_text
from semac.session import Session

DATA = DATA / "pdf"
FUNCTIONS = ("extract-text", "extract-text-pages", "page-count", "metadata")


@pytest.fixture(autouse=True)
def in_own_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder with the files above."""
    monkeypatch.chdir(tmp_path)
    for file in DATA.iterdir():
        os.symlink(file, file.name)
    yield
    scheduler._per_thread.scheduler = None


def run(source: str) -> str:
    return to_text(Session().run(source))


@pytest.mark.parametrize("name", ["pages", "packed", "no-password"])
def test_text_pages_and_metadata(name: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert run(f'(pdf/extract-text "{name}.pdf")') == '"Meeting at noon\\n\\nTotal 40.00"'
    assert run(f'(pdf/extract-text-pages "{name}.pdf")') == '("Meeting at noon" "Total 40.00")'
    assert run(f'(pdf/page-count "{name}.pdf")') == "2"
    assert run(f'(pdf/metadata "{name}.pdf")') == (
        '{:author "Ada" :creator "a test" :pages 2 :producer "GPL Ghostscript 10.00.0" :subject "Tea" :title "Bill 17"}'
    )
    assert capfd.readouterr() == ("", "")


def test_a_file_without_text() -> None:
    assert run('(list (pdf/extract-text "picture.pdf") (pdf/extract-text-pages "picture.pdf"))') == '("" (""))'
    assert run('(get (pdf/metadata "picture.pdf") :title)') == "nil"


@pytest.mark.parametrize("function", FUNCTIONS)
def test_files_that_can_not_be_read(function: str) -> None:
    Path("text.pdf").write_text("Dear reader")
    Path("empty.pdf").write_bytes(b"")
    os.mkfifo("pipe.pdf")
    wrong = {
        '"missing.pdf"': f"I/O error: pdf/{function} missing.pdf: No such file",
        '"text.pdf"': f"pdf/{function} text.pdf: not a PDF file",
        '"empty.pdf"': f"pdf/{function} empty.pdf: not a PDF file",
        '"password.pdf"': f"pdf/{function} password.pdf: the file is encrypted and needs a password",
        '"."': f"pdf/{function}: PDF input must be a regular file: .",
        '"pipe.pdf"': f"pdf/{function}: PDF input must be a regular file: pipe.pdf",
        "5": "expected string, got int",
    }
    for argument, message in wrong.items():
        assert outcome(f"(pdf/{function} {argument})") == f"! {message}"


def test_damaged_files(capfd: pytest.CaptureFixture[str]) -> None:
    chance = random.Random(4)
    refused = 0
    for round_ in range(80):
        data = bytearray((DATA / ("packed.pdf" if round_ % 4 else "pages.pdf")).read_bytes())
        if round_ % 2:
            del data[chance.randrange(len(data)) :]
        else:
            for _ in range(10):
                data[chance.randrange(10, len(data))] = chance.randrange(256)
        Path("damaged").write_bytes(data)
        for function in (pdf.pdf_extract_text, pdf.pdf_metadata):
            try:
                function("damaged")
            except SemaError as error:
                refused += 1
                assert "damaged: " in error.message
    assert refused > 20
    assert capfd.readouterr() == ("", "")


def made_by_hand(*objects: str) -> None:
    """Writes `made.pdf`, a file of those objects; the first is its catalog."""
    numbered = "".join(f"{number} 0 obj\n{text}\nendobj\n" for number, text in enumerate(objects, 1))
    Path("made.pdf").write_text(f"%PDF-1.4\n{numbered}trailer\n<</Root 1 0 R>>\nstartxref\n0\n%%EOF\n")


def test_page_trees_that_never_end() -> None:
    catalog = "<</Type/Catalog/Pages 2 0 R>>"
    made_by_hand(catalog, "<</Type/Pages/Kids[2 0 R]/Count 1>>")
    assert outcome('(pdf/page-count "made.pdf")').startswith("! pdf/page-count made.pdf: ")
    twice = [f"<</Type/Pages/Kids[{number} 0 R {number} 0 R]/Count 1>>" for number in range(3, 43)]
    made_by_hand(catalog, *twice, "<</Type/Page/MediaBox[0 0 9 9]>>")
    assert outcome('(pdf/extract-text "made.pdf")').startswith("! pdf/extract-text")
    made_by_hand(catalog, "<</Type/Pages/Kids[]/Count 999999999>>")
    assert run('(list (pdf/page-count "made.pdf") (pdf/extract-text "made.pdf"))') == '(0 "")'


def test_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pdf, "MAX_TEXT", 20)
    limit = "exceeds the quarantined limit"
    assert outcome('(pdf/extract-text "pages.pdf")') == f"! pdf/extract-text: output bytes 26 {limit} 20"
    monkeypatch.setattr(pdf, "MAX_PAGES", 1)
    assert outcome('(pdf/metadata "pages.pdf")') == f"! pdf/metadata: pages 2 {limit} 1"
    monkeypatch.setattr(input_files, "MAX_INPUT", 100)
    size = (DATA / "pages.pdf").stat().st_size
    assert outcome('(pdf/page-count "pages.pdf")') == f"! pdf/page-count: input bytes {size} {limit} 100"


def test_other_tasks_go_on_meanwhile() -> None:
    program = """
    (let ((out (channel/new 8)))
      (async/all (list (async (channel/send out (pdf/page-count "pages.pdf"))) (async (channel/send out :other))))
      (list (channel/recv out) (channel/recv out)))
    """
    assert run(program) == "(:other 2)"


def test_without_the_package() -> None:
    code = (
        "import sys; sys.modules['pypdf'] = None\n"
        "from sema_runtime.lib.data import pdf\n"
        "try: pdf.pdf_page_count('pages.pdf')\n"
        "except Exception as error: print(error.message)"
    )
    env = {**os.environ, "PYTHONPATH": str(ROOT / "runtime")}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("pdf/page-count needs the package pypdf: pip install 'semac[pdf]'\n", "")


def test_files_outside_of_the_allowed_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", set())
    monkeypatch.setattr(capabilities, "allowed", None)
    capabilities.restrict(paths=["inside"])
    refused = "! Permission denied: pdf/page-count — path 'pages.pdf' is outside allowed directories"
    assert outcome('(pdf/page-count "pages.pdf")') == refused
