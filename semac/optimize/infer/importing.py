"""Code that runs while a module is imported, and never later.

`unit.at_import` has the forms of such a module, functions that only they call (`versions/closed.py`), and local
functions that these only call by name or hand to builtins that call them at once. Until the import ends nobody else
gets at the module's globals, where it neither imports anything nor waits: so for this code the module is a program.

Functions that may be called during the import and later, too, are mixed code: those that code at import names, and
functions that it makes and hands on; what these name and make.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.anf.build import is_fixed
from semac.anf.nodes import (
    Assign,
    Block,
    BuiltinRef,
    Call,
    CallBuiltin,
    CallOpen,
    CallRuntime,
    Closure,
    Import,
    Op,
    PyAttr,
    PyCall,
    PyImport,
    PyItem,
    PySetAttr,
    Read,
    Ref,
)
from semac.anf.walk import NESTING, OPERANDS, all_blocks, blocks, code_of, exit_operands, operands
from semac.ir.intrinsics import ADD_OWN
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.infer.instantiate import parts_of
from semac.types.signatures import Function as FunctionExpr
from semac.types.signatures import signature_for

FOREIGN = (CallOpen, Import, PyAttr, PyCall, PyImport, PyItem, PySetAttr)
# What runs no code but what it is given, and lets nobody else run.
FAMILIES = ("lib.collections.", "lib.numbers.", "lib.text.", "lib.language.", "lib.data.json", "lib.data.csv")
RUNTIME = ("sema_runtime.values.", "sema_runtime.lib.language.", "sema_runtime.lib.collections.")
ARRAYS = "lib.collections.mutable"


def is_alone(unit: Unit) -> bool:
    """Whether no code of others runs while the module's own does."""
    if unit.uses_python:
        return False
    return all(is_own(instr.op) for form in unit.blocks for block in all_blocks(form) for instr in block.instrs)


def is_own(op: Op) -> bool:
    if type(op) is CallBuiltin and not is_of_families(op.name):
        return False
    if type(op) is CallRuntime and not op.path.startswith(RUNTIME):
        return False
    return type(op) not in FOREIGN and all(
        type(value) is not BuiltinRef or is_of_families(value.name) for value in operands(op)
    )


def is_of_families(builtin: str) -> bool:
    return str(INDEX[builtin][0]).startswith(FAMILIES)


# Mixed code


def mixed_code(unit: Unit) -> set[Any]:
    """The code that may run during the import and later."""
    mixed: set[Any] = {form for form in unit.blocks if form not in unit.at_import}
    todo = list(mixed)
    for code in unit.at_import:
        found = named_in(block_of(code)) - unit.at_import - mixed
        mixed |= found
        todo += found
    while todo:
        found = named_in(block_of(todo.pop())) - unit.at_import - mixed
        mixed |= found
        todo += found
    return mixed


def block_of(code: Any) -> Block:
    return code if type(code) is Block else code_of(code)


def named_in(code: Block) -> set[Function]:
    """The functions that code names or makes; what it defines isn't named by that."""
    found: set[Function] = set()
    named: list[Var] = []
    todo = [code]
    while todo:
        block = todo.pop()
        defined: list[Function | None] = []
        made: list[Function] = []
        for instr in block.instrs:
            op = instr.op
            kind = type(op)
            if kind is Closure:
                made.append(op.function)  # type: ignore[attr-defined]
                continue
            if kind is Read:
                named.append(op.var)  # type: ignore[attr-defined]
                continue
            if kind is Assign:
                if op.define:  # type: ignore[attr-defined]
                    defined.append(op.var.known_function)  # type: ignore[attr-defined]
            elif kind is CallRuntime and op.path == ADD_OWN:  # type: ignore[attr-defined]
                continue
            elif kind in NESTING:
                todo += blocks(op)
            for value in OPERANDS[kind](op):
                if type(value) is Ref:
                    named.append(value.var)
        if made:
            found.update([function for function in made if function not in defined])
        for value in exit_operands(block.exit):
            if type(value) is Ref:
                named.append(value.var)
    for var in named:
        if var.function is not None and (function := var.known_function) is not None:
            found.add(function)
    return found


def changes_arrays(mixed: set[Any]) -> bool:
    """Whether code changes mutable arrays: it may do that to any that it can reach."""
    return any(
        (type(instr.op) is CallBuiltin and INDEX[instr.op.name][0] == ARRAYS)
        or any(type(value) is BuiltinRef and INDEX[value.name][0] == ARRAYS for value in operands(instr.op))
        for code in mixed
        for block in all_blocks(block_of(code))
        for instr in block.instrs
    )


# Local functions


def code_at_import(forms: list[Block], copies: list[Function]) -> set[Any]:
    """Of forms, copies that nothing but these and they themselves call, and functions made there: what surely runs
    while they do. Functions that are handed on may run later, so neither they nor what they name are part of it."""
    while True:
        inside = parted(forms, copies)
        left = [copy for copy in copies if copy in inside]
        if len(left) == len(copies):
            return inside
        copies = left  # what is handed to the others is handed on


def parted(forms: list[Block], copies: list[Function]) -> set[Any]:
    codes = [*forms, *map(code_of, copies)]
    inside: set[Any] = {*forms, *copies, *local_functions(codes)}
    todo = [made for code in list(inside) for made in made_in(block_of(code)) if made not in inside]
    seen = set(todo)
    while todo:
        for named in named_in(code_of(todo.pop())):
            inside.discard(named)
            if named not in seen:
                seen.add(named)
                todo.append(named)
    return inside


def local_functions(codes: list[Block]) -> set[Function]:
    """The functions made in code whose values stay there: variables and parameters hold them that are only called,
    handed to builtins that call them at once, or to other such parameters."""
    made: dict[Var, Function] = {}
    holders: set[Var] = set()
    own = set(codes)
    for code in codes:
        for block in all_blocks(code):
            for instr in block.instrs:
                op = instr.op
                if type(op) is Closure and instr.var is not None and is_fixed(instr.var):
                    made[instr.var] = op.function
                    holders |= {instr.var, *op.function.params}
                elif type(op) is Call and type(op.head) is Ref and op.head.var.known_function is not None:
                    function = op.head.var.known_function
                    holders.update(function.params if code_of(function) in own else ())
    seen: dict[Block, tuple[set[Var], list[tuple[Var, Var]]]] = {}
    while made:
        local = {function for var, function in made.items() if var in holders}
        inner = [*codes, *map(code_of, local)]
        for code in inner:
            if code not in seen:
                seen[code] = handed_on(code, holders)
        shown = set().union(*(seen[code][0] for code in inner))
        shown.update(var for code in inner for param, var in seen[code][1] if param not in holders)
        shown.update(param for function in made.values() if function not in local for param in function.params)
        for code in inner:
            for other in made_in(code) - local:
                shown |= {var for block in all_blocks(code_of(other)) for var in mentioned(block)}
        if holders.isdisjoint(shown):
            return local
        holders -= shown
    return set()


def made_in(code: Block) -> set[Function]:
    closures = [instr.op for block in all_blocks(code, False) for instr in block.instrs if type(instr.op) is Closure]
    return {closure.function for closure in closures}


def handed_on(code: Block, holders: set[Var]) -> tuple[set[Var], list[tuple[Var, Var]]]:
    """(the holders whose values code does something else with than calling them or handing them to parameters; those
    that parameters get, as pairs of a parameter and a holder)."""
    shown: set[Var] = set()
    given: list[tuple[Var, Var]] = []
    for block in all_blocks(code, into_functions=False):
        for instr in block.instrs:
            op = instr.op
            values = operands(op)
            if type(op) is Call:
                params = known_params(op)
                values = op.args[len(params) :]
                given += [
                    (param, arg.var)
                    for param, arg in zip(params, op.args, strict=False)
                    if type(arg) is Ref and arg.var in holders
                ]
            elif type(op) is CallBuiltin:
                values = [
                    value
                    for index, value in enumerate(op.args)
                    if type(value) is Ref and value.var in holders and not is_called_at_once(op, index)
                ]
            shown.update(value.var for value in values if type(value) is Ref and value.var in holders)
        shown.update(value.var for value in exit_operands(block.exit) if type(value) is Ref and value.var in holders)
    return shown, given


def known_params(op: Call) -> list[Var]:
    function = op.head.var.known_function if type(op.head) is Ref else None
    if function is None or function.rest is not None or len(function.params) != len(op.args):
        return []
    return function.params


def mentioned(block: Block) -> Iterator[Var]:
    for instr in block.instrs:
        yield from (value.var for value in operands(instr.op) if type(value) is Ref)
        if type(instr.op) is Read:
            yield instr.op.var
    yield from (value.var for value in exit_operands(block.exit) if type(value) is Ref)


def is_called_at_once(op: CallBuiltin, index: int) -> bool:
    """Whether a builtin does nothing with an argument but calling it while it runs."""
    signature = signature_for(op.name, len(op.args))
    if signature is None or signature.param(index).mode != "now":
        return False
    return any(type(part) is FunctionExpr for part in parts_of(signature.param(index).type))
