"""How an uncaught error is shown: message, source snippet, trace, hint and note."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Mapping
from typing import Any, TextIO

from sema_runtime.conditions.describe import Described, describe
from sema_runtime.conditions.tracebacks import Frame
from sema_runtime.support.visible import visible
from semac.process import flush_output

LONGEST = 400  # characters of a source line that are shown
PART, BEFORE = 120, 60  # of a longer one so many are shown, and so many of them before the place
MOST_FRAMES = 30  # of a longer trace the outermost and innermost halves are shown
RED, BLUE, GRAY, YELLOW = "38;2;224;92;92", "38;2;110;160;220", "38;2;140;140;140", "38;2;220;180;90"


class Painter:
    """Adds colour to pieces of text, or none."""

    def __init__(self, colour: bool) -> None:
        self.colour = colour

    def __call__(self, text: str, code: str) -> str:
        return f"\x1b[{code}m{text}\x1b[0m" if self.colour else text


def wants_colour(stream: TextIO) -> bool:
    """Whether escape sequences belong on a stream: a terminal, and NO_COLOR unset."""
    return "NO_COLOR" not in os.environ and stream.isatty()


def restore_terminal() -> None:
    """Undoes what the program has changed about the terminal (raw mode, spinners), so that a message can be read."""
    state = sys.modules.get("sema_runtime.support.terminal_state")
    if state is not None:
        state.restore_all()


def show_error(
    exc: BaseException, file: str = "<input>", sources: Mapping[str, str] | None = None, label: str = "Error:"
) -> None:
    """Writes an error to stderr, after what was printed; before it Python's traceback if SEMA_TRACEBACK is set."""
    restore_terminal()
    flush_output()
    if os.environ.get("SEMA_TRACEBACK"):
        import traceback

        sys.stderr.write(visible("".join(traceback.format_exception(exc))))
    stream = getattr(sys.stderr, "unescaped", sys.stderr)  # the colours are ours
    stream.write(render(exc, file, sources or {}, wants_colour(stream), label) + "\n")
    stream.flush()


def show_warnings(warnings: Iterable[Any], file: str, text: str | None) -> None:
    """Writes the warnings for a compiled file to stderr: what the language accepts although it is a mistake."""
    for warning in warnings:
        show_warning(warning, file, {} if text is None else {file: text})


def show_warning(warning: Any, file: str, sources: Mapping[str, str]) -> None:
    """Writes a `Suspicion` of the compiler to stderr: message, source line, hint."""
    paint = Painter(wants_colour(sys.stderr))
    lines = [paint("Warning:", f"1;{YELLOW}") + " " + warning.message]
    if warning.span is not None:
        lines += _snippet(file, warning.span[0], warning.span[1], sources, paint)
    lines.append(f"  {paint('hint:', YELLOW)} {warning.hint}")
    sys.stderr.write("\n".join(lines) + "\n")


def render(
    exc: BaseException, file: str, sources: Mapping[str, str], colour: bool = False, label: str = "Error:"
) -> str:
    """The lines for an error, without a final newline.

    file: what was being compiled or run, for errors that carry a position only. sources: texts of files that are not on
    disk, such as `<input>`.
    """
    shown = describe(exc)
    paint = Painter(colour)
    lines = [paint(label, f"1;{RED}") + " " + visible(shown.message)]
    place = _place(shown, getattr(exc, "source_file", None if shown.frames else file))
    if place is not None:
        lines += _snippet(*place, sources, paint)
    lines += _trace(shown.frames, paint)
    if shown.hint:
        lines.append(f"  {paint('hint:', YELLOW)} {visible(shown.hint)}")
    if shown.note:
        lines.append(f"  {paint('note:', GRAY)} {visible(shown.note)}")
    return "\n".join(lines)


def _place(shown: Described, file: str | None) -> tuple[str, int, int] | None:
    """(file, line, column) that the snippet points at: where the compiler stopped, else where the program was.

    file: what the compiler was working on; None when the program itself read a text, which nobody can look up.
    """
    if shown.place is not None and file is not None:
        return file, *shown.place
    return next(((frame.file, frame.line, frame.col) for frame in shown.frames if frame.line), None)


def _snippet(file: str, line: int, col: int, sources: Mapping[str, str], paint: Painter) -> list[str]:
    text = _source_line(file, line, sources)
    if text is None:
        return []
    text, mark = _around(text, col)
    gutter = max(2, len(str(line)))
    bar = paint(f"  {'':{gutter}} |", BLUE)
    lines = [
        f"  {paint('-->', BLUE)} {visible(shown_path(file))}:{line}:{col or 1}",
        bar,
        f"{paint(f'  {line:>{gutter}} |', BLUE)} {visible(text)}",
    ]
    if col:
        indent = "".join("\t" if char == "\t" else " " for char in visible(text[: mark - 1]))
        lines.append(f"{bar} {indent}{paint('^', f'1;{RED}')}")
    return lines


def _around(text: str, col: int) -> tuple[str, int]:
    """A line and a column in it; of a very long line, the part around the column, and its place in that."""
    if len(text) <= LONGEST:
        return text, col
    start = max(col - 1 - BEFORE, 0)
    before, behind = ("… " if start else ""), (" …" if start + PART < len(text) else "")
    return before + text[start : start + PART] + behind, col - start + len(before)


def _source_line(file: str, line: int, sources: Mapping[str, str]) -> str | None:
    text = sources.get(file)
    if text is None:
        try:
            with open(file, encoding="utf-8", errors="replace") as source:
                text = source.read()
        except OSError:
            return None
    lines = text.split("\n")
    return lines[line - 1].rstrip("\r") if 0 < line <= len(lines) else None


def _trace(frames: list[Frame], paint: Painter) -> list[str]:
    lines = [
        f"  {paint('at', GRAY)} {visible(frame.name)}"
        + (f" ({visible(shown_path(frame.file))}:{frame.line}:{frame.col or 1})" if frame.line else "")
        for frame in frames
    ]
    if len(lines) > MOST_FRAMES:
        half = MOST_FRAMES // 2
        lines[half:-half] = [paint(f"  ... {len(lines) - 2 * half} more", GRAY)]
    return lines


def shown_path(file: str) -> str:
    """A path as short as the current directory allows; the numbered inputs of the REPL are all `<input>`."""
    if file.startswith("<input "):
        return "<input>"
    if not os.path.isabs(file):
        return file
    try:
        relative = os.path.relpath(file)
    except (ValueError, OSError):
        return file
    return file if relative.startswith("..") else relative
