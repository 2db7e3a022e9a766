"""Agents that write programs: the model answers with a program, which runs in the box with the tools and the data."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal, Unpack

from sema_runtime.ai.agents import BaseAgent
from sema_runtime.ai.options import Observed, ToolEvent, sema_options
from sema_runtime.ai.streams import Stream, SyncStream
from sema_runtime.box import Limits, Outcome, Pool
from sema_runtime.box.agent.definition import ProgramAgent, Spending
from sema_runtime.box.agent.history import ProgramRun as ProgramRun
from sema_runtime.box.agent.history import ProgramTurn as ProgramTurn
from sema_runtime.box.agent.run import Asking
from sema_runtime.box.toolbox import Grant, grants

if TYPE_CHECKING:
    from sema_runtime.box.agent.trace import Trace

Path = str | os.PathLike[str]


class ProgramRunOptions(Observed, total=False):
    """history: the messages of an earlier run, {"role", "content"}. on_text: gets the answers piece by piece.
    on_tool_call: told of starts and ends. trace: a file for the record of the run, or a Trace."""

    history: Sequence[Mapping[str, str]]
    on_text: Callable[[str], Any]
    on_tool_call: Callable[[ToolEvent], Any]
    trace: Path | Trace


@dataclass(frozen=True, kw_only=True)
class BaseProgramAgent:
    """An agent that answers by writing programs, which run in the box.

    tools: Python functions with annotations, or tools. agents: others that programs ask as tools, by their names.
    data: inputs that programs read as `data/NAME`. system: what the agent is for. turns: how many programs it may
    write; with 1 the value of the program is the answer. limits: of each program. protocol: "fenced" for code in the
    answer, "tool" for one native tool. retries: answers without a program that cost no turn. plan: steps that the model
    ticks off. returns: the form of the answer, as in schemas of `extract` with dicts. whole_turns: earlier exchanges
    are shortened beyond that many; None: never. max_cost_usd, max_tokens: of one run; with reserve never exceeded.
    fallback: providers to ask in turn. pool: where programs run; by default one that the process shares."""

    tools: Any = ()
    agents: Sequence[BaseProgramAgent | BaseAgent] = ()
    data: Mapping[str, Any] = field(default_factory=dict)
    system: str = ""
    model: str = ""
    name: str = ""
    turns: int = 5
    limits: Limits = field(default_factory=Limits)
    protocol: Literal["fenced", "tool"] = "fenced"
    retries: int = 2
    plan: Sequence[str] = ()
    returns: Any = None
    whole_turns: int | None = 8
    max_cost_usd: float | None = None
    max_tokens: int | None = None
    reserve: bool = False
    fallback: Sequence[Any] = ()
    pool: Pool | None = None
    _value: ProgramAgent = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        from sema_runtime.interop import to_sema
        from sema_runtime.llm.fallback import entry_of

        limited = self.max_cost_usd is not None or self.max_tokens is not None
        value = ProgramAgent(
            name=self.name,
            system=self.system,
            model=self.model,
            max_turns=self.turns,
            grants=grants(self.tools),
            agents=tuple(other._value for other in self.agents),
            data=self.data,
            limits=self.limits,
            protocol=self.protocol,
            retries=self.retries,
            plan=tuple(self.plan),
            returns=to_sema(self.returns),
            whole_turns=self.whole_turns,
            budget=Spending(self.max_cost_usd, self.max_tokens, self.reserve) if limited else None,
            fallback=tuple(map(entry_of, self.fallback)),
        )
        object.__setattr__(self, "_value", value)

    def prompt(self) -> str:
        """The system text that the model gets, without a call."""
        from sema_runtime.box.agent.run import previewed

        return previewed(self._value)

    def _pool(self) -> Pool:
        if self.pool is not None:
            return self.pool
        from sema_runtime.box.shared import shared_pool

        return shared_pool()

    def _run(self, question: str, options: ProgramRunOptions) -> ProgramRun:
        from sema_runtime.box.agent.run import run
        from sema_runtime.box.agent.trace import Trace
        from sema_runtime.lib.llm.program_notes import journal_notes
        from sema_runtime.llm.history import conversation_id
        from sema_runtime.llm.messages import Message, Request
        from sema_runtime.llm.requests import observe
        from sema_runtime.support import options as opt

        own: dict[str, Any] = {**options}
        trace, history = own.pop("trace", None), own.pop("history", None) or ()
        settings = sema_options(own, ProgramRunOptions, "run")
        request = Request([])
        observe(request, settings)
        request.conversation_id = conversation_id(settings)
        notes = journal_notes()
        opened = trace if isinstance(trace, Trace) or (trace is None and notes is None) else Trace(trace, notes)
        asking = Asking(
            self._pool(),
            opened,
            request,
            [Message(said["role"], said["content"]) for said in history],
            opt.function(settings, "on-text"),
            opt.function(settings, "on-tool-call"),
        )
        try:
            return run(self._value, question, asking)
        finally:
            if opened is not None and opened is not trace:
                opened.close()

    def _streamed(self, question: str, options: ProgramRunOptions) -> Callable[[Callable[[str], None]], ProgramRun]:
        """The work of a stream of the run."""
        return lambda push: self._run(question, {**options, "on_text": push})

    def _replayed(self, path: Path) -> ProgramRun:
        from sema_runtime.box.agent.recording import read, recordings, replayed

        return replayed(self._value, recordings(read(path))[0], self._pool())

    def _compiled(self, question: str, path: Path) -> ProgramRun:
        from sema_runtime.box.agent.compiled import compile_agent

        return compile_agent(self._value, question, path, self._pool())[0]

    def _ran(self, path: Path, data: Mapping[str, Any] | None) -> Outcome:
        from sema_runtime.box.agent.compiled import Compiled

        return Compiled.read(path).run(self._value, self._pool(), data)


class SyncProgramAgent(BaseProgramAgent):
    __doc__ = BaseProgramAgent.__doc__

    def run(self, question: str, **options: Unpack[ProgramRunOptions]) -> ProgramRun:
        """Asks until a program returns, fails for good, or there are no turns left. Raises LlmError of calls. Options:
        history, on_text, on_tool_call, trace, tags, metadata, conversation_id, session_id, user_id."""
        return self._run(question, options)

    def stream(self, question: str, **options: Unpack[ProgramRunOptions]) -> SyncStream[ProgramRun]:
        """Streams the answers of a run, programs included; the stream's result is the run. Leaving the loop ends it.
        Options as in `run`, without on_text."""
        return SyncStream(self._streamed(question, options))

    def replay(self, path: Path) -> ProgramRun:
        """The recorded run of a trace once more, without a model: also with other instructions or limits. Raises
        SemaError where a program does what the recording doesn't have."""
        return self._replayed(path)

    def compile(self, question: str, path: Path) -> ProgramRun:
        """Runs the agent once and writes the program that answers to a file. Raises SemaError without an answer."""
        return self._compiled(question, path)

    def run_compiled(self, path: Path, data: Mapping[str, Any] | None = None) -> Outcome:
        """What a program of `compile` answers with the agent's tools and its data, or other data. No model is called.
        Raises SemaError where a tool or an input isn't as the program needs it."""
        return self._ran(path, data)


class AsyncProgramAgent(BaseProgramAgent):
    __doc__ = BaseProgramAgent.__doc__

    async def run(self, question: str, **options: Unpack[ProgramRunOptions]) -> ProgramRun:
        """Asks until a program returns, fails for good, or there are no turns left. Raises LlmError of calls. Options:
        history, on_text, on_tool_call, trace, tags, metadata, conversation_id, session_id, user_id.

        Programs and tools run in a thread."""
        import asyncio

        return await asyncio.to_thread(self._run, question, options)

    def stream(self, question: str, **options: Unpack[ProgramRunOptions]) -> Stream[ProgramRun]:
        """Streams the answers of a run, programs included: `async for piece in agent.stream("...")`; the stream's
        result is the run. Leaving the loop ends it. Options as in `run`, without on_text."""
        threaded = replace(self._value, grants={name: in_thread(grant) for name, grant in self._value.grants.items()})
        agent = copy(self)
        object.__setattr__(agent, "_value", threaded)
        return Stream(agent._streamed(question, options))

    async def replay(self, path: Path) -> ProgramRun:
        """The recorded run of a trace once more, without a model: also with other instructions or limits. Raises
        SemaError where a program does what the recording doesn't have."""
        import asyncio

        return await asyncio.to_thread(self._replayed, path)

    async def compile(self, question: str, path: Path) -> ProgramRun:
        """Runs the agent once and writes the program that answers to a file. Raises SemaError without an answer."""
        import asyncio

        return await asyncio.to_thread(self._compiled, question, path)

    async def run_compiled(self, path: Path, data: Mapping[str, Any] | None = None) -> Outcome:
        """What a program of `compile` answers with the agent's tools and its data, or other data. No model is called.
        Raises SemaError where a tool or an input isn't as the program needs it."""
        import asyncio

        return await asyncio.to_thread(self._ran, path, data)


def in_thread(grant: Grant) -> Grant:
    """A tool that runs in a thread while the task that calls it waits: one that blocks doesn't hold up the loop."""
    made = copy(grant)

    def call(arguments: dict[str, Any]) -> Any:
        import asyncio

        from sema_runtime.tasks import suspend

        return suspend(asyncio.to_thread(grant.call, arguments))

    made.call = call
    return made
