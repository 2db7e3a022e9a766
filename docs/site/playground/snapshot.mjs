// Starts Pyodide, loads Sema and saves the memory: the page starts from it. Run by scripts/build_site:
//   node snapshot.mjs NODE_MODULES FILES_JSON OUT_FOLDER
// FILES_JSON: {path: text} of what Python imports. Writes snapshot.bin and loaded.json, the files that it has read.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { applyDifference } from "./src/memory.mjs";

// The files of modules that are in the memory need not be sent to the page.
const LOAD = `
import json, sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/sema")
from semac import page
page.warm()
files = [getattr(module, "__file__", None) or "" for module in sys.modules.values()]
json.dumps(sorted(file for file in files if file.startswith(("/sema/", "/lib/"))))
`;

if (!("Suspending" in WebAssembly)) {
  // The memory remembers whether stacks can be switched; here none is, but in the page they may be.
  WebAssembly.Suspending = function (wrapped) { return wrapped; };
  WebAssembly.promising = (wrapped) => wrapped;
}

// The memory as the module begins it, which the page has too: only what differs from it is sent.
let initial;
const { instantiate } = WebAssembly;
WebAssembly.instantiate = async (...args) => {
  const result = await instantiate(...args);
  const exported = Object.values((result.instance ?? result).exports);
  const memory = exported.find((value) => value instanceof WebAssembly.Memory);
  if (memory) initial = new Uint8Array(memory.buffer.slice(0));
  return result;
};

const [modules, filesPath, out] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(modules, "pyodide", "pyodide.mjs")));
try {
  const pyodide = await loadPyodide({ _makeSnapshot: true });
  for (const [path, text] of Object.entries(JSON.parse(readFileSync(filesPath, "utf8")))) {
    pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
    pyodide.FS.writeFile(path, text);
  }
  writeFileSync(join(out, "loaded.json"), pyodide.runPython(LOAD));
  writeFileSync(join(out, "snapshot.bin"), applyDifference(pyodide.makeMemorySnapshot(), initial));
} catch (error) {
  console.error(error.message); // without the line of Pyodide's sources that Node.js would show
  process.exit(1);
}
process.exit(0);
