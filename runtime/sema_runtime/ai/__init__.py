"""Language models for Python programs, with asyncio: `from sema_runtime import ai`, then `await ai.complete("Hello")`.

The same layers as in Sema: retries, budgets, cache, cassettes, fallback, rate limits, tools, agents, usage. Calls run
in the loop that awaits them, none in a thread; cancelling the awaiting task ends the request. `sema_runtime.ai.sync`
has the same names for code without asyncio. docs/how-to/python-llm.md explains both.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Mapping, Sequence
from functools import wraps
from typing import Any, ParamSpec, TypeVar, Unpack, overload

from sema_runtime.ai import agents, conversations, sync
from sema_runtime.ai.agents import Run as Run
from sema_runtime.ai.errors import BudgetError as BudgetError
from sema_runtime.ai.errors import LlmError as LlmError
from sema_runtime.ai.errors import ProviderError as ProviderError
from sema_runtime.ai.errors import SemaError as SemaError
from sema_runtime.ai.memory import Memory as Memory
from sema_runtime.ai.options import ExtractOptions, ModelOption, RunOptions, StreamOptions
from sema_runtime.ai.options import ToolEvent as ToolEvent
from sema_runtime.ai.program_agents import AsyncProgramAgent as ProgramAgent
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
from sema_runtime.ai.streams import Stream as Stream
from sema_runtime.ai.streams import SyncStream as SyncStream
from sema_runtime.ai.tools import Tool as Tool
from sema_runtime.ai.tools import tool as tool
from sema_runtime.ai.values import Comparison as Comparison
from sema_runtime.ai.values import Image as Image
from sema_runtime.ai.values import Message as Message
from sema_runtime.ai.values import Prompt as Prompt
from sema_runtime.ai.values import Ranked as Ranked
from sema_runtime.ai.values import Usage as Usage
from sema_runtime.ai.values import image as image
from sema_runtime.tasks import call

__all__ = [
    "Agent",
    "BudgetError",
    "Comparison",
    "Conversation",
    "Image",
    "LlmError",
    "Memory",
    "Message",
    "ProgramAgent",
    "Prompt",
    "ProviderError",
    "Ranked",
    "Run",
    "SemaError",
    "Stream",
    "SyncStream",
    "Tool",
    "ToolEvent",
    "Usage",
    "batch",
    "budget",
    "cache",
    "cassette",
    "chat",
    "classify",
    "compare",
    "complete",
    "complete_all",
    "configure",
    "configure_embeddings",
    "embed",
    "extract",
    "fallback",
    "image",
    "last_usage",
    "providers",
    "rate_limit",
    "rerank",
    "reset_usage",
    "set_default",
    "set_price",
    "stream",
    "summarize",
    "tool",
    "usage",
]  # fmt: skip

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(function: Callable[P, T]) -> Callable[P, Coroutine[Any, Any, T]]:
    """Returns the coroutine function for a function of `sync`."""

    @wraps(function)
    async def asynchronous(*args: P.args, **kwargs: P.kwargs) -> T:
        return await call(function, *args, **kwargs)  # type: ignore[no-any-return]

    asynchronous.__module__ = __name__
    return asynchronous


complete = _awaited(sync.complete)
complete_all = _awaited(sync.complete_all)
chat = _awaited(sync.chat)
batch = _awaited(sync.batch)
summarize = _awaited(sync.summarize)
compare = _awaited(sync.compare)
rerank = _awaited(sync.rerank)


def stream(prompt: Prompt, **options: Unpack[StreamOptions]) -> Stream[str]:
    """Streams the model's answer: `async for piece in ai.stream("...")`. Leaving the loop ends the request.
    Options: those of `complete` but timeout and reasoning_effort."""
    return Stream(sync.streaming(prompt, options))


@overload
async def extract(schema: type[T], text: str, **options: Unpack[ExtractOptions]) -> T: ...
@overload
async def extract(schema: Mapping[str, Any], text: str, **options: Unpack[ExtractOptions]) -> dict[str, Any]: ...
@wraps(sync.extract)
async def extract(schema: Any, text: str, **options: Unpack[ExtractOptions]) -> Any:
    return await call(sync.extract, schema, text, **options)


@overload
async def classify(labels: Sequence[str], text: str, **options: Unpack[ModelOption]) -> str: ...
@overload
async def classify(labels: type[sync.E], text: str, **options: Unpack[ModelOption]) -> sync.E: ...
@wraps(sync.classify)
async def classify(labels: Any, text: str, **options: Unpack[ModelOption]) -> Any:
    return await call(sync.classify, labels, text, **options)


@overload  # a str is a sequence of strs, too
async def embed(  # type: ignore[overload-overlap]
    text: str, **options: Unpack[ModelOption]
) -> list[float]: ...
@overload
async def embed(text: Sequence[str], **options: Unpack[ModelOption]) -> list[list[float]]: ...
@wraps(sync.embed)
async def embed(text: Any, **options: Unpack[ModelOption]) -> Any:
    return await call(sync.embed, text, **options)


class Agent(agents.BaseAgent):
    __doc__ = agents.BaseAgent.__doc__

    async def run(self, text: str, **options: Unpack[RunOptions]) -> Run:
        """Asks until there is an answer. Options: history, conversation, memory, on_text, on_tool_call, on_partial,
        reasoning_effort, parallel_tools, mode, tags, metadata, conversation_id, session_id, user_id."""
        return await call(self._run, text, options, Conversation)  # type: ignore[no-any-return]

    def stream(self, text: str, **options: Unpack[RunOptions]) -> Stream[Run]:
        """As `run`, but returns an async iterator over the pieces of text of every round; its `result` is the run."""
        return Stream(self._streamed(text, options, Conversation))


class Conversation(conversations.BaseConversation):
    __doc__ = conversations.BaseConversation.__doc__

    async def say(self, text: str, **options: Unpack[conversations.SayOptions]) -> Conversation:
        """Asks the model with the whole history and text; returns the conversation with both turns added.

        Options: max_tokens, temperature, system (instead of its own), on_text."""
        return await call(self._said, text, {**options})  # type: ignore[no-any-return]
