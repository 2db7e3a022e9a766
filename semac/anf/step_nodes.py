"""Nodes of functions that are generators: operations at which they may yield. Their first operand is the stepper."""

from __future__ import annotations

from semac.anf.nodes import Expr, Op


class Receive(Op):
    """`channel/recv`. args: stepper, channel; and where that is known at the start of the function, what stands for it,
    for its buffer, its senders and its receivers. is_short: whether code that is short matters more."""

    exprs = ("args",)
    args: list[Expr]
    is_short: bool = False


class Send(Op):
    """`channel/send`. args: stepper, channel, value; and the same variables."""

    exprs = ("args",)
    args: list[Expr]
    is_short: bool = False


class YieldFrom(Op):
    """The value of a generator. path: of the function of the runtime that makes it, "module:name"; where it is "", the
    first operand is the function."""

    exprs = ("args",)
    path: str
    args: list[Expr]


class Give(Op):
    """What a pulled task sends: the generator yields it. args: the value."""

    exprs = ("args",)
    args: list[Expr]


class Pull(Op):
    """`channel/recv` of who takes the values of pulled tasks itself. args: the channel."""

    exprs = ("args",)
    args: list[Expr]


class Consume(Op):
    """A call of a function that only receives and computes, or of its copy that takes the values of pulled tasks. head:
    the function. data: what both read besides the arguments, as the runtime is asked about it."""

    exprs = ("head", "copy", "data", "args")
    head: Expr
    copy: Expr
    data: Expr
    args: list[Expr]


class Facts(Op):
    """A tuple of what the runtime asks about a pulled task, in whatever form it is held. items: channels, or data."""

    exprs = ("items",)
    items: list[Expr]
