"""Nodes of functions that are generators: operations at which they may yield. Their first operand is the stepper."""

from __future__ import annotations

from semac.anf.nodes import Expr, Op


class Receive(Op):
    """`channel/recv`. args: stepper, channel; and where it is known at the start of the function, what stands for the
    channel, its buffer and its senders."""

    exprs = ("args",)
    args: list[Expr]


class Send(Op):
    """`channel/send`. args: stepper, channel, value; and where the channel is known at the start of the function, what
    stands for it, its buffer and its receivers."""

    exprs = ("args",)
    args: list[Expr]


class YieldFrom(Op):
    """The value of a generator that the runtime or the unit makes. path: of the runtime's function, "module:name"."""

    exprs = ("args",)
    path: str
    args: list[Expr]
