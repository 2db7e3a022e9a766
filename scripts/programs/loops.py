"""Loops: named lets, recursive functions and groups of them, with every kind of control around their jumps.

A loop has a counter (a number, a rest of a list, a place in a string) that each jump moves on, so that it ends, and up
to three further variables. Its body is a tree of tests, bindings, matches and inner loops whose leaves are jumps and
results; a jump may also stand where it is no tail call.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from programs.kinds import Kind
from programs.naming import Name, Scope

if TYPE_CHECKING:
    from programs.generator import Generator

ROUNDS = 4
EMPTY: dict[str, tuple[str, ...]] = {
    "map": ("{}", "{}", "(hashmap/new)"), "list": ("'()", "'()", "(list)"), "int": ("0", "1"), "num": ("0", "0.0"),
    "str": ('""',),
    "arr": ("(mutable-array/new 0)",), "vec": ("[]",), "float": ("0.0",),
}  # fmt: skip


class Counter(NamedTuple):
    """The variable that ends a loop. tests: when it has ended; steps: its next values; start, outside: its first value,
    and what must be bound around the loop as `let` bindings. exact: it ends at one number only."""

    name: str
    kind: Kind
    start: str
    tests: tuple[str, ...]
    steps: tuple[str, ...]
    outside: str = ""
    exact: bool = False


class Loop(NamedTuple):
    """What its body may use. heads: the functions that a jump may go to."""

    heads: tuple[str, ...]
    counter: Counter
    state: tuple[Name, ...]
    gives: Kind

    @property
    def names(self) -> list[str]:
        return [self.counter.name, *(name.name for name in self.state)]


def counter(g: Generator, scope: Scope) -> Counter:
    """A counter of one of several sorts."""
    i = g.unique("i")
    sort = g.pick("up", "up", "up", "up", "down", "down", "list", "list", "text")
    few = g.pick("2", "3", "3", "4")
    if sort == "list":
        items = g.world.kind(0)
        return Counter(
            i, ("list", items), g.expr(("list", items), 1, scope),
            (f"(null? {i})", f"(null? {i})", f"(empty? {i})", f"(= 0 (length {i}))", f"(not (pair? {i}))"),
            (f"(cdr {i})", f"(rest {i})", f"(cdr {i})"),
        )  # fmt: skip
    if sort == "text":
        text = g.unique("s")
        tests = (f"(= {i} (string-length {text}))", f"(>= {i} (string-length {text}))")
        return Counter(i, "int", "0", tests, (f"(+ {i} 1)",), f"({text} {g.expr('str', 0, scope)})")
    if sort == "down":
        tests = (f"(<= {i} 0)", f"(< {i} 1)", f"(< {i} 0)", f"(not (> {i} 0))", f"(>= 0 {i})")
        return Counter(i, "int", few, tests, (f"(- {i} 1)", f"(- {i} 2)", f"(+ {i} -1)", f"(- {i} 1)"))
    bound, outside = few, ""
    if g.chance(0.5):
        bound = g.unique("n")
        outside = f"({bound} {g.pick(few, few, g.expr('nat', 1, scope))})"
    if g.chance(0.6):
        tests = (f"(= {i} {bound})", f"(= {i} {bound})", f"(= {bound} {i})", f"(eq? {i} {bound})")
        return Counter(i, "int", g.pick("0", "0", "-1"), tests, (f"(+ {i} 1)", f"(+ 1 {i})"), outside, True)
    tests = (f"(>= {i} {bound})", f"(> {i} {bound})", f"(<= {bound} {i})", f"(not (< {i} {bound}))")
    start = g.pick("0", "0", "1", "-1", "0.0", g.expr("int", 1, scope))
    return Counter(i, "int", start, tests, (f"(+ {i} 1)", f"(+ 1 {i})", f"(+ {i} 2)", f"(+ {i} 1)"), outside)


def state(g: Generator, kind: Kind, scope: Scope) -> tuple[Name, ...]:
    """The further variables, one of the kind of the result more often than not."""
    kinds = [kind] if g.chance(0.8) else []
    kinds += [g.near_kind(scope) for _ in range(g.random.choice((0, 0, 1, 1, 2)))]
    return tuple(Name(g.unique(g.pick("acc", "x", "m", "out")), its, g.chance(g.assigned / 2)) for its in kinds)


def named_let(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    """An expression of a kind that is a loop."""
    its = counter(g, scope)
    loop = Loop((g.unique("lp"),), its, state(g, kind, scope), kind)
    inits = [f"({its.name} {its.start})"]
    inits += [f"({name.name} {first(g, name.kind, depth, scope)})" for name in loop.state]
    around = scope
    if its.outside:
        around = (*scope, Name(its.outside[1:].split(" ")[0], "str" if "string" in its.tests[0] else "int"))
    text = f"(let {loop.heads[0]} ({' '.join(inits)}) {body(g, loop, depth, around)})"
    return f"(let ({its.outside}) {text})" if its.outside else text


def functions(g: Generator, kind: Kind, depth: int, count: int) -> tuple[list[str], list[Name], tuple[Kind, ...]]:
    """Top-level functions that jump to themselves and each other: their texts, their names, the kinds of arguments."""
    its = counter(g, ())
    while its.outside or (its.exact and g.chance(0.95)):  # who starts above an exact end never meets it
        its = counter(g, ())
    loop = Loop(tuple(g.unique("f") for _ in range(count)), its, state(g, kind, ()), kind)
    texts = []
    for head in loop.heads:
        params = " ".join(loop.names)
        texts.append(f"(define ({head} {params}) {body(g, loop, depth, ())})")
    takes = ("nat" if its.kind == "int" else its.kind, *(name.kind for name in loop.state))
    return texts, [Name(head, ("fn", *takes, kind)) for head in loop.heads], takes


def body(g: Generator, loop: Loop, depth: int, scope: Scope) -> str:
    """The body of a loop: its test, with things before it or inside of it, and what else there is to do."""
    before = g.weight
    g.weight = min(g.weight * ROUNDS, g.most_work)
    inner = (*scope, Name(loop.counter.name, loop.counter.kind), *loop.state)
    test = g.pick(*loop.counter.tests)
    end, go_on = result(g, loop, depth, inner), tail(g, loop, depth, inner)
    layout = g.random.randrange(15)
    if layout < 5:
        text = f"(if {test} {end} {go_on})"
    elif layout == 5:
        text = f"(if (or {test} {g.expr('bool', 1, inner)}) {end} {go_on})"
    elif layout in (6, 14):
        name, kind = g.fresh("v"), g.near_kind(inner)
        later = (*inner, Name(name, kind))
        value = watched(g, g.expr(kind, 1, inner), inner, 3.0)
        text = f"(let (({name} {value})) (if {test} {result(g, loop, 1, later)} {tail(g, loop, depth, later)}))"
    elif layout == 7:
        text = f"(cond ({test} {end}) ({g.expr('bool', 1, inner)} {tail(g, loop, 1, inner)}) (else {go_on}))"
    elif layout == 8:
        text = f"(if (not {test}) {go_on} {end})"
    elif layout == 9:
        text = f"(begin {g.expr('stmt', 1, inner)} (if {test} {end} {go_on}))"
    elif layout == 10:
        text = f"(cond ({g.expr('bool', 1, inner)} {end}) ({test} {result(g, loop, 1, inner)}) (else {go_on}))"
    elif layout == 11:
        text = f"(unless {test} {go_on})"
    elif layout == 12:
        text = f"(or (and {test} {end}) {go_on})"
    else:
        text = f"(if (and (not {test}) {g.expr('bool', 1, inner)}) {go_on} {end})"
    g.weight = before
    return text


def result(g: Generator, loop: Loop, depth: int, scope: Scope) -> str:
    """A value that ends the loop, mostly a variable."""
    names = [name.name for name in loop.state if name.kind == loop.gives]
    if names and g.chance(0.65):
        return g.random.choice(names)
    return g.expr(loop.gives, min(depth, 2), scope)


def jump(g: Generator, loop: Loop, depth: int, scope: Scope) -> str:
    """The next round."""
    head = g.random.choice(loop.heads)
    args = [g.pick(*loop.counter.steps)]
    for name in loop.state:
        chance = g.random.random()
        others = [other.name for other in loop.state if other.kind == name.kind]
        if chance < 0.12:
            args.append(g.random.choice(others))
        elif chance < 0.25:
            args.append(name.name)
        elif chance < 0.65:
            args.append(grown(g, name, scope))
        else:
            args.append(g.expr(name.kind, min(depth, 2), scope))
    if g.chance(0.02):
        return f"(apply {head} (list {' '.join(args)}))"
    return f"({' '.join([head, *args])})"


def first(g: Generator, kind: Kind, depth: int, scope: Scope) -> str:
    """The value with which a variable starts: often an empty one."""
    head = kind if type(kind) is str else kind[0]
    if head in EMPTY and g.chance(0.6):
        return g.pick(*EMPTY[head])
    return g.expr(kind, min(depth, 1), scope)


def grown(g: Generator, name: Name, scope: Scope) -> str:
    """What a variable becomes that collects something."""
    kind, its = name.kind, name.name
    part = lambda of: watched(g, g.expr(of, 1, scope), scope)  # noqa: E731
    if kind in ("int", "num", "float"):
        return g.pick(
            f"(+ {its} {part(kind)})",
            f"({g.pick('+', '-', '*', 'max')} {its} {part('int')})",
            f"(+ {part('int')} {its})",
        )
    if kind == "str":
        return g.pick(f"(string-append {its} {part('str')})", f"(str {its} {part('any')})")
    if type(kind) is str:
        return g.expr(kind, 1, scope)
    if kind[0] == "list":
        return g.pick(
            f"(cons {part(kind[1])} {its})", f"(cons {part(kind[1])} {its})", f"(append {its} (list {part(kind[1])}))"
        )
    if kind[0] == "map":
        key = g.expr(kind[1], 1, scope)
        if kind[2] in ("int", "num") and g.chance(0.5):
            return f"(assoc {its} {key} (+ 1 (get {its} {key} 0)))"
        return f"(assoc {its} {key} {part(kind[2])})"
    if kind[0] == "shape":
        key, of = g.random.choice(g.world.shapes[kind].fields)
        return f"(assoc {its} {key} {part(of)})"
    if kind[0] == "arr":
        return f"(mutable-array/push! {its} {part(kind[1])})"
    if kind[0] == "fn":
        return g.lambda_(kind, 1, scope)
    return g.expr(kind, 1, scope)


def watched(g: Generator, text: str, scope: Scope, often: float = 1.0) -> str:
    """An expression of which one sees when it is evaluated, or that may fail, now and then."""
    chance = g.random.random() / often
    if chance < 0.12:
        return f"(begin (println {g.expr('any', 0, scope)}) {text})"
    if chance < 0.18:
        return f"(if {g.expr('bool', 0, scope)} (throw {g.expr('any', 0, scope)}) {text})"
    return text


def tail(g: Generator, loop: Loop, depth: int, scope: Scope) -> str:
    """An expression in tail position that goes on with the loop, or ends it early."""
    if depth <= 0 or g.chance(0.35):
        return jump(g, loop, depth, scope)
    again = lambda more=(): tail(g, loop, depth - 1, (*scope, *more))  # noqa: E731
    test = lambda: g.expr("bool", 1, scope)  # noqa: E731
    choice = g.random.randrange(20)
    if choice < 3:
        return f"(if {test()} {again()} {again()})"
    if choice == 3:
        return f"(if {test()} {result(g, loop, 1, scope)} {again()})"
    if choice == 4:
        return f"(cond ({test()} {again()}) ({test()} {result(g, loop, 1, scope)}) (else {again()}))"
    if choice < 8:
        name, kind = g.fresh("v"), g.near_kind(scope)
        form = g.pick("let", "let", "let*", "letrec")
        value = watched(g, g.expr(kind, min(depth, 2), scope), scope)
        return f"({form} (({name} {value})) {again((Name(name, kind, g.chance(g.assigned)),))})"
    if choice == 8:
        return f"(begin {g.expr('stmt', 1, scope)} {again()})"
    if choice == 9:
        return f"(case {g.expr('int', 1, scope)} ((0 1) {again()}) (else {again()}))"
    if choice == 10:
        name = g.fresh("v")
        return f"(match {g.expr('any', 1, scope)} (nil {again()}) ({name} {again((Name(name, 'any'),))}))"
    if choice == 11:
        name, kind = g.fresh("v"), g.near_kind(scope)
        found = Name(name, kind)
        return f"(if-let ({name} {g.expr(('opt', kind), 1, scope)}) {again((found,))} {again()})"
    if choice == 12:
        return f"(try (throw {g.expr('any', 0, scope)}) (catch e {again()}))"
    if choice == 13:
        return f"(try {jump(g, loop, depth, scope)} (catch e {result(g, loop, 1, scope)}))"
    if choice == 14:
        return inner_loop(g, loop, depth, scope)
    if choice == 15:
        names = [name for name in loop.state if name.assigned]
        if names:
            name = g.random.choice(names)
            return f"(begin (set! {name.name} {g.expr(name.kind, 1, scope)}) {again()})"
        return again()
    return not_tail(g, loop, depth, scope)


def inner_loop(g: Generator, loop: Loop, depth: int, scope: Scope) -> str:
    """A loop inside of which the outer one goes on."""
    head, name, bound = g.unique("lp"), g.unique("j"), g.pick("1", "2", "3")
    inner = (*scope, Name(name, "int"))
    again = tail(g, loop, depth - 1, inner)
    step = f"({head} (+ {name} 1))"
    if g.chance(0.3):
        step = f"(begin {g.expr('stmt', 0, inner)} {step})"
    return f"(let {head} (({name} 0)) (if ({g.pick('>=', '=')} {name} {bound}) {again} {step}))"


def not_tail(g: Generator, loop: Loop, depth: int, scope: Scope) -> str:
    """A jump whose value something is done with: then the loop is a recursion."""
    if g.chance(0.4):
        return jump(g, loop, depth, scope)
    again = jump(g, loop, depth, scope)
    name = g.fresh("r")
    if g.chance(0.4):
        rest = g.expr(loop.gives, 1, (*scope, Name(name, loop.gives)))
        return f"(let (({name} {again})) {rest})"
    if type(loop.gives) is tuple and loop.gives[0] == "list":
        return f"(cons {g.expr(loop.gives[1], 1, scope)} {again})"
    if loop.gives in ("int", "num", "float"):
        return f"({g.pick('+', '-', 'max')} {g.expr('int', 1, scope)} {again})"
    if loop.gives == "str":
        return f"(str {g.expr('any', 0, scope)} {again})"
    if loop.gives == "bool":
        return f"({g.pick('and', 'or')} {g.expr('bool', 1, scope)} {again})"
    if type(loop.gives) is tuple and loop.gives[0] == "map":
        return f"(assoc {again} {g.expr(loop.gives[1], 0, scope)} {g.expr(loop.gives[2], 1, scope)})"
    return f"(begin {again} {g.expr(loop.gives, 1, scope)})" if g.chance(0.3) else again
