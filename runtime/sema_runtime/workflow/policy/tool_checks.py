"""Whether a tool may be called with its arguments: by `:tools`, and by `:subjects` for what it says it touches."""

from __future__ import annotations

from typing import NamedTuple

from sema_runtime.llm.jsonable import is_map, pairs, to_sema
from sema_runtime.llm.tools import schema
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.atoms import keyword
from sema_runtime.workflow.policy import matching
from sema_runtime.workflow.policy.matching import Unreadable
from sema_runtime.workflow.policy.reading import name_of
from sema_runtime.workflow.policy.rules import (
    FAIL,
    KINDS_OF_PATTERN,
    Constraint,
    Pattern,
    Policy,
    SubjectRule,
    Subjects,
    Tools,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

Arguments = dict[str, list[object]]
"""By name, written with dashes: a handler finds its argument under either spelling, so there may be two."""


class Verdict(NamedTuple):
    """rule: what decided. reason: why not; "" when the call is allowed. action: what to do when it isn't."""

    rule: str
    reason: str = ""
    action: str = FAIL


def arguments_of(tool: Tool, arguments: Any) -> Arguments:
    """As the handler will see them, defaults included."""
    value = to_sema(arguments)
    named = {keyword(name_of(key) or str(key)): inner for key, inner in pairs(value)} if is_map(value) else {}
    by_name: Arguments = {}
    for key, inner in schema.with_defaults(tool.parameters, named).items():
        by_name.setdefault(_plain(key.name), []).append(inner)
    return by_name


def _plain(name: str) -> str:
    return name.replace("_", "-").lower()


def verdicts(policy: Policy, tool: Tool, arguments: Arguments) -> list[Verdict]:
    """What the sections of a policy say to a call."""
    results = []
    action = policy.tools.on_deny if policy.tools is not None else FAIL
    if policy.tools is not None:
        results.append(_tool(policy.tools, tool.name, arguments)._replace(action=action))
    if policy.subjects is not None:
        results.append(_subjects(policy.subjects, tool, arguments)._replace(action=action))
    return results


def _tool(rules: Tools, name: str, arguments: Arguments) -> Verdict:
    if name in rules.deny:
        return Verdict("tools.deny", "the tool is denied")
    constraints = rules.allow.get(name)
    if constraints is None:
        if rules.default_allow:
            return Verdict("tools.default-allow")
        return Verdict("tools.default-deny", "the tool is not allowed")
    for constraint in constraints:
        reason = _refused(constraint, arguments)
        if reason:
            return Verdict(f"tools.allow.{constraint.pattern.kind}", f"argument {constraint.argument}: {reason}")
    return Verdict("tools.allow")


def _refused(constraint: Constraint, arguments: Arguments) -> str:
    """Why an argument isn't one of those that are allowed; "" when it is."""
    values = arguments.get(_plain(constraint.argument))
    if not values:
        return "it is missing"
    try:
        if all(matching.is_allowed(constraint.pattern, value) for value in values):
            return ""
    except Unreadable as error:
        return str(error)
    return f"it is none of the allowed {constraint.pattern.kind}"


# Subjects


class Subject(NamedTuple):
    """What a tool says it touches. values: of the argument that names it. method, action: "" for none."""

    kind: str
    values: list[object]
    method: str
    action: str


def _subjects(rules: Subjects, tool: Tool, arguments: Arguments) -> Verdict:
    declared = [_subject(declaration, arguments) for declaration in tool.policy_subjects]
    if not declared and not rules.default_allow:
        return Verdict("subjects.missing", "the tool doesn't say what it touches (:policy-subjects)")
    rule = "subjects.default-allow"
    for subject in declared:
        if any(_denies(rule, subject) for rule in rules.deny):
            return Verdict("subjects.deny", f"what it touches ({subject.kind}) is denied")
        if any(_allows(rule, subject) for rule in rules.allow):
            rule = "subjects.allow"
        elif not rules.default_allow:
            return Verdict("subjects.default-deny", f"what it touches ({subject.kind}) is not allowed")
    return Verdict(rule)


def _subject(declared: Any, arguments: Arguments) -> Subject:
    entries = {name_of(key): name_of(value) for key, value in pairs(declared)}
    argument = next((entries[key] for key in ("path-arg", "url-arg", "command-arg") if entries.get(key)), None)
    values = arguments.get(_plain(argument), []) if argument is not None else []
    return Subject(
        entries.get("kind") or "", values, (entries.get("method") or "").upper(), entries.get("action") or ""
    )


def _allows(rule: SubjectRule, subject: Subject) -> bool:
    if not _concerns(rule, subject, subject.method in rule.methods):
        return False
    if rule.kind == "external-action":
        return True
    pattern = rule.pattern
    try:
        if pattern is None:
            return bool(subject.values) and all(
                matching.read_value(Pattern(KINDS_OF_PATTERN[rule.kind], ()), value) for value in subject.values
            )
        return bool(subject.values) and all(matching.is_allowed(pattern, value) for value in subject.values)
    except Unreadable:
        return False


def _denies(rule: SubjectRule, subject: Subject) -> bool:
    if not _concerns(rule, subject, not subject.method or subject.method in rule.methods):
        return False
    if rule.pattern is None or not subject.values:
        return True
    try:
        return any(matching.is_denied(rule.pattern, value) for value in subject.values)
    except Unreadable:
        return True


def _concerns(rule: SubjectRule, subject: Subject, method_fits: bool) -> bool:
    """Whether kind, method and action are those of the rule."""
    if rule.kind != subject.kind or (rule.methods and not method_fits):
        return False
    return not rule.actions or subject.action in rule.actions
