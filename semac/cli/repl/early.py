"""What is shown before anything else is loaded: banner and prompt. Keys that are typed meanwhile wait in the terminal.

The editor needs 0.15 s to load. Until then, and between two prompts, the terminal is in the mode that the editor uses,
without echo and signals, so that it finds all keys that came, and nothing that was typed is on the screen twice.
"""

from __future__ import annotations

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

PROMPT = "sema> "
COLOURED = f"\x1b[0;38;5;74;1m{PROMPT}\x1b[0m"  # as the editor writes it
ERASED = "\r\x1b[K"


def is_wanted() -> bool:
    """Whether the editor of prompt_toolkit can and may be used: it is installed, the terminal can move its cursor."""
    if os.environ.get("SEMA_REPL") == "plain" or os.environ.get("TERM", "") in ("", "dumb"):
        return False
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        return False
    from importlib.machinery import PathFinder

    return "prompt_toolkit" in sys.modules or PathFinder.find_spec("prompt_toolkit") is not None


def banner() -> str:
    """The text shown at the start."""
    from sema_runtime.capabilities import denied
    from semac import __version__

    lines = [f"Sema v{__version__} — A Lisp with LLM primitives"]
    if denied:
        lines.append(f"Sandbox: {','.join(f'no-{group}' for group in sorted(denied))}")
    return "\n".join([*lines, "Type ,help for help, ,quit to exit", ""])


class EarlyPrompt:
    """A prompt that the editor draws again. mode: the terminal's own, None while it is in force."""

    def __init__(self) -> None:
        self.mode: Any = None

    def show(self, text: str) -> None:
        """Writes a text, then the prompt."""
        self.hold()
        sys.stdout.write(text + (PROMPT if "NO_COLOR" in os.environ else COLOURED))
        sys.stdout.flush()

    def hand_over(self) -> None:
        """Puts the cursor where the editor begins to draw."""
        sys.stdout.write("\r")
        sys.stdout.flush()

    def take_back(self) -> None:
        """Removes the prompt, for another one."""
        sys.stdout.write(ERASED)
        sys.stdout.flush()
        self.restore()

    def hold(self) -> None:
        """Puts the terminal into the mode of the editor, where it is a terminal of that kind."""
        try:
            import termios

            self.mode = termios.tcgetattr(0)
            termios.tcsetattr(0, termios.TCSANOW, editing(self.mode))
        except (ImportError, OSError):
            self.mode = None

    def restore(self) -> None:
        """Gives the terminal its mode back."""
        if self.mode is not None:
            import termios

            termios.tcsetattr(0, termios.TCSANOW, self.mode)
            self.mode = None


def editing(mode: list[Any]) -> list[Any]:
    """The mode in which keys arrive at once, unchanged, and unseen."""
    import termios

    input_flags, output_flags, control, local, *speeds, characters = mode
    input_flags &= ~(termios.IXON | termios.IXOFF | termios.ICRNL | termios.INLCR | termios.IGNCR)
    local &= ~(termios.ECHO | termios.ICANON | termios.IEXTEN | termios.ISIG)
    changed = [*characters]
    changed[termios.VMIN] = b"\x01"
    return [input_flags, output_flags, control, local, *speeds, changed]
