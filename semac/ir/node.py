"""How classes of nodes are made: slots and a constructor from annotations, without the start-up of `dataclasses`.

`class If(Op): test: Expr; then: Block` takes `If(test, then)`. Fields of a class declared with `kw_only=True` are
keyword arguments of the constructors below it.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, dataclass_transform
else:

    def dataclass_transform(**_options):
        return lambda decorated: decorated


@dataclass_transform(eq_default=False)
class NodeType(type):
    """The class of node classes."""

    fields: tuple[str, ...]  # positional, in order
    options: tuple[str, ...]  # keyword only
    defaults: dict[str, Any]
    lists: frozenset[str]  # those of all fields that hold lists

    def __new__(
        cls, name: str, bases: tuple[type, ...], scope: dict[str, Any], kw_only: bool = False, **_: Any
    ) -> NodeType:
        declared = scope.get("__annotations__", {})
        own = [field for field in declared if field not in STATIC]
        defaults = {field: scope.pop(field) for field in own if field in scope}
        scope["__slots__"] = tuple(own)
        made = super().__new__(cls, name, bases, scope)
        base = bases[0] if bases else None
        inherited = getattr(base, "fields", ())
        made.fields = inherited if kw_only else (*inherited, *own)
        made.options = (*getattr(base, "options", ()), *own) if kw_only else getattr(base, "options", ())
        made.defaults = {**getattr(base, "defaults", {}), **defaults}
        made.lists = getattr(base, "lists", frozenset()).union(
            each for each in own if declared[each].startswith("list[")
        )
        made.__init__ = constructor(made)  # type: ignore[misc]
        return made

    def __init__(cls, name: str, bases: tuple[type, ...], scope: dict[str, Any], **_: Any) -> None:
        super().__init__(name, bases, scope)


STATIC = frozenset(("exprs", "blocks"))  # annotated in node classes, but facts about the class


def constructor(made: NodeType) -> Any:
    """`__init__` of a node class."""
    params = [f"{field}={field}_" if field in made.defaults else field for field in made.fields]
    if made.options:
        params += ["*", *(f"{field}={field}_" for field in made.options)]
    body = "".join(f"    self.{field} = {field}\n" for field in (*made.fields, *made.options)) or "    pass\n"
    scope = {f"{field}_": value for field, value in made.defaults.items()}
    exec(f"def __init__(self, {', '.join(params)}):\n{body}", scope)
    return scope["__init__"]


class Node(metaclass=NodeType):
    """The base of all nodes."""

    def __repr__(self) -> str:
        kind = type(self)
        shown = ", ".join(f"{field}={getattr(self, field)!r}" for field in kind.fields)
        return f"{kind.__name__}({shown})"
