"""The tools that a program in the box may call: what each is called with, what it answers, how models see it."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, get_type_hints

from sema_runtime.box.json_schema import misfits
from sema_runtime.box.signatures import signature
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.values.errors import LlmError, SemaError

MOST_NAMES = 16  # in the message about arguments
MOST_TEXT = 4_096  # characters of it
LONGEST = 80  # characters of a name in it
RESERVED = ("return", "fail")
NAME = re.compile(r"[^\s()\[\]{}\"';,`#|\x00-\x20]+")  # of tools and inputs
EFFECTS = ("read", "write", None)
Granted = Mapping[str, Any] | Iterable[Any]  # functions or tools, by name or with names of their own


class Invalid(SemaError):
    """Arguments that a tool doesn't take; it wasn't called."""


@dataclass(frozen=True)
class ToolGrant:
    """A tool, and what the host knows of it.

    effect: "read" changes nothing, so that a session asks it once for equal arguments, unless cached is False; "write"
    has effects, which are named when a program fails after them; None: nobody knows. calls: most calls in one program.
    parallel: whether tasks of a program may have it called in several threads at once; False: in the caller's thread.
    Raises SemaError for another effect or number.
    """

    tool: Any
    effect: str | None = None
    calls: int | None = None
    cached: bool = True
    parallel: bool = True

    def __post_init__(self) -> None:
        if self.effect not in EFFECTS:
            raise SemaError(f"box: the effect of a tool is 'read', 'write' or None, got {self.effect!r}")
        if self.calls is not None and (type(self.calls) is not int or self.calls < 1):
            raise SemaError(f"box: calls must be a positive integer, got {self.calls!r}")


class Grant:
    """One tool. call: takes the named arguments. description: for models, "" for none. effect, calls, cached, parallel:
    as in ToolGrant. untimed: its time isn't the program's. tool: what it was made of, where that is known. result: the
    JSON schema of what it gives, {} where nobody says."""

    effect: str | None = None
    calls: int | None = None
    cached = True
    parallel = True
    untimed = False
    tool: Tool | None = None
    result: Mapping[str, Any] = {}

    def __init__(self, name: str, call: Callable[[dict[str, Any]], Any], shown: str, description: str) -> None:
        self.name = name
        self.call = call
        self.signature = shown
        self.description = description

    def line(self) -> str:
        """The tool as a model reads it: `tool/search(query string, limit int?) -> any ; what it does`."""
        first = self.description.strip().partition("\n")[0]
        effects = "has effects" if self.effect == "write" else ""
        return " ; ".join(filter(None, (self.signature, first, effects)))


def grants(tools: Granted | None) -> dict[str, Grant]:
    """Tools by name. Functions with annotations, tools of Sema and of MCP servers are validated before each call;
    other functions get what the program gives. Raises SemaError for tools that can't be called."""
    if tools is None:
        return {}
    if not isinstance(tools, Iterable) or isinstance(tools, type | str):
        raise SemaError(f"box: tools are several, got {type(tools).__name__}",
                        "give a list of functions, or a dict of names and functions")  # fmt: skip
    named = list(tools.items()) if isinstance(tools, Mapping) else [(name_of(tool), tool) for tool in tools]
    for name, _ in named:
        if type(name) is not str or NAME.fullmatch(name) is None or name in RESERVED:
            raise SemaError(f"box: a tool can't be called {name!r}", "names have letters, digits, - and _")
    made = [grant(name, tool) for name, tool in named]
    return {one.name: one for one in made}


def name_of(tool: Any) -> str:
    name = tool.name if isinstance(tool, Tool) else getattr(tool, "__name__", "")
    if not name or name == "<lambda>":
        raise SemaError("box: a tool needs a name", "give a function with a name, or a dict of names and functions")
    return str(name)


def grant(name: str, tool: Any) -> Grant:
    if isinstance(tool, Grant):
        return tool
    if isinstance(tool, ToolGrant):
        made = grant(name, tool.tool)
        made.effect, made.calls, made.cached, made.parallel = tool.effect, tool.calls, tool.cached, tool.parallel
        return made
    if isinstance(tool, Tool):
        return of_tool(name, tool)
    if not callable(tool):
        raise SemaError(f"box: tool {name} is no function")
    if is_annotated(tool):
        from sema_runtime.llm.tools.python_functions import python_tool

        return of_tool(name, python_tool(tool, name))
    return of_untyped(name, tool)


def of_untyped(name: str, function: Callable[..., Any]) -> Grant:
    """A function of which the names of the arguments are known at most."""
    from sema_runtime.llm.tools.tool import awaited

    try:
        taken = inspect.signature(function)
    except (TypeError, ValueError):
        return Grant(name, lambda arguments: awaited(function(**arguments)), f"tool/{name}(...)", "")
    named = [one for one in taken.parameters.values() if one.kind in (one.POSITIONAL_OR_KEYWORD, one.KEYWORD_ONLY)]
    words = [f"{one.name} any{'' if one.default is one.empty else '?'}" for one in named]
    takes_all = any(one.kind is one.VAR_KEYWORD for one in taken.parameters.values())
    shown = f"tool/{name}({', '.join([*words, *(['...'] if takes_all else [])])}) -> any"

    def call(arguments: dict[str, Any]) -> Any:
        if not takes_all:
            check_names(name, arguments, [one.name for one in named], shown)
        missing = [one.name for one in named if one.default is one.empty and one.name not in arguments]
        if missing:
            raise Invalid(f"missing argument {', '.join(missing)} ({shown})")
        return awaited(function(**arguments))

    return Grant(name, call, shown, inspect.getdoc(function) or "")


def of_tool(name: str, tool: Tool) -> Grant:
    """A tool that knows its parameters."""
    from sema_runtime.llm.jsonable import to_sema

    schema, result = tool.schema(), returned(tool)
    own_spelling = {key.replace("-", "_"): key for key in schema.parameters.get("properties", {})}
    shown = signature(name, schema.parameters, result)
    converts = hasattr(tool, "signature")  # of Python, whose types take "2" for an int

    def call(arguments: dict[str, Any]) -> Any:
        arguments = {own_spelling.get(key, key): value for key, value in arguments.items()}
        check_names(name, arguments, list(own_spelling.values()), shown)
        if not converts:
            refuse(misfits(arguments, schema.parameters), shown)
        try:
            return tool.invoke(to_sema(arguments))
        except LlmError as problem:
            start, is_refusal, rest = problem.message.partition(f"invalid arguments for tool '{tool.name}': ")
            if is_refusal and not start:
                refuse(misfits(arguments, schema.parameters) or [rest], shown)
            raise

    made = Grant(name, call, shown, tool.description or "")
    made.tool, made.result = tool, result
    return made


def check_names(name: str, arguments: dict[str, Any], known: list[str], shown: str) -> None:
    """Raises Invalid for an argument that the tool doesn't have."""
    unknown = [key for key in arguments if key not in known]
    if unknown:
        close = get_close_matches(unknown[0][:LONGEST], known, 1, 0.6)
        advice = f"did you mean {close[0]}? " if close else ""
        named = ", ".join(key[:LONGEST] for key in unknown[:MOST_NAMES])
        raise Invalid(f"there is no argument {named}; {advice}({shown})")


def refuse(violations: list[str], shown: str) -> None:
    """Raises Invalid where there is something wrong with arguments."""
    if violations:
        raise Invalid(f"{bounded(violations)} ({shown})")


def bounded(violations: list[str]) -> str:
    """Violations as one text of at most MOST_TEXT characters."""
    text = "; ".join(violations)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}..."


def returned(tool: Tool) -> dict[str, Any]:
    """The JSON schema of what a Python function says that it returns; {} where it says nothing."""
    try:
        hint = get_type_hints(tool.handler).get("return")
    except (TypeError, NameError, AttributeError):
        return {}
    if hint is None:
        return {}
    from sema_runtime.llm.tools.python_types import TypeSchema

    try:
        return TypeSchema(hint).output_schema()
    except SemaError:
        return {}


def is_annotated(function: Callable[..., Any]) -> bool:
    """Whether each parameter of a function has a type."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD, inspect.Parameter.POSITIONAL_ONLY)
    return all(parameter.annotation is not parameter.empty and parameter.kind not in kinds for parameter in parameters)
