"""The passes over the intermediate representation, in order. Each rewrites the unit's blocks in place.

Each is sound alone: `SEMA_SKIP=name,name` leaves passes out, which changes no answer, as tests compare. `SEMA_OPT=0`
leaves out all that are marked as optimizations.
"""

from __future__ import annotations

from collections.abc import Callable

from semac.ir.unit import Unit, left_out
from semac.optimize.calls import inline_calls
from semac.optimize.caught import read_caught_fields
from semac.optimize.dispatch import dispatch_directly
from semac.optimize.infer.flow import infer
from semac.optimize.inline.walk import inline_builtins
from semac.optimize.loops.bare import bare_lists
from semac.optimize.loops.counting import count_in_loops
from semac.optimize.loops.cursors import give_own_loops, index_lists
from semac.optimize.loops.higher_order import loop_over_items
from semac.optimize.loops.rests import slice_rests
from semac.optimize.loops.sums import sum_ints
from semac.optimize.loops.updates import drop_levels, expand_updates
from semac.optimize.loops.walks import walk_lists
from semac.optimize.membership import ask_members
from semac.optimize.operators import lower_operators
from semac.optimize.own.dicts import own_maps
from semac.optimize.own.sinking import sink_takers
from semac.optimize.own.stacks import stack_lists
from semac.optimize.own.variables import own_variables
from semac.optimize.plain import write_plainly
from semac.optimize.records import lower_records
from semac.optimize.results import drop_results
from semac.optimize.steps.tasks import step_tasks
from semac.optimize.tails import clear_trampolines
from semac.optimize.texts.rewrite import hold_texts
from semac.optimize.versions.versions import make_versions


class Pass:
    """A pass. optional: an optimization, which can be left out. needs: the pass without which it isn't run."""

    __slots__ = ("name", "needs", "optional", "run")

    def __init__(self, name: str, run: Callable[[Unit], None], optional: bool = True, needs: str = "") -> None:
        self.name = name
        self.run = run
        self.optional = optional
        self.needs = needs


PASSES: tuple[Pass, ...] = (
    Pass("dispatch", dispatch_directly),  # calls of multimethods ask for the dispatch value themselves
    Pass("loops", loop_over_items),  # `map`, folds and their kin over known functions become loops
    Pass("updates", expand_updates),  # `update-in` and its kin become look-ups and `assoc`
    Pass("calls", inline_calls),  # calls of small functions become what these do
    Pass("rounds", give_own_loops),  # functions that go down a list by tail calls have a loop of their own
    Pass("versions", make_versions, needs="infer"),  # public functions test arguments once, copies need no guards
    Pass("infer", infer),  # what every variable and operand can hold
    Pass("counting", count_in_loops),  # loops that count become `for ... in range`
    Pass("walks", walk_lists),  # loops that walk down a list become loops over its items
    Pass("cursors", index_lists, needs="infer"),  # loops that go down flat lists hold an index
    Pass("rests", slice_rests, needs="infer"),  # rests of flat lists that loops go through are slices
    Pass("caught", read_caught_fields),  # handlers read entries of errors without making maps of them
    Pass("levels", drop_levels, needs="infer"),  # checks of updates that types have made
    Pass("sinking", sink_takers, needs="infer"),  # new lists and maps are made after the old ones were read
    Pass("results", drop_results, needs="infer"),  # results that nobody reads are nil
    Pass("variables", own_variables, needs="infer"),  # maps of variables that `set!` changes are bare dicts
    Pass("own", own_maps, needs="infer"),  # maps that nobody else sees change in place
    Pass("stacks", stack_lists, needs="infer"),  # lists that only grow and shrink at their head are Python lists
    Pass("texts", hold_texts, needs="inline"),  # characters that nobody sees as such are texts
    Pass("tails", clear_trampolines),  # tail calls that can't be part of an endless chain are plain calls
    Pass("records", lower_records),  # accessors become attributes, predicates tests of classes
    Pass("members", ask_members, needs="infer"),  # `member` as a test is Python's `in`
    Pass("inline", inline_builtins),  # small builtins become operations of Python
    Pass("bare", bare_lists, needs="inline"),  # lists of whose items alone is asked are Python's own
    Pass("operators", lower_operators, optional=False),  # operators become Python's where types permit it
    Pass("sums", sum_ints),  # loops that add up ints become `sum`
    Pass("steps", step_tasks),  # tasks that wait for channels are generators
    Pass("plain", write_plainly, optional=False),  # in text for people, guarded operations become calls
)


def run_passes(unit: Unit, after: Callable[[str, Unit], None] | None = None) -> None:
    """Runs the passes over a unit. after: called with the name of each pass that has run (a verifier, a dump)."""
    skipped = left_out(unit)
    for one in PASSES:
        if one.optional and (not unit.optimize or one.name in skipped or one.needs in skipped - {""}):
            continue
        one.run(unit)
        if after is not None:
            after(one.name, unit)
