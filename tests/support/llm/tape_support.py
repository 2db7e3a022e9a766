"""Lines of cassettes, and programs that replay them."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

from llm_support import llm as llm
from llm_support import run

from sema_runtime.llm import providers
from sema_runtime.llm.recordings.cassette_file import blank, line_of


def key(prompt: str) -> str:
    return hashlib.sha256(f"user{prompt}".encode()).hexdigest()


def entry(prompt: str, content: str = "taped", **fields: Any) -> dict[str, Any]:
    return {**blank("complete", key(prompt)), "content": content, "model": "m", **fields}


def line(prompt: str, content: str = "taped", **fields: Any) -> str:
    return line_of(entry(prompt, content, **fields)).decode()


def replayed(tape: Path, prompt: str) -> Any:
    providers.reset()
    return run(f'(llm/with-cassette "{tape}" {{:mode :replay}} (fn () (llm/complete "{prompt}")))')
