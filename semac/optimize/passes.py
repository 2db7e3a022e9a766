"""The passes over the intermediate representation, in order. Each rewrites the unit's blocks in place.

Each is sound alone: `SEMA_SKIP=name,name` leaves passes out, which changes no answer, as tests compare. `SEMA_OPT=0`
leaves out all that are marked as optimizations. Units skip the passes that would find nothing in them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from semac.anf.nodes import (
    CallBuiltin,
    CallRuntime,
    Closure,
    Comprehension,
    Destructure,
    For,
    If,
    Logic,
    Loop,
    MakeMap,
    MakeVector,
    Match,
    Move,
    Python,
    SetItem,
    Throw,
    Try,
    While,
)
from semac.anf.walk import NESTING, blocks
from semac.ir.intrinsics import LEVEL, NEW_KEY, STORED, UPDATED, VALUES_TUPLE
from semac.ir.unit import Unit, left_out
from semac.optimize.calls import inline_calls
from semac.optimize.caught import read_caught_fields
from semac.optimize.decided import decide_tests
from semac.optimize.dispatch import MULTI, dispatch_directly
from semac.optimize.fields.arguments import give_fields
from semac.optimize.fields.multiple import make_vectors
from semac.optimize.fields.parts import return_parts
from semac.optimize.fields.split import split_maps
from semac.optimize.fields.states import thread_states
from semac.optimize.fields.threads import thread_tests
from semac.optimize.fused import OUTER, fuse_calls
from semac.optimize.infer.flow import infer
from semac.optimize.inline.table import INLINE, INLINE_RUNTIME
from semac.optimize.inline.walk import inline_builtins
from semac.optimize.inplace.chains import change_new_maps, join_changes
from semac.optimize.inplace.rewrite import change_in_place
from semac.optimize.loops.bare import bare_lists
from semac.optimize.loops.counting import count_in_loops
from semac.optimize.loops.cursors import give_own_loops, index_lists
from semac.optimize.loops.higher_order import TABLE, loop_over_items
from semac.optimize.loops.rests import RESTS, slice_rests
from semac.optimize.loops.seeds import seed_lists
from semac.optimize.loops.sets import use_sets
from semac.optimize.loops.sums import sum_ints
from semac.optimize.loops.updates import ALIASES, ARGUMENTS, drop_levels, expand_updates
from semac.optimize.loops.walks import walk_lists
from semac.optimize.membership import ask_members
from semac.optimize.operators import LOWERINGS, lower_operators
from semac.optimize.ordering import sort_by_keys
from semac.optimize.own.dicts import own_maps
from semac.optimize.own.growing import grow_lists
from semac.optimize.own.queues import queue_lists
from semac.optimize.own.sinking import TAKERS, sink_takers
from semac.optimize.own.stacks import stack_lists
from semac.optimize.own.stored_keys import ask_keys_once
from semac.optimize.own.variables import own_variables
from semac.optimize.patterns import look_up_keywords
from semac.optimize.plain import write_plainly
from semac.optimize.records import lower_records
from semac.optimize.repeats import read_once
from semac.optimize.results import drop_results
from semac.optimize.rows.rewrite import make_tuples
from semac.optimize.steps.consumed import consume_at_once
from semac.optimize.steps.pulled import pull_tasks
from semac.optimize.steps.tasks import SPAWN, step_tasks
from semac.optimize.tails import clear_trampolines
from semac.optimize.texts.rewrite import hold_texts
from semac.optimize.texts.uses import CASES, CODES, JOINS, REFS
from semac.optimize.versions.versions import make_versions

TEXTUAL: tuple[type | str, ...] = (For, Comprehension, If, Match, Move, Python, *CASES, *CODES, *JOINS, *REFS)
READ: tuple[type | str, ...] = (CallRuntime, "car", "first", "cadr", "caddr", "get", "contains?")
MAKES_LISTS = (Comprehension, Closure, Python, Match, Destructure)
Kinds = frozenset[type | str]
SIMPLE: Kinds = frozenset((CallRuntime, If, Move, Python))
PARTS: Kinds = SIMPLE | {"=", "list", "nil?", Destructure, MakeMap, MakeVector}
KEYS: Kinds = SIMPLE | {NEW_KEY, STORED, MakeMap}
# What passes may add to a unit of what others are about, SIMPLE where nothing is said; None: anything.
MAKES: dict[str, Kinds | None] = {
    "dispatch": None, "loops": None, "updates": None,
    "calls": SIMPLE | {Comprehension, For, "not"}, "seeds": SIMPLE | {"empty?"},
    "rounds": SIMPLE | {Loop}, "walks": SIMPLE | {For}, "pulled": SIMPLE | {For},
    "counting": SIMPLE | {"+", "-", "max", "min", "not", For},
    "values": PARTS, "parts": PARTS, "arguments": PARTS, "fields": PARTS, "states": PARTS | {"assoc"},
    "rows": SIMPLE | {Comprehension, MakeVector},
    "versions": PARTS | {Closure, Comprehension, Loop},
    "fused": SIMPLE | {"assoc"}, "levels": KEYS, "variables": KEYS, "own": KEYS, "inplace": KEYS,
}  # fmt: skip
SMALL = 64  # operations of a unit of which it pays to ask again after each pass


class Pass:
    """A pass. optional: an optimization, which can be left out. needs: the pass without which it isn't run. about:
    what it looks for: classes of operations, names of builtins that are called, paths of functions of the runtime; a
    unit without any of it stays as it is. None: the pass decides by itself."""

    __slots__ = ("about", "name", "needs", "optional", "run")

    def __init__(
        self,
        name: str,
        run: Callable[[Unit], None],
        about: Iterable[type | str] | None = None,
        optional: bool = True,
        needs: str = "",
    ) -> None:
        self.name = name
        self.run = run
        self.about = None if about is None else frozenset(about)
        self.optional = optional
        self.needs = needs


PASSES: tuple[Pass, ...] = (
    Pass("dispatch", dispatch_directly, [MULTI]),  # calls of multimethods ask for the dispatch value themselves
    Pass("loops", loop_over_items, TABLE),  # `map`, folds and their kin over known functions become loops
    Pass(
        "updates", expand_updates, (*ARGUMENTS, *ALIASES, "assoc")
    ),  # `update-in` and its kin become look-ups and `assoc`
    Pass("calls", inline_calls),  # calls of small functions become what these do
    Pass("rounds", give_own_loops, [Closure]),  # functions that go down a list by tail calls have a loop of their own
    Pass("seeds", seed_lists, ["append"]),  # lists that are collected with `append` begin as lists, not as vectors
    Pass("values", make_vectors, [VALUES_TUPLE]),  # multiple values that `let-values` alone takes apart are vectors
    Pass("threads", thread_tests, (MakeMap, MakeVector, If, Match)),  # tests of what was just made are decided there
    Pass("parts", return_parts, [Closure], needs="threads"),  # maps that callers take apart are returned as tuples
    Pass("arguments", give_fields, [MakeMap], needs="fields"),  # functions that read fields of a map get these alone
    Pass("fields", split_maps, (MakeMap, MakeVector, "list")),  # maps that nobody sees are a variable for each field
    Pass("states", thread_states, ["assoc"], needs="infer"),  # states that functions give back are handed on as fields
    Pass("repeats", read_once, READ),  # parts that are read again are read once
    Pass("rows", make_tuples, ("list", "map/entries", MakeMap)),  # lists and maps that are only taken apart are tuples
    Pass("versions", make_versions, needs="infer"),  # public functions test arguments once, copies need no guards
    Pass("infer", infer),  # what every variable and operand can hold
    Pass("decided", decide_tests, (If, Logic), needs="infer"),  # tests of one outcome become the branch that runs
    Pass("patterns", look_up_keywords, [Destructure], needs="infer"),  # patterns of keywords on maps are look-ups
    Pass("counting", count_in_loops, (Loop, While, Closure)),  # loops that count become `for ... in range`
    Pass("walks", walk_lists, (Loop, Closure)),  # loops that walk down a list become loops over its items
    Pass("cursors", index_lists, (Loop, For), needs="infer"),  # loops that go down flat lists hold an index
    Pass("rests", slice_rests, RESTS, needs="infer"),  # rests of flat lists that loops go through are slices
    Pass("caught", read_caught_fields, (Try, Throw)),  # handlers read entries of errors without making maps of them
    Pass("levels", drop_levels, (LEVEL, UPDATED, "assoc"), needs="infer"),  # checks of updates that types have made
    Pass("fused", fuse_calls, OUTER, needs="infer"),  # calls on what was made for them alone are one call
    Pass("joins", join_changes, ["assoc"], needs="infer"),  # changes of maps that have no other use are one change
    Pass(
        "sinking", sink_takers, (*TAKERS, "append", "assoc"), needs="infer"
    ),  # new lists come behind readers of old ones
    Pass("results", drop_results, needs="infer"),  # results that nobody reads are nil
    Pass("variables", own_variables, (MakeMap, "hashmap/new"), needs="infer"),  # maps of variables are bare dicts
    Pass("own", own_maps, ("assoc", "dissoc", "merge"), needs="infer"),  # maps that nobody else sees change in place
    Pass("keys", ask_keys_once, (STORED, NEW_KEY)),  # stored forms of keys are asked for once
    Pass("queues", queue_lists, ["append"], needs="infer"),  # lists that grow and shrink at two ends are queues
    Pass("stacks", stack_lists, ("cons", "append"), needs="infer"),  # lists that change at their head are Python's
    Pass("growing", grow_lists, ["append"], needs="infer"),  # lists that grow at their end are Python's
    Pass("inplace", change_in_place, ("assoc", "dissoc"), needs="infer"),  # maps that nobody else holds change in place
    Pass("chains", change_new_maps, ["assoc"], needs="infer"),  # maps that were just made change in place
    Pass("members", ask_members, ["member"], needs="infer"),  # `member` as a test is Python's `in`
    Pass("texts", hold_texts, TEXTUAL, needs="inline"),  # characters that nobody sees as such are texts
    Pass("tails", clear_trampolines, [Closure]),  # tail calls that can't be part of an endless chain are plain calls
    Pass("records", lower_records),  # accessors become attributes, predicates tests of classes
    Pass("orders", sort_by_keys, ["sort"], needs="infer"),  # comparators of a key of both elements sort by that key
    Pass("inline", inline_builtins, (*INLINE, *INLINE_RUNTIME)),  # small builtins become operations of Python
    Pass("bare", bare_lists, MAKES_LISTS, needs="inline"),  # lists that are only read are Python's own
    Pass("operators", lower_operators, LOWERINGS, optional=False),  # operators become Python's where types permit it
    Pass("sets", use_sets, ["keys", SetItem], needs="infer"),  # loops over keys that are operations on sets
    Pass("sums", sum_ints, [For]),  # loops that add up ints become `sum`
    Pass("pulled", pull_tasks, (SPAWN, "async/spawn"), needs="steps"),  # silent tasks also run when they are needed
    Pass("steps", step_tasks, (SPAWN, "async/spawn")),  # tasks that wait for channels are generators
    Pass("consumed", consume_at_once, ["channel/recv"], needs="pulled"),  # silent receivers ask pulled tasks themselves
    Pass("plain", write_plainly, optional=False),  # in text for people, guarded operations become calls
)


def run_passes(unit: Unit, after: Callable[[str, Unit], None] | None = None) -> None:
    """Runs the passes over a unit. after: called with the name of each pass that has run (a verifier, a dump)."""
    skipped = left_out(unit)
    operations, is_small = contents(unit)
    for one in PASSES:
        if one.optional and (not unit.optimize or one.name in skipped or one.needs in skipped):
            continue
        if one.about is None or not one.about.isdisjoint(operations):
            one.run(unit)
            made = MAKES.get(one.name, SIMPLE)
            if is_small or made is None:
                operations, is_small = contents(unit)
            else:
                operations |= made
        if after is not None:
            after(one.name, unit)


def contents(unit: Unit) -> tuple[set[type | str], bool]:
    """What the operations of a unit are, in the words of `Pass.about`, and whether they are few."""
    found: set[type | str] = set()
    todo = list(unit.blocks)
    count = 0
    while todo:
        instrs = todo.pop().instrs
        count += len(instrs)
        for instr in instrs:
            op = instr.op
            kind = type(op)
            found.add(kind)
            if kind is CallBuiltin:
                found.add(op.name)
            elif kind is CallRuntime:
                found.add(op.path)
            elif kind is Closure:
                todo.append(op.function.code)
            elif kind in NESTING:
                todo += blocks(op)
    return found, count <= SMALL
