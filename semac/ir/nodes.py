"""The intermediate representation: what a program means, with names resolved and syntax gone.

Nodes are small mutable objects: analysis builds them, `passes/` fills in facts, emission reads them.
Every node has `span` (where it stands in the source, or None) and `type` (a mask of `types.py`, ANY until inferred).
"""

from __future__ import annotations

from typing import Any

from semac.ir.types import ANY


class Var:
    """A variable. `assigned` counts changes after its first binding; `function` is set when it names one function."""

    __slots__ = (
        "assigned", "captured", "defined", "early", "escapes", "function", "hint", "home", "inner_define", "is_global",
        "late", "loop", "name", "op", "owned", "owner", "py", "raw_list", "readers", "span", "type", "uses",
    )  # fmt: skip

    def __init__(self, name: str, owner: Function | None, is_global: bool = False) -> None:
        self.name = name
        self.owner = owner
        self.is_global = is_global
        self.late = False  # a global that functions may call before it is defined
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
        self.owned = ""  # "Map" or "HashMap": holds a raw dict that nobody else has (passes/ownership.py)
        self.raw_list = False  # holds a Python list that only `first`, `nth` and `length` look at
        self.py = ""
        self.span: Any = None
        self.type: Any = 0

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
        "doc",
        "has_closures",
        "is_callback",
        "is_open",
        "is_thunk",
        "locals",
        "name",
        "params",
        "parent",
        "place",
        "py",
        "readers",
        "rest",
        "returns",
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
        self.place: Any = None  # the span of the last list form in the body that was analyzed (ir/places.py)
        self.locals: list[Var] = []
        self.var: Var | None = None
        self.self_tail = False
        self.has_closures = False
        self.returns = 0
        self.type: Any = None  # of what it returns, while types are inferred and afterwards
        self.readers: Any = None
        self.is_open = False  # code that the compiler doesn't see may call it, with anything
        self.doc: str | None = None
        self.span: Any = None
        self.py = ""


class Node:
    __slots__ = ("span", "type")
    fields: tuple[str, ...] = ()
    span: Any
    type: int

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(repr(getattr(self, f)) for f in self.fields)})"


def _node(name: str, *fields: str, **facts: Any) -> Any:
    """A node class with positional fields and a `span` keyword. facts: what passes fill in, and how it starts."""
    body = "".join(f"    self.{f} = {f}\n" for f in fields)
    body += "".join(f"    self.{fact} = {start!r}\n" for fact, start in facts.items())
    params = "".join(f + ", " for f in fields)
    source = f"def __init__(self, {params}span=None):\n{body}    self.span = span\n    self.type = ANY\n"
    scope: dict[str, Any] = {"ANY": ANY}
    exec(source, scope)
    return type(name, (Node,), {"__slots__": (*fields, *facts), "fields": fields, "__init__": scope["__init__"]})


Const = _node("Const", "value")  # an atom that Python can write or a module constant
Quote = _node("Quote", "value")  # quoted list, vector or map
Ref = _node("Ref", "var")  # a local or global variable of the program
Builtin = _node("Builtin", "name")  # a builtin as a value
Set = _node("Set", "var", "value", "define")  # set! or define; define: None, "global" or "local"
If = _node("If", "test", "then", "otherwise")
And = _node("And", "items")
Or = _node("Or", "items")
Seq = _node("Seq", "items")
Let = _node("Let", "bindings", "body")  # bindings: (Var, Node) in order
Define = _node("Define", "vars", "body")  # locals that are nil before they are defined, then body
Lambda = _node("Lambda", "function")
NamedLet = _node("NamedLet", "var", "function", "inits", "is_loop", "in_tail", "enclosing")
While = _node("While", "test", "body")
Call = _node("Call", "head", "args", "tail", "recur")  # recur: the Function or NamedLet this call loops to
CallBuiltin = _node("CallBuiltin", "name", "args", "tail", inlined=None)  # inlined: the Function it calls on the spot
Runtime = _node("Runtime", "path", "args")  # a call of a runtime function "module:name" that has no Sema name
Vector = _node("Vector", "items")
MapLit = _node("MapLit", "keys", "values")
Try = _node("Try", "body", "var", "handler")
Throw = _node("Throw", "value")
Match = _node("Match", "subject", "clauses", "lenient")  # clauses: (pattern, guard or None, body); lenient: match*
Bind = _node("Bind", "pattern", "value", "body")  # destructuring: a pattern, the value, the body in its scope
Box = _node("Box", "value", "kind")  # a Map or HashMap around the raw dict that an owner gives away
With = _node("With", "context", "target", "body")  # a Python context manager around body
PyImport = _node("PyImport", "module", "names", "var")
PyAttr = _node("PyAttr", "object", "name")
PyItem = _node("PyItem", "object", "key")
PySetAttr = _node("PySetAttr", "object", "name", "value")
PyCall = _node("PyCall", "head", "args", "keywords")
Import = _node("Import", "path", "names", "vars")
TopLevel = _node("TopLevel", "items")


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
    if kind is Set or kind is Throw or kind is Box:
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
