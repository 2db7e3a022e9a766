"""The data of one exchange: messages, prompts, conversations, requests and replies.

Wire formats translate at the edge; everything between the builtins and the wires speaks these types.
"""

from __future__ import annotations

from dataclasses import dataclass, field

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ROLES = ("system", "user", "assistant", "tool")
SHOWN = 40  # characters of a message where it is printed
MOST_TOKENS = 1 << 53  # the most that a reply may report


@dataclass(slots=True, frozen=True)
class Image:
    """A picture in a message. media_type: such as `image/png`; "" when the bytes are no picture that models read."""

    media_type: str
    data: bytes

    def base64(self) -> str:
        from base64 import b64encode

        return b64encode(self.data).decode()


@dataclass(slots=True, frozen=True)
class ToolCall:
    """A call that the model requests. arguments: decoded JSON (normally a dict)."""

    id: str
    name: str
    arguments: Any
    thought_signature: str | None = None


@dataclass(slots=True, frozen=True, eq=False)
class Message:
    """A message of a conversation.

    role: one of ROLES. tool_calls: of an assistant turn; tool_call_id and tool_name: of a tool result.
    """

    role: str
    content: str
    images: tuple[Image, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None
    tool_name: str | None = None

    type_name = "message"

    def sema_text(self) -> str:
        text = self.content
        return f'<message {self.role} "{text if len(text) <= SHOWN else text[:SHOWN] + "..."}">'

    def without_images(self) -> Message:
        return Message(self.role, self.content) if self.images else self


@dataclass(slots=True, frozen=True, eq=False)
class Prompt:
    messages: tuple[Message, ...] = ()

    type_name = "prompt"

    def sema_text(self) -> str:
        return f"<prompt {len(self.messages)} messages>"


@dataclass(slots=True, frozen=True, eq=False)
class Conversation:
    """An immutable history. model: "" for the provider's default. metadata: also holds the usage so far (`usage-…`)."""

    messages: tuple[Message, ...] = ()
    model: str = ""
    metadata: dict[str, str] = field(default_factory=dict)

    type_name = "conversation"

    def sema_text(self) -> str:
        return f"<conversation {len(self.messages)} messages>"


@dataclass(slots=True, frozen=True)
class ToolSchema:
    """A tool as models see it. parameters: a JSON Schema object."""

    name: str
    description: str
    parameters: dict[str, Any]


@dataclass(slots=True)
class Request:
    """One completion to make. model: "" for the provider's default. timeout_ms: None for the general limit of 120 s.
    answer_schema: JSON Schema of the answer, for providers that enforce one (native.py). strict_tools: the same for
    arguments of tools. tags, metadata and the ids are for observers of calls; providers don't see them."""

    messages: list[Message]
    model: str = ""
    max_tokens: int = 4096
    temperature: float | None = None
    system: str | None = None
    tools: list[ToolSchema] = field(default_factory=list)
    json_mode: bool = False
    answer_schema: dict[str, Any] | None = None
    strict_tools: bool = False
    reasoning_effort: str | None = None
    timeout_ms: int | None = None
    tags: tuple[str, ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    conversation_id: str | None = None
    session_id: str | None = None
    user_id: str | None = None

    def system_text(self) -> str | None:
        """Returns the instructions, for wires with one place for them: the request's, else the first system message."""
        if self.system is not None:
            return self.system
        return next((m.content for m in self.messages if m.role == "system"), None)


@dataclass(slots=True)
class Usage:
    """Tokens of one call, as the provider counts them."""

    prompt: int = 0
    completion: int = 0
    cache_read: int = 0
    cache_creation: int = 0

    @property
    def total(self) -> int:
        return self.prompt + self.completion

    def at_least(self, other: Usage) -> Usage:
        """Returns the larger of each count: a stream reports them several times, not always all of them."""
        return Usage(
            max(self.prompt, other.prompt),
            max(self.completion, other.completion),
            max(self.cache_read, other.cache_read),
            max(self.cache_creation, other.cache_creation),
        )


def tokens(value: Any) -> int:
    """Returns a number of tokens as providers write it, also as `12.0` or "12"; 0 for anything else."""
    if isinstance(value, str) and len(value) < 20 and value.isascii() and value.isdecimal():
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not value > 0:
        return 0  # also for NaN
    return -int(-min(value, MOST_TOKENS) // 1)


@dataclass(slots=True)
class Reply:
    """One completion. provider: the registered name that answered ("cassette" and "cache" for replays)."""

    content: str
    model: str
    usage: Usage = field(default_factory=Usage)
    tool_calls: list[ToolCall] = field(default_factory=list)
    stop_reason: str | None = None
    role: str = "assistant"
    provider: str = ""
