"""Asserts inferred types at run time: every expression whose type is known is checked whenever it is evaluated.

    python scripts/check_types.py --corpus ../shared/conformance         programs of the corpus
    python scripts/check_types.py --count 5000 --seed 1                  random programs

Prints each expression that had a value of another type than inference said, with the program.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import json
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent))

import compare_optimization

from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from semac.emit.function import FunctionEmitter
from semac.emit.pyast import call, name
from semac.ir import nodes as ir
from semac.ir import types

TAGS: dict[type, int] = {
    int: types.INT, float: types.FLOAT, Fraction: types.OTHER_NUMBER, complex: types.OTHER_NUMBER, str: types.STR,
    bool: types.BOOL, type(None): types.NIL, Keyword: types.KEYWORD, Symbol: types.SYMBOL, Char: types.CHAR,
    List: types.LIST, tuple: types.VECTOR_TAG, Map: types.MAP, HashMap: types.MAP,
}  # fmt: skip
CHECK = "__check_type"
SAMPLE = 20  # elements of a collection that are looked at
faults: list[str] = []
plain_expr = FunctionEmitter.expr


def tag_of(value: Any) -> int:
    tag = TAGS.get(type(value))
    if tag is not None:
        return tag
    if getattr(type(value), "type_name", "") == "complex":
        return types.OTHER_NUMBER
    return types.FUNCTION | types.OTHER if callable(value) else types.OTHER


def fits(value: Any, mask: int) -> bool:
    if not tag_of(value) & mask:
        return False
    inner = mask >> types.ELEMENTS & types.LEVEL & types.TAGS
    if type(value) is List or type(value) is tuple:
        return all(tag_of(item) & inner for item in list(value)[:SAMPLE])
    if isinstance(value, Map):
        return all(tag_of(item) & inner for _, item in list(value.pairs())[:SAMPLE])
    return True


def check_type(value: Any, mask: int, what: str) -> Any:
    if not fits(value, mask):
        faults.append(f"{what} has the type {types.show(mask)}, and the value {value!r}")
    return value


def checked_expr(self: FunctionEmitter, node: Any) -> ast.expr:
    value = plain_expr(self, node)
    is_raw = node in self.module.unit.raw or (
        type(node) is ir.Ref and (node.var.owned or node.var.raw_list or node.var in self.errors)
    )
    known = types.TAGS & node.type != types.TAGS or node.type >> types.ELEMENTS & types.TAGS != types.TAGS
    if is_raw or not known or self.at_module or type(node) in (ir.Const, ir.Builtin, ir.Lambda, ir.Set):
        return value
    if type(node) is ir.Ref and (node.var.known_function is not None or not node.var.py):
        return value
    loc = self.loc(node)
    return call(
        name(CHECK, loc),
        [value, ast.Constant(node.type, **loc), ast.Constant(f"{node!r:.80} at {loc.get('lineno')}", **loc)],
        loc,
    )


def faults_of(source: str) -> list[str]:
    """The expressions of a program that had a value of another type than inference said."""
    faults.clear()
    FunctionEmitter.expr = checked_expr  # type: ignore[method-assign]
    setattr(builtins, CHECK, check_type)  # for good: macros that are compiled meanwhile are kept
    try:
        compare_optimization.outcome(source, "program", optimize=True, seconds=2)
    finally:
        FunctionEmitter.expr = plain_expr  # type: ignore[method-assign]
    return list(dict.fromkeys(faults))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--programs", choices=("modules", "nested"), default="modules")
    options = parser.parse_args()
    if options.corpus:
        files = sorted(options.corpus.glob("*.jsonl"))
        lines = [line for file in files for line in file.read_text().split("\n") if line]
        sources = [json.loads(line)["src"] for line in lines]
    else:
        sources = list(compare_optimization.drawn(options.programs, options.seed, options.count))
    wrong = 0
    for source in sources:
        faults = faults_of(source)
        if faults:
            wrong += 1
            print(f"--- {source}\n{chr(10).join(faults)[:600]}", flush=True)
    print(f"{len(sources) - wrong} as inferred, {wrong} not")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
