"""From the analyzed tree to A-normal form: names every value, puts effects in order.

Where the order of evaluation can be seen, it is the reference's: a global in the head of a call is looked up before the
arguments where the call is a tail call, and after them elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from sema_runtime.catalogue_index import INDEX
from semac.anf import nodes as anf
from semac.anf.literals import literal
from semac.anf.nodes import Atom, Block, Let, Lit, Op, Ref, Result
from semac.anf.patterns import pattern_node
from semac.anf.records import RecordMember, RecordType
from semac.anf.walk import pattern_vars
from semac.ir import nodes as ir
from semac.ir.intrinsics import INTRINSICS
from semac.ir.questions import jumps_out, read_early
from semac.ir.unit import Unit
from semac.types.lattice import function_of

RECORDS = "sema_runtime.lib.collections.records:"


def build(unit: Unit) -> None:
    """Gives the unit its `blocks`, one for each top-level form, and every function its `code`."""
    mark_late(unit)
    defined: set[ir.Var] = set()
    blocks = []
    for index, item in enumerate(unit.tree.items):
        blocks.append(Builder(unit, None, defined).block(item))
        note_record_type(unit, item, index)
        defined |= {part.var for part in ir.walk(item) if type(part) is ir.Set and part.var.is_global}
    unit.blocks = blocks


def mark_late(unit: Unit) -> None:
    """Marks globals that may be read before they are defined: by a form above, or by a function above that may have
    been called in between."""
    seen: set[ir.Var] = set()  # globals that forms above name
    pending: set[ir.Var] = set()  # those of them that only functions name which nothing can have called yet
    bound: set[ir.Var] = set()  # globals that surely are defined
    for item in unit.tree.items:
        names = {node.var for node in ir.walk(item) if type(node) is ir.Ref and node.var.is_global}
        is_inert = type(item) is ir.Set and type(item.value) in (ir.Lambda, ir.Const, ir.Quote)
        if not is_inert:
            seen |= pending | names
            pending = set()
        for node in ir.walk(item):
            if type(node) is ir.Set and node.var.is_global and node.var in seen and node.var not in bound:
                node.var.late = True
        bound |= {part.var for part in definitions(item)}
        pending |= names


def definitions(item: Any) -> list[ir.Set]:
    """The assignments to globals that a top-level form surely makes."""
    if type(item) is ir.Seq:
        return [part for inner in item.items for part in definitions(inner)]
    return [item] if type(item) is ir.Set and item.var.is_global else []


def note_record_type(unit: Unit, item: Any, index: int) -> None:
    """Notes that a top-level form is a `define-record-type`: it runs once."""
    if type(item) is ir.Let and item.bindings and type(item.bindings[0][0].op) is anf.MakeRecordType:
        item.bindings[0][0].op.record.form = index


def returns(loop: ir.NamedLet) -> bool:
    """Whether the value of a loop is surely that of the Python function it becomes part of."""
    while loop.in_tail:
        outer = loop.enclosing.var.loop if loop.enclosing.var is not None else None
        if outer is None or not outer.is_loop:
            return True
        loop = outer
    return False


def jump_target(loop: Any) -> Any:
    """A named let that becomes a loop, or the function that begins anew, which a named let can be, too."""
    return loop.function if type(loop) is ir.NamedLet and loop.function.self_tail else loop


def mark_bound(variables: list[ir.Var]) -> None:
    """Counts the binding of parameters and patterns as a definition: `define` may change them once more."""
    for var in variables:
        var.defined += 1


def is_fixed(var: ir.Var) -> bool:
    """Whether a variable has the same value wherever it is read."""
    if var.assigned or var.early:
        return False
    return var.known_function is not None if var.is_global else var.defined <= 1


def is_stable_head(head: Any) -> bool:
    """Whether looking the function up after the arguments makes no difference."""
    if type(head) is ir.Ref:
        return not head.var.assigned and (not head.var.is_global or head.var.defined <= 1)
    return type(head) is ir.Const and type(head.value) is not float  # of which no plain text says the value


class Builder:
    """Builds the blocks of one function, or of a top-level form where function is None."""

    def __init__(self, unit: Unit, function: ir.Function | None, defined: set[ir.Var]) -> None:
        """defined: the globals whose definition stands above the current form."""
        self.unit = unit
        self.function = function
        self.defined = defined
        self.instrs: list[Let] = []
        self.before_loop: list[Let] | None = None  # what runs before the outermost `while` that is being built
        self.ends = True  # whether a tail call is the end of the function: not in a loop whose value is used

    # Blocks

    def block(self, node: Any) -> Block:
        """The block of a node's value."""
        outer, self.instrs = self.instrs, []
        try:
            exit_ = self.exit(node)
            return Block(self.instrs, exit_)
        finally:
            self.instrs = outer

    def exit(self, node: Any) -> anf.Exit:
        """The exit of the current block that gives a node's value; a jump where the node is one."""
        kind = type(node)
        if kind is ir.Call and node.recur is not None:
            return anf.Jump(jump_target(node.recur), self.atoms(node.args), node.span)
        if kind is ir.Seq and node.items:
            for item in node.items[:-1]:
                self.effect(item)
            return self.exit(node.items[-1])
        if kind is ir.Let:
            self.bindings(node)
            return self.exit(node.body)
        if kind is ir.Define:
            self.define_vars(node)
            return self.exit(node.body)
        if kind is ir.Bind:
            self.destructure(node)
            return self.exit(node.body)
        return Result(self.atom(node), node.span)

    def effect(self, node: Any) -> None:
        """Instructions for a node whose value nobody wants."""
        value = self.atom(node)
        last = self.instrs[-1] if self.instrs else None
        if type(value) is Ref and last is not None and last.var is value.var and not value.var.name:
            last.var = None

    # Atoms

    def atom(self, node: Any) -> Atom:
        """An atom for a node's value; what computes it goes to the current block."""
        return ATOMS[type(node)](self, node)

    def atoms(self, nodes: list[Any]) -> list[Any]:
        return [self.atom(node) for node in nodes]

    def bind(self, op: Op, hint: str = "value") -> Ref:
        """A fresh variable for the value of an operation."""
        var = ir.Var("", self.function)
        var.hint = hint
        var.defined = 1
        var.op = op
        self.instrs.append(Let(var, op))
        return Ref(var)

    def do(self, op: Op) -> None:
        self.instrs.append(Let(None, op))

    def const(self, node: Any) -> Atom:
        return literal(node.value)

    def quote(self, node: Any) -> Atom:
        return literal(node.value)

    def ref(self, node: Any) -> Atom:
        if is_fixed(node.var) and not node.var.late:
            return Ref(node.var)
        return self.bind(anf.Read(node.var, span=node.span))

    def builtin(self, node: Any) -> Atom:
        is_known = INDEX[node.name][6] and not (self.unit.is_open or self.unit.is_input)
        return anf.BuiltinRef(node.name, node.span, function_of(node.name) if is_known else anf.FUNCTION_TYPE)

    def seq(self, node: Any) -> Atom:
        for item in node.items[:-1]:
            self.effect(item)
        return self.atom(node.items[-1]) if node.items else Lit(None)

    def let(self, node: Any) -> Atom:
        self.bindings(node)
        return self.atom(node.body)

    def define(self, node: Any) -> Atom:
        self.define_vars(node)
        return self.atom(node.body)

    def bind_pattern(self, node: Any) -> Atom:
        self.destructure(node)
        return self.atom(node.body)

    # Variables

    def bindings(self, node: Any) -> None:
        for var, value in node.bindings:
            self.set_local(var, value)

    def set_local(self, var: ir.Var, value: Any) -> None:
        """Binds a variable of the program to a node's value."""
        atom = self.atom(value)
        last = self.instrs[-1] if self.instrs else None
        if type(atom) is Ref and last is not None and last.var is atom.var and not atom.var.name:
            last.var = var  # the operation's own variable is needed nowhere else
            op = last.op
        else:
            op = anf.Move(atom, span=value.span)
            self.instrs.append(Let(var, op))
        if is_fixed(var):
            var.op = op

    def define_vars(self, node: Any) -> None:
        """Declares variables. All rounds of a `while` share them: what is read early there is nil before the first."""
        early = read_early(node.vars, node.body)
        self.declare([var for var in node.vars if var not in early], self.instrs)
        start = self.instrs if self.before_loop is None else self.before_loop
        self.declare([var for var in node.vars if var in early], start)
        for var in node.vars:
            if var in early:
                var.early = True
                start.append(Let(var, anf.Move(Lit(None), span=node.span)))

    def declare(self, variables: list[ir.Var], instrs: list[Let]) -> None:
        if variables:
            instrs.append(Let(None, anf.Declare(variables)))

    def destructure(self, node: Any) -> None:
        pattern = pattern_node(node.pattern)
        mark_bound(pattern_vars(pattern))
        self.do(anf.Destructure(pattern, self.atom(node.value), span=node.span))

    def set(self, node: Any) -> Atom:
        var = node.var
        if node.define == "local" and is_fixed(var):
            self.set_local(var, node.value)
            return Ref(var)
        self.do(anf.Assign(var, self.atom(node.value), node.define or "", span=node.span))
        if node.define == "global":
            return Lit(None)
        return self.bind(anf.Read(var, span=node.span))

    def lambda_(self, node: Any) -> Atom:
        return self.bind(self.closure(node.function, node.span), "fn")

    def closure(self, function: ir.Function, span: Any) -> anf.Closure:
        if function.code is None:
            mark_bound([*function.params, *([function.rest] if function.rest is not None else [])])
            function.code = Builder(self.unit, function, self.defined).function_block(function)
        return anf.Closure(function, span=span)

    def function_block(self, function: ir.Function) -> Block:
        body: Any = function.body
        if function.doc is not None and type(body) is ir.Seq:  # the text is written as the docstring
            body = ir.Seq(body.items[1:], span=body.span)
        return self.block(body)

    # Control

    def if_(self, node: Any) -> Atom:
        test = self.atom(node.test)
        return self.bind(anf.If(test, self.block(node.then), self.block(node.otherwise), span=node.span))

    def logic(self, node: Any) -> Atom:
        return self.logic_of(type(node) is ir.And, node.items, node.span)

    def logic_of(self, is_and: bool, items: list[Any], span: Any) -> Atom:
        first = self.atom(items[0])
        if len(items) == 1:
            return first
        if len(items) == 2:
            rest = self.block(items[1])
        else:
            rest = self.block_of(lambda: Result(self.logic_of(is_and, items[1:], span)))
        return self.bind(anf.Logic(is_and, first, rest, span=span))

    def block_of(self, build_exit: Callable[[], anf.Exit]) -> Block:
        outer, self.instrs = self.instrs, []
        try:
            exit_ = build_exit()
            return Block(self.instrs, exit_)
        finally:
            self.instrs = outer

    def named_let(self, node: Any) -> Atom:
        if node.is_loop and (returns(node) or not jumps_out(node)):
            inits = self.atoms(node.inits)
            mark_bound(node.function.params)
            outer, self.ends = (self.ends, self.before_loop), self.ends and returns(node)
            self.before_loop = None  # each round has variables of its own
            body = self.block(node.function.body)
            self.ends, self.before_loop = outer
            return self.bind(anf.Loop(node, inits, body, span=node.span), "result")
        node.function.self_tail = node.function.self_tail or node.is_loop
        self.instrs.append(Let(node.var, self.closure(node.function, node.span)))
        return self.bind(anf.Call(Ref(node.var), self.atoms(node.inits), span=node.span))

    def while_(self, node: Any) -> Atom:
        outer = self.before_loop
        self.before_loop = self.instrs if outer is None else outer
        body = self.block(ir.Seq([node.body, ir.Const(None)]))
        self.do(anf.While(self.block(node.test), body, span=node.span))
        self.before_loop = outer
        return Lit(None)

    def try_(self, node: Any) -> Atom:
        return self.bind(anf.Try(self.block(node.body), node.var, self.block(node.handler), span=node.span))

    def throw(self, node: Any) -> Atom:
        return self.bind(anf.Throw(self.atom(node.value), span=node.span))

    def match(self, node: Any) -> Atom:
        subject = self.atom(node.subject)
        clauses = []
        for shape, guard, body in node.clauses:
            pattern = pattern_node(shape)
            mark_bound(pattern_vars(pattern))
            guard_block = None if guard is None else self.block(guard)
            clauses.append(anf.Clause(pattern, guard_block, self.block(body), body.span))
        advice = self.unit.match_advice.get(node, "")
        return self.bind(anf.Match(subject, clauses, node.lenient, advice, span=node.span))

    def with_(self, node: Any) -> Atom:
        context = self.atom(node.context)
        return self.bind(anf.With(context, node.target, self.block(node.body), span=node.span))

    # Calls

    def call(self, node: Any) -> Atom:
        head, args = self.call_parts(node)
        tail = node.tail and self.ends
        return self.bind(anf.Call(head, args, tail, tail, span=node.span))

    def call_parts(self, node: Any) -> tuple[Atom, list[Any]]:
        head = node.head
        if type(head) is ir.Ref and head.var.is_global:
            early = head.var not in self.defined and (self.function is None or head.var.late)
            if early or not head.var.defined or not is_stable_head(head):
                is_thunk = self.function is not None and self.function.is_thunk
                if not node.tail or is_thunk:
                    args = self.atoms(node.args)
                    return self.bind(anf.Read(head.var, span=head.span), "function"), args
                read = self.bind(anf.Read(head.var, span=head.span), "function")
                return read, self.atoms(node.args)
        if is_stable_head(head):
            args = self.atoms(node.args)
            return Ref(head.var) if type(head) is ir.Ref else self.atom(head), args
        function = self.atom(head)
        if type(function) is Ref and not function.var.name:
            function.var.hint = "function"
        return function, self.atoms(node.args)

    def call_builtin(self, node: Any) -> Atom:
        args = self.atoms(node.args)
        fixed = node.name in INTRINSICS or node in self.unit.fixed
        unit = self.unit
        if not fixed and node.name != "apply" and (unit.is_open or (unit.is_input and self.function is not None)):
            return self.bind(anf.CallOpen(node.name, args, span=node.span))
        return self.bind(anf.CallBuiltin(node.name, args, node.tail and self.ends, fixed, span=node.span))

    def runtime(self, node: Any) -> Atom:
        if node.path.startswith(RECORDS):
            return self.record(node)
        return self.bind(anf.CallRuntime(node.path, self.atoms(node.args), span=node.span))

    def record(self, node: Any) -> Atom:
        """What `define-record-type` makes: a type, or a function that belongs to one."""
        role = node.path.removeprefix(RECORDS)
        if role == "make_record_type":
            name, params = (arg.value for arg in node.args)
            return self.bind(anf.MakeRecordType(self.record_type(name, params), span=node.span))
        kind = node.args[0].var
        record = kind.op.record
        name = node.args[1].value
        field = node.args[2].value if role == "record_accessor" else ""
        member = RecordMember(record, role.removeprefix("record_"), name, field)
        return self.bind(anf.RecordFunction(Ref(kind), member, span=node.span))

    def record_type(self, name: str, params: tuple[str, ...]) -> RecordType:
        record = RecordType(name, params)
        twin = self.unit.records.get(name)
        if twin is not None:
            record.has_twin = twin.has_twin = True
        self.unit.records[name] = record
        return record

    def vector(self, node: Any) -> Atom:
        return self.bind(anf.MakeVector(self.atoms(node.items), span=node.span))

    def map_literal(self, node: Any) -> Atom:
        parts = [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
        return self.bind(anf.MakeMap(self.atoms(parts), span=node.span))

    # Python

    def py_import(self, node: Any) -> Atom:
        self.do(anf.PyImport(node.module, node.names, node.var, span=node.span))
        return Lit(None)

    def py_attr(self, node: Any) -> Atom:
        return self.bind(anf.PyAttr(self.atom(node.object), node.name, span=node.span))

    def py_item(self, node: Any) -> Atom:
        target = self.atom(node.object)
        return self.bind(anf.PyItem(target, self.atom(node.key), span=node.span))

    def py_set_attr(self, node: Any) -> Atom:
        target = self.atom(node.object)
        value = self.atom(node.value)
        self.do(anf.PySetAttr(target, node.name, value, span=node.span))
        return value

    def py_call(self, node: Any) -> Atom:
        head = self.atom(node.head)
        args = self.atoms([*node.args, *node.keywords.values()])
        return self.bind(anf.PyCall(head, args, list(node.keywords), span=node.span))

    def import_(self, node: Any) -> Atom:
        return self.bind(anf.Import(self.atom(node.path), node.names, node.vars, span=node.span))


ATOMS: dict[type, Callable[[Builder, Any], Atom]] = {
    ir.Const: Builder.const,
    ir.Quote: Builder.quote,
    ir.Ref: Builder.ref,
    ir.Builtin: Builder.builtin,
    ir.Set: Builder.set,
    ir.If: Builder.if_,
    ir.And: Builder.logic,
    ir.Or: Builder.logic,
    ir.Seq: Builder.seq,
    ir.Let: Builder.let,
    ir.Define: Builder.define,
    ir.Lambda: Builder.lambda_,
    ir.NamedLet: Builder.named_let,
    ir.While: Builder.while_,
    ir.Call: Builder.call,
    ir.CallBuiltin: Builder.call_builtin,
    ir.Runtime: Builder.runtime,
    ir.Vector: Builder.vector,
    ir.MapLit: Builder.map_literal,
    ir.Try: Builder.try_,
    ir.Throw: Builder.throw,
    ir.Match: Builder.match,
    ir.Bind: Builder.bind_pattern,
    ir.With: Builder.with_,
    ir.PyImport: Builder.py_import,
    ir.PyAttr: Builder.py_attr,
    ir.PyItem: Builder.py_item,
    ir.PySetAttr: Builder.py_set_attr,
    ir.PyCall: Builder.py_call,
    ir.Import: Builder.import_,
}
