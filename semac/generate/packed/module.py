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

from sema_runtime.packed_code import BEGINNING, PACKED, UNPACKED, Pack, packed, together
from sema_runtime.values.naming import PRIVATE
from semac.generate.packed.entries import can_be_one, has_inner_code, loading, one, parts_of, stub, whole_of
from semac.generate.pyast import NOWHERE, assign, const, name

TOGETHER = 24_000  # bytes of code that are packed together: zlib sees 32 KB
LOADED_TOGETHER = 12_000  # bytes of code that are loaded together: about as much as one call needs

Compile = Callable[[ast.Module], CodeType]


def module_code(tree: ast.Module, compiled: Compile) -> CodeType:
    """The code of a module, with stubs in place of functions where that makes it smaller.

    compiled: code as it is kept, with the places of its calls.
    """
    seldom = [node for node in tree.body if isinstance(node, ast.FunctionDef) and hasattr(node, "has_copy")]
    if not seldom:
        return compiled(tree)
    functions = {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}
    stubs: dict[ast.stmt, list[ast.stmt]] = {}
    wholes: list[ast.stmt] = []  # functions that do what their copies do, and all else
    loaded: list[ast.stmt] = []  # functions that do what their copies do, and unpack the whole for all else
    for function in seldom:
        parts, copy = parts_of(function), functions.get(PRIVATE + function.name)
        if copy is None or not can_be_one(function, copy, parts):
            wholes.append(function)
            stubs[function] = [stub(function, parts)]
            continue
        wholes.append(whole_of(function, copy, parts))
        own = one(function, copy, parts)
        if has_inner_code(copy.body):
            loaded.append(own)
            own = loading(function, parts)
        stubs[copy] = []
        stubs[function] = [own, assign(copy.name, name(function.name, NOWHERE), NOWHERE)]
    body = [each for node in tree.body for each in stubs.get(node, [node])]
    first = next((at for at, node in enumerate(body) if not isinstance(node, ast.ImportFrom)), 0)
    imported = ast.ImportFrom("sema_runtime", [ast.alias("unpacked", UNPACKED, **NOWHERE)], 0, **NOWHERE)
    body[first:first] = [imported, assign(PACKED, const(BEGINNING, NOWHERE), NOWHERE)]
    whole_module, loaded_module = compiled(ast.Module(wholes, [])), compiled(ast.Module(loaded, []))
    module = compiled(ast.Module(body, []))
    reached = codes_in(module)  # Python leaves out what stands after a `raise`
    wholes_reached, loaded_reached = (
        {key: code for key, code in codes_in(its).items() if key in reached} for its in (whole_module, loaded_module)
    )
    return filled(module, wholes_reached, loaded_reached)


def codes_in(module: CodeType) -> dict[str, CodeType]:
    """The code of the functions of a module, by Python name."""
    return {code.co_qualname: code for code in module.co_consts if type(code) is CodeType}


def filled(module: CodeType, wholes: dict[str, CodeType], loaded: dict[str, CodeType]) -> CodeType:
    """The module with the code that its stubs unpack, or the whole code in place of stubs where that is smaller.

    loaded: the code of functions that their stubs load.
    """
    codes = codes_in(module)
    packs: list[Pack] = []
    opened: dict[str, CodeType] = {}
    of: dict[str, Pack] = {}
    for names in groups(loaded, LOADED_TOGETHER):
        pack = together([loaded[each] for each in names], [codes[each] for each in names])
        packs.append(pack)
        of |= dict.fromkeys(names, pack)
    for names in groups(wholes, TOGETHER):
        similar: list[CodeType | Pack] = [*{id(of[each]): of[each] for each in names if each in of}.values()]
        similar += [codes.get(PRIVATE + each, codes[each]) for each in names if each not in of]
        pack = packed([wholes[each] for each in names], similar)
        stubs = len(pack[0]) + sum(size(loaded.get(each, codes[each])) for each in names)
        if stubs < sum(size(wholes[each]) for each in names):
            packs.append(pack)
        else:
            opened |= {each: wholes[each] for each in names}
    constants = [opened.get(each.co_qualname, each) if type(each) is CodeType else each for each in module.co_consts]
    constants = [tuple(packs) if type(each) is bytes and each == BEGINNING else each for each in constants]
    return module.replace(co_consts=tuple(constants))


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
