"""Builtins and functions of the runtime that passes know by name."""

from __future__ import annotations

KEYWORD_GET = "sema_runtime.values.lookup:keyword_get"  # what `(:key map)` calls
BREAKPOINT = "builtins:breakpoint"
TAIL_OF = "sema_runtime.values.lists:tail_of"  # the list of the items of a sequence from an index on
STORED = "sema_runtime.values.maps:stored"  # a key as a dict has it
WITH_ENTRY = "sema_runtime.lib.collections.maps:with_entry"  # `assoc` of a key stored as it is
WITH_ENTRIES = "sema_runtime.lib.collections.maps:with_entries"  # the same of two or three keys
NEW_KEY = "sema_runtime.values.map_keys:assoc_key"  # the same of a key that is added; raises for a mutable one

# Maps that are tuples with an item for each keyword (optimize/rows/shapes.py)
FIELD = "sema_runtime.values.lookup:field"  # what `(:key map)` calls
FIELD_LOOK = "sema_runtime.values.lookup:field_or_nil"  # a step of `get-in`
RESTORED = "sema_runtime.lib.collections.restored:restored"  # lists and maps in place of such tuples, and of rows
SHAPE, ROW, OTHER, NOTHING = 0, 1, 2, -1  # what it is told of places: maps, lists, neither; the number of none
FIELD_LEVEL = "sema_runtime.values.lookup:field_level"  # a level of the path of an update

KEY_SETS = "sema_runtime.lib.collections.key_sets:"
MERGE_INTO = KEY_SETS + "merge_into"  # `merge` of a bare dict and a map
FILLS = frozenset((MERGE_INTO, *(KEY_SETS + name for name in ("fill", "fill_all", "fill_common", "fill_others"))))
CHAR_KEYED = "sema_runtime.values.atoms:char_keyed"  # a bare dict under characters, of one under their texts
CHECKED_TEXT = "sema_runtime.lib.text.strings:checked_text"  # what `string->list` takes, or its error
TAKE_CONSED = "sema_runtime.lib.collections.list_slices:take_consed"  # `(take count (cons head tail))`

ROWS = "sema_runtime.lib.collections.rows:"
OVER_ROWS = {
    ("append",): ROWS + "joined_rows",
    ("vector",): ROWS + "vector_of",
    ("map", "list"): ROWS + "columns",
    ("map", "vector"): ROWS + "column_vectors",
}  # functions that `apply` hands one list to → what the runtime does with that list
LISTS_OF_ROWS = frozenset(OVER_ROWS.values()) - {ROWS + "vector_of"}

PUSH_ALL = "sema_runtime.lib.collections.lists:push_all"  # of a stack
MAP_CLASSES = ("sema_runtime.values.maps:Map", "sema_runtime.values.maps:HashMap")  # what makes a map of a bare dict

# Kinds of operations of Python that make a list of the language → those that make its items alone
ITEMS_OF = {
    "split": "split_items", "sorted": "sorted_items", "flat_rest": "flat_rest_items", "listed": "first_of",
    "listed_after": "items_after", "listed_part": "items_part",
}  # fmt: skip

# What builtins that update maps are made of (optimize/loops/updates.py): the map that is updated at a key, checked as
# `map/update` does; the map at a level of a path, a new one where there is none; what a level of a path holds.
UPDATED = "sema_runtime.lib.collections.map_entries:updated_map"
LEVEL = "sema_runtime.lib.collections.map_entries:level_of"
LOOK = "sema_runtime.lib.collections.map_entries:held_at"

# As in the reference, calls of OPERATORS with literals ignore inner definitions of the name (analyze/folding.py), those
# of INTRINSICS ignore `set!`.
OPERATORS = frozenset(["+", "-", "*", "/", "<", ">", "<=", ">=", "=", "not"])
INTRINSICS = OPERATORS | frozenset([
    "car", "cdr", "cons", "length", "null?", "nth", "get", "append", "mod", "modulo", "first", "rest",
    "string-length", "pair?", "list?", "number?", "string?", "symbol?", "contains?", "string-ref",
])  # fmt: skip
# Builtins that say something of a character → the table of it, in lib/text/chars.py
CHAR_TABLES = {
    "char-alphabetic?": "ALPHABETIC", "char-numeric?": "NUMERIC", "char-whitespace?": "WHITE",
    "char-upper-case?": "UPPER_CASE", "char-lower-case?": "LOWER_CASE",
    "char-upcase": "UPCASED", "char-downcase": "DOWNCASED",
}  # fmt: skip
# multimethods all of whose methods are known (optimize/dispatch.py)
KNOWN_MULTI = "sema_runtime.lib.language.multimethods:known_multimethod"
BY_DEFAULT = "sema_runtime.lib.language.multimethods:call_default"  # where none of the known methods is for a value
ADD_KNOWN = "sema_runtime.lib.language.multimethods:add_known_method"
ADD_OWN = "sema_runtime.lib.language.multimethods:add_own_method"  # in a module, where nothing else of it sees it
ADD_SEEN = "sema_runtime.lib.language.multimethods:add_seen_method"  # in a module, where something does
EXTENDED = "sema_runtime.lib.language.multimethods:is_extended"
AS_LIST = "sema_runtime.values.lists:as_list"  # at the entry of a function that reads a list (versions/foreign.py)
GIVEN_BACK = "sema_runtime.values.lists:given_back"
VALUES_TUPLE = "sema_runtime.values.records:values_tuple"
