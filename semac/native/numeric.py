"""Expressions of floats and short ints in plain C, for the first way of a region (`regions.py`)."""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from semac.native.arithmetic import ARITHMETIC, COMPARED, COMPARISONS, same
from semac.native.expressions import SLOTS, assigns
from semac.native.function import FunctionCode, Variable
from semac.native.guards import is_number_type
from semac.native.values import C_TYPES

Number = tuple[str, str]  # "f" a double, "i" a short sint; the expression of C
State = tuple[Any, ...]
SIGNS: dict[type, str] = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
OVER: dict[type, str] = {
    ast.Add: "ADD_OVER({}, {}, &{})",
    ast.Sub: "SUB_OVER({}, {}, &{})",
    ast.Mult: "MUL_OVER({}, VALUE({}), &{})",
}
OPERATIONS: dict[str, ast.operator] = {
    "add": ast.Add(), "plus": ast.Add(), "sub": ast.Sub(), "minus": ast.Sub(), "mul": ast.Mult(), "times": ast.Mult(),
    "div": ast.Div(), "over": ast.Div(),
}  # fmt: skip
TESTS: dict[str, str] = {
    "lt": "{} < {}", "gt": "{} > {}", "le": "!({} > {})", "ge": "!({} < {})", "less": "{} < {}", "greater": "{} > {}",
    "less_or_equal": "{} <= {}", "greater_or_equal": "{} >= {}", "num_eq": "{} == {}",
}  # fmt: skip
SIGN_OF = {"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "eq": "==", "ne": "!="}
ROOTS = ("math.sqrt", "sema_runtime.lib.numbers.math.sqrt")
EXACT = 1 << 53
EFFECTS = (ast.NamedExpr, ast.Call, ast.Lambda)


class Other(Exception):
    """What does more than compute, or computes with other values."""


class Local:
    """A variable of the function while it is a variable of C in a region.

    is_loaded: it was read from the function's variable on every way here. flag: the variable of C that says whether it
    was assigned, where that isn't known.
    """

    __slots__ = ("c", "flag", "is_assigned", "is_loaded", "rep", "variable")

    def __init__(self, variable: Variable, rep: str, c: str, flag: str, is_loaded: bool) -> None:
        self.variable = variable
        self.rep = rep
        self.c = c
        self.flag = flag
        self.is_loaded = is_loaded
        self.is_assigned = False


class Numeric:
    """The expressions of a region. score: operations of floats; guesses: operands that may be anything;
    is_float: one is a float for sure."""

    def __init__(self, f: FunctionCode) -> None:
        self.f = f
        self.name = f.fresh("region")
        self.out: list[str] = []
        self.declared: list[str] = []
        self.locals: dict[str, Local] = {}  # by the variable's name in C
        self.known: dict[str, Local] = {}  # those that have a value on every way here
        self.parts: dict[tuple[str, str], Number] = {}  # fields and items that were read
        self.objects: dict[str, str] = {}  # those of which numbers are, by the number in C
        self.tested: set[str] = set()
        self.depth = 0
        self.changed: list[str] = []  # the names that were assigned to
        self.score = 0
        self.guesses = 0
        self.is_float = False
        self.is_over = False

    def state(self) -> State:
        marks = [(each, each.is_assigned) for each in self.locals.values()]
        return (len(self.out), len(self.declared), dict(self.locals), dict(self.known), dict(self.parts),
                set(self.tested), self.score, self.guesses, self.is_float, marks)  # fmt: skip

    def restore(self, state: State) -> None:
        (
            out,
            declared,
            self.locals,
            self.known,
            self.parts,
            self.tested,
            self.score,
            self.guesses,
            self.is_float,
            marks,
        ) = state
        del self.out[out:], self.declared[declared:]
        for local, is_assigned in marks:
            local.is_assigned = is_assigned
        self.is_over = False
        self.depth = 0

    def emit(self, line: str) -> None:
        self.out.append(line)

    def leave_if(self, condition: str) -> None:
        self.emit(f"if (UNLIKELY({condition})) goto {self.name}_other;")

    def held(self, number: Number) -> Number:
        """A number in a variable of its own."""
        rep, c = number
        name = self.f.fresh("x")
        self.emit(f"{C_TYPES[rep]}{name} = {c};")
        return rep, name

    # Branches

    def either(self, condition: str, then: Callable[[], None], otherwise: Callable[[], None]) -> None:
        """Two ways, of which one may be left to the second way of the region."""
        before, parts, tested, changed = dict(self.known), dict(self.parts), set(self.tested), len(self.changed)
        ends = []
        is_plain = False
        self.emit(f"if ({condition}) {{")
        self.depth += 1
        for way in (then, otherwise):
            state = self.state()
            depth = self.depth
            try:
                way()
                is_plain = True
                ends.append(None if self.is_over else self.known)
            except Other:
                self.restore(state)
                self.depth = depth
                self.emit(f"goto {self.name}_other;")
                ends.append(None)
            self.is_over = False
            self.known, self.parts, self.tested = dict(before), dict(parts), set(tested)
            self.emit("} else {" if way is then else "}")
        self.depth -= 1
        self.forget_parts(self.changed[changed:])
        if not is_plain:
            raise Other
        one, other = ends
        if one is None or other is None:
            self.known = one or other or {}
            self.is_over = one is None and other is None
        else:
            self.known = {c: local for c, local in one.items() if other.get(c) is local}

    # Variables

    def put(self, name: str, number: Number) -> None:
        rep, c = number
        variable = self.f.variable(name)
        if variable is None or variable.where in ("cell", "free"):
            raise Other
        if variable.rep not in ("d", rep) and not (variable.rep == "o" and c in self.objects):
            raise Other
        local = self.locals.get(variable.c)
        if local is None:
            local = self.new_local(variable, rep, is_loaded=False)
        elif local.rep != rep or (local.is_loaded and variable.rep == "o"):
            raise Other
        local.is_assigned = True
        self.emit(f"{local.c} = {c};" + (f" {local.flag} = 1;" if local.flag else ""))
        if variable.rep == "o":
            self.emit(f"{local.c}_object = {self.objects[c]};")
        self.known[variable.c] = local
        self.changed.append(name)
        self.forget_parts([name])

    def forget_parts(self, names: list[str]) -> None:
        """Forgets the items that were read at what a variable said before."""
        self.parts = {key: value for key, value in self.parts.items() if key[1] not in names}

    def new_local(self, variable: Variable, rep: str, is_loaded: bool) -> Local:
        c = f"{self.name}_{variable.c}"
        flag = f"{c}_set" if self.depth and not is_loaded else ""
        self.declared.append(f"{C_TYPES[rep]}{c} = 0")
        if flag:
            self.declared.append(f"int {flag} = 0")
        if variable.rep == "o":
            self.declared.append(f"PyObject *{c}_object = NULL")
        local = self.locals[variable.c] = Local(variable, rep, c, flag, is_loaded)
        return local

    def read(self, variable: Variable) -> Number:
        f = self.f
        if variable.c in self.known:
            local = self.known[variable.c]
            return local.rep, local.c
        if variable.c in self.locals or variable.where in ("cell", "free"):
            raise Other
        rep = variable.rep or "o"
        if rep == "f":
            self.is_float = True
            return self.loaded(variable, "f", variable.c)
        if rep == "i":
            self.leave_if(f"!IS_SHORT({variable.c})")
            return self.loaded(variable, "i", variable.c)
        if rep == "d":
            seen = f.seen.get(variable.c, set())
            self.is_float = self.is_float or "F" in seen or "f" in seen
            if seen & {"I", "i"} and not seen & {"F", "f"}:
                self.leave_if(f"!IS_SHORT({variable.c}.x)")
                return self.loaded(variable, "i", f"{variable.c}.x")
            self.leave_if(f"{variable.c}.x != FLOATING")
            return self.loaded(variable, "f", f"{variable.c}.f", is_guess=True)
        if rep == "o":
            missing = "" if f.is_assigned(variable) else f"{variable.c} == NULL || "
            self.leave_if(f"{missing}!PyFloat_CheckExact({variable.c})")
            return self.loaded(variable, "f", f"PyFloat_AS_DOUBLE({variable.c})", is_guess=True)
        raise Other

    def loaded(self, variable: Variable, rep: str, c: str, is_guess: bool = False) -> Number:
        """The number of a variable. What is read in a branch only isn't kept."""
        self.guesses += is_guess
        if self.depth:
            return self.held((rep, c))
        local = self.known[variable.c] = self.new_local(variable, rep, is_loaded=True)
        self.emit(f"{local.c} = {c};")
        return rep, local.c

    def object_of(self, node: ast.expr) -> str:
        """The variable of C that holds an object."""
        variable = self.f.variable(node.id) if isinstance(node, ast.Name) else None
        if variable is None or variable.rep != "o" or variable.where in ("cell", "free"):
            raise Other
        if not self.f.is_assigned(variable) and variable.c not in self.tested:
            self.tested.add(variable.c)
            self.leave_if(f"{variable.c} == NULL")
        return variable.c

    # Expressions

    def number(self, node: ast.expr) -> Number:
        """Raises Other."""
        handler = NUMBERS.get(type(node))
        if handler is None:
            raise Other
        return handler(self, node)

    def double(self, number: Number) -> str:
        rep, c = number
        if rep == "f":
            return c
        return f"(double)VALUE({c})"

    def operation(self, op: ast.operator, left: Number, right: Number) -> Number:
        if type(op) not in SIGNS:
            raise Other
        if left[0] == right[0] == "i":
            if type(op) not in OVER:
                raise Other
            name = self.f.fresh("x")
            self.emit(f"sint {name};")
            self.leave_if(OVER[type(op)].format(left[1], right[1], name))
            return "i", name
        a, b = self.double(left), self.double(right)
        if isinstance(op, ast.Div):
            self.is_float = True
            self.leave_if(f"{b} == 0.0")
        self.score += 1
        return self.held(("f", f"{a} {SIGNS[type(op)]} {b}"))

    def binary(self, node: ast.BinOp) -> Number:
        left = self.number(node.left)
        if isinstance(node.left, ast.Name) and assigns(node.right, node.left.id):
            left = self.held(left)
        return self.operation(node.op, left, self.number(node.right))

    def constant(self, node: ast.Constant) -> Number:
        return self.literal(node.value)

    def literal(self, value: object) -> Number:
        if type(value) is float:
            self.is_float = True
            return "f", self.f.module.float_text(value)
        if type(value) is int and abs(value) < EXACT:
            return "i", f"SHORT({value})"
        raise Other

    def name_(self, node: ast.Name) -> Number:
        variable = self.f.variable(node.id)
        if variable is not None:
            return self.read(variable)
        module = self.f.module
        if node.id not in module.globals:
            raise Other
        self.f.needs.add(node.id)
        return self.literal(module.literals.get(node.id))

    def named(self, node: ast.NamedExpr) -> Number:
        self.put(node.target.id, self.number(node.value))
        return self.name_(ast.Name(node.target.id, ast.Load()))

    def unary(self, node: ast.UnaryOp) -> Number:
        if not isinstance(node.op, ast.USub):
            raise Other
        rep, c = self.number(node.operand)
        if rep == "f":
            return self.held(("f", f"-{c}"))
        return self.operation(ast.Sub(), ("i", "SHORT(0)"), (rep, c))

    def attribute(self, node: ast.Attribute) -> Number:
        """A field of a record."""
        places = self.f.module.slots_of(self.f, node.attr)
        if len(places) != 1 or node.attr in SLOTS or not isinstance(node.value, ast.Name):
            raise Other
        key = node.value.id, f".{node.attr}"
        if key in self.parts:
            return self.parts[key]
        ((type_, index),) = places
        c = self.object_of(node.value)
        if f"{c} {type_}" not in self.tested:
            self.tested.add(f"{c} {type_}")
            self.leave_if(f"!IS_A({c}, {type_})")
        return self.part(key, f"SLOT({c}, {index})")

    def part(self, key: tuple[str, str], c: str) -> Number:
        """A float that an object refers to."""
        name = self.f.fresh("part")
        self.emit(f"PyObject *{name} = {c};")
        self.leave_if(f"{name} == NULL || !PyFloat_CheckExact({name})")
        self.guesses += 1
        number = self.parts[key] = self.held(("f", f"PyFloat_AS_DOUBLE({name})"))
        self.objects[number[1]] = name
        return number

    def subscript(self, node: ast.Subscript) -> Number:
        """An item of a list or tuple, of variables."""
        if not isinstance(node.value, ast.Name) or not isinstance(node.slice, ast.Name | ast.Constant):
            raise Other
        c = self.object_of(node.value)
        rep, index = self.number(node.slice)
        if rep != "i":
            raise Other
        key = node.value.id, node.slice.id if isinstance(node.slice, ast.Name) else index
        if key in self.parts:
            return self.parts[key]
        if c not in self.tested:
            self.tested.add(c)
            self.leave_if(f"!(PyList_CheckExact({c}) || PyTuple_CheckExact({c}))")
        self.leave_if(f"(size_t)VALUE({index}) >= (size_t)PySequence_Fast_GET_SIZE({c})")
        return self.part(key, f"PySequence_Fast_GET_ITEM({c}, VALUE({index}))")

    def choice(self, node: ast.IfExp) -> Number:
        """`a + b if type(a) is type(b) in INT_OR_FLOAT else add(a, b)`, which is the same for all that is read here, or
        one of two numbers."""
        if self.is_guarded(node):
            return self.number(node.body)
        if self.is_field(node):
            return self.number(node.body)
        condition = self.test(node.test)
        name = self.f.fresh("x")
        place = len(self.out)
        reps: set[str] = set()

        def way(part: ast.expr) -> Callable[[], None]:
            def write() -> None:
                rep, c = self.number(part)
                reps.add(rep)
                self.emit(f"{name} = {c};")

            return write

        self.either(condition, way(node.body), way(node.orelse))
        if len(reps) != 1:
            raise Other
        (rep,) = reps
        self.out.insert(place, f"{C_TYPES[rep]}{name};")
        return rep, name

    def is_guarded(self, node: ast.IfExp) -> bool:
        """Whether a choice is an operation behind a test of types, and what the test assigns is done."""
        assigned = self.type_tests(node.test)
        if assigned is None or not self.is_same(node.body, node.orelse):
            return False
        for part in assigned:
            self.named(part)
        return True

    def is_same(self, body: ast.expr, call: ast.expr) -> bool:
        """Whether an operation is what a call of the runtime's arithmetic computes of numbers."""
        if not isinstance(call, ast.Call):
            return False
        path = self.path(call)
        name = path.removeprefix(ARITHMETIC)
        if isinstance(body, ast.Call):
            return path in ROOTS and self.path(body) in ROOTS and all_same(call.args, body.args)
        if not path.startswith(ARITHMETIC):
            return False
        is_not = isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.Not)
        if is_not:
            body = body.operand  # type: ignore[attr-defined]
        if isinstance(body, ast.Compare) and len(body.ops) == 1:
            kind = ("not_" if is_not else "") + COMPARISONS.get(type(body.ops[0]), "")
            return kind in COMPARED.get(name, ()) and all_same(call.args, [body.left, *body.comparators])
        if isinstance(body, ast.UnaryOp) and isinstance(body.op, ast.USub):
            return name == "negate" and all_same(call.args, [body.operand])
        operands: list[ast.expr] = []
        op = type(OPERATIONS.get(name))
        while isinstance(body, ast.BinOp) and type(body.op) is op and len(operands) < len(call.args) - 1:
            operands.insert(0, body.right)
            body = body.left
        return all_same(call.args, [body, *operands])

    def is_field(self, node: ast.IfExp) -> bool:
        """`p.x if type(p) is Particle else particle_x(p)`"""
        test, body = node.test, node.body
        if not (isinstance(body, ast.Attribute) and isinstance(body.value, ast.Name) and isinstance(test, ast.Compare)):
            return False
        if (
            ast.unparse(test.left) != f"type({body.value.id})"
            or len(test.ops) != 1
            or not isinstance(test.ops[0], ast.Is)
        ):
            return False
        of = test.comparators[0]
        return isinstance(of, ast.Name) and body.attr in self.f.module.classes.get(of.id, ())

    def type_tests(self, node: ast.expr) -> list[ast.NamedExpr] | None:
        """What a test assigns that asks whether values are numbers, and perhaps what numbers; None for other tests."""
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.And):
            found = self.type_tests(node.values[0])
            for part in node.values[1:]:
                more = self.type_tests(part)
                if more is None and any(isinstance(each, ast.NamedExpr | ast.Call) for each in ast.walk(part)):
                    return None
                found = None if found is None else [*found, *(more or ())]
            return found
        if not isinstance(node, ast.Compare) or not self.f.module.is_builtin(self.f, "type"):
            return None
        *types, last = [node.left, *node.comparators]
        if not all(isinstance(op, ast.Is) for op in node.ops[:-1]) or not is_number_type(self.f, node.ops[-1], last):
            return None
        assigned: list[ast.NamedExpr] = []
        for part in types:
            if not (isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id == "type"):
                return None
            (argument,) = part.args
            if isinstance(argument, ast.NamedExpr):
                assigned.append(argument)
            elif not isinstance(argument, ast.Name | ast.Constant):
                return None
        return assigned

    def call(self, node: ast.Call) -> Number:
        path = self.path(node)
        if path in ROOTS and len(node.args) == 1:
            c = self.double(self.asked_float(node.args[0]))
            self.leave_if(f"!({c} >= 0.0)")
            self.is_float = True
            return self.held(("f", f"sqrt({c})"))
        op = OPERATIONS.get(path.removeprefix(ARITHMETIC))
        if op is None or not path.startswith(ARITHMETIC) or len(node.args) < 2:
            raise Other
        if isinstance(op, ast.Div) and len(node.args) > 2:
            raise Other
        total = self.number(node.args[0])
        for before, arg in zip(node.args, node.args[1:], strict=False):
            if isinstance(before, ast.Name) and assigns(arg, before.id):
                raise Other
            total = self.operation(op, total, self.number(arg))
        return total

    def asked_float(self, node: ast.expr) -> Number:
        number = self.number(node)
        if number[0] != "f":
            raise Other
        return number

    def path(self, node: ast.Call) -> str:
        if (
            node.keywords
            or not isinstance(node.func, ast.Name)
            or any(isinstance(arg, ast.Starred) for arg in node.args)
        ):
            raise Other
        path = self.f.module.runtime_path(self.f, node.func.id)
        if path is None:
            raise Other
        self.f.needs.add(node.func.id)
        return path

    # Tests

    def test(self, node: ast.expr) -> str:
        """The truth of an expression, in C."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return f"!({self.test(node.operand)})"
        if isinstance(node, ast.BoolOp):
            return self.logic(node)
        if isinstance(node, ast.Compare):
            return self.comparison(node)
        if isinstance(node, ast.IfExp):
            if not self.is_guarded(node):
                raise Other
            return self.test(node.body)
        if isinstance(node, ast.Call):
            return self.compared_call(node)
        if isinstance(node, ast.Name):
            variable = self.f.variable(node.id)
            if variable is not None and variable.rep == "b" and variable.where in ("local", "param"):
                return variable.c
        rep, c = self.number(node)
        return f"({c} != 0.0)" if rep == "f" else f"({c} != 0)"

    def logic(self, node: ast.BoolOp) -> str:
        is_and = isinstance(node.op, ast.And)
        name = self.f.fresh("x")
        first, *rest = node.values
        self.emit(f"int {name} = {self.test(first)};")
        for part in rest:

            def write(part: ast.expr = part) -> None:
                self.emit(f"{name} = {self.test(part)};")

            self.either(name if is_and else f"!{name}", write, lambda: None)
        return name

    def comparison(self, node: ast.Compare) -> str:
        if len(node.ops) != 1 or type(node.ops[0]) not in COMPARISONS:
            raise Other
        sign = SIGN_OF[COMPARISONS[type(node.ops[0])]]
        if isinstance(node.left, ast.Name) and assigns(node.comparators[0], node.left.id):
            raise Other
        return self.compared(f"{{}} {sign} {{}}", node.left, node.comparators[0])

    def compared_call(self, node: ast.Call) -> str:
        path = self.path(node)
        text = TESTS.get(path.removeprefix(ARITHMETIC))
        if text is None or not path.startswith(ARITHMETIC) or len(node.args) != 2:
            raise Other
        if isinstance(node.args[0], ast.Name) and assigns(node.args[1], node.args[0].id):
            raise Other
        return self.compared(text, *node.args)

    def compared(self, text: str, one: ast.expr, other: ast.expr) -> str:
        a, b = self.number(one), self.number(other)
        if a[0] != b[0]:
            for rep, c in (a, b):
                if rep == "i" and not c.startswith("SHORT("):
                    self.leave_if(f"!IS_EXACT({c})")
            a, b = ("f", self.double(a)), ("f", self.double(b))
        self.score += a[0] == "f"
        return self.held(("b", text.format(a[1], b[1])))[1]


def all_same(these: list[ast.expr], those: list[ast.expr]) -> bool:
    """Whether expressions that have no effects are the same."""
    return len(these) == len(those) and all(
        same(this, that)
        or (ast.dump(this) == ast.dump(that) and not any(isinstance(each, EFFECTS) for each in ast.walk(this)))
        for this, that in zip(these, those, strict=True)
    )


NUMBERS: dict[type, Callable[[Numeric, Any], Number]] = {
    ast.BinOp: Numeric.binary,
    ast.Constant: Numeric.constant,
    ast.Name: Numeric.name_,
    ast.NamedExpr: Numeric.named,
    ast.UnaryOp: Numeric.unary,
    ast.Attribute: Numeric.attribute,
    ast.Subscript: Numeric.subscript,
    ast.IfExp: Numeric.choice,
    ast.Call: Numeric.call,
}
