"""The signatures of builtins: the language of `type=` in `@builtin`, parsed (docs/reference/builtin-signatures.md).

signature := [param {"," param}] "->" type ["fresh"]
param     := ["keep" | "now" | "later"] type ["?" | "..."]
type      := alternative {"|" alternative}
alternative := name | variable | name alternative {alternative} | "(" [type {"," type}] "->" type ")" | "(" type ")"
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

MODES = ("keep", "now", "later")
LETTERS = "abcde"
ANY_NUMBER = -1
# name → how many arguments it takes; without them each is `any`
NAMES = {
    "any": 0, "never": 0, "nil": 0, "bool": 0, "int": 0, "nat": 0, "float": 0, "rational": 0, "number": 0, "str": 0,
    "char": 0, "keyword": 0, "symbol": 0, "fn": 0, "bytevector": 0, "other": 0,
    "list": 1, "flat": 1, "vector": 1, "seq": 1, "array": 1, "map": 2, "hashmap": 2, "dict": 2,
}  # fmt: skip
ATOMS = frozenset(
    ["never", "nil", "bool", "int", "nat", "float", "rational", "number", "str", "char", "keyword", "symbol"]
)
TOKEN = re.compile(r"\s*(?:(->|\.\.\.|[(),|?])|([A-Za-z]+))")


class Name(NamedTuple):
    """A type with a name: `int`, `list T`, `dict K V`. `list` alone has the argument `any`."""

    name: str
    args: tuple[TypeExpr, ...] = ()

    def __str__(self) -> str:
        return " ".join([self.name, *(f"({arg})" if _is_composed(arg) else str(arg) for arg in self.args)])


class Variable(NamedTuple):
    """The same type everywhere in a signature; bound to the join of what the arguments hold."""

    letter: str

    def __str__(self) -> str:
        return self.letter


class Function(NamedTuple):
    """A function with parameters of these types: `(a, b -> c)`."""

    params: tuple[TypeExpr, ...]
    result: TypeExpr

    def __str__(self) -> str:
        return f"({', '.join(map(str, self.params))}{' ' if self.params else ''}-> {self.result})"


class Union(NamedTuple):
    """One of several types, none of them a union."""

    parts: tuple[TypeExpr, ...]

    def __str__(self) -> str:
        return "|".join(map(str, self.parts))


TypeExpr = Name | Variable | Function | Union
ANY = Name("any")


class Param(NamedTuple):
    """A parameter. mode: "" (only read), "keep", "now" or "later". optional: nil or absent. repeated: any number."""

    type: TypeExpr
    mode: str = ""
    optional: bool = False
    repeated: bool = False

    def __str__(self) -> str:
        mark = "..." if self.repeated else "?" if self.optional else ""
        return f"{self.mode}{' ' if self.mode else ''}{self.type}{mark}"


class Signature(NamedTuple):
    """What a builtin takes and gives. fresh: nobody else holds the container that is returned."""

    params: tuple[Param, ...]
    result: TypeExpr
    fresh: bool = False

    def __str__(self) -> str:
        result = f"-> {self.result}{' fresh' if self.fresh else ''}"
        return f"{', '.join(map(str, self.params))} {result}" if self.params else result

    def takes(self, count: int) -> bool:
        """Whether so many arguments fit."""
        least = sum(not (param.optional or param.repeated) for param in self.params)
        return least <= count and (count <= len(self.params) or any(param.repeated for param in self.params))

    def param(self, index: int) -> Param:
        """The parameter that the argument at index belongs to."""
        return self.params[min(index, len(self.params) - 1)]


class SignatureError(ValueError):
    """A signature that can't be read: what is wrong, at which column."""


@cache
def parse(text: str) -> Signature:
    """Reads a signature. Raises SignatureError.

    parse("now (a -> b), seq a -> list b fresh").result => Name("list", (Variable("b"),))
    """
    return _Parser(text).signature()


def signatures_of(name: str) -> tuple[Signature, ...]:
    """The signatures of a builtin by its Sema name, in order; empty where none is declared."""
    from sema_runtime.catalogue_index import INDEX  # late: the script that writes the index loads this module

    declared = INDEX[name][7] if name in INDEX else ()
    return tuple(map(parse, (declared,) if type(declared) is str and declared else declared))


@cache
def signature_for(name: str, count: int) -> Signature | None:
    """The first signature of a builtin that count arguments fit; None where none is declared or fits."""
    return next((signature for signature in signatures_of(name) if signature.takes(count)), None)


def is_total(name: str) -> bool:
    """Whether a builtin never raises when its arguments are of the declared types."""
    from sema_runtime.catalogue_index import INDEX

    return name in INDEX and INDEX[name][8]


def union(parts: tuple[TypeExpr, ...]) -> TypeExpr:
    """The union of types, flat and without repetitions; the type itself where there is one."""
    flat = dict.fromkeys(inner for part in parts for inner in (part.parts if type(part) is Union else (part,)))
    return Union(tuple(flat)) if len(flat) > 1 else next(iter(flat))


def variables(expr: TypeExpr) -> frozenset[str]:
    """The letters of the variables in a type."""
    if type(expr) is Variable:
        return frozenset(expr.letter)
    if type(expr) is Name:
        inner: tuple[TypeExpr, ...] = expr.args
    elif type(expr) is Function:
        inner = (*expr.params, expr.result)
    else:
        inner = expr.parts  # type: ignore[union-attr]
    return frozenset[str]().union(*map(variables, inner))


def _is_composed(expr: TypeExpr) -> bool:
    return type(expr) is Union or (type(expr) is Name and expr.args != ())


class _Parser:
    """Recursive descent over the tokens of one signature."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens: list[tuple[str, int]] = []  # with the column, from 1
        position, end = 0, len(text.rstrip())
        while position < end:
            found = TOKEN.match(text, position)
            if found is None:
                position += len(text[position:]) - len(text[position:].lstrip())
                raise SignatureError(f"unexpected {text[position]!r} at column {position + 1} of {text!r}")
            self.tokens.append((found[1] or found[2], found.start(found.lastindex or 0) + 1))
            position = found.end()
        self.tokens.append(("", end + 1))
        self.index = 0

    @property
    def next(self) -> str:
        return self.tokens[self.index][0]

    @property
    def shown(self) -> str:
        return repr(self.next) if self.next else "the end"

    def fail(self, message: str, index: int | None = None) -> SignatureError:
        column = self.tokens[self.index if index is None else index][1]
        return SignatureError(f"{message} at column {column} of {self.text!r}")

    def take(self, token: str) -> bool:
        found = self.next == token
        self.index += found
        return found

    def expect(self, token: str) -> None:
        if not self.take(token):
            raise self.fail(f"expected {token!r}, got {self.shown}")

    def signature(self) -> Signature:
        params: list[Param] = []
        while self.next != "->":
            params.append(self.param(params))
            if not self.take(","):
                break
            if self.next == "->":
                raise self.fail("expected a parameter")
        self.expect("->")
        start = self.index
        result = self.type()
        fresh = self.take("fresh")
        if self.next:
            raise self.fail(f"unexpected {self.next!r}")
        if fresh and not _may_be_container(result):
            raise self.fail("'fresh' is said of a type without a container,", start)
        unbound = variables(result) - frozenset[str]().union(*(variables(param.type) for param in params))
        if unbound:
            raise self.fail(f"the variable {min(unbound)!r} of the result is in no parameter,", start)
        return Signature(tuple(params), result, fresh)

    def param(self, before: list[Param]) -> Param:
        start = self.index
        mode = self.next if self.next in MODES else ""
        self.index += mode != ""
        param = Param(self.type(), mode, self.take("?"), self.take("..."))
        if before and before[-1].repeated:
            raise self.fail("a parameter follows a repeated one,", start)
        if param.optional and param.repeated:
            raise self.fail("a parameter is both optional and repeated,", start)
        if before and before[-1].optional and not (param.optional or param.repeated):
            raise self.fail("a required parameter follows an optional one,", start)
        return param

    def type(self) -> TypeExpr:
        parts = [self.alternative()]
        while self.take("|"):
            parts.append(self.alternative())
        return union(tuple(parts))

    def alternative(self) -> TypeExpr:
        token = self.next
        if token == "(":
            return self.group()
        if len(token) == 1 and token in LETTERS:
            self.index += 1
            return Variable(token)
        count = NAMES.get(token)
        if count is None:
            if token.isalpha() and token not in (*MODES, "fresh"):
                raise self.fail(f"unknown type {token!r}")
            raise self.fail(f"expected a type, got {self.shown}")
        self.index += 1
        if not count or not self.starts_alternative():
            return Name(token, (ANY,) * count)
        args = [self.alternative()]
        while len(args) < count:
            if not self.starts_alternative():
                raise self.fail(f"{token!r} takes {count} types or none, got {len(args)},")
            args.append(self.alternative())
        return Name(token, tuple(args))

    def starts_alternative(self) -> bool:
        token = self.next
        return token == "(" or (token.isalpha() and token != "fresh")

    def group(self) -> TypeExpr:
        """What stands in parentheses: a function or a type."""
        self.expect("(")
        params: list[TypeExpr] = []
        while self.next != "->":
            params.append(self.type())
            if not self.take(","):
                break
        if self.take("->"):
            result = self.type()
            self.expect(")")
            return Function(tuple(params), result)
        if len(params) > 1:
            raise self.fail(f"expected '->', got {self.shown}")
        self.expect(")")
        return params[0]


def _may_be_container(expr: TypeExpr) -> bool:
    if type(expr) is Union:
        return any(map(_may_be_container, expr.parts))
    return type(expr) is Name and expr.name not in ATOMS
