// The tree of phases, agents and checkpoints.

import { $, DASH, cost, costTitle, duration, el, get, glyph, plural, runPath, say, tokens, tone } from "./format.js";
import { Pages, VirtualList } from "./list.js";
import { patch } from "./patch.js";

const FEW = 60; // rows of a phase that is open from the start

export class Tree {
  // open(what): shows details of {phase} | {agent} | {checkpoint}
  constructor(open) {
    this.open = open;
    this.reset(null);
    this.list = new VirtualList($("tree"), {
      role: "treegrid", label: "Phases and agents", rowRole: "row", height: 32,
      count: () => this.total, id: (index) => this.id(index), find: (id) => this.find(id), fill: (row, index) => this.fill(row, index),
      move: (index) => this.moved(index), open: (index, byKey) => this.chosen(index, byKey),
      clicked: (element, index) => this.clicked(element, index), key: (event, index) => this.key(event, index),
    });
    let waiting = 0;
    $("tree-search").addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => this.filter(), 150);
    });
    $("tree-status").addEventListener("change", () => this.filter());
    $("expand").addEventListener("click", () => this.setAll(true));
    $("collapse").addEventListener("click", () => this.setAll(false));
  }

  reset(run) {
    this.run = run;
    this.summary = null;
    this.expanded = new Map(); // phase: whether somebody opened or closed it
    this.first = new Map(); // phase: whether it was open when it first had rows
    this.pages = new Map();
    this.counts = null; // rows that a filter leaves
    this.awaited = null; // {phase, child} of a row that was opened before it was there
    this.offsets = [];
    this.total = 0;
  }

  get query() {
    const text = $("tree-search").value.trim();
    const status = $("tree-status").value;
    return text || status ? `&text=${encodeURIComponent(text)}&status=${encodeURIComponent(status)}` : "";
  }

  update(summary) {
    const anew = this.summary && this.summary.cursor !== summary.cursor;
    this.summary = summary;
    if (anew) {
      for (const pages of this.pages.values()) pages.invalidate();
      if (this.query) this.count();
    }
    this.layout();
  }

  isOpen(phase) {
    const said = this.expanded.get(phase.number);
    if (said !== undefined) return said;
    if (this.counts) return true;
    if (phase.rows && !this.first.has(phase.number)) this.first.set(phase.number, phase.rows <= FEW || phase.status === "running");
    return this.first.get(phase.number) ?? true;
  }

  rowsOf(phase) {
    return this.counts ? this.counts[phase.number] || 0 : phase.rows;
  }

  // Where each phase's row stands.
  layout() {
    this.offsets = [];
    let at = 0;
    for (const phase of this.summary ? this.summary.phases : []) {
      const rows = this.rowsOf(phase);
      if (this.counts && !rows) continue;
      this.offsets.push({ at, phase });
      at += 1 + (this.isOpen(phase) ? rows : 0);
    }
    this.total = at;
    this.list.draw();
  }

  // The phase and, unless it is the phase's own row, the row of it that stand at an index.
  at(index) {
    let low = 0;
    let high = this.offsets.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.offsets[middle].at <= index) low = middle;
      else high = middle - 1;
    }
    const found = this.offsets[low];
    if (!found) return null;
    return { phase: found.phase, child: index - found.at - 1, at: found.at };
  }

  // What a row shows, as a text: rows move while a run goes on, and with a filter also within their phase.
  id(index) {
    const { phase, child } = this.at(index);
    if (child < 0) return `p${phase.number}`;
    const item = this.counts && this.row(phase, child);
    return `p${phase.number}:${item ? kindOf(item) : child}`;
  }

  // Where that row stands now; -1 when it isn't there any more.
  find(id) {
    const [name, rest] = id.split(":");
    const found = this.offsets.find(({ phase }) => `p${phase.number}` === name);
    if (!found) return -1;
    if (rest === undefined) return found.at;
    const rows = this.rowsOf(found.phase);
    if (!this.isOpen(found.phase)) return -1;
    let child = Number(rest);
    if (Number.isNaN(child)) child = this.pages.get(found.phase.number)?.indexOf((item) => kindOf(item) === rest) ?? -1;
    return child >= 0 && child < rows ? found.at + 1 + child : -1;
  }

  row(phase, child) {
    let pages = this.pages.get(phase.number);
    if (!pages) {
      const path = `${runPath(this.run)}/rows?phase=${phase.number}${this.query}`;
      pages = new Pages((first, many) => get(`${path}&first=${first}&many=${many}`), () => this.arrived());
      this.pages.set(phase.number, pages);
    }
    return pages.get(child);
  }

  // Rows have come: draws them, and opens the one that was chosen while it was only "…".
  arrived() {
    this.list.draw();
    const item = this.awaited && this.row(this.awaited.phase, this.awaited.child);
    if (item) this.openItem(item);
  }

  openItem(item) {
    this.awaited = null;
    this.open(item.key !== undefined ? { checkpoint: item.checkpoint } : { agent: item.agent });
  }

  fill(row, index) {
    const { phase, child } = this.at(index);
    if (child < 0) return this.fillPhase(row, phase);
    row.setAttribute("aria-level", 2);
    row.removeAttribute("aria-expanded");
    const item = this.row(phase, child);
    if (!item) {
      row.classList.add("waiting");
      return patch(row, [el("span", { role: "gridcell", class: "name" }, "…")]);
    }
    if (item.key !== undefined) return this.fillCheckpoint(row, item);
    this.fillAgent(row, item);
  }

  fillPhase(row, phase) {
    const open = this.isOpen(phase);
    row.classList.add("phase", tone(phase.status));
    row.setAttribute("aria-level", 1);
    if (phase.rows) row.setAttribute("aria-expanded", String(open));
    else row.removeAttribute("aria-expanded");
    const done = phase.agents ? `${phase.finished}/${phase.agents}` : phase.checkpoints ? `◇${phase.checkpoints}` : "";
    const name = el("span", { role: "gridcell", class: "name" },
      el("span", { class: "twisty", "aria-hidden": "true" }, phase.rows ? (open ? "▾" : "▸") : ""),
      el("span", { class: "glyph", "aria-hidden": "true" }, glyph(phase.status)),
      el("span", { class: "label" }, phase.name || "(before the first phase)"),
      el("span", { class: "done", title: phase.agents ? "agents finished" : "checkpoints" }, done),
      phase.failed ? el("span", { class: "bad" }, `${phase.failed} failed`) : null);
    const took = phase.started == null ? null : (phase.ended ?? this.now()) - phase.started;
    patch(row, [name, cell(phase.status), cell("", "c-model"), cell(phase.tokens ? tokens(phase.tokens) : DASH, "r"),
      priced(phase.cost_usd, phase.unpriced), cell("", "r c-tools"), cell(duration(took), "r"), this.when(phase.started, took, phase.status)]);
  }

  fillAgent(row, agent) {
    row.classList.add("agent", tone(agent.status));
    const took = agent.duration ?? (agent.status === "running" ? this.now() - agent.start : null);
    const name = el("span", { role: "gridcell", class: "name" },
      el("span", { class: "glyph", "aria-hidden": "true" }, glyph(agent.status)),
      el("span", { class: "label mono" }, agent.id),
      agent.segment ? el("span", { class: "done" }, `resume ${agent.segment}`) : null);
    const used = agent.input_tokens + agent.output_tokens;
    patch(row, [name, cell(agent.status), cell(agent.model || DASH, "c-model mono"),
      cell(used ? tokens(used) : DASH, "r", `${agent.input_tokens} in, ${agent.output_tokens} out`),
      priced(agent.cost_usd, agent.unpriced), cell(agent.tools || DASH, "r c-tools"), cell(duration(took), "r"),
      this.when(agent.start, took, agent.status)]);
  }

  fillCheckpoint(row, item) {
    row.classList.add("checkpoint");
    patch(row, [el("span", { role: "gridcell", class: "name" },
      el("span", { class: "glyph", "aria-hidden": "true" }, "◇"),
      el("span", { class: "label mono" }, item.key), el("span", { class: "done" }, "checkpoint"))]);
  }

  // A bar that shows when something ran, within the whole run.
  when(start, took, status) {
    const box = el("span", { role: "gridcell", class: "when c-when", "aria-hidden": "true" });
    const span = this.now();
    if (start == null || !span) return box;
    const bar = el("span", { class: "span " + tone(status) });
    bar.style.left = Math.min(99.5, (100 * start) / span) + "%";
    bar.style.width = Math.max(0.5, (100 * (took || 0)) / span) + "%";
    box.append(bar);
    return box;
  }

  now() {
    return this.clock ? this.clock() : this.summary.elapsed_ms;
  }

  // What people do

  toggle(phase, open = !this.isOpen(phase)) {
    this.expanded.set(phase.number, open);
    this.layout();
  }

  setAll(open) {
    for (const phase of this.summary ? this.summary.phases : []) this.expanded.set(phase.number, open);
    this.layout();
  }

  clicked(element, index) {
    const { phase, child } = this.at(index);
    if (child >= 0 || !element.closest(".twisty")) return false;
    this.toggle(phase);
    return true;
  }

  chosen(index) {
    const { phase, child } = this.at(index);
    if (child < 0) return this.open({ phase });
    const item = this.row(phase, child);
    if (item) this.openItem(item);
    else this.awaited = { phase, child };
  }

  moved(index) {
    this.awaited = null;
    const { phase, child } = this.at(index);
    const item = child < 0 ? null : this.row(phase, child);
    if (child < 0) say(`phase ${phase.name || "before the first"}, ${phase.status}, ${plural(phase.agents, "agent")}`);
    else if (item) say(item.key !== undefined ? `checkpoint ${item.key}` : `${item.id}, ${item.status}`);
  }

  key(event, index) {
    const found = index >= 0 ? this.at(index) : null;
    if (!found) return false;
    if (event.key === "ArrowRight" && found.child < 0) {
      if (this.isOpen(found.phase)) this.list.setActive(Math.min(index + 1, this.total - 1));
      else this.toggle(found.phase, true);
    } else if (event.key === "ArrowLeft") {
      if (found.child >= 0) this.list.setActive(found.at);
      else this.toggle(found.phase, false);
    } else return false;
    return true;
  }

  async filter() {
    this.pages.clear();
    this.awaited = null;
    if (this.query) await this.count();
    else this.counts = null;
    $("tree-found").textContent = this.counts ? plural(this.counts.reduce((a, b) => a + b, 0), "row") : "";
    this.layout();
  }

  async count() {
    const run = this.run;
    const found = await get(`${runPath(run)}/counts?${this.query.slice(1)}`);
    if (run === this.run && this.query) this.counts = found.phases;
    this.layout();
  }

  // Shows where an agent stands, if its row is loaded or its phase is short.
  async reveal(agent, phaseNumber) {
    const phase = this.summary.phases.find((one) => one.number === phaseNumber);
    if (!phase || this.counts) return;
    this.awaited = null;
    this.toggle(phase, true);
    const { at } = this.offsets.find((one) => one.phase === phase) || {};
    const place = await get(`${runPath(this.run)}/place/${agent}`);
    if (at !== undefined) this.list.setActive(at + 1 + place.row, false);
  }
}

const kindOf = (item) => (item.key !== undefined ? `c${item.checkpoint}` : `a${item.agent}`);
const cell = (text, kind = "", title = null) => el("span", { role: "gridcell", class: kind, title }, String(text));
const priced = (usd, unpriced) => cell(cost(usd, unpriced), "r", costTitle(usd, unpriced) || null);
