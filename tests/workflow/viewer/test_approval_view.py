"""A run beside its viewer: it pauses, somebody approves in the page, it goes on. In a real browser."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from chromium_support import Page, browser

pytest.importorskip("cryptography", reason="the extra `approvals` is not installed")
pytest.importorskip("uvicorn", reason="the extra `web` is not installed")

UNSET = ("SEMA_WORKFLOW_RUN_DIR", "SEMA_WORKFLOW_RUN_ID", "SEMA_WORKFLOW_RESUME", "SEMA_APPROVAL_ACTOR")
ENV = {name: value for name, value in os.environ.items() if name not in UNSET} | {"CI": "1", "BROWSER": "true"}
SEMA = [sys.executable, "-m", "semac.cli.entry", "workflow"]
PROGRAM = """(llm/define-provider :fake {:default-model "m" :complete (fn (req) {:content "notes"})})
(defworkflow release "Releases" {}
  (phase "Write")
  (define notes (step "Write the notes" {:name "writer"}))
  (phase "Ship")
  (approval :ship {:reason "goes to all customers" :subject notes :preview notes})
  (file/write "shipped" notes)
  {:status :success})
"""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sema_runtime.workflow.approvals import keys

    monkeypatch.chdir(tmp_path)
    Path("w.sema").write_text(PROGRAM)
    keys.generate("k", "k.pub")


@pytest.fixture
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as made:
        yield made
        assert made.said == []


@contextmanager
def viewed(*args: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A run beside its viewer, when it has come to its end; the viewer's address."""
    command = [*SEMA, "run", "w.sema", "--view", "-p", "0", "--approval-signing-key-file", "k", *args]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=ENV)
    try:
        assert process.stdout is not None
        lines = iter(process.stdout.readline, "")
        url = next(found[1] for line in lines if (found := re.search(r"Live viewer: (\S+)", line)))
        next(line for line in lines if line.startswith("Run complete"))
        yield process, url
    finally:
        process.kill()
        process.communicate()


def ended(process: subprocess.Popen[str]) -> tuple[int, str]:
    """The status after Ctrl-C, and what was said on stderr."""
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    return process.returncode, said


def only_run() -> Path:
    (found,) = Path(".sema/runs").iterdir()
    return found


def result() -> object:
    return json.loads((only_run() / "result.json").read_text())


def test_a_run_is_approved_in_the_page_and_goes_on(page: Page) -> None:
    with viewed("--approval-actor", "ann") as (process, url):
        run = only_run().name
        page.go(f"{url}/?run={run}")
        page.until("document.querySelector('#tab-approvals')?.textContent === 'Approvals (1)'")
        page.click("#tab-approvals")
        assert "goes to all customers" in page.text("#approvals")
        page.type("#approvals input", "read them")
        page.click("#approvals button")
        page.until("document.querySelector('#approvals').innerText.includes('approved by ann')")
        page.go("about:blank")
        status, said = ended(process)
    assert status == 3
    assert not Path("shipped").exists()
    resume = f"sema workflow run w.sema --resume {run} --view --approval-signing-key-file k"
    assert said.endswith(f"then go on with:\n  {resume}\n")
    done = [*SEMA, "run", "w.sema", "-q", "--resume", run, "--approval-public-key-file", "k.pub"]
    assert subprocess.run(done, env=ENV, timeout=60).returncode == 0
    assert Path("shipped").read_text() == "notes"
    (decision,) = (only_run() / "approvals").glob("*.decision.json")
    kept = json.loads(decision.read_text())
    assert (kept["actor"], kept["provenance"], kept["comment"]) == ("ann", "viewer", "read them")


def test_a_run_is_rejected_in_the_page(page: Page) -> None:
    with viewed("--approval-actor", "bob") as (process, url):
        page.go(f"{url}/?run={only_run().name}")
        page.until("document.querySelector('#tab-approvals')?.textContent === 'Approvals (1)'")
        page.click("#tab-approvals")
        page.click("#approvals button:last-child")
        page.until("document.querySelector('#approvals').innerText.includes('needs a reason')")
        page.said.clear()  # the browser tells of answers that are errors
        page.type("#approvals input", "too early")
        page.click("#approvals button:last-child")
        page.until("document.querySelector('#approvals').innerText.includes('rejected by bob')")
        page.go("about:blank")
        ended(process)
    with viewed("--resume", only_run().name) as (process, _):
        status, said = ended(process)
    assert status == 1
    assert "Error: workflow approval rejected: " in said
    assert not Path("shipped").exists()


def refused(*args: str) -> tuple[int, str]:
    done = subprocess.run([*SEMA, *args], env=ENV, capture_output=True, text=True, timeout=60)
    return done.returncode, done.stderr


def test_what_a_signing_key_needs() -> None:
    key = ("--approval-signing-key-file", "k")
    assert refused("run", "w.sema", *key) == (1, "error: --approval-signing-key-file needs --view\n")
    status, said = refused("view", "--host", "0.0.0.0", "-p", "0", *key)
    assert status == 1
    assert (
        said == "sema workflow view: a viewer that decides about approvals listens on loopback only, not at 0.0.0.0\n"
    )
    assert refused("run", "w.sema", "--view", "--approval-signing-key-file", "k.pub") == (
        1,
        "error: k.pub holds no Ed25519 private key (base64 of PKCS#8)\n",
    )
    assert not Path(".sema").exists()
