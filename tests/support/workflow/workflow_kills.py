"""Kills runs of a workflow with SIGKILL, resumes them, and checks what a resumed run promises.

    python workflow_kills.py points [LEAVES]         at every fault point, one after the other
    python workflow_kills.py random N [LEAVES]       N times, after a random time, several times a run
    python workflow_kills.py resumed [LEAVES]        at every fault point, again while it is resumed
    python workflow_kills.py trials N [SEED] [NAME]  N runs of the programs of workflow_trials.py, killed and
                                                           stopped (SIGSTOP) at random times, resumed, and held
                                                           against the bill of the server that they ask

SLOW_DISK=1 in the environment: as on a disk that a thread waits for.

Prints one JSON object: kills, runs, leaves; the exit status is 1 when a promise was broken, which is shown.
"""

from __future__ import annotations

import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

from workflow_trials import BUDGET, CALL_TOKENS, HEAD, PROGRAMS, Books, Server

from sema_runtime.values.errors import SemaError
from sema_runtime.workflow.journal import crash_points as faults
from sema_runtime.workflow.journal import spend_log
from sema_runtime.workflow.read.recorded_run import is_held
from sema_runtime.workflow.run import memo, scope
from semac.session import Session

PROGRAM = """
(define leaves LEAVES)
(llm/define-provider :counting
  {:complete (fn (req)
               (let ((prompt (:content (last (:messages req)))))
                 (file/append "calls.txt" (str prompt "\\n"))
                 (async/sleep DELAY)
                 {:content (str "<" prompt ">") :usage {:prompt-tokens 3 :completion-tokens 2}}))
   :default-model "counting"})
(define (stage name) (fn (x) (step (str name " " x) {:name name})))
(defworkflow killed "Is killed and resumed" {:budget {:tokens 1000000}}
  (phase "Draft")
  (checkpoint :seed (begin (file/append "seeds.txt" "x\\n") {:n leaves :tags ["a"]}))
  (define texts (pipeline (range leaves) (stage "draft") (stage "review")))
  (phase "Judge")
  (define verdicts (parallel (map (fn (n) (fn () ((stage "judge") n))) (range leaves)) 2))
  (define again (list ((stage "same") 1) ((stage "same") 1)))
  (checkpoint :count (length verdicts))
  {:status :success :texts texts :verdicts verdicts :again again :count (checkpoint :count)})
"""
NEEDED = (
    *("sema_runtime.workflow.run.start", "sema_runtime.workflow.run.servers", "sema_runtime.tasks.scheduler"),
    *("sema_runtime.tasks.background", "concurrent.futures.thread", "sema_runtime.lib.llm.workflows"),
    *(
        "sema_runtime.lib.tasks.channels",
        "sema_runtime.lib.llm.llm",
        "sema_runtime.llm.complete",
        "sema_runtime.lib.files.files",
    ),
    *("sema_runtime.llm.transport", "sema_runtime.llm.sema_provider", "sema_runtime.lib.data.json", "asyncio"),
)
FIRST, RUN = "events.jsonl", "killed-run"


class Broken(AssertionError):
    """A promise that didn't hold."""


class Killing:
    """leaves: items of each fan-out. delay: of a call, in milliseconds."""

    def __init__(self, leaves: int, delay: int) -> None:
        self.leaves, self.delay = leaves, delay
        self.session = Session("killed.sema")
        text = PROGRAM.replace("LEAVES", str(leaves)).replace("DELAY", str(delay))
        self.unit = self.session.compile(text, "killed.sema", "program")
        self.kills = self.runs = self.repeated = 0
        for module in NEEDED:  # once, not in every child
            import_module(module)

    def child(self, folder: Path, fault: str, resume: bool) -> int:
        """The process id of a run that was started in a process of its own."""
        process = os.fork()
        if process:
            return process
        status = 3
        try:
            os.chdir(folder)
            faults.arm(fault)
            scope.settings.set(scope.Settings(root="runs", run_id=RUN, resume=resume, code_version="v1"))
            self.session.execute(self.unit)
            status = 0
        finally:
            os._exit(status)

    def ended(self, process: int) -> bool:
        """Whether it ran to its end; False when it was killed."""
        _, status = os.waitpid(process, 0)
        if os.WIFSIGNALED(status):
            self.kills += 1
            return False
        if os.WEXITSTATUS(status):
            raise Broken(f"a run ended with status {os.WEXITSTATUS(status)}")
        return True

    def claimed(self, folder: Path) -> bool:
        return (folder / "runs" / RUN / FIRST).exists()

    def undisturbed(self) -> Any:
        with tempfile.TemporaryDirectory() as folder:
            self.ended(self.child(Path(folder), "", False))
            return self.check(Path(folder))

    def check(self, folder: Path) -> Any:
        """The result of a run that came to its end; raises Broken."""
        run = folder / "runs" / RUN
        prompts_done: Counter[str] = Counter()
        charged: Counter[str] = Counter()
        for name in sorted(os.listdir(run)):
            if name.startswith("events"):
                self.check_segment(run / name, prompts_done, charged)
        calls = Counter((folder / "calls.txt").read_text().splitlines())
        twins = {"same 1": 2}
        for prompt, times in prompts_done.items():
            if times > twins.get(prompt, 1):
                raise Broken(f"finished {times} times: {prompt}")
        for prompt, times in charged.items():
            if times > twins.get(prompt, 1):
                raise Broken(f"charged {times} times: {prompt}")
        self.repeated += sum(calls.values()) - 3 * self.leaves - 2
        left = [name for name in os.listdir(run / "memo") if not name.endswith(".json")]
        if left:
            raise Broken(f"left over: {left}")
        return json.loads((run / "result.json").read_text())

    def check_segment(self, file: Path, done: Counter[str], charged: Counter[str]) -> None:
        data = file.read_bytes()
        whole = data[: data.rfind(b"\n") + 1]
        found = [json.loads(line) for line in whole.splitlines()]
        if [event["seq"] for event in found] != list(range(len(found))):
            raise Broken(f"{file}: seq is not 0, 1, 2...")
        if found and found[0]["event"] != "run.started":
            raise Broken(f"{file}: begins with {found[0]['event']}")
        prompts = {event["agent_id"]: event["prompt"] for event in found if event["event"] == "agent.started"}
        for event in found:
            if event["event"] == "agent.result" and event["status"] == "ok":
                done[prompts[event["agent_id"]]] += 1
            if event["event"] == "budget":
                charged[prompts[event["agent_id"]]] += 1

    def finished_calls(self, folder: Path) -> dict[str, int]:
        """How often what the journal calls finished was called so far."""
        done: Counter[str] = Counter()
        run = folder / "runs" / RUN
        for name in os.listdir(run) if run.exists() else ():
            if name.startswith("events"):
                self.check_segment(run / name, done, Counter())
        calls = Counter((folder / "calls.txt").read_text().splitlines()) if (folder / "calls.txt").exists() else {}
        return {prompt: calls[prompt] for prompt, times in done.items() if prompt != "same 1" or times == 2}

    def one(self, folder: Path, faults_of_tries: list[str], wanted: Any) -> bool:
        """Runs and resumes with these faults, then without; whether the first fault came to pass."""
        struck = False
        finished: dict[str, int] = {}
        self.runs += 1
        for fault in [*faults_of_tries, ""]:
            ended = self.ended(self.child(folder, fault, self.claimed(folder)))
            struck = struck or not ended
            for prompt, times in finished.items():
                if self.finished_calls(folder)[prompt] != times:
                    raise Broken(f"finished, and called again after {fault}: {prompt}")
            finished = self.finished_calls(folder)
            if ended:
                break
        if self.check(folder) != wanted:
            raise Broken(f"another result after {faults_of_tries}")
        return struck

    def points(self, again: bool) -> None:
        wanted = self.undisturbed()
        at = 1
        while True:
            with tempfile.TemporaryDirectory() as folder:
                second = [f"*:{at % 17 + 2}"] if again else []
                if not self.one(Path(folder), [f"*:{at}", *second], wanted):
                    return
            at += 1

    def random(self, number: int) -> None:
        wanted = self.undisturbed()
        while self.kills < number:
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                ended, finished = False, {}
                self.runs += 1
                while not ended:
                    process = self.child(folder, "", self.claimed(folder))
                    if self.kills < number:
                        time.sleep(random.uniform(0.005, 0.08))
                        os.kill(process, signal.SIGKILL)
                    ended = self.ended(process)
                    now = self.finished_calls(folder)
                    for prompt, times in finished.items():
                        if now[prompt] != times:
                            raise Broken(f"finished, and called again: {prompt}")
                    finished = now
                if self.check(folder) != wanted:
                    raise Broken("another result")


LONGEST_PAUSE = 0.5  # seconds before a kill: a busy machine may have measured more
STILL_RUNNING = 4  # the exit status of a process that finds another one at work


class Trials:
    """Runs programs again and again, each killed a few times. seed: of what is random here and in the server."""

    def __init__(self, seed: int, names: list[str]) -> None:
        self.dice = random.Random(seed)
        self.server = Server(seed)
        self.units: dict[tuple[str, bool], tuple[Session, Any]] = {}
        self.wanted: dict[str, tuple[Any, Counter[str], float]] = {}  # result, leaves, seconds
        self.counts: Counter[str] = Counter()
        self.names = names
        for name in names:
            for scoped in (False, True):
                session = Session("trial.sema")
                text = HEAD + PROGRAMS[name].replace("META", BUDGET if scoped else "{}")
                self.units[name, scoped] = session, session.compile(text, "trial.sema", "program")
        os.environ["TRIAL_SERVER"] = f"{self.server.url}/v1"
        os.environ["SEMA_USAGE"] = "off"  # trials are no business of the ledger of the user who runs them
        for module in NEEDED:
            import_module(module)

    def child(self, folder: Path, name: str, scoped: bool, resume: bool) -> int:
        process = os.fork()
        if process:
            return process
        status = 3
        try:
            os.chdir(folder)
            scope.settings.set(scope.Settings(root="runs", run_id=RUN, resume=resume, code_version="v1"))
            session, unit = self.units[name, scoped]
            session.execute(unit)
            (folder / "modules").write_text("\n".join(sys.modules))
            status = 0
        except SemaError as error:
            status = STILL_RUNNING if "is still running" in error.message else 3
        finally:
            os._exit(status)

    def undisturbed(self) -> None:
        for name in self.names:
            for _ in range(2):  # the second time with everything imported
                with tempfile.TemporaryDirectory() as directory:
                    folder = Path(directory)
                    self.server.fresh()
                    began = time.monotonic()
                    if self.status(self.child(folder, name, True, False)) != 0:
                        raise Broken(f"{name} doesn't run")
                    took = time.monotonic() - began
                    for module in (folder / "modules").read_text().splitlines():
                        if module.startswith("sema_runtime."):
                            import_module(module)
                    self.wanted[name] = self.result(folder), Books(folder / "runs").ended, took

    def result(self, folder: Path) -> Any:
        found = json.loads((folder / "runs" / RUN / "result.json").read_text())
        if found["status"] != "success":
            raise Broken(f"{found}")
        return found

    def status(self, process: int) -> int | None:
        """The exit status; None when it was killed."""
        _, status = os.waitpid(process, 0)
        return None if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)

    def disturb(self, process: int, folder: Path, name: str, scoped: bool) -> None:
        """Kills a process, or stops it; a stopped one is killed or goes on."""
        time.sleep(self.dice.uniform(0, min(LONGEST_PAUSE, 0.9 * self.wanted[name][2])))
        if self.dice.random() < 0.75:
            self.counts["killed"] += 1
            os.kill(process, signal.SIGKILL)
            return
        os.kill(process, signal.SIGSTOP)
        _, status = os.waitpid(process, os.WUNTRACED)
        if not os.WIFSTOPPED(status):
            raise Ended(os.WEXITSTATUS(status))
        self.counts["stopped"] += 1
        if (folder / "runs" / RUN / FIRST).exists() and is_held(str(folder / "runs" / RUN)):
            beside = self.status(self.child(folder, name, scoped, True))
            if beside != STILL_RUNNING:
                raise Broken(f"{name}: resumed beside a stopped process: {beside}")
            self.counts["refused beside"] += 1
        if self.dice.random() < 0.5:
            os.kill(process, signal.SIGKILL)
        os.kill(process, signal.SIGCONT)

    def one(self, name: str, scoped: bool) -> None:
        with tempfile.TemporaryDirectory() as directory:
            folder = Path(directory)
            self.server.fresh()
            left, before, was_billed = self.dice.randint(1, 5), Books(folder / "runs"), Counter[str]()
            status: int | None = None
            while status is None:
                resume = (folder / "runs" / RUN / FIRST).exists()
                process = self.child(folder, name, scoped, resume)
                try:
                    if left:
                        left -= 1
                        self.disturb(process, folder, name, scoped)
                    status = self.status(process)
                except Ended as ended:
                    status = ended.status
                self.counts["processes"] += 1
                billed, books = self.server.billed(), Books(folder / "runs")
                if name != "timeouts":
                    self.none_again(name, before, books, was_billed, billed)
                before, was_billed = books, billed
            if status != 0:
                raise Broken(f"{name}: a run ended with status {status}")
            self.check(name, scoped, folder, billed, books)

    def none_again(
        self, name: str, before: Books, books: Books, was_billed: Counter[str], billed: Counter[str]
    ) -> None:
        """Leaves of which all that there are had been kept aren't asked again."""
        for prompt, times in before.logged.items():
            if times >= self.wanted[name][1][prompt] and billed[prompt] > was_billed[prompt]:
                raise Broken(f"{name}: kept, and asked again: {prompt}")

    def check(self, name: str, scoped: bool, folder: Path, billed: Counter[str], books: Books) -> None:
        result, leaves, _ = self.wanted[name]
        if self.result(folder) != result:
            raise Broken(f"{name}: another result: {self.result(folder)}")
        for prompt in {*leaves, *books.ended}:
            most = 2 if name == "timeouts" and prompt.startswith("slow") else leaves[prompt]
            if not leaves[prompt] <= books.ended[prompt] <= max(most, leaves[prompt]) and name != "timeouts":
                raise Broken(f"{name}: {prompt} has ended {books.ended[prompt]} times, not {leaves[prompt]}")
        for prompt in {*billed, *books.charged}:
            rounds = 2 if prompt.startswith(("agent", "flaky agent", "tools")) else 1
            unknown = billed[prompt] - books.charged[prompt]
            if not 0 <= unknown <= rounds * books.presumed[prompt] + books.dropped[prompt]:
                raise Broken(
                    f"{name}: {prompt}: billed {billed[prompt]} times, charged {books.charged[prompt]}, presumed"
                    f" {books.presumed[prompt]}, dropped {books.dropped[prompt]}"
                )
            self.counts["presumed and billed"] += unknown
        self.counts["leaves"] += books.ended.total()
        if scoped:
            spent, total = spend_log.of(str(folder / "runs" / RUN)), CALL_TOKENS * billed.total()
            if not spent.tokens - spent.uncertain_tokens <= total <= spent.tokens:
                counted = f"{spent.tokens} counted, {spent.uncertain_tokens} of them presumed"
                raise Broken(f"{name}: {total} tokens were billed, {counted}")

    def run(self, number: int) -> None:
        self.undisturbed()
        for index in range(number):
            self.one(self.names[index % len(self.names)], self.dice.random() < 0.5)
            self.counts["trials"] += 1


class Ended(Exception):
    """A process had ended before it could be stopped."""

    def __init__(self, status: int) -> None:
        super().__init__(status)
        self.status = status


def trials(number: int, seed: int, names: list[str]) -> int:
    trying = Trials(seed, names)
    try:
        trying.run(number)
    finally:
        trying.server.stop()
        print(json.dumps({"seed": seed, **trying.counts}))
    return 0


def main(arguments: list[str]) -> int:
    kind = arguments[0]
    if kind == "trials":
        seed = int(arguments[2]) if len(arguments) > 2 else 1
        return trials(int(arguments[1]), seed, arguments[3:] or [*PROGRAMS])
    if os.environ.get("SLOW_DISK"):
        memo.QUICK = 0.0
    numbers = [int(one) for one in arguments[1:]]
    count = numbers.pop(0) if kind == "random" else 0
    killing = Killing(numbers[0] if numbers else 2, 5 if kind == "random" else 1)
    if kind == "random":
        killing.random(count)
    else:
        killing.points(again=kind == "resumed")
    print(json.dumps({
        "kills": killing.kills, "runs": killing.runs, "leaves": 3 * killing.leaves + 2,
        "called again unfinished": killing.repeated,
    }))  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
