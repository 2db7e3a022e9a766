// Lists of any length of which only what is seen is in the page, and the pages of rows behind them.

import { isStill } from "./press.js";

const TALLEST = 16e6; // pixels that browsers can still scroll through with certainty; longer lists scroll in bigger steps
const SPARE = 6; // rows beyond the edges

export class VirtualList {
  // options: role, label, rowRole, height (of a row), count(), id(index), find(id) -> index or -1, fill(row element, index),
  // move(index), open(index), clicked(element, index) -> whether that was all, key(event, index)
  constructor(host, options) {
    this.host = host;
    this.options = options;
    this.active = -1;
    this.activeId = null; // what is active stays so when rows move
    this.rows = new Map(); // elements by the id of what they show
    this.pressed = null;
    this.spacer = document.createElement("div");
    this.spacer.className = "spacer-y";
    this.spacer.setAttribute("role", "presentation");
    host.append(this.spacer);
    host.tabIndex = 0;
    host.setAttribute("role", options.role);
    host.setAttribute("aria-label", options.label);
    host.addEventListener("scroll", () => this.draw(), { passive: true });
    host.addEventListener("keydown", (event) => this.keydown(event));
    host.addEventListener("pointerdown", (event) => this.press(event));
    host.addEventListener("click", (event) => this.click(event));
    host.addEventListener("focus", () => !this.pressed && this.active < 0 && this.count() && this.setActive(0, false));
    addEventListener("pointerup", (event) => this.release(event));
    addEventListener("pointercancel", () => (this.pressed = null));
    new ResizeObserver(() => this.draw()).observe(host);
  }

  count() {
    return this.options.count();
  }

  get scale() {
    return Math.max(1, (this.count() * this.options.height) / TALLEST);
  }

  // Draws what is seen; call when data has changed.
  draw() {
    const { host, options } = this;
    const count = this.count();
    const h = options.height;
    const scale = this.scale;
    if (this.activeId !== null) this.active = options.find(this.activeId);
    this.spacer.style.height = Math.min(count * h, TALLEST) + "px";
    const top = host.scrollTop * scale;
    const first = Math.max(0, Math.floor(top / h) - SPARE);
    const last = Math.min(count, Math.ceil((top + host.clientHeight) / h) + SPARE);
    const before = this.rows;
    this.rows = new Map();
    for (let index = first; index < last; index++) {
      const id = options.id(index);
      let row = before.get(id);
      before.delete(id);
      if (!row) {
        row = document.createElement("div");
        host.append(row);
      }
      this.rows.set(id, row);
      row.id = `${host.id}-${index}`;
      row.dataset.index = index;
      row.style.transform = `translateY(${index * h - top + host.scrollTop}px)`;
      row.className = "row";
      row.setAttribute("role", options.rowRole);
      row.setAttribute(options.rowRole === "option" ? "aria-posinset" : "aria-rowindex", index + 1);
      if (options.rowRole === "option") row.setAttribute("aria-setsize", count);
      options.fill(row, index);
      row.classList.toggle("active", index === this.active);
      row.setAttribute("aria-selected", String(index === this.active));
    }
    for (const row of before.values()) row.remove();
    if (options.rowRole !== "option") host.setAttribute("aria-rowcount", count);
    if (first <= this.active && this.active < last) host.setAttribute("aria-activedescendant", `${host.id}-${this.active}`);
    else host.removeAttribute("aria-activedescendant");
  }

  setActive(index, tell = true) {
    this.active = index;
    this.activeId = index >= 0 ? this.options.id(index) : null;
    if (index >= 0) this.reveal(index);
    this.draw();
    if (tell && index >= 0 && this.options.move) this.options.move(index);
  }

  // Nothing is active any more.
  forget() {
    this.active = -1;
    this.activeId = null;
  }

  reveal(index) {
    const { host } = this;
    const h = this.options.height;
    const top = (index * h) / this.scale;
    if (top < host.scrollTop) host.scrollTop = top;
    else if (top + h > host.scrollTop + host.clientHeight) host.scrollTop = top + h - host.clientHeight;
  }

  toEnd() {
    this.host.scrollTop = this.host.scrollHeight;
    this.draw();
  }

  // A press counts for what stood there: while a run goes on its row may have moved before the release.
  press(event) {
    const row = event.target.closest(".row");
    if (!row || event.button || !event.isPrimary) return;
    const id = this.options.id(Number(row.dataset.index));
    this.pressed = { id, on: event.target, x: event.clientX, y: event.clientY };
  }

  release(event) {
    const pressed = this.pressed;
    this.pressed = null;
    if (!pressed || !isStill(pressed, event)) return; // text is selected
    const index = this.options.find(pressed.id);
    if (index >= 0) this.choose(pressed.on, index);
  }

  // Without a pointer: assistive technology and scripts.
  click(event) {
    const row = event.target.closest(".row");
    if (row && event.detail === 0) this.choose(event.target, Number(row.dataset.index));
  }

  choose(element, index) {
    const taken = this.options.clicked && this.options.clicked(element, index);
    this.setActive(index);
    if (!taken && this.options.open) this.options.open(index);
  }

  keydown(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || event.target !== this.host) return;
    const page = Math.max(1, Math.floor(this.host.clientHeight / this.options.height) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity };
    if (event.key in steps && this.count()) {
      event.preventDefault();
      this.setActive(Math.min(this.count() - 1, Math.max(0, this.active + steps[event.key])));
    } else if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      if (this.active >= 0 && this.options.open) this.options.open(this.active, true);
    } else if (this.options.key && this.options.key(event, this.active)) event.preventDefault();
  }
}

// Rows by index, fetched a page at a time. fetchPage(first, many) -> {total, rows}; changed() when some have come.
export class Pages {
  constructor(fetchPage, changed, size = 100) {
    this.fetchPage = fetchPage;
    this.changed = changed;
    this.size = size;
    this.pages = new Map(); // number: {rows, stale, loading}
    this.total = 0;
  }

  get(index) {
    const number = Math.floor(index / this.size);
    let page = this.pages.get(number);
    if (!page) this.pages.set(number, (page = { rows: [], stale: true, loading: false }));
    if (page.stale && !page.loading) this.load(number, page);
    return page.rows[index % this.size];
  }

  // Where the first row stands that is so, among those that are there; -1 without one.
  indexOf(isIt) {
    for (const [number, page] of this.pages) {
      const at = page.rows.findIndex(isIt);
      if (at >= 0) return number * this.size + at;
    }
    return -1;
  }

  async load(number, page) {
    page.loading = true;
    page.stale = false;
    try {
      const found = await this.fetchPage(number * this.size, this.size);
      page.rows = found.rows;
      this.total = found.total;
    } catch {
      page.failed = true;
    }
    page.loading = false;
    this.changed();
  }

  // What is shown stays until it has come anew.
  invalidate() {
    for (const [number, page] of this.pages) {
      if (this.pages.size > 40 && !page.loading) this.pages.delete(number);
      else page.stale = true;
    }
  }
}
