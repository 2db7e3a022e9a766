"""Ranking documents by their relevance to a query: one request to one provider, no retries, no cassette."""

from __future__ import annotations

from dataclasses import dataclass, field

from sema_runtime import tasks
from sema_runtime.llm import policy_guard
from sema_runtime.llm.budgets import usage
from sema_runtime.llm.calls import Call
from sema_runtime.llm.embedders import Ranker
from sema_runtime.llm.embeddings.attempt import EndpointAttempt, ReportedUsage
from sema_runtime.llm.messages import Reply, Usage
from sema_runtime.llm.observers import observed
from sema_runtime.llm.providers import registry

Ranked = list[tuple[int, float]]  # index of a document and its score, best first


@dataclass(slots=True)
class RerankRequest:
    """model: "" for the provider's default. top: how many results, None for all. provider: None for the default one.
    timeout_ms: None for 120 s. results: set when they come."""

    query: str
    documents: list[str]
    model: str = ""
    top: int | None = None
    provider: str | None = None
    timeout_ms: int | None = None
    results: Ranked = field(default_factory=list)


def rerank(request: RerankRequest) -> Ranked:
    """Returns the results in the order of the reply. Raises LlmError: from the provider, or when the budget is
    overspent (some providers report tokens); PolicyDenied: for what a workflow's policy forbids."""
    if not request.documents:
        return []
    guard = policy_guard.current.get()
    if guard is not None:
        ranker = registry().require_ranker(request.provider)
        texts = [request.query, *request.documents]
        request.query, *request.documents = guard.texts(ranker.provider, request.model or ranker.model, texts)
    with observed(Call("rerank", model=request.model, payload=request)) as call:
        ranker = registry().require_ranker(request.provider)
        model = request.model or ranker.model
        queries = [request.query] * len(request.documents)  # the model reads each document with the query
        reported = ReportedUsage()
        with EndpointAttempt(call, ranker, model, request.documents + queries, reported):
            try:
                request.results, used = _asked(ranker, request, model)
            except BaseException as error:
                reported.failed(error)
                raise
            reported.add(used)
        usage.measure(call, Reply("", model, used, provider=ranker.provider))
        if used.prompt:
            usage.track(call)
        elif call.reservation is not None:
            usage.charge(call)
    return request.results


def _asked(ranker: Ranker, request: RerankRequest, model: str) -> tuple[Ranked, Usage]:
    if ranker.function is not None:
        from sema_runtime.llm.embeddings import sema_functions

        return sema_functions.rank(ranker, request.query, request.documents, model, request.top)
    from sema_runtime.llm.embeddings import transport

    return tasks.suspend(  # type: ignore[no-any-return]
        transport.rank(ranker, request.query, request.documents, model, request.top, request.timeout_ms)
    )
