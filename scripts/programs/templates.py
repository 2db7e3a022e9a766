"""The grammar: templates of expressions and of top-level forms, read from the text files in grammar/, and calls of
builtins by their signatures.

    == (list A)                                       what the following templates make; T stands for any kind
    3: (cons <A> <(list A)>)                          three times as likely as others
    (map (fn ($x) <*A|x:B>) <(list B)>)               $x: a fresh name; <A|x:B>: an expression of kind A that may use x
    @wild [<A> (try <B> (catch $e <B>))]              a template with a condition on the program
    == ~compare~                                      words, one of which replaces ~compare~ in a template
    == top
    (define ($f $a) <B|a:A>) :: $f A -> B             top-level forms, separated by ` // `, and what they define

`*` marks a hole that is evaluated several times,
`^` one in which the reference can't bear a `try` that catches something,
because values wait on its stack; it is the same in literals of vectors and maps. Marks of names in a scope: `x!` is
surely assigned to by set!, `x.` never is.
"""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

from programs import builtin_templates
from programs.kinds import Kind, parse, variables

GRAMMAR = Path(__file__).parent / "grammar"
PIECE = re.compile(
    r"<(?P<marks>[*^]*)(?P<kind>[a-zA-Z(][^<>|]*)(?:\|(?P<scope>[^<>]*))?>|\$(?P<name>[a-z][a-z0-9]*)|~(?P<words>[a-z]+)~"
)
PREFIX = re.compile(r"(?:(\d+): )?(?:@([a-z]+) )?")
MARKS = {"!": True, ".": False}


class Hole(NamedTuple):
    """A place for an expression. scope: (name, kind, whether it is assigned to; None: perhaps)."""

    kind: Kind
    scope: tuple[tuple[str, Kind, bool | None], ...]
    repeated: bool
    in_literal: bool


class Fresh(NamedTuple):
    name: str


class Words(NamedTuple):
    """A place for one of several words."""

    name: str


class Defined(NamedTuple):
    """What top-level forms define."""

    name: str
    kind: Kind
    assigned: bool


class Template(NamedTuple):
    makes: Kind
    pieces: tuple[str | Hole | Fresh | Words, ...]
    weight: int
    condition: str
    defines: tuple[Defined, ...]
    free: tuple[str, ...]  # kind variables that occur
    catches: bool  # holds a try or guard of its own
    is_builtin: bool  # a call of a builtin, made from its signature


class Grammar(NamedTuple):
    expressions: list[Template]
    top: list[Template]
    words: dict[str, list[str]]


@cache
def grammar() -> Grammar:
    """All templates."""
    found = Grammar([], [], {})
    for path in sorted(GRAMMAR.glob("*.txt")):
        section = ""
        for number, line in enumerate(path.read_text().splitlines(), 1):
            if line.startswith("== "):
                section = line[3:].strip()
            elif line.strip() and not line.startswith(";"):
                try:
                    _add(found, section, line.strip())
                except ValueError as error:
                    raise ValueError(f"{path.name}:{number}: {error}") from None
    for makes, line in builtin_templates.lines():
        _add(found, makes, line, is_builtin=True)
    found.words.update(builtin_templates.WORDS)
    return found


def _add(found: Grammar, section: str, line: str, is_builtin: bool = False) -> None:
    if section.startswith("~"):
        found.words.setdefault(section.strip("~"), []).extend(line.split())
        return
    prefix = PREFIX.match(line)
    assert prefix is not None
    text, _, defined = line[prefix.end() :].partition(" :: ")
    makes = "top" if section == "top" else parse(section)
    pieces = tuple(_pieces(text))
    defines = tuple(_defined(part.strip()) for part in defined.split(" ; ")) if defined else ()
    kinds = [makes, *(piece.kind for piece in pieces if isinstance(piece, Hole)), *(entry.kind for entry in defines)]
    kinds += [kind for piece in pieces if isinstance(piece, Hole) for _, kind, _ in piece.scope]
    free = sorted({name for kind in kinds for name in variables(kind)})
    catches = "(try " in text or "(guard " in text
    weight = int(prefix[1] or 1)
    template = Template(makes, pieces, weight, prefix[2] or "", defines, tuple(free), catches, is_builtin)
    (found.top if section == "top" else found.expressions).append(template)


def _pieces(text: str) -> list[str | Hole | Fresh | Words]:
    pieces: list[str | Hole | Fresh | Words] = []
    end = 0
    opened: list[str] = []  # brackets
    for match in PIECE.finditer(text):
        pieces.append(text[end : match.start()])
        note_brackets(text[end : match.start()], opened)
        end = match.end()
        if match["name"]:
            pieces.append(Fresh(match["name"]))
        elif match["words"]:
            pieces.append(Words(match["words"]))
        else:
            scope = tuple(map(_entry, match["scope"].split(","))) if match["scope"] else ()
            pieces.append(
                Hole(
                    parse(match["kind"]),
                    scope,
                    "*" in match["marks"],
                    "^" in match["marks"] or bool({"[", "{"} & set(opened)),
                )
            )
    pieces.append(text[end:])
    return [piece for piece in pieces if piece != ""]


def note_brackets(text: str, opened: list[str]) -> None:
    for character in text:
        if character in "([{":
            opened.append(character)
        elif character in ")]}" and opened:
            opened.pop()


def _entry(text: str) -> tuple[str, Kind, bool | None]:
    name, _, kind = text.partition(":")
    mark = MARKS.get(name[-1])
    return (name if mark is None else name[:-1]), parse(kind), mark


def _defined(text: str) -> Defined:
    """`$f A B -> C` is a function, `$x A` a variable, `$x! A` one that is assigned to. `$x-y` is the fresh name of x
    with `-y` behind it."""
    name, _, rest = text.removeprefix("$").partition(" ")
    takes, arrow, gives = rest.rpartition("->")
    if arrow:
        return Defined(name, parse(f"(fn {takes} {gives})"), False)
    return Defined(name.rstrip("!"), parse(rest), name.endswith("!"))
