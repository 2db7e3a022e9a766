"""Code of functions that is kept packed until one of them runs it.

Compiled modules have stubs in place of some functions, which end in `unpacked()(...)`. The first call that gets there
gives the function its own code, so no later call costs more. An import does nothing about it.

- A public function of a module that has a private copy (semac/optimize/versions) runs its own body seldom or never. Its
  stub unpacks it where the copy won't do. Such bodies are compressed together. They are much like the copies, which
  zlib gets as a dictionary.
  Of stubs that do nothing but unpack, the module has the names, lines and parameters; the functions are made of that
  (`sema_runtime.stubs`).
- Functions with others inside take several code objects. Where nothing calls them often, their stubs do nothing but
  load them, some together: those of the module that are never called cost an import one code object each.

A module has a constant for this: a tuple of packs, each of which is a text, the names of the functions whose code it
is, and what belongs to it. For compressed code that is code of the module, or texts, for the dictionary; for other code
it is the stubs.
"""

from __future__ import annotations

import marshal
from itertools import islice

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType, FrameType, FunctionType
    from typing import Any

Pack = tuple[bytes, tuple[str, ...], tuple[object, ...]]

UNPACKED = "__sema_unpacked__"  # what stubs call; nothing else calls it
ENTRIES = "sema stubs"  # what the constant begins with of which functions are made that only unpack their code
MOST_PARAMETERS = 5  # of such a function
PACKED = "__sema_packed__"  # the global that is the module's constant, with dicts of code for packs that were needed
BEGINNING = b"\xff&"  # of a compressed text; no text of UTF-8 has such a byte
COMPRESSED = b"\xff-"  # of a compressed text whose code is loaded
FUNCTION: Any = type(lambda: None)
CODE: Any = type((lambda: None).__code__)
RAW, LEVEL, MEMORY = -15, 6, 9  # for zlib: no header; a higher level takes four times as long for 2 % less


def packed(codes: list[CodeType], similar: list[CodeType | Pack]) -> Pack:
    """Whole code of functions as a module keeps it. similar: other code of theirs, or packs that have it."""
    from zlib import DEFLATED, Z_DEFAULT_STRATEGY, compressobj

    from sema_runtime.code_text import written

    names = tuple(code.co_name for code in codes)
    text, dictionary = written(codes, _similar(names, similar))
    compressor = compressobj(LEVEL, DEFLATED, RAW, MEMORY, Z_DEFAULT_STRATEGY, dictionary)
    return BEGINNING + compressor.compress(text) + compressor.flush(), names, tuple(similar)


def together(codes: list[CodeType], stubs: list[CodeType], is_compressed: bool) -> Pack:
    """Code of functions that is loaded when one of them is called."""
    text = marshal.dumps(codes)
    if is_compressed:
        from zlib import DEFLATED, compressobj

        compressor = compressobj(LEVEL, DEFLATED, RAW, MEMORY)
        text = COMPRESSED + compressor.compress(text) + compressor.flush()
    return text, tuple(code.co_name for code in codes), tuple(stubs)


def loaded(text: bytes) -> list[CodeType]:
    """The code of functions that are loaded together."""
    if text.startswith(COMPRESSED):
        from zlib import decompress

        text = decompress(memoryview(text)[len(COMPRESSED) :], RAW)
    codes: list[CodeType] = marshal.loads(text)
    return codes


def packed_in(module: CodeType) -> list[CodeType]:
    """The whole code of functions that the code of a module keeps packed."""
    packs = [pack for constant in module.co_consts if is_packed(constant) for pack in constant]
    return [code for pack in packs if pack[0].startswith(BEGINNING) for code in _codes(pack)]


def opened(module: CodeType) -> CodeType:
    """The code of a module with whole functions in place of stubs."""
    codes: dict[str, Any] = {code.co_name: code for code in packed_in(module)}
    constants: list[Any] = []
    for each in module.co_consts:
        if type(each) is CODE and is_stub(each):
            each = codes.get(each.co_name, each)
        elif type(each) is tuple and each[:1] == (ENTRIES,):
            each = tuple(codes.get(entry[0], entry) if type(entry) is tuple else entry for entry in each)
        constants.append(each)
    return module.replace(co_consts=tuple(constants))


def open_all(namespaces: Iterable[dict[str, Any]]) -> None:
    """Gives the functions of modules their whole code."""
    for namespace in namespaces:
        if PACKED in namespace:
            for value in [*namespace.values()]:
                if type(value) is FUNCTION and value.__globals__ is namespace and is_stub(value.__code__):
                    value.__code__ = whole(value.__code__, namespace)


def is_packed(constant: object) -> bool:
    """Whether a constant of a module is its packed code."""
    return type(constant) is tuple and any(
        type(pack) is tuple and pack and type(pack[0]) is bytes and pack[0].startswith(BEGINNING) for pack in constant
    )


def unpacked_in(frame: FrameType) -> Any:
    """The function whose stub is running in a frame, with its own code from now on."""
    stub, namespace = frame.f_code, frame.f_globals
    code = _loaded(stub, namespace) or whole(stub, namespace)
    function: Any = namespace.get(stub.co_name)
    if type(function) is FUNCTION and function.__code__ in (stub, code):
        function.__code__ = code
        return function
    made = FUNCTION(code, namespace)
    for other in _functions_of(stub):  # the name means something else now: what wraps the function, for instance
        if other.__globals__ is namespace:
            other.__code__ = code
            made = other
    return made


def _loaded(stub: CodeType, namespace: dict[str, Any]) -> CodeType | None:
    """The code that a stub loads, which all functions get that it is packed with; None for other stubs."""
    name = stub.co_name
    pack: Any
    for pack in namespace[PACKED]:
        if type(pack) is tuple and name in pack[1] and not pack[0].startswith(BEGINNING):
            text, names, stubs = pack
            at = names.index(name)
            if stubs[at] != stub:
                return None
            codes = loaded(text)
            for name, before, code in zip(names, stubs, codes, strict=True):
                function: Any = namespace.get(name)
                if type(function) is FUNCTION and function.__code__ is before:
                    function.__code__ = code
            own: CodeType = codes[at]
            return own
    return None


def whole(code: CodeType, namespace: dict[str, Any]) -> CodeType:
    """The whole code of a function with these globals: that which a stub stands for, else the same."""
    if not is_stub(code) or PACKED not in namespace:
        return code
    packs = namespace[PACKED]
    for index, pack in enumerate(packs):
        if type(pack) is tuple and code.co_name in pack[1] and pack[0].startswith(BEGINNING):
            pack = {each.co_name: each for each in _codes(pack)}
            namespace[PACKED] = (*packs[:index], pack, *packs[index + 1 :])
        if type(pack) is dict and code.co_name in pack:
            found: CodeType = pack[code.co_name]
            return found
    return code


def is_stub(code: CodeType) -> bool:
    return UNPACKED in code.co_names


def is_stub_of(stub: CodeType, instruction: int | tuple[int, int], code: CodeType) -> bool:
    """Whether code is what a stub stands for, and the stub is only calling it: it does so in no columns, or does
    nothing else."""
    is_same_place = stub.co_firstlineno == code.co_firstlineno and stub.co_filename == code.co_filename
    if not is_same_place or stub.co_qualname != code.co_qualname or stub is code or not is_stub(stub):
        return False
    if type(instruction) is not int:
        return False
    if stub.co_names == (UNPACKED,):
        return True
    _, _, col, end_col = next(islice(stub.co_positions(), instruction // 2, None), (None, None, None, None))
    return col == end_col == 0


def _codes(pack: Pack) -> list[CodeType]:
    from zlib import decompressobj

    from sema_runtime.code_text import read, table_of, text_of

    text, names, parts = pack
    similar = _similar(names, parts)
    table = table_of(similar)
    compressed = memoryview(text)[len(BEGINNING) :]
    return read(decompressobj(RAW, text_of(similar, table)).decompress(compressed), table)


def _similar(names: tuple[str, ...], parts: Iterable[Any]) -> list[CodeType]:
    """Code that is like that of functions, in what belongs to a pack."""
    similar: list[CodeType] = []
    for each in parts:
        if type(each) is CODE:
            similar.append(each)
        else:
            similar += [code for name, code in zip(each[1], loaded(each[0]), strict=True) if name in names]
    return similar


def _functions_of(code: CodeType) -> list[FunctionType]:
    import gc

    return [each for each in gc.get_referrers(code) if type(each) is FUNCTION and each.__code__ is code]
