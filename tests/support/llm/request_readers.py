"""Recorded request bodies as our requests: the conversation that our own code would have had to send."""

from __future__ import annotations

import json
from base64 import b64decode
from typing import Any

from sema_runtime.llm.messages import Image, Message, Request, ToolCall, ToolSchema


class Beyond(Exception):
    """The request holds something that our requests can't say."""


def request_of(wire: str, body: dict[str, Any], url: str) -> Request:
    """Raises Beyond."""
    readers = {"openai": _openai, "anthropic": _anthropic, "gemini": _gemini, "ollama": _ollama}
    try:
        return readers[wire](body, url)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise Beyond(f"{type(error).__name__}: {error}") from error


def _text(content: Any) -> str:
    """Text, given as such or as one text block without further keys."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if len(content) == 1 and set(content[0]) <= {"type", "text"} and content[0].get("type", "text") == "text":
        return str(content[0]["text"])
    raise Beyond("several blocks")


def _function(tool: dict[str, Any]) -> ToolSchema:
    function = tool["function"]
    if tool.get("type") != "function" or function.get("strict"):
        raise Beyond("strict or built-in tool")
    return ToolSchema(function["name"], function.get("description", ""), function.get("parameters", {}))


def _data_url(url: str) -> Image:
    head, _, data = url.partition(";base64,")
    if not head.startswith("data:"):
        raise Beyond("image by URL")
    return Image(head.removeprefix("data:"), b64decode(data))


def _pictured(role: str, blocks: Any, image: Any) -> Message | None:
    """A message of images followed by one text; image: makes one of a block, None for other blocks."""
    if not isinstance(blocks, list) or not any(image(block) for block in blocks):
        return None
    pictures = [image(block) for block in blocks]
    count = sum(picture is not None for picture in pictures)
    if None in pictures[:count] or len(blocks) > count + 1:
        raise Beyond("images behind or between texts")
    return Message(role, _text(blocks[count:]) if blocks[count:] else "", images=tuple(pictures[:count]))


def _openai(body: dict[str, Any], url: str) -> Request:
    def image(block: dict[str, Any]) -> Image | None:
        return _data_url(block["image_url"]["url"]) if block.get("type") == "image_url" else None

    if "functions" in body:
        raise Beyond("functions, as before there were tools")
    messages = []
    for one in body["messages"]:
        if set(one) - {"role", "content", "tool_calls", "tool_call_id", "name", "refusal", "annotations"}:
            raise Beyond(f"message keys {sorted(one)}")
        if one["role"] not in ("system", "user", "assistant", "tool"):
            raise Beyond(f"role {one['role']}")
        calls = tuple(
            ToolCall(call["id"], call["function"]["name"], json.loads(call["function"]["arguments"]))
            for call in one.get("tool_calls") or ()
        )
        pictured = _pictured(one["role"], one.get("content"), image)
        messages.append(
            pictured
            or Message(
                one["role"],
                _text(one.get("content")),
                tool_calls=calls,
                tool_call_id=one.get("tool_call_id"),
                tool_name=one.get("name"),
            )
        )
    return Request(
        messages,
        model=body["model"],
        max_tokens=body.get("max_completion_tokens") or body.get("max_tokens") or 4096,
        temperature=body.get("temperature"),
        tools=[_function(tool) for tool in body.get("tools") or ()],
        json_mode=body.get("response_format") == {"type": "json_object"},
        reasoning_effort=body.get("reasoning_effort"),
    )


def _anthropic(body: dict[str, Any], url: str) -> Request:
    def image(block: dict[str, Any]) -> Image | None:
        if block.get("type") != "image":
            return None
        if block["source"]["type"] != "base64" or "cache_control" in block:
            raise Beyond("image by URL")
        return Image(block["source"]["media_type"], b64decode(block["source"]["data"]))

    messages: list[Message] = []
    names: dict[str, str] = {}
    for one in body["messages"]:
        content = one["content"]
        kinds = {block.get("type") for block in content} if isinstance(content, list) else {"text"}
        if kinds - {"text", "image", "tool_use", "tool_result"} or "cache_control" in json.dumps(content):
            raise Beyond(f"blocks {sorted(map(str, kinds))}")
        if kinds == {"tool_result"}:
            for block in content:
                if block.get("is_error"):
                    raise Beyond("is_error")
                name = names.get(block["tool_use_id"])
                text = _text(block.get("content"))
                messages.append(Message("tool", text, tool_call_id=block["tool_use_id"], tool_name=name))
        elif "tool_use" in kinds:
            calls = tuple(ToolCall(b["id"], b["name"], b["input"]) for b in content if b["type"] == "tool_use")
            names |= {call.id: call.name for call in calls}
            text = _text([block for block in content if block["type"] != "tool_use"] or "")
            messages.append(Message("assistant", text, tool_calls=calls))
        else:
            pictured = _pictured(one["role"], content, image)
            messages.append(pictured or Message(one["role"], _text(content)))
    tools = []
    for tool in body.get("tools") or ():
        if set(tool) - {"name", "description", "input_schema", "type"} or tool.get("type", "custom") != "custom":
            raise Beyond("built-in or strict tool")
        tools.append(ToolSchema(tool["name"], tool.get("description", ""), tool["input_schema"]))
    thinking = body.get("thinking") or {"type": "disabled"}
    if thinking["type"] != "disabled":
        raise Beyond("a thinking budget of its own")
    system = body.get("system")
    return Request(
        messages,
        model=body["model"],
        max_tokens=body["max_tokens"],
        temperature=body.get("temperature"),
        system=None if system is None else _text(system),
        tools=tools,
    )


def _gemini(body: dict[str, Any], url: str) -> Request:
    def image(part: dict[str, Any]) -> Image | None:
        inline = part.get("inlineData")
        return Image(inline["mimeType"], b64decode(inline["data"])) if inline else None

    messages: list[Message] = []
    for content in body["contents"]:
        parts = content["parts"]
        role = "assistant" if content.get("role") == "model" else "user"
        known = {"text", "inlineData", "functionCall", "functionResponse", "thoughtSignature"}
        if any(set(part) - known for part in parts):
            raise Beyond(f"part keys {sorted({key for part in parts for key in part})}")
        if any("functionResponse" in part for part in parts):
            for part in parts:
                answer = part["functionResponse"]
                if set(answer["response"]) != {"result"} or not isinstance(answer["response"]["result"], str):
                    raise Beyond("a function's response that is no text")
                messages.append(Message("tool", answer["response"]["result"], tool_name=answer["name"]))
        elif any("functionCall" in part for part in parts):
            calls = [part for part in parts if "functionCall" in part]
            texts = [part for part in parts if "functionCall" not in part]
            if any("thoughtSignature" in part for part in texts):
                raise Beyond("signed text")
            made = tuple(
                ToolCall("", p["functionCall"]["name"], p["functionCall"]["args"], p.get("thoughtSignature"))
                for p in calls
            )
            messages.append(Message("assistant", _text(texts) if texts else "", tool_calls=made))
        else:
            messages.append(_pictured(role, parts, image) or Message(role, _text(parts)))
    settings = body.get("generationConfig") or {}
    tools = []
    for group in body.get("tools") or ():
        for one in group.get("functionDeclarations") or group["function_declarations"]:
            if set(one) - {"name", "description", "parameters"}:
                raise Beyond("parameters as JSON Schema")
            tools.append(ToolSchema(one["name"], one.get("description", ""), one.get("parameters", {})))
    system = body.get("systemInstruction")
    return Request(
        messages,
        model=url.partition("/models/")[2].partition(":")[0],
        max_tokens=settings.get("maxOutputTokens") or 4096,
        temperature=settings.get("temperature"),
        system=_text(system["parts"]) if system else None,
        tools=tools,
    )


def _ollama(body: dict[str, Any], url: str) -> Request:
    messages = []
    for one in body["messages"]:
        if set(one) - {"role", "content", "images", "tool_calls", "tool_name"}:
            raise Beyond(f"message keys {sorted(one)}")
        calls = tuple(
            ToolCall("", call["function"]["name"], call["function"]["arguments"])
            for call in one.get("tool_calls") or ()
        )
        pictures = tuple(Image("", b64decode(data)) for data in one.get("images") or ())
        messages.append(
            Message(
                one["role"], one.get("content") or "", images=pictures, tool_calls=calls, tool_name=one.get("tool_name")
            )
        )
    options = body.get("options") or {}
    return Request(
        messages,
        model=body["model"],
        max_tokens=options.get("num_predict") or 4096,
        temperature=options.get("temperature"),
        tools=[_function(tool) for tool in body.get("tools") or ()],
    )


# Comparing bodies


IGNORED = {
    "openai": {
        "tool_choice",
        "parallel_tool_calls",
        "n",
        "user",
        "store",
        "metadata",
        "top_p",
        "seed",
        "stop",
        "logprobs",
    }
    | {"top_logprobs", "presence_penalty", "frequency_penalty", "logit_bias", "response_format", "service_tier"}
    | {"stream_options", "max_tokens", "max_completion_tokens", "temperature", "prompt_cache_key", "prediction"}
    | {"prompt_cache_retention", "web_search_options", "modalities", "verbosity"},
    "anthropic": {"tool_choice", "metadata", "top_p", "top_k", "stop_sequences", "service_tier", "output_config"}
    | {"output_format", "thinking", "container", "context_management", "betas", "cache_control"},
    "gemini": {"toolConfig", "safetySettings", "cachedContent", "labels", "serviceTier"},
    "ollama": {"keep_alive", "format", "think", "options"},
}


def comparable(wire: str, body: dict[str, Any]) -> dict[str, Any]:
    """A body without what is a default, what has two spellings, and what our requests don't hold (top_p, seed, ...)."""
    made = {key: value for key, value in body.items() if key not in IGNORED[wire] and value not in (None, [], False)}
    if wire == "gemini":
        settings = made.pop("generationConfig", None) or {}
        kept = {key: settings[key] for key in ("temperature",) if key in settings}
        if kept:
            made["generationConfig"] = kept
        for content in made["contents"]:
            content.setdefault("role", "user")
        for part in [part for content in made["contents"] for part in content["parts"]]:
            for kind in ("functionCall", "functionResponse"):
                if kind in part:
                    part[kind] = {key: value for key, value in part[kind].items() if key != "id"}
        made.get("systemInstruction", {}).pop("role", None)
        if "tools" in made:
            made["tools"] = [
                one
                for group in made["tools"]
                for one in group.get("functionDeclarations") or group["function_declarations"]
            ]
    if wire in ("openai", "ollama"):
        made["messages"] = [_plain_message(one) for one in made["messages"]]
        made["tools"] = [_plain_tool(tool) for tool in made.get("tools") or ()]
    if wire == "anthropic":
        made["messages"] = _merged([_plain_blocks(one) for one in made["messages"]])
        if isinstance(made.get("system"), list):
            made["system"] = _text(made["system"])
        made["tools"] = [
            {"description": "", **{k: v for k, v in tool.items() if k != "type"}} for tool in made.get("tools") or ()
        ]
    return made


def _plain_message(message: dict[str, Any]) -> dict[str, Any]:
    made = {key: value for key, value in message.items() if value not in (None, "", []) and key != "name"}
    if isinstance(made.get("content"), list) and all(set(block) == {"type", "text"} for block in made["content"]):
        made["content"] = _text(made["content"])
    for call in made.get("tool_calls") or ():
        function = call["function"]
        call.pop("index", None)
        call.setdefault("type", "function")
        if isinstance(function["arguments"], str):
            function["arguments"] = json.loads(function["arguments"])
    for block in made["content"] if isinstance(made.get("content"), list) else ():
        if "image_url" in block:
            block["image_url"].pop("detail", None)
    return made


def _plain_tool(tool: dict[str, Any]) -> dict[str, Any]:
    function = {"description": "", "parameters": {}, **tool["function"]}
    return {**tool, "function": {key: value for key, value in function.items() if key != "strict" or value}}


def _plain_blocks(message: dict[str, Any]) -> dict[str, Any]:
    content = message["content"]
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    blocks = []
    for block in content:
        made = {key: value for key, value in block.items() if key not in ("is_error", "caller") or value}
        made.pop("caller", None)
        if made["type"] == "tool_result":
            made["content"] = _text(made.get("content"))
        blocks.append(made)
    return {"role": message["role"], "content": blocks}


def _merged(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Neighbours of one role are one turn to the API."""
    made: list[dict[str, Any]] = []
    for message in messages:
        if made and made[-1]["role"] == message["role"]:
            made[-1]["content"] += message["content"]
        else:
            made.append(message)
    return made
