"""The text of an extension: the native functions of a module, their entries, and the tables that bind them.

Functions are written in rounds: what a variable holds and a function returns is found out by writing them, with what
the round before has found, until nothing changes.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

from semac.native.calls import call
from semac.native.choices import CHOICES
from semac.native.closures import closure
from semac.native.entries import direct_text, entry_text, wrapper_text
from semac.native.expressions import EXPRESSIONS, constant_value, expr
from semac.native.function import FunctionCode, said
from semac.native.intrinsics import OPERATORS
from semac.native.iteration import comprehension
from semac.native.module_facts import CONSTANT, ModuleFacts
from semac.native.scopes import Scope
from semac.native.statements import block
from semac.native.values import C_TYPES, COUNTED, DROP_MAYBE, NOTHING, NotNative, of_all

EXPRESSIONS.update(CHOICES)
EXPRESSIONS.update({ast.Call: call, ast.Lambda: closure, ast.ListComp: comprehension, ast.DictComp: comprehension,
                    ast.SetComp: comprehension})  # fmt: skip
CONSTANT.append(constant_value)
PARTS = ("core", "numbers", "data", "more", "lists", "maps", "text", "math", "folds")
HEADERS = [Path(__file__).with_name("c") / f"{name}.h" for name in PARTS]
MOST_ROUNDS = 60
UNSET = {"f": "sema_unset()", "b": "2"}  # what says in a traceback that a variable has no value


Known = tuple[str, int, int]  # what a function of the top level is known by: name, line, column


class ModuleCode(ModuleFacts):
    """The native code of a module.

    param_reps: what the compiler knows of the parameters of functions of the top level, as representations, by name.
    left_out: functions of the top level that stay Python.
    """

    def __init__(
        self,
        tree: ast.Module,
        is_open: bool,
        param_reps: dict[str, list[str]],
        left_out: frozenset[Known] = frozenset(),
    ) -> None:
        super().__init__(tree, is_open)
        self.all: list[FunctionCode] = []
        self.inner: dict[ast.AST, FunctionCode] = {}
        self.reasons: dict[str, str] = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and self.may_be_native(node):
                code = self.add(node, Scope(node, frozenset()), node.name, False)
                for at, rep in enumerate(param_reps.get(node.name, ())):
                    code.param_reps[at] = "o" if code.scope.params[at] in code.scope.cells else rep
                self.functions[node.name] = code
            elif not isinstance(node, ast.FunctionDef | ast.ClassDef):
                for part in outer_lambdas(node):
                    self.add(part, Scope(part, frozenset()), "", False)
        for code in self.all:
            if known_by(code) in left_out:
                self.leave_out(code, "its code is not found")
        self.write()

    def may_be_native(self, node: ast.FunctionDef) -> bool:
        return node.name in self.globals and decorators(node) <= {"constructor"}

    def add(self, node: ast.FunctionDef | ast.Lambda, scope: Scope, name: str, is_inner: bool) -> FunctionCode:
        code = FunctionCode(self, len(self.all), scope, node, name, is_inner)
        self.all.append(code)
        return code

    def inner_function(self, f: FunctionCode, node: ast.FunctionDef | ast.Lambda, scope: Scope) -> FunctionCode:
        """The code of a function inside of another."""
        if node not in self.inner:
            self.inner[node] = self.add(node, scope, "", True)
            self.inner[node].outer = f
            f.changed = True
        return self.inner[node]

    # Rounds

    def write(self) -> None:
        for self.is_certain in (False, True):
            for _ in range(MOST_ROUNDS):
                if not self.round():
                    break
        self.is_draft = False
        self.round()

    def round(self) -> bool:
        """Writes every function; returns whether something new was found out."""
        is_new = False
        for code in list(self.all):
            if code.why:
                continue
            code.begin()
            try:
                write_function(code)
            except NotNative as reason:
                self.leave_out(code, str(reason))
                is_new = True
                continue
            code.results |= code.returns
            result = of_all(code.results) or ("o" if self.is_certain else "")
            is_new = is_new or code.changed or result != code.result
            code.result = result
        return is_new

    def leave_out(self, code: FunctionCode, why: str) -> None:
        assert self.is_draft, why
        code.why = why
        if code.name:
            self.reasons[code.name] = why
            if self.functions.get(code.name) is code:
                del self.functions[code.name]

    @property
    def native(self) -> list[FunctionCode]:
        """The functions that have a native form, but for those inside of functions without."""
        return [code for code in self.all if is_native(code)]

    # The text

    def text(self, name: str, sites: dict[int, list[tuple[int, int, int, int]]], plan: bytes = b"") -> str:
        """sites: of each function by its index, what becomes `sema_site`s. plan: what the extension keeps."""
        native = self.native
        parts = [header.read_text(encoding="utf-8") for header in HEADERS]
        parts.append(self.statics(native))
        parts += [f"static {signature(code)};" for code in native]
        parts += [
            f"static PyObject *w_{code.index}(PyObject *, PyObject *const *, size_t, PyObject *);" for code in native
        ]
        parts += [function_text(code, sites[code.index]) for code in native]
        parts += [wrapper_text(code) for code in native]
        entries = [code for code in native if code.name]
        parts += [entry_text(code) for code in entries] + [direct_text(code) for code in entries]
        parts.append(self.tables(name, entries, plan))
        return "\n".join(parts)

    def statics(self, native: list[FunctionCode]) -> str:
        lines = ["static PyObject *GLOBALS;"]
        lines += [f"static PyObject *{found.c};" for found in self.globals.values()]
        tables = [self.constants, self.names, self.builtins, self.objects]
        lines += [f"static PyObject *{c};" for table in tables for c in table.values()]  # type: ignore[attr-defined]
        lines += [f"static PyObject *K_{code.index}, *fo_{code.index};" for code in self.all]
        lines += [f"#define W_{code.index} {f'w_{code.index}' if is_native(code) else 'NULL'}" for code in self.all]
        return "\n".join(lines)

    def tables(self, name: str, entries: list[FunctionCode], plan: bytes) -> str:
        slots = "".join(f"&{slot}, " for slot in self.slots)
        wrappers = "".join(f"W_{code.index}, " for code in self.all)
        methods = "".join(
            f'{{"{kind}_{code.index}", (PyCFunction)(void (*)(void)){kind}_{code.index}, METH_FASTCALL, NULL}},\n'
            for code in entries
            for kind in "ec"
        )
        lines = [
            f"static PyObject **const SLOTS[] = {{{slots}NULL}};",
            f"static const vectorcallfunc WRAPPERS[] = {{{wrappers}NULL}};",
            f"static PyMethodDef METHODS[] = {{\n{methods}SEMA_METHODS {{NULL, NULL, 0, NULL}}}};",
            "static PyObject **sema_slot_at(int index) { return SLOTS[index]; }",
            "static vectorcallfunc sema_wrapper_at(int index) { return WRAPPERS[index]; }",
            f"static vectorcallfunc sema_operator_at(int index) {{ {self.operators} return NULL; }}",
            "static void sema_constants(PyObject *values, PyObject *names, PyObject *builtins, PyObject *objects) {",
        ]
        tables = {"values": self.constants, "names": self.names, "builtins": self.builtins, "objects": self.objects}
        for kind, table in tables.items():
            lines += [f"{c} = Py_NewRef(PyTuple_GET_ITEM({kind}, {at}));" for at, c in enumerate(table.values())]  # type: ignore[attr-defined]
        lines.append(f"}}\nstatic const unsigned char PLAN[] = {{{', '.join(map(str, plan)) or '0'}}};")
        lines.append(f"static const Py_ssize_t PLAN_SIZE = {len(plan)};\nSEMA_MODULE({name})\n")
        return "\n".join(lines)

    @property
    def operators(self) -> str:
        """What finds the function of C for calls of an operator that is a value, by its slot."""
        found = [(at, OPERATORS.get(each.path)) for at, each in enumerate(self.globals.values())]
        return "".join(f"if (index == {at}) return {c}; " for at, c in found if c is not None)

    @property
    def slots(self) -> list[str]:
        """The C variables that are filled when the module is loaded."""
        found = [each.c for each in self.globals.values()]
        for code in self.all:
            found += [f"K_{code.index}", f"fo_{code.index}"]
        for code in self.native:
            found += [f"codes_{code.index}[{at}]" for at in range(len(code.comprehension_nodes) + 1)]
        return found


def known_by(code: FunctionCode) -> Known:
    return code.name, code.node.lineno, code.node.col_offset


def decorators(node: ast.FunctionDef) -> set[str]:
    """The names of a function's decorators."""
    return {ast.unparse(each.func if isinstance(each, ast.Call) else each) for each in node.decorator_list}


def is_native(code: FunctionCode) -> bool:
    while not code.why:
        if code.outer is None:
            return True
        code = code.outer
    return False


def outer_lambdas(node: ast.AST) -> list[ast.Lambda]:
    """The lambdas of a statement of the top level that stand in no other function or comprehension."""
    found: list[ast.Lambda] = []
    stack: list[ast.AST] = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, ast.Lambda):
            found.append(part)
        elif not isinstance(part, ast.FunctionDef | ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp):
            stack += ast.iter_child_nodes(part)
    return found[::-1]


def write_function(f: FunctionCode) -> None:
    """Writes the body."""
    node = f.node
    if node.args.kwonlyargs or node.args.kwarg or node.args.posonlyargs or (node.args.defaults and f.is_inner):
        raise NotNative("parameters with names or defaults")
    if isinstance(node, ast.FunctionDef) and any(
        isinstance(part, ast.Yield | ast.YieldFrom) for part in ast.walk(node)
    ):
        raise NotNative("a generator")
    if isinstance(node, ast.Lambda):
        value = expr(f, node.body)
        f.returns.add(said(value))
        if not f.module.is_draft or f.result:
            value = f.converted(value, f.result or value.rep, node.body)
        f.emit(f"r = {f.take(value)}; goto done;")
        return
    block(f, node.body)
    if f.assigned is not None:
        if f.module.is_certain or not f.guessed:
            f.returns.add("o")
        if f.result in ("", "o"):
            f.emit("r = Py_NewRef(Py_None); goto done;")
        else:
            f.emit("r = DYN_INT(WORD(Py_NewRef(Py_None))); goto done;")


def signature(f: FunctionCode) -> str:
    params = ["sema_seg *S", *(["PyObject *self"] if f.is_inner else [])]
    names = [*f.scope.params, *([f.scope.rest] if f.scope.rest else [])]
    params += [f"{C_TYPES[rep]}a{index}" for index, (_, rep) in enumerate(zip(names, f.param_reps, strict=True))]
    return f"{C_TYPES[f.result or 'o']}{f.c_name}({', '.join(params)})"


def function_text(f: FunctionCode, sites: list[tuple[int, int, int, int]]) -> str:
    """The C function, with the tables of its places and variables."""
    result = f.result or "o"
    index = f.index
    shown = [variable for variable in f.all_variables]
    lines = [f"static PyObject *codes_{index}[{len(f.comprehension_nodes) + 1}];"]
    rows = ", ".join(f"{{{code}, {up}, {lasti}, {line}}}" for code, up, lasti, line in sites) or "{0, -1, 0, 0}"
    lines.append(f"static const sema_site sites_{index}[] = {{{rows}}};")
    names = "".join(f'"{variable.name}", ' for variable in shown)
    lines.append(f"static const char *const locals_{index}[] = {{{names}NULL}};")
    codes = "".join(f"{variable.code}, " for variable in shown)
    lines.append(f"static const int local_codes_{index}[] = {{{codes}0}};")
    lines.append(f"static int local_places_{index}[{len(shown) + 1}];")
    lines.append(
        f"static const sema_fn fn_{index} = "
        f"{{sites_{index}, locals_{index}, local_codes_{index}, local_places_{index}, codes_{index}, &GLOBALS}};"
    )
    lines.append(f"#define TRACE() {trace_text(f, shown)}")
    lines.append(f"static {signature(f)} {{")
    lines.append(f"{C_TYPES[result]}r = {NOTHING[result]};")
    lines.append(f"sema_frame F = {{S->top, &fn_{index}, -1}};")
    if f.calls or f.is_inner:
        lines.append(f"if (sema_is_deep(S)) return {deep_call(f)};")
    lines += declarations(f)
    early = f.early_end if f.calls else 0
    lines += [line.replace("goto done;", "goto early;") for line in f.out[:early]]
    if f.calls:
        lines.append("S->top = &F; --*S->left;")
        lines.append("if (TICK(S)) goto error;")
        f.has_error = True
    lines += f.out[early:]
    if f.has_error:
        lines.append(f"error: ;\nTRACE();\nr = {error_value(result)};")
    lines.append("done: ;")
    if f.calls:
        lines.append("S->top = F.up; ++*S->left;")
    if early:
        lines.append("early: ;")
    lines += cleanup(f)
    lines.append("return r;\n}\n#undef TRACE")
    return "\n".join(lines)


def error_value(rep: str) -> str:
    return {"f": "-1.0", "b": "-1"}.get(rep, NOTHING[rep])


def trace_text(f: FunctionCode, shown: list[Any]) -> str:
    """The statement that adds the function to the traceback of an error."""
    if not shown:
        return f"sema_trace(&fn_{f.index}, F.site, NULL)"
    values, dropped = [], []
    for at, variable in enumerate(shown):
        rep = variable.rep or "o"
        make = {
            "i": "sema_shown_int({})",
            "d": "sema_shown({})",
            "f": "sema_shown_float({})",
            "b": "sema_shown_truth({})",
        }
        values.append(make.get(rep, "(PyObject *){}").format(variable.c))
        if rep in make:
            dropped.append(f"Py_XDECREF(shown[{at}]); ")
    shown_values = f"PyObject *shown[] = {{{', '.join(values)}}};"
    return f"do {{ {shown_values} sema_trace(&fn_{f.index}, F.site, shown); {''.join(dropped)}}} while (0)"


def deep_call(f: FunctionCode) -> str:
    """The call of the Python function where the C stack is nearly used up."""
    names = [*f.scope.params, *([f.scope.rest] if f.scope.rest else [])]
    boxed = {"i": "sint_box({})", "f": "PyFloat_FromDouble({})", "d": "sdyn_box({})", "b": "Py_NewRef(TRUTH({}))"}
    args = [
        boxed.get(rep, "Py_NewRef({})").format(f"a{at}")
        for at, (_, rep) in enumerate(zip(names, f.param_reps, strict=True))
    ]
    function = "self" if f.is_inner else f"fo_{f.index}"
    array = f"(PyObject *[]){{{', '.join(args) or 'NULL'}}}"
    made = f"sema_deep({function}, {len(args)}, {int(f.scope.rest is not None)}, {array})"
    answers = {"d": "sdyn_take({})", "i": "sint_answer({})", "f": "float_answer({})", "b": "truth_answer({})"}
    return answers.get(f.result or "o", "{}").format(made)


def declarations(f: FunctionCode) -> list[str]:
    lines = [f"{type_}{name};" for name, type_ in f.declared.items()]
    params = [*f.scope.params, *([f.scope.rest] if f.scope.rest else [])]
    for variable in f.all_variables:
        if variable.where == "free":
            at = variable.c[4:]
            lines.append(f"PyObject *{variable.c} = PyTuple_GET_ITEM(PyFunction_GET_CLOSURE(self), {at});")
        elif variable.where == "cell":
            initial = f"a{params.index(variable.name)}" if variable.name in params else "NULL"
            lines.append(f"PyObject *{variable.c} = PyCell_New({initial});")
        elif variable.where == "param":
            lines.append(parameter(f, variable, params.index(variable.name)))
        else:
            rep = variable.rep or "o"
            lines.append(f"{C_TYPES[rep]}{variable.c} = {UNSET.get(rep, NOTHING[rep])};")
    return lines


def parameter(f: FunctionCode, variable: Any, at: int) -> str:
    """The variable of a parameter: the caller's reference, unless something is assigned to it."""
    given, rep = f.param_reps[at], variable.rep or "o"
    if variable.c not in f.seen:
        return f"{C_TYPES[rep]}{variable.c} = a{at};"
    if given == rep:
        keep = {"o": "Py_NewRef({})", "i": "sint_keep({})", "d": "sdyn_keep({})"}.get(rep, "{}")
    else:
        keep = {"od": "sdyn_keep(sdyn_of({}))", "id": "sdyn_keep(DYN_INT({}))", "fd": "DYN_FLOAT({})",
                "bd": "sdyn_keep(DYN_INT(WORD(TRUTH({}))))", "bo": "Py_NewRef(TRUTH({}))", "io": "sint_box({})",
                "fo": "PyFloat_FromDouble({})", "do": "sdyn_box({})"}[given + rep]  # fmt: skip
    return f"{C_TYPES[rep]}{variable.c} = {keep.format(f'a{at}')};"


def cleanup(f: FunctionCode) -> list[str]:
    lines = []
    for variable in f.all_variables:
        rep = variable.rep or "o"
        if variable.where == "free" or (variable.where == "param" and variable.c not in f.seen) or rep not in COUNTED:
            continue
        lines.append(DROP_MAYBE[rep].format(variable.c) + ";")
    return lines
