"""A server that speaks every wire, bills what it generates, and is as hostile as real ones can be.

It never bills more than a request allows: a token for each byte of its input, and its limit on the output. Everything
else may go wrong. What it bills goes to the accounts that the prompt names: `<1.3>` is for the budgets 1 and 3.
"""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections import defaultdict
from contextlib import suppress
from typing import Any, NamedTuple

from net_support import Received, received, reply, stall

PRICE_IN, PRICE_OUT = 1000.0, 3000.0  # USD per million tokens: a call costs cents, so that limits are reached soon
THINKING = {"low": 1024, "medium": 4096, "high": 12000}
MARKS = re.compile(r"<([0-9.]*)>")


class Bill(NamedTuple):
    prompt: int
    completion: int

    @property
    def tokens(self) -> int:
        return self.prompt + self.completion

    @property
    def usd(self) -> float:
        return (self.prompt * PRICE_IN + self.completion * PRICE_OUT) / 1e6


class Bank:
    """bills: of each account. sent: the bills in their order, with the fate of the request."""

    def __init__(self, seed: int) -> None:
        self.dice = random.Random(seed)
        self.bills: dict[str, list[Bill]] = defaultdict(list)
        self.sent: list[tuple[str, str, Bill]] = []

    def tokens(self, account: str) -> int:
        return sum(bill.tokens for bill in self.bills[account])

    def usd(self, account: str) -> float:
        return sum(bill.usd for bill in self.bills[account])

    def bill(self, fate: str, marks: str, bill: Bill) -> None:
        self.sent.append((fate, marks, bill))
        for account in filter(None, marks.split(".")):
            self.bills[account].append(bill)

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await self.exchange(reader, writer):
            await writer.drain()

    async def exchange(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """One request and its reply; whether the connection goes on."""
        asked = await received(reader)
        body = json.loads(asked.body)
        found = MARKS.search(asked.body.decode())
        marks = found[1] if found else ""
        await asyncio.sleep(self.dice.random() * 0.003)
        wire = WIRES[wire_of(asked)]
        bill = Bill(self.dice.randint(1, size_of(body)), self.dice.randint(0, wire.most(body)))
        fate = self.dice.choice(wire.fates)
        if body.get("stream") or "stream" in asked.target:
            return await self.stream(wire, fate, marks, bill, body, writer)
        free = fate in ("429", "500", "503", "529", "307", "400")
        if not free:
            self.bill(fate, marks, bill)
        return await wire.whole(self, fate, bill, body, reader, writer)

    async def stream(
        self, wire: Wire, fate: str, marks: str, bill: Bill, body: Any, writer: asyncio.StreamWriter
    ) -> bool:
        if fate in ("429", "500", "503", "529", "307", "400"):
            writer.write(reply('{"error":{"message":"no"}}', f"{fate} No", connection="close"))
            return False
        self.bill(f"stream {fate}", marks, bill)
        if fate == "hang up":
            return False
        kind = "application/x-ndjson" if wire is OLLAMA else "text/event-stream"
        writer.write(f"HTTP/1.1 200 OK\r\ncontent-type: {kind}\r\nconnection: close\r\n\r\n".encode())
        pieces = wire.pieces(self, fate, bill, body)
        cut = self.dice.randint(0, len(pieces)) if fate in ("cut", "stall", "502") else len(pieces)
        with suppress(OSError):
            for piece in pieces[:cut]:
                writer.write(piece)
                await writer.drain()
                await asyncio.sleep(0)
        return False


def wire_of(asked: Received) -> str:
    if "embeddings" in asked.target:
        return "embeddings"
    if "rerank" in asked.target:
        return "rerank"
    if "/models/" in asked.target:
        return "gemini"
    return {"/v1/messages": "anthropic", "/api/chat": "ollama"}.get(asked.target, "openai")


def size_of(body: Any) -> int:
    """Bytes of all that a model reads of a request."""
    if isinstance(body, str):
        return len(body.encode())
    if isinstance(body, list):
        return sum(map(size_of, body))
    if not isinstance(body, dict):
        return 0
    total = 0
    for key, value in body.items():
        if key in ("parameters", "input_schema", "json_schema", "schema", "format", "responseJsonSchema"):
            total += len(json.dumps(value, ensure_ascii=False).encode())
        elif key == "query":
            total += size_of(value) * len(body.get("documents", ()))  # read beside each
        elif key not in ("role", "type", "model", "mimeType", "media_type", "reasoning_effort"):
            total += size_of(value)
    return max(1, total)


class Wire:
    """How a wire says things. fates: what may become of a request."""

    fates = (
        *["good"] * 12,
        *("429", "500", "503", "307", "502", "524", "hang up", "half", "error 200", "error 200 told", "not JSON"),
        *("no usage", "null usage", "zero usage", "text usage", "half usage", "other name", "no choices"),
        *("cut", "cut", "429 told", "529"),
    )

    def most(self, body: Any) -> int:
        return int(body.get("max_tokens") or body.get("max_completion_tokens") or 0)

    def usage(self, bank: Bank, fate: str, bill: Bill) -> Any:
        """The usage object, told in one of the ways in which it can be; None: none."""
        names = self.names
        if fate in ("no usage", "error 200"):
            return None
        if fate == "zero usage":
            return dict.fromkeys(names, 0)
        counts: tuple[Any, ...] = bill
        if fate == "text usage":
            counts = (str(bill.prompt), float(bill.completion))
        told = dict(zip(names, counts, strict=True))
        if fate == "half usage":
            del told[bank.dice.choice(names)]
        return told

    names = ("prompt_tokens", "completion_tokens")

    def told(self, bank: Bank, fate: str, bill: Bill) -> dict[str, Any]:
        if fate == "null usage":
            return {"usage": None}
        usage = self.usage(bank, fate, bill)
        return {} if usage is None else {"usage": usage}

    def model(self, fate: str) -> str:
        return "nobody-knows" if fate == "other name" else "m"

    async def whole(
        self,
        bank: Bank,
        fate: str,
        bill: Bill,
        body: Any,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        error = {"error": {"message": "no", "code": 503}}
        if fate == "hang up":
            return False
        if fate == "stall":
            await stall(reader)
            return False
        status = fate.removesuffix(" told") if fate[:3].isdecimal() else "200"
        if fate == "not JSON":
            writer.write(reply("<html>oops</html>"))
        elif fate.endswith("told"):
            writer.write(reply(json.dumps({**error, **self.told(bank, "", bill)}), f"{status} No"))
        elif status != "200" or fate == "error 200":
            writer.write(reply(json.dumps(error), f"{status} No"))
        elif fate == "no choices":
            writer.write(reply(json.dumps({"model": "m", **self.told(bank, fate, bill)})))
        else:
            data = reply(json.dumps(self.answer(bank, fate, bill, body)))
            cut = fate in ("half", "cut")
            writer.write(data[: len(data) // 2] if cut else data)
            return not cut
        return True

    def answer(self, bank: Bank, fate: str, bill: Bill, body: Any) -> Any:
        raise NotImplementedError

    def pieces(self, bank: Bank, fate: str, bill: Bill, body: Any) -> list[bytes]:
        raise NotImplementedError


def events(*values: Any) -> list[bytes]:
    return [b"data: %s\n\n" % (one if isinstance(one, bytes) else json.dumps(one).encode()) for one in values]


def wants_tool(bank: Bank, body: Any) -> str:
    """The name of a tool that the answer calls, "" for none."""
    tools = body.get("tools")
    if not tools or bank.dice.random() < 0.4:
        return ""
    first = tools[0]
    if "function_declarations" in first:
        first = first["function_declarations"][0]
    return str((first.get("function") or first)["name"])


class OpenAI(Wire):
    def usage(self, bank: Bank, fate: str, bill: Bill) -> Any:
        usage = super().usage(bank, fate, bill)
        if usage and fate == "good" and bank.dice.random() < 0.3:  # as xAI: what was thought is in the total only
            hidden = bank.dice.randint(0, bill.completion)
            usage["completion_tokens"] -= hidden
            usage["total_tokens"] = bill.tokens
        return usage

    def answer(self, bank: Bank, fate: str, bill: Bill, body: Any) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": bank.dice.choice(["", '{"a": 1}', "x"])}
        if tool := wants_tool(bank, body):
            message["tool_calls"] = [
                {"id": f"c{i}", "type": "function", "function": {"name": tool, "arguments": "{}"}} for i in range(2)
            ]
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return {"model": self.model(fate), "choices": [choice] * 2, **self.told(bank, fate, bill)}

    def pieces(self, bank: Bank, fate: str, bill: Bill, body: Any) -> list[bytes]:
        def chunk(**delta: Any) -> Any:
            return {"model": self.model(fate), "choices": [{"index": 0, "delta": delta}]}

        made = [chunk(role="assistant", content="")]
        if fate in ("error 200", "error 200 told"):
            made.append({"error": {"message": "no", "code": 503}})
        made += [chunk(content="x ") for _ in range(min(3, bill.completion))]
        if tool := wants_tool(bank, body):
            function = {"name": tool, "arguments": "{}"}
            made.append(chunk(tool_calls=[{"index": 0, "id": "c", "function": function}]))
        made.append({"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]})
        usage = {"model": "m", "choices": [], **self.told(bank, fate, bill)}
        if bank.dice.random() < 0.3:  # said early, and again without the counts
            made.insert(1, usage)
            usage = {**usage, "usage": dict.fromkeys(self.names, 0)}
        return events(*made, usage, b"[DONE]")


class Anthropic(Wire):
    names = ("input_tokens", "output_tokens")

    def answer(self, bank: Bank, fate: str, bill: Bill, body: Any) -> Any:
        blocks: list[Any] = [{"type": "text", "text": "x"}]
        if tool := wants_tool(bank, body):
            blocks += [{"type": "tool_use", "id": "c", "name": tool, "input": {}}]
        return {"model": self.model(fate), "content": blocks, "stop_reason": "x", **self.told(bank, fate, bill)}

    def pieces(self, bank: Bank, fate: str, bill: Bill, body: Any) -> list[bytes]:
        told = self.told(bank, fate, bill)
        start = {"input_tokens": bill.prompt, "output_tokens": min(1, bill.completion)}
        message = {"model": self.model(fate), **({"usage": start} if fate == "good" else {})}
        made: list[Any] = [{"type": "message_start", "message": message}]
        if fate in ("error 200", "error 200 told"):
            made.append({"type": "error", "error": {"type": "overloaded_error", "message": "no"}})
        delta = {"type": "text_delta", "text": "x "}
        made += [{"type": "content_block_delta", "index": 0, "delta": delta} for _ in range(3)]
        made.append({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, **told})
        return events(*made, {"type": "message_stop"})


class Gemini(Wire):
    fates = (*Wire.fates, "empty", "empty")
    names = ("promptTokenCount", "candidatesTokenCount")

    def most(self, body: Any) -> int:
        return int(body["generationConfig"]["maxOutputTokens"])

    def told(self, bank: Bank, fate: str, bill: Bill) -> dict[str, Any]:
        usage = self.usage(bank, fate, bill)
        if usage and fate in ("good", "empty"):
            thoughts = bank.dice.randint(0, bill.completion)
            usage |= {"candidatesTokenCount": bill.completion - thoughts, "thoughtsTokenCount": thoughts}
        return {} if usage is None else {"usageMetadata": usage}

    def answer(self, bank: Bank, fate: str, bill: Bill, body: Any) -> Any:
        parts: list[Any] = [] if fate == "empty" else [{"text": "x"}]
        if parts and (tool := wants_tool(bank, body)):
            parts.append({"functionCall": {"name": tool, "args": {}}, "thoughtSignature": "s" * 500})
        candidate = {"content": {"parts": parts}, "finishReason": "MAX_TOKENS" if fate == "empty" else "STOP"}
        return {"candidates": [candidate], "modelVersion": self.model(fate), **self.told(bank, fate, bill)}

    def pieces(self, bank: Bank, fate: str, bill: Bill, body: Any) -> list[bytes]:
        def chunk(**more: Any) -> Any:
            return {"candidates": [{"content": {"parts": [{"text": "x "}]}, **more}], "modelVersion": self.model(fate)}

        made = [chunk() for _ in range(3)]
        if fate in ("error 200", "error 200 told"):
            made.append({"error": {"code": 503, "message": "no"}})
        return events(*made, {**chunk(finishReason="STOP"), **self.told(bank, fate, bill)})


class Ollama(Wire):
    names = ("prompt_eval_count", "eval_count")

    def most(self, body: Any) -> int:
        return int(body["options"]["num_predict"])

    def told(self, bank: Bank, fate: str, bill: Bill) -> dict[str, Any]:
        return self.usage(bank, fate, bill) or {}

    def answer(self, bank: Bank, fate: str, bill: Bill, body: Any) -> Any:
        message: dict[str, Any] = {"role": "assistant", "content": "x"}
        if tool := wants_tool(bank, body):
            message["tool_calls"] = [{"function": {"name": tool, "arguments": {}}}]
        return {"model": self.model(fate), "message": message, "done": True, **self.told(bank, fate, bill)}

    def pieces(self, bank: Bank, fate: str, bill: Bill, body: Any) -> list[bytes]:
        made: list[Any] = [{"model": "m", "message": {"content": "x "}} for _ in range(3)]
        if fate in ("error 200", "error 200 told"):
            made.append({"error": "no"})
        made.append({"model": self.model(fate), "message": {}, "done": True, **self.told(bank, fate, bill)})
        return [json.dumps(one).encode() + b"\n" for one in made]


class Embeddings(Wire):
    def most(self, body: Any) -> int:
        return 0

    def answer(self, bank: Bank, fate: str, bill: Bill, body: Any) -> Any:
        data = [{"index": i, "embedding": [1.0, 0.0]} for i in range(len(body["input"]))]
        if fate == "good" and bank.dice.random() < 0.1:
            data.pop()  # one is missing
        return {"model": self.model(fate), "data": data, **self.told(bank, fate, bill)}


class Rerank(Embeddings):
    def answer(self, bank: Bank, fate: str, bill: Bill, body: Any) -> Any:
        results = [{"index": i, "relevance_score": 0.5} for i in range(len(body["documents"]))]
        return {"results": results, **self.told(bank, fate, bill)}


OLLAMA = Ollama()
WIRES: dict[str, Wire] = {
    "openai": OpenAI(),
    "anthropic": Anthropic(),
    "gemini": Gemini(),
    "ollama": OLLAMA,
    "embeddings": Embeddings(),
    "rerank": Rerank(),
}


def providers(url: str) -> str:
    """The program text that makes the bank a provider on every wire, and itself one that asks another."""
    return f"""
      (llm/set-pricing "m" {PRICE_IN} {PRICE_OUT})
      (llm/configure :ollama {{:base-url "{url}" :default-model "m"}})
      (llm/configure :gemini {{:api-key "k" :base-url "{url}/v1beta" :default-model "m"}})
      (llm/configure :anthropic {{:api-key "k" :base-url "{url}" :default-model "m"}})
      (llm/configure :other {{:api-key "k" :base-url "{url}" :default-model "m"}})
      (llm/define-provider :via {{:default-model "m" :complete (fn (req)
        (llm/with-fallback [:other] (fn () (llm/complete (:content (last (:messages req))) {{:max-tokens 20}}))))}})
      (llm/configure-embeddings :jina {{:api-key "k" :base-url "{url}" :default-model "m"}})
      (llm/set-default :other)"""
