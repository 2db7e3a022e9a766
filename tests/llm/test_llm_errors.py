"""What users see when something goes wrong between a program and a provider."""

from __future__ import annotations

import json
import threading
from typing import Any

import pytest
from llm_support import SLEPT, Answer, Server, chat_reply, claude_reply, closed_port, run, serving
from llm_support import llm as llm

from sema_runtime.values.errors import LlmError, SemaTypeError

pytestmark = pytest.mark.usefixtures("llm")


def configure(server: Server | str, name: str = "local") -> None:
    url = server if isinstance(server, str) else server.url
    run(f'(llm/configure :{name} {{:api-key "k" :base-url "{url}"}})')


def failure(program: str) -> LlmError:
    with pytest.raises(LlmError) as caught:
        run(program)
    return caught.value


def test_no_provider(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_NO_LLM", "1")
    error = failure('(llm/complete "hi")')
    assert error.message == "no LLM provider configured. Use (llm/configure :anthropic {:api-key ...}) first"
    assert error.display() == "LLM error: " + error.message
    assert "ANTHROPIC_API_KEY" in str(error.hint)


def test_without_keys_the_message_says_what_to_set(monkeypatch: pytest.MonkeyPatch) -> None:
    port = closed_port()
    monkeypatch.setenv("OLLAMA_HOST", f"127.0.0.1:{port}")
    error = failure('(defagent a {}) (agent/run a "hi")')
    assert error.message.startswith(f"HTTP error: could not connect to http://127.0.0.1:{port}")
    assert "ANTHROPIC_API_KEY" in str(error.hint)
    assert len(SLEPT) == 3


def test_unreachable_server() -> None:
    url = f"http://127.0.0.1:{closed_port()}"
    configure(url)
    error = failure('(llm/complete "hi")')
    assert error.message == f"HTTP error: could not connect to {url} (Connection refused)"
    assert "provider 'local'" in str(error.hint)
    assert failure('(llm/stream "hi" (fn (s) s))').message == error.message
    assert len(SLEPT) == 3, "streams are not retried"


def test_refused_key() -> None:
    with serving(Answer(401, {"error": {"message": "Incorrect API key provided"}})) as server:
        configure(server, "openai")
        for program in ('(llm/complete "hi")', '(llm/stream "hi" (fn (s) s))'):
            error = failure(program)
            assert error.message == "API error: 401 - Incorrect API key provided"
            assert error.hint == "provider 'openai' refused the key: check OPENAI_API_KEY"
    assert SLEPT == []
    assert len(server.received) == 2


@pytest.mark.parametrize(
    "body", ["<html>oops</html>", "", '["x"]', '{"choices": []}', '{"choices": [5]}', '{"choices": [{"message": "x"}]}']
)
def test_unreadable_reply(body: str) -> None:
    with serving(Answer(200, body)) as server:
        configure(server)
        assert failure('(llm/complete "hi")').message.startswith("Parse error: ")


def test_cut_reply_is_asked_again() -> None:
    with serving(Answer(200, chat_reply("x"), cut=True), Answer(200, chat_reply("whole"))) as server:
        configure(server)
        assert run('(llm/complete "hi")') == "whole"
    assert len(SLEPT) == 1


def test_slow_server() -> None:
    gate = threading.Event()
    with serving(Answer(200, chat_reply("late"), wait=gate)) as server:
        configure(server)
        error = failure('(llm/complete "hi" {:timeout 30})')
        gate.set()
    assert error.message == f"HTTP error: no reply from {server.url} within 0.03 s"


def test_rate_limit_text_is_fixed() -> None:
    with serving(Answer(429, {"error": {"message": "slow down"}})) as server:
        configure(server)
        assert failure('(llm/complete "hi")').message == "Rate limited: retry after 5000ms"
    assert SLEPT == [5000, 5000, 5000]


def test_retry_after_is_waited_but_capped() -> None:
    limited = [Answer(429, "", {"retry-after": "1.5"}), Answer(429, "", {"retry-after": "900"})]
    with serving(*limited, Answer(200, chat_reply("ok"))) as server:
        configure(server)
        assert run('(llm/complete "hi")') == "ok"
    assert SLEPT == [1500, 30000]


def test_caught_by_a_program() -> None:
    with serving(Answer(400, {"error": {"message": "bad model"}})) as server:
        configure(server)
        value = run('(try (llm/complete "hi") (catch e (list (:type e) (:message e))))')
    assert repr(value) == '(:llm "API error: 400 - bad model")'


def test_missing_key_and_unknown_provider() -> None:
    error = failure("(llm/configure :anthropic {})")
    assert error.message == "missing :api-key"
    assert "ANTHROPIC_API_KEY" in str(error.hint)
    assert failure("(llm/configure :zzz {})").message == (
        "unknown provider 'zzz': provide :api-key and :base-url to register as OpenAI-compatible"
    )
    assert failure('(llm/configure :zzz {:api-key "k"})').message == (
        "unknown provider 'zzz': provide :base-url to register as OpenAI-compatible"
    )
    assert failure("(llm/set-default :zzz)").message == "provider not configured: zzz"
    with pytest.raises(SemaTypeError, match="expected keyword, got string"):
        run('(llm/configure "openai" {:api-key "k"})')


def test_the_body_and_headers_that_are_sent() -> None:
    with serving(Answer(200, chat_reply("ok"))) as server:
        configure(server)
        run('(llm/complete "hi" {:model "m" :max-tokens 9 :temperature 1 :system "S"})')
    [received] = server.received
    assert received.path == "/chat/completions"
    assert received.headers["authorization"] == "Bearer k"
    assert received.body == {
        "model": "m",
        "messages": [{"role": "system", "content": "S"}, {"role": "user", "content": "hi"}],
        "max_tokens": 9,
        "temperature": 1.0,
    }


def test_anthropic_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(Answer(200, claude_reply({"type": "text", "text": "hello"}))) as server:
        monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.url)
        assert run('(llm/complete "hi")') == "hello"
    [received] = server.received
    assert received.path == "/v1/messages"
    assert received.headers["x-api-key"] == "secret"
    assert received.headers["anthropic-version"] == "2023-06-01"
    assert run("(list (llm/default-provider) (llm/list-providers))").items[0].name == "anthropic"


def test_environment_chooses_provider_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "a")
    monkeypatch.setenv("GROQ_API_KEY", "g")
    monkeypatch.setenv("SEMA_CHAT_PROVIDER", " Groq ")
    monkeypatch.setenv("SEMA_CHAT_MODEL", "special")
    assert repr(run("(llm/current-provider)")) == '{:model "special" :name :groq}'
    assert repr(run("(llm/providers)")) == "(:anthropic :groq :ollama)"
    monkeypatch.setenv("SEMA_CHAT_PROVIDER", "xai")
    error = failure("(llm/auto-configure)")
    assert error.message == "requested provider is not configured: xai"
    assert "XAI_API_KEY" in str(error.hint)


def test_batch_keeps_order_and_raises_the_first_failure() -> None:
    def answer(received: Any) -> Answer:
        text = received.body["messages"][-1]["content"]
        return Answer(500, "no") if text == "bad" else Answer(200, chat_reply(text.upper()))

    with serving(answer) as server:
        configure(server)
        assert list(run('(llm/batch ["a" "b" :c])')) == ["A", "B", ":C"]
        assert list(run('(llm/pmap (fn (n) (str "n" n)) [1 2 3])')) == ["N1", "N2", "N3"]
        assert failure('(llm/batch ["a" "bad"])').message == "API error: 500 - no"
    assert SLEPT == []


def test_calls_in_tasks_wait_side_by_side() -> None:
    both = threading.Barrier(2, timeout=10)

    def answer(received: Any) -> Answer:
        both.wait()
        return Answer(200, chat_reply(received.body["messages"][-1]["content"]))

    with serving(answer) as server:
        configure(server)
        value = run('(async/all (list (async (llm/complete "a")) (async (llm/complete "b"))))')
    assert list(value) == ["a", "b"]


def streamed(*texts: str) -> Answer:
    events = [f"data: {json.dumps({'choices': [{'delta': {'content': text}}]})}\n\n".encode() for text in texts]
    return Answer(pieces=[*events, b"data: [DONE]\n\n"])


def test_an_error_in_the_callback_ends_the_stream() -> None:
    with serving(streamed("a", "b"), Answer(200, chat_reply("after"))) as server:
        configure(server)
        program = '(try (llm/stream "x" (fn (piece) (error (str "stop at " piece)))) (catch e (:message e)))'
        assert run(program) == "stop at a"
        assert run('(llm/complete "x")') == "after"


def test_a_cancelled_call_charges_nothing() -> None:
    gate = threading.Event()

    def answer(received: Any) -> Answer:
        text = received.body["messages"][-1]["content"]
        return Answer(200, chat_reply(text), wait=gate if text == "slow" else None)

    with serving(answer) as server:
        configure(server)
        program = """
        (define p (async (llm/complete "slow")))
        (define other (llm/complete "quick"))
        (async/cancel p)
        (list other (try (await p) (catch e (:type e))) (:total-tokens (llm/session-usage)))"""
        value = run(program)
        gate.set()
    assert repr(value) == '("quick" :cancelled 5)'


def test_from_a_coroutine() -> None:
    import asyncio

    from sema_runtime import tasks
    from semac.session import Session

    with serving(lambda received: Answer(200, chat_reply(received.body["messages"][-1]["content"]))) as server:
        configure(server)
        session = Session()
        session.run("(define (ask text) (llm/complete text))")

        async def both() -> list[Any]:
            return await asyncio.gather(*(tasks.call(session.globals["ask"], text) for text in "ab"))

        assert asyncio.run(both()) == ["a", "b"]


def test_a_cancelled_stream_stops() -> None:
    endless = [b'data: {"choices": [{"delta": {"content": "x"}}]}\n\n'] * 20000
    with serving(Answer(pieces=endless), Answer(200, chat_reply("after"))) as server:
        configure(server)
        program = """
        (define heard 0)
        (define p (async (llm/stream "go" (fn (piece) (set! heard (+ heard 1)) (when (= heard 5) (async/cancel p))))))
        (list (try (await p) (catch e (:type e))) (llm/complete "x") (< heard 20000))"""
        assert repr(run(program)) == '(:cancelled "after" #t)'
