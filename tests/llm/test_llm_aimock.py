"""Agents against aimock, a mock of the providers' APIs that others wrote, over every wire."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from llm_support import SLEPT, aimock, run
from llm_support import llm as llm

from sema_runtime.values.errors import LlmError

USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18}


def failing_first(wire: str) -> list[dict[str, Any]]:
    """Sequences are counted over all requests, so each wire has its own."""
    slow = {"error": {"message": "slow", "type": "rate_limit_error"}, "status": 429, "retryAfter": 2}
    busy = {"error": {"message": "busy", "type": "overloaded_error"}, "status": 529}
    return [
        {"match": {"userMessage": f"RATE {wire}", "sequenceIndex": 0}, "response": slow},
        {"match": {"userMessage": f"RATE {wire}", "sequenceIndex": 1}, "response": {"content": "through"}},
        {"match": {"userMessage": f"FLAKY {wire}", "sequenceIndex": 0}, "response": busy},
        {"match": {"userMessage": f"FLAKY {wire}", "sequenceIndex": 1}, "response": {"content": "recovered"}},
    ]


FIXTURES: list[dict[str, Any]] = [
    *failing_first("openai"),
    *failing_first("anthropic"),
    *failing_first("gemini"),
    *failing_first("ollama"),
    {
        "match": {"userMessage": "WEATHER", "hasToolResult": False},
        "response": {"toolCalls": [{"name": "get-weather", "arguments": {"city": "Oslo"}}], "usage": USAGE},
    },
    {
        "match": {"userMessage": "WEATHER", "hasToolResult": True},
        "response": {"content": "4 C in Oslo", "usage": USAGE},
    },
    {
        "match": {"userMessage": "CUT"},
        "response": {"content": "This is a long reply that never comes to its end."},
        "truncateAfterChunks": 4,
        "chunkSize": 8,
        "latency": 20,
    },
    {
        "match": {"userMessage": "THINK"},
        "response": {"content": "42", "reasoning": "six times seven", "usage": USAGE},
    },
    {"match": {"userMessage": "EXTRACT"}, "response": {"content": '{"city": "Oslo", "degrees": null}', "usage": USAGE}},
    {"match": {"endpoint": "chat"}, "response": {"content": "Hello in several chunks.", "usage": USAGE}},
]
TOOL = """
(deftool get-weather "The weather in a city"
  {:city {:type :string :description "its name"} :days {:type :int :optional #t}}
  (fn (city days) (str "4 C in " city)))
(defagent forecaster {:system "Use the tool." :tools [get-weather] :max-turns 5})
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with aimock(FIXTURES, tmp_path_factory.mktemp("aimock")) as running:
        yield running


@pytest.fixture(params=["openai", "anthropic", "gemini", "ollama"])
def wire(request: pytest.FixtureRequest, server: str, llm: None) -> str:
    """Configures one wire; its name."""
    base = server + {"openai": "/v1", "gemini": "/v1beta"}.get(request.param, "")
    run(f'(llm/configure :{request.param} {{:api-key "k" :base-url "{base}"}})')
    return str(request.param)


def counted(wire: str, tokens: int) -> int:
    """aimock scripts no token counts for Ollama."""
    return 0 if wire == "ollama" else tokens


def test_completion_and_usage(wire: str) -> None:
    assert (
        run('(llm/complete "hi" {:max-tokens 50 :temperature 0.5 :system "Be brief."})') == "Hello in several chunks."
    )
    assert run("(:total-tokens (llm/last-usage))") == counted(wire, 18)


def test_agent_with_tools(wire: str) -> None:
    assert run(TOOL + '(agent/run forecaster "WEATHER in Oslo?")') == "4 C in Oslo"
    assert run("(:total-tokens (llm/session-usage))") == counted(wire, 36)


def test_agent_streams_its_text(wire: str) -> None:
    program = '(define heard "") (define (hear s) (set! heard (str heard s)))'
    program += '(define r (agent/run forecaster "WEATHER in Oslo?" {:on-text hear})) (list heard (:response r))'
    assert list(run(TOOL + program)) == ["4 C in Oslo", "4 C in Oslo"]


def test_stream(wire: str) -> None:
    value = run('(define n 0) (define text (llm/stream "hi" (fn (s) (set! n (+ n 1))))) (list text (> n 1))')
    assert list(value) == ["Hello in several chunks.", True]


def test_rate_limited_waits_as_the_server_says(wire: str) -> None:
    if wire == "ollama":  # whose 429 is an API error like any other
        with pytest.raises(LlmError, match="API error: 429 - slow"):
            run('(llm/complete "RATE ollama")')
        return
    assert run(f'(llm/complete "RATE {wire}")') == "through"
    assert SLEPT == [2000]


def test_overloaded_then_fine(wire: str) -> None:
    assert run(f'(llm/complete "FLAKY {wire}")') == "recovered"
    assert len(SLEPT) == 1 and SLEPT[0] <= 500


def test_cut_stream_is_an_error_not_a_short_answer(wire: str) -> None:
    value = run('(define heard 0) (list (try (llm/stream "CUT" (fn (s) (set! heard 1))) (catch e (:type e))) heard)')
    assert value[0].name == "llm"
    assert value[1] == 1


def test_thoughts_are_no_part_of_the_answer(wire: str) -> None:
    assert run('(llm/complete "THINK")') == "42"
    assert run('(llm/stream "THINK" (fn (s) s))') == "42"


def test_native_schema(wire: str) -> None:
    schema = "{:city :string :degrees {:type :number :optional #t}}"
    assert run(f'(:city (llm/extract {schema} "EXTRACT it" {{:mode :native}}))') == "Oslo"


def test_picture(wire: str) -> None:
    message = '(message/with-image :user "What is it?" #u8(137 80 78 71))'
    assert run(f"(llm/chat [{message}])") == "Hello in several chunks."
