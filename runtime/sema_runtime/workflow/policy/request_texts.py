"""All texts of a request, to be read and replaced: those in its messages and in the arguments of tool calls."""

from __future__ import annotations

from dataclasses import replace

from sema_runtime.llm.messages import Message, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


class Leaves:
    """The strings in decoded JSON, and the JSON with others in their places."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def take(self, value: Any) -> None:
        if isinstance(value, str):
            self.texts.append(value)
        elif isinstance(value, dict):
            for inner in value.values():
                self.take(inner)
        elif isinstance(value, list | tuple):
            for inner in value:
                self.take(inner)

    def rebuilt(self, value: Any, texts: Any) -> Any:
        """texts: an iterator over the new strings."""
        if isinstance(value, str):
            return next(texts)
        if isinstance(value, dict):
            return {key: self.rebuilt(inner, texts) for key, inner in value.items()}
        if isinstance(value, list | tuple):
            return [self.rebuilt(inner, texts) for inner in value]
        return value


class RequestTexts:
    """All texts of a request: the instructions, the messages and the arguments of earlier calls of tools."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self._leaves = Leaves()
        if request.system is not None:
            self._leaves.take(request.system)
        for message in request.messages:
            self._leaves.take(message.content)
            for call in message.tool_calls:
                self._leaves.take(call.arguments)
        self.texts = self._leaves.texts

    def with_texts(self, texts: list[str]) -> Request:
        """The request with other texts, in the same order."""
        rest = iter(texts)
        system = next(rest) if self.request.system is not None else None
        messages = [self._message(message, rest) for message in self.request.messages]
        return replace(self.request, system=system, messages=messages)

    def _message(self, message: Message, rest: Any) -> Message:
        content = next(rest)
        calls = tuple(
            replace(call, arguments=self._leaves.rebuilt(call.arguments, rest)) for call in message.tool_calls
        )
        return replace(message, content=content, tool_calls=calls)
