"""Attributes that some tools read instead of `gen_ai.*`, added to every span for the modes of SEMA_OTEL_COMPAT.

Each method returns the attributes of one aspect in the active modes. Names and values are those that the tools
document: OpenInference (Phoenix, Arize), OpenLLMetry (Traceloop), LangSmith, Langfuse, Braintrust.
"""

from __future__ import annotations

import json

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from typing import Any, Concatenate, ParamSpec, Protocol

    Attributes = dict[str, Any]
    P = ParamSpec("P")

    class OfferedTool(Protocol):
        """A tool that a model is offered. parameters: a JSON Schema object."""

        @property
        def name(self) -> str: ...
        @property
        def description(self) -> str: ...
        @property
        def parameters(self) -> dict[str, Any]: ...

    class TokenCounts(Protocol):
        """The tokens of one call."""

        prompt: int
        completion: int
        cache_read: int
        cache_creation: int

        @property
        def total(self) -> int: ...


OPENINFERENCE, TRACELOOP, LANGSMITH = "openinference", "traceloop", "langsmith"
LANGFUSE, BRAINTRUST = "langfuse", "braintrust"
ALL = frozenset((OPENINFERENCE, TRACELOOP, LANGSMITH, LANGFUSE, BRAINTRUST))
ALIASES = {"phoenix": OPENINFERENCE, "arize": OPENINFERENCE, "openllmetry": TRACELOOP}

# attribute → value by the kind of a span; the last value is for all other kinds
SPAN_KINDS: dict[str, tuple[str, dict[str, str], str]] = {
    OPENINFERENCE: (
        "openinference.span.kind",
        {name: name.upper() for name in ("llm", "embedding", "tool", "agent", "retriever", "reranker")},
        "CHAIN",
    ),
    TRACELOOP: (
        "traceloop.span.kind",
        {"llm": "task", "embedding": "task", "tool": "tool", "agent": "agent"},
        "workflow",
    ),
    LANGSMITH: (
        "langsmith.span.kind",
        {"llm": "llm", "embedding": "embedding", "tool": "tool", "retriever": "retriever"},
        "chain",
    ),
    LANGFUSE: ("langfuse.observation.type", {"llm": "generation", "embedding": "generation"}, "span"),
}
OPENINFERENCE_PROVIDERS = {"gemini": "google", "vertex": "google", "mistral": "mistralai", "x_ai": "xai"}
OPENINFERENCE_SYSTEMS = {
    **{name: name for name in ("openai", "anthropic", "cohere", "deepseek", "xai")},
    **{"gemini": "vertexai", "vertex": "vertexai", "mistral": "mistralai", "x_ai": "xai"},
}
MAX_DOCUMENTS = 64  # of one span
MAX_TEXTS = 128


def modes(text: str) -> frozenset[str]:
    """Returns the modes in a comma-separated list of names; unknown names are ignored."""
    names = {ALIASES.get(name, name) for name in (part.strip().lower() for part in text.split(","))}
    return ALL if "all" in names else ALL & names


def aspect(method: Callable[Concatenate[Compat, P], Attributes]) -> Callable[Concatenate[Compat, P], Attributes]:
    """Wraps a method that is only called when a mode is active; without one there are no attributes."""

    def attributes(self: Compat, /, *args: P.args, **named: P.kwargs) -> Attributes:
        return method(self, *args, **named) if self.active else {}

    return attributes


class Compat:
    """active: modes. release: of the program."""

    def __init__(self, active: frozenset[str], release: str) -> None:
        self.active = active
        self.release = release

    def _merged(self, by_mode: Mapping[str, Attributes]) -> Attributes:
        """Returns the attributes of the active modes, except those with None or an empty text."""
        return {
            key: value
            for mode, attributes in by_mode.items()
            if mode in self.active
            for key, value in attributes.items()
            if value is not None and value != ""
        }

    @aspect
    def span_kind(self, kind: str) -> Attributes:
        """kind: llm, embedding, tool, agent, retriever, reranker or chain."""
        return {
            SPAN_KINDS[mode][0]: SPAN_KINDS[mode][1].get(kind, SPAN_KINDS[mode][2])
            for mode in self.active & set(SPAN_KINDS)
        }

    @aspect
    def identity(self, session: str | None) -> Attributes:
        return self._merged(
            {LANGSMITH: {"langsmith.trace.session_id": session}, LANGFUSE: {"langfuse.release": self.release}}
        )

    @aspect
    def dispatch(self, operation: str, provider: str, model: str) -> Attributes:
        """The provider and model that were asked. provider: as programs name it."""
        if not provider:
            return {}
        return self._merged(
            {
                OPENINFERENCE: {
                    "llm.model_name": model,
                    "llm.provider": OPENINFERENCE_PROVIDERS.get(provider, provider),
                    "llm.system": OPENINFERENCE_SYSTEMS.get(provider),
                },
                TRACELOOP: {
                    "llm.request.type": "embedding" if operation == "embeddings" else "chat",
                    "traceloop.entity.name": model,
                },
                LANGSMITH: {"gen_ai.system": provider},
                LANGFUSE: {"langfuse.observation.model.name": model},
            }
        )

    @aspect
    def parameters(self, parameters: Mapping[str, Any]) -> Attributes:
        kept = {name: value for name, value in parameters.items() if value is not None}
        text = _json(kept) if kept else None
        return self._merged(
            {
                OPENINFERENCE: {"llm.invocation_parameters": text},
                LANGFUSE: {"langfuse.observation.model.parameters": text},
            }
        )

    @aspect
    def tools(self, tools: Sequence[OfferedTool]) -> Attributes:
        """The tools that a model was offered."""
        if not tools or not self.active & {OPENINFERENCE, TRACELOOP}:
            return {}
        attributes: Attributes = {}
        for number, tool in enumerate(tools):
            schema, function = _json(tool.parameters), f"llm.request.functions.{number}"
            attributes |= self._merged(
                {
                    OPENINFERENCE: {f"llm.tools.{number}.tool.json_schema": schema},
                    TRACELOOP: {
                        f"{function}.name": tool.name,
                        f"{function}.description": tool.description,
                        f"{function}.parameters": schema,
                    },
                }
            )
        return attributes

    @aspect
    def usage(self, used: TokenCounts, cost: float | None, split: tuple[float, float] | None) -> Attributes:
        """Tokens and USD. split: the costs of prompt and reply."""
        prompt_cost, reply_cost = split or (None, None)
        read, written = used.cache_read or None, used.cache_creation or None
        details = {
            "input": used.prompt,
            "output": used.completion,
            "total": used.total,
            "input_cached": used.cache_read,
        }
        return self._merged(
            {
                OPENINFERENCE: {
                    "llm.token_count.prompt": used.prompt,
                    "llm.token_count.completion": used.completion,
                    "llm.token_count.total": used.total,
                    "llm.token_count.prompt_details.cache_read": read,
                    "llm.token_count.prompt_details.cache_write": written,
                    "llm.cost.total": cost,
                    "llm.cost.prompt": prompt_cost,
                    "llm.cost.completion": reply_cost,
                },
                TRACELOOP: {
                    "llm.usage.total_tokens": used.total,
                    "gen_ai.usage.prompt_tokens": used.prompt,
                    "gen_ai.usage.completion_tokens": used.completion,
                    "gen_ai.usage.cache_read_input_tokens": read,
                    "gen_ai.usage.cache_creation_input_tokens": written,
                },
                LANGFUSE: {
                    "langfuse.observation.usage_details": _json(details),
                    "langfuse.observation.cost_details": None if cost is None else _json({"total": cost}),
                },
                BRAINTRUST: {"braintrust.metrics": None if cost is None else _json({"cost": cost})},
            }
        )

    @aspect
    def exchange(self, asked: str, answered: str) -> Attributes:
        """Messages sent and received, as JSON."""
        return self._merged(
            {
                OPENINFERENCE: _values(asked, answered, "application/json"),
                TRACELOOP: {"traceloop.entity.input": asked, "traceloop.entity.output": answered},
                LANGFUSE: {"langfuse.observation.input": asked, "langfuse.observation.output": answered},
                BRAINTRUST: {"braintrust.input_json": asked, "braintrust.output_json": answered},
            }
        )

    @aspect
    def tool_call(self, arguments: str, result: str) -> Attributes:
        """A tool's arguments, as JSON, and its result."""
        values = {"tool_call.function.arguments": arguments, **_values(arguments, result, "text/plain")}
        return self.exchange(arguments, result) | self._merged({OPENINFERENCE: values})

    @aspect
    def trace(self, question: str, answer: str) -> Attributes:
        """The question and the answer of a whole run."""
        return self._merged({LANGFUSE: {"langfuse.trace.input": question, "langfuse.trace.output": answer}})

    @aspect
    def tags(self, tags: Sequence[str]) -> Attributes:
        if not tags:
            return {}
        return self._merged(
            {
                LANGFUSE: {"langfuse.trace.tags": list(tags)},
                BRAINTRUST: {"braintrust.tags": list(tags)},
                LANGSMITH: {"langsmith.span.tags": ",".join(tags)},
            }
        )

    @aspect
    def metadata(self, entries: Mapping[str, str]) -> Attributes:
        if not entries:
            return {}
        return self._merged(
            {
                LANGFUSE: {f"langfuse.trace.metadata.{key}": value for key, value in entries.items()},
                LANGSMITH: {f"langsmith.metadata.{key}": value for key, value in entries.items()},
                TRACELOOP: {f"traceloop.association.properties.{key}": value for key, value in entries.items()},
                BRAINTRUST: {"braintrust.metadata": _json(dict(entries))},
            }
        )

    @aspect
    def streaming(self, first_piece: str) -> Attributes:
        """first_piece: its time, as RFC 3339."""
        return self._merged(
            {
                LANGFUSE: {"langfuse.observation.completion_start_time": first_piece},
                TRACELOOP: {"gen_ai.is_streaming": True},
            }
        )

    @aspect
    def embedding_model(self, model: str) -> Attributes:
        return self._merged({OPENINFERENCE: {"embedding.model_name": model}})

    @aspect
    def embedded(self, texts: Sequence[str]) -> Attributes:
        places = enumerate(texts[:MAX_TEXTS])
        return self._merged({OPENINFERENCE: {f"embedding.embeddings.{n}.embedding.text": text for n, text in places}})

    @aspect
    def retrieved(self, documents: Iterable[tuple[str, str, float]], capture: bool) -> Attributes:
        """The results of a search: (id, text, score)."""
        entries: Attributes = {}
        for number, (name, text, score) in enumerate(documents):
            if number == MAX_DOCUMENTS:
                break
            key = f"retrieval.documents.{number}.document"
            entries |= {f"{key}.id": name, f"{key}.score": score, f"{key}.content": text if capture else None}
        return self._merged({OPENINFERENCE: entries})

    @aspect
    def reranker(self, model: str, top_k: int | None, query: str | None) -> Attributes:
        entries = {"reranker.model_name": model, "reranker.top_k": top_k, "reranker.query": query}
        return self._merged({OPENINFERENCE: entries})

    @aspect
    def ranked(self, field: str, documents: Sequence[tuple[str, float | None]], capture: bool) -> Attributes:
        """field: input_documents or output_documents, as (text, score)."""
        entries: Attributes = {}
        for number, (text, score) in enumerate(documents[:MAX_DOCUMENTS]):
            key = f"reranker.{field}.{number}.document"
            entries |= {f"{key}.content": text if capture else None, f"{key}.score": score}
        return self._merged({OPENINFERENCE: entries})


def _values(input_value: str, output_value: str, result_type: str) -> Attributes:
    return {
        "input.value": input_value,
        "input.mime_type": "application/json",
        "output.value": output_value,
        "output.mime_type": result_type,
    }


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), default=str)
