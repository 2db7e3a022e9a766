"""What a policy map becomes once it is compiled. Nothing here changes after that."""

from __future__ import annotations

from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FAIL, SKIP, TOOL_ERROR, BLOCK, REDACT, AUDIT = "fail", "skip", "tool-error", "block", "redact", "audit"
STRICTNESS = (FAIL, BLOCK, TOOL_ERROR, SKIP, REDACT, AUDIT)
"""Actions, the strictest first."""
KINDS_OF_PATTERN = {  # of the subjects that tools declare
    "file-read": "paths",
    "file-write": "paths",
    "file-delete": "paths",
    "network-request": "domains",
    "command": "commands",
}


@dataclass(frozen=True, slots=True)
class Models:
    """allow, deny: `provider/model` or `provider/*`. on_deny: fail or skip."""

    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    default_allow: bool = False
    on_deny: str = FAIL


@dataclass(frozen=True, slots=True)
class Pattern:
    """What one value may be. kind: paths, domains or commands. parts: of a path's components; of a domain, its text;
    of a command, its text. Schemes and ports are for domains; no ports: any."""

    kind: str
    allow: tuple[Any, ...]
    deny: tuple[Any, ...] = ()
    schemes: tuple[str, ...] = ("https",)
    ports: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Constraint:
    """Of the argument of a tool with that name."""

    argument: str
    pattern: Pattern


@dataclass(frozen=True, slots=True)
class Tools:
    """allow: for each tool what its arguments must be. on_deny: fail or tool-error."""

    allow: dict[str, tuple[Constraint, ...]]
    deny: tuple[str, ...] = ()
    default_allow: bool = False
    on_deny: str = FAIL


@dataclass(frozen=True, slots=True)
class SubjectRule:
    """kind: of the subject a tool declares. pattern None: whatever can be read. methods: of network requests, upper
    case; actions: of external actions. Empty: any."""

    kind: str
    pattern: Pattern | None = None
    methods: tuple[str, ...] = ()
    actions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Subjects:
    allow: tuple[SubjectRule, ...] = ()
    deny: tuple[SubjectRule, ...] = ()
    default_allow: bool = False


@dataclass(frozen=True, slots=True)
class TextRule:
    """A text that must (`:require`) or must not (`:forbid`) be there: itself, or what a regular expression matches."""

    id: str
    text: str = ""
    regex: str = ""


@dataclass(frozen=True, slots=True)
class Field:
    """Of the JSON object a reply must be. type: string, number, boolean or list."""

    name: str
    type: str
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Input:
    """detectors: each with its action."""

    detectors: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Output:
    """detectors and forbid concern every reply, the others the last one. max_length: in characters. action: of all but
    the detectors."""

    detectors: tuple[tuple[str, str], ...] = ()
    forbid: tuple[TextRule, ...] = ()
    schema: tuple[Field, ...] | None = None
    require: tuple[TextRule, ...] = ()
    max_length: int | None = None
    action: str = BLOCK


@dataclass(frozen=True, slots=True)
class Policy:
    """A section is None when the map has none, and then says nothing. fingerprint: `sha256:` and 64 hex digits."""

    name: str
    fingerprint: str
    models: Models | None = None
    tools: Tools | None = None
    subjects: Subjects | None = None
    input: Input | None = None
    output: Output | None = None
    metadata: tuple[str, ...] = ()
    events: tuple[str, ...] = ()
