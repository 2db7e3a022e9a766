"""Memory of agents: threads of turns and facts that outlive the program."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.messages import Conversation, Message

ROLES = ("user", "assistant")


@builtin("memory/open", type="dict -> map keyword str fresh", cap="fs-read")
def memory_open(options: Any) -> Map:
    """A handle on the memory under {:id :namespace}: turns of a conversation, and facts.

    The memory is kept in the user's Sema folder, or in the folder :dir, for later runs. The namespace defaults to
    "default".

    (define mem (memory/open {:id "user-42" :namespace "support" :dir "."}))
    (memory/append mem {:role "user" :content "Hello"})
    (conversation/length (memory/messages mem)) => 1
    (memory/open {}) ! memory/open: :id must be a string, got nil
    """
    from sema_runtime.llm import memory
    from sema_runtime.support.file_access import checked

    if not isinstance(options, Map):
        type_error("map", options)
    identity = _option(options, "id", None)
    namespace = _option(options, "namespace", memory.DEFAULT_NAMESPACE)
    handle = {memory.ID: identity, memory.NAMESPACE: namespace}
    folder = None
    if options.lookup(keyword("dir")) is not None:
        folder = handle[memory.FOLDER] = checked("memory/open", _option(options, "dir", None))
    memory.opened("memory/open", identity, namespace, folder)
    return Map(handle)


def _option(options: Map, name: str, default: str | None) -> str:
    value = options.lookup(keyword(name))
    value = default if value is None else value
    if not isinstance(value, str):
        from sema_runtime.values.typenames import type_name

        raise SemaError(f"memory/open: :{name} must be a string, got {type_name(value)}")
    return value


@builtin("memory/append", type="keep dict a b, dict|other -> dict a b", cap="fs-write")
def memory_append(handle: Any, turn: Any) -> Any:
    """Adds a turn {:role :content} to a memory; the role is "user" (the default) or "assistant".

    (define mem (memory/open {:id "chat" :dir "."}))
    (memory/append mem {:role "assistant" :content "Found two files."})
    (message/role (first (conversation/messages (memory/messages mem)))) => :assistant
    """
    from sema_runtime.llm.memory import thread_of

    thread_of("memory/append", handle).append("memory/append", [_turn(turn)])
    return handle


def _turn(value: Any) -> Message:
    from sema_runtime.llm.jsonable import is_map
    from sema_runtime.llm.messages import Message

    if isinstance(value, Message):
        return Message("assistant" if value.role == "assistant" else "user", value.content)
    if not is_map(value):
        type_error("map or message", value)
    role, content = value.get("role"), value.get("content")
    name = role.name if isinstance(role, Keyword) else "user" if role is None else role
    if name not in ROLES:
        raise SemaError(f"memory/append: unknown role {to_text(role)}", hint='the roles are "user" and "assistant"')
    if not isinstance(content, str):
        type_error("string for :content", content)
    return Message(name, content)


@builtin("memory/messages", type="dict -> other")
def memory_messages(handle: Any) -> Conversation:
    """The turns of a memory, as a conversation.

    (define mem (memory/open {:id "chat" :dir "."}))
    (memory/append mem {:content "Hi"})
    (memory/messages mem) => <conversation 1 messages>
    """
    from sema_runtime.llm.memory import thread_of
    from sema_runtime.llm.messages import Conversation

    return Conversation(tuple(thread_of("memory/messages", handle).messages))


@builtin("memory/remember", type="keep dict a b, keyword|str, any -> dict a b", cap="fs-write")
def memory_remember(handle: Any, key: Any, value: Any) -> Any:
    """Stores a fact under a keyword, replacing an earlier one. Facts are stored as JSON: keywords become strings.

    (define mem (memory/open {:id "project" :dir "."}))
    (memory/remember mem :issues {:open 3 :state :red})
    (memory/recall-fact mem :issues) => {:open 3 :state "red"}
    """
    from sema_runtime.llm.memory import thread_of

    thread_of("memory/remember", handle).remember("memory/remember", _fact_name(key), value)
    return handle


@builtin("memory/recall-fact", type="dict, keyword|str -> map keyword any|list any|str|int|float|bool|nil fresh")
def memory_recall_fact(handle: Any, key: Any) -> Any:
    """The fact stored under a keyword; nil when there is none.

    (define mem (memory/open {:id "project" :dir "."}))
    (memory/remember mem :phase "audit")
    (memory/recall-fact mem :phase) => "audit"
    (memory/recall-fact mem :nothing) => nil
    """
    from sema_runtime.llm.memory import thread_of

    return thread_of("memory/recall-fact", handle).fact(_fact_name(key))


def _fact_name(key: Any) -> str:
    if isinstance(key, Keyword):
        return key.name
    if not isinstance(key, str):
        type_error("keyword", key)
    return key
