"""Agents with :mode :program: what `defagent` makes of them, their runs, replays and compiled programs."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.lib.llm.agent_runs import agent_of, memory_thread, request_of
from sema_runtime.lib.llm.boxes import limits_of, named, outcome_map, tools_of
from sema_runtime.support import options as opt
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import LlmError, SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import display, to_text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.box.agent.definition import ProgramAgent, Spending
    from sema_runtime.box.agent.history import ProgramRun
    from sema_runtime.box.agent.run import Asking
    from sema_runtime.box.agent.trace import Trace
    from sema_runtime.llm.agents import Agent

OPTIONS = frozenset((
    "agents", "budget", "data", "fallback", "limits", "max-turns", "mode", "model", "name", "plan", "protocol",
    "retries", "returns", "system", "tools", "whole-turns",
))  # fmt: skip
BUDGET = ("max-cost-usd", "max-tokens", "reserve")


def make_program_agent(name: str, options: Map) -> ProgramAgent:
    """`(defagent name {:mode :program ...})`. Raises SemaError for options that it doesn't know or can't use."""
    from sema_runtime.box.agent.definition import FENCED, RETRIES, TURNS, WHOLE_TURNS, ProgramAgent
    from sema_runtime.llm.fallback import entry_of
    from sema_runtime.llm.tools.tool import Tool

    where = f"agent {name}"
    given = named(where, options)
    unknown = sorted(set(given) - OPTIONS)
    if unknown:
        listed = ", ".join(f":{known}" for known in sorted(OPTIONS))
        raise SemaError(f"{where}: unknown option :{unknown[0]}", f"with :mode :program the options are {listed}")
    tools = given.get("tools")
    return ProgramAgent(
        name=name,
        system=text(where, given, "system"),
        model=text(where, given, "model"),
        tools=tuple(tool for tool in items(where, given, "tools") if isinstance(tool, Tool)) if tools else (),
        grants=tools_of(where, tools),
        agents=tuple(map(agent_of, items(where, given, "agents"))),
        data=named(f"{where}: :data", given.get("data") or {}),
        limits=limits_of(where, given.get("limits")),
        max_turns=given.get("max-turns", TURNS),
        protocol=opt.name_or_text(options, "protocol") or FENCED,
        retries=given.get("retries", RETRIES),
        plan=tuple(map(display, items(where, given, "plan"))),
        returns=given.get("returns"),
        whole_turns=given.get("whole-turns", WHOLE_TURNS),
        budget=budget_of(where, given.get("budget")),
        fallback=tuple(map(entry_of, items(where, given, "fallback"))),
    )


def text(where: str, given: dict[str, Any], name: str) -> str:
    value = given.get(name)
    if value is not None and not isinstance(value, str):
        raise SemaError(f"{where}: :{name} must be a string, got {to_text(value)}")
    return value or ""


def items(where: str, given: dict[str, Any], name: str) -> list[Any]:
    value = given.get(name)
    if isinstance(value, Map | dict):
        return list(named(where, value).values())
    if value is not None and not isinstance(value, tuple | List | list):
        raise SemaError(f"{where}: :{name} must be a list or vector, got {to_text(value)}")
    return [] if value is None else list(value)


def budget_of(where: str, value: Any) -> Spending | None:
    from sema_runtime.box.agent.definition import Spending

    if value is None:
        return None
    unknown = [name for name in named(f"{where}: :budget", value) if name not in BUDGET]
    settings = opt.options_map(value)
    cost, tokens = opt.number(settings, "max-cost-usd"), opt.integer(settings, "max-tokens")
    if unknown or (cost is None and tokens is None):
        raise SemaError(f"{where}: :budget needs :max-cost-usd or :max-tokens", "{:max-tokens 50000 :reserve #t}")
    return Spending(cost, tokens, opt.truthy(settings, "reserve", False))


def run_program_agent(agent: Agent, message: Any, options: Map | None) -> Any:
    """`agent/run`: the answer; with options a map."""
    from sema_runtime.box.agent.run import run
    from sema_runtime.capabilities import require
    from sema_runtime.llm.messages import Message

    chosen = program_agent(agent)
    require("agent/run", "process")
    settings = options if options is not None else Map()
    thread = memory_thread(settings)
    said = Message("user", display(message))
    request = request_of(chosen, said, settings, [] if thread is None else thread.messages)
    trace = opened_trace("agent/run", settings)
    how = asking(trace)
    how = how.with_request(request, opt.function(settings, "on-text"), opt.function(settings, "on-tool-call"))
    try:
        done = run(chosen, said.content, how)
    finally:
        if trace is not None:
            trace.close()
    if thread is not None and done.ok:
        thread.append("agent/run", [said, Message("assistant", done.text or "nil")])
    return answer_of(chosen, done) if options is None else run_map(chosen, done, request.conversation_id or "")


def program_agent(value: Any) -> ProgramAgent:
    from sema_runtime.box.agent.definition import ProgramAgent

    if not isinstance(agent_of(value), ProgramAgent):
        raise SemaError("expected an agent that writes programs", "defagent makes one with {:mode :program}")
    return value  # type: ignore[no-any-return]


def asking(trace: Trace | None = None) -> Asking:
    from sema_runtime.box.agent.run import Asking
    from sema_runtime.box.shared import shared_pool

    return Asking(shared_pool(), trace)


def opened_trace(function: str, options: Map) -> Trace | None:
    """The file of :trace, and the journal of the workflow's step around; None without both."""
    from sema_runtime.box.agent.trace import Trace
    from sema_runtime.lib.llm.program_notes import journal_notes

    path, notes = options.lookup(keyword("trace")), journal_notes()
    if path is None:
        return None if notes is None else Trace(told=notes)
    from sema_runtime.capabilities import require
    from sema_runtime.support.file_access import checked, failed

    require(function, "fs-write")
    name = checked(function, path)
    try:
        return Trace(name, notes)
    except (OSError, ValueError) as problem:
        raise failed(function, name, problem) from None


def answer_of(agent: ProgramAgent, done: ProgramRun) -> Any:
    """What a run returned. Raises LlmError without an answer."""
    from sema_runtime.box.codec import decoded

    if done.ok:
        return decoded(done.encoded)
    problem = done.message or f"the program gave up: {done.text or 'nil'}"
    raise LlmError(f"agent {agent.name}: {problem}", reason=keyword(done.reason or "fail"))


def run_map(agent: ProgramAgent, done: ProgramRun, conversation_id: str) -> Map:
    from sema_runtime.box.codec import decoded
    from sema_runtime.llm.agents import as_conversation
    from sema_runtime.llm.history import to_maps

    programs = [
        Map({keyword("program"): turn.program, **outcome_map(turn.outcome).d})
        for turn in done.turns
        if turn.outcome is not None
    ]
    fields = {
        "status": keyword(done.status),
        "value": decoded(done.encoded),
        "response": done.text if done.ok else None,
        "reason": None if done.reason is None else keyword(done.reason),
        "message": done.message,
        "programs": List(programs),
        "messages": to_maps([message for message in done.sent if message.role != "system"]),
        "session": as_conversation(
            [message for message in done.sent if message.role != "system"], agent.model, conversation_id
        ),
        "usage": Map(
            {
                keyword("calls"): done.usage.calls,
                keyword("input-tokens"): done.usage.input_tokens,
                keyword("output-tokens"): done.usage.output_tokens,
                keyword("cost-usd"): done.usage.cost_usd,
            }
        ),
    }
    return Map({keyword(name): value for name, value in fields.items()})


@builtin("agent/program-prompt", type="other -> str")
def agent_program_prompt(agent: Any) -> str:
    """What an agent with :mode :program tells the model, without a call: the language, its tools, inputs and plan.

    Such an agent answers with programs for the box (see box/run) until one says `(return answer)`. Options of defagent:
    :tools, :data, :limits, :system, :model, :max-turns (5; with 1 the value of the program is the answer), :protocol
    (:fenced, or :tool for one native tool), :retries (2), :plan, :returns (a spec as in llm/extract), :agents (others
    that programs ask as tools), :whole-turns (8), :budget {:max-cost-usd :max-tokens :reserve}, :fallback.

    (defagent analyst {:mode :program :system "You count." :data {:rows [{:n 1} {:n 2}]}})
    (string/contains? (agent/program-prompt analyst) "data/rows: list of 2") => #t
    (llm/define-provider :echo {:complete (fn (req) "(return (count data/rows))") :default-model "echo"})
    (agent/run analyst "How many rows?") => 2
    (:status (agent/run analyst "How many rows?" {})) => :return
    """
    from sema_runtime.box.agent.run import previewed

    return previewed(program_agent(agent))


@builtin("agent/compile", type="other, any, str -> map keyword any fresh", cap="llm")
def agent_compile(agent: Any, question: Any, path: Any) -> Map:
    """Runs an agent with :mode :program once, and writes the program that answers to a file.

    agent/run-compiled runs it again without a model. The file's first line says which tools and inputs it needs.
    Returns what agent/run returns with options. Programs that only looked at something are left out.

    (defagent counter {:mode :program :data {:rows [1 2 3]}})
    (llm/define-provider :echo {:complete (fn (req) "(return (count data/rows))") :default-model "echo"})
    (:value (agent/compile counter "How many?" "count.sema")) => 3
    (:value (agent/run-compiled counter "count.sema" {:data {:rows [7 8]}})) => 2
    """
    from sema_runtime.box.agent.compiled import compile_agent
    from sema_runtime.capabilities import require
    from sema_runtime.support.file_access import checked, failed

    require("agent/compile", "process")
    require("agent/compile", "fs-write")
    chosen, name = program_agent(agent), checked("agent/compile", path)
    try:
        done, _ = compile_agent(chosen, display(question), name, asking().pool)
    except (OSError, ValueError) as problem:
        raise failed("agent/compile", name, problem) from None
    return run_map(chosen, done, "")


@builtin("agent/run-compiled", type="other, str, keep dict|nil? -> map keyword any fresh", cap="process")
def agent_run_compiled(agent: Any, path: Any, options: Any = None) -> Map:
    """Runs a program of agent/compile with the agent's tools and data, or with other :data; no model is called.

    Returns what box/run does. Tools with other signatures and inputs of another shape are an error before it runs.

    (defagent counter {:mode :program :data {:rows [1 2 3]}})
    (llm/define-provider :echo {:complete (fn (req) "(return (count data/rows))") :default-model "echo"})
    (agent/compile counter "How many?" "count.sema")
    (:value (agent/run-compiled counter "count.sema")) => 3
    (agent/run-compiled counter "count.sema" {:data {:rows "x"}}) ! the program can't be run: data/rows: expected array, got string
    """  # noqa: E501 - an example
    from sema_runtime.box.agent.compiled import Compiled
    from sema_runtime.capabilities import require
    from sema_runtime.support.file_access import checked, failed

    require("agent/run-compiled", "fs-read")
    chosen, name = program_agent(agent), checked("agent/run-compiled", path)
    if options is not None and not isinstance(options, Map | dict):
        type_error("map", options)
    data = named("agent/run-compiled: :data", opt.options_map(options).lookup(keyword("data")) or {})
    try:
        made = Compiled.read(name)
    except (OSError, ValueError) as problem:
        raise failed("agent/run-compiled", name, problem) from None
    return outcome_map(made.run(chosen, asking().pool, data))


@builtin("agent/replay", type="other, str -> map keyword any fresh", cap="process")
def agent_replay(agent: Any, path: Any) -> Map:
    """A run that was recorded with {:trace path}, once more without a model: its programs run again.

    The model's answers and the results of tools are those of the record; the agent may have another :system, other
    :limits or :data. Returns what agent/run returns with options. A call of a tool that the record lacks is an error.

    (defagent counter {:mode :program :data {:rows [1 2 3]}})
    (llm/define-provider :echo {:complete (fn (req) "(return (count data/rows))") :default-model "echo"})
    (:value (agent/run counter "How many?" {:trace "run.jsonl"})) => 3
    (:value (agent/replay counter "run.jsonl")) => 3
    """
    from sema_runtime.box.agent.recording import read, recordings, replayed
    from sema_runtime.capabilities import require
    from sema_runtime.support.file_access import checked, failed

    require("agent/replay", "fs-read")
    chosen, name = program_agent(agent), checked("agent/replay", path)
    try:
        recording = recordings(read(name))[0]
    except (OSError, ValueError) as problem:
        raise failed("agent/replay", name, problem) from None
    return run_map(chosen, replayed(chosen, recording, asking().pool), "")
