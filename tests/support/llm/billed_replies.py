"""Replies and streams of a server that bills, and how many trials the random tests make."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from llm_support import llm as llm

from sema_runtime.llm.budgets import estimate

TRIALS = int(os.environ.get("SEMA_TRIALS", "40"))
FIRST = int(os.environ.get("SEMA_FIRST_TRIAL", "0"))


@pytest.fixture(autouse=True)
def nothing_learnt(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimate, "_excess", {})


# One at a time. A call of `hi` with :max-tokens 50 is held at 132 tokens.


def openai(usage: Any, model: str = "m", **message: Any) -> dict[str, Any]:
    choice = {"index": 0, "message": {"content": "ok", **message}, "finish_reason": "stop"}
    return {"model": model, "choices": [choice], "usage": usage}


def stream_of(*chunks: Any) -> bytes:
    data = b"".join(b"data: %s\n\n" % json.dumps(one).encode() for one in chunks)
    return b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n" + data


TEXT = {"model": "m", "choices": [{"index": 0, "delta": {"content": "ok"}}]}
STOP = {"model": "m", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
