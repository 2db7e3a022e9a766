"""Code of functions that is kept packed until one of them runs it.

A public function of a module that has a private copy (semac/optimize/versions) runs its own body seldom or never. The
compiled module has a stub in its place, which ends in `unpacked()(...)`. The first call that gets there gives the
function its whole code, so no later call costs more. An import does nothing about it.

The module has a constant for that: tuples of a text, which is the whole code of some functions, compressed together,
and of code that is much like it and that the module has anyway: that of their stubs, or of their copies. zlib gets the
latter as a dictionary.
"""

from __future__ import annotations

import marshal
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FrameType, FunctionType
    from typing import Any

UNPACKED = "__sema_unpacked__"  # what stubs call; nothing else calls it
PACKED = "__sema_packed__"  # the global that is the module's constant, with dicts of code for texts that were needed
BEGINNING = b"\xff&"  # of packed code; no text of UTF-8 has such a byte
FUNCTION: Any = type(lambda: None)
CODE: Any = type((lambda: None).__code__)
PLAIN = 2  # the format of marshal without references, which are smaller, but none like the other for zlib
RAW, LEVEL, MEMORY = -15, 9, 9  # for zlib: no header, smallest


def packed(codes: list[CodeType], similar: list[CodeType]) -> tuple[Any, ...]:
    """The code of functions as a module keeps it. similar: for each, code of the same name that the module has."""
    from zlib import DEFLATED, Z_DEFAULT_STRATEGY, compressobj

    compressor = compressobj(LEVEL, DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY, _dictionary(similar))
    return BEGINNING + compressor.compress(marshal.dumps(codes, PLAIN)) + compressor.flush(), *similar


def packed_in(module: CodeType) -> list[CodeType]:
    """The code that the code of a module keeps packed."""
    return [code for constant in module.co_consts if is_packed(constant) for pack in constant for code in _codes(pack)]


def is_packed(constant: object) -> bool:
    """Whether a constant of a module is its packed code."""
    return type(constant) is tuple and any(
        type(pack) is tuple and pack and type(pack[0]) is bytes and pack[0].startswith(BEGINNING) for pack in constant
    )


def unpacked_in(frame: FrameType) -> Any:
    """The function whose stub is running in a frame, with its whole code from now on."""
    stub, namespace = frame.f_code, frame.f_globals
    code = whole(stub, namespace)
    function: Any = namespace.get(stub.co_name)
    if type(function) is FUNCTION and function.__code__ is stub:
        function.__code__ = code
        return function
    made = FUNCTION(code, namespace)
    for other in _functions_of(stub):  # the name means something else now: what wraps the function, for instance
        if other.__globals__ is namespace:
            other.__code__ = code
            made = other
    return made


def whole(code: CodeType, namespace: dict[str, Any]) -> CodeType:
    """The whole code of a function with these globals: that which a stub stands for, else the same."""
    if not is_stub(code) or PACKED not in namespace:
        return code
    packs = namespace[PACKED]
    for index, pack in enumerate(packs):
        if type(pack) is tuple and any(similar.co_name == code.co_name for similar in pack[1:]):
            pack = {each.co_name: each for each in _codes(pack)}
            namespace[PACKED] = (*packs[:index], pack, *packs[index + 1 :])
        if type(pack) is dict and code.co_name in pack:
            found: CodeType = pack[code.co_name]
            return found
    return code


def is_stub(code: CodeType) -> bool:
    return UNPACKED in code.co_names


def is_stub_of(stub: CodeType, instruction: int | tuple[int, int], code: CodeType) -> bool:
    """Whether code is what a stub stands for, and the stub is only calling it: it does so in no columns."""
    is_same_place = stub.co_firstlineno == code.co_firstlineno and stub.co_filename == code.co_filename
    if not is_same_place or stub.co_qualname != code.co_qualname or stub is code or not is_stub(stub):
        return False
    if type(instruction) is not int:
        return False
    _, _, col, end_col = next(islice(stub.co_positions(), instruction // 2, None), (None, None, None, None))
    return col == end_col == 0


def _codes(pack: tuple[Any, ...]) -> list[CodeType]:
    from zlib import decompressobj

    text, *similar = pack
    codes: list[CodeType] = marshal.loads(
        decompressobj(RAW, _dictionary(similar)).decompress(memoryview(text)[len(BEGINNING) :])
    )
    return codes


def _dictionary(codes: list[CodeType]) -> bytes:
    """What other code has in common with some."""
    parts: list[bytes] = []
    for code in codes:
        _add(code, parts)
    return b"".join(parts)


def _add(code: CodeType, parts: list[bytes]) -> None:
    for constant in code.co_consts:
        if type(constant) is CODE:
            _add(constant, parts)
    for constant in code.co_consts:
        if type(constant) is str:
            parts.append(constant.encode("utf-8", "surrogatepass"))
        elif type(constant) is bytes:
            parts.append(constant)
    names = (*code.co_names, *code.co_varnames, *code.co_cellvars, code.co_filename, code.co_qualname)
    parts += [each.encode("utf-8", "surrogatepass") for each in names]
    parts += [code.co_linetable, code.co_code]


def _functions_of(code: CodeType) -> list[FunctionType]:
    import gc

    return [each for each in gc.get_referrers(code) if type(each) is FUNCTION and each.__code__ is code]
