"""Python's own exceptions as Sema conditions.

Compiled code leaves checks to Python where Python makes them anyway: for unbound names, wrong numbers of arguments,
operands of the wrong type, deep recursion. `translated(exc)` is the condition that a Sema program sees instead.
"""

from __future__ import annotations

import re
import sys

from sema_runtime.conditions.tracebacks import in_library, innermost, is_ours
from sema_runtime.values.errors import ArityError, InternalError, SemaError, SemaTypeError, UnboundError
from sema_runtime.values.naming import ANONYMOUS, function_name, name_of_code, sema_names
from sema_runtime.values.typenames import NAMES, type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType, FrameType
    from typing import Any

STACK_OVERFLOW = "stack overflow: maximum call depth exceeded"
STACK_HINT = (
    "this usually means unbounded recursion; "
    "ensure recursive calls are in tail position for TCO, or use 'do' for iteration"
)
CALLABLE_HINT = "expected a function, lambda, or keyword"
# Type of a value at the head of a call → what was probably meant.
HEADS = {
    "list": "an element is (nth xs 0), a list as data '(1 2) or (list 1 2)",
    "vector": "an element is (nth xs 0)",
    "map": "an entry is (get m :key) or (:key m)",
    "hashmap": "an entry is (get m :key) or (:key m)",
    "string": "parts of a text are joined by (str a b)",
    "int": "a list as data is '(1 2) or (list 1 2); (1+ n) is read as (1 + n), write (+ n 1)",
    "nil": "the function is nil: a missing key or argument",
    "macro": "a macro stands above its uses",
    "bool": "a test and its branches are (if test then else) or (cond (test value) (else value))",
}
PAIR_HEAD = "there are no pairs: (cdr (cons a f)) is the list (f), (cadr (cons a f)) is f"
STRINGS_HINT = "+: cannot mix strings with other types; use (str a b ...) to build a string"
DIVISION_HINT = "/: guard with (if (zero? d) ... (/ n d))"

OPERANDS = re.compile(r"unsupported operand type\(s\) for (\S+?)=?: '(.+)' and '(.+)'")
COMPARISON = re.compile(r"'([<>]=?)' not supported between instances of '(.+)' and '(.+)'")
CONCATENATION = re.compile(r"can only concatenate (\w+) \(not \"(.+)\"\) to \w+")
UNARY = re.compile(r"bad operand type for (unary )?(\S+?): '(.+)'")
NOT_CALLABLE = re.compile(r"'(.+)' object is not callable")
TOO_MANY = re.compile(
    r"(\S+)\(\) takes (?:from )?(?:exactly )?(\w+)(?: to (\d+))? "
    r"(?:positional )?arguments? ?(?:but (\d+)|\((\d+) given\))"
)
MISSING = re.compile(r"(\S+)\(\) missing (\d+) required positional arguments?: (.+)")
EXPECTED = re.compile(r"(\S+) expected (?:at (?:least|most) )?(\d+) arguments?, got (\d+)")
FUNCTION = type(type_name)
COUNTS = {"no": "0", "one": "1"}
VALUES = "__sema_values__"  # the parameter of an input's function: values that macros put into it

SEQUENCE_ATTRIBUTES = frozenset(("car", "cdr", "items", "flat", "next", "empty"))
MAP_ATTRIBUTES = frozenset(("lookup", "assoc", "without", "merged", "pairs", "sorted_keys", "has", "d"))
PYTHON_TYPES = {kind.__name__: name for kind, name in NAMES.items()} | {
    **{"List": "list", "Map": "map", "HashMap": "hashmap"},
    **{"Fraction": "rational", "Complex": "complex"},
}


class PythonError(SemaError):
    """An exception of a Python library: `:type :python`, `:python-type` the name of the class, `:python-class` the same
    with its module (`json.decoder.JSONDecodeError`; without one for Python's built-in exceptions)."""

    kind = "python"

    def __init__(self, exc: BaseException) -> None:
        name, module = type(exc).__name__, type(exc).__module__
        full = type(exc).__qualname__ if module == "builtins" else f"{module}.{type(exc).__qualname__}"
        text = str(exc.args[0]) if isinstance(exc, KeyError) and len(exc.args) == 1 else str(exc)
        super().__init__(f"{name}: {text}" if text else name, None, None, python_type=name, python_class=full)


def translated(exc: BaseException) -> SemaError:
    """The condition of an exception; a condition is returned unchanged. Raises nothing."""
    if isinstance(exc, SemaError):
        return exc
    known = getattr(exc, "sema_condition", None)
    if isinstance(known, SemaError):
        return known
    condition = _translate(exc) or PythonError(exc)
    condition.__traceback__ = exc.__traceback__
    exc.sema_condition = condition  # type: ignore[attr-defined]
    return condition


def _translate(exc: BaseException) -> SemaError | None:
    if isinstance(exc, NameError | ZeroDivisionError | TypeError | AttributeError | IndexError) and in_library(exc):
        return None
    if isinstance(exc, NameError):
        return _unbound(exc)
    if isinstance(exc, ZeroDivisionError):
        return _zero_division(exc)
    if isinstance(exc, RecursionError):
        return SemaError(STACK_OVERFLOW, STACK_HINT)
    if isinstance(exc, TypeError):
        text = str(exc)
        return _operands(text) or _not_callable(text, exc) or _arity(text, exc)
    if isinstance(exc, AttributeError):
        return _attribute(exc)
    if isinstance(exc, IndexError):
        return _index(exc)
    if isinstance(exc, MemoryError):
        return SemaError("out of memory")
    if isinstance(exc, FileNotFoundError) and exc.filename is None and _is_nowhere():
        return SemaError("the current directory doesn't exist any more", "go to another one, or make it again")
    return None


def _is_nowhere() -> bool:
    """Whether the current directory was removed."""
    import os

    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _unbound(exc: NameError) -> SemaError:
    name = getattr(exc, "name", None)
    if not name:
        quoted = re.search(r"'(.+?)'", str(exc))
        name = quoted.group(1) if quoted else str(exc)
    place = innermost(exc)
    if place is not None and is_ours(place[0].f_globals):
        return InternalError(str(exc))
    table = sema_names(place[0].f_code, place[0].f_globals) if place else None
    if table is not None and table.get(name) == ANONYMOUS:
        table = {}  # a local function has that name, too
    return UnboundError(name_of_code(name, table))


def _zero_division(exc: ZeroDivisionError) -> SemaError:
    text, operator = str(exc), ""
    if text == "division by zero" and sys.version_info >= (3, 14):  # which says so of all operators
        from sema_runtime.conditions.callee import operator_at

        place = innermost(exc)
        operator = operator_at(*place) if place is not None else ""
    if operator == "%" or ("modulo" in text and "division" not in text):
        return by_operator("mod", SemaError("modulo by zero"))
    if operator == "//" or text == "integer division or modulo by zero":
        return SemaError("quotient: division by zero", "quotient: ensure the divisor is non-zero")
    return by_operator("/", SemaError(text if text.startswith("/:") else "division by zero", DIVISION_HINT))


def _index(exc: IndexError) -> SemaError | None:
    from sema_runtime.conditions.subscripts import out_of_bounds

    place = innermost(exc)
    found = out_of_bounds(*place) if place is not None and not is_ours(place[0].f_globals) else None
    return by_operator(*found) if found is not None else None


# Operators


def by_operator(operator: str, error: SemaError) -> SemaError:
    """Notes which operator failed: it was compiled into its caller and has no frame."""
    error.operator = operator  # type: ignore[attr-defined]
    return error


def _operands(text: str) -> SemaError | None:
    match = OPERANDS.match(text)
    if match:
        return _operator_error(match[1], _sema_type(match[2]), _sema_type(match[3]))
    match = CONCATENATION.match(text)
    if match:
        return _operator_error("+", _sema_type(match[1]), _sema_type(match[2]))
    match = COMPARISON.match(text)
    if match:
        left, right = _sema_type(match[2]), _sema_type(match[3])
        if match[1] in (">", "<="):  # the reference compares these the other way around
            left, right = right, left
        return by_operator(match[1], SemaTypeError("comparable values", f"{left} and {right}"))
    match = UNARY.match(text)
    if match:
        error = SemaTypeError("number", _sema_type(match[3]))
        return by_operator("-", error) if match[1] else error
    return None


def _operator_error(operator: str, left: str, right: str) -> SemaError:
    got = f"{left} and {right}"
    if operator in ("+", "+="):
        return by_operator(
            "+", SemaTypeError("number or string", got, STRINGS_HINT if "string" in (left, right) else None)
        )
    return by_operator(operator, SemaTypeError("number", got))


def _sema_type(python_name: str) -> str:
    """The Sema name of a type in a message of Python."""
    name = python_name.rpartition(".")[2]
    sema_name = PYTHON_TYPES.get(name)
    if sema_name is not None:
        return sema_name
    return "native-fn" if name in ("function", "builtin_function_or_method", "method") else name.lower()


# Calls


def _not_callable(text: str, exc: TypeError) -> SemaError | None:
    match = NOT_CALLABLE.match(text)
    if not match:
        return None
    from sema_runtime.conditions.callee import callee_of
    from sema_runtime.values.printer import to_text

    place = innermost(exc)
    is_known, value = callee_of(*place) if place else (False, None)
    if not is_known or type(value).__name__ != match[1].rpartition(".")[2]:
        return SemaError(f"not callable: a value of type {_sema_type(match[1])}", CALLABLE_HINT)
    kind = type_name(value)
    advice = HEADS.get(kind)
    items: Any = getattr(value, "items", ())
    if kind == "list" and len(items) == 1 and callable(items[0]):
        advice = PAIR_HEAD
    hint = f"{CALLABLE_HINT}; {advice}" if advice else CALLABLE_HINT
    return SemaError(f"not callable: {to_text(value)} ({kind})", hint)


def _arity(text: str, exc: TypeError) -> SemaError | None:
    match = TOO_MANY.match(text)
    if match:
        low = COUNTS.get(match[2], match[2])
        if not low.isdigit():
            return None
        stated = f"{low}-{match[3]}" if match[3] else low
        return _arity_error(match[1], exc, stated, int(match[4] or match[5]), None)
    match = MISSING.match(text)
    if match:
        return _arity_error(match[1], exc, "", -int(match[2]), re.findall(r"'(\w+)'", match[3]))
    match = EXPECTED.match(text)
    if match:
        more = "+" if " at least " in text else ""
        return _arity_error(match[1].removesuffix("()"), exc, match[2] + more, int(match[3]), None)
    return None


def _arity_error(qualname: str, exc: TypeError, stated: str, given: int, missing: list[str] | None) -> SemaError | None:
    """stated: the expectation in Python's message, "" without one. given: the number of arguments, or minus the
    missing."""
    place = innermost(exc)
    target = _find_target(qualname, place[0], missing, stated) if place else None
    if target is None:
        if missing is not None:
            return None
        return ArityError(qualname.rpartition(".")[2], stated, given)
    name, least, (low, high) = target
    if missing is not None:
        given += least
    return ArityError(name, arity_text(low, high), given)


def arity_text(low: int, high: int) -> str:
    """(2, -1) → `2+`, (1, 2) → `1-2`, (1, 1) → `1`."""
    if high == -1:
        return f"{low}+"
    return str(low) if low == high else f"{low}-{high}"


def _find_target(
    qualname: str, frame: FrameType, missing: list[str] | None, stated: str
) -> tuple[str, int, tuple[int, int]] | None:
    """(Sema name, number of required parameters, arity to show) of the function that a frame called wrongly."""
    for value in _values_near(frame):
        function = getattr(value, "__func__", value)
        if getattr(function, "__qualname__", None) != qualname or isinstance(function, type):
            continue
        code = getattr(function, "__code__", None)
        if code is not None and _takes(code, stated):
            defaults = len(function.__defaults__ or ())
            if _misses(code, missing, defaults):
                bounds = _bounds(code, defaults, value is not function)
                name = getattr(function, "arity_name", None) or function_name(function)
                return name, bounds[0], _declared(function, bounds)
    for code, table in _codes_near(frame):
        if code.co_qualname == qualname and _misses(code, missing, 0) and _takes(code, stated):
            bounds = _bounds(code, 0, False)
            return name_of_code(code.co_name, table), bounds[0], bounds
    return None


def _declared(function: Any, bounds: tuple[int, int]) -> tuple[int, int]:
    """The declared arity of a builtin, which can differ from the Python signature."""
    from sema_runtime.catalogue_index import INDEX

    entry = INDEX.get(getattr(function, "__sema_name__", ""))
    return (entry[2], entry[3]) if entry is not None else bounds


def _misses(code: CodeType, missing: list[str] | None, defaults: int) -> bool:
    required = code.co_varnames[: code.co_argcount - defaults]
    return missing is None or list(required[len(required) - len(missing) :]) == missing


def _takes(code: CodeType, stated: str) -> bool:
    """Whether code takes the number of arguments in Python's message; many lambdas share a name."""
    return not stated.isdigit() or code.co_argcount == int(stated)


def _bounds(code: CodeType, defaults: int, bound: bool) -> tuple[int, int]:
    most = code.co_argcount - bound
    return most - defaults, -1 if code.co_flags & 0x04 else most


def _values_near(frame: FrameType) -> Iterator[Any]:
    """The values that a frame and its callers can name: its locals, the globals of each module, and values that macros
    put into code."""
    yield from tuple(frame.f_locals.values())
    yield from frame.f_locals.get(VALUES, ())
    seen: set[int] = set()
    current: FrameType | None = frame
    while current is not None and len(seen) < 10:
        if id(current.f_globals) not in seen:
            seen.add(id(current.f_globals))
            yield from tuple(current.f_globals.values())
        current = current.f_back
    from sema_runtime.values.macros import embedded_values

    yield from embedded_values()


def _codes_near(frame: FrameType) -> Iterator[tuple[CodeType, dict[str, str] | None]]:
    """The code objects of the functions defined around a frame: those of its module and of its callers."""
    seen: set[CodeType] = set()
    current: FrameType | None = frame
    steps = 0
    while current is not None and steps < 100:
        table = sema_names(current.f_code, current.f_globals)
        todo = [current.f_code, *(f.__code__ for f in tuple(current.f_globals.values()) if type(f) is FUNCTION)]
        while todo:
            code = todo.pop()
            if code in seen:
                continue
            seen.add(code)
            yield code, table
            todo += [const for const in code.co_consts if hasattr(const, "co_consts")]
        current = current.f_back
        steps += 1


# Attributes


def _attribute(exc: AttributeError) -> SemaError | None:
    got = type_name(exc.obj)
    if isinstance(exc.obj, type) or got.startswith("python:"):
        return None
    if exc.name in SEQUENCE_ATTRIBUTES:
        expected = "list or vector"
    elif exc.name in MAP_ATTRIBUTES:
        expected = "map or hashmap"
    elif exc.name is not None and hasattr(str, exc.name) and not isinstance(exc.obj, type(re)):
        expected = "string"
    else:
        place = innermost(exc)
        ours = place is not None and is_ours(place[0].f_globals)
        asked = place is not None and place[0].f_code.co_name == "__getattr__"  # by the program
        return InternalError(str(exc)) if ours and not asked else None
    if got in expected.split(" or "):
        raw = type(exc.obj) in (dict, list)  # a representation that stays within compiled code
        return InternalError(f"a {got} is a raw {type(exc.obj).__name__} without {exc.name!r}") if raw else None
    return SemaTypeError(expected, got)
