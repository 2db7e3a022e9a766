"""Where in other maps the map of a variable may be.

What is known of each variable is what its map comes from: another variable's map, or what that holds under a key. So
the places can be told where a map is changed, and equal keys are known as such.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from semac.anf import nodes as anf
from semac.anf.nodes import Expr, Lit, Ref
from semac.ir.intrinsics import KEYWORD_GET, LOOK
from semac.ir.nodes import Function, Var
from semac.optimize.inplace.roles import change_of, may_hold
from semac.optimize.own.representation import known_callee
from semac.types.lattice import DICT, INT, NIL, STR

Member = Any  # a Var, a Function for what it returns, a Part of that
Path = tuple[Any, ...]  # of keys (`Flows.key`), the outermost first; None: an unknown one
MOST_KEYS = 4  # of a path: what is at a longer one is at the place of its first keys
MOST_STEPS = 200
COMPUTED = frozenset(("+", "-", "*", "mod", "quotient", "str", "string-append"))  # whose values can be keys
UNKNOWN = "unknown"  # of a part of a place: a key of an earlier round
ANY_KEY = "any"  # of a value that is the map itself, or in it at a place that isn't known


class Through(NamedTuple):
    """Where the value of a call comes from: the map of a parameter, or what that holds. result: the function, or the
    part of what it returns."""

    call: anf.Call
    param: Var
    result: Member


class Again(NamedTuple):
    """Where the value of a loop's variable comes from: the same map, of an earlier round."""

    loop: Any  # the target of the jump


class Step(NamedTuple):
    """A step on the way back to where a map comes from. old: loops whose earlier rounds it was in; None: any."""

    var: Var
    old: frozenset[Any] | None
    path: Path


class Origins:
    """origins: of each variable, where its map comes from, with the key there: None for the same map, ANY_KEY where it
    comes from an earlier round of a loop. copied: members that may hold a map that a change has made, or hold one that
    does. shut: functions all calls of which are known. detached: calls that are taken for those of other functions."""

    def __init__(self, shut: set[Function], detached: frozenset[anf.Call]) -> None:
        self.shut = shut
        self.detached = detached
        self.origins: dict[Var, list[tuple[Var, Any]]] = {}
        self.copied: set[Member] = set()
        self.twins: dict[Var, Var] = {}  # another variable that holds the same value, or what is no map
        self.computed: dict[tuple[Any, ...], Var] = {}  # by operation and operands, the first variable of it
        self.passing: dict[tuple[Any, ...], Var] = {}  # the same of bare dicts, since the last change of any
        self.results: dict[Member, list[Var]] = {}  # the variables whose values a function returns
        self.passed: set[Member] = set()  # parts of results that are those of other functions
        self.asked: set[Member] = set()  # functions whose results are being looked at
        self.rounds: dict[Var, frozenset[Any]] = {}  # the loops in which a variable is bound

    def callee(self, op: anf.Call) -> Function | None:
        """The function that a call reaches, where all of its calls are known."""
        callee = known_callee(op)
        return callee if callee in self.shut and op not in self.detached else None

    def sources(self, variables: list[Var]) -> set[Var]:
        """Variables, and all those that their maps come from."""
        found: set[Var] = set()
        todo = list(variables)
        while todo:
            var = todo.pop()
            if var not in found:
                found.add(var)
                todo += [source for source, _ in self.origins.get(var, ())]
        return found

    def key(self, key: Expr) -> Any:
        """What is equal for keys that are equal where they are computed in the same round of a loop; None: nothing."""
        if type(key) is Lit:
            return type(key.value), key.value
        return self.canonical(key.var) if type(key) is Ref else None

    def number(self, op: Any, var: Var) -> None:
        """Finds the first variable that was computed in the same way: of parts of maps, and of numbers and texts."""
        is_computed = type(op) is anf.CallBuiltin and op.name in COMPUTED and op.type.only(INT | STR)
        if not is_computed and not (is_look_up(op) and op.args[0].type.only(DICT | NIL)):
            return
        values = [self.key(arg) for arg in op.args]
        if None not in values:
            table = self.passing if type(op) is anf.Python else self.computed
            self.twins[var] = table.setdefault((getattr(op, "name", "get"), *values), var)

    def canonical(self, var: Var) -> Var:
        return self.twins.get(var, var)

    def places_in(self, owner: Var, var: Var, others: Collection[Var] = ()) -> list[Path | None]:
        """Where the map of a variable, or a part of it, may be in that of another one; None: anywhere.

        others: variables that have nothing in common with that one."""
        owner = self.canonical(owner)
        around = self.around(owner)
        places: list[Path | None] = []
        seen: set[Step] = set()
        todo = [Step(var, frozenset(), ())]
        while todo:
            step = todo.pop()
            if step in seen:
                continue
            if len(seen) == MOST_STEPS:
                return [None]
            seen.add(step)
            current, old, path = step
            origins = self.origins.get(current, ())
            if self.canonical(current) is owner or (not origins and current in self.copied and current not in others):
                places.append(None)
                continue
            for source, key in origins:
                for before in [()] if type(key) is Again else self.before(key):
                    earlier = self.earlier(old, key) if before is not None else None
                    longer = (*(before or ()), *path)[:MOST_KEYS]
                    name = self.canonical(source)
                    if name is owner:
                        places.append(self.of_this_round(owner, earlier, longer))
                    elif name in around and earlier == frozenset() and longer[: len(around[name])] == around[name]:
                        places.append(longer[len(around[name]) :])
                    else:
                        todo.append(Step(source, earlier, longer))
        return places

    @staticmethod
    def earlier(old: frozenset[Any] | None, key: Any) -> frozenset[Any] | None:
        if old is None or type(key) is not Again:
            return old
        return None if type(key.loop) is Function else old | {key.loop}

    def of_this_round(self, owner: Var, old: frozenset[Any] | None, path: Path) -> Path | None:
        """A place in a map that was found in earlier rounds of loops: the map is the same there if it comes from
        outside, and so are keys."""
        if not old:
            return path if old is not None else None
        if not old.isdisjoint(self.rounds.get(owner, old)):
            return None
        return tuple(key if self.stays(key, old) else UNKNOWN for key in path)

    def stays(self, key: Any, old: frozenset[Any]) -> bool:
        """Whether a part of a place is the same in all rounds of loops."""
        return type(key) is tuple or old.isdisjoint(self.rounds.get(key, old))

    def around(self, owner: Var) -> dict[Var, Path]:
        """The maps in which the one of a variable was found, and where; no bare dicts, which hold others later."""
        around: dict[Var, Path] = {}
        path: Path = ()
        source = owner
        while len(around) < MOST_KEYS:
            origins = self.origins.get(source, [])
            if len(origins) != 1 or type(source.op) is anf.Python:
                break
            source, key = origins[0]
            before = self.before(key)[0] if type(key) is not Through else None
            if before is None or None in before or self.canonical(source) in around:  # `(set! v v)` comes from itself
                break
            path = (*before, *path)
            around[self.canonical(source)] = path
        return around

    def before(self, key: Any) -> list[Path | None]:
        """The places in a map that an origin with a key stands for; None: anywhere."""
        if key is None or key is ANY_KEY or type(key) is Again:
            return [() if key is None else None]
        if type(key) is not Through:
            return [(self.key(key),)]
        callee, result = self.callee(key.call), key.result
        if callee is None or result in self.asked:
            return [()]
        if result in self.passed:
            return [None]
        self.asked.add(result)
        params = callee.params
        found = [place for var in self.results.get(result, ()) for place in self.places_from(key.param, var, params)]
        self.asked.discard(result)
        given = dict(zip(params, map(self.key, key.call.args), strict=True))
        return [None if place is None else self.outside(place, given) for place in found]

    @staticmethod
    def outside(place: Path, given: dict[Any, Any]) -> Path:
        """A place with the keys as the caller of a function knows them; None instead of others."""
        return tuple(key if type(key) is tuple else given.get(key) for key in place)

    def places_from(self, param: Var, var: Var, params: list[Var]) -> list[Path | None]:
        """The same of what a function returns, in the map of one of its parameters."""
        if var is param:
            return [()]
        if param not in self.sources([var]):
            return []
        return self.places_in(param, var, [other for other in params if other is not param])

    def is_inside(self, part: Var, whole: Var) -> bool:
        """Whether what a variable holds surely is in another one's map, apart from what can't have been changed."""
        before = self.sources([whole])
        whole = self.canonical(whole)
        seen: set[Var] = set()
        todo = [part]
        while todo:
            current = todo.pop()
            if current in seen:
                continue
            seen.add(current)
            origins = self.origins.get(current, ())
            if self.canonical(current) is whole or current in before:
                return False
            if current in self.copied and (not origins or (change_of(current.op) and not may_hold(current.op.args[0]))):
                return False  # a new map, or one that comes from elsewhere
            for source, key in origins:
                if self.canonical(source) is not whole:
                    todo.append(source)
                elif key is None or key is ANY_KEY or type(key) in (Again, Through):
                    return False
        return True


def is_look_up(op: anf.Op) -> bool:
    """Whether an operation finds what is under a key, and nothing else if there is nothing."""
    if type(op) is anf.CallRuntime:
        return op.path in (KEYWORD_GET, LOOK)
    return (type(op) is anf.Python and op.kind == "get") or (
        type(op) is anf.CallBuiltin and op.name == "get" and len(op.args) > 1
    )
