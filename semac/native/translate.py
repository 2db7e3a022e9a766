"""From the Python of one function, compiled as of a closed program, to typed Python for mypyc.

Assumes that parameters are of the types that inference gave them; who calls from outside tests that (`link.py`).
A translated function has no effects that outlive it: it works on numbers, truth, strings, and arrays that it or a
translated caller has made. So its plain twin may run instead whenever it raises anything, and raises what it should:
branches that only report errors become `fail()`. What has no surely equal native form raises `NotNative`, and the
function stays plain.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from semac.native.counting import counted_loop
from semac.native.types import (
    ARITHMETIC,
    OPTIONAL,
    Facts,
    NotNative,
    array_item,
    array_of,
    fits,
    join,
    shown,
)

NUMBERS = ("int", "float")
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)
ARRAYS = "sema_runtime.lib.collections.mutable."
LIST = "sema_runtime.values.lists.List"
TICK = "state.ticks += 1\nif state.ticks > 500000: poll(state)"


class Translator:
    """One function. names: the types of its parameters and variables; functions: the native functions it may call."""

    def __init__(self, facts: Facts, node: ast.FunctionDef, params: dict[str, str], result: str) -> None:
        self.facts = facts
        self.node = node
        self.names = dict(params)
        self.params = params
        self.result = result
        self.called: set[str] = set()
        self.constants: set[str] = set()
        self.has_loop = False
        self.changed = False

    def translated(self, native_name: Callable[[str], str]) -> ast.FunctionDef:
        """The function for mypyc. Raises NotNative."""
        body = self.node.body
        while True:
            self.changed = False
            statements = self.block(body)
            if not self.changed:
                break
        declared = [f"{local(name)}: {shown(kind)}" for name, kind in self.names.items() if name not in self.params]
        if any(kind == "none" for kind in self.names.values()):
            raise NotNative("a variable that is always nil")
        head = "if depth > MOST: fail()\n" + TICK
        signature = [f"{local(name)}: {shown(kind)}" for name, kind in self.params.items()] + [
            "depth: i64",
            "state: State",
        ]
        source = f"def {native_name(self.node.name)}({', '.join(signature)}) -> {shown(self.result)}:\n    pass"
        function = ast.parse(source).body[0]
        assert isinstance(function, ast.FunctionDef)
        function.body = [*ast.parse("\n".join(declared) + "\n" + head).body, *statements]
        if not ends(function.body):
            function.body.append(ast.parse("return None" if self.result == "object" else "fail()").body[0])
        if self.result not in ("object", "none") and falls_off(self.node.body):
            raise NotNative("a branch without a value")
        return function

    # Statements

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            out += self.statement(statement)
        return out or [ast.Pass()]

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        if isinstance(node, ast.Pass | ast.Break | ast.Continue):
            return [node]
        if isinstance(node, ast.Return):
            return self.return_(node)
        if isinstance(node, ast.Expr):
            if isinstance(node.value, ast.Constant):
                return []
            return [ast.Expr(self.expr(node.value)[0])]
        if isinstance(node, ast.If):
            return self.branch(node)
        if isinstance(node, ast.While) and not node.orelse:
            self.has_loop = True
            return [ast.While(self.truth(node.test), [*ast.parse(TICK).body, *self.block(node.body)], [])]
        if isinstance(node, ast.For) and not node.orelse:
            return self.for_(node)
        if isinstance(node, ast.Assign) and len(node.targets) == 1:
            return self.assign(node.targets[0], node.value)
        raise NotNative(type(node).__name__)

    def branch(self, node: ast.If) -> list[ast.stmt]:
        test = self.truth(node.test)
        if isinstance(test, ast.Constant):
            return self.block(node.body if test.value else node.orelse)
        return [ast.If(test, self.block(node.body), self.block(node.orelse) if node.orelse else [])]

    def return_(self, node: ast.Return) -> list[ast.stmt]:
        value, kind = self.expr(node.value or ast.Constant(None))
        if kind == "never":
            return [ast.Expr(value), ast.Return(self.default())]
        if not fits(kind, self.result):
            raise NotNative(f"returns {kind} instead of {self.result}")
        return [ast.Return(value)]

    def default(self) -> ast.expr:
        """A value of the type of the result, for a return that is never reached."""
        value: Any = {"int": 0, "float": 0.0, "bool": False, "str": ""}.get(self.result)
        if value is None and self.result != "object":
            raise NotNative("a result without a simple value")
        return ast.Constant(value)

    def assign(self, target: ast.expr, value: ast.expr) -> list[ast.stmt]:
        if isinstance(target, ast.Name):
            translated, kind = self.expr(value)
            self.bind(target.id, kind)
            return [ast.Assign([stored(target)], translated)]
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            values, targets = [], []
            for part, item in zip(target.elts, value.elts, strict=True):
                translated, kind = self.expr(item)
                if not isinstance(part, ast.Name):
                    raise NotNative("pattern")
                self.bind(part.id, kind)
                values.append(translated)
                targets.append(stored(part))
            return [ast.Assign([ast.Tuple(list(targets), ast.Store())], ast.Tuple(values, ast.Load()))]
        if isinstance(target, ast.Subscript):
            items, kind = self.items(target.value)
            index, index_kind = self.expr(target.slice)
            translated, value_kind = self.expr(value)
            if index_kind != "int" or value_kind != array_item(kind):
                raise NotNative("an array of mixed items")
            return [ast.Assign([ast.Subscript(items, index, ast.Store())], translated)]
        raise NotNative("assignment")

    def bind(self, name: str, kind: str) -> None:
        known = self.names.get(name)
        if kind == "never":
            if known is None:
                raise NotNative("a variable without a value")
            return
        joined = kind if known is None else join(known, kind)
        if joined != known:
            if name in self.params:
                raise NotNative("a parameter that changes its type")
            self.names[name] = joined
            self.changed = True

    def for_(self, node: ast.For) -> list[ast.stmt]:
        self.has_loop = True
        if isinstance(node.target, ast.Name) and isinstance(node.iter, ast.Name):
            items, kind = self.sequence(node.iter)
            self.bind(node.target.id, kind)
            return [ast.For(stored(node.target), items, [*ast.parse(TICK).body, *self.block(node.body)], [])]
        if not isinstance(node.target, ast.Name) or not isinstance(node.iter, ast.Call):
            raise NotNative("a loop over a collection")
        function = self.facts.runtime(node.iter.func)
        args = [self.expr(arg) for arg in node.iter.args if self.facts.runtime(arg) is None]
        if any(kind != "int" for _, kind in args):
            raise NotNative("a counter that isn't an int")
        test = self.facts.runtime(node.iter.args[0]) if node.iter.args else None
        self.bind(node.target.id, "int")
        body = [*ast.parse(TICK).body, *self.block(node.body)]
        return counted_loop(function or "", test, [arg for arg, _ in args], stored(node.target), body, self.temporary)

    def sequence(self, node: ast.expr) -> tuple[ast.expr, str]:
        """A list of records, and the kind of its items."""
        value, kind = self.expr(node)
        if not kind.startswith("seq["):
            raise NotNative("a loop over a collection")
        return value, kind[4:-1]

    def comprehension(self, node: ast.ListComp) -> tuple[ast.expr, str]:
        """A list that is made item by item, as the Python list of a native one."""
        source = node.generators[0]
        if len(node.generators) > 1 or not isinstance(source.target, ast.Name):
            raise NotNative("a comprehension")
        items, kind = self.sequence(source.iter)
        self.bind(source.target.id, kind)
        tests = [self.truth(test) for test in source.ifs]
        item, item_kind = self.expr(node.elt)
        if item_kind not in self.facts.fields:
            raise NotNative("a list of other things than records")
        return ast.ListComp(item, [ast.comprehension(stored(source.target), items, tests, 0)]), f"seq[{item_kind}]"

    def attribute(self, node: ast.Attribute) -> tuple[ast.expr, str]:
        """A field of a record."""
        value, kind = self.expr(node.value)
        record = kind.removesuffix(OPTIONAL)
        field = self.facts.fields.get(record, {}).get(node.attr)
        if field is None:
            raise NotNative("an attribute")
        if record != kind:
            value = ast.Call(ast.Name("cast"), [ast.Name(record), value], [])
        return ast.Attribute(value, node.attr, ast.Load()), field

    def nil_test(self, node: ast.Compare) -> ast.expr | None:
        """`x is None` of a record or nil."""
        is_nil = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value is None
        if not is_nil or len(node.ops) != 1 or not isinstance(node.ops[0], ast.Is | ast.IsNot):
            return None
        value, kind = self.expr(node.left)
        if not kind.endswith(OPTIONAL):
            raise NotNative(f"a test of {kind} for nil")
        return ast.Compare(value, node.ops, node.comparators)

    def temporary(self) -> str:
        name = f"{len(self.names)}_bound"  # as no variable is called
        self.names[name] = "int"
        return local(name)

    # Expressions

    def truth(self, node: ast.expr) -> ast.expr:
        value, kind = self.expr(node)
        if kind in NUMBERS:  # of a divisor
            return ast.Compare(value, [ast.NotEq()], [ast.Constant(0.0 if kind == "float" else 0)])
        if kind != "bool":
            raise NotNative(f"a test of {kind}")
        return value

    def expr(self, node: ast.expr) -> tuple[ast.expr, str]:
        """(the expression for mypyc, its type)."""
        handler = HANDLERS.get(type(node))
        if handler is None:
            raise NotNative(type(node).__name__)
        result: tuple[ast.expr, str] = handler(self, node)
        return result

    def constant(self, node: ast.Constant) -> tuple[ast.expr, str]:
        kind = {int: "int", float: "float", bool: "bool", str: "str", type(None): "none"}.get(type(node.value))
        if kind is None:
            raise NotNative("constant")
        return node, kind

    def name(self, node: ast.Name) -> tuple[ast.expr, str]:
        kind = self.names.get(node.id)
        if kind is not None:
            return ast.Name(local(node.id), ast.Load()), kind
        known = self.facts.constants.get(node.id)
        if known is None:
            raise NotNative(f"the global {node.id}")
        self.constants.add(node.id)
        return self.constant(known)

    def operation(self, node: ast.BinOp) -> tuple[ast.expr, str]:
        (left, a), (right, b) = self.expr(node.left), self.expr(node.right)
        if a not in NUMBERS or b not in NUMBERS or not isinstance(node.op, ARITHMETIC):
            raise NotNative(f"{type(node.op).__name__} of {a} and {b}")
        kind = "float" if "float" in (a, b) else "int"
        if isinstance(node.op, ast.Div) and kind == "int":
            raise NotNative("/ of ints")
        if isinstance(node.op, ast.FloorDiv | ast.Mod) and kind == "float":
            raise NotNative("% of floats")
        return ast.BinOp(left, node.op, right), kind

    def sign(self, node: ast.UnaryOp) -> tuple[ast.expr, str]:
        value, kind = self.expr(node.operand)
        if isinstance(node.op, ast.Not) and kind == "bool":
            return ast.UnaryOp(node.op, value), "bool"
        if isinstance(node.op, ast.USub) and kind in NUMBERS:
            return ast.UnaryOp(node.op, value), kind
        raise NotNative("operator")

    def comparison(self, node: ast.Compare) -> tuple[ast.expr, str]:
        known = self.kind_test(node)
        if known is not None:
            return ast.Constant(known), "bool"
        nil = self.nil_test(node)
        if nil is not None:
            return nil, "bool"
        operands = [self.expr(part) for part in (node.left, *node.comparators)]
        kinds = {kind for _, kind in operands}
        if len(kinds) > 1 or not all(isinstance(op, ORDER) for op in node.ops):
            raise NotNative(f"comparison of {' and '.join(sorted(kinds))}")
        kind = kinds.pop()
        is_equality = all(isinstance(op, ast.Eq | ast.NotEq) for op in node.ops)
        if kind not in NUMBERS and not (kind in ("str", "bool") and is_equality):
            raise NotNative(f"comparison of {kind}")
        return ast.Compare(operands[0][0], node.ops, [part for part, _ in operands[1:]]), "bool"

    def kind_test(self, node: ast.Compare) -> bool | None:
        """What `type(x) is int` surely is; None for other comparisons."""
        left, op, right = node.left, node.ops[0], node.comparators[0]
        if len(node.ops) != 1 or not isinstance(op, ast.Is) or not isinstance(right, ast.Name):
            return None
        if not (isinstance(left, ast.Call) and isinstance(left.func, ast.Name) and left.func.id == "type"):
            return None
        if not isinstance(left.args[0], ast.Name) or right.id not in NUMBERS:
            return None
        kind = self.expr(left.args[0])[1]
        return kind == right.id if kind in ("int", "float", "bool", "str") else None

    def logic(self, node: ast.BoolOp) -> tuple[ast.expr, str]:
        is_and = isinstance(node.op, ast.And)
        parts: list[ast.expr] = []
        for part in map(self.truth, node.values):
            if isinstance(part, ast.Constant):
                if part.value is not is_and:  # it decides
                    parts.append(part)
                    break
                continue
            parts.append(part)
        if len(parts) < 2:
            return (parts[0] if parts else ast.Constant(is_and)), "bool"
        return ast.BoolOp(node.op, parts), "bool"

    def choice(self, node: ast.IfExp) -> tuple[ast.expr, str]:
        test = self.truth(node.test)
        if isinstance(test, ast.Constant):
            return self.expr(node.body if test.value else node.orelse)
        (then, a), (otherwise, b) = self.expr(node.body), self.expr(node.orelse)
        if "never" in (a, b):
            known = b if a == "never" else a
            return ast.IfExp(
                test, then if a != "never" else failing(known), otherwise if b != "never" else failing(known)
            ), known
        return ast.IfExp(test, then, otherwise), join(a, b)

    def walrus(self, node: ast.NamedExpr) -> tuple[ast.expr, str]:
        value, kind = self.expr(node.value)
        self.bind(node.target.id, kind)
        return ast.NamedExpr(stored(node.target), value), kind

    def subscript(self, node: ast.Subscript) -> tuple[ast.expr, str]:
        items, kind = self.items(node.value)
        index, index_kind = self.expr(node.slice)
        if index_kind != "int":
            raise NotNative("an index that isn't an int")
        return ast.Subscript(items, index, ast.Load()), array_item(kind)

    def items(self, node: ast.expr) -> tuple[ast.expr, str]:
        """The Python list of `array.items`."""
        if isinstance(node, ast.Attribute) and node.attr == "items":
            value, kind = self.expr(node.value)
            if kind.startswith("list["):
                return value, kind
        raise NotNative("an attribute")

    def call(self, node: ast.Call) -> tuple[ast.expr, str]:
        if node.keywords or any(isinstance(arg, ast.Starred) for arg in node.args):
            raise NotNative("arguments")
        if isinstance(node.func, ast.Name) and node.func.id in self.facts.signatures:
            return self.native_call(node, node.func.id)
        if isinstance(node.func, ast.Name) and node.func.id in self.facts.constructors:
            return self.construction(node, node.func.id)
        if isinstance(node.func, ast.Name) and node.func.id in self.facts.accessors and len(node.args) == 1:
            kind, slot = self.facts.accessors[node.func.id]
            self.constants.add(node.func.id)
            if self.expr(node.args[0])[1].removesuffix(OPTIONAL) != kind:
                raise NotNative("a field of something else")
            return self.attribute(ast.Attribute(node.args[0], slot, ast.Load()))
        if isinstance(node.func, ast.Name) and node.func.id == "len" and self.facts.runtime(node.func) is None:
            return ast.Call(node.func, [self.items(node.args[0])[0]], []), "int"
        function = self.facts.runtime(node.func)
        if function is None:
            raise NotNative("a call of an unknown function")
        return self.builtin(function, node.args)

    def native_call(self, node: ast.Call, function: str) -> tuple[ast.expr, str]:
        params, result = self.facts.signatures[function]
        args = [self.expr(arg) for arg in node.args]
        if len(args) != len(params) or not all(map(fits, [kind for _, kind in args], params)):
            raise NotNative(f"arguments of {function}")
        self.called.add(function)
        passed = [arg for arg, _ in args]
        depth = ast.parse("depth + 1", mode="eval").body
        return ast.Call(ast.Name(self.facts.native_name(function)), [*passed, depth, ast.Name("state")], []), result

    def construction(self, node: ast.Call, function: str) -> tuple[ast.expr, str]:
        kind = self.facts.constructors[function]
        args = [self.expr(arg) for arg in node.args]
        fields = list(self.facts.fields[kind].values())
        if len(args) != len(fields) or not all(map(fits, [part for _, part in args], fields)):
            raise NotNative(f"arguments of {function}")
        self.constants.add(function)
        return ast.Call(ast.Name(kind), [arg for arg, _ in args], []), kind

    def builtin(self, function: str, nodes: list[ast.expr]) -> tuple[ast.expr, str]:
        if function == ARRAYS + "mutable_array_new" and len(nodes) == 2:
            (count, a), (fill, b) = map(self.expr, nodes)
            if a != "int" or b not in ("int", "float", "bool"):
                raise NotNative("an array")
            return ast.Call(ast.Name(f"new_{b}"), [count, fill], []), array_of(b)
        if function in (ARRAYS + "mutable_array_get", ARRAYS + "mutable_array_set_mut"):
            return failing("object"), "never"
        if function == LIST and len(nodes) == 1 and isinstance(nodes[0], ast.ListComp):
            return self.comprehension(nodes[0])
        if function == LIST and len(nodes) == 1 and isinstance(nodes[0], ast.List) and self.result == "object":
            parts = [self.expr(part) for part in nodes[0].elts]
            if any(kind not in ("int", "float", "bool", "str", "none", "object") for _, kind in parts):
                raise NotNative("a list of arrays")
            return ast.Call(ast.Name("List"), [ast.List([part for part, _ in parts], ast.Load())], []), "object"
        args = [self.expr(arg) for arg in nodes]
        kinds = [kind for _, kind in args]
        if function == "math.sqrt" and kinds == ["float"]:
            return ast.Call(ast.Name("sqrt"), [args[0][0]], []), "float"
        arithmetic = "sema_runtime.lib.numbers.arithmetic."
        if function == arithmetic + "div" and "float" in kinds and all(kind in NUMBERS for kind in kinds):
            return ast.BinOp(args[0][0], ast.Div(), args[1][0]), "float"
        if function in (arithmetic + "quotient",) and kinds == ["int", "int"]:
            return ast.Call(ast.Name("quotient"), [args[0][0], args[1][0]], []), "int"
        raise NotNative(function)


def local(name: str) -> str:
    """What a variable is called in native code, where no name of our own is called so."""
    return f"v_{name}"


def stored(node: ast.Name) -> ast.Name:
    return ast.Name(local(node.id), ast.Store())


def failing(kind: str) -> ast.expr:
    """An expression of a type that always raises."""
    name = {"int": "fail_int", "float": "fail_float", "bool": "fail_bool", "str": "fail_str"}.get(kind, "fail")
    return ast.Call(ast.Name(name), [], [])


def ends(body: list[ast.stmt]) -> bool:
    return isinstance(body[-1], ast.Return)


def falls_off(body: list[ast.stmt]) -> bool:
    """Whether the end of a body may be reached."""
    last = body[-1]
    if isinstance(last, ast.If):
        return not last.orelse or falls_off(last.body) or falls_off(last.orelse)
    if isinstance(last, ast.While):
        return not (isinstance(last.test, ast.Constant) and last.test.value is True) or breaks(last.body)
    return not isinstance(last, ast.Return | ast.Raise | ast.Continue)


def breaks(body: list[ast.stmt]) -> bool:
    """Whether a statement of a loop's body leaves that loop by `break`."""
    return any(
        isinstance(statement, ast.Break)
        or (isinstance(statement, ast.If) and (breaks(statement.body) or breaks(statement.orelse)))
        for statement in body
    )


HANDLERS: dict[type, Any] = {
    ast.Constant: Translator.constant,
    ast.Name: Translator.name,
    ast.BinOp: Translator.operation,
    ast.UnaryOp: Translator.sign,
    ast.Compare: Translator.comparison,
    ast.BoolOp: Translator.logic,
    ast.IfExp: Translator.choice,
    ast.NamedExpr: Translator.walrus,
    ast.Subscript: Translator.subscript,
    ast.Call: Translator.call,
    ast.Attribute: Translator.attribute,
}
