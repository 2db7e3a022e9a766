"""The errors of invalid patterns, laid out as in the reference."""

from __future__ import annotations

from sema_runtime.values.errors import SemaError

HINT = "Sema uses Rust regex syntax (no lookahead/lookbehind). See https://docs.rs/regex"


def too_large() -> SemaError:
    return SemaError("invalid regex pattern: Compiled regex exceeds size limit of 10485760 bytes.", HINT)


def syntax_error(pattern: str, message: str, spans: list[tuple[int, int]]) -> SemaError:
    """The condition for an invalid pattern. spans: the places of the error in the pattern."""
    return SemaError(f"invalid regex pattern: regex parse error:\n{_marked(pattern, spans)}\nerror: {message}", HINT)


def _marked(text: str, spans: list[tuple[int, int]]) -> str:
    """The pattern with carets under the spans, laid out as in the reference."""
    if "\n" not in text:
        return f"    {text}\n    {_carets(spans, 0, len(text) + 1)}"
    rule = "~" * 79
    lines = text.split("\n")
    width = len(str(len(lines)))
    out = [rule]
    start = 0
    for number, line in enumerate(lines, 1):
        out.append(f"{number:>{width}}: {line}")
        if any(start <= first <= start + len(line) for first, _ in spans):
            out.append(" " * (width + 2) + _carets(spans, start, start + len(line) + 1))
        start += len(line) + 1
    return "\n".join([*out, rule])


def _carets(spans: list[tuple[int, int]], start: int, end: int) -> str:
    line = ""
    for first, last in spans:
        if start <= first < end:
            line = line.ljust(first - start) + "^" * max(1, min(last, end) - first)
    return line
