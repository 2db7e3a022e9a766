"""How the tests of guards print: `Guarded(tests, ...)`.

A test names a kind and the positions of the operands that it asks about. A test of a type stands for
`type(a) is type(b) is int`; the other kinds are in QUESTIONS. An operand that is no plain name is evaluated where it is
first asked about, and held in a variable from there on.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Callable

from semac.anf.nodes import Expr, Fits, Guarded, Lit, Op, Read
from semac.anf.records import RecordType
from semac.generate.context import Context
from semac.generate.effects import is_nil_else
from semac.generate.pyast import Loc, attribute, binop, boolop, builtin, call, compare, const, name, subscript, walrus
from semac.generate.records import has_class
from semac.types.lattice import NATURAL

# Kinds of tests that ask for an exact type → where the runtime has it, "" for a type of Python.
TYPES = {
    "int": "", "float": "", "str": "", "tuple": "", "list": "",
    "List": "sema_runtime.values.lists:List",
    "Map": "sema_runtime.values.maps:Map",
    "Char": "sema_runtime.values.atoms:Char",
    "MutableArray": "sema_runtime.values.mutable:MutableArray",
}  # fmt: skip
ATOMS = (ast.Name, ast.Constant)
READABLE = (ast.Add, ast.Sub, ast.Mult, ast.Mod, ast.FloorDiv)
COMPREHENSIONS_ARE_FUNCTIONS = sys.version_info < (3, 12)
SMALL = 10**9
SHORT = 10**15
FIRST, SECOND, KEYWORD, TEXT_ENTRY = "first", "second", "keyword", "text_entry"  # `Guarded.foreign`
ALIKE = "alike"  # of the same type, where one is known to be an int or a float
NUMBER = "number"  # an int or a float, all the operands of the same type
ATOMIC = "sema_runtime.values.maps:ATOMIC"
PLAIN_TYPES = "sema_runtime.values.atoms:PLAIN"
SHOWN_TYPES = "sema_runtime.values.atoms:SHOWN"
INDEXED_TYPES = "sema_runtime.values.atoms:INDEXED"
NUMBER_TYPES = "sema_runtime.lib.numbers.arithmetic:INT_OR_FLOAT"


class Operands:
    """The operands of a guard: each is evaluated once, in order, at its first use."""

    def __init__(self, c: Context, args: list[Expr]) -> None:
        self.c = c
        self.loc = c.current
        self.args = args
        self.values = c.exprs(args)
        self.held: list[ast.expr | None] = [None] * len(args)  # what to write at the next use
        for index, value in enumerate(self.values):
            if self.is_plain(index):
                self.held[index] = value

    def is_plain(self, index: int) -> bool:
        """Whether an operand can be written several times: a constant, or a name that nothing changes meanwhile."""
        value = self.values[index]
        if isinstance(value, ast.Constant):
            return True
        if not isinstance(value, ast.Name):
            return False
        later = self.args[index + 1 :]
        return type(self.args[index]) is not Read or not any(
            isinstance(arg, Op) and type(arg) is not Read for arg in later
        )

    def use(self, index: int, base: str = "n") -> ast.expr:
        """An operand in a test. base: the name that it would like, where it gets one."""
        held = self.held[index]
        if held is not None:
            return held
        target = self.c.names.temporary(base)
        self.held[index] = name(target, self.loc)
        return walrus(target, self.values[index], self.loc)

    def type_of(self, index: int, base: str = "n") -> ast.expr:
        return self.c.type_of(self.use(index, base), self.loc)

    def again(self) -> list[ast.expr]:
        """The operands after the tests."""
        return [value if held is None else held for held, value in zip(self.held, self.values, strict=True)]


Question = Callable[[Operands, tuple[int, ...]], ast.expr | None]  # None: there is nothing to ask


def test(operands: Operands, guard: Guarded, loc: Loc) -> ast.expr | None:
    """The test of a guard; None where there is nothing to ask."""
    operands.loc = loc
    asked = [one(operands, kind, positions) for kind, positions in guard.tests]
    questions = [question for question in asked if question is not None]
    return boolop(ast.And(), questions, loc) if questions else None


def fits(c: Context, op: Fits) -> ast.expr:
    """`type(a) is type(b) is int and type(xs) is List`: the test at the entry of a function."""
    operands = Operands(c, op.args)
    loc = operands.loc = c.loc(op)
    asked: list[ast.expr] = []
    for kind in dict.fromkeys(op.kinds):
        positions = tuple(index for index, own in enumerate(op.kinds) if own is kind)
        if type(kind) is RecordType:
            asked += [has_class(c, kind, operands.use(index), loc) for index in positions]
        elif kind == NUMBER:
            asked += [is_type(operands, kind, (index,)) for index in positions]
        else:
            asked.append(is_type(operands, kind, positions))
    return boolop(ast.And(), asked, loc)


def one(operands: Operands, kind: str, positions: tuple[int, ...]) -> ast.expr | None:
    question = QUESTIONS.get(kind)
    return question(operands, positions) if question is not None else is_type(operands, kind, positions)


def python_tests(operands: Operands, guard: Guarded) -> bool:
    """Whether the test can be left to Python: an error can be told from operands that are names, or made of names."""
    if not guard.tests[0][0].startswith("python_") or is_gone(operands):
        return False
    return all(map(is_readable, operands.values))


def is_gone(operands: Operands) -> bool:
    """Whether the variables of a comprehension are gone when an error has left it, as from Python 3.12 on."""
    return bool(operands.c.repeats) and not COMPREHENSIONS_ARE_FUNCTIONS


def is_readable(value: ast.expr) -> bool:
    """Whether an expression is one that conditions/subscripts.py can compute again."""
    if isinstance(value, ATOMS):
        return True
    if isinstance(value, ast.Attribute):
        return value.attr in ("items", "flat") and is_readable(value.value)
    if isinstance(value, ast.Subscript):
        return is_readable(value.value) and is_readable(value.slice)
    if isinstance(value, ast.BinOp):
        return isinstance(value.op, READABLE) and is_readable(value.left) and is_readable(value.right)
    return False


def is_type(operands: Operands, kind: str, positions: tuple[int, ...]) -> ast.expr:
    """`type(a) is type(b) is int`, each variable asked once; `a is not None` of what can be nothing else."""
    loc = operands.loc
    or_nil = [position for position in positions if is_nil_else(operands.args[position], kind)]
    if or_nil:
        asked_for_nil = [_not_nil(operands, (position,)) for position in positions if position in or_nil]
        others = tuple(position for position in positions if position not in or_nil)
        return boolop(ast.And(), [*asked_for_nil, *([is_type(operands, kind, others)] if others else [])], loc)
    asked = types_asked(operands, positions)
    if kind == NUMBER:
        wanted = operands.c.runtime(NUMBER_TYPES, loc)
        return ast.Compare(asked[0], [*[ast.Is() for _ in asked[1:]], ast.In()], [*asked[1:], wanted], **loc)
    path = TYPES[kind]
    wanted = operands.c.runtime(path, loc) if path else builtin(kind, loc)
    return ast.Compare(asked[0], [ast.Is() for _ in asked], [*asked[1:], wanted], **loc)


def types_asked(operands: Operands, positions: tuple[int, ...]) -> list[ast.expr]:
    """`type(a)`, `type(b)` ..., each variable asked once."""
    asked: list[ast.expr] = []
    names: set[str] = set()
    for position in positions:
        held = operands.held[position]
        if isinstance(held, ast.Name):
            if held.id in names:
                continue
            names.add(held.id)
        asked.append(operands.type_of(position))
    return asked


def _length_of(part: str) -> Callable[[ast.expr, Loc], ast.expr]:
    """What gives the length of a sequence; part: of its attribute."""
    return lambda value, loc: call(builtin("len", loc), [attribute(value, part, loc) if part else value], loc)


def _index(part: str, is_natural: bool) -> Question:
    """`0 <= i < len(xs)`: whether an int is an index of a sequence. is_natural: whether it surely isn't negative."""
    length_of = _length_of(part)

    def asked(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
        sequence, index = positions
        loc = operands.loc
        known = operands.args[index]
        if type(known) is Lit and type(known.value) is int and known.value >= 0:
            if not known.value and not part and operands.held[sequence] is not None:
                return operands.use(sequence)
            return compare(length_of(operands.use(sequence), loc), ast.Gt(), operands.use(index), loc)
        low: list[ast.expr] = [] if is_natural else [const(0, loc)]
        if operands.held[sequence] is not None:
            order = [*low, operands.use(index), length_of(operands.use(sequence), loc)]
            ops: list[ast.cmpop] = [*(ast.LtE() for _ in low), ast.Lt()]
        else:  # it is evaluated first
            order = [length_of(operands.use(sequence, "items"), loc), operands.use(index), *low]
            ops = [ast.Gt(), *(ast.GtE() for _ in low)]
        return ast.Compare(order[0], ops, order[1:], **loc)

    return asked


def _low_index(part: str) -> Question:
    """`i >= 0`, where Python tests the rest (see `python_tests`): the operands are names, or held in names."""
    whole = _index(part, False)

    def asked(operands: Operands, positions: tuple[int, ...]) -> ast.expr | None:
        sequence, index = positions
        if is_gone(operands) or operands.held[sequence] is None:
            return whole(operands, positions)
        loc = operands.loc
        return compare(operands.use(index), ast.GtE(), const(0, loc), loc)

    return asked


def _rest_of_index(part: str) -> Question:
    """Nothing for an index that isn't negative, where Python tests the rest and another test holds the sequence."""
    whole = _index(part, True)

    def asked(operands: Operands, positions: tuple[int, ...]) -> ast.expr | None:
        if is_gone(operands) or not is_readable(operands.values[positions[1]]):
            return whole(operands, positions)
        return None

    return asked


def _slice(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`start <= end <= len(text)`, of indices that aren't negative."""
    text, start, end = positions
    loc = operands.loc
    asked: list[ast.expr] = []
    if operands.held[text] is None:  # what refuses a start behind the end gets the text, too
        asked.append(compare(operands.use(text, "text"), ast.IsNot(), const(None, loc), loc))
    value = operands.use(text)
    order = [operands.use(start, "start"), operands.use(end, "end"), call(builtin("len", loc), [value], loc)]
    return boolop(ast.And(), [*asked, ast.Compare(order[0], [ast.LtE(), ast.LtE()], order[1:], **loc)], loc)


def _ends_at(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`len(text) >= end`."""
    loc = operands.loc
    length = call(builtin("len", loc), [operands.use(positions[0], "text")], loc)
    return compare(length, ast.GtE(), operands.use(positions[1], "end"), loc)


def _has_items(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    return attribute(operands.use(positions[0], "items"), "flat", operands.loc)


def _not_nil(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    loc = operands.loc
    return compare(operands.use(positions[0], "items"), ast.IsNot(), const(None, loc), loc)


def _is_linked(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`xs.next is not None`: whether the rest of a list is at hand."""
    loc = operands.loc
    following = attribute(operands.use(positions[0], "xs"), "next", loc)
    return compare(following, ast.IsNot(), const(None, loc), loc)


def _compared(operator: type[ast.cmpop], number: int | None = None) -> Question:
    """A comparison of two operands, or of one with a number."""

    def asked(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
        loc = operands.loc
        left = operands.use(positions[0])
        right = operands.use(positions[1]) if number is None else const(number, loc)
        return compare(left, operator(), right, loc)

    return asked


def _divides(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`not a % b`: whether an int is a multiple of another."""
    loc = operands.loc
    dividend = operands.use(positions[0])
    rest = binop(dividend, ast.Mod(), operands.use(positions[1]), loc)
    return ast.UnaryOp(ast.Not(), rest, **loc)


def _is_finite(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`x - x == 0`: whether a float is neither infinite nor NaN."""
    loc = operands.loc
    value = operands.use(positions[0])
    return compare(binop(value, ast.Sub(), operands.use(positions[0]), loc), ast.Eq(), const(0, loc), loc)


def _is_whole(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    loc = operands.loc
    return call(attribute(operands.use(positions[0]), "is_integer", loc), [], loc)


def _between(low: int, high: int) -> Question:
    """`low < n < high`."""

    def asked(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
        loc = operands.loc
        value = operands.use(positions[0])
        return ast.Compare(const(low, loc), [ast.Lt(), ast.Lt()], [value, const(high, loc)], **loc)

    return asked


def is_between(operands: Operands, position: int, bound: int) -> ast.expr:
    """`-bound < n < bound`."""
    loc = operands.loc
    return ast.Compare(const(-bound, loc), [ast.Lt(), ast.Lt()], [operands.use(position), const(bound, loc)], **loc)


def _small(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`-10**9 < n < 10**9`: whether an int is surely small, of a size that Python compares fast."""
    loc = operands.loc
    (position,) = positions
    if operands.args[position].type.only(NATURAL):
        return compare(operands.use(position), ast.Lt(), const(SMALL, loc), loc)
    bounds = const(-SMALL, loc), const(SMALL, loc)
    return ast.Compare(bounds[0], [ast.Lt(), ast.Lt()], [operands.use(position), bounds[1]], **loc)


def _alike(operands: Operands, positions: tuple[int, ...]) -> ast.expr | None:
    """`type(a) is type(b)`: whether ints or floats are the same of the two."""
    kinds = types_asked(operands, positions)
    return None if len(kinds) == 1 else ast.Compare(kinds[0], [ast.Is() for _ in kinds[1:]], kinds[1:], **operands.loc)


def _are_plain(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`type(a) is type(b) in PLAIN`: whether Python compares values as the language does."""
    loc = operands.loc
    kinds = [operands.type_of(position) for position in positions]
    return ast.Compare(kinds[0], [ast.Is(), ast.In()], [kinds[1], operands.c.runtime(PLAIN_TYPES, loc)], **loc)


def _is_atomic(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`type(key) in ATOMIC`: whether maps store a key as it is."""
    loc = operands.loc
    kind = operands.type_of(positions[0], "key")
    return compare(kind, ast.In(), operands.c.runtime(ATOMIC, loc), loc)


def _is_indexed(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`type(xs) in INDEXED`: whether Python finds an item by its index."""
    loc = operands.loc
    kind = operands.type_of(positions[0], "items")
    return compare(kind, ast.In(), operands.c.runtime(INDEXED_TYPES, loc), loc)


def _is_real(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`type(x) is float or type(x) is int and -SHORT < x < SHORT`: a float, or an int that is small enough for one."""
    loc = operands.loc
    is_float = is_type(operands, "float", positions)
    is_int = is_type(operands, "int", positions)
    is_short = is_between(operands, positions[0], SHORT)
    return boolop(ast.Or(), [is_float, boolop(ast.And(), [is_int, is_short], loc)], loc)


def _are_real(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """Whether both of two values are such, as they are where both are floats."""
    loc = operands.loc
    are_floats = is_type(operands, "float", positions)
    numbers = operands.c.runtime(NUMBER_TYPES, loc)
    are_short: list[ast.expr] = []
    for position in positions:
        are_short.append(compare(operands.type_of(position), ast.In(), numbers, loc))
        are_short.append(is_between(operands, position, SHORT))
    return boolop(ast.Or(), [are_floats, boolop(ast.And(), are_short, loc)], loc)


def _is_shown(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`type(value) in SHOWN`: whether Python shows a value in a text as the language does."""
    loc = operands.loc
    kind = operands.type_of(positions[0], "value")
    return compare(kind, ast.In(), operands.c.runtime(SHOWN_TYPES, loc), loc)


def _is_digits(operands: Operands, positions: tuple[int, ...]) -> ast.expr:
    """`text.isdecimal() and text.isascii() and len(text) < 20`: whether a text is a short int in digits."""
    loc = operands.loc
    asked = [call(attribute(operands.use(positions[0], "text"), "isdecimal", loc), [], loc)]
    asked.append(call(attribute(operands.use(positions[0]), "isascii", loc), [], loc))
    length = call(builtin("len", loc), [operands.use(positions[0])], loc)
    return boolop(ast.And(), [*asked, compare(length, ast.Lt(), const(20, loc), loc)], loc)


def _is_true(hint: str) -> Question:
    """`v`: whether a vector has items, whether a number isn't zero."""
    return lambda operands, positions: operands.use(positions[0], hint)


# Lists and dicts of Python


def foreign(c: Context, op: Guarded, args: list[ast.expr], otherwise: ast.expr, loc: Loc) -> ast.expr:
    """`xs[0] if type(xs) is list and xs else otherwise`: code of a module that meets what is no value of Sema's own
    asks for Python's list or dict, with an item or entry that is surely there, before it calls the runtime's function,
    which does the same with them. args: the operands, which can be written again."""
    subject = args[0]
    if not isinstance(subject, ast.Name) or (len(args) > 1 and not isinstance(args[1], ATOMS)):
        return otherwise
    kind = "list" if op.foreign in (FIRST, SECOND) else "dict"
    asked: list[ast.expr] = [compare(c.type_of(subject, loc), ast.Is(), builtin(kind, loc), loc)]
    if op.foreign == FIRST:
        asked.append(subject)
        value: ast.expr = subscript(subject, const(0, loc), loc)
    elif op.foreign == SECOND:
        asked.append(compare(call(builtin("len", loc), [subject], loc), ast.Gt(), const(1, loc), loc))
        value = subscript(subject, const(1, loc), loc)
    elif op.foreign == KEYWORD:
        key = const(_keyword_name(op), loc)
        asked.append(compare(key, ast.In(), subject, loc))
        asked.append(compare(args[1], ast.NotIn(), subject, loc))
        value = subscript(subject, key, loc)
    else:
        if op.foreign == TEXT_ENTRY:
            asked.append(compare(c.type_of(args[1], loc), ast.Is(), builtin("str", loc), loc))
        value = call(attribute(subject, "get", loc), args[1:], loc)
    return ast.IfExp(boolop(ast.And(), asked, loc), value, otherwise, **loc)


def _keyword_name(op: Guarded) -> str:
    key = op.args[1]
    assert type(key) is Lit
    return str(key.value.name)


QUESTIONS: dict[str, Question] = {
    "atomic": _is_atomic,
    "indexed": _is_indexed,
    "plain": _are_plain,
    "shown": _is_shown,
    "small_code": _compared(ast.Lt, 0xD800),
    "slice": _slice,
    "ends_at": _ends_at,
    "has_items": _has_items,
    "gt": _compared(ast.Gt),
    "lt": _compared(ast.Lt),
    "ge": _compared(ast.GtE),
    "le": _compared(ast.LtE),
    "not_negative": _compared(ast.GtE, 0),
    "positive": _compared(ast.Gt, 0),
    "divides": _divides,
    "finite": _is_finite,
    "whole": _is_whole,
    "int64": _between(-(1 << 63), 1 << 63),
    "small": _small,
    ALIKE: _alike,
    "short": _between(-SHORT, SHORT),
    "real": _is_real,
    "reals": _are_real,
    "linked": _is_linked,
    "digits": _is_digits,
    "filled": _is_true("items"),
    "nonzero": _is_true("divisor"),
    "index": _index("", False),
    "natural_index": _index("", True),
    "array_index": _index("items", False),
    "natural_array_index": _index("items", True),
    "not_nil": _not_nil,
    "rest_of_index": _rest_of_index(""),
    "rest_of_array_index": _rest_of_index("items"),
    "low_index": _low_index(""),
    "low_array_index": _low_index("items"),
    "python_index": _index("", True),
    "python_array_index": _index("items", True),
    "flat_index": _index("flat", False),
    "natural_flat_index": _index("flat", True),
    "low_flat_index": _low_index("flat"),
    "python_flat_index": _index("flat", True),
}
