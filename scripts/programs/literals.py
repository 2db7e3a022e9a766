"""Values written down, and the constructors of shapes and records: where an expression ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from programs import builtin_templates
from programs.kinds import NARROWER, Kind, fits, unify

if TYPE_CHECKING:
    from programs.generator import Generator
    from programs.naming import Scope

TEXTS: dict[Kind, tuple[str, ...]] = {
    "nat": ("0", "1", "2", "3", "2", "3", "4"),
    "int": ("0", "1", "2", "3", "5", "-1", "-2", "7", "10", "1", "2"),
    "big": ("1000000007", "9007199254740993", "123456789012345678901234567890", "-9223372036854775808", "4294967296"),
    "float": ("0.0", "1.0", "2.5", "-1.5", "0.1", "3.0", "100.25"),
    "ratio": ("1/2", "-3/4", "(/ 1 3)", "(/ 6 4)"),
    "bool": ("#t", "#f"),
    "str": ('"a"', '"b"', '"abc"', '""', '"b,c"', '"x y z"', '"k=1"', '"été"', '"10"'),
    "char": ("#\\a", "#\\b", "#\\space", "#\\0", "#\\z"),
    "kw": (":k", ":j", ":n", ":a"),
    "sym": ("'a", "'b", "'sym"),
    "nil": ("nil", "nil", "()"),
    "bytes": ("#u8()", "#u8(1 2 3)", "#u8(104 105)", "#u8(255 254 0)", "(bytevector 1 2)", '(string->utf8 "aé")'),
    "farr": ("(f64-array 1 2.5 -3)", "(f64-array)", "(f64-array/make 3 0.5)", "(f64-array/range 0 3)"),
    "iarr": ("(i64-array 1 2 3)", "(i64-array)", "(i64-array/make 3 7)", "(i64-array/range 0 4)"),
}
BUILTINS: dict[Kind, tuple[str, ...]] = {
    ("fn", "int", "int"): ("abs", "(fn (x) (* x x))", "-"),
    ("fn", "int", "bool"): ("even?", "odd?", "zero?", "positive?"),
    ("fn", "int", "int", "int"): ("+", "*", "-", "max", "min"),
    ("fn", "num", "num", "num"): ("+", "*", "-", "max", "min"),
    ("fn", "int", "int", "bool"): ("<", ">", "=", "<=", ">="),
    ("fn", "any", "bool"): ("number?", "string?", "list?", "nil?", "map?", "vector?"),
}
SMALL: dict[Kind, tuple[tuple[Kind, tuple[str, ...]], ...]] = {
    "bool": (
        ("num", ("(> VALUE 1)", "(< VALUE 3)", "(= VALUE 2)", "(<= VALUE 0)")), ("int", ("(even? VALUE)",
        "(= 0 (mod VALUE 2))")),
        (("list", "any"), ("(null? VALUE)", "(pair? VALUE)")), ("any", ("(nil? VALUE)", "(number? VALUE)",
        "(= VALUE 1)")),
        ("str", ('(= VALUE "a")',)), ("any", ("(string? VALUE)", "(equal? VALUE VALUE)")),
    ),
    "int": (
        ("int", ("(+ VALUE 1)", "(- VALUE 1)", "(* VALUE 2)", "(mod VALUE 5)")), ("int", ("(+ VALUE VALUE)",
        "(- VALUE)")),
        (("list", "any"), ("(length VALUE)",)), ("str", ("(string-length VALUE)",)), (("list", "int"),
        ("(car VALUE)",)),
    ),
    "float": (("num", ("(* VALUE 0.5)", "(+ VALUE 1.0)", "(/ VALUE 2.0)")),),
    "num": (("num", ("(* VALUE 2)", "(+ VALUE 0.5)")),),
    "str": (("any", ("(str VALUE)", '(str VALUE "-")')), ("str", ('(string-append VALUE "x")',
    "(string/upper VALUE)"))),
    "char": (("str", ("(string-ref VALUE 0)",)),),
}  # fmt: skip
HASH_MAPS = 0.2  # of maps


def literal(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    """A value of a kind, as simple as it can be."""
    if kind in NARROWER and kind != "int":
        return literal(g, g.random.choice(NARROWER[kind]), depth, scope)
    if kind == "any":
        return literal(g, g.random.choice(("int", "str", "kw", "nil")), depth, scope)
    if type(kind) is str:
        if kind == "float" and g.profile.wild and g.chance(0.1):
            return g.pick("-0.0", "nan", "inf", "(- inf)")
        return g.random.choice(TEXTS[kind])
    return COMPOSED[kind[0]](g, kind, depth, scope)


def small(g: Generator, kind: Kind, scope: Scope) -> str | None:
    """An expression with one variable, where there is one that lends itself to it."""
    if kind not in SMALL or not scope:
        return None
    wanted, texts = g.random.choice(SMALL[kind])
    names = g.names(wanted, scope) if wanted != "any" else g.names("any", scope)[:6]
    if not names:
        return None
    return g.random.choice(texts).replace("VALUE", g.random.choice(names).name)


def inner(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    """A part of a literal, where an expression may stand."""
    g.in_literal += 1
    text = g.expr(kind, min(depth - 1, 1), scope)
    g.in_literal -= 1
    return text


def size(g: Generator, depth: int) -> int:
    """How many items a literal has: fewer where literals stand in literals, so that they end."""
    if depth < -3:
        return 0
    return g.random.choice((0, 1, 2, 3, 3, 4) if depth >= 0 else (0, 0, 1, 2))


def a_list(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    count = size(g, depth)
    if count == 0:
        return g.pick("'()", "'()", "(list)")
    if kind[1] in ("int", "nat", "num") and g.chance(0.3):
        return g.pick("(range 4)", "'(3 1 2)", "(range 1 4)", "'(1 1 2)", "'(5 -1 2 0)")
    items = [g.expr(kind[1], min(depth - 1, 1), scope) for _ in range(count)]
    return f"(list {' '.join(items)})"


def vector(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    parts = kind[1:] if kind[0] == "tup" else (kind[1],) * size(g, depth)
    return f"[{' '.join(inner(g, part, depth, scope) for part in parts)}]"


def map_of(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    entries = [
        (
            g.random.choice(TEXTS[kind[1]]) if kind[1] in TEXTS else inner(g, kind[1], 0, scope),
            inner(g, kind[2], depth, scope),
        )
        for _ in range(size(g, depth - 1))
    ]
    if g.chance(HASH_MAPS):
        return f"(hashmap/new{''.join(f' {key} {value}' for key, value in entries)})"
    return f"{{{' '.join(f'{key} {value}' for key, value in dict(entries).items())}}}"


def shape(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    """A map with all keys of a shape, or one that gets them by and by."""
    fields = list(g.world.shapes[kind].fields)
    if depth <= 0:
        known = g.names(kind, scope)
        if known and g.chance(0.7):
            return g.random.choice(known).name
    if g.chance(0.3):
        g.random.shuffle(fields)
    texts = [f"{key} {inner(g, its, depth, scope)}" for key, its in fields]
    if g.chance(0.15):
        late = texts.pop()
        return f"(assoc {{{' '.join(texts)}}} {late})"
    if g.chance(0.1):
        return f"({g.pick('hashmap/new', 'map/new')} {' '.join(texts)})"
    return f"{{{' '.join(texts)}}}"


def record(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    known = g.names(kind, scope)
    if depth <= 0 and known and g.chance(0.7):
        return g.random.choice(known).name
    its = g.world.records[kind]
    args = [g.expr(part, min(depth - 1, 1), scope) for _, part, _ in its.fields]
    return f"({' '.join([its.maker, *args])})"


def function(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    builtins = [name for known, names in BUILTINS.items() if fits(known, kind) for name in names]
    if builtins and g.chance(0.3):
        return g.pick(*builtins)
    if g.chance(0.15):
        builtins = [name for pattern, name in builtin_templates.values() if unify(pattern, kind, {})]
        if builtins:
            return g.pick(*builtins)
    if kind[1:-1] and type(kind[1]) is tuple and kind[1][0] == "shape" and len(kind) == 3 and g.chance(0.5):
        keys = [key for key, its in g.world.shapes[kind[1]].fields if key.startswith(":") and fits(its, kind[2])]
        if keys:
            return g.pick(*keys)
    return g.lambda_(kind, min(depth - 1, 2), scope)


def array(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    if g.chance(0.5):
        return f"(mutable-array/new {g.pick('0', '2', '3', '4')} {g.expr(kind[1], min(depth - 1, 1), scope)})"
    pushes = "(mutable-array/new 2)"
    for _ in range(size(g, depth)):
        pushes = f"(mutable-array/push! {pushes} {g.expr(kind[1], min(depth - 1, 1), scope)})"
    return pushes


def optional(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    if depth <= 0 or g.chance(0.4):
        return "nil"
    return g.expr(kind[1], depth - 1, scope)


def parameter(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    return f"(make-parameter {g.expr(kind[1], 0, scope)})"


COMPOSED = {
    "list": a_list, "vec": vector, "tup": vector, "map": map_of, "shape": shape, "rec": record, "fn": function,
    "arr": array,
    "opt": optional, "param": parameter,
    "cell": lambda g, kind, depth, scope: f"(mutable-cell/new {g.expr(kind[1], min(depth - 1, 1), scope)})",
    "promise": lambda g, kind, depth, scope: f"(delay {g.expr(kind[1], min(depth - 1, 1), scope)})",
}  # fmt: skip
