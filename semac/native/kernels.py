"""Which functions of a module run natively, and the text of the extension that holds them.

The module is compiled as a closed program to learn the types that its own calls give each function. These hold for
every call if they hold for those from outside, which are tested (`link.py`): a native function calls native functions
alone, and reads no global but literals that never change.
"""

from __future__ import annotations

import ast
from typing import Any

from semac.ir.unit import Unit
from semac.native.records import converted, find_records
from semac.native.translate import Translator
from semac.native.types import Facts, NotNative, base_of, native_type, result_type

SCALARS = ("int", "float", "bool", "str")
HEAD = '''"""Native functions of {name}; made by semac."""
from math import sqrt

from sema_runtime.native import FAILED, breathe, failed
from sema_runtime.values.lists import List

TYPE_CHECKING = False
if TYPE_CHECKING:  # importing it takes longer than many a program
    from typing import Any, Final, NoReturn, cast, final

    from mypy_extensions import i64

MOST: Final = 2000


@final
class State:
    ticks: i64
    interrupted: bool

    def __init__(self) -> None:
        self.ticks = 0
        self.interrupted = False


def poll(state: State) -> None:
    state.ticks = 0
    try:
        breathe()
    except BaseException:
        state.interrupted = True
        raise


def fail() -> NoReturn:
    raise ValueError


def fail_int() -> int:
    raise ValueError


def fail_float() -> float:
    raise ValueError


def fail_bool() -> bool:
    raise ValueError


def fail_str() -> str:
    raise ValueError


def quotient(a: int, b: int) -> int:
    if (a < 0) == (b < 0):
        return a // b
    return -(-a // b)


def new_int(count: int, fill: int) -> list[int]:
    if count < 0:
        fail()
    return [fill] * count


def new_float(count: int, fill: float) -> list[float]:
    if count < 0:
        fail()
    return [fill] * count


def new_bool(count: int, fill: bool) -> list[bool]:
    if count < 0:
        fail()
    return [fill] * count
'''


class Entry:
    """A native function that the module may call. needed: the definitions that must have run before; classes: those of
    records that it takes or gives, which it is called with, too."""

    def __init__(self, name: str, params: list[str], result: str, needed: set[str], classes: list[str]) -> None:
        self.name = name
        self.params = params
        self.result = result
        self.needed = needed
        self.classes = classes


class Kernels:
    """The native functions of one module. prefix: of their names, so that one extension can hold several modules.

    reasons: of functions that stay plain, why. short_too: whether functions without loops get calls of their own, which
    gains no time and tests more.
    """

    def __init__(self, unit: Unit, tree: ast.Module, prefix: str = "", short_too: bool = False) -> None:
        self.prefix = prefix
        self.short_too = short_too
        self.reasons: dict[str, str] = {}
        self.entries: dict[str, Entry] = {}
        self.functions: dict[str, ast.FunctionDef] = {}
        facts = Facts(tree, self.native_name)
        facts.constants = literals(tree)
        self.records = find_records(unit, tree, facts, prefix)
        self.classes = {record.python: record for record in self.records.values()}
        candidates = {} if unit.is_open or not unit.optimize else candidates_of(unit, tree)
        translators = self.translated(facts, candidates)
        self.add_entries(facts, translators)

    def native_name(self, function: str) -> str:
        return f"{self.prefix}n_{function}"

    def translated(self, facts: Facts, candidates: dict[str, tuple[ast.FunctionDef, Any]]) -> dict[str, Translator]:
        """The functions whose whole code has a native form, with those that they call."""
        for name, (_, function) in list(candidates.items()):
            params = [kind for var in function.params if (kind := native_type(var.type, facts)) is not None]
            if len(params) < len(function.params) or function.rest is not None:
                self.reasons[name] = "parameters of other types than numbers"
                del candidates[name]
            else:
                facts.signatures[name] = params, result_type(function.type, facts)
        while True:
            done: dict[str, Translator] = {}
            self.functions = {}
            for name, (node, _) in candidates.items():
                params, result = facts.signatures[name]
                names = [arg.arg for arg in node.args.args]
                translator = Translator(facts, node, dict(zip(names, params, strict=True)), result)
                try:
                    self.functions[name] = translator.translated(self.native_name)
                    done[name] = translator
                except NotNative as reason:
                    self.reasons[name] = str(reason)
            left_out = candidates.keys() - done.keys()
            if not left_out:
                return done
            for name in left_out:
                del candidates[name], facts.signatures[name]

    def add_entries(self, facts: Facts, translators: dict[str, Translator]) -> None:
        for name in translators:
            params, result = facts.signatures[name]
            reached = closure(name, translators)
            is_long = any(translators[each].has_loop or each in closure_of_calls(each, translators) for each in reached)
            if not is_long and not self.short_too:
                self.reasons[name] = "too short for a native call of its own"
            elif self.may_enter(params, result):
                needed = reached.union(*(translators[each].constants for each in reached))
                classes = {record.python for kind in (*params, result) if (record := converted(kind, self.records))}
                self.entries[name] = Entry(name, params, result, needed | classes, sorted(classes))
            else:
                self.reasons[name] = "takes or gives what only native functions have"
        kept = set().union(*(closure(name, translators) for name in self.entries))
        self.functions = {name: node for name, node in self.functions.items() if name in kept}

    def may_enter(self, params: list[str], result: str) -> bool:
        """Whether values of these kinds come from outside, and go there."""
        comes_in = all(kind in SCALARS or converted(kind, self.records) is not None for kind in params)
        goes_out = result in (*SCALARS, "object") or converted(result, self.records) is not None
        return comes_in and goes_out

    def drop(self, native_names: set[str]) -> None:
        """Leaves out native functions that mypyc refused, and what needs them."""
        refused = {name for name in self.functions if self.native_name(name) in native_names}
        self.entries = {name: entry for name, entry in self.entries.items() if not entry.needed & refused}
        kept = set().union(*(entry.needed for entry in self.entries.values()))
        self.functions = {name: node for name, node in self.functions.items() if name in kept}

    def definitions(self) -> str:
        """The text of the native functions and of their entries."""
        parts = [record.text() for record in self.records.values()]
        parts += [ast.unparse(ast.fix_missing_locations(node)) for node in self.functions.values()]
        parts += [self.entry_text(entry) for entry in self.entries.values()]
        return "\n\n\n".join(parts)

    def entry_text(self, entry: Entry) -> str:
        params, args = [], []
        for index, kind in enumerate(entry.params):
            record = converted(kind, self.records)
            params.append(f"p{index}: {'object' if record else kind}")
            args.append(f"{conversion('in', kind)}(p{index}, c_{record.python})" if record else f"p{index}")
        params += [f"c_{python}: object" for python in entry.classes]
        value = f"{self.native_name(entry.name)}({', '.join([*args, '0', 'state'])})"
        record = converted(entry.result, self.records)
        if record is not None:
            value = f"{conversion('out', entry.result)}({value}, c_{record.python})"
        return f'''def {self.prefix}e_{entry.name}({", ".join(params)}) -> object:
    state = State()
    try:
        return {value}
    except Exception:
        if state.interrupted:
            raise
        return failed(__name__, "{self.prefix}e_{entry.name}")'''


def conversion(way: str, kind: str) -> str:
    """The function that converts a record, or a list of them."""
    return f"{way}_{'seq_' if kind.startswith('seq[') else ''}{base_of(kind)}"


def extension_text(name: str, kernels: list[Kernels]) -> str:
    """The text of an extension with the native functions of some modules."""
    return "\n\n\n".join([HEAD.format(name=name), *(each.definitions() for each in kernels)]) + "\n"


def candidates_of(unit: Unit, tree: ast.Module) -> dict[str, tuple[ast.FunctionDef, Any]]:
    """The functions of the module that always are what one definition says: (the Python, what is known of it)."""
    known = {
        function.var.py: function
        for function in unit.functions
        if function.var is not None and function.var.is_global and not function.var.assigned
        and function.var.defined == 1 and function.var.name not in unit.reassigned
    }  # fmt: skip
    return {
        node.name: (node, known[node.name])
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name in known and node.args.vararg is None
        and len(node.args.args) == len(known[node.name].params)
    }  # fmt: skip


def literals(tree: ast.Module) -> dict[str, ast.Constant]:
    """The globals that are assigned once, a literal."""
    written: dict[str, int] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Global):
            for name in node.names:
                written[name] = 2
    found: dict[str, ast.Constant] = {}
    for statement in tree.body:
        for node in ast.walk(statement) if not isinstance(statement, ast.FunctionDef) else ():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                written[node.id] = written.get(node.id, 0) + 1
        if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant):
            if isinstance(statement.targets[0], ast.Name):
                found[statement.targets[0].id] = statement.value
    return {name: value for name, value in found.items() if written[name] == 1}


def closure(name: str, translators: dict[str, Translator]) -> set[str]:
    """A function and all that it reaches by calls."""
    return {name} | closure_of_calls(name, translators)


def closure_of_calls(name: str, translators: dict[str, Translator]) -> set[str]:
    reached: set[str] = set()
    pending = list(translators[name].called)
    while pending:
        current = pending.pop()
        if current not in reached:
            reached.add(current)
            pending += translators[current].called
    return reached
