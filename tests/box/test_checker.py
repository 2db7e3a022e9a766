"""The second check: Python that no program needs is refused, whoever wrote it."""

from __future__ import annotations

import ast

import pytest

from semac.box.checker import Unsafe, check_tree, nodes_of

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
]
ADMITTED = [
    "from sema_runtime.values.lists import List\nx = List([1, 2])\nx.car",
    "from math import sqrt\nsqrt(2)",
    "def f(a, *b):\n    return a + len(b)\nf(1)",
    "try:\n    f = 1\nexcept Exception as e:\n    g = e",
    "m = {1: 2}\nfor k in [1]:\n    m.get(k)",
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
