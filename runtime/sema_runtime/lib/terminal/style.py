"""Colours and styles: text with and without a terminal's escape sequences.

Sequences are added only when the output is a terminal. A pipe or a file gets plain text. NO_COLOR (not empty) in the
environment turns them off, FORCE_COLOR (not empty, not 0 or false) on, TERM=dumb off.
"""

from __future__ import annotations

import os
import sys

from sema_runtime.catalogue import builtin
from sema_runtime.lib.language import output
from sema_runtime.support.text_arguments import text_of
from sema_runtime.support.visible import without_escapes
from sema_runtime.values.atoms import Keyword
from sema_runtime.values.errors import SemaError, type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

CODES = {
    "bold": "1", "dim": "2", "italic": "3", "underline": "4", "inverse": "7", "strikethrough": "9", "black": "30",
    "red": "31", "green": "32", "yellow": "33", "blue": "34", "magenta": "35", "cyan": "36", "white": "37",
    "gray": "90",
}  # fmt: skip


def shows_styles(stream: TextIO) -> bool:
    """Whether styles belong on a stream."""
    environment = os.environ
    if environment.get("NO_COLOR"):
        return False
    if environment.get("FORCE_COLOR", "").lower() not in ("", "0", "false"):
        return True
    return environment.get("TERM") != "dumb" and stream.isatty()


def _on_terminal() -> bool:
    return output.sink is None and shows_styles(sys.stdout)


def _styled(text: Any, codes: str) -> str:
    if type(text) is not str:
        type_error("string", text)
    return f"\x1b[{codes}m{text}\x1b[0m" if codes and _on_terminal() else text


@builtin("term/strip", type="str -> str", total=True, pure=True)
def term_strip(text: Any) -> str:
    """The text without escape sequences: styles, cursor movements, titles.

    (term/strip "\\x1b;[1mhi\\x1b;[0m") => "hi"
    """
    return without_escapes(text_of(text))


@builtin("term/style", type="str, any... -> str")
def term_style(text: Any, *styles: Any) -> str:
    """The text in several styles at once. Styles are keywords with the names of the functions: :bold, :red and so on.

    (term/style "late" :bold :red) => "late"
    """
    plain = text_of(text)
    if not _on_terminal():
        return plain
    return _styled(plain, ";".join(map(_code, styles)))


def _code(style: Any) -> str:
    if type(style) is not Keyword:
        type_error("keyword", style)
    code = CODES.get(style.name)
    if code is None:
        raise SemaError(f"term/style: unknown style keyword :{style.name}", f"the styles are {_names()}")
    return code


def _names() -> str:
    return " ".join(f":{name}" for name in CODES)


@builtin("term/rgb", type="str, any, any, any -> str")
def term_rgb(text: Any, red: Any, green: Any, blue: Any) -> str:
    """The text in a colour given by three numbers from 0 to 255; other numbers are clamped.

    (term/rgb "coral" 255 127 80) => "coral"
    """
    plain = text_of(text)
    if not _on_terminal():
        return plain
    return _styled(plain, "38;2;" + ";".join(map(_part, (red, green, blue))))


def _part(value: Any) -> str:
    if type(value) is not int:
        type_error("integer", value)
    return str(max(0, min(value, 255)))


@builtin("term/bold", type="str -> str")
def term_bold(text: Any) -> str:
    """The text in bold, where the output is a terminal.

    (term/bold "x") => "x"
    """
    return _styled(text, CODES["bold"])


@builtin("term/dim", type="str -> str")
def term_dim(text: Any) -> str:
    """The text in a fainter colour, where the output is a terminal.

    (term/dim "x") => "x"
    """
    return _styled(text, CODES["dim"])


@builtin("term/italic", type="str -> str")
def term_italic(text: Any) -> str:
    """The text in italics, where the output is a terminal.

    (term/italic "x") => "x"
    """
    return _styled(text, CODES["italic"])


@builtin("term/underline", type="str -> str")
def term_underline(text: Any) -> str:
    """The text underlined, where the output is a terminal.

    (term/underline "x") => "x"
    """
    return _styled(text, CODES["underline"])


@builtin("term/inverse", type="str -> str")
def term_inverse(text: Any) -> str:
    """The text with the colours of text and background exchanged, where the output is a terminal.

    (term/inverse "x") => "x"
    """
    return _styled(text, CODES["inverse"])


@builtin("term/strikethrough", type="str -> str")
def term_strikethrough(text: Any) -> str:
    """The text struck through, where the output is a terminal.

    (term/strikethrough "x") => "x"
    """
    return _styled(text, CODES["strikethrough"])


@builtin("term/black", type="str -> str")
def term_black(text: Any) -> str:
    """The text in black, where the output is a terminal.

    (term/black "x") => "x"
    """
    return _styled(text, CODES["black"])


@builtin("term/red", type="str -> str")
def term_red(text: Any) -> str:
    """The text in red, where the output is a terminal.

    (term/red "x") => "x"
    """
    return _styled(text, CODES["red"])


@builtin("term/green", type="str -> str")
def term_green(text: Any) -> str:
    """The text in green, where the output is a terminal.

    (term/green "x") => "x"
    """
    return _styled(text, CODES["green"])


@builtin("term/yellow", type="str -> str")
def term_yellow(text: Any) -> str:
    """The text in yellow, where the output is a terminal.

    (term/yellow "x") => "x"
    """
    return _styled(text, CODES["yellow"])


@builtin("term/blue", type="str -> str")
def term_blue(text: Any) -> str:
    """The text in blue, where the output is a terminal.

    (term/blue "x") => "x"
    """
    return _styled(text, CODES["blue"])


@builtin("term/magenta", type="str -> str")
def term_magenta(text: Any) -> str:
    """The text in magenta, where the output is a terminal.

    (term/magenta "x") => "x"
    """
    return _styled(text, CODES["magenta"])


@builtin("term/cyan", type="str -> str")
def term_cyan(text: Any) -> str:
    """The text in cyan, where the output is a terminal.

    (term/cyan "x") => "x"
    """
    return _styled(text, CODES["cyan"])


@builtin("term/white", type="str -> str")
def term_white(text: Any) -> str:
    """The text in white, where the output is a terminal.

    (term/white "x") => "x"
    """
    return _styled(text, CODES["white"])


@builtin("term/gray", type="str -> str")
def term_gray(text: Any) -> str:
    """The text in gray, where the output is a terminal.

    (term/gray "x") => "x"
    """
    return _styled(text, CODES["gray"])
