"""Tools that programs call pass the policy in force, as those of other agents do."""

from __future__ import annotations

from typing import Any

import pytest
from llm_support import llm as llm
from llm_support import run
from python_llm_support import playing

from sema_runtime.values.errors import PolicyDenied
from sema_runtime.values.printer import to_text
from sema_runtime.workflow import policy

pytestmark = pytest.mark.usefixtures("llm", "pool")
AGENT = """
(define ran '())
(deftool echo "Says it again" {:text {:type :string}} (fn (text) (set! ran (cons text ran)) text))
(defagent a {:mode :program :plan ["one"] :tools {:echo echo :twice (fn (n) (set! ran (cons n ran)) (* 2 n))}})
(list (agent/run a "?") ran)
"""
BOTH = '(tool/step-done {:step "one"}) (return (list (tool/twice {:n 4}) (tool/echo {:text "x"})))'


def under(rules: str, *programs: str) -> tuple[str, list[Any]]:
    """What the agent answers, and what its tools were called with, under a policy."""
    playing(*programs)
    events: list[Any] = []
    with policy.in_force(policy.compiled(run(rules)), lambda kind, **fields: events.append(kind.name)):
        return to_text(run(AGENT)), events


def test_allowed_tools_run() -> None:
    answer, events = under("{:tools {:allow {:echo {} :twice {}}}}", BOTH)
    assert answer == '((8 "x") ("x" 4))' and events == ["policy.checked"] * 2


@pytest.mark.parametrize("denied", ["echo", "twice"])
def test_a_denied_tool_ends_the_run_whatever_the_program_catches(denied: str) -> None:
    caught = BOTH.replace("(return", "(return (try").replace('"x"})))', '"x"})) (catch e 0)))')
    with pytest.raises(PolicyDenied, match=f"denied tool '{denied}'"):
        under(f"{{:tools {{:default :allow :deny [:{denied}]}}}}", caught)


def test_a_denial_may_go_to_the_program() -> None:
    rules = "{:tools {:default :allow :deny [:twice] :on-deny :tool-error}}"
    answer, _ = under(rules, BOTH.replace("(tool/twice {:n 4})", "(try (tool/twice {:n 4}) (catch e (:message e)))"))
    assert "the tool is denied" in answer and '("x")' in answer
