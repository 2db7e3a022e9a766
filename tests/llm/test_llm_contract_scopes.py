"""The contract of the LLM part, continued: registry and environment (1, 2), errors of providers (3), usage, prices and
budgets (9), cache (10), retries, chains and rates (11), cassettes (12), the order of the layers (16)."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from llm_contract import NO_PROVIDER, outcome, table
from llm_support import SLEPT, Answer, chat_reply, run, serving
from llm_support import llm as llm

from sema_runtime import capabilities
from sema_runtime.llm.providers import PRESETS, registry
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")
COUNTED = (
    '(define (reply req) (set! seen (append seen (list req))) {:content "n" :usage usage})'
    '(llm/define-provider :fake {:default-model "fake-1" :complete reply})'
)


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider is registered by itself."""
    monkeypatch.setenv("SEMA_NO_LLM", "1")


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


# 3. Errors of providers, rendered and caught


def answered(answer: Answer, program: str = '(llm/complete "x")') -> str:
    with serving(answer) as server:
        return outcome(f'(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})' + program)


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


# 9 to 12

SPENT = "token budget exceeded: used 10 of 8 tokens"
BUDGET = [
    ("(llm/last-usage)", "nil"),
    (
        "(llm/session-usage)",
        "{:cache-creation-tokens 0 :cache-read-tokens 0 :completion-tokens 0 :cost-usd 0.0 :prompt-tokens 0"
        " :total-tokens 0}",
    ),
    (COUNTED + '(llm/complete "x") (llm/complete "x") (llm/reset-usage) (llm/last-usage)', "nil"),
    (COUNTED + '(llm/complete "x") (llm/complete "x") (:total-tokens (llm/session-usage))', "10"),
    (
        COUNTED + '(llm/set-pricing "fake" 1000000 2000000) (llm/complete "x") (:cost-usd (llm/last-usage))',
        "7.0",
    ),
    (
        COUNTED + '(llm/set-pricing "fake" 1 1) (llm/set-pricing "fake" 1000000 0) (llm/complete "x")'
        "(:cost-usd (llm/session-usage))",
        "3.0",
    ),
    ("(llm/set-pricing 5 1 1)", "[type-error] expected string, got int"),
    ('(llm/set-pricing "m" "1" 1)', "[type-error] expected number, got string"),
    ("(list (:source (llm/pricing-status)) (string? (:updated-at (llm/pricing-status))))", "(embedded #t)"),
    ("(llm/with-budget {} (fn () 1))", "[eval] llm/with-budget: requires at least :max-cost-usd or :max-tokens"),
    (
        '(llm/with-budget {:max-tokens "9" :max-cost-usd nil} (fn () 1))',
        "[eval] llm/with-budget: requires at least :max-cost-usd or :max-tokens",
    ),
    (
        "(llm/with-budget {:max-tokens 1.5} (fn () 1))",
        "[eval] llm/with-budget: requires at least :max-cost-usd or :max-tokens",
    ),
    ("(llm/with-budget {:max-tokens 1} 5)", "[type-error] expected function, got int"),
    ("(llm/with-budget {:max-tokens 1} :k)", "[type-error] expected function, got keyword"),
    ("(llm/with-budget 5 (fn () 1))", "[type-error] expected map, got int"),
    ("(llm/with-budget {:max-tokens 1} (fn () 7))", "7"),
    (COUNTED + '(llm/with-budget {:max-tokens 8} (fn () (llm/complete "x") (llm/complete "x")))', f"[llm] {SPENT}"),
    (
        COUNTED + '(llm/with-budget {:max-tokens -5} (fn () (llm/complete "x")))',
        "[llm] token budget exceeded: used 5 of 0 tokens",
    ),
    (COUNTED + '(llm/with-budget {:max-tokens 5} (fn () (llm/complete "x")))', '"n"'),
    (
        COUNTED + '(llm/set-pricing "fake" 1000000 0) (llm/with-budget {:max-cost-usd 2} (fn () (llm/complete "x")))',
        "[llm] budget exceeded: spent $3.0000 of $2.0000 limit",
    ),
    (
        COUNTED + '(llm/set-pricing "fake" 1000000 0)'
        '(llm/with-budget {:max-cost-usd 2 :max-tokens 1} (fn () (llm/complete "x")))',
        "[llm] token budget exceeded: used 5 of 1 tokens",
    ),
    (
        COUNTED + '(llm/with-budget {:max-tokens 9} (fn () (llm/complete "x") (llm/budget-remaining)))',
        "{:token-limit 9 :tokens-remaining 4 :tokens-spent 5}",
    ),
    (
        COUNTED + '(llm/with-budget {:max-tokens 4} (fn () (try (llm/complete "x") (catch e 0))'
        "(:tokens-remaining (llm/budget-remaining))))",
        "0",
    ),
    ("(llm/set-budget 2) (llm/budget-remaining)", "{:limit 2.0 :remaining 2.0 :spent 0.0}"),
    ("(llm/set-budget 2) (list (llm/clear-budget) (llm/budget-remaining))", "(nil nil)"),
    ('(llm/set-budget "2")', "[type-error] expected number, got string"),
    (
        COUNTED + "(llm/with-budget {:max-tokens 100} (fn () (llm/with-budget {:max-tokens 7} (fn ()"
        ' (llm/complete "x"))) (:tokens-spent (llm/budget-remaining))))',
        "0",
    ),
    (
        COUNTED + '(llm/with-budget {:max-tokens 100} (fn () (async/all (map (fn (i) (async (llm/complete "x")))'
        " [1 2 3])) (:tokens-spent (llm/budget-remaining))))",
        "15",
    ),
    (
        COUNTED + '(llm/with-budget {:max-tokens 9} (fn () (llm/with-cache (fn () (llm/complete "x")'
        ' (llm/complete "x") (llm/complete "x") (:tokens-spent (llm/budget-remaining))))))',
        "5",
    ),
    (
        COUNTED + '(llm/with-budget {:max-tokens 3} (fn () (llm/stream "x" (fn (s) s))))',
        "[llm] token budget exceeded: used 5 of 3 tokens",
    ),
    (
        COUNTED + '(llm/with-budget {:max-tokens 5 :on-stream :pre-gate} (fn () (llm/stream "x" (fn (s) s))'
        ' (string/ends-with? (try (llm/stream "x" (fn (s) s)) (catch e (:message e)))'
        ' " — streaming call blocked at open")))',
        "#t",
    ),
    (COUNTED + '(list (map car (list [(llm/with-budget {:max-tokens 9} (fn () (llm/batch ["a"])))])))', '((("n")))'),
]


def key_of(text: str, model: str = "", temperature: float | None = None, system: str = "") -> str:
    number = b"" if temperature is None else struct.pack("<d", temperature)
    return hashlib.sha256(model.encode() + number + system.encode() + b"user" + text.encode()).hexdigest()


CACHE = [
    ('(llm/cache-key "hello")', f'"{hashlib.sha256(b"userhello").hexdigest()}"'),
    (
        '(llm/cache-key "é" {:model "m" :temperature 1 :system "s" :max-tokens 5})',
        f'"{key_of("é", "m", 1.0, "s")}"',
    ),
    ("(llm/cache-key 5)", "[type-error] expected string, got int"),
    ("(llm/cache-stats)", "{:hits 0 :misses 0 :size 0}"),
    (
        '(llm/with-cache (fn () (llm/complete "x") (llm/complete "x") (llm/complete "y" {:max-tokens 1})))'
        "(list (length seen) (llm/cache-stats))",
        "(2 {:hits 1 :misses 2 :size 2})",
    ),
    (
        '(llm/with-cache (fn () (llm/complete "x") (llm/complete "x" {:max-tokens 1 :reasoning-effort :high})))'
        "(length seen)",
        "1",
    ),
    ('(llm/with-cache {:ttl 0} (fn () (llm/complete "x") (llm/complete "x"))) (length seen)', "2"),
    ('(llm/with-cache (fn () (llm/stream "x" (fn (s) s)) (llm/stream "x" (fn (s) s)))) (length seen)', "2"),
    ('(llm/with-cache (fn () (llm/batch ["x" "x"]))) (length seen)', "2"),
    ('(llm/with-cache (fn () (llm/complete "x"))) (llm/complete "x") (length seen)', "2"),
    (
        COUNTED + '(llm/with-cache (fn () (llm/complete "x") (llm/complete "x"))) (llm/last-usage)',
        '{:cache-creation-tokens 0 :cache-read-tokens 0 :completion-tokens 0 :model "fake-1" :prompt-tokens 0'
        " :total-tokens 0}",
    ),
    (
        '(llm/with-cache (fn () (llm/complete "x"))) (list (llm/cache-clear) (llm/cache-stats))',
        "(1 {:hits 0 :misses 0 :size 0})",
    ),
    ("(llm/with-cache 5)", "[type-error] expected function, got int"),
    ("(llm/with-cache 5 (fn () 1))", "[type-error] expected map, got int"),
    ("(llm/with-cache (fn () 5))", "5"),
]

PROVIDERS = """
(llm/define-provider :bad {:complete (fn (r) (error "down"))})
(llm/define-provider :good {:default-model "g" :complete (fn (r) (:model r))})
"""
RESILIENCE = [
    (PROVIDERS + '(llm/with-fallback [:bad :good] (fn () (llm/complete "x")))', '"g"'),
    (PROVIDERS + '(llm/with-fallback ["bad" "good"] (fn () (llm/complete "x" {:model "pinned"})))', '"pinned"'),
    (
        PROVIDERS + '(llm/with-fallback [:bad [:good "entry"]] (fn () (llm/complete "x" {:model "pinned"})))',
        '"entry"',
    ),
    (
        PROVIDERS + '(llm/with-fallback (list {:provider :good :model "m"}) (fn () (llm/complete "x")))',
        '"m"',
    ),
    (PROVIDERS + '(llm/with-fallback [{:provider "good"}] (fn () (llm/complete "x")))', '"g"'),
    (PROVIDERS + '(llm/with-fallback [:bad :bad] (fn () (llm/complete "x")))', "[llm] API error: 0 - down"),
    ('(llm/with-fallback [:zzz] (fn () (llm/complete "x")))', "[llm] fallback provider 'zzz' not found"),
    ('(llm/with-fallback [] (fn () (llm/complete "x")))', '"ok"'),
    ("(llm/with-fallback :fake (fn () 1))", "[type-error] expected list or vector, got keyword"),
    ("(llm/with-fallback [] 5)", "[type-error] expected function, got int"),
    ("(llm/with-fallback [:fake] (fn () 5))", "5"),
    (PROVIDERS + '(llm/with-fallback [:bad :good] (fn () (llm/stream "x" (fn (s) s))))', '"g"'),
    ("(llm/with-rate-limit 5 (fn () 7))", "7"),
    ('(llm/with-rate-limit "5" (fn () 7))', "[type-error] expected number, got string"),
    ("(llm/with-rate-limit 5 7)", "[type-error] expected function, got int"),
]

REPLAY = '(llm/with-cassette "t.jsonl" {:mode :replay} (fn () '
MISS = (
    f"cassette miss in :replay mode (key {key_of('x')}) — no recorded interaction for this request;"
    " re-record the tape or use :auto mode"
)
CASSETTES = [
    ('(llm/with-cassette "t.jsonl" (fn () (llm/complete "x") (llm/complete "x"))) (length seen)', "1"),
    ('(llm/with-cassette "t.jsonl" {:mode :record} (fn () (llm/complete "x") (llm/complete "x"))) (length seen)', "2"),
    ('(llm/with-cassette "t.jsonl" {:mode :odd} (fn () (llm/complete "x") (llm/complete "x"))) (length seen)', "1"),
    (REPLAY + '(llm/complete "x")))', f"[llm] {MISS}"),
    (REPLAY + '(llm/stream "x" (fn (s) s))))', f"[llm] {MISS}"),
    ('(llm/with-cassette "t.jsonl" (fn () 5))', "5"),
    ('(llm/with-cassette "t.jsonl" 5)', "[type-error] expected function, got int"),
    ("(llm/with-cassette 5 (fn () 1))", "[type-error] expected string, got int"),
    (
        '(list (llm/cassette-load "t.jsonl") (llm/cassette-save) (llm/cassette-eject) (llm/cassette-eject))',
        "(nil #t #t #f)",
    ),
    ("(llm/cassette-save)", "#f"),
    (
        COUNTED
        + '(llm/with-cassette "t.jsonl" (fn () (llm/complete "x"))) (llm/reset-usage) '
        + REPLAY
        + '(llm/complete "x") (:total-tokens (llm/last-usage))))',
        "5",
    ),
    (
        '(llm/with-cassette "d/e/t.jsonl" (fn () (llm/with-cache (fn () (llm/complete "x") (llm/cache-stats)))))',
        "{:hits 0 :misses 0 :size 0}",
    ),
]


@pytest.mark.parametrize(("program", "shown"), table(s9=BUDGET, s10=CACHE, s11=RESILIENCE, s12=CASSETTES))
def test_contract(program: str, shown: str, alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert outcome(program) == shown


def test_each_failure_of_a_chain_is_reported(alone: None, capfd: pytest.CaptureFixture[str]) -> None:
    outcome(PROVIDERS + '(llm/with-fallback [:bad :bad :good] (fn () (llm/complete "x")))')
    assert capfd.readouterr().err.count("Provider 'bad' failed: API error: 0 - down, trying next...") == 2


def test_entry_of_the_response_cache(alone: None, tmp_path: Path) -> None:
    outcome(COUNTED + '(llm/with-cache (fn () (llm/complete "x" {:model "m"})))')
    file = next(tmp_path.rglob(f"{key_of('x', 'm')}.json"))
    entry = json.loads(file.read_text())
    assert isinstance(entry.pop("cached_at"), int)
    assert entry == {"content": "n", "model": "m", "prompt_tokens": 3, "completion_tokens": 2}
    assert file.parent == tmp_path / ".sema" / "cache" / "llm"


def test_entry_of_a_cassette(alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    there = '{"v":1,"kind":"complete","key":"k","content":"c","model":"m"}'
    (tmp_path / "t.jsonl").write_text(there)
    ask = '(llm/complete "x") (llm/stream "y" {:model "m" :temperature 0.5} (fn (s) s))'
    outcome(COUNTED + f'(llm/with-cassette "t.jsonl" {{:mode :record}} (fn () {ask}))')
    first, *entries = (tmp_path / "t.jsonl").read_text().splitlines()
    made: list[Any] = [json.loads(line) for line in entries]
    assert first == there, "it had no newline at its end"
    assert [entry["key"] for entry in made] == [key_of("x"), key_of("y", "m", 0.5)]
    assert made[1] == {
        **{"v": 1, "kind": "stream", "key": key_of("y", "m", 0.5), "content": "n", "role": "assistant", "model": "m"},
        **{"tool_calls": [], "stop_reason": "end_turn", "prompt_tokens": 3, "completion_tokens": 2},
        **{"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0, "chunks": ["n"], "embeddings": []},
    }
    assert list(made[0])[:5] == ["v", "kind", "key", "content", "role"]


def test_waits_between_attempts(alone: None) -> None:
    """3 retries on 429, from 500 upwards and for the network; 5000 ms or what the server says, at most 30000 ms."""
    assert answered(Answer(429, "")) == "[llm] Rate limited: retry after 5000ms"
    assert SLEPT == [5000, 5000, 5000]
    SLEPT.clear()
    answered(Answer(503, ""))
    assert len(SLEPT) == 3
    assert all(0 <= waited <= 500 * 2**attempt for attempt, waited in enumerate(SLEPT))
    SLEPT.clear()
    answered(Answer(429, "", {"retry-after": "99"}))
    assert SLEPT == [30000] * 3


@pytest.mark.parametrize("program", ['(llm/stream "x" (fn (s) s))', '(llm/batch ["x"])'])
def test_what_is_not_retried(program: str, alone: None) -> None:
    assert answered(Answer(503, "no"), program) == "[llm] API error: 503 - no"
    assert SLEPT == []


def test_rates_don_t_hold_for_hits_and_replays(alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    twice = '(llm/complete "x") (llm/complete "x")'
    outcome(f"(llm/with-rate-limit 1 (fn () (llm/with-cache (fn () {twice}))))")
    outcome(f'(llm/with-rate-limit 1 (fn () (llm/with-cassette "t.jsonl" (fn () {twice}))))')
    assert SLEPT == []
    outcome(f"(llm/with-rate-limit 2 (fn () {twice}))")
    assert len(SLEPT) == 1
    assert 400 < SLEPT[0] <= 500


# 16. The order of the layers


def test_order_of_the_layers(alone: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A reply is kept and recorded before the budget may refuse it; a hit comes before the rate limit."""
    monkeypatch.chdir(tmp_path)
    spent = '(try (llm/with-budget {:max-tokens 1} (fn () (llm/complete "x"))) (catch e (:message e)))'
    cached = f'(llm/with-cache (fn () (list {spent} (llm/complete "x") (length seen))))'
    assert outcome(COUNTED + cached) == '("token budget exceeded: used 5 of 1 tokens" "n" 1)'
    taped = f'(llm/with-cassette "t.jsonl" (fn () (list {spent} {spent} (length seen))))'
    used = '"token budget exceeded: used 5 of 1 tokens"'
    assert outcome(COUNTED + taped) == f"({used} {used} 1)"


def test_the_example_of_the_contract(alone: None) -> None:
    program = """
    (llm/define-provider :fake {:complete (fn (req)
      {:content (str "n=" (length (:messages req))) :usage {:prompt-tokens 3 :completion-tokens 2}})})
    (llm/with-budget {:max-tokens 8} (fn () (llm/complete "a") (try (llm/complete "b") (catch e (:message e)))))"""
    assert outcome(program) == f'"{SPENT}"'


def test_requests_of_a_chat(alone: None) -> None:
    """3: 4096 tokens unless the program says otherwise, nothing that it didn't say."""
    with serving(Answer(200, chat_reply("ok"))) as server:
        outcome(f'(llm/configure :local {{:api-key "k" :base-url "{server.url}"}}) (llm/complete "x")')
    assert server.received[0].body == {
        "model": "default",
        "messages": [{"role": "user", "content": "x"}],
        "max_tokens": 4096,
    }
