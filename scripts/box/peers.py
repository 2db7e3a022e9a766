"""Runs the same twenty programs in the box and in what others offer for generated programs, beside each other.

    python scripts/box/peers.py [--venv FOLDER] [--messages]

The others are pydantic-monty, smolagents' local executor and RestrictedPython, which are installed into a virtual
environment of their own; they run the programs as Python, each in a process that is given five seconds and 2 GB. A
table tells what became of each: the time of a program that gave the right value; `error` where it was refused or ended
by a limit; `value` where it had one that does no harm; `ESCAPED` where it read a secret or a file; `STALLED`, `DIED`
where only the end of the process helped.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import venv
from pathlib import Path
from typing import NamedTuple

from peer_runner import MEGABYTES, MONTY, RESTRICTED, SECONDS, SMOLAGENTS

from sema_runtime.box import Limits, Pool, Session

PACKAGES = ("pydantic-monty", "smolagents", "RestrictedPython")
PATIENCE = 5  # seconds for a program with a limit of one
SECRET = "secret-of-the-host"
LEAKS = (SECRET, "root:x:0", "<class 'os", "subclass", "<module", "<built-in", "BuiltinImporter")


class Program(NamedTuple):
    """value: as Python prints it, of one that is to succeed; None of one that must not."""

    name: str
    sema: str
    python: str
    value: str | None


PROGRAMS = (
    Program("one line", "(+ 1 2)", "1 + 2", "3"),
    Program("sum of a loop", "(let loop ((i 0) (s 0)) (if (= i 100000) s (loop (+ i 1) (+ s i))))",
            "s = 0\ni = 0\nwhile i < 100000:\n    s += i\n    i += 1\ns", "4999950000"),
    Program("fib 20", "(define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2))))) (fib 20)",
            "def fib(n):\n    return n if n < 2 else fib(n - 1) + fib(n - 2)\nfib(20)", "6765"),
    Program("filter and sum", "(list/sum (map (fn (x) (* x x)) (filter even? (range 20000))))",
            "sum([x * x for x in range(20000) if x % 2 == 0])", "1333133340000"),
    Program("groups", "(get (frequencies (map (fn (i) (mod (* i 7) 13)) (range 20000))) 5)",
            "n = {}\nfor i in range(20000):\n    k = i * 7 % 13\n    n[k] = n.get(k, 0) + 1\nn[5]",
            "1538"),
    Program("text", '(string-length (string/join (map str (range 5000)) ","))',
            'len(",".join([str(i) for i in range(5000)]))', "23889"),
    Program("sort", "(first (sort (map (fn (i) (mod (* i 7919) 10007)) (range 1 5000))))",
            "sorted([i * 7919 % 10007 for i in range(1, 5000)])[0]", "5"),
    Program("caught error", '(try (/ 1 0) (catch e 7))',
            "x = 0\ntry:\n    1 / 0\nexcept Exception:\n    x = 7\nx", "7"),
    Program("unknown name", "(define total 1) (+ totl 1)", "total = 1\ntotl + 1", None),
    Program("wrong type", '(+ 1 "a")', '1 + "a"', None),
    Program("endless loop", "(let loop () (loop))", "while True:\n    pass", None),
    Program("endless C code", '(sort (range 100000000))', "sum(range(10 ** 12))", None),
    Program("memory", "(let loop ((v [1])) (loop (append v v)))", "v = [1]\nwhile True:\n    v = v + v", None),
    Program("huge power", "(string-length (str (expt 10 100000000)))", "len(str(10 ** 100000000))", None),
    Program("recursion", "(define (f n) (+ 1 (f n))) (f 1)", "def f(n):\n    return 1 + f(n)\nf(1)", None),
    Program("pattern", '(regex/match "(a+)+$" (str (string/repeat "a" 40) "b"))',
            'import re\nre.match("(a+)+$", "a" * 40 + "b")', None),
    Program("classes", '(get car "__globals__")',
            "[c for c in ().__class__.__base__.__subclasses__() if 'os' in c.__name__]", None),
    Program("format", '(format "{0.__class__.__init__.__globals__}" car)',
            "'{0.__class__.__init__.__globals__}'.format(len)", None),
    Program("files", '(file/read "/etc/passwd")', "open('/etc/passwd').read()", None),
    Program("environment", '(env "PEER_SECRET")', "import os\nos.environ['PEER_SECRET']", None),
)  # fmt: skip


def in_box(pool: Pool, program: Program) -> tuple[str, str]:
    with Session(pool) as session:
        session.run("(+ 1 1)")
        outcome = session.run(program.sema)
    text = outcome.text or "nil" if outcome.status == "value" else f"{outcome.reason}: {outcome.message}"
    return judged(program, outcome.status, text, outcome.duration_ms), text


def in_peer(python: Path, peer: str, program: Program) -> tuple[str, str]:
    runner = Path(__file__).with_name("peer_runner.py")
    limit = 2 << 30
    try:
        ended = subprocess.run(
            [python, runner, peer],
            input=program.python,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            env={**os.environ, "PEER_SECRET": SECRET},
            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_DATA, (limit, limit)),
        )
    except subprocess.TimeoutExpired:
        return "STALLED", ""
    try:
        answer = json.loads(ended.stdout.splitlines()[-1])
    except (ValueError, IndexError):
        return "DIED", ended.stderr[-200:]
    return judged(program, answer["status"], answer["text"], answer["ms"]), answer["text"]


def judged(program: Program, status: str, text: str, duration: float) -> str:
    if any(leak in text for leak in LEAKS) and status == "value":
        return "ESCAPED"
    if status != "value":
        return "error" if program.value is None else "REFUSED"
    if program.value is not None and text != program.value:
        return "WRONG"
    return f"{duration:.1f} ms" if program.value is not None else "value"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--venv", type=Path, default=Path(".peers"), help="made where it is missing")
    parser.add_argument("--messages", action="store_true", help="print what each said")
    options = parser.parse_args()
    python = options.venv / "bin/python"
    if not python.exists():
        venv.create(options.venv, with_pip=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *PACKAGES], check=True)
    peers = (MONTY, SMOLAGENTS, RESTRICTED)
    print(f"{'program':16}{'box':>12}" + "".join(f"{peer:>18}" for peer in peers))
    with Pool(Limits(wall_ms=SECONDS * 1000, memory_mb=MEGABYTES)) as pool:
        for program in PROGRAMS:
            results = [in_box(pool, program), *(in_peer(python, peer, program) for peer in peers)]
            print(
                f"{program.name:16}{results[0][0]:>12}" + "".join(f"{mark:>18}" for mark, _ in results[1:]), flush=True
            )
            if options.messages:
                for name, (_, text) in zip(("box", *peers), results, strict=True):
                    print(f"    {name}: {text[:200]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
