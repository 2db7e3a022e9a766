"""The table of places of a code object: where the reference shows calls, and in what they stand (semac/ir/places.py).

It is a constant of the code, a text of `Place`s: (line, column, shown line or 0, shown column, kind, loop, line of the
loop, its column, line and column that are shown while the called function runs, or 0). kind: "tail" for a call that
hides its caller, "calls back" for a builtin whose function may be compiled into the caller, "callback" for a call in
such a function. loop: the name of the named let around the call that is a loop of the same code; line 0: in tail
position. Of a callback the position is that of the builtin's call.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    Place = tuple[int, int, int, int, str, str, int, int, int, int]

PLACES = "sema places"  # what the constant begins with
KINDS = {"": "", "tail": "t", "calls back": "b", "callback": "c"}
KIND_OF = {letter: kind for kind, letter in KINDS.items()}


def place_of(code: CodeType, line: int, col: int) -> Place | None:
    """What the table of code says of the call at a line and column."""
    for constant in reversed(code.co_consts):
        if type(constant) is str and constant.startswith(PLACES):
            entry = constant.find(f"\n{line}:{col}>")
            return decoded(constant[entry + 1 :].partition("\n")[0]) if entry >= 0 else None
    return None


def inlined_in(code: CodeType, line: int, col: int) -> tuple[int, int] | None:
    """The call of a builtin, in the same code, whose function argument holds the call at a line and column.

    None where the argument has code of its own, or there is none.
    """
    place = place_of(code, line, col)
    while place is not None and place[4] != "callback" and place[6]:
        place = place_of(code, place[6], place[7])  # the named let around it
    if place is None or place[4] != "callback" or not place[6]:
        return None
    starts = ((start, column) for start, _, column, _ in code.co_positions())
    return (place[6], place[7]) if (place[6], place[7] - 1) in starts else None


def encoded(places: list[Place]) -> str:
    """The constant of a code object that has places: a line each, `line:col>shown:col`, kind, `@loop:line:col`,
    `<line:col` of what is shown later."""
    lines = [PLACES]
    for line, col, shown, shown_col, kind, loop, loop_line, loop_col, later, later_col in places:
        around = f"@{loop}:{loop_line}:{loop_col}" if loop or loop_line else ""
        behind = f"<{later}:{later_col}" if later else ""
        lines.append(f"{line}:{col}>{shown}:{shown_col}{KINDS[kind]}{around}{behind}")
    return "\n".join(lines)


def decoded(text: str) -> Place:
    """The place of a line of the constant."""
    position_, _, rest = text.partition(">")
    end = rest.rfind("<")  # names may hold one, too
    later = rest[end + 1 :].split(":") if end >= 0 else []
    if len(later) == 2 and all(part.isdecimal() for part in later):
        rest = rest[:end]
    else:
        later = ["0", "0"]
    shown, _, around = rest.partition("@")
    kind = shown[-1] if shown[-1] in KIND_OF else ""
    loop, loop_line, loop_col = around.rsplit(":", 2) if around else ("", "0", "0")
    line, col = map(int, position_.split(":"))
    shown_line, shown_col = map(int, shown.removesuffix(kind).split(":"))
    ends = int(later[0]), int(later[1])
    return line, col, shown_line, shown_col, KIND_OF[kind], loop, int(loop_line), int(loop_col), *ends
