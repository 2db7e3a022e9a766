"""Calls: of native functions directly, of well-known functions by what they do, of all others as Python does."""

from __future__ import annotations

import ast

from semac.native.entries import default_of
from semac.native.expressions import expr, obj, operands
from semac.native.function import FunctionCode, failure
from semac.native.intrinsics import INTRINSICS, VALUES, Intrinsic, by_count, simple
from semac.native.iteration import comprehension, decided
from semac.native.values import C_TYPES, NOTHING, NotNative, Unknown, Value, placed


def call(f: FunctionCode, node: ast.Call) -> Value:
    if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
        return spread(f, node)
    if isinstance(node.func, ast.Attribute):
        return method(f, node, node.func)
    if isinstance(node.func, ast.Name) and f.variable(node.func.id) is None:
        known = known_call(f, node, node.func.id)
        if known is not None:
            return known
    function, *args = operands(f, [node.func, *node.args])
    return called(f, node, function, args)


def called(f: FunctionCode, node: ast.expr, function: Value, args: list[Value]) -> Value:
    """The result of a call as Python makes it. The operands are given back."""
    f.at(node)
    if len(args) < 4:
        c = f"sema_call{len(args)}({', '.join(value.c for value in [function, *args])})"
    else:
        array = f.fresh("args")
        f.emit(f"PyObject *{array}[] = {{NULL, {', '.join(arg.c for arg in args)}}};")
        c = f"PyObject_Vectorcall({function.c}, {array} + 1, {len(args)} | PY_VECTORCALL_ARGUMENTS_OFFSET, NULL)"
    result = f.checked("o", c, node)
    for value in reversed([function, *args]):
        f.drop_below(value)
    return result


def spread(f: FunctionCode, node: ast.Call) -> Value:
    """A call with `*args` or with names."""
    if any(keyword.arg is None for keyword in node.keywords):
        raise NotNative("a call with a map of named arguments")
    function = obj(f, node.func)
    args = expr(f, placed(ast.Tuple(list(node.args), ast.Load()), node))
    named = f.checked("o", "PyDict_New()", node) if node.keywords else Value("NULL", "o")
    for keyword in node.keywords:
        value = obj(f, keyword.value)
        f.fail_if(f"PyDict_SetItem({named.c}, {f.module.constant_name(str(keyword.arg))}, {value.c}) < 0", node)
        f.drop_below(value)
    f.at(node)
    result = f.checked("o", f"PyObject_Call({function.c}, {args.c}, {named.c})", node)
    for each in (named, args, function):
        f.drop_below(each)
    return result


def known_call(f: FunctionCode, node: ast.Call, name: str) -> Value | None:
    """A call of a function that is known to the compiler; None for others."""
    path = f.module.runtime_path(f, name)
    if path is not None:
        if path in INTRINSICS:
            return INTRINSICS[path](f, node)
        return None
    if f.module.is_builtin(f, name):
        return INTRINSICS[name](f, node) if name in INTRINSICS else None
    if name in f.module.classes and not node.args:
        found = f.module.runtime_value(f, name)
        return f.checked("o", f"sema_new({found.c})", node, name)
    target = f.module.functions.get(name)
    if target is not None and target.scope.rest is None:
        defaults = len(target.node.args.defaults)
        if len(target.param_reps) - defaults <= len(node.args) <= len(target.param_reps):
            return native_call(f, node, target)
    return None


def native_call(f: FunctionCode, node: ast.Call, target: FunctionCode) -> Value:
    """A call of a native function. Where an argument may be no int or float, as its parameter is, that is tested."""
    if not target.result and not f.module.is_certain:
        raise Unknown
    values = operands(f, node.args, as_objects=False)
    values += [Value(default_of(target, at), "o") for at in range(len(values), len(target.param_reps))]
    tests: list[str] = []
    narrowed: list[tuple[Value, str]] = []
    for value, rep in zip(values, target.param_reps, strict=True):
        narrowed.append((value, rep))
        if rep == value.rep or rep in "od":
            continue
        tests.append(narrow_test(value, rep))
    f.called.add(target.c_name)
    if "0" in tests:
        return general(f, node, target, values)
    passed = [fitting(f, value, rep, node) for value, rep in narrowed] if not tests else values
    if not tests:
        f.at(node)
        result = f.checked(target.result or "o", direct(target, [value.c for value in passed]), node)
        for value in reversed(passed):
            f.drop_below(value)
        return result
    return tested_call(f, node, target, values, " && ".join(tests))


def direct(target: FunctionCode, args: list[str]) -> str:
    return f"{target.c_name}({', '.join(['S', *args])})"


def fitting(f: FunctionCode, value: Value, rep: str, node: ast.expr) -> Value:
    return value if value.rep == rep else f.converted(value, rep, node)


def narrow_test(value: Value, rep: str) -> str:
    """The condition under which a value has a narrower representation."""
    if value.rep == "d":
        return {"i": f"sdyn_is_int({value.c})", "f": f"({value.c}.x == FLOATING)"}.get(rep, "0")
    if value.rep == "o":
        return {
            "i": f"PyLong_CheckExact({value.c})",
            "f": f"PyFloat_CheckExact({value.c})",
            "b": f"PyBool_Check({value.c})",
        }[rep]
    return "0"


def narrowed_c(value: Value, rep: str) -> str:
    """A value, of which `narrow_test` has held, in a narrower representation; an int as a new reference."""
    if value.rep == "d":
        return f"sdyn_sint({value.c})" if rep == "i" else f"{value.c}.f"
    return {"i": f"sint_of({value.c})", "f": f"PyFloat_AS_DOUBLE({value.c})", "b": f"({value.c} == Py_True)"}[rep]


def tested_call(f: FunctionCode, node: ast.Call, target: FunctionCode, values: list[Value], test: str) -> Value:
    """The native call where the arguments fit; the Python function answers else."""
    rep = target.result or "o"
    kept = [value for value in values if value.is_owned]
    result = f.fresh("t")
    f.emit(f"{C_TYPES[rep]}{result} = {NOTHING[rep]};")
    f.at(node)
    f.emit(f"if (LIKELY({test})) {{")
    args, drops = [], []
    for value, wanted in zip(values, target.param_reps, strict=True):
        if value.rep == wanted:
            args.append(value.c)
        elif wanted == "o":
            boxed = f.as_object(Value(value.c, value.rep, kind=value.kind), node)
            args.append(boxed.c)
            drops.append(boxed)
        elif wanted == "d":
            args.append(f.as_dynamic(Value(value.c, value.rep)).c)
        else:
            name = f.fresh("t")
            f.emit(f"{C_TYPES[wanted]}{name} = {narrowed_c(value, wanted)};")
            args.append(name)
            if wanted == "i":
                drops.append(Value(name, "i", True))
                f.live.append(drops[-1])
    f.emit(f"{result} = {direct(target, args)};")
    for drop in reversed(drops):
        f.drop_below(drop)
    f.emit("} else {")
    boxed_args = [f.as_object(Value(value.c, value.rep, kind=value.kind), node) for value in values[: len(node.args)]]
    answer = called(f, node, f.module.runtime_value(f, str(target.name)), boxed_args)
    f.emit(f"{result} = {answer_as(f, answer, rep, node)}; }}")
    f.fail_if(failure(rep, result), node)
    value = Value(result, rep, rep in "oid")
    if value.is_owned:
        f.live.append(value)
    for each in reversed(kept):
        f.drop_below(each)
    return value


def answer_as(f: FunctionCode, answer: Value, rep: str, node: ast.expr) -> str:
    """What a Python function has returned in the representation that its native one has."""
    f.forget(answer)
    return {
        "o": answer.c, "d": f"sdyn_take({answer.c})", "i": f"sint_answer({answer.c})", "f": f"float_answer({answer.c})",
        "b": f"truth_answer({answer.c})",
    }[rep]  # fmt: skip


def general(f: FunctionCode, node: ast.Call, target: FunctionCode, values: list[Value]) -> Value:
    """A call with arguments that surely don't fit: by the Python function."""
    args = [f.as_object(value, node) for value in values[: len(node.args)]]
    return called(f, node, f.module.runtime_value(f, str(target.name)), args)


# Methods


def method(f: FunctionCode, node: ast.Call, func: ast.Attribute) -> Value:
    name = f.module.constant_name(func.attr)
    if func.attr == "append" and len(node.args) == 1:
        receiver, item = operands(f, [func.value, node.args[0]])
        f.at(node)
        f.fail_if(f"sema_append({receiver.c}, {item.c}, {name}) < 0", node)
        f.drop_below(item)
        f.drop_below(receiver)
        return Value("Py_None", "o", kind="none")
    if func.attr == "get" and 1 <= len(node.args) <= 2:
        receiver, key, *more = operands(f, [func.value, *node.args])
        f.at(node)
        otherwise = more[0].c if more else "Py_None"
        result = f.checked("o", f"sema_dict_get({receiver.c}, {key.c}, {otherwise}, {name}, {len(node.args)})", node)
        for each in reversed([receiver, key, *more]):
            f.drop_below(each)
        return result
    if func.attr == "pop" and not node.args:
        receiver = obj(f, func.value)
        f.at(node)
        result = f.checked("o", f"sema_pop({receiver.c}, {name})", node)
        f.drop_below(receiver)
        return result
    receiver, *args = operands(f, [func.value, *node.args])
    array = f.fresh("args")
    f.at(node)
    f.emit(f"PyObject *{array}[] = {{{', '.join(value.c for value in [receiver, *args])}}};")
    count = f"{len(args) + 1} | PY_VECTORCALL_ARGUMENTS_OFFSET"
    result = f.checked("o", f"PyObject_VectorcallMethod({name}, {array}, {count}, NULL)", node)
    for value in reversed([receiver, *args]):
        f.drop_below(value)
    return result


# Functions that are known


def in_tail(function: str) -> Intrinsic:
    """A call of an unknown function in tail position: the caller has to know who called it (values/functions.py)."""

    def write(f: FunctionCode, node: ast.Call) -> Value | None:
        values = operands(f, node.args)
        own = Value(f.module.runtime_object("sema_runtime.values.functions", function), "o")
        is_tail = Value("TRUTH(sema_in_tail(S, &F))", "o")
        return called(f, node, own, [is_tail, *values])

    return write


def over_generator(decides: bool | None) -> Intrinsic:
    """`any(... for ...)` and `all`, and functions that take all items of a generator anyway, as those of a list."""

    def write(f: FunctionCode, node: ast.Call) -> Value | None:
        if len(node.args) != 1 or not isinstance(node.args[0], ast.GeneratorExp):
            return None
        if decides is not None:
            return decided(f, node.args[0], decides)
        items = comprehension(f, node.args[0])
        return called(f, node, f.module.global_value(f, node.func), [items])  # type: ignore[arg-type]

    return write


INTRINSICS.update({
    "any": over_generator(True),
    "all": over_generator(False),
    **{
        name: over_generator(None)
        for name in ("list", "set", "frozenset", "dict", "max", "min", "sorted")
    },
    "builtins.sum": by_count(over_generator(None), INTRINSICS["builtins.sum"]),
    "sum": by_count(over_generator(None), INTRINSICS["builtins.sum"]),
    "tuple": by_count(over_generator(None), simple("sema_as_tuple({0}, {f})", kind="tuple")),
    VALUES + "functions.tail_call": in_tail("call_in_tail"),
    VALUES + "functions.tail_apply": in_tail("apply_in_tail"),
})  # fmt: skip
