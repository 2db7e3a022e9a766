"""Makes the pictures of docs/how-to/workflow-viewer.md: python scripts/pictures/viewer_pictures.py, with Chromium"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
SUPPORT = ROOT / "tests" / "support"
sys.path[:0] = [str(SUPPORT), str(SUPPORT / "workflow")]

from chromium_support import Page, browser  # noqa: E402
from workflow_journals import MODELS, Segment, review, written  # noqa: E402

from sema_runtime.workflow.viewer.server import Viewer  # noqa: E402

IMAGES = ROOT / "docs" / "images"


def content() -> Segment:
    """A pipeline of twelve pages, four at a time."""
    run = Segment("content-pipeline", "wf_content", phases=["Topics", "Write", "Review", "Publish"])
    run.open_phase("Topics")
    run.at += 0.8
    run.checkpoint("topics", '("tail calls" "macros" "tasks")')
    for phase, name, least in (("Write", "writer", 2400), ("Review", "critic", 1300)):
        run.open_phase(phase)
        going: list[tuple[float, int, str]] = []  # (end, milliseconds, agent)
        for number in range(12):
            if len(going) == 4:
                finish(run, going)
            took = least + 430 * (number * 7 % 5) + 90 * number
            going.append((run.at + took / 1000, took, run.start(name, f"{phase} page {number}.")))
        while going:
            finish(run, going)
    run.open_phase("Publish")
    run.at += 0.6
    run.checkpoint("published", "12")
    run.end()
    return run


def finish(run: Segment, going: list[tuple[float, int, str]]) -> None:
    """Ends the first agent that is ready."""
    going.sort()
    end, took, agent = going.pop(0)
    run.at = end
    run.finish(agent, took, ok=agent != "critic_7", model=MODELS[len(agent) % 3])


def take(page: Page, name: str) -> None:
    page.run("new Promise((done) => setTimeout(done, 400))")
    (IMAGES / name).write_bytes(page.picture())


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "runs"
        meta = {
            "doc": "Review the files of a folder: a reader for each, one report.",
            "code_version": "59e74f0063788b10",
            "meta": {"budget": {"tokens": 20000, "usd": 0.05}},
        }
        runs = (("wf_nightly", review("wf_nightly", until="failed")), ("wf_content", content()))
        for at, (name, run) in enumerate((*runs, ("wf_live", review("wf_live", until="running")))):
            os.utime(written(root, name, run) / "events.jsonl", (1767225600 + at, 1767225600 + at))
        written(root, "wf_review", review("wf_review", files=9), meta=meta, result={"status": "success"})
        viewer = Viewer(root, port=0)
        viewer.start()
        with browser(Path(folder) / "profile") as page:
            page.size(1420, 740)
            page.go(viewer.url_of("wf_review"))
            page.until("document.querySelectorAll('#tree .agent').length === 10")
            page.click("#tree .agent[data-index='4']")
            page.until("document.querySelector('#details h2')?.textContent.startsWith('reader')")
            take(page, "workflow-viewer.png")
            page.colours("dark")
            page.size(1420, 560)
            page.go("about:blank")
            page.go(viewer.url_of("wf_content") + "#timeline")
            page.until("document.querySelector('#timeline-text')?.textContent.includes('agents')")
            take(page, "workflow-viewer-dark.png")
        viewer.stop()


if __name__ == "__main__":
    main()
