"""Loops over items, and comprehensions, which are such loops in code of their own."""

from __future__ import annotations

import ast
from collections.abc import Callable

from semac.native.control import block, jump
from semac.native.expressions import meet, obj, operands
from semac.native.function import Around, FunctionCode, Variable, ascii_name
from semac.native.targets import to_target
from semac.native.tests import test
from semac.native.values import NotNative, Value, placed

Body = Callable[[], None]
WALK = "sema_runtime.values.lists.walk"


def for_(f: FunctionCode, node: ast.For) -> None:

    orelse = (lambda: block(f, node.orelse)) if node.orelse else None
    run_loop(f, node.target, node.iter, opened(f, node.iter), lambda: block(f, node.body), orelse)


def run_loop(
    f: FunctionCode,
    target: ast.expr,
    source: ast.expr,
    over: list[Value],
    body: Body,
    orelse: Body | None = None,
) -> None:
    """`for target in source: body`. over: what `opened` gives."""
    f.loops = True
    around = Around("loop", f.fresh("loop"), 0)
    last = "last" if orelse is not None else "end"
    item = (
        start_range(f, over, source, around, last) if len(over) == 3 else start_items(f, over[0], source, around, last)
    )
    before = f.assigned
    f.emit("if (TICK(S)) {")
    f.emit(f"F.site = {f.site(source)}; {f.leave()} }}")
    bind_target(f, target, item, source)
    around.depth = len(f.live)
    f.around.append(around)
    body()
    f.around.pop()
    if "next" in around.used:
        f.emit(f"next_{around.label}: ;")
    f.emit("}")
    f.assigned = before
    if orelse is not None:
        f.emit(f"last_{around.label}: ;")
        orelse()
    if "end" in around.used:
        f.emit(f"end_{around.label}: ;")
    for exit_ in around.exits:
        f.assigned = meet(f.assigned, exit_)
    held = f.live.pop()
    f.emit(f"Py_XDECREF({held.c});" if held.rep == "o?" else f"Py_DECREF({held.c});")


def opened(f: FunctionCode, source: ast.expr) -> list[Value]:
    """What a loop runs over: one value, or the three of a range."""

    walked = walked_list(f, source)
    if walked is not None:
        return [obj(f, walked)]
    bounds = range_bounds(f, source)
    return operands(f, bounds, as_objects=False) if bounds is not None else [obj(f, source)]


def walked_list(f: FunctionCode, source: ast.expr) -> ast.expr | None:
    """The list of `walk(xs)`; None for another source."""
    if isinstance(source, ast.Call) and isinstance(source.func, ast.Name) and len(source.args) == 1:
        if f.module.runtime_path(f, source.func.id) == WALK:
            return source.args[0]
    return None


def range_bounds(f: FunctionCode, source: ast.expr) -> list[ast.expr] | None:
    """The arguments of `range`: start, stop, step; None for another source."""
    if not isinstance(source, ast.Call) or not isinstance(source.func, ast.Name) or source.keywords:
        return None
    if source.func.id != "range" or not f.module.is_builtin(f, "range") or not 1 <= len(source.args) <= 3:
        return None
    args = source.args
    if len(args) == 1:
        return [placed(ast.Constant(0), source), args[0], placed(ast.Constant(1), source)]
    return [*args, *([placed(ast.Constant(1), source)] if len(args) == 2 else [])]


def start_range(f: FunctionCode, bounds: list[Value], source: ast.expr, around: Around, last: str) -> Value:
    """Begins a loop over a range; gives the number."""
    name = f.declare(f.fresh("range"), "sema_range ")
    f.at(source)
    if all(value.rep == "i" for value in bounds):
        f.fail_if(f"sema_range_start(&{name}, {', '.join(value.c for value in bounds)}) < 0", source)
    else:
        bounds = [f.as_dynamic(f.as_object(value, source) if value.rep == "b" else value) for value in bounds]
        f.fail_if(f"sema_range_dyn(&{name}, {', '.join(value.c for value in bounds)}) < 0", source)
    for value in reversed(bounds):
        f.drop_below(value)
    f.live.append(Value(f"{name}.over", "o?", True))
    item, more = f.declare(f.fresh("item"), "sint "), f.fresh("more")
    f.emit("for (;;) {")
    f.emit(f"int {more} = sema_range_next(&{name}, &{item});")
    end_of_items(f, f"{more} <= 0", f"{more} < 0", source, around, last)
    owned = Value(item, "i", True)
    f.live.append(owned)
    return owned


def start_items(f: FunctionCode, value: Value, source: ast.expr, around: Around, last: str) -> Value:
    """Begins a loop over the items of a value; gives the item."""
    name = f.declare(f.fresh("iter"), "sema_iter ")
    f.at(source)
    if walked_list(f, source) is not None:
        own = f.module.runtime_value(f, source.func.id).c  # type: ignore[attr-defined]
        f.fail_if(f"sema_iter_walk(&{name}, {value.c}, {own}) < 0", source)
    else:
        f.fail_if(f"sema_iter_start(&{name}, {value.c}) < 0", source)
    f.drop_below(value)
    f.live.append(Value(f"{name}.over", "o", True))
    item = f.fresh("item")
    f.emit("for (;;) {")
    f.at(source)
    f.emit(f"PyObject *{item} = sema_iter_next(&{name});")
    end_of_items(f, f"{item} == NULL", f"sema_iter_failed(&{name})", source, around, last)
    owned = Value(item, "o", True)
    f.live.append(owned)
    return owned


def end_of_items(f: FunctionCode, is_end: str, has_failed: str, source: ast.expr, around: Around, last: str) -> None:
    around.used.add(last)
    f.emit(f"if (UNLIKELY({is_end})) {{")
    f.emit(f"if ({has_failed}) {{ F.site = {f.site(source)}; {f.leave()} }} goto {last}_{around.label}; }}")


def bind_target(f: FunctionCode, target: ast.expr, value: Value, node: ast.expr) -> None:

    to_target(f, target, value)


# Comprehensions


def comprehension(f: FunctionCode, node: ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp) -> Value:
    """The list, dict or set of a comprehension; the items of a generator as a list."""
    kind = {ast.DictComp: "dict", ast.SetComp: "set"}.get(type(node), "list")
    new = {"list": "PyList_New(0)", "dict": "PyDict_New()", "set": "PySet_New(NULL)"}[kind]
    first = opened(f, node.generators[0].iter)
    made = f.checked("o", new, node, kind)

    def add() -> None:
        if isinstance(node, ast.DictComp):
            from semac.native.expressions import operands

            key, value = operands(f, [node.key, node.value])
            f.at(node)
            f.fail_if(f"PyDict_SetItem({made.c}, {key.c}, {value.c}) < 0", node)
            f.drop_below(value)
            f.drop_below(key)
            return
        item = obj(f, node.elt)
        f.at(node)
        call = "PySet_Add" if kind == "set" else "sema_push"
        f.fail_if(f"{call}({made.c}, {item.c}) < 0", node)
        f.drop_below(item)

    run(f, node, first, add)
    return made


def decided(f: FunctionCode, node: ast.GeneratorExp, decides: bool) -> Value:
    """`any(... for ...)`, or `all`, which ends at the first item of that truth."""

    first = opened(f, node.generators[0].iter)
    result = f.declare(f.fresh("found"), "int ")
    f.emit(f"{result} = {int(not decides)};")

    def ask() -> None:
        c = test(f, node.elt)
        if c == str(int(not decides)):
            return
        if c != str(int(decides)):
            f.emit(f"if ({c if decides else f'!({c})'}) {{")
        before = f.assigned
        f.emit(f"{result} = {int(decides)};")
        jump_out(f, len(node.generators), jump)
        f.assigned = before
        if c != str(int(decides)):
            f.emit("}")

    run(f, node, first, ask)
    return f.temp("b", result)


def jump_out(f: FunctionCode, loops: int, jump: Callable[[FunctionCode, str], None]) -> None:
    """Leaves so many loops of a comprehension."""
    if loops > 1:
        raise NotNative("a generator of several loops")
    jump(f, "end")


def run(
    f: FunctionCode, node: ast.ListComp | ast.DictComp | ast.SetComp | ast.GeneratorExp, first: list[Value], add: Body
) -> None:
    """The loops of a comprehension. first: the value of what the outermost one runs over, which is given back."""
    targets = {part.id for each in node.generators for part in ast.walk(each.target) if isinstance(part, ast.Name)}
    for part in ast.walk(node):
        if isinstance(part, ast.Lambda) and any(
            isinstance(each, ast.Name) and each.id in targets for each in ast.walk(part)
        ):
            raise NotNative("a function that uses a variable of a comprehension")
    site = f.site(node)
    code = len(f.comprehension_nodes) + 1
    f.comprehension_nodes.append(node)
    names: dict[str, Variable] = {}
    for name in sorted(targets):
        c = f"w{code}_{len(names)}_{ascii_name(name)}"
        names[name] = f.add_variable(name, c, "local", code)
    before = f.assigned
    f.comprehensions.append((names, code, site))
    nested(f, node, list(node.generators), first, add)
    f.comprehensions.pop()
    for variable in names.values():
        if (variable.rep or "o") in ("o", "i", "d"):
            f.emit({"o": f"Py_CLEAR({variable.c});", "i": f"sint_drop({variable.c}); {variable.c} = 0;",
                    "d": f"sdyn_drop({variable.c}); {variable.c} = DYN_INT(0);"}[variable.rep or "o"])  # fmt: skip
    f.assigned = before


def nested(f: FunctionCode, node: ast.expr, generators: list[ast.comprehension], over: list[Value], add: Body) -> None:
    generator, *more = generators
    if generator.is_async:
        raise NotNative("an asynchronous comprehension")

    def each() -> None:
        around = f.around[-1]
        for condition_node in generator.ifs:
            c = test(f, condition_node)
            f.assigned = f.branches[0]
            if c != "1":
                around.used.add("next")
                f.emit(f"if (!({c})) goto next_{around.label};")
        if more:
            nested(f, node, more, opened(f, more[0].iter), add)
        else:
            add()

    run_loop(f, generator.target, generator.iter, over, each)
