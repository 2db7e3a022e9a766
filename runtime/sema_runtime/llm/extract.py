"""Typed answers: extraction by schema, classification, comparison, summaries."""

from __future__ import annotations

import json
from typing import Any

from sema_runtime.llm import schema as schemas
from sema_runtime.llm.complete import complete
from sema_runtime.llm.jsonable import is_sequence, key_text, to_sema
from sema_runtime.llm.messages import Message, Request
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import LlmError, type_error

FENCE = "```"
BULLETS = ("bullet-points", "bullets")


def extract(schema: Any, text: str, model: str, validate: bool, retries: int, reask: bool) -> Any:
    """Data in the shape of schema, read from text. Raises LlmError for a reply that is no JSON (at once) or breaks the
    schema (after retries more attempts)."""
    shape = schemas.described(schema)
    instruction = (
        "Extract data from the user's text. Answer with one JSON object that matches this schema, and nothing else:\n"
        + shape
    )
    system = instruction
    wrong: list[str] = []
    for _ in range(max(0, retries) + 1):
        reply = complete(Request([Message("user", text)], model=model, system=system, json_mode=True))
        value = decoded(reply.content, "failed to parse LLM JSON response", "Response was")
        wrong = schemas.problems(schema, value) if validate else []
        if not wrong:
            return value
        errors = "; ".join(wrong)
        if reask:
            system = (
                f"Your previous answer was:\n```json\n{reply.content}\n```\nIt is wrong: {errors}\n"
                f"Answer with one corrected JSON object that matches this schema, and nothing else:\n{shape}"
            )
        else:
            system = f"{instruction}\nAn earlier answer was wrong: {errors}"
    raise LlmError(f"extraction validation failed after {max(0, retries) + 1} attempt(s): {'; '.join(wrong)}")


def decoded(content: str, failure: str, label: str) -> Any:
    """The JSON in a reply, its code fence removed. Raises LlmError `FAILURE: why\\nLABEL: reply`."""
    try:
        return to_sema(json.loads(unfenced(content)))
    except ValueError as error:
        raise LlmError(f"{failure}: {error}\n{label}: {content}") from None


def unfenced(content: str) -> str:
    text = content.strip()
    if text.startswith(FENCE):
        text = text.removeprefix(FENCE).removeprefix("json").removesuffix(FENCE)
    return text.strip()


def classify(labels: Any, text: str, model: str) -> Any:
    """The label (a keyword, where the label is one) that the model chose, or its reply as a string."""
    if not is_sequence(labels):
        type_error("list or vector", labels)
    names = [key_text(label) for label in labels]
    system = (
        f"Classify the user's text as one of these categories: {', '.join(names)}."
        " Answer with only the category's name."
    )
    answer = complete(Request([Message("user", text)], model=model, system=system)).content.strip()
    known = any(isinstance(label, Keyword) and label.name == answer for label in labels)
    return keyword(answer) if known else answer


def summarize(text: str, model: str, words: int | None, style: str) -> str:
    """A summary; style: `bullet-points`, `one-line`, else a paragraph."""
    if style in BULLETS:
        system = "Summarize the user's text as bullet points."
    elif style == "one-line":
        system = "Summarize the user's text in a single line."
    else:
        system = "Summarize the user's text in one concise paragraph."
    if words is not None:
        system += f" Use at most {words} words."
    return complete(Request([Message("user", text)], model=model, system=system)).content


def compare(first: str, second: str, model: str) -> Any:
    """{:similarity :differences :summary}. Raises LlmError for a reply that is no JSON."""
    system = (
        'Compare the two texts. Answer with one JSON object and nothing else: "similarity" (a number from 0 to 1),'
        ' "differences" (a list of strings) and "summary" (a string).'
    )
    user = f"Text A:\n{first}\n\nText B:\n{second}"
    reply = complete(Request([Message("user", user)], model=model, system=system, json_mode=True))
    return decoded(reply.content, "failed to parse comparison JSON", "Response")
