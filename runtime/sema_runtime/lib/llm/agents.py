"""Agents: what `defagent` and `agent` make, `agent/…` and the run."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.llm.agent_runs import agent_of, memory_thread, request_of
from sema_runtime.llm.agents import ALL_AT_ONCE, DEFAULT_TURNS, Agent
from sema_runtime.llm.jsonable import is_sequence
from sema_runtime.llm.messages import Message
from sema_runtime.llm.tools.conversion import checked_tool, tool_from
from sema_runtime.support import options as opt
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.llm.agents import ToolLoop


def make_agent(name: str, options: Any) -> Agent:
    """`(defagent name options)`. Options of the wrong type are ignored, except with :mode :program."""
    if type(options) is not Map:
        type_error("map", options)
    if options.lookup(keyword("mode")) is keyword("program"):
        from sema_runtime.lib.llm.program_agents import make_program_agent

        return make_program_agent(name, options)
    tools = options.lookup(keyword("tools"))
    turns = opt.integer(options, "max-turns")
    return Agent(
        name=name,
        system=opt.text(options, "system") or "",
        tools=tuple(tool_from(tool) or tool for tool in tools) if is_sequence(tools) else (),
        model=opt.text(options, "model") or "",
        max_turns=DEFAULT_TURNS if turns is None else turns,
        parallel=parallel_tools(options) or 1,
    )


def parallel_tools(options: Map) -> int | None:
    """How many tool calls of one turn :parallel-tools allows at once: a number, or #t for all; None without it."""
    if options.lookup(keyword("parallel-tools")) is True:
        return ALL_AT_ONCE
    number = opt.integer(options, "parallel-tools")
    return None if number is None or number < 1 else number


@builtin("agent", type="keep map -> other")
def agent(options: Any) -> Agent:
    """An agent from a map, without `defagent`: {:name :system :tools :model :max-turns :parallel-tools}, all optional.

    With :parallel-tools n (#t: all) up to n of the calls that a model requests in one turn run concurrently. The tools
    may include Python functions with annotations.

    (agent {:name "helper" :system "Be brief."}) => <agent helper>
    """
    name = opt.text(options, "name") if isinstance(options, Map) else None
    return make_agent(name or "", options)


@builtin("agent?", type="any -> bool", total=True, pure=True)
def is_agent(value: Any) -> bool:
    """Whether the value is an agent.

    (agent? (agent {})) => #t
    """
    return isinstance(value, Agent)


@builtin("agent/name", type="other -> str", pure=True)
def agent_name(agent: Any) -> str:
    """The agent's name.

    (agent/name (agent {:name "helper"})) => "helper"
    """
    return agent_of(agent).name


@builtin("agent/system", type="other -> str", pure=True)
def agent_system(agent: Any) -> str:
    """The agent's instructions.

    (agent/system (agent {:system "Be brief."})) => "Be brief."
    """
    return agent_of(agent).system


@builtin("agent/tools", type="keep other -> list fresh", pure=True)
def agent_tools(agent: Any) -> List:
    """The agent's tools.

    (deftool now "The time" {} (fn () "noon"))
    (map tool/name (agent/tools (agent {:tools [now]}))) => ("now")
    """
    return List(agent_of(agent).tools)


@builtin("agent/model", type="other -> str", pure=True)
def agent_model(agent: Any) -> str:
    """The agent's model, "" for the provider's default.

    (agent/model (agent {:model "gpt-5.5"})) => "gpt-5.5"
    """
    return agent_of(agent).model


@builtin("agent/max-turns", type="other -> int", pure=True)
def agent_max_turns(agent: Any) -> int:
    """The number of rounds of tool calls that a run may take.

    (agent/max-turns (agent {:max-turns 5})) => 5
    """
    return agent_of(agent).max_turns


@builtin("agent/run", type="other, any, keep dict?, keep any... -> str|map keyword (str|list|other) fresh", cap="llm")
def agent_run(agent: Any, message: Any, options: Any = None, *_ignored: Any) -> Any:
    """Runs an agent on a message: asks the model and calls the tools it requests until it answers in text.

    Returns the answer; with an options map {:response :messages :session}. Options: :on-tool-call :on-text :on-partial
    :reasoning-effort :messages :session :memory :parallel-tools :conversation-id :session-id :user-id :tags :metadata.
    A tool's error goes back to the model; five in a row end the run, and so does a spent budget. :memory is a handle
    of memory/open: what was said before comes first, what is said now is kept. An agent with :mode :program writes
    programs, and the answer is what one returns, see agent/program-prompt.

    (llm/define-provider :echo {:complete (fn (req) "42, as always") :default-model "echo"})
    (agent/run (agent {:system "Be brief."}) "What is the answer?") => "42, as always"
    (:response (agent/run (agent {}) "And now?" {})) => "42, as always"
    """
    from sema_runtime.llm.agents import ToolLoop

    chosen = agent_of(agent)
    wanted = None if options is None else opt.options_map(options)
    settings = wanted if wanted is not None else Map()
    if type(chosen) is not Agent:
        from sema_runtime.lib.llm.program_agents import run_program_agent

        return run_program_agent(chosen, message, wanted)
    thread = memory_thread(settings)
    said = Message("user", display(message))
    request = request_of(chosen, said, settings, [] if thread is None else thread.messages)
    loop = ToolLoop(
        request,
        {tool.name: tool for tool in map(checked_tool, chosen.tools)},
        chosen.max_turns,
        opt.function(settings, "on-tool-call"),
        opt.function(settings, "on-text"),
        parallel_tools(settings) or chosen.parallel,
        chosen.name,
    )
    try:
        text = loop.run()
    except BaseException:
        _tell_partial(loop, settings)
        raise
    if thread is not None:
        thread.append("agent/run", [said, *([Message("assistant", text)] if text else [])])
    return text if wanted is None else _result(loop)


def _result(loop: ToolLoop) -> Map:
    from sema_runtime.llm.agents import as_conversation
    from sema_runtime.llm.history import to_maps

    messages = loop.request.messages
    return Map(
        {
            keyword("response"): loop.text,
            keyword("messages"): to_maps(messages),
            keyword("session"): as_conversation(messages, loop.request.model, loop.request.conversation_id or ""),
        }
    )


def _tell_partial(loop: ToolLoop, options: Map) -> None:
    """Calls :on-partial with the partial result when a run ends by an error; errors of :on-partial don't hide that
    one."""
    callback = opt.function(options, "on-partial")
    if callback is not None:
        try:
            callback(_result(loop))
        except Exception:
            return
