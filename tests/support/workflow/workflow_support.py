"""What the tests of workflows share: running a program's workflows in a folder, and reading what they wrote."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from sema_runtime.conditions.describe import condition_of
from sema_runtime.workflow.run import scope
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
        """What the provider of COUNTING or MODEL was asked."""
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


# A model that gives the replies in order: texts, or maps with tool calls; nil stands for a failure. Each text costs 5
# tokens. requests: what it was sent, prompts: the last message of each.
MODEL = """
(define replies (list)) (define requests (list)) (define prompts (list))
(define (reply request)
  (set! requests (append requests (list request)))
  (set! prompts (append prompts (list (:content (last (:messages request))))))
  (let ((next (first replies)))
    (set! replies (rest replies))
    (cond ((nil? next) (throw "out of order"))
          ((map? next) next)
          (else {:content next :usage {:prompt-tokens 3 :completion-tokens 2}}))))
(llm/define-provider :scripted {:complete reply :default-model "m"})
(define (will . texts) (set! replies texts))
(define (calls name arguments) {:content "" :tool-calls [{:id "1" :name name :arguments arguments}]})
(deftool add "Adds one" {:a {:type :number}} (fn (a) (+ a 1)))
(deftool broken "Fails" {} (fn () (error "no luck")))
(defagent helper {:system "You help." :tools [add] :model "agents-own"})
"""


def told(root: Path, segment: str = "events.jsonl", run_id: str = "r") -> list[str]:
    """The journal in short."""
    short = []
    for seq, line in enumerate((root / run_id / segment).read_text().splitlines()):
        event = json.loads(line)
        assert (event.pop("seq"), event.pop("ts")) == (seq, "0")
        short.append(" ".join([event.pop("event"), *(json.dumps(one, ensure_ascii=False) for one in event.values())]))
    assert short[0].startswith("run.started ")
    assert short[-1].startswith("run.ended ")
    return short[1:] if short[0] == 'run.started "w" "r"' else short


def fields(*texts: str) -> str:
    """The hash of texts, as section 13 says: each with its length in 8 bytes before it."""
    data = b"".join(len(text.encode()).to_bytes(8, "little") + text.encode() for text in texts)
    return hashlib.md5(data).hexdigest()[:16]


NO_ARGS = "47ccf193ee1822d8"


def memos(root: Path) -> dict[str, str]:
    return {one.stem: one.read_text() for one in (root / "r" / "memo").glob("*.json")}
