"""The examples of docs/how-to/python-llm.md: each block runs, and `# => value` is the repr of what stands before it."""

from __future__ import annotations

import ast
import asyncio
import inspect
import re
from pathlib import Path
from typing import Any

import pytest
from llm_support import llm as llm
from paths import DOCS

from sema_runtime import ai

pytestmark = pytest.mark.usefixtures("llm")
PAGE = DOCS / "how-to" / "python-llm.md"
BLOCKS = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
EXPECTED = re.compile(r"^(.*?)  # => (.*)$", re.MULTILINE)
EXPENSE = '{"amount": 12.5, "note": "lunch"}'
REPLIES = {
    "Say hello in Norwegian.": "Hei!",
    "And in French?": "Bonjour!",
    "Why is the sky blue?": "Rayleigh scattering.",
    "A story in three words.": "Once upon time.",
    "Lunch on 3 May, 12.50": EXPENSE,
    "Lunch 12.50, taxi 30": f'[{EXPENSE}, {{"amount": 30, "note": "taxi"}}]',
    "It crashes when I click": "bug",
    '{"city":"Oslo","degrees":4}': "4 degrees.",
}


def answer(request: dict[str, Any]) -> dict[str, Any]:
    last = request["messages"][-1]["content"]
    reply: dict[str, Any] = {"content": REPLIES.get(last, "fine")}
    if last == "Will it be cold in Oslo?":
        reply["tool_calls"] = [{"id": "1", "name": "forecast", "arguments": {"city": "Oslo"}}]
    return {**reply, "usage": {"prompt_tokens": 3, "completion_tokens": 2}}


@pytest.mark.parametrize("block", BLOCKS, ids=[str(number) for number in range(len(BLOCKS))])
def test_examples(block: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ai.configure("player", complete=answer, default_model="gpt-5.5")

    def check(value: Any, expected: str) -> None:
        assert repr(value) == expected

    code = EXPECTED.sub(lambda match: f"check(({match[1]}), {match[2]!r})", block)
    compiled = compile(code, str(PAGE), "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT, dont_inherit=True)
    done = eval(compiled, {"check": check, "__name__": "__main__"})
    if inspect.iscoroutine(done):
        asyncio.run(done)
