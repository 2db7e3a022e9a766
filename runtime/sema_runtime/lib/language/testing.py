"""What the macros of tests become: `is`, `testing`, `deftest`, `defproperty`."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.catalogue_index import INDEX
from sema_runtime.conditions.failures import CheckFailed
from sema_runtime.values.atoms import Keyword, Symbol, symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import gensym
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

FN, IF, LET, LIST, QUOTE, DEFINE, BEGIN = map(symbol, ("fn", "if", "let", "list", "quote", "define", "begin"))
IS_FAILED, IS_THROWN = symbol("__is-failed"), symbol("__is-thrown")
THROWN = symbol("thrown?")
DEFTEST, DEFPROPERTY = symbol("__deftest"), symbol("__defproperty")


def _call(*items: Any) -> List:
    return List(list(items))


@builtin("__is-expansion", type="keep any, keep list -> any")
def is_expansion(form: Any, message: Any) -> Any:
    """The form that `(is form message)` means. Arguments of a builtin are evaluated once and kept for the report."""
    message = message.items[0] if len(message) else None
    quoted = _call(QUOTE, form)
    items = form.items if type(form) is List else ()
    head = items[0] if items else None
    if head is THROWN and len(items) > 1:
        has_pattern = len(items) > 2 and isinstance(items[1], (str, Keyword))
        body = items[2 if has_pattern else 1 :]
        return _call(IS_THROWN, quoted, items[1] if has_pattern else None, _call(FN, List([]), *body), message)
    if type(head) is not Symbol or head.name not in INDEX or len(items) < 2:
        value = gensym("is")
        failed = _call(IS_FAILED, quoted, _call(LIST, value), False, message)
        return _call(LET, _call(_call(value, form)), _call(IF, value, True, failed))
    names = [gensym("is") for _ in items[1:]]
    bindings = List([_call(name, item) for name, item in zip(names, items[1:], strict=True)])
    failed = _call(IS_FAILED, quoted, _call(LIST, *names), True, message)
    return _call(LET, bindings, _call(IF, _call(head, *names), True, failed))


@builtin("__is-failed", type="keep any, keep list, bool, keep any -> never")
def is_failed(form: Any, values: Any, are_arguments: Any, message: Any) -> Any:
    """Raises CheckFailed for a form that was false. values: of its arguments, or its own."""
    raise CheckFailed(form, list(values.items), bool(are_arguments), None if message is None else display(message))


@builtin("__is-thrown", type="keep any, any, now ( -> any), keep any -> bool")
def is_thrown(form: Any, expected: Any, body: Callable[[], Any], message: Any) -> bool:
    """True when body raises an error of the type (keyword), or with a message that has the regex (string)."""
    from sema_runtime.conditions.describe import condition_of

    said = None if message is None else display(message)
    try:
        value = body()
    except Exception as error:
        condition = condition_of(error)
        if expected is None:
            return True
        if type(expected) is Keyword:
            if condition.kind == expected.name:
                return True
            raise CheckFailed(form, [], False, said, f"raised :{condition.kind}: {condition.message}") from error
        from re import search

        if search(expected, condition.message):
            return True
        raise CheckFailed(form, [], False, said, f"the message was: {condition.message}") from error
    raise CheckFailed(form, [], False, said, f"nothing was raised, the value is {to_text(value)}")


@builtin("__testing", type="any, now ( -> a) -> a")
def testing(context: Any, body: Callable[[], Any]) -> Any:
    """The value of body; the context is added to a failure in it."""
    try:
        return body()
    except CheckFailed as failure:
        failure.contexts.insert(0, display(context))
        raise


@builtin("__deftest-expansion", type="keep any, keep list, keep any -> any")
def deftest_expansion(name: Any, body: Any, bindings: Any) -> Any:
    """The definition that `deftest`, or `defproperty` with its bindings, means. Raises SemaError for malformed ones."""
    what = "deftest" if bindings is False else "defproperty"
    if type(name) is not Symbol:
        raise SemaError(f"{what}: expected a name, got {to_text(name)}", f"({what} adds ...) defines test-adds")
    forms = list(body.items)
    doc = forms.pop(0) if len(forms) > 1 and isinstance(forms[0], str) else None
    params: Any = ()
    if bindings is False and len(forms) > 1 and type(forms[0]) is tuple:
        params = forms.pop(0)
    options = forms.pop(0) if len(forms) > 1 and type(forms[0]) is Map else None
    full = name if name.name.startswith("test-") else symbol(f"test-{name.name}")
    if bindings is False:
        function = _call(FN, List(list(params)), *forms, None)
        return _call(DEFINE, full, _call(DEFTEST, full.name, function, options, doc))
    if type(bindings) is not tuple or len(bindings) % 2:
        raise SemaError("defproperty: expected a vector of names and kinds", "(defproperty p [n :int] (= n n))")
    names, kinds = list(bindings[::2]), list(bindings[1::2])
    if not all(type(variable) is Symbol for variable in names):
        raise SemaError("defproperty: expected a vector of names and kinds", "(defproperty p [n :int] (= n n))")
    shown = _call(QUOTE, List(names))
    thunk = _call(FN, List([]), _call(LIST, *kinds))
    return _call(
        DEFINE, full, _call(DEFPROPERTY, full.name, _call(FN, List(names), *forms), shown, thunk, options, doc)
    )


@builtin("__deftest", type="str, keep fn, keep any, any -> fn")
def deftest(name: str, function: Any, options: Any, doc: Any) -> Any:
    """The function of a test, with its name and its options."""
    function.__name__ = function.__qualname__ = name.replace("-", "_")
    function.__doc__ = doc
    function.__sema_test__ = {} if options is None else {key.name: value for key, value in options.pairs()}
    return function


@builtin("__defproperty", type="str, keep fn, keep list, keep fn, keep any, any -> fn")
def defproperty(name: str, function: Any, names: Any, kinds: Any, options: Any, doc: Any) -> Any:
    """The function of a test that calls function with many values of the kinds."""
    given = {} if options is None else {key.name: value for key, value in options.pairs()}

    def check() -> None:
        from sema_runtime.lib.language.properties import run_property

        run_property(name, function, [variable.name for variable in names.items], kinds().items, given)

    place = function.__code__
    check.__code__ = check.__code__.replace(  # it stands where the body does, and its own lines are none of that file
        co_filename=place.co_filename, co_firstlineno=place.co_firstlineno, co_linetable=b""
    )
    return deftest(name, check, options, doc)
