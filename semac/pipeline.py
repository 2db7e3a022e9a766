"""From text to code: the passes in order. Pure but for macro bodies, which run while their program is expanded."""

from __future__ import annotations

import ast
import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType
from typing import TYPE_CHECKING, Any, TypeVar

from sema_runtime.values.errors import SemaError
from sema_runtime.values.lists import List
from sema_runtime.values.macros import Macro
from semac.analyze.analyzer import Analyzer, LateDefinition, Unit
from semac.analyze.places import with_places
from semac.imports import cache

if TYPE_CHECKING:
    from semac.emit.session_names import SharedNames

A = TypeVar("A", bound=Analyzer)

cache.compiler_hash()  # while the files are what was just loaded of them


class CompiledUnit:
    """One compiled program or module: its AST, and code or text made from it on demand."""

    def __init__(self, unit: Unit, tree: ast.Module, filename: str, forms: List, is_input: bool = False) -> None:
        self.text: str | None = None
        self.is_input = is_input
        self.unit = unit
        self.tree = tree
        self.filename = filename
        self.forms = forms

    @property
    def macro_files(self) -> list[str]:
        """Paths of the modules whose macros this one used."""
        return self.unit.macro_files

    @property
    def code(self) -> CodeType:
        """The code of the module, or that of the function which an input of a session is."""
        import warnings

        try:
            with warnings.catch_warnings(), no_collection():
                # Python's view of `(3)`: the program reports it when run
                warnings.simplefilter("ignore", SyntaxWarning)
                compiled: CodeType = compile(self.tree, self.filename, "exec", dont_inherit=True)
                made = with_places(compiled, self.unit.places)
            return next(one for one in made.co_consts if type(one) is CodeType) if self.is_input else made
        except (RecursionError, SyntaxError) as error:
            if isinstance(error, SyntaxError) and "nested" not in str(error):
                raise
            raise SemaError("expression nested too deeply", "split it with define or let") from None

    def python_text(self) -> str:
        """The module as Python source."""
        from semac.emit.text import module_text

        if not self.unit.is_portable:
            raise SemaError("a macro put a value into the program that can't be written down, like a function")
        return module_text(self, self.text)

    def dump(self, kind: str) -> str:
        """`expanded`, `ir`, `ast` or `py` as text."""
        from semac.ir.dump import dump

        return dump(self, kind)


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
) -> CompiledUnit:
    """Compiles source text. mode: "module" (anyone may call its functions) or "program" (nothing else will).

    result: whether the last form's value goes to the global `emit.RESULT`. macros: known before; new ones are added.
    known: names defined before; python: those of them that hold things imported from Python. shared: the names of the
    session that the text is an input of: the code is that of a function then, which gives the value of the last form.
    lists_globals: whether the module shall say which of its globals are the program's, as one with `eval` always does.
    optimize: see `optimization.py`; None: as the environment says.
    Raises ReaderError and SemaError with a `span` and a `source_file`.
    """
    from semac.syntax.reader import read_program

    with no_collection():
        try:
            forms = read_program(text)
            made = compile_forms(
                forms,
                filename,
                mode,
                result=result,
                macros=macros,
                known=known,
                python=python,
                shared=shared,
                lists_globals=lists_globals,
                optimize=optimize,
            )
        except SemaError as error:
            if not hasattr(error, "source_file"):
                error.source_file = filename  # type: ignore[attr-defined]
            raise
    made.text = text
    return made


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
) -> CompiledUnit:
    """Like `compile_source`, from forms."""
    from semac.emit.module import emit_input, emit_module
    from semac.passes import inference as infer
    from semac.passes import mutual_recursion as mutual
    from semac.passes import optimization
    from semac.passes import ownership as owned
    from semac.passes import tail_calls as tails

    try:
        unit = analyzed(forms, filename, {} if macros is None else macros, known, Analyzer, python).unit
        unit.lists_globals |= lists_globals
        unit.optimize = optimization.enabled() if optimize is None else optimize
        tails.mark(unit)
        if unit.optimize:
            mutual.inline_cycles(unit)
            infer.infer(unit, closed=mode == "program" and not unit.is_open)
            owned.find(unit)
        else:
            infer.leave_open(unit)
        tree = emit_module(unit, result) if shared is None else emit_input(unit, shared)
    except RecursionError:
        raise SemaError("expression nested too deeply", "split it with define or let") from None
    return CompiledUnit(unit, tree, filename, forms, is_input=shared is not None)


def analyzed(
    forms: List,
    filename: str,
    macros: dict[str, Macro],
    known: frozenset[str],
    kind: type[A],
    python: frozenset[str] = frozenset(),
) -> A:
    """An analyzer of some kind that is through with a program's forms."""
    from semac.expand.environment import evaluate, prelude

    before = dict(macros)
    reassigned: frozenset[str] = frozenset()
    while True:
        try:
            analyzer = kind(filename, macros, prelude(), evaluator(macros, evaluate), known, reassigned)
            analyzer.unit.python_names |= python
            analyzer.program(forms)
            return analyzer
        except LateDefinition as late:
            known, reassigned = known | late.names, late.reassigned
            macros.clear()
            macros.update(before)


def evaluator(macros: dict[str, Macro], evaluate: Callable[[Any, dict[str, Macro]], Any]) -> Callable[[Any], Any]:
    return lambda form: evaluate(form, macros)
