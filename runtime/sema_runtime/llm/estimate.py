"""What a call may use at most, for budgets that hold it back before it is sent.

A token is at least one byte of text in every tokenizer in use, so the bytes of a request, with what servers add to
each message, bound its prompt; `:max-tokens` bounds the reply. A provider that reported more than such a bound is
trusted less from then on: the bounds of its model grow by the same factor.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sema_runtime.llm import pricing
from sema_runtime.llm.messages import Request, Usage
from sema_runtime.llm.providers import Provider

PER_CALL = 64  # tokens that servers add around a prompt
PER_MESSAGE = 16
PER_TOOL = 64
FOR_TOOLS = 600  # the instructions that come with any tool
PER_IMAGE = 6000

_excess: dict[str, float] = {}  # model → how much more than its bound was reported, 1.2 for a fifth


class Need(NamedTuple):
    """The most a call may use. cost_usd: None when the model's price is unknown."""

    model: str
    provider: str
    prompt_tokens: int
    reply_tokens: int
    cost_usd: float | None

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.reply_tokens

    def tokens_for(self, usd: float) -> int:
        """How many tokens, prompt and reply, that much money buys."""
        price = pricing.price_of(self.model, self.provider)
        if price is None or not price.output:
            return 0
        left = usd * 1_000_000 - self.prompt_tokens * price.input
        return self.prompt_tokens + int(left / price.output) if left > 0 else 0


def of_request(provider: Provider, request: Request, model: str) -> Need:
    """For one attempt at a completion. A model that Ollama serves costs nothing, unless it was given a price."""
    found = need(model, provider.name, prompt_bound(request), reply_bound(provider, request))
    return found._replace(cost_usd=0.0) if found.cost_usd is None and provider.wire == "ollama" else found


def need(model: str, provider: str, prompt_tokens: int, reply_tokens: int) -> Need:
    factor = _excess.get(model, 1.0)
    prompt, reply = int(prompt_tokens * factor), int(reply_tokens * factor)
    return Need(model, provider, prompt, reply, pricing.cost(model, provider, prompt, reply))


def prompt_bound(request: Request) -> int:
    total = PER_CALL + text_bytes(request.system or "")
    for message in request.messages:
        total += PER_MESSAGE + text_bytes(message.content) + PER_IMAGE * len(message.images)
        for call in message.tool_calls:
            total += PER_MESSAGE + text_bytes(call.name) + _json_bytes(call.arguments)
    for tool in request.tools:
        total += PER_TOOL + text_bytes(tool.name) + text_bytes(tool.description) + _json_bytes(tool.parameters)
    return total + FOR_TOOLS * bool(request.tools)


def reply_bound(provider: Provider, request: Request) -> int:
    """Thinking counts where it is asked for on top of `:max-tokens`."""
    if provider.wire == "anthropic":
        from sema_runtime.llm.wire_anthropic import THINKING_BUDGETS

        return request.max_tokens + (THINKING_BUDGETS.get(request.reasoning_effort or "") or 0)
    return request.max_tokens


def learn(need: Need, used: Usage) -> None:
    """Compares what was reported with what was expected at most."""
    excess = max(used.prompt / max(1, need.prompt_tokens), used.completion / max(1, need.reply_tokens))
    if excess > 1.0:
        _excess[need.model] = _excess.get(need.model, 1.0) * excess


def likely_prompt(request: Request) -> int:
    """A likely number of tokens of a prompt: UTF-8 bytes / 4, rounded up."""
    return text_tokens((request.system or "") + "".join(message.content for message in request.messages))


def text_tokens(text: str) -> int:
    """A likely number of tokens, for what was received of a reply that broke off: UTF-8 bytes / 4, rounded up."""
    return -(-text_bytes(text) // 4)


def text_bytes(text: str) -> int:
    """In UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _json_bytes(value: object) -> int:
    return text_bytes(json.dumps(value, ensure_ascii=False, default=str))
