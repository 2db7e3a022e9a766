"""Workflows: what the macros `defworkflow`, `phase`, `step`, `checkpoint` call."""

from __future__ import annotations

from sema_runtime.catalogue import builtin
from sema_runtime.support.options import is_function
from sema_runtime.values.atoms import keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import MISSING, HashMap, Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.workflow.policy import Attached
    from sema_runtime.workflow.run.run import Run

START_HINT = 'start a run: (defworkflow name "what it does" {} ...)'


def running(what: str) -> Run:
    """The run that this task belongs to. Raises SemaError when there is none."""
    from sema_runtime.workflow.run import scope

    run: Run | None = scope.current()
    if run is None:
        raise SemaError(f"{what} outside a workflow/run", START_HINT)
    return run


def function_of(value: Any) -> Any:
    if not is_function(value):
        type_error("function", value)
    return value


@builtin("workflow/run", type="str, keep any, keep any, later (-> any) -> any")
def workflow_run(name: Any, doc: Any, meta: Any, body: Any) -> Any:
    """Runs a workflow, as `defworkflow` does: calls body, and writes down in a directory of its own what happens, so
    that a resumed run repeats nothing that was finished. Gives the run's envelope, a map with :status.

    (:status (workflow/run "demo" "A demo" {} (fn () 1))) => :success
    (:error (workflow/run "demo" "" {} (fn () (error "no")))) => "no"
    (workflow/run :demo "" {} (fn () 1)) ! expected string, got keyword
    """
    if not isinstance(name, str):
        type_error("string", name)
    from sema_runtime.workflow.run.start import start

    return start(name, doc if isinstance(doc, str) else "", meta, function_of(body), _policies)


def _policies(rules: Any, step: bool) -> Attached:
    from sema_runtime.workflow import policy

    return policy.attached(rules, step)


@builtin("workflow/phase", type="str -> nil")
def workflow_phase(label: Any) -> None:
    """Begins a phase of the running workflow and ends the one before, as `phase` does.

    (:status (workflow/run "demo" "" {} (fn () (workflow/phase "Read")))) => :success
    (workflow/phase "Read") ! workflow/phase outside a workflow/run
    """
    if not isinstance(label, str):
        type_error("string", label)
    running("workflow/phase").open_phase(label)


@builtin("workflow/step", type="keep any, later (-> any) -> any")
def workflow_step(options: Any, thunk: Any) -> Any:
    """Calls thunk as a step of the running workflow: its value is kept, so that a resumed run doesn't call it again.

    options is a map with :name and :prompt, or a name alone. Outside of a run thunk is just called.

    (workflow/step {:name "add"} (fn () (+ 1 2))) => 3
    (:value (workflow/run "demo" "" {} (fn () (workflow/step :add (fn () (+ 1 2)))))) => 3
    """
    from sema_runtime.workflow.journal.values import name_of
    from sema_runtime.workflow.run import scope

    thunk = function_of(thunk)
    run = scope.current()
    if run is None:
        return thunk()
    if not isinstance(options, Map | HashMap):
        return run.step(name_of(options) or "step", "", "", thunk)
    name = name_of(options.lookup(keyword("name")))
    asked = _text(options, "__prompt")  # of the macro: all that the answer depends on
    prompt = asked or _text(options, "prompt")
    rules = options.lookup(keyword("policy"))
    schema = _text(options, "__schema-repr")
    return run.step("step" if name is None else name, prompt, schema, thunk, rules, by_prompt=bool(asked))


def _text(options: Map, name: str) -> str:
    value = options.lookup(keyword(name))
    return value if isinstance(value, str) else ""


@builtin("workflow/checkpoint", type="keyword|str, later (-> any)? -> any")
def workflow_checkpoint(key: Any, thunk: Any = MISSING) -> Any:
    """Calls thunk once in the life of a run, resumed or not, and keeps its value under key; with the key alone, the
    kept value or nil. `checkpoint` is the macro for it.

    (define (body) (workflow/checkpoint :n (fn () 41)) (+ 1 (workflow/checkpoint :n)))
    (:value (workflow/run "demo" "" {} body)) => 42
    (workflow/checkpoint :n) ! checkpoint outside a workflow/run
    """
    from sema_runtime.workflow.journal.values import name_of

    name = name_of(key)
    if name is None:
        type_error("keyword or string", key)
    run = running("checkpoint")
    if thunk is MISSING:
        return run.steps.values.get(name)
    return run.checkpoint(name, function_of(thunk))


@builtin("workflow/idempotency-key", type="-> str")
def workflow_idempotency_key() -> str:
    """The key of the step or checkpoint around it: the same each time that the run comes to it, resumed or not, and
    another one for every other place and run. A service that takes such a key does what it is asked once, although the
    checkpoint asks again after a crash.

    (define (pay) (checkpoint :paid (workflow/idempotency-key)))
    (string? (:value (workflow/run "demo" "" {} pay))) => #t
    ; (http/post "https://pay.example" {:headers {"Idempotency-Key" (workflow/idempotency-key)} :body "order 7"})
    (workflow/idempotency-key) ! workflow/idempotency-key outside a checkpoint or step
    """
    from sema_runtime.workflow.run import scope

    run, key = scope.current(), scope.key.get()
    if run is None or not key:
        raise SemaError(
            "workflow/idempotency-key outside a checkpoint or step",
            'ask for it where the effect is: (checkpoint :paid (http/post url {:headers {"Idempotency-Key" …}}))',
        )
    return f"{run.run_id}/{key}"


@builtin("workflow/tool-call", type="keyword|str, any? -> nil")
def workflow_tool_call(name: Any, args: Any = MISSING) -> None:
    """Notes in the journal that the present step calls a tool. Outside of a step it does nothing.

    (workflow/tool-call "search" {:query "sema"}) => nil
    """
    from sema_runtime.workflow.journal.values import Rendering
    from sema_runtime.workflow.run import scope

    run = scope.current()
    tool = _tool_name(name)
    if run is not None and scope.agent_id():
        shown = "gated" if args is MISSING else args if isinstance(args, str) else Rendering(args).shown()
        run.tool_call(tool, shown)


@builtin("workflow/tool-result", type="keyword|str -> nil")
def workflow_tool_result(name: Any) -> None:
    """Notes in the journal that a tool of the present step has succeeded. The result itself is not stored.

    (workflow/tool-result "search") => nil
    """
    from sema_runtime.workflow.run import scope

    run = scope.current()
    tool = _tool_name(name)
    if run is not None and scope.agent_id():
        run.tool_result(tool)


def _tool_name(value: Any) -> str:
    from sema_runtime.workflow.journal.values import name_of

    name = name_of(value)
    if name is None:
        type_error("keyword or string", value)
    return name


@builtin("workflow/mcp-handle", type="symbol|keyword -> str")
def workflow_mcp_handle(alias: Any) -> str:
    """The handle of an MCP server that the running workflow declares under :mcp. `defworkflow` binds the names of the
    servers to their handles.

    (workflow/mcp-handle 'files) ! workflow/mcp-handle outside a workflow/run
    """
    from sema_runtime.values.atoms import Keyword, Symbol

    if not isinstance(alias, Symbol | Keyword):
        type_error("symbol or keyword", alias)
    run = running("workflow/mcp-handle")
    if alias.name not in run.servers.handles:
        raise SemaError(
            f"workflow/mcp-handle: `{alias.name}` is not declared in this workflow's :mcp meta",
            f'add it to the meta map: {{:mcp {{{alias.name} {{:command "..."}}}}}}',
        )
    handle = run.servers.handles[alias.name]
    if handle is None:
        raise SemaError(f"workflow/mcp-handle: `{alias.name}` is declared under :mcp, but not connected")
    return handle
