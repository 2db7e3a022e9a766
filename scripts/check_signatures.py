"""Calls builtins with random arguments and compares what happens with their signatures.

    python scripts/check_signatures.py --count 500 --seed 1           each builtin that declares a signature, so often
    python scripts/check_signatures.py --count 5000 --only map --only list/group-by
    python scripts/check_signatures.py --count 5000 --module lib.collections

Verified are the types of the arguments of calls that return, the type of the result, who keeps which argument, whether
the result is fresh, `pure` as far as it shows (arguments and output), and `total`. Prints each contradiction with the
call, and the builtins of which no call returned; the status is 1 when there is a contradiction. Builtins that reach
outside (files, network, processes, terminal, language models) aren't called.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import signal
import sys
from collections.abc import Callable, Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = Path(__file__).parent
sys.path[:0] = [str(ROOT), str(ROOT / "runtime"), str(SCRIPTS), str(SCRIPTS / "signatures")]

from call_arguments import WANTED  # noqa: E402
from signature_claims import CONTAINERS, Bindings, bind, bound_inside, containers, fits, frozen, is_fresh, kind  # noqa: E402
from signature_values import OBJECTS, Values, objects_for  # noqa: E402

from sema_runtime.catalogue_index import INDEX  # noqa: E402
from sema_runtime.lib.language import output  # noqa: E402
from sema_runtime.lib.numbers import arithmetic  # noqa: E402
from sema_runtime.values.printer import to_text  # noqa: E402
from semac.types.signatures import Function, Signature, signature_for, signatures_of, variables  # noqa: E402

OUTSIDE = tuple(f"lib.{family}." for family in ("files", "llm", "network", "python", "system", "tasks", "terminal"))
SKIPPED = frozenset(["exit", "sleep", "read-line", "read-stdin", "load", "retry", "eval", "shell", "gc/collect"])
LETTERS = {name: wanted for names, wanted in WANTED.items() for name in names.split()}
# what the compiler calls for an operator between two operands
OPERATORS: dict[str, Callable[..., Any]] = {
    "+": arithmetic.add, "-": arithmetic.sub, "*": arithmetic.mul, "/": arithmetic.div, "<": arithmetic.lt,
    ">": arithmetic.gt, "<=": arithmetic.le, ">=": arithmetic.ge, "=": arithmetic.num_eq, "mod": arithmetic.mod,
}  # fmt: skip
SECONDS = 1  # for one call
MODES = {"": "only read", "keep": "only kept", "now": "only called", "later": "called later"}


class TooLong(BaseException):
    """A call that takes longer than SECONDS."""


class Recorded(NamedTuple):
    """A call of a function argument."""

    arguments: tuple[Any, ...]
    result: Any


def checked_names() -> list[str]:
    """The builtins that can be called: those with a signature and without effects outside; of aliases the first."""
    functions: dict[tuple[str, str], str] = {}
    for name, (module, function, _, _, _, capability, pure, declared, _) in INDEX.items():
        if declared and not capability and name not in SKIPPED and not name.startswith("__"):
            if pure or name in OBJECTS or not module.startswith(OUTSIDE):
                functions.setdefault((module, function), name)
    return list(functions.values())


def contradictions(name: str, number: int, seed: int) -> Iterator[str]:
    """What one random call of a builtin shows to be wrong with its signature."""
    values = Values(f"{seed}/{name}/{number}")
    arguments = arguments_for(name, values)
    signature = signature_for(name, len(arguments))
    if signature is None:
        return
    module, python, _, _, _, _, pure, _, total = INDEX[name]
    function = getattr(importlib.import_module(f"sema_runtime.{module}"), python)
    if len(arguments) == 2 and values.random.random() < 0.7:
        function = OPERATORS.get(name, function)
    shown = f"({' '.join([name, *map(to_text, arguments)])})"
    call = Call(signature, arguments, values, pure, total)
    with contextlib.suppress(TooLong):
        for what in call.contradictions(function):
            yield f"{name} : {signature}\n  {shown:.300}\n  {what}"
    if call.returned:
        returned.add(name)


returned: set[str] = set()  # the builtins of which a call returned


def arguments_for(name: str, values: Values) -> list[Any]:
    """Random arguments: of the declared types or as call_arguments.txt says, now and then a wrong one."""
    chance = values.random.random()
    if name in OBJECTS and chance < 0.8:
        arguments = objects_for(name, values)
    elif name in LETTERS and chance < 0.35:
        arguments = values.lettered(LETTERS[name])
    else:
        arguments = values.typed(values.random.choice(signatures_of(name)))
    if arguments and values.random.random() < 0.2:
        arguments[values.random.randrange(len(arguments))] = values.wrong()
    if values.random.random() < 0.03:
        arguments = list(map(values.foreign, arguments))
    return arguments


class Call:
    """One call of a builtin, and what it says of the signature."""

    def __init__(
        self, signature: Signature, arguments: list[Any], values: Values, pure: bool = False, total: bool = False
    ) -> None:
        self.signature, self.arguments, self.pure, self.total = signature, arguments, pure, total
        self.params = [signature.param(index) for index in range(len(arguments))]
        self.returned = False
        self.failed: list[bool] = []
        self.calls: dict[int, list[Recorded] | None] = {}
        for index, argument in enumerate(arguments):
            if kind(argument) == "fn" and values.random.random() < 0.85:
                arguments[index] = self.recorder(index, argument)
            elif callable(argument) and self.params[index].mode in ("now", "later"):
                self.calls[index] = None

    def recorder(self, index: int, function: Callable[..., Any]) -> Callable[..., Any]:
        calls = self.calls[index] = []

        def recorded(*arguments: Any) -> Any:
            try:
                result = function(*arguments)
            except Exception:
                self.failed.append(True)
                raise
            calls.append(Recorded(arguments, result))
            return result

        return recorded

    def contradictions(self, function: Callable[..., Any]) -> Iterator[str]:
        """Calls the function and says what is wrong with the signature."""
        arguments = self.arguments
        held = [containers([argument]) for argument in arguments]
        before = [frozen(argument) for argument in arguments]
        bindings, refused = self.bound()
        inside = [bound_inside(argument, param.type) for argument, param in zip(arguments, self.params, strict=True)]
        holders = [sys.getrefcount(argument) for argument in arguments]
        scope = copy_context()
        result, error, printed = called(scope.run, function, *arguments)
        after = [sys.getrefcount(argument) for argument in arguments]
        is_new = is_fresh(result)  # before anything else holds the result
        if self.pure and [frozen(argument) for argument in arguments] != before:
            yield "is declared pure and changes an argument"
        if self.pure and printed:
            yield "is declared pure and prints"
        if error is not None:
            yield from self.raised(error, refused)
            return
        self.returned = True
        yield from refused
        if refused:
            return
        yield from self.results_of_functions(bindings)
        unknown = self.unknown_letters()
        yield from self.callback_faults(bindings, unknown)
        yield from self.passed(held, bindings)
        if not fits(result, self.signature.result, bindings, unknown):
            yield f"returns {to_text(result):.200}, a {kind(result)}"
        yield from self.kept(result, inside)
        yield from self.stored(held)
        for index, (earlier, later) in enumerate(zip(holders, after, strict=True)):
            if later > earlier and self.must_be_released(index, held[index]):
                yield f"argument {index + 1} is still held after the call, and declared {self.mode(index)}"
        if self.signature.fresh and kind(result) in CONTAINERS:
            if not is_new or any(id(result) in containers([argument]) for argument in arguments):
                yield f"returns {to_text(result):.200}, which isn't fresh"

    def must_be_released(self, index: int, held: dict[int, Any]) -> bool:
        """Whether nobody may hold an argument after the call. A list may lie over a vector."""
        argument = self.arguments[index]
        is_free = self.is_kept(index) or id(argument) not in held or type(argument) is tuple
        return not is_free and not self.is_passed_on(argument)

    def raised(self, error: Exception, refused: list[str]) -> Iterator[str]:
        """total: no error where all arguments are of their types, and functions raise none."""
        foreign = any(kind(argument).startswith("python") for argument in self.arguments)
        calls = any(param.mode in ("now", "later") for param in self.params)
        if self.total and not (refused or self.failed or foreign or calls):
            yield f"is declared total and raises {error!r:.200}"

    def bound(self) -> tuple[Bindings, list[str]]:
        """What the variables of the parameters stand for, and which argument isn't of the declared type."""
        repeated = [param.type for param in self.signature.params if param.repeated]
        bindings: Bindings = {letter: [] for expr in repeated for letter in variables(expr)}
        for index, (param, argument) in enumerate(zip(self.params, self.arguments, strict=True)):
            if not bind(argument, param.type, bindings) and not (param.optional and argument is None):
                text = to_text(argument)
                return {}, [f"accepts {text:.200} as argument {index + 1}, which isn't {param.type}"]
        return bindings, []

    def results_of_functions(self, bindings: Bindings) -> Iterator[str]:
        """Binds the variables of what function arguments returned."""
        for index, calls in self.calls.items():
            for expected in functions_in(self.params[index].type):
                for call in calls or ():
                    if not bind(call.result, expected.result, bindings):
                        yield f"accepts {to_text(call.result):.200} from argument {index + 1}, {expected}"

    def unknown_letters(self) -> set[str]:
        """The variables bound by functions whose calls aren't recorded."""
        unknown: set[str] = set()
        for index, calls in self.calls.items():
            for expected in functions_in(self.params[index].type):
                if calls is None:
                    unknown |= variables(expected.result)
        return unknown

    def callback_faults(self, bindings: Bindings, unknown: set[str]) -> Iterator[str]:
        for index, calls in self.calls.items():
            if calls and self.params[index].mode not in ("now", "later"):
                yield f"calls argument {index + 1}, which is declared {self.mode(index)}"
            for expected in functions_in(self.params[index].type):
                for call in calls or ():
                    given = f"calls argument {index + 1} with {' '.join(map(to_text, call.arguments)):.200}"
                    if len(call.arguments) != len(expected.params):
                        yield f"{given}: {len(call.arguments)} arguments for {expected}"
                        return
                    for argument, declared in zip(call.arguments, expected.params, strict=True):
                        if not fits(argument, declared, bindings, unknown):
                            yield f"{given}, which isn't {expected}"
                            return

    def is_kept(self, index: int) -> bool:
        return self.params[index].mode in ("keep", "later")

    def mode(self, index: int) -> str:
        return MODES[self.params[index].mode]

    def kept(self, result: Any, inside: list[Bindings]) -> Iterator[str]:
        """Containers that an argument has now in the result, besides what the result's variables stand for inside the
        argument and what functions returned."""
        if any(calls is None for calls in self.calls.values()):
            return
        letters = variables(self.signature.result)
        given = [call.result for calls in self.calls.values() for call in calls or ()]
        reached = containers([result])
        for index, argument in enumerate(self.arguments):
            if self.is_kept(index):
                continue
            named = [value for letter in letters for value in inside[index].get(letter, ())]
            free = containers([*named, *given])
            for identity, container in containers([argument]).items():
                if identity in reached and identity not in free:
                    yield f"returns {to_text(container):.200} of argument {index + 1}, declared {self.mode(index)}"
                    return

    def passed(self, held: list[dict[int, Any]], bindings: Bindings) -> Iterator[str]:
        """Containers of an argument that a function got, though no variable of its type names them."""
        given = [call.result for calls in self.calls.values() for call in calls or ()]
        for position, calls in self.calls.items():
            expected = functions_in(self.params[position].type)
            letters = {letter for function in expected for param in function.params for letter in variables(param)}
            named = containers([*given, *(value for letter in letters for value in bindings.get(letter, ()))])
            got = containers([value for call in calls or () for value in call.arguments])
            for index, inside in enumerate(held):
                if not self.is_kept(index) and got.keys() & inside.keys() - named.keys():
                    yield f"passes argument {index + 1} to argument {position + 1} and declares it {self.mode(index)}"
                    return

    def stored(self, held: list[dict[int, Any]]) -> Iterator[str]:
        """Containers of an argument that are now in another one."""
        for target, argument in enumerate(self.arguments):
            gained = containers([argument]).keys() - held[target].keys()
            for index, inside in enumerate(held):
                if gained & inside.keys() and not self.is_kept(index):
                    yield f"stores argument {index + 1} in argument {target + 1}, and declares it {self.mode(index)}"

    def is_passed_on(self, argument: Any) -> bool:
        """Whether a function argument got this argument and so may hold it."""
        given = [value for calls in self.calls.values() for call in calls or () for value in call.arguments]
        return None in self.calls.values() or id(argument) in containers(given)


def functions_in(expr: Any) -> list[Function]:
    """The function types of a parameter."""
    return [part for part in getattr(expr, "parts", (expr,)) if isinstance(part, Function)]


def called(run: Callable[..., Any], *arguments: Any) -> tuple[Any, Exception | None, bool]:
    """The result of a call, the error, whether it printed."""
    output.sink, output.error_sink = [], []
    stream = io.StringIO()
    signal.setitimer(signal.ITIMER_REAL, SECONDS)
    try:
        with contextlib.redirect_stdout(stream), contextlib.redirect_stderr(stream):
            return run(*arguments), None, bool(output.sink or output.error_sink or stream.getvalue())
    except Exception as error:
        return None, error.with_traceback(None), bool(output.sink or output.error_sink or stream.getvalue())
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        output.sink = output.error_sink = None


def _interrupt(*_: Any) -> None:
    raise TooLong


def run(names: list[str], count: int, seed: int, show: Callable[[str], None]) -> int:
    """Checks each builtin with count calls; the number of contradictions. At most one of a builtin is shown."""
    faults = 0
    before = signal.signal(signal.SIGALRM, _interrupt)
    try:
        for name in names:
            for number in range(count):
                found = next(contradictions(name, number, seed), None)
                if found is not None:
                    faults += 1
                    show(found)
                    break
    finally:
        signal.signal(signal.SIGALRM, before)
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=200, help="calls of each builtin")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", action="append", default=[], metavar="NAME")
    parser.add_argument("--module", default="", help="builtins of modules that start so")
    options = parser.parse_args()
    names = [
        name
        for name in checked_names()
        if (not options.only or name in options.only) and INDEX[name][0].startswith(options.module)
    ]
    faults = run(names, options.count, options.seed, lambda text: print(text, flush=True))
    silent = [name for name in names if name not in returned]
    print(f"{len(names)} builtins, {faults} contradictions; no call returned of: {' '.join(silent) or 'none'}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
