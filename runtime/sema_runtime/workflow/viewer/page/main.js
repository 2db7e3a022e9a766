// The page: which run is open, its head, its views, and the stream that keeps them fresh.

import { $, DASH, ago, cost, costTitle, duration, el, get, glyph, moment, plural, runPath, say, tokens, tone } from "./format.js";
import { Approvals } from "./approvals.js";
import { Details } from "./details.js";
import { Events } from "./events.js";
import { patch } from "./patch.js";
import { RunList } from "./runs.js";
import { Servers } from "./auth.js";
import { Timeline } from "./timeline.js";
import { Tree } from "./tree.js";

const VIEWS = ["tree", "timeline", "events", "auth", "approvals"];
const POLL = 1000; // milliseconds, where a stream can't be had
const QUIET = 120; // seconds without an event after which a run may have died
const NO_CLOCK = 3600; // seconds without an event after which its clock stands still

const open = (what) => details.show(what, true);
const details = new Details({
  agent: (agent) => open({ agent }), checkpoint: (checkpoint) => open({ checkpoint }), event: (event) => open({ event }),
  showEvent: (number) => {
    showView("events");
    events.goTo(number);
    open({ event: number });
  },
  reveal: (agent) => {
    showView("tree");
    tree.reveal(agent.agent, agent.phase);
  },
});
const tree = new Tree(open);
const timeline = new Timeline(open);
const events = new Events(open);
const servers = new Servers();
const approvals = new Approvals();
const runs = new RunList(openRun);
const parts = [tree, timeline, events, servers, approvals, details];

let run = null;
let summary = null;
let received = 0; // when the summary came
let stream = null;
let polling = 0;
let metadata = {};

tree.clock = elapsed;

// Runs

function openRun(name) {
  if (name === run && summary) return $("tree").focus();
  run = name;
  summary = null;
  metadata = {};
  for (const part of parts) part.reset(name);
  history.replaceState(null, "", `?run=${encodeURIComponent(name)}${location.hash}`);
  runs.select(name);
  $("empty").hidden = true;
  $("run").hidden = false;
  $("workflow").textContent = name;
  $("notices").replaceChildren();
  listen();
}

async function loadMetadata(name) {
  const found = await get(`${runPath(name)}/metadata.json`).catch(() => ({}));
  if (name !== run) return;
  metadata = found && typeof found === "object" ? found : {};
  $("doc").textContent = typeof metadata.doc === "string" ? metadata.doc : "";
  $("doc").hidden = !$("doc").textContent;
  if (summary) head();
}

// A stream while the page is seen: browsers allow few connections to one server. Without one, questions each second.
function listen() {
  if (stream) stream.close();
  clearTimeout(polling);
  stream = null;
  if (!run || document.hidden) return;
  let failures = 0;
  const mine = (stream = new EventSource(`${runPath(run)}/stream`));
  mine.addEventListener("summary", (event) => {
    failures = 0;
    if (mine === stream) update(JSON.parse(event.data));
  });
  mine.onerror = () => {
    if (mine !== stream) return;
    if (mine.readyState === EventSource.CLOSED || ++failures >= 3) {
      mine.close();
      poll(run);
    }
  };
}

async function poll(name) {
  if (name !== run || document.hidden) return;
  try {
    const found = await get(`${runPath(name)}/summary`);
    if (name === run) update(found);
    $("notices").classList.remove("lost");
  } catch {
    $("notices").classList.add("lost");
    if (!summary) notices(["This run can't be read."]);
  }
  polling = setTimeout(() => poll(name), POLL);
}

function update(found) {
  const before = summary;
  summary = found;
  received = performance.now();
  if (before && before.generation !== found.generation) for (const part of parts) part.reset(run);
  if (!before && found.files.includes("metadata.json")) loadMetadata(run);
  head();
  tree.update(found);
  timeline.update(found);
  events.update(found);
  if (!before || before.cursor !== found.cursor) {
    servers.load();
    approvals.load();
  }
  if (before && details.what && before.cursor !== found.cursor) {
    const { what } = details;
    if (what.phase) what.phase = found.phases.find((phase) => phase.number === what.phase.number) || what.phase;
    details.refresh();
  }
  if (before && before.status !== found.status) say(`The run is ${found.status}`);
  if (!before && !found.unread) say(`${found.workflow || run}: ${found.status}, ${plural(found.agents, "agent")}`);
}

// The time on the run's clock; one that runs goes on between events.
function elapsed() {
  if (summary.status !== "running") return summary.elapsed_ms;
  return summary.elapsed_ms + (quiet() < NO_CLOCK ? quiet() * 1000 : 0);
}

function quiet() {
  return Math.max(0, summary.now - (summary.written || summary.now)) + (performance.now() - received) / 1000;
}

// The head

function head() {
  const s = summary;
  patch($("workflow"), [s.workflow || run]);
  document.title = `${glyph(s.status)} ${s.workflow || run} – Sema workflows`;
  $("status").className = "pill " + tone(s.status);
  $("status").textContent = `${glyph(s.status)} ${s.status}`;
  $("status").title = s.reason || "";
  const started = s.phases.filter((phase) => phase.started != null && phase.name).length;
  const agents = s.agents.toLocaleString();
  const done = s.running ? `${s.finished.toLocaleString()} / ${agents}` : agents;
  const total = s.input_tokens + s.output_tokens;
  const inside = s.inside.runs && s.inside.tokens ? `${cost(s.inside.cost_usd, s.inside.unpriced)} in ${plural(s.inside.runs, "run")} inside` : "";
  const budget = metadata.meta && metadata.meta.budget ? metadata.meta.budget : {};
  const tokenLimit = s.token_limit ?? (typeof budget.tokens === "number" ? budget.tokens : null);
  patch($("totals"), [
    fact("Phases", String(started), "r-phases"),
    fact("Agents", done, "r-agents", s.failed ? `${s.failed} failed` : s.running ? `${s.running} running` : ""),
    fact("At once", String(s.parallel || DASH), "r-parallel"),
    fact("Checkpoints", String(s.checkpoints || DASH), "r-checkpoints"),
    fact("Tokens", total ? tokens(total) : DASH, "r-tokens", total ? `${tokens(s.input_tokens)} in · ${tokens(s.output_tokens)} out` : "", meter(s.own.tokens, tokenLimit, "tokens")),
    fact("Cost", cost(s.cost_usd, s.unpriced), "r-cost", [s.unpriced && s.cost_usd != null ? `${s.unpriced} unpriced` : "", inside].filter(Boolean).join(" · "),
      meter(s.own.cost_usd || 0, typeof budget.usd === "number" ? budget.usd : null, "dollars"), costTitle(s.cost_usd, s.unpriced)),
  ]);
  const version = s.code_version || metadata.code_version;
  patch($("meta"), [
    labelled("run", s.run_id || run), version ? labelled("code", version) : "", labelled("started", moment(s.started_ts)),
    s.segments.length > 1 ? labelled("resumed", `${s.segments.length - 1}×`) : "", s.fork_of ? forkOf(s) : "",
    s.nested.length ? runsInside(s) : "",
  ]);
  $("show-args").hidden = !s.args_json;
  $("show-result").hidden = !s.files.includes("result.json");
  notices(warnings(s));
  tick();
}

function warnings(s) {
  const found = [];
  if (s.unread) found.push(`Reading the journal: ${Math.round(100 * (1 - s.unread / Math.max(1, s.size)))} %`);
  if (s.reason) found.push(s.reason);
  if (s.damaged) found.push(`${plural(s.damaged, "line")} of the journal can't be read.`);
  for (const [why, lost] of Object.entries(s.overflow)) {
    found.push(why === "journal-size-cap" ? "The journal reached its size limit: later events are missing." : `${plural(lost, "event")} could not be written (${why}).`);
  }
  for (const [name, times] of Object.entries(s.policy)) if (/violation|flagged|bypassed|requested/.test(name)) found.push(`${name}: ${times}`);
  if (s.status === "running" && quiet() > QUIET) {
    found.push(`No event since ${ago(quiet())}. If the program has ended, go on with: sema workflow run FILE --resume ${run}`);
  }
  if (s.phases_left_out) found.push(`${plural(s.phases_left_out, "phase")} more aren't shown.`);
  return found;
}

function notices(texts) {
  patch($("notices"), texts.map((text) => el("p", { class: "notice" }, text)));
}

function tick() {
  if (!summary) return;
  $("elapsed").textContent = duration(elapsed());
}

function fact(name, value, id, under = "", below = null, title = "") {
  return el("div", { id, title: title || null }, el("dt", {}, name), el("dd", {}, value), el("dd", { class: "under" }, under), below ? el("dd", { class: "below" }, below) : null);
}

function meter(used, limit, unit) {
  if (!limit || limit <= 0) return null;
  const share = Math.min(1, used / limit);
  const bar = el("span", { class: "meter" + (used > limit ? " over" : ""), role: "meter", "aria-label": `budget in ${unit}`, "aria-valuemin": 0, "aria-valuemax": limit, "aria-valuenow": Math.min(used, limit), title: `${Math.round(share * 100)} % of ${limit} ${unit}` }, el("span", {}));
  bar.firstChild.style.width = share * 100 + "%";
  return bar;
}

const labelled = (name, value) => el("span", {}, el("span", { class: "soft" }, name + " "), el("span", { class: "mono" }, value));

function linkTo(name, attributes, text = name) {
  const go = (event) => {
    event.preventDefault();
    openRun(name);
  };
  return el("a", { ...attributes, href: `?run=${encodeURIComponent(name)}`, onclick: go }, text);
}

function forkOf(s) {
  const link = linkTo(s.fork_of, { class: "mono", id: "fork-of" });
  return el("span", {}, el("span", { class: "soft" }, "fork of "), link, s.fork_at == null ? "" : ` at ${s.fork_at}`);
}

function runsInside(s) {
  const links = s.nested.flatMap(([name, workflow]) => [linkTo(name, { title: name }, workflow), " "]);
  return el("span", { id: "nested" }, el("span", { class: "soft" }, "runs inside "), ...links, s.nested_left_out ? `and ${s.nested_left_out} more` : "");
}

$("show-args").addEventListener("click", () => open({ title: "Arguments", text: summary.args_json }));
$("show-result").addEventListener("click", async () => {
  const found = await get(`${runPath(run)}/result.json`).catch(() => null);
  open({ title: "Result", text: found === null ? "There is no result.json." : JSON.stringify(found) });
});

// Views

function showView(name) {
  for (const one of VIEWS) {
    const tab = $("tab-" + one);
    tab.setAttribute("aria-selected", String(one === name));
    tab.tabIndex = one === name ? 0 : -1;
    $("panel-" + one).hidden = one !== name;
  }
  timeline.show(name === "timeline");
  events.show(name === "events");
  if (name === "tree" && summary) tree.layout();
  history.replaceState(null, "", location.pathname + location.search + (name === "tree" ? "" : "#" + name));
}

document.querySelector(".tabs").addEventListener("click", (event) => {
  if (event.target.id.startsWith("tab-")) showView(event.target.id.slice(4));
});
document.querySelector(".tabs").addEventListener("keydown", (event) => {
  const way = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!way) return;
  const there = VIEWS.filter((name) => !$("tab-" + name).hidden);
  const at = there.indexOf(event.target.id.slice(4));
  const next = there[(at + way + there.length) % there.length];
  showView(next);
  $("tab-" + next).focus();
});

// Colours (theme.js paints)

const THEMES = { auto: ["light", "◐", "as the system has them"], light: ["dark", "☀", "light"], dark: ["auto", "☾", "dark"] };

function showTheme() {
  const [, sign, label] = THEMES[document.documentElement.dataset.theme];
  $("theme").textContent = sign;
  $("theme").setAttribute("aria-label", `Colours: ${label}`);
  if (timeline.data && timeline.visible) timeline.draw();
}
$("theme").addEventListener("click", () => {
  localStorage.setItem("sema-theme", THEMES[document.documentElement.dataset.theme][0]);
  dispatchEvent(new Event("theme"));
});
addEventListener("colours", showTheme);
showTheme();

document.addEventListener("keydown", (event) => {
  if (event.target.closest("input, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "/") {
    event.preventDefault();
    $("run-search").focus();
  } else if (event.key >= "1" && event.key <= "5" && run && !$("tab-" + VIEWS[event.key - 1]).hidden) showView(VIEWS[event.key - 1]);
});
document.addEventListener("visibilitychange", listen);
setInterval(() => {
  if (!summary || summary.status !== "running") return;
  tick();
  notices(warnings(summary));
  if (!$("panel-tree").hidden) tree.list.draw();
}, 1000);

const wanted = new URLSearchParams(location.search).get("run");
if (VIEWS.includes(location.hash.slice(1))) showView(location.hash.slice(1));
if (wanted) openRun(wanted);
else runs.ready = (found) => found.length && !run && openRun(found[0].run);
