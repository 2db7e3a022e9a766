"""Code of functions that is kept packed until one of them runs.

A public function of a module that has a private copy (semac/optimize/versions) runs its own body seldom or never. The
compiled module has a stub in its place: the test at the entry, if there is one, and behind it `unpacked()(...)`. The
first call that gets there gives the function its whole code, so no later call costs more. The bodies of a module are
packed together, which makes them a tenth of their size, and an import does nothing about them.
"""

from __future__ import annotations

import marshal
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, FunctionType
    from typing import Any

UNPACKED = "__sema_unpacked__"  # the global of a module that is the function `unpacked`
PACKED = "__sema_packed__"  # that which holds the packed code, and from the first question on the code by name
FUNCTION: Any = type(lambda: None)


def packed(codes: dict[str, CodeType]) -> bytes:
    """The code of functions, by Python name, as a module keeps it."""
    from zlib import compress

    return compress(marshal.dumps(codes), 9)


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
        from zlib import decompress

        codes = namespace[PACKED] = marshal.loads(decompress(codes))
    found: CodeType = codes.get(code.co_name, code)
    return found


def is_stub(code: CodeType) -> bool:
    return UNPACKED in code.co_names and code.co_name != "<module>"


def is_stub_of(stub: CodeType, code: CodeType) -> bool:
    """Whether code is what a stub stands for."""
    is_same_place = stub.co_firstlineno == code.co_firstlineno and stub.co_filename == code.co_filename
    return is_same_place and stub.co_qualname == code.co_qualname and stub is not code and is_stub(stub)


def _functions_of(code: CodeType) -> list[FunctionType]:
    import gc

    return [each for each in gc.get_referrers(code) if type(each) is FUNCTION and each.__code__ is code]
