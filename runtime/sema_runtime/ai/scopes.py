"""Settings for the calls inside a `with` or `async with` and the tasks started there."""

from __future__ import annotations

import os
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any, Generic, Literal, TypeVar

from sema_runtime.support.money import dollars

T = TypeVar("T")


class Scope(Generic[T]):
    """A context manager, for `with` and `async with`, that sets a context variable. It can be used once at a time."""

    def __init__(self, variable: ContextVar[Any], value: Any, handle: T) -> None:
        self._variable = variable
        self._value = value
        self._handle = handle
        self._token: Token[Any] | None = None

    def __enter__(self) -> T:
        if self._token is not None:
            raise RuntimeError("this scope is open already; make another one")
        self._token = self._variable.set(self._value)
        return self._handle

    def __exit__(self, *_: object) -> None:
        token, self._token = self._token, None
        assert token is not None
        self._variable.reset(token)

    async def __aenter__(self) -> T:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, trace)


class Spending:
    """What was spent inside a budget, and what is left; None without a limit."""

    def __init__(self, frame: Any) -> None:
        self._frame = frame

    @property
    def spent_usd(self) -> float:
        return float(self._frame.spent_usd)

    @property
    def spent_tokens(self) -> int:
        return int(self._frame.spent_tokens)

    @property
    def remaining_usd(self) -> float | None:
        limit = self._frame.max_cost_usd
        return None if limit is None else float(limit - self._frame.spent_usd)

    @property
    def remaining_tokens(self) -> int | None:
        limit = self._frame.max_tokens
        return None if limit is None else max(0, limit - self._frame.spent_tokens)

    def __repr__(self) -> str:
        return f"<spent {dollars(self.spent_usd)}, {self.spent_tokens} tokens>"


class BudgetScope(Scope[Spending]):
    """A budget that also counts for the reserving budgets around the place where it is entered."""

    def __enter__(self) -> Spending:
        if self._token is None:
            outer = self._variable.get()
            self._value.outer = () if outer is None else outer.around()
        return super().__enter__()


def budget(
    max_usd: float | None = None,
    max_tokens: int | None = None,
    *,
    reserve: bool = False,
    on_stream: Literal["charge", "pre-gate"] = "charge",
) -> Scope[Spending]:
    """A limit on what the calls inside spend together; the call that passes it raises BudgetError.

    reserve: set aside what a call may cost before it is sent, so that the limit is never passed.
    on_stream: "pre-gate" opens no stream once the limit is reached.
    """
    from sema_runtime.llm.budgets import budget as frames

    if max_usd is None and max_tokens is None:
        raise ValueError("a budget needs max_usd or max_tokens")
    if max_usd is not None and max_usd != max_usd:
        raise ValueError("max_usd is NaN, which limits nothing")
    frame = frames.inner(max_usd, max_tokens, on_stream == "pre-gate", reserve)
    return BudgetScope(frames.scope, frame, Spending(frame))


def cache(ttl: float = 3600) -> Scope[None]:
    """Answers repeated requests, for ttl seconds, from memory or the user's cache folder."""
    from sema_runtime.llm.recordings import cache as replies

    return Scope(replies.scope, replies.Settings(ttl), None)


def cassette(path: str | os.PathLike[str], mode: Literal["auto", "replay", "record"] = "auto") -> Scope[None]:
    """Replays calls from a file. "auto": new calls are made and recorded; "replay": they are errors; "record": all
    calls are made and recorded."""
    from sema_runtime.llm.recordings import cassette as cassettes

    return Scope(cassettes.scope, cassettes.Cassette(os.fspath(path), mode), None)


def fallback(*providers: str | tuple[str, str]) -> Scope[None]:
    """Tries the providers in order until one answers: names, or (name, model)."""
    from sema_runtime.llm import fallback as chains

    return Scope(chains.chain, tuple(map(chains.entry_of, providers)), None)


def rate_limit(per_second: float) -> Scope[None]:
    """Starts at most that many calls a second, evenly spaced."""
    from sema_runtime.llm import fallback as chains

    if not per_second > 0:
        raise ValueError("rate_limit needs a positive number of calls per second")
    return Scope(chains.rate, chains.RateLimit(1 / per_second), None)
