"""`--align`: values in a column, for definitions that follow each other, clauses, bindings and maps.

A set of lines is aligned as a whole or not at all: every member must fit on one line without a comment inside, and the
left sides must differ in width. Widths are characters here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from sema_runtime.form_layout import Atom, Break, Comment, Group, Layout, Prefixed, TooLong, flat

if TYPE_CHECKING:
    from sema_runtime.form_layout import Node

GAP = 2  # blanks behind the widest left side
UNLIMITED = 1_000_000_000  # a width; the lines of a layout are measured in bytes, aligned ones in characters
CLAUSES = {"cond": 1, "case": 2, "match": 2}  # forms before the clauses, the head included
NAMES_AND_VALUE = {
    "define": 3,
    "def": 3,
    "defn": 4,
    "defun": 4,
    "defmacro": 4,
}  # forms of a definition with one value or body
Row = tuple[str | None, str | None]  # left side and value with the brackets around both; None: takes several lines


class AlignedLayout(Layout):
    """A layout that aligns the clauses, bindings and maps that take several lines."""

    def form(self, form: Group, indent: int) -> None:
        if form.head == "module":
            form = Group(form.opening, align_definitions(form.children, self.width - indent - self.step))
        super().form(form, indent)

    def subject(self, form: Group, indent: int) -> None:
        if form.head in CLAUSES:
            form = self.with_pairs(form, CLAUSES[form.head], indent + self.step)
        super().subject(form, indent)

    def collection(self, group: Group, indent: int) -> None:
        if group.opening in ("(", "[") and not self.stays_flat(group, indent):
            if all(_is_binding(form) for form in group.forms):
                group = self.with_pairs(group, 0, indent + 1)
        super().collection(group, indent)

    def map(self, group: Group, column: int) -> None:
        texts = None
        if len(group.forms) % 2 == 0 and not any(isinstance(child, Comment) for child in group.children):
            lines = [self.one_line(form, column) for form in group.forms]
            lines[-1] = None if lines[-1] is None else lines[-1] + group.closing
            texts = aligned(list(zip(lines[::2], lines[1::2], strict=True)), column, self.width)
        if texts is None:
            super().map(group, column)
            return
        self.write(group.opening + texts[0])
        for text in texts[1:]:
            self.line(column)
            self.write(text)
        self.parts[-1] = self.parts[-1].removesuffix(group.closing)

    def with_pairs(self, group: Group, before: int, column: int) -> Group:
        """The group with its pairs aligned, without blank lines, where all that follows `before` forms is pairs."""
        children = group.after(before) if before else group.children
        pairs = [child for child in children if not isinstance(child, Break)]
        rows: list[Row] = []
        for pair in pairs:
            if not isinstance(pair, Group) or len(pair.forms) != 2 or pair.opening not in ("(", "["):
                return group
            if one_line(pair, column, Layout(UNLIMITED, self.step, self.blanks)) is None:
                return group
            left, value = map(flat, pair.forms)
            rows.append((pair.opening + left, value + pair.closing))
        texts = aligned(rows, column, self.width)
        if texts is None and before and len({len(left) for left, _ in rows if left}) == 1 < len(rows):
            texts = [f"{left} {value}" for left, value in rows]  # in a column already
            texts = texts if all(column + len(text) <= self.width for text in texts) else None
        if texts is None:
            return group
        lines = [node for text in texts for node in (Break(), Atom(text))]
        return Group(group.opening, [*group.forms[:before], *lines])

    def one_line(self, node: Node, column: int) -> str | None:
        """A node as it is written at a column; None where that takes several lines."""
        return one_line(node, column, Layout(self.width, self.step, self.blanks))


def one_line(node: Node, column: int, layout: Layout) -> str | None:
    """What the layout, which has written nothing, writes for a node at a column; None for several lines."""
    layout.trying = True
    layout.column = column
    try:
        layout.node(node, column)
    except TooLong:
        return None
    text = layout.text()
    return None if "\n" in text or _has_comment(node) else text


def _has_comment(node: Node) -> bool:
    """Whether there is a comment inside."""
    if isinstance(node, Group):
        return any(_has_comment(child) for child in node.children)
    return isinstance(node, Comment) or (isinstance(node, Prefixed) and _has_comment(node.node))


def aligned(rows: Sequence[Row], column: int, width: int) -> list[str] | None:
    """The rows as lines with their values below each other; None where that is not wanted or does not fit."""
    whole = [(left, value) for left, value in rows if left is not None and value is not None]
    widths = {len(left) for left, _ in whole}
    if len(whole) < len(rows) or len(widths) < 2:
        return None
    place = max(widths) + GAP
    texts = [left.ljust(place) + value for left, value in whole]
    return texts if all(column + len(text) <= width for text in texts) else None


def _is_binding(form: Node) -> bool:
    """Whether a form is a pair of a name and a value."""
    if not isinstance(form, Group) or form.opening not in ("(", "[") or len(form.forms) != 2:
        return False
    return isinstance(form.forms[0], Atom)


def align_definitions(nodes: Sequence[Node], width: int) -> list[Node]:
    """The nodes of the top level or of a module, with definitions that follow each other aligned.

    Each must fit on one line. The comments behind them get a column of their own.
    """
    out = list(nodes)
    run: dict[int, Group] = {}  # the definitions of a run, by index
    breaks = 0
    for index, node in enumerate(nodes):
        if isinstance(node, Break):
            breaks += 1
            continue
        if isinstance(node, Comment) and breaks == 0 and run:
            continue
        definition = _definition(node, width)
        if breaks > 1 or definition is None:
            _align_run(out, run, width)
            run = {}
        if definition is not None:
            run[index] = definition
        breaks = 0
    _align_run(out, run, width)
    return out


def _definition(node: Node, width: int) -> Group | None:
    """A node that is a definition with one value and fits on one line with the gap."""
    if not isinstance(node, Group) or NAMES_AND_VALUE.get(node.head) != len(node.forms):
        return None
    text = one_line(node, 0, Layout(UNLIMITED))
    return None if text is None or len(text) > width - GAP + 1 else node


def _align_run(nodes: list[Node], run: dict[int, Group], width: int) -> None:
    """Replaces the definitions of a run, and pads the comments behind them."""
    rows: list[Row] = []
    for definition in run.values():
        *left, value = definition.forms
        rows.append(("(" + " ".join(map(flat, left)), flat(value) + ")"))
    texts = aligned(rows, 0, width)
    if texts is None:
        return
    place = max(map(len, texts)) + GAP
    for index, text in zip(run, texts, strict=True):
        nodes[index] = Atom(text)
        behind = nodes[index + 1] if index + 1 < len(nodes) else None
        if isinstance(behind, Comment):
            nodes[index + 1] = Comment(" " * (place - len(text) - 1) + behind.text)
