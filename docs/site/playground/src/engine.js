// The engine: fetches what Python runs on once, starts a worker with it, and starts another when one has been stopped.

const FILES = ["pyodide.asm.wasm", "python_stdlib.zip", "snapshot.gz", "sema.json.gz"];
const isLocal = location.protocol === "file:";

export const canSwitch = "Suspending" in WebAssembly;

// A page from local files may not fetch, but it may load scripts; those in local/ hold the same files.
const local = new Map();
window.localFile = (name, value) => local.set(name, value);

function loadLocal(name) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = `local/${name}.js`;
    script.onload = () => { resolve(local.get(name)); local.delete(name); script.remove(); };
    script.onerror = () => reject(new Error(`local/${name}.js is missing`));
    document.head.append(script);
  });
}

async function response(name) {
  if (!isLocal) {
    const got = await fetch(name);
    if (!got.ok) throw new Error(`${name}: the server answered ${got.status}`);
    return got;
  }
  const bytes = Uint8Array.from(atob(await loadLocal(name)), (char) => char.charCodeAt(0));
  const type = name.endsWith(".wasm") ? "application/wasm" : "application/octet-stream";
  return new Response(bytes, { headers: { "content-type": type } });
}

async function unpacked(name) {
  return new Response((await response(name)).body.pipeThrough(new DecompressionStream("gzip")));
}

async function compiled(name) {
  const got = await response(name);
  try {
    return await WebAssembly.compileStreaming(got.clone());
  } catch (error) { // servers that don't know the type
    if (!(error instanceof TypeError)) throw error;
    return WebAssembly.compile(await got.arrayBuffer());
  }
}

async function workerUrl() {
  if (!isLocal) return "worker.js";
  return URL.createObjectURL(new Blob([await loadLocal("worker.js")], { type: "text/javascript" }));
}

// What a worker is started with: fetched once, sent to each.
async function parts(progress) {
  let done = 0;
  const step = async (promise) => {
    const value = await promise;
    progress(++done / (FILES.length + 1));
    return value;
  };
  const [module, library, snapshot, files, url] = await Promise.all([
    step(compiled(FILES[0])),
    step(response(FILES[1]).then((got) => got.arrayBuffer())),
    step(unpacked(FILES[2]).then((got) => got.arrayBuffer())),
    step(unpacked(FILES[3]).then((got) => got.json())),
    step(workerUrl()),
  ]);
  return { module, library, snapshot, files, url };
}

// on: {output(pieces), progress(share), ready(facts), fatal(text)}
export class Engine {
  constructor(on) {
    this.on = on;
    this.parts = parts(on.progress);
    this.next = 0;
    this.calls = new Map();
    this.start();
  }

  start() {
    this.ready = this.parts.then(({ url, ...boot }) => new Promise((resolve, reject) => {
      const worker = (this.worker = new Worker(url));
      worker.onmessage = ({ data }) => this.receive(data, resolve);
      worker.onerror = (event) => { reject(new Error(event.message || "the worker could not be started")); };
      worker.postMessage({ boot: { ...boot, canSwitch } });
    }));
    this.ready.catch((error) => this.on.fatal(error.message));
  }

  receive(data, resolve) {
    if (data.output) this.on.output(data.output);
    else if (data.ready) { this.on.ready(data.ready); resolve(data.ready); }
    else if (data.fatal) { this.restart(); this.on.fatal(data.fatal); }
    else { this.calls.get(data.id)?.(data.result); this.calls.delete(data.id); }
  }

  // The result of a function of page.py; null when the worker was stopped before.
  async call(name, ...args) {
    await this.ready;
    const id = ++this.next;
    return new Promise((resolve) => {
      this.calls.set(id, resolve);
      this.worker.postMessage({ id, call: name, args });
    });
  }

  get busy() { return this.calls.size > 0; }

  // Ends the worker, whatever it does, and starts another.
  restart() {
    this.worker?.terminate();
    for (const resolve of this.calls.values()) resolve(null);
    this.calls.clear();
    this.start();
  }
}
