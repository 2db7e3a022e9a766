"""What bytes a terminal sends for a key, a mouse event or an answer: where an event ends, and the map it becomes.

The shapes are those of `io/read-key`. Sequences that mean nothing here become `{:kind :key :name :unknown}`.
"""

from __future__ import annotations

from sema_runtime.values.atoms import keyword
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

ESC = 0x1B
PASTE_BEGIN, PASTE_END = b"\x1b[200~", b"\x1b[201~"
MODIFIERS = ("shift", "alt", "ctrl", "super", "hyper", "meta", "caps-lock", "num-lock")
SHIFT, ALT, CTRL = 1, 2, 4

CONTROL_KEYS = {8: "backspace", 9: "tab", 10: "enter", 13: "enter", 127: "backspace"}
CODED_KEYS = {**CONTROL_KEYS, 27: "esc"}  # by code point, in sequences
LETTER_KEYS = {  # by the last letter of a sequence
    "A": "up", "B": "down", "C": "right", "D": "left", "F": "end", "H": "home",
    "P": "f1", "Q": "f2", "R": "f3", "S": "f4",
}  # fmt: skip
NUMBERED_KEYS = {  # by the first number of a sequence that ends with ~
    "1": "home", "2": "insert", "3": "delete", "4": "end", "5": "page-up", "6": "page-down", "7": "home", "8": "end",
    "11": "f1", "12": "f2", "13": "f3", "14": "f4", "15": "f5", "17": "f6", "18": "f7", "19": "f8", "20": "f9",
    "21": "f10", "23": "f11", "24": "f12",
}  # fmt: skip
WHEEL = ("wheel-up", "wheel-down", "wheel-left", "wheel-right")
KEY_EVENTS = {2: "repeat", 3: "release"}


# Where an event ends


def event_size(data: bytes | bytearray) -> int:
    """How many bytes the first event takes; 0 when its end hasn't come yet."""
    if not data:
        return 0
    if data[0] != ESC:
        size = _character_size(data[0])
    elif len(data) == 1:
        return 0
    elif data.startswith(PASTE_BEGIN):
        end = data.find(PASTE_END, len(PASTE_BEGIN))
        return end + len(PASTE_END) if end >= 0 else 0
    elif data[1] == ord("["):
        return next((at + 1 for at in range(2, len(data)) if 0x40 <= data[at] <= 0x7E), 0)
    else:
        size = 3 if data[1] == ord("O") else 1 + _character_size(data[1])
    return size if len(data) >= size else 0


def _character_size(first: int) -> int:
    """The length of a character in UTF-8."""
    if first & 0xE0 == 0xC0:
        return 2
    if first & 0xF0 == 0xE0:
        return 3
    return 4 if first & 0xF8 == 0xF0 else 1


def in_paste(data: bytes | bytearray) -> bool:
    """Whether the first event is a paste."""
    return data.startswith(PASTE_BEGIN)


def bytes_to_paste_end(data: bytes | bytearray) -> int:
    """How many more bytes an unfinished paste needs at least."""
    for size in range(len(PASTE_END) - 1, 0, -1):
        if data.endswith(PASTE_END[:size]):
            return len(PASTE_END) - size
    return len(PASTE_END)


# What an event means


def decode(data: bytes, position_asked: bool = False) -> Map:
    """The map of one event. position_asked: whether a sequence that may be F3 with a modifier is a cursor position."""
    if data[0] != ESC:
        return _plain(data)
    if len(data) == 1:
        return _named("esc")
    if data[1:2] == b"[" and len(data) > 2:
        return _sequence(data, position_asked)
    if data[1:2] == b"O" and len(data) > 2:
        return _named(LETTER_KEYS.get(chr(data[2]), "unknown"))
    return _character("alt", _text(data[1:]))


def _plain(data: bytes) -> Map:
    code = data[0]
    if code in CONTROL_KEYS:
        return _named(CONTROL_KEYS[code])
    if code < 0x20:
        return _character("ctrl", chr(code + 0x60))
    return _character("char", _text(data))


def _text(data: bytes) -> str:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return "?"


def _sequence(data: bytes, position_asked: bool) -> Map:
    """An event that begins with `ESC [`."""
    if in_paste(data):
        text = data.removesuffix(PASTE_END)[len(PASTE_BEGIN) :]
        return _event("paste", text=text.decode(errors="replace"))
    body, last = data[2:-1].decode("latin-1"), chr(data[-1])
    first = body[:1]
    if first == "<":
        return _mouse(body[1:], last)
    if last == "u":
        return _event("kitty-flags", flags=_numbers(body[1:])[0]) if first == "?" else _kitty(body)
    if not body and last in "IO":
        return _event("focus", focused=last == "I")
    if last == "c" and first and first in "?>":
        device = keyword("secondary" if first == ">" else "primary")
        return _event("device-attributes", device=device, params=List(_numbers(body[1:])))
    if last == "R" and (position_asked or first == "?"):
        row, column, *_ = [*_numbers(body.removeprefix("?")), 0]
        return _event("cpr", row=row, col=column)
    if last == "~" and body.startswith("27;"):
        return _other_key(body)
    return _function_key(body, last)


def _function_key(body: str, last: str) -> Map:
    fields = body.split(";")
    name = NUMBERED_KEYS.get(fields[0]) if last == "~" else LETTER_KEYS.get(last)
    if last == "Z":
        name = "shift-tab"
    bits, added = _modifiers(fields[1] if len(fields) > 1 else "")
    return _with_modifiers(_extended(_named(name or "unknown"), added), bits)


def _mouse(body: str, last: str) -> Map:
    code, x, y, *_ = [*_numbers(body), 0, 0]
    button = code & 3
    if code & 64:
        action = WHEEL[button]
    elif code & 32:
        action = "move"
    else:
        action = "release" if last == "m" else "press"
    event = _event("mouse", action=keyword(action), x=x, y=y, button=button)
    return _with_modifiers(event, code >> 2 & 7)  # shift, alt, ctrl, in the order of MODIFIERS


def _other_key(body: str) -> Map:
    """xterm's modifyOtherKeys: `27;modifiers;code point`."""
    _, modifiers, code, *_ = [*_numbers(body), 1, 0]
    bits = max(modifiers - 1, 0)
    return _with_modifiers(_coded_key(code, bits) or _character("char", _from_code(code)), bits)


def _kitty(body: str) -> Map:
    """kitty's protocol: `code:shifted:base;modifiers:event;text`, of which all but code may be missing."""
    codes, texts = body.split(";")[0].split(":"), "".join(body.split(";")[2:3]).split(":")
    bits, added = _modifiers("".join(body.split(";")[1:2]))
    kind = "alt" if bits & ALT and not bits & CTRL else "char"
    letter = _from_code(_number(codes[0]))
    if kind == "char" and bits & SHIFT and letter.isascii():
        letter = letter.upper()
    typed = "".join(_from_code(_number(text)) for text in texts if text)
    event = _coded_key(_number(codes[0]), bits) or _character(kind, typed or letter)
    for name, code in zip(("shifted-key", "base-key"), codes[1:], strict=False):
        if code:
            added[name] = _from_code(_number(code))
    return _with_modifiers(_extended(event, added), bits)


def _coded_key(code: int, bits: int) -> Map | None:
    """The key of a code point, if it has a name or is a letter pressed with ctrl."""
    if code in CODED_KEYS:
        return _named(CODED_KEYS[code])
    letter = _from_code(code)
    is_latin = letter.isascii() and letter.isalpha()
    return _character("ctrl", letter.lower()) if bits & CTRL and is_latin else None


def _modifiers(field: str) -> tuple[int, dict[str, Any]]:
    """`modifiers:event` as bits in the order of MODIFIERS and the entry :event, which only kitty's protocol has."""
    modifiers, _, event = field.partition(":")
    added = {"event": keyword(KEY_EVENTS.get(_number(event), "press"))} if event else {}
    return max(_number(modifiers) - 1, 0), added


def _from_code(code: int) -> str:
    return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


def _numbers(body: str) -> list[int]:
    return [_number(part) for part in body.split(";")]


def _number(text: str) -> int:
    """A parameter as a number; 0 when it is none or none that a terminal sends."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0


# Maps


def _event(kind: str, **fields: Any) -> Map:
    return Map({keyword("kind"): keyword(kind), **{keyword(name): value for name, value in fields.items()}})


def _named(name: str) -> Map:
    return _event("key", name=keyword(name))


def _character(kind: str, character: str) -> Map:
    return _event(kind, char=character)


def _with_modifiers(event: Map, bits: int) -> Map:
    modifiers = [keyword(name) for place, name in enumerate(MODIFIERS) if bits >> place & 1]
    return _extended(event, {"mods": List(modifiers)}) if modifiers else event


def _extended(event: Map, fields: dict[str, Any]) -> Map:
    return Map({**dict(event.pairs()), **{keyword(name): value for name, value in fields.items()}}) if fields else event
