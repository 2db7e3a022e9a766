"""Typed answers: extraction by schema, classification, comparison, summaries.

`base` is a request without messages: the model, the limits and the settings of every call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from sema_runtime.llm.complete import complete
from sema_runtime.llm.errors import ProviderError
from sema_runtime.llm.jsonable import is_sequence, key_text, to_sema
from sema_runtime.llm.messages import Image, Message, Request
from sema_runtime.llm.tools import schema as schemas
from sema_runtime.llm.wires.native import is_open, without_nulls
from sema_runtime.support.json_input import loads
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import LlmError, SemaError, type_error

FENCE = "```"
DECODE_WORDS = ("failed to parse LLM JSON response", "Response was")
VALUE = "value"  # the key that wraps an answer that is no object
BULLETS = ("bullet-points", "bullets")


IMAGE_REQUEST = "Extract the data from this image. Answer in JSON."


def extract(
    schema: Any,
    text: str,
    base: Request,
    validate: bool = True,
    retries: int = 2,
    reask: bool = True,
    native: bool = False,
) -> Any:
    """Returns data in the shape of schema, extracted from text. Raises LlmError at once for a reply that is no JSON,
    and after that many retries for one that breaks the schema. native: the provider enforces the schema, if it can."""
    extraction = Extraction(schema, "the user's text", native)
    system = extraction.instruction
    wrong: list[str] = []
    for _ in range(max(0, retries) + 1):
        value, reply = extraction.ask(base, Message("user", text), system)
        wrong = schemas.problems(schema, value) if validate else []
        if not wrong:
            return value
        errors = "; ".join(wrong)
        if reask:
            system = (
                f"Your previous answer was:\n```json\n{reply}\n```\nIt is wrong: {errors}\n"
                f"Answer with one corrected JSON object that matches this schema, and nothing else:\n{extraction.shape}"
            )
        else:
            system = f"{extraction.instruction}\nAn earlier answer was wrong: {errors}"
    raise LlmError(f"extraction validation failed after {max(0, retries) + 1} attempt(s): {'; '.join(wrong)}")


def extract_from_image(schema: Any, image: Image, base: Request, native: bool = False) -> Any:
    """Returns data in the shape of schema, extracted from a picture; not validated. Raises LlmError unless it is
    JSON."""
    extraction = Extraction(schema, "the image", native)
    return extraction.ask(base, Message("user", IMAGE_REQUEST, images=(image,)), extraction.instruction)[0]


class Extraction:
    """What all attempts share. subject: where the data is, for the model's instruction."""

    def __init__(self, schema: Any, subject: str, native: bool) -> None:
        if schema is None or isinstance(schema, bool | int | float) or (callable(schema) and not _is_shape(schema)):
            type_error("schema map", schema)
        self.shape = schemas.described(schema)
        self.instruction = (
            f"Extract data from {subject}. Answer with one JSON object that matches this schema, and nothing else:\n"
            + self.shape
        )
        self.answer = Answer(schema) if native else None

    def ask(self, base: Request, message: Message, system: str) -> tuple[Any, str]:
        """Asks once; returns the answer as data and as text."""
        request = replace(base, messages=[message], system=system, json_mode=True)
        if self.answer is None:
            content = complete(request).content
            return to_sema(decoded(content, *DECODE_WORDS)), content
        request.answer_schema = self.answer.schema
        try:
            content = complete(request).content
        except ProviderError as error:
            if error.status == 400:
                error.hint = "the model may not take a schema, or not this one: leave :mode :native out"
            raise
        return to_sema(self.answer.value(decoded(content, *DECODE_WORDS))), content


def _is_shape(schema: Any) -> bool:
    """Whether a callable value is a schema."""
    return isinstance(schema, Keyword) or hasattr(schema, "described")


class Answer:
    """A schema as providers require it, an object, and the value in an answer to it."""

    def __init__(self, schema: Any) -> None:
        self.plain = schemas.answer_schema("llm/extract", schema)
        if is_open(self.plain):
            raise SemaError(
                "llm/extract: :mode :native needs objects whose keys are given", "leave the mode out for open ones"
            )
        self.wrapped = self.plain.get("type") != "object"
        self.schema = self.plain
        if self.wrapped:
            self.schema = {"type": "object", "properties": {VALUE: self.plain}, "required": [VALUE]}

    def value(self, answer: Any) -> Any:
        if self.wrapped and isinstance(answer, dict) and VALUE in answer:
            answer = answer[VALUE]
        return without_nulls(self.plain, answer)


def decoded(content: str, failure: str, label: str) -> Any:
    """Returns the JSON in a reply, without a code fence. Raises LlmError `FAILURE: why\\nLABEL: reply`."""
    text = unfenced(content)
    try:
        return loads(text)
    except (ValueError, RecursionError) as error:
        from sema_runtime.support.json_errors import first_error

        reason = " ".join(first_error(text) or (str(error),))
        raise LlmError(f"{failure}: {reason}\n{label}: {content}") from None


def unfenced(content: str) -> str:
    text = content.strip()
    if text.startswith(FENCE):
        text = text.removeprefix(FENCE).removeprefix("json").removesuffix(FENCE)
    return text.strip()


def classify(labels: Any, text: str, base: Request) -> Any:
    """Returns the label that the model chose (a keyword, if the label is one), or its reply as a string."""
    if not is_sequence(labels):
        type_error("list or vector", labels)
    names = [key_text(label) for label in labels]
    system = (
        f"Classify the user's text as one of these categories: {', '.join(names)}."
        " Answer with only the category's name."
    )
    answer = complete(replace(base, messages=[Message("user", text)], system=system)).content.strip()
    known = any(isinstance(label, Keyword) and label.name == answer for label in labels)
    return keyword(answer) if known else answer


def summarize(text: str, base: Request, words: int | None = None, style: str = "") -> str:
    """Returns a summary. style: `bullet-points`, `one-line`, else a paragraph."""
    if style in BULLETS:
        system = "Summarize the user's text as bullet points."
    elif style == "one-line":
        system = "Summarize the user's text in a single line."
    else:
        system = "Summarize the user's text in one concise paragraph."
    if words is not None:
        system += f" Use at most {words} words."
    return complete(replace(base, messages=[Message("user", text)], system=system)).content


def compare(first: str, second: str, base: Request) -> Any:
    """Returns {:similarity :differences :summary}. Raises LlmError for a reply that is no JSON."""
    system = (
        'Compare the two texts. Answer with one JSON object and nothing else: "similarity" (a number from 0 to 1),'
        ' "differences" (a list of strings) and "summary" (a string).'
    )
    user = f"Text A:\n{first}\n\nText B:\n{second}"
    reply = complete(replace(base, messages=[Message("user", user)], system=system, json_mode=True))
    return to_sema(decoded(reply.content, "failed to parse comparison JSON", "Response"))
