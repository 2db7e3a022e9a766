"""API keys and the like in texts: files name them only as `[redacted]`."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

REDACTED = "[redacted]"
SHORTEST = 12  # characters; texts contain `none`, `test` and other placeholders for keys
SUFFIXES = ("API_KEY", "ACCESS_KEY", "SECRET_KEY", "TOKEN", "SECRET", "PASSWORD")  # of names of variables

key_sources: dict[str, Callable[[], Iterable[str]]] = {}  # by the name of what holds keys, such as "providers"


def known() -> list[str]:
    """Returns the secrets of this process, longest first: variables like `X_API_KEY`, keys of `key_sources`."""
    secrets = {value for name, value in os.environ.items() if name.upper().endswith(SUFFIXES)}
    for source in tuple(key_sources.values()):
        secrets.update(source())
    return sorted((value for value in secrets if len(value) >= SHORTEST), key=len, reverse=True)


def redacted(text: str, secrets: Sequence[str]) -> str:
    """Returns the text with each of the secrets replaced."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


def redacted_json(value: Any, secrets: Sequence[str]) -> Any:
    """Returns decoded JSON with the secrets in its strings and keys replaced."""
    if isinstance(value, str):
        return redacted(value, secrets)
    if isinstance(value, dict):
        return {redacted(key, secrets): redacted_json(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(inner, secrets) for inner in value]
    return value


def redacted_pieces(pieces: list[str], secrets: Sequence[str]) -> list[str]:
    """Returns the pieces of a streamed text with the secrets replaced. A secret that spans pieces is replaced in the
    piece where it begins."""
    text = "".join(pieces)
    if not any(secret in text for secret in secrets):
        return pieces
    piece_of: list[int] = [index for index, piece in enumerate(pieces) for _ in piece]
    shown = [""] * len(pieces)
    at = 0
    while at < len(text):
        secret = next((secret for secret in secrets if text.startswith(secret, at)), None)
        shown[piece_of[at]] += text[at] if secret is None else REDACTED
        at += 1 if secret is None else len(secret)
    return shown
