"""Calls to language models; typed answers are in typed_answers.py. The work is in `sema_runtime.llm`, imported late."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from sema_runtime.llm.messages import Message, Request


def _function(value: Any) -> Callable[..., Any]:
    if not callable(value):
        type_error("function", value)
    return value  # type: ignore[no-any-return]


@builtin("llm/complete", type="str|other, dict? -> str", cap="llm")
def llm_complete(prompt: Any, options: Any = None) -> str:
    """Asks the model and returns its answer to a text or a prompt.

    Options: :model :max-tokens (4096) :temperature :system :reasoning-effort :timeout (ms).

    (llm/define-provider :echo {:complete (fn (req) "Hei!") :default-model "echo"})
    (llm/complete "Say hello in Norwegian." {:max-tokens 50 :temperature 0.2}) => "Hei!"
    """
    from sema_runtime.llm.complete import complete
    from sema_runtime.llm.messages import Prompt
    from sema_runtime.llm.requests import prompt_request, text_request
    from sema_runtime.support.options import options_map

    settings = options_map(options)
    if isinstance(prompt, Prompt):
        return complete(prompt_request(prompt, settings)).content
    if not isinstance(prompt, str):
        type_error("string or prompt", prompt)
    return complete(text_request(prompt, settings)).content


@builtin("llm/send", type="other, dict? -> str", cap="llm")
def llm_send(prompt: Any, options: Any = None) -> str:
    """The model's answer to a prompt. Options: :model :max-tokens :temperature :timeout.

    (llm/define-provider :echo {:complete (fn (req) "hello") :default-model "echo"})
    (llm/send (prompt (system "Be brief.") (user "hi"))) => "hello"
    """
    from sema_runtime.llm.complete import complete
    from sema_runtime.llm.messages import Prompt
    from sema_runtime.llm.requests import prompt_request
    from sema_runtime.support.options import options_map

    if not isinstance(prompt, Prompt):
        type_error("prompt", prompt)
    return complete(prompt_request(prompt, options_map(options))).content


@builtin("llm/chat", type="seq other|other, keep dict? -> str", cap="llm")
def llm_chat(messages: Any, options: Any = None) -> str:
    """The model's answer to a list of messages or a prompt, after the calls to :tools that it requests.

    Options: those of llm/complete, :tools :tool-mode (:auto or :none) :max-tool-rounds (10) :on-tool-call
    :parallel-tools (as of agent).

    (llm/define-provider :echo {:complete (fn (req) "Because of Rayleigh.") :default-model "echo"})
    (llm/chat [(message :system "Be brief.") (message :user "Why is the sky blue?")]) => "Because of Rayleigh."
    """
    from sema_runtime.lib.llm.agents import parallel_tools
    from sema_runtime.llm.agents import DEFAULT_TURNS, ToolLoop
    from sema_runtime.llm.complete import complete
    from sema_runtime.llm.requests import chat_messages, request
    from sema_runtime.llm.tools.conversion import tools_in
    from sema_runtime.support import options as opt

    settings = opt.options_map(options)
    asked = request(chat_messages(messages), settings)
    asked.strict_tools = opt.is_native("llm/chat", settings)
    tools = tools_in(settings.lookup(keyword("tools")))
    if not tools or opt.name_or_text(settings, "tool-mode") == "none":
        return complete(asked).content
    rounds = opt.integer(settings, "max-tool-rounds")
    by_name = {tool.name: tool for tool in tools}
    limit = DEFAULT_TURNS if rounds is None else rounds
    on_tool_call = opt.function(settings, "on-tool-call")
    return ToolLoop(asked, by_name, limit, on_tool_call, parallel=parallel_tools(settings) or 1).run()


@builtin("llm/stream", type="str|seq other|other, now fn|dict?, now fn|dict? -> str", cap="llm", arity=(1, 3))
def llm_stream(prompt: Any, *rest: Any) -> str:
    """Streams the model's answer: calls callback with each piece, or writes the pieces to stdout without one, and
    returns the whole answer.

    Called as `(llm/stream prompt [callback] [options])`; prompt is a string, a prompt or a list of messages.

    (llm/define-provider :echo {:complete (fn (req) "Once upon") :default-model "echo"})
    (llm/stream "A story" (fn (piece) (display piece))) => "Once upon"
    """
    from sema_runtime.llm.complete import stream
    from sema_runtime.llm.requests import STREAM_OPTIONS, request
    from sema_runtime.support.options import options_map

    callback = next((argument for argument in rest if callable(argument) and not isinstance(argument, Keyword)), None)
    options = next((argument for argument in rest if isinstance(argument, Map | dict)), None)
    for argument in rest:
        if argument is not callback and argument is not options and argument is not None:
            type_error("function or options map", argument)
    asked = request(_stream_messages(prompt), options_map(options), STREAM_OPTIONS)
    if callback is not None:
        return stream(asked, callback).content
    from sema_runtime.lib.language.output import display, newline
    from sema_runtime.support.visible import at_terminal

    text = stream(asked, lambda piece: display(at_terminal(piece))).content
    newline()
    return text


def _stream_messages(prompt: Any) -> list[Message]:
    from sema_runtime.llm.jsonable import is_sequence
    from sema_runtime.llm.messages import Message, Prompt
    from sema_runtime.llm.requests import chat_messages

    if isinstance(prompt, str):
        return [Message("user", prompt)]
    if not isinstance(prompt, Prompt) and not is_sequence(prompt):
        type_error("string, prompt, or messages", prompt)
    return chat_messages(prompt)


@builtin("llm/batch", type="seq, dict? -> list str fresh", cap="llm")
def llm_batch(prompts: Any, options: Any = None) -> List:
    """The answers to many prompts, sent concurrently. Options: :model :max-tokens :temperature :system.

    (llm/define-provider :echo {:complete (fn (req) (:content (last (:messages req)))) :default-model "echo"})
    (llm/batch ["one" "two"]) => ("one" "two")
    """
    from sema_runtime.llm.batch import batch

    return List(batch(_batch_requests(prompts, options)))


@builtin("llm/pmap", type="now (a -> any), seq a, dict? -> list str fresh", cap="llm")
def llm_pmap(function: Any, items: Any, options: Any = None) -> List:
    """Makes a prompt from each item with function, sends all concurrently, and returns the answers in the order of the
    items.

    (llm/define-provider :echo {:complete (fn (req) (:content (last (:messages req)))) :default-model "echo"})
    (llm/pmap (fn (word) (str "Translate: " word)) ["one" "two"]) => ("Translate: one" "Translate: two")
    """
    from sema_runtime.llm.batch import batch
    from sema_runtime.llm.jsonable import is_sequence

    make_prompt = _function(function)
    if not is_sequence(items):
        type_error("list or vector", items)
    return List(batch(_batch_requests(List([make_prompt(item) for item in items]), options)))


def _batch_requests(prompts: Any, options: Any) -> list[Request]:
    from sema_runtime.llm.jsonable import is_sequence
    from sema_runtime.llm.requests import BATCH_OPTIONS, text_request
    from sema_runtime.support.options import options_map
    from sema_runtime.values.printer import display

    if not is_sequence(prompts):
        type_error("list or vector", prompts)
    settings = options_map(options)
    return [text_request(display(prompt), settings, BATCH_OPTIONS) for prompt in prompts]


@builtin("llm/token-count", type="any -> int", pure=True)
def llm_token_count(text: Any) -> int:
    """An estimate of the tokens of a string, of all items of a list, or of the printed form of another value: UTF-8
    bytes / 4.

    (llm/token-count "twelve chars") => 3
    """
    return _bytes_of(text) // 4


@builtin("llm/token-estimate", type="any -> map keyword (int|str) fresh", pure=True)
def llm_token_estimate(text: Any) -> Map:
    """The estimate of llm/token-count with its method, as {:tokens :method :chars}; :chars counts bytes of UTF-8.

    (llm/token-estimate "twelve chars") => {:chars 12 :method "chars/4" :tokens 3}
    """
    size = _bytes_of(text)
    return Map({keyword("tokens"): size // 4, keyword("method"): "chars/4", keyword("chars"): size})


def _bytes_of(text: Any) -> int:
    from sema_runtime.llm.jsonable import is_sequence
    from sema_runtime.values.printer import display

    parts = text if is_sequence(text) else [text]
    return sum(len(display(part).encode("utf-8", "replace")) for part in parts)
