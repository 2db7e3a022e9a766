"""The operators.

Two families, because the language has two. Compiled code calls `add`, `lt`, ... for an operator between two operands
of unknown type: these know strings, the whole tower of numbers, and (`num_eq`) every value. The declared builtins below
are what `+` or `<` is as a value, and with any number of operands but two: those know numbers only.
"""

from __future__ import annotations

import _operator as operator  # the half of the module that is C: the other takes 0.3 ms to load
import math

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.equality import equal
from sema_runtime.values.errors import DivisionByZero, SemaError, SemaTypeError, type_error
from sema_runtime.values.maps import MISSING
from sema_runtime.values.numbers import (
    COMPLEX,
    DIVISION_HINT,
    NUMBERS,
    REALS,
    divide,
    exact_quotient,
    is_int64,
    parts,
    rational,
    to_float,
)
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any, NoReturn

INT_OR_FLOAT = frozenset((int, float))
ATOMS = frozenset((Keyword, Symbol, Char, bool, type(None)))  # two of them are equal when they are the same object
STRINGS_HINT = "+: cannot mix strings with other types; use (str a b ...) to build a string"
ORDER_HINT = "complex numbers have no ordering; use = or zero? instead"


# Two operands of any type


def add(a: Any, b: Any) -> Any:
    """`(+ a b)`: numbers or two strings."""
    kind = type(a)
    if kind is type(b) and (kind is int or kind is float or kind is str):
        return a + b
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        try:
            return a + b
        except OverflowError:  # the int is too large for a float
            return to_float(a) + to_float(b)
    if NUMBERS[kind] and NUMBERS[type(b)]:
        return _combined(operator.add, a, b)
    if _is_foreign(a, b):
        return a + b
    hint = STRINGS_HINT if kind is str or type(b) is str else None
    raise SemaTypeError("number or string", f"{type_name(a)} and {type_name(b)}", hint)


def sub(a: Any, b: Any) -> Any:
    """`(- a b)`."""
    kind = type(a)
    if kind is type(b) and (kind is int or kind is float):
        return a - b
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        try:
            return a - b
        except OverflowError:  # the int is too large for a float
            return to_float(a) - to_float(b)
    return _arithmetic(operator.sub, a, b)


def mul(a: Any, b: Any) -> Any:
    """`(* a b)`."""
    kind = type(a)
    if kind is type(b) and (kind is int or kind is float):
        return a * b
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        try:
            return a * b
        except OverflowError:  # the int is too large for a float
            return to_float(a) * to_float(b)
    return _arithmetic(operator.mul, a, b)


def div(a: Any, b: Any) -> Any:
    """`(/ a b)`: a ratio or an int of exact numbers, IEEE division as soon as one is a float."""
    kind = type(a)
    if kind is int and type(b) is int:
        if not b:
            raise DivisionByZero("division by zero" if is_int64(a) else "/: division by zero")
        return exact_quotient(a, b) if a % b else a // b
    if kind is float and type(b) is float and b:
        return a / b
    if b and kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        try:
            return a / b
        except OverflowError:  # an int is too large for a float
            pass
    return _arithmetic(divide, a, b)


def negate(a: Any) -> Any:
    """`(- a)`."""
    kind = type(a)
    if kind is int or kind is float or NUMBERS[kind]:
        return -a
    if _is_foreign(a):
        return -a
    type_error("number", a)


def mod(a: Any, b: Any) -> Any:
    """`(mod a b)`: of ints with the sign of b, of floats with the sign of a. Ratios are refused."""
    if type(a) is int and type(b) is int:
        if b:
            return a % b
        raise SemaError("modulo by zero")
    return _float_mod(a, b)


def lt(a: Any, b: Any) -> Any:
    """`(< a b)`: real numbers or two strings."""
    kind = type(a)
    if kind is type(b) and (kind is int or kind is float or kind is str):
        return a < b
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        return a < b
    return _before(a, b)


def gt(a: Any, b: Any) -> Any:
    """`(> a b)`."""
    kind = type(a)
    if kind is type(b) and (kind is int or kind is float or kind is str):
        return a > b
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        return a > b
    return _before(b, a)


def le(a: Any, b: Any) -> Any:
    """`(<= a b)`, which is "not b < a": true when one is NaN."""
    kind = type(a)
    if kind is type(b) and (kind is int or kind is float or kind is str):
        return not a > b
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        return not a > b
    return _answer(a <= b) if _is_foreign(a, b) else not _before(b, a)


def ge(a: Any, b: Any) -> Any:
    """`(>= a b)`, which is "not a < b": true when one is NaN."""
    kind = type(a)
    if kind is type(b) and (kind is int or kind is float or kind is str):
        return not a < b
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        return not a < b
    return _answer(a >= b) if _is_foreign(a, b) else not _before(a, b)


def num_eq(a: Any, b: Any) -> bool:
    """`(= a b)`: numbers by value whatever their type, other values as `equal?`."""
    kind = type(a)
    if kind is type(b):
        if kind is int or kind is str or kind is float:
            return a == b  # type: ignore[no-any-return]
        if kind in ATOMS:
            return a is b
        return _same_number(a, b) if kind in COMPLEX else equal(a, b)
    if kind in ATOMS or type(b) in ATOMS:
        return False
    if kind in INT_OR_FLOAT and type(b) in INT_OR_FLOAT:
        return a == b  # type: ignore[no-any-return]
    if NUMBERS[kind] and NUMBERS[type(b)]:
        return _same_number(a, b)
    return equal(a, b)


# What the fast paths above leave


def _arithmetic(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    if NUMBERS[type(a)] and NUMBERS[type(b)]:
        return _combined(operation, a, b)
    if _is_foreign(a, b):
        return operation(a, b) if operation is not divide else a / b
    raise SemaTypeError("number", f"{type_name(a)} and {type_name(b)}")


def _combined(operation: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
    """An operation on two numbers, ratios brought to lowest terms; ints too large for a float count as infinite."""
    try:
        return rational(operation(a, b))
    except OverflowError:
        return operation(to_float(a), to_float(b))


def _is_foreign(*operands: Any) -> bool:
    """Whether an operand is a Python object without a Sema type; its own operators decide then."""
    return any(type_name(operand).startswith("python:") for operand in operands)


def _before(a: Any, b: Any) -> Any:
    """a < b of any two values."""
    if (REALS[type(a)] and REALS[type(b)]) or (type(a) is str and type(b) is str):
        return a < b
    if NUMBERS[type(a)] and NUMBERS[type(b)]:
        _refuse_order()
    if _is_foreign(a, b):
        return _answer(a < b)
    raise SemaTypeError("comparable values", f"{type_name(a)} and {type_name(b)}")


def _answer(result: Any) -> Any:
    """What objects of Python say when they are compared: an array of truths, or a single one, which is #t or #f."""
    return bool(result) if getattr(result, "shape", None) == () else result


def _refuse_order() -> NoReturn:
    raise SemaError("cannot order complex numbers", ORDER_HINT)


def _same_number(a: Any, b: Any) -> bool:
    if type(a) in COMPLEX or type(b) in COMPLEX:
        # An imaginary part of 0.0 still makes a number complex, so it is never equal to a real one.
        return (type(a) in COMPLEX) is (type(b) in COMPLEX) and parts(a) == parts(b)
    return bool(a == b)


def _float_mod(a: Any, b: Any) -> float:
    for operand in (a, b):
        if type(operand) is not float and not is_int64(operand):
            # One bad operand makes this an int operation: the first operand that isn't an int is named.
            type_error("integer", a if type(a) is not int else b)
    if b == 0 or a - a != 0:
        return math.nan
    return math.fmod(a, b)


# Operators as values, and with other than two operands


@builtin("+", type="number|str|other... -> number|str|other", pure=True)
def plus(first: Any = 0, second: Any = MISSING, *rest: Any) -> Any:
    """The sum of numbers. Written out with two arguments, also joins two strings and adds ratios and complex numbers.

    (+ 1 2 3) => 6
    (+ 1/2 1/3) => 5/6
    (+ "a" "b") => "ab"
    (+ 1 "a") ! expected number or string, got int and string
    """
    if type(first) is int and type(second) is int and not rest:
        return first + second
    if type(first) in INT_OR_FLOAT and type(second) in INT_OR_FLOAT:
        try:
            total = first + second
            for number in rest:
                if type(number) not in INT_OR_FLOAT:
                    break
                total += number
            else:
                return total
        except OverflowError:
            pass
    return _folded(operator.add, (first,) if second is MISSING else (first, second, *rest))


@builtin("*", type="number|other... -> number|other", pure=True)
def times(first: Any = 1, second: Any = MISSING, *rest: Any) -> Any:
    """The product of numbers.

    (* 2 3 4) => 24
    (*) => 1
    """
    if type(first) is int and type(second) is int and not rest:
        return first * second
    if type(first) in INT_OR_FLOAT and type(second) in INT_OR_FLOAT:
        try:
            total = first * second
            for number in rest:
                if type(number) not in INT_OR_FLOAT:
                    break
                total *= number
            else:
                return total
        except OverflowError:
            pass
    return _folded(operator.mul, (first,) if second is MISSING else (first, second, *rest))


@builtin("-", type="number|other, number|other... -> number|other", pure=True)
def minus(first: Any, second: Any = MISSING, *rest: Any) -> Any:
    """Subtracts all other numbers from the first; a single number is negated.

    (- 10 3 2) => 5
    (- 5) => -5
    """
    if type(first) in INT_OR_FLOAT and type(second) in INT_OR_FLOAT:
        try:
            total = first - second
            for number in rest:
                if type(number) not in INT_OR_FLOAT:
                    break
                total -= number
            else:
                return total
        except OverflowError:
            pass
    if second is not MISSING:
        return _folded(operator.sub, (first, second, *rest))
    return negate(first)


def _folded(operation: Callable[[Any, Any], Any], numbers: tuple[Any, ...]) -> Any:
    """The numbers combined from left to right, of whatever kinds; objects of Python decide themselves."""
    total = numbers[0]
    if len(numbers) == 1:
        _check_number(total)
    for number in numbers[1:]:
        _check_operands(total, number)
        total = _arithmetic(operation, total, number)
    return total


def _check_operands(left: Any, right: Any) -> None:
    """Raises the error of the first operand that is no number, unless an object of Python is to decide about both."""
    if not (NUMBERS[type(left)] and NUMBERS[type(right)]) and not _is_foreign(left, right):
        _check_number(left)
        _check_number(right)


def _check_number(value: Any) -> None:
    if not NUMBERS[type(value)] and not _is_foreign(value):
        type_error("number", value)


@builtin("/", type="number|other, number|other, number|other... -> number|other", pure=True)
def over(first: Any, second: Any, *rest: Any) -> Any:
    """Divides the first number by all others. Exact numbers give an int or a ratio. Raises an error for an exact zero
    divisor.

    (/ 6 4) => 3/2
    (/ 6.0 4) => 1.5
    (/ 1 0) ! division by zero
    """
    if second and not rest and type(first) in INT_OR_FLOAT and type(second) in INT_OR_FLOAT:
        try:
            return first / second if type(first) is float or type(second) is float else exact_quotient(first, second)
        except OverflowError:  # an int is too large for a float
            pass
    total = first
    for number in (second, *rest):
        _check_operands(total, number)
        if type(number) is int and not number:
            raise SemaError("/: division by zero", DIVISION_HINT)
        total = _arithmetic(divide, total, number)
    return total


def _chain(test: Callable[[Any, Any], bool], numbers: tuple[Any, ...]) -> bool:
    """Whether test holds between all neighbours; numbers after the first failure aren't compared."""
    left = numbers[0]
    for right in numbers[1:]:
        if (not REALS[type(left)] or not REALS[type(right)]) and not _is_foreign(left, right):
            _check_order(left, right)
        if not test(left, right):
            return False
        left = right
    return True


def _check_order(left: Any, right: Any) -> NoReturn:
    for operand in (left, right):
        if not NUMBERS[type(operand)]:
            type_error("number", operand)
    _refuse_order()


@builtin("<", type="number|str|other, number|str|other, any... -> bool", pure=True)
def less(first: Any, second: Any, *rest: Any) -> Any:
    """Whether each number is less than the next one. Written out with two arguments, also orders strings.

    (< 1 2 3) => #t
    (< 1 3 2) => #f
    """
    kind = type(first)
    if kind is type(second) and (kind is int or kind is float) and not rest:
        return first < second
    return _chain(operator.lt, (first, second, *rest))


@builtin(">", type="number|str|other, number|str|other, any... -> bool", pure=True)
def greater(first: Any, second: Any, *rest: Any) -> Any:
    """Whether each number is greater than the next one. Written out with two arguments, also orders strings.

    (> 3 2 1) => #t
    """
    kind = type(first)
    if kind is type(second) and (kind is int or kind is float) and not rest:
        return first > second
    return _chain(operator.gt, (first, second, *rest))


@builtin("<=", type="number|str|other, number|str|other, any... -> bool", pure=True)
def less_or_equal(first: Any, second: Any, *rest: Any) -> Any:
    """Whether no number is greater than the next one. Written out with two arguments, also orders strings.

    (<= 1 1 2) => #t
    """
    kind = type(first)
    if kind is type(second) and (kind is int or kind is float) and not rest:
        return first <= second
    return _chain(operator.le, (first, second, *rest))


@builtin(">=", type="number|str|other, number|str|other, any... -> bool", pure=True)
def greater_or_equal(first: Any, second: Any, *rest: Any) -> Any:
    """Whether no number is less than the next one. Written out with two arguments, also orders strings.

    (>= 2 2 1) => #t
    """
    kind = type(first)
    if kind is type(second) and (kind is int or kind is float) and not rest:
        return first >= second
    return _chain(operator.ge, (first, second, *rest))


@builtin("=", type="any, any, any... -> bool", pure=True)
def numbers_equal(first: Any, second: Any, *rest: Any) -> Any:
    """Whether all numbers are equal by value. Written out with two arguments, also compares other values, as `equal?`.

    (= 1 1.0) => #t
    (= "a" "a") => #t
    (= 0.1 1/10) => #f
    """
    kind = type(first)
    if kind is type(second) and (kind is int or kind is float) and not rest:
        return first == second
    left = first
    for right in (second, *rest):
        for operand in (left, right):
            if not NUMBERS[type(operand)]:
                type_error("number", operand)
        if not _same_number(left, right):
            return False
        left = right
    return True


@builtin("mod", "modulo", type="int|float, int|float -> int|float", pure=True)
def modulo(a: Any, b: Any) -> Any:
    """The remainder of a division: with the sign of b for ints, with the sign of a for floats.

    (mod 7 3) => 1
    (mod -7 2) => 1
    (mod -7.5 2) => -1.5
    """
    if type(a) is int and type(b) is int:
        if b:
            return a % b
        raise SemaError("mod: modulo by zero", "mod: ensure the divisor is non-zero")
    return mod(a, b)


@builtin("quotient", "math/quotient", type="int, int -> int", pure=True)
def quotient(a: Any, b: Any) -> int:
    """The integer quotient of two ints: a division that rounds towards zero.

    (quotient 7 2) => 3
    (quotient -7 2) => -3
    """
    if type(a) is int and type(b) is int and b:
        return a // b if a >= 0 < b or a < 0 > b else -(-a // b)
    _refuse_integers("quotient", a, b)


@builtin("remainder", "math/remainder", type="int, int -> int", pure=True)
def remainder(a: Any, b: Any) -> int:
    """The remainder of an integer division that rounds towards zero: it has the sign of a.

    (remainder -7 2) => -1
    """
    if type(a) is int and type(b) is int and b:
        if a >= 0 < b:
            return a % b
        rest = a % b
        return rest - b if rest and (a < 0) is not (b < 0) else rest
    _refuse_integers("remainder", a, b)


def _refuse_integers(function: str, a: Any, b: Any) -> NoReturn:
    for operand in (a, b):
        if type(operand) is not int:
            type_error("integer", operand)
    raise SemaError(f"{function}: division by zero", f"{function}: ensure the divisor is non-zero")
