"""Runs programs natively and plainly in one process each, and compares what they print, give and raise.

python scripts/native_conformance.py FILE.jsonl [...] [--limit N]

A line of a FILE is an object with a program in `src`. All functions that have a native form go into one extension, also
those that `sema compile --native` finds too short, so that one run of the C compiler serves hundreds of programs. Each
program that has such functions runs twice, as a module and as a program: linked with the extension, and without it.
The exit status is 1 if any answer differs.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

from sema_runtime import native
from sema_runtime.conditions.describe import describe
from sema_runtime.values.printer import to_text
from semac.native.build import Refused, build
from semac.native.kernels import Kernels, extension_text
from semac.native.link import linked
from semac.native.module import function_at
from semac.pipeline import RESULT, compile_source
from semac.process import deepen

NAME = "sema_native_corpus"


def programs(files: list[str], limit: int) -> list[tuple[str, str, Kernels]]:
    """(name, text, native functions) of the programs that have some."""
    found = []
    for file in files:
        for number, line in enumerate(Path(file).read_text(encoding="utf-8").split("\n")):
            text = json.loads(line).get("src", "") if line else ""
            try:
                unit = compile_source(text, "<corpus>", "program")
            except Exception:
                continue  # its error is the same either way
            kernels = Kernels(unit.unit, unit.tree, f"m{len(found)}_", short_too=True)
            if kernels.entries:
                found.append((f"{Path(file).stem}:{number + 1}", text, kernels))
            if len(found) == limit:
                return found
    return found


def build_all(found: list[tuple[str, str, Kernels]], path: str) -> None:
    """One extension for all programs, without the functions that mypyc refuses."""
    while True:
        text = extension_text(NAME, [kernels for _, _, kernels in found])
        try:
            build(text, NAME, path)
            return
        except Refused as refused:
            names = {function_at(text, line) for line, _ in refused.lines}
            print(f"refused by mypyc: {refused}", file=sys.stderr)
            before = sum(len(kernels.functions) for _, _, kernels in found)
            for _, _, kernels in found:
                kernels.drop(names)
            if before == sum(len(kernels.functions) for _, _, kernels in found):
                raise


def answer(text: str, mode: str, kernels: Kernels | None, path: str) -> dict[str, Any]:
    """What a program gives in one way."""
    unit = compile_source(text, "<corpus>", mode, result=True)
    if kernels is not None:
        unit.tree = linked(unit.tree, kernels, NAME, path)
    out = io.StringIO()
    result: dict[str, Any] = {"value": None, "error": None}
    namespace: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(out):
        try:
            exec(unit.code, namespace)
            result["value"] = to_text(namespace.get(RESULT))
        except (Exception, SystemExit) as error:
            shown = describe(error)
            result["error"] = [shown.message, shown.hint, shown.note, str(shown.place)]
    return {**result, "output": out.getvalue()}


def compared(found: list[tuple[str, str, Kernels]], path: str) -> int:
    """The number of programs whose answers differ."""
    different = 0
    for name, text, kernels in found:
        for mode in ("module", "program"):
            plain, natively = answer(text, mode, None, path), answer(text, mode, kernels, path)
            if plain != natively:
                different += 1
                print(f"{name} ({mode}): plain {plain}\n  native {natively}")
    return different


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--limit", type=int, default=1000)
    options = parser.parse_args()
    deepen()
    found = programs(options.files, options.limit)
    functions = sum(len(kernels.functions) for _, _, kernels in found)
    print(f"{len(found)} programs with {functions} native functions", file=sys.stderr)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "corpus.so")
        build_all(found, path)
        if not native.load(NAME, path):
            print("the extension can't be loaded", file=sys.stderr)
            return 1
        different = compared(found, path)
    failures = sum(native.failures().values())
    print(f"{different} answers differ; native functions failed {failures} times", file=sys.stderr)
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
