"""The decorator that declares a builtin. At run time it marks the function with its Sema name.

`scripts/build_catalogue.py` reads the same decorators from the source, without importing it, and writes
`catalogue_index.py`, the table from which the compiler resolves names, checks arities and prints documentation.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, TypeVar

    F = TypeVar("F", bound=Callable[..., Any])


def builtin(
    name: str,
    *aliases: str,
    type: str | tuple[str, ...] = "",
    total: bool = False,
    returns: str = "any",
    cap: str = "",
    pure: bool = False,
    arity: tuple[int, int] | None = None,
) -> Callable[[F], F]:
    """Declares a builtin.

    name, aliases: Sema names.
    type: the types of parameters and result, as `"now (a -> b), seq a -> list b fresh"` (a to e are type variables).
    Before a parameter: `keep` (the result may hold the argument, or it is stored), `now` (a function that is only
    called before the builtin returns), `later` (one that is kept); else the argument is only read. After it: `?`
    optional, `...` any number. `fresh`: nobody else holds the container that is returned. A tuple where one signature
    can't say it: the first that the number of arguments fits counts. All of it: docs/reference/builtin-signatures.md.
    total: never raises when the arguments are of these types.
    returns: in place of type, the type that the compiler may assume of the result (`int float number string bool nil
    keyword symbol char list vector map function any`, unions as `int|nil`, elements as `list[string]`).
    arity: (least, most; -1 for any number), where it differs from the Python signature.
    cap: capability group of spec/cli.md section 9.2 ("" = harmless).
    pure: no effect besides raising.

    Parameter names come from the Python signature, the doc text from the docstring.
    """

    def mark(function: F) -> F:
        function.__sema_name__ = name  # type: ignore[attr-defined]
        if cap:
            from sema_runtime.capabilities import guarded

            return guarded(function, name, cap)
        return function

    return mark
