"""The screen: cursor, clearing, title, and the modes that make a terminal report more than keys.

Everything is written to stdout at once, whether or not it is a terminal; a program that may run without one checks
`sys/interactive?` first. Rows and columns count from 1.
"""

from __future__ import annotations

import sys

from sema_runtime.catalogue import builtin
from sema_runtime.lib.language.control import called
from sema_runtime.lib.terminal.control_sequences import emit, hold_sequence
from sema_runtime.support.terminal_state import release
from sema_runtime.support.text_arguments import text_of
from sema_runtime.values.errors import type_error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

SHOW_CURSOR, HIDE_CURSOR = "\x1b[?25h", "\x1b[?25l"
ENTER_ALT_SCREEN, LEAVE_ALT_SCREEN = "\x1b[?1049h", "\x1b[?1049l"
ENABLE_MOUSE, DISABLE_MOUSE = "\x1b[?1000h\x1b[?1002h\x1b[?1006h", "\x1b[?1000l\x1b[?1002l\x1b[?1006l"
ENABLE_PASTE, DISABLE_PASTE = "\x1b[?2004h", "\x1b[?2004l"
ENABLE_FOCUS, DISABLE_FOCUS = "\x1b[?1004h", "\x1b[?1004l"
KITTY_FLAGS = 17  # tell ambiguous keys apart (1), report the text that a key makes (16)
ENABLE_KITTY, DISABLE_KITTY = f"\x1b[>{KITTY_FLAGS}u", "\x1b[<u"

SCOPES = {
    "alt-screen": (ENTER_ALT_SCREEN + HIDE_CURSOR, SHOW_CURSOR + LEAVE_ALT_SCREEN),
    "mouse": (ENABLE_MOUSE, DISABLE_MOUSE),
    "bracketed-paste": (ENABLE_PASTE, DISABLE_PASTE),
    "focus-events": (ENABLE_FOCUS, DISABLE_FOCUS),
    "kitty-keys": (ENABLE_KITTY, DISABLE_KITTY),
}


def _coordinate(value: Any) -> int:
    if type(value) is not int:
        type_error("integer", value)
    return value if value > 1 else 1


@builtin("__with-terminal", type="str, now (-> a) -> a")
def sema_with_terminal(scope: Any, body: Any) -> Any:
    """What `term/with-mouse` and its like expand to: the value of body, called with a mode of SCOPES in force."""
    enter, leave = SCOPES[scope]
    function = called(body)
    held = hold_sequence(leave)
    try:
        emit(enter)
        return function()
    finally:
        release(held)


# Screen


@builtin("term/clear", type="-> nil")
def term_clear() -> None:
    """Clears the screen and moves the cursor to its top left corner.

    (term/clear)
    """
    emit("\x1b[2J\x1b[H")


@builtin("term/clear-line", type="-> nil")
def term_clear_line() -> None:
    """Clears the line of the cursor, which stays where it is.

    (begin (term/clear-line) (display "\\rnew text"))
    """
    emit("\x1b[2K")


@builtin("term/clear-below", type="-> nil")
def term_clear_below() -> None:
    """Clears the screen from the cursor to its end.

    (term/clear-below)
    """
    emit("\x1b[0J")


@builtin("term/enter-alt-screen", type="-> nil")
def term_enter_alt_screen() -> None:
    """Switches to the terminal's alternate, empty screen. `term/with-alt-screen` also switches back.

    (term/enter-alt-screen)
    (term/leave-alt-screen)
    """
    emit(ENTER_ALT_SCREEN)


@builtin("term/leave-alt-screen", type="-> nil")
def term_leave_alt_screen() -> None:
    """Switches back to the main screen, as it was.

    (term/leave-alt-screen)
    """
    emit(LEAVE_ALT_SCREEN)


@builtin("term/set-title", type="str -> nil")
def term_set_title(title: Any) -> None:
    """Sets the title of the terminal's window; control characters are left out.

    (term/set-title "my program")
    """
    emit(
        "\x1b]0;"
        + "".join(character for character in text_of(title) if character >= " " and not "\x7f" <= character < "\xa0")
        + "\x07"
    )


@builtin("term/bell", type="-> nil")
def term_bell() -> None:
    """Rings the terminal's bell.

    (term/bell)
    """
    emit("\x07")


@builtin("term/flush", type="-> nil")
def term_flush() -> None:
    """Flushes stdout, for programs that print a picture in pieces.

    (begin (display "50 %") (term/flush))
    """
    sys.stdout.flush()


# Cursor


@builtin("term/move-to", type="int, int -> nil")
def term_move_to(row: Any, column: Any) -> None:
    """Moves the cursor; numbers below 1 count as 1.

    (begin (term/move-to 3 10) (display "row 3, column 10"))
    """
    emit(f"\x1b[{_coordinate(row)};{_coordinate(column)}H")


@builtin("term/write-at", type="int, int, str -> nil")
def term_write_at(row: Any, column: Any, text: Any) -> None:
    """Writes a text at a row and column.

    (term/write-at 1 1 "top left")
    """
    emit(f"\x1b[{_coordinate(row)};{_coordinate(column)}H{text_of(text)}")


@builtin("term/cursor-home", type="-> nil")
def term_cursor_home() -> None:
    """Moves the cursor to the top left corner.

    (term/cursor-home)
    """
    emit("\x1b[H")


@builtin("term/hide-cursor", type="-> nil")
def term_hide_cursor() -> None:
    """Hides the cursor until `term/show-cursor`.

    (term/hide-cursor)
    (term/show-cursor)
    """
    emit(HIDE_CURSOR)


@builtin("term/show-cursor", type="-> nil")
def term_show_cursor() -> None:
    """Shows the cursor.

    (term/show-cursor)
    """
    emit(SHOW_CURSOR)


@builtin("term/save-cursor", type="-> nil")
def term_save_cursor() -> None:
    """Saves the position of the cursor in the terminal.

    (begin (term/save-cursor) (display "elsewhere") (term/restore-cursor))
    """
    emit("\x1b7")


@builtin("term/restore-cursor", type="-> nil")
def term_restore_cursor() -> None:
    """Moves the cursor to where `term/save-cursor` was called.

    (begin (term/save-cursor) (display "elsewhere") (term/restore-cursor))
    """
    emit("\x1b8")


# Reports


@builtin("term/enable-mouse", type="-> nil")
def term_enable_mouse() -> None:
    """Makes the terminal report clicks, drags and the wheel, which `io/read-key` returns as `:mouse` events.

    (term/enable-mouse)
    (term/disable-mouse)
    """
    emit(ENABLE_MOUSE)


@builtin("term/disable-mouse", type="-> nil")
def term_disable_mouse() -> None:
    """Undoes `term/enable-mouse`.

    (term/disable-mouse)
    """
    emit(DISABLE_MOUSE)


@builtin("term/enable-bracketed-paste", type="-> nil")
def term_enable_bracketed_paste() -> None:
    """Makes the terminal mark pasted text, which `io/read-key` returns as one `:paste` event.

    (term/enable-bracketed-paste)
    (term/disable-bracketed-paste)
    """
    emit(ENABLE_PASTE)


@builtin("term/disable-bracketed-paste", type="-> nil")
def term_disable_bracketed_paste() -> None:
    """Undoes `term/enable-bracketed-paste`.

    (term/disable-bracketed-paste)
    """
    emit(DISABLE_PASTE)


@builtin("term/enable-focus-events", type="-> nil")
def term_enable_focus_events() -> None:
    """Makes the terminal report when it gains or loses the focus, which `io/read-key` returns as `:focus` events.

    (term/enable-focus-events)
    (term/disable-focus-events)
    """
    emit(ENABLE_FOCUS)


@builtin("term/disable-focus-events", type="-> nil")
def term_disable_focus_events() -> None:
    """Undoes `term/enable-focus-events`.

    (term/disable-focus-events)
    """
    emit(DISABLE_FOCUS)


@builtin("term/enable-kitty-keys!", type="int? -> nil")
def term_enable_kitty_keys_mut(flags: Any = KITTY_FLAGS) -> None:
    """Makes a terminal with the kitty protocol report keys precisely, with all modifiers; other terminals ignore it.

    flags: a sum of 1 (distinguish ambiguous keys), 2 (report repeats and releases, as :event), 4 (:shifted-key and
    :base-key), 16 (the text that a key makes); 17 when left out.

    (term/enable-kitty-keys!)
    (term/disable-kitty-keys!)
    """
    if type(flags) is not int:
        type_error("integer", flags)
    emit(f"\x1b[>{flags}u")


@builtin("term/disable-kitty-keys!", type="-> nil")
def term_disable_kitty_keys_mut() -> None:
    """Undoes the latest `term/enable-kitty-keys!`.

    (term/disable-kitty-keys!)
    """
    emit(DISABLE_KITTY)


# Questions to the terminal; its answers come as events of `io/read-key`


@builtin("term/query-kitty-keys", type="-> nil")
def term_query_kitty_keys() -> None:
    """Asks which kitty flags are in force; the answer, if any, is an event `{:kind :kitty-flags :flags n}`.

    (term/query-kitty-keys)
    """
    emit("\x1b[?u")


@builtin("term/query-primary-da", type="-> nil")
def term_query_primary_da() -> None:
    """Asks for the terminal's features; the answer is an event `{:kind :device-attributes :device :primary :params (n
    ...)}`.

    (term/query-primary-da)
    """
    emit("\x1b[c")


@builtin("term/query-secondary-da", type="-> nil")
def term_query_secondary_da() -> None:
    """Asks for the terminal's type and version; the answer is an event `{:kind :device-attributes :device :secondary
    :params (n ...)}`.

    (term/query-secondary-da)
    """
    emit("\x1b[>c")
