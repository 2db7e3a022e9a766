"""Requests from what a builtin is given: a text, a prompt or a list of messages, and an options map."""

from __future__ import annotations

from sema_runtime.llm import options as opt
from sema_runtime.llm.jsonable import is_sequence
from sema_runtime.llm.messages import Message, Prompt, Request
from sema_runtime.values.errors import type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROMPT_OPTIONS = frozenset(("model", "max-tokens", "temperature", "timeout"))
STREAM_OPTIONS = frozenset(("model", "max-tokens", "temperature", "system"))
BATCH_OPTIONS = STREAM_OPTIONS
ALL_OPTIONS = PROMPT_OPTIONS | {"system", "reasoning-effort"}


def request(messages: list[Message], options: Map, honoured: frozenset[str] = ALL_OPTIONS) -> Request:
    """A request with the options that the caller's builtin honours."""
    made = Request(messages)
    if "model" in honoured:
        made.model = opt.text(options, "model") or ""
    tokens = opt.integer(options, "max-tokens")
    if tokens is not None and "max-tokens" in honoured:
        made.max_tokens = tokens
    if "temperature" in honoured:
        made.temperature = opt.number(options, "temperature")
    if "system" in honoured:
        made.system = opt.text(options, "system")
    if "reasoning-effort" in honoured:
        made.reasoning_effort = opt.name_or_text(options, "reasoning-effort")
    if "timeout" in honoured:
        made.timeout_ms = opt.integer(options, "timeout")
    return made


def text_request(text: str, options: Map, honoured: frozenset[str] = ALL_OPTIONS) -> Request:
    return request([Message("user", text)], options, honoured)


def prompt_request(prompt: Prompt, options: Map) -> Request:
    """Prompts send text only."""
    return request([message.without_images() for message in prompt.messages], options, PROMPT_OPTIONS)


def chat_messages(value: Any) -> list[Message]:
    """The messages of a list, a vector or a prompt. Raises a type error for anything else."""
    if isinstance(value, Prompt):
        return list(value.messages)
    if not is_sequence(value):
        type_error("list of messages or prompt", value)
    for message in value:
        if not isinstance(message, Message):
            type_error("message", message)
    return list(value)
