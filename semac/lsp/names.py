"""Which binding a name in a text means: scopes of the forms that bind names, found without running macros."""

from __future__ import annotations

from semac.lsp.tree import ATOM, LIST, VECTOR, Node, walk

FUNCTIONS = frozenset(("defun", "defn", "defmacro"))
DEFINERS = FUNCTIONS | {"define", "def", "deftool", "defagent", "defmulti", "define-syntax", "defworkflow"}
LAMBDAS = frozenset(("lambda", "fn"))
LETS = frozenset(("let", "let*", "letrec", "letrec*", "when-let", "if-let"))
MARKS = frozenset(("&", ".", "_"))


class Binding:
    """What a name means in a part of the text: the node that binds it, the form around that, its uses."""

    __slots__ = ("form", "is_global", "node", "uses")

    def __init__(self, node: Node, form: Node, is_global: bool) -> None:
        self.node = node
        self.form = form
        self.is_global = is_global
        self.uses: dict[Node, None] = {node: None}


class Scope:
    """The bindings of one form, and the place where they hold."""

    def __init__(self, form: Node, parent: Scope | None) -> None:
        self.form = form
        self.parent = parent
        self.names: dict[str, Binding] = {}

    def bind(self, node: Node, form: Node) -> None:
        """Enters a name; a second definition of it is a use of the first."""
        known = self.names.get(node.name)
        if known is None:
            self.names[node.name] = Binding(node, form, self.parent is None)
        else:
            known.uses[node] = None

    def find(self, name: str) -> Binding | None:
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope.names[name]
            scope = scope.parent
        return None


class Names:
    """All bindings of a text. top: its global scope; bound: by the place of a name, what it means."""

    def __init__(self, root: Node) -> None:
        self.top = Scope(root, None)
        self.scopes = [self.top]
        self.bound: dict[tuple[int, ...], Binding] = {}
        self.free: list[Node] = []  # names that nothing here binds: builtins, imported names
        pending = [(root, self.top)]
        _define(root.children, self.top)
        while pending:  # a stack of our own: the depth of a text is its writer's choice
            node, scope = pending.pop()
            pending.extend(reversed(self._visit(node, scope)))
        for scope in self.scopes:
            for binding in scope.names.values():
                for use in binding.uses:
                    self.bound[use.span] = binding

    def _visit(self, node: Node, scope: Scope) -> list[tuple[Node, Scope]]:
        """Resolves one node; returns what is left to visit, with the scope of each."""
        if node.quoted:
            return []
        if node.kind == ATOM:
            self._use(node, scope)
            return []
        children, head = node.children, node.head
        if head in LETS and len(children) > 1:
            return self._let(node, scope)
        params, body = _parameters(node)
        if params is None:
            return [(child, scope) for child in children]
        inner = self._open(node, scope)
        for name in params:
            inner.bind(name, node)
        _define(body, inner)
        return [(child, inner) for child in body]

    def _use(self, node: Node, scope: Scope) -> None:
        if node.name:
            binding = scope.find(node.name)
            if binding is None:
                self.free.append(node)
            else:
                binding.uses[node] = None

    def _open(self, form: Node, parent: Scope) -> Scope:
        scope = Scope(form, parent)
        self.scopes.append(scope)
        return scope

    def _let(self, node: Node, scope: Scope) -> list[tuple[Node, Scope]]:
        rest = node.children[1:]
        loop = rest.pop(0) if rest[0].name and len(rest) > 1 else None
        pairs = _pairs(rest[0])
        inner = self._open(node, scope)
        left: list[tuple[Node, Scope]] = []
        if loop is not None:
            inner.bind(loop, node)
        if node.head.startswith("letrec"):
            for target, _ in pairs:
                _bind_all(target, inner, node)
        for target, value in pairs:
            outer = scope if node.head == "let" else inner
            left += [(part, outer) for part in value]
            if node.head in ("let*", "when-let", "if-let"):
                inner = self._open(node, inner)
            _bind_all(target, inner, node)
        _define(rest[1:], inner)
        return [*left, *((child, inner) for child in rest[1:])]

    def visible(self, line: int, column: int) -> dict[str, Binding]:
        """The bindings that hold at a place, inner ones first."""
        visible: dict[str, Binding] = {}
        for scope in reversed(self.scopes):
            if scope.form.holds(line, column):
                for name, binding in scope.names.items():
                    visible.setdefault(name, binding)
        return visible


def _parameters(node: Node) -> tuple[list[Node] | None, list[Node]]:
    """(names of the parameters, body) of a form that makes a function; (None, []) of any other."""
    children, head = node.children, node.head
    if head in LAMBDAS and len(children) > 1:
        return symbols(children[1]), children[2:]
    if head in FUNCTIONS and len(children) > 2:
        return symbols(children[2]), children[3:]
    if head == "define" and len(children) > 1 and children[1].kind == LIST:
        return [name for part in children[1].children[1:] for name in symbols(part)], children[2:]
    return None, []


def _pairs(node: Node) -> list[tuple[Node, list[Node]]]:
    """(target, its value) of the bindings of a let, in either way of writing them."""
    parts = node.children
    if node.kind == VECTOR:
        return [(parts[at], parts[at + 1 : at + 2]) for at in range(0, len(parts), 2)]
    return [(part.children[0], part.children[1:]) for part in parts if part.children]


def _define(forms: list[Node], scope: Scope) -> None:
    """Enters the definitions among the forms of a body."""
    for form in forms:
        if form.quoted:
            continue
        if form.head in ("begin", "progn", "module"):
            _define(form.children, scope)
        elif form.head in DEFINERS and len(form.children) > 1:
            target = form.children[1]
            named = target.children[0] if target.kind == LIST and target.children else target
            for name in symbols(named):
                scope.bind(name, form)


def _bind_all(target: Node, scope: Scope, form: Node) -> None:
    for name in symbols(target):
        scope.bind(name, form)


def symbols(node: Node) -> list[Node]:
    """The names in a pattern or a list of parameters."""
    nodes = [node] if node.kind == ATOM else walk(node)
    return [part for part in nodes if part.name and part.name not in MARKS]
