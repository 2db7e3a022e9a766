// The journal itself, line by line.

import { $, el, get, plural, runPath, say } from "./format.js";
import { Pages, VirtualList } from "./list.js";
import { patch } from "./patch.js";

export class Events {
  // open({event} | {agent} | {checkpoint})
  constructor(open) {
    this.open = open;
    this.reset(null);
    this.list = new VirtualList($("events"), {
      role: "listbox", label: "Events of the journal", rowRole: "option", height: 26,
      count: () => this.total, id: (index) => index, find: (id) => (id < this.total ? id : -1), fill: (row, index) => this.fill(row, index),
      move: (index) => this.moved(index), open: (index) => this.chosen(index),
    });
    let waiting = 0;
    $("event-search").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.filter(), 250);
    });
    $("event-kind").addEventListener("change", () => this.filter());
    $("follow").addEventListener("change", () => this.follow());
    let place = 0;
    $("events").addEventListener("scroll", () => { // following only scrolls down
      if ($("events").scrollTop < place - 1) $("follow").checked = false;
      place = $("events").scrollTop;
    }, { passive: true });
  }

  reset(run) {
    this.run = run;
    this.total = 0;
    this.kinds = "";
    this.summary = null;
    this.pages = null;
  }

  get filtered() {
    return Boolean($("event-search").value.trim() || $("event-kind").value);
  }

  update(summary) {
    const anew = !this.summary || this.summary.cursor !== summary.cursor;
    this.summary = summary;
    const kinds = summary.kinds.join("\n");
    if (kinds !== this.kinds) this.offer(summary.kinds, kinds);
    if (!this.pages) this.fresh();
    if (!this.filtered) this.total = summary.events;
    if (!anew) return;
    this.pages.invalidate();
    this.found();
    if (this.visible) this.filtered ? this.pages.get(0) : this.follow();
  }

  offer(kinds, text) {
    this.kinds = text;
    const chosen = $("event-kind").value;
    const options = kinds.map((kind) => el("option", { value: kind, "data-key": kind }, kind));
    patch($("event-kind"), [el("option", { value: "", "data-key": "" }, "all events"), ...options]);
    if ($("event-kind").value !== chosen) $("event-kind").value = kinds.includes(chosen) ? chosen : "";
  }

  show(visible) {
    this.visible = visible;
    if (visible && this.summary) this.follow();
  }

  follow() {
    if ($("follow").checked && !this.filtered && this.summary && this.summary.status === "running") this.list.toEnd();
    else this.list.draw();
  }

  fresh() {
    const text = encodeURIComponent($("event-search").value.trim());
    const kind = encodeURIComponent($("event-kind").value);
    const path = `${runPath(this.run)}/events?kind=${kind}&text=${text}`;
    const pages = new Pages(
      async (first, many) => {
        const found = await get(`${path}&first=${first}&many=${many}`);
        this.more = found.more;
        return { total: found.total, rows: found.events };
      },
      () => {
        if (pages !== this.pages) return;
        if (this.filtered) this.total = pages.total;
        this.found();
        this.list.draw();
      });
    this.pages = pages;
  }

  found() {
    $("event-found").textContent = plural(this.total, "event") + (this.filtered && this.more ? " and more" : "");
  }

  filter() {
    if (!this.run) return;
    this.fresh();
    this.list.forget();
    this.total = this.filtered ? 0 : this.summary.events;
    $("events").scrollTop = 0;
    this.pages.get(0);
    this.list.draw();
  }

  fill(row, index) {
    const event = this.pages && this.pages.get(index);
    if (!event) return patch(row, [el("span", { class: "seq" }, "…")]);
    row.classList.add("k-" + event.event.split(".")[0].replace(/[^a-z]/g, ""));
    if (event.live && event.event === "agent.started") row.classList.add("pulse");
    const seq = (event.segment ? `r${event.segment}:` : "") + (event.seq ?? "–");
    const time = /T(\d\d:\d\d:\d\d)/.exec(event.ts || "");
    patch(row, [el("span", { class: "seq" }, seq), el("span", { class: "time" }, time ? time[1] : ""),
      el("span", { class: "kind" }, event.event), el("span", { class: "what" }, event.title)]);
  }

  moved(index) {
    const event = this.pages.get(index);
    if (event) say(`${event.event}, ${event.title}`);
    $("follow").checked = false;
  }

  chosen(index) {
    const event = this.pages.get(index);
    if (event) this.open({ event: event.number });
  }

  // Goes to an event of the unfiltered journal.
  goTo(number) {
    $("event-search").value = $("event-kind").value = "";
    this.filter();
    $("follow").checked = false;
    this.list.setActive(number, false);
  }
}
