"""The most that a call may use, for budgets that reserve it before the call is sent.

A token is at least one byte of text in every tokenizer in use, so the bytes of a request, plus what servers add to each
message, bound its prompt; `:max-tokens` bounds the reply. If a provider reports more than such a bound, the bounds of
its model grow by the same factor.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from sema_runtime.llm.budgets import pricing
from sema_runtime.llm.messages import Image, Reply, Request, Usage, tokens
from sema_runtime.llm.providers import Provider

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PER_CALL = 64  # tokens that servers add around a prompt
PER_MESSAGE = 16
PER_TOOL = 64
FOR_TOOLS = 600  # the instructions that servers add for tools
PER_IMAGE = 6000  # or page of a PDF
PAGE_BYTES = 500  # of a PDF, at least
MOST_INFLATED = 16 << 20  # bytes, of one part of a PDF
MOST_EXCESS = 100.0  # one miscount of a server must not make its model unusable

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
        """Returns how many tokens, prompt and reply, that much money buys."""
        price = pricing.price_of(self.model, self.provider)
        if price is None or not price.output:
            return 0
        left = usd * 1_000_000 - self.prompt_tokens * price.input
        return self.prompt_tokens + int(left / price.output) if left > 0 else 0


def of_request(provider: Provider, request: Request, model: str) -> Need:
    """Returns the need of one attempt at a completion. Ollama's models cost nothing unless the program set a price."""
    bound = need(model, provider.name, prompt_bound(request), reply_bound(provider, request))
    if provider.wire != "sema" and request.max_tokens < 1:
        bound = bound._replace(reply_tokens=-1)  # servers understand that as "no limit"
    return bound._replace(cost_usd=0.0) if bound.cost_usd is None and provider.wire == "ollama" else bound


def of_texts(provider: str, model: str, tokens: int) -> Need:
    """Returns the need of texts to embed or rank. Local models cost nothing unless the program set a price."""
    bound = need(model, provider, tokens, 0)
    return bound._replace(cost_usd=0.0) if bound.cost_usd is None and provider in ("local", "ollama") else bound


def need(model: str, provider: str, prompt_tokens: int, reply_tokens: int) -> Need:
    factor = _excess.get(model, 1.0)
    prompt, reply = int(prompt_tokens * factor), int(reply_tokens * factor)
    return Need(model, provider, prompt, reply, pricing.cost(model, provider, prompt, reply))


def prompt_bound(request: Request) -> int:
    total = PER_CALL + text_bytes(request.system or "")
    for message in request.messages:
        total += PER_MESSAGE + text_bytes(message.content) + sum(map(_picture_bound, message.images))
        for call in message.tool_calls:
            total += PER_MESSAGE + text_bytes(call.name) + _json_bytes(call.arguments)
        total += sum(text_bytes(call.id) + text_bytes(call.thought_signature or "") for call in message.tool_calls)
        total += text_bytes(message.tool_call_id or "") + text_bytes(message.tool_name or "")
    for tool in request.tools:
        size = _schema_bytes(tool.parameters, request.strict_tools)
        total += PER_TOOL + text_bytes(tool.name) + text_bytes(tool.description) + size
    if request.answer_schema is not None:
        total += FOR_TOOLS + _schema_bytes(request.answer_schema, True)
    return total + FOR_TOOLS * bool(request.tools)


def _picture_bound(image: Image) -> int:
    return PER_IMAGE * (pages_of(image.data) if image.media_type == "application/pdf" else 1)


def pages_of(pdf: bytes) -> int:
    """Returns the number of pages of a PDF file; if none are found, the most that its size allows."""
    import re
    import zlib

    parts = [pdf]
    for packed in re.finditer(rb"/ObjStm\b.{0,400}?stream\r?\n", pdf, re.DOTALL):
        try:
            parts.append(zlib.decompressobj().decompress(pdf[packed.end() :], MOST_INFLATED))
        except zlib.error:
            continue
    pages = sum(len(re.findall(rb"/Type\s*/Page\b", part)) for part in parts)
    page_counts = [int(number) for part in parts for number in re.findall(rb"/Count\s+(\d{1,6})\b", part)]
    return max([pages, *page_counts]) or len(pdf) // PAGE_BYTES + 1


def reply_bound(provider: Provider, request: Request) -> int:
    """Returns the most tokens of a reply, with thinking where that comes on top of `:max-tokens`."""
    if provider.wire == "anthropic":
        from sema_runtime.llm.wires.anthropic import THINKING_BUDGETS

        return tokens(request.max_tokens) + THINKING_BUDGETS.get((request.reasoning_effort or "").lower(), 0)
    return tokens(request.max_tokens)


def learn(need: Need, used: Usage) -> None:
    """Raises the bounds of a model that reported more than they allow."""
    excess = max(used.prompt / max(1, need.prompt_tokens), used.completion / max(1, need.reply_tokens))
    if excess > 1.0:
        _excess[need.model] = min(_excess.get(need.model, 1.0) * excess, MOST_EXCESS)


def billed(need: Need, used: Usage, wire: str) -> Usage:
    """Returns the most usage that may be billed for an answer: what was reported, or the bound if nothing was.
    Providers written in Sema report everything."""
    prompt, completion = used.prompt, used.completion
    if wire == "anthropic":
        prompt += used.cache_read + used.cache_creation
    if wire != "sema":
        prompt = prompt or need.prompt_tokens
        completion = completion or need.reply_tokens
    return Usage(prompt, completion)


def likely_usage(request: Request, reply: Reply) -> Usage:
    """Returns a likely usage for an answer without one."""
    text = reply.content + "".join(call.name + json.dumps(call.arguments) for call in reply.tool_calls)
    return Usage(likely_prompt(request), text_tokens(text))


def likely_prompt(request: Request) -> int:
    """Returns a likely number of tokens of a prompt: UTF-8 bytes / 4, rounded up."""
    return text_tokens((request.system or "") + "".join(message.content for message in request.messages))


def text_tokens(text: str) -> int:
    """Returns a likely number of tokens of a text: UTF-8 bytes / 4, rounded up."""
    return -(-text_bytes(text) // 4)


def text_bytes(text: str) -> int:
    """Returns the size of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "replace"))


def _schema_bytes(schema: dict[str, Any], is_strict: bool) -> int:
    """is_strict: also as strict modes get it."""
    from sema_runtime.llm.wires.native import strict

    return max(_json_bytes(schema), _json_bytes(strict(schema)) if is_strict else 0)


def _json_bytes(value: object) -> int:
    return text_bytes(json.dumps(value, ensure_ascii=False, default=str))
