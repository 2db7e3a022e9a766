"""The REPL: reads forms until they are complete, evaluates them in one session, prints values."""

from __future__ import annotations

import os
import sys
from _thread import allocate_lock as Lock

from semac.cli.repl.early import PROMPT, EarlyPrompt, banner, is_wanted

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from semac.cli.repl.prompt import Prompt
    from semac.session import Session

CONTINUED = "  ... "
LEAVE = {"quit", "exit", ":q", ",quit", ",exit", ",q"}
MOST_HISTORY = 5000
LEAST_LINES, MOST_CHARACTERS = 20, 20_000  # of a value at a terminal: the lines are those of its screen


class Leave(Exception):
    """The user leaves the REPL."""


class Repl:
    """One interactive session. Without a terminal on stdin it is silent: no banner, no prompts.

    make_session: called when the session is needed; in a terminal that is after the prompt is there.
    """

    def __init__(self, make_session: Callable[[], Session], quiet: bool = False) -> None:
        self.make_session = make_session
        self.terminal = sys.stdin.isatty()
        self.quiet = quiet or not self.terminal
        self.count = 0
        self.sources: dict[str, str] = {}
        self.prompt: Prompt | None = None
        self.making = Lock()
        self.made: Session | None = None

    @property
    def session(self) -> Session:
        """The session, made on first use; it may be another thread that makes it."""
        with self.making:
            if self.made is None:
                self.made = self.make_session()
                self.made.globals["__sema_texts__"] = self.sources
                self.made.closed = False
            return self.made

    def run(self) -> int:
        """Runs until the end of input or a command to leave. Returns the exit status."""
        text = "" if self.quiet else f"{banner()}\n"
        early = EarlyPrompt()
        try:
            if self.terminal and is_wanted():
                early.show(text)
                text = ""
                self.prompt = make_prompt(self, early)
            if self.terminal and self.prompt is None:
                early.take_back()
                self.prepare_terminal()
            sys.stdout.write(text)
            return self.loop()
        except SystemExit as exit_:
            from semac.cli.exits import exit_status

            return exit_status(exit_.code)
        finally:
            early.restore()
            if self.terminal and self.prompt is None:
                self.save_history()

    def loop(self) -> int:
        """Reads and answers; 1 when the input ends within a form."""
        text = ""
        while True:
            try:
                line = self.read_line(CONTINUED if text else PROMPT)
            except KeyboardInterrupt:
                print("^C")
                text = ""
                continue
            if line is None:
                return self.end_of_input(text)
            text = f"{text}\n{line}" if text else line
            if not text.strip():
                text = ""
            elif self.prompt is None and not text.startswith(",") and goes_on(text):
                continue
            try:
                self.answer(text.strip("\n") if not text.startswith(",") else text.strip())
            except Leave:
                return self.farewell()
            text = ""

    def read_line(self, prompt: str) -> str | None:
        """The next line without its end; None at the end of input."""
        if not self.terminal:
            from sema_runtime.tasks.inputs import TOTAL_LIMIT, standard_input  # where `read-line` continues reading

            line = standard_input().line("repl", limit=TOTAL_LIMIT).decode(errors="replace")
            return line.rstrip("\n") if line else None
        try:
            return input(prompt) if self.prompt is None else self.prompt.read()
        except EOFError:
            print()
            return None

    def end_of_input(self, text: str) -> int:
        if text:
            from sema_runtime.values.errors import ReaderError
            from semac.syntax.reader import read_program

            try:
                read_program(text)
            except ReaderError as error:
                print(f"Error: unterminated input at EOF: {error.message}", file=sys.stderr)
            return 1
        return self.farewell()

    def farewell(self) -> int:
        if self.terminal:
            print("Goodbye!")
        return 0

    def answer(self, text: str) -> None:
        """Runs one input: a command or forms. Raises Leave."""
        if text.strip() in LEAVE:
            raise Leave
        if text.startswith(","):
            from semac.cli.repl.commands import run_command

            self.guarded(lambda: run_command(self, text[1:]))
        else:
            self.guarded(lambda: self.answered(self.evaluate(text), text))

    def guarded(self, action: Callable[[], str | None]) -> None:
        """Runs an action and shows the text that it returns, if any, or the error that it raises."""
        try:
            text = action() if self.prompt is None else self.prompt.outside(action)
        except KeyboardInterrupt:
            from semac.diagnostics.render import restore_terminal

            restore_terminal()
            print("" if self.echoed_interrupt() else "^C")
        except (Leave, SystemExit, BrokenPipeError):
            raise
        except BaseException as error:
            self.show_failure(error)
        else:
            if text:
                print(text)
        sys.stdout.flush()

    def echoed_interrupt(self) -> bool:
        """Whether the terminal has shown Ctrl-C already."""
        try:
            import termios

            held = None if self.prompt is None else self.prompt.early.mode
            local = (held or termios.tcgetattr(0))[3]
        except (ImportError, OSError):
            return False
        return bool(local & termios.ECHO and local & termios.ECHOCTL and local & termios.ICANON)

    def show_failure(self, error: BaseException) -> None:
        from sema_runtime.conditions.describe import describe
        from semac.diagnostics.render import show_error

        show_error(error, self.input_name(), self.sources)
        self.session.bind("*e", describe(error).message)

    def input_name(self) -> str:
        """The file name of the latest input. It lets errors in functions defined earlier find their text."""
        return f"<input {self.count}>"

    def evaluate(self, text: str) -> Any:
        """The value of text in the session. Raises what it raises."""
        self.count += 1
        self.sources[self.input_name()] = text
        return self.session.run(text, self.input_name())

    def answered(self, value: Any, text: str) -> str:
        """What is printed for a value, or the name that was defined; the value is kept as `*1`."""
        from sema_runtime.catalogue_index import INDEX
        from sema_runtime.support.visible import at_terminal

        for older, newer in (("*3", "*2"), ("*2", "*1")):
            self.session.bind(older, self.session.globals.get(self.session.shared.global_name(newer)))
        self.session.bind("*1", value)
        if value is not None:
            return self.shown(value)
        if (name := defined_name(text)) is None:
            return ""
        warning = f"  warning: redefining builtin '{name}'\n" if name in INDEX else ""
        return warning + at_terminal(f"; defined {name}")

    def show(self, value: Any, text: str) -> None:
        """Prints what `answered` says."""
        if answer := self.answered(value, text):
            print(answer)

    def shown(self, value: Any) -> str:
        """The printed value; at a terminal a long one is cut."""
        import shutil

        from sema_runtime.support.visible import at_terminal
        from sema_runtime.values.printer import pretty

        text = at_terminal(pretty(value))
        if not self.terminal:
            return text
        lines = text.split("\n")
        most = max(LEAST_LINES, shutil.get_terminal_size().lines - 4)
        cut = "\n".join(lines[:most])[:MOST_CHARACTERS]
        if len(cut) == len(text):
            return text
        more = f"{len(lines) - most} more lines" if len(lines) > most else f"{len(text) - len(cut)} more characters"
        return f"{cut}\n… {more}, ,all shows all"

    # The terminal

    def prepare_terminal(self) -> None:
        """Sets up history and completion, where the readline module exists."""
        try:
            import readline
        except ImportError:
            return
        readline.set_completer_delims(" \t\n()[]{}'`\",@;")
        readline.set_completer(self.complete)
        readline.parse_and_bind("tab: complete")
        readline.set_history_length(MOST_HISTORY)
        try:
            readline.read_history_file(history_file())
        except OSError:
            return

    def save_history(self) -> None:
        try:
            import readline

            from sema_runtime.support.private_files import make_file, make_folders

            make_folders(os.path.dirname(history_file()))
            make_file(history_file())
            readline.write_history_file(history_file())
        except (ImportError, OSError):
            return

    def complete(self, start: str, index: int) -> str | None:
        """The index-th name that begins with start."""
        matches = [name for name in self.names() if name.startswith(start)]
        return matches[index] if index < len(matches) else None

    def names(self) -> list[str]:
        """Every name that is known here, sorted."""
        from semac.interact.completion import names

        return names(self.session)


def make_prompt(repl: Repl, early: EarlyPrompt) -> Prompt | None:
    """The editor; None where prompt_toolkit can't be loaded."""
    try:
        from semac.cli.repl.prompt import Prompt
    except ImportError:
        return None
    return Prompt(repl, early)


def goes_on(text: str) -> bool:
    """Whether a text ends within a form."""
    from semac.interact.forms import incomplete

    return incomplete(text)


def history_file() -> str:
    from sema_runtime.support.home import in_home

    return in_home("history.txt")


def defined_name(text: str) -> str | None:
    """NAME when the last form of the text is `(define NAME ...)` or the like."""
    from sema_runtime.values.atoms import Symbol
    from sema_runtime.values.lists import List
    from semac.syntax.reader import read_program

    forms = read_program(text).items
    last = forms[-1] if forms else None
    if type(last) is not List or len(last) < 2 or type(last.items[0]) is not Symbol:
        return None
    if not last.items[0].name.startswith("def"):
        return None
    name = last.items[1]
    if type(name) is List and name.items:
        name = name.items[0]
    return name.name if type(name) is Symbol else None
