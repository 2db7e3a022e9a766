"""Characters that are only taken from a text, sorted or turned, and joined or counted, never leave it.

`(list->string (sort (string->list word)))` is `"".join(sorted(word))`. Assumes inferred types. Sound because the lists
between have no other use, and none of these operations fails or has an effect: characters are ordered as their texts.
"""

from __future__ import annotations

from collections import Counter

from semac.anf.nodes import CallBuiltin, Expr, Let, Lit, Move, Op, Python, Ref
from semac.anf.walk import all_blocks, named
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.loops.functions import temporary
from semac.optimize.operators import replace
from semac.optimize.texts.uses import COUNTS, JOINS, LISTS, is_local, stays
from semac.types.lattice import FLAT, NATURAL, STR, Type, atom, make

STRING = atom(STR)
ORDERS = frozenset(("sort", "reverse"))
ENDS = frozenset((*JOINS, *COUNTS))
LINKS = ORDERS.union(LISTS)


def join_at_once(unit: Unit) -> None:
    """Rewrites the calls of `list->string`, and of `length`, at the end of such chains."""
    ends = [
        (block, instr)
        for form in unit.blocks
        for block in all_blocks(form)
        for instr in block.instrs
        if type(instr.op) is CallBuiltin and instr.op.name in ENDS and len(instr.op.args) == 1
        if type(link := made_by(instr.op.args[0])) is CallBuiltin and link.name in LINKS
    ]
    if not ends:
        return
    counts = Counter(named(unit.blocks))
    dropped: set[Var] = set()
    for block, instr in ends:
        op: CallBuiltin = instr.op  # type: ignore[assignment]
        links = chain(op.args[0], counts)
        if not links:
            continue
        dropped.update(var for var, _ in links)
        text = links[-1][1].args[0]
        put: list[Let] = []
        if op.name in COUNTS:
            replace(instr, Python("len", [text], span=op.span, type=atom(NATURAL)))
        else:
            for _, link in reversed(links[:-1]):
                text = ordered(link, text, instr, put)
            replace(instr, Move(text, span=op.span, type=STRING))
        place = block.instrs.index(instr)
        block.instrs[place:place] = put
    for form in unit.blocks if dropped else ():
        for block in all_blocks(form):
            block.instrs = [instr for instr in block.instrs if instr.var not in dropped]


def made_by(value: Expr) -> Op | None:
    """The operation whose value an operand is, as far as that is known."""
    return value.var.op if type(value) is Ref else None


def chain(value: Expr, counts: Counter[Var]) -> list[tuple[Var, CallBuiltin]]:
    """The lists from the last one back to the one of a text's characters, each with what makes it; [] where others
    see one of them."""
    links: list[tuple[Var, CallBuiltin]] = []
    while type(value) is Ref and is_local(value.var) and counts[value.var] == 1:
        op = value.var.op
        if type(op) is not CallBuiltin or len(op.args) != 1:
            break
        links.append((value.var, op))
        if op.name in LISTS:
            return links if stays(op.args[0]) and op.args[0].type.only(STR) else []
        if op.name not in ORDERS:
            break
        value = op.args[0]
    return []


def ordered(link: CallBuiltin, text: Expr, instr: Let, put: list[Let]) -> Ref:
    """The text of which the characters stand in another order."""

    def bind(op: Op, type_: Type) -> Ref:
        var = temporary("text", instr.var.owner if instr.var is not None else None)
        var.op, var.type, op.type, op.span = op, type_, type_, link.span
        put.append(Let(var, op))
        return Ref(var, type_)

    if link.name == "reverse":
        return bind(Python("turned", [text]), STRING)
    items = make(FLAT, item=STRING)
    return bind(Python("join", [bind(Python("sorted_items", [text]), items), Lit("", STRING)]), STRING)
