"""The layout of code: a form stays on one line where it fits; otherwise its head decides how it is broken.

The input is a tree of nodes, built from values (`format/form`) or from source text. Text brings comments and the
author's line breaks along: both stay where they were, and a form that has one of them inside is never joined into one
line. Widths are bytes of UTF-8, as in the reference implementation, whose layout this is.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import TypeAlias

    Node: TypeAlias = "Atom | Group | Prefixed | Comment | Break"

WIDTH = 80  # columns of a line
STEP = 2  # columns of an indentation
BLANKS = 1  # the most blank lines in a row that are kept
NEVER = 1_000_000  # wider than any line


class Atom:
    """A name or literal as it is written; symbol: whether it is a symbol."""

    __slots__ = ("reach", "size", "symbol", "text")
    loose = False

    def __init__(self, text: str, symbol: bool = False) -> None:
        self.text = text
        self.symbol = symbol
        self.size = size_of(text)
        self.reach = NEVER if "\n" in text else self.size


class Comment:
    """A comment with its semicolons."""

    __slots__ = ("reach", "text")
    loose = True
    size = 0

    def __init__(self, text: str) -> None:
        self.text = text
        self.reach = size_of(text)


class Break:
    """A line break that the author wrote; several in a row are blank lines."""

    loose = True
    size = reach = 0
    text = ""


class Prefixed:
    """A node after ' ` , ,@ or @."""

    __slots__ = ("loose", "node", "prefix", "reach", "size")
    loose: bool
    size: int
    reach: int

    def __init__(self, prefix: str, node: Node) -> None:
        self.prefix = prefix
        self.node = node
        self.loose = node.loose
        self.size = len(prefix) + node.size
        self.reach = len(prefix) + node.reach


class Group:
    """The contents of a pair of brackets. opening: one of ( #( [ { #u8(

    forms: the children without comments and breaks. loose: whether there is a comment or a break anywhere inside. size:
    of the one-line form; reach: the same, NEVER where a literal in it has line breaks of its own.
    """

    __slots__ = ("children", "closing", "forms", "loose", "opening", "reach", "size")
    loose: bool
    size: int
    reach: int

    def __init__(self, opening: str, children: Sequence[Node]) -> None:
        self.opening = opening
        self.closing = {"[": "]", "{": "}"}.get(opening, ")")
        self.children = children
        self.forms = [child for child in children if not isinstance(child, TRIVIA)]
        self.loose = any(child.loose for child in children)
        around = len(opening) + 1 + max(0, len(self.forms) - 1)
        self.size = around + sum(form.size for form in self.forms)
        self.reach = around + sum(form.reach for form in self.forms)

    @property
    def head(self) -> str:
        """The symbol in front, or nothing."""
        first = self.forms[0] if self.forms else None
        return first.text if isinstance(first, Atom) and first.symbol else ""

    def before_comment(self) -> int:
        """How many forms stand before the first comment; NEVER when there is no comment."""
        count = 0
        for child in self.children:
            if isinstance(child, Comment):
                return count
            count += not isinstance(child, Break)
        return NEVER

    def after(self, count: int) -> Sequence[Node]:
        """The children after the first `count` forms."""
        for index, child in enumerate(self.children):
            if not isinstance(child, TRIVIA):
                count -= 1
                if count == 0:
                    return self.children[index + 1 :]
        return ()


TRIVIA = (Comment, Break)


def size_of(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def flat(node: Node) -> str:
    """A node on one line, without its comments."""
    if isinstance(node, Group):
        return node.opening + " ".join(map(flat, node.forms)) + node.closing
    if isinstance(node, Prefixed):
        return node.prefix + flat(node.node)
    return node.text


# What a head asks for. The numbers are those of the forms on the first line, the head included.

WITH_BODY = {
    "define": 2, "def": 2, "defn": 3, "defun": 3, "defmacro": 3, "define-record-type": 4, "define-syntax": 2,
    "deftool": 2, "defagent": 2, "defmulti": 3, "defmethod": 4, "define-values": 2, "fn": 2, "lambda": 2, "when": 2,
    "unless": 2, "while": 2, "guard": 2, "dotimes": 2, "for": 2, "for-range": 2, "for-list": 2, "for-map": 2,
    "for-filter": 2, "for-fold": 3, "module": 2, "with-open-file": 2, "with-exception-handler": 2, "do": 1, "begin": 1,
    "progn": 1, "async": 1, "prompt": 1, "message": 1, "export": 1, "for-each": 1, "syntax-rules": 1, "try": 1,
}  # fmt: skip
WITH_SUBJECT = {"cond": 1, "case": 2, "match": 2, "match*": 2, "->": 2, "->>": 2, "as->": 2, "some->": 2, "if": 2}
WITH_PAIRS = {"hash-map": 1, "assoc": 2}
WITH_BINDINGS = {"let", "let*", "letrec", "let-values", "let*-values", "when-let", "if-let", "parameterize"}
HEAD_ONLY = {"import", "load", "require"}


def on_first_line(form: Group) -> int:
    """How many forms of a form with a body may stand on its first line."""
    names_a_value = form.head in ("define", "def") and len(form.forms) > 1 and not _is_group(form.forms[1], "(")
    return min(3 if names_a_value else WITH_BODY[form.head], len(form.forms))


def is_forced(form: Group) -> bool:
    """Whether a form is broken although it fits: several expressions in a body, several bindings."""
    if form.head in WITH_BODY and form.head != "try":
        return len(form.forms) > on_first_line(form) + 1
    place = bindings_place(form)
    bindings = form.forms[place] if form.head in WITH_BINDINGS and len(form.forms) > place else None
    if isinstance(bindings, Group) and bindings.opening in ("(", "["):
        return sum(_is_group(binding, "(", "[") for binding in bindings.forms) >= 2
    return False


def bindings_place(form: Group) -> int:
    """The place of the bindings of a let: after its head, or after the name of a named let."""
    if form.head == "let" and len(form.forms) > 2:
        name, bindings = form.forms[1:3]
        if isinstance(name, Atom) and name.symbol and _is_group(bindings, "(", "["):
            return 2
    return 1


def _is_group(node: Node, *openings: str) -> bool:
    return isinstance(node, Group) and node.opening in openings


def _has_rows(group: Group) -> bool:
    """Whether there is a line break between two forms of a group."""
    forms = [index for index, child in enumerate(group.children) if not isinstance(child, Break)]
    return len(forms) > 1 and forms[-1] - forms[0] >= len(forms)


class TooLong(Exception):
    """Text that must stay on one line needs several."""


class Layout:
    """Writes nodes. width: columns of a line; step: columns of an indentation; blanks: blank lines kept in a row."""

    def __init__(self, width: int = WIDTH, step: int = STEP, blanks: int = BLANKS) -> None:
        self.width = width
        self.step = step
        self.blanks = blanks
        self.parts: list[str] = []
        self.column = 0
        self.resume_at: int | None = None  # column for further text, if a comment behind a prefix ends this line
        self.trying = False  # whether a second line raises TooLong

    def text(self) -> str:
        """Everything written so far."""
        return "".join(self.parts)

    def node(self, node: Node, indent: int) -> None:
        """Writes a node at the current place. indent: the column that its further lines are indented from."""
        if isinstance(node, Group):
            self.group(node, indent)
        elif isinstance(node, Prefixed):
            self.write(node.prefix + " " if isinstance(node.node, Comment) else node.prefix)
            self.node(node.node, indent)
            if isinstance(node.node, Comment):
                self.resume_at = indent
        else:
            self.write(node.text)

    def group(self, group: Group, indent: int) -> None:
        """On one line where it may and does fit, else by what it is."""
        if group.opening not in ("(", "#("):
            self.collection(group, indent)
        elif self.stays_flat(group, indent) and not is_forced(group):
            self.write(flat(group))
        elif not group.forms:
            self.empty(group, indent)
        else:
            self.form(group, indent)

    def stays_flat(self, group: Group, indent: int) -> bool:
        """Whether nothing inside asks for lines of its own, and the group fits into one."""
        return not group.loose and indent + group.size <= self.width

    def form(self, form: Group, indent: int) -> None:
        """Over several lines. A comment among what belongs on the first line leaves the head alone there."""
        head = form.head
        layout, needed = self.call, 1
        if head in WITH_BODY:
            layout = self.body
        elif head in WITH_SUBJECT:
            layout, needed = self.subject, min(WITH_SUBJECT[head], len(form.forms))
        elif head in WITH_PAIRS:
            layout, needed = self.paired_call, WITH_PAIRS[head]
        elif head in WITH_BINDINGS and len(form.forms) > 1:
            layout, needed = self.binding, bindings_place(form) + 1
        elif head in HEAD_ONLY:
            layout = self.head_only
        if form.before_comment() < needed:
            layout = self.head_only
        layout(form, indent)
        self.write(form.closing)

    # The layouts of forms: each writes everything but the closing bracket.

    def head_only(self, form: Group, indent: int) -> None:
        """The head, everything else below."""
        self.head(form, indent)
        self.below(form.after(1), indent + self.step)

    def body(self, form: Group, indent: int) -> None:
        """As much as belongs on the first line and fits, then one expression a line."""
        indented = indent + self.step
        self.head(form, indent)
        done = 1
        for node in form.forms[1 : min(on_first_line(form), form.before_comment())]:
            if not self.beside(node, indented, self.column):
                break
            done += 1
        self.below(form.after(done), indented)

    def binding(self, form: Group, indent: int) -> None:
        """Writes the bindings after the head and the body below."""
        place = bindings_place(form)
        column = indent + len(form.opening) + sum(node.reach + 1 for node in form.forms[:place])
        self.head(form, indent)
        for node in form.forms[1:place]:
            self.write(" " + flat(node))
        self.write(" ")
        bindings = form.forms[place]
        if isinstance(bindings, Group) and bindings.opening == "(":
            self.collection(bindings, column)
        else:
            self.node(bindings, column)
        self.below(form.after(place + 1), indent + self.step)

    def subject(self, form: Group, indent: int) -> None:
        """The head and a subject, test or first value; clauses, branches or steps below."""
        count = min(WITH_SUBJECT[form.head], len(form.forms))
        self.head(form, indent)
        for node in form.forms[1:count]:
            self.write(" ")
            self.node(node, indent + self.step)
        self.below(form.after(count), indent + self.step)

    def call(self, form: Group, indent: int) -> None:
        """Writes the first argument after the head where it fits, and the others below."""
        indented = indent + self.step
        self.head(form, indent)
        done = 1
        if len(form.forms) > 1 and form.before_comment() > 1:
            column = indent + len(form.opening) + form.forms[0].reach
            done += self.beside(form.forms[1], indented, column)
        self.below(form.after(done), indented)

    def paired_call(self, form: Group, indent: int) -> None:
        """hash-map and assoc: a key and its value on each line below; a long value on a line of its own."""
        indented = indent + self.step
        count = WITH_PAIRS[form.head]
        self.head(form, indent)
        for node in form.forms[1:count]:
            self.write(" ")
            self.node(node, indented)

        def value(node: Node) -> None:
            if not self.beside(node, indented, self.column):
                self.line(indented + self.step)
                self.node(node, indented + self.step)

        self.pairs(form.after(count), indented, value, first=False)

    # Collections

    def collection(self, group: Group, indent: int) -> None:
        """A vector, map, bytevector or list of bindings: flat, or one element or entry a line."""
        column = indent + len(group.opening)
        if self.stays_flat(group, indent):
            self.write(flat(group))
        elif not group.forms:
            self.empty(group, indent)
        else:
            if group.opening == "{":
                self.map(group, column)
            elif group.opening == "#u8(" and all(isinstance(child, Atom | Break) for child in group.children):
                self.bytes(group, column)
            else:
                self.head(group, indent)
                self.below(group.after(1), column)
            self.write(group.closing)

    def map(self, group: Group, column: int) -> None:
        """A key and its value on each line."""

        def value(node: Node) -> None:
            self.write(" ")
            self.node(node, column)

        self.write(group.opening)
        self.pairs(group.children, column, value, first=True)

    def bytes(self, group: Group, column: int) -> None:
        """The author's rows, or as many bytes a line as fit. The first row counts as if it began at column."""
        rows: list[list[str]] = [[]]
        at = column
        by_author = _has_rows(group)
        for child in group.children:
            full = isinstance(child, Break) if by_author else at + 1 + child.size > self.width
            if full and rows[-1]:
                rows.append([])
                at = column
            if isinstance(child, Atom):
                at += child.size + bool(rows[-1])
                rows[-1].append(child.text)
        self.write(group.opening)
        for row in rows:
            if row is not rows[0] and row:
                self.line(column)
            self.write(" ".join(row))

    # Pieces of layouts

    def empty(self, group: Group, indent: int) -> None:
        """No forms inside, perhaps comments."""
        self.opening(group, indent)
        self.write(group.closing)

    def head(self, group: Group, indent: int) -> None:
        """The bracket and the first form."""
        self.opening(group, indent)
        self.node(group.forms[0], indent + len(group.opening))

    def opening(self, group: Group, indent: int) -> None:
        """The bracket, and below it the comments before the first form."""
        column = indent + len(group.opening)
        self.write(group.opening)
        commented = False
        for child in group.children:
            if isinstance(child, Comment):
                self.line(column)
                self.write(child.text)
                commented = True
            elif not isinstance(child, Break):
                break
        if commented:
            self.line(column)

    def beside(self, node: Node, indent: int, column: int) -> bool:
        """Writes a node after the text on this line, which ends at column, if it fits there on one line."""
        if column + 1 + node.reach > self.width:
            return False
        mark, at, trying = len(self.parts), self.column, self.trying
        self.trying = True
        try:
            self.write(" ")
            self.node(node, indent)
        except TooLong:
            del self.parts[mark:]
            self.column = at
            self.resume_at = None
            return False
        finally:
            self.trying = trying
        return True

    def below(self, children: Sequence[Node], indent: int) -> None:
        """Writes one form a line. A comment stays after the form whose line it shared; blank lines are kept."""
        breaks, commented = 0, False
        for child in children:
            if isinstance(child, Break):
                breaks += 1
                continue
            if isinstance(child, Comment) and breaks == 0:
                self.write(" ")
            else:
                self.line(indent, min(max(0, breaks - 1), self.blanks))
            self.node(child, indent)
            breaks = 0
            commented = isinstance(child, Comment)
        if commented:
            self.line(indent)

    def pairs(self, children: Sequence[Node], indent: int, value: Callable[[Node], None], *, first: bool) -> None:
        """Keys on lines of their own, values as `value` writes them; first: nothing stands on this line yet."""
        is_key, commented, broken = True, False, False
        for child in children:
            if isinstance(child, Break):
                broken = True
                continue
            if isinstance(child, Comment):
                if first or broken:
                    self.line(indent)
                else:
                    self.write(" ")
                self.write(child.text)
            elif is_key:
                if not first:
                    self.line(indent)
                self.node(child, indent)
            elif commented:
                self.line(indent + self.step)
                self.node(child, indent + self.step)
            else:
                value(child)
            commented = isinstance(child, Comment)
            is_key ^= not commented
            first = broken = False
        if commented:
            self.line(indent)

    def line(self, indent: int, blanks: int = 0) -> None:
        """Begins a line after some blank ones."""
        if self.trying:
            raise TooLong
        self.parts.append("\n" * (blanks + 1) + " " * indent)
        self.column = indent
        self.resume_at = None

    def write(self, text: str) -> None:
        """Writes text on the current line, or on a new one where that line ends in a comment."""
        if self.resume_at is not None:
            self.line(self.resume_at)
            text = text.lstrip(" ")
        self.parts.append(text)
        start = text.rfind("\n") + 1
        self.column = size_of(text[start:]) + (0 if start else self.column)
