"""Checks of replies: what a provider sends may have any shape, what leaves here has the declared types."""

from __future__ import annotations

from sema_runtime.llm.errors import ProviderError, parse_error
from sema_runtime.llm.messages import Reply, ToolCall
from sema_runtime.support.json_input import mended

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

MALFORMED = (AttributeError, IndexError, KeyError, TypeError, ValueError, RecursionError)


def read(parse: Callable[..., Any], *arguments: Any) -> Any:
    """Returns the result of parse. Raises a parse error for a reply of unexpected shape."""
    try:
        return parse(*arguments)
    except ProviderError:
        raise
    except MALFORMED as error:
        raise parse_error(f"unexpected reply ({type(error).__name__}: {error})") from None


def checked(reply: Reply, model: str) -> Reply:
    """Returns the reply without malformed values that don't matter. Raises ProviderError for those that do.

    model: of the request, for replies that name none.
    """
    if not isinstance(reply.content, str):
        raise parse_error(f"unexpected reply (its text is of type {type(reply.content).__name__})")
    reply.content = mended(reply.content)
    if not isinstance(reply.model, str) or not reply.model:
        reply.model = model
    if not isinstance(reply.stop_reason, str):
        reply.stop_reason = None
    if reply.tool_calls:
        reply.tool_calls = [_checked_call(call) for call in reply.tool_calls]
    return reply


def _checked_call(call: ToolCall) -> ToolCall:
    if not isinstance(call.name, str) or not call.name:
        raise parse_error(f"unexpected reply (a tool call has no name, but {call.name!r})")
    signature = call.thought_signature if isinstance(call.thought_signature, str) else None
    ident = call.id if isinstance(call.id, str) else "" if call.id is None else str(call.id)
    return ToolCall(ident, call.name, call.arguments, signature)


class Mender:
    """Applies `mended` to a text in pieces: half a surrogate pair at the end of a piece waits for the next."""

    __slots__ = ("_half",)

    def __init__(self) -> None:
        self._half = ""

    def feed(self, piece: str) -> str:
        if self._half:
            piece, self._half = self._half + piece, ""
        if "\ud800" <= piece[-1:] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return mended(piece)

    def rest(self) -> str:
        return mended(self._half)
