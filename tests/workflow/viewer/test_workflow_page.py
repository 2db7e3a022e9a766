"""The workflow viewer's page in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium_support import Page, browser
from viewer_support import asked
from viewer_support import signing_key as signing_key
from viewer_support import viewer as viewer
from workflow_journals import GOLDEN, Segment, review, wide, written

from sema_runtime.workflow.viewer.server import Viewer

pytestmark = pytest.mark.journals_by_hand


NASTY = "<script>window.broken=1</script><img src=x onerror='window.broken=1'>\"' onmouseover='window.broken=1' x='"


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as made:
        made.size(1360, 820)
        yield made


@pytest.fixture
def page(tab: Page, viewer: Viewer) -> Iterator[Page]:
    """The tab, in which nothing may go wrong. It leaves the viewer before that ends."""
    tab.said.clear()
    yield tab
    tab.go("about:blank")
    assert tab.said == []


def opened(page: Page, viewer: Viewer, run: str, view: str = "") -> None:
    """Opens a run and waits until its head is there."""
    page.go("about:blank")
    page.go(viewer.url_of(run) + view)
    page.until("document.readyState === 'complete' && document.querySelector('#status')?.textContent")


def rows(page: Page, kind: str) -> list[str]:
    """What the rows of a kind say, from top to bottom."""
    script = f"""JSON.stringify([...document.querySelectorAll('{kind}')]
        .sort((a, b) => a.dataset.index - b.dataset.index).map((row) => row.innerText.replace(/\\s+/g, ' ').trim()))"""
    return [str(text) for text in json.loads(page.run(script))]


def test_head_and_tree(page: Page, viewer: Viewer) -> None:
    meta = {"doc": "Two readers.", "code_version": "59e74f0063788b10", "meta": {"budget": {"tokens": 20000}}}
    written(viewer.root, "wf_a", review("wf_a", until="failed"), meta=meta)
    opened(page, viewer, "wf_a")
    page.until("document.querySelectorAll('#tree .agent').length === 6")
    assert page.text("#workflow") == "review"
    assert page.text("#status") == "✕ failed"
    assert page.text("#doc") == "Two readers."
    assert page.text("#r-agents").split("\n") == ["Agents", "6", "1 failed"]
    assert "$0.0103+" in page.text("#r-cost")
    assert page.run("document.querySelector('#r-tokens [role=meter]').getAttribute('aria-valuemax')") == "20000"
    assert rows(page, "#tree .phase")[1].startswith("▾ ✕ Judge 6/6 1 failed failed 7.5k")
    assert rows(page, "#tree .phase")[2].startswith("– Report skipped")
    assert rows(page, "#tree .agent")[1].startswith("✓ reader_2 ok gpt-5.4-mini 1.1k — 2 2.5 s")
    assert rows(page, "#tree .checkpoint") == ["◇ files checkpoint"]


def test_a_fork_leads_to_its_origin(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", GOLDEN)
    folder = written(viewer.root, "b", GOLDEN)
    (folder / "origin.json").write_text('{"run_id": "a", "at": "1:14", "kept": []}')
    opened(page, viewer, "b")
    page.until("document.querySelector('#fork-of') !== null")
    assert "fork of a at 1:14" in page.text("#meta")
    page.click("#fork-of")
    page.until("new URLSearchParams(location.search).get('run') === 'a'")
    page.until("document.querySelector('#fork-of') === null")


def test_runs_inside_are_a_click_away(page: Page, viewer: Viewer) -> None:
    folder = written(viewer.root, "a", GOLDEN)
    for number in range(23):
        written(viewer.root, f"in_{number}", GOLDEN)
    line = '{"key": "%d", "segment": 0, "run_id": "in_%d", "workflow": "<b>inner</b>"}\n'
    (folder / "nested.jsonl").write_text("".join(line % (number, number) for number in range(23)) + "no JSON\n")
    opened(page, viewer, "a")
    page.until("document.querySelectorAll('#nested a').length === 20")
    assert page.text("#nested") == f"runs inside {'<b>inner</b> ' * 20}and 3 more"
    with (folder / "nested.jsonl").open("a") as file:
        file.write(line % (23, 23))
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"event":"log","seq":8,"ts":"0"}\n')
    page.until("document.querySelector('#nested').textContent.endsWith('and 4 more')")
    page.run("document.querySelector('#nested a').focus()")
    with (folder / "events.jsonl").open("a") as file:
        file.write('{"event":"agent.started","seq":9,"ts":"0","agent_id":"a_1","agent_name":"a"}\n')
    page.until("document.querySelector('#r-agents').innerText.includes('1')")
    assert page.run("document.activeElement.href").endswith("?run=in_0")
    page.click("#nested a:nth-of-type(3)")
    page.until("new URLSearchParams(location.search).get('run') === 'in_2'")
    page.until("document.querySelector('#nested') === null")


def test_unknown_cost_is_a_dash(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", GOLDEN)
    opened(page, viewer, "a")
    assert page.text("#r-cost").split("\n") == ["Cost", "—"]
    assert "$" not in page.text("#run")


def test_details_of_an_agent_and_a_checkpoint(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", review(until="failed"))
    opened(page, viewer, "a")
    page.until("document.querySelectorAll('#tree .agent').length === 6")
    page.click("#tree .agent.s-failed")
    page.until("document.querySelector('#details h2')?.textContent === 'reader_6'")
    shown = page.text("#details")
    assert "Review src/part5.py." in shown
    assert "error: llm: 529 overloaded" in shown
    assert "file/read" in shown
    page.click("#tree .checkpoint")
    page.until("document.querySelector('#details h2')?.textContent === 'files'")
    assert '("src/part0.py"' in page.text("#details")
    page.run("document.querySelector('#details').focus()")
    page.key("Escape")
    assert page.run("document.querySelector('#details').hidden")


def test_a_program_of_an_agent_is_in_colours(page: Page, viewer: Viewer) -> None:
    source = f'; {NASTY}\n(define x {{:k "a\nb"}})\n(return x)'
    run = Segment("boxed", "boxed", phases=["Work"])
    run.open_phase("Work")
    asked = run.start("analyst", "?")
    run.tool(asked, "run_program", json.dumps({"program": source}))
    run.finish(asked, 5)
    written(viewer.root, "boxed", run)
    opened(page, viewer, "boxed")
    page.until("document.querySelectorAll('#tree .agent').length === 1")
    page.click("#tree .agent")
    page.until("document.querySelectorAll('#details ol.program').length === 1")
    lines = "JSON.stringify([...document.querySelectorAll('ol.program li')].map((line) => line.textContent))"
    assert "\n".join(json.loads(page.run(lines))) == source
    for kind, text in [("comment", f"; {NASTY}"), ("form", "define"), ("keyword", ":k"), ("string", '"a')]:
        assert page.run(f"document.querySelector('.p-{kind}').textContent") == text
    assert not page.run("window.broken")


def test_live(page: Page, viewer: Viewer) -> None:
    lines = review().lines
    folder = written(viewer.root, "a", review(until="running"))
    there = len(review(until="running").lines)
    opened(page, viewer, "a")
    page.until("document.querySelectorAll('#tree .agent.s-running').length === 4")
    assert page.text("#r-agents").split("\n") == ["Agents", "2 / 6", "4 running"]
    assert rows(page, "#tree .phase")[2].startswith("○ Report pending")
    (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in lines))
    assert there < len(lines)
    page.until("document.querySelector('#status').textContent === '✓ success'")
    page.until("document.querySelectorAll('#tree .agent.s-ok').length === 7")
    assert page.run("document.querySelector('#live').textContent") == "The run is success"


def test_polling_where_there_are_no_streams(page: Page, viewer: Viewer) -> None:
    folder = written(viewer.root, "a", review(until="running"))
    script = "window.EventSource = class { constructor() { setTimeout(() => this.onerror(), 0); this.readyState = 2; } \
        addEventListener() {} close() {} }; window.EventSource.CLOSED = 2;"
    made = page.call("Page.addScriptToEvaluateOnNewDocument", source=script)
    try:
        opened(page, viewer, "a")
        assert page.text("#status") == "◐ running"
        (folder / "events.jsonl").write_text("".join(f"{line}\n" for line in review().lines))
        page.until("document.querySelector('#status').textContent === '✓ success'")
    finally:
        page.call("Page.removeScriptToEvaluateOnNewDocument", identifier=made["identifier"])


def test_timeline(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", review())
    opened(page, viewer, "a", "#timeline")
    page.until("document.querySelector('#timeline-text').textContent.startsWith('7 agents, at most 6 at once')")
    page.run("document.querySelector('#timeline-canvas').focus()")
    page.key("ArrowRight", "ArrowDown")
    page.until("document.querySelector('#live').textContent.startsWith('reader_2, ok')")
    page.key("Enter")
    page.until("document.querySelector('#details h2')?.textContent === 'reader_2'")
    page.run("document.querySelector('#timeline-canvas').focus()")
    before = page.text("#timeline-text")
    page.key("+")
    page.until(f"document.querySelector('#timeline-text').textContent !== {json.dumps(before)}")


def test_journal_and_back_to_the_agent(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", review())
    opened(page, viewer, "a", "#events")
    page.until("document.querySelectorAll('#events .row .kind').length > 10")
    page.type("#event-search", "part3")
    page.until("document.querySelector('#event-found').textContent === '5 events'")
    page.click("#events .row")
    page.until("document.querySelector('#details h2')?.textContent === 'checkpoint'")
    page.run("[...document.querySelectorAll('#events .row')].find((r) => r.innerText.includes('reader_4')).click()")
    page.until("document.querySelector('#details h2')?.textContent === 'agent.started'")
    page.run(
        "[...document.querySelectorAll('#details button')].find((b) => b.textContent === 'Open the agent').click()"
    )
    page.until("document.querySelector('#details h2')?.textContent === 'reader_4'")
    page.run(
        "[...document.querySelectorAll('#details button')].find((b) => b.textContent === 'Show in the tree').click()"
    )
    page.until("document.querySelector('#tree .row.active .label')?.textContent === 'reader_4'")


def test_runs_are_found_and_opened(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "one", review("one"))
    written(viewer.root, "two", GOLDEN)
    page.go(viewer.url)
    page.until("document.querySelectorAll('#run-list .row').length === 2")
    page.type("#run-search", "hello")
    page.until("document.querySelectorAll('#run-list .row').length === 1")
    page.click("#run-list .row")
    page.until("document.querySelector('#workflow').textContent === 'hello-wf'")
    assert page.run("location.search") == "?run=two"


def test_keyboard(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", review())
    opened(page, viewer, "a")
    page.until("document.querySelectorAll('#tree .agent').length === 7")
    page.run("document.querySelector('#tab-tree').focus()")
    page.key("ArrowRight")
    assert page.run("document.activeElement.id") == "tab-timeline"
    page.key("ArrowLeft", "Tab", "Tab", "Tab", "Tab", "Tab")
    assert page.run("document.activeElement.id") == "tree"
    page.key("ArrowLeft")
    page.until("document.querySelector('#tree .row.active').getAttribute('aria-expanded') === 'false'")
    page.key("ArrowDown", "ArrowDown")
    active = "document.getElementById(document.querySelector('#tree').getAttribute('aria-activedescendant'))"
    page.until(f"{active}.querySelector('.label').textContent === 'reader_1'")
    assert page.run(f"{active}.getAttribute('aria-selected')") == "true"
    page.key("Enter")
    page.until("document.activeElement.id === 'details'")
    page.key("Escape")
    assert page.run("document.activeElement.id") == "tree"


def test_roles(page: Page, viewer: Viewer) -> None:
    """The accessibility tree has the parts by name."""
    written(viewer.root, "a", review())
    opened(page, viewer, "a")
    page.until("document.querySelectorAll('#tree .agent').length === 7")
    nodes = page.call("Accessibility.getFullAXTree")["nodes"]
    named = {(node["role"]["value"], node.get("name", {}).get("value", "")) for node in nodes if not node["ignored"]}
    for wanted in (
        ("treegrid", "Phases and agents"),
        ("listbox", "Runs"),
        ("tablist", "Views of the run"),
        ("main", ""),
    ):
        assert wanted in named
    assert all(name for role, name in named if role in ("button", "searchbox", "combobox", "tab", "checkbox"))


def test_nothing_of_a_journal_is_markup(page: Page, viewer: Viewer) -> None:
    run = Segment(NASTY, NASTY, args_json=json.dumps({"x": NASTY}), phases=[NASTY], code_version=NASTY)
    run.open_phase(NASTY)
    agent = run.start(NASTY, NASTY)
    run.tool(agent, NASTY, NASTY)
    run.finish(agent, 10, NASTY, model=NASTY)
    run.checkpoint(NASTY, NASTY)
    run.add(NASTY, x=NASTY)
    run.add("auth.failed", server=NASTY, reason=NASTY)
    run.end(NASTY, NASTY)
    server = {"url": f"javascript:{NASTY}", "auth": {"scopes": [NASTY]}, "tools": [NASTY], "persist": NASTY}
    written(
        viewer.root, NASTY.replace("/", "_"), run, meta={"doc": NASTY, "meta": {"mcp": {NASTY: server}}}, result=NASTY
    )
    opened(page, viewer, NASTY.replace("/", "_"))
    page.until("document.querySelectorAll('#tree .row').length === 3")
    for selector in ("#tree .phase", "#tree .agent", "#tree .checkpoint"):
        page.run("document.querySelector('#details').dataset.old = ''")
        page.click(selector)
        page.until("!document.querySelector('#details').hidden")
    for view in ("events", "timeline", "auth"):
        page.click(f"#tab-{view}")
    page.until("document.querySelector('#auth .server') !== null")
    page.click("#tab-events")
    page.until("document.querySelectorAll('#events .row .kind').length === 11")
    for index in range(11):
        page.run(f"document.querySelector('#events-{index}').click()")
        page.until(f"document.querySelector('#details .facts')?.innerText.includes('#{index}')")
    page.click("#show-args")
    page.until("document.querySelector('#details h2').textContent === 'Arguments'")
    assert page.text("#workflow") == NASTY
    assert page.run("window.broken") is None
    assert page.run("document.querySelectorAll('main script, aside script, img, a[href^=javascript]').length") == 0


def test_colours_follow_the_system_or_the_button(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", GOLDEN)
    background = "getComputedStyle(document.querySelector('#main')).backgroundColor"
    page.colours("dark")
    opened(page, viewer, "a")
    is_dark, is_light = (f"{background} === '{colour}'" for colour in ("rgb(23, 23, 29)", "rgb(255, 255, 255)"))
    page.until(is_dark)
    page.colours("light")
    page.until(is_light)
    page.run("document.querySelector('#theme').click(); document.querySelector('#theme').click()")
    page.until(is_dark)
    opened(page, viewer, "a")
    page.until(is_dark)
    page.click("#theme")
    page.until(is_light)


def test_ten_thousand_agents(page: Page, viewer: Viewer) -> None:
    written(viewer.root, "a", wide(10_000))
    opened(page, viewer, "a")
    page.until("document.querySelector('#r-agents')?.innerText.includes('10,000')")
    page.click("#expand")
    page.until("document.querySelectorAll('#tree .agent').length > 5")
    assert page.run("document.querySelectorAll('#tree .row').length") < 80
    page.run("document.querySelector('#tree').focus()")
    page.key("End")
    page.until("document.querySelector('#tree .row.active .label')?.textContent === 'worker_10000'")
    page.type("#tree-search", "worker_777")
    page.until("document.querySelector('#tree-found').textContent === '11 rows'")
    page.click("#tab-timeline")
    page.until("document.querySelector('#timeline-text').textContent.startsWith('10,000 agents, at most 50')")


def test_a_run_that_is_not_there(page: Page, viewer: Viewer) -> None:
    page.go(viewer.url_of("missing"))
    page.until("document.querySelector('#notices')?.innerText.includes(\"can't be read\")")
    page.said.clear()  # the 404 is told by the browser itself


def test_approving(page: Page, tmp_path: Path, signing_key: Any) -> None:
    viewer = Viewer(tmp_path, port=0, signing_key=signing_key, actor="ann")
    asked(tmp_path, signing_key)
    viewer.start()
    try:
        opened(page, viewer, "a")
        page.until("document.querySelector('#tab-approvals').textContent === 'Approvals (1)'")
        page.click("#tab-approvals")
        assert "goes to all customers" in page.text("#approvals")
        page.type("#approvals input", "fine")
        page.click("#approvals button")
        page.until("document.querySelector('#approvals').innerText.includes('approved by ann')")
        assert page.run("document.querySelectorAll('#approvals button').length") == 0
    finally:
        viewer.stop()


def test_servers(page: Page, viewer: Viewer) -> None:
    meta = {"meta": {"mcp": {"asana": {"url": "https://mcp.asana.com", "auth": {}}, "files": {"command": "fs"}}}}
    run = Segment("a", "a")
    run.add("auth.required", server="asana", persist="workflow")
    run.end("needs-auth", "authentication required")
    written(viewer.root, "a", run, meta=meta)
    opened(page, viewer, "a")
    page.until("document.querySelector('#tab-auth').textContent === 'Servers (1)'")
    page.click("#tab-auth")
    assert rows(page, "#auth .server")[0].startswith("asana needs a login https://mcp.asana.com")
    assert page.run("document.querySelectorAll('#auth button').length") == 1
