"""The tree that analysis makes of a program: what it means, with names resolved and syntax gone.

`analyze` builds it and marks tail calls and loops in it; `anf/build.py` makes A-normal form of it.
"""

from __future__ import annotations

from typing import Any

from semac.ir.node import Node as Slotted


class Var:
    """A variable. `assigned` counts changes after its first binding; `function` is set when it names one function."""

    __slots__ = (
        "assigned", "captured", "defined", "early", "escapes", "function", "hint", "home", "inner_define", "is_global",
        "is_private", "is_vouched", "late", "loop", "name", "op", "owner", "py", "readers", "span", "type", "uses",
    )  # fmt: skip

    def __init__(self, name: str, owner: Function | None, is_global: bool = False) -> None:
        self.name = name
        self.owner = owner
        self.is_global = is_global
        self.is_private = False  # a global that stands for another one while a module is imported
        self.is_vouched = False  # more is known of its value behind calls that would have refused others
        self.late = False  # a global that may be read before it is defined
        self.early = False  # a local that may be read before it is defined
        self.readers: Any = None  # while types are inferred: the units that have read the type
        self.home: Any = None  # the block whose instruction binds it; set by generate/nest.py
        self.uses = 0  # how often a variable of the compiler's own is read; counted by generate/nest.py
        self.hint = ""  # of a variable of the compiler's own: the name it would like to have
        self.op: Any = None  # the operation whose value it is, where there is but one
        self.assigned = 0
        self.defined = 0
        self.captured = False  # used by a function nested in the owner
        self.escapes = False  # used otherwise than as the head of a call
        self.inner_define = False  # made by a define inside a body
        self.function: Function | None = None
        self.loop: Any = None  # the NamedLet that binds it
        self.py = ""
        self.span: Any = None
        self.type: Any = None

    def __repr__(self) -> str:
        return f"<{self.name}>"

    @property
    def known_function(self) -> Function | None:
        """The one function this variable always holds, if that is certain."""
        if self.function is not None and not self.assigned and self.defined <= 1:
            return self.function
        return None


class Function:
    """A lambda: shared by `Lambda` nodes, definitions and named lets. rest: the variable of `. rest`."""

    __slots__ = (
        "anonymous",
        "body",
        "code",
        "copy_is_often_called",
        "doc",
        "has_closures",
        "has_copy",
        "is_callback",
        "is_generator",
        "is_open",
        "is_silent",
        "is_thunk",
        "kinds",
        "locals",
        "name",
        "original",
        "params",
        "parent",
        "place",
        "py",
        "readers",
        "rest",
        "returning",
        "self_tail",
        "span",
        "type",
        "var",
    )  # fmt: skip

    def __init__(self, name: str, parent: Function | None) -> None:
        self.name = name
        self.parent = parent
        self.params: list[Var] = []
        self.rest: Var | None = None
        self.body: Node = Const(None)
        self.code: Any = None  # the block of its instructions (semac/anf)
        self.anonymous = False
        self.is_callback = False  # stands as the argument of a higher-order builtin
        self.is_thunk = False  # what a special form makes of its body: nothing in it is a tail call in the reference
        self.is_generator = False  # yields where it waits (semac/optimize/steps)
        self.is_silent = False  # has no effects and reads nothing that changes, as far as its own code says
        self.place: Any = None  # the span of the last list form in the body that was analyzed (ir/places.py)
        self.returning: Any = None  # the position of the call that was analyzed just before (ir/places.py)
        self.locals: list[Var] = []
        self.var: Var | None = None
        self.self_tail = False
        self.has_closures = False
        self.has_copy = False  # what the module does with it is done by copies (semac/optimize/versions, calls.py)
        self.copy_is_often_called = True  # by other functions, or by itself
        self.type: Any = None  # of what it returns, while types are inferred and afterwards
        self.readers: Any = None
        self.is_open = False  # code that the compiler doesn't see may call it, with anything
        self.original: Function | None = None  # the public function of which it is a private copy
        self.kinds: list[Any] = []  # of a private copy: what surely is true of its arguments (semac/optimize/versions)
        self.doc: str | None = None
        self.span: Any = None
        self.py = ""

    @property
    def own_name(self) -> str:
        """The name that the program gave it; "" where it gave none."""
        return "" if self.name == "<lambda>" else self.name


class Node(Slotted, kw_only=True):
    """What an analyzed form is. span: where it stands in the source, or None."""

    span: Any = None


class Const(Node):
    """An atom that Python can write, or a module constant."""

    value: Any


class Quote(Node):
    """A quoted list, vector or map."""

    value: Any


class Ref(Node):
    """A local or global variable of the program."""

    var: Var


class Builtin(Node):
    """A builtin as a value."""

    name: str


class Set(Node):
    """`set!` or a definition. define: None, "global" or "local"."""

    var: Var
    value: Node
    define: str | None


class If(Node):
    test: Node
    then: Node
    otherwise: Node


class And(Node):
    items: list[Node]


class Or(Node):
    items: list[Node]


class Seq(Node):
    items: list[Node]


class Let(Node):
    """The bindings happen in order."""

    bindings: list[tuple[Var, Node]]
    body: Node


class Define(Node):
    """Locals that are nil before they are defined, then the body."""

    vars: list[Var]
    body: Node


class Lambda(Node):
    function: Function


class NamedLet(Node):
    """is_loop: its calls are jumps. in_tail: it stands in tail position of the function `enclosing`."""

    var: Var
    function: Function
    inits: list[Node]
    is_loop: bool
    in_tail: bool
    enclosing: Any


class While(Node):
    test: Node
    body: Node


class Call(Node):
    """recur: the Function or NamedLet to whose start the call jumps back."""

    head: Node
    args: list[Node]
    tail: bool
    recur: Any


class CallBuiltin(Node):
    name: str
    args: list[Node]
    tail: bool


class Runtime(Node):
    """A call of a function of the runtime that has no Sema name. path: "module:name"."""

    path: str
    args: list[Node]


class Vector(Node):
    items: list[Node]


class MapLit(Node):
    keys: list[Node]
    values: list[Node]


class Try(Node):
    body: Node
    var: Var
    handler: Node


class Throw(Node):
    value: Node


class Match(Node):
    """clauses: pattern, guard or None, body. lenient: `match*`, nil where nothing matches."""

    subject: Node
    clauses: list[Any]
    lenient: bool


class Bind(Node):
    """Destructuring: a pattern, the value, the body in its scope."""

    pattern: Any
    value: Node
    body: Node


class With(Node):
    """A Python context manager around the body."""

    context: Node
    target: Var | None
    body: Node


class PyImport(Node):
    """names: pairs of attribute and variable; None for the module itself, bound to var."""

    module: str
    names: Any
    var: Any


class PyAttr(Node):
    object: Node
    name: str


class PyItem(Node):
    object: Node
    key: Node


class PySetAttr(Node):
    object: Node
    name: str
    value: Node


class PyCall(Node):
    head: Node
    args: list[Node]
    keywords: dict[str, Node]


class Import(Node):
    """names: those that the form lists. vars: the globals that it defines, as far as they are known."""

    path: Node
    names: list[str]
    vars: list[Var]


class TopLevel(Node):
    items: list[Node]


def walk(node: Any) -> Any:
    """Yields node and every node below it, including bodies of functions, in no particular order."""
    stack = [node]
    while stack:
        part = stack.pop()
        yield part
        stack.extend(children(part))


def children(node: Any) -> list[Any]:
    """Direct sub-nodes in evaluation order; bodies of functions too."""
    kind = type(node)
    if kind is Const or kind is Ref or kind is Quote or kind is Builtin:
        return []
    if kind is Call:
        return [node.head, *node.args]
    if kind is CallBuiltin or kind is Runtime:
        return list(node.args)
    if kind is If:
        return [node.test, node.then, node.otherwise]
    if kind is And or kind is Or or kind is Seq or kind is Vector or kind is TopLevel:
        return list(node.items)
    if kind is Let:
        return [value for _, value in node.bindings] + [node.body]
    if kind is Set or kind is Throw:
        return [node.value]
    if kind is Lambda:
        return [node.function.body]
    if kind is NamedLet:
        return [*node.inits, node.function.body]
    if kind is While:
        return [node.test, node.body]
    if kind is Define:
        return [node.body]
    if kind is MapLit:
        return [part for pair in zip(node.keys, node.values, strict=True) for part in pair]
    if kind is Try:
        return [node.body, node.handler]
    if kind is Bind:
        return [node.value, node.body]
    if kind is Match:
        parts = [node.subject]
        for _, guard, body in node.clauses:
            parts += [body] if guard is None else [guard, body]
        return parts
    if kind is With:
        return [node.context, node.body]
    if kind is PyAttr:
        return [node.object]
    if kind is PyItem:
        return [node.object, node.key]
    if kind is PySetAttr:
        return [node.object, node.value]
    if kind is PyCall:
        return [node.head, *node.args, *node.keywords.values()]
    return []
