"""Interrupts runs of workflows (Ctrl-C) at every line of the runtime, resumes them, and checks what is promised then.

    python workflow_interrupts.py [PROGRAM [EVERY [FIRST]]]     at each line, or at every so many, from one on

SLOW_DISK=1 in the environment: as on a disk that a thread waits for.

The signal comes while the runtime executes that line: a trace function sends it. Prints one JSON object: interrupts,
lines; the exit status is 1 when a promise was broken, which is shown.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
from collections import Counter
from importlib import import_module
from pathlib import Path
from types import FrameType
from typing import Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from workflow_kills import NEEDED, Broken
from workflow_schema import check as check_schema

from sema_runtime.workflow import approvals
from sema_runtime.workflow.approvals import deciding, keys
from sema_runtime.workflow.run import memo, run, scope
from semac.session import Session

HEAD = """
(llm/define-provider :counting
  {:complete (fn (req)
               (let ((prompt (:content (last (:messages req)))))
                 (file/append "calls.txt" (str prompt "\\n"))
                 (async/sleep 0.1)
                 {:content (str "<" prompt ">") :usage {:prompt-tokens 3 :completion-tokens 2}}))
   :default-model "counting"})
(define (stage name) (fn (x) (step (str name " " x) {:name name})))
"""
PROGRAMS = {
    "phases": """(defworkflow w "" {:phases ["A" "B"]}
        (phase "A") (define a (step "one")) (checkpoint :k (list a 1))
        (phase "B") (str (step "two") (checkpoint :k)))""",
    "parallel": """(defworkflow w "" {}
        (phase "A") (parallel (map (fn (n) (fn () ((stage "p") n))) (range 3)) 2))""",
    "pipeline": '(defworkflow w "" {} (pipeline (range 2) (stage "a") (stage "b")))',
    "retry": """(define tries 0)
        (defworkflow w "" {} (with-retry {:base-ms 0.1} (fn ()
          (step (str "try " tries)) (set! tries (+ tries 1))
          (if (= tries 1) (workflow/step "fails" (fn () (error "no"))) (step "last")))))""",
    "budget": '(defworkflow w "" {:budget {:tokens 12}} (map (stage "s") (range 4)))',
    "reserve": """(defworkflow w "" {:budget {:tokens 6000 :reserve #t}}
        (parallel (map (fn (n) (fn () ((stage "p") n))) (range 2))))""",
    "approval": """(defworkflow w "" {} (phase "A") (define t (async (step "slow")))
        (define a (step "one")) (approval :send {:reason "It is sent" :subject a}) (list (await t) (step "two")))""",
    "policy": """(defpolicy p {:models {:allow ["counting/*"]} :output {:detect [:email] :actions {:email :audit}}})
        (defworkflow w "" {:policy p} (step "one"))""",
    "nested": """(define (inner n) (defworkflow inner "" {} (phase "I") (step (str "inner " n))))
        (defworkflow w "" {} (step "one") (:value (inner 1)))""",
    "tasks": """(defworkflow w "" {} (define t (async (step "slow"))) (define a (step "quick")) (list a (await t)))""",
}
WHERE = os.path.dirname(run.__file__) + os.sep
RUN = "interrupted-run"


class At:
    """Sends the signal when so many lines of the runtime were executed; 0: never. lines: how many there were."""

    def __init__(self, number: int, where: str = WHERE) -> None:
        self.number, self.where = number, where
        self.lines = 0
        self.place = ""

    def __call__(self, frame: FrameType, event: str, argument: Any) -> Any:
        if not frame.f_code.co_filename.startswith(self.where):
            return None
        if event == "line":
            self.lines += 1
            if self.lines == self.number:
                self.place = f"{frame.f_code.co_filename.removeprefix(self.where)}:{frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)
        return self


class Interrupting:
    """name: of the program."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.session = Session("interrupted.sema")
        self.unit = self.session.compile(HEAD + PROGRAMS[name], "interrupted.sema", "program")
        self.key = Ed25519PrivateKey.generate()
        approvals.settings.set(approvals.Settings("pause", keys.public_of(self.key), actor="tester"))
        self.interrupts = self.lines = 0
        for module in NEEDED:  # once, not in every child
            import_module(module)
        with tempfile.TemporaryDirectory() as folder:
            self.run(Path(folder), 0)
            self.wanted = self.result(Path(folder))

    def child(self, folder: Path, number: int, resume: bool) -> tuple[str, int, bool]:
        """Runs it in a process of its own: (the line that was interrupted, lines, whether Ctrl-C came out of it)."""
        reading, writing = os.pipe()
        process = os.fork()
        if process:
            os.close(writing)
            with open(reading, encoding="utf-8") as told:
                said = told.read()
            _, status = os.waitpid(process, 0)
            if not said:
                raise Broken(f"died with status {status}")
            place, lines, interrupted = json.loads(said)
            return place, lines, interrupted
        at = At(number)
        interrupted = False
        try:
            os.chdir(folder)
            scope.settings.set(scope.Settings(root="runs", run_id=RUN, resume=resume, code_version="v1"))
            sys.settrace(at)
            try:
                self.session.execute(self.unit)
            except KeyboardInterrupt:
                interrupted = True
            finally:
                sys.settrace(None)
            os.write(writing, json.dumps([at.place, at.lines, interrupted]).encode())
        finally:
            os._exit(0)

    def run(self, folder: Path, number: int) -> tuple[str, int, bool]:
        """Once to its end, with what approvals it asks for."""
        first = self.child(folder, number, False)
        if not first[2]:
            self.approve(folder)
        return first

    def approve(self, folder: Path) -> None:
        """Approves what is asked for, and goes on."""
        one = folder / "runs" / RUN
        if json.loads((one / "result.json").read_text()).get("status") != "needs-approval":
            return
        for request, decision in deciding.requests(str(one)):
            if decision is None:
                deciding.decide(str(one), request.approval_id, "approve", self.key, "tester")
        self.child(folder, 0, True)

    def result(self, folder: Path) -> Any:
        return json.loads((folder / "runs" / RUN / "result.json").read_text())

    def one(self, number: int) -> bool:
        """Interrupts at this line, goes on, and checks; False when there is no such line."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            place, lines, interrupted = self.run(folder, number)
            if not place:
                self.lines = lines
                return False
            self.interrupts += 1
            try:
                if not interrupted:
                    raise Broken("Ctrl-C was lost")
                done = check_runs(folder)
                if (folder / "runs" / RUN / "events.jsonl").exists():
                    self.child(folder, 0, True)
                else:
                    self.run(folder, 0)
                self.approve(folder)
                check_runs(folder)
                if self.name != "budget" and self.result(folder) != self.wanted:  # a resumed run has it anew
                    raise Broken(f"another result: {self.result(folder)}")
                calls = Counter((folder / "calls.txt").read_text().splitlines())
                for prompt in done:
                    if calls[prompt] != 1:
                        raise Broken(f"finished, and called again: {prompt}")
            except Exception as problem:
                kept = tempfile.mkdtemp(prefix="interrupted-")
                shutil.copytree(folder, kept, dirs_exist_ok=True)
                raise Broken(
                    f"{self.name}, interrupted at line {number}, {place}: {problem!r}; see {kept}"
                ) from problem
        return True


def check_runs(folder: Path) -> set[str]:
    """The prompts of steps that were finished. Raises Broken when a journal isn't whole, or a run has no end."""
    done = set()
    for journal in folder.glob("runs/*/events*.jsonl"):
        try:
            done |= Journal(journal.read_bytes()).done
            assert (journal.parent / "result.json").exists(), "no result"
        except AssertionError as problem:
            raise Broken(f"{journal.name}: {problem}") from None
    return done


class Journal:
    """Goes through a journal's file: what belongs together is together, and in order. Raises AssertionError."""

    def __init__(self, data: bytes) -> None:
        assert data.endswith(b"\n"), "the last line has no end"
        found = [json.loads(line) for line in data.splitlines()]
        assert [event["seq"] for event in found] == list(range(len(found))), "seq"
        names = [event["event"] for event in found]
        assert (names[0], names[-1]) == ("run.started", "run.ended"), names
        assert names.count("run.started") == names.count("run.ended") == 1, names
        self.done: set[str] = set()
        self.prompts: dict[str, str] = {}
        self.under_way: set[str] = set()
        self.phase: str | None = None
        before: dict[str, Any] = {"event": ""}
        for event in found:
            check_schema(event)
            if before["event"] == "approval.granted":
                assert event["event"] == "approval.applied", "granted, not applied"
            look = getattr(self, "_" + event["event"].replace(".", "_"), None)
            if look is not None:
                look(event, before)
            before = event
        assert not self.under_way, "a step without its end"
        assert self.phase is None, "a phase without its end"

    def _agent_started(self, event: Any, before: Any) -> None:
        assert event["agent_id"] not in self.prompts, "started twice"
        self.prompts[event["agent_id"]] = event.get("prompt", "")
        self.under_way.add(event["agent_id"])

    def _agent_result(self, event: Any, before: Any) -> None:
        assert event["agent_id"] in self.under_way, "a result without its start"
        self.under_way.remove(event["agent_id"])
        if event["status"] == "ok":
            self.done.add(self.prompts[event["agent_id"]])

    def _budget(self, event: Any, before: Any) -> None:
        assert (before["event"], before["agent_id"]) == ("agent.result", event["agent_id"]), "a budget alone"

    def _phase_started(self, event: Any, before: Any) -> None:
        assert self.phase is None, "a phase in a phase"
        self.phase = event["phase"]

    def _phase_ended(self, event: Any, before: Any) -> None:
        assert self.phase == event["phase"], "the end of another phase"
        self.phase = None

    def _approval_applied(self, event: Any, before: Any) -> None:
        assert before["event"] == "approval.granted", "applied, not granted"


def main(arguments: list[str]) -> int:
    names = arguments[:1] or [*PROGRAMS]
    every, first = ([int(one) for one in arguments[1:]] + [1, 1])[:2]
    status = 0
    if os.environ.get("SLOW_DISK"):
        memo.QUICK = 0.0
    for name in names:
        sweep, at, broken = Interrupting(name), first, 0
        going = True
        while going:
            try:
                going = sweep.one(at)
            except Broken as problem:
                broken += 1
                print(problem, flush=True)
            at += every
        status = 1 if broken else status
        told = {"program": name, "interrupts": sweep.interrupts, "lines": sweep.lines, "broken": broken}
        print(json.dumps(told), flush=True)
    return status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
