"""Functions that go on in a loop with a state that they are given have its fields in variables from the start.

    (define (run cache n)
      (let loop ((i 0) (cache cache)) (if (= i n) cache (loop (+ i 1) (fetch cache i)))))

is given the fields of the cache, or looks them up once where anybody may call it, so that the loop is one over these
(`split.py`). Assumes inferred types. Sound because types say that the parameter surely is a map of just these keywords,
and because maps don't change: one that is made of the fields of another is equal to it. Where `carriers.py` doesn't say
that this map is never made, nothing is rewritten.
"""

from __future__ import annotations

from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import Block, Call, Expr, For, Jump, Let, Loop, Ref
from semac.anf.walk import map_exit, map_operands
from semac.ir.nodes import Var
from semac.optimize.fields.carriers import Carriers, is_assoc, is_level
from semac.optimize.fields.parts import Site
from semac.optimize.fields.split import Field, hint_of, looked_up, split_code, whole
from semac.optimize.loops.functions import temporary
from semac.optimize.loops.named import own_loop
from semac.optimize.own.code import Code
from semac.types.lattice import MAP

MOST_FIELDS = 8  # that a function gets in place of a state


def give_loops(code: list[Code]) -> bool:
    """Gives functions that go on by tail calls with fields of a parameter changed, or with what a function has made of
    it, a loop of their own. Returns whether there were any."""
    found = [part.function for part in code if part.function is not None and goes_on_changed(part)]
    for function in found:
        function.code = own_loop(function, function.body.span)
    return bool(found)


def goes_on_changed(part: Code) -> bool:
    function = part.function
    if function is None or not function.self_tail or function.is_open:
        return False
    params = set(function.params)
    for block in part.blocks:
        exit_ = block.exit
        for value in exit_.args if type(exit_) is Jump and exit_.target is function else ():
            op: Any = value.var.op if type(value) is Ref and is_fixed(value.var) else None
            given = op.args if type(op) is Call else op.args[:1] if is_assoc(op) else ()
            if any(type(arg) is Ref and arg.var in params for arg in given):
                return True
    return False


def entered_parameters(code: list[Code]) -> list[tuple[Code, Var]]:
    """The parameters with which a loop begins that changes fields, or hands on what it has."""
    return [
        (part, param)
        for part in code
        if part.function is not None and not part.function.self_tail
        for param in inits_of(part)
    ]


def inits_of(part: Code) -> list[Var]:
    params = set(part.function.params)  # type: ignore[union-attr]
    begun: dict[Var, Any] = {}  # variables of loops → the parameter that they are at first
    used: set[Var] = set()
    for block in part.blocks:
        for instr in block.instrs:
            op: Any = instr.op
            if type(op) in (Loop, For):
                for var, init in zip(op.params, op.inits, strict=False):
                    if type(init) is Ref and init.var in params:
                        begun[var] = init.var
            elif is_assoc(op) or is_level(op):
                used.add(op.args[0].var)
            elif type(op) is Call:
                used.update(arg.var for arg in op.args if type(arg) is Ref)
    found = {param for var, param in begun.items() if var in used}
    return [param for param in part.function.params if param in found and is_fixed(param) and not param.early]  # type: ignore[union-attr]


def enter(part: Code, param: Var, sites: list[Site] | None) -> bool:
    """Has a function begin with the fields of a parameter, if its loop then is one over variables. sites: its calls, by
    which it gets them, None where others may call it: it looks them up then."""
    keys = fields_of(param)
    if not 0 < len(keys) <= MOST_FIELDS or param in Carriers(part).captured:
        return False
    function: Any = part.function
    before: list[Let] = []
    fields: list[Expr]
    if sites is None:
        fields = looked_up(Ref(param), keys, function, function.body.span, before)
    else:
        fields = [Ref(temporary(hint_of(key), function)) for key in keys]
    state = temporary(param.name or param.hint, function)
    state.op = whole({key: Field(field) for key, field in zip(keys, fields, strict=True)}, function.body.span)
    rename(part.blocks, param, state)
    part.block.instrs[:0] = [*before, Let(state, state.op)]
    changed = Code(part.block, function)
    if not is_split(changed, state):
        del part.block.instrs[: len(before) + 1]
        rename(part.blocks, state, param)
        return False
    if sites is not None:
        index = function.params.index(param)
        for site in sites:
            hand_fields(site, index, keys)
        function.params[index : index + 1] = [field.var for field in fields]  # type: ignore[union-attr]
    split_code(changed)
    return True


def fields_of(var: Var) -> list[Any]:
    """The keywords of the maps that a variable holds, where these surely have just the same ones; else none."""
    type_ = var.type
    if type_ is None or not type_.only(MAP) or type_.shape is None or type_.optional:
        return []
    return [key for key, _ in type_.shape]


def hand_fields(site: Site, index: int, keys: list[Any]) -> None:
    """A call gives fields in place of an argument."""
    op: Any = site.instr.op
    before: list[Let] = []
    op.args[index : index + 1] = looked_up(op.args[index], keys, site.part.function, op.span, before)
    at = site.block.instrs.index(site.instr)
    site.block.instrs[at:at] = before


def rename(blocks: list[Block], old: Var, new: Var) -> None:
    """Puts a variable in the place of another one, closures left out."""

    def renamed(value: Expr) -> Expr:
        return Ref(new, value.type) if type(value) is Ref and value.var is old else value

    for block in blocks:
        for instr in block.instrs:
            map_operands(instr.op, renamed)
        map_exit(block.exit, renamed)


def is_split(code: Code, state: Var) -> bool:
    """Whether a map that a function makes at first, and the loops that begin with it, are variables."""
    carriers = Carriers(code)
    if not carriers.find() or state not in carriers.keys or state in carriers.kept:
        return False
    ops: list[Any] = [instr.op for block in code.blocks for instr in block.instrs]
    begun = [
        var
        for op in ops
        if type(op) in (Loop, For)
        for var, init in zip(op.params, op.inits, strict=False)
        if type(init) is Ref and init.var is state
    ]
    return all(var in carriers.keys for var in begun)
