"""What policies say of texts: those that are sent to models, and those that come back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from sema_runtime.support.json_input import loads
from sema_runtime.workflow.policy import detectors
from sema_runtime.workflow.policy.rules import BLOCK, REDACT, Field, Output, Policy, TextRule

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    from sema_runtime.workflow.policy.detectors import Span


@dataclass(frozen=True, slots=True)
class Finding:
    """Something a policy is against. label: of the detector or the rule; count: how often. reason: for people."""

    policy: str
    rule: str
    label: str
    count: int
    action: str
    reason: str


class Scan:
    """Texts and where in them something is to be taken out. section: input or output."""

    def __init__(self, section: str, texts: list[str]) -> None:
        self.section = section
        self.texts = texts
        self._spans: dict[str, list[list[Span]]] = {}  # by detector, for each text
        self._taken_out: set[str] = set()

    def findings(self, policy: Policy, wanted: tuple[tuple[str, str], ...]) -> Iterator[Finding]:
        """What the detectors of a policy find. A text that is too large isn't read, and may not pass."""
        if wanted and any(_too_large(text) for text in self.texts):
            rule = f"{self.section}.size"
            yield Finding(policy.name, rule, "size", 1, BLOCK, "a text of more than 16 MiB can't be checked")
            return
        for name, action in wanted:
            count = sum(map(len, self._found(name)))
            if not count:
                continue
            if action == REDACT:
                self._taken_out.add(name)
            reason = f"it holds what looks like {WORDS[name]}"
            yield Finding(policy.name, f"{self.section}.detect.{name}", name, count, action, reason)

    def _found(self, name: str) -> list[list[Span]]:
        if name not in self._spans:
            self._spans[name] = detectors.spans(name, self.texts)
        return self._spans[name]

    def redacted(self) -> list[str]:
        """The texts without what policies want out of them; the list itself when that is nothing."""
        if not self._taken_out:
            return self.texts
        return [
            detectors.redacted(text, [(name, span) for name in self._taken_out for span in self._spans[name][place]])
            for place, text in enumerate(self.texts)
        ]


WORDS = {
    "secret": "a secret",
    "email": "an email address",
    "phone": "a phone number",
    "ipv4": "an IP address",
    "payment-card": "the number of a payment card",
}


def _too_large(text: str) -> bool:
    return len(text) * 4 > detectors.LARGEST and len(text.encode("utf-8", "surrogatepass")) > detectors.LARGEST


# Replies


def reply_findings(policy: Policy, output: Output, text: str, final: bool) -> Iterator[Finding]:
    """What the rules of a policy, but for its detectors, have against a reply. final: with it the exchange ends."""
    for rule in output.forbid:
        count = _count(rule, text)
        if count:
            yield _finding(policy, output, f"forbid.{rule.id}", rule.id, count, "it holds a forbidden text")
    if not final:
        return
    for rule in output.require:
        if not _count(rule, text):
            yield _finding(policy, output, f"require.{rule.id}", rule.id, 1, "it lacks a required text")
    if output.max_length is not None and len(text) > output.max_length:
        reason = f"it has {len(text)} characters, more than {output.max_length}"
        yield _finding(policy, output, "max-length", "max-length", 1, reason)
    if output.schema is not None:
        problems = schema_problems(output.schema, text)
        if problems:
            yield _finding(policy, output, "schema", "schema", len(problems), "; ".join(problems[:5]))


def _finding(policy: Policy, output: Output, rule: str, label: str, count: int, reason: str) -> Finding:
    return Finding(policy.name, f"output.{rule}", label, count, output.action, reason)


def _count(rule: TextRule, text: str) -> int:
    if rule.text:
        return text.count(rule.text)
    return sum(1 for _ in _compiled(rule.regex, text.isascii()).matches(text))


@lru_cache(256)
def _compiled(pattern: str, ascii_text: bool) -> Any:
    from sema_runtime.support.regex.compiled import Compiled

    return Compiled(pattern, ascii_text)


TYPES: dict[str, tuple[type, ...]] = {"string": (str,), "number": (int, float), "boolean": (bool,), "list": (list,)}


def schema_problems(schema: tuple[Field, ...], text: str) -> list[str]:
    """Why a reply isn't the JSON object that is wanted; none when it is. Values are never named."""
    try:
        value = loads(text)
    except (ValueError, RecursionError):
        return ["it is no JSON"]
    if not isinstance(value, dict):
        return ["it is no JSON object"]
    problems = []
    for field in schema:
        if field.name not in value:
            if not field.optional:
                problems.append(f"{field.name} is missing")
        elif not _is_a(field.type, value[field.name]):
            problems.append(f"{field.name} is no {field.type}")
    return problems


def _is_a(kind: str, value: Any) -> bool:
    return isinstance(value, TYPES[kind]) and (kind == "boolean" or not isinstance(value, bool))
