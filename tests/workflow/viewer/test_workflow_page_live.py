"""The viewer's page while a run goes on: no click, focus, selection or scroll position is lost."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chromium_support import Page, browser
from viewer_support import signing_key as signing_key
from viewer_support import viewer as viewer
from workflow_journals import Segment, written

from sema_runtime.workflow.viewer.server import Viewer


@pytest.fixture(scope="module")
def tab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Page]:
    with browser(tmp_path_factory.mktemp("profile")) as made:
        made.size(1360, 820)
        yield made


class Live:
    """A run to which a thread adds events, some ten each time; `wait` returns when the page has shown more of them."""

    def __init__(self, root: Path, page: Page) -> None:
        self.page = page
        self.run = Segment("live", "live", phases=["First", "Work", "Last"])
        self.run.open_phase("First")
        for n in range(3):
            self.run.finish(self.run.start("early", f"prompt {n}"), 10, f"result {n}")
        self.run.open_phase("Work")
        self.asked = self.run.start("asked", "a prompt")
        self.file = written(root, "live", self.run) / "events.jsonl"
        self.written = len(self.run.lines)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self._go)

    def __enter__(self) -> Live:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self.thread.join()

    def _go(self) -> None:
        while not self.over.wait(0.1):
            self.run.tool(self.asked, "grep", "{:for 1}")
            agent = self.run.start("busy", "more")
            self.run.finish(agent, 5, "done", cost=0.0001)
            self.run.checkpoint(f"key{len(self.run.lines)}", "1")
            with self.file.open("a") as file:
                file.writelines(f"{line}\n" for line in self.run.lines[self.written :])
            self.written = len(self.run.lines)

    def wait(self, times: int = 2) -> None:
        for _ in range(times):
            before = self.page.text("#r-agents")
            self.page.until(f"document.querySelector('#r-agents').innerText !== {json.dumps(before)}")


@pytest.fixture
def live(tab: Page, viewer: Viewer) -> Iterator[Live]:
    tab.said.clear()
    with Live(viewer.root, tab) as made:
        tab.go("about:blank")
        tab.go(viewer.url_of("live"))
        tab.until("document.querySelectorAll('#tree .agent').length > 5")
        yield made
    tab.go("about:blank")
    assert tab.said == []


def clicked(live: Live, element: str) -> None:
    """Clicks with a pointer; between press and release the page is brought up to date."""
    pressed(live, live.page.middle(element))


def pressed(live: Live, place: tuple[float, float]) -> None:
    live.page.mouse("mouseMoved", *place)
    live.page.mouse("mousePressed", *place)
    live.wait()
    live.page.mouse("mouseReleased", *place)


def row(kind: str, text: str) -> str:
    return f"[...document.querySelectorAll('{kind}')].find((row) => row.innerText.includes({json.dumps(text)}))"


def title(page: Page, wanted: str) -> None:
    page.until(f"document.querySelector('#details h2')?.textContent === {json.dumps(wanted)}")


def test_the_first_click_on_a_row_counts(live: Live) -> None:
    page = live.page
    label = "event.target.closest('.row')?.querySelector('.label')?.textContent"  # none while a row has not come
    page.run(f"addEventListener('pointerdown', (event) => {{ window.pressed = {label} }}, true)")
    for text in ("Last", "early_1", "early_3", "Work", "asked_1", "busy_1"):  # "Last" moves down all the time
        pressed = None
        while pressed != text:  # it may have moved away before the pointer came
            scrolled = f"document.querySelector('#tree').scrollTop = {1e6 if text == 'Last' else 0}"
            page.until(f"({scrolled}, {row('#tree .row', text)}) !== undefined")
            clicked(live, row("#tree .row", text))
            pressed = page.run("window.pressed")
            if pressed is not None:
                title(page, pressed)
    assert page.run("document.querySelector('#tree .row.active .label').textContent") == "busy_1"


def test_a_click_on_a_row_that_has_not_come_opens_it_when_it_comes(live: Live) -> None:
    page = live.page
    page.until("document.querySelectorAll('#tree .agent .label').length > 5")
    page.run("(window.real = fetch, window.held = new Promise((go) => { window.go = go }), 0)")
    answer = "(url) => `${url}`.includes('/rows') ? held : Promise.resolve()"
    page.run(f"(window.fetch = (url, ...rest) => ({answer})(url).then(() => real(url, ...rest)), 0)")
    box = "document.querySelector('#tree .row.waiting .name')?.getBoundingClientRect()"
    middle = f"((box) => box ? [box.x + box.width / 2, box.y + box.height / 2] : null)({box})"
    place = page.until(f"(document.querySelector('#tree').scrollTop = 1e6, {middle})")
    pressed(live, place)
    number = page.until("document.querySelector('#tree .row.active')?.dataset.index")
    page.run("window.go()")
    wanted = page.until(f"document.querySelector('#tree .row[data-index=\"{number}\"] .label')?.textContent")
    title(page, wanted)


def test_a_node_that_was_closed_stays_closed_and_the_active_row_stays_the_same(live: Live) -> None:
    page = live.page
    clicked(live, row("#tree .row", "Work"))
    title(page, "Work")
    clicked(live, f"{row('#tree .phase', 'First')}.querySelector('.twisty')")
    page.until(f"{row('#tree .phase', 'First')}.getAttribute('aria-expanded') === 'false'")
    clicked(live, row("#tree .row", "Work"))  # it has moved up
    page.run("document.querySelector('#tree').focus()")
    live.wait(3)
    assert page.run(f"{row('#tree .phase', 'First')}.getAttribute('aria-expanded')") == "false"
    active = "document.getElementById(document.querySelector('#tree').getAttribute('aria-activedescendant'))"
    assert page.run(f"{active}.querySelector('.label').textContent") == "Work"
    clicked(live, f"{row('#tree .phase', 'First')}.querySelector('.twisty')")
    page.key("ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown", "ArrowDown")
    page.until(f"{active}.querySelector('.label').textContent === 'asked_1'")
    assert page.run("document.activeElement.id") == "tree"


def test_a_click_on_an_event_and_the_place_in_the_journal(live: Live) -> None:
    page = live.page
    page.click("#tab-events")
    page.until("document.querySelectorAll('#events .row .kind').length > 5")
    live.wait()
    kind = "[...document.querySelectorAll('#events .row .kind')].at(-8)"
    number = page.run(f"Number({kind}.closest('.row').dataset.index)")  # the list is followed: it scrolls meanwhile
    clicked(live, kind)
    page.until("document.querySelector('#details .facts') !== null")
    shown = page.run("document.querySelector('#details .facts').innerText")
    assert int(shown.split("#")[1].split()[0]) >= number
    assert page.run("document.querySelector('#follow').checked") is False
    place = page.run("document.querySelector('#events').scrollTop")
    live.wait(3)
    assert page.run("document.querySelector('#events').scrollTop") == place


def test_the_first_click_on_a_scrolled_list_does_not_scroll_it(live: Live) -> None:
    page = live.page
    live.wait(3)
    page.until("(document.querySelector('#tree').scrollTop = 64, document.querySelector('#tree').scrollTop === 64)")
    element = "document.elementFromPoint(...[document.querySelector('#tree').getBoundingClientRect()].map((b) => \
        [b.x + 200, b.y + 100])[0]).closest('.row')"
    label = page.run(f"{element}.querySelector('.label').textContent")
    x, y = page.run("[document.querySelector('#tree').getBoundingClientRect()].map((b) => [b.x + 200, b.y + 100])[0]")
    page.mouse("mousePressed", x, y)
    live.wait()
    assert page.run("document.querySelector('#tree').scrollTop") == 64
    page.mouse("mouseReleased", x, y)
    title(page, label)


def test_a_bar_of_the_timeline(live: Live) -> None:
    page = live.page
    page.click("#tab-timeline")
    page.until("document.querySelector('#timeline-text').textContent.includes('at most')")
    page.run("document.querySelector('#timeline-canvas').focus()")
    box = page.run("[document.querySelector('#timeline-canvas').getBoundingClientRect()].map((b) => [b.x, b.y])[0]")
    place = (box[0] + 900, box[1] + 56 + 24 + 11)  # the lane of the step that goes on
    page.mouse("mouseMoved", *place)
    page.mouse("mousePressed", *place)
    live.wait()
    page.mouse("mouseReleased", *place)
    page.until("document.querySelector('#details h2') !== null")


def test_details_that_grow_keep_selection_focus_and_place(live: Live) -> None:
    page = live.page
    clicked(live, row("#tree .row", "asked_1"))
    title(page, "asked_1")
    page.until("document.querySelectorAll('#details details').length > 5")
    page.run("document.querySelector('#details details').open = true")
    prompt = "document.querySelector('#details pre').firstChild"
    page.run(f"getSelection().setBaseAndExtent({prompt}, 2, {prompt}, 8)")
    page.run("document.querySelector('#details .copy').focus()")
    page.until(
        "(document.querySelector('#details').scrollTop = 40, document.querySelector('#details').scrollTop === 40)"
    )
    count = "document.querySelectorAll('#details details').length"
    before: Any = page.run(count)
    page.until(f"{count} > {before}")
    assert page.run("String(getSelection())") == "prompt"
    assert page.run("document.activeElement.className") == "copy"
    assert page.run("document.querySelector('#details details').open") is True
    assert page.run("document.querySelector('#details').scrollTop") == 40
    button = "[...document.querySelectorAll('#details .links button')][1]"
    wanted = page.run(f"{button}.textContent")
    page.run(f"{button}.scrollIntoView()")
    clicked(live, button)
    page.until("document.querySelector('#details h2')?.textContent === 'agent.tool_call'")
    assert wanted in page.text("#details .facts")


def test_filters_and_choices_stay(live: Live) -> None:
    page = live.page
    page.run("document.querySelector('#tree-status').value = 'ok'")
    page.run("document.querySelector('#tree-status').dispatchEvent(new Event('change'))")
    live.wait()
    page.type("#tree-search", "early")
    page.until("document.querySelector('#tree-found').textContent === '3 rows'")
    page.until("document.querySelectorAll('#tree .agent').length === 3")
    clicked(live, row("#tree .row", "early_2"))
    title(page, "early_2")
    assert page.run("document.querySelector('#tree-search').value + document.querySelector('#tree-status').value") == (
        "earlyok"
    )
    page.run("document.querySelector('#event-kind').value = 'budget'")
    option = page.run("window.option = document.querySelector('#event-kind').selectedOptions[0], option.value")
    live.run.add("memory", memory_id="m", namespace="n", op="append", value_digest="", count=1)  # a new kind
    page.until("[...document.querySelectorAll('#event-kind option')].some((one) => one.value === 'memory')")
    assert page.run("option === document.querySelector('#event-kind').selectedOptions[0] && option.value") == option


def test_text_of_a_row_can_be_selected(live: Live) -> None:
    page = live.page
    x, y = page.middle(f"{row('#tree .row', 'early_1')}.querySelector('.label')")
    page.mouse("mousePressed", x - 15, y)
    page.mouse("mouseMoved", x + 20, y)
    page.mouse("mouseReleased", x + 20, y)
    assert page.run("document.querySelector('#details').hidden") is True


def test_a_run_of_the_list(live: Live, viewer: Viewer) -> None:
    page = live.page
    written(viewer.root, "other", Segment("other"))
    page.until("document.querySelectorAll('#run-list .row').length === 2")
    clicked(live, row("#run-list .row", "other"))
    page.until("new URLSearchParams(location.search).get('run') === 'other'")
