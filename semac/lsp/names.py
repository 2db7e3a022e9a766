"""Which binding a name in a unit means: scopes of the forms that bind names, found without running macros."""

from __future__ import annotations

from collections.abc import Callable

from semac.lsp.tree import ATOM, LIST, VECTOR, Node, Place, walk

FUNCTIONS = frozenset(("defun", "defn", "defmacro"))
CALLED = frozenset(("deftool", "defmulti", "defworkflow", "py/def"))
MACROS = frozenset(("defmacro", "define-syntax"))
PYTHON = frozenset(("py/def", "py/class"))
DEFINERS = FUNCTIONS | PYTHON | {
    "define", "def", "deftool", "defagent", "defmulti", "define-syntax", "define-values", "define-record-type",
    "defworkflow", "defpolicy",
}  # fmt: skip
LAMBDAS = frozenset(("lambda", "fn", "py/fn"))
LETS = frozenset(("let", "let*", "letrec", "letrec*", "parameterize"))
SEQUENTIAL = frozenset(("let*", "let*-values", "when-let", "if-let"))
IMPORTS = frozenset(("import", "load"))
PYTHON_IMPORTS = frozenset(("py/import", "py/from"))
MARKS = frozenset(("&", ".", "_", "*"))
FUNCTION, MACRO, PARAMETER, VARIABLE, MODULE, CLASS = "function", "macro", "parameter", "variable", "namespace", "class"


class Binding:
    """What a name means in a part of the text: the node that binds it, the form around that, its uses in the unit."""

    __slots__ = ("form", "is_global", "kind", "node", "uses")

    def __init__(self, node: Node, form: Node, is_global: bool, kind: str) -> None:
        self.node = node
        self.form = form
        self.is_global = is_global
        self.kind = kind
        self.uses: dict[Node, None] = {node: None}


class Scope:
    """The bindings of one form, and the place where they hold."""

    def __init__(self, form: Node, parent: Scope | None) -> None:
        self.form = form
        self.parent = parent
        self.names: dict[str, Binding] = {}

    def bind(self, node: Node, form: Node, kind: str = VARIABLE) -> None:
        """Enters a name; a second definition of it is a use of the first."""
        known = self.names.get(node.name)
        if known is None:
            self.names[node.name] = Binding(node, form, self.parent is None, kind)
        else:
            known.uses[node] = None

    def bind_all(self, target: Node, form: Node, kind: str = VARIABLE) -> None:
        for name in symbols(target):
            self.bind(name, form, kind)

    def find(self, name: str) -> Binding | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


Work = list[tuple[Node, Scope]]  # what is left to visit, with the scope of each


class Names:
    """All bindings of a unit. top: its global scope; bound: what a name means; free: names that nothing here binds."""

    def __init__(self, root: Node) -> None:
        self.top = Scope(root, None)
        self.scopes = [self.top]
        self.bound: dict[Node, Binding] = {}
        self.free: dict[str, list[Node]] = {}
        pending: Work = [(root, self.top)]
        define(root.children, self.top)
        while pending:  # a stack of our own: the depth of a text is its writer's choice
            node, scope = pending.pop()
            pending.extend(reversed(self._visit(node, scope)))
        for scope in self.scopes:
            for binding in scope.names.values():
                for use in binding.uses:
                    self.bound[use] = binding

    def _visit(self, node: Node, scope: Scope) -> Work:
        if node.quoted:
            return []
        if node.kind == ATOM:
            self._use(node, scope)
            return []
        children = node.children
        handler = SPECIAL.get(node.head) if len(children) > 1 else None
        if handler is not None:
            return handler(self, node, scope)
        return [(child, scope) for child in children]

    def _use(self, node: Node, scope: Scope) -> None:
        if node.name:
            binding = scope.find(node.name)
            if binding is None:
                self.free.setdefault(node.name, []).append(node)
            else:
                binding.uses[node] = None

    def open(self, form: Node, parent: Scope) -> Scope:
        """A new scope inside another."""
        scope = Scope(form, parent)
        self.scopes.append(scope)
        return scope

    def visible(self, place: Place) -> dict[str, Binding]:
        """The bindings of the unit that hold at a place, inner ones first."""
        visible: dict[str, Binding] = {}
        for scope in reversed(self.scopes):
            if scope.form.holds(place):
                for name, binding in scope.names.items():
                    visible.setdefault(name, binding)
        return visible


# Forms that bind names: each enters what it binds and returns what is left to visit


def _function(names: Names, node: Node, scope: Scope) -> Work:
    """Any form that makes a function."""
    params, body = parameters(node)
    inner = names.open(node, scope)
    for name in params:
        inner.bind(name, node, PARAMETER)
    define(body, inner)
    return [*((part, scope) for part in _outside(node)), *((child, inner) for child in body)]


def _define(names: Names, node: Node, scope: Scope) -> Work:
    if node.children[1].kind == LIST:
        return _function(names, node, scope)
    return [(child, scope) for child in node.children[1:]]


def _let(names: Names, node: Node, scope: Scope) -> Work:
    rest = node.children[1:]
    loop = rest.pop(0) if rest[0].name and len(rest) > 1 else None
    pairs = _pairs(rest[0])
    inner = names.open(node, scope)
    left: Work = []
    if loop is not None:
        inner.bind(loop, node, FUNCTION)
    if node.head.startswith("letrec"):
        for target, _ in pairs:
            inner.bind_all(target, node)
    is_binding = node.head != "parameterize"
    for target, value in pairs:
        outer = inner if node.head in SEQUENTIAL or node.head.startswith("letrec") else scope
        left += [(part, outer) for part in value]
        if not is_binding:
            left.append((target, scope))
            continue
        if node.head in SEQUENTIAL:
            inner = names.open(node, inner)
        inner.bind_all(target, node)
    define(rest[1:], inner)
    return [*left, *((child, inner) for child in rest[1:])]


def _pairs(node: Node) -> list[tuple[Node, list[Node]]]:
    """(target, its value) of the bindings of a let, in either way of writing them."""
    parts = node.children
    if node.kind == VECTOR:
        return [(parts[at], parts[at + 1 : at + 2]) for at in range(0, len(parts), 2)]
    return [(part.children[0], part.children[1:]) for part in parts if part.children]


def _one(names: Names, node: Node, scope: Scope) -> Work:
    """`(head (name value ...) body ...)`: one name, or pattern, that holds in the body."""
    head = node.children[1].children
    inner = names.open(node, scope)
    if head:
        inner.bind_all(head[0], node)
    define(node.children[2:], inner)
    return [*((part, scope) for part in head[1:]), *((child, inner) for child in node.children[2:])]


def _do(names: Names, node: Node, scope: Scope) -> Work:
    inner = names.open(node, scope)
    left: Work = []
    for target, values in _pairs(node.children[1]):
        inner.bind_all(target, node)
        left += [(values[0], scope)] if values else []
        left += [(value, inner) for value in values[1:]]
    return [*left, *((child, inner) for child in node.children[2:])]


def _caught(names: Names, node: Node, scope: Scope) -> Work:
    """`(catch name handler ...)`, and `(guard (name clause ...) body ...)` with its clauses."""
    inner = names.open(node, scope)
    target, rest = node.children[1], node.children[2:]
    if node.head == "guard":
        if target.children:
            inner.bind_all(target.children[0], node)
        return [*((clause, inner) for clause in target.children[1:]), *((child, scope) for child in rest)]
    inner.bind_all(target, node)
    return [(child, inner) for child in rest]


def _match(names: Names, node: Node, scope: Scope) -> Work:
    left: Work = [(node.children[1], scope)]
    for clause in node.children[2:]:
        if clause.kind in (LIST, VECTOR) and clause.children:
            inner = names.open(clause, scope)
            inner.bind_all(clause.children[0], clause)
            left += [(child, inner) for child in clause.children[1:] if child.name != "when"]
    return left


def _case(names: Names, node: Node, scope: Scope) -> Work:
    bodies = [(child, scope) for clause in node.children[2:] for child in clause.children[1:]]
    return [(node.children[1], scope), *bodies]


def _nothing(names: Names, node: Node, scope: Scope) -> Work:
    """Forms that `define` has taken all names of."""
    return []


def _rest(names: Names, node: Node, scope: Scope) -> Work:
    return [(child, scope) for child in node.children[2:]]


def _python_class(names: Names, node: Node, scope: Scope) -> Work:
    """Members of a class: methods are functions, fields have types and values; no name of them is a variable."""
    at = 2 if node.children[1].kind == VECTOR else 1
    left: Work = [(part, scope) for part in node.children[1].children] if at == 2 else []
    if at < len(node.children) and node.children[at].kind == LIST:
        left += [(part, scope) for part in node.children[at].children[1:]]
    for member in node.children[at + 1 :]:
        if member.head == "py/def":
            left += _function(names, member, scope)
        elif member.kind == VECTOR:
            left += [(part, scope) for part in member.children[1:]]
        else:
            left += [(part, scope) for part in member.children[2:]]
    return left


Handler = Callable[[Names, Node, Scope], Work]
SPECIAL: dict[str, Handler] = {
    **dict.fromkeys(LAMBDAS | FUNCTIONS | {"py/def", "defworkflow"}, _function),
    **dict.fromkeys(LETS | {"let-values", "let*-values"}, _let),
    **dict.fromkeys(
        ("when-let", "if-let", "dotimes", "for-range", "py/for", "py/with", "py/async-for", "py/async-with"), _one
    ),
    "define": _define, "def": _define, "do": _do, "catch": _caught, "guard": _caught, "match": _match, "match*": _match,
    "case": _case, "define-record-type": _nothing, "define-syntax": _nothing, "define-values": _rest,
    "import": _rest, "py/import": _nothing, "py/from": _nothing, "py/class": _python_class,
}  # fmt: skip


def parameters(node: Node) -> tuple[list[Node], list[Node]]:
    """(names of the parameters, body) of a form that makes a function."""
    children, head = node.children, node.head
    if head == "lambda" or head == "fn":
        return symbols(children[1]), children[2:]
    if head in FUNCTIONS:
        return (symbols(children[2]) if len(children) > 2 else []), children[3:]
    if head in ("py/def", "py/fn"):
        at = 2 if head == "py/def" and children[1].kind == VECTOR else 1
        names = children[at].children if at < len(children) else []
        params = [name for part in names[head == "py/def" :] if (name := _python_parameter(part))]
        return params, [child for child in children[at + 1 :] if child.name != "->"]
    if head == "defworkflow":
        return [], children[2:]
    return [name for part in children[1].children[1:] for name in symbols(part)], children[2:]


def _outside(node: Node) -> list[Node]:
    """The parts of a function's form that are computed where it is made: decorators, types and defaults."""
    if node.head not in ("py/def", "py/fn"):
        return []
    at = 2 if node.head == "py/def" and node.children[1].kind == VECTOR else 1
    outside = [*node.children[1].children] if at == 2 else []
    params = node.children[at].children if at < len(node.children) else []
    return [*outside, *(part for param in params[node.head == "py/def" :] for part in param.children[1:])]


def _python_parameter(part: Node) -> Node | None:
    named = part if part.kind == ATOM else part.children[0] if part.children else None
    return named if named is not None and named.name and named.name not in MARKS else None


def define(forms: list[Node], scope: Scope) -> None:
    """Enters the definitions among the forms of a body."""
    for form in forms:
        head = form.head
        if form.quoted or len(form.children) < 2:
            continue
        if head in ("begin", "progn", "module"):
            define(form.children, scope)
        elif head in DEFINERS:
            _enter(form, head, scope)
        elif head in PYTHON_IMPORTS:
            for name in python_names(form):
                scope.bind(name, form, MODULE if head == "py/import" else VARIABLE)


def _enter(form: Node, head: str, scope: Scope) -> None:
    target = form.children[1]
    if head == "define-record-type":
        for name in record_names(form):
            scope.bind(name, form, FUNCTION)
        return
    if head in PYTHON and target.kind == VECTOR and len(form.children) > 2:  # decorators
        target = form.children[2]
    is_function = target.kind == LIST and head != "define-values"
    named = target.children[0] if is_function and target.children else target
    scope.bind_all(named, form, _kind(form, is_function))


def _kind(form: Node, is_function: bool) -> str:
    head = form.head
    if head in MACROS:
        return MACRO
    if head == "py/class":
        return CLASS
    value = form.children[2].head if head in ("define", "def") and len(form.children) > 2 else ""
    if is_function or value in LAMBDAS or head in FUNCTIONS or head in CALLED:
        return FUNCTION
    return VARIABLE


def record_names(form: Node) -> list[Node]:
    """The names that a `define-record-type` binds: constructor, predicate, getters."""
    parts = form.children[2:]
    found = [part.children[0] if part.children else part for part in parts[:2]]
    found += [part.children[1] for part in parts[2:] if len(part.children) > 1]
    return [node for node in found if node.name]


def python_names(form: Node) -> list[Node]:
    """The nodes of the names that an import of Python binds; that of `(py/import "a.b")` is none."""
    parts = form.children[2:]
    if form.head == "py/import":
        return [part for part in parts[1:2] if part.name]
    names = []
    for part in parts:
        inner = part.children
        if part.name:
            names.append(part)
        elif inner and inner[-1].name:
            names.append(inner[-1])
    return names


def symbols(node: Node) -> list[Node]:
    """The names in a pattern or a list of parameters."""
    nodes = [node] if node.kind == ATOM else walk(node)
    return [part for part in nodes if part.name and part.name not in MARKS and not part.quoted]
