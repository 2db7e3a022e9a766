"""Maps built entry by entry, and entries at a path of keys."""

from __future__ import annotations

from _collections_abc import Mapping

from sema_runtime.catalogue import builtin
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.map_keys import check_key
from sema_runtime.values.maps import ATOMIC, MISSING, Map, stored
from sema_runtime.values.sequences import (
    changing,
    first_keyword,
    foreign_lookup,
    in_text_order,
    mapping,
    not_callable,
    seq,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any


@builtin("map/entries", type="dict a b -> flat flat (a|b) fresh", pure=True, total=True)
def map_entries(collection: Any) -> List:
    """The entries of a map: lists of key and value, in the order of the keys.

    (map/entries {:b 1 :a 2}) => ((:a 2) (:b 1))
    """
    return List(list(map(List, map_pairs(collection))))


def map_pairs(collection: Any) -> list[tuple[Any, Any]]:
    """Keys and values of a map, in the order of the keys. Emitted loops run over them."""
    if type(collection) is Map:
        return collection.pairs()
    names = in_text_order(collection)
    if names is not None:
        return list(zip(names, map(collection.__getitem__, names), strict=True))
    return mapping(collection, "map/entries: expected a map; returns a list of [key value] pairs").pairs()


@builtin("map/from-entries", type="seq (seq a) -> map a a fresh", pure=True)
def map_from_entries(entries: Any) -> Map:
    """Makes a map from a list of entries, each a list or vector of a key and a value.

    (map/from-entries '((:a 1) (:b 2))) => {:a 1 :b 2}
    """
    made: dict[Any, Any] = {}
    for entry in seq(entries, "map/from-entries: expected a list of [key value] pairs"):
        kind = type(entry)
        pair = (
            entry
            if kind is tuple
            else entry.flat or entry.items
            if kind is List
            else seq(entry, "map/from-entries: each entry must be a [key value] pair")
        )
        if len(pair) != 2:
            raise SemaError("map/from-entries: each entry must be a pair (key value)")
        key, value = pair
        if type(key) not in ATOMIC:
            check_key(key, "map/from-entries")
            key = stored(key)
        made[key] = value
    return Map(made)


@builtin("map/zip", type="seq a, seq b -> map a b fresh", pure=True)
def map_zip(keys: Any, values: Any) -> Map:
    """Combines a list of keys and a list of values into a map, up to the end of the shorter.

    (map/zip '(:a :b) '(1 2 3)) => {:a 1 :b 2}
    """
    names = seq(keys, "map/zip: argument 1 must be a list of keys")
    items = seq(values, "map/zip: argument 2 must be a list of values")
    for name in names[: len(items)]:
        check_key(name, "map/zip")
    return Map.of(zip(names, items, strict=False))


@builtin("map/map-vals", type="now (a -> b), map c a|hashmap d a -> map c b|hashmap d b fresh")
def map_map_vals(function: Any, collection: Any) -> Map:
    """Changes the values of a map: the results of calling function with each value.

    (map/map-vals (fn (v) (* v 2)) {:a 1}) => {:a 2}
    """
    source = mapping(collection, "map/map-vals: argument 2 must be a map; applies fn to each value")
    keys, d = source.stored_keys(), source.stable()
    if not callable(function) and keys:
        not_callable(function)
    return type(source)({key: function(d[key]) for key in keys})


@builtin("map/map-keys", type="now (a -> b), map a c|hashmap a d -> map b c|hashmap b d fresh")
def map_map_keys(function: Any, collection: Any) -> Map:
    """Changes the keys of a map: its values under the results of calling function with each key.

    (map/map-keys keyword->string {:a 1}) => {"a" 1}
    """
    source = mapping(collection, "map/map-keys: argument 2 must be a map; applies fn to each key")
    pairs = source.pairs()
    if not callable(function) and pairs:
        not_callable(function)
    renamed: dict[Any, Any] = {}
    for key, value in pairs:
        key = function(key)
        if type(key) not in ATOMIC:
            check_key(key, "map/map-keys")
            key = stored(key)
        renamed[key] = value
    return type(source)(renamed)


@builtin("map/filter", type="now (a|c, b|d -> any), map a b|hashmap c d -> map a b|hashmap c d fresh")
def map_filter(predicate: Any, collection: Any) -> Map:
    """Keeps the entries of a map for which (predicate key value) holds.

    (map/filter (fn (k v) (> v 1)) {:a 1 :b 2}) => {:b 2}
    """
    source = mapping(collection, "map/filter: argument 2 must be a map; predicate receives (key value)")
    keys, kept, d = source.sorted_keys(), source.stored_keys(), source.stable()
    if not callable(predicate) and keys:
        not_callable(predicate)
    return type(source)(
        {
            own: value
            for key, own in zip(keys, kept, strict=True)
            if (held := predicate(key, value := d[own])) is not None and held is not False
        }
    )


@builtin("map/select-keys", type="map a b|hashmap c d, seq e -> map e b|hashmap e d fresh", pure=True)
def map_select_keys(collection: Any, keys: Any) -> Map:
    """Keeps the entries of a map that have one of the keys of a list.

    (map/select-keys {:a 1 :b 2} '(:b :z)) => {:b 2}
    """
    if not isinstance(keys, (List, tuple, list)):
        type_error("list", keys, "map/select-keys: argument 2 must be a list of keys to keep")
    source: Map = collection
    if type(source) is not Map:
        source = changing(collection, first_keyword(keys), "map/select-keys: argument 1 must be a map")
    d, kept = source.stable(), {}
    for key in keys:
        if type(key) not in ATOMIC:
            key = stored(key)
        if key in d:
            kept[key] = d[key]
    return type(source)(kept)


@builtin("map/except", type="keep map a b|hashmap c d, seq -> map a b|hashmap c d", pure=True)
def map_except(collection: Any, keys: Any) -> Map:
    """Removes the keys of a list from a map.

    (map/except {:a 1 :b 2} '(:b)) => {:a 1}
    """
    unwanted = seq(keys, "map/except: argument 2 must be a list of keys to exclude")
    source: Map = collection
    if type(source) is not Map:
        source = changing(collection, first_keyword(unwanted), "map/except: argument 1 must be a map")
    return source.without(*unwanted)


@builtin("map/sort-keys", type="keep dict a b -> map a b", pure=True, total=True)
def map_sort_keys(collection: Any) -> Map:
    """The (sorted) map with the entries of a map or hashmap.

    (map/sort-keys {:b 1 :a 2}) => {:a 2 :b 1}
    """
    source = mapping(collection, "map/sort-keys: argument 1 must be a map; returns it with keys sorted")
    return source if type(source) is Map else Map(source.stable())


@builtin("map/update", type="map a b|hashmap c b, keep d, now (b|nil -> e) -> map (a|d) (b|e)|hashmap (c|d) (b|e)")
def map_update(collection: Any, key: Any, function: Any) -> Map:
    """Replaces the value under key by the result of calling function with it, or with nil when there is none.

    (map/update {:n 1} :n (fn (n) (+ n 1))) => {:n 2}
    (map/update {} :n (fn (n) (+ (or n 0) 1))) => {:n 1}
    """
    collection = updated_map(collection, key)
    if not callable(function):
        not_callable(function)
    return collection.assoc(key, function(collection.lookup(key)))  # type: ignore[no-any-return]


def updated_map(collection: Any, key: Any) -> Map:
    """The map of which `map/update` replaces the value under key; raises for what is no map, and for a mutable key."""
    if type(key) not in ATOMIC:
        check_key(key, "map/update")
    if type(collection) is not Map:
        collection = changing(collection, key, "map/update: argument 1 must be a map; applies fn to the value at key")
    return collection  # type: ignore[no-any-return]


def level_of(value: Any, key: Any, name: str) -> Map:
    """The map at one level of the path of `update-in` or `assoc-in`, whose value under key is replaced: an empty one
    for what is no map. Raises for a mutable key."""
    if type(key) not in ATOMIC:
        check_key(key, name)
    if type(value) is Map:
        return value
    return changing(value, key) if isinstance(value, Mapping) else Map()


def held_at(value: Any, key: Any, default: Any = None) -> Any:
    """What `get-in` finds under one key of its path; default where there is nothing, and in what is no map."""
    if type(value) is Map:
        return value.d.get(key, default) if type(key) in ATOMIC else value.lookup(key, default)
    if isinstance(value, Map):
        return value.lookup(key, default)
    return foreign_lookup(value, key, default) if isinstance(value, Mapping) else default


def _path(value: Any, function: str) -> Sequence[Any]:
    return seq(value, f"{function}: argument 2 must be a list/vector path of keys")


@builtin("get-in", "map/get-in", type="keep any, seq, keep any? -> any", pure=True)
def get_in(collection: Any, path: Any, default: Any = None) -> Any:
    """The value at a path of keys in a nested map; default (nil) when a key is missing.

    (get-in {:a {:b 42}} [:a :b]) => 42
    (get-in {:a {:b 42}} [:x :b] 0) => 0
    """
    value = collection
    for key in path if type(path) is tuple else _path(path, "get-in"):
        if type(value) is Map:
            value = value.d.get(key, MISSING) if type(key) in ATOMIC else value.lookup(key, MISSING)
        elif isinstance(value, Map):
            value = value.lookup(key, MISSING)
        elif isinstance(value, Mapping):
            value = foreign_lookup(value, key, MISSING)
        else:
            return default
        if value is MISSING:
            return default
    return value


@builtin("assoc-in", "map/assoc-in", type="keep any, keep seq, keep any -> any", pure=True)
def assoc_in(collection: Any, path: Any, value: Any) -> Any:
    """Sets the value at a path of keys in a nested map. A value on the path that isn't a map is replaced by one.

    (assoc-in {:a {:b 1}} [:a :b] 2) => {:a {:b 2}}
    (assoc-in {} [:a :b] 2) => {:a {:b 2}}
    """
    return _replaced(collection, _path(path, "assoc-in"), "assoc-in", lambda old: value)


@builtin("update-in", "map/update-in", type="keep any, keep seq, now (any -> any) -> any")
def update_in(collection: Any, path: Any, function: Any) -> Any:
    """Replaces the value at a path of keys in a nested map by the result of calling function with it, or with nil when
    there is none.

    (update-in {:a {:b 1}} [:a :b] (fn (n) (+ n 1))) => {:a {:b 2}}
    """
    keys = _path(path, "update-in")
    if not callable(function):
        not_callable(function)
    return _replaced(collection, keys, "update-in", function)


def _replaced(collection: Any, path: Sequence[Any], name: str, function: Any) -> Any:
    """The collection with function applied to the value at path; an empty path means the collection itself."""
    levels: list[Map] = []
    value = collection
    for key in path:
        if type(key) in ATOMIC:
            if type(value) is Map:
                levels.append(value)
                value = value.d.get(key)
                continue
        else:
            check_key(key, name)
        level: Map = value if type(value) is Map else changing(value, key) if isinstance(value, Mapping) else Map()
        levels.append(level)
        value = level.lookup(key)
    replacement = function(value)
    for level, key in zip(reversed(levels), reversed(path), strict=True):
        replacement = level.assoc(key, replacement)
    return replacement


@builtin("deep-merge", "map/deep-merge", type="keep any... -> any", pure=True)
def deep_merge(*maps: Any) -> Any:
    """Merges nested maps: two maps under the same key are merged too; any other value replaces the earlier one.

    (deep-merge {:a {:b 1 :c 2}} {:a {:b 9}}) => {:a {:b 9 :c 2}}
    """
    if not maps:
        return Map()
    merged = maps[0]
    for other in maps[1:]:
        merged = _deep_merged(merged, other)
    return merged


def _deep_merged(old: Any, new: Any) -> Any:
    if not isinstance(old, Map) or not isinstance(new, Map):
        return new
    entries = dict(old.stable())
    for key, value in new.stable().items():
        entries[key] = _deep_merged(entries[key], value) if key in entries else value
    return Map(entries)
