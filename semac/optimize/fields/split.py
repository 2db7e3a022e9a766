"""Gives each field of a carrier a variable of its own (`carriers.py` says what carriers are).

`(foldl (fn (state x) (assoc state :n (+ 1 (:n state)))) {:n 0 :seen {}} xs)` becomes a loop over two variables, and the
map is made where the loop ends. So what is known of a field is known of a variable: its type, who else holds it.

Sound because maps don't change, because literals and `assoc` with keywords can't fail, and because nobody sees a
carrier's map before the place where it is made. The order of everything else stays. Debuggers and text for people get
the maps as they are written.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from sema_runtime.values.atoms import Keyword
from semac.anf.build import is_fixed
from semac.anf.literals import literal
from semac.anf.nodes import (
    AnyPattern,
    Assign,
    Block,
    Call,
    CallBuiltin,
    CallRuntime,
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
    Op,
    Read,
    Ref,
    Result,
)
from semac.anf.walk import (
    all_blocks,
    blocks,
    exit_operands,
    instructions,
    map_exit,
    map_operands,
    operands,
    params_of,
    value_blocks,
)
from semac.fingerprint import is_traced
from semac.ir.identifiers import mangle
from semac.ir.intrinsics import BREAKPOINT, KEYWORD_GET
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.fields.carriers import (
    JOINS,
    TESTS,
    Carriers,
    ListIndex,
    fits,
    is_level,
    is_list,
    never_comes,
    read_keys,
)
from semac.optimize.loops.functions import temporary
from semac.optimize.own.code import Code, all_code
from semac.types.lattice import NEVER

TRUE, FALSE, NIL = literal(True), literal(False), literal(None)


class Field(NamedTuple):
    """value: nil where the field is missing. there: whether it is there."""

    value: Expr
    there: Expr = TRUE


Fields = dict[Any, Field]  # by keyword


def split_maps(unit: Unit) -> None:
    """Splits the maps of a unit that nobody sees."""
    if unit.is_text or unit.is_input or is_traced():
        return
    makers = [code for code in all_code(unit) if makes_maps(code)]
    if not makers or stops(unit):
        return
    for code in makers:
        split_code(code)


def split_code(code: Code) -> None:
    """Splits the maps of one function or form."""
    for _ in range(ROUNDS):
        carriers = Carriers(code)
        if not carriers.find():
            break
        Splitter(carriers, code).run()
        code = Code(code.block, code.function)


ROUNDS = 3  # maps in fields are split after the maps around them


def makes_maps(code: Code) -> bool:
    return any(
        type(instr.op) in (MakeMap, MakeVector) or is_list(instr.op) for block in code.blocks for instr in block.instrs
    )


def stops(unit: Unit) -> bool:
    """Whether there are breakpoints in a unit, where people look at what they have written."""
    ops = (instr.op for form in unit.blocks for instr in instructions(form))
    return any(type(op) is CallRuntime and op.path == BREAKPOINT for op in ops)


class Splitter:
    """Rewrites one function. fields: what is known of each carrier so far; values: atoms in place of variables."""

    def __init__(self, carriers: Carriers, code: Code) -> None:
        self.keys = carriers.keys
        self.carriers = carriers
        self.code = code
        self.fields: dict[Var, Fields] = {}
        self.values: dict[Var, Expr] = {}
        self.out: list[Let] = []
        self.params: dict[Any, list[Var]] = {}  # of loops, as they were
        self.place: Any = None  # of the operation at hand
        self.joins: dict[Block, Fields] = {}  # blocks whose carrier goes to variables, and these
        self.assigned_to: dict[Var, dict[Any, Var]] = {}  # variables that branches assign → those for the fields

    def run(self) -> None:
        self.block(self.code.block)
        if self.values:
            for block in all_blocks(self.code.block):
                for instr in block.instrs:
                    map_operands(instr.op, self.current)
                map_exit(block.exit, self.current)

    def split_parameter(self, param: Var, keys: tuple[Any, ...]) -> None:
        """Gives a parameter's place to parameters for its fields."""
        function = self.code.function
        assert function is not None
        variables = {key: self.field_var(key, param) for key in keys}
        self.keys[param] = dict.fromkeys(keys, True)
        self.fields[param] = {key: Field(Ref(var)) for key, var in variables.items()}
        index = function.params.index(param)
        function.params[index : index + 1] = variables.values()

    def given_fields(self, op: Call) -> list[Expr]:
        """The arguments of a call, with fields in place of those that the function takes apart."""
        given = self.carriers.given[op]
        args: list[Expr] = []
        for index, arg in enumerate(op.args):
            if index in given:
                fields = self.given(arg)
                args += [again(fields[key].value if key in fields else NIL) for key in given[index]]
            else:
                args.append(arg)
        return args

    def current(self, value: Expr) -> Expr:
        while type(value) is Ref and value.var in self.values:
            value = self.values[value.var]
        return again(value)

    # Blocks

    def block(self, block: Block) -> None:
        outer, self.out = self.out, []
        todo = block.instrs[::-1]
        while todo:
            instr = todo.pop()
            var = instr.var
            if var in self.keys and type(instr.op) in (If, Match) and not todo and self.gives(block, var):
                self.end_inside(block, instr)
            elif var in self.keys and type(instr.op) is For and self.carriers.never_breaks(instr.op):
                self.go_on_after(block, instr, todo[::-1])
                todo = []
            self.instruction(instr)
        self.exit(block)
        block.instrs, self.out = self.out, outer

    def gives(self, block: Block, var: Var | None) -> bool:
        """Whether the exit of a block is the only one to use a variable."""
        uses = self.carriers.uses[var] if var is not None else []
        here = sum(type(value) is Ref and value.var is var for value in exit_operands(block.exit))
        return len(uses) == here == 1 and (type(block.exit) is Jump or block in self.joins)

    def end_inside(self, block: Block, instr: Let) -> None:
        """The exit of a block moves into the branches of the conditional that it ends with."""
        var, exit_ = instr.var, block.exit
        join = self.joins.pop(block, None)
        for inner in value_blocks(instr.op):
            if type(inner.exit) is Result:
                value = inner.exit.value
                if type(exit_) is Jump:
                    args = [value if type(arg) is Ref and arg.var is var else again(arg) for arg in exit_.args]
                    inner.exit = Jump(exit_.target, args, exit_.span)
                elif join is not None:
                    self.joins[inner] = join
        self.unnamed(block, instr)

    def go_on_after(self, block: Block, instr: Let, rest: list[Let]) -> None:
        """What follows a loop moves to the block that runs at its end."""
        loop, var = instr.op, instr.var
        assert type(loop) is For and var is not None and type(loop.after.exit) is Result
        move = Move(loop.after.exit.value, span=loop.span)
        loop.after.instrs += [Let(var, move), *rest]
        loop.after.exit = block.exit
        var.op = move
        if block in self.joins:
            self.joins[loop.after] = self.joins.pop(block)
        self.unnamed(block, instr)

    def unnamed(self, block: Block, instr: Let) -> None:
        """An instruction gets a value of no interest, which is that of its block."""
        instr.var = temporary("result", self.owner)
        instr.var.op = instr.op
        block.exit = Result(Ref(instr.var), block.exit.span)

    @property
    def owner(self) -> Function | None:
        return self.code.function

    def exit(self, block: Block) -> None:
        exit_: Any = block.exit
        if type(exit_) is Jump:
            args: list[Expr] = []
            params = self.params.get(exit_.target) or params_of(exit_.target)
            for param, arg in zip(params, exit_.args, strict=False):
                if param in self.keys:
                    args += self.wanted(param, arg)
                else:
                    args.append(self.shown(arg))
            exit_.args[:] = args
        elif block in self.joins and type(exit_.value) is Ref and exit_.value.var in self.carriers.nothing:
            pass  # a conditional each branch of which goes on in a loop: it stays at the end
        elif block in self.joins:
            given = self.given(exit_.value)
            targets = {} if never_comes(exit_.value) else self.joins[block]
            for key, target in targets.items():
                field = given.get(key, Field(NIL, FALSE))
                for variable, value in ((target.value, field.value), (target.there, field.there)):
                    if type(variable) is Ref:
                        self.out.append(Let(None, Assign(variable.var, again(value), "local", span=exit_.span)))
            exit_.value = again(NIL)
        else:
            exit_.value = self.shown(exit_.value)

    # Carriers

    def wanted(self, param: Var, value: Expr) -> list[Expr]:
        """The fields of a value that a variable of a loop takes."""
        fields = self.given(value)
        return [again(fields[key].value if key in fields else NIL) for key in self.kept_keys(param)]

    def given(self, value: Any) -> Fields:
        """The fields of a carrier's value; none of one that no branch gives, as each goes on in a loop."""
        return self.fields[value.var] if value.var in self.keys else {}

    def kept_keys(self, var: Var) -> list[Any]:
        return [key for key in self.keys[var] if key in self.carriers.wanted[var]]

    def shown(self, value: Expr, span: Any = None) -> Expr:
        """The map in place of a carrier."""
        if type(value) is not Ref or value.var not in self.keys or value.var in self.carriers.kept:
            return value
        var = temporary(value.var.name or value.var.hint or "entries", self.owner)
        var.op = whole(self.fields[value.var], span or self.place)
        self.out.append(Let(var, var.op))
        return Ref(var)

    def field_var(self, key: Any, of: Var) -> Var:
        hint = hint_of(key) if type(key) is Keyword else f"{mangle(of.name or 'part')}_{key + 1}"
        return temporary(hint, self.owner)

    # Instructions

    def instruction(self, instr: Let) -> None:
        op: Any = instr.op
        var = instr.var
        self.place = op.span or self.place
        if var in self.keys:
            if type(op) in JOINS:
                self.join(instr)
            elif type(op) is Read:
                self.read_assigned(var, op)
            else:
                self.made(instr)
            return
        if type(op) is Assign and (reader := self.carriers.reader(op.var)) in self.keys:
            self.assign(op, reader)
            return
        keys = read_keys(op)
        subject = operands(op)[0] if keys is not None else None
        if type(subject) is Ref and subject.var in self.fields and fits(op, keys or (), self.keys[subject.var]):
            if type(op) is Destructure:
                self.destructure(op, self.fields[subject.var])
            else:
                self.read(instr, self.fields[subject.var])
            return
        if type(op) in (Loop, For):
            self.loop(op)
        if type(op) is Call and op in self.carriers.given:
            op.args[:] = self.given_fields(op)
        map_operands(op, lambda value: self.shown(value, op.span))
        self.out.append(instr)
        for inner in blocks(op):
            self.block(inner)

    def made(self, instr: Let) -> None:
        """A literal, `assoc`, a check that there is a map, or a move."""
        op: Any = instr.op
        kind: type = type(op)
        assert instr.var is not None
        if kind is MakeMap:
            map_operands(op, lambda value: self.shown(value, op.span))
            fields = {key.value: Field(value) for key, value in zip(op.items[0::2], op.items[1::2], strict=True)}
        elif kind is MakeVector:
            map_operands(op, lambda value: self.shown(value, op.span))
            fields = {index: Field(value) for index, value in enumerate(op.items)}
        elif is_list(op):
            map_operands(op, lambda value: self.shown(value, op.span))
            fields = {ListIndex(index): Field(value) for index, value in enumerate(op.args)}
        elif kind is Move:
            fields = self.fields[op.value.var]
        elif is_level(op):
            fields = self.fields[op.args[0].var]
        else:
            fields = dict(self.fields[op.args[0].var])
            for key, value in zip(op.args[1::2], op.args[2::2], strict=True):
                fields[key.value] = Field(self.shown(value, op.span))
        self.fields[instr.var] = fields
        if instr.var in self.carriers.kept:
            instr.op = instr.var.op = whole(fields, op.span)
            self.out.append(instr)

    def assigned_fields(self, var: Var, reader: Var) -> dict[Any, Var]:
        """The variables of the fields of one that branches assign. reader: the variable that gets what it has."""
        if var not in self.assigned_to:
            self.assigned_to[var] = {key: self.field_var(key, reader) for key in self.kept_keys(reader)}
            for field in self.assigned_to[var].values():
                field.assigned, field.type = 1, NEVER
        return self.assigned_to[var]

    def assign(self, op: Assign, reader: Any) -> None:
        given = self.given(op.value)
        for key, var in self.assigned_fields(op.var, reader).items() if given else ():
            self.out.append(Let(None, Assign(var, again(given[key].value), "local", span=op.span)))

    def read_assigned(self, var: Any, op: Read) -> None:
        self.fields[var] = {}
        for key, source in self.assigned_fields(op.var, var).items():
            value = self.field_var(key, var)
            value.op = Read(source)
            self.out.append(Let(value, value.op))
            self.fields[var][key] = Field(Ref(value))

    def read(self, instr: Let, fields: Fields) -> None:
        op: Any = instr.op
        value = self.answer(op, fields)
        if value is None:
            instr.op = self.value_or(op, fields)
        elif instr.var is None:
            return
        elif is_fixed(instr.var) and not instr.var.is_global and instr.var not in self.carriers.captured:
            self.values[instr.var] = value
            return
        else:
            instr.op = Move(again(value), span=op.span)
        if instr.var is not None:
            instr.var.op = instr.op
        self.out.append(instr)

    def destructure(self, op: Any, fields: Fields) -> None:
        """The variables of a pattern get the fields."""
        pattern = op.pattern
        is_map = type(pattern) is MapPattern
        parts = [(key, part) for key, part, _ in pattern.entries] if is_map else list(enumerate(pattern.parts))
        for key, part in parts:
            if type(part) is AnyPattern:
                continue
            part.var.op = Move(again(fields[key].value if key in fields else NIL), span=op.span)
            self.out.append(Let(part.var, part.var.op))

    def answer(self, op: Any, fields: Fields) -> Expr | None:
        """What a read gives; None where it is the default unless the field is there."""
        name = getattr(op, "name", "")
        if name in TESTS:
            return literal(TESTS[name])
        (key,) = read_keys(op) or ()
        field = fields.get(key, Field(NIL, FALSE))
        if name == "contains?":
            return field.there
        if len(op.args) < 3 or field.there is TRUE:
            return field.value
        return self.shown(op.args[2], op.span) if field.there is FALSE else None

    def value_or(self, op: Any, fields: Fields) -> If:
        """A look-up with a default, of a field that may be missing."""
        field, default = fields[op.args[1].value], self.shown(op.args[2], op.span)
        there, missing = Block([], Result(again(field.value))), Block([], Result(default))
        return If(again(field.there), there, missing, span=op.span)

    def join(self, instr: Let) -> None:
        """The branches of a conditional, a handler, or the ends of a loop give variables their values."""
        op, var = instr.op, instr.var
        assert var is not None
        targets: Fields = {}
        after: Fields = {}
        reads: list[Let] = []
        for key in self.kept_keys(var):
            target, value = self.assigned(key, var, reads)
            there, is_there = (TRUE, TRUE) if self.keys[var][key] else self.assigned(key, var, reads)
            targets[key], after[key] = Field(target, there), Field(value, is_there)
        for inner in value_blocks(op):
            if type(inner.exit) is Result:
                self.joins[inner] = targets
        if type(op) in (Loop, For):
            self.loop(op)
        map_operands(op, lambda value: self.shown(value, op.span))
        instr.var = None
        var.op = None
        self.out.append(instr)
        for inner in blocks(op):
            self.block(inner)
        self.out += reads
        self.fields[var] = after

    def assigned(self, key: Any, of: Var, reads: list[Let]) -> tuple[Ref, Ref]:
        """(a variable that branches assign, its value after them)."""
        var, value = self.field_var(key, of), self.field_var(key, of)
        var.assigned, var.type = 1, NEVER
        value.op = Read(var)
        reads.append(Let(value, value.op))
        return Ref(var), Ref(value)

    def loop(self, op: Any) -> None:
        """The variables of a loop: a carrier becomes its fields."""
        self.params[op.source if type(op) is Loop else op] = list(op.params)
        params: list[Var] = []
        inits: list[Expr] = []
        for param, init in zip(op.params, op.inits or [NIL] * len(op.params), strict=True):
            if param not in self.keys:
                params.append(param)
                inits.append(init)
                continue
            inits += self.wanted(param, init)
            variables = {key: self.field_var(key, param) for key in self.kept_keys(param)}
            self.fields[param] = {key: Field(Ref(var)) for key, var in variables.items()}
            params += variables.values()
        if op.inits:
            op.inits[:] = inits
        if type(op) is Loop:
            op.source.function.params = params
        else:
            op.params[:] = params


def whole(fields: Fields, span: Any) -> Op:
    """What makes the map, the vector or the list of fields."""
    values = [again(field.value) for field in fields.values()]
    if 0 in fields and type(next(iter(fields))) is ListIndex:
        return CallBuiltin("list", values, fixed=True, span=span)
    if 0 in fields:
        return MakeVector(values, span=span)
    return MakeMap([part for key, field in fields.items() for part in (literal(key), again(field.value))], span=span)


def again(value: Expr) -> Expr:
    """An atom once more: passes note in each place what is known of it there."""
    if type(value) is Ref:
        return Ref(value.var, value.type)
    return Lit(value.value, value.type) if type(value) is Lit else value


def looked_up(value: Expr, keys: list[Any], owner: Function | None, span: Any, out: list[Let]) -> list[Expr]:
    """The fields of a map. out: gets the instructions."""
    found: list[Expr] = []
    for key in keys:
        var = temporary(hint_of(key), owner)
        var.op = CallRuntime(KEYWORD_GET, [again(value), literal(key)], span=span)
        out.append(Let(var, var.op))
        found.append(Ref(var))
    return found


def hint_of(key: Any) -> str:
    return mangle(key.name)
