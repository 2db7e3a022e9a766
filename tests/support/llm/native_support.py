"""Replies of each wire that hold one text, and the configuration of a provider at an address."""

from __future__ import annotations

from typing import Any

from llm_support import chat_reply, claude_reply
from llm_support import llm as llm


def reply_of(wire: str, text: str) -> dict[str, Any]:
    if wire == "anthropic":
        return claude_reply({"type": "text", "text": text})
    if wire == "gemini":
        return {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}, "finishReason": "STOP"}]}
    if wire == "ollama":
        return {"model": "m", "message": {"role": "assistant", "content": text}, "done": True, "done_reason": "stop"}
    return chat_reply(text)


def configured(name: str, url: str) -> str:
    return f'(llm/configure :{name} {{:api-key "k" :base-url "{url}" :default-model "m"}})'
