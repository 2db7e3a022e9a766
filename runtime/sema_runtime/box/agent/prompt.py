"""The system text of an agent that writes programs: a versioned file, its tools and its inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from sema_runtime.box.toolbox import Grant

VERSION = 1
MOST_SAMPLE = 120  # characters


def system_text(own: str, tools: Iterable[Grant], data: Mapping[str, Any], turns: int) -> str:
    """own: what the agent is for. turns: how many programs it may write; 1: the value of its program is the answer."""
    parts = [own.strip()] if own.strip() else []
    parts.append(files("sema_runtime.box.agent").joinpath(f"program-{VERSION}.md").read_text(encoding="utf-8").strip())
    if turns == 1:
        parts.append("You have one program: its value is the answer.")
    lines = [one.line() for one in sorted(tools, key=lambda one: one.name)]
    parts.append("Tools\n" + ("\n".join(f"- {line}" for line in lines) if lines else "- none"))
    inputs = [f"- data/{name}: {described(value)}" for name, value in sorted(data.items())]
    parts.append("Inputs\n" + ("\n".join(inputs) if inputs else "- none"))
    return "\n\n".join(parts)


def described(value: Any) -> str:
    """An input as a model reads it: its type, its size, and a sample."""
    if isinstance(value, Mapping):
        return f"map of {len(value)} keys: {', '.join(f':{key}' for key in list(value)[:12])}"
    if isinstance(value, list | tuple):
        sample = f", such as {cut(repr(value[0]), MOST_SAMPLE)}" if value else ""
        return f"list of {len(value)}{sample}"
    if isinstance(value, str):
        return f"string of {len(value)} characters: {cut(value, MOST_SAMPLE)}"
    return f"{type(value).__name__}: {cut(repr(value), MOST_SAMPLE)}"


def cut(text: str, most: int) -> str:
    """The beginning of a text, which says that it is cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]}... (cut, {len(flat)} characters)"
