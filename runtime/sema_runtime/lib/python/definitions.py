"""Functions and classes with the shape that Python's tools read: the runtime of `py/def`, `py/fn` and `py/class`."""

from __future__ import annotations

import inspect
import sys
from contextvars import copy_context
from functools import wraps
from types import FunctionType, new_class

from greenlet import getcurrent, greenlet  # type: ignore[import-untyped]

from sema_runtime.catalogue import builtin
from sema_runtime.native import calls_around
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def python_name(name: str) -> Any:
    """A builtin of Python that an annotation or a decorator names: `int`, `property`."""
    import builtins

    return getattr(builtins, name)


# Functions


def python_function(function: Any, name: str, shape: str, *values: Any) -> Any:
    """The function with defaults, keyword-only parameters, `*args`, `**named` and annotations.

    shape: a word for each parameter, in the order of the code's: `p` positional, `k` keyword-only, `a` `*args`, `w`
    `**named`; then `=` where it has a default, `:` where it has an annotation. The word `r` stands for an annotation of
    the result, `y` for a generator. values: the defaults and annotations, in the order of the words.
    """
    code = function.__code__
    given = iter(values)
    kinds, defaults, named, annotations = "", [], {}, {}
    words = shape.split()
    for word, parameter in zip(words, code.co_varnames, strict=False):
        if word[0] not in "pkaw":
            break
        kinds += word[0]
        if "=" in word:
            default = next(given)
            if word[0] == "k":
                named[parameter] = default
            else:
                defaults.append(default)
        if ":" in word:
            annotations[parameter] = next(given)
    if "r" in words:
        annotations["return"] = next(given)
    flags = code.co_flags
    flags |= inspect.CO_VARARGS if "a" in kinds else 0
    flags |= inspect.CO_VARKEYWORDS if "w" in kinds else 0
    shaped = code.replace(
        co_argcount=kinds.count("p"), co_kwonlyargcount=kinds.count("k"), co_flags=flags, co_name=name, co_qualname=name
    )
    made = FunctionType(shaped, function.__globals__, name, tuple(defaults) or None, function.__closure__)
    made.__kwdefaults__ = named or None
    made.__annotations__ = annotations
    made.__doc__ = function.__doc__
    return generating(made) if "y" in words else made


# Generators: the body runs in a greenlet, so `py/yield` stands wherever the body calls, in loops and callbacks too


class Producer(greenlet):  # type: ignore[misc]
    """The body of a generator that was started."""


@builtin("py/yield", type="keep any -> any", cap="python")
def py_yield(value: Any = None) -> Any:
    """Gives an item to who iterates over the generator; returns what its `send` sends, usually nil.

    (py/def (evens n) (for-range (i 0 n) (py/yield (* 2 i))))
    (py/iter->list (evens 3)) => (0 2 4)
    """
    body = getcurrent()
    if type(body) is not Producer:
        raise SemaError("py/yield: no generator runs here", "it stands in the body of a py/def or py/fn")
    return body.parent.switch(value)


def generating(function: Callable[..., Any]) -> Any:
    """The generator function of a function that calls `py/yield`."""

    @wraps(function)
    def generator(*args: Any, **named: Any) -> Any:
        body = Producer(lambda: function(*args, **named))
        body.gr_context = copy_context()
        step: Callable[[Any], Any] = lambda _: body.switch()  # noqa: E731  (the first step takes no value)
        sent: Any = None
        while True:
            body.parent = getcurrent()
            item = step(sent)
            if body.dead:
                return item
            try:
                sent = yield item
                step = body.switch
            except BaseException as error:
                step, sent = body.throw, error

    return generator


# Classes


def python_class(name: str, doc: Any, bases: tuple[Any, ...], settings: Any, *members: Any) -> Any:
    """The class of a `py/class`. settings: the keyword arguments of its header. members: vectors of a kind and a name,
    and for a `field` its annotation and perhaps its default, for a `value` the value."""
    module = next(calls_around(sys._getframe(0)))[1].get("__name__")

    def fill(namespace: dict[str, Any]) -> None:
        namespace["__module__"] = module
        if doc is not None:
            namespace["__doc__"] = doc
        annotations = {}
        for kind, member, *values in members:
            if kind == "field":
                annotations[member] = values[0]
            if kind == "value" or len(values) == 2:
                value = namespace[member] = values[-1]
                if isinstance(value, FunctionType):
                    value.__qualname__ = f"{name}.{member}"
        if annotations:
            namespace["__annotations__"] = annotations

    return new_class(name, bases, dict(settings.items()), fill)


@builtin("py/super", type="any, any -> any", cap="python")
def py_super(kind: Any, object: Any) -> Any:
    """The methods that the classes above kind give to an object of it: `super(kind, object)`.

    (py/class (Loud str) (py/def (upper self) (str (.upper (py/super Loud self)) "!")))
    (.upper (Loud "a")) => "A!"
    """
    return super(kind, object)
