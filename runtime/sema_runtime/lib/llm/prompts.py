"""Messages and prompts: the functions that the forms `message` and `prompt` call, `message/…`, `prompt/…`."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.llm.messages import ROLES, Image, Message, Prompt
from sema_runtime.llm.pictures import UNKNOWN, media_type_of
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


# What the special forms call


def make_message(role: Any, *parts: Any) -> Message:
    """`(message role part…)`: role is a keyword, the parts are displayed and concatenated."""
    if not isinstance(role, Keyword):
        type_error("keyword", role)
    if role.name not in ROLES:
        raise SemaError(f"message: unknown role '{role.name}'", hint="the roles are :system :user :assistant :tool")
    return role_message(role.name, *parts)


def role_message(role: str, *parts: Any) -> Message:
    """`(user part…)` and its siblings inside `prompt`; role is one of ROLES."""
    return Message(role, "".join(map(display, parts)))


def make_prompt(*entries: Any) -> Prompt:
    """`(prompt entry…)`: entries are messages or `("role" (part…))` lists."""
    return Prompt(tuple(map(_entry, entries)))


def _entry(value: Any) -> Message:
    if isinstance(value, Message):
        return value
    if type(value) is not List or len(value) != 2:
        raise SemaError("prompt: expected (role parts) pair or message value")
    role, parts = value
    if not isinstance(role, str):
        raise SemaError("prompt: expected role string")
    if type(parts) is not List:
        type_error("list", parts)
    if role not in ROLES:
        raise SemaError(f"prompt: unknown role '{role}'")
    return role_message(role, *parts)


# Arguments


def message_of(value: Any) -> Message:
    """The message itself; raises a type error for anything else."""
    if not isinstance(value, Message):
        type_error("message", value)
    return value


def prompt_of(value: Any) -> Prompt:
    """The prompt itself; raises a type error for anything else."""
    if not isinstance(value, Prompt):
        type_error("prompt", value)
    return value


def string_of(value: Any) -> str:
    """The string itself; raises a type error for anything else."""
    if not isinstance(value, str):
        type_error("string", value)
    return value


def role_of(value: Any, function: str) -> str:
    """The role a keyword names; raises for anything else."""
    if not isinstance(value, Keyword):
        type_error("keyword", value)
    if value.name not in ROLES:
        raise SemaError(f"{function}: unknown role '{value.name}'")
    return value.name


# Messages


@builtin("message?", type="any -> bool", total=True, pure=True)
def is_message(value: Any) -> bool:
    """Whether the value is a message.

    (message? (message :user "hi")) => #t
    (message? "hi") => #f
    """
    return isinstance(value, Message)


@builtin("message/role", type="other -> keyword", pure=True)
def message_role(message: Any) -> Keyword:
    """The role of a message.

    (message/role (message :user "hi")) => :user
    """
    return keyword(message_of(message).role)


@builtin("message/content", type="other -> str", pure=True)
def message_content(message: Any) -> str:
    """The text of a message.

    (message/content (message :user "n=" 1)) => "n=1"
    """
    return message_of(message).content


@builtin("message/with-image", type="keyword, str, bytevector, any? -> other", pure=True)
def message_with_image(role: Any, text: Any, image: Any, options: Any = None) -> Message:
    """A message with a picture. image: a bytevector; option :media-type names its format, which is detected otherwise.

    (message? (message/with-image :user "What is this?" #u8(137 80 78 71) {:media-type "image/png"})) => #t
    """
    if not isinstance(image, bytes | bytearray):
        type_error("bytevector", image)
    data = bytes(image)
    media_type = options.get("media-type") if isinstance(options, Map) else None
    picture = Image(media_type if isinstance(media_type, str) else media_type_of(data) or UNKNOWN, data)
    return Message(role_of(role, "message/with-image"), string_of(text), (picture,))


# Prompts


@builtin("prompt?", type="any -> bool", total=True, pure=True)
def is_prompt(value: Any) -> bool:
    """Whether the value is a prompt.

    (prompt? (prompt (user "hi"))) => #t
    """
    return isinstance(value, Prompt)


@builtin("prompt/messages", type="keep other -> list other fresh", pure=True)
def prompt_messages(prompt: Any) -> List:
    """The messages of a prompt.

    (prompt/messages (prompt (user "hi"))) => (<message user "hi">)
    """
    return List(prompt_of(prompt).messages)


@builtin("prompt/append", "prompt/concat", type="keep other, keep other... -> other", pure=True)
def prompt_append(prompt: Any, *more: Any) -> Prompt:
    """One prompt with the messages of all prompts.

    (prompt/append (prompt (system "s")) (prompt (user "u"))) => <prompt 2 messages>
    """
    return Prompt(tuple(message for part in (prompt, *more) for message in prompt_of(part).messages))


@builtin("prompt/set-system", type="keep other, any -> other", pure=True)
def prompt_set_system(prompt: Any, text: Any) -> Prompt:
    """The prompt with one system message at its beginning in place of all others.

    (map message/role (prompt/messages (prompt/set-system (prompt (user "hi")) "Be brief."))) => (:system :user)
    """
    return Prompt(with_system(prompt_of(prompt).messages, display(text)))


def with_system(messages: tuple[Message, ...], text: str) -> tuple[Message, ...]:
    """Messages with one system message in front, replacing all others of that role."""
    return (Message("system", text), *(message for message in messages if message.role != "system"))


@builtin("prompt/fill", type="keep other, map -> other", pure=True)
def prompt_fill(prompt: Any, values: Any) -> Prompt:
    """The prompt with each {{key}} replaced by the value of :key; unknown keys stay.

    (prompt/messages (prompt/fill (prompt (user "hi {{name}}")) {:name "Ada"})) => (<message user "hi Ada">)
    """
    if type(values) is not Map:
        type_error("map", values)
    return Prompt(
        tuple(
            Message(message.role, filled(message.content, values), message.images)
            for message in prompt_of(prompt).messages
        )
    )


@builtin("prompt/slots", type="other -> list keyword fresh", pure=True)
def prompt_slots(prompt: Any) -> List:
    """The keys of the {{slots}} of a prompt, in order of appearance.

    (prompt/slots (prompt (user "{{a}} {{b}} {{a}}"))) => (:a :b)
    """
    names: dict[str, None] = {}
    for message in prompt_of(prompt).messages:
        names.update(dict.fromkeys(name for _, name in pieces(message.content) if name))
    return List([keyword(name) for name in names])


@builtin("prompt/template", type="str -> str", total=True, pure=True)
def prompt_template(text: Any) -> str:
    """Returns the string itself: a template is a string with {{slots}}.

    (prompt/template "hi {{name}}") => "hi {{name}}"
    """
    return string_of(text)


@builtin("prompt/render", type="str, map -> str", pure=True)
def prompt_render(template: Any, values: Any) -> str:
    """Fills in a template: each {{key}} is replaced by the value of :key; unknown keys stay.

    (prompt/render "hi {{name}}" {:name "Ada"}) => "hi Ada"
    (prompt/render "hi {{ name }}" {:name "Ada"}) => "hi {{ name }}"
    """
    text = string_of(template)
    if type(values) is not Map:
        type_error("map", values)
    return filled(text, values)


def pieces(text: str) -> list[tuple[str, str | None]]:
    """(text before, slot name) for each {{slot}}, then (the rest, None)."""
    parts: list[tuple[str, str | None]] = []
    begun = 0
    while True:
        opening = text.find("{{", begun)
        closing = text.find("}}", opening + 2) if opening >= 0 else -1
        if closing < 0:
            parts.append((text[begun:], None))
            return parts
        parts.append((text[begun:opening], text[opening + 2 : closing]))
        begun = closing + 2


def filled(text: str, values: Map) -> str:
    """The text with its {{slots}} replaced from a map with keyword keys."""
    parts = []
    for before, name in pieces(text):
        parts.append(before)
        if name is not None:
            known = values.has(keyword(name))
            parts.append(display(values.lookup(keyword(name))) if known else "{{" + name + "}}")
    return "".join(parts)


# Prompts as sets of messages; role and text say whether two are the same


def _identity(message: Message) -> tuple[str, str]:
    return message.role, message.content


def _distinct(messages: list[Message]) -> tuple[Message, ...]:
    first: dict[tuple[str, str], Message] = {}
    for message in messages:
        first.setdefault(_identity(message), message)
    return tuple(first.values())


def _only(messages: tuple[Message, ...], others: tuple[Message, ...], inside: bool) -> list[Message]:
    known = set(map(_identity, others))
    return [message for message in messages if (_identity(message) in known) is inside]


@builtin("prompt/union", type="keep other, keep other -> other", pure=True)
def prompt_union(a: Any, b: Any) -> Prompt:
    """The messages of both prompts, each once.

    (prompt/union (prompt (user "x")) (prompt (user "x") (user "y"))) => <prompt 2 messages>
    """
    return Prompt(_distinct([*prompt_of(a).messages, *prompt_of(b).messages]))


@builtin("prompt/intersection", type="keep other, keep other -> other", pure=True)
def prompt_intersection(a: Any, b: Any) -> Prompt:
    """The messages of a that b also has, each once.

    (prompt/messages (prompt/intersection (prompt (user "a") (user "b")) (prompt (user "b")))) => (<message user "b">)
    """
    return Prompt(_distinct(_only(prompt_of(a).messages, prompt_of(b).messages, inside=True)))


@builtin("prompt/difference", type="keep other, keep other -> other", pure=True)
def prompt_difference(a: Any, b: Any) -> Prompt:
    """The messages of a that b doesn't have, each once.

    (prompt/messages (prompt/difference (prompt (user "a") (user "b")) (prompt (user "b")))) => (<message user "a">)
    """
    return Prompt(_distinct(_only(prompt_of(a).messages, prompt_of(b).messages, inside=False)))


@builtin("prompt/diff", type="keep other, keep other -> map keyword (list other) fresh", pure=True)
def prompt_diff(a: Any, b: Any) -> Map:
    """The messages that b has and a doesn't (:added), and those that a has and b doesn't (:removed), as a map.

    (prompt/diff (prompt (user "a")) (prompt (user "b"))) => {:added (<message user "b">) :removed (<message user "a">)}
    """
    first, second = prompt_of(a).messages, prompt_of(b).messages
    return Map(
        {
            keyword("added"): List(_only(second, first, inside=False)),
            keyword("removed"): List(_only(first, second, inside=False)),
        }
    )
