// The page: examples, the buttons, the output, the prompt.
import { Engine, canSwitch } from "./engine.js";
import { goTo, programEditor, pythonView, setText, showFindings } from "./editor.js";
import { fragmentOf, programOf } from "./share.js";
import examples from "./examples.json";

const CHECK_AFTER_MS = 400; // after the last key
const COMPILE_LIMIT_MS = 8000; // a macro may run for ever
const SHOW_MS = 20;
const MOST_SPAN = 20000; // characters that are laid out together
const STORED = "sema-playground";
const LONG_LINK = 8000; // characters; chat programs cut longer ones

const $ = (id) => document.getElementById(id);
const output = $("output");
let running = false;
let timer = 0;
let stopReason = "";

// Storage may be forbidden; then nothing is kept.
const stored = {
  get(key) { try { return localStorage.getItem(`${STORED}-${key}`); } catch { return null; } },
  set(key, value) { try { localStorage.setItem(`${STORED}-${key}`, value); } catch { /* not kept */ } },
};

// Output

function write(kind, text) {
  const atEnd = output.scrollHeight - output.scrollTop - output.clientHeight < 40;
  const last = output.lastElementChild;
  if (last?.className === kind && last.textContent.length < MOST_SPAN) last.firstChild.appendData(text);
  else {
    const span = document.createElement("span");
    span.className = kind;
    span.append(text);
    output.append(span);
  }
  if (atEnd) output.scrollTop = output.scrollHeight;
}

// Programs write much faster than the page can lay text out: what has come in a moment is shown at once.
let waiting = [];
function receive(pieces) {
  if (!waiting.length) setTimeout(drain, SHOW_MS);
  waiting.push(...pieces);
}
function drain() {
  const pieces = waiting;
  waiting = [];
  for (let at = 0; at < pieces.length;) {
    const { kind } = pieces[at];
    let text = "";
    while (at < pieces.length && pieces[at].kind === kind) text += pieces[at++].text;
    write(kind, text);
  }
}

function clear() {
  waiting = [];
  output.replaceChildren();
}

// A line of its own, after what a program has written without an end of line.
function writeLine(kind, text) {
  drain();
  const before = output.textContent;
  write(kind, (before && !before.endsWith("\n") ? "\n" : "") + text + "\n");
}

function status(text, isError = false) {
  $("status").textContent = text;
  $("status").classList.toggle("error", isError);
}

// The engine

const began = performance.now();
const engine = new Engine({
  output: receive,
  progress: (share) => { $("progress").value = share * 0.8; },
  ready(facts) {
    $("progress").hidden = true;
    $("run").disabled = false;
    document.body.dataset.ready = String(Number(document.body.dataset.ready ?? 0) + 1);
    $("facts").textContent = `Sema ${facts.version} on Python ${facts.python}` + (facts.tasks ? "" : ", without tasks");
    if (!running) status(document.body.dataset.ready === "1" ? `Ready after ${duration(performance.now() - began)}` : "Ready");
    checkSoon(0);
  },
  fatal(text) {
    if (running) writeLine("err", `Python stopped: ${text}\nIt has been started again.`);
    status(`Python stopped: ${text}`, true);
    $("progress").hidden = true;
  },
});
engine.ready.catch(() => { $("run").disabled = true; });

const duration = (ms) => (ms < 1000 ? `${Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`);

async function limited(call, ms, reason) {
  await engine.ready;
  clearTimeout(timer);
  stopReason = "";
  if (ms) timer = setTimeout(() => { stopReason = reason; engine.restart(); }, ms);
  const result = await call();
  clearTimeout(timer);
  return result;
}

// Runs a function of page.py for the user, and shows what came of it.
async function perform(name, ...args) {
  if (running) return null;
  running = true;
  document.body.classList.add("running");
  $("stop").disabled = false;
  $("run").disabled = true;
  status(engine.busy ? "Waiting ..." : "Running ...");
  const limit = Number($("limit").value) * 1000;
  let start = 0;
  const result = await limited(() => { start = performance.now(); status("Running ..."); return engine.call(name, ...args); },
    limit, `the time limit of ${limit / 1000} s`).catch(() => null);
  const took = performance.now() - start;
  drain();
  show(result, took);
  running = false;
  document.body.classList.remove("running");
  $("stop").disabled = true;
  $("run").disabled = false;
  return result;
}

function show(result, ms) {
  if (result === null) {
    writeLine("note", stopReason ? `Stopped by ${stopReason}.` : "Stopped.");
    status("Stopped; starting Python again ...");
    return;
  }
  if (result.incomplete) return;
  if (result.note) writeLine("note", result.note);
  if (result.error) {
    writeLine("err", result.error);
    if (result.place) {
      const [line, column] = result.place;
      showFindings(editor, [{ line, column, end_line: line, end_column: column + 1, message: result.message, hint: result.hint }]);
      errorLink(line, column);
    }
    status(`Failed after ${duration(ms)}`, true);
    return;
  }
  if (result.exit !== undefined) writeLine("note", `exit ${result.exit}`);
  if (result.value !== null && result.value !== undefined) writeLine("value", `=> ${result.value}`);
  status(`Done in ${duration(ms)}`);
}

function errorLink(line, column) {
  const link = document.createElement("button");
  link.className = "place";
  link.textContent = `Go to line ${line}`;
  link.onclick = () => goTo(editor, line, column);
  output.append(link);
  output.scrollTop = output.scrollHeight;
}

// The program

const editor = programEditor($("program"), "", {
  change() {
    stored.set("text", text());
    if ($("examples").value && text() !== example($("examples").value)?.text) $("examples").value = "";
    checkSoon(CHECK_AFTER_MS);
  },
  run,
  complete: (...args) => (running ? null : engine.call("completions", ...args)),
  describe: (name) => (running ? null : engine.call("documentation", name)),
});
const pythonPane = pythonView($("python"));
const text = () => editor.state.doc.toString();
const example = (name) => examples.find((entry) => entry.name === name);

function load(program) {
  setText(editor, program);
  clear();
}

function run() {
  clear();
  return perform("run", text(), $("input").value);
}

let soon = 0;
function checkSoon(ms) {
  clearTimeout(soon);
  soon = setTimeout(checkNow, ms);
}

// Marks what `sema check` finds, and compiles. Neither runs the program, but macros run.
async function checkNow() {
  if (running) return;
  const checked = text();
  const limit = (name, ...args) => limited(() => engine.call(name, ...args), COMPILE_LIMIT_MS, "").catch(() => null);
  const findings = await limit("check", checked);
  if (running || text() !== checked) return;
  showFindings(editor, findings ?? []);
  const emitted = await limit("emit", checked, $("fast").checked);
  if (text() !== checked) return;
  setText(pythonPane, emitted === null ? "# compiling was stopped" : emitted.python ?? commented(emitted.error));
}

const commented = (lines) => lines.split("\n").map((line) => `# ${line}`.trimEnd()).join("\n") + "\n";

// The buttons

$("run").onclick = run;
$("stop").onclick = () => engine.restart();
$("fast").onchange = () => checkSoon(0);
$("format").onclick = async () => {
  const result = await engine.call("formatted", text());
  if (result?.text !== undefined) setText(editor, result.text);
  else if (result) { clear(); show(result, 0); }
};
$("share").onclick = async () => {
  const fragment = await fragmentOf(text());
  history.replaceState(null, "", `#${fragment}`);
  const long = fragment.length > LONG_LINK ? " It is long: some chat programs cut such links." : "";
  try {
    await navigator.clipboard.writeText(location.href);
    status(`The link is in the clipboard and in the address bar.${long}`);
  } catch {
    status(`The link is in the address bar.${long}`);
  }
};
for (const { name, title } of examples) $("examples").append(new Option(title, name));
$("examples").onchange = () => choose($("examples").value);
function choose(name) {
  const chosen = example(name);
  if (!chosen) return;
  history.replaceState(null, "", `#example=${name}`);
  load(chosen.text);
  $("examples").value = name;
}
$("theme").onclick = () => {
  const dark = matchMedia("(prefers-color-scheme: dark)").matches;
  const now = document.documentElement.dataset.theme ?? (dark ? "dark" : "light");
  document.documentElement.dataset.theme = now === "dark" ? "light" : "dark";
  stored.set("theme", document.documentElement.dataset.theme);
};

// The prompt: evaluates in the session of the last run. Arrow keys bring earlier entries back.

const entries = [];
let entry = 0;
$("prompt").onkeydown = async (event) => {
  const field = $("prompt");
  if (event.key === "ArrowUp" || event.key === "ArrowDown") {
    const next = entry + (event.key === "ArrowUp" ? -1 : 1);
    if (field.value.includes("\n") || next < 0 || next > entries.length) return;
    entry = next;
    field.value = entries[entry] ?? "";
    event.preventDefault();
  } else if (event.key === "Enter" && !event.shiftKey) {
    event.preventDefault();
    const typed = field.value;
    if (!typed.trim() || running) return;
    writeLine("entry", `sema> ${typed}`);
    const result = await perform("enter", typed);
    if (result?.incomplete) {
      output.lastElementChild.remove();
      field.value = typed + "\n";
      status("The entry isn't complete: go on typing");
      return;
    }
    entries.push(typed);
    entry = entries.length;
    field.value = "";
  }
};

// What the page begins with: the program of the address, else what was there last, else the first example.

async function open(first) {
  try {
    const program = await programOf(location.hash);
    const named = program?.example === undefined ? null : example(program.example);
    if (program?.example !== undefined && !named) status(`There is no example "${program.example}"`, true);
    if (program?.text !== undefined) return load(program.text);
    if (named) { load(named.text); $("examples").value = named.name; return; }
  } catch (error) {
    status(error.message, true);
    if (!first) return;
  }
  if (first) {
    const last = stored.get("text");
    load(last?.trim() ? last : examples[0].text);
    if (!last?.trim()) $("examples").value = examples[0].name;
  }
}
addEventListener("hashchange", () => open(false));
document.documentElement.dataset.theme = stored.get("theme") ?? "";
if (!stored.get("theme")) delete document.documentElement.dataset.theme;
if (!canSwitch) $("tasks").hidden = false;
// For tests, and for who automates the page.
window.playground = {
  text,
  example: choose,
  python: () => pythonPane.state.doc.toString(),
  line: () => editor.state.doc.lineAt(editor.state.selection.main.head).number,
};
open(true);
