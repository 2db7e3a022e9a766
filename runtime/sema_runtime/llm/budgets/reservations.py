"""Holds: what `:reserve #t` budgets set aside for calls under way, so that they can't be overspent.

Before a call is sent, the most it may use (estimate.py) is held in every reserving frame around it. When that doesn't
fit, the call waits for others to end, for less than was held for them; when nothing is left to wait for, it is refused
and costs nothing. The rules:

- Calls that wait get room in the order they came, and behind those of the same frame; but never one that others wait
  for: a provider written in Sema whose function calls models itself, a stream whose callback or reader does.
- A call that failed without an answer may have been billed (`maybe_billed` of its error): its hold is charged. Of an
  answer that doesn't say all that it used, the rest is charged as it was held (`least`).
- Frames are changed under `budget.lock`. Calls of other threads and loops may wait in the same queue, so whoever gives
  up takes back by itself what it had: perhaps nobody runs its loop any more.
"""

from __future__ import annotations

from contextvars import ContextVar, Token
from dataclasses import dataclass, field

from sema_runtime.llm.budgets import budget, pricing
from sema_runtime.llm.budgets.budget import UNITS, BudgetError, Frame, units
from sema_runtime.llm.errors import ProviderError
from sema_runtime.support.money import dollars
from sema_runtime.values.errors import LlmError

TYPE_CHECKING = False
if TYPE_CHECKING:
    import asyncio
    from contextvars import Context

    from sema_runtime.llm.budgets.estimate import Need
    from sema_runtime.llm.messages import Usage


@dataclass(slots=True, eq=False)
class Hold:
    """What one call may use, held in frames. waiting: how many calls made on its behalf wait for room themselves;
    going_on: it gets on meanwhile, for all that."""

    frames: tuple[Frame, ...]
    tokens: int
    units: int
    waiting: int = 0
    going_on: bool = False
    live: bool = True
    least_tokens: int = 0
    least_usd: float | None = None

    def least(self, need: Need, used: Usage) -> None:
        """Tells what the call is charged with at least, at the price of the model that was asked for: the one that
        answered may have another name, and no price."""
        self.least_tokens = used.total
        self.least_usd = pricing.cost(need.model, need.provider, used.prompt, used.completion)

    def at_least(self, tokens: int, cost_usd: float | None) -> tuple[int, float | None]:
        least = self.least_usd
        usd = cost_usd if least is None else max(cost_usd or 0.0, least)
        return max(tokens, self.least_tokens), usd

    def release(self) -> None:
        """Gives back what is held; others that wait for it go on."""
        with budget.lock:
            self._release()

    def _release(self) -> None:
        if self.live:
            self.live = False
            for frame in self.frames:
                frame.held_tokens -= self.tokens
                frame.held_units -= self.units
                if frame.log is not None:
                    frame.log.free(self)
            queue = _queue_of(self.frames)
            queue.holds.discard(self)
            queue.serve()

    def failed(self, error: BaseException) -> None:
        """The call ended without an answer: gives back what is held, unless it may have been billed."""
        self.release() if is_free(error) else self.forfeit()

    def gets_on(self, going_on: bool) -> None:
        """Tells whether the call gets on without those that serve it: a stream that is read ahead."""
        with budget.lock:
            self.going_on = going_on
            if self.live and not going_on:
                _queue_of(self.frames).serve()

    def forfeit(self) -> None:
        """Charges what is held: the call was sent, and nobody said what it cost."""
        with budget.lock:
            if self.live:
                for frame in self.frames:
                    frame.charge(*self.at_least(self.tokens, self.units / UNITS), self)
                self._release()


def is_free(error: BaseException) -> bool:
    """Whether a request that ended with this error costs nothing for sure."""
    return isinstance(error, LlmError) and not (isinstance(error, ProviderError) and error.maybe_billed)


@dataclass(slots=True, eq=False)
class Waiting:
    """room: done when there is some. hold: what it got, perhaps before whoever waits has heard of it."""

    need: Need
    frames: tuple[Frame, ...]
    behalf: tuple[Hold, ...]
    room: asyncio.Future[Hold]
    hold: Hold | None = None

    def give_up(self) -> None:
        """Nobody waits any more. (Not left to the loop, which perhaps nobody runs any more.)"""
        with budget.lock:
            queue = _queue_of(self.frames)
            if self.hold is not None:
                self.hold.release()
            elif self in queue.waiting:
                queue.leave(self)
                queue.serve()


@dataclass(slots=True, eq=False)
class Queue:
    """The calls under way and waiting below one outermost frame."""

    holds: set[Hold] = field(default_factory=set)
    waiting: list[Waiting] = field(default_factory=list)
    serving: bool = False
    again: bool = False

    def serve(self) -> None:
        """Gives room to those that wait, as far as there is some, and refuses those that wait for nothing."""
        self.again = True
        if self.serving:  # and something was collected meanwhile that had held something
            return
        self.serving = True
        try:
            while self.again:
                self.again = False
                self._serve()
        finally:
            self.serving = False

    def _serve(self) -> None:
        full: set[Frame] = set()
        for one in list(self.waiting):
            innermost = one.frames[0]
            if one.room.done() or (innermost in full and not one.behalf):
                continue
            if _fits(one.need, one.frames):
                try:
                    hold = _held(one.need, one.frames, self)
                except LlmError as unwritten:
                    self._answer(one, None, unwritten)
                else:
                    self._answer(one, hold, None)
            elif error := _hopeless(one.need, one.frames):
                self._answer(one, None, error)
            else:
                full.add(innermost)
        if self.waiting and not self.moving():
            stuck = next((one for one in self.waiting if one.behalf), self.waiting[0])  # whose end sets others going
            self._answer(stuck, None, _refusal(stuck.need, stuck.frames))

    def moving(self) -> bool:
        """Whether some call will end by itself, without another one getting room first."""
        return any(hold.going_on or not hold.waiting for hold in self.holds)

    def leave(self, one: Waiting) -> None:
        self.waiting.remove(one)
        for other in one.behalf:
            other.waiting -= 1

    def _answer(self, one: Waiting, hold: Hold | None, error: LlmError | None) -> None:
        self.leave(one)
        one.hold = hold

        def settle() -> None:
            if one.room.done():
                if hold is not None:
                    hold.release()
            elif error is not None:
                one.room.set_exception(error)
            else:
                assert hold is not None
                one.room.set_result(hold)

        try:
            one.room.get_loop().call_soon_threadsafe(settle)
        except RuntimeError:  # it was closed, of all things, while somebody waited in it
            if hold is not None:
                hold.release()


_waits: ContextVar[Waiting | None] = ContextVar("waits_for_room", default=None)
_behalf: ContextVar[tuple[Hold, ...]] = ContextVar("on_behalf_of", default=())


def take(need: Need) -> Hold | None:
    """Holds what a call needs, waiting for room if there is none (the current task only). None without a reserving
    frame. Raises LlmError when it can't ever fit."""
    hold, wanted = _at_once(need)
    if wanted is None:
        return hold
    from sema_runtime import tasks
    from sema_runtime.tasks.scheduler import scheduler

    one = _queued(wanted, need, scheduler().loop())
    token = _waits.set(one)
    try:
        return tasks.suspend(one.room)  # type: ignore[no-any-return]
    except BaseException:
        one.give_up()
        raise
    finally:
        _waits.reset(token)


async def take_async(need: Need) -> Hold | None:
    """As `take`, in a coroutine."""
    hold, wanted = _at_once(need)
    if wanted is None:
        return hold
    from asyncio import get_running_loop

    one = _queued(wanted, need, get_running_loop())
    try:
        return await one.room
    except BaseException:
        one.give_up()
        raise


def needed() -> bool:
    """Whether a call made here must be held."""
    frame = budget.scope.get()
    return frame is not None and (frame.reserve or bool(frame.outer))


def _at_once(need: Need) -> tuple[Hold | None, tuple[Frame, ...] | None]:
    """(the hold, None), or (None, the frames that it has to wait for)."""
    frames = budget.current().around()
    if not frames:
        return None, None
    with budget.lock:
        queue = _queue_of(frames)
        error = _hopeless(need, frames)
        if error is not None:
            raise error
        crowded = not _served() and any(one.frames[0] is frames[0] for one in queue.waiting)
        if not crowded and _fits(need, frames):
            return _held(need, frames, queue), None
    return None, frames


def _queued(frames: tuple[Frame, ...], need: Need, loop: asyncio.AbstractEventLoop) -> Waiting:
    one = Waiting(need, frames, _served(), loop.create_future())
    with budget.lock:
        queue = _queue_of(frames)
        queue.waiting.append(one)
        for hold in one.behalf:
            hold.waiting += 1
        queue.serve()
    return one


def act_on_behalf_of(hold: Hold) -> Token[tuple[Hold, ...]]:
    """What is called now serves the call of that hold, until `stop_acting`: its own calls can't wait for that one."""
    return _behalf.set((*_behalf.get(), hold))


def stop_acting(token: Token[tuple[Hold, ...]]) -> None:
    _behalf.reset(token)


def _served() -> tuple[Hold, ...]:
    return tuple(hold for hold in _behalf.get() if hold.live)


def served_in(context: Context) -> tuple[Hold, ...]:
    """On whose behalf calls are made that have this context, the call around them first."""
    return context.get(_behalf) or ()


def waits_in(context: Context) -> Waiting | None:
    """The call that waits for room with that context."""
    return context.get(_waits)


def serve_too(holds: tuple[Hold, ...]) -> None:
    """The calls made here serve those of the holds, from now on."""
    _behalf.set(holds)


def _queue_of(frames: tuple[Frame, ...]) -> Queue:
    root = frames[-1]
    if root.queue is None:
        root.queue = Queue()
    return root.queue  # type: ignore[no-any-return]


def _held(need: Need, frames: tuple[Frame, ...], queue: Queue) -> Hold:
    """Raises LlmError when a frame can't write it down."""
    hold = Hold(frames, need.tokens, units(need.cost_usd or 0.0))
    logs = [frame.log for frame in frames if frame.log is not None]
    try:
        for log in logs:
            log.hold(hold, hold.tokens, hold.units)
    except OSError as error:
        for log in logs:
            log.free(hold)
        why = f"{log.folder}: {error.strerror or error}"
        raise LlmError(
            f"the budget of the whole run can't be written down: {why} — not sent", "make room, and resume the run"
        ) from None
    for frame in frames:
        frame.held_tokens += hold.tokens
        frame.held_units += hold.units
    queue.holds.add(hold)
    return hold


def _fits(need: Need, frames: tuple[Frame, ...]) -> bool:
    cost = units(need.cost_usd or 0.0)
    for frame in frames:
        limit = frame.limit_units()
        if limit is not None and frame.spent_units + frame.held_units + cost > limit:
            return False
        if frame.max_tokens is not None and frame.spent_tokens + frame.held_tokens + need.tokens > frame.max_tokens:
            return False
    return True


def _hopeless(need: Need, frames: tuple[Frame, ...]) -> LlmError | None:
    """Why a call can't be made even when nothing else is under way; None when it can."""
    cost = units(need.cost_usd or 0.0)
    if need.reply_tokens < 0:
        return BudgetError(
            "the call's :max-tokens is no limit: a :reserve budget can't hold for it — not sent",
            frames[0],
            "usd" if frames[0].max_tokens is None else "tokens",
            "give a :max-tokens of 1 or more",
        )
    for frame in frames:
        limit = frame.limit_units()
        if limit is not None and need.cost_usd is None:
            return BudgetError(
                f"no price known for model '{need.model}': a :reserve limit in USD can't hold for it — not sent",
                frame,
                "usd",
                "set one with (llm/set-pricing model in out), 0 0 for a model of your own, or limit :max-tokens",
            )
        if limit is not None and frame.spent_units + cost > limit:
            return _too_dear(need, frame, frame.spent_units)
        if frame.max_tokens is not None and frame.spent_tokens + need.tokens > frame.max_tokens:
            return _too_large(need, frame, frame.spent_tokens)
    return None


def _refusal(need: Need, frames: tuple[Frame, ...]) -> LlmError:
    """The error for the first frame that has no room, what is held counted as used."""
    cost = units(need.cost_usd or 0.0)
    for frame in frames:
        limit, used = frame.limit_units(), frame.spent_units + frame.held_units
        if limit is not None and used + cost > limit:
            return _too_dear(need, frame, used)
    frame = next(one for one in frames if one.max_tokens is not None)
    return _too_large(need, frame, frame.spent_tokens + frame.held_tokens)


def _too_dear(need: Need, frame: Frame, used: int) -> BudgetError:
    limit = frame.max_cost_usd or 0.0
    left = max(0.0, limit - used / UNITS)
    cost = need.cost_usd or 0.0
    message = (
        f"budget exceeded: the call may cost {dollars(cost)}, {dollars(left)} of {dollars(limit)} are left — not sent"
    )
    return BudgetError(message, frame, "usd", _advice(need, need.tokens_for(left)))


def _too_large(need: Need, frame: Frame, used: int) -> BudgetError:
    limit = frame.max_tokens or 0
    left = max(0, limit - used)
    message = f"token budget exceeded: the call may use {need.tokens} tokens, {left} of {limit} are left — not sent"
    return BudgetError(message, frame, "tokens", _advice(need, left))


def _advice(need: Need, tokens: int) -> str:
    """tokens: those that are left, of either kind."""
    room = tokens - need.prompt_tokens
    if room > 0:
        return f"a :max-tokens of up to {room} would fit (this call's is {need.reply_tokens}); or raise the limit"
    return "its input alone doesn't fit: raise the limit, or send less"
