"""The worklist: code units (top-level forms, functions) are visited until no fact that they have read grows any more.

A fact is the type of a holder: a variable, what a function returns, a field of a record type, the items of the arrays
made at one place. Facts only grow, one holder at a time is widened where its type would grow for ever, and a unit comes
again when a fact that it has read has grown: so the cost is in proportion to the program and to the height of types.

What escapes to code that isn't seen (unknown callers, data that any code can read, `eval`) is opened: a function may
then be called with anything, an array may hold anything.

Where a module has code that runs while it is imported and never later (`infer/importing.py`), facts are kept for two
times: what holds always, and what holds until the import ends, which is all that this code reads. It and what it may
call add to both; other functions add to the first alone, as nobody calls them before. A value that others get through
the module's globals escapes later.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import Any

from semac.anf.build import is_fixed
from semac.anf.nodes import CallBuiltin, Op
from semac.anf.records import Cell, Node, RecordMember, RecordType, Site
from semac.anf.walk import all_blocks, bound
from semac.ir.nodes import Function, Var
from semac.ir.unit import Unit
from semac.optimize.infer.importing import changes_arrays, mixed_code
from semac.types.depth import limited
from semac.types.lattice import (
    ANY,
    FLAT,
    NEVER,
    Type,
    join,
    list_of,
    take_lost,
)

Holder = Any  # Var, Function, Cell or Site: has `type` and `readers`, as keys, in the order in which they came
GROWTHS = 20  # changes of one holder before what it holds is widened level by level
LATER, IMPORT = 1, 2  # the two times: always, and until the import of a module ends
BOTH = LATER | IMPORT


class Solver:
    """The state of the inference of one unit."""

    def __init__(self, unit: Unit) -> None:
        self.unit = unit
        self.closed = unit.is_closed
        self.sealed = unit.is_sealed
        self.shared = unit.is_open or (unit.is_input and not self.closed)  # other code defines our globals anew
        self.work: deque[Any] = deque()
        self.queued: set[Any] = set()
        self.current: Any = None  # the block or function that is being visited
        self.growths: dict[Holder, int] = {}
        self.folding: set[Op] = set()  # operations that make values of recursive types
        self.folded: dict[tuple[Op, Type, int], Type] = {}
        self.nodes: dict[Any, Node] = {}  # by operation and kind of container
        self.made: set[Function] = set()  # functions whose making has been visited
        self.opening: list[tuple[Any, int]] | None = None  # what is left to open, and when, while something is
        self.at_import: set[Any] = unit.at_import
        self.mixed = mixed_code(unit) if unit.at_import else unit.at_import
        self.mixed_changes = changes_arrays(self.mixed)
        self.early: dict[Holder, Type] = {}  # what holders can hold until the import ends
        self.early_growths: dict[Holder, int] = {}
        self.early_open: set[Any] = set()  # what is open before the import ends
        self.reads_early = False  # the code that is visited runs while the module is imported
        self.times = LATER  # when what it does can happen
        self.start()

    def start(self) -> None:
        unit = self.unit
        for var in unit.globals.values():
            known = var.defined and (self.closed or not var.assigned or var.is_private)
            var.type, var.readers = NEVER if known and not self.shared else ANY, {}
            if self.at_import and not var.defined:
                self.early[var] = ANY
        for function in [unit.main, *unit.functions]:
            function.type, function.readers, function.is_open = NEVER, {}, False
            for var in [*function.params, *function.locals]:
                var.type, var.readers = NEVER, {}
            if function.rest is not None:
                function.rest.type, function.rest.readers = list_of(NEVER, FLAT), {}
        for record in unit.records.values():
            for cell in [*record.fields.values(), *record.own.fields.values()]:
                cell.reset()
        for block in unit.blocks:
            for inner in all_blocks(block):
                for instr in inner.instrs:
                    if instr.var is not None and not instr.var.name:
                        instr.var.type, instr.var.readers = NEVER, None
                    if type(instr.op) is CallBuiltin:
                        instr.op.site = None
                    for var in bound(instr.op):
                        if not var.name:
                            var.type, var.readers = NEVER, {}
            self.enqueue(block)
        take_lost()  # that of others

    def forget(self, functions: Collection[Function]) -> None:
        """Forgets what the variables of functions hold, parameters apart, and of functions made in them."""
        outer = set(functions)
        for inner in [other for other in self.unit.functions if is_inside(other, outer)] if outer else []:
            inner.type, inner.is_open = NEVER, False
            self.made.discard(inner)
            self.early_open.discard(inner)
            holders: list[Holder] = [inner, *inner.params, *inner.locals]
            for holder in holders:
                holder.type = NEVER
                self.early.pop(holder, None)
            if inner.rest is not None:
                inner.rest.type = list_of(NEVER, FLAT)
        for function in functions:
            for var in function.locals:
                if var not in function.params and var is not function.rest:
                    var.type = NEVER
                    self.early.pop(var, None)

    def newly_mixed(self) -> set[Any] | None:
        """The code that may run at both times since calls have changed; None where it tells more of all that was
        visited."""
        if not self.at_import or self.current is None:  # nothing was visited yet
            return set()
        self.at_import = self.unit.at_import
        new = mixed_code(self.unit) - self.mixed
        self.mixed = self.mixed | new
        return None if not self.mixed_changes and changes_arrays(new) else new

    # The worklist

    def enqueue(self, code: Any) -> None:
        if code not in self.queued:
            self.queued.add(code)
            self.work.append(code)

    def next(self) -> Any:
        """The next unit of code to visit; None when nothing is left."""
        self.open_all(take_lost(), self.times)
        while self.work:
            code = self.work.popleft()
            if code in self.queued:  # else it was visited where it is called
                self.begin(code)
                return code
        return None

    def begin(self, code: Any) -> None:
        """A unit of code is going to be visited."""
        self.current = code
        self.queued.discard(code)
        if self.at_import:
            self.reads_early = code in self.at_import
            self.times = BOTH if self.reads_early or code in self.mixed else LATER

    def make(self, function: Function) -> None:
        """A function value is made: its body is visited."""
        if function not in self.made:
            self.made.add(function)
            self.enqueue(function)

    # Facts

    def read(self, holder: Holder) -> Type:
        """The type of a holder; the current unit comes again when it grows."""
        if holder.readers is None:
            holder.readers = {}
        holder.readers[self.current] = None
        type_: Type = self.early.get(holder, NEVER) if self.reads_early else holder.type
        return type_

    def grow(self, holder: Holder, type_: Type) -> None:
        """Adds what a holder can hold."""
        if not self.at_import:
            old: Type = holder.type
            if type_ is old or type_ is NEVER:  # most often nothing grows
                pass
            elif (new := join(old, type_)) is not old:
                holder.type = self.grown(holder, new, self.growths)
        else:
            self.grow_by_time(holder, type_)
        if type_.refs and type(holder) in (Cell, Node):
            self.escape_from(holder, type_)

    def grow_by_time(self, holder: Holder, type_: Type) -> None:
        """What the joins of one time lose sight of is opened for that time."""
        if lost := take_lost():
            self.open_all(lost, self.times)
        if type_ is NEVER:
            return
        if self.times & IMPORT:
            before = self.early.get(holder, NEVER)
            if type_ is not before:
                new = join(before, type_)
                if new is not before:
                    self.early[holder] = self.grown(holder, new, self.early_growths)
                if lost := take_lost():
                    self.open_all(lost, BOTH)
        old: Type = holder.type
        if type_ is not old:
            new = join(old, type_)
            if new is not old:
                holder.type = self.grown(holder, new, self.growths)
            if lost := take_lost():
                self.open_all(lost, LATER)

    def bind(self, var: Var, type_: Type) -> None:
        """A variable is bound to a value: the current unit reads it behind that, unless it is set or read before."""
        readers = var.readers
        if not readers or self.current not in readers or not is_fixed(var):
            self.grow(var, type_)
            return
        del readers[self.current]
        self.grow(var, type_)
        readers[self.current] = None

    def grown(self, holder: Holder, type_: Type, counts: dict[Holder, int]) -> Type:
        """The new type of a holder, whose readers come again."""
        growths = counts[holder] = counts.get(holder, 0) + 1
        if growths > GROWTHS:
            type_ = limited(type_, max(0, 3 - (growths - GROWTHS)))
            if growths > 2 * GROWTHS:
                type_ = join(type_, ANY)
        for reader in holder.readers or ():
            self.enqueue(reader)
        return type_

    # Escapes

    def escape(self, type_: Type, times: int = 0) -> None:
        """A value of the type reaches code that isn't seen: when this code runs, or at other times."""
        if type_.refs:
            self.open_all(type_.refs, times or self.times)

    def escape_from(self, holder: Holder, type_: Type) -> None:
        """A value is put where it may be that anybody reads."""
        if holder in self.early_open:
            self.escape(type_)
        elif holder.is_open:
            self.escape(type_, LATER)

    def open_all(self, refs: Iterable[Any], times: int) -> None:
        if self.opening is not None:  # what is opened opens more
            self.opening += [(ref, times) for ref in refs]
            return
        if not refs:
            return
        self.opening = [(ref, times) for ref in refs]
        while self.opening:
            ref, times = self.opening.pop()
            if self.mixed_changes and type(ref) is Site:
                times = BOTH
            before, self.times = self.times, times
            if times & IMPORT and ref not in self.early_open:
                self.early_open.add(ref)
                self.open(ref, False)
            self.times = LATER
            self.open(ref, True)
            self.times = before
        self.opening = None

    def open(self, ref: Any, is_later: bool) -> None:
        """Anybody may call a function, or change an array."""
        if type(ref) is Function:
            if not (is_later and ref.is_open):
                ref.is_open = ref.is_open or is_later
                for param in ref.params:
                    self.grow(param, ANY)
                if ref.rest is not None:
                    self.grow(ref.rest, list_of(ANY, FLAT))
                self.enqueue(ref)
                self.escape(ref.type if is_later else self.early.get(ref, NEVER))
        elif type(ref) is Site:
            if not (is_later and ref.is_open):
                ref.is_open = ref.is_open or is_later
                self.grow(ref, ANY)
        elif type(ref) is Node:
            self.show(ref, is_later)
        elif type(ref) is RecordMember:
            if ref.role == "constructor":
                for cell in ref.record.fields.values():
                    self.grow(cell, ANY)
            elif ref.field in ref.record.fields:
                self.show(ref.record.fields[ref.field], is_later)
        elif type(ref) is RecordType and not self.sealed:
            for cell in ref.fields.values():
                self.show(cell, is_later)

    def show(self, cell: Cell, is_later: bool) -> None:
        """Anybody may read a field of records."""
        if not is_later:
            self.early_open.add(cell)
            self.escape(self.early.get(cell, NEVER))
        elif not cell.is_open:
            cell.is_open = True
            self.escape(cell.type)

    def fill(self, cell: Cell, type_: Type) -> None:
        """A record holds a value of the type in a field."""
        self.escape_from(cell, type_)
        self.grow(cell, type_)

    def returned(self, function: Function, type_: Type) -> None:
        """A function returns a value of the type."""
        self.escape_from(function, type_)
        self.grow(function, type_)


def is_inside(inner: Function, functions: set[Function]) -> bool:
    """Whether a function is made in one of some functions."""
    around = inner.parent
    while around is not None and around not in functions:
        around = around.parent
    return around is not None
