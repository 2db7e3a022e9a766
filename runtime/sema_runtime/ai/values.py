"""Arguments and results of calls: messages, pictures, usage, rankings, comparisons."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from sema_runtime.llm.messages import ROLES
from sema_runtime.llm.messages import Image as Image
from sema_runtime.llm.messages import Message as Message

Prompt = str | Message | Mapping[str, Any] | Iterable[Message | Mapping[str, Any]]
"""A text, a message, or several; a message is a `Message` or a dict {"role": ..., "content": ...}."""


def messages_of(prompt: Any) -> list[Message]:
    """Returns the messages of a prompt. Raises TypeError or ValueError for an invalid one."""
    from sema_runtime.ai.conversations import BaseConversation

    if isinstance(prompt, str):
        return [Message("user", prompt)]
    if isinstance(prompt, BaseConversation):
        return list(prompt.messages)
    if isinstance(prompt, Message | Mapping):
        return [_message(prompt)]
    return [_message(message) for message in prompt]


def _message(value: Any) -> Message:
    if isinstance(value, Message):
        return value
    if not isinstance(value, Mapping):
        raise TypeError(f"a message must be a Message or a dict, not {type(value).__name__}")
    role, content = value.get("role"), value.get("content")
    if role not in ROLES or not isinstance(content, str):
        raise ValueError('a message needs "role" (system, user, assistant or tool) and "content" (a str)')
    return Message(role, content)


def image(source: str | os.PathLike[str] | bytes, media_type: str = "") -> Image:
    """Returns a picture for `Message("user", "...", images=(picture,))`, from a file or from bytes."""
    from sema_runtime.llm.pictures import UNKNOWN, media_type_of

    data = source if isinstance(source, bytes) else _contents(source)
    return Image(media_type or media_type_of(data) or UNKNOWN, data)


def _contents(path: str | os.PathLike[str]) -> bytes:
    with open(path, "rb") as file:
        return file.read()


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens, and USD where the price is known. model: of a single call."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cache_read_tokens: int = 0
    cache_creation_tokens: int = 0
    cost_usd: float | None = None
    model: str = ""

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


def usage_of(counted: Any, cost_usd: float | None, model: str = "") -> Usage:
    return Usage(counted.prompt, counted.completion, counted.cache_read, counted.cache_creation, cost_usd, model)


@dataclass(frozen=True, slots=True)
class Ranked:
    """A document of `rerank`. index: its position in the argument."""

    index: int
    score: float
    document: str


class Comparison(NamedTuple):
    """How similar two texts are, and how they differ. similarity: from 0 to 1."""

    similarity: float
    differences: list[str]
    summary: str
