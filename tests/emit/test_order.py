"""Python computes operands in the order of the language: whoever has effects is asked in turn."""

from __future__ import annotations

import ast
import json
import sys
from typing import Any

import pytest
from paths import DATA, SCRIPTS

sys.path.insert(0, str(SCRIPTS))

from programs.configurations import configuration
from programs.reference import answer

from semac.generate.nest import TURNED
from semac.generate.python_ops import PYTHON_OPS

CONFIGURATIONS = tuple(map(configuration, ("plain", "optimized")))
DEFINITIONS = (DATA / "effects_in_order.sema").read_text("utf-8")
FORMS = [json.loads(line) for line in (DATA / "effects_in_order.jsonl").read_text("utf-8").splitlines()]
LOC: Any = {"lineno": 1, "col_offset": 0, "end_lineno": 1, "end_col_offset": 0}
# They test an index, or read where one was tested: of names.
OF_NAMES = {"char", "first_in", "is_array_index", "is_int_array_index", "is_natural_array_index", "later_in"}


@pytest.mark.parametrize("case", FORMS, ids=lambda case: case["form"])
def test_operands_with_effects(case: dict[str, Any]) -> None:
    form = case["form"]
    source = f"""{DEFINITIONS}
        (define (f) {form}) (println (f))
        (define (g) (let ((r {form})) (list r r))) (println (g))
        (println {form})"""
    for option in CONFIGURATIONS:
        for way in ("program", "module"):
            assert answer(source, option, way)[1:] == (case["output"], case["error"]), (option.name, way)


@pytest.mark.parametrize("kind", PYTHON_OPS)
def test_operations_of_python(kind: str) -> None:
    for count in (1, 2, 3):
        names = [f"operand{index}" for index in range(count)]
        runtime = [ast.Name("runtime", **LOC)] if PYTHON_OPS[kind].runtime else []
        try:
            printed = PYTHON_OPS[kind].print([*(ast.Name(name, **LOC) for name in names), *runtime], LOC)
        except (IndexError, ValueError):
            continue  # it takes another number of operands
        text = ast.unparse(printed)
        if not all(name in text for name in [*names, *(name.id for name in runtime)]):
            continue
        first = sorted(names, key=text.index)
        assert first == sorted(first) or kind in OF_NAMES or (kind in TURNED and count > 1), text
