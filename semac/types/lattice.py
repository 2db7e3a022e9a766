"""The lattice of types. A type is a union with one slot for each kind of value; equal types are one object.

`tags` says which kinds of values a type admits, and ints of which sign and size; the other fields what is known of
those: the items of a list, of a vector, of a map's keys and values, the fields of a map written with fixed keyword
keys (its shape), which arrays, records and functions a value can be. ANY admits all; NEVER nothing.

Joining is memoized, so that the cost of inference doesn't depend on how large types are written. Types that name
functions, arrays or records of a unit are forgotten when nothing is compiled any more (`compiling`).
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

(NEGATIVE, ZERO, POSITIVE, FLOAT, RATIO, TRUE, FALSE, NIL, STR, CHAR, KEYWORD, SYMBOL, LINKED, FLAT, VECTOR, ARRAY, MAP,
 HASHMAP, RECORD, FN, BYTES, OTHER, HUGE) = (1 << bit for bit in range(23))  # fmt: skip
ALL = (1 << 23) - 1
LIST = LINKED | FLAT  # FLAT alone: lists that surely have their items at hand as a sequence (`List.flat`)
COUNT = ZERO | POSITIVE
SIGNS = NEGATIVE | COUNT
NATURAL = COUNT | HUGE  # HUGE, beside signs: ints that may be too large for a float; without it, they surely aren't
INT = NEGATIVE | NATURAL
ABOVE_ZERO = POSITIVE | HUGE
BOOL = TRUE | FALSE
REAL = INT | FLOAT
NUMBER = REAL | RATIO
FALSY = NIL | FALSE
DICT = MAP | HASHMAP
SEQUENCE = LIST | VECTOR
CONTAINER = SEQUENCE | DICT
WITH_FORM = LIST | VECTOR | DICT | CHAR  # kinds of values that can be represented in several ways
MIXED = "mixed"  # the form of a union whose parts have several
MAX_DEPTH = 4  # of containers in containers, before what is inside counts as unknown
MAX_MEMBERS = 16  # functions, arrays or records that a union names one by one
MAX_FIELDS = 32  # of the shape of maps that are written with different keys
NAMES = {
    "int": INT, "float": FLOAT, "rational": RATIO, "true": TRUE, "false": FALSE, "nil": NIL, "str": STR, "char": CHAR,
    "keyword": KEYWORD, "symbol": SYMBOL, "list": LIST, "vector": VECTOR, "array": ARRAY, "map": MAP,
    "hashmap": HASHMAP, "record": RECORD, "fn": FN, "bytevector": BYTES, "other": OTHER,
}  # fmt: skip

SIGNED = {
    SIGNS: "int", COUNT: "nat", POSITIVE: "pos", ZERO: "zero", NEGATIVE: "neg", NEGATIVE | ZERO: "neg|zero",
    NEGATIVE | POSITIVE: "neg|pos",
}  # fmt: skip

Members = frozenset[Any] | None  # None: unknown
Shape = tuple[tuple[Any, "Type"], ...]


class Type:
    """A type. Made by `make` alone, which keeps one object for equal types."""

    __slots__ = (
        "arrays", "depth", "fns", "form", "is_local", "is_vague", "item", "joins", "key", "nodes", "optional",
        "records", "refs", "row", "shape", "tags", "value", "vec", "vitem",
    )  # fmt: skip
    tags: int
    item: Type  # of a list; NEVER where there is no list
    row: tuple[Type, ...] | None  # the items of a list of known length
    vec: tuple[Type, ...] | None  # the items of a vector of known length
    vitem: Type  # what any item of a vector is
    arrays: Members  # where an array was made (`Site`)
    key: Type
    value: Type
    shape: Shape | None  # the fields of a map which has no other keys than these keywords
    optional: frozenset[Any]  # the keywords of the shape that the map may lack
    records: Members  # the record types
    fns: Members  # functions of the program, and names of builtins
    nodes: frozenset[Any]  # of containers of which the rest says nothing: `Node`s of recursive types, and another type
    form: str  # how a value is represented: "" as the runtime has it
    refs: frozenset[Any]  # functions, arrays and types of records of the unit that can be reached through a value
    is_local: bool  # names something of a unit
    is_vague: bool  # functions or arrays that it doesn't name can be reached through a value
    depth: int
    joins: dict[Type | int, Type]  # what came of joining it with types, and of restricting it to tags

    def __repr__(self) -> str:
        return show(self)

    def only(self, tags: int) -> bool:
        """Whether a value surely has one of the tags."""
        return self.tags != 0 and not self.tags & ~tags


EMPTY: frozenset[Any] = frozenset()
MOST_TYPES = 20_000  # types that are kept from one unit to the next


class _Tables:
    """Every type there is, by its parts. local: those that name something of a unit."""

    def __init__(self) -> None:
        self.shared: dict[Any, Type] = {}
        self.local: dict[Any, Type] = {}
        self.users = 0  # units that are being compiled, in any thread
        self.lock = threading.Lock()


class _Lost(threading.local):
    """What could be reached by types that were joined, and can't be told by the joined type any more."""

    def __init__(self) -> None:
        self.refs: set[Any] = set()


_tables = _Tables()
_lost = _Lost()


@contextmanager
def compiling() -> Iterator[None]:
    """Around the work on one unit: types of units are forgotten when the last one is done, all when they are many."""
    with _tables.lock:
        _tables.users += 1
    try:
        yield
    finally:
        with _tables.lock:
            _tables.users -= 1
            if not _tables.users:
                _tables.local.clear()
                if len(_tables.shared) > MOST_TYPES:
                    _forget()


def _forget() -> None:
    """Forgets all types but atoms. A type that somebody kept is equal to no new one, which costs joins alone."""
    for type_ in _tables.shared.values():
        type_.joins.clear()
    _tables.shared.clear()
    _tables.shared.update((_identity(type_), type_) for type_ in _atoms.values() if type_ is not NEVER)


def take_lost() -> set[Any]:
    """The functions and arrays that joins of this thread have lost sight of since this was last asked."""
    if not _lost.refs:
        return _lost.refs
    refs, _lost.refs = _lost.refs, set()
    return refs


def lose(refs: Iterable[Any]) -> None:
    """Notes functions and arrays that a new type can't tell any more."""
    _lost.refs.update(refs)


def _new(tags: int, depth: int = 0) -> Type:
    new = Type.__new__(Type)
    new.tags, new.depth, new.form, new.refs, new.joins = tags, depth, "", EMPTY, {}
    new.vec = new.shape = new.row = None
    new.arrays = new.records = new.fns = None
    new.optional = new.nodes = EMPTY
    new.is_local = new.is_vague = False
    return new


def _identity(type_: Type) -> tuple[Any, ...]:
    return (
        type_.tags, type_.item, type_.vec, type_.vitem, type_.arrays, type_.key, type_.value, type_.shape,
        type_.records, type_.fns, type_.form, type_.row, type_.optional, type_.nodes,
    )  # fmt: skip


NEVER, ANY = _new(0), _new(ALL)
for _type in (NEVER, ANY):
    _type.item = _type.vitem = _type.key = _type.value = _type
ANY.is_vague = True
_atoms: dict[int, Type] = {0: NEVER, ALL: ANY}
_tables.shared[_identity(ANY)] = ANY


def make(
    tags: int,
    item: Type | None = None,
    vec: tuple[Type, ...] | None = None,
    vitem: Type | None = None,
    arrays: Members = None,
    key: Type | None = None,
    value: Type | None = None,
    shape: Shape | None = None,
    records: Members = None,
    fns: Members = None,
    form: str = "",
    row: tuple[Type, ...] | None = None,
    optional: frozenset[Any] = EMPTY,
    nodes: frozenset[Any] = EMPTY,
) -> Type:
    """The type of these tags; what isn't given of a tag is unknown, what is given of an absent one is ignored."""
    if tags & HUGE and not tags & (NEGATIVE | POSITIVE):
        tags -= HUGE
    if not tags:
        return NEVER
    if not tags & LIST:
        item, row = NEVER, None
    elif row is not None:
        item = join_all(row)
    elif item is None:
        item = ANY
    if not tags & VECTOR:
        vec, vitem = None, NEVER
    elif vec is not None:
        vitem = join_all(vec)
    elif vitem is None:
        vitem = ANY
    if not tags & DICT:
        key = value = NEVER
        shape = None
    elif shape is not None:
        key, value = (atom(KEYWORD) if shape else NEVER), join_all(part for _, part in shape)
    else:
        key, value = ANY if key is None else key, ANY if value is None else value
    optional = EMPTY if shape is None else optional
    arrays = arrays if tags & ARRAY else EMPTY
    records = records if tags & RECORD else EMPTY
    fns = fns if tags & FN else EMPTY
    nodes = nodes if tags & CONTAINER else EMPTY
    identity = (tags, item, vec, vitem, arrays, key, value, shape, records, fns, form, row, optional, nodes)
    known = _tables.shared.get(identity) or _tables.local.get(identity)
    if known is not None:
        return known
    new = _new(tags)
    new.item, new.vec, new.vitem, new.arrays, new.row = item, vec, vitem, arrays, row
    new.key, new.value, new.shape, new.optional = key, value, shape, optional
    new.records, new.fns, new.form, new.nodes = records, fns, form, nodes
    _describe(new)
    (_tables.local if new.is_local else _tables.shared)[identity] = new
    return new


def _describe(new: Type) -> None:
    """Fills in what follows from the parts of a type."""
    named = (new.arrays or EMPTY) | (new.records or EMPTY) | (new.fns or EMPTY)
    new.refs = frozenset(ref for ref in named if type(ref) is not str) if named else EMPTY  # a string names a builtin
    new.is_local = bool(new.refs or new.records)
    new.is_vague = new.arrays is None or new.fns is None
    if not new.tags & (LIST | VECTOR | DICT):
        return
    for part in (new.item, new.vitem, new.key, new.value):  # what is inside of `vec`, `row` and `shape` is in these
        new.refs |= part.refs
        new.is_vague = new.is_vague or part.is_vague
    inner = [new.item, new.vitem, new.key, new.value, *(new.row or ()), *(new.vec or ())]
    inner += (part for _, part in new.shape or ())
    new.depth = max((part.depth + 1 for part in inner if part is not ANY and part is not NEVER), default=0)
    new.is_local = new.is_local or bool(new.nodes) or any(part.is_local for part in inner)
    for node in new.nodes:
        if type(node) is Type:
            new.refs |= node.refs
            new.depth = max(new.depth, node.depth)
        else:
            new.refs |= {node}


def atom(tags: int) -> Type:
    """The type of tags of which nothing more is known."""
    known = _atoms.get(tags)
    if known is None:
        known = _atoms[tags] = make(tags)
    return known


def row_of(*items: Type, tags: int = FLAT) -> Type:
    """A list of known length."""
    return make(tags, row=items)


def list_of(item: Type, tags: int = LIST) -> Type:
    return make(tags, item=item)


def vector_of(*items: Type) -> Type:
    return make(VECTOR, vec=items)


def dict_of(tags: int, key: Type, value: Type) -> Type:
    return make(tags, key=key, value=value)


def shape_of(fields: dict[Any, Type], optional: frozenset[Any] = EMPTY) -> Type:
    """A sorted map with these keyword keys, of which it may lack the optional ones."""
    return make(MAP, shape=_sorted_fields(fields), optional=optional)


def function_of(*members: Any) -> Type:
    return make(FN, fns=frozenset(members))


def join(a: Type, b: Type) -> Type:
    """The type of what is of one type or the other."""
    if a is b or b is NEVER:
        return a
    if a is NEVER:
        return b
    joined = _join(a, b)
    if a.refs or b.refs:
        lost = (a.refs | b.refs) - joined.refs
        if lost:
            _lost.refs |= lost
    return joined


def _join(a: Type, b: Type) -> Type:
    if a is ANY or b is ANY:
        return ANY
    known = a.joins.get(b) or b.joins.get(a)
    if known is None:
        known = _joined(a, b)
        if not a.is_local and not b.is_local:
            a.joins[b] = b.joins[a] = known
        elif a.is_local:  # never in a type that outlives the unit
            a.joins[b] = known
        else:
            b.joins[a] = known
    return known


def _inner(a: Type, b: Type) -> Type:
    """The join of parts of types, whose `refs` say what is lost."""
    if a is b or b is NEVER:
        return a
    return b if a is NEVER else _join(a, b)


def _joined(a: Type, b: Type) -> Type:
    tags = a.tags | b.tags
    nodes = _nodes(a, b) if a.nodes or b.nodes else EMPTY
    if nodes or ((a.nodes or b.nodes) and a.tags & b.tags & CONTAINER):
        return make(
            tags,
            arrays=_members(a.arrays, b.arrays),
            records=_members(a.records, b.records),
            fns=_members(a.fns, b.fns),
            form=_form(a, b),
            nodes=nodes,
        )
    vec = a.vec if not b.tags & VECTOR else b.vec if not a.tags & VECTOR else _vectors(a.vec, b.vec)
    shape, optional = _shapes(a, b)
    return make(
        tags,
        item=_inner(a.item, b.item),
        vec=vec,
        vitem=_inner(a.vitem, b.vitem),
        arrays=_members(a.arrays, b.arrays),
        key=_inner(a.key, b.key),
        value=_inner(a.value, b.value),
        shape=shape,
        records=_members(a.records, b.records),
        fns=_members(a.fns, b.fns),
        form=_form(a, b),
        row=a.row if not b.tags & LIST else b.row if not a.tags & LIST else _vectors(a.row, b.row),
        optional=optional,
    )


def _form(a: Type, b: Type) -> str:
    if a.form == b.form or not b.tags & WITH_FORM:
        return a.form
    return b.form if not a.tags & WITH_FORM else MIXED


def _members(a: Members, b: Members) -> Members:
    if a is None or b is None:
        return None
    both = a | b
    return both if len(both) <= MAX_MEMBERS else None


def _nodes(a: Type, b: Type) -> frozenset[Any]:
    """The nodes of containers of either type; empty where one has containers of which nothing is known."""
    if not a.tags & CONTAINER or not b.tags & CONTAINER:
        return a.nodes or b.nodes
    nodes: set[Any] = set()
    structure = NEVER
    for type_ in (a, b):
        if not type_.nodes:
            if not is_known(type_):
                return EMPTY
            structure = _inner(structure, restrict(type_, CONTAINER))
        for node in type_.nodes:
            if type(node) is Type:
                structure = _inner(structure, node)
            else:
                nodes.add(node)
    if structure is not NEVER:
        nodes.add(structure)
    return frozenset(nodes) if len(nodes) <= MAX_MEMBERS else EMPTY


def is_known(type_: Type) -> bool:
    """Whether something is known of what the lists, vectors and maps of a type hold."""
    parts = [type_.item] if type_.tags & LIST else []
    parts += [type_.vitem] if type_.tags & VECTOR and type_.vec is None else []
    return ANY not in parts and not (type_.tags & DICT and type_.shape is None and type_.value is ANY)


def _vectors(a: tuple[Type, ...] | None, b: tuple[Type, ...] | None) -> tuple[Type, ...] | None:
    if a is None or b is None or len(a) != len(b):
        return None
    return tuple(map(_inner, a, b))


def _shapes(a: Type, b: Type) -> tuple[Shape | None, frozenset[Any]]:
    """The shape of maps of either type, and the keywords that some of them may lack."""
    if not b.tags & DICT:
        return a.shape, a.optional
    if not a.tags & DICT:
        return b.shape, b.optional
    if a.shape is None or b.shape is None:
        return None, EMPTY
    if len(a.shape) == len(b.shape) and all(x is y for (x, _), (y, _) in zip(a.shape, b.shape, strict=True)):
        both = tuple((key, _inner(x, y)) for (key, x), (_, y) in zip(a.shape, b.shape, strict=True))
        return both, a.optional | b.optional
    fields, others = dict(a.shape), dict(b.shape)
    optional = a.optional | b.optional | (fields.keys() ^ others.keys())
    for key, part in b.shape:
        fields[key] = _inner(fields[key], part) if key in fields else part
    return (_sorted_fields(fields), optional) if len(fields) <= MAX_FIELDS else (None, EMPTY)


def _sorted_fields(fields: dict[Any, Type]) -> Shape:
    return tuple(sorted(fields.items(), key=lambda field: field[0].name))


def join_all(types: Iterable[Type]) -> Type:
    result = NEVER
    for part in types:
        result = join(result, part)
    return result


def restrict(type_: Type, tags: int) -> Type:
    """What is left of a type where a value surely has one of the tags."""
    kept = type_.tags & tags
    if kept == type_.tags:
        return type_
    return type_.joins.get(kept) or type_.joins.setdefault(kept, make(
        kept, type_.item, type_.vec, type_.vitem, type_.arrays, type_.key, type_.value, type_.shape, type_.records,
        type_.fns, type_.form, type_.row, type_.optional, type_.nodes,
    ))  # fmt: skip


def includes(wide: Type, narrow: Type) -> bool:
    """Whether every value of the narrow type is of the wide one."""
    return wide is ANY or _inner(wide, narrow) is wide


def field(type_: Type, key: Any, default: Type) -> Type:
    """What a look-up of a keyword in a map gives. default: where the map lacks it."""
    if type_.shape is None:
        return join(type_.value, default)
    for known, part in type_.shape:
        if known is key:
            return join(part, default) if key in type_.optional else part
    return default


def has_field(type_: Type, key: Any) -> bool:
    """Whether a map surely has a keyword."""
    return type_.shape is not None and key not in type_.optional and any(known is key for known, _ in type_.shape)


def show(type_: Type) -> str:
    """For dumps: `int|nil`, `list[int]`, `{:a int}`, `[int str]`; `:b? str` for an optional field."""
    if type_ is ANY:
        return "any"
    parts = []
    for name, tag in NAMES.items():
        if not type_.tags & tag:
            continue
        if tag == INT:
            parts.append(SIGNED[type_.tags & SIGNS])
        elif tag == TRUE and type_.tags & FALSE:
            parts.append("bool")
        elif tag == FALSE and type_.tags & TRUE:
            continue
        elif tag == LIST:
            name = "flat" if type_.tags & LIST == FLAT else name
            parts.append(f"{name}[{show(type_.item)}]" if type_.row is None else f"({' '.join(map(show, type_.row))})")
        elif tag == VECTOR:
            parts.append(f"vector[{show(type_.vitem)}]" if type_.vec is None else f"[{' '.join(map(show, type_.vec))}]")
        elif tag & DICT and type_.shape is not None:
            fields = (f":{key.name}{'?' * (key in type_.optional)} {show(part)}" for key, part in type_.shape)
            parts.append("{" + " ".join(fields) + "}")
        elif tag & DICT:
            parts.append(f"{name}[{show(type_.key)} {show(type_.value)}]")
        elif tag == RECORD and type_.records:
            parts.append("|".join(sorted(str(record) for record in type_.records)))
        elif tag == FN and type_.fns:
            parts.append("fn{" + " ".join(sorted(str(getattr(f, "name", f)) for f in type_.fns)) + "}")
        else:
            parts.append(name)
    return ("|".join(parts) or "never") + (f"@{type_.form}" if type_.form else "") + ("*" if type_.nodes else "")
