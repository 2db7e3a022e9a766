"""defmulti and defmethod at run time."""

from __future__ import annotations

from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import MISSING, stored

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

DEFAULT = keyword("default")


class MultiMethod:
    """A function that chooses its method by the value of dispatch for the arguments."""

    __slots__ = ("__sema_name__", "dispatch", "methods")
    type_name = "multimethod"

    def __init__(self, name: str, dispatch: Callable[..., Any]) -> None:
        self.__sema_name__ = name
        self.dispatch = dispatch
        self.methods: dict[Any, Callable[..., Any]] = {}  # by stored dispatch value

    def __call__(self, *args: Any) -> Any:
        dispatch = self.dispatch
        if not callable(dispatch):
            type_error("callable", dispatch)
        value = dispatch(*args)
        method = self.methods.get(stored(value), MISSING)
        if method is MISSING:
            method = self.methods.get(DEFAULT, MISSING)
            if method is MISSING:
                raise self.no_method(value)
        if not callable(method):
            type_error("callable", method)
        return method(*args)

    def no_method(self, value: Any) -> SemaError:
        from sema_runtime.values.printer import to_text

        return SemaError(
            f"no method in multimethod '{self.__sema_name__}' for dispatch value: {to_text(value)}",
            "add a (defmethod name :default handler) to handle unmatched values",
        )

    def sema_text(self) -> str:
        return f"<multimethod {self.__sema_name__}>"

    __repr__ = sema_text


def add_method(multimethod: Any, value: Any, method: Any) -> None:
    """(defmethod multimethod value method); a second method for an equal value replaces the first."""
    if type(multimethod) is not MultiMethod:
        raise SemaError("defmethod: first argument is not a multimethod")
    multimethod.methods[stored(value)] = method
