"""The prompt of the REPL on prompt_toolkit: whole forms are edited, coloured, completed and remembered."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from threading import Thread

from prompt_toolkit import PromptSession
from prompt_toolkit.auto_suggest import AutoSuggestFromHistory
from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.cursor_shapes import ModalCursorShapeConfig
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.history import FileHistory, History, InMemoryHistory
from prompt_toolkit.key_binding.vi_state import InputMode
from prompt_toolkit.layout.processors import HighlightMatchingBracketProcessor
from prompt_toolkit.lexers import Lexer
from prompt_toolkit.styles import Style
from prompt_toolkit.validation import ValidationError, Validator

from semac.cli.repl import interrupts
from semac.cli.repl.colours import coloured_lines
from semac.cli.repl.early import PROMPT, EarlyPrompt
from semac.cli.repl.keys import key_bindings
from semac.cli.repl.tips import Tips

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Protocol

    from semac.session import Session

    class Repl(Protocol):
        """What the prompt uses of the REPL."""

        @property
        def session(self) -> Session: ...


HISTORY = "repl_history"
MOST_HISTORY = 5000  # inputs
LEAST_TYPED = 2  # characters of a name before completions are shown unasked
COMMANDS = (
    *("help", "quit", "env", "builtins", "gc", "all", "type", "time", "doc", "apropos", "disasm", "inspect", "keys"),
    "complete",
)
STYLE = Style.from_dict({
    "comment": "#8c8c8c italic",
    "string": "#6aab73",
    "number": "#4f9fcf",
    "keyword": "#b07fd6",
    "form": "bold #cf8e4a",
    "bracket": "#8c8c8c",
    "prompt": "bold #4f9fcf",
    "rprompt": "#8c8c8c",
    "bottom-toolbar": "noreverse #8c8c8c",
    "tip.argument": "bold #d0d0d0",
    "tip.heading": "bold #d0d0d0",
    "tip.keys": "italic #8c8c8c",
})  # fmt: skip


class Prompt:
    """Reads whole inputs. Enter ends one that is complete and else begins an indented line; Alt-Enter ends any.

    early: the prompt that is on the screen already.
    """

    def __init__(self, repl: Repl, early: EarlyPrompt) -> None:
        vi = os.environ.get("SEMA_REPL_KEYS", "emacs") == "vi"
        interrupts.ignore()
        self.repl = repl
        self.early = early
        self.is_first = True
        self.ready = False  # whether the compiler is loaded
        self.completes = os.environ.get("SEMA_REPL_COMPLETE", "on") != "off"  # while something is typed
        self.tips = Tips(self)
        self.session: PromptSession[str] = PromptSession(
            message=[("class:prompt", PROMPT)],
            prompt_continuation=lambda width, number, wrapped: "  ... ",
            multiline=True,
            lexer=FormLexer(),
            validator=FormValidator(),
            validate_while_typing=False,
            completer=NameCompleter(self),
            complete_while_typing=Condition(lambda: self.wants_completions(self.session.default_buffer.document)),
            complete_in_thread=True,
            search_ignore_case=True,
            auto_suggest=AutoSuggestFromHistory(),
            history=open_history(),
            key_bindings=key_bindings(self.tips),
            input_processors=[HighlightMatchingBracketProcessor(chars="[](){}")],
            bottom_toolbar=self.tips.shown,
            rprompt=self.mode,
            style=STYLE,
            cursor=ModalCursorShapeConfig(),
            enable_open_in_editor=True,
            enable_suspend=True,
            tempfile_suffix=".sema",
            editing_mode=EditingMode.VI if vi else EditingMode.EMACS,
            include_default_pygments_style=False,
        )

    def read(self) -> str:
        """One input. Raises EOFError for Ctrl-D on an empty one and KeyboardInterrupt for Ctrl-C."""
        self.tips.page = None
        if self.is_first:
            self.is_first = False
            self.early.hand_over()
            self.session.app.after_render.add_handler(self.start_loading)
        return self.session.prompt()

    def outside(self, action: Callable[[], str | None]) -> str | None:
        """Runs an action in the terminal's own mode, where Ctrl-C ends it. Raises what it raises."""
        self.early.restore()
        try:
            return interrupts.heeded(action)
        except BaseException:
            from semac.diagnostics.render import restore_terminal

            restore_terminal()  # before the mode is taken for the terminal's own
            raise
        finally:
            self.early.hold()

    def start_loading(self, _: object) -> None:
        """Loads the compiler once the editor stands on the screen: what is typed comes before it."""
        self.session.app.after_render.remove_handler(self.start_loading)
        Thread(target=self.load, daemon=True).start()

    def load(self) -> None:
        """Loads the compiler, while somebody types."""
        from semac.session import Session

        Session().compile("nil", "<input>")
        self.repl.session  # noqa: B018 - made here
        self.ready = True
        self.session.app.invalidate()

    def wants_completions(self, document: Document) -> bool:
        """Whether completions are shown unasked: behind some characters of a name."""
        if not (self.completes and self.ready):
            return False
        from semac.interact.forms import NAME

        typed = document.current_line_before_cursor[-LEAST_TYPED:]
        return len(typed) == LEAST_TYPED and NAME.fullmatch(typed) is not None

    def use_keys(self, name: str) -> None:
        """Changes to the keys of `vi` or `emacs`."""
        self.session.editing_mode = EditingMode.VI if name == "vi" else EditingMode.EMACS

    def mode(self) -> str:
        """What is shown at the right of the prompt: the mode of vi in which keys are commands."""
        app = self.session.app
        is_command = app.editing_mode == EditingMode.VI and app.vi_state.input_mode == InputMode.NAVIGATION
        return "-- commands --" if is_command else ""


def open_history() -> History:
    """The inputs of earlier times; where the file can't be used, those of this time only."""
    from sema_runtime.support.home import in_home
    from sema_runtime.support.private_files import make_file, make_folders

    path = in_home(HISTORY)
    try:
        make_folders(os.path.dirname(path))
        make_file(path)
        shorten(path)
        return FileHistory(path)
    except OSError:
        return InMemoryHistory()


def shorten(path: str) -> None:
    """Drops the oldest inputs of a history that has many more than are kept. Raises OSError."""
    from sema_runtime.support.replacing import Replacement

    with open(path, "r+b") as file:
        data = file.read()
    inputs = data.split(b"\n# ")
    if len(inputs) > 2 * MOST_HISTORY:
        with Replacement(path) as shorter:
            shorter.write(b"\n# " + b"\n# ".join(inputs[-MOST_HISTORY:]))


class FormValidator(Validator):
    """Keeps an input that can't be read in the editor, with the cursor where it is wrong."""

    def validate(self, document: Document) -> None:
        """Raises ValidationError for a text that no continuation makes a program."""
        from sema_runtime.values.errors import ReaderError
        from semac.syntax.reader import read_program

        if document.text.startswith(","):
            return
        try:
            read_program(document.text)
        except ReaderError as error:
            if error.message.startswith("unterminated"):
                return
            place = (
                0 if error.span is None else document.translate_row_col_to_index(error.span[0] - 1, error.span[1] - 1)
            )
            raise ValidationError(place, f"{error.message}{f'; {error.hint}' if error.hint else ''}") from None


class FormLexer(Lexer):
    """Colours an input as it is typed."""

    def lex_document(self, document: Document) -> Callable[[int], StyleAndTextTuples]:
        """A function from the number of a line to its coloured pieces."""
        lines = coloured_lines(document.text)
        return lambda number: list(lines[number]) if number < len(lines) else []


class NameCompleter(Completer):
    """Names, attributes, files and the commands of the REPL."""

    def __init__(self, prompt: Prompt) -> None:
        self.prompt = prompt

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        """Completions at the cursor; beside each what it is, and the first sentence of its documentation."""
        from semac.interact.completion import complete

        if not (complete_event.completion_requested or self.prompt.wants_completions(document)):
            return  # it was typed on since
        text, cursor = document.text, document.cursor_position
        if text.startswith(",") and " " not in text[:cursor]:
            yield from (Completion(f",{name}", -cursor) for name in COMMANDS if f",{name}".startswith(text[:cursor]))
            return
        start, found = complete(self.prompt.repl.session, text, cursor)
        for one in found:
            yield Completion(one.text, start - cursor, display_meta=self.meta(one.text, one.kind))

    def meta(self, name: str, kind: str) -> Callable[[], str]:
        """The text beside a name, made when it is drawn."""
        from semac.interact.documentation import summary

        plain = ("local", "file", "folder")
        return lambda: (summary(self.prompt.repl.session, name) or kind)[:100] if kind not in plain else kind
