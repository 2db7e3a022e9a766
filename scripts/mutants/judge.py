"""What finds a mutant: what reaches the line that it changes is tried in a process of its own, until one objects.

The process is a fork of one that has imported the compiler and compiled nothing. It puts the mutant's code into the
functions of the module that has been changed.
"""

from __future__ import annotations

import gc
import itertools
import json
import os
import resource
import select
import signal
import time
import traceback
from types import CodeType, FunctionType
from typing import Any, NamedTuple

from programs.configurations import Configuration, configuration
from programs.outcome import difference, different, outcome
from programs.sources import SOURCES

from mutants.mutants import Mutant
from mutants.reach import IGNORED, OPTIONS, ROOT, Case, Reach, code_of

SECONDS = 90  # of CPU time for a mutant
TESTING = 12.0  # seconds that the tests of a mutant take together without it
VERIFIED = Configuration("verified", {"SEMA_OPT": "1"}, is_verified=True)
PLAIN = configuration("plain")
MORE = 6_000_000  # the first seed of more programs
DEEPER = 8.0  # seconds of CPU time for them
BEHIND = "semac/generate/packed"  # what changes the code of trees, not trees


class Verdict(NamedTuple):
    """judge: the kind of what objects, "more" for further random programs; "" for a survivor. objection: what it says.
    tried: how many programs and tests. changed: how many programs become other Python, and one of them."""

    judge: str
    objection: str
    tried: int
    changed: int
    example: str


def judged(mutant: Mutant | None, programs: Reach, tests: Reach) -> Verdict:
    """What is said of a mutant, or of the compiler as it is."""
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(read)
        try:
            found = judged_here(mutant, programs, tests)
            os.write(write, json.dumps(found).encode())
        finally:
            os._exit(0)
    os.close(write)
    try:
        is_heard = select.select([read], [], [], 3.0 * SECONDS)[0]
        data = b"".join(iter(lambda: os.read(read, 1 << 16), b"")) if is_heard else b""
    finally:
        os.close(read)
        os.kill(child, signal.SIGKILL)
        _, status = os.waitpid(child, 0)
    if data:
        return Verdict(*json.loads(data))
    return Verdict("crash", signal.Signals(os.WTERMSIG(status)).name if os.WIFSIGNALED(status) else "exit", 0, 0, "")


def judged_here(mutant: Mutant | None, programs: Reach, tests: Reach) -> Verdict:
    """The same, in the process that is there for it."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_DATA, (3 << 30, 3 << 30))
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    cases = programs.cases[::5]
    chosen: list[Case] = []
    if mutant is not None:
        put(mutant)
        cases, chosen = (reach.of(mutant.path, *mutant.lines) for reach in (programs, tests))
    tried = changed = 0
    example = ""
    sources: set[str] = set()  # of the random programs that become other Python
    for case in cases:
        tried += 1
        is_hidden = mutant is not None and str(mutant.path).startswith(BEHIND)
        objection, is_other = tries(case, is_hidden)
        if objection is not None:
            return Verdict(case.kind, f"{case.name}: {objection}\n{case.text}"[:1500], tried, changed, "")
        changed += is_other
        if is_other and case.kind == "random":
            sources.add(case.name.partition(" ")[0])
        if is_other and (not example or len(case.text) < len(example)):
            example = case.text
    if sources:
        found = deeper(sorted(sources))
        if found:
            return Verdict("more", found, tried, changed, example)
    failed = failing(chosen)
    if failed:
        return Verdict("test", failed, tried, changed, example)
    return Verdict("", "", tried + len(chosen), changed, example)


def put(mutant: Mutant) -> None:
    """Gives the functions of a module the code of a mutant."""
    codes: dict[str, CodeType] = {}

    def collect(code: CodeType) -> None:
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                codes.setdefault(f"{constant.co_qualname} {constant.co_firstlineno}", constant)
                collect(constant)

    file = str(ROOT / mutant.path)
    collect(compile(mutant.tree, file, "exec"))
    for its in gc.get_objects():
        if type(its) is FunctionType and its.__code__.co_filename == file:
            code = codes.get(f"{its.__code__.co_qualname} {its.__code__.co_firstlineno}")
            if code is not None and code.co_freevars == its.__code__.co_freevars:
                its.__code__ = code


def tries(case: Case, is_hidden: bool) -> tuple[str | None, bool]:
    """What a program has to object, and whether it becomes other Python. is_hidden: whether that can't be seen.

    It runs with units verified, and once more with types asserted, which keeps some passes out.
    """
    try:
        is_other = code_of(case) != case.code
        if case.kind == "golden":
            return "other text" if is_other else None, is_other
        if not is_other and not is_hidden:
            return None, False
        for option in (VERIFIED, configuration("asserted")):
            found = outcome(case.text, case.mode, option, 4.0)
            how = different(case.mode, case.expected, found, IGNORED)
            if how is not None and (found.ending == "endless" or found.countable):
                return str(how), is_other
    except BaseException:  # also of the compiler, and where it doesn't come to an end
        return traceback.format_exc(limit=-2)[-400:], True
    return None, is_other


def deeper(names: list[str]) -> str:
    """What more random programs of some sources have to object, drawn until time is up; "" for nothing.

    What is right is asked of the mutant's own plain code. So this may find what both do wrongly in different ways, but
    not what both do wrongly alike.
    """
    end = time.process_time() + DEEPER
    for number in itertools.count():
        if time.process_time() > end:
            return ""
        name = names[number % len(names)]
        text, mode = SOURCES[name][1](MORE + number, False).text, ("program", "module")[number % 2]
        try:
            how = difference(text, VERIFIED, PLAIN, [mode], IGNORED)
        except BaseException:
            return f"{name} {MORE + number}: {traceback.format_exc(limit=-2)[-400:]}"
        if how is not None:
            return f"{name} {MORE + number}: {how}\n{text}"[:1500]
    raise AssertionError


def failing(cases: list[Case]) -> str:
    """The first of some tests that fails; "" where none does."""
    left, chosen = TESTING, set()
    for case in cases:
        left -= case.seconds
        if left < 0:
            break
        chosen.add(case.name)
    if not chosen:
        return ""
    import pytest

    class Chooser:
        first = ""

        def pytest_collection_modifyitems(self, items: list[Any]) -> None:
            items[:] = [item for item in items if item.nodeid in chosen]

        def pytest_runtest_logreport(self, report: Any) -> None:
            if report.failed and not self.first:
                self.first = report.nodeid

    chooser = Chooser()
    files = sorted({name.partition("::")[0] for name in chosen})
    status = pytest.main([*OPTIONS, "-x", *files], plugins=[chooser])
    return chooser.first or ("" if status == 0 else f"pytest ends with {status}")
