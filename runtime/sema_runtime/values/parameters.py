"""`make-parameter` and `parameterize`, with context variables: a task sees the bindings that it was started under."""

from __future__ import annotations

from contextvars import ContextVar

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextvars import Token
    from typing import Any

UNSET: Any = object()


class Parameter:
    """Called without argument it returns its value; called with one it sets it, in its innermost `parameterize`.

    converter: applied to every value that is set, also to the first one; None for none.
    """

    __slots__ = ("converter", "variable")
    type_name = "native-fn"
    type_keyword = "lambda"  # what `type` gives, where messages say something else

    def __init__(self, value: Any, converter: Callable[[Any], Any] | None = None) -> None:
        self.converter = converter
        # A cell and not the value itself: setting it in a task changes the binding that the task was started under.
        cell = [self.converted(value)]
        self.variable: ContextVar[list[Any]] = ContextVar("parameter", default=cell)

    def __call__(self, value: Any = UNSET, raw: Any = UNSET, *_: Any) -> Any:
        cell = self.variable.get()
        if value is not UNSET:
            cell[0] = self.converted(value) if raw is UNSET else raw
        return cell[0]

    def converted(self, value: Any) -> Any:
        """The value as it is stored."""
        return value if self.converter is None else self.converter(value)

    def sema_text(self) -> str:
        return "<native-fn <vm-closure>>"


class parameterized:  # emitted code says `with parameterized(p, 1): ...`
    """A context manager that binds parameters, `parameterized(p, 1, q, 2)`, after converting all of the values."""

    __slots__ = ("bindings", "tokens")

    def __init__(self, *flat: Any) -> None:
        self.bindings: list[tuple[Parameter, Any]] = []
        self.tokens: list[Token[list[Any]]] = []
        for index in range(0, len(flat), 2):
            parameter = flat[index]
            if type(parameter) is not Parameter:
                _refuse(parameter, flat[index + 1])
            self.bindings.append((parameter, parameter.converted(flat[index + 1])))

    def __enter__(self) -> None:
        for parameter, value in self.bindings:
            self.tokens.append(parameter.variable.set([value]))

    def __exit__(self, *_: object) -> None:
        for (parameter, _value), token in zip(reversed(self.bindings), reversed(self.tokens), strict=True):
            parameter.variable.reset(token)


def _refuse(parameter: Any, value: Any) -> None:
    """Raises the error for binding a value that is no parameter: the reference calls it with two arguments."""
    if not callable(parameter):
        from sema_runtime.values.errors import SemaError
        from sema_runtime.values.printer import to_text
        from sema_runtime.values.typenames import type_name

        raise SemaError(
            f"not callable: {to_text(parameter)} ({type_name(parameter)})", "expected a function, lambda, or keyword"
        )
    parameter(None, value)
    from sema_runtime.values.errors import type_error

    type_error("parameter", parameter)
