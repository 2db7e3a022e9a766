"""Requests from the arguments of builtins: a text, a prompt or a list of messages, and an options map."""

from __future__ import annotations

from sema_runtime.llm.jsonable import is_sequence
from sema_runtime.llm.messages import Message, Prompt, Request
from sema_runtime.support import options as opt
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

IDS = frozenset(("conversation-id", "session-id", "user-id"))
BATCH_OPTIONS = frozenset(("model", "max-tokens", "temperature", "system"))
PROMPT_OPTIONS = frozenset(("model", "max-tokens", "temperature", "timeout", "tags", "metadata"))
STREAM_OPTIONS = BATCH_OPTIONS | IDS | {"tags", "metadata"}
TYPED_OPTIONS = PROMPT_OPTIONS | IDS
SAY_OPTIONS = frozenset(("max-tokens", "temperature", "system"))
ALL_OPTIONS = PROMPT_OPTIONS | STREAM_OPTIONS | {"reasoning-effort"}


def request(messages: list[Message], options: Map, honoured: frozenset[str] = ALL_OPTIONS) -> Request:
    """Returns a request with the options that the caller's builtin honours."""
    new_request = Request(messages)
    if "model" in honoured:
        new_request.model = opt.text(options, "model") or ""
    tokens = opt.integer(options, "max-tokens")
    if tokens is not None and "max-tokens" in honoured:
        new_request.max_tokens = tokens
    if "temperature" in honoured:
        new_request.temperature = opt.finite(options, "temperature")
    if "system" in honoured:
        new_request.system = opt.text(options, "system")
    if "reasoning-effort" in honoured:
        new_request.reasoning_effort = opt.name_or_text(options, "reasoning-effort")
    timeout = opt.integer(options, "timeout")
    if timeout is not None and timeout > 0 and "timeout" in honoured:
        new_request.timeout_ms = timeout
    observe(new_request, options, honoured)
    return new_request


def observe(request: Request, options: Map, honoured: frozenset[str] = ALL_OPTIONS) -> None:
    """Adds what observers of the call see: tags, metadata and ids of conversation, session and user."""
    if "tags" in honoured:
        request.tags = opt.names(options, "tags")
    if "metadata" in honoured:
        request.metadata = opt.texts(options, "metadata")
    if "conversation-id" in honoured:
        request.conversation_id = opt.text(options, "conversation-id")
        request.session_id = opt.text(options, "session-id")
        request.user_id = opt.text(options, "user-id")


def text_request(text: str, options: Map, honoured: frozenset[str] = ALL_OPTIONS) -> Request:
    return request([Message("user", text)], options, honoured)


def prompt_request(prompt: Prompt, options: Map) -> Request:
    """Returns a request with the texts of a prompt; images are dropped."""
    return request([message.without_images() for message in prompt.messages], options, PROMPT_OPTIONS)


def chat_messages(value: Any) -> list[Message]:
    """Returns the messages of a list, a vector or a prompt. Raises a type error for anything else."""
    if isinstance(value, Prompt):
        return list(value.messages)
    if not is_sequence(value):
        type_error("list of messages or prompt", value)
    for message in value:
        if not isinstance(message, Message):
            type_error("message", message)
    return list(value)
