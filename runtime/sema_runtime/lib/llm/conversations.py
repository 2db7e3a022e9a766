"""Conversations: immutable histories. Every function that changes one returns a new one."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.llm.prompts import message_of, role_of, string_of, with_system
from sema_runtime.llm.messages import Conversation, Message, Prompt
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import OutOfBounds, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import MISSING, Map
from sema_runtime.values.printer import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.llm.messages import Reply, Request

PROMPT_TOKENS, COMPLETION_TOKENS, COST = "usage-prompt-tokens", "usage-completion-tokens", "usage-cost"


def _of(value: Any) -> Conversation:
    if not isinstance(value, Conversation):
        type_error("conversation", value)
    return value


def _with(conversation: Conversation, messages: tuple[Message, ...]) -> Conversation:
    return Conversation(messages, conversation.model, conversation.metadata)


def _is_true(value: Any) -> bool:
    return value is not None and value is not False


@builtin("conversation/new", type="dict? -> other", pure=True)
def conversation_new(options: Any = None) -> Conversation:
    """An empty conversation. Option :model sets its model; other keys are kept as metadata.

    (conversation/length (conversation/new {:model "gpt-5.5"})) => 0
    """
    from sema_runtime.support.options import options_map

    settings = options_map(options)
    model = settings.lookup(keyword("model"))
    metadata = {
        key.name: display(value) for key, value in settings.pairs() if isinstance(key, Keyword) and key.name != "model"
    }
    return Conversation((), model if isinstance(model, str) else "", metadata)


@builtin("conversation?", type="any -> bool", total=True, pure=True)
def is_conversation(value: Any) -> bool:
    """Whether the value is a conversation.

    (conversation? (conversation/new)) => #t
    """
    return isinstance(value, Conversation)


# Talking


@builtin("conversation/say", type="keep other, any, keep dict? -> other", cap="llm")
def conversation_say(conversation: Any, text: Any, options: Any = None) -> Conversation:
    """Asks the model with the whole history and text, and returns the conversation with both turns added.

    Options: :temperature :max-tokens :system, and :on-text, a function that is called with each piece of the answer.

    (llm/define-provider :echo {:complete (fn (req) "hello") :default-model "echo"})
    (map message/role (conversation/messages (conversation/say (conversation/new) "hi"))) => (:user :assistant)
    (conversation/length (conversation/say (conversation/new) "hi" {:on-text display})) prints hello
    """
    from sema_runtime.llm.requests import SAY_OPTIONS, request
    from sema_runtime.support import options as opt

    talk = _of(conversation)
    said = Message("user", display(text))
    settings = opt.options_map(options)
    asked = request([*_sendable(talk.messages), said], settings, SAY_OPTIONS)
    return _answered(talk, said, asked, opt.function(settings, "on-text"))


@builtin("conversation/say-as", type="keep other, str|other, any, keep dict? -> other", cap="llm")
def conversation_say_as(conversation: Any, system: Any, text: Any, options: Any = None) -> Conversation:
    """As conversation/say with other instructions for this turn: a string, or the system messages of a prompt.

    (llm/define-provider :echo {:complete (fn (req) "Ahoy") :default-model "echo"})
    (conversation/last-reply (conversation/say-as (conversation/new) "You are a pirate." "hi")) => "Ahoy"
    """
    from sema_runtime.llm.requests import SAY_OPTIONS, request
    from sema_runtime.support import options as opt

    talk = _of(conversation)
    instructions = _instructions(system)
    said = Message("user", display(text))
    sent = [message for message in _sendable(talk.messages) if message.role != "system"]
    settings = opt.options_map(options)
    asked = request([*sent, said], settings, SAY_OPTIONS - {"system"})
    asked.system = instructions
    return _answered(talk, said, asked, opt.function(settings, "on-text"))


def _sendable(messages: tuple[Message, ...]) -> list[Message]:
    """Conversations send text only."""
    return [message.without_images() for message in messages]


def _instructions(system: Any) -> str:
    if isinstance(system, Prompt):
        return "\n".join(message.content for message in system.messages if message.role == "system")
    if not isinstance(system, str):
        type_error("prompt or string", system)
    return system


def _answered(
    talk: Conversation, said: Message, request: Request, on_text: Callable[[str], Any] | None
) -> Conversation:
    from sema_runtime.llm import complete

    request.model = talk.model
    request.conversation_id = talk.metadata.get("conversation-id")
    reply = complete.complete(request) if on_text is None else complete.stream(request, on_text)
    messages = (*talk.messages, said, Message("assistant", reply.content))
    return Conversation(messages, talk.model, _with_usage(talk.metadata, reply))


def _with_usage(metadata: dict[str, str], reply: Reply) -> dict[str, str]:
    from sema_runtime.llm.budgets.pricing import cost

    updated = dict(metadata)
    updated[PROMPT_TOKENS] = str(_count(metadata, PROMPT_TOKENS) + reply.usage.prompt)
    updated[COMPLETION_TOKENS] = str(_count(metadata, COMPLETION_TOKENS) + reply.usage.completion)
    spent = cost(reply.model, "", reply.usage.prompt, reply.usage.completion)
    if spent is not None:
        updated[COST] = str((_spent(metadata) or 0.0) + spent)
    return updated


# The metadata has usage as text, and a program may have put anything there


def _count(metadata: dict[str, str], key: str) -> int:
    text = metadata.get(key, "")
    return int(text) if text.isascii() and text.isdigit() and len(text) < 20 else 0


def _spent(metadata: dict[str, str]) -> float | None:
    try:
        return float(metadata[COST])
    except (KeyError, ValueError):
        return None


# Reading


@builtin("conversation/messages", type="keep other -> list other fresh", pure=True)
def conversation_messages(conversation: Any) -> List:
    """The messages of a conversation, oldest first.

    (conversation/messages (conversation/add-message (conversation/new) :user "hi")) => (<message user "hi">)
    """
    return List(_of(conversation).messages)


@builtin("conversation/length", type="other -> int", pure=True)
def conversation_length(conversation: Any) -> int:
    """The number of messages of a conversation.

    (conversation/length (conversation/add-message (conversation/new) :user "hi")) => 1
    """
    return len(_of(conversation).messages)


@builtin("conversation/turns", type="other -> int", pure=True)
def conversation_turns(conversation: Any) -> int:
    """The number of answers in a conversation.

    (conversation/turns (conversation/add-message (conversation/new) :assistant "hello")) => 1
    """
    return sum(message.role == "assistant" for message in _of(conversation).messages)


@builtin("conversation/model", type="other -> str", pure=True)
def conversation_model(conversation: Any) -> str:
    """The model of a conversation, "" for the provider's default.

    (conversation/model (conversation/new {:model "gpt-5.5"})) => "gpt-5.5"
    """
    return _of(conversation).model


@builtin("conversation/models-used", type="other -> list str fresh", pure=True)
def conversation_models_used(conversation: Any) -> List:
    """A list of the conversation's model; empty for the provider's default.

    (conversation/models-used (conversation/new {:model "gpt-5.5"})) => ("gpt-5.5")
    """
    model = _of(conversation).model
    return List([model] if model else [])


@builtin("conversation/last-reply", type="other -> str", pure=True)
def conversation_last_reply(conversation: Any) -> str:
    """The text of the last answer in a conversation. Raises an error when there is none.

    (define c (conversation/add-message (conversation/new) :assistant "hello"))
    (conversation/last-reply c) => "hello"
    """
    for message in reversed(_of(conversation).messages):
        if message.role == "assistant":
            return message.content
    raise SemaError("no assistant reply in conversation")


@builtin("conversation/system", type="other -> str|nil", pure=True)
def conversation_system(conversation: Any) -> str | None:
    """The text of the first system message of a conversation, or nil.

    (conversation/system (conversation/set-system (conversation/new) "Be brief.")) => "Be brief."
    """
    return next((message.content for message in _of(conversation).messages if message.role == "system"), None)


@builtin("conversation/token-count", type="other -> int", pure=True)
def conversation_token_count(conversation: Any) -> int:
    """An estimate of a conversation's tokens: UTF-8 bytes / 4, rounded up.

    (conversation/token-count (conversation/add-message (conversation/new) :user "hello")) => 2
    """
    return -(-sum(len(message.content.encode("utf-8", "replace")) for message in _of(conversation).messages) // 4)


@builtin("conversation/cost", type="other -> float|nil", pure=True)
def conversation_cost(conversation: Any) -> float | None:
    """The cost of a conversation's answers in USD; nil when no price is known.

    (conversation/cost (conversation/new)) => nil
    """
    return _spent(_of(conversation).metadata)


@builtin("conversation/stats", type="other -> map keyword (int|float|nil|map keyword int|list str) fresh", pure=True)
def conversation_stats(conversation: Any) -> Map:
    """{:messages :turns :tokens {:prompt :completion :total} :cost :models}.

    (:messages (conversation/stats (conversation/add-message (conversation/new) :user "hi"))) => 1
    """
    talk = _of(conversation)
    prompt = _count(talk.metadata, PROMPT_TOKENS)
    completion = _count(talk.metadata, COMPLETION_TOKENS)
    tokens = {"prompt": prompt, "completion": completion, "total": prompt + completion}
    counts = {
        "messages": len(talk.messages),
        "turns": conversation_turns(talk),
        "tokens": Map({keyword(name): value for name, value in tokens.items()}),
        "cost": conversation_cost(talk),
        "models": conversation_models_used(talk),
    }
    return Map({keyword(name): value for name, value in counts.items()})


@builtin("conversation/find", type="keep other, now (other -> any) -> other|nil")
def conversation_find(conversation: Any, predicate: Any) -> Any:
    """The first message for which predicate holds, or nil.

    (define c (conversation/add-message (conversation/new) :user "hi"))
    (conversation/find c (fn (m) (= (message/role m) :user))) => <message user "hi">
    """
    return next((message for message in _of(conversation).messages if _is_true(predicate(message))), None)


@builtin("conversation/search", type="other, str -> list (map keyword (int|str|keyword)) fresh", pure=True)
def conversation_search(conversation: Any, query: Any) -> List:
    """The messages that contain a text, ignoring case, as a list of {:index :role :content}.

    (define c (conversation/add-message (conversation/new) :user "Good day"))
    (conversation/search c "DAY") => ({:content "Good day" :index 0 :role :user})
    """
    wanted = string_of(query).lower()
    return List(
        [
            Map(
                {
                    keyword("index"): index,
                    keyword("role"): keyword(message.role),
                    keyword("content"): message.content,
                }
            )
            for index, message in enumerate(_of(conversation).messages)
            if wanted in message.content.lower()
        ]
    )


# Changing


@builtin("conversation/add-message", type="keep other, keyword, any -> other", pure=True)
def conversation_add_message(conversation: Any, role: Any, content: Any) -> Conversation:
    """The conversation with a message added, without a call to a model.

    (conversation/length (conversation/add-message (conversation/new) :user "hi")) => 1
    """
    talk = _of(conversation)
    added = Message(role_of(role, "conversation/add-message"), display(content))
    return _with(talk, (*talk.messages, added))


@builtin("conversation/set-system", type="keep other, any -> other", pure=True)
def conversation_set_system(conversation: Any, text: Any) -> Conversation:
    """The conversation with one system message at its beginning in place of all others.

    (conversation/messages (conversation/set-system (conversation/new) "Be brief.")) => (<message system "Be brief.">)
    """
    talk = _of(conversation)
    return _with(talk, with_system(talk.messages, display(text)))


@builtin("conversation/fork", type="keep other -> other", pure=True)
def conversation_fork(conversation: Any) -> Conversation:
    """A copy of a conversation: continuing one leaves the other as it is.

    (define c (conversation/add-message (conversation/new) :user "hi"))
    (conversation/length (conversation/add-message (conversation/fork c) :user "and")) => 2
    (conversation/length c) => 1
    """
    return _of(conversation)


@builtin("conversation/filter", type="keep other, now (other -> any) -> other")
def conversation_filter(conversation: Any, predicate: Any) -> Conversation:
    """The conversation with only the messages for which predicate holds.

    (define c (conversation/add-message (conversation/new) :user "hi"))
    (conversation/filter c (fn (m) (= (message/role m) :user))) => <conversation 1 messages>
    """
    talk = _of(conversation)
    return _with(talk, tuple(message for message in talk.messages if _is_true(predicate(message))))


@builtin("conversation/map", type="keep other, now (other -> a) -> list a fresh")
def conversation_map(conversation: Any, function: Any) -> List:
    """The list of the results of calling function with each message.

    (define c (conversation/add-message (conversation/new) :user "hi"))
    (conversation/map c message/content) => ("hi")
    """
    return List([function(message) for message in _of(conversation).messages])


@builtin("conversation/map-role", type="keep other, keyword, now (other -> other) -> other")
def conversation_map_role(conversation: Any, role: Any, function: Any) -> Conversation:
    """The conversation with function applied to the messages of one role; it must return messages.

    (define c (conversation/add-message (conversation/new) :user "hi"))
    (define (loud m) (message :user (string/upper (message/content m))))
    (conversation/messages (conversation/map-role c :user loud)) => (<message user "HI">)
    """
    talk = _of(conversation)
    wanted = role_of(role, "conversation/map-role")
    return _with(
        talk,
        tuple(message_of(function(message)) if message.role == wanted else message for message in talk.messages),
    )


@builtin("conversation/remove", type="keep other, int -> other", pure=True)
def conversation_remove(conversation: Any, index: Any) -> Conversation:
    """The conversation without the message at index.

    (define c (conversation/add-message (conversation/new) :user "hi"))
    (conversation/length (conversation/remove c 0)) => 0
    """
    talk = _of(conversation)
    _check_int(index)
    at = _bounded("conversation/remove", index, len(talk.messages), len(talk.messages) - 1)
    return _with(talk, talk.messages[:at] + talk.messages[at + 1 :])


@builtin("conversation/insert", type="keep other, int, keep other|keyword, any? -> other", pure=True)
def conversation_insert(conversation: Any, index: Any, message: Any, content: Any = MISSING) -> Conversation:
    """The conversation with a message put in at index: a message value, or a role and a text.

    (define c (conversation/add-message (conversation/new) :user "b"))
    (conversation/messages (conversation/insert c 0 :user "a")) => (<message user "a"> <message user "b">)
    """
    talk = _of(conversation)
    _check_int(index)
    put = _given("conversation/insert", message, content)
    at = _bounded("conversation/insert", index, len(talk.messages), len(talk.messages))
    return _with(talk, (*talk.messages[:at], put, *talk.messages[at:]))


@builtin("conversation/replace", type="keep other, int, keep other|keyword, any? -> other", pure=True)
def conversation_replace(conversation: Any, index: Any, message: Any, content: Any = MISSING) -> Conversation:
    """The conversation with another message at index: a message value, or a role and a text.

    (define c (conversation/add-message (conversation/new) :user "hi"))
    (conversation/messages (conversation/replace c 0 :user "hello")) => (<message user "hello">)
    """
    talk = _of(conversation)
    _check_int(index)
    put = _given("conversation/replace", message, content)
    at = _bounded("conversation/replace", index, len(talk.messages), len(talk.messages) - 1)
    return _with(talk, (*talk.messages[:at], put, *talk.messages[at + 1 :]))


def _given(function: str, message: Any, content: Any) -> Message:
    if content is MISSING:
        return message_of(message)
    return Message(role_of(message, function), display(content))


def _check_int(index: Any) -> None:
    if type(index) is not int:
        type_error("int", index)


def _bounded(function: str, index: int, length: int, highest: int) -> int:
    if not 0 <= index <= highest:
        raise OutOfBounds(f"{function}: index {index} out of bounds (length {length})")
    return index
