"""Values as the journal and the memos hold them: printed with a limit, as a digest, as JSON that restores them."""

from __future__ import annotations

import hashlib
import sys

from sema_runtime.llm.jsonable import is_map, is_sequence, key_text, pairs, to_json
from sema_runtime.support import compact_json
from sema_runtime.values.equality import equal
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import pretty, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOWN_BYTES = 8192
PROMPT_CHARS = 4000
LARGEST = 1 << 20  # bytes of a printed value that is digested or kept
WIDTH = 100
LEVELS = 100  # of lists and maps in the files for other programs, whose readers stop at 128


class Rendering:
    """A value and what is derived from its printed form, which is made once."""

    __slots__ = ("printed", "size", "value")

    def __init__(self, value: Any) -> None:
        self.value = value
        try:
            self.printed = to_text(value)
        except (RecursionError, ValueError) as error:  # too deep, or an integer with too many digits
            self.printed = f"<a value that can't be shown: {type(error).__name__}>"
        self.size = len(self.printed) if self.printed.isascii() else len(self.printed.encode("utf-8", "replace"))

    def shown(self) -> str:
        """For people: laid out for 100 columns, cut after 8192 bytes."""
        if self.size > SHOWN_BYTES:
            return f"{_first(self.printed, SHOWN_BYTES).decode()}\n… (truncated at {SHOWN_BYTES} bytes)"
        if self.size <= WIDTH:
            return self.printed
        try:
            return pretty(self.value, WIDTH)
        except (RecursionError, ValueError):
            return self.printed

    def digest(self) -> str:
        """MD5 of the value as JSON; of a large one, of the beginning of its printed form."""
        if self.size > LARGEST:
            return "oversized_" + _md5(_first(self.printed, LARGEST))
        try:
            return _md5(lossy(self.value).encode("utf-8", "replace"))
        except (RecursionError, ValueError):
            return "oversized_" + _md5(_first(self.printed, LARGEST))

    def kept(self) -> str | None:
        """JSON that gives an equal value when it is read; None when there is none, or it is too large."""
        if self.size > LARGEST:
            return None
        try:
            text = lossy(self.value)
            if len(text.encode("utf-8")) <= LARGEST and equal(from_json(text), self.value):
                return text
        except (RecursionError, ValueError, SemaError):
            pass
        return None


def lossy(value: Any) -> str:
    """Compact JSON with sorted keys. Atoms become their names, what JSON doesn't know its printed form."""
    return compact_json.dumps(to_json(value))


def pretty_json(value: Any) -> str:
    """The same over several lines, as `metadata.json` and `result.json` have it."""
    from sema_runtime.support.json import encode_pretty

    return encode_pretty(_readable(value, LEVELS))


def _readable(value: Any, levels: int) -> Any:
    """Lossy JSON that every reader takes: what is nested deeper than levels becomes its printed text, and an
    integer with more digits than Python writes in this process as text to the base 16."""
    if is_map(value) or is_sequence(value):
        if not levels:
            return Rendering(value).printed
        if is_map(value):
            return {key_text(key): _readable(inner, levels - 1) for key, inner in pairs(value)}
        return [_readable(inner, levels - 1) for inner in value]
    if isinstance(value, int):
        most = sys.get_int_max_str_digits()
        return hex(value) if most and value.bit_length() > 3 * most else value
    return to_json(value)


def from_json(text: str) -> Any:
    """The value of a JSON text: objects are maps with keywords as keys. Raises SemaError."""
    from sema_runtime.support.json import decode

    return decode(text)


def prompt_shown(prompt: str) -> str:
    """A prompt, cut after 4000 characters."""
    if len(prompt) <= PROMPT_CHARS:
        return prompt
    return f"{prompt[:PROMPT_CHARS]}\n… (truncated, {len(prompt)} chars total)"


def error_shown(message: str) -> str:
    """The error of a failed step, cut as values are."""
    size = len(message.encode("utf-8", "replace"))
    if size <= SHOWN_BYTES:
        return f"error: {message}"
    return f"error: {_first(message, SHOWN_BYTES).decode()}\n… (truncated at {SHOWN_BYTES} bytes)"


def many(count: int, noun: str) -> str:
    """A number of things, in words."""
    return f"{count} {noun}{'' if count == 1 else 's'}"


def name_of(value: Any) -> str | None:
    """The text of a keyword or a string, None for anything else."""
    from sema_runtime.values.atoms import Keyword

    if isinstance(value, Keyword):
        return value.name
    return value if isinstance(value, str) else None


def _first(text: str, size: int) -> bytes:
    """The first bytes of a text, no character cut."""
    return text[:size].encode("utf-8", "replace")[:size].decode("utf-8", "ignore").encode()


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
