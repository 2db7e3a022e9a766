"""Budgets, usage, prices, fallback chains and rate limits, with providers written in Sema."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from llm_support import COUNTING, SLEPT, Answer, counted, run, serving
from llm_support import llm as llm

from sema_runtime.llm.budgets import pricing
from sema_runtime.values.errors import LlmError, SemaError
from sema_runtime.values.printer import to_text

pytestmark = pytest.mark.usefixtures("llm")


def message_of(program: str) -> str:
    with pytest.raises(SemaError) as caught:
        run(COUNTING + program)
    return caught.value.message


# Budgets and usage


def test_token_budget() -> None:
    program = (
        '(llm/with-budget {:max-tokens 8} (fn () (llm/complete "a") (try (llm/complete "b") (catch e (:message e)))))'
    )
    assert run(COUNTING + program) == "token budget exceeded: used 10 of 8 tokens"


def test_cost_budget() -> None:
    program = '(llm/with-budget {:max-cost-usd 0.00005} (fn () (llm/complete "a") (llm/complete "b")))'
    assert message_of(program) == "budget exceeded: spent $0.00008 of $0.00005 limit"


def test_budget_remaining_and_nesting() -> None:
    assert counted("(llm/budget-remaining)") == "nil"
    program = """
    (llm/with-budget {:max-tokens 100 :max-cost-usd 1} (fn ()
      (llm/with-budget {:max-tokens 50} (fn () (llm/complete "a") (llm/complete "b")))
      (llm/complete "c")
      (let ((left (llm/budget-remaining)))
        (list (:tokens-spent left) (:tokens-remaining left) (:token-limit left) (:limit left)))))"""
    assert counted(program) == "(5 95 100 1.0)"


def test_budget_reaches_tasks() -> None:
    program = """(llm/with-budget {:max-tokens 100} (fn ()
      (async/all (list (async (llm/complete "a")) (async (llm/complete "b"))))
      (:tokens-spent (llm/budget-remaining))))"""
    assert counted(program) == "10"


def test_budget_needs_a_limit_and_a_function() -> None:
    assert (
        message_of("(llm/with-budget {} (fn () 1))")
        == "llm/with-budget: requires at least :max-cost-usd or :max-tokens"
    )
    assert message_of("(llm/with-budget {:max-tokens 1} 5)") == "expected function, got int"


def test_set_budget_and_clear() -> None:
    assert (
        message_of('(llm/set-budget 0.00001) (llm/complete "a")') == "budget exceeded: spent $0.00004 of $0.00001 limit"
    )
    assert counted('(llm/clear-budget) (llm/complete "a")') == '"n=1"'


def test_pre_gated_stream() -> None:
    program = """(llm/with-budget {:max-tokens 5 :on-stream :pre-gate} (fn ()
      (llm/stream "a" (fn (s) s)) (llm/stream "b" (fn (s) s))))"""
    assert message_of(program) == "token budget exceeded: 5 of 5 tokens already used — streaming call blocked at open"


def test_unknown_price_is_unknown(capfd: pytest.CaptureFixture[str]) -> None:
    program = (
        '(llm/complete "a" {:model "mystery-9"}) (list (:cost-usd (llm/last-usage)) (:cost-usd (llm/session-usage)))'
    )
    assert counted(program) == "(nil 0.0)"
    ask = '(llm/complete "a" {:model "mystery-9"})'
    assert counted(f"(llm/with-budget {{:max-cost-usd 0}} (fn () {ask} {ask}))") == '"n=1"'
    assert capfd.readouterr().err.count("no price known for model 'mystery-9'") == 1


def test_usage() -> None:
    assert counted("(llm/last-usage)") == "nil"
    assert counted('(llm/complete "a") (llm/complete "b") (:total-tokens (llm/session-usage))') == "10"
    assert counted("(llm/reset-usage) (:total-tokens (llm/session-usage))") == "0"


@pytest.mark.parametrize(
    ("model", "provider", "price"),
    [
        ("claude-sonnet-4-6", "anthropic", (3, 15)),
        ("claude-sonnet-4-6-20260101", "", (3, 15)),
        ("gpt-oss-120b", "cerebras", (0.35, 0.75)),
        ("openai/gpt-5.2", "openrouter", (1.75, 14)),
        ("gemini-3.5-flash", "gemini", (1.5, 9)),
        ("mystery", "openai", None),
        ("foo1", "", None),
    ],
)
def test_prices(model: str, provider: str, price: tuple[float, float] | None) -> None:
    assert pricing.price_of(model, provider) == price


def test_own_prices_win() -> None:
    assert counted('(llm/set-pricing "sonnet" 1000000 0) (llm/complete "a") (:cost-usd (llm/last-usage))') == "3.0"


# Chains and rates


def test_fallback(capfd: pytest.CaptureFixture[str]) -> None:
    program = """
    (llm/define-provider :bad {:complete (fn (req) (throw "down"))})
    (llm/define-provider :good {:default-model "g" :complete (fn (req) (:model req))})
    (llm/with-fallback [:bad [:good "pinned"]] (fn () (llm/complete "hi")))"""
    assert run(program) == "pinned"
    assert "Provider 'bad' failed: API error: 0 - User exception: \"down\", trying next..." in capfd.readouterr().err
    assert run('(llm/with-fallback [:bad {:provider :good}] (fn () (llm/stream "hi" (fn (s) s))))') == "g"
    assert message_of('(llm/with-fallback [:nope] (fn () (llm/complete "hi")))') == "fallback provider 'nope' not found"
    assert message_of("(llm/with-fallback [5] (fn () 1))").startswith("expected provider")
    assert counted('(llm/with-fallback [] (fn () (llm/complete "hi")))') == '"n=1"'


def test_all_fallbacks_failed() -> None:
    with serving(Answer(400, {"error": {"message": "no"}})) as server:
        run(f'(llm/configure :one {{:api-key "k" :base-url "{server.url}"}})')
        run(f'(llm/configure :two {{:api-key "k" :base-url "{server.url}"}})')
        with pytest.raises(LlmError, match="API error: 400 - no"):
            run('(llm/with-fallback [:one :two] (fn () (llm/complete "hi")))')
    assert len(server.received) == 2


def test_rate_limit_spaces_calls() -> None:
    counted('(llm/with-rate-limit 10 (fn () (llm/complete "a") (llm/complete "b") (llm/complete "c")))')
    assert len(SLEPT) == 2
    assert 50 < SLEPT[0] <= 100 and 150 < SLEPT[1] <= 200


# Typed answers


def scripted(*answers: str) -> str:
    """A provider that gives these answers in turn and keeps what it was asked."""
    return f"""
    (define asked '()) (define left (list {" ".join(json.dumps(a) for a in answers)}))
    (llm/define-provider :script {{:complete (fn (req)
      (set! asked (append asked (list req))) (let ((a (first left))) (set! left (rest left)) a))}})
    """


def test_extract() -> None:
    schema = "{:amount {:type :number} :tags [:string] :note {:type :string :optional #t}}"
    program = f"""(list (llm/extract {schema} "Lunch, 12.5")
      (string/contains? (:system (first asked))
        "  \\"amount\\": <number>,\\n  \\"note\\": <string>,\\n  \\"tags\\": <array of string>"))"""
    value = run(scripted('```json\n{"amount": 12.5, "tags": ["food"]}\n```') + program)
    assert to_text(value) == '({:amount 12.5 :tags ("food")} #t)'


def test_extract_asks_again_and_gives_up() -> None:
    schema = '{:amount {:type :number :validate (fn (n) (> n 0)) :message "must be positive"} :name :string}'
    value = run(
        scripted('{"amount": -1}', '{"amount": 2, "name": "x"}') + f'(list (llm/extract {schema} "t") (length asked))'
    )
    assert to_text(value) == '({:amount 2 :name "x"} 2)'
    with pytest.raises(LlmError) as caught:
        run(scripted('{"amount": -1}', '{"amount": "x"}') + f'(llm/extract {schema} "t" {{:retries 1}})')
    assert caught.value.message == (
        "extraction validation failed after 2 attempt(s): key amount: expected number, got string; missing key: name"
    )


def test_extract_does_not_retry_what_is_no_json() -> None:
    with pytest.raises(LlmError, match=r"^failed to parse LLM JSON response: .*\nResponse was: sorry$"):
        run(scripted("sorry", "{}") + '(llm/extract {:a :string} "t")')


def test_classify() -> None:
    assert to_text(run(scripted(" spam\n") + '(llm/classify [:spam :ham] "t")')) == ":spam"
    assert to_text(run(scripted("odd") + '(llm/classify ["spam" :ham] "t")')) == '"odd"'


def test_messages_to_chat() -> None:
    program = '(llm/chat [(message :system "s") (message :user "a" 1)])'
    assert counted(program) == '"n=2"'
    assert message_of("(llm/chat [5])") == "expected message, got int"
    assert message_of("(llm/chat 5)") == "expected list of messages or prompt, got int"
    assert message_of("(llm/stream 5)") == "expected string, prompt, or messages, got int"
    assert counted('(llm/send (prompt (user "hi")))') == '"n=1"'


def test_stream_without_callback_prints(capsys: pytest.CaptureFixture[str]) -> None:
    assert counted('(llm/stream "a")') == '"n=1"'
    assert capsys.readouterr().out == "n=1\n"


def test_lisp_provider_replies() -> None:
    with pytest.raises(LlmError, match="Parse error: lisp provider must return a string or map with :content"):
        run('(llm/define-provider :odd {:complete (fn (req) 5)}) (llm/complete "a")')
    assert message_of("(llm/define-provider :odd {})") == "llm/define-provider requires :complete function"
    assert message_of("(llm/define-provider :odd {:complete 5})") == "expected function, got int"


def test_an_announced_price_holds_from_its_day_on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    table = tmp_path / "prices.tsv"
    table.write_text("# 2026-11-01: ...\nopenai\tnew-model\t1\t2\t2026-12-24\t3\t4\n")
    monkeypatch.setattr(pricing, "TABLE", table)
    for day, price in (("2026-12-23", (1, 2)), ("2026-12-24", (3, 4))):
        monkeypatch.setattr(pricing, "strftime", lambda _, day=day: day)
        pricing.forget()
        assert pricing.price_of("new-model") == price
    assert pricing.updated_at() == "2026-11-01"
    monkeypatch.undo()
    pricing.forget()
