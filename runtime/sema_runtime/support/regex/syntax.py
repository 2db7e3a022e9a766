"""Parses the regex syntax of the reference (Rust's `regex` crate) into a tree whose leaves are pieces of Python's `re`.

What differs: no look-around, no backreferences, `(?<n>..)`, `\\p{..}`, `\\x{..}`, `\\z`, POSIX classes, class
operators (`&&`, `--`, `~~`), nested classes, repeated repetitions, flags `U x R u`, the meaning of `\\w \\s ^ $ .`.
Flags are resolved here, so the leaves need none, except for case.
"""

from __future__ import annotations

from typing import NamedTuple, NoReturn

from sema_runtime.support.regex import classes
from sema_runtime.support.regex.classes import Ranges
from sema_runtime.support.regex.errors import syntax_error, too_large
from sema_runtime.support.regex.tree import Choice, Group, One, Place, Repeat, Sequence, depth, size

TYPE_CHECKING = False
if TYPE_CHECKING:
    from sema_runtime.support.regex.tree import Node

SPECIAL = frozenset("\\.+*?()|[]{}^$#&-~")
CONTROLS = {"a": "\a", "f": "\f", "t": "\t", "n": "\n", "r": "\r", "v": "\v"}
BOUNDARIES = {
    "b": r"\b", "B": r"(?!\b)", "A": r"\A", "z": r"\Z", "<": r"(?<!\w)(?=\w)", ">": r"(?<=\w)(?!\w)",
    "start": r"(?<!\w)(?=\w)", "end": r"(?<=\w)(?!\w)", "start-half": r"(?<!\w)", "end-half": r"(?!\w)",
}  # fmt: skip
FLAGS_ONLY = Sequence([])  # stands for `(?flags)`
HEX_DIGITS = {"x": 2, "u": 4, "U": 8}
LARGEST = 300_000  # steps, with all repetitions written out: about what the reference's size limit allows
LARGEST_COUNT = 0xFFFFFFFF
DEEPEST = 250  # groups or classes in one another


class Flags(NamedTuple):
    i: bool = False
    m: bool = False
    s: bool = False
    R: bool = False
    U: bool = False
    x: bool = False
    u: bool = True


class Syntax(NamedTuple):
    """names: of the groups, to their numbers; groups: how many there are."""

    tree: Node
    names: dict[str, int]
    groups: int


def in_order(items: list[Node]) -> Node:
    return items[0] if len(items) == 1 else Sequence(items)


class Parser:
    """One pass over a pattern. limit: `classes.ASCII` when the texts to search are ASCII, else UNICODE."""

    def __init__(self, text: str, limit: int) -> None:
        self.text = text
        self.limit = limit
        self.at = 0
        self.flags = Flags()
        self.groups = 0
        self.names: dict[str, int] = {}
        self.name_spans: dict[str, tuple[int, int]] = {}
        self.depth = 0

    def parse(self) -> Syntax:
        tree = self.alternation()
        if self.at < len(self.text):
            self.fail("unopened group", self.at, self.at + 1)
        if depth(tree) > DEEPEST:
            self.too_deep(0)
        if size(tree) > LARGEST:
            raise too_large()
        return Syntax(tree, self.names, self.groups)

    # Reading

    def peek(self, text: str) -> bool:
        return self.text.startswith(text, self.at)

    def here(self) -> str:
        return self.text[self.at : self.at + 1]

    def fail(self, message: str, start: int, end: int, other: tuple[int, int] | None = None) -> NoReturn:
        raise syntax_error(self.text, message, [(start, end)] if other is None else [other, (start, end)])

    def skip_blank(self) -> None:
        """Skips white space and comments, under `(?x)`."""
        while self.flags.x and self.at < len(self.text):
            if self.here() == "#":
                end = self.text.find("\n", self.at)
                self.at = len(self.text) if end < 0 else end + 1
            elif self.here().isspace():
                self.at += 1
            else:
                break

    # Structure

    def alternation(self) -> Node:
        """Parses up to the `)` that closes the group, or to the end."""
        branches: list[Node] = []
        branch: list[Node] = []
        while True:
            self.skip_blank()
            mark = self.here()
            if mark in ("", ")"):
                break
            if mark == "|":
                self.at += 1
                branches.append(in_order(branch))
                branch = []
            elif mark in "?*+{":
                self.repetition(branch)
            elif mark == "(":
                branch.append(self.group())
            else:
                branch.append(self.atom(mark))
        last = in_order(branch)
        return Choice([*branches, last]) if branches else last

    def repetition(self, branch: list[Node]) -> None:
        start = self.at
        if not branch or branch[-1] is FLAGS_ONLY:
            self.fail("repetition operator missing expression", start, start + 1)
        mark = self.here()
        if mark == "{":
            least, most = self.counted()
        else:
            least, most = (1 if mark == "+" else 0), (1 if mark == "?" else None)
            self.at += 1
        lazy = self.here() == "?"
        if lazy:
            self.at += 1
        branch.append(Repeat(branch.pop(), least, most, lazy == self.flags.U))

    def counted(self) -> tuple[int, int | None]:
        """`{2}`, `{2,}`, `{2,3}`, spaces allowed: the least and the greatest number."""
        start = self.at
        self.at += 1
        least = self.decimal(start)
        most: int | None = least
        if self.here() == ",":
            self.at += 1
            self.spaces()
            most = None if self.here() == "}" else self.decimal(start)
        if self.here() != "}":
            self.fail("unclosed counted repetition", start, self.at)
        self.at += 1
        if most is not None and most < least:
            self.fail("invalid repetition count range, the start must be <= the end", start, self.at)
        return least, most

    def spaces(self) -> None:
        while self.here().isspace():
            self.at += 1

    def decimal(self, start: int) -> int:
        self.spaces()
        digits = self.at
        while self.here().isdigit() and self.here().isascii():
            self.at += 1
        if self.at == len(self.text):
            self.fail("unclosed counted repetition", start, start + 1 if digits == self.at else self.at)
        if digits == self.at:
            self.fail("repetition quantifier expects a valid decimal", digits, digits + 1)
        if self.at - digits > 10 or int(self.text[digits : self.at]) > LARGEST_COUNT:
            self.fail("decimal literal invalid", digits, self.at)
        value = int(self.text[digits : self.at])
        self.spaces()
        return value

    def deeper(self, start: int) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            self.too_deep(start)

    def too_deep(self, start: int) -> NoReturn:
        self.fail(f"exceed the maximum number of nested parentheses/brackets ({DEEPEST})", start, start + 1)

    def group(self) -> Node:
        """A group; FLAGS_ONLY for flags that apply to the rest of the surrounding group."""
        start = self.at
        for mark in ("(?=", "(?!", "(?<=", "(?<!"):
            if self.peek(mark):
                self.fail(
                    "look-around, including look-ahead and look-behind, is not supported", start, start + len(mark)
                )
        outer = self.flags
        number = self.groups + 1
        if self.peek("(?P<") or self.peek("(?<"):
            self.at += 4 if self.peek("(?P<") else 3
            self.groups += 1
            self.group_name()
        elif self.peek("(?"):
            self.at += 2
            if self.at == len(self.text):
                self.fail("unclosed group", start, start + 1)
            if self.here() == ")":
                self.fail("repetition operator missing expression", start + 1, start + 2)
            self.read_flags()
            self.at += 1
            if self.text[self.at - 1] == ")":
                return FLAGS_ONLY
            number = 0
        else:
            self.at += 1
            self.groups += 1
        self.deeper(start)
        inner = self.alternation()
        self.depth -= 1
        if not self.here():
            self.fail("unclosed group", start, start + 1)
        self.at += 1
        self.flags = outer
        return Group(inner, number)

    def group_name(self) -> None:
        start = self.at
        while self.here() not in ("", ">"):
            character = self.here()
            if not (
                character == "_"
                or character.isalpha()
                or (self.at > start and (character.isalnum() or character in ".[]"))
            ):
                self.fail("invalid capture group character", self.at, self.at + 1)
            self.at += 1
        if not self.here():
            self.fail("unclosed capture group name", self.at, self.at)
        name = self.text[start : self.at]
        if not name:
            self.fail("empty capture group name", start, start)
        if name in self.names:
            self.fail("duplicate capture group name", start, self.at, self.name_spans[name])
        self.names[name] = self.groups
        self.name_spans[name] = (start, self.at)
        self.at += 1

    def read_flags(self) -> None:
        """The flags of `(?flags)` or `(?flags:`, up to the `)` or `:`."""
        on = True
        while self.here() not in (")", ":"):
            flag = self.here()
            if not flag:
                self.fail("expected flag but got end of regex", self.at, self.at)
            if flag == "-":
                if not on:
                    self.fail("flag negation operator repeated", self.at, self.at + 1)
                on = False
            elif flag in Flags._fields:
                self.flags = self.flags._replace(**{flag: on})
            else:
                self.fail("unrecognized flag", self.at, self.at + 1)
            self.at += 1
        if self.text[self.at - 1] == "-":
            self.fail("dangling flag negation operator", self.at - 1, self.at)

    # Atoms

    def atom(self, mark: str) -> Node:
        start = self.at
        if mark == "[":
            return self.one(self.character_class())
        if mark == "\\":
            return self.escape()
        self.at += 1
        if mark == ".":
            self.ascii_only(start)
            return One("(?s:.)" if self.flags.s else r"[^\r\n]" if self.flags.R else r"[^\n]")
        return Place(self.line_anchor(mark)) if mark in "^$" else self.one(classes.literal(mark))

    def one(self, text: str) -> One:
        """A leaf for one character, which ignores case where the flags say so."""
        return One(f"(?i:{text})" if self.flags.i else text)

    def ascii_only(self, start: int) -> None:
        if not self.flags.u:
            self.fail("pattern can match invalid UTF-8", start, self.at)

    def line_anchor(self, mark: str) -> str:
        if not self.flags.m:
            return r"\A" if mark == "^" else r"\Z"
        if self.flags.R:
            return r"(?:\A|(?<=\n)|(?<=\r)(?!\n))" if mark == "^" else r"(?:(?<!\r)(?=\n)|(?=\r)|\Z)"
        return f"(?m:{mark})"

    def escape(self) -> Node:
        start = self.at
        mark = self.text[start + 1 : start + 2]
        if mark in BOUNDARIES and mark:
            self.at += 2
            return Place(self.special_boundary() if mark == "b" and self.peek("{") else BOUNDARIES[mark])
        if mark and mark in "dswDSW":
            self.at += 2
            digits = mark == "d" and self.flags.u
            return self.one(r"\d" if digits else classes.rendered(self.perl_class(mark), self.limit))
        if mark and mark in "pP":
            return self.one(classes.rendered(self.unicode_property(), self.limit))
        return self.one(classes.literal(self.escaped_character()))

    def special_boundary(self) -> str:
        end = self.text.find("}", self.at)
        name = self.text[self.at + 1 : end]
        if end < 0 or not name[:1].isalpha():
            return r"\b"
        if name not in BOUNDARIES:
            message = (
                "unrecognized special word boundary assertion, valid choices are: start, end, start-half or end-half"
            )
            self.fail(message, self.at + 1, end)
        self.at = end + 1
        return BOUNDARIES[name]

    def escaped_character(self) -> str:
        """The character that an escape sequence stands for."""
        start = self.at
        mark = self.text[start + 1 : start + 2]
        self.at += 2
        if not mark:
            self.fail("incomplete escape sequence, reached end of pattern prematurely", start, start + 1)
        if mark in HEX_DIGITS:
            return self.hexadecimal(HEX_DIGITS[mark])
        if mark in CONTROLS:
            return CONTROLS[mark]
        if mark in "0123456789":
            self.fail("backreferences are not supported", start, start + 2)
        if mark in SPECIAL or (mark.isascii() and not mark.isalnum() and mark not in "<>"):
            return mark
        self.fail("unrecognized escape sequence", start, start + 2)

    def hexadecimal(self, length: int) -> str:
        braces = self.here() == "{"
        start = self.at + braces
        end = self.text.find("}", start) if braces else start + length
        if end < 0 or end > len(self.text):
            self.fail("incomplete escape sequence, reached end of pattern prematurely", len(self.text), len(self.text))
        digits = self.text[start:end]
        for index, digit in enumerate(digits, start):
            if digit not in "0123456789abcdefABCDEF":
                self.fail("invalid hexadecimal digit", index, index + 1)
        if not digits:
            self.fail("hexadecimal literal empty", start - 1, end + 1)
        code = int(digits, 16)
        if code > classes.UNICODE or 0xD800 <= code < 0xE000:
            self.fail("hexadecimal literal is not a Unicode scalar value", start, end)
        self.at = end + braces
        return chr(code)

    # Classes

    def perl_class(self, mark: str) -> Ranges:
        limit = self.limit if self.flags.u else classes.ASCII
        kind = mark.lower()
        ranges = classes.digit(limit) if kind == "d" else classes.space(limit) if kind == "s" else classes.word(limit)
        return classes.negated(ranges, self.limit) if mark.isupper() else ranges

    def unicode_property(self) -> Ranges:
        start = self.at
        negative = self.text[start + 1] == "P"
        self.at += 2
        if self.here() == "{":
            end = self.text.find("}", self.at)
            if end < 0:
                self.fail("incomplete escape sequence, reached end of pattern prematurely", start, len(self.text))
            name = self.text[self.at + 1 : end]
            self.at = end + 1
        else:
            name = self.here()
            self.at += 1
        if name.startswith("^"):
            negative, name = not negative, name[1:]
        if "!=" in name:
            negative, name = not negative, name.replace("!=", "=")
        ranges = classes.property_set(name, self.limit)
        if ranges is None:
            self.fail("Unicode property not found", start, self.at)
        return classes.negated(ranges, self.limit) if negative else ranges

    def character_class(self) -> str:
        start = self.at
        ranges, negative = self.class_parts()
        if negative:
            self.ascii_only(start)
        return classes.rendered(ranges, self.limit, negative)

    def class_parts(self) -> tuple[Ranges, bool]:
        """(the ranges of a bracketed class before negation, whether it is negated)."""
        start = self.at
        self.deeper(start)
        self.at += 1
        self.skip_blank()
        negative = self.here() == "^"
        self.at += negative
        self.skip_blank()
        union: Ranges = []
        while self.here() == "-":
            union.append((45, 45))
            self.at += 1
            self.skip_blank()
        if not union and self.here() == "]":
            union.append((93, 93))
            self.at += 1
        left: Ranges | None = None
        operator = ""
        while True:
            self.skip_blank()
            mark = self.here()
            if not mark:
                self.fail("unclosed character class", start, max(start + 1, self.class_opening_end(start)))
            if mark == "]" or self.peek("&&") or self.peek("--") or self.peek("~~"):
                merged = classes.union(union)
                left = merged if left is None else classes.combined(left, operator, merged, self.limit)
                if mark == "]":
                    self.at += 1
                    self.depth -= 1
                    return left, negative
                operator = mark * 2
                self.at += 2
                union = []
            else:
                union += self.class_item()

    def class_opening_end(self, start: int) -> int:
        """The end of the opening of an unclosed class: after `[`, `^` and a literal `]` or `-`."""
        end = start + 1 + (self.text[start + 1 : start + 2] == "^")
        return end + 1 if self.text[end : end + 1] == "]" else start + 1

    def class_item(self) -> Ranges:
        """A nested class, a class escape, a range or a single character."""
        if self.here() == "[":
            posix = self.posix_class()
            if posix is not None:
                return posix
            ranges, negative = self.class_parts()
            return classes.negated(ranges, self.limit) if negative else ranges
        start = self.at
        first = self.class_atom()
        self.skip_blank()
        if self.here() != "-" or self.text[self.at + 1 : self.at + 2] in ("]", "-", ""):
            return first if isinstance(first, list) else [(ord(first), ord(first))]
        if isinstance(first, list):
            return self.bad_range_end(start)
        self.at += 1
        self.skip_blank()
        second_start = self.at
        second = self.class_atom()
        if isinstance(second, list):
            return self.bad_range_end(second_start)
        if first > second:
            self.fail("invalid character class range, the start must be <= the end", start, self.at)
        return classes.within([(ord(first), ord(second))], self.limit)

    def bad_range_end(self, start: int) -> NoReturn:
        self.fail("invalid range boundary, must be a literal", start, start + 2)

    def class_atom(self) -> str | Ranges:
        mark = self.here()
        if mark != "\\":
            self.at += 1
            return mark
        start = self.at
        kind = self.text[start + 1 : start + 2]
        if kind and kind in "dswDSW":
            self.at += 2
            return self.perl_class(kind)
        if kind and kind in "pP":
            return self.unicode_property()
        if kind and kind in "bBAz<>":
            self.fail("invalid escape sequence found in character class", start, start + 2)
        return self.escaped_character()

    def posix_class(self) -> Ranges | None:
        """`[:alpha:]` or `[:^alpha:]`; None for any other text."""
        if not self.peek("[:"):
            return None
        end = self.text.find(":]", self.at + 2)
        name = self.text[self.at + 2 : end] if end > 0 else ""
        posix = classes.POSIX.get(name.removeprefix("^"))
        if posix is None:
            return None
        self.at = end + 2
        ranges = classes.ranges_of(posix)
        return classes.negated(classes.union(ranges), self.limit) if name.startswith("^") else ranges
