"""The prompt of the REPL on prompt_toolkit: whole forms are edited, coloured, completed and remembered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import completion_is_selected, has_completions
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style

from sema_runtime.support.home import in_home
from semac.cli.repl.colours import coloured_lines
from semac.interact.completion import complete
from semac.interact.documentation import summary
from semac.interact.forms import function_at, incomplete, indentation
from semac.session import Session

HISTORY = "repl_history"
COMMANDS = (
    "help",
    "quit",
    "env",
    "builtins",
    "gc",
    "all",
    "type",
    "time",
    "doc",
    "apropos",
    "disasm",
    "inspect",
    "keys",
)
STYLE = Style.from_dict({
    "comment": "#8c8c8c italic",
    "string": "#6aab73",
    "number": "#4f9fcf",
    "keyword": "#b07fd6",
    "form": "bold #cf8e4a",
    "bracket": "#8c8c8c",
    "prompt": "bold #4f9fcf",
    "bottom-toolbar": "noreverse #8c8c8c",
})  # fmt: skip


class Prompt:
    """Reads whole inputs. Enter ends one that is complete and else begins an indented line; Alt-Enter ends any."""

    def __init__(self, session: Session) -> None:
        vi = os.environ.get("SEMA_REPL_KEYS", "emacs") == "vi"
        self.session: PromptSession[str] = PromptSession(
            message=[("class:prompt", "sema> ")],
            prompt_continuation=lambda width, number, wrapped: "  ... ",
            multiline=True,
            lexer=FormLexer(),
            completer=NameCompleter(session),
            complete_while_typing=False,
            auto_suggest=AutoSuggestFromHistory(),
            history=open_history(),
            key_bindings=key_bindings(),
            input_processors=[HighlightMatchingBracketProcessor(chars="[](){}")],
            bottom_toolbar=lambda: self.toolbar(session),
            style=STYLE,
            enable_open_in_editor=True,
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            include_default_pygments_style=False,
        )

    def read(self) -> str:
        """One input. Raises EOFError for Ctrl-D on an empty one and KeyboardInterrupt for Ctrl-C."""
        return self.session.prompt()

    def use_keys(self, name: str) -> None:
        """Changes to the keys of `vi` or `emacs`."""
        self.session.editing_mode = EditingMode.VI if name == "vi" else EditingMode.EMACS

    def toolbar(self, session: Session) -> str | None:
        """The signature and the first sentence for the call around the cursor; nothing outside of calls."""
        document = self.session.default_buffer.document
        name = function_at(document.text, document.cursor_position)
        return (summary(session, name) if name else None) or None


def open_history() -> History:
    """The inputs of earlier times; where the file can't be used, those of this time only."""
    from sema_runtime.support.private_files import make_file, make_folders

    path = in_home(HISTORY)
    try:
        make_folders(os.path.dirname(path))
        make_file(path)
        with open(path, "ab"):
            return FileHistory(path)
    except OSError:
        return InMemoryHistory()


class FormLexer(Lexer):
    """Colours an input as it is typed."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function from the number of a line to its coloured pieces."""
        lines = coloured_lines(document.text)
        return lambda number: list(lines[number]) if number < len(lines) else []


class NameCompleter(Completer):
    """Names, attributes, files and the commands of the REPL."""

    def __init__(self, session: Session) -> None:
        self.session = session

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Completions at the cursor; beside each what it is, and the first sentence of its documentation."""
        text, cursor = document.text, document.cursor_position
        if text.startswith(",") and " " not in text[:cursor]:
            yield from (Completion(f",{name}", -cursor) for name in COMMANDS if f",{name}".startswith(text[:cursor]))
            return
        start, found = complete(self.session, text, cursor)
        for one in found:
            yield Completion(one.text, start - cursor, display_meta=self.meta(one.text, one.kind))

    def meta(self, name: str, kind: str) -> Callable[[], str]:
        """The text beside a name, made when it is drawn."""
        return lambda: (summary(self.session, name) or kind)[:100] if kind not in ("local", "file", "folder") else kind


def key_bindings() -> KeyBindings:
    """What Enter and Tab do."""
    bindings = KeyBindings()

    @bindings.add("enter", filter=~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        buffer = event.current_buffer
        text = buffer.document.text
        behind = buffer.document.text_after_cursor.strip()
        if text.startswith(",") or not (
            incomplete(text) or (behind and incomplete(buffer.document.text_before_cursor))
        ):
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n" + " " * indentation(buffer.document.text_before_cursor))

    @bindings.add("enter", filter=has_completions & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    return bindings
