"""Histories as programs hold them: lists of `{:role :content …}` maps, and sessions."""

from __future__ import annotations

from sema_runtime.llm.jsonable import is_map, is_sequence, to_json, to_sema
from sema_runtime.llm.messages import ROLES, Conversation, Message, ToolCall
from sema_runtime.support import options as opt
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def messages_of(history: Any, session: Any) -> list[Message]:
    """Returns the messages before a run's input: a session's, then those of a history list."""
    messages = list(session.messages) if isinstance(session, Conversation) else []
    if history is None:
        return messages
    if not is_sequence(history):
        type_error("list of message maps", history)
    return [*messages, *map(_message, history)]


def _message(value: Any) -> Message:
    if isinstance(value, Message):
        return value
    if not is_map(value):
        type_error("message map", value)
    role, content = value.get("role"), value.get("content")
    role = role.name if isinstance(role, Keyword) else role
    if role not in ROLES:
        raise SemaError(
            "agent/run: each entry of :messages needs a :role", hint="the roles are system, user, assistant, tool"
        )
    calls = value.get("tool-calls")
    return Message(
        role,
        display(content) if "content" in value else "",
        tool_calls=tuple(map(_call, calls)) if is_sequence(calls) else (),
        tool_call_id=_text(value, "tool-call-id"),
        tool_name=_text(value, "tool-name"),
    )


def _call(value: Any) -> ToolCall:
    if not is_map(value):
        type_error("map", value)
    return ToolCall(
        _text(value, "id") or "",
        _text(value, "name") or "",
        to_json(value.get("arguments")) or {},
        _text(value, "thought-signature"),
    )


def _text(value: Any, name: str) -> str | None:
    text = value.get(name)
    return text if isinstance(text, str) else None


def to_maps(messages: list[Message]) -> List:
    """Returns the maps that `messages_of` reads back."""
    return List([_map(message) for message in messages])


def _map(message: Message) -> Map:
    entries: dict[Any, Any] = {keyword("role"): message.role, keyword("content"): message.content}
    if message.tool_calls:
        entries[keyword("tool-calls")] = List([_call_map(call) for call in message.tool_calls])
    if message.tool_call_id is not None:
        entries[keyword("tool-call-id")] = message.tool_call_id
    if message.tool_name is not None:
        entries[keyword("tool-name")] = message.tool_name
    return Map(entries)


def _call_map(call: ToolCall) -> Map:
    entries = {keyword("id"): call.id, keyword("name"): call.name, keyword("arguments"): to_sema(call.arguments)}
    if call.thought_signature is not None:
        entries[keyword("thought-signature")] = call.thought_signature
    return Map(entries)


def conversation_id(options: Map) -> str:
    """Returns the id that a run belongs to: that of the options, the session's, or a new one."""
    from uuid import uuid4

    requested = opt.text(options, "conversation-id")
    session = options.lookup(keyword("session"))
    earlier = session.metadata.get("conversation-id") if isinstance(session, Conversation) else None
    return requested or earlier or str(uuid4())
