"""A compilation unit: one program or module between the passes."""

from __future__ import annotations

import os
from typing import Any

from semac.ir.nodes import Function, Var
from semac.ir.places import Places
from semac.ir.sites import Sites


class Unit:
    """One program or module between the passes: its IR, its globals, and where its macros came from."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.tree: Any = None
        self.blocks: list[Any] = []  # of the top-level forms, in A-normal form
        self.main = Function("<lambda>", None)
        self.globals: dict[str, Var] = {}
        self.functions: list[Function] = []
        self.macro_files: list[str] = []
        self.is_portable = True  # no value of this process stands in the code
        self.records: dict[str, Any] = {}  # by name, the record types (semac/anf/records.py)
        self.is_open = False  # code compiled elsewhere may call our functions: eval, load
        self.uses_python = False  # Python code may make and change values of the unit
        self.is_program = False  # nobody else calls its functions
        self.is_input = False  # one of a session, which shares its globals with the others
        self.left_out: frozenset[str] = frozenset()  # passes that don't run, and parts of inference: signs, filled
        self.is_text = False  # written as text for people, without the shortcuts of code that is to run
        self.is_native = False  # its functions become C (semac/native), which asks for types at no cost
        self.optimize = True  # false: compiled as it is written (SEMA_OPT=0)
        self.is_typed = False  # types have been inferred, and nothing has changed since
        self.lists_globals = False  # says which globals are the program's: for eval and load, and for who imports it
        self.exports: list[str] | None = None  # the names of `(export ...)`
        self.own: set[str] = set()  # what its top-level forms define
        self.reassigned: set[str] = set()
        self.places = Places()
        self.sites = Sites()
        self.fitting: dict[int, bool] = {}  # ids of sequence patterns → whether the value surely has their length
        self.fixed: set[Any] = set()  # calls of builtins that the text doesn't name: no definition changes them
        self.raw: set[Any] = set()  # expressions that yield a raw dict to an owner
        self.python_names: set[str] = set()  # globals bound by Python imports
        self.match_advice: dict[Any, str] = {}  # matches → what is wrong with a parenthesised pattern of theirs
        self.silent: dict[
            Any, tuple[str, ...] | None
        ] = {}  # by line, name and parameters: the globals a function reads
        self.warnings: list[Any] = []  # what is accepted and surely a mistake (`analyze/suspects.py`)
        self.at_import: set[Any] = set()  # forms and functions that run while a module is imported and never later
        self.epilogue: Any = None  # the last block, where it is none of a form
        self.values: list[Any] = []  # what stands in the code of an input of a session although no text can say it

    @property
    def last_form(self) -> Any:
        """The block whose value is that of the unit; None where it has no forms."""
        forms = [block for block in self.blocks[-2:] if block is not self.epilogue]
        return forms[-1] if forms else None

    @property
    def is_closed(self) -> bool:
        """Whether all calls of its functions are in the unit."""
        return self.is_program and not self.is_open

    @property
    def is_sealed(self) -> bool:
        """Whether all records that it meets are of its own types."""
        return self.is_closed and not self.uses_python


def left_out(unit: Unit) -> frozenset[str]:
    """The passes that aren't run for a unit, by its own wish or that of the environment (`SEMA_SKIP`)."""
    asked = os.environ.get("SEMA_SKIP")
    return unit.left_out.union(filter(None, asked.split(","))) if asked else unit.left_out
