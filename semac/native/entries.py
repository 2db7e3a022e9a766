"""How native functions are entered: by calls from C of the Python function, and at the head of its Python code."""

from __future__ import annotations

from semac.native.function import FunctionCode
from semac.native.values import C_TYPES, DROP

TESTS = {"i": "PyLong_CheckExact({})", "f": "PyFloat_CheckExact({})", "b": "PyBool_Check({})"}
UNBOXED = {"i": "sint_of({})", "f": "PyFloat_AS_DOUBLE({})", "b": "({} == Py_True)", "d": "sdyn_of({})", "o": "{}"}
BOXED = {"o": "{}", "i": "sint_boxed({})", "f": "float_boxed({})", "b": "truth_boxed({})", "d": "sdyn_boxed_take({})"}


def body(f: FunctionCode, otherwise: str, count: str) -> list[str]:
    """From an array `args` to the result. otherwise: a statement for arguments that don't fit."""
    reps = f.param_reps[: len(f.scope.params)]
    least = len(reps) - len(f.node.args.defaults)
    lines = []
    given = []
    for at in range(len(reps)):
        if at < least:
            given.append(f"args[{at}]")
        else:
            lines.append(f"PyObject *p{at} = {count} > {at} ? args[{at}] : {default_of(f, at)};")
            given.append(f"p{at}")
    tests = [TESTS[rep].format(given[at]) for at, rep in enumerate(reps) if rep in TESTS]
    if tests:
        lines.append(f"if (UNLIKELY(!({' && '.join(tests)}))) {otherwise}")
    passed = ["S", *(["self"] if f.is_inner else [])]
    drops = []
    lines.append("sema_seg *S = sema_enter();")
    for at, rep in enumerate(reps):
        if rep == "i":
            lines.append(f"sint i{at} = {UNBOXED[rep].format(given[at])};")
            drops.append(DROP[rep].format(f"i{at}") + ";")
            passed.append(f"i{at}")
        else:
            passed.append(UNBOXED[rep].format(given[at]))
    if f.scope.rest is not None:
        lines.append(f"PyObject *rest = sema_tuple(args + {len(reps)}, (Py_ssize_t){count} - {len(reps)});")
        lines.append("if (rest == NULL) { sema_leave(S); return NULL; }")
        drops.append("Py_DECREF(rest);")
        passed.append("rest")
    rep = f.result or "o"
    lines.append(f"{C_TYPES[rep]}r = {f.c_name}({', '.join(passed)});")
    lines += drops
    lines.append("sema_leave(S);")
    lines.append(f"return {BOXED[rep].format('r')};")
    return lines


def default_of(f: FunctionCode, at: int) -> str:
    """The default of a parameter, as the Python function has it."""
    first = len(f.scope.params) - len(f.node.args.defaults)
    return f"sema_default(fo_{f.index}, {at - first})"


def misfit(f: FunctionCode, count: str) -> str:
    """The condition under which a number of arguments is wrong."""
    most = len(f.scope.params)
    least = most - len(f.node.args.defaults)
    if f.scope.rest is not None:
        return f"{count} < {least}"
    return f"{count} != {most}" if least == most else f"{count} < {least} || {count} > {most}"


def wrapper_text(f: FunctionCode) -> str:
    """The call of the Python function from C."""
    count = "PyVectorcall_NARGS(flags)"
    otherwise = "return SH->plain_call(self, args, flags, names);"
    lines = [f"static PyObject *w_{f.index}(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {{"]
    lines.append(f"if (UNLIKELY(names != NULL || {misfit(f, count)})) {otherwise}")
    return "\n".join([*lines, *body(f, otherwise, count), "}"])


def entry_text(f: FunctionCode) -> str:
    """The call at the head of the Python code, which answers `failed` where that is to run."""
    otherwise = "return Py_NewRef(SH->failed);"
    lines = [f"static PyObject *e_{f.index}(PyObject *self, PyObject *const *args, Py_ssize_t count) {{"]
    lines.append(f"if (UNLIKELY({misfit(f, 'count')} || sema_stack_is_short())) {otherwise}")
    return "\n".join([*lines, *body(f, otherwise, "count"), "}"])


def direct_text(f: FunctionCode) -> str:
    """The call by the top level of the module, in place of the Python function."""
    otherwise = f"return SH->plain_call(fo_{f.index}, args, (size_t)count, NULL);"
    lines = [f"static PyObject *c_{f.index}(PyObject *self, PyObject *const *args, Py_ssize_t count) {{"]
    lines.append(f"if (UNLIKELY({misfit(f, 'count')} || sema_stack_is_short())) {otherwise}")
    return "\n".join([*lines, *body(f, otherwise, "count"), "}"])
