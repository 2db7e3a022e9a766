"""Questions about tail calls and jumps back to the start of a loop, which `passes/tail_calls.py` has marked."""

from __future__ import annotations

from typing import Any

from semac.ir import nodes as ir


def has_tail_call(node: Any) -> bool:
    """Whether a value of the node may come out of a tail call."""
    kind = type(node)
    if kind is ir.Call:
        return bool(node.tail)
    if kind is ir.If:
        return has_tail_call(node.then) or has_tail_call(node.otherwise)
    if kind in (ir.And, ir.Or, ir.Seq):
        return has_tail_call(node.items[-1])
    return False


def recurs(node: Any, loop: Any) -> bool:
    """Whether a jump back to the loop happens somewhere below node."""
    return any(type(part) is ir.Call and part.recur is loop for part in ir.walk(node))


def always_recurs(node: Any, loop: Any) -> bool:
    """Whether every way through node ends in a jump back to the loop."""
    kind = type(node)
    if kind is ir.Call:
        return node.recur is loop
    if kind is ir.If:
        return always_recurs(node.then, loop) and always_recurs(node.otherwise, loop)
    if kind is ir.Seq:
        return bool(node.items) and always_recurs(node.items[-1], loop)
    if kind in (ir.Let, ir.Bind, ir.Define):
        return always_recurs(node.body, loop)
    return False


def has_jump_past(node: Any, loop: Any) -> bool:
    """Whether something below node jumps back to another loop than this one from inside it."""
    inner = {part for part in ir.walk(node) if type(part) is ir.NamedLet and part.is_loop}
    return any(
        type(part) is ir.Call and part.recur is not None and part.recur is not loop and part.recur not in inner
        for part in ir.walk(node)
    )


def jumps_out(loop: Any) -> bool:
    """Whether an inner loop jumps back to this one."""
    return any(
        type(part) is ir.NamedLet and part is not loop and part.is_loop and recurs(part.function.body, loop)
        for part in ir.walk(loop.function.body)
    )


def needs_tail_call(node: Any, current: Any) -> bool:
    """Whether a tail call could be part of an endless chain: not when the callee is known to make none itself."""
    head = node.head
    if type(head) is ir.Ref:
        target = head.var.known_function
        if target is not None:
            return reaches(target, current)
    return type(head) is not ir.Const


def unbounded(function: Any) -> bool:
    """Whether a function makes a tail call that `tail_call` has to make."""
    return any(needs_tail_call(call, function) for call in tail_calls(function))


def reaches(target: Any, current: Any) -> bool:
    """Whether tail calls from target may lead back to the function that is being emitted, or anywhere unknown."""
    seen = {target}
    stack = [target]
    while stack:
        function = stack.pop()
        if function is current:
            return True
        for node in tail_calls(function):
            head = node.head
            known = head.var.known_function if type(head) is ir.Ref else None
            if known is None:
                if type(head) is ir.Const:
                    continue
                return True
            if known not in seen:
                seen.add(known)
                stack.append(known)
    return False


def tail_calls(function: Any) -> list[Any]:
    """The tail calls in a function's own body (loops inside it included) that are no jumps back."""
    calls = []
    stack = [function.body]
    while stack:
        part = stack.pop()
        kind = type(part)
        if kind is ir.Call and part.tail and part.recur is None:
            calls.append(part)
        if kind is ir.NamedLet and not part.is_loop:
            stack.extend(part.inits)
        elif kind is not ir.Lambda:
            stack.extend(ir.children(part))
    return calls
