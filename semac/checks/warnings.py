"""Warnings of `sema check`: what runs, or begins to, and surely isn't what was meant."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sema_runtime.catalogue_index import INDEX
from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from semac.analyze.suspects import Suspicion
from semac.ir import nodes as ir
from semac.ir.unit import Unit

PAIRS = "there are no pairs: (cons 1 2) is the list (1 2), whose cdr is the list (2)"
ATOMS = (str, bytes, int, float, Keyword, Char, Symbol)
SWAPPED = {  # builtin → (index of the separator or pattern, index of the text, how it is called)
    "string/split": (0, 1, "(string/split text separator)"),
    "string-split": (0, 1, "(string-split text separator)"),
    "split": (0, 1, "(split text separator)"),
    "string/join": (0, 1, '(string/join list separator)'),
    "join": (0, 1, "(join list separator)"),
}  # fmt: skip


def warnings(unit: Unit, macros: frozenset[str], bound: set[str]) -> Iterator[Suspicion]:
    """The warnings for a unit. macros: names of its macros; bound: names that the program defines otherwise."""
    yield from (warning for warning in unit.warnings if not warning.unbound)
    yield from _late_uses(unit, macros)
    for node in ir.walk(unit.tree):
        kind = type(node)
        if kind is ir.Set:
            yield from _set_of_nothing(node, bound)
        elif kind is ir.CallBuiltin:
            yield from _builtin_call(node)
        elif kind is ir.Quote:
            yield from _dotted(node)


def _set_of_nothing(node: Any, bound: set[str]) -> Iterator[Suspicion]:
    var = node.var
    if node.define is None and var.is_global and not var.defined and var.name not in bound and var.name not in INDEX:
        from sema_runtime.conditions.hints import nearest

        near = nearest(var.name, bound)
        hint = f"did you mean '{near}'? " if near else ""
        message = f"set! of `{var.name}`, which nothing defines, makes a new global variable"
        yield Suspicion(node.span, message, f"{hint}(define {var.name} ...) comes first")


def _builtin_call(node: Any) -> Iterator[Suspicion]:
    name, args = node.name, node.args
    if name == "error" and len(args) > 1:
        shown = " ".join(_shown(arg) for arg in args)
        if type(args[0]) is ir.Const and type(args[0].value) is Keyword:
            hint = f"write (throw {{:kind {_shown(args[0])} :message {_shown(args[1])}}}) or (error {_shown(args[1])})"
        else:
            hint = f'write (error (str {_shown(args[0])} ": " {_shown(args[1])}))'
        yield Suspicion(node.span, f"error takes the message alone; of ({name} {shown}) the rest is ignored", hint)
    elif name == "cons" and len(args) == 2 and _is_no_list(args[1]):
        yield Suspicion(
            node.span, f"cons puts {_shown(args[0])} before a value that is no list", f"{PAIRS}; write [a b]"
        )
    elif name in SWAPPED and len(args) == 2:
        first, second, usage = SWAPPED[name]
        if _text(args[first]) is not None and _text(args[second]) is None:
            if name in ("string/join", "join") or (len(_text(args[first]) or "") <= 2 and type(args[second]) is ir.Ref):
                yield Suspicion(node.span, f"the arguments of {name} look swapped", f"the order is {usage}")


def _is_no_list(node: Any) -> bool:
    """Whether a value is surely neither a list nor nil."""
    kind = type(node)
    if kind is ir.Const:
        return isinstance(node.value, ATOMS)
    if kind is ir.Ref:
        return node.var.known_function is not None
    return kind in (ir.Lambda, ir.Builtin, ir.MapLit)


def _text(node: Any) -> str | None:
    return node.value if type(node) is ir.Const and type(node.value) is str else None


def _shown(node: Any) -> str:
    """An argument in few characters."""
    if type(node) is ir.Const:
        return to_text(node.value)
    if type(node) is ir.Ref:
        return str(node.var.name)
    return "..."


def _dotted(node: Any) -> Iterator[Suspicion]:
    """`'(a . 1)`, a list of three elements here."""
    stack = [node.value]
    while stack:
        form = stack.pop()
        if type(form) is List:
            items = form.items
            if len(items) == 3 and type(items[1]) is Symbol and items[1].name == "." and type(items[2]) in ATOMS[:6]:
                hint = f"{PAIRS.partition(';')[0]}; write [{to_text(items[0])} {to_text(items[2])}] or a map"
                yield Suspicion(node.span, f"{to_text(form)} is a list of three elements, one of them `.`", hint)
                return
            stack.extend(items)
        elif type(form) is tuple:
            stack.extend(form)
        elif type(form) is Map:
            stack.extend(value for _, value in form.pairs())


# Uses before the definition


def _late_uses(unit: Unit, macros: frozenset[str]) -> Iterator[Suspicion]:
    """Top-level forms that surely read a global variable, or call a macro, that only a later form defines."""
    items = list(_top_level(unit.tree.items))
    first: dict[str, int] = {}
    for index, item in enumerate(items):
        for node in ir.walk(item):
            if type(node) is ir.Set and node.var.is_global:
                first.setdefault(node.var.name, index)
    told: set[str] = set()
    for index, item in enumerate(items):
        for name, span in _read_at_once(item, set()):
            late = first.get(name, -1)
            own = late == index and type(item) is ir.Set and item.var.name == name
            if (late > index or own) and name not in told and name not in INDEX:
                told.add(name)
                line = getattr(items[late].span, "line", None)
                where = f" in line {line}" if line and not own else ""
                yield Suspicion(span, f"`{name}` is used before its definition{where}", "move the definition up")
    for node in ir.walk(unit.tree):
        if type(node) is ir.Call and type(node.head) is ir.Ref and node.head.var.is_global:
            name = node.head.var.name
            if name in macros and name not in told:
                told.add(name)
                yield Suspicion(node.span, f"the macro `{name}` is used before its definition", "move the defmacro up")


def _top_level(items: list[Any]) -> Iterator[Any]:
    for item in items:
        if type(item) is ir.Seq:
            yield from _top_level(item.items)
        else:
            yield item


def _read_at_once(node: Any, entered: set[Any]) -> Iterator[tuple[str, Any]]:
    """(name, place) of the globals that are read whenever a node is evaluated, also by functions that it calls."""
    kind = type(node)
    if kind is ir.Ref:
        if node.var.is_global:
            yield node.var.name, node.span
        return
    if kind in (ir.Lambda, ir.Try, ir.Match, ir.And, ir.Or, ir.While):
        return
    if kind is ir.If:
        yield from _read_at_once(node.test, entered)
        return
    for child in node.inits if kind is ir.NamedLet else ir.children(node):
        yield from _read_at_once(child, entered)
    if kind is ir.Call and type(node.head) is ir.Ref:
        function = node.head.var.known_function
        if function is not None and function not in entered:
            entered.add(function)
            for name, _ in _read_at_once(function.body, entered):
                yield name, node.span
