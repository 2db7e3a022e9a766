"""Maps as bare dicts: what looks a key up reads them, `assoc` changes them in place."""

from __future__ import annotations

from functools import cache
from typing import Any

from semac.anf import nodes as anf
from semac.anf.nodes import CallRuntime, Expr, Let, Lit, MakeMap, Op, Python, Ref
from semac.ir.intrinsics import KEYWORD_GET, LOOK, MERGE_INTO, NEW_KEY, STORED
from semac.ir.nodes import Var
from semac.ir.unit import Unit
from semac.optimize.keys import is_stored_key
from semac.optimize.operators import replace
from semac.optimize.own.representation import CHANGE, LEND, READ, Representation, Use
from semac.optimize.own.rewrite import Rewriter, calls_any, rewrite_groups
from semac.types.lattice import ANY, BOOL, DICT, NIL, Type, atom
from semac.types.signatures import Union, Variable, signature_for, variables

READERS = {"get": (2, 3), "contains?": (2, 2), "count": (1, 1), "length": (1, 1)}
KNOWN = {"map?": True, "not": False}
TESTS = frozenset(("nil?", *KNOWN))
LOOKS = frozenset((KEYWORD_GET, LOOK))  # `get`, for a map


class Dicts(Representation):
    tags = DICT

    def fresh(self, op: Op) -> str:
        """ "Map" or "HashMap" of an operation that makes a map nobody else has; "" for others."""
        if type(op) is anf.MakeMap:
            return "Map"
        if type(op) is anf.CallBuiltin and op.name == "hashmap/new" and not op.args:
            return "HashMap"
        return ""

    def builtin_uses(self, op: anf.CallBuiltin, var: Var | None) -> list[Use]:
        count = len(op.args)
        if op.name in READERS and READERS[op.name][0] <= count <= READERS[op.name][1]:
            return self.each(op, {0: READ})
        if op.name in TESTS and count == 1:
            return self.each(op, {0: READ})
        if (op.name == "assoc" and count >= 3 and count % 2) or (op.name == "dissoc" and count >= 2):
            uses = self.each(op, {0: CHANGE})
            return [use._replace(target=var) if use.how == CHANGE else use for use in uses]
        if op.name == "merge" and count == 2 and op.args[1].type.only(DICT):
            uses = self.each(op, {0: CHANGE, 1: LEND})
            return [use._replace(target=var) if use.how == CHANGE else use for use in uses]
        return self.each(op, dict.fromkeys(lent_positions(op.name, count), LEND))

    def runtime_uses(self, op: anf.CallRuntime) -> list[Use]:
        return self.each(op, {0: READ} if op.path in LOOKS else {})


@cache
def lent_positions(name: str, count: int) -> tuple[int, ...]:
    """The arguments of a builtin that it neither keeps nor gives back."""
    signature = signature_for(name, count)
    if signature is None:
        return ()
    shown = variables(signature.result)
    lent = []
    for index in range(count):
        param = signature.param(index)
        is_part = any(len(letter) == 1 and letter in shown for letter in whole_variables(param.type))
        if param.mode == "" and not is_part:
            lent.append(index)
    return tuple(lent)


@cache
def read_positions(name: str, count: int) -> tuple[int, ...]:
    """Those of which it gives back nothing that they hold, and hands nothing to a function."""
    signature = signature_for(name, count)
    if signature is None:
        return ()
    params = [signature.param(index) for index in range(count)]
    shown = variables(signature.result)
    for param in params:
        if param.mode:
            shown |= variables(param.type)
    return tuple(index for index in lent_positions(name, count) if shown.isdisjoint(variables(params[index].type)))


def whole_variables(expr: Any) -> list[str]:
    """The variables that stand for the argument itself, not for something in it."""
    parts = expr.parts if type(expr) is Union else (expr,)
    return [part.letter for part in parts if type(part) is Variable]


WRAP = "sema_runtime.values.maps:"


def own_maps(unit: Unit) -> None:
    """Has maps that nobody else can see change in place.

    Assumes types and escapes as inferred. Sound because a dict is changed only where liveness shows that its map is
    read nowhere else afterwards under the name it had before.
    """
    if calls_any(unit, frozenset(("assoc", "dissoc", "merge"))):
        rewrite_groups(unit, Dicts(), DictRewriter)


class DictRewriter(Rewriter):
    hint = "entries"

    def key(self, key: Expr, span: Any, path: str = STORED, *more: str) -> Expr:
        """The key as a dict has it. path: of the function that says so of a key of unknown type; more: for that."""
        key = self.shared(key, span)
        if is_stored_key(key):
            return key
        var = Var("", None)
        var.hint, var.defined = "key", 1
        op = CallRuntime(path, [key, *map(Lit, more)], span=span)
        var.op, var.type = op, ANY
        self.out.append(Let(var, op))
        return Ref(var)

    def shared(self, value: Expr, span: Any) -> Expr:
        """The general form of what becomes a part of a map."""
        is_raw = self.form.is_held(value) and self.kind(value.var)  # type: ignore[union-attr]
        return self.wrapped(value, span) if is_raw else value  # type: ignore[arg-type]

    def make(self, instr: Let) -> None:
        op = instr.op
        if type(op) is MakeMap:
            op.items[0::2] = [self.key(key, op.span, NEW_KEY, "") for key in op.items[0::2]]
            op.is_raw = True
        else:
            replace(instr, MakeMap([], True, span=op.span, type=op.type))

    def general_form(self, kind: str, value: Ref, span: Any, type_: Type) -> anf.Op:
        """A map object around the dict: that costs the same however large the map is."""
        return CallRuntime(WRAP + kind, [value], span=span, type=type_)

    def read(self, instr: Let) -> None:
        """`get`, `contains?`, `count`, `(:key m)` and steps of `get-in` of a dict."""
        op: Any = instr.op
        name = op.name if type(op) is anf.CallBuiltin else "get" if op.path in LOOKS else ""
        subject = op.args[0]
        if name in ("count", "length"):
            new = Python("size", [subject])
        elif name == "contains?":
            new = Python("in", [self.key(op.args[1], op.span), subject])
        elif name == "get":
            default = [self.shared(value, op.span) for value in op.args[2:]]
            new = Python("get", [subject, self.key(op.args[1], op.span), *default])
        elif name == "nil?":
            new = Python("is_none", [subject])
        elif name in KNOWN:
            new = anf.Move(Lit(KNOWN[name], atom(BOOL)))  # type: ignore[assignment]
        else:
            return
        new.span, new.type = op.span, op.type
        replace(instr, new)

    def changed(self, instr: Let) -> Ref:
        """`(assoc m k v ...)` as `m[k] = v`, `(dissoc m k)` as `m.pop(k, None)`, `(merge m other)` as an update."""
        op: Any = instr.op
        subject: Ref = op.args[0]
        if op.name == "merge":
            merged = CallRuntime(MERGE_INTO, [subject, self.shared(op.args[1], op.span)], span=op.span, type=op.type)
            self.out.append(Let(None, merged))
            return subject
        if op.name == "dissoc":
            for key in op.args[1:]:
                dropped = Python("drop_key", [subject, self.key(key, op.span)], span=op.span, type=atom(NIL))
                self.out.append(Let(None, dropped))
            return subject
        keys = [self.key(key, op.span, NEW_KEY) for key in op.args[1::2]]
        for key, value in zip(keys, op.args[2::2], strict=True):
            item = self.shared(value, op.span)
            self.out.append(Let(None, anf.SetItem(subject, key, item, span=op.span, type=atom(NIL))))
        return subject
