"""The contract of the LLM part, continued: usage and prices, budgets, caches, cassettes (9 to 12), and the order of the
layers (16)."""

from __future__ import annotations

import hashlib
import json
import struct
from pathlib import Path
from typing import Any

import pytest
from llm_contract import alone as alone
from llm_contract import answered, outcome, table
from llm_support import SLEPT, Answer, chat_reply, serving
from llm_support import llm as llm

pytestmark = pytest.mark.usefixtures("llm")
COUNTED = (
    '(define (reply req) (set! seen (append seen (list req))) {:content "n" :usage usage})'
    '(llm/define-provider :fake {:default-model "fake-1" :complete reply})'
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
