"""Runs programs with answers natively, and compares: what `sema eval --jsonl` would answer if all of it were native.

python scripts/native_conformance.py FILE.jsonl [...] [--jobs N] [--limit N]

A line of a FILE is an object with a program in `src` and its answer, as in the conformance corpus; it is judged as the
tests judge it (`tests/support/corpus.py`). Each program gets an extension of its own, compiled without the C compiler's
own care for speed. The exit status is 1 if an answer differs.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 20


def run_native(source: str) -> str | None:
    """The printed value of a program, None for nil. Raises what it raises."""
    from programs.natively import natively

    from sema_runtime.values.printer import pretty
    from semac.pipeline import RESULT
    from semac.process import deepen

    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        deepen()
        names: dict[str, Any] = {"__name__": "__main__", "__file__": "<input>"}
        exec(natively(source, "<input>", "program").code, names)
        value = names.get(RESULT)
        return None if value is None else pretty(value)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def time_is_up(*_: object) -> None:
    raise TimeoutError


def answer_all() -> None:
    """Answers questions from the standard input, one a line."""
    import faulthandler

    from semac.cli.eval import worker as eval_worker
    from semac.process import grow_stack

    faulthandler.enable()
    eval_worker._run = run_native
    signal.signal(signal.SIGALRM, time_is_up)
    questions = [json.loads(line) for line in sys.stdin]
    with tempfile.TemporaryDirectory() as folder:
        grow_stack()
        workplace = eval_worker.Workplace(folder)
        for question in questions:
            print(json.dumps({"id": question["id"], **eval_worker.evaluate(question["src"])}), flush=True)
            workplace.restore()


def asked(cases: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """The answers by case; a process that dies answers with that, and another one goes on behind the case."""
    answers: dict[str, dict[str, Any]] = {}
    while cases:
        questions = "".join(json.dumps({"id": case["id"], "src": case["src"]}) + "\n" for case in cases)
        command = [sys.executable, __file__, "--answer", "-"]
        done = subprocess.run(command, input=questions, capture_output=True, text=True)
        found = [json.loads(line) for line in done.stdout.split("\n") if line.endswith("}")]
        answers.update({answer["id"]: answer for answer in found})
        if len(found) < len(cases):
            answers[cases[len(found)]["id"]] = {"died": f"{done.returncode} {done.stderr[-1500:]}"}
        cases = cases[len(found) + 1 :]
    return answers


def differing(path: str, limit: int) -> tuple[int, list[str]]:
    """How many cases a file has, and what differs."""
    from corpus import APART, EXPANDING, LEDGER, cases_of, difference

    cases = [case for case in cases_of(Path(path)) if not APART & set(case.get("tags", ()))]
    cases = [case for case in cases if not EXPANDING.search(case["src"])][:limit]
    answers = asked(cases)
    lines = []
    for case in cases:
        answer = answers[case["id"]]
        differs = str(answer["died"]) if "died" in answer else difference(case, answer)
        if differs and ("died" in answer or case["id"] not in LEDGER):
            lines.append(f"{case['id']}: {case['src']!r}{differs}")
    return len(cases), lines


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--answer", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--limit", type=int, default=100_000)
    options = parser.parse_args()
    if options.answer:
        answer_all()
        return 0
    sys.path.insert(0, str(ROOT / "tests" / "support"))
    count = wrong = 0
    with ThreadPoolExecutor(options.jobs) as pool:
        for number, lines in pool.map(lambda path: differing(path, options.limit), options.files):
            count += number
            wrong += len(lines)
            print("\n".join([*lines, f"{count} programs, {wrong} differ"]), flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
