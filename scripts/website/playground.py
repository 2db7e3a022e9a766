"""The playground: one folder with its page, its scripts and its engine, for servers and for local files."""

from __future__ import annotations

import base64
import json
import re
import shutil
from pathlib import Path

from engine import engine
from node import bundle, node_modules
from places import PLAYGROUND, ROOT, WORK

from semac.editors.build import BUILTINS, FORM_NAMES

EXAMPLES = (
    "tour", "pipeline", "algebra", "records", "macros", "conditions", "counters", "channels", "agent", "python",
    "word_count", "json_report",
)  # fmt: skip
LOCAL = ("pyodide.asm.wasm", "python_stdlib.zip", "snapshot.gz", "sema.json.gz")
HEADING = re.compile(r"^;;+ *(.*)")


def build(out: Path) -> None:
    """Writes the playground to a folder. Raises Problem without Node.js and npm."""
    modules = node_modules()
    parts = engine(modules)
    out.mkdir(parents=True, exist_ok=True)
    for name in ("index.html", "style.css"):
        shutil.copy(PLAYGROUND / name, out / name)
    for name in LOCAL:
        shutil.copy(parts / name, out / name)
    scripts(modules, out)
    local_copies(out)


def scripts(modules: Path, out: Path) -> None:
    """Writes main.js and worker.js. What they import of ours lies beside the packages of npm, where esbuild looks."""
    folder = modules.parent / "src"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(PLAYGROUND / "src", folder)
    (folder / "names.json").write_text(json.dumps({"forms": FORM_NAMES, "builtins": BUILTINS}))
    (folder / "examples.json").write_text(json.dumps(examples()))
    bundle(modules, folder / "main.js", out / "main.js")
    bundle(
        modules,
        folder / "worker.js",
        out / "worker.js",
        "--external:node:*",
        "--define:import.meta.url=PYODIDE_PLACE",
        "--banner:js=self.importScripts=undefined;const PYODIDE_PLACE='http://pyodide.invalid/';",
    )


def examples() -> list[dict[str, str]]:
    """The programs of the list: some of examples/, some that only the page has. The first comment is the title."""
    found = []
    for name in EXAMPLES:
        own = PLAYGROUND / "examples" / f"{name}.sema"
        text = (own if own.exists() else ROOT / "examples" / f"{name}.sema").read_text()
        title = HEADING.match(text)
        found.append({"name": name, "title": title[1].partition(":")[0].rstrip(".") if title else name, "text": text})
    return found


def local_copies(out: Path) -> None:
    """Writes the engine as scripts too: a page from local files can't fetch, but it can load scripts."""
    folder = out / "local"
    folder.mkdir(exist_ok=True)
    for name in (*LOCAL, "worker.js"):
        data = (out / name).read_bytes()
        kind = "text" if name.endswith(".js") else "base64"
        value = data.decode() if kind == "text" else base64.b64encode(data).decode()
        (folder / f"{name}.js").write_text(f"localFile({json.dumps(name)}, {json.dumps(value)});\n")


if __name__ == "__main__":
    build(WORK / "html" / "playground")
