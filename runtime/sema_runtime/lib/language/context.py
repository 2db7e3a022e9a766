"""The context: values that functions called below can see. Frames are opened by `context/with` and inherited by tasks.

A frame is immutable and the chain of frames is one context variable, so a task sees the frames it was started under and
keeps its own changes to itself. Stacks (`context/push`) and hidden values don't belong to a frame.
"""

from __future__ import annotations

from contextvars import ContextVar

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import EMPTY, List
from sema_runtime.values.maps import MISSING, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

NOTHING = Map()
NO_FRAMES: tuple[Map, ...] = (NOTHING,)

_frames: ContextVar[tuple[Map, ...]] = ContextVar("frames", default=NO_FRAMES)  # outermost first
_stacks: ContextVar[Map] = ContextVar("stacks", default=NOTHING)
_hidden: ContextVar[Map] = ContextVar("hidden", default=NOTHING)


def _map(value: Any) -> Map:
    if type(value) is not Map:
        type_error("map", value)
    return value


@builtin("context/get", type="any -> any")
def context_get(key: Any) -> Any:
    """The value of key in the innermost frame of the context that has it; nil when there is none.

    (context/set :user "ada")
    (context/get :user) => "ada"
    (context/get :nobody) => nil
    """
    for frame in reversed(_frames.get()):
        value = frame.lookup(key, MISSING)
        if value is not MISSING:
            return value
    return None


@builtin("context/has?", type="any -> bool")
def context_is_has(key: Any) -> bool:
    """Whether some frame of the context has the key.

    (context/set :user nil)
    (context/has? :user) => #t
    """
    return any(frame.has(key) for frame in _frames.get())


@builtin("context/set", type="keep any, keep any -> nil")
def context_set(key: Any, value: Any) -> None:
    """Sets key in the innermost frame of the context, for all functions called from here on.

    (context/set :user "ada")
    (context/get :user) => "ada"
    """
    *outer, frame = _frames.get()
    _frames.set((*outer, frame.assoc(key, value)))


@builtin("context/merge", type="keep map -> nil")
def context_merge(entries: Any) -> None:
    """Sets all entries of a map in the innermost frame of the context.

    (context/merge {:user "ada" :step 1})
    (context/get :step) => 1
    """
    *outer, frame = _frames.get()
    _frames.set((*outer, frame.merged(_map(entries))))


@builtin("context/remove", type="any -> any")
def context_remove(key: Any) -> Any:
    """Removes key from all frames of the context and returns its value, or nil when there was none.

    (context/set :user "ada")
    (context/remove :user) => "ada"
    """
    value = context_get(key)
    _frames.set(tuple(frame.without(key) for frame in _frames.get()))
    return value


@builtin("context/pull", type="any -> any")
def context_pull(key: Any) -> Any:
    """Takes key out of the context: removes it from all frames and returns its value, or nil when there was none.

    (context/set :user "ada")
    (context/pull :user) => "ada"
    (context/get :user) => nil
    """
    return context_remove(key)


@builtin("context/all", type="-> map")
def context_all() -> Map:
    """All visible entries of the context, as a map.

    (context/set :user "ada")
    (context/with {:step 1} (fn () (context/all))) => {:step 1 :user "ada"}
    """
    merged = Map()
    for frame in _frames.get():
        merged = merged.merged(frame)
    return merged


@builtin("context/clear", type="-> nil")
def context_clear() -> None:
    """Empties all frames of the context; stacks and hidden values stay.

    (context/set :user "ada")
    (context/clear)
    (context/all) => {}
    """
    _frames.set((Map(),) * len(_frames.get()))


@builtin("context/with", type="keep map, now ( -> a) -> a")
def context_with(entries: Any, thunk: Any) -> Any:
    """Calls thunk with the entries of a map in the context and returns its value.

    (context/with {:user "ada"} (fn () (context/get :user))) => "ada"
    (context/get :user) => nil
    """
    frame = _map(entries)
    if not callable(thunk) or type(thunk) is Keyword:
        type_error("function", thunk)
    depth = len(_frames.get())
    _frames.set((*_frames.get(), frame))
    try:
        return thunk()
    finally:
        _frames.set(_frames.get()[:depth])  # not reset: removals reach the outer frames


@builtin("context/push", type="keep any, keep any -> nil")
def context_push(key: Any, value: Any) -> None:
    """Pushes a value onto the stack called name.

    (context/push :path "a")
    (context/push :path "b")
    (context/stack :path) => ("a" "b")
    """
    stacks = _stacks.get()
    _stacks.set(stacks.assoc(key, List([*stacks.lookup(key, EMPTY), value])))


@builtin("context/pop", type="any -> any")
def context_pop(key: Any) -> Any:
    """Pops the last value off a named stack and returns it; nil when the stack is empty.

    (context/push :path "a")
    (context/pop :path) => "a"
    (context/pop :path) => nil
    """
    stacks = _stacks.get()
    items = stacks.lookup(key, EMPTY).items
    if not items:
        return None
    _stacks.set(stacks.assoc(key, List(items[:-1])))
    return items[-1]


@builtin("context/stack", type="any -> list")
def context_stack(key: Any) -> Any:
    """The values of a named stack, oldest first.

    (context/push :path "a")
    (context/stack :path) => ("a")
    """
    return _stacks.get().lookup(key, EMPTY)


@builtin("context/set-hidden", type="keep any, keep any -> nil")
def context_set_hidden(key: Any, value: Any) -> None:
    """Sets a value that only context/get-hidden shows.

    (context/set-hidden :token "t")
    (context/all) => {}
    """
    _hidden.set(_hidden.get().assoc(key, value))


@builtin("context/get-hidden", type="any -> any")
def context_get_hidden(key: Any) -> Any:
    """The hidden value of key; nil when there is none.

    (context/set-hidden :token "t")
    (context/get-hidden :token) => "t"
    (context/get :token) => nil
    """
    return _hidden.get().lookup(key)


@builtin("context/has-hidden?", type="any -> bool")
def context_is_has_hidden(key: Any) -> bool:
    """Whether there is a hidden value of key.

    (context/set-hidden :token "t")
    (context/has-hidden? :token) => #t
    """
    return _hidden.get().has(key)
