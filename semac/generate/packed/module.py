"""Modules whose seldom used code is packed (`sema_runtime/packed_code.py`).

A public function that has a private copy becomes a stub (`entries.py`), which unpacks what it does where the copy won't
do. A copy that isn't called often stands in the stub itself, and where it has functions or comprehensions inside, the
stub loads it when it is called: an import then makes one code object of it instead of several.
"""

from __future__ import annotations

import ast
import marshal
from collections.abc import Callable, Iterator
from types import CodeType

from sema_runtime.packed_code import (
    BEGINNING,
    ENTRIES,
    MOST_PARAMETERS,
    Pack,
    packed,
    together,
)
from sema_runtime.values.naming import PRIVATE, SILENT
from semac.generate.packed.entries import (
    equal_copies,
    loading,
    names_of_one,
    one,
    parts_of,
    stub,
    whole_of,
)
from semac.generate.packed.head import STUBS, with_short_head
from semac.generate.pyast import NOWHERE, assign, call, const, name

TOGETHER = 24_000  # bytes of code that are packed together: zlib sees 32 KB
LOADED_TOGETHER = 12_000  # bytes of code that are loaded together: about as much as one call needs

MUCH = 16_000  # bytes of code that is loaded late, of which it pays to load zlib, which takes 0.3 ms
ENTRY = 40  # bytes that one of them takes
VARIABLE = 0x0C  # flags of code that takes any number of arguments

Compile = Callable[[ast.Module], CodeType]


def module_code(tree: ast.Module, compiled: Compile) -> CodeType:
    """The code of a module, with stubs in place of functions where that makes it smaller.

    compiled: code as it is kept, with the places of its calls.
    """
    seldom = [node for node in tree.body if isinstance(node, ast.FunctionDef) and hasattr(node, "has_copy")]
    if not seldom:
        return compiled(ast.Module(with_short_head(tree.body), []))
    plan = Plan(tree, seldom)
    whole_module, loaded_module = compiled(ast.Module(plan.wholes, [])), compiled(ast.Module(plan.loaded, []))
    wholes, loaded = codes_in(whole_module), codes_in(loaded_module)
    listed = {name for name in plan.unpacking if can_be_listed(wholes[name])}
    code, left = filled(compiled(plan.module(listed)), wholes, loaded, listed)
    if left & listed:  # those would be smaller as they are
        if left == listed and len(listed) == len(seldom):
            return compiled(ast.Module(with_short_head(tree.body), []))
        code, _ = filled(compiled(plan.module(listed - left)), wholes, loaded, listed - left)
    return code


class Plan:
    """What becomes of the functions that a module packs.

    wholes: functions that do what their copies do, and all else. loaded: functions that do what their copies do, and
    unpack the whole for all else. unpacking: names of those whose stubs do nothing but unpack.
    """

    def __init__(self, tree: ast.Module, seldom: list[ast.FunctionDef]) -> None:
        self.tree = tree
        self.wholes: list[ast.stmt] = []
        self.loaded: list[ast.stmt] = []
        self.unpacking: set[str] = set()
        self.stubs: dict[ast.stmt, list[ast.stmt]] = {}
        functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
        equal = equal_copies(functions)
        for function in seldom:
            copy = functions.get(PRIVATE + function.name)
            if copy is not None and function.name in equal:
                self.stubs[copy] = []
                self.stubs[function] = [function, assign(copy.name, name(function.name, NOWHERE), NOWHERE)]
            else:
                self.add(function, copy)

    def add(self, function: ast.FunctionDef, copy: ast.FunctionDef | None) -> None:
        parts = parts_of(function)
        names = None if copy is None else names_of_one(function, copy, parts)
        if copy is None or names is None:
            self.wholes.append(function)
            self.stubs[function] = [stub(function, parts)]
            if parts.test is None and not parts.documentation:
                self.unpacking.add(function.name)
            return
        self.wholes.append(whole_of(function, copy, parts))
        own = one(function, copy, parts)
        if names.has_inner:
            self.loaded.append(own)
            own = loading(function, parts)
        self.stubs[copy] = []
        self.stubs[function] = [own, assign(copy.name, name(function.name, NOWHERE), NOWHERE)]

    def module(self, listed: set[str]) -> ast.Module:
        """The module with stubs. listed: functions that are made of their names, lines and parameters."""
        body: list[ast.stmt] = []
        entries: list[ast.FunctionDef] = []
        at = 0
        for node in self.tree.body:
            if isinstance(node, ast.FunctionDef) and node.name in listed and node in self.stubs:
                entries.append(node)
                continue
            if entries and not isinstance(node, ast.FunctionDef):  # what happens before must not find the names
                body.insert(at, from_entries(entries))
                entries = []
            body += self.stubs.get(node, [node])
            if not isinstance(node, ast.FunctionDef):
                at = len(body)
        if entries:
            body.insert(at, from_entries(entries))
        return ast.Module(with_short_head(body, BEGINNING, bool(listed)), [])


def can_be_listed(code: CodeType) -> bool:
    """Whether the stub of a function is known by its name, line and parameters."""
    is_silent = any(type(each) is tuple and each[:1] == (SILENT,) for each in code.co_consts)
    return not is_silent and not code.co_flags & VARIABLE and code.co_argcount <= MOST_PARAMETERS


def from_entries(functions: list[ast.FunctionDef]) -> ast.stmt:
    """Makes stubs of functions that follow each other."""
    entries: list[object] = [ENTRIES]
    entries += [(each.name, each.lineno, *(arg.arg for arg in each.args.args)) for each in functions]
    made = call(name(STUBS, NOWHERE), [const(tuple(entries), NOWHERE)], NOWHERE)
    return ast.Expr(made, **NOWHERE)


def codes_in(module: CodeType) -> dict[str, CodeType]:
    """The code of the functions of a module, by Python name."""
    return {code.co_qualname: code for code in module.co_consts if type(code) is CodeType}


def filled(
    module: CodeType, wholes: dict[str, CodeType], loaded: dict[str, CodeType], listed: set[str]
) -> tuple[CodeType, set[str]]:
    """(the module with the code that its stubs unpack, or the whole code in place of stubs where that is smaller; the
    functions that are smaller so).

    loaded: the code of functions that their stubs load. listed: functions whose stubs have no code.
    """
    codes = codes_in(module)
    reached = codes.keys() | listed  # Python leaves out what stands after a `raise`
    wholes = {each: code for each, code in wholes.items() if each in reached}
    loaded = {each: code for each, code in loaded.items() if each in reached}
    packs: list[Pack] = []
    opened: dict[str, CodeType] = {}
    of: dict[str, Pack] = {}
    is_much = sum(map(size, loaded.values())) >= MUCH
    for names in groups(loaded, LOADED_TOGETHER):
        pack = together([loaded[each] for each in names], [codes[each] for each in names], is_much)
        packs.append(pack)
        of |= dict.fromkeys(names, pack)
    for names in groups(wholes, TOGETHER):
        similar: list[CodeType | Pack] = [*{id(of[each]): of[each] for each in names if each in of}.values()]
        own = [codes.get(PRIVATE + each) or codes.get(each) for each in names if each not in of]
        similar += [code for code in own if code is not None]
        similar = similar or [codes[each] for each in next(groups(codes, TOGETHER), ())]
        pack = packed([wholes[each] for each in names], similar)
        stubs = len(pack[0]) + sum(size(loaded.get(each) or codes[each]) for each in names if each not in listed)
        stubs += ENTRY * len(listed.intersection(names))
        if stubs < sum(size(wholes[each]) for each in names):
            packs.append(pack)
        else:
            opened |= {each: wholes[each] for each in names}
    constants = [opened.get(each.co_qualname, each) if type(each) is CodeType else each for each in module.co_consts]
    constants = [tuple(packs) if type(each) is bytes and each == BEGINNING else each for each in constants]
    return module.replace(co_consts=tuple(constants)), {*opened}


def groups(codes: dict[str, CodeType], most: int) -> Iterator[list[str]]:
    """The functions whose code is packed together: as many bytes at most, or one function."""
    names: list[str] = []
    bytes_in_all = 0
    for each, code in codes.items():
        bytes_in_all += size(code)
        if bytes_in_all > most and names:
            yield names
            names, bytes_in_all = [], size(code)
        names.append(each)
    if names:
        yield names


def size(code: CodeType) -> int:
    return len(marshal.dumps(code))
