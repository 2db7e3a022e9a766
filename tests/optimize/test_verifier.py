"""Every pass leaves units that keep the rules of `semac/verify`, and the rules find units that break them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from corpus import SAMPLE, cases_of
from paths import EXAMPLES, SCRIPTS

from sema_runtime.values.atoms import symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from semac.anf import nodes as anf
from semac.anf.walk import instructions
from semac.ir.unit import Unit
from semac.pipeline import compile_forms, compile_source
from semac.verify.faults import Fault
from semac.verify.unit import Verifier

PROGRAMS = sorted([*SCRIPTS.glob("speed/*/program.sema"), *EXAMPLES.rglob("*.sema")])


def verify(source: str, name: str) -> None:
    for mode in ("program", "module"):
        try:
            compile_source(source, name, mode, watch=Verifier())
        except (SemaError, NameError):  # one that the compiler, or a macro of its own, refuses
            return


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_programs(path: Path) -> None:
    verify(path.read_text("utf-8"), str(path))


def test_the_sample_of_the_corpus() -> None:
    for case in cases_of(SAMPLE):
        verify(case["src"], case["id"])


def first(unit: Unit, kind: type) -> anf.Let:
    return next(instr for form in unit.blocks for instr in instructions(form) if type(instr.op) is kind)


def forget_a_binding(unit: Unit) -> None:
    for block in unit.blocks:
        block.instrs[:] = [instr for instr in block.instrs if type(instr.op) is not anf.MakeVector]


def forget_a_place(unit: Unit) -> None:
    first(unit, anf.CallBuiltin).op.span = None


def forget_the_map_around_a_dict(unit: Unit) -> None:
    instr = first(unit, anf.CallRuntime)
    instr.op = anf.Move(instr.op.args[0], span=instr.op.span, type=instr.op.type)  # type: ignore[attr-defined]
    if instr.var is not None:
        instr.var.op = instr.op


def bare_where_others_see_it(unit: Unit) -> None:
    first(unit, anf.MakeMap).op.is_raw = True  # type: ignore[attr-defined]


BROKEN: dict[str, tuple[str, str, Callable[[Unit], None], str]] = {
    "binding": ("(define (f x) x) (f [1 (f 2)])", "build", forget_a_binding, "V1"),
    "place": ("(println 1)", "build", forget_a_place, "V9"),
    "wrapper": ("(define m (assoc {:a 1} :b 2)) (println m)", "own", forget_the_map_around_a_dict, "V10"),
    "shown": ("(println {:a (str 1)})", "own", bare_where_others_see_it, "V10"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_unit_is_found(name: str) -> None:
    source, after, break_it, rule = BROKEN[name]

    def watch(passed: str, unit: Unit) -> None:
        if passed == after:
            Verifier()(passed, unit)
            break_it(unit)
            with pytest.raises(Fault, match=rule):
                Verifier()(passed, unit)
            raise KeyboardInterrupt  # the unit is of no use any more

    with pytest.raises(KeyboardInterrupt):
        compile_source(source, "broken", "program", watch=watch)


def test_forms_that_a_program_builds_have_no_places() -> None:
    form = List([symbol("println"), List([symbol("car"), 5])])
    compile_forms(List([form]), "built", watch=Verifier())
