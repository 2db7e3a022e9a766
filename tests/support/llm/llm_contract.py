"""Programs against a provider written in Sema, and what they print: for the tables of the contract."""

from __future__ import annotations

from typing import Any

import pytest
from llm_support import Answer, run, serving
from llm_support import llm as llm

from sema_runtime.conditions.describe import condition_of
from sema_runtime.values.printer import to_text

FAKE = """
(define replies '())
(define seen '())
(define (script . given) (set! replies given))
(define (answer req)
  (set! seen (append seen (list req)))
  (if (null? replies) "ok" (let ((first-one (car replies))) (set! replies (cdr replies)) first-one)))
(define (sent key) (get (last seen) key))
(llm/define-provider :fake {:default-model "fake-1" :complete answer})
(define usage {:prompt-tokens 3 :completion-tokens 2})
(define (calls . names) (map (fn (name) {:id name :name name :arguments {:a 1}}) names))
"""


def outcome(program: str) -> str:
    """What a program prints, or `[kind] message`."""
    try:
        return to_text(run(FAKE + program))
    except Exception as raised:
        error = condition_of(raised)
        return f"[{error.kind}] {error.message}"


def table(**sections: list[tuple[str, str]]) -> list[Any]:
    return [
        pytest.param(program, shown, id=f"{section}: {program[:70]}")
        for section, entries in sections.items()
        for program, shown in entries
    ]


NO_PROVIDER = "[llm] no LLM provider configured. Use (llm/configure :anthropic {:api-key ...}) first"


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """No provider is registered by itself."""
    monkeypatch.setenv("SEMA_NO_LLM", "1")


# 3. Errors of providers, rendered and caught


def answered(answer: Answer, program: str = '(llm/complete "x")') -> str:
    with serving(answer) as server:
        return outcome(f'(llm/configure :local {{:api-key "k" :base-url "{server.url}"}})' + program)
