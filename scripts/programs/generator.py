"""Expressions of wanted kinds, by templates and by the shapes, records and functions of the program."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

from programs import literals, loops
from programs.kinds import NARROWER, Kind, fits, may_be, replaced, unify
from programs.naming import SPECIAL_NAMES, Name, Scope, visible
from programs.templates import Fresh, Hole, Template, Words, grammar
from programs.world import World

REPEATS = 4  # how often a repeated hole is taken to run
MOST_WORK = 3000  # estimated steps of a function
MOST_PIECES = 50  # expressions in a top-level form: further ones are simple
FEW_PIECES = 9  # in small programs
PARAMETERS = "abcdpqrxyz"


class Impossible(Exception):
    """A template has a hole for which this program has nothing."""


class Profile(NamedTuple):
    """What programs may contain. wild: forms of which the reference has another opinion, or none.

    odd: how often an expression is of another kind than wanted. small: a few short forms, which compile quickly.
    mixed: functions that combine several features each. states: functions whose loops hold maps of known fields.
    daily: forms that programs of every day combine.
    """

    wild: bool = True
    odd: float | None = None
    small: bool = False
    mixed: bool = False
    states: bool = False
    daily: bool = False


@cache
def templates_for(kind: Kind) -> list[Template]:
    """The templates that can make a kind."""
    return [template for template in grammar().expressions if unify(template.makes, kind, {})]


class Generator:
    """Makes expressions for one program."""

    def __init__(self, seed: int, profile: Profile) -> None:
        self.random = random.Random(seed)
        self.profile = profile
        self.world = World(self.random)
        self.grammar = grammar()
        self.most_work = MOST_WORK
        self.most_pieces = FEW_PIECES if profile.small else MOST_PIECES
        self.globals: list[Name] = []
        self.odd = self.random.choice((0.0, 0.005, 0.01, 0.03)) if profile.odd is None else profile.odd
        self.loops = self.random.choice((0.02, 0.05, 0.15))  # how many expressions are loops of many shapes
        self.variety = self.random.choice((0.15, 0.3, 0.5, 1.0))  # how many of the templates a program uses
        self.assigned = self.random.choice((0.0, 0.05, 0.15, 0.3))  # how many variables may be assigned to
        self.special_names = self.random.choice((0.0, 0.0, 0.02, 0.1))
        self.builtins = self.random.choice((0.0, 0.05, 0.2))  # how many values of any kind a builtin makes
        self.count = 0
        self.work = 0  # of the form that is being made
        self.weight = 1  # how often the expression that is being made runs
        self.pieces = 0
        self.in_literal = 0
        self.fitting: dict[Kind, list[Template]] = {}
        self.features = {name for name in ("note", "total") if self.random.random() < 0.6}
        if profile.wild:
            self.features.add("wild")
        if profile.states:
            self.features.add("states")
        if profile.daily:
            self.features.add("daily")
        if profile.mixed:
            self.features.add("mixed")
            self.features.update({"mixedwild"} if profile.wild else ())

    # Chance

    def chance(self, probability: float) -> bool:
        return self.random.random() < probability

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def fresh(self, base: str) -> str:
        """A new name, or now and then one that hides another."""
        if self.chance(self.special_names):
            return self.random.choice(SPECIAL_NAMES)
        self.count += 1
        return f"{base}{self.count}" if self.chance(0.9) else base

    def begin(self) -> None:
        """Starts a top-level form."""
        self.work, self.weight, self.pieces, self.in_literal = 0, 1, 0, 0

    # Expressions

    def expr(self, kind: Kind, depth: int, scope: Scope, strict: bool = False) -> str:
        """An expression that probably has a value of a kind. depth: how deep it may nest; strict: it has no other."""
        self.pieces += 1
        self.work += self.weight
        if not strict and kind not in ("nat", "stmt") and self.chance(self.odd):
            kind = self.any_kind(depth)
        if kind == "any" and scope and self.chance(0.4):
            return self.random.choice(visible(scope)).name
        if kind == "any" and depth > 0 and self.chance(self.builtins):
            try:
                return self.expand(self.template("any"), "any", depth - 1, scope)
            except Impossible:
                pass
        kind = self.narrowed(kind, depth)
        if self.pieces > self.most_pieces:
            depth = min(depth, 0)
        if depth <= 0 or self.chance(0.1):
            return self.leaf(kind, depth, scope)
        if self.chance(0.22) and (text := self.call(kind, depth, scope)):
            return text
        if self.chance(0.12) and (text := self.read_field(kind, depth, scope)):
            return text
        if self.chance(0.04) and (text := self.assignment(kind, depth, scope)):
            return text
        if self.chance(self.loops):
            return loops.named_let(self, kind, depth - 1, scope)
        for _ in range(4):
            try:
                return self.expand(self.template(kind), kind, depth - 1, scope)
            except Impossible:
                continue
        return self.leaf(kind, depth, scope)

    def any_kind(self, depth: int) -> Kind:
        """A kind where any will do; deep down one that ends."""
        return self.world.kind(1) if depth > -2 else self.random.choice(self.world.simple)

    def near_kind(self, scope: Scope) -> Kind:
        """A kind, often that of a variable in scope."""
        near = [name.kind for name in scope if name.kind != "stmt"]
        return self.random.choice(near) if near and self.chance(0.5) else self.world.kind(1)

    def narrowed(self, kind: Kind, depth: int) -> Kind:
        if kind == "any":
            return self.any_kind(depth)
        if kind in NARROWER and kind != "int":
            return self.random.choice(NARROWER[kind])
        return kind

    def leaf(self, kind: Kind, depth: int, scope: Scope) -> str:
        if kind == "stmt":
            return self.effect(scope)
        if self.chance(0.5) and (text := literals.small(self, kind, scope)):
            return text
        names = self.names(kind, scope)
        if names and self.chance(0.85):
            return self.random.choice(names).name
        return literals.literal(self, kind, depth, scope)

    def names(self, kind: Kind, scope: Scope) -> list[Name]:
        """The variables that have a kind; those of the closest scopes several times."""
        local = [name for name in visible(scope) if fits(name.kind, kind)]
        hidden = {name.name for name in scope}
        far = [
            name
            for name in self.globals
            if name.name not in hidden and fits(name.kind, kind) and name.work * self.weight < self.most_work
        ]
        return local[-3:] * 3 + local + far

    def effect(self, scope: Scope) -> str:
        if self.chance(0.4):
            text = self.assignment("any", 0, scope)
            if text:
                return text
        return f"(println {self.expr('any', 0, scope)})"

    # Coded shapes of expressions

    def call(self, kind: Kind, depth: int, scope: Scope) -> str | None:
        """A call of a function of the program."""
        found = [name for name in [*visible(scope), *self.globals] if self.may_call(name, kind)]
        if not found:
            return None
        name = self.random.choice(found)
        self.work += self.weight * name.work
        if name.kind[0] == "param":
            return f"({name.name})"
        args = [self.expr(part, depth - 1, scope) for part in name.kind[1:-1]]
        if self.chance(self.odd):
            args = args[:-1] if self.chance(0.5) else [*args, "1"]
        return f"({' '.join([name.name, *args])})"

    def may_call(self, name: Name, kind: Kind) -> bool:
        if type(name.kind) is str or name.kind[0] not in ("fn", "param"):
            return False
        return fits(name.kind[-1], kind) and name.work * self.weight < self.most_work

    def read_field(self, kind: Kind, depth: int, scope: Scope) -> str | None:
        """A field of a record or of a map with fixed keys."""
        ways: list[tuple[Kind, str]] = []
        for whole, record in self.world.records.items():
            ways += [(whole, f"({reader} VALUE)") for _, its, reader in record.fields if fits(its, kind)]
        for whole, shape in self.world.shapes.items():
            for key, its in shape.fields:
                if fits(its, kind):
                    ways.append((whole, f"(get VALUE {key})"))
                    if key.startswith(":"):
                        ways += [(whole, f"({key} VALUE)"), (whole, f"({key} VALUE)")]
        if not ways:
            return None
        whole, text = self.random.choice(ways)
        if not self.names(whole, scope) and self.chance(0.6):
            return None
        return text.replace("VALUE", self.expr(whole, depth - 2, scope), 1)

    def assignment(self, kind: Kind, depth: int, scope: Scope) -> str | None:
        names = [name for name in [*visible(scope), *self.globals] if name.assigned and fits(name.kind, kind)]
        if not names:
            return None
        name = self.random.choice(names)
        return f"(set! {name.name} {self.expr(name.kind, depth - 1, scope)})"

    # Templates

    def template(self, kind: Kind) -> Template:
        """A template that can make a kind."""
        if kind == "int" and self.chance(0.1):
            kind = "nat"
        found = self.fitting.get(kind)
        if found is None:
            found = [template for template in templates_for(kind) if self.allowed(template)]
            if len(found) > 20:  # programs of few forms each go deeper than programs of all
                found = self.random.sample(found, max(10, int(len(found) * self.variety)))
            found = self.fitting[kind] = [
                template for template in found for _ in range(template.weight * self.likely(template))
            ]
        if not found:
            raise Impossible
        template = self.random.choice(found)
        if template.catches and self.in_literal and not self.profile.wild:
            raise Impossible
        return template

    def likely(self, template: Template) -> int:
        """How much more likely a template is than its weight says: those of any kind are many."""
        if template.is_builtin:
            return 1 if self.builtins else 0
        return 2 if template.makes in ("T", "A") else 6

    def allowed(self, template: Template) -> bool:
        return not template.condition or template.condition in self.features

    def bindings(self, template: Template, kind: Kind | None, scope: Scope = ()) -> dict[str, Kind]:
        """Kinds for the variables of a template, often those of variables in scope."""
        found: dict[str, Kind] = {}
        if kind is not None:
            unify(template.makes, kind, found)
        for variable in template.free:
            if variable not in found:
                near = [name.kind for name in [*scope, *self.globals[-4:]] if may_be(variable, name.kind)]
                made = self.random.choice(near) if near and self.chance(0.5) else self.world.kind_for(variable)
                if made is None:
                    raise Impossible
                found[variable] = made
        return found

    def expand(self, template: Template, kind: Kind | None, depth: int, scope: Scope) -> str:
        return self.expanded(template, self.bindings(template, kind, scope), depth, scope, self.fresh)[0]

    def expanded(
        self, template: Template, kinds: dict[str, Kind], depth: int, scope: Scope, fresh: Callable[[str], str]
    ) -> tuple[str, dict[str, str]]:
        """The text of a template, and its fresh names."""
        names: dict[str, str] = {}
        assigned: dict[str, bool] = {}
        texts = []
        for piece in template.pieces:
            if type(piece) is str:
                texts.append(piece)
            elif type(piece) is Fresh:
                if piece.name not in names:
                    name = fresh(piece.name)
                    names[piece.name] = name if name not in names.values() else self.unique(piece.name)
                texts.append(names[piece.name])
            elif type(piece) is Words:
                texts.append(self.random.choice(self.grammar.words[piece.name]))
            elif type(piece) is Hole:
                texts.append(self.fill(piece, kinds, names, assigned, depth, scope))
        return "".join(texts), names

    def unique(self, base: str) -> str:
        self.count += 1
        return f"{base}{self.count}"

    def fill(
        self,
        hole: Hole,
        kinds: dict[str, Kind],
        names: dict[str, str],
        assigned: dict[str, bool],
        depth: int,
        scope: Scope,
    ) -> str:
        inner = list(scope)
        for name, kind, mark in hole.scope:
            sure = assigned.setdefault(name, self.chance(self.assigned)) if mark is None else mark
            inner.append(Name(names.get(name, name), replaced(kind, kinds), sure))
        kind = replaced(hole.kind, kinds)
        if type(kind) is tuple and kind[0] == "param":
            return self.parameter(kind, tuple(inner))
        before = self.weight, self.in_literal
        if hole.repeated:
            self.weight = min(self.weight * REPEATS, self.most_work)
        if hole.in_literal:
            self.in_literal += 1
        # The reference takes all maps for the same key.
        text = self.expr(kind, depth, tuple(inner), strict=hole.kind == "K" and not self.profile.wild)
        self.weight, self.in_literal = before
        return text

    def parameter(self, kind: Kind, scope: Scope) -> str:
        """The name of a parameter object. Raises Impossible."""
        found = [name.name for name in [*scope, *self.globals] if name.kind == kind]
        if not found:
            raise Impossible
        return self.random.choice(found)

    # Functions

    def lambda_(self, kind: Kind, depth: int, scope: Scope) -> str:
        """A function written on the spot."""
        params = [
            Name(self.fresh(PARAMETERS[index]), part, self.chance(self.assigned))
            for index, part in enumerate(kind[1:-1])
        ]
        while len({param.name for param in params}) < len(params):
            params = [param._replace(name=self.unique("p")) for param in params]
        before = self.weight
        self.weight = min(self.weight * 2, self.most_work)
        body = self.expr(kind[-1], depth, (*scope, *params))
        if self.chance(0.1):
            body = f"{self.expr('stmt', 0, (*scope, *params))} {body}"
        self.weight = before
        names = " ".join(param.name for param in params)
        return f"({self.pick('fn', 'fn', 'lambda')} {f'[{names}]' if self.chance(0.1) else f'({names})'} {body})"
