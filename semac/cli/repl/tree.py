"""`,inspect`: a value as a tree, whose branches open and close."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.key_binding import KeyBindings, KeyPressEvent
from prompt_toolkit.layout import HSplit, Layout, Window
from prompt_toolkit.layout.controls import FormattedTextControl
from prompt_toolkit.layout.dimension import Dimension
from prompt_toolkit.styles import Style

from sema_runtime.support.visible import visible
from sema_runtime.values.lists import List
from sema_runtime.values.maps import HashMap, Map
from sema_runtime.values.printer import to_text
from sema_runtime.values.records import Record
from sema_runtime.values.typenames import type_name

MOST_PARTS = 1000  # of one value
MOST_TEXT = 400  # characters of a value on its line
HELP = " ↑↓ move   → open   ← close   Space open or close   q leave "
STYLE = Style.from_dict({"label": "#b07fd6", "kind": "#8c8c8c", "chosen": "reverse", "help": "reverse"})


class Branch:
    """A value in the tree. label: how its parent names it. depth: of nesting."""

    def __init__(self, label: str, value: Any, depth: int) -> None:
        self.label = label
        self.value = value
        self.depth = depth
        self.is_open = False
        self.made: list[Branch] | None = None

    @property
    def parts(self) -> list[Branch]:
        """The values in this one; made on first use."""
        if self.made is None:
            self.made = [Branch(label, value, self.depth + 1) for label, value in parts_of(self.value)]
        return self.made

    def has_parts(self) -> bool:
        return next(parts_of(self.value), None) is not None

    def rows(self) -> Iterator[Branch]:
        """This branch and those below it that are shown."""
        yield self
        if self.is_open:
            for part in self.parts:
                yield from part.rows()

    def text(self) -> StyleAndTextTuples:
        mark = ("▾ " if self.is_open else "▸ ") if self.has_parts() else "  "
        shown = visible(short(self.value))
        return [
            ("", "  " * self.depth + mark),
            ("class:label", f"{visible(self.label)} " if self.label else ""),
            ("", shown),
            ("class:kind", f"  {kind(self.value)}"),
        ]


def parts_of(value: Any) -> Iterator[tuple[str, Any]]:
    """(label, value) of what is in a value, MOST_PARTS at most. Runs no code of properties."""
    for number, part in enumerate(_parts(value)):
        if number == MOST_PARTS:
            yield "…", f"more than {MOST_PARTS}"
            return
        yield part


def _parts(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Map | HashMap):
        yield from ((to_text(key), part) for key, part in value.pairs())
    elif isinstance(value, dict):
        yield from ((to_text(key), part) for key, part in value.items())
    elif isinstance(value, Record):
        yield from zip(value.sema_fields, value.sema_values(value), strict=True)
    elif isinstance(value, List | tuple | list):
        yield from ((str(number), part) for number, part in enumerate(value))
    elif isinstance(value, set | frozenset):
        yield from (("", part) for part in value)
    else:
        yield from sorted((name, part) for name, part in getattr(value, "__dict__", {}).items() if name[:2] != "__")


def kind(value: Any) -> str:
    """The type, and how many values are in it."""
    if isinstance(value, Map | HashMap | dict | List | tuple | list | set | frozenset):
        return f"{type_name(value)}, {len(value)}"
    return str(type_name(value))


def short(value: Any) -> str:
    text = to_text(value)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}…"


class Tree:
    """The rows on the screen, and the chosen one."""

    def __init__(self, value: Any) -> None:
        self.root = Branch("", value, 0)
        self.root.is_open = self.root.has_parts()
        self.chosen = 0

    def rows(self) -> list[Branch]:
        return list(self.root.rows())

    def text(self) -> StyleAndTextTuples:
        lines: StyleAndTextTuples = []
        for number, row in enumerate(self.rows()):
            line = row.text()
            if number == self.chosen:
                lines.append(("[SetCursorPosition]", ""))
                line = [(f"{fragment[0]} class:chosen", fragment[1]) for fragment in line]
            lines += [*line, ("", "\n")]
        return lines[:-1]

    def move(self, steps: int) -> None:
        self.chosen = max(0, min(self.chosen + steps, len(self.rows()) - 1))

    def open(self) -> None:
        """Opens the chosen row; in one that is open, goes to its first part."""
        row = self.rows()[self.chosen]
        if row.is_open:
            self.move(1)
        row.is_open = row.has_parts()

    def close(self) -> None:
        """Closes the chosen row; from one that is closed, goes to its parent."""
        rows = self.rows()
        row = rows[self.chosen]
        if row.is_open:
            row.is_open = False
            return
        while self.chosen and rows[self.chosen].depth >= row.depth:
            self.chosen -= 1

    def toggle(self) -> None:
        row = self.rows()[self.chosen]
        row.is_open = not row.is_open and row.has_parts()


def inspect(value: Any) -> None:
    """Shows a value until a key leaves it."""
    tree = Tree(value)
    rows = Window(FormattedTextControl(tree.text, focusable=True, show_cursor=False), wrap_lines=False)
    line = Window(FormattedTextControl([("class:help", HELP)]), height=Dimension.exact(1), style="class:help")
    layout = Layout(HSplit([rows, line]))
    app: Application[None] = Application(layout, key_bindings=keys(tree), style=STYLE, full_screen=True)
    app.run()


def keys(tree: Tree) -> KeyBindings:
    bindings = KeyBindings()
    page = 20
    moves = {
        "up": -1, "k": -1, "down": 1, "j": 1, "pageup": -page, "pagedown": page, "home": -(1 << 40), "end": 1 << 40,
    }  # fmt: skip
    for key, steps in moves.items():
        bindings.add(key)(lambda event, steps=steps: tree.move(steps))
    for key in ("right", "l"):
        bindings.add(key)(lambda event: tree.open())
    for key in ("left", "h"):
        bindings.add(key)(lambda event: tree.close())
    for key in ("space", "enter"):
        bindings.add(key)(lambda event: tree.toggle())

    @bindings.add("q")
    @bindings.add("escape", eager=True)
    @bindings.add("c-c")
    @bindings.add("c-d")
    def _(event: KeyPressEvent) -> None:
        event.app.exit()

    return bindings
