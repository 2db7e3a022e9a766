"""The examples in the user pages: each `; =>` line prints that value, each `; error:` line ends with that message.

Each is run with the lines before it, in a folder that holds nothing but `report.pdf`.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from pages import blocks
from paths import DATA, DOCS

from sema_runtime.conditions.describe import describe
from sema_runtime.values.printer import to_text
from semac.session import Session

GROUPS = ("how-to", "explanation", "reference")
WRITTEN = sorted(page for group in GROUPS for page in (DOCS / group).glob("*.md") if "```sema\n" in page.read_text())
PAGES = [*(str(page.relative_to(DOCS)) for page in WRITTEN), "../semac/docs/guide.md"]
REPORT = DATA / "pdf" / "pages.pdf"
FENCE = re.compile(r"```sema\n(.*?)```", re.DOTALL)
EXPECTED = re.compile(r"^(.*?)  ; (=>|error:) (.*)$")


@pytest.mark.parametrize(("page", "block"), [(page, block) for page in PAGES for block in blocks(page)])
def test_examples(
    page: str, block: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    before: list[str] = []
    for line in block.splitlines():
        match = EXPECTED.match(line)
        if match is None:
            before.append(line)
            continue
        source, kind, expected = match.groups()
        program = "\n".join([*before, source])
        folder = tmp_path_factory.mktemp("example")
        shutil.copy(REPORT, folder / "report.pdf")
        monkeypatch.chdir(folder)
        if kind == "=>":
            assert to_text(Session().run(program)) == expected, line
            before.append(source)
        else:
            with pytest.raises(Exception) as caught:
                Session().run(program)
            assert describe(caught.value).message == expected, line


def test_the_first_workflow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The program at the head of its page, with a folder to review, and a model."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "src").mkdir()
    for name in ("a.py", "b.py"):
        (tmp_path / "src" / name).write_text(f"text of {name}")
    monkeypatch.setenv("SEMA_WORKFLOW_ARGS_JSON", '{"folder": "src"}')
    model = """(define (answer request)
                 (define text (:content (last (:messages request))))
                 (json/encode {:ok (string/contains? text "text of a.py") :why "seen"}))
               (llm/define-provider :played {:complete answer :default-model "played"})"""
    envelope = Session().run(model + blocks("how-to/workflows.md")[0])
    assert to_text(envelope) == '{:bad ({:ok #f :why "seen"}) :not-answered 0 :status :success}'
