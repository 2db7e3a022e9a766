"""How a model's answer becomes a program, and what the model is told of what came of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from sema_runtime.box.agent.definition import PROGRAM_TOOL, TOOL
from sema_runtime.box.outcome import Outcome
from sema_runtime.llm.messages import Message, Reply
from sema_runtime.support.visible import visible

FENCE = re.compile(r"[ \t]*```[ \t]*([\w+-]*)")  # at the start of a line
THINKS, THOUGHT = re.compile("<think(?:ing)?>"), re.compile("</think(?:ing)?>")
MARKER = re.compile(r"<(?=\s{0,9}/\s{0,9}output)", re.I)  # the end of the output of a program
QUOTES = str.maketrans({"\u201c": '"', "\u201d": '"', "\u200b": None, "\ufeff": None, "\u2060": None})
LANGUAGES = ("sema", "lisp", "clojure", "clj", "scheme", "")
MOST_PRINTED, MOST_VALUE = 2_000, 500
MOST_DEFINED = 12  # names
CUT_OFF = ("length", "max_tokens", "MAX_TOKENS")
BAD_RETURN = "return_validation_failed"
KEPT = "Its definitions were kept; return the answer in the form that is asked for."


class NoProgram(Exception):
    """An answer without exactly one program. reason: "no_code_found", "multiple_code_blocks" or "truncated"."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


def program_in(answer: str) -> str:
    """The program of an answer: its fenced block, or the whole answer where that is a form. Raises NoProgram."""
    text = without_thoughts(answer)
    blocks = [body for language, body in fenced_blocks(text) if language.lower() in LANGUAGES]
    if len(blocks) > 1:
        raise NoProgram("multiple_code_blocks", f"your answer has {len(blocks)} code blocks; put the program into one")
    if blocks:
        return blocks[0].translate(QUOTES).strip()
    bare = text.translate(QUOTES).strip()
    if bare.startswith("(") and bare.endswith(")"):
        return bare
    raise NoProgram("no_code_found", "your answer has no program; write one fenced block: ```sema ... ```")


def without_thoughts(answer: str) -> str:
    """An answer without what stands between marks of thinking; in linear time, whatever a model writes."""
    kept, start = [], 0
    while begins := THINKS.search(answer, start):
        ends = THOUGHT.search(answer, begins.end())
        if ends is None:
            break
        kept.append(answer[start : begins.start()])
        start = ends.end()
    return "".join([*kept, answer[start:]])


def fenced_blocks(text: str) -> Iterator[tuple[str, str]]:
    """The language and the content of each fenced block that has an end; in linear time."""
    language, body = None, list[str]()
    for line in text.split("\n"):
        fence = FENCE.match(line)
        if fence is None or (language is not None and line.strip(" \t\r") != "```"):
            body.append(line)
        elif language is None:
            language, body = fence[1], []
        else:
            yield language, "\n".join(body)
            language = None


def program_of(reply: Reply, protocol: str) -> str:
    """The program of a model's answer. Raises NoProgram."""
    if reply.stop_reason in CUT_OFF:
        raise NoProgram("truncated", "your answer was cut off at the most that it may have; write a shorter program")
    if protocol != TOOL:
        return program_in(reply.content)
    calls = reply.tool_calls
    if len(calls) > 1:
        raise NoProgram("multiple_code_blocks", f"you made {len(calls)} calls; put everything into one program")
    if not calls:
        raise NoProgram("no_code_found", f"your answer has no program; call {PROGRAM_TOOL.name} with one")
    program = calls[0].arguments.get("program") if isinstance(calls[0].arguments, dict) else None
    if calls[0].name != PROGRAM_TOOL.name or not isinstance(program, str) or not program.strip():
        raise NoProgram("no_code_found", f'call {PROGRAM_TOOL.name} with {{"program": "..."}}')
    return program.strip()


def exchange(reply: Reply, told: str) -> list[Message]:
    """An answer of the model and what it is told of it, as messages: results of its calls, where it made any."""
    calls = tuple(reply.tool_calls)
    answer = Message("assistant", reply.content, tool_calls=calls)
    if not calls:
        return [answer, Message("user", told)]
    return [answer, *(Message("tool", told, tool_call_id=call.id, tool_name=call.name) for call in calls)]


def feedback(outcome: Outcome, left: int) -> str:
    """What the model is told after a program. left: how many more it may write."""
    lines = []
    if outcome.prints:
        lines += ["Printed:", fenced("\n".join(outcome.prints), MOST_PRINTED, "print a part to see more")]
    if outcome.status == "error":
        place = f" at line {outcome.line}, column {outcome.column}" if outcome.line else ""
        lines.append(f"The program failed{place}: {outcome.message} ({outcome.reason}).")
        if outcome.excerpt:
            lines.append(outcome.excerpt)
        if outcome.hint:
            lines.append(f"Hint: {outcome.hint}.")
        lines.append(KEPT if outcome.reason == BAD_RETURN else "Nothing that it defined was kept.")
    elif outcome.text is not None and not outcome.prints:
        lines += ["Value, kept as *1:", fenced(outcome.text, MOST_VALUE, "*1 has all of it: print a part to see more")]
    elif not outcome.prints and not outcome.defined:
        lines.append("It printed nothing, and its value is nil.")
    lines += [f"Warning, {text}" for text in outcome.warnings]
    if outcome.defined:
        lines.append(f"Defined: {definitions(outcome.defined)}.")
    lines.append(turn_line(left))
    return "\n".join(lines)


def definitions(defined: Mapping[str, str]) -> str:
    """Names with what they hold, in a few words."""
    shown = [f"{name} ({text})" for name, text in list(defined.items())[:MOST_DEFINED]]
    more = len(defined) - len(shown)
    return safe(", ".join([*shown, f"and {more} more"] if more > 0 else shown))


def correction(problem: NoProgram, left: int) -> str:
    return f"{problem}.\n{turn_line(left)}"


def turn_line(left: int) -> str:
    if left == 1:
        return "This is your last program: it must end with (return answer) or (fail why)."
    return f"{left} programs left." + (" Prepare to return." if left == 2 else "")


def fenced(text: str, most: int, instead: str) -> str:
    """Output of a program, marked as such: nothing in it speaks for anybody else. instead: how to see the rest."""
    shown = text if len(text) <= most else f"{text[:most]}\n... ({len(text)} characters; {instead})"
    return f"<output>\n{safe(shown)}\n</output>"


def safe(text: str) -> str:
    """A text of a program that can't end its own marker, nor hide in control characters."""
    return MARKER.sub(r"<\\", visible(text))
