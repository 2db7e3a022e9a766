"""Questions about values: their type, equality, emptiness, properties of numbers."""

from __future__ import annotations

from types import BuiltinFunctionType, FunctionType, MethodType

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Char, Keyword, Symbol, keyword
from sema_runtime.values.equality import SCALARS, equal
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.numbers import COMPLEX, NUMBERS, REALS, parts
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LISTS = frozenset((List, list))
FUNCTIONS = frozenset((FunctionType, BuiltinFunctionType, MethodType))
COLLECTIONS = frozenset((List, tuple, Map, HashMap, str, list, dict))
NO_MAPS = frozenset((List, tuple, str, int, float, bool, type(None), Char, Keyword, Symbol, HashMap))
EMPTY_HINT = "empty?: expected a list, vector, map, or string"


# Types

# Builtins that are functions of the reference's prelude.
LAMBDAS = frozenset(
    [
        *("__owned-all", "__parameterize", "__prefill-sem", "__spawn-apply", "__spawn-thunks", "agent/run", "llm/pmap"),
        *("async/race-owned", "async/with-timeout", "http/serve", "llm/chat", "llm/stream", "make-parameter", "retry"),
    ]
)


@builtin("type", "type-of", type="any -> keyword", pure=True, total=True)
def type_(value: Any) -> Keyword:
    """The type of a value as a keyword; of a record, the name of its record type.

    (type 1.5) => :float
    (map type (list nil "a" [] car)) => (:nil :string :vector :native-fn)
    """
    if type(value) is FunctionType:
        # Functions of the runtime and those that it makes (record accessors) are native to the program.
        own = value.__dict__
        is_native = value.__module__.startswith("sema_runtime.") and own.get("__sema_name__") not in LAMBDAS
        return keyword("native-fn" if is_native or "__sema_native__" in own else "lambda")
    name = getattr(type(value), "type_keyword", None) or type_name(value)
    return keyword(value.sema_tag if name == "record" else name)


@builtin("number?", type="any -> bool", pure=True, total=True)
def is_number(value: Any) -> bool:
    """Whether value is a number of any kind.

    (number? 1/2) => #t
    (number? "1") => #f
    """
    return NUMBERS[type(value)]


@builtin("integer?", type="any -> bool", pure=True, total=True)
def is_integer(value: Any) -> bool:
    """Whether value is a whole number: an int, or a float without a fraction.

    (integer? 1.0) => #t
    (integer? 1.5) => #f
    """
    return type(value) is int or (type(value) is float and value.is_integer())


@builtin("exact-integer?", type="any -> bool", pure=True, total=True)
def is_exact_integer(value: Any) -> bool:
    """Whether value is an int.

    (exact-integer? 1) => #t
    (exact-integer? 1.0) => #f
    """
    return type(value) is int


@builtin("float?", type="any -> bool", pure=True, total=True)
def is_float(value: Any) -> bool:
    """Whether value is a float.

    (float? 1.0) => #t
    (float? 1) => #f
    """
    return type(value) is float


@builtin("rational?", type="any -> bool", pure=True, total=True)
def is_rational(value: Any) -> bool:
    """Whether value is an exact real number: an int or a ratio.

    (rational? 1/2) => #t
    (rational? 0.5) => #f
    """
    return REALS[type(value)] and type(value) is not float


@builtin("real?", type="any -> bool", pure=True, total=True)
def is_real(value: Any) -> bool:
    """Whether value is a number without an imaginary part.

    (real? 1.5) => #t
    (real? 1+2i) => #f
    """
    return REALS[type(value)]


@builtin("complex?", type="any -> bool", pure=True, total=True)
def is_complex(value: Any) -> bool:
    """Whether value is a number: every number is a complex one.

    (complex? 1) => #t
    """
    return NUMBERS[type(value)]


@builtin("exact?", type="any -> bool", pure=True, total=True)
def is_exact(value: Any) -> bool:
    """Whether value is a number without a float in it; #f for values that aren't numbers.

    (exact? 1/2) => #t
    """
    return NUMBERS[type(value)] and all(type(part) is not float for part in parts(value))


@builtin("inexact?", type="any -> bool", pure=True, total=True)
def is_inexact(value: Any) -> bool:
    """Whether value is a float or a complex number with a float in it; #f for values that aren't numbers.

    (inexact? 1.0) => #t
    """
    return NUMBERS[type(value)] and any(type(part) is float for part in parts(value))


@builtin("string?", type="any -> bool", pure=True, total=True)
def is_string(value: Any) -> bool:
    """Whether value is a string.

    (string? "a") => #t
    (string? :a) => #f
    """
    return isinstance(value, str)


@builtin("char?", type="any -> bool", pure=True, total=True)
def is_char(value: Any) -> bool:
    """Whether value is a character.

    (char? #\\a) => #t
    (char? "a") => #f
    """
    return type(value) is Char


@builtin("symbol?", type="any -> bool", pure=True, total=True)
def is_symbol(value: Any) -> bool:
    """Whether value is a symbol.

    (symbol? 'a) => #t
    """
    return type(value) is Symbol


@builtin("keyword?", type="any -> bool", pure=True, total=True)
def is_keyword(value: Any) -> bool:
    """Whether value is a keyword.

    (keyword? :a) => #t
    """
    return type(value) is Keyword


@builtin("bool?", "boolean?", type="any -> bool", pure=True, total=True)
def is_bool(value: Any) -> bool:
    """Whether value is #t or #f.

    (bool? #f) => #t
    (bool? nil) => #f
    """
    return value is True or value is False


@builtin("list?", type="any -> bool", pure=True, total=True)
def is_list(value: Any) -> bool:
    """Whether value is a list, empty or not.

    (list? '()) => #t
    (list? [1]) => #f
    """
    return type(value) in LISTS


@builtin("pair?", type="any -> bool", pure=True, total=True)
def is_pair(value: Any) -> bool:
    """Whether value is a list that isn't empty.

    (pair? '(1)) => #t
    (pair? '()) => #f
    """
    if type(value) is List:
        return not value.empty
    return type(value) is list and bool(value)


@builtin("vector?", type="any -> bool", pure=True, total=True)
def is_vector(value: Any) -> bool:
    """Whether value is a vector.

    (vector? [1]) => #t
    (vector? '(1)) => #f
    """
    return isinstance(value, tuple)


@builtin("map?", "hash-map?", type="any -> bool", pure=True, total=True)
def is_map(value: Any) -> bool:
    """Whether value is a sorted map, as `{...}` makes it; #f for a hashmap.

    (map? {:a 1}) => #t
    (map? (hashmap/new)) => #f
    """
    kind = type(value)
    if kind is Map or kind in NO_MAPS:
        return kind is Map
    return isinstance(value, dict) and not isinstance(value, HashMap)


@builtin("bytevector?", type="any -> bool", pure=True, total=True)
def is_bytevector(value: Any) -> bool:
    """Whether value is a bytevector.

    (bytevector? #u8(1 2)) => #t
    """
    return isinstance(value, bytes | bytearray)


@builtin("fn?", "procedure?", type="any -> bool", pure=True, total=True)
def is_fn(value: Any) -> bool:
    """Whether value is a function. Keywords and multimethods can be called but aren't functions.

    (fn? car) => #t
    (fn? :a) => #f
    """
    return type(value) in FUNCTIONS or (callable(value) and type_name(value) in ("native-fn", "lambda"))


# Nothing and emptiness


@builtin("nil?", type="any -> bool", pure=True, total=True)
def is_nil(value: Any) -> bool:
    """Whether value is nil; the empty list is not nil.

    (nil? nil) => #t
    (nil? '()) => #f
    """
    return value is None


@builtin("null?", type="any -> bool", pure=True, total=True)
def is_null(value: Any) -> bool:
    """Whether value is nil or the empty list.

    (null? '()) => #t
    (null? nil) => #t
    (null? []) => #f
    """
    if type(value) is List:
        return value.empty
    return value is None or (type(value) is list and not value)


@builtin("empty?", type="seq|str|dict|nil -> bool", pure=True, total=True)
def is_empty(collection: Any) -> bool:
    """Whether a list, vector, map or string is empty; #t for nil.

    (empty? "") => #t
    (empty? '(nil)) => #f
    """
    if type(collection) is List:
        return collection.empty
    if collection is None:
        return True
    if type(collection) in COLLECTIONS:
        return not len(collection)
    from sema_runtime.values.sequences import foreign_size

    size = foreign_size(collection)
    if size is None:
        type_error("collection", collection, EMPTY_HINT)
    return not size


# Equality


@builtin("eq?", type="any, any -> bool", pure=True)
def is_eq(a: Any, b: Any) -> bool:
    """Whether two values are equal: the same as `equal?`.

    (eq? '(1 2) '(1 2)) => #t
    """
    if type(a) is type(b) and type(a) in SCALARS:
        return a == b  # type: ignore[no-any-return]
    return equal(a, b)


@builtin("equal?", type="any, any -> bool", pure=True)
def is_equal(a: Any, b: Any) -> bool:
    """Whether two values have the same type and the same contents, all the way down.

    (equal? '(1 {:a 2}) '(1 {:a 2})) => #t
    (equal? 1 1.0) => #f
    (equal? '(1) [1]) => #f
    """
    if type(a) is type(b) and type(a) in SCALARS:
        return a == b  # type: ignore[no-any-return]
    return equal(a, b)


# Numbers


@builtin("zero?", type="number -> bool", pure=True, total=True)
def is_zero(number: Any) -> bool:
    """Whether number is 0.

    (zero? 0.0) => #t
    (zero? 1) => #f
    """
    if type(number) is int or type(number) is float:
        return number == 0
    if not NUMBERS[type(number)]:
        type_error("number", number)
    return bool(number == 0)


@builtin("positive?", type="number -> bool", pure=True, total=True)
def is_positive(number: Any) -> bool:
    """Whether number is greater than 0; #f for NaN and complex numbers.

    (positive? 0) => #f
    """
    if type(number) is int or type(number) is float:
        return number > 0
    if not NUMBERS[type(number)]:
        type_error("number", number)
    return type(number) not in COMPLEX and bool(number > 0)


@builtin("negative?", type="number -> bool", pure=True, total=True)
def is_negative(number: Any) -> bool:
    """Whether number is less than 0; #f for NaN and complex numbers.

    (negative? -1) => #t
    """
    if type(number) is int or type(number) is float:
        return number < 0
    if not NUMBERS[type(number)]:
        type_error("number", number)
    return type(number) not in COMPLEX and bool(number < 0)


@builtin("even?", type="int -> bool", pure=True, total=True)
def is_even(number: Any) -> bool:
    """Whether an int is even, a multiple of 2.

    (even? 4) => #t
    (even? 2.0) ! expected integer, got float
    """
    if type(number) is not int:
        type_error("integer", number)
    return not number & 1


@builtin("odd?", type="int -> bool", pure=True, total=True)
def is_odd(number: Any) -> bool:
    """Whether an int is odd, not a multiple of 2.

    (odd? -3) => #t
    """
    if type(number) is not int:
        type_error("integer", number)
    return number & 1 == 1
