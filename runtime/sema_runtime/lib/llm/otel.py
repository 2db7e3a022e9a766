"""Traces: turning them on, spans of the program, attributes and events. Without a destination these functions do
nothing."""

from __future__ import annotations

from sema_runtime import telemetry
from sema_runtime.catalogue import builtin
from sema_runtime.values.atoms import Keyword, keyword
from sema_runtime.values.errors import SemaError, type_error
from sema_runtime.values.maps import Map

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from sema_runtime.telemetry.settings import Settings


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes in a map, by keyword or string; other values have none. Values that aren't text, numbers or
    booleans become text."""
    if not isinstance(value, Map | dict):
        return {}
    entries = value.pairs() if isinstance(value, Map) else value.items()
    return {_name(key): _attribute(item) for key, item in entries if isinstance(key, Keyword | str)}


def _name(value: Keyword | str) -> str:
    return value.name if isinstance(value, Keyword) else value


def _attribute(value: Any) -> Any:
    if isinstance(value, str | bool | int | float):
        return value
    from sema_runtime.values.printer import to_text

    return to_text(value)


def _text(value: Any) -> str:
    if not isinstance(value, str):
        type_error("string", value)
    return value


def _named(value: Any) -> str:
    if not isinstance(value, Keyword | str):
        type_error("keyword or string", value)
    return _name(value)


def _within(name: str, kind: str, thunk: Any, attributes: dict[str, Any], span_kind: str = "internal") -> Any:
    """Calls thunk inside a span called name and returns its value."""
    if not callable(thunk):
        type_error("callable", thunk)
    tracer = telemetry.tracer()
    if tracer is None:
        return thunk()
    from sema_runtime.telemetry.work import ProgramSpan

    with ProgramSpan(tracer, name, kind, attributes, span_kind):
        return thunk()


# Turning it on


@builtin("otel/configure", type="dict -> bool")
def otel_configure(settings: Any) -> bool:
    """Turns tracing on for the rest of the program and returns whether this call did. Tracing that is already on stays
    as it is.

    Keys: :endpoint (URL of an OTLP collector) or :file (a span per line, as JSON), :protocol ("http/protobuf",
    "http/json", "grpc"), :key (sent as a bearer token), :headers (a map, or "name=value,name=value"), :service-name,
    :environment, :release, :capture-content (#t records prompts and replies too). The environment goes first: see
    OTEL_EXPORTER_OTLP_ENDPOINT and SEMA_OTEL_FILE.

    (otel/configure {}) => #f
    ; (otel/configure {:endpoint "http://localhost:4318" :service-name "digest"}) => #t
    ; (otel/configure {:file "spans.jsonl" :capture-content #t}) => #t
    """
    if not isinstance(settings, Map):
        type_error("map", settings)
    from dataclasses import replace
    from os import environ

    from sema_runtime.support import options as opt
    from sema_runtime.telemetry.settings import read

    file, endpoint = opt.text(settings, "file") or "", opt.name_or_text(settings, "endpoint") or ""
    _check_allowed(file, endpoint)
    named: dict[str, Any] = {
        "protocol": opt.name_or_text(settings, "protocol"),
        "service": opt.name_or_text(settings, "service-name") or opt.name_or_text(settings, "service"),
        "environment": opt.name_or_text(settings, "environment") or opt.name_or_text(settings, "env"),
        "release": opt.name_or_text(settings, "release"),
    }
    chosen: Settings = replace(
        read(environ),
        file=file,
        otlp=bool(endpoint),
        endpoint=endpoint,
        headers=_headers(settings),
        **{name: value for name, value in named.items() if value},
    )
    if settings.lookup(keyword("capture-content")) is not None:
        chosen.capture = settings.lookup(keyword("capture-content")) is True
    return telemetry.configure(chosen)


def _check_allowed(file: str, endpoint: str) -> None:
    """Raises PermissionDenied, or SemaError, for a file or an address that a sandbox doesn't allow."""
    from sema_runtime import capabilities

    if file:
        from sema_runtime.support.file_access import checked

        capabilities.require("otel/configure", "fs-write")
        checked("otel/configure", file)
    if endpoint:
        capabilities.require("otel/configure", "network")
        if capabilities.restricted():
            from sema_runtime.net.addresses import resolves_inside
            from sema_runtime.tasks import suspend

            if suspend(resolves_inside(endpoint)):
                raise SemaError(
                    f"otel/configure: endpoint '{endpoint}' targets an internal/loopback host, which is not allowed"
                    " under the current sandbox"
                )


def _headers(settings: Map) -> dict[str, str]:
    """The headers of :key and :headers. Raises SemaError for one that can't be sent; its value is not shown."""
    from sema_runtime.support import options as opt
    from sema_runtime.values.printer import display

    key = opt.text(settings, "key")
    fields = {"Authorization": f"Bearer {key}"} if key is not None else {}
    headers = settings.lookup(keyword("headers"))
    if isinstance(headers, str):
        parts = [part.partition("=") for part in headers.split(",") if part.strip()]
        fields |= {name.strip(): value.strip() for name, _, value in parts}
    elif isinstance(headers, Map):
        fields |= {_name(name): display(value) for name, value in headers.pairs() if isinstance(name, Keyword | str)}
    for name, value in fields.items():
        if not name or not (name + value).isascii() or not (name + value).isprintable():
            raise SemaError(
                f"otel/configure: the header '{name}' can't be sent",
                hint="names and values are printable ASCII on one line",
            )
    return fields


# Spans


@builtin("otel/span", type="str, now (-> a), any? -> a")
def otel_span(name: Any, thunk: Any, attributes: Any = None) -> Any:
    """Calls thunk inside a span called name and returns its value; an error marks the span and is raised again.

    Spans and calls to models inside it are its children. The macro with-span takes a body instead of a thunk. Without
    tracing, thunk is just called.

    (otel/span "import" (fn () (+ 1 2)) {:rows 3}) => 3
    """
    return _within(_text(name), "chain", thunk, _attributes(attributes))


@builtin("otel/llm-span", type="any, now (-> a) -> a")
def otel_llm_span(settings: Any, thunk: Any) -> Any:
    """Like otel/span, for a call to a model that the program makes by itself.

    Settings: :model :provider :operation (default "chat"); other entries of the map are attributes. otel/llm-usage adds
    tokens and cost.

    (otel/llm-span {:model "m-1" :provider "acme"}
      (fn () (otel/llm-usage {:input-tokens 9 :output-tokens 2}) "hi")) => "hi"
    """
    named = _attributes(settings)
    model, provider, operation = (_popped(named, name) for name in ("model", "provider", "operation"))
    operation = operation or "chat"
    if telemetry.tracer() is None:
        return _within(operation, "llm", thunk, {})
    from sema_runtime.telemetry.names import provider_name
    from sema_runtime.telemetry.spans import CLIENT

    attributes = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": provider_name(provider) or None,
        "gen_ai.request.model": model or None,
    }
    dispatch = _compat().dispatch(operation, provider, model)
    return _within(operation, "llm", thunk, {**attributes, **named, **dispatch}, CLIENT)


def _popped(attributes: dict[str, Any], name: str) -> str:
    value = attributes.pop(name, "")
    return value if isinstance(value, str) else ""


def _compat() -> Any:
    tracer = telemetry.tracer()
    assert tracer is not None
    return tracer.compat


@builtin("otel/tool-span", type="str, now (-> a), any? -> a")
def otel_tool_span(name: Any, thunk: Any, attributes: Any = None) -> Any:
    """Like otel/span, for a tool that the program runs by itself.

    (otel/tool-span "weather" (fn () "sunny") {:city "Bern"}) => "sunny"
    """
    tool = _text(name)
    fixed = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": tool}
    return _within(tool, "tool", thunk, fixed | _attributes(attributes))


@builtin("otel/retrieval-span", type="str, now (-> a), any? -> a")
def otel_retrieval_span(name: Any, thunk: Any, attributes: Any = None) -> Any:
    """Like otel/span, for a search that the program makes by itself.

    (otel/retrieval-span "notes" (fn () '("a" "b")) {:top-k 2}) => ("a" "b")
    """
    return _within(_text(name), "retriever", thunk, _attributes(attributes))


@builtin("otel/with-session", type=("str, now (-> a) -> a", "str, any, now (-> a) -> a"), arity=(2, 3))
def otel_with_session(id: Any, *rest: Any) -> Any:
    """Calls thunk and returns its value; spans inside it belong to a session, and to a :user if given.

    Called as `(otel/with-session id [{:user name}] thunk)`. The macro with-session takes a body instead of a thunk.

    (otel/with-session "chat-42" {:user "ada"} (fn () (otel/span "turn" (fn () "done")))) => "done"
    """
    session, thunk = _text(id), rest[-1]
    if not callable(thunk):
        type_error("callable", thunk)
    if telemetry.tracer() is None:
        return thunk()
    from sema_runtime.support.scoped import within
    from sema_runtime.telemetry.spans import Identity, identity

    user = _attributes(rest[0]).get("user") if len(rest) > 1 else None
    around = identity.get()
    if not isinstance(user, str):
        user = around.user if around is not None else None
    return within(identity, Identity(session, session, user), thunk)


# What the innermost span says


def _update(attributes: dict[str, Any]) -> None:
    if telemetry.tracer() is not None:
        from sema_runtime.telemetry.spans import current

        span = current()
        if span is not None:
            span.update(attributes)


@builtin("otel/set-attribute", type="keyword|str, any -> nil")
def otel_set_attribute(name: Any, value: Any) -> None:
    """Sets an attribute of the innermost span.

    (otel/span "import" (fn () (otel/set-attribute :rows 42))) => nil
    """
    _update({_named(name): _attribute(value)})


@builtin("otel/set-attributes", type="any -> nil")
def otel_set_attributes(attributes: Any) -> None:
    """Sets attributes of the innermost span.

    (otel/span "import" (fn () (otel/set-attributes {:rows 42 :cached #t}))) => nil
    """
    _update(_attributes(attributes))


@builtin("otel/set-status", type="keyword|str, any? -> nil")
def otel_set_status(status: Any, message: Any = None) -> None:
    """Sets the status of the innermost span: :ok, or :error with a message.

    (otel/span "import" (fn () (otel/set-status :error "no such table"))) => nil
    """
    chosen = _named(status)
    if telemetry.tracer() is None:
        return
    from sema_runtime.telemetry.spans import current
    from sema_runtime.telemetry.work import FAILED

    span = current()
    if span is None or span.end:
        return
    if chosen == "error":
        span.fail(FAILED, message if isinstance(message, str) else "error")
    else:
        span.status = "ok"


@builtin("otel/event", type="str, any? -> nil")
def otel_event(name: Any, attributes: Any = None) -> None:
    """Adds an event to the innermost span.

    (otel/span "import" (fn () (otel/event "retry" {:table "users"}))) => nil
    """
    text = _text(name)
    if telemetry.tracer() is not None:
        from sema_runtime.telemetry.spans import current

        span = current()
        if span is not None:
            span.event(text, _attributes(attributes))


@builtin("otel/llm-usage", type="any -> nil")
def otel_llm_usage(usage: Any) -> None:
    """Sets tokens and cost of the innermost span: {:input-tokens :output-tokens :cost-usd}.

    (otel/llm-span {:model "m-1"} (fn () (otel/llm-usage {:input-tokens 9 :output-tokens 2 :cost-usd 0.01}))) => nil
    """
    if telemetry.tracer() is None:
        return
    from sema_runtime.llm.messages import Usage
    from sema_runtime.support import options as opt

    counts = usage if isinstance(usage, Map) else Map()
    tokens = (max(0, opt.integer(counts, name) or 0) for name in ("input-tokens", "output-tokens"))
    used, cost = Usage(*tokens), opt.number(counts, "cost-usd")
    _update(
        {
            "gen_ai.usage.input_tokens": used.prompt,
            "gen_ai.usage.output_tokens": used.completion,
            "gen_ai.usage.total_tokens": used.total,
            "gen_ai.usage.cost": cost,
            "gen_ai.usage.cost_usd": cost,
            **_compat().usage(used, cost, None),
        }
    )
