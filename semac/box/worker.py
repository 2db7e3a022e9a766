"""The process that runs programs: it reads requests from one pipe and answers there, until the pipe closes."""

from __future__ import annotations

import ast
import builtins
import io
import json
import os
import sys
import time
import warnings
from contextvars import Context
from typing import Any, NoReturn

from sema_runtime.box.codec import Encoder, TooLarge, decoded, from_body, nodes_in, to_frame
from sema_runtime.box.hardening import allow_processor_seconds
from sema_runtime.box.limits import too_many_bytes
from sema_runtime.conditions.tracebacks import raw_calls, sema_frames
from sema_runtime.conditions.usage import builtins_by_function
from sema_runtime.lib.language import output
from sema_runtime.tasks.scheduler import use
from sema_runtime.values.atoms import Char, Keyword, Symbol
from sema_runtime.values.errors import SemaError
from sema_runtime.values.printer import pretty
from semac import pipeline
from semac.box.admission import Refused, admit, check_own
from semac.box.checker import Unsafe, check_tree, nodes_of
from semac.box.compiled import Compiled, CompiledPrograms
from semac.box.discovery import Discovery
from semac.box.guards import apply_limits, product
from semac.box.keeping import Keeping, memory_in_use
from semac.box.memory import ABSENT, summary
from semac.box.products import CHECK, bound_products
from semac.box.profile import ENDINGS, advice
from semac.box.straight import runs_once
from semac.box.tasks import Asked, Tasks
from semac.box.text_keys import text_key_warnings
from semac.box.verdicts import TOO_MANY_DIGITS, UNWRITABLE, cut, entry, over, unfit, verdict, visible
from semac.ir.unit import Unit
from semac.session import Session

FILE = "<program>"
ATOMS = (Keyword, Symbol, Char)
CATCHABLE = "__Box_catchable"  # which no name of a program becomes
MOST_WARNINGS = 5
AHEAD = 1 << 12  # bytes that are read at once of what may come
TOLD_AT_ONCE = 20  # entries of output, the further ones at most
TOLD_EVERY = 0.05  # seconds
LEFT_OUT = frozenset({"steps"})  # passes: tasks of the box are counted where they begin
Answer = dict[str, Any]


class Ended(BaseException):
    """The program is done: `return`, `fail`, or a limit. No handler of a program sees it."""

    def __init__(self, answer: Answer, value: Any = None) -> None:
        super().__init__()
        self.answer = answer
        self.value = value


class ToolError(SemaError):
    """What a tool answered instead of a value. kind: "tool-error", or "validation-error" of arguments."""

    def __init__(self, message: str, kind: str) -> None:
        super().__init__(message)
        self.kind = kind


class Pipe:
    """Frames over a descriptor."""

    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.unread = b""

    def read(self) -> dict[str, Any] | None:
        """The next message; None at the end."""
        head = self._bytes(4)
        if head is None:
            return None
        body = self._bytes(int.from_bytes(head, "big"))
        return None if body is None else from_body(body)

    def _bytes(self, count: int) -> bytes | None:
        """The next bytes. What comes with them is kept: a short message is read at once, its length and all."""
        parts, left = [self.unread], count - len(self.unread)
        while left > 0:
            part = os.read(self.descriptor, min(max(left, AHEAD), 1 << 20))
            if not part:
                return None
            parts.append(part)
            left -= len(part)
        collected = b"".join(parts)
        self.unread = collected[count:]
        return collected[:count]

    def write(self, message: dict[str, Any]) -> None:
        frame = memoryview(to_frame(message))
        while frame:
            frame = frame[os.write(self.descriptor, frame) :]


class Nowhere(io.TextIOBase):
    """The standard streams of a process that has none."""

    def write(self, text: str) -> int:
        return len(text)


class Prints(list[str]):
    """What a program printed, an entry a call, within the limits of the run. The host hears of it meanwhile, since a
    program that is killed can't say what it printed.

    pipe: to the host; None: nobody hears.
    """

    def __init__(self, limits: dict[str, int], pipe: Pipe | None = None) -> None:
        super().__init__()
        self.left = limits["output_bytes"]
        self.limits = limits
        self.pipe = pipe
        self.told = 0  # entries that the host knows
        self.told_at = 0.0

    def append(self, text: str) -> None:
        self.left -= len(text)
        for name, is_over in (
            ("output_bytes", self.left < 0),
            ("output_entries", len(self) >= self.limits["output_entries"]),
        ):
            if is_over:
                raise Ended(
                    over("output_exceeded", name, self.limits[name], "print less: a count, a sample, a summary")
                )
        super().append(text)
        if self.pipe is not None and (len(self) <= TOLD_AT_ONCE or time.monotonic() > self.told_at + TOLD_EVERY):
            self.pipe.write({"printed": self[self.told :]})
            self.told, self.told_at = len(self), time.monotonic()


class Runner:
    """Runs programs of one session. pipe: to the host, for calls of tools."""

    def __init__(self, pipe: Pipe | None) -> None:
        self.pipe = pipe
        self.session = Session(FILE)
        self.granted: frozenset[str] = frozenset()
        self.inputs: frozenset[str] = frozenset()
        self.calls = 0
        self.tasks = self.new_tasks(0)
        self.limits: dict[str, int] = {}
        self.keeps = False  # whether other programs may call what this one defines
        self.is_admitted = False  # whether the program has got beyond the checks that leave no traces
        self.is_running = False
        self.warnings: list[str] = []  # of the compiler
        self.defines: set[str] = set()  # the globals that the program defines or sets
        for status in ENDINGS:
            self.session.bind(status, completing(status))
        self.grants: dict[str, Any] = {}  # tools and inputs, by the names of their globals
        self.tools: dict[str, str] = {}
        discovery = Discovery(self.session.names, self.tools)
        for name, function in (("dir", discovery.dir), ("apropos", discovery.apropos), ("doc", discovery.doc)):
            self.session.bind(name, function)
        self.keeping = Keeping(self.session)
        self.compiled = CompiledPrograms()

    def run(self, request: dict[str, Any]) -> Answer:
        """The answer to a request {"source", "data"?, "inputs", "tools", "limits", "keeps"}: "data" has inputs that are
        new, and of the others those are left out that are as in the request before."""
        limits: dict[str, int] = request.get("limits", self.limits)
        self.limits, self.keeps = limits, request.get("keeps", self.keeps)
        self.is_admitted = self.is_running = False
        self.defines = set()
        self.warnings = []
        if self.pipe is not None:
            allow_processor_seconds(limits["wall_ms"] // 1000 + 2)
        prints = Prints(limits, self.pipe)
        apply_limits(limits)
        output.sink = output.error_sink = prints
        started = time.perf_counter()
        try:
            answer = self.answer(request, limits)
        finally:
            output.sink = output.error_sink = None
        duration = round((time.perf_counter() - started) * 1000, 3)
        if answer["status"] == "error" and not self.is_admitted and not self.session.macros:
            answer["untouched"] = True
        return {**answer, "prints": list(prints), "warnings": self.warnings, "duration_ms": duration}

    def answer(self, request: dict[str, Any], limits: dict[str, int]) -> Answer:
        try:
            self.grant(request)
            value = Context().run(self.evaluate, request["source"], limits)
            answer = {"status": "value", **self.shown(value, limits), **self.defined()}
            self.keep(limits)
            self.keeping.remember(value)
            return answer
        except Ended as ended:
            if ended.answer["status"] in ("return", "fail"):
                return self.completed(ended, limits)
            return ended.answer
        except Unsafe as problem:
            return entry("internal_error", f"the compiled program was refused: {problem}", None, None, None)
        except BaseException as error:  # whatever a program raises is its answer
            return explained(error, self.is_running)

    def keep(self, limits: dict[str, int]) -> None:
        """Raises Ended where a session would hold too much."""
        if self.keeps and self.keeping.exceeds(limits["kept_mb"]):
            instead = "keep less: counts and samples in place of items"
            raise Ended(over("kept_exceeded", "kept_mb", limits["kept_mb"], instead))

    def defined(self) -> dict[str, Any]:
        """The part of an answer that says what the program defined."""
        return {"defined": summary(self.defines, self.value_of)} if self.defines else {}

    def value_of(self, name: str) -> Any:
        """The value of a global; ABSENT where it has none."""
        return self.session.globals.get(self.session.shared.global_name(name), ABSENT)

    def grant(self, request: dict[str, Any]) -> None:
        """Binds tools and inputs, also those that an earlier program has defined otherwise."""
        if not request.keys() <= {"source", "data"} or request.get("data"):
            self.compiled.forget()
        self.keeping.starts()
        if request.get("data"):
            before = memory_in_use()
            for name, value in request["data"].items():
                self.bind(f"data/{name}", decoded(value))
            self.keeping.granted(before)
        if "tools" in request:
            for name in request["tools"]:
                self.bind(f"tool/{name}", self.tool(name))
            self.tools.update(request["tools"])
        if "inputs" in request:
            self.inputs = frozenset(f"data/{name}" for name in request["inputs"])
        self.session.globals.update(self.grants)
        self.granted = frozenset(self.session.names)

    def mentioned(self) -> list[Any]:
        """The inputs that programs have named."""
        return [self.value_of(name) for name in self.inputs & self.granted]

    def bind(self, name: str, value: Any) -> None:
        self.session.bind(name, value)
        self.grants[self.session.shared.global_name(name)] = value

    def evaluate(self, source: str, limits: dict[str, int]) -> Any:
        size = len(source.encode("utf-8", "surrogatepass"))
        if size > limits["source_bytes"]:
            raise Ended(over("source_exceeded", "source_bytes", limits["source_bytes"], "send a shorter program"))
        program = self.compiled.get(source) or self.compile(source)
        self.warnings = program.warnings
        self.is_admitted = True
        self.defines = {name for name, var in program.unit.unit.globals.items() if var.defined or var.assigned}
        self.is_running = True
        self.tasks = self.new_tasks(limits["tasks"])
        use(self.tasks)
        value = self.session.execute(program.unit, drain=False, code=program.code)
        self.tasks.finish()
        if self.defines or self.session.macros:
            self.compiled.forget()
        elif self.keeps:
            self.compiled.keep(source, program)
        return value

    def compile(self, source: str) -> Compiled:
        unit = self.session.compile(source, FILE, "module" if self.keeps else "program")
        for macro in self.session.macros:
            self.check_macro(macro)
        return Compiled(unit, unit.code, self.warnings)

    def check_macro(self, name: str) -> None:
        """Raises Refused for a macro in place of what belongs to the host."""
        check_own(name)
        if self.session.shared.global_name(name) in self.grants:
            raise Refused("invalid_form", f"{name} is the host's and can't be a macro", None, "choose another name")

    def completed(self, ended: Ended, limits: dict[str, int]) -> Answer:
        try:
            answer = {**ended.answer, **self.shown(ended.value, limits)}
            if ended.answer["status"] == "return":
                self.keep(limits)
                answer |= self.defined()
            return answer
        except Ended as too_large:
            return too_large.answer
        except BaseException as error:
            return explained(error, True)

    def shown(self, value: Any, limits: dict[str, int]) -> Answer:
        """The value as text and for the host, within its limit."""
        try:
            # first: what is too deep to leave would take long to print
            encoded = Encoder(nodes_in(limits["result_bytes"])).encode(value)
        except TooLarge as problem:
            raise Ended(unfit(problem, limits["result_bytes"])) from None
        try:
            text = None if value is None else pretty(value)
        except ValueError as problem:
            if TOO_MANY_DIGITS.match(str(problem)) is None:
                raise
            raise Ended(entry("result_exceeded", f"the value can't be shown: {UNWRITABLE}",
                              "return its remainder by something, or (float n)", None, None)) from None  # fmt: skip
        if text is not None and len(text) > limits["result_bytes"]:
            raise Ended(over("result_exceeded", "result_bytes", limits["result_bytes"], "return a part or a summary"))
        return {"text": text, "value": encoded}

    def tool(self, name: str) -> Any:
        """The function that a program calls as `tool/NAME`: with one map, or with keys and values."""

        def call(*args: Any) -> Any:
            try:
                encoded = Encoder(nodes_in(self.limits["tool_argument_bytes"])).encode(list(args))
            except TooLarge as problem:
                raise ToolError(f"tool/{name}: what it is called with {problem.message}", "validation-error") from None
            size, most = len(json.dumps(encoded)), self.limits["tool_argument_bytes"]
            if size > most:
                message = too_many_bytes("its arguments take", size, "tool_argument_bytes", most, "send less")
                raise ToolError(f"tool/{name}: {message}", "validation-error")
            reply = self.tasks.ask(name, encoded)
            if "ended" in reply:
                raise Ended(reply["ended"])
            if "error" in reply:
                raise ToolError(f"tool/{name}: {reply['error']}", str(reply.get("kind", "tool-error")))
            return decoded(reply["result"])

        call.__sema_name__ = f"tool/{name}"  # type: ignore[attr-defined]
        return call

    def new_tasks(self, most: int) -> Tasks:
        """For one program. most: unfinished tasks."""

        def too_many() -> NoReturn:
            raise Ended(over("tasks_exceeded", "tasks", most, "start fewer at a time, for instance by async/pool-map"))

        return Tasks(self.exchange, give_up, most, too_many)

    def exchange(self, asked: list[Asked]) -> list[dict[str, Any]]:
        """What the host replies to calls of tools."""
        assert self.pipe is not None
        self.calls += 1
        self.pipe.write({"call": self.calls, "asked": asked})
        answer = self.pipe.read()
        if answer is None or answer.get("call") != self.calls:
            os._exit(1)  # the host is gone, or speaks of something else
        replies: list[dict[str, Any]] = answer["replies"]
        return replies


def warned(suspicions: list[Any]) -> list[str]:
    """What the compiler says of mistakes that the language accepts, a line each."""
    return [
        visible(cut(f"line {one.span[0]}: {one.message}{f' ({one.hint})' if one.hint else ''}"))
        for one in suspicions[:MOST_WARNINGS]
        if one.span is not None
    ]


def completing(status: str) -> Any:
    """The functions `return` and `fail`, which end the program with a value."""

    def end(value: Any = None) -> NoReturn:
        raise Ended({"status": status}, value)

    end.__sema_name__ = status  # type: ignore[attr-defined]
    return end


def explained(error: BaseException, is_running: bool) -> Answer:
    """The answer to a program that raised an error. Where there is no memory for it, the process ends."""
    try:
        if is_out_of_memory(error):
            give_up()
        if isinstance(error, ImportError | OSError) and not is_running:
            error = Refused("invalid_form", "files and imports can't be reached from the box", None, advice("load"))
        return verdict(error, is_running)
    except MemoryError:
        give_up()
    except Exception as second:  # the error can't be described: say so, and how
        if TOO_MANY_DIGITS.match(str(second)):
            return entry("runtime_error", UNWRITABLE, None, *place_in_program(error))
        return entry(
            "internal_error", f"{type(second).__name__} while describing {type(error).__name__}", None, None, None
        )


def place_in_program(error: BaseException) -> tuple[int | None, int | None]:
    """Line and column of the program's last call."""
    frames = sema_frames(raw_calls(error))
    return (frames[0].line or None, frames[0].col or None) if frames else (None, None)


def is_out_of_memory(error: BaseException | None) -> bool:
    while error is not None and not isinstance(error, MemoryError):
        error = error.__cause__ or error.__context__
    return error is not None


# What is ready before memory is short
OUT_OF_MEMORY = to_frame(
    {
        **entry("memory_exceeded", "limit memory_mb exceeded; nothing that the program defined was kept",
                "work on less at a time: filter first, keep counts in place of items; the host can raise memory_mb",
                None, None),
        "prints": [],
        "duration_ms": 0.0,
    }
)  # fmt: skip
READY = to_frame({"ready": True})
NOWHERE = Nowhere()
_pipe = Pipe(-1)


def give_up() -> NoReturn:
    """Ends the process of a program that has used up its memory."""
    if _pipe.descriptor >= 0:
        os.write(_pipe.descriptor, OUT_OF_MEMORY)
    os._exit(71)


def catchable() -> Any:
    """What a handler of a program may catch: nothing while memory is short, which no program survives."""
    if isinstance(sys.exc_info()[1], MemoryError):
        give_up()
    return Exception


def ask_first(nodes: list[ast.AST]) -> None:
    """Has each handler of a program ask `catchable` first."""
    for node in nodes:
        if type(node) is ast.ExceptHandler and isinstance(node.type, ast.Name) and node.type.id == "Exception":
            node.type = ast.copy_location(ast.Call(ast.Name(CATCHABLE, ast.Load()), [], []), node.type)
            ast.fix_missing_locations(node.type)


def guard_compiler(runner: Runner) -> None:
    """Has the compiler of this process check every unit and every tree."""
    imports: dict[str, tuple[str, str]] = {}  # by their names in the session
    atoms: set[str] = set()  # names in the session of keywords, symbols and characters

    def check_unit(unit: Unit) -> None:
        runner.warnings += warned(unit.warnings)
        admit(unit, runner.granted, runner.inputs)
        runner.is_admitted = True
        runner.warnings += map(visible, map(cut, text_key_warnings(unit, runner.mentioned())[:MOST_WARNINGS]))
        unit.left_out |= LEFT_OUT
        unit.optimize = unit.optimize and not runs_once(unit)

    def check_code(tree: ast.Module) -> None:
        imports.update(runner.session.shared.imports)
        atoms.update(name for name, value in runner.session.shared.atoms.items() if type(value) in ATOMS)
        nodes = nodes_of(tree)
        check_tree(nodes, imports, atoms)
        ask_first(nodes)
        bound_products(nodes, imports)

    pipeline.CHECKS.units.append(check_unit)
    pipeline.CHECKS.trees.append(check_code)


def prepared() -> Runner:
    """The runner of this process, whose compiler checks what it makes."""
    runner = Runner(_pipe)
    guard_compiler(runner)
    builtins_by_function()  # which each error asks for
    warnings.simplefilter("ignore", SyntaxWarning)
    for name, function in ((CATCHABLE, catchable), (CHECK, product)):
        setattr(builtins, name, function)  # there, since macros look them up, too
    return runner


def serve(runner: Runner, descriptor: int) -> NoReturn:
    """Answers requests until the pipe closes."""
    _pipe.descriptor = descriptor
    sys.stdin = None
    sys.stdout = sys.stderr = NOWHERE
    os.write(descriptor, READY)
    while (request := _pipe.read()) is not None:
        answer = runner.run(request)
        try:
            _pipe.write(answer)
        except MemoryError:
            give_up()
    os._exit(0)
