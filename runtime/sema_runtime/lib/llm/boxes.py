"""`box/…`: programs that nobody trusts, in processes of their own. docs/reference/box.md has language and limits."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.lists import List
from sema_runtime.values.maps import Map
from sema_runtime.values.printer import to_text
from sema_runtime.values.sequences import mapping

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.box import Limits, Outcome, Session
    from sema_runtime.box.toolbox import Grant

OPTIONS = ("data", "tools", "limits")
GRANTED = ("tool", "effect", "calls", "cached", "parallel")


class BoxSession:
    """What `box/session` gives."""

    type_name = "box-session"

    def __init__(self, session: Session) -> None:
        self.session = session
        self.is_open = True
        self.is_busy = False

    def sema_text(self) -> str:
        return f"<box-session {'open' if self.is_open else 'closed'}>"


@builtin("box/run", type="str, keep dict|nil? -> map keyword any fresh", cap="process")
def box_run(source: Any, options: Any = None) -> Map:
    """Runs a program that nobody trusts in a process of its own: no files, network, clock, Python or models.

    Returns {:status :value :reason :message :hint :line :column :prints :tool-calls :duration-ms}. :status is :value,
    :return, :fail or :error; :reason is a word such as `:type_error`. A program never raises here. Options: :data, a
    map of inputs that the program reads as `data/NAME`; :tools, a list of tools or a map of functions, called as
    `tool/NAME`; :limits, such as {:wall-ms 500}. In place of a function {:tool :effect :calls} says more of it: a tool
    with :effect :read is asked once for equal arguments, :calls is the most in one program, with :parallel false it
    is never called in several threads.

    (:value (box/run "(+ 1 2)")) => 3
    (:value (box/run "(list/sum (map :n data/rows))" {:data {:rows [{:n 1} {:n 4}]}})) => 5
    (define (twice n) (* 2 n))
    (:value (box/run "(tool/twice {:n 21})" {:tools {:twice twice}})) => 42
    (:reason (box/run "(file/read \\"/etc/passwd\\")")) => :unbound_var
    (:reason (box/run "(let loop () (loop))" {:limits {:wall-ms 200}})) => :timeout
    (box/run "1" {:limits {:wall-ms 0}}) ! box: limit wall_ms must be a positive integer, got 0
    """
    from sema_runtime.box import Session as Programs
    from sema_runtime.box.beside_tasks import run_beside
    from sema_runtime.box.shared import shared_pool

    text = source_of(source)
    with Programs(shared_pool(), *settings_of("box/run", options)) as session:
        return outcome_map(run_beside(session, text))


@builtin("box/session", type="keep dict|nil? -> other", cap="process")
def box_session(options: Any = None) -> BoxSession:
    """A session in the box: definitions of programs that succeed live on, those of a program that fails leave nothing.

    Options: :data, :tools, :limits, as for box/run.

    (define session (box/session {:data {:rows [1 2 3]}}))
    (:status (box/eval session "(define big (filter (fn (n) (> n 1)) data/rows))")) => :value
    (:value (box/eval session "(count big)")) => 2
    (box/close session)
    """
    from sema_runtime.box import Session as Programs
    from sema_runtime.box.shared import shared_pool

    data, tools, limits = settings_of("box/session", options)
    return BoxSession(Programs(shared_pool(), data, tools, limits))


@builtin("box/eval", type="keep other, str -> map keyword any fresh", cap="process")
def box_eval(session: Any, source: Any) -> Map:
    """Runs a program in a session; returns what box/run does.

    (define session (box/session))
    (:prints (box/eval session "(println \\"hello\\")")) => ("hello")
    (box/close session)
    (box/eval session "1") ! box/eval: the session is closed
    """
    from sema_runtime.box.beside_tasks import run_beside

    opened = session_of(session)
    if not opened.is_open:
        raise SemaError("box/eval: the session is closed", "box/session opens another")
    if opened.is_busy:
        raise SemaError("box/eval: the session runs a program of another task", "await that one first")
    opened.is_busy = True
    try:
        return outcome_map(run_beside(opened.session, source_of(source)))
    finally:
        opened.is_busy = False


@builtin("box/close", type="other -> nil")
def box_close(session: Any) -> None:
    """Ends a session and its process. A closed one stays closed.

    (define session (box/session))
    (box/close session)
    session => <box-session closed>
    """
    opened = session_of(session)
    opened.is_open = False
    opened.session.close()


def session_of(value: Any) -> BoxSession:
    if not isinstance(value, BoxSession):
        type_error("box-session", value)
    return value


def source_of(value: Any) -> str:
    if not isinstance(value, str):
        type_error("string", value)
    return value


def settings_of(function: str, options: Any) -> tuple[dict[str, Any], dict[str, Grant], Limits]:
    """Data, tools and limits of an options map. Raises SemaError for unknown options."""
    given = {} if options is None else named(function, options)
    for name in given:
        if name not in OPTIONS:
            raise SemaError(f"{function}: unknown option :{name}", "the options are :data, :tools and :limits")
    data = named(f"{function}: :data", given.get("data") or {})
    return data, tools_of(function, given.get("tools")), limits_of(function, given.get("limits"))


def named(where: str, value: Any) -> dict[str, Any]:
    """A map whose keys are keywords or strings, by their names."""
    if not isinstance(value, Map | dict):
        raise SemaError(f"{where}: expected a map, got {to_text(value)}")
    found = {}
    for key, inner in mapping(value).pairs():
        if not isinstance(key, Keyword | str):
            raise SemaError(f"{where}: keys are keywords or strings, got {to_text(key)}")
        found[key.name if isinstance(key, Keyword) else key] = inner
    return found


def tools_of(function: str, value: Any) -> dict[str, Grant]:
    """Tools of a list, or functions by their names in a map."""
    from sema_runtime.box.toolbox import grants

    if value is None:
        return {}
    if isinstance(value, Map | dict):
        return grants({name: granted(function, name, tool) for name, tool in named(function, value).items()})
    if not isinstance(value, tuple | List | list):
        raise SemaError(f"{function}: :tools is a list of tools or a map of functions, got {to_text(value)}")
    return grants(list(value))


def granted(function: str, name: str, value: Any) -> Any:
    """A tool of a map: itself, or {:tool :effect :calls :cached :parallel}, what the host knows of it."""
    if not isinstance(value, Map | dict):
        return sema_function(function, name, value)
    from sema_runtime.box.toolbox import ToolGrant

    given = named(f"{function}: tool {name}", value)
    unknown = [key for key in given if key not in GRANTED]
    if unknown or "tool" not in given:
        listed = ", ".join(f":{key}" for key in GRANTED)
        raise SemaError(
            f"{function}: tool {name} is a function, a tool, or a map with {listed}", "only :tool is needed"
        )
    effect = given.get("effect")
    return ToolGrant(
        sema_function(function, name, given["tool"]),
        effect.name if isinstance(effect, Keyword) else effect,
        given.get("calls"),
        given.get("cached", True) is not False,
        given.get("parallel", True) is not False,
    )


def sema_function(function: str, name: str, tool: Any) -> Any:
    """A tool as `grants` takes it. A function of Sema gets values of Sema, by the names of its parameters."""
    from sema_runtime.box.toolbox import is_annotated
    from sema_runtime.llm.tools.tool import Tool, parameter_names

    if isinstance(tool, Tool):
        return tool
    if not callable(tool) or isinstance(tool, Keyword):
        raise SemaError(f"{function}: tool {name} is no function, got {to_text(tool)}")
    names = parameter_names(tool)
    return tool if names is None or (names != ([], []) and is_annotated(tool)) else of_function(name, tool, *names)


def of_function(name: str, tool: Any, required: list[tuple[str, str]], optional: list[tuple[str, str]]) -> Grant:
    """The grant of a function without types; parameters are pairs of Python's and Sema's name."""
    from sema_runtime.box.toolbox import Grant, Invalid, check_names
    from sema_runtime.llm.jsonable import to_sema
    from sema_runtime.llm.tools.tool import awaited

    words = [f"{sema} any" for _, sema in required] + [f"{sema} any?" for _, sema in optional]
    shown = f"tool/{name}({', '.join(words)}) -> any"
    by_key = {sema.replace("-", "_"): python for python, sema in (*required, *optional)}

    def call(arguments: dict[str, Any]) -> Any:
        check_names(name, arguments, list(by_key), shown)
        missing = [sema for _, sema in required if sema.replace("-", "_") not in arguments]
        if missing:
            raise Invalid(f"missing argument {', '.join(missing)} ({shown})")
        return awaited(tool(**{by_key[key]: to_sema(value) for key, value in arguments.items()}))

    return Grant(name, call, shown, "")


def limits_of(function: str, value: Any) -> Limits:
    """Limits of a map {:wall-ms 500}. Raises SemaError for unknown names and values beyond the host's ceilings."""
    from sema_runtime.box.limits import Limits, names

    if value is None:
        return Limits()
    given = {name.replace("-", "_"): number for name, number in named(f"{function}: :limits", value).items()}
    unknown = [name for name in given if name not in names()]
    if unknown:
        listed = ", ".join(f":{name.replace('_', '-')}" for name in names())
        raise SemaError(f"{function}: unknown limit :{unknown[0].replace('_', '-')}", f"the limits are {listed}")
    return Limits(**given)


def outcome_map(outcome: Outcome) -> Map:
    """What came of a program, as programs of Sema see it."""
    from sema_runtime.box.codec import decoded

    fields = {
        "status": keyword(outcome.status),
        "value": decoded(outcome.encoded),
        "reason": None if outcome.reason is None else keyword(outcome.reason),
        "message": outcome.message,
        "hint": outcome.hint,
        "line": outcome.line,
        "column": outcome.column,
        "prints": List(list(outcome.prints)),
        "tool-calls": List([tool_call(call) for call in outcome.tool_calls]),
        "duration-ms": outcome.duration_ms,
    }
    return Map({keyword(name): value for name, value in fields.items()})


def tool_call(call: dict[str, Any]) -> Map:
    """A call that a program made, {:name :args :error :duration-ms}."""
    from sema_runtime.llm.jsonable import to_sema

    return Map({keyword(name.replace("_", "-")): to_sema(value) for name, value in call.items()})
