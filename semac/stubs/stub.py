"""The `.pyi` of one module: its functions, variables, records and classes as Python code sees them; no macros.

It comes from the Python that a module becomes, which has the names and parameters, and from the types that were
inferred on the way. `py/def` and `py/class` say their own types.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from semac.anf.records import RecordMember
from semac.ir.identifiers import mangle
from semac.ir.nodes import Function, Var
from semac.pipeline import CompiledUnit
from semac.stubs.annotations import ANYTHING, MARK, RECORD_CLASS, annotation, resolved
from semac.stubs.python_forms import INDENT, PythonForms, with_doc
from semac.types.lattice import FN

HEADER = "# Stub of {file}, made by sema stubs: edit the .sema file instead."


def stub_text(compiled: CompiledUnit, file: str) -> str:
    """The stub of a compiled module. file: its name as the first line says it."""
    writer = _Stub(compiled)
    body = [*writer.records()]
    for name, python in writer.names():
        lines = [*writer.definition(name, python)]
        body += [*lines, ""] if len(lines) > 1 else lines
    if writer.is_open:
        body.append(f"def __getattr__(name: {MARK}str) -> {ANYTHING}: ...")
    taken = {python for _, python in writer.names()} | {*writer.classes.values()}
    body, heads = resolved(body, taken)
    heads += sorted(writer.python.imports)
    public = [python for name, python in writer.names() if name in (compiled.unit.exports or ())]
    exports = [repr(python) for python in public]
    tail = [f"__all__ = [{', '.join(exports)}]"] if exports else []
    parts = [HEADER.format(file=file), *heads, "", *body, *tail]
    return "\n".join(parts).rstrip("\n") + "\n"


class _Stub:
    """Writes the definitions of one unit."""

    def __init__(self, compiled: CompiledUnit) -> None:
        self.unit = compiled.unit
        self.is_open = self.unit.is_open  # `load` and `eval` define what can't be seen
        self.statements = _statements(compiled.tree)
        self.classes = {record.name: record.py for record in self.unit.records.values() if record.py}
        self.python = PythonForms(compiled.forms, {*self.classes.values()})

    def names(self) -> list[tuple[str, str]]:
        """(Sema name, Python name) of what the module defines, in the order of the text."""
        return [
            (name, var.py)
            for name, var in self.unit.globals.items()
            if ((var.defined and name in self.unit.own) or name in self.python.forms) and var.py.isidentifier()
        ]

    def records(self) -> Iterator[str]:
        """The classes of the record types."""
        for record in self.unit.records.values():
            if record.py in self.statements:
                yield f"class {record.py}({RECORD_CLASS}):"
                fields = [(field_name(name), cell.type) for name, cell in record.fields.items()]
                yield from (f"{INDENT}{field}: {annotation(type_, self.classes)}" for field, type_ in fields)
                yield from [] if fields else [f"{INDENT}pass"]
                yield ""

    def definition(self, name: str, python: str) -> Iterator[str]:
        """The lines that say what a name is."""
        var = self.unit.globals[name]
        found = self.statements.get(python, [])
        form = self.python.lines(name, python)
        member = self.member(var)
        if form:
            yield from form
        elif member:
            yield member
        elif len(found) == 1 and var.defined == 1 and isinstance(found[0], ast.FunctionDef):
            yield from self.function(python, found[0], var.function)
        elif found and all(isinstance(statement, ast.FunctionDef) for statement in found):
            yield f"def {python}(*args: {ANYTHING}, **named: {ANYTHING}) -> {ANYTHING}: ..."
        else:
            yield f"{python}: {annotation(var.type, self.classes) if len(found) == 1 else ANYTHING}"

    def member(self, var: Var) -> str:
        """The function of a record type that a variable holds."""
        fns = var.type.fns if var.type is not None and var.type.only(FN) else None
        member = next(iter(fns)) if fns and len(fns) == 1 and var.defined == 1 else None
        if not isinstance(member, RecordMember) or member.record.py not in self.statements:
            return ""
        record = member.record
        if member.role == "constructor":
            params = ", ".join(f"{field_name(param)}: {ANYTHING}" for param in record.params)
            return f"def {var.py}({params}) -> {record.py}: ..."
        if member.role == "predicate":
            return f"def {var.py}(value: {ANYTHING}) -> {MARK}bool: ..."
        return f"def {var.py}(record: {record.py}) -> {annotation(record.fields[member.field].type, self.classes)}: ..."

    def function(self, python: str, made: ast.FunctionDef, function: Function | None) -> Iterator[str]:
        args = made.args
        params = [f"{arg.arg}: {ANYTHING}" for arg in (*args.posonlyargs, *args.args)]
        required = len(params) - len(args.defaults)
        params[required:] = [f"{param} = ..." for param in params[required:]]
        if args.vararg is not None:
            params.append(f"*{args.vararg.arg}: {ANYTHING}")
        params += [f"{arg.arg}: {ANYTHING} = ..." for arg in args.kwonlyargs]
        params += [f"**{args.kwarg.arg}: {ANYTHING}"] if args.kwarg is not None else []
        returned = annotation(function.type, self.classes) if function is not None else ANYTHING
        head = f"def {python}({', '.join(params)}) -> {returned}:"
        doc = function.doc if function is not None else None
        yield from with_doc(head, doc)


def field_name(name: str) -> str:
    """The attribute that holds a field of a record."""
    return mangle(name)


def _statements(tree: ast.Module) -> dict[str, list[ast.stmt]]:
    """The statements of a module that bind a name, by the name."""
    found: dict[str, list[ast.stmt]] = {}
    for statement in ast.walk(tree):
        names: list[str] = []
        if isinstance(statement, ast.FunctionDef | ast.ClassDef):
            names = [statement.name] if statement in tree.body else []
        elif isinstance(statement, ast.Assign):
            names = [part.id for target in statement.targets for part in ast.walk(target) if isinstance(part, ast.Name)]
        for name in names:
            found.setdefault(name, []).append(statement)  # type: ignore[arg-type]
    return found
