"""Requests for approval and the decisions about them: their fields, their digests, and their files.

The digests and the order of fields are the format that other implementations read.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, fields
from hashlib import sha256

from sema_runtime.support.json_input import loads
from sema_runtime.values.errors import SemaError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

REQUEST_VERSION, DECISION_VERSION, REVISION = 2, 1, 1
APPROVE, REJECT = "approve", "reject"
LONGEST = 1024  # characters of a reason, a preview, a comment or a name
IDENTITY = (
    *("schema_version", "revision", "run_id", "workflow", "code_version", "args_digest"),
    *("phase", "key", "occurrence", "subject_digest", "reason", "preview"),
)
BINDING = (
    *("schema_version", "approval_id", "request_digest", "request_revision", "decision"),
    *("actor", "provenance", "comment", "reason", "decided_at"),
)


def compact(value: Any) -> bytes:
    """JSON without spaces, the keys of objects in their order."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def digest(value: Any) -> str:
    return sha256(compact(value)).hexdigest()


@dataclass(frozen=True, slots=True)
class Request:
    """What is asked. code_version, args_digest: of the program and its arguments. occurrence: how many with the same
    key came before it in the run. requested_at: UTC. authority_public_key: base64 of the key whose decision counts,
    None when the run was given none."""

    schema_version: int
    approval_id: str
    identity_digest: str
    request_digest: str
    revision: int
    run_id: str
    workflow: str
    code_version: str
    args_digest: str
    phase: str
    key: str
    occurrence: int
    subject_digest: str
    reason: str
    preview: str | None
    requested_at: str
    authority_public_key: str | None

    def is_consistent(self) -> bool:
        """Whether the digests and the id are those of the other fields."""
        return self == request_of(asdict(self), self.requested_at, self.authority_public_key)


def request_of(identity: dict[str, Any], requested_at: str, authority: str | None) -> Request:
    """The request with the fields of an identity, its digests computed."""
    about = {name: identity[name] for name in IDENTITY}
    whole = digest(about)
    return Request(
        approval_id=f"apr_{whole[:24]}",
        identity_digest=whole,
        request_digest=digest(
            {"identity_digest": whole, "requested_at": requested_at, "authority_public_key": authority}
        ),
        requested_at=requested_at,
        authority_public_key=authority,
        **about,
    )


@dataclass(frozen=True, slots=True)
class Decision:
    """decision: approve or reject. provenance: where it was made (command-line, terminal, viewer). signature: base64 of
    Ed25519 over the binding."""

    schema_version: int
    decision_id: str
    approval_id: str
    request_digest: str
    request_revision: int
    decision: str
    actor: str
    provenance: str
    comment: str | None
    reason: str | None
    decided_at: str
    signature: str

    def binding(self) -> bytes:
        """What is signed."""
        return binding(asdict(self))

    def is_consistent(self) -> bool:
        return self.decision in (APPROVE, REJECT) and self.decision_id == decision_id(self.binding(), self.signature)


def binding(about: dict[str, Any]) -> bytes:
    return compact({name: about[name] for name in BINDING})


def decision_id(bound: bytes, signature: str) -> str:
    digest = sha256()
    for field in (sha256(bound).hexdigest().encode(), signature.encode()):
        digest.update(len(field).to_bytes(8, "little"))
        digest.update(field)
    return f"dec_{digest.hexdigest()[:24]}"


# Files


def text_of(record: Request | Decision) -> str:
    """The text of its file; absent fields are left out."""
    kept = {
        name: value
        for name, value in asdict(record).items()
        if value is not None or name not in ("preview", "comment", "reason")
    }
    return json.dumps(kept, ensure_ascii=False, indent=2) + "\n"


def parsed(kind: type[Any], data: bytes, name: str) -> Any:
    """A Request or a Decision from the contents of its file. Raises SemaError for anything else."""
    try:
        values = loads(data)
    except (ValueError, RecursionError):
        values = None
    if not isinstance(values, dict):
        raise SemaError(f"{name} is no JSON object")
    types = {field.name: str(field.type) for field in fields(kind)}
    for key, value in values.items():
        if key not in types:
            raise SemaError(f"{name} has the unknown field {json.dumps(key)}")
        if not _fits(types[key], value):
            raise SemaError(f"{name}: the field {key} must be {types[key].replace('str', 'a string')}")
    missing = [key for key, kind_of in types.items() if key not in values and "None" not in kind_of]
    if missing:
        raise SemaError(f"{name} lacks the field {missing[0]}")
    record = kind(**{key: values.get(key) for key in types})
    if not record.is_consistent():
        raise SemaError(f"{name} was changed: its digests are not those of its contents")
    return record


def _fits(kind: str, value: Any) -> bool:
    if kind == "int":
        return isinstance(value, int) and not isinstance(value, bool)
    return isinstance(value, str) or ("None" in kind and value is None)
