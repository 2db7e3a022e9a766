"""Lists that grow at their head as Python lists that grow at their end: `cons` appends, `car` reads the last item, and
`(append new todo)` adds the new items to the stack.

A program that collects items with `cons` and reverses them at the end then makes no cells. Where others get to see such
a list, a list of the language is made of it, once: nothing uses the stack afterwards.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

from sema_runtime.values.lists import List
from sema_runtime.values.typenames import ATOMIC
from semac.anf import nodes as anf
from semac.anf.literals import literal
from semac.anf.nodes import Block, CallRuntime, Expr, Jump, Let, Lit, Op, Python, Ref
from semac.anf.walk import all_blocks, map_exit, map_operands, params_of
from semac.ir.intrinsics import PUSH_ALL
from semac.ir.nodes import Var
from semac.ir.unit import Unit, left_out
from semac.optimize.loops.suffixes import RESTS
from semac.optimize.membership import asked_in, give_truth, search_of
from semac.optimize.operators import replace
from semac.optimize.own.analysis import Analysis
from semac.optimize.own.char_stacks import is_join, text_groups
from semac.optimize.own.code import LOOPS, Code
from semac.optimize.own.representation import CHANGE, READ, Representation, Use, known_callee
from semac.optimize.own.rewrite import Rewriter, calls_any, rewrite_groups
from semac.optimize.own.sinking import uses
from semac.types.lattice import BOOL, FLAT, LIST, NEVER, NIL, SEQUENCE, STR, VECTOR, Type, atom, list_of

READERS = {
    "null?": "is_drained", "empty?": "is_drained", "pair?": "is_filled", "car": "top", "first": "top",
    "cadr": "below_top", "caddr": "below_two", "length": "size", "count": "size",
}  # fmt: skip
KNOWN = {"list?": True, "nil?": False, "not": False}
TEXTS = atom(STR)
SHORT = 8  # items of a literal list that becomes a new stack wherever it is used
TAKES = {"last": "take_last", "top": "take_top"}


class Stacks(Representation):
    """asked: the variables of searches (`member`) that are only tested."""

    tags = LIST
    copies = True

    def __init__(self, asked: Container[Var | None] = ()) -> None:
        super().__init__()
        self.asked = asked

    def fresh(self, op: Op) -> str:
        return "List" if makes_list(op) else ""

    def uses_of(self, op: Op, var: Var | None) -> list[Use]:
        if is_slice(op) and self.is_held(op.args[0]):  # type: ignore[attr-defined]
            return [Use(op.args[0].var, CHANGE, var)]  # type: ignore[attr-defined]
        return super().uses_of(op, var)

    def builtin_uses(self, op: anf.CallBuiltin, var: Var | None) -> list[Use]:
        count = len(op.args)
        if count == 1 and (op.name in READERS or op.name in KNOWN):
            return self.each(op, {0: READ})
        if var in self.asked:
            return self.each(op, {1: READ})
        if count == 2 and (op.name == "cons" or (op.name == "append" and self.is_push(op))):
            change: int | None = 1
        else:
            change = 0 if op.name in RESTS and count == 1 else None
        if change is None:
            return self.each(op, {})
        uses = self.each(op, {change: CHANGE})
        return [use._replace(target=var) if use.how == CHANGE else use for use in uses]

    def is_push(self, op: anf.CallBuiltin) -> bool:
        """Whether `append` puts items in front of a list that was there before, unlike in a queue."""
        items, rest = op.args
        if not items.type.only(SEQUENCE) or not self.is_held(rest):
            return False
        return not self.fresh(rest.var.op)  # type: ignore[union-attr]


def is_slice(op: Op) -> bool:
    """Whether an operation is the rest of a flat list, which `append` would copy (`loops/rests.py`)."""
    return type(op) is Python and op.kind == "flat_rest"


def makes_list(op: Op) -> bool:
    """Whether an operation makes a list that nobody else has, of operands or of a short literal."""
    if type(op) is anf.CallBuiltin:
        return op.name == "list"
    return type(op) is anf.Move and is_short_list(op.value)


def is_short_list(value: Any) -> bool:
    """Whether a value is a literal list of a few atoms, which is as cheap to make anew."""
    if type(value) is not Lit or type(value.value) is not List:
        return False
    items = value.value.items
    return len(items) <= SHORT and all(type(item) in ATOMIC for item in items)


def stack_lists(unit: Unit) -> None:
    """Has lists that only grow and shrink at their head be stacks.

    Assumes inferred types. Sound because a stack is changed only where liveness shows that its list is read nowhere
    else afterwards. Linear because a stack that is copied into a list of the language is used no more.
    """
    if not calls_any(unit, frozenset(("cons",))) and not pushes(unit):
        return
    for form in unit.blocks:
        for block in list(all_blocks(form)):
            bind_short_lists(block)
    asked = asked_in(unit) if calls_any(unit, frozenset(("member",))) and "members" not in left_out(unit) else set()
    rewrite_groups(unit, Stacks(asked), StackRewriter)
    give_truth(unit, {var for var in asked if var is not None and type(var.op) is not anf.CallBuiltin})


def pushes(unit: Unit) -> bool:
    """Whether `append` puts items in front of what is left of a list, or of what a variable holds."""
    form = Stacks()
    return any(
        type(op := instr.op) is anf.CallBuiltin and op.name == "append" and len(op.args) == 2 and form.is_push(op)
        for block in unit.blocks
        for inner in all_blocks(block)
        for instr in inner.instrs
    )


def bind_short_lists(block: Block) -> None:
    """Short literal lists that are handed to loops, functions and results are bound to variables first: each is a new
    stack."""
    out: list[Let] = []

    def bound(value: Expr) -> Expr:
        if not is_short_list(value):
            return value
        var = Var("", None)
        var.hint, var.defined = "items", 1
        var.type = value.type if value.value.items else list_of(NEVER)  # type: ignore[union-attr]
        var.op = anf.Move(value, type=var.type)
        out.append(Let(var, var.op))
        return Ref(var, var.type)

    for instr in block.instrs:
        op = instr.op
        if isinstance(op, LOOPS):
            pairs = zip(op.params, op.inits, strict=False)  # that of `reduce` starts from the first item
            op.inits = [bound(init) if is_list(param) else init for param, init in pairs]
        elif (type(op) is anf.Call and known_callee(op) is not None) or (type(op) is anf.Assign and is_list(op.var)):
            map_operands(op, bound)
        out.append(instr)
    block.instrs = out
    if type(block.exit) is Jump:
        jumps = zip(params_of(block.exit.target), block.exit.args, strict=True)
        block.exit.args = [bound(arg) if is_list(param) else arg for param, arg in jumps]
    else:
        map_exit(block.exit, bound)


def is_kind(instr: Let, kinds: Any) -> bool:
    """Whether an instruction is an operation of Python of one of some kinds, whose value is used."""
    return type(instr.op) is Python and instr.op.kind in kinds and instr.var is not None


def is_list(var: Var) -> bool:
    return var.type.only(LIST)  # type: ignore[no-any-return]


class StackRewriter(Rewriter):
    """text_groups: those of stacks of characters that only become texts; their items are texts from the start.
    joining: the code that may make these texts."""

    hint = "items"

    def __init__(self, analysis: Analysis) -> None:
        super().__init__(analysis)
        self.text_groups, self.joining = text_groups(analysis)
        self.reversed: dict[Var, Ref] = {}  # such stacks, by the variable of the reversed list

    def concerned(self, analysis: Analysis) -> list[Code]:
        found = {code.block for code in analysis.code} | self.joining
        return [code for code in analysis.everything if code.block in found]

    def is_text(self, member: Any) -> bool:
        return self.groups.known(member) in self.text_groups

    def make(self, instr: Let) -> None:
        op = instr.op
        if type(op) is anf.CallBuiltin:
            items = op.args[::-1]
        else:
            items = [literal(item) for item in op.value.value.items[::-1]]  # type: ignore[attr-defined]
        replace(instr, Python("new_stack", items, span=op.span, type=op.type))

    def general_form(self, kind: str, value: Ref, span: Any, type_: Type) -> anf.Op:
        return Python("stack_list", [value], span=span, type=type_)

    def read(self, instr: Let) -> None:
        op: Any = instr.op
        if op.name == "member":
            replace(instr, search_of(op, op.args[1]))
            instr.var.type = instr.op.type  # type: ignore[union-attr]
        elif op.name in KNOWN:
            replace(instr, anf.Move(Lit(KNOWN[op.name], atom(BOOL)), type=atom(BOOL)))
        else:
            kind = "last" if op.filled else READERS[op.name]
            replace(instr, Python(kind, [op.args[0]], span=op.span, type=op.type))

    def instruction(self, instr: Let) -> None:
        op = instr.op
        stack = self.reversed.get(op.args[0].var) if is_join(op) and type(op.args[0]) is Ref else None  # type: ignore[attr-defined]
        if stack is not None:
            replace(instr, Python("join", [stack, Lit("", TEXTS)], span=op.span, type=op.type))
            self.out.append(instr)
        else:
            super().instruction(instr)

    def shown(self, instr: Let) -> bool:
        op = instr.op
        if type(op) is not anf.CallBuiltin or len(op.args) != 1:
            return False
        stack = op.args[0]
        if type(stack) is Ref and self.is_text(stack.var):
            if op.name == "reverse":
                if instr.var is not None:
                    self.reversed[instr.var] = stack
                replace(instr, anf.Move(Lit(None, atom(NIL)), span=op.span, type=atom(NIL)))
                instr.var = None
            else:
                turned = self.bind(Python("turned", [stack]), op.span, "text")
                replace(instr, Python("join", [turned, Lit("", TEXTS)], span=op.span, type=op.type))
            return True
        if op.name != "reverse":
            return False
        replace(instr, Python("stack_reversed", op.args, span=op.span, type=op.type))
        return True

    def took_two(self, subject: Ref) -> bool:
        """Whether the last readers of a stack read its top and the item below, in any order, which now drop them: the
        top goes first, and what is below it is the next one."""
        users = [place for place in reversed(range(len(self.out))) if uses(self.out[place], subject.var)][:2]
        if len(users) < 2:
            return False
        first, second = self.out[users[1]], self.out[users[0]]
        if is_kind(second, TAKES) and is_kind(first, ("below_top",)):
            between = self.out[users[1] + 1 : users[0]]
            if any(uses(instr, first.var) for instr in between):
                return False
            self.out.insert(users[0], self.out.pop(users[1]))
            first, second = second, first
        elif not (is_kind(first, TAKES) and is_kind(second, ("below_top",))):
            return False
        for instr in (first, second):
            op: Any = instr.op
            replace(instr, Python(TAKES.get(op.kind, "take_top"), op.args, span=op.span, type=op.type))
        return True

    def pushed(self, subject: Ref, items: Expr) -> Op:
        """The items of a list or vector go in front of those of a stack."""
        if self.form.is_held(items) and self.kind(items.var):  # type: ignore[union-attr]
            return Python("extend", [subject, items])
        if items.type.only(FLAT) or items.type.only(VECTOR):
            if items.type.only(FLAT):
                items = self.bind(Python("flat_items", [items]))
            return Python("extend", [subject, self.bind(Python("turned", [items]))])
        return CallRuntime(PUSH_ALL, [subject, items])

    def changed(self, instr: Let) -> Ref:
        op: Any = instr.op
        subject: Ref = op.args[-1]
        name = "rest" if is_slice(op) else op.name
        dropped = RESTS.get(name, 0)
        if dropped > 1 and self.took_two(subject):
            dropped -= 2
        elif dropped and self.took_item(subject, TAKES):
            dropped -= 1
        drop = "drop_last" if type(op) is anf.CallBuiltin and op.filled else "drop_top"
        changes: list[Op] = [Python(drop, [subject]) for _ in range(dropped)]
        if name == "cons":
            head = op.args[0]
            if self.is_text(subject.var):
                head = self.bind(Python("value", [head]), op.span, "text")
            if self.form.is_held(head) and self.kind(head.var):
                head = self.wrapped(head, op.span)
            changes = [Python("append", [subject, head])]
        if name == "append":
            changes = [self.pushed(subject, op.args[0])]
        for change in changes:
            change.span, change.type = op.span, atom(NIL)
            self.out.append(Let(None, change))
        return subject
