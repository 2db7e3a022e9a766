"""How operations of Python itself print: `Python(kind, args)`.

An operation is printed only where its operands are known to be of its kind, so none of them asks.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from functools import cache

from semac.generate.pyast import NOWHERE, Loc, attribute, binop, builtin, call, compare, const, negate, subscript
from semac.ir.intrinsics import CHAR_TABLES

PURE, READ, EFFECT = 0, 1, 2  # as in nest.py
Printer = Callable[[list[ast.expr], Loc], ast.expr]


class PythonOp:
    """rank: how it takes part in the order of effects where its operands are of its kind. is_named: whether it writes
    its first operand twice, which then must be a name. runtime: what it takes of the runtime, as an operand more."""

    __slots__ = ("is_named", "print", "rank", "runtime")

    def __init__(self, print_: Printer, rank: int, is_named: bool, runtime: str) -> None:
        self.print = print_
        self.rank = rank
        self.is_named = is_named
        self.runtime = runtime


PYTHON_OPS: dict[str, PythonOp] = {}


def _op(kind: str, print_: Printer, rank: int = PURE, is_named: bool = False, runtime: str = "") -> None:
    PYTHON_OPS[kind] = PythonOp(print_, rank, is_named, runtime)


def _chain(operator: type[ast.operator]) -> Printer:
    def printed(args: list[ast.expr], loc: Loc) -> ast.expr:
        result = args[0]
        for arg in args[1:]:
            result = binop(result, operator(), arg, loc)
        return result

    return printed


def _comparison(operator: type[ast.cmpop]) -> Printer:
    def printed(args: list[ast.expr], loc: Loc) -> ast.expr:
        first, *rest = args
        return ast.Compare(first, [operator() for _ in rest], rest, **loc)

    return printed


def _negated_comparison(operator: type[ast.cmpop]) -> Printer:
    return lambda args, loc: negate(compare(args[0], operator(), args[1], loc), loc)


def _called(function: str) -> Printer:
    return lambda args, loc: call(builtin(function, loc), args, loc)


def _item_at(index: int) -> Printer:
    return lambda args, loc: subscript(args[0], const(index, loc), loc)


def _attribute(attr: str) -> Printer:
    return lambda args, loc: attribute(args[0], attr, loc)


def _method(attr: str) -> Printer:
    return lambda args, loc: call(attribute(args[0], attr, loc), args[1:], loc)


for _kind, _operator in {"add": ast.Add, "sub": ast.Sub, "mul": ast.Mult, "concat": ast.Add}.items():
    _op(_kind, _chain(_operator))
for _kind, _operator in {"div": ast.Div, "floordiv": ast.FloorDiv, "mod": ast.Mod}.items():
    _op(_kind, _chain(_operator), EFFECT)
for _kind, _compared in {"lt": ast.Lt, "gt": ast.Gt, "le": ast.LtE, "ge": ast.GtE, "eq": ast.Eq, "is": ast.Is}.items():
    _op(_kind, _comparison(_compared))
_op("is_not", _comparison(ast.IsNot))
_op("not_gt", _negated_comparison(ast.Gt))  # `<=` of floats: true of a NaN in the language
_op("not_lt", _negated_comparison(ast.Lt))
_op("neg", lambda args, loc: ast.UnaryOp(ast.USub(), args[0], **loc))
_op("not", lambda args, loc: negate(args[0], loc))
_op("len", _called("len"))
_op("item", lambda args, loc: subscript(args[0], args[1], loc), EFFECT)
_op("is_none", lambda args, loc: compare(args[0], ast.Is(), const(None, loc), loc))
_op("car", _attribute("car"))
_op("sure_car", _attribute("car"))  # of a list that surely has an item
_op("cdr", _attribute("cdr"))
_op("empty", _attribute("empty"))
_op("tuple", lambda args, loc: ast.Tuple(args, ast.Load(), **loc))
_op("List", lambda args, loc: ast.List(args, ast.Load(), **loc))  # inside of a call of the class
_op("is_even", lambda args, loc: compare(binop(args[0], ast.Mod(), const(2, loc), loc), ast.Eq(), const(0, loc), loc))
_op("is_odd", lambda args, loc: compare(binop(args[0], ast.Mod(), const(2, loc), loc), ast.Eq(), const(1, loc), loc))
_op("drop_key", lambda args, loc: call(attribute(args[0], "pop", loc), [args[1], const(None, loc)], loc), EFFECT)
_op("in", lambda args, loc: compare(args[0], ast.In(), args[1], loc), READ)
_op("get", _method("get"), READ)
_op("extended", _attribute("was_extended"), READ)  # of a multimethod
for _kind in ("buffer", "senders", "receivers"):  # of a channel
    _op(_kind, _attribute(_kind), READ)
_op("size", _called("len"), READ)  # of what may change

# Of lists, maps and mutable arrays


def _of(attr: str, print_: Printer) -> Printer:
    """An operation on an attribute of its first operand."""
    return lambda args, loc: print_([attribute(args[0], attr, loc), *args[1:]], loc)


def list_items(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`xs.flat or xs.items`: a list has its items mostly at hand."""
    return ast.BoolOp(ast.Or(), [attribute(args[0], "flat", loc), attribute(args[0], "items", loc)], **loc)


def index_test(length: ast.expr, index: ast.expr, loc: Loc) -> ast.expr:
    """`0 <= i < length`."""
    if isinstance(index, ast.Constant):
        return compare(length, ast.Gt(), index, loc)
    return ast.Compare(const(0, loc), [ast.LtE(), ast.Lt()], [index, length], **loc)


def _is_array_index(args: list[ast.expr], loc: Loc) -> ast.expr:
    return index_test(call(builtin("len", loc), [attribute(args[0], "items", loc)], loc), args[1], loc)


def _is_natural_array_index(args: list[ast.expr], loc: Loc) -> ast.expr:
    length = call(builtin("len", loc), [attribute(args[0], "items", loc)], loc)
    return compare(args[1], ast.Lt(), length, loc)


def _is_int_array_index(args: list[ast.expr], loc: Loc) -> ast.expr:
    is_int = compare(call(builtin("type", loc), [args[1]], loc), ast.Is(), builtin("int", loc), loc)
    return ast.BoolOp(ast.And(), [is_int, _is_array_index(args, loc)], **loc)


def _subscript(args: list[ast.expr], loc: Loc) -> ast.expr:
    return subscript(args[0], args[1], loc)


def _flat_get(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`xs.flat[1] if len(xs.flat) > 1 else None`."""
    flat = attribute(args[0], "flat", loc)
    test = compare(call(builtin("len", loc), [flat], loc), ast.Gt(), args[1], loc)
    return ast.IfExp(test, subscript(flat, args[1], loc), const(None, loc), **loc)


def _flat_last(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`xs.flat[-1] if xs.flat else None`."""
    flat = attribute(args[0], "flat", loc)
    return ast.IfExp(flat, subscript(flat, const(-1, loc), loc), const(None, loc), **loc)


def _tuple_get(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`xs[1] if len(xs) > 1 else None`."""
    test = compare(call(builtin("len", loc), args[:1], loc), ast.Gt(), args[1], loc)
    return ast.IfExp(test, subscript(args[0], args[1], loc), const(None, loc), **loc)


def _tuple_first(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`xs[0] if xs else None`."""
    return ast.IfExp(args[0], subscript(args[0], const(0, loc), loc), const(None, loc), **loc)


def _tuple_last(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`xs[-1] if xs else None`."""
    return ast.IfExp(args[0], subscript(args[0], const(-1, loc), loc), const(None, loc), **loc)


def _first_in(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`items[at] if at < size else None`: the first item of the rest of a sequence."""
    items, at, size = args
    return ast.IfExp(compare(at, ast.Lt(), size, loc), subscript(items, at, loc), const(None, loc), **loc)


def _later_in(args: list[ast.expr], loc: Loc) -> ast.expr:
    """The same for an item behind the first."""
    items, at, size, offset = args
    return _first_in([items, binop(at, ast.Add(), offset, loc), size], loc)


def _part_after(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`items[at + 1]`, where it surely is."""
    items, at, offset = args
    return subscript(items, binop(at, ast.Add(), offset, loc), loc)


def or_default(function: str, args: list[ast.expr], loc: Loc) -> ast.expr:
    """`max(items, default=0)`."""
    return call(builtin(function, loc), args[:1], loc, [ast.keyword("default", args[1], **loc)])


LIST_CLASS = "sema_runtime.values.lists:List"


def _flat_rest(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`xs.flat[1:]`."""
    return subscript(attribute(args[0], "flat", loc), ast.Slice(const(1, loc), **loc), loc)


def _items_after(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`items[at:]`."""
    return subscript(args[0], ast.Slice(args[1], **loc), loc)


def _items_part(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`items[at : at + 3]`."""
    items, at, count = args
    return subscript(items, ast.Slice(at, binop(at, ast.Add(), count, loc), **loc), loc)


def _list_of(print_: Printer) -> Printer:
    """A list of the language of the items of one of Python's."""
    return lambda args, loc: call(args[-1], [print_(args[:-1], loc)], loc)


def list_of(value: ast.expr, list_class: ast.expr) -> ast.expr:
    """What an expression `List(items)` makes a list of; any other expression itself."""
    if not isinstance(value, ast.Call) or len(value.args) != 1:
        return value
    is_class = isinstance(value.func, ast.Name) and isinstance(list_class, ast.Name) and value.func.id == list_class.id
    return value.args[0] if is_class else value


def _spliced(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`List([*xs, y, *zs])`."""
    return call(args[-1], [_spliced_items(args, loc)], loc)


def _spliced_items(args: list[ast.expr], loc: Loc) -> ast.expr:
    """The items of lists and vectors, those that are written out one by one."""
    *parts, list_class = args
    items: list[ast.expr] = []
    for part in [list_of(part, list_class) for part in parts]:
        if isinstance(part, ast.Tuple | ast.List):
            items += part.elts
        else:
            items.append(ast.Starred(part, ast.Load(), **loc))
    return ast.List(items, ast.Load(), **loc)


def _not(args: list[ast.expr], loc: Loc) -> ast.expr:
    return ast.UnaryOp(ast.Not(), args[0], **loc)


_op("blank", _not)
_op("part", _subscript)  # of a vector, where it surely is
_op("field", _subscript, READ)  # of a map that is a tuple, which another operation may have made sure of
for _kind, _at in {"head": 0, "head_second": 1, "head_third": 2}.items():
    _op(_kind, _item_at(_at))
_op("next", _attribute("next"))
_op("second", _of("next", _attribute("car")))
_op("filled", _of("empty", _not))
_op("list_items", list_items, is_named=True)
_op("list_len", lambda args, loc: call(builtin("len", loc), [list_items(args, loc)], loc), is_named=True)
_op("map_lookup", _method("lookup"), READ)
_op("map_get", _of("d", _method("get")), READ)
_op("map_item", _of("d", _subscript), READ)
_op("map_has", lambda args, loc: compare(args[1], ast.In(), attribute(args[0], "d", loc), loc), READ)
_op("values", _method("values"), READ)
_op("map_values", _of("d", _method("values")), READ)
_op("map_len", _of("d", _called("len")), READ)
_op("map_blank", _of("d", _not), READ)
_op("items", _attribute("items"))
_op("array_item", _of("items", _subscript), EFFECT)
_op("flat_item", _of("flat", _subscript), EFFECT)
_op("flat_part", _of("flat", _subscript))  # where it surely is
_op("flat_len", _of("flat", _called("len")))
_op("flat_items", _attribute("flat"))
_op("flat_after", lambda args, loc: subscript(attribute(args[0], "flat", loc), ast.Slice(args[1], **loc), loc))
_op("flat_get", _flat_get, is_named=True)
_op("flat_last", _flat_last, is_named=True)
_op("tuple_get", _tuple_get, is_named=True)
_op("tuple_first", _tuple_first, is_named=True)
_op("tuple_last", _tuple_last, is_named=True)
_op("first_in", _first_in, is_named=True)
_op("later_in", _later_in, is_named=True)
_op("part_after", _part_after)
_op("flat_rest", _list_of(_flat_rest), runtime=LIST_CLASS)
_op("flat_rest_items", _flat_rest)
_op("items_after", _items_after)
_op("items_part", _items_part)
_op("listed_after", _list_of(_items_after), runtime=LIST_CLASS)
_op("listed_part", _list_of(_items_part), runtime=LIST_CLASS)
_op("listed", _list_of(lambda args, loc: args[0]), runtime=LIST_CLASS)  # of a vector
_op("spread", lambda args, loc: call(args[0], [*args[1:-1], ast.Starred(args[-1], ast.Load(), **loc)], loc), EFFECT)
_op("spliced", _spliced, runtime=LIST_CLASS)
_op("spliced_items", _spliced_items, runtime=LIST_CLASS)
_op("to_tuple", _called("tuple"))
_op("sorted", _list_of(_called("sorted")), runtime=LIST_CLASS)
_op("sorted_items", _called("sorted"))
_op("join", lambda args, loc: call(attribute(args[1], "join", loc), [args[0]], loc))
for _kind in ("max", "min"):
    _op(f"{_kind}_or", lambda args, loc, kind=_kind: or_default(kind, args, loc))  # type: ignore[misc]
_op("sum_of", lambda args, loc: call(builtin("sum", loc), args, loc))
for _kind in ("max", "min"):
    _op(f"{_kind}_of", lambda args, loc, kind=_kind: call(builtin(kind, loc), [args[1]], loc))  # type: ignore[misc]
_op("array_len", _of("items", _called("len")), READ)
_op("is_array_index", _is_array_index, READ)
_op("is_natural_array_index", _is_natural_array_index, READ)
_op("is_int_array_index", _is_int_array_index, READ)
_op("push", _of("items", _method("append")), EFFECT)


def _char(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`CHARS[text[i]]`: the one object that stands for a character."""
    made = subscript(args[2], _subscript(args, loc), loc)
    made.is_character = True  # type: ignore[attr-defined]
    return made


_op("char", _char, runtime="sema_runtime.values.atoms:CHARS")

# Of the kinds of values


def _exact(path: str) -> tuple[Printer, str]:
    """`type(x) is Class`."""
    return (lambda args, loc: compare(call(builtin("type", loc), args[:1], loc), ast.Is(), args[1], loc)), path


def _instance(name_: str) -> Printer:
    return lambda args, loc: call(builtin("isinstance", loc), [args[0], builtin(name_, loc)], loc)


def _exact_builtin(name_: str) -> Printer:
    return lambda args, loc: compare(call(builtin("type", loc), args, loc), ast.Is(), builtin(name_, loc), loc)


for _kind, _name in {"is_char": "Char", "is_symbol": "Symbol", "is_keyword": "Keyword"}.items():
    _print, _path = _exact(f"sema_runtime.values.atoms:{_name}")
    _op(_kind, _print, runtime=_path)
for _kind, _name in {"is_str": "str", "is_tuple": "tuple"}.items():
    _op(_kind, _instance(_name))
for _kind, _name in {"is_int": "int", "is_float": "float"}.items():
    _op(_kind, _exact_builtin(_name))
for _kind, _name in {"is_number": "NUMBERS", "is_real": "REALS"}.items():
    _op(
        _kind,
        lambda args, loc: subscript(args[1], call(builtin("type", loc), args[:1], loc), loc),
        runtime=f"sema_runtime.values.numbers:{_name}",
    )
_op(
    "is_list",
    lambda args, loc: compare(call(builtin("type", loc), args[:1], loc), ast.In(), args[1], loc),
    runtime="sema_runtime.lib.language.predicates:LISTS",
)

# Of strings and characters


def _joined(args: list[ast.expr], loc: Loc) -> ast.expr:
    """`f"{a} and {b}"` of strings and ints."""
    parts: list[ast.expr] = []
    for arg in args:
        pieces = arg.values if isinstance(arg, ast.JoinedStr) else [arg]
        for piece in pieces:
            if not isinstance(piece, ast.Constant):
                value = piece if isinstance(piece, ast.FormattedValue) else ast.FormattedValue(piece, -1, None, **loc)
                parts.append(value)
            elif parts and isinstance(parts[-1], ast.Constant):
                parts[-1] = const(str(parts[-1].value) + str(piece.value), loc)
            else:
                parts.append(const(str(piece.value), loc))
    return parts[0] if len(parts) == 1 and isinstance(parts[0], ast.Constant) else ast.JoinedStr(parts, **loc)


def _turned(args: list[ast.expr], loc: Loc) -> ast.expr:
    return subscript(args[0], ast.Slice(step=const(-1, loc), **loc), loc)


for _kind, _table in CHAR_TABLES.items():
    _op(
        _kind,
        lambda args, loc: subscript(args[-1], args[0], loc),
        runtime=f"sema_runtime.lib.text.chars:{_table}",
    )

_op("joined", _joined)
_op("digits", _joined)
_op("float_text", lambda args, loc: call(args[1], args[:1], loc), runtime="sema_runtime.values.printer:float_text")
_op("text_char", lambda args, loc: subscript(args[1], args[0], loc), runtime="sema_runtime.values.atoms:CHARS")
_op("text_items", lambda args, loc: args[0])  # what a loop goes through: its characters
_op("ord_of", _called("ord"))
_op("chr", _called("chr"))
_op("turned", _turned)
_op("text_item", lambda args, loc: subscript(args[0], args[1], loc))
_op("slice", lambda args, loc: subscript(args[0], ast.Slice(args[1], args[2], **loc), loc))
_op("rest_of_text", lambda args, loc: subscript(args[0], ast.Slice(args[1], **loc), loc))
_op("value", _attribute("value"))
_op("name", _attribute("name"))
for _kind in ("startswith", "endswith", "upper", "lower", "find"):
    _op(_kind, _method(_kind))
_op("replaced", _method("replace"))
_op("trimmed", _method("strip"), runtime="sema_runtime.lib.text.strings:WHITESPACE")
_op("split_items", _method("split"))
_op("split", _list_of(_method("split")), runtime=LIST_CLASS)

# Of stacks: Python lists that hold a list of the language from its end to its head (optimize/own/stacks.py)


def _last(depth: int) -> Printer:
    """The item at a depth from the top; nil where the stack has no so many."""

    def printed(args: list[ast.expr], loc: Loc) -> ast.expr:
        length = call(builtin("len", loc), args, loc)
        test = args[0] if depth == 1 else compare(length, ast.GtE(), const(depth, loc), loc)
        return ast.IfExp(test, subscript(args[0], const(-depth, loc), loc), const(None, loc), **loc)

    return printed


def _if_any(of_some: Printer) -> Printer:
    """nil of a stack or queue without items."""
    return lambda args, loc: ast.IfExp(args[0], of_some(args, loc), const(None, loc), **loc)


def _where_any(done: Printer) -> Printer:
    """What is done to a stack or queue that has items, as an expression: `stack and stack.pop()`."""
    return lambda args, loc: ast.BoolOp(ast.And(), [args[0], done(args, loc)], **loc)


_op("new_stack", lambda args, loc: ast.List(args, ast.Load(), **loc), READ)
_op("append", _method("append"), EFFECT)
_op("extend", _method("extend"), EFFECT)
_op("drop_top", _where_any(_method("pop")), EFFECT, is_named=True)
_op("drop_last", _method("pop"), EFFECT)
_op("take_last", _method("pop"), EFFECT)
_op("take_top", _if_any(_method("pop")), EFFECT, is_named=True)
_op("top", _last(1), READ, is_named=True)
_op("last", lambda args, loc: subscript(args[0], const(-1, loc), loc), READ)
_op("below_top", _last(2), READ, is_named=True)
_op("below_two", _last(3), READ, is_named=True)
_op("is_drained", _not, READ)
_op("is_filled", lambda args, loc: compare(call(builtin("len", loc), args, loc), ast.Gt(), const(0, loc), loc), READ)
_op("stack_list", lambda args, loc: call(args[1], [_turned(args, loc)], loc), READ, runtime=LIST_CLASS)
_op("stack_reversed", lambda args, loc: call(args[1], args[:1], loc), READ, runtime=LIST_CLASS)

# Of queues: those of Python that hold the items of a list (optimize/own/queues.py)


def _made_queue(args: list[ast.expr], loc: Loc) -> ast.expr:
    return call(args[-1], [ast.List(args[:-1], ast.Load(), **loc)] if args[:-1] else [], loc)


def _all_items(args: list[ast.expr], loc: Loc) -> ast.expr:
    return call(args[1], [ast.List([ast.Starred(args[0], ast.Load(), **loc)], ast.Load(), **loc)], loc)


_head: Printer = lambda args, loc: subscript(args[0], const(0, loc), loc)  # noqa: E731
QUEUE = "collections:deque"
_op("new_queue", _made_queue, READ, runtime=QUEUE)
_op("queue_of", lambda args, loc: call(args[1], [attribute(args[0], "flat", loc)], loc), READ, runtime=QUEUE)
_op("queue_list", _all_items, READ, runtime=LIST_CLASS)
_op("queue_head", _if_any(_head), READ, is_named=True)
_op("queue_first", _head, READ)
_op("drop_head", _where_any(_method("popleft")), EFFECT, is_named=True)
_op("take_first", _method("popleft"), EFFECT)
_op("take_head", _if_any(_method("popleft")), EFFECT, is_named=True)

# Of numbers


def _with(operator: type[ast.cmpop], number: int) -> Printer:
    return lambda args, loc: compare(args[0], operator(), const(number, loc), loc)


def _from_math(function: str) -> None:
    _op(function, lambda args, loc: call(args[-1], args[:-1], loc), runtime=f"math:{function}")


for _kind, _compared in {"is_zero": ast.Eq, "is_positive": ast.Gt, "is_negative": ast.Lt}.items():
    _op(_kind, _with(_compared, 0))
for _kind, _operator in {"bit_and": ast.BitAnd, "bit_or": ast.BitOr, "bit_xor": ast.BitXor, "pow": ast.Pow,
                         "shift_left": ast.LShift, "shift_right": ast.RShift}.items():  # fmt: skip
    _op(_kind, _chain(_operator))
for _kind in ("abs", "float", "int"):
    _op(_kind, _called(_kind))
for _kind in ("sqrt", "sin", "cos", "atan", "tanh", "gcd"):
    _from_math(_kind)
_op("floor", lambda args, loc: binop(args[0], ast.FloorDiv(), const(1, loc), loc))
_op("first_of", lambda args, loc: args[0])
_op("second_of", lambda args, loc: args[1])
_op("ord", lambda args, loc: call(builtin("ord", loc), [attribute(args[0], "value", loc)], loc))


@cache
def takes(kind: str, count: int, index: int) -> bool:
    """Whether an operation that is given so many operands prints the one at an index."""
    args: list[ast.expr] = [ast.Name(str(position)) for position in range(count)]
    op = PYTHON_OPS[kind]
    printed = op.print([*args, ast.Name(op.runtime)] if op.runtime else args, NOWHERE)
    return any(node is args[index] for node in ast.walk(printed))


MAKE_LISTS = {kind for kind, op in PYTHON_OPS.items() if op.runtime == LIST_CLASS} - {"spliced_items"}
