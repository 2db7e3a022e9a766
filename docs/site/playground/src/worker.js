// Python and Sema, in a worker. Messages to it: {boot}, then {id, call, args}; from it: {ready}, {output}, {id, result},
// {fatal}. Ending the worker is the only way to stop a program.
import { loadPyodide } from "pyodide/pyodide.mjs";
import createPyodideModule from "pyodide/pyodide.asm.mjs";
import lockFile from "pyodide/pyodide-lock.json";
import { applyDifference } from "./memory.mjs";

const FLUSH_MS = 50; // between two messages of output, once a program writes much
const IMMEDIATE = 40; // messages in one such span that go out at once

const PAGE = 65536;

let page;
let tasks;

// Output: short programs see each line at once, floods go out in large pieces.
let pending = [];
let spanStart = 0;
let inSpan = 0;
let timer = 0;

function flush() {
  clearTimeout(timer);
  timer = 0;
  if (pending.length) postMessage({ output: pending });
  pending = [];
}

function send(kind, text) {
  if (kind === "flush") return flush();
  const last = pending[pending.length - 1];
  if (last && last.kind === kind) last.text += text;
  else pending.push({ kind, text });
  const now = performance.now();
  if (now - spanStart > FLUSH_MS) {
    spanStart = now;
    inSpan = 0;
    flush();
  } else if (++inSpan < IMMEDIATE) {
    flush();
  } else if (!timer) {
    timer = setTimeout(flush, FLUSH_MS);
  }
}

async function boot({ module, snapshot, library, files, canSwitch }) {
  tasks = canSwitch;
  if (!tasks) delete WebAssembly.Suspending;
  // Pyodide fetches both; the page has fetched them already, and compiled the module.
  const saved = new Uint8Array(snapshot);
  WebAssembly.instantiateStreaming = async (_response, imports) => {
    const instance = await WebAssembly.instantiate(module, imports);
    const memory = Object.values(instance.exports).find((value) => value instanceof WebAssembly.Memory);
    applyDifference(saved, new Uint8Array(memory.buffer));
    const missing = saved.byteLength - memory.buffer.byteLength;
    if (missing > 0) memory.grow(Math.ceil(missing / PAGE)); // the saved memory had grown
    return { module, instance };
  };
  self.fetch = async () => new Response(library);
  const pyodide = await loadPyodide({
    createPyodideModule,
    indexURL: PYODIDE_PLACE,
    lockFileContents: { info: lockFile.info, packages: {} },
    _loadSnapshot: saved,
    stdout: (line) => send("out", line + "\n"),
    stderr: (line) => send("err", line + "\n"),
  });
  for (const [path, text] of Object.entries(files)) {
    pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    pyodide.FS.writeFile(path, text);
  }
  page = pyodide.pyimport("semac.page");
  const facts = page.start(send, tasks).toJs({ dict_converter: Object.fromEntries });
  postMessage({ ready: { ...facts, tasks } });
}

async function answer({ id, call, args }) {
  const method = page[call];
  // Only a call that JavaScript awaits may switch stacks.
  const result = tasks && (call === "run" || call === "enter") ? await method.callPromising(...args) : method(...args);
  flush();
  const plain = result?.toJs ? result.toJs({ dict_converter: Object.fromEntries }) : result;
  postMessage({ id, result: plain });
}

self.onmessage = async ({ data }) => {
  try {
    await (data.boot ? boot(data.boot) : answer(data));
  } catch (error) {
    flush();
    postMessage({ fatal: String(error?.message ?? error) });
  }
};
