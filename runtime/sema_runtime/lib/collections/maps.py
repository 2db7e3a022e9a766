"""Maps: looking up, changing, merging. Every function takes sorted maps and hashmaps and keeps the kind."""

from __future__ import annotations

from _collections_abc import Mapping

from sema_runtime.catalogue import builtin
from sema_runtime.conditions.call_form import used_as_value
from sema_runtime.lib.collections.lists import assoc_entry
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.map_keys import KEYS, assoc_key, check_key
from sema_runtime.values.maps import ATOMIC, MISSING, SMALL, HashMap, Map, changed
from sema_runtime.values.sequences import (
    changing,
    first_keyword,
    foreign_lookup,
    foreign_size,
    in_text_order,
    mapping,
    seq,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


_new: Any = Map.__new__
A_KEYWORD = keyword("a")
ASSOC = "assoc: expected a map as the first argument, then key/value pairs"
ASSOC_ARGUMENTS = "assoc: requires (key alist) or (map key val ...)"


@builtin("hash-map", "map/new", type="keep a... -> map a a fresh", pure=True)
def hash_map(*keys_and_values: Any) -> Map:
    """A new map (dictionary) of alternating keys and values.

    (hash-map :a 1 :b 2) => {:a 1 :b 2}
    """
    if len(keys_and_values) % 2:
        raise SemaError("hash-map: requires even number of arguments")
    d: dict[Any, Any] = {}
    pairs = iter(keys_and_values)
    for key in pairs:
        d[key if type(key) in ATOMIC else assoc_key(key, "hash-map")] = next(pairs)
    return Map(d)


@builtin("get", "hash-ref", type="dict a b, any, keep c? -> b|c|nil", pure=True)
def get(collection: Any, key: Any, default: Any = None) -> Any:
    """The value of a key in a map; default (nil) when the key is missing.

    (get {:a 1} :a) => 1
    (get {:a 1} :b 0) => 0
    (get {:a nil} :a 0) => nil
    (get [1 2] 0) ! expected map or hashmap, got vector
    """
    if type(collection) is Map or type(collection) is HashMap:
        if type(key) in ATOMIC:
            return collection.d.get(key, default)
        if type(key) is tuple:
            for item in key:
                if type(item) not in ATOMIC:
                    break
            else:
                return collection.d.get(key, default)
        return collection.lookup(key, default)
    if type(collection) is dict and (type(key) is str or type(key) is int):
        return collection.get(key, default)
    if isinstance(collection, (dict, Mapping)):
        return foreign_lookup(collection, key, default)
    return mapping(collection, _indexing_hint(collection, "get")).lookup(key, default)


def _indexing_hint(value: Any, function: str) -> str:
    if isinstance(value, (List, tuple, list)):
        return f"{function} works on maps; use (nth coll i) to index a list or vector"
    return f"{function}: expected a map as the first argument"


@builtin("contains?", type="dict|str, any -> bool", pure=True)
def is_contains(collection: Any, key: Any) -> bool:
    """Whether a map has a key, even with the value nil. For two strings: whether the first contains the second (an
    extension).

    (contains? {:a nil} :a) => #t
    (contains? {:a 1} :b) => #f
    (contains? "hello" "ell") => #t
    (contains? '(1 2) 1) ! expected map or hashmap, got list
    """
    if type(collection) is Map or type(collection) is HashMap:
        if type(key) in ATOMIC:
            return key in collection.d
        if type(key) is tuple:
            for item in key:
                if type(item) not in ATOMIC:
                    break
            else:
                return key in collection.d
        return bool(collection.has(key))
    if type(collection) is dict and (type(key) is str or type(key) is int):
        return key in collection
    if isinstance(collection, (dict, Mapping)):
        return foreign_lookup(collection, key, MISSING) is not MISSING
    if isinstance(collection, str) and isinstance(key, str):
        return key in collection
    if used_as_value():
        hint = "contains?: argument 1 must be a map; checks for the given key"
    else:
        hint = _indexing_hint(collection, "contains?")
    return mapping(collection, hint).has(key)


@builtin(
    "assoc",
    type=(
        "any, keep list (list a|b) -> list a|bool",
        "map a b|hashmap c b, keep d, keep e -> map (a|d) (b|e)|hashmap (c|d) (b|e)",
        "map a b|hashmap c b, keep d, keep d, keep d... -> map (a|d) (b|d)|hashmap (c|d) (b|d)",
    ),
    pure=True,
    arity=(0, -1),
)
def assoc(collection: Any = MISSING, key: Any = MISSING, value: Any = MISSING, *more: Any) -> Any:
    """Returns a map with entries added or changed: (assoc map key value ...). The map itself stays as it is.

    With two arguments, a key and a list of lists, returns the first list that starts with key, or #f.

    (assoc {:a 1} :b 2 :c 3) => {:a 1 :b 2 :c 3}
    (assoc 2 '((1 "one") (2 "two"))) => (2 "two")
    """
    kind = type(collection)
    if (kind is Map or kind is HashMap) and value is not MISSING:
        d = collection.d
        if len(d) <= SMALL:
            if type(key) not in ATOMIC:
                if len(more) & 1:
                    raise SemaError(ASSOC_ARGUMENTS)
                key = assoc_key(key)
            new: Map = _new(kind)
            new._order = new._face = None
            new.d = d = d.copy()
            d[key] = value
            if more:
                size = len(more)
                if size & 1:
                    raise SemaError(ASSOC_ARGUMENTS)
                index = 0
                while index < size:
                    key = more[index]
                    d[key if type(key) in ATOMIC else assoc_key(key)] = more[index + 1]
                    index += 2
            return new
        if not more:
            return changed(collection, key if type(key) in ATOMIC else assoc_key(key), value)
    if kind is dict and value is not MISSING and not more and type(key) in ATOMIC:
        own = changing(collection, key)  # a new map, which nobody else has
        own.d[key] = value
        return own
    if value is MISSING:
        if isinstance(key, (List, list)):
            return assoc_entry(collection, seq(key))
        raise SemaError(ASSOC_ARGUMENTS)
    if len(more) % 2:
        raise SemaError(ASSOC_ARGUMENTS)
    if type(key) not in KEYS:
        check_key(key, "assoc")
    for other in more[::2]:
        if type(other) not in KEYS:
            check_key(other, "assoc")
    source = changing(collection, key if not more else first_keyword((key, *more[::2])), ASSOC)
    return source.assoc(key, value).assoc_own(more) if more else source.assoc(key, value)


def with_entry(old: Map, key: Any, value: Any) -> Map:
    """`(assoc old key value)`, where the compiler knows that old is a map and that the key is stored as it is."""
    d = old.d
    if len(d) > SMALL:
        return changed(old, key, value)
    new: Map = _new(type(old))
    new._order = new._face = None
    new.d = d = d.copy()
    d[key] = value
    return new


def with_entries(
    old: Map, key: Any, value: Any, key_2: Any, value_2: Any, key_3: Any = MISSING, value_3: Any = None
) -> Map:
    """The same of two or three entries."""
    d = old.d
    if len(d) > SMALL:
        new: Map = changed(changed(old, key, value), key_2, value_2)
        return new if key_3 is MISSING else changed(new, key_3, value_3)
    new = _new(type(old))
    new._order = new._face = None
    new.d = d = d.copy()
    d[key] = value
    d[key_2] = value_2
    if key_3 is not MISSING:
        d[key_3] = value_3
    return new


def set_entry(new: Map, key: Any, value: Any) -> Map:
    """`(assoc new key value)` of a map that `assoc` has just made, which nobody else holds, and of which only entries
    were read. The key is stored as it is."""
    d = new.d
    if len(d) > SMALL:  # the map may have taken it from an older one, which still reads it
        return changed(new, key, value)
    d[key] = value
    return new


def set_entries(new: Map, *entries: Any) -> Map:
    """The same of several keys, each with its value after it."""
    for index in range(0, len(entries), 2):
        new = set_entry(new, entries[index], entries[index + 1])
    return new


@builtin("dissoc", type="keep map a b|hashmap c d, any, any... -> map a b|hashmap c d", pure=True)
def dissoc(collection: Any, key: Any, *more: Any) -> Map:
    """Removes keys from a map: returns a map without their entries. The map itself stays as it is.

    (dissoc {:a 1 :b 2} :a) => {:b 2}
    """
    if type(collection) is not Map:
        hint = "dissoc: expected a map as the first argument, then keys to remove"
        collection = changing(collection, first_keyword((key, *more)), hint)
    source: Map = collection
    return source.without(key, *more)


@builtin(
    "merge",
    type=("-> map never never fresh", "keep map a b|hashmap c b, dict d e... -> map (a|d) (b|e)|hashmap (c|d) (b|e)"),
    pure=True,
    total=True,
)
def merge(*maps: Any) -> Map:
    """Merges maps; the last map that has a key decides its value. The result is of the kind of the first map.

    (merge {:a 1} {:a 2 :b 3}) => {:a 2 :b 3}
    """
    if len(maps) == 2 and type(maps[0]) is type(maps[1]) is Map:
        return maps[0].merged(maps[1])
    hint = "merge: every argument must be a map or hashmap"
    if not maps:
        return Map()
    has_keywords = any(isinstance(each, Map) and Keyword in map(type, each.stable()) for each in maps)
    key = A_KEYWORD if has_keywords else None
    merged = changing(maps[0], key, hint)
    for other in maps[1:]:
        merged = merged.merged(changing(other, key, hint))
    return merged


@builtin("keys", type="dict a b -> flat a", pure=True, total=True)
def keys(collection: Any) -> List:
    """The keys of a map as a list, sorted.

    (keys {:b 1 :a 2}) => (:a :b)
    """
    if type(collection) is not Map:
        names = in_text_order(collection)
        if names is not None:
            return List(names)
        collection = mapping(collection, "keys: expected a map; returns its keys as a list")
    return List(collection.sorted_keys())


@builtin("vals", type="dict a b -> flat b fresh", pure=True, total=True)
def vals(collection: Any) -> List:
    """The values of a map as a list, in the order of their keys.

    (vals {:b 1 :a 2}) => (2 1)
    """
    if type(collection) is not Map:
        collection = mapping(collection, "vals: expected a map; returns its values as a list")
    return List(collection.sorted_values())


@builtin("count", type="seq|str|dict|nil -> nat", pure=True, total=True)
def count(collection: Any) -> int:
    """Counts the elements, entries or characters of a collection; nil has none.

    (count {:a 1 :b 2}) => 2
    (count nil) => 0
    """
    if type(collection) is List:
        return len(collection.flat or collection.items)
    if isinstance(collection, (Map, str, tuple, list, dict)):
        return len(collection)
    size = 0 if collection is None else foreign_size(collection)
    if size is not None:
        return size
    type_error("collection", collection, "count: expected a list, vector, map, or string")


@builtin("hashmap/new", type="keep a... -> hashmap a a fresh", pure=True)
def hashmap_new(*keys_and_values: Any) -> HashMap:
    """A hashmap of alternating keys and values: a map without order, never equal to a sorted one.

    (hashmap/new :a 1) => {:a 1}
    (equal? (hashmap/new :a 1) {:a 1}) => #f
    """
    if len(keys_and_values) % 2:
        raise SemaError("hashmap/new: requires even number of arguments")
    d: dict[Any, Any] = {}
    pairs = iter(keys_and_values)
    for key in pairs:
        d[key if type(key) in ATOMIC else assoc_key(key, "hashmap/new")] = next(pairs)
    return HashMap(d)


def _hashmap(value: Any, function: str) -> HashMap:
    if type(value) is not HashMap:
        type_error("hashmap", value, f"{function}: argument 1 must be a hashmap")
    return value


@builtin("hashmap/get", type="dict a b, any, keep c? -> b|c|nil", pure=True)
def hashmap_get(collection: Any, key: Any, default: Any = None) -> Any:
    """The value of a key in a hashmap or map; default (nil) when the key is missing.

    (hashmap/get (hashmap/new :a 1) :a) => 1
    (hashmap/get (hashmap/new) :a 0) => 0
    """
    source = collection if type(collection) is Map else _hashmap(collection, "hashmap/get")
    return source.lookup(key, default)


@builtin("hashmap/assoc", type="hashmap a b, keep c, keep c, keep c... -> hashmap (a|c) (b|c)", pure=True)
def hashmap_assoc(*args: Any) -> HashMap:
    """Returns a hashmap with entries added or changed: (hashmap/assoc hashmap key value ...).

    (hashmap/assoc (hashmap/new) :a 1) => {:a 1}
    """
    if len(args) < 3 or len(args) % 2 == 0:
        raise SemaError("hashmap/assoc: requires hashmap and even number of key-value pairs")
    for key in args[1::2]:
        check_key(key, "hashmap/assoc")
    result = _hashmap(args[0], "hashmap/assoc")
    for key, value in zip(args[1::2], args[2::2], strict=True):
        result = result.assoc(key, value)
    return result


@builtin("hashmap/contains?", type="hashmap, any -> bool", pure=True)
def hashmap_is_contains(collection: Any, key: Any) -> bool:
    """Whether a hashmap has a key.

    (hashmap/contains? (hashmap/new :a 1) :a) => #t
    """
    return _hashmap(collection, "hashmap/contains?").has(key)


@builtin("hashmap/keys", type="hashmap a b -> flat a", pure=True, total=True)
def hashmap_keys(collection: Any) -> List:
    """The keys of a hashmap.

    (hashmap/keys (hashmap/new :a 1)) => (:a)
    """
    return List(_hashmap(collection, "hashmap/keys").sorted_keys())


@builtin("hashmap/to-map", type="keep hashmap a b -> map a b", pure=True, total=True)
def hashmap_to_map(collection: Any) -> Map:
    """Converts a hashmap to a (sorted) map.

    (hashmap/to-map (hashmap/new :a 1)) => {:a 1}
    """
    return Map(_hashmap(collection, "hashmap/to-map").stable())
