"""The system text of an agent that writes programs: versioned files, its tools and its inputs. No model is called."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib.resources import files
from typing import Any

from sema_runtime.box.agent.definition import TOOL, ProgramAgent
from sema_runtime.box.toolbox import Grant

VERSION = 3
MOST_SAMPLE = 120  # characters
MOST_DATA = 64  # inputs that are listed
PLACE = "<<answer>>"
ANSWERS = {
    "fenced": "Answer with exactly one fenced block, ```sema ... ```, and nothing else that is code.",
    "tool": "Answer with exactly one call of run_program, whose argument is the whole program.",
}


def system_text(agent: ProgramAgent, tools: Iterable[Grant]) -> str:
    """tools: all that the agent may call, those that stand for other agents included."""
    own = agent.system.strip()
    general = files("sema_runtime.box.agent").joinpath(f"program-{VERSION}.md").read_text(encoding="utf-8").strip()
    parts = [own] if own else []
    parts.append(general.replace(PLACE, ANSWERS["tool" if agent.protocol == TOOL else "fenced"]))
    if agent.max_turns == 1:
        parts.append("You have one program: its value is the answer.")
    lines = [one.line() for one in sorted(tools, key=lambda one: one.name)]
    parts.append("Tools\n" + ("\n".join(f"- {line}" for line in lines) if lines else "- none"))
    parts.append("Inputs\n" + inventory(agent.data))
    if agent.plan:
        steps = "\n".join(f"{number}. {step}" for number, step in enumerate(agent.plan, 1))
        parts.append(f'Plan\n{steps}\nWhen a step is done, say so in the program: (tool/step-done {{:step "..."}}).')
    if agent.returns is not None:
        from sema_runtime.llm.tools.schema import described

        parts.append("The answer that you return must have this form:\n" + described({"answer": agent.returns}))
    return "\n\n".join(parts)


def inventory(data: Mapping[str, Any]) -> str:
    names = sorted(data)
    lines = [f"- data/{name}: {described_input(data[name])}" for name in names[:MOST_DATA]]
    if len(names) > MOST_DATA:
        lines.append(f"- and {len(names) - MOST_DATA} more: {', '.join(names[MOST_DATA:])}")
    return "\n".join(lines) or "- none"


def described_input(value: Any) -> str:
    """An input as a model reads it: its type, its size, and a sample."""
    if isinstance(value, Mapping):
        return f"map of {len(value)} keys: {', '.join(f':{key}' for key in list(value)[:12])}"
    if isinstance(value, list | tuple):
        sample = f", such as {cut(sema_text(value[0]), MOST_SAMPLE)}" if value else ""
        return f"list of {len(value)}{sample}"
    if isinstance(value, str):
        return f"string of {len(value)} characters: {cut(value, MOST_SAMPLE)}"
    return f"{type(value).__name__}: {cut(sema_text(value), MOST_SAMPLE)}"


def sema_text(value: Any) -> str:
    """A value as programs read it: the keys of rows are keywords."""
    from sema_runtime.box.codec import TooLarge, decoded
    from sema_runtime.box.host_values import HostEncoder
    from sema_runtime.values.printer import to_text

    try:
        return to_text(decoded(HostEncoder(10_000).encode(value)))
    except TooLarge:
        return "a value of more than 10,000 parts"


def cut(text: str, most: int) -> str:
    """The beginning of a text, which says that it is cut."""
    flat = " ".join(text.split())
    return flat if len(flat) <= most else f"{flat[:most]}... (cut, {len(flat)} characters)"
