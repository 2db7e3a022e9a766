"""Functions of Python and of the runtime that native code does itself for common arguments (c/lists.h, maps.h, text.h,
math.h). For all others it calls them, so they say what an error is."""

from __future__ import annotations

import ast
from collections.abc import Callable

from semac.native.arithmetic import as_float
from semac.native.expressions import expr, obj, operands, truth
from semac.native.function import FunctionCode
from semac.native.values import Value, placed

Intrinsic = Callable[[FunctionCode, ast.Call], "Value | None"]
LIB = "sema_runtime.lib."
LISTS = LIB + "collections.lists."
MAPS = LIB + "collections.maps."
PREDICATES = LIB + "language.predicates."
NUMBERS = LIB + "numbers."
TEXT = LIB + "text."
VALUES = "sema_runtime.values."


def own_value(f: FunctionCode, node: ast.Call) -> Value:
    """The function that a call calls."""
    assert isinstance(node.func, ast.Name)
    if f.module.runtime_path(f, node.func.id) is not None:
        return f.module.runtime_value(f, node.func.id)
    return f.module.global_value(f, node.func)


def simple(c: str, result: str = "o", kind: str = "", takes: str | None = None) -> Intrinsic:
    """A function of C. `{0}`: an argument, `{f}`: the runtime's own function.

    takes: a letter for each argument, how it is passed: "o" as an object, "d" as a dynamic value.
    """
    passed = takes if takes is not None else "o" * sum(f"{{{at}}}" in c for at in range(4))

    def write(f: FunctionCode, node: ast.Call) -> Value | None:
        if len(node.args) != len(passed):
            return None
        values = operands(f, node.args, as_objects=False)
        args = [
            f.as_object(value, node) if how == "o" else f.as_dynamic(value)
            for value, how in zip(values, passed, strict=True)
        ]
        f.at(node)
        made = f.checked(result, c.format(*(arg.c for arg in args), f=own_value(f, node).c), node, kind)
        for arg in reversed(args):
            f.drop_below(arg)
        return made

    return write


def by_count(*ways: Intrinsic) -> Intrinsic:
    """What is written in several ways, by the number of arguments."""

    def write(f: FunctionCode, node: ast.Call) -> Value | None:
        for way in ways:
            value = way(f, node)
            if value is not None:
                return value
        return None

    return write


def of_array(c: str, first: int, kind: str = "", result: str = "o") -> Intrinsic:
    """A function of any number of arguments: those after the first ones are an array, `{items}` with `{count}`."""

    def write(f: FunctionCode, node: ast.Call) -> Value | None:
        if len(node.args) <= first:
            return None
        args = operands(f, node.args)
        array = f.fresh("args")
        items = ", ".join(arg.c for arg in args[first:])
        f.emit(f"PyObject *{array}[] = {{{items}}};")
        f.at(node)
        named = {"items": array, "count": len(args) - first, "f": own_value(f, node).c}
        made = f.checked(result, c.format(*(arg.c for arg in args[:first]), **named), node, kind)
        for arg in reversed(args):
            f.drop_below(arg)
        return made

    return write


def number(c: str, same: str = "") -> Intrinsic:
    """A function of two numbers. same: what two ints and two floats surely give: "i" ints, "f" floats."""

    def write(f: FunctionCode, node: ast.Call) -> Value | None:
        if len(node.args) != 2:
            return None
        values = operands(f, node.args, as_objects=False)
        reps = {value.rep for value in values}
        a, b = map(f.as_dynamic, values)
        f.at(node)
        made = f.checked("d", f"{c}({a.c}, {b.c}, {own_value(f, node).c})", node)
        f.drop_below(b)
        f.drop_below(a)
        for rep in same:
            if reps == {rep}:
                return narrowed(f, made, rep)
        return made

    return write


def narrowed(f: FunctionCode, value: Value, rep: str) -> Value:
    """A dynamic value that surely is an int or a float."""
    f.forget(value)
    return f.temp(rep, f"{value.c}.x" if rep == "i" else f"{value.c}.f")


def given_away(c: str, kinds: tuple[str, ...], otherwise: str, kind: str) -> Intrinsic:
    """`List([...])`, `Map({...})`: an object takes over the one it is made of, where that is of one of the kinds."""

    def write(f: FunctionCode, node: ast.Call) -> Value | None:
        if len(node.args) != 1:
            return None
        source = node.args[0]
        if isinstance(source, ast.List):  # a tuple is one allocation less
            source = placed(ast.Tuple(source.elts, source.ctx), source)
        value = obj(f, source)
        if value.kind in kinds:
            return f.checked("o", c.format(f.take(value)), node, kind)
        f.at(node)
        made = f.checked("o", otherwise.format(value.c), node, kind)
        f.drop_below(value)
        return made

    return write


def length(f: FunctionCode, node: ast.Call) -> Value | None:
    if len(node.args) != 1:
        return None
    value = obj(f, node.args[0])
    f.at(node)
    name = f.fresh("t")
    f.emit(f"Py_ssize_t {name} = sema_len({value.c});")
    f.fail_if(f"{name} < 0", node)
    f.drop_below(value)
    return f.temp("i", f"SHORT({name})", is_owned=False)


def type_of(f: FunctionCode, node: ast.Call) -> Value | None:
    if len(node.args) != 1:
        return None
    value = obj(f, node.args[0])
    result = f.temp("o", f"Py_NewRef((PyObject *)Py_TYPE({value.c}))")
    f.drop_below(value)
    return result


def called_plainly(f: FunctionCode, node: ast.Call, *values: Value) -> Value:
    """The call as Python makes it, of values that are computed already."""
    args = [f.as_object(value, node) for value in values]
    f.at(node)
    result = f.checked("o", f"sema_call{len(args)}({', '.join([own_value(f, node).c, *(a.c for a in args)])})", node)
    for arg in reversed(args):
        f.drop_below(arg)
    return result


def square_root(f: FunctionCode, node: ast.Call) -> Value | None:
    if len(node.args) != 1:
        return None
    value = expr(f, node.args[0])
    if value.rep != "f":
        value = f.as_dynamic(value if value.rep != "b" else f.as_object(value, node))
        f.at(node)
        root = f.checked("d", f"sema_math_sqrt({value.c}, {own_value(f, node).c})", node)
        f.drop_below(value)
        return root
    f.fail_if(f"{value.c} < 0.0 && sema_math_domain()", node)
    return f.temp("f", f"sqrt({value.c})")


def as_float_call(f: FunctionCode, node: ast.Call) -> Value | None:
    """`float(x)` of a number."""
    if len(node.args) != 1:
        return None
    value = expr(f, node.args[0])
    if value.rep == "f":
        return value
    if value.rep == "i":
        result = f.temp("f", as_float(f, value, node))
        f.drop_below(value)
        return result
    return called_plainly(f, node, value)


def bool_call(f: FunctionCode, node: ast.Call) -> Value | None:
    if len(node.args) != 1:
        return None
    value = expr(f, node.args[0])
    result = f.temp("b", truth(f, value, node))
    f.drop_below(value)
    return result


def is_instance(f: FunctionCode, node: ast.Call) -> Value | None:
    """`isinstance(x, type)`"""
    if len(node.args) != 2:
        return None
    value, kind = operands(f, node.args)
    f.at(node)
    if kind.kind == "type":
        c = f"sema_is_instance({value.c}, {kind.c})"
    else:
        c = f"PyObject_IsInstance({value.c}, {kind.c})"
    result = f.checked("b", c, node)
    f.drop_below(kind)
    f.drop_below(value)
    return result


def dyn(c: str, result: str = "d", count: int = 1) -> Intrinsic:
    args = ", ".join(f"{{{at}}}" for at in range(count))
    return simple(f"{c}({args}, {{f}})", result, takes="d" * count)


PYTHON: dict[str, Intrinsic] = {
    "len": length,
    "type": type_of,
    "float": as_float_call,
    "bool": bool_call,
    "isinstance": is_instance,
    "math.sqrt": square_root,
    "builtins.sum": simple("sema_sum_of({0}, {f})", "d"),
}
OF_LISTS: dict[str, Intrinsic] = {
    VALUES + "lists.List": given_away("sema_list_take({})", ("list", "tuple"), "sema_list_of({})", "List"),
    VALUES + "lists.cons": simple("sema_cons({0}, {1}, {f})"),
    LISTS + "cons": simple("sema_cons({0}, {1}, {f})"),
    LISTS + "car": simple("sema_car({0}, {f})"),
    LISTS + "first": simple("sema_car({0}, {f})"),
    LISTS + "cdr": simple("sema_cdr({0}, {f})"),
    LISTS + "rest": simple("sema_cdr({0}, {f})"),
    LISTS + "cadr": simple("sema_item_or_nil({0}, 1, {f})"),
    LISTS + "caddr": simple("sema_item_or_nil({0}, 2, {f})"),
    LISTS + "cddr": simple("sema_cddr({0}, {f})"),
    LISTS + "nth": simple("sema_nth({0}, {1}, {f})", takes="od"),
    LIB + "collections.mutable.mutable_array_get": simple("sema_nth({0}, {1}, {f})", takes="od"),
    LISTS + "length": simple("sema_length({0}, {f})", "i"),
    MAPS + "count": simple("sema_length({0}, {f})", "i"),
    LISTS + "last": simple("sema_last({0}, {f})"),
    LISTS + "reverse": simple("sema_reverse({0}, {f})"),
    LISTS + "append": simple("sema_append_lists({0}, {1}, {f})"),
    LISTS + "range_": by_count(
        simple("sema_range_list({0}, DYN_INT(0), 1, {f})", kind="List", takes="d"),
        simple("sema_range_list({0}, {1}, 2, {f})", kind="List", takes="dd"),
    ),
    PREDICATES + "is_null": simple("sema_is_null({0}, {f})"),
    PREDICATES + "is_pair": simple("sema_is_pair({0}, {f})", "b"),
    VALUES + "matching.sequence_items": simple("sema_sequence_items({0}, {f})"),
    VALUES + "matching.destructure": simple("sema_destructure({0}, {1}, 0, {f})"),
    VALUES + "matching.destructure_rest": simple("sema_destructure({0}, {1}, 1, {f})"),
    VALUES + "matching.iterate": simple("sema_iterate({0}, {1}, {f})"),
}
OF_MAPS: dict[str, Intrinsic] = {
    VALUES + "maps.Map": given_away("sema_map_take(T_Map, {})", ("dict",), "sema_map_of(T_Map, {})", "Map"),
    VALUES + "maps.HashMap": given_away(
        "sema_map_take(T_HashMap, {})", ("dict",), "sema_map_of(T_HashMap, {})", "HashMap"
    ),
    VALUES + "maps.stored": simple("sema_stored({0}, {f})"),
    MAPS + "with_entry": simple("sema_assoc({0}, {1}, {2}, {f})"),
    MAPS + "with_entries": of_array("sema_assoc_all({0}, {items}, {count}, {f})", 1),
    VALUES + "map_keys.assoc_key": simple("sema_stored({0}, {f})"),
    VALUES + "matching.map_entries": simple("sema_map_entries({0}, {f})"),
    VALUES + "lookup.keyword_get": simple("sema_keyword_get({0}, {1}, {f})"),
    MAPS + "get": by_count(
        simple("sema_get({0}, {1}, Py_None, 2, {f})"), simple("sema_get({0}, {1}, {2}, 3, {f})", takes="ooo")
    ),
    MAPS + "assoc": by_count(
        simple("sema_assoc({0}, {1}, {2}, {f})"), of_array("sema_assoc_all({0}, {items}, {count}, {f})", 1)
    ),
    MAPS + "is_contains": simple("sema_has({0}, {1}, {f})", "b"),
    LIB + "collections.map_entries.updated_map": simple("sema_updated({0}, {1}, {f})"),
}
OF_TEXTS: dict[str, Intrinsic] = {
    TEXT + "strings.string_append": of_array("sema_string_append({items}, {count}, {f})", 0, "str"),
    TEXT + "strings.string_length": simple("sema_string_length({0}, {f})", "i"),
    TEXT + "strings.string_slash_length": simple("sema_string_length({0}, {f})", "i"),
    TEXT + "strings.string_ref": simple("sema_string_ref({0}, {1}, {f})", takes="od"),
    TEXT + "strings.string_slash_ref": simple("sema_string_ref({0}, {1}, {f})", takes="od"),
    TEXT + "strings.substring": by_count(
        simple("sema_substring({0}, {1}, NO_DYN, {f})", kind="str", takes="od"),
        simple("sema_substring({0}, {1}, {2}, {f})", kind="str", takes="odd"),
    ),
    TEXT + "strings.string_split": simple("sema_split({0}, {1}, {f})", kind="List"),
    TEXT + "strings.string_join": simple("sema_join_items({0}, {1}, {f})", kind="str"),
    TEXT + "strings.string_to_list": simple("sema_characters({0}, {f})", kind="List"),
    TEXT + "strings.string_chars": simple("sema_characters({0}, {f})", kind="List"),
    TEXT + "strings.string_to_keyword": simple("sema_keyword({0}, {f})"),
    VALUES + "atoms.keyword": simple("sema_keyword({0}, {f})"),
    NUMBERS + "convert.string_to_number": simple("sema_parsed({0}, {f})", "d"),
    NUMBERS + "convert.number_to_string": simple("sema_number_text({0}, {f})", kind="str", takes="d"),
    TEXT + "padding.string_pad_left": by_count(
        simple("sema_pad({0}, {1}, NULL, 1, {f})", kind="str", takes="od"),
        simple("sema_pad({0}, {1}, {2}, 1, {f})", kind="str", takes="odo"),
    ),
    TEXT + "padding.string_pad_right": by_count(
        simple("sema_pad({0}, {1}, NULL, 0, {f})", kind="str", takes="od"),
        simple("sema_pad({0}, {1}, {2}, 0, {f})", kind="str", takes="odo"),
    ),
    TEXT + "chars.is_char_numeric": simple("sema_char_is_digit({0}, {f})", "b"),
    TEXT + "chars.is_char_alphabetic": simple("sema_char_is_letter({0}, {f})", "b"),
    TEXT + "chars.is_char_whitespace": simple("sema_char_is_space({0}, {f})", "b"),
    TEXT + "chars.char_to_string": simple("sema_char_string({0}, {f})", kind="str"),
    TEXT + "chars.char_to_integer": simple("sema_char_code({0}, {f})", "i"),
    **{
        TEXT + f"chars.is_char_{name}": simple(f"sema_char_{c}({{0}}, {{1}}, {{f}})", "b")
        for name, c in (
            ("lt", "lt"),
            ("gt", "gt"),
            ("lt_eq", "le"),
            ("gt_eq", "ge"),
            ("eq", "eq"),
        )
    },
    TEXT + "strings.symbol_to_string": simple("sema_symbol_text({0}, {f})"),
    TEXT + "strings.list_to_string": simple("sema_text_of_chars({0}, {f})", kind="str"),
    **{
        path: simple("sema_equal({0}, {1}, {f})", "b")
        for path in (
            VALUES + "equality.equal",
            PREDICATES + "is_equal",
            PREDICATES + "is_eq",
        )
    },
    TEXT + "search.string_is_contains": simple("sema_text_contains({0}, {1}, {f})", "b"),
}
HOFS = LIB + "collections.hofs."
OF_FUNCTIONS: dict[str, Intrinsic] = {
    HOFS + "map_": simple("sema_mapped({0}, {1}, 0, {f})", kind="List"),
    HOFS + "filter_": simple("sema_mapped({0}, {1}, 1, {f})", kind="List"),
    HOFS + "for_each": simple("sema_for_each({0}, {1}, {f})", kind="none"),
    HOFS + "foldl": simple("sema_folded({0}, {1}, {2}, {f})"),
}
OF_ERRORS: dict[str, Intrinsic] = {
    "sema_runtime.conditions.caught.condition_field": simple("sema_condition_field({0}, {1}, {f})"),
    "sema_runtime.conditions.caught.thrown_field": simple("sema_thrown_field({0}, {1}, {f})"),
}
ARITHMETIC = NUMBERS + "arithmetic."
OF_NUMBERS: dict[str, Intrinsic] = {
    **{ARITHMETIC + name: number(f"sdyn_or_{kind}", "if") for name, kind in (
        ("add", "add"), ("sub", "sub"), ("minus", "sub"), ("mul", "mul"), ("times", "mul"),
    )},
    ARITHMETIC + "plus": by_count(
        number("sdyn_or_add", "if"), of_array("sema_sum({items}, {count}, {f})", 0, result="d")
    ),
    ARITHMETIC + "quotient": number("sema_quotient", "i"),
    ARITHMETIC + "remainder": number("sema_remainder", "i"),
    ARITHMETIC + "mod": number("sema_modulo", "i"),
    ARITHMETIC + "modulo": number("sema_modulo", "i"),
    ARITHMETIC + "div": number("sema_divide", "f"),
    ARITHMETIC + "over": number("sema_divide"),
    ARITHMETIC + "num_eq": dyn("sdyn_num_eq", "b", 2),
    **{ARITHMETIC + name: dyn(f"sema_{name}", "b", 2) for name in (
        "less", "greater", "less_or_equal", "greater_or_equal", "numbers_equal",
    )},
    NUMBERS + "math.max_": number("sema_max", "i"),
    NUMBERS + "math.min_": number("sema_min", "i"),
    NUMBERS + "math.abs_": dyn("sema_abs"),
    **{PREDICATES + f"is_{name}": dyn(f"sema_is_{name}", "b") for name in (
        "zero", "positive", "negative", "even", "odd", "integer", "number",
    )},
}  # fmt: skip
INTRINSICS: dict[str, Intrinsic] = {
    **PYTHON,
    **OF_LISTS,
    **OF_MAPS,
    **OF_TEXTS,
    **OF_FUNCTIONS,
    **OF_ERRORS,
    **OF_NUMBERS,
}
# Functions that are values, too, of which calls from C have a way of their own.
OPERATORS = {
    ARITHMETIC + name: f"sema_value_{name}" for name in (
        "less", "greater", "less_or_equal", "greater_or_equal", "numbers_equal", "plus", "minus", "times",
    )
}  # fmt: skip
