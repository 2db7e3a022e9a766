"""The usage ledger: a line for every call, whatever became of it; never a text, never in a program's way."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from llm_support import Answer, chat_reply, run, serving
from llm_support import llm as llm

from sema_runtime.values.errors import LlmError

pytestmark = pytest.mark.usefixtures("llm")


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """SEMA_HOME of a process that keeps a ledger."""
    from sema_runtime.llm import observers
    from sema_runtime.llm.budgets import ledger

    monkeypatch.setenv("SEMA_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("SEMA_USAGE", raising=False)
    others = [one for one in observers.observers if not isinstance(one, ledger.Ledger)]
    monkeypatch.setattr(observers, "observers", [*others, ledger.Ledger()])
    return tmp_path / "home"


def lines(home: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for file in home.glob("usage/*.jsonl") for line in file.read_text().splitlines()]


def configured(url: str) -> str:
    return f'(llm/configure :openai {{:api-key "k" :base-url "{url}"}})'


def test_a_call(home: Path) -> None:
    with serving(Answer(body=chat_reply("A secret answer", prompt=1000, completion=500))) as server:
        run(configured(server.url) + '(llm/complete "A secret question" {:model "gpt-5.5"})')
    (line,) = lines(home)
    assert (line["operation"], line["provider"], line["model"]) == ("chat", "openai", "gpt-5.5")
    assert (line["prompt_tokens"], line["completion_tokens"], line["cost_usd"]) == (1000, 500, 0.02)
    assert (line["attempts"], line["error"], line["cached"], line["replayed"]) == (1, None, False, False)
    assert "secret" not in json.dumps(line)


def test_failures_retries_and_replays(home: Path, tmp_path: Path) -> None:
    tape = tmp_path / "tape.jsonl"
    with serving(Answer(500, {}), Answer(body=chat_reply("x")), Answer(400, {"error": {"message": "no"}})) as server:
        run(configured(server.url) + f'(llm/with-cassette "{tape}" (fn () (llm/complete "a")))')
        run(f'(llm/with-cassette "{tape}" (fn () (llm/complete "a")))')
        with pytest.raises(LlmError):
            run(configured(server.url) + '(llm/complete "b")')
    shown = [(line["attempts"], line["replayed"], line["error"]) for line in lines(home)]
    assert shown == [(2, False, None), (0, True, None), (1, False, "ProviderError")]


def test_an_unknown_price_is_not_zero(home: Path) -> None:
    with serving(Answer(body={**chat_reply("x"), "model": "nobody-knows"})) as server:
        run(configured(server.url) + '(llm/complete "a" {:model "nobody-knows"})')
    assert [line["cost_usd"] for line in lines(home)] == [None]


def test_stand_ins_are_left_out(home: Path) -> None:
    run('(llm/define-provider :fake {:complete (fn (req) "x")}) (llm/complete "a")')
    assert lines(home) == []
    run('(llm/set-pricing "paid" 1 1)')
    reply = '{:content "x" :usage {:prompt-tokens 5}}'
    run(f'(llm/define-provider :paid {{:default-model "paid" :complete (fn (req) {reply})}}) (llm/complete "a")')
    assert [line["provider"] for line in lines(home)] == ["paid"]


def test_it_can_be_switched_off(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEMA_USAGE", "off")
    with serving(Answer(body=chat_reply("x"))) as server:
        run(configured(server.url) + '(llm/complete "a")')
    assert not home.exists()


def test_a_folder_that_cant_be_written_is_no_error(home: Path) -> None:
    home.write_text("a file where the folder should be")
    with serving(Answer(body=chat_reply("x"))) as server:
        assert run(configured(server.url) + '(llm/complete "a")') == "x"


def test_the_last_call() -> None:
    with serving(Answer(500, {}), Answer(body=chat_reply("x"))) as server:
        run(configured(server.url) + '(llm/complete "a")')
        call = run("(llm/last-call)")
    first, second = call["attempts"]
    assert (call["provider"].name, call["cached"], call["replayed"]) == ("openai", False, False)
    assert first["error"].startswith("API error: 500") and "wait-ms" in first
    assert "error" not in second
