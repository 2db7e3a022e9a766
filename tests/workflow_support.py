"""What the tests of workflows share: running a program's workflows in a folder, and reading what they wrote."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from sema_runtime.values.conditions import condition_of
from sema_runtime.workflow import scope
from semac.session import Session

COUNTING = """
(define prompts (list))
(llm/define-provider :counting
  {:complete (fn (req)
               (let ((prompt (:content (last (:messages req)))))
                 (set! prompts (append prompts (list prompt)))
                 (async/sleep 1)
                 {:content (str "<" prompt ">") :usage {:prompt-tokens 3 :completion-tokens 2}}))
   :default-model "counting"})
"""


class Ran:
    """value: of the last form. session: for further questions."""

    def __init__(self, root: Path, session: Session, value: Any) -> None:
        self.root, self.session, self.value = root, session, value

    def folder(self) -> Path:
        found = [one for one in self.root.iterdir() if (one / "events.jsonl").exists()]
        assert len(found) == 1
        return found[0]

    def events(self, segment: str = "events.jsonl", run_id: str | None = None) -> list[dict[str, Any]]:
        folder = self.folder() if run_id is None else self.root / run_id
        return [json.loads(line) for line in (folder / segment).read_text().splitlines()]

    def of(self, name: str, segment: str = "events.jsonl") -> list[dict[str, Any]]:
        return [event for event in self.events(segment) if event["event"] == name]

    def result(self) -> Any:
        return json.loads((self.folder() / "result.json").read_text())

    def prompts(self) -> list[str]:
        """What the provider of COUNTING was asked."""
        return list(self.session.run("prompts"))


def run(root: Path, text: str, **settings: Any) -> Ran:
    """Runs a program whose runs are kept in a folder."""
    session = Session(closed=False)
    token = scope.settings.set(replace(scope.Settings(), root=str(root), **settings))
    try:
        return Ran(root, session, session.run(text))
    finally:
        scope.settings.reset(token)


def error_of(root: Path, text: str, **settings: Any) -> str:
    """The message of the error that a program raises."""
    try:
        ran = run(root, text, **settings)
    except Exception as error:
        return condition_of(error).display()
    raise AssertionError(f"no error: {ran.value}")
