"""What the compiler's passes believe of a program holds while it runs: inferred types, and maps that have one owner."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from corpus import FILES, SAMPLE, cases_of
from golden_files import GOLDEN, read
from paths import SCRIPTS

from semac.ir import nodes as ir
from semac.passes import ownership as owned
from semac.pipeline import compile_source

sys.path.insert(0, str(SCRIPTS))

from check_types import faults_of
from random_modules import Modules


@pytest.mark.parametrize("seed", range(4))
def test_values_have_the_types_that_were_inferred(seed: int) -> None:
    programs = Modules(500 + seed)
    for _ in range(25):
        source = programs.program()
        assert faults_of(source) == [], source


@pytest.mark.parametrize("path", FILES or [SAMPLE], ids=lambda path: path.stem)
def test_values_of_the_corpus_have_the_types_that_were_inferred(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)  # some programs write files
    for case in cases_of(path):
        assert faults_of(case["src"]) == [], case["id"]


@pytest.mark.parametrize("path", GOLDEN, ids=lambda path: path.stem)
def test_raw_dicts_meet_their_owners_only(path: Path) -> None:
    assert misuses(read(path).source) == []


@pytest.mark.parametrize("seed", range(4))
def test_raw_dicts_meet_their_owners_only_in_random_programs(seed: int) -> None:
    programs = Modules(700 + seed)
    for _ in range(100):
        source = programs.program()
        assert misuses(source) == [], source


def misuses(source: str) -> list[str]:
    """Where an owned variable stands otherwise than as what is read, changed, handed to an owner, or boxed."""
    unit = compile_source(source, mode="program").unit
    nodes = list(ir.walk(unit.tree))
    handed = {id(source) for sources in owned.Candidates(nodes).sources.values() for source in sources}
    fine = set()
    for node in nodes:
        if type(node) is ir.Box:
            fine.add(id(node.value))
        if type(node) in (ir.CallBuiltin, ir.Runtime) and node.args and type(node.args[0]) is ir.Ref:
            var = node.args[0].var
            if owned.is_read(node, var) or (type(node) is ir.CallBuiltin and owned.is_owned_assoc(node)):
                fine.add(id(node.args[0]))
    owners = [node for node in nodes if type(node) is ir.Ref and node.var.owned]
    return [repr(node) for node in owners if id(node) not in fine and not (id(node) in handed and node in unit.raw)]
