"""Requests for embeddings to a scripted server, its replies, and the vectors that come of them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from llm_support import Answer, Received, Server, run
from llm_support import llm as llm
from paths import DATA

from sema_runtime.llm.embeddings.vectors import unpacked
from sema_runtime.values.errors import LlmError

RECORDED = DATA / "llm" / "embeddings"


def recorded(name: str) -> Any:
    return json.loads((RECORDED / f"{name}.json").read_text())


def numbers(embedding: bytes) -> list[float]:
    return unpacked(embedding).tolist()


def openai_reply(*vectors: Any, **rest: Any) -> dict[str, Any]:
    data = [{"object": "embedding", "index": i, "embedding": vector} for i, vector in enumerate(vectors)]
    return {"object": "list", "data": data, "model": "m", "usage": {"prompt_tokens": 7, "total_tokens": 7}, **rest}


def lengths(received: Received) -> Answer:
    """Answers as OpenAI does; the embedding of a text is (its length, 1)."""
    return Answer(body=openai_reply(*([float(len(text)), 1.0] for text in received.body["input"])))


def at(server: Server, name: str = "mine", **options: str) -> None:
    """Configures a provider at a server."""
    run(f"(llm/configure-embeddings :{name} {given(server, **options)})")


def given(server: Server, **options: str) -> str:
    """The options map of a provider at a server."""
    options = {"base-url": f"{server.url}/v1", "api-key": "key-of-test", **options}
    return "{" + " ".join(f":{name} {json.dumps(value)}" for name, value in options.items()) + "}"


def strings(texts: list[str]) -> str:
    return f"[{' '.join(map(json.dumps, texts))}]"


def error_of(text: str) -> LlmError:
    with pytest.raises(LlmError) as caught:
        run(text)
    return caught.value
