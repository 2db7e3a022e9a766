"""API keys and the like in texts: what is written to a file names them only as `[redacted]`."""

from __future__ import annotations

import os
import sys

from sema_runtime.support.redaction import REDACTED

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

SHORTEST = 12  # characters; `none`, `test` and other stand-ins for keys are words that texts contain
SUFFIXES = ("API_KEY", "ACCESS_KEY", "SECRET_KEY", "TOKEN", "SECRET", "PASSWORD")  # of names of variables


def known() -> list[str]:
    """The secrets of this process, longest first: keys of registered providers, variables named like `X_API_KEY`."""
    found = {value for name, value in os.environ.items() if name.upper().endswith(SUFFIXES)}
    found.update(_keys_of_providers())
    return sorted((value for value in found if len(value) >= SHORTEST), key=len, reverse=True)


def _keys_of_providers() -> Iterator[str]:
    """Of those that are registered by now; asking doesn't configure them."""
    module = sys.modules.get("sema_runtime.llm.providers")
    registry = getattr(module, "_registry", None)
    for provider in () if registry is None else registry.providers.values():
        yield provider.api_key
        for part in ("embedder", "ranker"):
            yield getattr(getattr(provider, part, None), "api_key", "")


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
    owner: list[int] = [index for index, piece in enumerate(pieces) for _ in piece]
    made = [""] * len(pieces)
    at = 0
    while at < len(whole):
        secret = next((one for one in secrets if whole.startswith(one, at)), None)
        made[owner[at]] += whole[at] if secret is None else REDACTED
        at += 1 if secret is None else len(secret)
    return made
