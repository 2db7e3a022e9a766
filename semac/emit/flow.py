"""Statements of control: if, loops and jumps back, try, with, and `and`/`or` in statement position."""

from __future__ import annotations

import ast
from typing import Any

from semac.emit.counting import counting, emit_counting
from semac.emit.destination import DROP, RETURN, Dest
from semac.emit.emitter import Emitter
from semac.emit.pyast import assign, const, drop_trailing_continue, name, negate, store_tuple, terminates, tuple_of
from semac.emit.tests import is_expression
from semac.ir import nodes as ir
from semac.ir.facts import is_pure, is_short, is_total
from semac.ir.intrinsics import KEYWORD_GET
from semac.ir.jumps import always_recurs, has_jump_past, has_tail_call, jumps_out, recurs
from semac.ir.types import BOOL, only


class Flow(Emitter):
    """How branches, loops and `try` are emitted."""

    def stmt_if(self, node: Any, dest: Dest) -> None:
        if dest.kind == "assign" and not dest.after and is_small(node.then) and is_small(node.otherwise):
            self.finish(self.expr_if(node), dest, self.loc(node))
            return
        test = self.test(node.test)
        loc = self.loc(node)
        _, then = self.in_block(lambda: self.stmt(node.then, dest))
        _, otherwise = self.in_block(lambda: self.stmt(node.otherwise, dest))
        if not then and not otherwise:
            self.append(ast.Expr(test, **loc))
        elif not then:
            self.append(ast.If(negate(test, loc), otherwise, [], **loc))
        elif terminates(then) and otherwise:
            self.append(ast.If(test, then, [], **loc))
            self.block += otherwise
        else:
            self.append(ast.If(test, then, otherwise, **loc))

    def stmt_and_or(self, node: Any, dest: Dest) -> None:
        items = node.items
        if dest.kind != "drop" and all(map(is_expression, items)) and not has_tail_call(node):
            value = self.expr_and(node) if type(node) is ir.And else self.expr_or(node)
            self.finish(value, dest, self.loc(node))
            return
        self.logic_chain(type(node), items, dest)

    def logic_chain(self, kind: Any, items: list[Any], dest: Dest) -> None:
        if len(items) == 1:
            self.stmt(items[0], dest)
            return
        loc = self.loc(items[0])
        first = items[:-1]
        plain = all(only(item.type, BOOL) or dest.kind == "drop" for item in first) and all(
            map(is_expression, first[1:])
        )
        if plain:
            group = first[0] if len(first) == 1 else kind(first, span=items[0].span)
            test = self.test(group)
            _, more = self.in_block(lambda: self.stmt(items[-1], dest))
            _, stop = self.in_block(lambda: self.finish(const(kind is ir.Or, loc), dest, loc))
        else:
            value = self.expr(items[0])
            kept = value if isinstance(value, ast.Name) else self.save(value, "value", loc)
            test = self.truth_of(kept, items[0].type)
            _, more = self.in_block(lambda: self.logic_chain(kind, items[1:], dest))
            _, stop = self.in_block(lambda: self.finish(name(kept.id, loc), dest, loc))
        if kind is ir.And:
            test = negate(test, loc)
        if not stop:
            self.append(ast.If(negate(test, loc), more or [ast.Pass(**loc)], [], **loc))
        elif terminates(stop):
            self.append(ast.If(test, stop, [], **loc))
            self.block += more
        else:
            self.append(ast.If(test, stop, more, **loc))

    # Loops

    def stmt_while(self, node: Any, dest: Dest) -> None:
        loc = self.loc(node)
        test, before = self.in_block(lambda: self.test(node.test))
        self.loops.append(None)
        _, body = self.in_block(lambda: self.stmt(node.body, DROP))
        self.loops.pop()
        if before:
            stop = ast.If(negate(test, loc), [ast.Break(**loc)], [], **loc)
            self.append(ast.While(const(True, loc), [*before, stop, *body], [], **loc))
        else:
            self.append(ast.While(test, body or [ast.Pass(**loc)], [], **loc))
        self.finish(const(None, loc), dest, loc, False)

    def expr_while(self, node: Any) -> ast.expr:
        self.stmt_while(node, DROP)
        return const(None, self.loc(node))

    def stmt_named_let(self, node: Any, dest: Dest) -> None:
        if not node.is_loop or (dest.kind != "return" and jumps_out(node)):
            self.named_let_function(node, dest)
            return
        count = counting(node) if self.module.unit.optimize else None
        if count is not None:
            emit_counting(self, node, count, dest)
            return
        targets = [self.names.local(var) for var in node.function.params]
        for target, init in zip(targets, node.inits, strict=True):
            self.stmt(init, Dest("assign", target))
        self.owned.update(node.function.params)
        self.loop_body(node, node.function.body, dest)

    def named_let_function(self, node: Any, dest: Dest) -> None:
        """A named let that has to be a function: defined, then called."""
        target = self.bind(node.var)
        loc = self.loc(node)
        if node.is_loop:
            node.function.self_tail = True
        function = ir.Lambda(node.function, span=node.span)
        self.def_lambda(function, target)
        args = self.exprs(node.inits)
        self.finish(ast.Call(name(target, loc), args, [], **loc), dest, loc)

    def self_tail_loop(self, function: ir.Function, body: Any) -> None:
        named = function.var.loop if function.var is not None else None
        loop = named if named is not None and named.is_loop else function
        self.loop_body(loop, body, RETURN)

    def loop_body(self, loop: Any, body: Any, dest: Dest) -> None:
        """`while True:` over a body in which tail calls of the loop jump back; `while test:` if the body allows it."""
        loc = self.loc(body) if body.span is not None else self.current
        if type(body) is ir.If and is_expression(body.test) and not has_jump_past(body, loop):
            stay, leave = body.then, body.otherwise
            flip = not always_recurs(stay, loop)
            if flip:
                stay, leave = leave, stay
            if always_recurs(stay, loop) and not recurs(leave, loop):
                test = self.test(body.test)
                self.loops.append(loop)
                _, block = self.in_block(lambda: self.stmt(stay, dest))
                self.loops.pop()
                drop_trailing_continue(block)
                head = negate(test, loc) if flip else test
                self.append(ast.While(head, block or [ast.Pass(**loc)], [], **loc))
                self.stmt(leave, dest)
                return
        inner = dest if dest.kind == "return" else Dest(dest.kind, dest.target, after=True)
        self.loops.append(loop)
        _, block = self.in_block(lambda: self.stmt(body, inner))
        self.loops.pop()
        drop_trailing_continue(block)
        self.append(ast.While(const(True, loc), block or [ast.Pass(**loc)], [], **loc))
        if dest.after:
            self.append(ast.Break(**loc))

    def recur(self, node: Any) -> None:
        """A jump back: new values for the loop's variables, then `continue` (or `break` out of an inner loop)."""
        loop = node.recur
        function = loop.function if type(loop) is ir.NamedLet else loop
        loc = self.loc(node)
        counter = self.counted.get(loop)
        pairs = [
            (var, arg)
            for var, arg in zip(function.params, node.args, strict=True)
            if var is not counter and not (type(arg) is ir.Ref and arg.var is var)
        ]
        self.assign_parallel(pairs, loc)
        inside = next(i for i, outer in enumerate(reversed(self.loops)) if outer is loop or outer is function)
        self.append(ast.Continue(**loc) if inside == 0 else ast.Break(**loc))

    def assign_parallel(self, pairs: list[tuple[Any, Any]], loc: Any) -> None:
        """Assigns all variables from their old values: one after the other where an order allows it."""
        ordered = safe_order(pairs)
        if ordered is not None:
            for var, arg in ordered:
                self.stmt(arg, Dest("assign", var.py))
            return
        values = self.exprs([arg for _, arg in pairs])
        targets = [var.py for var, _ in pairs]
        kept = [
            (target, value)
            for target, value in zip(targets, values, strict=True)
            if not (isinstance(value, ast.Name) and value.id == target)
        ]
        if len(kept) == 1:
            self.append(assign(kept[0][0], kept[0][1], loc))
        elif kept:
            new_values = tuple_of([value for _, value in kept], loc)
            self.append(ast.Assign([store_tuple([target for target, _ in kept], loc)], new_values, **loc))

    # try, with

    def stmt_try(self, node: Any, dest: Dest) -> None:
        loc = self.loc(node)
        self.loops.append(None)
        _, body = self.in_block(lambda: self.stmt(node.body, dest))
        self.loops.pop()
        if not body:
            return
        if only_fields(node):
            error = self.bind(node.var)
            self.errors.add(node.var)
            _, block = self.in_block(lambda: self.stmt(node.handler, dest))
            clause = ast.ExceptHandler(name("Exception", loc), error, block or [ast.Pass(**loc)], **loc)
            self.append(ast.Try(body, [clause], [], [], **loc))
            return
        error = self.names.temporary("error")
        used = any(type(part) in (ir.Ref, ir.Set) and part.var is node.var for part in ir.walk(node.handler))

        def handler() -> None:
            if used:
                target = self.bind(node.var)
                maker = self.runtime("sema_runtime.conditions.describe:condition_map", loc)
                self.append(assign(target, ast.Call(maker, [name(error, loc)], [], **loc), loc))
            self.stmt(node.handler, dest)

        _, block = self.in_block(handler)
        clause = ast.ExceptHandler(name("Exception", loc), error if used else None, block or [ast.Pass(**loc)], **loc)
        self.append(ast.Try(body, [clause], [], [], **loc))

    def stmt_with(self, node: Any, dest: Dest) -> None:
        context = self.expr(node.context)
        loc = self.loc(node)
        target = ast.Name(self.bind(node.target), ast.Store(), **loc) if node.target is not None else None
        _, body = self.in_block(lambda: self.stmt(node.body, dest))
        self.append(ast.With([ast.withitem(context, target)], body or [ast.Pass(**loc)], **loc))


def only_fields(node: Any) -> bool:
    """Whether the handler of a `try` only asks for entries of what it caught: `(:type e)`, `(:value e)`."""
    wanted = reads = 0
    for part in ir.walk(node.handler):
        kind = type(part)
        if kind is ir.Runtime and part.path == KEYWORD_GET and type(part.args[0]) is ir.Ref:
            wanted += part.args[0].var is node.var
        elif kind is ir.Ref or kind is ir.Set:
            reads += part.var is node.var
        elif kind is ir.Lambda:
            return False
    return wanted > 0 and wanted == reads


def is_small(node: Any) -> bool:
    """Worth writing as `a if test else b`."""
    return is_short(node, 5) and is_expression(node, 5) and not has_tail_call(node)


def safe_order(pairs: list[tuple[Any, Any]]) -> list[tuple[Any, Any]] | None:
    """An order in which assigning one by one has the effect of assigning at once; None when there is none."""
    if len(pairs) < 2:
        return pairs
    if not all(is_pure(arg) for _, arg in pairs):
        return None
    reads = [{part.var for part in ir.walk(arg) if type(part) is ir.Ref} for _, arg in pairs]
    left = list(range(len(pairs)))
    ordered = []
    while left:
        for index in left:
            if not any(pairs[index][0] in reads[other] for other in left if other != index):
                ordered.append(pairs[index])
                left.remove(index)
                break
        else:
            return None
    can_fail = sum(not is_total(arg) for _, arg in pairs)
    return ordered if can_fail < 2 or ordered == pairs else None  # which of two errors comes first can be seen
