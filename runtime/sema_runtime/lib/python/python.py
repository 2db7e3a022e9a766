"""Python objects from Sema: indexing, attributes, conversion. The forms (`py/import`, `.method`) are the compiler's.

All of it is in the capability group `python`, and so denied in every sandbox.
"""

from __future__ import annotations

from keyword import iskeyword

from sema_runtime.catalogue import builtin
from sema_runtime.conditions.describe import PYTHON_EXCEPTION
from sema_runtime.values.atoms import Keyword, Symbol
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, Map
from sema_runtime.values.sequences import elements, mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any, NoReturn

NOTHING = MISSING  # an optional argument that isn't there


# Modules and calls


@builtin("py/module", type="str -> any", cap="python")
def py_module(name: Any) -> ModuleType:
    """Imports a Python module and returns it; for names that are known only at run time.

    (.sqrt (py/module "math") 4) => 2.0
    """
    if type(name) is not str:
        type_error("string", name)
    from importlib import import_module

    return import_module(name)


@builtin("py/apply", type="later fn, keep any, keep any? -> any", cap="python")
def py_apply(function: Any, arguments: Any, keywords: Any = None) -> Any:
    """Calls function with a list of arguments and a map of keyword arguments.

    (py/apply (.-sub (py/module "re")) '("a" "b" "banana") {:count 1}) => "bbnana"
    """
    if not callable(function):
        type_error("callable", function)
    named = {} if keywords is None else {_parameter(key): value for key, value in mapping(keywords).pairs()}
    return function(*elements(arguments, "py/apply"), **named)


def _parameter(key: Any) -> str:
    if isinstance(key, Keyword | Symbol):
        name = key.name.replace("-", "_")
        return name + "_" if iskeyword(name) else name
    if type(key) is not str:
        type_error("keyword, symbol or string", key, "py/apply: the keys of the map name parameters")
    return key


# Items


@builtin("py/get", type="keep any, keep any, keep any? -> any", cap="python")
def py_get(object: Any, key: Any, default: Any = NOTHING) -> Any:
    """Returns object[key] of a Python object; default, if given, when there is no such key or index.

    (py/get [1 2 3] -1) => 3
    (py/get {"a" 1} "b" 0) => 0
    """
    if default is NOTHING:
        return object[key]
    try:
        return object[key]
    except LookupError:
        return default


@builtin("py/set!", type="keep any, keep any, keep a -> a", cap="python")
def py_set_mut(object: Any, key: Any, value: Any) -> Any:
    """Sets object[key] to value, in the object itself, and returns value.

    (let ((d (py/dict))) (py/set! d "a" 1) d) => {"a" 1}
    """
    object[key] = value
    return value


@builtin("py/del!", type="keep any, keep any -> nil", cap="python")
def py_del_mut(object: Any, key: Any) -> None:
    """Removes object[key] from the object itself.

    (let ((xs (py/list [1 2 3]))) (py/del! xs 0) xs) => (2 3)
    """
    del object[key]


@builtin("py/slice", type="keep any, keep any?, keep any?, keep any? -> any", cap="python")
def py_slice(object: Any, start: Any = None, end: Any = None, step: Any = None) -> Any:
    """Returns object[start:end:step]; nil leaves a part out.

    (py/slice "python" nil nil -1) => "nohtyp"
    (py/slice [1 2 3 4] 1 -1) => [2 3]
    """
    return object[start:end:step]


@builtin("py/len", type="any -> nat", cap="python")
def py_len(object: Any) -> int:
    """The length of a Python object, as Python's `len` gives it.

    (py/len (py/set [1 1 2])) => 2
    """
    return len(object)


@builtin("py/in?", type="keep any, keep any -> bool", cap="python")
def is_py_in(value: Any, container: Any) -> bool:
    """Whether Python finds value in container.

    (py/in? 2 (py/set [1 2])) => #t
    """
    return value in container


# Attributes


@builtin("py/getattr", type="keep any, str, keep any? -> any", cap="python")
def py_getattr(object: Any, name: Any, default: Any = NOTHING) -> Any:
    """The attribute name (a string, spelled as in Python) of a Python object; default, if given, when there is none.

    (py/getattr (py/module "math") "no_such_thing" 0) => 0
    """
    _check_name(name)
    return getattr(object, name) if default is NOTHING else getattr(object, name, default)


@builtin("py/setattr!", type="keep any, str, keep a -> a", cap="python")
def py_setattr_mut(object: Any, name: Any, value: Any) -> Any:
    """Sets the attribute name of a Python object and returns value.

    (define thing ((.-SimpleNamespace (py/module "types"))))
    (py/setattr! thing "size" 5)
    (.-size thing) => 5
    """
    _check_name(name)
    setattr(object, name, value)
    return value


@builtin("py/hasattr?", type="any, str -> bool", cap="python")
def is_py_hasattr(object: Any, name: Any) -> bool:
    """Whether a Python object has the attribute name.

    (py/hasattr? "text" "upper") => #t
    """
    _check_name(name)
    return hasattr(object, name)


def _check_name(name: Any) -> None:
    if type(name) is not str:
        type_error("string", name)


# Types and texts


@builtin("py/type", type="any -> fn", cap="python")
def py_type(object: Any) -> type:
    """The Python class of a value.

    (.-__name__ (py/type [1 2])) => "tuple"
    """
    return type(object)


@builtin("py/isinstance?", type="keep any, keep any -> bool", cap="python")
def is_py_isinstance(object: Any, kind: Any) -> bool:
    """Whether object is an instance of a Python class, or of one in a vector of classes.

    (py/isinstance? {} (.-Mapping (py/module "collections.abc"))) => #t
    """
    return isinstance(object, kind)


@builtin("py/str", type="any -> str", cap="python")
def py_str(object: Any) -> str:
    """Python's `str` of a value.

    (py/str (py/dict {"a" nil})) => "{'a': None}"
    """
    return str(object)


@builtin("py/repr", type="any -> str", cap="python")
def py_repr(object: Any) -> str:
    """Python's `repr` of a value.

    (py/repr "it's") => "\\"it's\\""
    """
    return repr(object)


# Containers and conversion


@builtin("py/list", type="keep any? -> any fresh", cap="python")
def py_list(items: Any = ()) -> list[Any]:
    """A Python list of the items of anything iterable. It is mutable, and a list to Sema.

    (let ((xs (py/list '(1 2)))) (.append xs 3) xs) => (1 2 3)
    """
    return list(items)


@builtin("py/tuple", type="keep any? -> vector", cap="python")
def py_tuple(items: Any = ()) -> tuple[Any, ...]:
    """A Python tuple, which is a vector, of the items of anything iterable.

    (py/tuple '(1 2)) => [1 2]
    """
    return tuple(items)


@builtin("py/set", type="keep any? -> other fresh", cap="python")
def py_set(items: Any = ()) -> set[Any]:
    """A Python set of the items of anything iterable.

    (py/len (py/set [1 1])) => 1
    """
    return set(items)


@builtin("py/dict", type="keep dict? -> any fresh", cap="python")
def py_dict(entries: Any = NOTHING) -> dict[Any, Any]:
    """A Python dict of the entries of a map. It is mutable, and a map to Sema. Keyword keys become strings; values stay
    as they are (`py/->py` converts them too).

    (py/dict {:a [1]}) => {"a" [1]}
    """
    from sema_runtime.interop import python_key

    return {} if entries is NOTHING else {python_key(key): value for key, value in mapping(entries).pairs()}


@builtin("py/iter->list", type="keep any -> list fresh", cap="python")
def py_iter_to_list(iterable: Any) -> List:
    """A list of the items of anything iterable: generators (which it uses up), sets, files, views.

    (py/iter->list (.keys (py/dict {"a" 1}))) => ("a")
    """
    return List(list(iterable))


@builtin("py/->py", type="keep any -> any", cap="python")
def py_to_py(value: Any) -> Any:
    """Converts Sema data to plain Python data at all levels: lists and dicts, with strings for keywords, symbols and
    characters.

    (py/repr (py/->py {:a '(1 :b)})) => "{'a': [1, 'b']}"
    """
    from sema_runtime.interop import to_python

    return to_python(value)


@builtin("py/->sema", type="keep any, any? -> any", cap="python")
def py_to_sema(value: Any, keywords: Any = True) -> Any:
    """Converts Python data to Sema data at all levels: lists, sets and iterators become lists, tuples vectors, dicts
    maps. String keys become keywords; with #f as second argument they stay strings.

    (py/->sema (py/dict {"a" (py/set [1])})) => {:a (1)}
    (py/->sema (py/dict {"a" 1}) #f) => {"a" 1}
    """
    from sema_runtime.interop import to_sema

    return to_sema(value, keywords is not None and keywords is not False)


# Exceptions


@builtin("py/exception", type="keep dict -> any", cap="python")
def py_exception(condition: Any) -> Any:
    """The Python exception in the map that `catch` binds; nil for errors of Sema.

    (try ((.-loads (py/module "json")) "[") (catch e (.-pos (py/exception e)))) => 1
    """
    return mapping(condition).lookup(PYTHON_EXCEPTION)


@builtin("py/raise", type="keep any -> never", cap="python")
def py_raise(exception: Any) -> NoReturn:
    """Raises a Python exception: an instance, a class, or the map that `catch` has bound for one.

    (try (py/raise ((.-ValueError (py/module "builtins")) "no")) (catch e (:message e))) => "ValueError: no"
    """
    error = py_exception(exception) if type(exception) is Map else exception
    if isinstance(error, BaseException) or (isinstance(error, type) and issubclass(error, BaseException)):
        raise error
    raise SemaError("py/raise: expected an exception of Python", "use throw for values of Sema")
