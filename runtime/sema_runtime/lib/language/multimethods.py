"""defmulti and defmethod at run time."""

from __future__ import annotations

from sema_runtime.values.atoms import MAPS, Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import MISSING, PLAIN, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEFAULT = keyword("default")


class MultiMethod:
    """A function that chooses its method by the value of dispatch for the arguments.

    Calls with one and two arguments are written out: Python passes these without a tuple and a frame of C.

    was_extended: whether it may have methods that the compiler doesn't know. (The C of native code counts slots.)
    """

    __slots__ = ("__sema_name__", "dispatch", "methods", "was_extended")
    type_name = "multimethod"

    def __init__(self, name: str, dispatch: Callable[..., Any]) -> None:
        self.__sema_name__ = name
        self.dispatch = _callable(dispatch)
        self.was_extended = False
        self.methods: dict[Any, Callable[..., Any]] = {}  # by stored dispatch value

    def __call__(self, first: Any = MISSING, second: Any = MISSING, /, *rest: Any) -> Any:
        dispatch = self.dispatch
        if second is MISSING and first is not MISSING:
            if type(dispatch) is Keyword and type(first) in MAPS:
                value = first.d.get(dispatch)
            else:
                value = dispatch(first)
            method = self.methods.get(value if type(value) in PLAIN else stored(value))
            return method(first) if method is not None else self.default(value)(first)
        if second is not MISSING and not rest:
            value = dispatch(first, second)
            method = self.methods.get(value if type(value) in PLAIN else stored(value))
            return method(first, second) if method is not None else self.default(value)(first, second)
        args = () if first is MISSING else (first, second, *rest)
        value = dispatch(*args)
        return (self.methods.get(stored(value)) or self.default(value))(*args)

    def default(self, value: Any) -> Callable[..., Any]:
        """The method for a value that has none of its own. Raises an error when there is no `:default` either."""
        method = self.methods.get(DEFAULT)
        if method is None:
            raise self.no_method(value)
        return method

    def no_method(self, value: Any) -> SemaError:
        from sema_runtime.values.printer import to_text

        return SemaError(
            f"no method in multimethod '{self.__sema_name__}' for dispatch value: {to_text(value)}",
            "add a (defmethod name :default handler) to handle unmatched values",
        )

    def sema_text(self) -> str:
        return f"<multimethod {self.__sema_name__}>"

    __repr__ = sema_text


def call_default(multimethod: MultiMethod, value: Any, *args: Any) -> Any:
    """The call of a multimethod for whose dispatch value the compiler has found no method."""
    return multimethod.default(value)(*args)


def add_method(multimethod: Any, value: Any, method: Any) -> None:
    """(defmethod multimethod value method); a second method for an equal value replaces the first."""
    if type(multimethod) is not MultiMethod:
        raise SemaError("defmethod: first argument is not a multimethod")
    multimethod.methods[stored(value)] = _callable(method)
    multimethod.was_extended = True


def add_own_method(multimethod: MultiMethod, value: Any, method: Any) -> None:
    """`add_method` of a method that the compiler calls without asking the multimethod, until it is extended."""
    multimethod.methods[stored(value)] = method


def is_extended(multimethod: MultiMethod) -> bool:
    return multimethod.was_extended


# the same for the compiler, which knows of them that nobody else sees the multimethod: in all of a program, in a module
known_multimethod = MultiMethod
add_known_method = add_seen_method = add_own_method


def _callable(value: Any) -> Callable[..., Any]:
    """The value itself, or a function that refuses to be called in its place."""

    def refused(*args: Any) -> Any:
        type_error("callable", value)

    return value if callable(value) else refused
