// What ran in parallel: a bar for each agent, in as many lanes as ran at once, above them how many that were.

import { $, duration, el, get, plural, runPath, say } from "./format.js";

const LANE = 22; // height of a lane in pixels, when there is room
const LOAD = 56; // height of the curve
const AXIS = 24;
const STATUS = ["running", "ok", "failed", "interrupted"];

export class Timeline {
  constructor(open) {
    this.open = open;
    this.canvas = el("canvas", { tabindex: 0, role: "img", "aria-label": "Timeline", id: "timeline-canvas" });
    this.tip = el("div", { class: "tip", hidden: true, "aria-hidden": "true" });
    this.host = $("timeline");
    this.host.append(this.canvas, this.tip);
    this.reset(null);
    this.canvas.addEventListener("mousemove", (event) => this.hover(event));
    this.canvas.addEventListener("mouseleave", () => (this.tip.hidden = true));
    this.canvas.addEventListener("click", (event) => this.click(event));
    this.canvas.addEventListener("wheel", (event) => this.wheel(event), { passive: false });
    this.canvas.addEventListener("keydown", (event) => this.key(event));
    this.canvas.addEventListener("pointerdown", (event) => this.drag(event));
    $("zoom-in").addEventListener("click", () => this.zoom(0.5));
    $("zoom-out").addEventListener("click", () => this.zoom(2));
    $("zoom-all").addEventListener("click", () => this.all());
    new ResizeObserver(() => this.visible && this.load()).observe(this.host);
  }

  reset(run) {
    this.run = run;
    this.view = null; // [begin, end], null for the whole run
    this.data = null;
    this.active = null;
    this.dragged = false;
  }

  update(summary) {
    const anew = !this.summary || this.summary.cursor !== summary.cursor;
    this.summary = summary;
    if (this.visible && (anew || !this.data)) this.load();
  }

  show(visible) {
    this.visible = visible;
    if (visible && this.run) this.load();
  }

  async load() {
    if (this.loading) return void (this.again = true);
    this.loading = true;
    const run = this.run;
    const [begin, end] = this.view || [0, 0];
    const width = Math.max(50, Math.round(this.host.clientWidth));
    try {
      const found = await get(`${runPath(run)}/timeline?begin=${begin}&end=${end}&width=${width}`);
      if (run === this.run) {
        this.data = found;
        this.draw();
      }
    } catch {
      // the next change asks again
    }
    this.loading = false;
    if (this.again) {
      this.again = false;
      this.load();
    }
  }

  x(time) {
    return ((time - this.data.begin) / (this.data.end - this.data.begin)) * this.width;
  }

  top(lane) {
    return LOAD + AXIS + lane * this.lane;
  }

  draw() {
    const { data, canvas } = this;
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name).trim();
    this.width = this.host.clientWidth;
    const room = this.host.clientHeight - LOAD - AXIS - 8;
    this.lane = Math.max(3, Math.min(LANE, Math.floor(room / Math.max(1, data.lanes))));
    const height = Math.min(16000, LOAD + AXIS + data.lanes * this.lane + 8);
    const ratio = Math.min(window.devicePixelRatio || 1, 16000 / height);
    canvas.style.width = this.width + "px";
    canvas.style.height = height + "px";
    canvas.width = this.width * ratio;
    canvas.height = height * ratio;
    const pen = canvas.getContext("2d");
    pen.scale(ratio, ratio);
    pen.font = "11px system-ui, sans-serif";
    this.drawPhases(pen, colour, height);
    this.drawLoad(pen, colour);
    this.drawAxis(pen, colour, height);
    for (const bar of data.bars) this.drawBar(pen, colour, bar);
    const text = `${plural(this.summary.agents, "agent")}, at most ${this.summary.parallel} at once, ${duration(data.end - data.begin)} shown`;
    $("timeline-text").textContent = text;
    canvas.setAttribute("aria-label", `Timeline: ${text}. Arrow keys go from bar to bar, plus and minus zoom, Enter opens.`);
  }

  drawPhases(pen, colour, height) {
    this.data.phases.forEach(([, name, start, end], n) => {
      const left = Math.max(0, this.x(start));
      const right = Math.min(this.width, this.x(end ?? this.data.span));
      if (right < 0 || left > this.width) return;
      pen.fillStyle = colour(n % 2 ? "--band-b" : "--band-a");
      pen.fillRect(left, 0, right - left, height);
      pen.fillStyle = colour("--soft");
      if (right - left > 40) clipped(pen, name, left + 6, 14, right - left - 10);
    });
    pen.fillStyle = colour("--accent");
    for (const at of this.data.resumed) pen.fillRect(this.x(at) - 1, 0, 2, height);
  }

  drawLoad(pen, colour) {
    const { load } = this.data;
    const most = Math.max(1, ...load);
    const floor = LOAD;
    const high = (n) => floor - (n / most) * (LOAD - 22);
    pen.beginPath();
    pen.moveTo(0, floor);
    load.forEach((n, dot) => {
      const x = (dot / (load.length - 1)) * this.width;
      pen.lineTo(x, high(n));
      pen.lineTo(((dot + 1) / (load.length - 1)) * this.width, high(n));
    });
    pen.lineTo(this.width, floor);
    pen.closePath();
    pen.globalAlpha = 0.25;
    pen.fillStyle = colour("--accent");
    pen.fill();
    pen.globalAlpha = 1;
  }

  drawAxis(pen, colour, height) {
    const span = this.data.end - this.data.begin;
    const step = niceStep(span / Math.max(2, this.width / 110));
    pen.fillStyle = colour("--soft");
    pen.strokeStyle = colour("--line");
    for (let time = Math.ceil(this.data.begin / step) * step; time <= this.data.end; time += step) {
      const x = Math.round(this.x(time)) + 0.5;
      pen.beginPath();
      pen.moveTo(x, LOAD + 4);
      pen.lineTo(x, height);
      pen.stroke();
      pen.fillText(duration(time), x + 4, LOAD + 16);
    }
  }

  drawBar(pen, colour, [agent, lane, start, end, status, id]) {
    const left = this.x(start);
    const stop = STATUS[status] === "running" && !this.view ? this.width : this.x(end);
    const width = Math.max(1.5, stop - left - (stop - left > 4 ? 1 : 0));
    const gap = this.lane > 6 ? 2 : this.lane > 3 ? 1 : 0.5;
    pen.fillStyle = colour("--bar-" + STATUS[status]);
    pen.fillRect(left, this.top(lane) + gap / 2, width, this.lane - gap);
    if (this.lane >= 14 && width > 40 && id) {
      pen.fillStyle = colour("--bar-text");
      clipped(pen, id, left + 6, this.top(lane) + this.lane / 2 + 4, width - 10);
    }
    if (this.active && this.active[0] === agent) {
      pen.strokeStyle = colour("--text");
      pen.lineWidth = 2;
      pen.strokeRect(left - 1, this.top(lane), width + 2, this.lane);
      pen.lineWidth = 1;
    }
  }

  // What people do

  barAt(event) {
    if (!this.data) return null;
    const lane = Math.floor((event.offsetY - LOAD - AXIS) / this.lane);
    const time = this.timeAt(event.offsetX);
    const near = ((this.data.end - this.data.begin) / this.width) * 3;
    return this.data.bars.find((bar) => bar[1] === lane && bar[2] - near <= time && time <= bar[3] + near) || null;
  }

  // The bar of an agent as it is drawn now.
  barOf(agent) {
    return this.data.bars.find((bar) => bar[0] === agent) || null;
  }

  timeAt(x) {
    return this.data.begin + (x / this.width) * (this.data.end - this.data.begin);
  }

  async hover(event) {
    const bar = this.barAt(event);
    this.canvas.style.cursor = bar ? "pointer" : "default";
    this.tip.hidden = !bar;
    if (!bar) return void (this.hovered = null);
    this.tip.style.left = Math.min(event.offsetX + 12, this.width - 220) + "px";
    this.tip.style.top = event.offsetY + 16 + "px";
    if (this.hovered && this.hovered[0] === bar[0]) return;
    this.hovered = bar;
    this.tip.textContent = "…";
    const found = await this.describe(bar);
    if (this.hovered === bar) this.tip.textContent = found;
  }

  async describe(bar) {
    const agent = await get(`${runPath(this.run)}/agent/${bar[0]}`);
    return `${agent.id}, ${agent.status}, ${duration(agent.duration)}, from ${duration(agent.start)}`;
  }

  click(event) {
    if (this.dragged) return void (this.dragged = false);
    const bar = event.detail && this.pressed ? this.barOf(this.pressed[0]) : this.barAt(event);
    if (bar) this.choose(bar, true);
  }

  choose(bar, open) {
    this.active = bar;
    this.draw();
    this.describe(bar).then(say);
    if (open) this.open({ agent: bar[0] });
  }

  wheel(event) {
    if (!this.data || !(event.ctrlKey || event.metaKey || event.shiftKey)) return;
    event.preventDefault();
    if (event.shiftKey) this.pan((Math.sign(event.deltaY || event.deltaX) * (this.data.end - this.data.begin)) / 8);
    else this.zoom(event.deltaY > 0 ? 1.25 : 0.8, this.timeAt(event.offsetX));
  }

  drag(event) {
    if (!this.data || event.button) return;
    this.pressed = this.barAt(event); // while a run goes on its bar may have moved before the release
    const from = event.clientX;
    const [begin, end] = [this.data.begin, this.data.end];
    const move = (now) => {
      const by = ((from - now.clientX) / this.width) * (end - begin);
      if (Math.abs(from - now.clientX) < 4 || !this.view) return;
      this.dragged = true;
      this.showSpan(begin + by, end + by);
    };
    const done = () => window.removeEventListener("pointermove", move);
    window.addEventListener("pointermove", move);
    window.addEventListener("pointerup", done, { once: true });
  }

  zoom(factor, around) {
    if (!this.data) return;
    const { begin, end } = this.data;
    const centre = around ?? (this.active ? (this.active[2] + this.active[3]) / 2 : (begin + end) / 2);
    this.showSpan(centre - (centre - begin) * factor, centre + (end - centre) * factor);
  }

  pan(by) {
    this.showSpan(this.data.begin + by, this.data.end + by);
  }

  showSpan(begin, end) {
    const { span } = this.data;
    const wide = Math.max(10, end - begin);
    if (wide >= span) return this.all();
    const left = Math.min(Math.max(0, begin), span - wide);
    this.view = [Math.round(left), Math.round(left + wide)];
    this.load();
  }

  all() {
    this.view = null;
    this.load();
  }

  key(event) {
    if (!this.data || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key === "+" || event.key === "=") this.zoom(0.5);
    else if (event.key === "-") this.zoom(2);
    else if (event.key === "0") this.all();
    else if (event.key === "Enter" && this.active) this.open({ agent: this.active[0] });
    else if (event.key.startsWith("Arrow")) this.step(event.key);
    else return;
    event.preventDefault();
  }

  step(key) {
    const bars = this.data.bars;
    if (!bars.length) return;
    const from = this.active && (this.barOf(this.active[0]) || this.active);
    if (!from) return this.choose(bars[0], false);
    const along = key === "ArrowLeft" || key === "ArrowRight";
    const way = key === "ArrowRight" || key === "ArrowDown" ? 1 : -1;
    const others = bars.filter((bar) => (along ? bar[1] === from[1] && (bar[2] - from[2]) * way > 0 : bar[1] === from[1] + way));
    const near = (bar) => Math.abs(bar[2] - from[2]);
    const next = others.sort((a, b) => near(a) - near(b))[0];
    if (next) this.choose(next, false);
  }
}

function clipped(pen, text, x, y, width) {
  let shown = text;
  while (shown.length > 1 && pen.measureText(shown + "…").width > width) shown = shown.slice(0, -1);
  if (width > 12) pen.fillText(shown === text ? text : shown + "…", x, y);
}

function niceStep(least) {
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1e3, 2e3, 5e3, 1e4, 15e3, 3e4, 6e4, 12e4, 3e5, 6e5, 9e5, 18e5, 36e5, 72e5, 216e5, 864e5];
  return steps.find((step) => step >= least) || Math.ceil(least / 864e5) * 864e5;
}
