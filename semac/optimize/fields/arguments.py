"""Functions that only read fields of a map get these, where each caller has the map in variables of its own.

    (define (ahead? lift d) (let loop ((f (+ d (:floor lift)))) ... (:riders lift) ...))   (ahead? lift 1)

A map that is a variable for each field (`carriers.py`) need not be made for such a call, and its fields have one holder
less. The function has a parameter for each field that it reads, or that functions read to which it hands the map on.

Sound because every call of such a function is in the unit, by its name, with as many arguments as it has parameters;
because it does no more than look up literal keywords, without defaults, which can't fail for a map and gives nil for
what is missing; and because maps don't change.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sema_runtime.values.atoms import Keyword
from semac.anf.build import is_fixed
from semac.anf.nodes import Call, CallBuiltin, Destructure, For, Loop, MakeMap, Move, Op, Ref
from semac.anf.walk import operands
from semac.fingerprint import is_traced
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.calls import function_of
from semac.optimize.fields.carriers import JOINS, TESTS, Carriers, is_assoc, is_level, is_vector, read_keys
from semac.optimize.fields.parts import Parts, Site, are_by_name
from semac.optimize.fields.split import Splitter, makes_maps, stops
from semac.optimize.own.code import Code, all_code

MAKERS = frozenset((MakeMap, Move, *JOINS))
MOST_KEYS = 6  # that a function reads of a parameter
Given = dict[Any, dict[int, tuple[Any, ...]]]  # by call: the keywords whose fields stand in place of an argument


class Arguments(NamedTuple):
    """keys: of each parameter in place of which fields are given. given: of calls. carriers: of code that calls."""

    keys: dict[Var, tuple[Any, ...]]
    given: Given
    carriers: dict[Code, Carriers]


def give_fields(unit: Unit) -> None:
    """Rewrites the functions of a program."""
    if not unit.is_closed or unit.is_text or unit.is_input or unit.is_open or is_traced() or stops(unit):
        return
    code = all_code(unit)
    if not any(map(makes_maps, code)):
        return
    arguments = Finder(code).find()
    for part in code if arguments.keys else ():
        split(part, arguments)


def split(code: Code, arguments: Arguments) -> None:
    """Has the parameters of a function, and what it calls others with, be the fields that are read."""
    params = [param for param in code.function.params if param in arguments.keys] if code.function is not None else []
    carriers = arguments.carriers.get(code)
    if not params and carriers is None:
        return
    splitter = Splitter(carriers or Carriers(code, arguments.given), code)
    for param in params:
        splitter.split_parameter(param, arguments.keys[param])
    splitter.run()


class Finder:
    def __init__(self, code: list[Code]) -> None:
        self.parts = Parts(code)
        self.keys: dict[Var, set[Any]] = {}
        self.handed: dict[Var, set[Var]] = {}  # parameter → those of other functions that get what it holds
        self.index: dict[Var, int] = {}
        self.sites: dict[Var, list[Site]] = {}
        ops = [instr.op for part in code for block in part.blocks for instr in block.instrs]
        self.loop_params = {param for op in ops if type(op) in (Loop, For) for param in op.params}  # type: ignore[attr-defined]

    def find(self) -> Arguments:
        self.parts.scan()
        self.find_parameters()
        while self.keys:
            self.drop_others()
            given = self.given()
            carriers: dict[Code, Carriers] = {}
            lost = set()
            for param in self.keys:
                for site in self.sites[param]:
                    arg: Any = site.instr.op.args[self.index[param]]  # type: ignore[attr-defined]
                    if arg.var in self.keys:
                        continue
                    if site.part not in carriers:
                        carriers[site.part] = Carriers(site.part, given)
                        carriers[site.part].find()
                    known = carriers[site.part].keys.get(arg.var)
                    if known is None or is_vector(known):
                        lost.add(param)
            if not lost:
                return Arguments({param: self.ordered(param) for param in self.keys}, given, carriers)
            for param in lost:
                del self.keys[param]
        return Arguments({}, {}, {})

    def ordered(self, param: Var) -> tuple[Any, ...]:
        return tuple(sorted(self.keys[param], key=lambda keyword: str(keyword.name)))

    def given(self) -> Given:
        given: Given = {}
        for param in self.keys:
            for site in self.sites[param]:
                given.setdefault(site.instr.op, {})[self.index[param]] = self.ordered(param)
        return given

    def find_parameters(self) -> None:
        """Parameters of which fields alone are read, and whose arguments may be carriers."""
        parts = self.parts
        for function, sites in parts.sites.items():
            part = parts.part_of.get(function)
            if part is None or function.self_tail or not are_by_name(sites):
                continue
            for index, param in enumerate(function.params):
                if is_fixed(param) and not param.early and self.is_read(param, part):
                    self.index[param] = index
                    self.sites[param] = sites

    def is_read(self, param: Var, part: Code) -> bool:
        """Whether nothing is asked of a parameter but fields, here or in functions that get it."""
        keys: set[Any] = set()
        handed: list[tuple[Function, int]] = []
        uses = self.parts.uses.get(param, [])
        for op, position in uses:
            callee = function_of(op.head.var) if type(op) is Call and type(op.head) is Ref else None
            if callee in self.parts.sites:
                handed.append((callee, position))
            elif position or not is_field_read(op):
                return False
            else:
                keys.update(read_keys(op) or ())
        here = sum(
            type(value) is Ref and value.var is param
            for block in part.blocks
            for instr in block.instrs
            for value in operands(instr.op)
        )
        if not uses or here != len(uses) or len(keys) > MOST_KEYS:
            return False  # closures have it, too
        self.keys[param] = keys
        self.handed[param] = {callee.params[position] for callee, position in handed}
        return True

    def drop_others(self) -> None:
        """Leaves out what is handed on elsewhere, or gets no carrier. Keywords go to the parameters of callers."""
        changed = True
        while changed:
            changed = False
            for param in list(self.keys):
                targets = self.handed[param]
                is_whole = all(target in self.keys for target in targets) and all(
                    self.may_be_given(site.instr.op.args[self.index[param]])  # type: ignore[attr-defined]
                    for site in self.sites[param]
                )
                keys = self.keys[param].union(*(self.keys.get(target, ()) for target in targets))
                if not is_whole or len(keys) > MOST_KEYS:
                    del self.keys[param]
                    changed = True
                elif keys != self.keys[param]:
                    self.keys[param] = keys
                    changed = True

    def may_be_given(self, arg: Any) -> bool:
        if type(arg) is not Ref or arg.var.is_global:
            return False
        if arg.var in self.keys or arg.var in self.loop_params:
            return True
        op = arg.var.op
        return type(op) in MAKERS or is_assoc(op) or is_level(op)


def is_field_read(op: Op | None) -> bool:
    """Whether an operation looks up fields of its first operand that are nil where they are missing."""
    keys = read_keys(op)
    if type(op) is Destructure:
        return bool(keys) and all(type(key) is Keyword for key in keys or ())
    if type(op) is CallBuiltin and op.name in TESTS:
        return True
    return bool(keys) and type(keys[0]) is Keyword and len(op.args) == 2 and getattr(op, "name", "") != "contains?"  # type: ignore[index, union-attr]
