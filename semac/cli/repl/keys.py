"""What the keys of the prompt do beyond those of every editor on prompt_toolkit."""

from __future__ import annotations

from prompt_toolkit.application.current import get_app
from prompt_toolkit.completion import CompleteEvent, get_common_complete_suffix
from prompt_toolkit.document import Document
from prompt_toolkit.enums import EditingMode
from prompt_toolkit.filters import Condition, completion_is_selected, has_completions
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.key_binding.vi_state import InputMode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from semac.cli.repl.tips import Tips


def key_bindings(tips: Tips) -> KeyBindings:
    """Enter, Tab, Up, F1 and its pages."""
    bindings = KeyBindings()
    documented = Condition(lambda: tips.page is not None)

    @bindings.add("enter", filter=~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        from semac.interact.forms import indentation

        buffer = event.current_buffer
        if is_finished(buffer.document):
            tips.page = None
            buffer.validate_and_handle()
        else:
            buffer.insert_text("\n" + " " * indentation(buffer.document.text_before_cursor))

    @bindings.add("enter", filter=has_completions & completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.complete_state = None

    @bindings.add("escape", "enter")
    def _(event: KeyPressEvent) -> None:
        event.current_buffer.validate_and_handle()

    @bindings.add("tab", filter=Condition(stands_before_a_line))
    def _(event: KeyPressEvent) -> None:
        from semac.interact.forms import indentation

        buffer = event.current_buffer
        document = buffer.document
        columns = indentation(document.text[: document.cursor_position - document.cursor_position_col - 1])
        buffer.delete_before_cursor(document.cursor_position_col)
        buffer.delete(len(document.current_line_after_cursor) - len(document.current_line_after_cursor.lstrip()))
        buffer.insert_text(" " * columns)

    @bindings.add("tab", filter=~Condition(stands_before_a_line) & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """Inserts what all completions share; shows them. (The editor's own Tab is lost while it completes.)"""
        buffer = event.current_buffer
        wanted = CompleteEvent(completion_requested=True)
        completions = list(buffer.completer.get_completions(buffer.document, wanted))
        if len(completions) == 1:
            buffer.cancel_completion()
            buffer.apply_completion(completions[0])
        elif common := get_common_complete_suffix(buffer.document, completions):
            buffer.cancel_completion()
            buffer.insert_text(common)
        elif buffer.complete_state:
            buffer.complete_next()
        elif completions:
            buffer.start_completion()

    @bindings.add("up", filter=has_completions & ~completion_is_selected)
    def _(event: KeyPressEvent) -> None:
        """The history, not the list that came by itself; Down goes into the list."""
        event.current_buffer.cancel_completion()
        event.current_buffer.auto_up(count=event.arg)

    @bindings.add("f1")
    def _(event: KeyPressEvent) -> None:
        tips.toggle(event.current_buffer.document)

    @bindings.add("pagedown", filter=documented)
    def _(event: KeyPressEvent) -> None:
        tips.scroll(1)

    @bindings.add("pageup", filter=documented)
    def _(event: KeyPressEvent) -> None:
        tips.scroll(-1)

    return bindings


def is_finished(document: Document) -> bool:
    """Whether Enter runs the input: it is complete, and in one of several lines the cursor is at the end."""
    from semac.interact.forms import incomplete

    text = document.text
    if text.startswith(","):
        return True
    if incomplete(text):
        return False
    is_command = get_app().editing_mode == EditingMode.VI and get_app().vi_state.input_mode == InputMode.NAVIGATION
    at_end = not document.text_after_cursor.strip() or not incomplete(document.text_before_cursor)
    return at_end or is_command or "\n" not in text.strip()


def stands_before_a_line() -> bool:
    """Whether the cursor is in the indentation of a line behind the first one."""
    document = get_app().current_buffer.document
    return document.cursor_position_row > 0 and not document.current_line_before_cursor.strip()
