"""Names of tools as providers accept them: letters, digits, `_` and `-`, the first no digit, at most 64 characters.
`db/get-user!` is sent as `db_get-user_`; a call of that name is a call of `db/get-user!` again."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from string import ascii_letters, digits

from sema_runtime.llm.messages import Message, Reply, Request

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

LONGEST = 64
FIRST = frozenset(ascii_letters + "_")
OTHERS = FIRST | frozenset(digits + "-")

Names = dict[str, str]


def sendable(request: Request) -> tuple[Request, Names]:
    """Returns the request with names that can be sent, and the original of each changed name."""
    if all(map(_is_sendable, _names(request))):
        return request, {}
    sent: Names = {}
    for name in _names(request):
        if name not in sent:
            sent[name] = _free(name, sent)
    renamed = replace(
        request,
        tools=[replace(tool, name=sent[tool.name]) for tool in request.tools],
        messages=[_renamed(message, sent) for message in request.messages],
    )
    return renamed, {new: old for old, new in sent.items()}


def restored(reply: Reply, names: Names) -> Reply:
    """Returns the reply with the names that the program gave its tools."""
    if names:
        reply.tool_calls = [replace(call, name=names.get(call.name, call.name)) for call in reply.tool_calls]
    return reply


def _names(request: Request) -> Iterator[str]:
    """Yields all names of tools; unchanged ones come first, so that they keep their name."""
    names = [tool.name for tool in request.tools]
    for message in request.messages:
        names += [call.name for call in message.tool_calls]
        if message.tool_name:
            names.append(message.tool_name)
    return iter(sorted(names, key=lambda name: not _is_sendable(name)))


def _renamed(message: Message, sent: Names) -> Message:
    if not message.tool_calls and not message.tool_name:
        return message
    calls = tuple(replace(call, name=sent[call.name]) for call in message.tool_calls)
    return replace(message, tool_calls=calls, tool_name=sent.get(message.tool_name or "", message.tool_name))


@lru_cache(maxsize=4096)
def _is_sendable(name: str) -> bool:
    return 0 < len(name) <= LONGEST and name[0] in FIRST and OTHERS.issuperset(name)


def _free(name: str, sent: Names) -> str:
    """Returns a name that can be sent, unlike all others sent."""
    if _is_sendable(name):
        return name
    plain = "".join(letter if letter in OTHERS else "_" for letter in name)
    if plain[:1] not in FIRST:
        plain = "_" + plain
    taken = set(sent.values())
    number = 1
    candidate = plain[:LONGEST]
    while candidate in taken:
        number += 1
        candidate = f"{plain[: LONGEST - 4]}_{number}"
    return candidate
