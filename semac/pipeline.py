"""From text to code: the passes in order. Pure but for macro bodies, which run while their program is expanded."""

from __future__ import annotations

import ast
import gc
import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from types import CodeType
from typing import TYPE_CHECKING, Any

from sema_runtime.conditions.placing import with_places
from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from semac.analyze.analyzer import Analyzer
from semac.analyze.mutual_recursion import inline_cycles
from semac.analyze.program import analyze_program
from semac.analyze.tail_calls import mark_tail_calls
from semac.anf.build import build
from semac.expand.environment import MacroEnvironment, prelude_macros
from semac.fingerprint import compiler_hash, optimizes
from semac.generate.module import RESULT, emit_input, emit_module
from semac.generate.packed.module import module_code
from semac.ir.unit import Unit
from semac.optimize.passes import run_passes
from semac.types.lattice import compiling

if TYPE_CHECKING:
    from semac.expand.expander import PreludeMacros
    from semac.generate.session_names import SharedNames

Watcher = Callable[[str, Unit], None]  # gets the name of each pass that has run, and the unit


class Checks:
    """What a process has everything checked by that it compiles: the box does (semac/box). Each raises to refuse.

    units: with each unit as analysis has made it, in A-normal form. trees: with the Python of a unit, before it becomes
    code; they may change it.
    """

    def __init__(self) -> None:
        self.units: list[Callable[[Unit], None]] = []
        self.trees: list[Callable[[ast.Module], None]] = []


CHECKS = Checks()
EXPANSION = "__sema_macro__"  # the module in which bodies of macros run
VERIFY = bool(os.environ.get("SEMA_VERIFY"))  # every unit after every pass
TOO_DEEP = "expression nested too deeply"
SPLIT_IT = "split it with define or let"
NO_SYNTAX_WARNINGS = ("ignore", None, SyntaxWarning, None, 0)  # as the module `warnings` notes it

compiler_hash()  # while the files are what was just loaded of them


class CompiledUnit:
    """One compiled program or module: its AST, and code or text made from it on demand."""

    def __init__(self, unit: Unit, tree: ast.Module, filename: str, forms: List, is_input: bool = False) -> None:
        self.text: str | None = None
        self.is_input = is_input
        self.unit = unit
        self.tree = tree
        self.filename = filename
        self.forms = forms
        self.packs = True  # whether functions that seldom run may have stubs in their place
        self.tables: tuple[Any, Any] | None = None  # of places and sites, once they were asked for

    @property
    def macro_files(self) -> list[str]:
        """Paths of the modules whose macros this one used."""
        return self.unit.macro_files

    @property
    def code(self) -> CodeType:
        """The code of the module, or that of the function which an input of a session is."""
        try:
            with without_syntax_warnings(), no_collection():
                for check in CHECKS.trees:
                    check(self.tree)
                packs = self.packs and self.unit.is_portable
                return module_code(self.tree, self.placed) if packs else self.placed(self.tree)
        except (RecursionError, SyntaxError) as error:
            if isinstance(error, SyntaxError) and "nested" not in str(error):
                raise
            raise SemaError(TOO_DEEP, SPLIT_IT) from None

    def placed(self, tree: ast.Module) -> CodeType:
        """The code of a module of the unit, with the places of its calls."""
        code: CodeType = compile(tree, self.filename, "exec", dont_inherit=True)
        if self.is_input:
            code = next(constant for constant in code.co_consts if type(constant) is CodeType)
        if self.tables is None:
            self.tables = self.unit.places.table(), self.unit.sites.table()
        places, sites = self.tables
        return with_places(code, places, sites, silent=self.unit.silent)

    def show_warnings(self) -> None:
        """Writes to stderr what the language accepts although it is a mistake."""
        if self.unit.warnings:
            from semac.diagnostics.render import show_warnings

            show_warnings(self.unit.warnings, self.filename, self.text)

    def python_text(self) -> str:
        """The module as Python source. Raises SemaError for a value in the code that no text can say."""
        from semac.generate.text import module_text

        self.refuse_values()
        return module_text(self.tree, self.filename, self.text)

    def mapped_text(self) -> str:
        """The module as Python source that runs as `code` does, with the same places (`sema_runtime/source_maps.py`).

        Raises SemaError for what no text can say.
        """
        from semac.generate.text.mapped import Unfaithful, mapped_text

        self.refuse_values()
        name = os.path.basename(self.filename)
        try:
            return mapped_text(self.tree, name, self.text, self.unit.places.table(), self.unit.sites.table())
        except Unfaithful as error:
            raise SemaError(f"the module can't be written as Python text: {error}", SPLIT_IT) from None

    def refuse_values(self) -> None:
        """Raises SemaError where a macro put a value into the code that has no text."""
        if not self.unit.is_portable:
            raise SemaError("a macro put a value into the program that can't be written down, like a function")


def compile_source(
    text: str,
    filename: str = "<input>",
    mode: str = "module",
    *,
    result: bool = False,
    macros: dict[str, Macro] | None = None,
    known: frozenset[str] = frozenset(),
    python: frozenset[str] = frozenset(),
    shared: SharedNames | None = None,
    lists_globals: bool = False,
    optimize: bool | None = None,
    is_text: bool = False,
    is_native: bool = False,
    watch: Watcher | None = None,
) -> CompiledUnit:
    """Compiles source text. mode: "module" (anyone may call its functions) or "program" (nothing else will).

    result: whether the global `emit.module.RESULT` receives the last form's value. macros: known before; new ones are
    added. known: names defined before; python: those of them that hold things imported from Python. shared: the names
    of the session that the text is an input of; the code is then that of a function that returns the value of the last
    form. lists_globals: whether the module says which of its globals are the program's, as one with `eval` always does.
    optimize: whether all passes run; None: as SEMA_OPT says. is_text: whether the Python is for people to read, who
    want `add(a, b)` where code to run tries `a + b` first. is_native: whether functions are to become C. watch: is
    called with the unit after each pass.
    Raises ReaderError and SemaError with a `span` and a `source_file`.
    """
    from semac.syntax.reader import read_program

    with no_collection():
        try:
            compiled = compile_forms(
                read_program(text),
                filename,
                mode,
                result=result,
                macros=macros,
                known=known,
                python=python,
                shared=shared,
                lists_globals=lists_globals,
                optimize=optimize,
                is_text=is_text,
                is_native=is_native,
                watch=watch,
            )
        except SemaError as error:
            if not hasattr(error, "source_file"):
                error.source_file = filename  # type: ignore[attr-defined]
            raise
    compiled.text = text
    return compiled


@contextmanager
def no_collection() -> Iterator[None]:
    """Keeps the garbage collector from walking the growing trees again and again: compiling stays linear."""
    running = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if running:
            gc.enable()


def without_syntax_warnings() -> AbstractContextManager[object]:
    """Python has a view of `(3)`, but the program reports it when it is run."""
    import warnings

    if warnings.filters and warnings.filters[0] == NO_SYNTAX_WARNINGS:  # as the box has it
        return nullcontext()
    return warnings.catch_warnings(action="ignore", category=SyntaxWarning)


def compile_forms(
    forms: List,
    filename: str = "<input>",
    mode: str = "module",
    *,
    result: bool = False,
    macros: dict[str, Macro] | None = None,
    known: frozenset[str] = frozenset(),
    python: frozenset[str] = frozenset(),
    shared: SharedNames | None = None,
    lists_globals: bool = False,
    optimize: bool | None = None,
    is_text: bool = False,
    is_native: bool = False,
    watch: Watcher | None = None,
) -> CompiledUnit:
    """Like `compile_source`, from forms."""
    try:
        environment = macro_environment({} if macros is None else macros)
        unit = analyze_program(forms, filename, environment, Analyzer, known, python).unit
        unit.lists_globals |= lists_globals
        unit.is_program = mode == "program"
        unit.is_text = is_text
        unit.is_native = is_native
        unit.is_input = shared is not None
        unit.optimize = optimizes() if optimize is None else optimize
        tree = generated(unit, result, shared, watch)
    except RecursionError:
        raise SemaError(TOO_DEEP, SPLIT_IT) from None
    return CompiledUnit(unit, tree, filename, forms, is_input=shared is not None)


def generated(unit: Unit, result: bool, shared: SharedNames | None, watch: Watcher | None) -> ast.Module:
    """The Python of an analyzed unit, through A-normal form and its passes (`optimize/passes.py`)."""
    watchers = [*watchers_asked_for(), *([watch] if watch is not None else [])]

    def after(name: str, unit: Unit) -> None:
        for watcher in watchers:
            watcher(name, unit)

    with compiling():
        mark_tail_calls(unit)
        if unit.optimize:
            inline_cycles(unit)
        after("tree", unit)
        build(unit)
        for check in CHECKS.units:
            check(unit)
        after("build", unit)
        run_passes(unit, after if watchers else None)
        return emit_module(unit, result) if shared is None else emit_input(unit, shared)


def watchers_asked_for() -> list[Watcher]:
    """What the environment has look at a unit after each pass: a verifier, and what has the program check its types."""
    watchers: list[Watcher] = []
    if VERIFY:
        from semac.verify.unit import Verifier

        watchers.append(Verifier())
    if os.environ.get("SEMA_ASSERT_TYPES"):
        watchers.append(asserted)
    return watchers


def asserted(name: str, unit: Unit) -> None:
    """Has the program check its types, once they are inferred."""
    if name == "infer":
        from semac.anf.assertions import assert_types

        assert_types(unit)


# Macros


def macro_environment(macros: dict[str, Macro]) -> MacroEnvironment:
    """Where the macro bodies of a program run in which these macros are known."""
    return MacroEnvironment(run_form, macros)


def prelude() -> PreludeMacros:
    """The macros of `prelude.sema`."""
    return prelude_macros(run_form)


def run_form(form: Any, macros: dict[str, Macro], file: str) -> Any:
    """The value of a form where macro bodies run: it sees builtins and macros, but nothing that the program defines."""
    unit = compile_forms(List([form]), file, "module", result=True, macros=macros)
    scope: dict[str, Any] = {"__name__": EXPANSION, "__sema_names__": {}}
    exec(unit.code, scope)
    return scope.pop(RESULT, None)
