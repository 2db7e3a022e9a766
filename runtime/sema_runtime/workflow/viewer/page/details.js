// The panel at the right: one agent, checkpoint, phase, event or file.

import { patch } from "./patch.js";
import { program } from "./program.js";
import { $, DASH, cost, costTitle, duration, el, get, glyph, moment, plural, runPath, say, tokens, tone } from "./format.js";

export class Details {
  // go: {agent(n), checkpoint(n), event(n), showEvent(n), reveal(agent)}
  constructor(go) {
    this.go = go;
    this.host = $("details");
    this.what = null;
    this.host.addEventListener("keydown", (event) => {
      if (event.key === "Escape") this.close();
    });
  }

  reset(run) {
    this.run = run;
    this.close(false);
  }

  async show(what, focus = false) {
    const back = document.activeElement;
    if (this.host.hidden) this.back = back;
    this.what = what;
    await this.refresh();
    if (focus) this.host.focus();
  }

  close(focus = true) {
    if (this.host.hidden) return;
    this.host.hidden = true;
    this.what = null;
    $("app").classList.remove("split");
    if (focus && this.back && this.back.isConnected) this.back.focus();
  }

  // Fetches what is shown anew: while an agent runs, its events come in.
  async refresh() {
    const { what, run } = this;
    if (!what) return;
    let made;
    try {
      made = await this.made(what);
    } catch {
      made = this.frame("Not found", null, el("p", {}, "This part of the run can't be read."));
    }
    if (run !== this.run || what !== this.what) return;
    if (this.shownFor === what) patch(this.host, made);
    else {
      this.host.replaceChildren(...made);
      this.host.scrollTop = 0;
      this.shownFor = what;
    }
    this.host.hidden = false;
    $("app").classList.add("split");
  }

  made(what) {
    if (what.phase) return this.phase(what.phase);
    if (what.agent !== undefined) return this.agent(what.agent);
    if (what.checkpoint !== undefined) return this.checkpoint(what.checkpoint);
    if (what.event !== undefined) return this.event(what.event);
    return this.text(what.title, what.text);
  }

  frame(title, status, ...parts) {
    const close = el("button", { class: "icon", type: "button", "aria-label": "Close details", onclick: () => this.close() }, "×");
    const head = el("div", { class: "details-head" }, el("h2", { class: "mono" }, title),
      status ? el("span", { class: "pill " + tone(status) }, `${glyph(status)} ${status}`) : null, close);
    return [head, ...parts.filter(Boolean)];
  }

  async agent(number) {
    const agent = await get(`${runPath(this.run)}/agent/${number}`);
    const list = facts([
      ["Phase", agent.phase_name || DASH], ["Model", agent.model || DASH],
      ["Tokens", agent.input_tokens + agent.output_tokens ? `${tokens(agent.input_tokens)} in, ${tokens(agent.output_tokens)} out` : DASH],
      ["Cost", cost(agent.cost_usd, agent.unpriced), costTitle(agent.cost_usd, agent.unpriced)],
      ["Duration", duration(agent.duration)], ["Began", `${duration(agent.start)} after the run`],
    ]);
    const calls = agent.calls.map((call) => el("details", { "data-key": call.event },
      el("summary", {}, el("span", { class: "mono" }, call.name ?? "?"), call.done ? el("span", { class: "done" }, "answered") : null),
      call.args && call.args !== "gated" ? (call.name === "run_program" ? program(call.args) : el("pre", {}, call.args)) : el("p", { class: "soft" }, "Arguments aren't in the journal.")));
    const failed = agent.status === "failed";
    const waits = agent.status === "running" ? "Still running." : "Nothing in the journal.";
    return this.frame(agent.id, agent.status, list,
      section("Prompt", text(agent.prompt, "Not in the journal.")),
      section(`Tool calls (${agent.tools})`, ...(calls.length ? calls : [el("p", { class: "soft" }, "None.")])),
      section(failed ? "Error" : "Output", text(agent.output, waits, failed ? "bad" : "")),
      section("Events", this.links(agent.events), agent.left_out ? el("p", { class: "soft" }, `${plural(agent.left_out, "event")} between them left out`) : null),
      el("p", {}, this.button("Show in the tree", () => this.go.reveal(agent))));
  }

  links(numbers) {
    return el("p", { class: "links" }, ...numbers.slice(0, 60).map((n) => this.button(`#${n}`, () => this.go.showEvent(n))),
      numbers.length > 60 ? ` … #${numbers[numbers.length - 1]}` : null);
  }

  button(label, action) {
    return el("button", { type: "button", onclick: action }, label);
  }

  async checkpoint(number) {
    const found = await get(`${runPath(this.run)}/checkpoint/${number}`);
    return this.frame(found.key, "checkpoint",
      facts([["Phase", found.phase_name || DASH], ["Time", moment(found.ts)], ["Memo", found.content_key || DASH], ["Digest", found.value_digest || DASH]]),
      section("Value", text(found.value, "Not in the journal.")),
      el("p", {}, this.button("Show in the journal", () => this.go.showEvent(found.event))));
  }

  async phase(phase) {
    return this.frame(phase.name || "(before the first phase)", phase.status, facts([
      ["Agents", phase.agents ? `${phase.finished} of ${phase.agents} finished, ${phase.failed} failed` : DASH],
      ["Checkpoints", phase.checkpoints || DASH], ["Tokens", phase.tokens ? tokens(phase.tokens) : DASH],
      ["Cost", cost(phase.cost_usd, phase.unpriced), costTitle(phase.cost_usd, phase.unpriced)],
      ["Began", phase.started == null ? DASH : `${duration(phase.started)} after the run`],
      ["Duration", phase.started == null || phase.ended == null ? DASH : duration(phase.ended - phase.started)],
    ]));
  }

  async event(number) {
    const event = await get(`${runPath(this.run)}/event/${number}`);
    const to = [];
    if (event.agent !== undefined) to.push(this.button("Open the agent", () => this.go.agent(event.agent)));
    if (event.checkpoint !== undefined) to.push(this.button("Open the checkpoint", () => this.go.checkpoint(event.checkpoint)));
    return this.frame(event.event, null, facts([["Number", `#${number}`], ["Time", moment(event.ts)]]), el("p", {}, ...to),
      section("Line", el("pre", {}, pretty(event.raw)), event.cut ? el("p", { class: "soft" }, "The line goes on.") : null));
  }

  async text(title, value) {
    return this.frame(title, null, section("JSON", el("pre", {}, pretty(value))));
  }
}

function facts(pairs) {
  return el("dl", { class: "facts" }, ...pairs.map(([name, value, title]) => el("div", {}, el("dt", {}, name), el("dd", { title: title || null }, String(value)))));
}

function section(title, ...parts) {
  return el("section", {}, el("h3", {}, title), ...parts);
}

// A text with a button that copies it; or why there is none.
function text(value, otherwise, kind = "") {
  if (value == null || value === "") return el("p", { class: "soft" }, otherwise);
  const copy = el("button", { class: "copy", type: "button", onclick: async () => {
    await navigator.clipboard.writeText(value);
    say("Copied");
  } }, "Copy");
  return el("div", { class: "text" }, copy, el("pre", { class: kind, tabindex: 0 }, value));
}

function pretty(raw) {
  try {
    return JSON.stringify(JSON.parse(raw), null, 2);
  } catch {
    return raw;
  }
}
