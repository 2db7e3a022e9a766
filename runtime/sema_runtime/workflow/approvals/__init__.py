"""Approvals: a run stops until a person has agreed to its next action.

gate.py is what a run does; records.py, files.py and keys.py are the request, the decision and who may make it;
deciding.py is what people do from outside. `configure` says how the runs of this process ask.
"""

from __future__ import annotations

from contextvars import ContextVar
from dataclasses import dataclass

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MODES = ("auto", "prompt", "pause", "deny")
EXIT = {"failed": 1, "rejected": 1, "denied": 1, "needs-auth": 2, "needs-approval": 3}


@dataclass(frozen=True, slots=True)
class Settings:
    """mode: prompt, pause or deny. public_key: of the authority, base64; None when nobody can decide, or with prompt
    the user. key: the private one, where this process decides. code_version: of the program with all it imports; "" for
    that of the run; None when nothing can be approved, as the program doesn't show which files it comes from. options:
    the words of the command line with which a resumed run asks in the same way."""

    mode: str = "pause"
    public_key: str | None = None
    key: Any = None
    actor: str = "local-user"
    code_version: str | None = ""
    options: tuple[str, ...] = ()


settings: ContextVar[Settings] = ContextVar("approval_settings", default=Settings())  # noqa: B039 (frozen)


def configure(
    mode: str = "auto",
    public_key_file: str | None = None,
    signing_key_file: str | None = None,
    actor: str | None = None,
    code_version: str | None = "",
) -> None:
    """How the runs that are started from here ask. mode auto: pause when a key is given; else prompt on a terminal;
    else pause. Raises SemaError for files that hold no keys, and for two that don't belong together."""
    from sema_runtime.values.errors import SemaError

    if mode not in MODES:
        raise SemaError(f"--approval-mode must be one of {', '.join(MODES)}, not {mode}")
    public, key = None, None
    words = {"mode": None if mode == "auto" else mode, "public-key-file": public_key_file}
    options = [word for name, value in words.items() if value for word in (f"--approval-{name}", value)]
    if signing_key_file is not None:
        options += ["--view", "--approval-signing-key-file", signing_key_file]
    if public_key_file is not None or signing_key_file is not None:
        from sema_runtime.workflow.approvals import keys

        key = None if signing_key_file is None else keys.read_private(signing_key_file)
        public = keys.public_of(key) if key is not None else None
        if public_key_file is not None:
            public_key = keys.read_public(public_key_file)
            if public not in (None, public_key):
                raise SemaError("the signing key and the public key for approvals are not a pair")
            public = public_key
    if mode == "auto":
        mode = "prompt" if public is None and _on_terminal() else "pause"
    if mode == "prompt" and public is not None and key is None:
        raise SemaError("--approval-mode prompt needs the signing key, not the public one: it decides here")
    settings.set(Settings(mode, public, key, actor or default_actor(), code_version, tuple(options)))


def _on_terminal() -> bool:
    import os
    import sys

    return sys.stdin.isatty() and sys.stderr.isatty() and not os.environ.get("CI")


def default_actor() -> str:
    """The name of the person who decides here, by the environment."""
    import os

    names = ("SEMA_APPROVAL_ACTOR", "USER", "USERNAME")
    return next((os.environ[name] for name in names if os.environ.get(name)), "local-user")


def now() -> str:
    """UTC to the second."""
    import os
    import time

    return os.environ.get("SEMA_WORKFLOW_FIXED_TS") or time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())


def guidance(envelope: Any, run_dir: str, resume: str = "--resume RUN") -> str:
    """What to do about a run that needs approval. resume: the command line that resumes it."""
    from sema_runtime.values.atoms import keyword

    run_id, approval_id = (str(envelope.lookup(keyword(name))) for name in ("run-id", "approval-id"))
    own = settings.get()
    if own.mode == "prompt":
        return f"run {run_id} needs approval. Go on with it to be asked again:\n  {resume}"
    if own.public_key is None:
        return (
            f"run {run_id} needs approval, and was given no key of anybody who could decide. Go on with one:\n"
            f"  {resume} --approval-public-key-file FILE\n"
            "`sema workflow approval-keygen` makes keys; with --approval-mode prompt you are asked here"
        )
    where = "" if run_dir in ("", ".sema/runs") else f" --run-dir {run_dir}"
    page = "" if own.key is None else "  (or in the viewer)"
    return (
        f"run {run_id} needs approval:\n"
        f"  sema workflow approvals {run_id}{where}\n"
        f"  sema workflow approve {run_id} {approval_id} --signing-key-file FILE{where}{page}\n"
        f"then go on with:\n  {resume}"
    )


def exit_code(envelope: Any) -> int:
    """Of `sema workflow run`: 0 success or a status of the program's own, 1 failed, rejected or denied, 2 needs-auth, 3
    needs-approval."""
    from sema_runtime.values.atoms import Keyword, keyword
    from sema_runtime.values.maps import HashMap, Map

    status = envelope.lookup(keyword("status")) if isinstance(envelope, Map | HashMap) else None
    return EXIT.get(status.name, 0) if isinstance(status, Keyword) else 0
