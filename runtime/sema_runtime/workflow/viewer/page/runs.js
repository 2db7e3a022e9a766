// The list of runs.

import { $, ago, duration, el, get, glyph, plural, say, tone } from "./format.js";
import { VirtualList } from "./list.js";
import { patch } from "./patch.js";

const LOOK = 3000; // milliseconds between two looks at the folder

export class RunList {
  constructor(open) {
    this.open = open;
    this.runs = [];
    this.shown = [];
    this.current = null;
    this.list = new VirtualList($("run-list"), {
      role: "listbox", label: "Runs", rowRole: "option", height: 52,
      count: () => this.shown.length, id: (index) => this.shown[index].run,
      find: (id) => this.shown.findIndex((run) => run.run === id), fill: (row, index) => this.fill(row, index),
      move: (index) => say(`${this.shown[index].workflow || this.shown[index].run}, ${this.shown[index].status}`),
      open: (index) => this.open(this.shown[index].run),
    });
    $("run-search").addEventListener("input", () => this.filter());
    $("run-search").addEventListener("keydown", (event) => {
      if (event.key === "Enter" && this.shown.length) this.open(this.shown[0].run);
      if (event.key === "ArrowDown" && this.shown.length) this.list.host.focus();
    });
    this.look();
  }

  async look() {
    if (!document.hidden) {
      try {
        const found = await get("/api/list");
        this.root = found.root;
        this.runs = found.runs;
        this.filter();
        if (this.ready) this.ready(this.runs);
        this.ready = null;
      } catch {
        $("folder").textContent = "The server doesn't answer.";
      }
    }
    setTimeout(() => this.look(), LOOK);
  }

  filter() {
    const words = $("run-search").value.toLowerCase().split(/\s+/).filter(Boolean);
    const text = (run) => `${run.run} ${run.workflow || ""} ${run.status} ${run.started || ""}`.toLowerCase();
    this.shown = words.length ? this.runs.filter((run) => words.every((word) => text(run).includes(word))) : this.runs;
    this.list.draw();
    const count = words.length ? `${this.shown.length} of ${plural(this.runs.length, "run")}` : plural(this.runs.length, "run");
    $("folder").textContent = this.runs.length ? `${count} in ${this.root}` : `No runs in ${this.root} yet.`;
  }

  select(run) {
    this.current = run;
    this.list.draw();
  }

  fill(row, index) {
    const run = this.shown[index];
    row.classList.add("run-row", tone(run.status));
    if (run.run === this.current) {
      row.classList.add("current");
      row.setAttribute("aria-current", "true");
    } else row.removeAttribute("aria-current");
    row.title = run.run;
    const when = run.written ? ago(Date.now() / 1000 - run.written) : "";
    const how = run.dur_ms != null ? duration(run.dur_ms) : "";
    patch(row, [
      el("span", { class: "glyph", "aria-hidden": "true" }, glyph(run.status)),
      el("span", { class: "label" }, run.workflow || run.run),
      el("span", { class: "sub" }, [run.status, how, when, run.resumed ? `resumed ${run.resumed}×` : "", run.workflow ? run.run : ""].filter(Boolean).join(" · ")),
    ]);
  }
}
