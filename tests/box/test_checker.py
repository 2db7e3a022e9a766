"""The second check: Python that no program needs is refused, whoever wrote it."""

from __future__ import annotations

import ast
import itertools
import json
from collections.abc import Iterator

import pytest
from paths import ROOT

from sema_runtime.values.errors import SemaError
from semac import pipeline
from semac.box.admission import Refused, admit
from semac.box.checker import Unsafe, check_tree, nodes_of
from semac.box.worker import LEFT_OUT
from semac.generate.pyast import NOWHERE
from semac.generate.python_ops import PYTHON_OPS
from semac.ir.unit import Unit
from semac.session import Session

OF_STEPS = {"buffer", "senders", "receivers"}  # operations on the inside of channels, which the box leaves out
REFUSED = [
    "import os",
    "from os import system",
    "from . import x",
    "from sema_runtime.lib.files.files import file_read",
    "from sema_runtime.compiler_bridge import load_file",
    "from builtins import open",
    "from sema_runtime.values.lists import __loader__",
    "x.__class__",
    "x._hash",
    "x.gi_frame",
    "x.f_globals",
    "x.system",
    "open('/etc/passwd')",
    "eval('1')",
    "exec('1')",
    "getattr(x, 'y')",
    "__import__('os')",
    "globals()",
    "__builtins__",
    "async def f(): pass",
    "def f(): yield 1",
    "@open\ndef f(): pass",
    "class A: pass\nA.mro",
    "assert x",
    "ﬁ = 1",
    "f'{x!r:{y}}'.format_map(z)",
    "match x:\n    case 1: pass",
    "x = 1j",
    "f = x.append",
    "y.join(x)",
    "f = ''.join",
]
ADMITTED = [
    "from sema_runtime.values.lists import List\nx = List([1, 2])\nx.car",
    "from math import sqrt\nsqrt(2)",
    "def f(a, *b):\n    return a + len(b)\nf(1)",
    "try:\n    f = 1\nexcept Exception as e:\n    g = e",
    "m = {1: 2}\nfor k in [1]:\n    m.get(k)",
    "x = 'a'\n', '.join([x])\nx.startswith('a')",
]


@pytest.mark.parametrize("text", REFUSED)
def test_it_refuses(text: str) -> None:
    with pytest.raises(Unsafe):
        check_tree(nodes_of(folded(text)))


@pytest.mark.parametrize("text", ADMITTED)
def test_it_admits_what_programs_are_made_of(text: str) -> None:
    check_tree(nodes_of(ast.parse(text)))


def folded(text: str) -> ast.Module:
    """The tree of a text, with names as they are written: Python's parser folds them."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == "fi":
            node.id = "ﬁ"
    return tree


@pytest.mark.parametrize("kind", sorted(PYTHON_OPS.keys() - OF_STEPS))
def test_it_admits_every_operation_that_the_compiler_prints(kind: str) -> None:
    """Add what is new to `ATTRIBUTES` or another table of semac/box/checker.py, where no program can misuse it."""
    op = PYTHON_OPS[kind]
    imports = {"runtime": (op.runtime.partition(":")[0], op.runtime.partition(":")[2])} if op.runtime else {}
    for count in range(5):
        operands: list[ast.expr] = [ast.Name(f"x{number}", ast.Load(), **NOWHERE) for number in range(count)]
        if kind == "join":
            operands[1:] = [ast.Constant(", ", **NOWHERE)]
        if op.runtime:
            operands.append(ast.Name("runtime", ast.Load(), **NOWHERE))
        try:
            printed = op.print(operands, NOWHERE)
        except (IndexError, ValueError):  # not as many operands
            continue
        check_tree(nodes_of(ast.Module([ast.Expr(printed)], [])), imports)
        return
    raise AssertionError("printed with no number of operands")


def programs() -> Iterator[str]:
    for line in (ROOT / "tests/conformance/corpus_sample.jsonl").read_text(encoding="utf-8").split("\n")[::2]:
        if line:
            yield json.loads(line)["src"]
    for path in sorted((ROOT / "scripts/speed").glob("*/*.sema")):
        yield path.read_text(encoding="utf-8")


def test_whatever_the_compiler_makes_of_programs_of_the_box_is_admitted(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program and as a part of a session; `scripts/box/refusals.py` does it with whole corpora."""

    def admitted(unit: Unit) -> None:
        admit(unit, frozenset())
        unit.left_out |= LEFT_OUT

    monkeypatch.setattr(pipeline.CHECKS, "units", [admitted])
    refused, checked = [], 0
    for source, kind in zip(programs(), itertools.cycle(("program", "module"))):
        session = Session("<program>")
        try:
            tree = session.compile(source, "<program>", kind).tree
        except (Refused, SemaError, OSError):
            continue
        try:
            check_tree(nodes_of(tree), dict(session.shared.imports), set(session.shared.atoms))
            checked += 1
        except Unsafe as problem:
            refused.append(f"{problem}: {source[:100]}")
    assert not refused and checked > 200, (checked, refused)
