"""The worker of `sema eval`: evaluates programs one after the other, each in a fresh environment.

The worker undoes the changes of a program where that is cheap and safe: its files, environment variables, current
directory, tasks, imported modules. Where it isn't (threads, child processes, descriptors, the state of Python modules
or of a family of builtins, memory that isn't freed), the worker is spent: the next program gets another.
"""

from __future__ import annotations

import contextvars
import json
import os
import shutil
import sys
from _thread import _count as thread_count
from typing import Any

from sema_runtime.conditions.describe import describe
from sema_runtime.lib.language import output
from sema_runtime.values.printer import pretty
from semac.analyze import python_calls
from semac.cli.eval.limits import Limits
from semac.cli.eval.processes import data_size
from semac.process import grow_stack
from semac.session import Session

Answer = dict[str, Any]
MEMORY_STATUS, OUTPUT_STATUS = 71, 72  # a worker ends with it when a program has used too much
ENTRY = 8  # bytes that an entry of the output costs beyond its text, also when that is empty
MOST_PROGRAMS = 500  # of one worker: names that programs use are never forgotten
LOOK_EVERY = 16  # programs, between two looks at the memory that is left
MOST_KEPT = 64 << 20  # bytes of memory that programs may leave behind
LOADABLE = {"sema_runtime", "semac", *sys.stdlib_module_names}
# Parts of the runtime that remember what a program configured, opened or registered, as the others don't.
STATEFUL = tuple(
    f"sema_runtime.{name}"
    for name in (
        *("llm", "mcp", "net", "web", "workflow", "telemetry.", "interop", "tasks.children"),
        *("lib.python.python", "lib.data.kv_store", "lib.data.sqlite", "lib.system.pty", "lib.system.serial"),
        *("lib.llm.agents", "lib.llm.conversations", "lib.llm.llm", "lib.llm.mcp", "lib.llm.memory", "lib.llm.otel"),
        *("lib.llm.providers", "lib.llm.recordings", "lib.llm.scopes", "lib.llm.tools", "lib.llm.usage"),
        *("lib.llm.vector_stores", "lib.network.http", "lib.network.websocket"),
    )
)
# Those of them that remember nothing outside of the context in which a program runs. What they import counts itself.
STATELESS = {
    f"sema_runtime.{name}"
    for name in (
        *("llm", "llm.errors", "llm.jsonable", "llm.messages", "llm.pictures", "llm.policy_guard"),
        *("llm.tools", "llm.tools.schema", "llm.tools.subjects", "llm.tools.tool"),
        *("lib.llm.conversations", "lib.llm.otel", "lib.llm.tools"),
    )
}


def is_stateful(module: str) -> bool:
    """Whether a module of the runtime may remember something of a program."""
    return module.startswith(STATEFUL) and module not in STATELESS


class Printed(list[str]):
    """What a program printed, an entry a call. A copy goes to a file that outlives the process, as lines of JSON.

    Past most bytes (0: any number) the process ends, so that no handler and no thread of the program runs on.
    """

    def __init__(self, most: int = 0, journal: int | None = None) -> None:
        super().__init__()
        self.left = most or sys.maxsize
        self.journal = journal

    def append(self, text: str) -> None:
        self.left -= len(text) + ENTRY
        if self.left < 0:
            os._exit(OUTPUT_STATUS)
        super().append(text)
        if self.journal is not None:
            os.write(self.journal, json.dumps(text).encode() + b"\n")


def evaluate(source: str, printed: Printed | None = None) -> Answer:
    """{"value", "output", "error"} and, with some errors, "hint" for one program.

    value: printed form wrapped at 80 bytes, None for nil. output: one entry for each call that printed. error: the
    first line of the message. A program that runs out of memory, or prints too much, ends the process.
    """
    lines = Printed() if printed is None else printed
    output.sink = lines
    answer: Answer = {"value": None, "output": lines, "error": None}
    try:
        answer["value"] = contextvars.Context().run(_run, source)
    except SystemExit:
        pass
    except BaseException as error:  # whatever a program raises is its answer
        if is_out_of_memory(error):
            os._exit(MEMORY_STATUS)
        shown = describe(error)
        answer["error"] = shown.message.split("\n", 1)[0]
        if shown.hint:
            answer["hint"] = shown.hint
    finally:
        output.sink = None
        forget_program()
    lines.left -= sum(len(answer.get(part) or "") for part in ("value", "error", "hint"))
    if lines.left < 0:
        os._exit(OUTPUT_STATUS)
    return answer


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error is due to lack of memory, wherever that was noticed."""
    chain: BaseException | None = error
    while chain is not None and not isinstance(chain, MemoryError):
        if isinstance(chain, RuntimeError) and str(chain) == "can't start new thread":  # its stack finds no room
            return True
        chain = chain.__cause__
    return chain is not None


def _run(source: str) -> str | None:
    value = Session().run(source, drain=False)
    return None if value is None else pretty(value)


_environment = dict(os.environ)


def forget_program() -> None:
    """Drops the state that a program left in the runtime outside its environment."""
    if os.environ != _environment:
        os.environ.clear()
        os.environ.update(_environment)
    tasks = sys.modules.get("sema_runtime.tasks.scheduler")
    if tasks is not None:
        vars(tasks._per_thread).clear()


class Workplace:
    """The surroundings of each program: an empty folder as the current directory, and a process without threads,
    children or open files of earlier programs."""

    def __init__(self, folder: str) -> None:
        """folder: an empty one that belongs to this worker alone; everything in it is removed after each program."""
        self.folder = os.path.realpath(folder)
        os.chdir(self.folder)
        facts = os.stat(self.folder)
        self.identity = facts.st_dev, facts.st_ino
        self.umask = os.umask(0o022)
        os.umask(self.umask)
        self.threads = thread_count()
        self.first_modules = frozenset(sys.modules)
        self.modules = set(sys.modules)
        self.module_count = len(sys.modules)
        self.data = data_size()
        self.programs = 0
        self.python = False  # whether a program may have changed anything in any Python module
        self.descriptor = self._lowest_descriptor()

    def restore(self) -> bool:
        """Restores the surroundings for the next program. Returns false when that is impossible."""
        self.programs += 1
        bridge = sys.modules.get("sema_runtime.compiler_bridge")
        imported = bridge is not None and bridge.forget()
        self.python = imported or python_calls.used or "sema_runtime.lib.python.python" in sys.modules
        os.umask(self.umask)
        return not self._is_spent() and self._emptied()

    def loaded(self) -> list[str]:
        """The modules that programs have loaded and that keep no state of them."""
        if self.python:  # they may be anything
            return []
        return [
            name
            for name in sys.modules
            if name not in self.first_modules
            and not is_stateful(name)
            and name.partition(".")[0] in LOADABLE
            and "__main__" not in name
        ]

    def _is_spent(self) -> bool:
        return (
            self.programs >= MOST_PROGRAMS
            or self.python
            or thread_count() > self.threads
            or _has_children()
            or self._lowest_descriptor() != self.descriptor
            or self._has_loaded_state()
            or (self.programs % LOOK_EVERY == 0 and data_size() > self.data + MOST_KEPT)
        )

    def _has_loaded_state(self) -> bool:
        if len(sys.modules) == self.module_count:
            return False
        loaded = set(sys.modules) - self.modules
        self.modules |= loaded
        self.module_count = len(sys.modules)
        return any(map(is_stateful, loaded))

    def _lowest_descriptor(self) -> int:
        """The number that the next open file gets; higher when a program left one open."""
        descriptor = os.open(os.devnull, os.O_RDONLY)
        os.close(descriptor)
        return descriptor

    def _emptied(self) -> bool:
        """Returns to the folder and empties it. Files elsewhere stay, wherever the program has gone."""
        try:
            os.chdir(self.folder)
            facts = os.stat(".")
            if (facts.st_dev, facts.st_ino) != self.identity:  # the program has put another one in its place
                return False
            with os.scandir(self.folder) as entries:
                names = list(entries)
            for entry in names:
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path)
                else:
                    os.unlink(entry.path)
        except OSError:
            return False
        return True


def _has_children() -> bool:
    """Whether this process has children, ended ones included."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def serve(questions: int, answers: int, copy: int, folder: str, limits: Limits) -> None:
    """Reads lines [token, program] and answers each: a line {"value", "output", "error", "hint", "spent", "token"}.
    spent: None, or when this process must not run another program, the modules that the next worker may load at once.
    token: that of the question, which distinguishes an answer from text that the program itself wrote there."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):  # programs must not read our questions or write among our answers
        os.dup2(null, descriptor)
    os.close(null)
    sys.stdin, sys.stdout, sys.stderr = (open(os.devnull, mode) for mode in "rww")  # noqa: SIM115
    grow_stack()
    workplace = Workplace(folder)
    with open(questions, encoding="utf-8") as lines:
        for line in lines:
            printed = Printed(limits.output, copy)
            token, source = json.loads(line)
            answer = evaluate(source, printed)
            answer["token"] = token
            answer["spent"] = None if workplace.restore() else workplace.loaded()
            text = json.dumps(answer).encode() + b"\n"
            if printed:
                os.ftruncate(copy, 0)
                os.lseek(copy, 0, os.SEEK_SET)
            while text:
                text = text[os.write(answers, text) :]
            if answer["spent"] is not None:
                break
