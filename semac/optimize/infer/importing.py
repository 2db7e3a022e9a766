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
from semac.anf.walk import all_blocks, code_of, exit_operands, operands
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
        found = named_in(unit, code if type(code) is Block else code_of(code)) - mixed
        mixed |= found
        todo += found
    while todo:
        code = todo.pop()
        found = named_in(unit, code if type(code) is Block else code_of(code)) - mixed
        mixed |= found
        todo += found
    return mixed


def named_in(unit: Unit, code: Block) -> set[Function]:
    """The functions that code names or makes, but for those that run at import; what it defines isn't named by that."""
    found: set[Function] = set()
    for block in all_blocks(code, into_functions=False):
        defined = {
            instr.op.var.known_function for instr in block.instrs if type(instr.op) is Assign and instr.op.define
        }
        for instr in block.instrs:
            op = instr.op
            if type(op) is Closure and op.function not in defined:
                found.add(op.function)
            elif type(op) is Read:
                found |= known(op.var)
            for value in operands(op) if not (type(op) is CallRuntime and op.path == ADD_OWN) else ():
                if type(value) is Ref:
                    found |= known(value.var)
        for value in exit_operands(block.exit):
            if type(value) is Ref:
                found |= known(value.var)
    return found - unit.at_import


def known(var: Var) -> set[Function]:
    function = var.known_function
    return {function} if function is not None else set()


def changes_arrays(mixed: set[Any]) -> bool:
    """Whether code changes mutable arrays: it may do that to any that it can reach."""
    return any(
        (type(instr.op) is CallBuiltin and INDEX[instr.op.name][0] == ARRAYS)
        or any(type(value) is BuiltinRef and INDEX[value.name][0] == ARRAYS for value in operands(instr.op))
        for code in mixed
        for block in all_blocks(code if type(code) is Block else code_of(code))
        for instr in block.instrs
    )


# Local functions


def local_functions(codes: list[Block]) -> set[Function]:
    """The functions made in code that nothing but this code, and they themselves, ever calls."""
    made: dict[Var, Function] = {}
    for code in codes:
        for block in all_blocks(code):
            for instr in block.instrs:
                if type(instr.op) is Closure and instr.var is not None and is_fixed(instr.var):
                    made[instr.var] = instr.op.function
    local = set(made.values())
    while True:
        outer = [*codes, *map(code_of, local)]
        inside = {instr.op.function for code in outer for block in all_blocks(code, False) for instr in block.instrs
                  if type(instr.op) is Closure}  # fmt: skip
        others = inside - local
        shown = {var for code in outer for var in handed_on(code)}
        shown |= {var for other in others for block in all_blocks(code_of(other)) for var in mentioned(block)}
        kept = (local & inside) - {made[var] for var in shown if var in made}
        if kept == local:
            return local
        local = kept


def handed_on(code: Block) -> Iterator[Var]:
    """The variables whose values code does something else with than calling them."""
    for block in all_blocks(code, into_functions=False):
        for instr in block.instrs:
            op = instr.op
            values = operands(op)
            if type(op) is Call:
                values = list(op.args)
            elif type(op) is CallBuiltin:
                values = [value for index, value in enumerate(op.args) if not is_called_at_once(op, index)]
            yield from (value.var for value in values if type(value) is Ref)
        yield from (value.var for value in exit_operands(block.exit) if type(value) is Ref)


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
