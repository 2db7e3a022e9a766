"""Which variables of a function hold maps of known keywords, or vectors of known length, that nobody sees as such, or
only where a loop ends.

A *carrier* gets its map from a literal, from `assoc` to another carrier, or from carriers that flow into it: through a
move, the branches of a conditional or a handler, the rounds of a loop. What is asked of it is a field, by a literal
keyword or index. Where it is used otherwise, the map *escapes*. A variable that doesn't qualify is left out, and so are
those whose maps would have to be made more often than they are now; that is repeated until nothing changes.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sema_runtime.values.atoms import Keyword
from semac.anf.build import is_fixed
from semac.anf.nodes import (
    AnyPattern,
    Assign,
    Block,
    Call,
    CallBuiltin,
    CallRuntime,
    Closure,
    Destructure,
    Expr,
    For,
    If,
    Jump,
    Let,
    Lit,
    Loop,
    MakeMap,
    MakeVector,
    MapPattern,
    Match,
    Move,
    Read,
    Ref,
    Result,
    SequencePattern,
    Try,
    VarPattern,
)
from semac.anf.walk import LOOPS, blocks, exit_operands, operands, params_of, refs, value_blocks
from semac.ir.intrinsics import KEYWORD_GET, LEVEL, LOOK, UPDATED
from semac.ir.nodes import Var
from semac.optimize.loops.cursors import leaving_blocks
from semac.optimize.loops.suffixes import FIRSTS
from semac.optimize.own.carried import RAISERS
from semac.optimize.own.code import Code

NONE: dict[Any, Any] = {}
MOST = 12  # fields of a map
MOST_ENDS = 2  # places where a loop ends and its map is seen
Keys = dict[Any, bool]  # keyword → whether the map surely has it; or all indices of a vector or a list
JOINS = frozenset((If, Match, Try, Loop, For))  # operations whose value is that of one of their blocks
LOOKS = frozenset((KEYWORD_GET, LOOK))
LEVELS = frozenset((LEVEL, UPDATED))
READERS = {"get": (2, 3), "contains?": (2, 2)}
TESTS = {"nil?": False, "not": False}  # what they say of every carrier


class ListIndex(int):
    """The index of an item of a list, which can't be told from that of a vector but by its type."""


class Use(NamedTuple):
    """block: where the operand stands. keys: the keywords that are read, where the use is a read; None: of all."""

    block: Block
    how: str  # "read", "flow" (target: the carrier that gets the map, if it is one), "escape"
    keys: tuple[Any, ...] = ()
    target: Any = None


class Carriers:
    """The carriers of one function. keys: of each one. kept: those whose map is made where it was, for others to see.
    wanted: the keywords that somebody reads, of each."""

    def __init__(self, code: Code, given: Any = NONE) -> None:
        self.code = code
        self.given = given  # by call: the keywords whose fields stand in place of an argument
        self.defined: dict[Var, tuple[Let, Block]] = {}
        self.params: dict[Var, Any] = {}  # variables of loops → the loop
        self.around: dict[Block, Any] = {}  # the innermost loop around a block
        self.home: dict[Any, Any] = {}  # the loop around a loop
        self.owner: dict[Block, Let] = {}  # the instruction of which a block is a part
        self.flows: dict[Var, list[Expr]] = {}  # what a variable can get
        self.uses: dict[Var, list[Use]] = {}
        self.captured: set[Var] = set()
        self.leaving: dict[Any, set[Block]] = {}
        self.set: dict[Var, list[Expr]] = {}  # variables without a name that branches assign → what they assign
        self.readers: dict[Var, list[Var]] = {}  # the same → the variables that get what they have
        self.keys: dict[Var, Keys] = {}
        self.nothing: set[Var] = set()  # what nothing flows into, as all branches go on in a loop
        self.kept: set[Var] = set()
        self.wanted: dict[Var, set[Any]] = {}
        self.scan(code.block, None)

    def find(self) -> bool:
        """Finds the carriers; returns whether there are any for which the rewriting pays."""
        candidates = list(self.flows)
        while True:
            self.find_keys(candidates)
            self.find_uses()
            qualified = list(filter(self.qualifies, self.keys))
            if len(qualified) == len(self.keys):
                break
            candidates = [*qualified, *self.nothing]
        self.find_wanted()
        return bool(self.keys)

    # What there is

    def scan(self, block: Block, loop: Any) -> None:
        self.around[block] = loop
        for instr in block.instrs:
            op, var = instr.op, instr.var
            if type(op) in (Loop, For) and op.inits:  # type: ignore[attr-defined]
                self.home[op] = loop
                self.loop(op)
            if type(op) is Closure:
                self.captured.update(ref.var for ref in refs(op.function.code))
            if type(op) is Assign and not op.var.name and not op.var.is_global:
                self.set.setdefault(op.var, []).append(op.value)
            for inner in blocks(op):
                self.owner[inner] = instr
                self.scan(inner, op if type(op) in LOOPS and inner is not getattr(op, "after", None) else loop)
            if var is not None and is_fixed(var) and not var.is_global:
                self.candidate(instr, block)
        exit_ = block.exit
        if type(exit_) is Jump:
            for param, arg in zip(params_of(exit_.target), exit_.args, strict=False):
                if param in self.flows:
                    self.flows[param].append(arg)

    def candidate(self, instr: Let, block: Block) -> None:
        op, var = instr.op, instr.var
        assert var is not None
        self.defined[var] = (instr, block)
        if type(op) is MakeMap:
            if op.items and all(map(is_keyword, op.items[0::2])):
                self.flows[var] = []
        elif type(op) is MakeVector:
            if op.items:
                self.flows[var] = []
        elif is_list(op):
            self.flows[var] = []
        elif is_assoc(op):
            self.flows[var] = [op.args[0]]  # type: ignore[attr-defined]
        elif type(op) is Move:
            self.flows[var] = [op.value]
        elif is_level(op):
            self.flows[var] = [op.args[0]]  # type: ignore[attr-defined]
        elif type(op) is Read and not op.var.name and not op.var.is_global:
            self.flows[var] = self.set.setdefault(op.var, [])
            self.readers.setdefault(op.var, []).append(var)
        elif type(op) is For and self.never_breaks(op):
            self.flows[var] = [op.after.exit.value] if type(op.after.exit) is Result else []
        elif type(op) in JOINS and not (type(op) is Match and op.lenient):
            self.flows[var] = [inner.exit.value for inner in value_blocks(op) if type(inner.exit) is Result]

    def loop(self, op: Any) -> None:
        target = op.source if type(op) is Loop else op
        self.leaving[op] = set(leaving_blocks(op.body, target))
        for param, init in zip(op.params, op.inits, strict=True):
            if is_fixed(param):
                self.flows[param] = [init]
                self.params[param] = op

    # Keys

    def find_keys(self, candidates: list[Var]) -> None:
        """The keys of all that can still be carriers; those that can't are left out."""
        keys: dict[Var, Keys | None] = dict.fromkeys(candidates)  # None: nothing flows there yet
        changed = True
        while changed:
            changed = False
            for var in list(keys):
                new = self.keys_of(var, keys)
                if new is False:
                    del keys[var]
                    changed = True
                elif new != keys[var]:
                    keys[var] = new  # type: ignore[assignment]
                    changed = True
        self.keys = {var: known for var, known in keys.items() if known is not None}
        self.nothing = {var for var, known in keys.items() if known is None}

    def keys_of(self, var: Var, keys: dict[Var, Keys | None]) -> Keys | bool | None:
        """The keys of a variable; None where nothing flows into it yet, False where it is no carrier."""
        op = self.defined[var][0].op if var in self.defined and var not in self.params else None
        if type(op) is MakeMap:
            return within({key.value: True for key in op.items[0::2]})  # type: ignore[union-attr]
        if type(op) is MakeVector:
            return within(dict.fromkeys(range(len(op.items)), True))
        if is_list(op):
            return within(dict.fromkeys(map(ListIndex, range(len(op.args))), True))  # type: ignore[union-attr]
        joined: Keys | None = None
        for source in self.flows[var]:
            if never_comes(source):
                continue
            if type(source) is not Ref or source.var not in keys:
                return False
            known = keys[source.var]
            if known is not None:
                if joined is not None and (is_vector(known) or is_vector(joined)) and not are_alike(known, joined):
                    return False
                joined = known if joined is None else join_keys(joined, known)
        if joined is not None and (is_assoc(op) or is_level(op)) and is_vector(joined):
            return False
        if joined is not None and is_assoc(op):
            joined = {**joined, **{key.value: True for key in op.args[1::2]}}  # type: ignore[union-attr]
        return within(joined) if joined is not None else None

    # Uses

    def find_uses(self) -> None:
        self.uses = {var: [] for var in self.keys}
        for block in self.around:
            for instr in block.instrs:
                for position, value in enumerate(operands(instr.op)):
                    if type(value) is Ref and value.var in self.uses:
                        self.uses[value.var].append(self.use(instr, position, block))
            self.exit_uses(block)

    def use(self, instr: Let, position: int, block: Block) -> Use:
        op: Any = instr.op
        keys = read_keys(op) if position == 0 else None
        if keys is not None:
            subject = operands(op)[0]
            is_read = fits(op, keys, self.keys[subject.var])  # type: ignore[union-attr]
            return Use(block, "read" if is_read else "escape", keys)
        if (position == 0 and (is_assoc(op) or is_level(op))) or type(op) is Move:
            return self.flow(block, instr.var)
        if type(op) in (Loop, For) and position < len(op.inits):
            return self.flow(block, op.params[position])
        if type(op) is Assign:
            return self.flow(block, self.reader(op.var))
        if type(op) is Call and position - 1 in self.given.get(op, NONE):
            subject = operands(op)[position]
            is_map = not is_vector(self.keys[subject.var])  # type: ignore[union-attr]
            return Use(block, "read" if is_map else "escape", self.given[op][position - 1])
        return Use(block, "escape")

    def reader(self, var: Var) -> Var | None:
        """The one variable that gets what branches have assigned to another."""
        readers = self.readers.get(var, [])
        return readers[0] if len(readers) == 1 else None

    def flow(self, block: Block, target: Any) -> Use:
        return Use(block, "flow", target=target) if target in self.keys else Use(block, "escape")

    def exit_uses(self, block: Block) -> None:
        exit_ = block.exit
        targets: list[Any]
        if type(exit_) is Jump:
            targets = params_of(exit_.target)
        else:
            owner = self.owner.get(block)
            targets = [owner.var if owner is not None else None]
        for target, value in zip(targets, exit_operands(exit_), strict=False):
            if type(value) is Ref and value.var in self.uses:
                self.uses[value.var].append(self.flow(block, target))

    # Which ones qualify

    def qualifies(self, var: Var) -> bool:
        """Whether a variable can do without its map, at no cost elsewhere. Notes whose map is made all the same."""
        self.kept.discard(var)
        uses = self.uses[var]
        escapes = [use for use in uses if use.how == "escape"]
        if var in self.captured:
            escapes.append(Use(self.code.block, "escape"))
        keys = self.keys[var]
        if escapes and not all(keys.values()):
            return False
        if var in self.params:
            return all(keys.values()) and var not in self.captured and self.leave(var, escapes)
        instr, block = self.defined[var]
        if type(instr.op) is Read:
            return not escapes and all(keys.values()) and self.reader(instr.op.var) is var
        if type(instr.op) in JOINS:
            return not escapes
        if len(escapes) == len(uses) + (var in self.captured):
            return not escapes  # it is only seen as a map, or by nobody
        here = escapes[0].block if len(escapes) == 1 else None
        if escapes and (here is None or self.around[here] is not self.around[block] or var in self.captured):
            self.kept.add(var)
        return True

    def leave(self, var: Var, escapes: list[Use]) -> bool:
        """Whether a variable of a loop is seen as a map only where the loop ends."""
        op = self.params[var]
        for use in escapes:
            inside = self.around[use.block]
            if not (inside is op and use.block in self.leaving[op]) and inside is not self.home[op]:
                return False
        return len(escapes) <= MOST_ENDS

    def never_breaks(self, op: Any) -> bool:
        """Whether a loop ends after its last item, and never before."""
        value = op.body.exit.value if type(op.body.exit) is Result else None
        if type(op.body.exit) is Jump:
            return True
        return type(value) is Ref and value.var in self.defined and not self.yields(value.var)

    def yields(self, var: Var) -> bool:
        op = self.defined[var][0].op
        if type(op) not in (If, Match):
            return True
        results = [inner.exit.value for inner in value_blocks(op) if type(inner.exit) is Result]
        return any(
            type(value) is not Ref or value.var not in self.defined or self.yields(value.var) for value in results
        )

    # What is read

    def find_wanted(self) -> None:
        self.wanted = {var: set() for var in self.keys}
        changed = True
        while changed:
            changed = False
            for var, keys in self.keys.items():
                before = len(self.wanted[var])
                self.wanted[var] |= self.wanted_by(var, keys)
                changed |= len(self.wanted[var]) > before

    def wanted_by(self, var: Var, keys: Keys) -> set[Any]:
        wanted = set(keys) if var in self.kept else set()
        for use in self.uses[var]:
            if use.how == "escape":
                wanted |= keys.keys()
            elif use.how == "read":
                wanted |= keys.keys() & set(use.keys)
            else:
                op = self.defined[use.target][0].op if use.target not in self.params else None
                added = {key.value for key in op.args[1::2]} if is_assoc(op) else set()  # type: ignore[union-attr]
                wanted |= (self.wanted[use.target] - added) & keys.keys()
        return wanted


def is_keyword(value: Expr) -> bool:
    return type(value) is Lit and type(value.value) is Keyword


def never_comes(value: Expr) -> bool:
    """Whether a value is that of a call which always raises an error, as `(else (error ...))` has."""
    op = value.var.op if type(value) is Ref and is_fixed(value.var) else None
    return type(op) is CallBuiltin and op.name in RAISERS


def is_list(op: Any) -> bool:
    """Whether an operation makes a list of some items."""
    return type(op) is CallBuiltin and op.name == "list" and bool(op.args) and not op.as_value


def is_assoc(op: Any) -> bool:
    """Whether an operation adds fields with literal keywords."""
    if type(op) is not CallBuiltin or op.name != "assoc" or len(op.args) < 3 or not len(op.args) % 2:
        return False
    return type(op.args[0]) is Ref and all(map(is_keyword, op.args[1::2]))


def is_level(op: Any) -> bool:
    """Whether an operation asks if its operand is a map that may be changed under a literal keyword, and gives it."""
    return type(op) is CallRuntime and op.path in LEVELS and type(op.args[0]) is Ref and is_keyword(op.args[1])


def read_keys(op: Any) -> tuple[Any, ...] | None:
    """The keywords that an operation reads of its first operand; None where it needs the map."""
    if type(op) is Destructure and type(op.pattern) is MapPattern:
        parts = op.pattern.entries
        is_plain = all(type(key) is Keyword and type(part) is VarPattern for key, part, _ in parts)
        return tuple(key for key, _, _ in parts) if is_plain else None
    if type(op) is Destructure and type(op.pattern) is SequencePattern and op.pattern.rest is None:
        is_plain = all(type(part) in (VarPattern, AnyPattern) for part in op.pattern.parts)
        return tuple(range(len(op.pattern.parts))) if is_plain else None
    if type(op) is CallRuntime:
        return (op.args[1].value,) if op.path in LOOKS and is_keyword(op.args[1]) else None  # type: ignore[union-attr]
    if type(op) is not CallBuiltin:
        return None
    if len(op.args) == 1:
        return () if op.name in TESTS else (FIRSTS[op.name],) if op.name in FIRSTS else None
    if op.name == "nth" and len(op.args) == 2 and type(op.args[1]) is Lit and type(op.args[1].value) is int:
        return (op.args[1].value,)
    least, most = READERS.get(op.name, (1, 0))
    return (op.args[1].value,) if least <= len(op.args) <= most and is_keyword(op.args[1]) else None  # type: ignore[union-attr]


def fits(op: Any, keys: tuple[Any, ...], known: Keys) -> bool:
    """Whether a read of keywords is one of a map, or one of indices is one of a vector that has them."""
    if type(op) is Destructure and type(op.pattern) is SequencePattern:
        return is_vector(known) and len(keys) == len(known)
    return all((key in known) if is_vector(known) else type(key) is Keyword for key in keys)


def is_vector(keys: Keys) -> bool:
    return 0 in keys


def are_alike(a: Keys, b: Keys) -> bool:
    """Whether two values are both vectors, or both lists, of one length."""
    return a == b and type(next(iter(a))) is type(next(iter(b)))


def join_keys(a: Keys, b: Keys) -> Keys:
    """The keys of a map that is one of two."""
    return {key: a.get(key, False) and b.get(key, False) for key in (*a, *(key for key in b if key not in a))}


def within(keys: Keys) -> Keys | bool:
    return keys if len(keys) <= MOST else False
