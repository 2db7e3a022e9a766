"""The contract of the LLM part, continued: registry (1), environment (2), errors of providers (3)."""

from __future__ import annotations

import pytest
from llm_contract import NO_PROVIDER, answered, outcome
from llm_contract import alone as alone
from llm_support import Answer, run, serving
from llm_support import llm as llm

from sema_runtime import capabilities
from sema_runtime.llm.providers import PRESETS, registry
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")


# 1. Registry


@pytest.mark.parametrize(
    "program",
    [
        '(llm/complete "x")',
        '(llm/send (prompt (user "x")))',
        '(llm/chat [(message :user "x")])',
        '(llm/stream "x")',
        '(llm/batch ["x"])',
        "(llm/pmap (fn (x) x) [1])",
        '(llm/extract {:a :string} "x")',
        '(llm/classify [:a] "x")',
        '(llm/summarize "x")',
        '(llm/compare "x" "y")',
        '(conversation/say (conversation/new) "x")',
        '(conversation/say-as (conversation/new) "s" "x")',
        '(agent/run (agent {}) "x")',
    ],
)
def test_without_provider(program: str, alone: None) -> None:
    from sema_runtime.conditions.describe import condition_of

    with pytest.raises(Exception) as caught:
        run(program)
    error = condition_of(caught.value)
    assert f"[{error.kind}] {error.message}" == NO_PROVIDER


def test_nothing_configured(alone: None) -> None:
    program = "(list (llm/current-provider) (llm/default-provider) (llm/providers) (llm/auto-configure))"
    assert to_text(run(program)) == "(nil nil () :ollama)"


INTERNAL = (
    *("localhost", "LOCALHOST.", "a.localhost", "127.0.0.1", "127.1", "2130706433", "0x7f000001", "0177.0.0.1"),
    *("10.1.2.3", "172.16.0.1", "192.168.0.1", "169.254.1.1", "0.0.0.0", "255.255.255.255", "user@127.0.0.1"),
    *("[::1]", "[::]", "[fc00::1]", "[fdff::1]", "[fe80::1]", "[::ffff:127.0.0.1]", "[::ffff:10.0.0.1]", ""),
)


@pytest.mark.parametrize("host", INTERNAL)
@pytest.mark.parametrize("option", [':openai {:api-key "k" :base-url', ":ollama {:host"])
def test_a_sandbox_keeps_internal_hosts_away(
    option: str, host: str, alone: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(capabilities, "denied", {"shell"})
    url = f"http://{host}:8080/v1"
    assert outcome(f'(llm/configure {option} "{url}"}})') == (
        f"[eval] llm/configure: base-url '{url}' targets an internal/loopback host, which is not allowed under the"
        " current sandbox"
    )


@pytest.mark.parametrize("host", ["api.example.com", "8.8.8.8", "[2001:4860:4860::8888]", "localhost.example.com"])
def test_a_sandbox_lets_other_hosts_be(host: str, alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capabilities, "denied", {"shell"})
    assert outcome(f'(llm/configure :mine {{:api-key "k" :base-url "https://{host}/v1"}})') == "nil"


# 2. Configuration from the environment

DEFAULTS = (
    "anthropic ANTHROPIC_API_KEY https://api.anthropic.com/v1/messages claude-sonnet-4-6 -",
    "openai OPENAI_API_KEY https://api.openai.com/v1 gpt-5.5 yes",
    "groq GROQ_API_KEY https://api.groq.com/openai/v1 llama-3.3-70b-versatile yes",
    "xai XAI_API_KEY https://api.x.ai/v1 grok-4.3 yes",
    "mistral MISTRAL_API_KEY https://api.mistral.ai/v1 mistral-large-latest no",
    "moonshot MOONSHOT_API_KEY https://api.moonshot.ai/v1 kimi-k2.6 no",
    "gemini GOOGLE_API_KEY https://generativelanguage.googleapis.com/v1beta gemini-3.5-flash -",
    "ollama OLLAMA_HOST http://localhost:11434 gemma4 -",
    "deepseek DEEPSEEK_API_KEY * deepseek-v4-flash no",
    "openrouter OPENROUTER_API_KEY https://openrouter.ai/api/v1 openai/gpt-5.2 no",
    "together TOGETHER_API_KEY https://api.together.xyz/v1 meta-llama/Llama-4-Scout-17B-16E-Instruct no",
    "fireworks FIREWORKS_API_KEY https://api.fireworks.ai/inference/v1 accounts/fireworks/models/gpt-oss-120b no",
    "cerebras CEREBRAS_API_KEY * gpt-oss-120b no",
    "sambanova SAMBANOVA_API_KEY * Meta-Llama-3.3-70B-Instruct no",
    "perplexity PERPLEXITY_API_KEY * sonar-pro no",
)


@pytest.mark.parametrize("line", DEFAULTS, ids=lambda line: line.split()[0])
def test_provider_of_a_variable(line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    name, variable, url, model, stream_usage = line.split()
    monkeypatch.setenv(variable, "http://h" if name == "ollama" else "k")
    assert to_text(run("(llm/current-provider)")) == f'{{:model "{model}" :name :{name}}}'
    provider = registry().providers[name]
    if name != "ollama":
        assert url in ("*", provider.base_url)
        assert provider.base_url.startswith("https://")
    assert stream_usage in ("-", "yes" if provider.stream_usage else "no")


def test_order_of_providers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first one with a key is the default; Ollama is always there and comes last."""
    assert to_text(run("(list (llm/default-provider) (llm/providers))")) == "(:ollama (:ollama))"
    order = ["anthropic", "openai", "groq", "xai", "mistral", "moonshot", "gemini", "deepseek"]
    for name in reversed(order):
        monkeypatch.setenv(PRESETS[name].variable, "k")
        assert to_text(run("(llm/auto-configure)")) == f":{name}"


def test_an_empty_variable_is_unset(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "")
    assert to_text(run("(llm/auto-configure)")) == ":ollama"


def test_forced_provider_and_model(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("GROQ_API_KEY", "k")
    monkeypatch.setenv("SEMA_CHAT_MODEL", "m")
    assert to_text(run("(llm/current-provider)")) == '{:model "m" :name :openai}'
    monkeypatch.setenv("SEMA_CHAT_PROVIDER", " GROQ ")
    program = "(llm/auto-configure) (list (llm/current-provider) (llm/set-default :openai) (llm/current-provider))"
    assert to_text(run(program)) == '({:model "m" :name :groq} :openai {:model "gpt-5.5" :name :openai})'
    monkeypatch.setenv("SEMA_CHAT_PROVIDER", "xai")
    assert outcome("(llm/auto-configure)") == "[llm] requested provider is not configured: xai"


@pytest.mark.parametrize(
    ("answer", "shown"),
    [
        (Answer(400, {"error": {"message": "bad"}}), "API error: 400 - bad"),
        (Answer(418, {"error": "tea"}), "API error: 418 - tea"),
        (Answer(404, {"message": "gone"}), "API error: 404 - gone"),
        (Answer(500, "oops"), "API error: 500 - oops"),
        (Answer(429, {"error": {"message": "slow"}}), "Rate limited: retry after 5000ms"),
        (Answer(429, "", {"retry-after": "1"}), "Rate limited: retry after 5000ms"),
        (Answer(200, {"choices": []}), "Parse error: no choices in response"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_errors_of_providers(answer: Answer, shown: str, alone: None) -> None:
    assert answered(answer) == "[llm] " + shown
    assert answered(answer, '(try (llm/complete "x") (catch e (list (:type e) (:message e) (:provider e))))') == (
        f'(:llm "{shown}" :local)'
    )


def test_ollama_reports_429_as_any_error(alone: None) -> None:
    with serving(Answer(429, {"error": "busy"})) as server:
        assert outcome(f'(llm/configure :ollama {{:host "{server.url}"}}) (llm/complete "x")') == (
            "[llm] API error: 429 - busy"
        )


@pytest.mark.parametrize("model", ["a/b", "a?b", "a#b", "a:b", "a..b", "a\\nb"])
def test_gemini_refuses_odd_models(model: str, alone: None) -> None:
    program = f'(llm/configure :gemini {{:api-key "k"}}) (llm/complete "x" {{:model "{model}"}})'
    assert outcome(program).startswith("[llm] Config error: invalid model name: ")


def test_prefixes_belong_to_the_rendered_error(alone: None) -> None:
    from sema_runtime.conditions.describe import describe

    with pytest.raises(Exception) as caught:
        run("(llm/set-default :zzz)")
    assert describe(caught.value).message == "LLM error: provider not configured: zzz"
    program = """(map (fn (f) (try (f) (catch e (list (:type e) (:message e)))))
      (list (fn () (llm/set-default :zzz)) (fn () (llm/with-budget {} (fn () 1))) (fn () (llm/send "x"))
            (fn () (llm/set-default 1 2))))"""
    assert to_text(run(program)) == (
        '((:llm "provider not configured: zzz")'
        ' (:eval "llm/with-budget: requires at least :max-cost-usd or :max-tokens")'
        ' (:type-error "expected prompt, got string") (:arity "llm/set-default expects 1 argument, got 2"))'
    )
