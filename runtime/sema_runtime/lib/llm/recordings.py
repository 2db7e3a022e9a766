"""Stored replies: the cache of `llm/with-cache` and the tapes of `llm/with-cassette`."""

from __future__ import annotations

from typing import Any

from sema_runtime.catalogue import builtin
from sema_runtime.support.options import is_function
from sema_runtime.support.scoped import within
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import Map

# Cache


@builtin("llm/with-cache", type=("now (-> a) -> a", "dict|nil, now (-> a) -> a"), arity=(1, 2))
def llm_with_cache(*arguments: Any) -> Any:
    """Calls thunk and returns its value; a request that was answered in the last :ttl seconds (default 3600) is not
    sent again and costs nothing.

    Called as `(llm/with-cache [options] thunk)`. Answers are also kept in the user's folder, for other programs and
    later runs. Streams, batches, embeddings and answers that call tools are not kept.

    (define calls 0)
    (llm/define-provider :echo {:complete (fn (req) (set! calls (+ calls 1)) "hi") :default-model "echo"})
    (llm/with-cache {:ttl 600} (fn () (llm/complete "a") (llm/complete "a") calls)) => 1
    """
    from sema_runtime.llm.recordings import cache
    from sema_runtime.support import options as opt

    *options, thunk = arguments
    ttl = opt.number(opt.options_map(options[0]), "ttl") if options else None
    settings = cache.Settings(cache.DEFAULT_TTL if ttl is None else ttl)
    return within(cache.scope, settings, thunk)


@builtin("llm/cache-key", type="str, dict? -> str", pure=True)
def llm_cache_key(text: Any, options: Any = None) -> str:
    """The key under which the cache keeps the answer to a text. Options: :model ("") :temperature :system.

    (= (llm/cache-key "hi") (llm/cache-key "hi" {:temperature 1.0})) => #f
    """
    from sema_runtime.llm.messages import Message
    from sema_runtime.llm.recordings import cache
    from sema_runtime.support import options as opt

    if not isinstance(text, str):
        type_error("string", text)
    settings = opt.options_map(options)
    model = opt.text(settings, "model") or ""
    return cache.key(model, opt.number(settings, "temperature"), opt.text(settings, "system"), [Message("user", text)])


@builtin("llm/cache-stats", type="-> map keyword int fresh")
def llm_cache_stats() -> Map:
    """{:hits :misses :size} of this process; size counts entries in memory.

    (:size (llm/cache-stats)) => 0
    """
    from sema_runtime.llm.recordings.cache import store

    return Map({keyword("hits"): store.hits, keyword("misses"): store.misses, keyword("size"): len(store.entries)})


@builtin("llm/cache-clear", type="-> int")
def llm_cache_clear() -> int:
    """Empties the cache, also on disk unless sandboxed, and returns the number of entries that were in memory.

    (llm/cache-clear) => 0
    """
    from sema_runtime.llm.recordings.cache import store

    return store.clear()


# Cassettes


def _cassette_arguments(function: str, path: Any, options: Any) -> tuple[str, str]:
    """(path, mode), once a sandbox allows the file."""
    from sema_runtime import capabilities
    from sema_runtime.support import options as opt
    from sema_runtime.support.file_access import checked

    if not isinstance(path, str):
        type_error("string", path)
    mode = opt.name_or_text(opt.options_map(options), "mode") or "auto"
    capabilities.require(function, "fs-read")
    if mode.strip().lower() != "replay":
        capabilities.require(function, "fs-write")
    return checked(function, path), mode


@builtin("llm/with-cassette", type=("str, now (-> a) -> a", "str, dict|nil, now (-> a) -> a"), arity=(2, 3))
def llm_with_cassette(path: Any, *rest: Any) -> Any:
    """Calls thunk and returns its value; calls to models are replayed from a file, and recorded in it when they are
    new.

    Called as `(llm/with-cassette path [options] thunk)`. Option :mode: :auto (default), :replay (never call; a call
    that isn't in the file raises an error), :record (always call). A call is identified by its model, temperature,
    system text and messages; the first recording is replayed. `sema cassette` shows such files.

    (llm/define-provider :echo {:complete (fn (req) "first") :default-model "echo"})
    (llm/with-cassette "calls.jsonl" (fn () (llm/complete "a")))
    (llm/define-provider :echo {:complete (fn (req) "second") :default-model "echo"})
    (llm/with-cassette "calls.jsonl" {:mode :replay} (fn () (llm/complete "a"))) => "first"
    """
    from sema_runtime.llm.recordings import cassette

    *options, thunk = rest
    file, mode = _cassette_arguments("llm/with-cassette", path, options[0] if options else None)
    if not is_function(thunk):
        type_error("function", thunk)
    return within(cassette.scope, cassette.Cassette(file, mode), thunk)


@builtin("llm/cassette-load", type="str, dict? -> nil")
def llm_cassette_load(path: Any, options: Any = None) -> None:
    """Replays and records calls from now on, as llm/with-cassette does for a function; inside llm/with-cassette, until
    its end.

    (llm/define-provider :echo {:complete (fn (req) "hi") :default-model "echo"})
    (llm/cassette-load "calls.jsonl")
    (llm/complete "a")
    (file/exists? "calls.jsonl") => #t
    """
    from sema_runtime.llm.recordings import cassette

    cassette.load(*_cassette_arguments("llm/cassette-load", path, options))


@builtin("llm/cassette-save", type="-> bool")
def llm_cassette_save() -> bool:
    """Returns whether a cassette is loaded. Calls are written to disk as they are recorded.

    (llm/cassette-load "calls.jsonl")
    (llm/cassette-save) => #t
    """
    from sema_runtime.llm.recordings import cassette

    return cassette.current() is not None


@builtin("llm/cassette-eject", type="-> bool")
def llm_cassette_eject() -> bool:
    """Removes the current cassette and returns whether there was one.

    (llm/cassette-load "calls.jsonl")
    (llm/cassette-eject) => #t
    """
    from sema_runtime.llm.recordings import cassette

    return cassette.eject()
