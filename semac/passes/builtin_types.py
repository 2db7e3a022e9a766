"""What single builtins return, where it depends on their arguments, and what they pass to a function argument.

A rule visits the arguments of the call itself and gives the type of the result. Builtins without a rule return what
the catalogue says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from semac.ir import nodes as ir
from semac.ir.types import (
    ANY,
    BOOL,
    ELEMENTS,
    FLOAT,
    INT,
    LIST,
    MAP,
    NIL,
    NUMBER,
    OTHER_NUMBER,
    STR,
    TAGS,
    VECTOR,
    element,
    only,
    sequence_of,
)
from semac.passes.tail_calls import function_argument


class Inference(Protocol):
    """What the rules ask of type inference (`inference.py`)."""

    noted: set[ir.Var]
    filled: set[ir.Var]

    def visit(self, node: Any) -> int:
        """The type of a node, computed and stored."""

    def returned(self, function: ir.Function) -> int:
        """The type of what calls of a function give."""

    def widen(self, var: ir.Var, mask: int) -> None:
        """Adds the types of mask to what a variable may hold."""


Rule = Callable[[Inference, Any], int]
BUILTIN_RULES: dict[str, Rule] = {}


def rule(*names: str) -> Callable[[Rule], Rule]:
    def register(function: Rule) -> Rule:
        for name in names:
            BUILTIN_RULES[name] = function
        return function

    return register


@rule("+", "-", "*")
def _arithmetic(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if not all(mask & TAGS for mask in masks):
        return 0
    numbers = [mask & NUMBER for mask in masks]  # what isn't a number raises, so it has no part in the result
    tags = 0
    if all(numbers):
        for number in numbers:
            tags |= number
        tags = NUMBER if tags & OTHER_NUMBER else FLOAT if FLOAT in numbers else tags
    if node.name == "+" and len(masks) == 2 and all(mask & STR for mask in masks):
        tags |= STR
    return tags


@rule("/")
def _divide(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if not all(mask & TAGS for mask in masks):
        return 0
    real = all(only(mask, INT | FLOAT) for mask in masks)
    return FLOAT if real and any(only(mask, FLOAT) for mask in masks) else NUMBER


@rule("mod", "modulo", "quotient", "remainder")
def _integer(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if not all(mask & TAGS for mask in masks):
        return 0
    return INT if all(only(mask, INT) for mask in masks) else INT | FLOAT


@rule("<", ">", "<=", ">=", "=", "not", "eq?", "equal?", "nil?", "null?", "even?", "odd?", "zero?")
def _bool(i: Inference, node: Any) -> int:
    for arg in node.args:
        i.visit(arg)
    return BOOL


@rule("min", "max", "abs")
def _same_number(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if not all(mask & TAGS for mask in masks):
        return 0
    tags = 0
    for mask in masks:
        tags |= mask & TAGS
    return tags if tags & ~NUMBER == 0 else NUMBER


@rule("list", "vector")
def _sequence(i: Inference, node: Any) -> int:
    mask = 0
    for arg in node.args:
        mask |= i.visit(arg)
    return sequence_of(VECTOR if node.name == "vector" else LIST, mask)


@rule("cons")
def _cons(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if len(masks) != 2:
        return ANY
    if not masks[1] & TAGS:
        return 0
    if only(masks[1], LIST):
        return sequence_of(LIST, masks[0] | masks[1] >> ELEMENTS)
    return sequence_of(LIST, ANY)


@rule("car", "first")
def _car(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if len(masks) == 1 and not masks[0] & TAGS:
        return 0
    if len(masks) == 1 and only(masks[0], LIST):
        source = node.args[0]
        is_filled = type(source) is ir.Ref and source.var in i.filled
        return element(masks[0]) if is_filled else element(masks[0]) | NIL
    return ANY


@rule("cdr", "rest", "reverse")
def _cdr(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    return masks[0] if len(masks) == 1 and (only(masks[0], LIST) or not masks[0] & TAGS) else ANY


@rule("range")
def _range(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if not all(mask & TAGS for mask in masks):
        return LIST
    return sequence_of(LIST, INT if all(only(mask, INT) for mask in masks) else NUMBER)


@rule("map")
def _map(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args[1:]]
    function = applied(i, node, masks)
    return sequence_of(LIST, ANY if function is None else i.returned(function))


def applied(i: Inference, node: Any, masks: list[int]) -> ir.Function | None:
    """The function that a higher-order builtin applies directly, its parameters widened by elements of the masks."""
    function: ir.Function | None = node.inlined
    if function is None and node.args and type(node.args[0]) is ir.Lambda:
        function = node.args[0].function
    if function is not None:
        give_elements(i, function, masks)
    for arg in node.args[:1]:
        i.visit(arg)
    return function


def give_elements(i: Inference, function: ir.Function, masks: list[int]) -> None:
    """A lambda written as an argument of map and friends gets elements of the sequences as parameters."""
    for var, mask in zip(function.params, masks, strict=False):
        if var not in i.noted and function.var is None:  # a lambda written as the argument: nobody else calls it
            i.noted.add(var)
            var.type = 0
        if mask & TAGS:
            i.widen(var, element(mask) if only(mask, LIST | VECTOR) else ANY)


@rule("filter")
def _filter(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args[1:]]
    applied(i, node, masks)
    known = len(masks) == 1 and (only(masks[0], LIST | VECTOR) or not masks[0] & TAGS)
    return sequence_of(LIST, masks[0] >> ELEMENTS) if known else sequence_of(LIST, ANY)


@rule("sort-by", "list/group-by")
def _keyed(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args[1:]]
    applied(i, node, masks)
    if node.name == "list/group-by":
        return sequence_of(MAP, LIST)
    known = len(masks) == 1 and (only(masks[0], LIST | VECTOR) or not masks[0] & TAGS)
    return sequence_of(LIST, masks[0] >> ELEMENTS if known else ANY)


@rule("sort")
def _sort(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if masks and not masks[0] & TAGS:
        return 0
    return sequence_of(LIST, masks[0] >> ELEMENTS if masks and only(masks[0], LIST | VECTOR) else ANY)


@rule("for-each")
def _for_each(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args[1:]]
    applied(i, node, masks)
    return NIL


@rule("foldl")
def _foldl(i: Inference, node: Any) -> int:
    if len(node.args) != 3:
        for arg in node.args:
            i.visit(arg)
        return ANY
    start, source = i.visit(node.args[1]), i.visit(node.args[2])
    head = node.args[0]
    function = node.inlined
    if function is not None:
        applied(i, node, [0, source])
        i.widen(function.params[0], start)
        i.widen(function.params[0], i.returned(function))
        return start | i.returned(function)
    i.visit(head)
    if not start & TAGS or (only(source, LIST | VECTOR) and not element(source)):
        return start
    if (
        type(head) is ir.Builtin
        and head.name in ("+", "*", "-")
        and only(element(source), NUMBER)
        and only(start, NUMBER)
    ):
        return (start | element(source)) & TAGS
    return ANY


@rule("file/fold-lines")
def _fold_lines(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args if arg is not function_argument(node)]
    function = node.inlined
    head = function_argument(node)
    if function is None:
        if head is not None:
            i.visit(head)
        return ANY
    start = masks[1]
    give_elements(i, function, [0, sequence_of(LIST, STR)])
    i.widen(function.params[0], start)
    i.visit(head)
    i.widen(function.params[0], i.returned(function))
    return start | i.returned(function)


@rule("assoc")
def _assoc(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if len(masks) < 3:
        return ANY
    if not masks[0] & TAGS:
        return 0
    values = masks[0] >> ELEMENTS if only(masks[0], MAP) else ANY
    for mask in masks[2::2]:
        values |= mask
    return sequence_of(MAP, values)


@rule("hashmap/new")
def _hashmap(i: Inference, node: Any) -> int:
    for arg in node.args:
        i.visit(arg)
    return sequence_of(MAP, ANY if node.args else 0)


@rule("get")
def _get(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    return looked_up(masks[0], masks[2] if len(masks) > 2 else NIL) if len(masks) in (2, 3) else ANY


def looked_up(mask: int, default: int) -> int:
    """The type of a look-up in a map."""
    if not mask & TAGS:
        return 0
    return element(mask) | default if only(mask, MAP) else ANY


@rule("string/split")
def _split(i: Inference, node: Any) -> int:
    for arg in node.args:
        i.visit(arg)
    return sequence_of(LIST, STR)


@rule("nth")
def _nth(i: Inference, node: Any) -> int:
    masks = [i.visit(arg) for arg in node.args]
    if len(masks) == 2 and not masks[0] & TAGS:
        return 0
    return element(masks[0]) if len(masks) == 2 and only(masks[0], LIST | VECTOR) else ANY
