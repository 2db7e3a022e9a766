// Starts Pyodide, loads Sema and saves the memory: the page starts from it. Run by scripts/build_site:
//   node snapshot.mjs NODE_MODULES FILES_JSON OUT_FOLDER
// FILES_JSON: {path: text} of what Python imports. Writes snapshot.bin and loaded.json, the files that it has read.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

const [modules, filesPath, out] = process.argv.slice(2);
const { loadPyodide } = await import(pathToFileURL(join(modules, "pyodide", "pyodide.mjs")));

if (!("Suspending" in WebAssembly)) {
  // The memory remembers whether stacks can be switched; here none is, but in the page they may be.
  WebAssembly.Suspending = function (wrapped) { return wrapped; };
  WebAssembly.promising = (wrapped) => wrapped;
}
const pyodide = await loadPyodide({ _makeSnapshot: true });
for (const [path, text] of Object.entries(JSON.parse(readFileSync(filesPath, "utf8")))) {
  pyodide.FS.mkdirTree(path.slice(0, path.lastIndexOf("/")));
  pyodide.FS.writeFile(path, text);
}
const loaded = pyodide.runPython(`
import sys
sys.dont_write_bytecode = True
sys.path.insert(0, "/sema")
import page
page.warm()
import json
json.dumps(sorted(m.__file__ for m in list(sys.modules.values()) if (getattr(m, "__file__", None) or "").startswith("/sema/")))
`);
writeFileSync(join(out, "loaded.json"), loaded);
writeFileSync(join(out, "snapshot.bin"), pyodide.makeMemorySnapshot());
process.exit(0);
