"""Conversations: immutable values; methods that change one return a new one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, TypedDict

from sema_runtime.ai.options import sema_options
from sema_runtime.llm.messages import Conversation as Value
from sema_runtime.llm.messages import Message
from sema_runtime.values.atoms import keyword


@dataclass(frozen=True, slots=True)
class Found:
    """A message that `search` found."""

    index: int
    role: str
    content: str


class Stats(NamedTuple):
    """cost_usd: None when no price is known."""

    messages: int
    turns: int
    prompt_tokens: int
    completion_tokens: int
    cost_usd: float | None


class SayOptions(TypedDict, total=False):
    """system: instead of the conversation's own. on_text: gets the answer piece by piece."""

    max_tokens: int
    temperature: float
    system: str
    on_text: Callable[[str], Any]


class BaseConversation:
    """The operations that need no model. model: "" for the provider's default."""

    def __init__(self, model: str = "", *, system: str | None = None, messages: Sequence[Message] = ()) -> None:
        self._value = Value(tuple(messages), model)
        if system is not None:
            self._value = self._call("set_system", system)

    @classmethod
    def of(cls, value: Value) -> Self:
        conversation = cls()
        conversation._value = value
        return conversation

    def _call(self, name: str, *args: Any) -> Any:
        """Returns the result of one of Sema's `conversation/` functions."""
        from sema_runtime.lib.llm import conversations

        return getattr(conversations, f"conversation_{name}")(self._value, *args)

    @property
    def messages(self) -> tuple[Message, ...]:
        return self._value.messages

    @property
    def model(self) -> str:
        return self._value.model

    @property
    def metadata(self) -> dict[str, str]:
        return dict(self._value.metadata)

    @property
    def system(self) -> str | None:
        """The content of the first system message."""
        return self._call("system")  # type: ignore[no-any-return]

    @property
    def last_reply(self) -> str:
        """The content of the last assistant message. Raises SemaError when there is none."""
        return self._call("last_reply")  # type: ignore[no-any-return]

    @property
    def stats(self) -> Stats:
        counts = self._call("stats")
        tokens = counts["tokens"]
        return Stats(counts["messages"], counts["turns"], tokens["prompt"], tokens["completion"], counts["cost"])

    def __len__(self) -> int:
        return len(self._value.messages)

    def __repr__(self) -> str:
        return self._value.sema_text()

    def add(self, role: str, content: str) -> Self:
        """Returns a conversation with a message at the end; the model isn't asked."""
        return self.of(self._call("add_message", keyword(role), content))

    def with_system(self, text: str) -> Self:
        """Returns a conversation with that text as the only system message."""
        return self.of(self._call("set_system", text))

    def without(self, index: int) -> Self:
        """Returns a conversation without the message of that index."""
        return self.of(self._call("remove", index))

    def replace(self, index: int, message: Message) -> Self:
        return self.of(self._call("replace", index, message))

    def insert(self, index: int, message: Message) -> Self:
        return self.of(self._call("insert", index, message))

    def filter(self, keep: Callable[[Message], bool]) -> Self:
        return self.of(Value(tuple(filter(keep, self.messages)), self.model, self.metadata))

    def search(self, text: str) -> list[Found]:
        """Returns the messages that contain a text, ignoring case."""
        return [Found(match["index"], match["role"].name, match["content"]) for match in self._call("search", text)]

    def _said(self, text: str, options: dict[str, Any]) -> Self:
        from sema_runtime.lib.llm.conversations import conversation_say

        return self.of(conversation_say(self._value, text, sema_options(options, SayOptions, "say")))
