"""Tools: the values that `deftool` makes, and `tool/…`."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.llm import policy_guard
from sema_runtime.llm.tools.subjects import SUBJECT_KEYS
from sema_runtime.llm.tools.tool import Tool
from sema_runtime.support.text_arguments import argument_error
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from sema_runtime.values.typenames import type_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

POLICY_SUBJECTS = keyword("policy-subjects")


def make_tool(name: str, description: Any, parameters: Any, *rest: Any) -> Tool:
    """`(deftool name description parameters [options] handler)`; the one option is :policy-subjects."""
    if not isinstance(description, str):
        argument_error("deftool", 2, "string", description)
    *options, handler = rest
    return Tool(name, description, parameters, handler, _subjects(options[0]) if options else ())


def _subjects(options: Any) -> tuple[Any, ...]:
    if options is None:
        return ()
    if type(options) is not Map:
        raise SemaError(f"deftool: options must be a map, got {type_name(options)}")
    for key in options.sorted_keys():
        if not isinstance(key, Keyword):
            raise SemaError(f"deftool: option keys must be keywords, got {type_name(key)}")
        if key is not POLICY_SUBJECTS:
            raise SemaError(f"deftool: unknown option {to_text(key)}", hint="the valid option is :policy-subjects")
    subjects = options.lookup(POLICY_SUBJECTS, ())
    if not isinstance(subjects, tuple | List):
        raise SemaError(f"deftool: :policy-subjects must be a list or vector, got {type_name(subjects)}")
    for position, subject in enumerate(subjects, 1):
        _check_subject(position, subject)
    return tuple(subjects)


def _check_subject(position: int, subject: Any) -> None:
    start = f"deftool: policy subject {position}"
    if not isinstance(subject, Map):
        raise SemaError(f"{start} must be a map, got {type_name(subject)}")
    kind = _named(start, subject, "kind")
    if kind is None:
        raise SemaError(f"{start} is missing :kind")
    needed, *others = SUBJECT_KEYS.get(kind, ("",))
    if not needed:
        raise SemaError(
            f"{start} has unsupported :kind :{kind}",
            hint="valid kinds are :file-read, :file-write, :file-delete, :network-request, :command,"
            " and :external-action",
        )
    valid = ("kind", needed, *others)
    for key in subject.sorted_keys():
        if not isinstance(key, Keyword) or key.name not in valid:
            hint = f"valid keys are {', '.join(f':{name}' for name in valid)}"
            raise SemaError(f"{start} has unknown key {to_text(key)}", hint=hint)
    if _named(start, subject, needed) is None:
        raise SemaError(f"{start} is missing :{needed}")
    for name in others:
        _named(start, subject, name)


def _named(start: str, subject: Map, name: str) -> str | None:
    """The name in a value that must be a keyword or a string if present."""
    value = subject.lookup(keyword(name))
    if value is None or isinstance(value, str):
        return value
    if not isinstance(value, Keyword):
        raise SemaError(f"{start} :{name} must be a keyword or string, got {type_name(value)}")
    return value.name


def tool_of(value: Any) -> Tool:
    """The tool itself; raises a type error for anything else."""
    if not isinstance(value, Tool):
        type_error("tool", value)
    return value


@builtin("py/tool", type="later fn, dict? -> any", cap="python")
def py_tool(function: Any, options: Any = None) -> Tool:
    """The tool for a Python function, plain or async. Its annotations and docstring describe it to the model.

    Options: :name, :description, and :thread #t to call a blocking function in a thread. An agent also takes such
    functions in :tools directly.

    ; (define forecast (py/tool (.-forecast (py/module "weather")) {:name "weather"}))
    (define sqrt (.-sqrt (py/module "math")))
    (try (py/tool sqrt) (catch e (string/take (:message e) 43))) => "tool 'sqrt': parameter x is positional-only"
    """
    from sema_runtime.llm.tools.python_functions import python_tool
    from sema_runtime.support import options as opt

    settings = opt.options_map(options)
    name, description = opt.name_or_text(settings, "name"), opt.text(settings, "description")
    return python_tool(function, name, description, opt.truthy(settings, "thread", False))


@builtin("tool?", type="any -> bool", total=True, pure=True)
def is_tool(value: Any) -> bool:
    """Whether the value is a tool.

    (deftool add "Adds one" {:a {:type :number}} (fn (a) (+ a 1)))
    (tool? add) => #t
    """
    return isinstance(value, Tool)


@builtin("tool/name", type="other -> str", pure=True)
def tool_name(tool: Any) -> str:
    """The name by which a model calls the tool.

    (deftool add "Adds one" {:a {:type :number}} (fn (a) (+ a 1)))
    (tool/name add) => "add"
    """
    return tool_of(tool).name


@builtin("tool/description", type="other -> str", pure=True)
def tool_description(tool: Any) -> str:
    """The description of the tool that models get.

    (deftool add "Adds one" {:a {:type :number}} (fn (a) (+ a 1)))
    (tool/description add) => "Adds one"
    """
    return tool_of(tool).description


@builtin("tool/parameters", type="keep other -> any", pure=True)
def tool_parameters(tool: Any) -> Any:
    """The parameters map the tool was defined with.

    (deftool add "Adds one" {:a {:type :number}} (fn (a) (+ a 1)))
    (tool/parameters add) => {:a {:type :number}}
    """
    return tool_of(tool).parameters


@builtin("tool/policy-subjects", type="keep other -> vector", pure=True)
def tool_policy_subjects(tool: Any) -> tuple[Any, ...]:
    """The resources that the tool declares for policies.

    (deftool add "Adds one" {:a {:type :number}} (fn (a) (+ a 1)))
    (tool/policy-subjects add) => []
    """
    return tool_of(tool).policy_subjects


@builtin("tool/invoke", type="keep other, keep dict -> any")
def tool_invoke(tool: Any, arguments: Any) -> Any:
    """Runs a tool as an agent would: checks the arguments map and the policy in force, fills in defaults, calls the
    handler.

    (deftool add "Adds one" {:a {:type :number}} (fn (a) (+ a 1)))
    (tool/invoke add {:a 2}) => 3
    """
    if not isinstance(arguments, Map):
        type_error("map", arguments)
    guard = policy_guard.current.get()
    if guard is not None:
        guard.invoke(tool_of(tool), arguments)
    return tool_of(tool).invoke(arguments)
