"""The API keys and passwords that this process knows, and texts with `[redacted]` in their place."""

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

REDACTED = "[redacted]"
SHORTEST = 12  # characters; `none`, `test` and other stand-ins for keys are words that texts contain
SUFFIXES = ("API_KEY", "ACCESS_KEY", "SECRET_KEY", "TOKEN", "SECRET", "PASSWORD")  # of names of variables


key_sources: dict[str, Callable[[], Iterable[str]]] = {}  # by the name of who holds keys, such as the providers


def known() -> list[str]:
    """The secrets of this process, longest first: values of variables named like `X_API_KEY`, keys of `key_sources`."""
    values = {value for name, value in os.environ.items() if name.upper().endswith(SUFFIXES)}
    for source in tuple(key_sources.values()):
        values.update(source())
    return sorted((value for value in values if len(value) >= SHORTEST), key=len, reverse=True)


def redacted(text: str, secrets: Sequence[str]) -> str:
    """The text with each of the secrets replaced."""
    for secret in secrets:
        if secret in text:
            text = text.replace(secret, REDACTED)
    return text


def redacted_json(value: Any, secrets: Sequence[str]) -> Any:
    """Decoded JSON with the secrets in its strings and keys replaced."""
    if isinstance(value, str):
        return redacted(value, secrets)
    if isinstance(value, dict):
        return {redacted(key, secrets): redacted_json(inner, secrets) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [redacted_json(inner, secrets) for inner in value]
    return value


def redacted_pieces(pieces: list[str], secrets: Sequence[str]) -> list[str]:
    """The pieces of a streamed text with the secrets replaced, those too that begin in one piece and end in another:
    such a one is replaced where it begins."""
    whole = "".join(pieces)
    if not any(secret in whole for secret in secrets):
        return pieces
    piece_of: list[int] = [index for index, piece in enumerate(pieces) for _ in piece]  # by place in whole
    replaced = [""] * len(pieces)
    at = 0
    while at < len(whole):
        secret = next((secret for secret in secrets if whole.startswith(secret, at)), None)
        replaced[piece_of[at]] += whole[at] if secret is None else REDACTED
        at += 1 if secret is None else len(secret)
    return replaced
