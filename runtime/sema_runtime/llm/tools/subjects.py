"""What a tool may declare that it touches (`:policy-subjects` of `deftool`), which rules of policies name too."""

from __future__ import annotations

SUBJECT_KEYS: dict[str, tuple[str, ...]] = {  # by kind: the required key, then the optional ones
    "file-read": ("path-arg",),
    "file-write": ("path-arg",),
    "file-delete": ("path-arg",),
    "network-request": ("url-arg", "method"),
    "command": ("command-arg",),
    "external-action": ("action", "target-arg"),
}
