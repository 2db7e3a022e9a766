"""Hints with the usage of a builtin, for argument errors that say only which type was expected."""

from __future__ import annotations

import sys
from functools import cache

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.errors import ArityError, SemaError, SemaTypeError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType, TracebackType
    from typing import Any

ADVICE = {
    "reduce": "reduce has no start value; with one: (foldl + 0 xs)",
    "error": 'error takes one message: (error (str "no user " id))',
    "format": 'the template comes first: (format "~a" x); it is printed by (println (format ...))',
    "contains?": "an element of a list: (list/contains? xs x)",
}
ENTRIES = "the entries of a map, lists of a key and a value, are (map/entries m)"
KEYWORD = "(:key m) takes a map; (get-in m [:key]) gives nil where m is nil; of a list of maps: (map :key rows)"
NIL = "nil came in: (or x 0) gives a default; get and keywords give nil for a missing key"
TEXTS = "as a value, an operator takes numbers only; texts: (sort xs), (fn (a b) (< a b)), (apply str xs)"
FUNCTION_FIRST = "the function comes first: "
CALLERS = frozenset(("lib.collections.hofs", "lib.collections.sorting"))  # modules of builtins that call functions
KEYWORD_CALLS = frozenset((("values.atoms", "__call__"), ("values.lookup", "keyword_get")))
SENDS = ("tasks.steps", "sends")  # stands for `channel/send` in tasks that are generators
VARARGS = 0x04


def usage_hint(error: SemaError, exc: BaseException) -> str | None:
    """The hint for an argument error of a builtin: its usage, and what was probably meant."""
    if not isinstance(error, ArityError | SemaTypeError):
        return error.hint
    name = error.fields["function"] if isinstance(error, ArityError) else _named(error) or failing_builtin(exc)
    if name not in INDEX:
        return error.hint or _operand_hint(error)
    advice = ADVICE.get(name)
    if advice is None and isinstance(error, SemaTypeError):
        got = str(error.fields["got"])
        if got.startswith(("map in ", "hashmap in ")):
            advice = ENTRIES
        elif got.startswith(("native-fn in ", "lambda in ")):
            advice = FUNCTION_FIRST + (usage(name) or name)
        elif (error.fields["expected"], got) == ("number", "string") and _is_operator(exc):
            advice = TEXTS
    if error.hint is not None:
        return f"{error.hint}; {advice}" if advice else error.hint
    if advice is not None:
        return advice
    if isinstance(error, SemaTypeError) and 0 <= INDEX[name][3] < 2:
        return None  # one argument can't stand in a wrong place
    call = usage(name)
    return f"usage: {call}" if call else None


def _named(error: SemaError) -> str | None:
    """The builtin that an error names as the one that got a value: it may be a loop of its caller, without a frame."""
    _, where, name = str(error.fields.get("got", "")).rpartition(" in ")
    return name if where and name in INDEX else None


def _operand_hint(error: SemaError) -> str | None:
    """Advice for errors of operators and keywords, which have no frame of a builtin."""
    expected, got = error.fields.get("expected"), str(error.fields.get("got", ""))
    if expected == "map or hashmap":
        return KEYWORD
    if "nil" in got.split() and expected in ("number", "number or string", "comparable values"):
        return NIL
    return None


def _is_operator(exc: BaseException) -> bool:
    """Whether `<`, `+` or another operator that was passed to a builtin raised the error."""
    trace = exc.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    modules = [] if trace is None else [trace.tb_frame, trace.tb_frame.f_back]
    return any(frame and frame.f_globals.get("__name__") == "sema_runtime.lib.numbers.arithmetic" for frame in modules)


def usage(name: str) -> str | None:
    """The usage as `(string/join strings separator)`; None for operators and builtins without named parameters."""
    module = sys.modules.get(f"sema_runtime.{INDEX[name][0]}")
    if module is None:
        from importlib import import_module

        module = import_module(f"sema_runtime.{INDEX[name][0]}")
    function: Any = getattr(module, INDEX[name][1], None)
    function = getattr(function, "__wrapped__", function)
    code: CodeType | None = getattr(function, "__code__", None)
    if code is None:
        return None
    count = code.co_argcount
    names = [part.strip("_").replace("_", "-") for part in code.co_varnames[:count]]
    least = INDEX[name][2]
    shown = [part if index < least else f"[{part}]" for index, part in enumerate(names)]
    if code.co_flags & VARARGS:
        shown.append(f". {code.co_varnames[count + code.co_kwonlyargcount].strip('_').replace('_', '-')}")
    return f"({' '.join([name, *shown])})" if names else None


def failing_builtin(exc: BaseException) -> str | None:
    """The builtin that failed, if the program called it directly, or had `map`, `filter` and their kin call it."""
    names = builtins_by_function()
    builtin = None
    trace: TracebackType | None = exc.__traceback__
    while trace is not None:
        module = str(trace.tb_frame.f_globals.get("__name__", ""))
        family = module.removeprefix("sema_runtime.")
        if family == module or (family, trace.tb_frame.f_code.co_name) in KEYWORD_CALLS:
            builtin = None
        elif builtin is None or (INDEX[builtin][0] in CALLERS and family not in CALLERS):
            builtin = names.get((family, trace.tb_frame.f_code.co_name), builtin)
        trace = trace.tb_next
    return builtin and _canonical(builtin)


@cache
def builtins_by_function() -> dict[tuple[str, str], str]:
    """Names of builtins by module and function."""
    return {SENDS: "channel/send", **{(entry[0], entry[1]): name for name, entry in reversed(INDEX.items())}}


def _canonical(name: str) -> str:
    """The first name of a builtin that has several."""
    module = sys.modules.get(f"sema_runtime.{INDEX[name][0]}")
    return str(getattr(getattr(module, INDEX[name][1], None), "__sema_name__", name))
