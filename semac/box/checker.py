"""The second check: the Python that was made of a program, node by node, before it becomes code.

It shares nothing with what made it and trusts none of it: kinds of nodes, imports, names and attributes are each
compared with what compiled programs need. So a mistake of the compiler gives no program more power.
"""

from __future__ import annotations

import ast
import builtins
import re
import sys
import unicodedata
from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType, ModuleType
from typing import Any

NODES = frozenset((
    "Module", "FunctionDef", "ClassDef", "Return", "Assign", "AugAssign", "For", "While", "If", "Raise", "Try", "Expr",
    "Pass", "Break", "Continue", "Global", "Nonlocal", "ImportFrom", "alias", "With", "withitem", "Delete", "BoolOp",
    "NamedExpr", "BinOp", "UnaryOp", "Lambda", "IfExp", "Dict", "Set", "ListComp", "SetComp", "DictComp",
    "GeneratorExp", "comprehension", "Compare", "Call", "FormattedValue", "JoinedStr", "Constant", "Attribute",
    "Subscript", "Starred", "Name", "List", "Tuple", "Slice", "Load", "Store", "Del", "arguments", "arg", "keyword",
    "ExceptHandler", "And", "Or", "Add", "Sub", "Mult", "Div", "Mod", "Pow", "LShift", "RShift", "BitOr", "BitXor",
    "BitAnd", "FloorDiv", "Invert", "Not", "UAdd", "USub", "Eq", "NotEq", "Lt", "LtE", "Gt", "GtE", "Is", "IsNot", "In",
    "NotIn",
))  # fmt: skip
KINDS = frozenset(getattr(ast, name) for name in NODES if hasattr(ast, name))
WITHOUT_NODES = frozenset((  # fields: Python takes nothing but names and numbers there
    "arg", "asname", "attr", "conversion", "ctx", "id", "is_async", "kind", "level", "module", "name", "type_comment",
))  # fmt: skip
FIELDS = {  # by class, the fields that may hold nodes; of other classes any may
    kind: tuple(field for field in kind._fields if field not in WITHOUT_NODES) for kind in KINDS
} | {ast.Constant: (), ast.Global: (), ast.Nonlocal: ()}
PACKAGES = (
    "sema_runtime.lib.collections.", "sema_runtime.lib.numbers.", "sema_runtime.lib.text.", "sema_runtime.lib.data.csv",
    "sema_runtime.lib.data.json", "sema_runtime.lib.data.toml", "sema_runtime.lib.language.predicates",
    "sema_runtime.lib.language.shorthand", "sema_runtime.lib.language.truth", "sema_runtime.lib.language.multimethods",
    "sema_runtime.values.", "sema_runtime.support.counting", "sema_runtime.conditions.caught",
    "sema_runtime.tasks.callbacks",
)  # fmt: skip
OTHER_IMPORTS = {  # modules of which only some things are admitted
    "sema_runtime.lib.collections.list_sets": {
        "frequencies", "list_dedupe", "list_diff", "list_duplicates", "list_index_of", "list_intersect",
        "list_is_contains", "list_mode", "list_pluck", "list_unique",
    },
    "sema_runtime.lib.language.control": {
        "assert_", "assert_eq", "call_with_values", "error", "gensym", "make_parameter", "raise_", "sema_parameterize",
        "throw", "throw_value", "values",
    },
    "sema_runtime.lib.language.output": {"display", "newline", "pprint", "print_", "println"},
    "sema_runtime.lib.numbers.math_functions": {
        "cos", "log", "math_acos", "math_asin", "math_atan", "math_atan2", "math_clamp", "math_cosh",
        "math_degrees_to_radians", "math_exp", "math_format_fixed", "math_is_infinite", "math_is_nan", "math_lerp",
        "math_log10", "math_log2", "math_map_range", "math_radians_to_degrees", "math_round_to", "math_sinh",
        "math_tan", "math_tanh", "sin",
    },
    "sema_runtime.lib.tasks.channels": {
        "channel_close", "channel_count", "channel_is_closed", "channel_is_empty", "channel_is_full", "channel_new",
        "channel_recv", "channel_send", "channel_try_recv", "fanout_tagged", "is_channel", "prefill_sem", "stages",
    },
    "sema_runtime.lib.tasks.concurrency": {
        "async_all", "async_await", "async_cancel", "async_is_cancelled", "async_is_pending", "async_is_promise",
        "async_is_rejected", "async_is_resolved", "async_race", "async_race_owned", "async_rejected", "async_resolved",
        "async_run", "async_spawn", "await_", "owned_all", "spawn_apply", "spawn_thunks",
    },
    "sema_runtime.lib.text.crypto": {"base64_decode", "base64_encode", "hash_hmac_sha256", "hash_md5", "hash_sha256"},
    "sema_runtime.lib.text.diff": {"diff_apply", "diff_hunks", "diff_parse", "diff_stat", "diff_unified"},
    "sema_runtime.lib.time.datetime": {"time_add", "time_date_parts", "time_diff", "time_format", "time_parse"},
    "fractions": {"Fraction"},
    "collections": {"deque"},
    "sema_runtime.conditions.describe": {"condition_map", "condition_of"},
    "math": {"sqrt", "sin", "cos", "atan", "tanh", "gcd", "floor", "ceil", "inf", "nan"},
    "builtins": {"sum", "list", "len", "int", "float", "str", "type", "range", "abs", "min", "max", "zip", "tuple",
                 "dict", "sorted", "reversed", "enumerate", "any", "all", "ord", "chr", "bool", "set", "Exception"},
}  # fmt: skip
ATTRIBUTES = frozenset((
    "append", "args", "assoc", "car", "cdr", "copy", "d", "empty", "endswith", "extend", "find", "flat", "get",
    "is_integer", "isascii", "isdecimal", "items", "join", "lookup", "lower", "name", "next", "of", "pairs", "pinned",
    "pop", "popleft", "replace", "sema_tag", "sorted_keys", "split", "stable", "startswith", "strip", "upper", "value",
    "values", "was_extended", "with_traceback",
))  # fmt: skip
METHODS = frozenset((  # those of the attributes that a program never sees: they are called where they are named
    "append", "assoc", "copy", "endswith", "extend", "find", "get", "is_integer", "isascii", "isdecimal", "join",
    "lookup", "lower", "of", "pop", "popleft", "replace", "split", "startswith", "strip", "upper", "with_traceback",
))  # fmt: skip
BUILTIN_NAMES = frozenset((
    "abs", "all", "any", "bool", "chr", "dict", "enumerate", "Exception", "False", "float", "int", "isinstance", "iter",
    "len", "list", "map", "max", "min", "next", "None", "ord", "range", "reversed", "round", "set", "sorted", "str",
    "sum", "tuple", "True", "type", "zip", "divmod", "pow", "IndexError", "KeyError", "TypeError", "NameError",
    "RecursionError", "ZeroDivisionError", "OverflowError", "ValueError", "AttributeError", "callable", "slice",
    "frozenset",
))  # fmt: skip
CONSTANTS = (str, int, float, bytes, type(None), type(...))
CONSTRUCTOR = ("sema_runtime.values.records", "constructor")
TAKEN = re.compile("__builtins__|__sema_[a-z_]*[a-z]__|__Box_[a-z]*[a-z]")
PREDEFINED = frozenset(dir(builtins))
HARMLESS = frozenset((
    "__slots__", "__sema_names__", "__sema_result__", "__sema_values__", "__sema_exports__", "__init__",
    "__sema_globals__", "__",
))  # fmt: skip


class Unsafe(Exception):
    """The Python of a program has what no program needs: a mistake of the compiler."""


def nodes_of(tree: ast.AST) -> list[ast.AST]:
    """All nodes of a tree, the tree itself first."""
    nodes = [tree]
    for node in nodes:  # which grows meanwhile
        kind = type(node)
        for field in FIELDS.get(kind, kind._fields):
            value = getattr(node, field, None)
            if type(value) is list:
                nodes += [part for part in value if isinstance(part, ast.AST)]
            elif isinstance(value, ast.AST):
                nodes.append(value)
    return nodes


def check_tree(
    nodes: list[ast.AST],
    imports: Mapping[str, tuple[str, str]] = MappingProxyType({}),
    atoms: AbstractSet[str] = frozenset(),
) -> None:
    """Raises Unsafe. nodes: of the tree (`nodes_of`). imports: names that the session binds to things of the runtime,
    each with module and attribute. atoms: those that it binds to keywords, symbols and characters."""
    for module, name in imports.values():
        check_imported(module, [name])
    by_kind: dict[type, list[Any]] = {}
    for node in nodes:
        by_kind.setdefault(type(node), []).append(node)
    for kind in by_kind:
        if kind not in KINDS:
            raise Unsafe(f"a node {kind.__name__}")
    for node in by_kind.get(ast.ImportFrom, ()):
        check_import(node)
    check_names(by_kind, imports, atoms)
    check_attributes(by_kind)
    for node in (*by_kind.get(ast.FunctionDef, ()), *by_kind.get(ast.ClassDef, ())):
        check_decorators(node.decorator_list, imports)
        check_identifier(node.name)
    for node in (*by_kind.get(ast.arg, ()), *by_kind.get(ast.keyword, ())):
        check_identifier(node.arg or "")
    for node in by_kind.get(ast.Constant, ()):
        if not isinstance(node.value, CONSTANTS):
            raise Unsafe(f"a constant of type {type(node.value).__name__}")


def check_names(
    by_kind: Mapping[type, list[Any]], imports: Mapping[str, tuple[str, str]], atoms: AbstractSet[str]
) -> None:
    own = defined(by_kind)
    for name in {node.id for node in by_kind.get(ast.Name, ())}:
        if name not in imports and name not in atoms:
            check_name(name, own)


def check_attributes(by_kind: Mapping[type, list[Any]]) -> None:
    attributes = by_kind.get(ast.Attribute)
    if not attributes:
        return
    fields = slots(by_kind)
    called = {id(node.func) for node in by_kind.get(ast.Call, ())}
    for node in attributes:
        check_attribute(node.attr, fields)
        if node.attr in METHODS and node.attr not in fields:
            check_method(node, id(node) in called)


def check_decorators(decorators: list[ast.expr], imports: Mapping[str, tuple[str, str]]) -> None:
    """The one that there is makes the constructor of a record."""
    for decorator in decorators:
        if not isinstance(decorator, ast.Name) or imports.get(decorator.id) != CONSTRUCTOR:
            raise Unsafe("a decorator")


def defined(by_kind: Mapping[type, list[Any]]) -> set[str]:
    """The names that the module itself binds. by_kind: its nodes, by their classes."""
    names = {node.id for node in by_kind.get(ast.Name, ()) if type(node.ctx) is not ast.Load}
    names.update(node.name for kind in (ast.FunctionDef, ast.ClassDef) for node in by_kind.get(kind, ()))
    names.update(node.arg for node in by_kind.get(ast.arg, ()))
    names.update(node.asname or node.name for node in by_kind.get(ast.alias, ()))
    names.update(node.name for node in by_kind.get(ast.ExceptHandler, ()) if node.name)
    for kind in (ast.Global, ast.Nonlocal):
        for node in by_kind.get(kind, ()):
            names.update(node.names)
    return names


def slots(by_kind: Mapping[type, list[Any]]) -> frozenset[str]:
    """The fields of the classes that the module defines."""
    fields: set[str] = set()
    for node in by_kind.get(ast.ClassDef, ()):
        for part in nodes_of(node):
            if isinstance(part, ast.Constant) and isinstance(part.value, str) and part.value.isidentifier():
                fields.add(part.value)
    return frozenset(fields)


def check_import(node: ast.ImportFrom) -> None:
    if node.level:
        raise Unsafe("a relative import")
    check_imported(node.module or "", [alias.name for alias in node.names])


def check_imported(module: str, names: list[str]) -> None:
    if any(name == "*" or name.startswith("__") for name in names):
        raise Unsafe(f"an import from {module}")
    if module in OTHER_IMPORTS:
        if not OTHER_IMPORTS[module].issuperset(names):
            raise Unsafe(f"an import of {', '.join(names)} from {module}")
    elif not module.startswith(PACKAGES) or any(is_module(module, name) for name in names):
        raise Unsafe(f"an import from {module}")


def is_module(module: str, name: str) -> bool:
    """Whether a module of the runtime holds another module by that name: what it uses is nothing for programs."""
    return isinstance(getattr(sys.modules.get(module), name, None), ModuleType)


def check_attribute(name: str, fields: frozenset[str]) -> None:
    if name.startswith("__") or not name.isascii() or (name not in ATTRIBUTES and name not in fields):
        raise Unsafe(f"an attribute {name}")


def check_method(node: ast.Attribute, is_called: bool) -> None:
    """A method is no value, and texts are joined by one that the compiler has written."""
    if not is_called:
        raise Unsafe(f"a method {node.attr} that isn't called")
    if node.attr == "join" and not (isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)):
        raise Unsafe("a join of a value")


def check_name(name: str, own: AbstractSet[str]) -> None:
    check_identifier(name)
    if name not in own and name not in BUILTIN_NAMES and name not in HARMLESS and name in PREDEFINED:
        raise Unsafe(f"a name {name}")


def is_taken(name: str) -> bool:
    """Whether a name with underscores around it means something to Python, or to the compiler."""
    return name.startswith("__") and (name in PREDEFINED or TAKEN.fullmatch(name) is not None)


def check_identifier(name: str) -> None:
    is_folded = not name.isascii() and unicodedata.normalize("NFKC", name) != name  # Python takes it for another
    if is_folded or (is_taken(name) and name not in HARMLESS):
        raise Unsafe(f"a name {name!r}")
