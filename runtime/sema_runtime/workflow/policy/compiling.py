"""Policies from the maps that programs write. Mistakes are errors when a policy is attached, not when it is used."""

from __future__ import annotations

from collections.abc import Iterator

from sema_runtime.llm.jsonable import is_map, is_sequence, pairs
from sema_runtime.llm.tools.subjects import SUBJECT_KEYS
from sema_runtime.values.errors import SemaError
from sema_runtime.values.typenames import type_name
from sema_runtime.workflow.policy.detectors import NAMES as DETECTORS
from sema_runtime.workflow.policy.matching import compiled_domain, compiled_path
from sema_runtime.workflow.policy.reading import Section, did_you_mean, name_of
from sema_runtime.workflow.policy.rules import (
    AUDIT,
    BLOCK,
    FAIL,
    KINDS_OF_PATTERN,
    REDACT,
    SKIP,
    TOOL_ERROR,
    Constraint,
    Field,
    Input,
    Models,
    Output,
    Pattern,
    Policy,
    SubjectRule,
    Subjects,
    TextRule,
    Tools,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SECTIONS = ("models", "tools", "subjects", "input", "output", "metadata", "completion")
HIDDEN = ("__policy-name", "__policy-version")  # what defpolicy adds
RUN_ONLY = ("metadata", "completion")
ARGUMENTS = {"paths": "path", "domains": "url", "commands": "command"}
FIELD_TYPES = ("string", "number", "boolean", "list")
ACTIONS = (AUDIT, REDACT, BLOCK)
LONGEST = 1 << 31  # characters


def compiled(value: Any, step: bool = False) -> tuple[Policy, ...]:
    """The policies of a `:policy` option: a map, a list or vector of them, nil. step: of a step, which has no
    :metadata and no :completion. Raises SemaError for what is no policy."""
    if value is None:
        return ()
    if is_map(value):
        return (_policy(value, step),)
    if not is_sequence(value):
        raise SemaError(f":policy must be a policy map or a list of them, got {type_name(value)}")
    for item in value:
        if not is_map(item):
            raise SemaError(f":policy must hold policy maps, got {type_name(item)}")
    return tuple(_policy(item, step) for item in value)


def _policy(value: Any, step: bool) -> Policy:
    entries = {key: inner for key, inner in pairs(value) if name_of(key) not in HIDDEN}
    name = next((name_of(inner) for key, inner in pairs(value) if name_of(key) == HIDDEN[0]), None) or "inline"
    top = Section(name, "", entries, SECTIONS)
    for key in RUN_ONLY:
        if step and key in top.entries:
            top.wrong(f"can't have :{key} on a step", "it belongs into the meta map of defworkflow")
    return Policy(
        name=name,
        fingerprint=fingerprint_of(name, entries),
        models=_models(top.section("models", ("default", "allow", "deny", "on-deny"))),
        tools=_tools(top.section("tools", ("default", "allow", "deny", "on-deny"))),
        subjects=_subjects(top.section("subjects", ("default", "allow", "deny"))),
        input=_input(top.section("input", ("detect", "actions"))),
        output=_output(top.section("output", OUTPUT_KEYS)),
        metadata=_metadata(top.section("metadata", ("require",))),
        events=_events(top.section("completion", ("require-events",))),
    )


def fingerprint_of(name: str, entries: dict[Any, Any]) -> str:
    """Of a policy: SHA-256 over its name and its rules as JSON with sorted keys."""
    from hashlib import sha256

    from sema_runtime.llm.jsonable import to_json
    from sema_runtime.support.compact_json import dumps

    text = f"{name}\0{dumps(to_json(entries))}"
    return f"sha256:{sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()}"


def _default_allows(section: Section) -> bool:
    return section.choice("default", ("deny", "allow"), "deny") == "allow"


# Models


def _models(section: Section | None) -> Models | None:
    if section is None:
        return None
    for key in ("allow", "deny"):
        for target in section.names(key):
            provider, slash, model = target.partition("/")
            if not (provider and slash and model) or "*" in provider or ("*" in model and model != "*"):
                section.wrong(f'must hold "provider/model" or "provider/*", got "{target}"', key=key)
    return Models(
        section.names("allow"),
        section.names("deny"),
        _default_allows(section),
        section.choice("on-deny", (FAIL, SKIP), FAIL),
    )


# Tools and what they touch


def _tools(section: Section | None) -> Tools | None:
    if section is None:
        return None
    allow = section.section("allow")
    allowed = {}
    for tool in allow.entries if allow is not None else ():
        assert allow is not None
        limits = allow.section(tool, tuple(ARGUMENTS))
        allowed[tool] = () if limits is None else tuple(_constraints(limits))
    return Tools(
        allowed, section.names("deny"), _default_allows(section), section.choice("on-deny", (FAIL, TOOL_ERROR), FAIL)
    )


def _constraints(section: Section) -> Iterator[Constraint]:
    for kind, argument in ARGUMENTS.items():
        value = section.entries.get(kind)
        if value is None:
            continue
        if is_sequence(value) and not any(is_map(item) for item in value):
            yield Constraint(argument, _pattern(section, kind, kind))
            continue
        keys = ("arg", "allow", "deny", *(("schemes", "ports") if kind == "domains" else ()))
        if is_map(value):
            value = [value]
        if not is_sequence(value):
            section.wrong(f"must be a list of strings or a selector map, got {type_name(value)}", key=kind)
        for selector in value:
            limits = Section(section.policy, section.place(kind), selector, keys)
            yield Constraint(limits.text("arg") or argument, _pattern(limits, kind, "allow"))


def _pattern(section: Section, kind: str, key: str) -> Pattern:
    """From a map in which key holds what is allowed, and :deny, :schemes and :ports may hold more."""
    if not section.names(key):
        section.wrong("must not be empty", "an empty list would allow nothing: leave the tool out instead", key)
    schemes = tuple(scheme.lower() for scheme in section.names("schemes")) if key == "allow" else ()
    return Pattern(
        kind,
        _parts(section, kind, key),
        _parts(section, kind, "deny") if key == "allow" else (),
        schemes or ("https",),
        section.integers("ports", 1, 65535) if key == "allow" else (),
    )


def _parts(section: Section, kind: str, key: str) -> tuple[Any, ...]:
    parts: list[Any] = []
    for text in section.names(key):
        try:
            parts.append(
                compiled_path(text) if kind == "paths" else compiled_domain(text) if kind == "domains" else text
            )
        except ValueError as error:
            section.wrong(f'has "{text}": {error}', key=key)
    return tuple(parts)


def _subjects(section: Section | None) -> Subjects | None:
    if section is None:
        return None
    return Subjects(_subject_rules(section, "allow"), _subject_rules(section, "deny"), _default_allows(section))


def _subject_rules(section: Section, key: str) -> tuple[SubjectRule, ...]:
    keys = ("kind", *ARGUMENTS, "methods", "actions")
    return tuple(_subject_rule(rule) for rule in section.sections(key, keys))


def _subject_rule(rule: Section) -> SubjectRule:
    if "kind" not in rule.entries:
        rule.wrong("is missing :kind", did_you_mean("", SUBJECT_KEYS))
    kind = rule.one_of("kind", rule.entries["kind"], SUBJECT_KEYS)
    pattern_kind = KINDS_OF_PATTERN.get(kind)
    fitting = {pattern_kind, "methods" if kind == "network-request" else None}
    if kind == "external-action":
        fitting = {"actions"}
    for key in rule.entries:
        if key != "kind" and key not in fitting:
            valid = ", ".join(f":{field}" for field in sorted(filter(None, fitting)))
            rule.wrong(f"of kind :{kind} can't have :{key}", f"it may have {valid}")
    pattern = None
    if pattern_kind in rule.entries and pattern_kind is not None:
        parts = _parts(rule, pattern_kind, pattern_kind)
        if not parts:
            rule.wrong("must not be empty", key=pattern_kind)
        pattern = Pattern(pattern_kind, parts)
    methods = tuple(method.upper() for method in rule.names("methods"))
    return SubjectRule(kind, pattern, methods, rule.names("actions"))


# Texts


def _detectors(section: Section) -> tuple[tuple[str, str], ...]:
    names = [section.one_of("detect", name, DETECTORS) for name in section.names("detect")]
    actions = section.section("actions")
    chosen = dict.fromkeys(names, BLOCK)
    for name in actions.entries if actions is not None else ():
        assert actions is not None
        if name not in chosen:
            actions.wrong(f"has :{name}, which :detect doesn't list", did_you_mean(name, chosen or DETECTORS))
        chosen[name] = actions.choice(name, ACTIONS, BLOCK)
    return tuple(chosen.items())


def _input(section: Section | None) -> Input | None:
    return None if section is None else Input(_detectors(section))


OUTPUT_KEYS = ("detect", "actions", "forbid", "schema", "require", "max-length", "action")


def _output(section: Section | None) -> Output | None:
    if section is None:
        return None
    return Output(
        detectors=_detectors(section),
        forbid=_text_rules(section, "forbid"),
        schema=_schema(section),
        require=_text_rules(section, "require"),
        max_length=section.integer("max-length", 0, LONGEST),
        action=section.choice("action", (BLOCK, AUDIT), BLOCK),
    )


def _text_rules(section: Section, key: str) -> tuple[TextRule, ...]:
    """Maps with an :id and a :contains or :regex; under :require, plain strings too."""
    from sema_runtime.support.regex.compiled import Compiled

    rules: dict[str, TextRule] = {}
    if key == "require" and not any(is_map(item) for item in section.items(key)):
        return tuple(TextRule(text, text) for text in section.names(key))
    for rule in section.sections(key, ("id", "contains", "regex")):
        name, text, regex = rule.text("id"), rule.entries.get("contains"), rule.entries.get("regex")
        if name is None:
            rule.wrong("is missing :id")
        if name in rules:
            rule.wrong(f'has the :id "{name}" of another one')
        if (text is None) == (regex is None):
            rule.wrong("needs either :contains or :regex")
        for option, value in (("contains", text), ("regex", regex)):
            if value is not None and (not isinstance(value, str) or not value):
                rule.wrong("must be a non-empty string", key=option)
        try:
            Compiled(regex or "", ascii_text=False)
        except SemaError as error:
            rule.wrong(f"is no regular expression: {error.message}", key="regex")
        rules[name] = TextRule(name, text or "", regex or "")
    return tuple(rules.values())


def _schema(section: Section) -> tuple[Field, ...] | None:
    schema = section.section("schema")
    if schema is None:
        return None
    fields = []
    for name, value in schema.entries.items():
        if is_map(value):
            spec = Section(section.policy, schema.place(name), value, ("type", "optional"))
            if "type" not in spec.entries:
                spec.wrong("is missing :type")
            fields.append(Field(name, spec.one_of("type", spec.entries["type"], FIELD_TYPES), spec.boolean("optional")))
        else:
            fields.append(Field(name, schema.one_of(name, value, FIELD_TYPES)))
    return tuple(fields)


# What concerns a whole run


def _metadata(section: Section | None) -> tuple[str, ...]:
    return () if section is None else section.names("require")


def _events(section: Section | None) -> tuple[str, ...]:
    if section is None:
        return ()
    from sema_runtime.workflow.journal.events import EVENTS

    known = [name for name in EVENTS if name not in ("run.ended", "journal.overflow", "memory")]
    return tuple(section.one_of("require-events", name, known) for name in section.names("require-events"))
