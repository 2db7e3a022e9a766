"""Measures the cost of a workflow's steps beyond their calls, the time to resume a run, and the throughput of a
fan-out.

    python scripts/bench_workflows.py [--parts step,resume,parallel,viewer] [--steps N] [--leaves N] [--events N]
        [--peers PYTHON]

Every measurement is a process of its own in an empty folder. Times are CPU time (wall time beside it, as durable writes
wait for the disk). A leaf is a function of the program that answers at once: what is measured is the runtime around it.
- step: CPU of a step, less that of the same calls outside of a workflow; DBOS (SQLite) and LangGraph with its SQLite
  checkpointer doing as many steps, where PYTHON has them.
- resume: a run that was killed behind its last leaf is taken up again: no leaf is asked again.
- parallel: 500 leaves that take 200 ms, 50 at once; ideal 2.0 s. Less what a process with one such leaf takes beside
  its 200 ms: its start.
- viewer: a journal of a million events is opened in `sema workflow view`, with few and with many events an agent: until
  all of it is there, from the request for its stream on, in a server that has just started. And read and indexed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

PROVIDER = """
(llm/define-provider :fake {:default-model "m"
  :complete (fn (req) {:content "ok" :usage {:prompt-tokens 3 :completion-tokens 2}})})
(define n (:n *workflow-args*))
"""
STEPS = """(defworkflow bench "Steps" {}
  (phase "Work")
  (for-each (fn (i) (step (str "Question " i) {:name "leaf"})) (range n))
  {:status :success})
"""
KILLED = """(defworkflow bench "Steps, then a kill" {}
  (phase "Work")
  (for-each (fn (i) (step (str "Question " i) {:name "leaf"})) (range n))
  (when (= "1" (env "KILLED")) (shell "kill" "-9" (str (sys/pid))))
  {:status :success})
"""
CALLS = (
    """(define *workflow-args* {:n (string->number (last (sys/args)))})
"""
    + PROVIDER
    + """(for-each (fn (i) (llm/complete (str "Question " i))) (range n))
"""
)
PARALLEL = """
(llm/define-provider :slow {:default-model "m" :complete (fn (req) (async/sleep 200) "ok")})
(defworkflow bench "Side by side" {}
  (phase "Work")
  (parallel (map (fn (i) (fn () (step (str "Question " i) {:name "leaf"}))) (range (:n *workflow-args*))) 50)
  {:status :success})
"""
DBOS = """
import os, sys, time
from dbos import DBOS
DBOS(config={"name": "bench", "system_database_url": "sqlite:///bench.sqlite", "log_level": "ERROR"})
@DBOS.step()
def leaf(i): return "ok"
@DBOS.workflow()
def steps(n):
    for i in range(n): leaf(i)
    if os.environ.get("KILLED") == "1": os.kill(os.getpid(), 9)
    return n
DBOS.launch()
if len(sys.argv) > 2:
    DBOS.retrieve_workflow(sys.argv[2]).get_result()
else:
    from dbos import SetWorkflowID
    with SetWorkflowID("one"): steps(int(sys.argv[1]))
"""
LANGGRAPH = """
import os, sys
from typing import TypedDict
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.graph import END, START, StateGraph
class State(TypedDict):
    i: int
    n: int
def leaf(state):
    if state["i"] == state["n"] - 1 and os.environ.get("KILLED") == "1": os.kill(os.getpid(), 9)
    return {"i": state["i"] + 1}
graph = StateGraph(State)
graph.add_node("leaf", leaf)
graph.add_edge(START, "leaf")
graph.add_conditional_edges("leaf", lambda s: "leaf" if s["i"] < s["n"] else END)
with SqliteSaver.from_conn_string("bench.sqlite") as saver:
    n = int(sys.argv[1])
    config = {"configurable": {"thread_id": "1"}, "recursion_limit": n + 10}
    graph.compile(checkpointer=saver).invoke({"i": 0, "n": n} if len(sys.argv) == 2 else None, config)
"""


class Spent(NamedTuple):
    cpu: float  # seconds
    wall: float


def run(command: list[str], folder: Path, killed: bool = False) -> Spent:
    """The resources that a process used. Raises an error when it fails, unless it was meant to be killed."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before, begun = os.times(), time.monotonic()
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, env={**environment, "KILLED": "1" if killed else ""}
    )
    if done.returncode and not killed:
        raise SystemExit(f"{command[:4]} failed: {done.stderr[-600:]}")
    after = os.times()
    used = after.children_user - before.children_user + after.children_system - before.children_system
    return Spent(used, time.monotonic() - begun)


def sema(*arguments: str) -> list[str]:
    return [str(Path(sys.executable).with_name("sema")), *arguments]


def workflow(folder: Path, source: str, n: int, *more: str) -> list[str]:
    (folder / "bench.sema").write_text(source)
    return sema("workflow", "run", "bench.sema", "--args", json.dumps({"n": n}), *more)


def each(measure: Callable[[Path, int], Spent], n: int) -> Spent:
    """The cost of one of n steps: the difference to a process with one step, divided by n."""
    spent = []
    for count in (1, n):
        with tempfile.TemporaryDirectory() as folder:
            spent.append(measure(Path(folder), count))
    return Spent((spent[1].cpu - spent[0].cpu) / (n - 1) * 1000, (spent[1].wall - spent[0].wall) / (n - 1) * 1000)


def step(n: int, peers: str) -> None:
    def calls(folder: Path, count: int) -> Spent:
        (folder / "calls.sema").write_text(CALLS)
        return run(sema("calls.sema", "--", str(count)), folder)

    ours = each(lambda folder, count: run(workflow(folder, PROVIDER + STEPS, count), folder), n)
    bare = each(calls, n)
    print(f"step: {ours.cpu - bare.cpu:.3f} ms CPU beyond its call (limit 1.0), {ours.wall - bare.wall:.2f} ms wall")
    for name, source in (("DBOS", DBOS), ("LangGraph", LANGGRAPH)) if peers else ():
        command = [peers, "-c", source]
        theirs = each(lambda folder, count, command=command: run([*command, str(count)], folder), n)  # type: ignore[misc]
        print(f"  {name}: {theirs.cpu:.3f} ms CPU, {theirs.wall:.2f} ms wall")


def resume(n: int, peers: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run(workflow(folder, PROVIDER + KILLED, n), folder, killed=True)
        (run_id,) = os.listdir(folder / ".sema" / "runs")
        again = run(workflow(folder, PROVIDER + KILLED, n, "--resume", run_id), folder)
    print(f"resume: {n} finished leaves in {again.wall:.2f} s, {again.cpu:.2f} s CPU (limit 3 s)")
    for name, source, more in (("DBOS", DBOS, "one"), ("LangGraph", LANGGRAPH, "again")) if peers else ():
        with tempfile.TemporaryDirectory() as folder_name:
            folder = Path(folder_name)
            run([peers, "-c", source, str(n)], folder, killed=True)
            theirs = run([peers, "-c", source, str(n), more], folder)
            print(f"  {name}: {theirs.wall:.2f} s, {theirs.cpu:.2f} s CPU")


def parallel(peers: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        single = run(workflow(folder, PARALLEL, 1), folder)
        spent = run(workflow(folder, PARALLEL, 500), folder)
    wall = spent.wall - single.wall + 0.2
    print(f"parallel: 500 leaves of 200 ms, 50 at once: {wall:.2f} s, {wall / 2:.2f} of the ideal (limit 1.1)")


def viewer(events: int) -> None:
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support" / "workflow"))
    from workflow_journals import wide, written

    for tools in (0, 1, 10):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            journal = written(folder, "long", wide(events // (3 + tools), tools=tools)) / "events.jsonl"
            size = journal.stat().st_size >> 20
            journal.read_bytes()  # from memory: the disk isn't measured
            print(f"viewer: {events:,} events ({size} MB), {3 + tools} an agent: {opened(folder)}")
            none = run(sema("workflow", "show", "--help"), folder)
            for command in (["show", "long"], ["index"]):
                spent = run(sema("workflow", *command, "--run-dir", name), folder)
                print(f"  {command[0]}: {spent.cpu - none.cpu:.2f} s CPU")


def opened(folder: Path) -> str:
    """The resources until a server has read the whole run `long`."""
    from urllib.request import urlopen

    server = subprocess.Popen(
        sema("workflow", "view", "--run-dir", str(folder), "-p", "0"), stdout=subprocess.PIPE, text=True
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().split()[-1]
        urlopen(url).read()
        before, begun, first = cpu_of(server.pid), time.monotonic(), 0.0
        for line in urlopen(f"{url}/api/run/long/stream"):
            if line.startswith(b"data:"):
                first = first or time.monotonic() - begun
                if not json.loads(line[5:])["unread"]:
                    break
        wall, cpu = time.monotonic() - begun, cpu_of(server.pid) - before
        peak = Path(f"/proc/{server.pid}/status").read_text().split("VmHWM:")[1].split()[0]
        return (
            f"head after {first:.2f} s, tree after {wall:.2f} s (limit 5 s), {cpu:.2f} s CPU, "
            f"{int(peak) >> 10} MB at most (limit 150)"
        )
    finally:
        server.terminate()
        server.wait()


def cpu_of(pid: int) -> float:
    """Seconds that a process has used."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--parts", default="step,resume,parallel,viewer")
    options.add_argument("--steps", type=int, default=1000)
    options.add_argument("--leaves", type=int, default=10_000)
    options.add_argument("--events", type=int, default=1_000_000)
    options.add_argument("--peers", default="", help="a Python with dbos and langgraph, measured too")
    arguments = options.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}, Python {sys.version.split()[0]}")
    for part in arguments.parts.split(","):
        if part == "step":
            step(arguments.steps, arguments.peers)
        elif part == "resume":
            resume(arguments.leaves, arguments.peers)
        elif part == "viewer":
            viewer(arguments.events)
        else:
            parallel(arguments.peers)


if __name__ == "__main__":
    main()
