"""The envelope of a run, and its metadata."""

from __future__ import annotations

from sema_runtime.conditions.describe import condition_of
from sema_runtime.support.redaction import hidden, shown_url
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.maps import MISSING, HashMap, Map
from sema_runtime.workflow.journal.values import name_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

STATUS, SUCCESS, FAILED = keyword("status"), keyword("success"), keyword("failed")


def success(value: Any) -> Any:
    """The envelope of a body that has returned: its own, if it made one."""
    if isinstance(value, Map | HashMap) and value.lookup(STATUS, MISSING) is not MISSING:
        return value
    return Map({STATUS: SUCCESS, keyword("value"): value})


def status_of(envelope: Any) -> Any:
    """Its :status as JSON has it: a keyword is its name."""
    status = envelope.lookup(STATUS) if isinstance(envelope, Map | HashMap) else None
    return status.name if isinstance(status, Keyword) else status


def is_failure(envelope: Any) -> bool:
    """Whether the body has given an envelope that says so."""
    return isinstance(envelope, Map | HashMap) and envelope.lookup(STATUS) is FAILED


def failure(message: str) -> Map:
    """The envelope of a run that failed."""
    return Map({STATUS: FAILED, keyword("error"): message})


def shown(error: BaseException) -> str:
    """An error as people see it."""
    if not isinstance(error, Exception):
        return word(error)
    condition = condition_of(error)
    return "cancelled" if condition.kind == "cancelled" else hidden(condition.display())


def word(error: BaseException) -> str:
    if isinstance(error, KeyboardInterrupt):
        return "interrupted"
    return "the program was ended" if isinstance(error, SystemExit) else "cancelled"


def phases(meta: Any) -> tuple[str, ...]:
    """The phases that the meta map declares."""
    from sema_runtime.values.matching import sequence_items

    declared = meta.lookup(keyword("phases")) if isinstance(meta, Map) else None
    names = map(name_of, sequence_items(declared) or ())
    return tuple(name for name in names if name is not None)


def redacted(meta: Any) -> Any:
    """The meta map as JSON, without the headers and the environment of MCP servers, where secrets are."""
    servers = meta.get("mcp") if isinstance(meta, dict) else None
    for spec in servers.values() if isinstance(servers, dict) else ():
        for part in ("headers", "env"):
            values = spec.get(part) if isinstance(spec, dict) else None
            if isinstance(values, dict):
                spec[part] = dict.fromkeys(values, "<redacted>")
        if isinstance(spec, dict) and isinstance(spec.get("url"), str):
            spec["url"] = shown_url(spec["url"])
    return meta
