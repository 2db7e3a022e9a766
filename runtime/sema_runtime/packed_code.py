"""Code of functions that is kept packed until one of them runs.

A public function of a module that has a private copy (semac/optimize/versions) runs its own body seldom or never. The
compiled module has a stub in its place: the test at the entry, if there is one, and behind it `unpacked()(...)`. The
first call that gets there gives the function its whole code, so no later call costs more. The bodies of a module are
packed together, and an import does nothing about them.
"""

from __future__ import annotations

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any

MODULE = "sema_runtime.packed_code"  # this one, which a stub names
PACKED = "__sema_packed__"  # that which holds the packed code, and from the first question on the code by name
BEGINNING = b"\xff&"  # of packed code; no text of UTF-8 has such a byte
FUNCTION: Any = type(lambda: None)


def packed(codes: dict[str, CodeType]) -> bytes:
    """The code of functions, by Python name, as a module keeps it."""
    from zlib import compress

    return BEGINNING + compress(marshal.dumps(codes), 9)


def packed_in(module: CodeType) -> list[CodeType]:
    """The code that the code of a module keeps packed."""
    texts = [constant for constant in module.co_consts if type(constant) is bytes and constant.startswith(BEGINNING)]
    return [code for text in texts if PACKED in module.co_names for code in _codes(text).values()]


def unpacked() -> Any:
    """The function whose stub is running, with its whole code from now on."""
    frame = sys._getframe(1)
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
    codes = namespace[PACKED]
    if type(codes) is bytes:
        codes = namespace[PACKED] = _codes(codes)
    found: CodeType = codes.get(code.co_name, code)
    return found


def is_stub(code: CodeType) -> bool:
    return MODULE in code.co_names


def is_stub_of(stub: CodeType, code: CodeType) -> bool:
    """Whether code is what a stub stands for."""
    is_same_place = stub.co_firstlineno == code.co_firstlineno and stub.co_filename == code.co_filename
    return is_same_place and stub.co_qualname == code.co_qualname and stub is not code and is_stub(stub)


def _codes(text: bytes) -> dict[str, CodeType]:
    from zlib import decompress

    codes: dict[str, CodeType] = marshal.loads(decompress(memoryview(text)[len(BEGINNING) :]))
    return codes


def _functions_of(code: CodeType) -> list[FunctionType]:
    import gc

    return [each for each in gc.get_referrers(code) if type(each) is FUNCTION and each.__code__ is code]
