"""The nodes of the intermediate representation.

A function's body is a `Block`: instructions in the order in which they happen, then an exit. Each instruction binds the
value of one operation to a variable (`Let`); operands are atoms: variables, literals, builtins. So the order of effects
is the order of instructions, and a pass can put something before or after an operation without moving it.

Branches, loops, handlers and clauses are operations with blocks inside; a block's exit is its value (`Result`), or the
next round of a loop around it (`Jump`), which stands where the loop's value would: at the end of blocks, never before.

After `generate/nest.py` operands may be operations themselves: what is used once, where it is computed. That form is
for printing alone; no pass works on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from semac.anf.pattern_nodes import AnyPattern as AnyPattern
from semac.anf.pattern_nodes import BadPattern as BadPattern
from semac.anf.pattern_nodes import LiteralPattern as LiteralPattern
from semac.anf.pattern_nodes import MapPattern as MapPattern
from semac.anf.pattern_nodes import Pattern as Pattern
from semac.anf.pattern_nodes import SequencePattern as SequencePattern
from semac.anf.pattern_nodes import VarPattern as VarPattern
from semac.anf.records import RecordMember, RecordType
from semac.ir.node import Node
from semac.ir.nodes import Function, Var
from semac.types.lattice import ANY, FN, Type, atom

Span = Any
FUNCTION_TYPE = atom(FN)


class Ref(Node):
    """A variable where it is used, with what is known of its value there."""

    var: Var
    type: Type = ANY


class Lit(Node):
    """A literal: an atom that Python can write, or data for a module constant."""

    value: Any
    type: Type = ANY


class BuiltinRef(Node):
    """A builtin as a value."""

    name: str
    span: Span = None
    type: Type = FUNCTION_TYPE


Atom = Ref | Lit | BuiltinRef


class Op(Node, kw_only=True):
    """An operation. exprs: its operand fields, blocks: its block fields, each in the order of evaluation."""

    exprs: tuple[str, ...] = ()
    blocks: tuple[str, ...] = ()
    span: Span = None
    type: Type = ANY
    weight: int = 0  # set by nest: how many nodes an expression has; 0 for what must be a statement
    rank: int = 0  # set by nest: how it takes part in the order of effects


Expr = Atom | Op


class Let(Node):
    """An instruction. var: what is bound to the value; None where nobody wants it."""

    var: Var | None
    op: Op


class Result(Node):
    """The exit of a block that has a value."""

    value: Expr
    span: Span = None


class Jump(Node):
    """The exit of a block that goes back to the start of a loop, with new values of its variables."""

    target: Any  # the NamedLet of a Loop, a For, or the Function whose body begins anew
    args: list[Expr]
    span: Span = None


Exit = Result | Jump


class Block(Node):
    instrs: list[Let]
    exit: Exit


# Variables and functions


class Move(Op):
    """The value of an atom."""

    exprs = ("value",)
    value: Expr


class Read(Op):
    """The value of a variable at this moment: of one that changes, or of a global that may be unbound."""

    var: Var


class Assign(Op):
    """`set!`, or a definition. define: "" for `set!`, "global", "local"."""

    exprs = ("value",)
    var: Var
    value: Expr
    define: str = ""


class Declare(Op):
    """Variables of a body, which functions made before their definition may use."""

    vars: list[Var]


class MakeRecordType(Op):
    """The type of records that `define-record-type` declares."""

    record: RecordType


class RecordFunction(Op):
    """A constructor, predicate or accessor of a record type as a value. field: of an accessor."""

    exprs = ("kind",)
    kind: Expr
    function: RecordMember


class GetField(Op):
    """A field of a record. is_sure: the value surely is of the class; if not, `head`, the accessor, decides."""

    exprs = ("head", "record")
    head: Expr
    record: Expr
    member: RecordMember
    is_sure: bool


class IsRecord(Op):
    """Whether a value is a record of a type. is_sure: its class alone decides; else `head`, the predicate, is asked.
    others: types of the unit whose records it needn't be asked about."""

    exprs = ("head", "value")
    head: Expr
    value: Expr
    record: RecordType
    is_sure: bool
    others: tuple[RecordType, ...] = ()


class Closure(Op):
    """A function value made here."""

    function: Function


class Call(Op):
    """A call of anything. trampolined: a tail call that must not grow the stack."""

    exprs = ("head", "args")
    head: Expr
    args: list[Expr]
    tail: bool = False
    trampolined: bool = False


class CallBuiltin(Op):
    """A call of a builtin. fixed: no later definition changes what it calls. site: of one that makes a mutable array.

    as_value: the builtin is called as a value, where operators take fewer types than they do in text.
    filled: the list that it takes apart surely has an item (set by inference).
    """

    exprs = ("args",)
    name: str
    args: list[Expr]
    tail: bool = False
    fixed: bool = False
    site: Any = None
    as_value: bool = False
    filled: bool = False


class CallOpen(Op):
    """A call of a builtin that `eval`, or a later input of a session, may define anew: nobody knows what it calls."""

    exprs = ("args",)
    name: str
    args: list[Expr]


class CallRuntime(Op):
    """A call of a function of the runtime that has no Sema name. path: "module:name"."""

    exprs = ("args",)
    path: str
    args: list[Expr]


# Data


class MakeVector(Op):
    exprs = ("items",)
    items: list[Expr]


class MakeMap(Op):
    """A map written out: items are key, value, key, value ... is_raw: its dict alone is wanted."""

    exprs = ("items",)
    items: list[Expr]
    is_raw: bool = False


class SetItem(Op):
    """A dict, of which nobody else knows, gets an entry. key: as the dict stores it."""

    exprs = ("value", "subject", "key")  # Python computes the value first
    subject: Expr
    key: Expr
    value: Expr


class SetArrayItem(Op):
    """`array.items[index] = value` of an index that is an int and not negative: Python sees whether it is there.

    It prints as names and sums of names, so that an error can be told from the instructions (conditions/subscripts.py).
    """

    exprs = ("value", "array", "index")  # Python computes the value first
    array: Expr
    index: Expr
    value: Expr


# Control


class If(Op):
    exprs = ("test",)
    blocks = ("then", "otherwise")
    test: Expr
    then: Block
    otherwise: Block


class Logic(Op):
    """`and` and `or` of two: the first value where it decides, else that of the block."""

    exprs = ("first",)
    blocks = ("rest",)
    is_and: bool
    first: Expr
    rest: Block


class Loop(Op):
    """A named let whose calls are all jumps. source: its NamedLet; the variables are its function's parameters."""

    exprs = ("inits",)
    blocks = ("body",)
    source: Any
    inits: list[Expr]
    body: Block

    @property
    def params(self) -> list[Var]:
        params: list[Var] = self.source.function.params
        return params


class While(Op):
    """Runs body as long as test holds; its value is nil."""

    blocks = ("test", "body")
    test: Block
    body: Block


class Iteration(Op):
    """Goes through items. target: what each item is bound to. how: what of the sources the items are.

    "items", "reversed", "indexed" (with the index before it), "zip" (of several), "rest" (the first is the first value
    of the only parameter), "lines" (of a file), "range" (the sources are its limits), "pairs" (of a map).
    who: the builtin that an error names when a source has no items. place: where such an error stands, None: here.
    """

    target: Pattern
    how: str
    sources: list[Expr]
    who: str


class For(Iteration):
    """Runs body for each item, then after. A jump to it begins the next round, with new values of params.

    A result of body ends the loop at once; else the value is that of after. leads: comprehensions each of which makes
    the items of the next, the last those of the loop, one by one; generate/fusion.py takes them in.
    """

    exprs = ("inits", "sources")
    blocks = ("body", "after")
    params: list[Var]
    inits: list[Expr]
    body: Block
    after: Block
    place: Span = None
    leads: Sequence[Comprehension] = ()


class Stage(Node):
    """What happens to an item on its way.

    how: "if" (it goes on where the value is true), "for" (var is each item of the value, or the value where that is no
    list or vector).
    """

    how: str
    var: Var | None
    block: Block


class Comprehension(Iteration):
    """What builtins like `map` make of the values that body has for the items.

    kind: "list", "any", "every", "find" (the first), "sum" (of ints), "sort-by", "group-by" and "key-by" (body has the
    key of the item).
    bare: only a loop sees the list that it makes, which can be Python's own.
    """

    exprs = ("sources",)
    kind: str
    stages: list[Stage]
    body: Block
    bare: bool = False
    place: Span = None


class Try(Op):
    """is_exception: the handler's variable is the Python exception, not the condition map that it stands for."""

    blocks = ("body", "handler")
    body: Block
    var: Var
    handler: Block
    is_exception: bool = False


class Throw(Op):
    """is_map: the value is the dict of a map that has no other use."""

    exprs = ("value",)
    value: Expr
    is_map: bool = False


class With(Op):
    """A Python context manager around a block."""

    exprs = ("context",)
    blocks = ("body",)
    context: Expr
    target: Var | None
    body: Block


# Patterns


class Destructure(Op):
    """Binds the variables of a pattern to the parts of a value."""

    exprs = ("value",)
    pattern: Pattern
    value: Expr


class Clause(Node):
    pattern: Pattern
    guard: Block | None
    body: Block
    span: Span = None


class Match(Op):
    """lenient: nil where nothing matches, instead of an error. advice: for the message of that error."""

    exprs = ("subject",)
    subject: Expr
    clauses: list[Clause]
    lenient: bool
    advice: str = ""


# Python


class PyImport(Op):
    """names: pairs of attribute and variable; None for the module itself, bound to var."""

    module: str
    names: list[tuple[str, Var]] | None
    var: Var


class PyAttr(Op):
    exprs = ("object",)
    object: Expr
    name: str


class PyItem(Op):
    exprs = ("object", "key")
    object: Expr
    key: Expr


class PySetAttr(Op):
    exprs = ("object", "value")
    object: Expr
    name: str
    value: Expr


class PyCall(Op):
    """args: positional ones, then those of the keywords."""

    exprs = ("head", "args")
    head: Expr
    args: list[Expr]
    keywords: list[str]


class Import(Op):
    """names: those that the form lists. vars: the globals that it defines, as far as they are known."""

    exprs = ("path",)
    path: Expr
    names: list[str]
    vars: list[Var]


# What passes make of operations: each prints as one Python expression


class Python(Op):
    """An operation of Python itself on values of its kind. kind: an entry of `generate/python_ops.py`."""

    exprs = ("args",)
    kind: str
    args: list[Expr]


class Guarded(Op):
    """`fast` where all the tests hold, else `slow`: both of the same operands.

    tests: pairs of a kind (a type, or one of `generate/guards.py`) and the positions of the operands that it asks
    about, in the order in which they are asked. In text for people only `slow` is written. foreign: what is done with a
    list or dict of Python before `slow` is asked (`generate/guards.py`), or "".
    """

    exprs = ("args",)
    tests: list[tuple[str, tuple[int, ...]]]
    args: list[Expr]
    fast: str  # the kind of Python operation
    slow: str  # "module:name" of the runtime, or "builtin:name"
    foreign: str = ""


class Fits(Op):
    """Whether values are of kinds (`optimize/infer/fits.py`): what the entry of a function with versions asks."""

    exprs = ("args",)
    args: list[Expr]
    kinds: list[Any]
