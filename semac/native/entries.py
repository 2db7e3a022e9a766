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
    tests = [TESTS[rep].format(f"args[{at}]") for at, rep in enumerate(reps) if rep in TESTS]
    lines = []
    if tests:
        lines.append(f"if (UNLIKELY(!({' && '.join(tests)}))) {otherwise}")
    passed = ["S", *(["self"] if f.is_inner else [])]
    drops = []
    lines.append("sema_seg *S = sema_enter();")
    for at, rep in enumerate(reps):
        if rep == "i":
            lines.append(f"sint i{at} = {UNBOXED[rep].format(f'args[{at}]')};")
            drops.append(DROP[rep].format(f"i{at}") + ";")
            passed.append(f"i{at}")
        else:
            passed.append(UNBOXED[rep].format(f"args[{at}]"))
    if f.scope.rest is not None:
        lines.append(f"PyObject *rest = sema_tuple(args + {len(reps)}, {count} - {len(reps)});")
        lines.append("if (rest == NULL) { sema_leave(S); return NULL; }")
        drops.append("Py_DECREF(rest);")
        passed.append("rest")
    rep = f.result or "o"
    lines.append(f"{C_TYPES[rep]}r = {f.c_name}({', '.join(passed)});")
    lines += drops
    lines.append("sema_leave(S);")
    lines.append(f"return {BOXED[rep].format('r')};")
    return lines


def wrapper_text(f: FunctionCode) -> str:
    """The call of the Python function from C."""
    count = len(f.scope.params)
    has_rest = f.scope.rest is not None
    misfit = f"PyVectorcall_NARGS(flags) {'<' if has_rest else '!='} {count}"
    lines = [f"static PyObject *w_{f.index}(PyObject *self, PyObject *const *args, size_t flags, PyObject *names) {{"]
    lines.append(f"if (UNLIKELY(names != NULL || {misfit})) return SH->plain_call(self, args, flags, names);")
    lines += body(f, "return SH->plain_call(self, args, flags, names);", "PyVectorcall_NARGS(flags)")
    return "\n".join([*lines, "}"])


inner_wrapper = wrapper_text


def entry_text(f: FunctionCode) -> str:
    """The call at the head of the Python code, which answers `failed` where that is to run."""
    count = len(f.scope.params)
    rest = f.scope.rest is not None
    lines = [f"static PyObject *e_{f.index}(PyObject *self, PyObject *const *args, Py_ssize_t count) {{"]
    lines.append(f"if (UNLIKELY(count {'<' if rest else '!='} {count} || sema_stack_is_short())) return Py_NewRef(SH->failed);")
    lines += body(f, "return Py_NewRef(SH->failed);", "count")
    return "\n".join([*lines, "}"])
