"""Python functions as tools."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, ParamSpec, Protocol, TypeVar, cast, overload

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)


class Tool(Protocol, Generic[P, R_co]):
    """A function that is a tool, and can be called as before. Methods become tools of their instance."""

    name: str
    description: str

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Tool[..., R_co]: ...


@overload
def tool(function: Callable[P, R], /) -> Tool[P, R]: ...
@overload
def tool(
    *, name: str | None = None, description: str | None = None, thread: bool = False
) -> Callable[[Callable[P, R]], Tool[P, R]]: ...
def tool(
    function: Any = None, /, *, name: str | None = None, description: str | None = None, thread: bool = False
) -> Any:
    """Makes a function, plain or async, a tool: `@tool`, or `@tool(name=..., thread=True)`.

    The model sees its annotations and docstring; defaults make parameters optional. Its errors go back to the model.
    thread: call it in a thread, because it blocks. Raises SemaError for unsuitable signatures: parameters without type,
    positional-only ones, *args, **kwargs.
    """
    from sema_runtime.llm.tools.python_functions import python_tool

    def make(decorated: Callable[..., Any]) -> Any:
        return cast(Any, python_tool(decorated, name, description, thread))

    return make if function is None else make(function)
