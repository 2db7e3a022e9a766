"""The functions of `sema_runtime.ai` for code without asyncio: `from sema_runtime.ai import sync as ai`.

They work anywhere: in a script, in any thread, and below a running loop, which they block meanwhile.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum, EnumType
from typing import Any, TypeVar, Unpack, overload

from sema_runtime.ai import agents, conversations
from sema_runtime.ai.memory import Memory as Memory
from sema_runtime.ai.options import (
    BatchOptions,
    CallOptions,
    ChatOptions,
    ExtractOptions,
    ModelOption,
    RunOptions,
    StreamOptions,
    sema_options,
)
from sema_runtime.ai.program_agents import SyncProgramAgent as ProgramAgent
from sema_runtime.ai.scopes import budget as budget
from sema_runtime.ai.scopes import cache as cache
from sema_runtime.ai.scopes import cassette as cassette
from sema_runtime.ai.scopes import fallback as fallback
from sema_runtime.ai.scopes import rate_limit as rate_limit
from sema_runtime.ai.setup import configure as configure
from sema_runtime.ai.setup import configure_embeddings as configure_embeddings
from sema_runtime.ai.setup import last_usage as last_usage
from sema_runtime.ai.setup import providers as providers
from sema_runtime.ai.setup import reset_usage as reset_usage
from sema_runtime.ai.setup import set_default as set_default
from sema_runtime.ai.setup import set_price as set_price
from sema_runtime.ai.setup import usage as usage
from sema_runtime.ai.streams import SyncStream
from sema_runtime.ai.tools import tool as tool
from sema_runtime.ai.values import Comparison, Prompt, Ranked, messages_of
from sema_runtime.ai.values import image as image
from sema_runtime.values.lists import List

__all__ = [
    "Agent", "Conversation", "Memory", "ProgramAgent", "batch", "budget", "cache", "cassette", "chat", "classify",
    "compare", "complete", "complete_all", "configure", "configure_embeddings", "embed", "extract", "fallback",
    "image", "last_usage", "providers", "rate_limit", "rerank", "reset_usage", "set_default", "set_price", "stream",
    "summarize", "tool", "usage",
]  # fmt: skip

T = TypeVar("T")
E = TypeVar("E", bound=Enum)


def complete(prompt: Prompt, **options: Unpack[CallOptions]) -> str:
    """Returns the model's answer. Options: model, max_tokens (4096), temperature, system, reasoning_effort, timeout
    (seconds), tags, metadata, conversation_id, session_id, user_id.

    Raises LlmError: ProviderError when no provider answers, BudgetError when a budget is spent.
    """
    from sema_runtime.lib.llm.llm import llm_chat, llm_complete

    options_map = sema_options(options, CallOptions, "complete")
    return llm_complete(prompt, options_map) if isinstance(prompt, str) else llm_chat(messages_of(prompt), options_map)


def complete_all(prompts: Sequence[Prompt], *, limit: int = 16, **options: Unpack[CallOptions]) -> list[str]:
    """Returns the answers to many prompts, in their order; at most limit calls run concurrently. Unlike `batch`, each
    passes through cache, cassette, retries, fallback and rate limit. The first failure is raised, and ends the
    others."""
    from contextlib import closing

    from sema_runtime.llm.parallel_map import parallel_map

    if limit < 1:
        raise ValueError("complete_all needs a limit of at least 1")
    with closing(parallel_map(lambda prompt: complete(prompt, **options), list(prompts), limit)) as answers:
        return list(answers)


def chat(prompt: Prompt, **options: Unpack[ChatOptions]) -> str:
    """Returns the model's answer, after the tool calls that it requests. Options: those of `complete`, tools,
    parallel_tools, max_tool_rounds (10), on_tool_call, mode."""
    from sema_runtime.lib.llm.llm import llm_chat

    return llm_chat(messages_of(prompt), sema_options(options, ChatOptions, "chat"))


def stream(prompt: Prompt, **options: Unpack[StreamOptions]) -> SyncStream[str]:
    """Streams the model's answer: an iterator. Options: those of `complete` but timeout and reasoning_effort."""
    return SyncStream(streaming(prompt, options))


def streaming(prompt: Prompt, options: StreamOptions) -> Any:
    """Returns the work of a stream: a function that passes pieces to its argument and returns the whole text."""
    from sema_runtime.lib.llm.llm import llm_stream

    options_map = sema_options(options, StreamOptions, "stream")
    messages = messages_of(prompt)
    return lambda push: llm_stream(messages, push, options_map)


def batch(prompts: Sequence[str], **options: Unpack[BatchOptions]) -> list[str]:
    """Returns the answers to many texts, asked concurrently: without cache, cassette, retries, fallback and rate limit.
    Options: model, max_tokens, temperature, system."""
    from sema_runtime.lib.llm.llm import llm_batch

    return list(llm_batch(list(prompts), sema_options(options, BatchOptions, "batch")))


# Typed answers


@overload
def extract(schema: type[T], text: str, **options: Unpack[ExtractOptions]) -> T: ...
@overload
def extract(schema: Mapping[str, Any], text: str, **options: Unpack[ExtractOptions]) -> dict[str, Any]: ...
def extract(schema: Any, text: str, **options: Unpack[ExtractOptions]) -> Any:
    """Returns data extracted from text. schema: a dataclass, a pydantic model, a TypedDict or another type, for an
    instance of it; or a dict as {"amount": "number", "note": {"type": "string", "optional": True}}, for a dict.

    Options: model, retries (2), mode. Raises LlmError when even the last answer breaks the schema.
    """
    from sema_runtime.interop import to_python, to_sema
    from sema_runtime.lib.llm.typed_answers import llm_extract

    options_map = sema_options(options, ExtractOptions, "extract")
    if isinstance(schema, Mapping):
        return to_python(llm_extract(to_sema(schema), text, options_map))
    from sema_runtime.llm.tools.python_types import TypeSchema

    typed = TypeSchema(schema)
    return typed.made(llm_extract(typed, text, options_map))


@overload
def classify(labels: Sequence[str], text: str, **options: Unpack[ModelOption]) -> str: ...
@overload
def classify(labels: type[E], text: str, **options: Unpack[ModelOption]) -> E: ...
def classify(labels: Any, text: str, **options: Unpack[ModelOption]) -> Any:
    """Returns the label that the model chooses for text. labels: texts, or an Enum, for one of its members.

    With texts the result is the model's answer even if it is none of them; with an Enum that raises LlmError.
    """
    from sema_runtime.lib.llm.typed_answers import llm_classify
    from sema_runtime.values.errors import LlmError

    options_map = sema_options(options, ModelOption, "classify")
    if not isinstance(labels, EnumType):
        return llm_classify(list(labels), text, options_map)
    members: list[Any] = list(labels)
    by_label = {str(member.value): member for member in members}
    answer = llm_classify(list(by_label), text, options_map)
    if answer not in by_label:
        raise LlmError(f"classify: the model answered {answer!r}, which is no value of {labels.__name__}")
    return by_label[answer]


def summarize(
    text: str, *, max_words: int | None = None, style: str | None = None, **options: Unpack[ModelOption]
) -> str:
    """Returns a summary. style: "bullet-points", "one-line", else a paragraph."""
    from sema_runtime.lib.llm.typed_answers import llm_summarize
    from sema_runtime.values.atoms import keyword

    options_map = sema_options(options, ModelOption, "summarize")
    for name, value in (("max-length", max_words), ("style", style)):
        options_map = options_map if value is None else options_map.assoc(keyword(name), value)
    return llm_summarize(text, options_map)


def compare(first: str, second: str, **options: Unpack[ModelOption]) -> Comparison:
    """Compares two texts."""
    from sema_runtime.interop import to_python
    from sema_runtime.lib.llm.typed_answers import llm_compare

    comparison = to_python(llm_compare(first, second, sema_options(options, ModelOption, "compare")))
    return Comparison(
        comparison.get("similarity", 0.0), comparison.get("differences", []), comparison.get("summary", "")
    )


# Embeddings


@overload  # a str is a sequence of strs, too
def embed(  # type: ignore[overload-overlap]
    text: str, **options: Unpack[ModelOption]
) -> list[float]: ...
@overload
def embed(text: Sequence[str], **options: Unpack[ModelOption]) -> list[list[float]]: ...
def embed(text: str | Sequence[str], **options: Unpack[ModelOption]) -> Any:
    """Returns the embedding of a text, or one for each of several."""
    from sema_runtime.lib.llm.embeddings import llm_embed

    options_map = sema_options(options, ModelOption, "embed")
    if isinstance(text, str):
        return _floats(llm_embed(text, options_map))
    return [_floats(embedding) for embedding in llm_embed(List(list(text)), options_map)]


def _floats(embedding: bytes | bytearray) -> list[float]:
    from struct import unpack

    return list(unpack(f"<{len(embedding) // 8}d", embedding))


def rerank(
    query: str, documents: Sequence[str], *, top_k: int | None = None, **options: Unpack[ModelOption]
) -> list[Ranked]:
    """Returns the documents that match a query, best first."""
    from sema_runtime.lib.llm.embeddings import llm_rerank
    from sema_runtime.values.atoms import keyword

    options_map = sema_options(options, ModelOption, "rerank")
    options_map = options_map if top_k is None else options_map.assoc(keyword("top-k"), top_k)
    results = llm_rerank(query, List(list(documents)), options_map)
    return [Ranked(result["index"], result["score"], result["document"]) for result in results]


# Agents and conversations


class Agent(agents.BaseAgent):
    __doc__ = agents.BaseAgent.__doc__

    def run(self, text: str, **options: Unpack[RunOptions]) -> agents.Run:
        """Asks until there is an answer. Options: history, conversation, memory, on_text, on_tool_call, on_partial,
        reasoning_effort, parallel_tools, mode, tags, metadata, conversation_id, session_id, user_id."""
        return self._run(text, options, Conversation)

    def stream(self, text: str, **options: Unpack[RunOptions]) -> SyncStream[agents.Run]:
        """As `run`, but returns an iterator over the pieces of text of every round; its `result` is the run."""
        return SyncStream(self._streamed(text, options, Conversation))


class Conversation(conversations.BaseConversation):
    __doc__ = conversations.__doc__

    def say(self, text: str, **options: Unpack[conversations.SayOptions]) -> Conversation:
        """Asks the model with the whole history and text; returns the conversation with both turns added.

        Options: max_tokens, temperature, system (instead of its own), on_text."""
        return self._said(text, {**options})
