"""Reservations: what `:reserve #t` budgets set aside for calls under way, so that they are never overspent.

Before a call is sent, the most it may use (estimate.py) is reserved in every reserving frame around it. If that does
not fit, the call waits for other calls to end for less than was reserved; when no call is left to wait for, it is
refused and costs nothing. The rules:

- Waiting calls get room in the order they came. A call never waits behind one that waits for it: the nested calls of a
  provider written in Sema, or of a stream's callback or reader, go first.
- A call that failed without an answer may have been billed (`maybe_billed` of its error): its reservation is charged in
  full. If an answer does not report all of its usage, the rest is charged as reserved (`set_minimum`).
- Frames change under `budget.lock`. Calls of other threads and loops may wait in the same queue, so a call that gives
  up takes back its own reservation: its loop may have stopped.
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
class Reservation:
    """What one call may use at most, reserved in frames. nested_waiting: how many of its nested calls wait for room.
    runs_ahead: it makes progress all the same, as a stream that is read ahead."""

    frames: tuple[Frame, ...]
    tokens: int
    units: int
    nested_waiting: int = 0
    runs_ahead: bool = False
    active: bool = True
    minimum_tokens: int = 0
    minimum_usd: float | None = None

    def set_minimum(self, need: Need, used: Usage) -> None:
        """Sets the least that the call is charged, at the price of the requested model: the one that answered may have
        another name, and no price."""
        self.minimum_tokens = used.total
        self.minimum_usd = pricing.cost(need.model, need.provider, used.prompt, used.completion)

    def with_minimum(self, tokens: int, cost_usd: float | None) -> tuple[int, float | None]:
        """Returns the tokens and cost to charge, raised to the minimum."""
        minimum = self.minimum_usd
        usd = cost_usd if minimum is None else max(cost_usd or 0.0, minimum)
        return max(tokens, self.minimum_tokens), usd

    def release(self) -> None:
        """Gives back what is reserved; calls that wait for it proceed."""
        with budget.lock:
            self._release()

    def _release(self) -> None:
        if self.active:
            self.active = False
            for frame in self.frames:
                frame.reserved_tokens -= self.tokens
                frame.reserved_units -= self.units
                if frame.log is not None:
                    frame.log.free(self)
            queue = _queue_of(self.frames)
            queue.active.discard(self)
            queue.serve()

    def failed(self, error: BaseException) -> None:
        """Settles a call that ended without an answer: gives back the reservation, unless the call may be billed."""
        self.release() if is_free(error) else self.charge_in_full()

    def set_runs_ahead(self, runs_ahead: bool) -> None:
        """Sets whether the call makes progress without its nested calls: a stream that is read ahead."""
        with budget.lock:
            self.runs_ahead = runs_ahead
            if self.active and not runs_ahead:
                _queue_of(self.frames).serve()

    def charge_in_full(self) -> None:
        """Charges all that is reserved: the call was sent, and its cost is unknown."""
        with budget.lock:
            if self.active:
                for frame in self.frames:
                    frame.charge(*self.with_minimum(self.tokens, self.units / UNITS), self)
                self._release()


def is_free(error: BaseException) -> bool:
    """Whether a request that ended with this error certainly costs nothing."""
    return isinstance(error, LlmError) and not (isinstance(error, ProviderError) and error.maybe_billed)


@dataclass(slots=True, eq=False)
class PendingReservation:
    """A call that waits for room. enclosing: reservations of the calls it is nested in. granted: done once there is
    room. reservation: what it got, possibly before the waiting task has resumed."""

    need: Need
    frames: tuple[Frame, ...]
    enclosing: tuple[Reservation, ...]
    granted: asyncio.Future[Reservation]
    reservation: Reservation | None = None

    def abandon(self) -> None:
        """Stops waiting, at once: the loop may have stopped, so nothing is left for it to do."""
        with budget.lock:
            queue = _queue_of(self.frames)
            if self.reservation is not None:
                self.reservation.release()
            elif self in queue.pending:
                queue.remove(self)
                queue.serve()


@dataclass(slots=True, eq=False)
class ReservationQueue:
    """The calls under way and waiting below one outermost frame."""

    active: set[Reservation] = field(default_factory=set)
    pending: list[PendingReservation] = field(default_factory=list)
    is_serving: bool = False
    must_repeat: bool = False

    def serve(self) -> None:
        """Gives room to waiting calls, as far as there is some, and refuses those that would wait for nothing."""
        self.must_repeat = True
        if self.is_serving:  # garbage collection released another reservation meanwhile
            return
        self.is_serving = True
        try:
            while self.must_repeat:
                self.must_repeat = False
                self._serve()
        finally:
            self.is_serving = False

    def _serve(self) -> None:
        full: set[Frame] = set()
        for waiting in list(self.pending):
            innermost = waiting.frames[0]
            if waiting.granted.done() or (innermost in full and not waiting.enclosing):
                continue
            if _fits(waiting.need, waiting.frames):
                try:
                    reservation = _reserve_in(waiting.need, waiting.frames, self)
                except LlmError as unwritten:
                    self._settle(waiting, None, unwritten)
                else:
                    self._settle(waiting, reservation, None)
            elif error := _impossible(waiting.need, waiting.frames):
                self._settle(waiting, None, error)
            else:
                full.add(innermost)
        if self.pending and not self.can_progress():
            nested = (waiting for waiting in self.pending if waiting.enclosing)  # its end lets others proceed
            stuck = next(nested, self.pending[0])
            self._settle(stuck, None, _refusal(stuck.need, stuck.frames))

    def can_progress(self) -> bool:
        """Whether some call will end without another one getting room first."""
        return any(reservation.runs_ahead or not reservation.nested_waiting for reservation in self.active)

    def remove(self, waiting: PendingReservation) -> None:
        self.pending.remove(waiting)
        for reservation in waiting.enclosing:
            reservation.nested_waiting -= 1

    def _settle(self, waiting: PendingReservation, reservation: Reservation | None, error: LlmError | None) -> None:
        self.remove(waiting)
        waiting.reservation = reservation

        def settle() -> None:
            if waiting.granted.done():
                if reservation is not None:
                    reservation.release()
            elif error is not None:
                waiting.granted.set_exception(error)
            else:
                assert reservation is not None
                waiting.granted.set_result(reservation)

        try:
            waiting.granted.get_loop().call_soon_threadsafe(settle)
        except RuntimeError:  # the loop was closed while a call waited in it
            if reservation is not None:
                reservation.release()


_pending: ContextVar[PendingReservation | None] = ContextVar("waits_for_room", default=None)
_enclosing: ContextVar[tuple[Reservation, ...]] = ContextVar("on_behalf_of", default=())


def reserve(need: Need) -> Reservation | None:
    """Reserves what a call needs; the current task waits while there is no room. Returns None without a reserving
    frame. Raises LlmError when it can never fit."""
    reservation, frames = _reserve_now(need)
    if frames is None:
        return reservation
    from sema_runtime import tasks
    from sema_runtime.tasks.scheduler import scheduler

    waiting = _enqueue(frames, need, scheduler().loop())
    token = _pending.set(waiting)
    try:
        return tasks.suspend(waiting.granted)  # type: ignore[no-any-return]
    except BaseException:
        waiting.abandon()
        raise
    finally:
        _pending.reset(token)


async def reserve_async(need: Need) -> Reservation | None:
    """As `reserve`, in a coroutine."""
    reservation, frames = _reserve_now(need)
    if frames is None:
        return reservation
    from asyncio import get_running_loop

    waiting = _enqueue(frames, need, get_running_loop())
    try:
        return await waiting.granted
    except BaseException:
        waiting.abandon()
        raise


def is_required() -> bool:
    """Whether a call made here needs a reservation."""
    frame = budget.scope.get()
    return frame is not None and (frame.reserve or bool(frame.outer))


def _reserve_now(need: Need) -> tuple[Reservation | None, tuple[Frame, ...] | None]:
    """Returns (the reservation, None), or (None, the frames in which the call must wait for room)."""
    frames = budget.current().around()
    if not frames:
        return None, None
    with budget.lock:
        queue = _queue_of(frames)
        error = _impossible(need, frames)
        if error is not None:
            raise error
        must_queue = not _active_enclosing() and any(waiting.frames[0] is frames[0] for waiting in queue.pending)
        if not must_queue and _fits(need, frames):
            return _reserve_in(need, frames, queue), None
    return None, frames


def _enqueue(frames: tuple[Frame, ...], need: Need, loop: asyncio.AbstractEventLoop) -> PendingReservation:
    waiting = PendingReservation(need, frames, _active_enclosing(), loop.create_future())
    with budget.lock:
        queue = _queue_of(frames)
        queue.pending.append(waiting)
        for reservation in waiting.enclosing:
            reservation.nested_waiting += 1
        queue.serve()
    return waiting


def begin_nested(reservation: Reservation) -> Token[tuple[Reservation, ...]]:
    """Marks the calls made until `end_nested` as nested in a reservation's call, which can't end before they do."""
    return _enclosing.set((*_enclosing.get(), reservation))


def end_nested(token: Token[tuple[Reservation, ...]]) -> None:
    _enclosing.reset(token)


def _active_enclosing() -> tuple[Reservation, ...]:
    return tuple(reservation for reservation in _enclosing.get() if reservation.active)


def enclosing_in(context: Context) -> tuple[Reservation, ...]:
    """Returns the reservations of the calls that calls in this context are nested in, the outermost first."""
    return context.get(_enclosing) or ()


def pending_in(context: Context) -> PendingReservation | None:
    """Returns the call of that context that waits for room."""
    return context.get(_pending)


def set_enclosing(reservations: tuple[Reservation, ...]) -> None:
    """Marks the calls made from now on as nested in the calls of those reservations."""
    _enclosing.set(reservations)


def _queue_of(frames: tuple[Frame, ...]) -> ReservationQueue:
    outermost = frames[-1]
    if outermost.queue is None:
        outermost.queue = ReservationQueue()
    return outermost.queue  # type: ignore[no-any-return]


def _reserve_in(need: Need, frames: tuple[Frame, ...], queue: ReservationQueue) -> Reservation:
    """Reserves in all frames. Raises LlmError when a frame's log can't be written."""
    reservation = Reservation(frames, need.tokens, units(need.cost_usd or 0.0))
    logs = [frame.log for frame in frames if frame.log is not None]
    try:
        for log in logs:
            log.hold(reservation, reservation.tokens, reservation.units)
    except OSError as error:
        for log in logs:
            log.free(reservation)
        why = f"{log.folder}: {error.strerror or error}"
        raise LlmError(
            f"the budget of the whole run can't be written down: {why} — not sent", "make room, and resume the run"
        ) from None
    for frame in frames:
        frame.reserved_tokens += reservation.tokens
        frame.reserved_units += reservation.units
    queue.active.add(reservation)
    return reservation


def _fits(need: Need, frames: tuple[Frame, ...]) -> bool:
    cost = units(need.cost_usd or 0.0)
    for frame in frames:
        limit = frame.limit_units()
        if limit is not None and frame.spent_units + frame.reserved_units + cost > limit:
            return False
        if frame.max_tokens is not None and frame.spent_tokens + frame.reserved_tokens + need.tokens > frame.max_tokens:
            return False
    return True


def _impossible(need: Need, frames: tuple[Frame, ...]) -> LlmError | None:
    """Returns why a call can't be made even when nothing else is under way; None when it can."""
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
            return _too_expensive(need, frame, frame.spent_units)
        if frame.max_tokens is not None and frame.spent_tokens + need.tokens > frame.max_tokens:
            return _too_large(need, frame, frame.spent_tokens)
    return None


def _refusal(need: Need, frames: tuple[Frame, ...]) -> LlmError:
    """Returns the error for the first frame without room; what is reserved counts as used."""
    cost = units(need.cost_usd or 0.0)
    for frame in frames:
        limit, used = frame.limit_units(), frame.spent_units + frame.reserved_units
        if limit is not None and used + cost > limit:
            return _too_expensive(need, frame, used)
    frame = next(frame for frame in frames if frame.max_tokens is not None)
    return _too_large(need, frame, frame.spent_tokens + frame.reserved_tokens)


def _too_expensive(need: Need, frame: Frame, used: int) -> BudgetError:
    limit = frame.max_cost_usd or 0.0
    left = max(0.0, limit - used / UNITS)
    cost = need.cost_usd or 0.0
    message = (
        f"budget exceeded: the call may cost {dollars(cost)}, {dollars(left)} of {dollars(limit)} are left — not sent"
    )
    return BudgetError(message, frame, "usd", _hint(need, need.tokens_for(left)))


def _too_large(need: Need, frame: Frame, used: int) -> BudgetError:
    limit = frame.max_tokens or 0
    left = max(0, limit - used)
    message = f"token budget exceeded: the call may use {need.tokens} tokens, {left} of {limit} are left — not sent"
    return BudgetError(message, frame, "tokens", _hint(need, left))


def _hint(need: Need, tokens: int) -> str:
    """Returns what to do. tokens: how many the budget has left or its money buys."""
    room = tokens - need.prompt_tokens
    if room > 0:
        return f"a :max-tokens of up to {room} would fit (this call's is {need.reply_tokens}); or raise the limit"
    return "its input alone doesn't fit: raise the limit, or send less"
